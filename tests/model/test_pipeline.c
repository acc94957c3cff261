// SPDX-License-Identifier: Apache-2.0
//
// The model `ws-pipeline` equals seed 1, simulated and in closed form.
#include "model/predict/parts/pipeline.h"
#include "model/predict/ws_pipeline.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pipeline row_pipeline(const struct csv *t, size_t row)
{
    return (struct pipeline){.load_a = table_number(t, row, "t_load_a"),
                             .load_b = table_number(t, row, "t_load_b"),
                             .math = table_number(t, row, "t_math"),
                             .epilogue = table_number(t, row, "t_epilogue"),
                             .depth = (int32_t)table_number(t, row, "buffers"),
                             .dma_warps = (int32_t)table_number(t, row, "dma_warps"),
                             .stages = (int64_t)table_number(t, row, "stages")};
}

// "0 5 10" against an array of starts.
static void check_starts(const char *expected, const double *starts, int64_t count)
{
    char *copy = xstrdup(expected), *save = NULL;
    int64_t i = 0;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        assert_true(i < count);
        assert_true(starts[i++] == strtod(word, NULL));
    }
    assert_int_equal(i, count);
    free(copy);
}

TEST(simulated_events_equal_the_equations)
{
    struct csv t = table_read("conformance_ws_pipeline_sim.csv");
    for (size_t row = 0; row < t.count; row++) {
        struct pipeline p = row_pipeline(&t, row);
        struct pipeline_events e;
        struct error err;
        assert_int_equal(pipeline_simulate(&e, &p, &err), 0);
        check_starts(table_text(&t, row, "start_a"), e.start_a, e.stages);
        check_starts(table_text(&t, row, "start_b"), e.start_b, e.stages);
        check_starts(table_text(&t, row, "start_math"), e.start_math, e.stages);
        assert_true(e.time.wave == table_number(&t, row, "t_wave"));
        assert_true(e.time.wait == table_number(&t, row, "math_wait_total"));
        pipeline_events_free(&e);
    }
    csv_free(&t);
}

TEST(closed_form_equals_the_simulation)
{
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        uint32_t r[6];
        for (int j = 0; j < 6; j++)
            r[j] = (seed = seed * 1664525 + 1013904223) >> 16;
        struct pipeline p = {.load_a = r[0] % 20,
                             .load_b = r[1] % 20,
                             .math = r[2] % 40,
                             .epilogue = r[3] % 9,
                             .depth = 1 + (int32_t)(r[4] % 6),
                             .dma_warps = 1 + (int32_t)(r[5] % 2),
                             .stages = 1 + r[5] / 2 % 40};
        struct pipeline_events e;
        struct error err;
        assert_int_equal(pipeline_simulate(&e, &p, &err), 0);
        struct pipeline_time closed = pipeline_time(&p);
        assert_true(closed.wave == e.time.wave && closed.wait == e.time.wait);
        pipeline_events_free(&e);
    }
}

TEST(table_2_comes_out_to_every_digit)
{
    struct csv t = table_read("conformance_ws_pipeline_table2.csv");
    assert_int_equal(t.count, 36);
    for (size_t row = 0; row < t.count; row++) {
        double tiles = ceil(table_number(&t, row, "M") / table_number(&t, row, "tile_m")) *
                       ceil(table_number(&t, row, "N") / table_number(&t, row, "tile_n"));
        struct pipeline p = {
            .load_a = table_number(&t, row, "t_load_a_us"),
            .load_b = table_number(&t, row, "t_load_b_us"),
            // Only T_M + T_E can be recovered; any T_M up to T_A gives the same total.
            .math = 1.0,
            .epilogue = table_number(&t, row, "t_math_plus_epilogue_us") - 1.0,
            .depth = (int32_t)table_number(&t, row, "buffers"),
            .dma_warps = (int32_t)table_number(&t, row, "dma_warps"),
            .stages = (int64_t)(table_number(&t, row, "K") / table_number(&t, row, "tile_k"))};
        struct pipeline_kernel k =
            pipeline_kernel(&p, (int64_t)tiles, (int64_t)table_number(&t, row, "num_sms"),
                            table_number(&t, row, "t_launch_us"));
        assert_int_equal(k.tiles, (int64_t)table_number(&t, row, "tiles"));
        assert_int_equal(k.waves, (int64_t)table_number(&t, row, "waves"));
        assert_int_equal(p.stages, (int64_t)table_number(&t, row, "stages"));
        assert_true(fabs(k.time - table_number(&t, row, "t_total_us")) < 1e-9);
        // The printed error is of the column called "Predicted", which holds the measurement.
        double measured = table_number(&t, row, "table_col_predicted_ms") * 1e3;
        double error = 100 * (measured - k.time) / measured;
        assert_true(fabs(error - table_number(&t, row, "error_percent_as_printed")) < 0.0061);
    }
    csv_free(&t);
}

