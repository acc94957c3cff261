// SPDX-License-Identifier: Apache-2.0
//
// `plumb accuracy` and `plumb predict` on recorded rows: baselines beside them, biases fitted and
// read, bad rows refused.
#include "ci/settings/gpu_file.h"
#include "ci/settings/rows.h"
#include "tests/helpers/helper_command.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct command command_accuracy, command_predict;

// What `plumb accuracy` prints (caller frees) and ends with.
#define RUN(out, ...)                                                                              \
    helper_command(&command_accuracy, (const char *const[]){"accuracy", __VA_ARGS__, NULL}, out)

// The numbers of the line that begins with `name`.
static int line_numbers(const char *text, const char *name, double out[11])
{
    char *key = xprintf("\n%-28s ", name);
    const char *at = strstr(text, key);
    int count = 0;
    if (at) {
        at += strlen(key);
        for (char *end; count < 14; at = end) {
            double value = strtod(at, &end);
            if (end == at)
                break;
            out[count++] = value;
        }
    }
    free(key);
    return count;
}

TEST(recorded_rows_are_judged_beside_the_baselines)
{
    char *csv = xprintf("%s/h200_gemm_cold.csv", TEST_DATA), *text;
    assert_int_equal(RUN(&text, "--csv", csv, "--model", "hopper"), 0);
    double hopper[14], bias[14], sol[14];
    assert_int_equal(line_numbers(text, "hopper", hopper), 14);
    assert_int_equal(line_numbers(text, "hopper +bias", bias), 14);
    assert_int_equal(line_numbers(text, "sol", sol), 9); // no bands, and so '-'
    assert_true(hopper[9] > 50 && hopper[9] < hopper[10] && hopper[10] <= 100); // within bands
    assert_non_null(strstr(text, "\nconstant 0."));
    assert_true(hopper[0] == 281 && hopper[1] == 0);
    assert_true(bias[2] < hopper[2] && hopper[2] < sol[2] / 3); // MAPE
    free(text);
    free(csv);
}

TEST(a_model_that_predicts_nothing_says_why)
{
    static const char rows[] = "m,n,k,in_dtype,cta_m,cta_n,cta_k,regime,measured_us\n"
                               "1024,1024,1024,fp16,128,128,64,warm,10\n";
    const char *csv = helper_file(rows);
    char *text;
    assert_int_equal(RUN(&text, "--csv", csv, "--model", "origami"), 0);
    assert_non_null(
        strstr(text, " it predicts none of these rows: the model knows cold operands only\n"));
    free(text);
    assert_int_equal(RUN(&text, "--csv", csv, "--model", "origami", "--format", "json"), 0);
    assert_non_null(strstr(text, "\"why\":\"the model knows cold operands only\""));
    free(text);
}

// One configuration a problem: nothing can be ranked.
TEST(columns_of_ranks_need_two_configurations_of_a_problem)
{
    static const char head[] =
        "m,n,k,in_dtype,cta_m,cta_n,measured_us\n1024,1024,1024,bf16,128,128,9\n";
    char *more = xprintf("%s%s", head, "1024,1024,1024,bf16,128,256,9.5\n"), *text;
    const char *one = helper_file(head);
    assert_int_equal(
        RUN(&text, "--csv", one, "--model", "hopper", "--regime", "cold", "--problems"), 0);
    assert_null(strstr(text, "A/BF"));
    assert_non_null(strstr(text, "2sigma"));
    assert_non_null(strstr(text, "No problem has two configurations that could be ranked.\n"));
    free(text);
    const char *two = helper_file(more);
    assert_int_equal(RUN(&text, "--csv", two, "--model", "hopper", "--regime", "cold"), 0);
    assert_non_null(strstr(text, "A/BF"));
    free(text);
    free(more);
}

// Seed 3's table of sizes, of the leading model.
TEST(a_problem_has_a_ranking_of_its_own)
{
    char *csv = xprintf("%s/baselines/recorded/h200/ladder/dsv3.csv", TEST_SOURCE), *text;
    assert_int_equal(RUN(&text, "--csv", csv, "--model", "origami", "--problems"), 0);
    assert_non_null(strstr(text, "\n    tau    A/BF picked      configuration"));
    assert_non_null(strstr(text,
                           "\n  0.702   1.000 #1/97       bf16-256x128-w2x1-c2x1-s4-e2-m8-coop "
                           "18432x7168x4096:bf16-bf16:tn\n"));
    free(text);
    assert_int_equal(
        RUN(&text, "--csv", csv, "--model", "origami", "--problems", "--format", "json"), 0);
    assert_non_null(strstr(text, "\"problem\":\"18432x7168x4096:bf16-bf16:tn\","
                                 "\"configurations\":97,\"tau\":0.70"));
    free(text);
    free(csv);
}

