// SPDX-License-Identifier: Apache-2.0
//
// The model `hopper` of groups: recorded times are met, though nothing was fitted to them, and its
// laws hold.
#include "model/predict.h"
#include "model/predict/parts/accuracy.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

// As bf16-grouped states them.
static const struct traits grouped = {.tile_m = 192,
                                      .tile_n = 128,
                                      .tile_k = 64,
                                      .stages = 5,
                                      .cluster_m = 1,
                                      .cluster_n = 1,
                                      .threads = 384,
                                      .blocks_per_sm = 1,
                                      .persistent = 1,
                                      .raster = RASTER_M,
                                      .raster_group = 4,
                                      .split_k = 1,
                                      .overlap = OVERLAP_PINGPONG};

// As e4m3-grouped does: rows of a group lie along the instruction's 64.
static const struct traits promoted = {.tile_m = 256,
                                       .tile_n = 128,
                                       .tile_k = 128,
                                       .stages = 4,
                                       .cluster_m = 1,
                                       .cluster_n = 1,
                                       .threads = 384,
                                       .blocks_per_sm = 1,
                                       .persistent = 1,
                                       .raster = RASTER_M,
                                       .raster_group = 8,
                                       .split_k = 1,
                                       .promote_k = 128};

static struct prediction at(const char *model, const char *text, const struct traits *traits)
{
    struct problem p;
    struct error err;
    if (problem_parse(&p, text, &err))
        fail_msg("%s", err.text);
    const struct predict_input in = {
        .gpu = gpu_find("h200-sxm"), .traits = traits, .problem = &p, .clock_hz = 0};
    return model_find(model)->predict(&in);
}

static double time_ns(const char *text, const struct traits *traits)
{
    const struct prediction out = at("hopper", text, traits);
    if (!out.feasible)
        fail_msg("%s: %s", text, out.why);
    assert_true(out.time_ns > at("sol", text, traits).time_ns);
    return out.time_ns;
}

// The median error, at most `median`, none beyond `worst`.
static void assert_met(const char *name, const struct traits *traits, double median, double worst)
{
    struct csv t = table_read(name);
    struct accuracy_row *rows = xcalloc(t.count, sizeof(*rows));
    assert_true(t.count >= 11);
    for (size_t i = 0; i < t.count; i++) {
        const double ns = time_ns(table_text(&t, i, "problem"), traits);
        const double measured_ns = table_number(&t, i, "measured_us") * 1e3;
        rows[i] = (struct accuracy_row){"all", ns, measured_ns, NULL, 0, 0};
        assert_true(fabs(log(ns / measured_ns)) < worst);
    }
    assert_true(accuracy_of(rows, t.count).median < median);
    free(rows);
    csv_free(&t);
}

TEST(recorded_times_are_met)
{
    assert_met("h200_grouped.csv", &grouped, 0.052, 0.14); // 0.0492 and 0.131 of version 15
}

TEST(recorded_times_of_promoted_sums_are_met)
{
    assert_met("h200_grouped_e4m3.csv", &promoted, 0.043, 0.11); // 0.0406 and 0.106
}

// Rows that are cut into as many tiles, of groups as many, take the longer the more they are.
TEST(rows_and_groups_cost)
{
    static const char *const texts[] = {
        "4096x4096x7168:bf16:masked32/20", "4096x4096x7168:bf16:masked32/64",
        "4096x4096x7168:bf16:masked32/192", "4096x4096x7168:bf16:masked64/192",
        "4096x4096x7168:bf16:masked64/1024"};
    double before = 0;
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const double now = time_ns(texts[i], &grouped);
        assert_true(now > before);
        before = now;
    }
}

// Nearly all rows are one group's: as long as that group alone, and the others' matrices B, which
// are read at 4 TB/s or more.
TEST(a_skewed_group_takes_no_more_than_its_rows)
{
    const double alone = time_ns("8192x4096x7168:bf16:contiguous1", &grouped);
    const double zipf = time_ns("8192x4096x7168:bf16:contiguous8/zipf", &grouped);
    assert_true(zipf > alone && zipf < 1.3 * alone);
}

// A kernel that states no tile is a library's: a product for each group, one after the other.
TEST(a_library_takes_its_products_times)
{
    const struct traits none = {0};
    const double one = time_ns("1024x4096x7168:bf16", &none);
    const double four = time_ns("4096x4096x7168:bf16:contiguous4", &none);
    assert_true(close_to(four, 4 * one, 1e-9));
}