TEST(estimation_inverts_the_linear_model)
{
    struct pipeline_rate rate;
    struct error err;
    // 2 us to start, 3 bytes per us.
    const struct pipeline_point line[] = {{30, 12}, {90, 32}, {60, 22}};
    for (size_t count = 2; count <= 3; count++) {
        assert_int_equal(pipeline_estimate(&rate, line, count, &err), 0);
        assert_true(close_to(rate.throughput, 3, 1e-12) && close_to(rate.startup, 2, 1e-12));
    }
    const struct pipeline_point bad[][2] = {
        {{30, 12}, {30, 12}}, {{30, 12}, {90, 11}}, {{30, NAN}, {90, 11}}};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_int_equal(pipeline_estimate(&rate, bad[i], 2, &err), -1);
    assert_int_equal(pipeline_estimate(&rate, line, 1, &err), -1);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        count++;
    return count;
}

TEST(trace_holds_every_event_of_every_wave)
{
    struct pipeline p = {3, 2, 4, 5, 2, 2, 6};
    struct pipeline_events e;
    struct error err;
    assert_int_equal(pipeline_simulate(&e, &p, &err), 0);
    struct buffer buffer = {0};
    pipeline_write_trace(&buffer, &p, &e, 7, 3, 0.001);
    assert_int_equal(count_of(buffer.bytes, "\"load A\""), 18);
    assert_int_equal(count_of(buffer.bytes, "\"math\""), 18);
    assert_int_equal(count_of(buffer.bytes, "\"epilogue\""), 3);
    assert_int_equal(count_of(buffer.bytes, "{"), count_of(buffer.bytes, "}"));
    assert_null(strstr(buffer.bytes, ",\n]"));
    assert_non_null(strstr(buffer.bytes, "\"ts\":0.007,")); // the first load begins after launch
    free(buffer.bytes);
    pipeline_events_free(&e);
}

TEST(too_long_a_simulation_is_refused)
{
    struct pipeline p = {1, 1, 1, 1, 2, 1, INT64_MAX / 4};
    struct pipeline_events e;
    struct error err;
    assert_int_equal(pipeline_simulate(&e, &p, &err), -1);
}

TEST(the_model_predicts_what_its_pipeline_says)
{
    struct problem p = {
        .m = 4096, .n = 4096, .k = 4096, .in = DTYPE_BF16, .out = DTYPE_BF16, .batch = 1};
    struct traits traits = {.tile_m = 128, .tile_n = 256, .tile_k = 64, .stages = 4};
    struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &traits, .problem = &p};
    struct prediction out = model_find("ws-pipeline")->predict(&in);
    struct ws_pipeline w;
    assert_null(ws_pipeline(&w, &in));
    assert_true(out.feasible && out.time_ns == w.kernel.time);
    double sum = 0;
    for (size_t i = 0; i < out.part_count; i++)
        sum += out.parts[i].time_ns;
    assert_true(close_to(sum, out.time_ns, 1e-12));
    traits.tile_m = 100000;
    assert_false(model_find("ws-pipeline")->predict(&in).feasible);
}