TEST(fitted_biases_are_written_read_and_bound_to_their_model)
{
    const char *path = helper_file("");
    char *csv = xprintf("%s/h200_gemm_cold.csv", TEST_DATA), *text;
    assert_int_equal(RUN(&text, "--csv", csv, "--regime", "cold", "--fit", path), 0);
    struct bias_table table;
    struct error err;
    assert_int_equal(bias_file_read(&table, path, model_find("hopper"), &err), 0);
    assert_int_equal(table.count, 6);
    const struct problem bf16 = {.in = DTYPE_BF16};
    const struct bias *b = bias_find(&table, "deepgemm-bf16", &bf16);
    assert_non_null(b);
    assert_true(b->rows == 21 && fabs(b->log_factor) < 0.1 && b->band > 0 && b->band < 0.1);
    bias_table_free(&table);
    assert_int_equal(bias_file_read(&table, path, model_find("sol"), &err), -1);
    assert_non_null(strstr(text, "\nThe biases of hopper: "));
    free(text);
    const char *words[] = {"predict",  "--csv",    csv,    "--bias", path, "--gpu",
                           "h200-sxm", "--regime", "cold", NULL,     NULL};
    assert_int_equal(helper_command(&command_predict, words, &text), 0);
    assert_non_null(strstr(text, ",bound,bias_rows\n"));
    assert_non_null(strstr(text, ",21\n")); // deepgemm-bf16's
    free(text);
    words[9] = "--explain";
    assert_int_equal(helper_command(&command_predict, words, &text), 0);
    assert_non_null(strstr(text, "\nBIAS fitted to 21 measured times\n    factor "));
    free(text);
    size_t length;
    text = file_read(path, &length);
    assert_true(strncmp(text, "# fitted to ", 12) == 0); // its inputs are recorded
    assert_non_null(strstr(text, "h200_gemm_cold.csv, 281 rows"));
    free(text);
    free(csv);
}

TEST(bad_bias_files_are_refused_with_their_line)
{
    static const char *const bad[] = {
        "kernel,log_factor,band,rows,model\nk,0,0,1,hopper\n",
        "kernel,log_factor,band,rows,model,version\nk,nan,0,1,hopper,1\n",
        "kernel,log_factor,band,rows,model,version\nk,0,-1,1,hopper,1\n",
        "kernel,log_factor,band,rows,model,version\nk,0,0,0,hopper,1\n",
        "kernel,log_factor,band,rows,model,version\nk,99,0,1,hopper,1\n",
        "kernel,log_factor,band,rows,model,version\nk,0,0,1,hopper,0\n",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        const char *path = helper_file(bad[i]);
        struct bias_table table;
        struct error err;
        assert_int_equal(bias_file_read(&table, path, model_find("hopper"), &err), -1);
    }
}

// Rows that say nothing are taken for what fits, and that is said; what they say is believed.
TEST(a_regime_that_is_not_told_is_chosen_aloud)
{
    char *path = helper_file(""), *text;
    const int file = open(path, O_WRONLY);
    const struct model *hopper = model_find("hopper");
    const struct traits none = {0};
    dprintf(file, "m,n,k,in_dtype,measured_us\n");
    for (int i = 1; i <= 12; i++) {
        struct problem p = {.m = 128 * i, .n = 4096, .k = 1024, .batch = 1};
        p.in = p.out = DTYPE_BF16;
        p.regime = REGIME_DIRTY;
        const struct predict_input in = {
            .gpu = gpu_find("h100-sxm"), .traits = &none, .problem = &p};
        dprintf(file, "%d,4096,1024,bf16,%.6f\n", 128 * i, hopper->predict(&in).time_ns / 1e3);
    }
    close(file);
    assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--model", "hopper"), 0);
    assert_non_null(strstr(text, "`dirty, with a launch` fits hopper best"));
    assert_non_null(strstr(text, "a choice made on these very times"));
    free(text);
    assert_int_equal(
        RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--model", "hopper", "--worst", "1"), 0);
    assert_non_null(strstr(text, "x4096x1024:bf16-bf16:tn:dirty\n")); // the rows say it too
    free(text);
    assert_int_equal(
        RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--regime", "stream", "--launch", "no"), 0);
    assert_null(strstr(text, "fits hopper best"));
    free(text);
    for (int told = 0; told < 2; told++) { // what is told is what is predicted
        double line[14];
        assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--model", "hopper",
                             "--regime", told ? "dirty" : "stream"),
                         0);
        assert_int_equal(line_numbers(text, "hopper, no tile", line), 11);
        assert_true(told ? line[2] == 0 : line[2] > 1); // MAPE
        free(text);
    }
    assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--format", "json"), 0);
    assert_non_null(strstr(text, "\"regime\":\"dirty\""));
    free(text);
}

// A band may hold in one regime and not in another, so each has a line where there are several.
// Times far below all predictions: a launch of 3 us in 1,500 decides nothing.
TEST(another_way_is_chosen_only_if_it_fits_clearly_better)
{
    char *path = helper_file(""), *text;
    const int file = open(path, O_WRONLY);
    const struct traits none = {0};
    dprintf(file, "m,n,k,in_dtype,measured_us\n");
    for (int i = 1; i <= 4; i++) {
        struct problem p = {.m = 2048 * i, .n = 8192, .k = 8192, .batch = 1};
        p.in = p.out = DTYPE_BF16;
        const struct predict_input in = {
            .gpu = gpu_find("h100-sxm"), .traits = &none, .problem = &p};
        const double time_ns = model_find("hopper")->predict(&in).time_ns;
        dprintf(file, "%d,8192,8192,bf16,%.6f\n", 2048 * i, 0.4 * time_ns / 1e3);
    }
    close(file);
    assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--model", "hopper"), 0);
    assert_non_null(strstr(text, "`cold, with a launch` fits hopper best"));
    free(text);
}

TEST(each_regime_has_a_line_where_there_are_several)
{
    char *path = helper_file("m,n,k,in_dtype,regime,measured_us\n256,4096,1024,bf16,stream,9\n"
                             "512,4096,1024,bf16,stream,11\n512,4096,1024,bf16,warm,12\n"),
         *text;
    assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm"), 0);
    assert_non_null(strstr(text, "\nhopper, stream, no tile          2 "));
    assert_non_null(strstr(text, "\nhopper, warm, no tile            1 "));
    assert_null(strstr(text, "hopper, cold"));
    assert_null(strstr(text, "sol, stream"));
    free(text);
    helper_write_text(path, "problem,measured_us\n512x4096x1024:bf16:warm,12\n");
    assert_int_equal(RUN(&text, "--csv", path, "--gpu", "h100-sxm"), 0);
    assert_null(strstr(text, "hopper, warm"));
    free(text);
}

// A run of two devices: hopper was held to times of the one, and never to one of the other.
TEST(gpus_that_nobody_judged_have_lines_of_their_own)
{
    char *folder = helper_directory(), *text;
    struct arena arena = {0};
    const char *path = scratch_path(&arena, folder, "store.db");
    struct store *store = scratch_store(path, STORE_WRITE);
    struct run run;
    make_run(&run, RUN_MEASURE, 1, 3, 7);
    struct device devices[2] = {run.devices[0], run.devices[0]};
    devices[1].uuid = "GPU-00000000-0002";
    devices[1].name = "NVIDIA L40S";
    devices[1].profile = "l40s";
    run.devices = devices;
    run.device_count = 2;
    run.results[1].device = run.results[2].device = 1;
    save_whole_run(store, &run);
    store_close(store);
    assert_int_equal(RUN(&text, "--store", path, "--model", "hopper"), 0);
    assert_non_null(strstr(text, "h200-sxm, 1 row, judged: hopper on "));
    assert_non_null(strstr(text, "l40s, 2 rows, judged: never, on any time\n"));
    assert_non_null(strstr(text, "\nhopper, GPU judged               1 "));
    assert_non_null(strstr(text, "\nhopper, GPU never judged         2 "));
    assert_null(strstr(text, "judged, no tile"));
    assert_null(strstr(text, "sol, GPU"));
    free(text);
    assert_int_equal(RUN(&text, "--store", path, "--model", "hopper", "--format", "json"), 0);
    assert_non_null(strstr(text, "{\"gpu\":\"l40s\",\"rows\":2,\"judged\":null}]"));
    free(text);
    free(folder);
    run_free(&run);
    arena_free(&arena);
}

// Said of the launch alone, the regime is tried still, and the launch is not.
TEST(a_launch_that_is_told_is_not_chosen)
{
    char *path = helper_file(
             "m,n,k,in_dtype,measured_us\n256,4096,1024,bf16,9\n512,4096,1024,bf16,11\n"),
         *text;
    assert_int_equal(
        RUN(&text, "--csv", path, "--gpu", "h100-sxm", "--model", "hopper", "--launch", "no"), 0);
    assert_non_null(strstr(text, "Of 6 ways `"));
    assert_non_null(strstr(text, "cold without a launch "));
    assert_null(strstr(text, "with a launch"));
    free(text);
}

// The first model by name ranks and gives no times: curves and lists are hopper's.
TEST(what_is_drawn_is_of_a_model_that_gives_times)
{
    char *path =
        helper_file("m,n,k,in_dtype,measured_us\n256,4096,1024,bf16,9\n512,4096,1024,bf16,11\n");
    char *svg = helper_file(""), *text;
    assert_int_equal(RUN(&text, "--csv", path, "--svg", svg, "--worst", "2"), 0);
    size_t length;
    char *figure = file_read(svg, &length);
    assert_non_null(strstr(figure, "model hopper, 2 rows")); // libraries have a curve too
    free(figure);
    free(text);
}

TEST(rows_without_measurements_are_an_error)
{
    char *csv = xprintf("%s/conformance_origami_select.csv", TEST_DATA), *text;
    assert_int_equal(RUN(&text, "--csv", csv), 4);
    free(text);
    free(csv);
    assert_int_equal(RUN(&text, "--csv", "/nonexistent.csv"), 4);
    free(text);
}

// Sums of FP8 that are promoted make another product, but all of those with block scales are: these
// kernels and the library's stand side by side.
TEST(block_scales_are_one_product_for_all_kernels)
{
    char *path = helper_file(
             "in_type,m,n,k,kernel,us,tflops,ratio,ghz,min_us,samples\n"
             "4,4096,7168,2048,e4m3-128x128-w2x1-c1x1-s6-e1-m8-scaled,104,0,1,1.6,104,7\n"
             "4,4096,7168,2048,e4m3-128x128-w2x1-c1x1-s6-e1-m8-promote,94,0,1,1.6,94,7\n"),
         *text;
    assert_int_equal(RUN(&text, "--csv", path, "--model", "hopper", "--worst", "2"), 0);
    assert_non_null(strstr(text, "4096x7168x2048:e4m3-bf16:tn:fp32/1x128/128x128/columns\n"));
    assert_non_null(strstr(text, "4096x7168x2048:e4m3-bf16:tn:promoted\n"));
    free(text);
}

// Mutated rows are read or refused with a line; what is read is in range.
TEST(fuzzed_rows_are_read_or_refused_cleanly)
{
    static const char valid[] = "m,n,k,in_dtype,out_dtype,cta_m,sf_vec_size,l2_hit_rate,batch\n"
                                "4096,512,7168,bf16,fp32,128,0,0.4,2\n";
    static const char bytes[] = "0123456789-+.eExinfabp,\n\" ";
    struct row defaults = {.input.gpu = gpu_find("h200-sxm")};
    uint32_t seed = 99;
    size_t read = 0;
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(valid)];
        memcpy(text, valid, sizeof(valid));
        for (int edit = 0; edit <= i % 3; edit++) {
            seed = seed * 1664525 + 1013904223;
            // The header stays: its faults are the CSV reader's own test.
            size_t header = (size_t)(strchr(valid, '\n') - valid) + 1;
            size_t at = header + (seed >> 8) % (sizeof(valid) - 1 - header);
            text[at] = bytes[(seed >> 24) % (sizeof(bytes) - 1)];
        }
        struct csv csv;
        struct error err;
        if (csv_parse(&csv, text, sizeof(valid) - 1, "fuzz", &err))
            continue;
        struct row row;
        struct rows_table table;
        rows_find_columns(&table, &csv, "fuzz");
        for (size_t r = 0; r < csv.count; r++) {
            if (row_read(&row, &table, r, &defaults, &err))
                continue;
            read++;
            assert_true(row.problem.m >= 1 && row.problem.m <= INT32_MAX && row.problem.batch >= 1);
            assert_true(row.input.l2_hit_rate >= 0 && row.input.l2_hit_rate <= 1);
            struct prediction p = model_find("hopper")->predict(row_input(&row));
            assert_true(p.feasible ? isfinite(p.time_ns) : p.why != NULL);
        }
        csv_free(&csv);
    }
    assert_true(read > 500);
}
