// SPDX-License-Identifier: Apache-2.0
//
// The selectors' model against brute force on recorded times, and the shape of its costs.
#include "kernels/gemm/cuda/configurations/cost.h"
#include "kernels/sweep/times.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The selectors' tables. Rows whose costs are zeros are no candidates.
struct candidate {
    const char *name;
    struct plumb_cost cost;
};

#define TRY(name, ...) ROW(name, 0, 0, 0, 0) // not by the model alone, which is what is tested here
#define ROW(name, ...) {"bf16-" name, {__VA_ARGS__}},
static const struct candidate bf16_candidates[] = {
#include "kernels/gemm/cuda/configurations/bf16.h"
};
#undef ROW
#define ROW(name, ...) {"tf32-" name, {__VA_ARGS__}},
static const struct candidate tf32_candidates[] = {
#include "kernels/gemm/cuda/configurations/tf32.h"
};
#undef ROW
#define ROW(name, ...) {"e4m3-" name, {__VA_ARGS__}},
static const struct candidate e4m3_candidates[] = {
#include "kernels/gemm/cuda/configurations/e4m3.h"
};
#undef ROW
#define ROW(name, ...) {"e4m3-" name, {__VA_ARGS__}},
static const struct candidate promoted_candidates[] = {
#include "kernels/gemm/cuda/configurations/e4m3_promoted.h"
};
#undef ROW
#define ROW(name, ...) {"e4m3-" name, {__VA_ARGS__}},
static const struct candidate scaled_candidates[] = {
#include "kernels/gemm/cuda/configurations/e4m3_scaled.h"
};
#undef ROW
#define ROW(name, ...) {"bf16-" name, {__VA_ARGS__}},
static const struct candidate dual_candidates[] = {
#include "kernels/gemm/cuda/configurations/bf16_dual.h"
};
#undef ROW

struct table {
    const struct candidate *candidates;
    size_t count;
};
#define TABLE(array) ((struct table){array, sizeof(array) / sizeof *(array)})

static const struct candidate *find(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->candidates[i].name, name) == 0)
            return table->candidates[i].cost.launch > 0 ? &table->candidates[i] : NULL;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct outcome {
    double speeds[256];
    size_t count;
};

// Adds the speed of what the table chooses over the fastest's, of the problem of samples
// first .. end.
static void finish(struct outcome *o, const struct table *table, const struct data *d, size_t first,
                   size_t end)
{
    double least_cycles = INFINITY, chosen_us = 0, best_us = INFINITY;
    for (size_t i = first; i < end; i++) {
        const struct sweep_sample *s = &d->samples[i];
        const struct sweep_row *row = &d->configs[s->config].row;
        const struct candidate *c = find(table, row->name);
        best_us = fmin(best_us, s->us);
        if (!c)
            continue;
        const double cycles =
            plumb_cost_cycles(&row->traits, &c->cost, &s->problem, &plumb_cost_h200);
        if (cycles < least_cycles) {
            least_cycles = cycles;
            chosen_us = s->us;
        }
    }
    assert_true(chosen_us > 0 && o->count < sizeof o->speeds / sizeof *o->speeds);
    o->speeds[o->count++] = best_us / chosen_us;
}

// Speeds of the table's choices over brute force's, sorted, of one recorded list.
static void judge(struct outcome *o, const struct table *table, const char *kind, const char *list)
{
    char path[512];
    struct data *d = calloc(1, sizeof *d);
    assert_non_null(d);
    snprintf(path, sizeof path, "%s/baselines/recorded/h200/ladder/%s", TEST_SOURCE, list);
    assert_int_equal(times_read(d, kind, path, 0), 0);
    times_weigh(d);
    o->count = 0;
    for (size_t first = 0, end; first < d->count; first = end) {
        end = times_problem_end(d, first);
        finish(o, table, d, first, end);
    }
    free(d->samples);
    free(d);
    qsort(o->speeds, o->count, sizeof *o->speeds, compare);
}

// What the project asks of its selectors: median 0.97, worst 0.90 of brute force.
static void reaches(const struct table *table, const char *kind, const char *list, size_t problems)
{
    struct outcome o;
    judge(&o, table, kind, list);
    print_message("%s: median %.3f, worst %.3f\n", list, o.speeds[o.count / 2], o.speeds[0]);
    assert_int_equal(o.count, problems);
    assert_true(o.speeds[o.count / 2] >= 0.97);
    assert_true(o.speeds[0] >= 0.90);
}

TEST(test_the_tables_reach_nine_tenths_of_brute_force_on_every_recorded_list)
{
    const struct table bf16 = TABLE(bf16_candidates), tf32 = TABLE(tf32_candidates);
    const struct table e4m3 = TABLE(e4m3_candidates), promoted = TABLE(promoted_candidates);
    const struct table scaled = TABLE(scaled_candidates);
    reaches(&bf16, "bf16", "dsv3.csv", 39);
    reaches(&bf16, "bf16", "more.csv", 20);
    reaches(&bf16, "bf16", "smallm.csv", 20);
    reaches(&tf32, "tf32", "dsv3.csv", 39);
    reaches(&tf32, "tf32", "more.csv", 20);
    reaches(&tf32, "tf32", "smallm.csv", 20);
    reaches(&e4m3, "e4m3", "dsv3.csv", 39);
    reaches(&e4m3, "e4m3", "more.csv", 20);
    reaches(&e4m3, "e4m3", "smallm.csv", 20);
    reaches(&promoted, "e4m3-promoted", "dsv3.csv", 39);
    reaches(&promoted, "e4m3-promoted", "more.csv", 20);
    // Not smallm.csv, which has none of the rows with swapped operands.
    reaches(&promoted, "e4m3-promoted", "smallm-swapped.csv", 20);
    reaches(&scaled, "e4m3-scaled", "scaled.csv", 28);
    reaches(&scaled, "e4m3-scaled", "scaled-unseen.csv", 16); // nothing was fitted to these
}

// The tables were never fitted to these: what is known of them, as kernels/NOTES.md has it.
struct known {
    size_t table;
    const char *kind, *list;
    size_t problems;
    double median, least;
};

TEST(test_problems_that_nothing_was_fitted_to_lose_no_more_than_is_known)
{
    const struct table tables[] = {TABLE(bf16_candidates), TABLE(tf32_candidates),
                                   TABLE(e4m3_candidates), TABLE(promoted_candidates)};
    // {the table's number, ...}
    const struct known known[] = {{0, "bf16", "unseen.csv", 32, 0.99, 0.74},
                                  {1, "tf32", "unseen.csv", 32, 0.99, 0.83},
                                  {2, "e4m3", "unseen.csv", 32, 0.99, 0.80},
                                  {3, "e4m3-promoted", "unseen.csv", 32, 0.99, 0.92}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *k = &known[i];
        struct outcome o;
        judge(&o, &tables[k->table], k->kind, k->list);
        print_message("%s: median %.3f, worst %.3f\n", k->list, o.speeds[o.count / 2], o.speeds[0]);
        assert_int_equal(o.count, k->problems);
        assert_true(o.speeds[o.count / 2] >= k->median && o.speeds[0] >= k->least);
    }
}

// One tile per block, where the problem is tiny. Selectors that have never heard of such rows lose
// a fifth and more there.
TEST(test_new_rows_are_chosen_where_they_were_fastest)
{
    const struct table bf16 = TABLE(bf16_candidates);
    struct outcome o;
    judge(&o, &bf16, "bf16", "tiny-brief.csv");
    assert_true(o.speeds[0] >=
                0.90); // at 1000^3, which the selector leaves to tile_per_block_clusters.cuh
}

TEST(test_every_row_of_a_table_can_be_read_back)
{
    const struct table tables[] = {TABLE(bf16_candidates),   TABLE(tf32_candidates),
                                   TABLE(e4m3_candidates),   TABLE(promoted_candidates),
                                   TABLE(scaled_candidates), TABLE(dual_candidates)};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct candidate *c = &tables[t].candidates[i];
            struct sweep_row row;
            assert_true(sweep_row_parse(&row, c->name));
            if (c->cost.launch == 0)
                continue;
            assert_true(c->cost.slab >= 1 && c->cost.tile >= 1);
            assert_true(c->cost.elements >= 1 && c->cost.launch >= 1);
        }
}

TEST(test_shares_hold_all_slabs_and_no_block_more_than_fit)
{
    for (int tiles = 1; tiles < 600; tiles++)
        for (int slabs = 1; slabs < 300; slabs += 13) {
            const struct plumb_stream_shares s = plumb_share_slabs(tiles, slabs, 132);
            assert_in_range(s.blocks, 1, 132);
            assert_in_range(s.streamed, 0, tiles);
            assert_in_range(s.sharers, 1, s.blocks);
            if (tiles < 132)
                assert_int_equal(s.streamed, tiles);
            else if (s.streamed)
                assert_int_equal((tiles - s.streamed) % s.blocks, 0);
            if (s.streamed)
                assert_true(s.sharers == s.streamed || s.streamed * slabs / s.sharers >= 3 ||
                            s.streamed > 132);
        }
}

static double cost_of(const char *name, long m, long n, long k)
{
    const struct plumb_cost cost = {500, 2000, 3000, 8000};
    const struct plumb_problem p = {.m = m, .n = n, .k = k};
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, name));
    return plumb_cost_cycles(&row.traits, &cost, &p, &plumb_cost_h200);
}

TEST(test_two_tile_rows_read_b_slower_than_one)
{
    const double one = cost_of("bf16-128x64-w2x1-k2-s6-m8-split", 128, 4096, 14336);
    const double two = cost_of("bf16-64x128-w1x1-k2-s7-m8-split", 128, 4096, 14336);
    assert_true(two > 1.03 * one);
    assert_true(fabs(cost_of("bf16-64x128-w1x1-k2-s7-m8-split", 64, 4096, 14336) / one - 1) < 0.05);
}

// In clusters; single blocks may share a second wave of less than three quarters, too.
TEST(test_stream_k_is_for_less_than_a_wave_of_tiles)
{
    const char *whole = "bf16-64x128-w1x1-c1x1-s8-e2-m8-coop";
    const char *shared = "bf16-64x128-w1x1-c1x1-s8-e2-m8-coop-stream";
    assert_true(cost_of(shared, 64 * 11, 128 * 8, 8192) <
                0.9 * cost_of(whole, 64 * 11, 128 * 8, 8192));
    assert_true(cost_of(shared, 64 * 132, 128, 8192) >= cost_of(whole, 64 * 132, 128, 8192));
    assert_true(cost_of(shared, 64 * 150, 128, 8192) < 0.8 * cost_of(whole, 64 * 150, 128, 8192));
    assert_true(isinf(cost_of(shared, 64 * 264, 128, 8192)));
    assert_true(isinf(cost_of(shared, 64 * 265, 128, 8192)));
    const char *clusters = "bf16-64x128-w1x1-c2x1-s8-e2-m8-coop-stream";
    assert_false(isinf(cost_of(clusters, 64 * 130, 128, 8192)));
    assert_true(isinf(cost_of(clusters, 64 * 134, 128, 8192)));
}

TEST(test_spread_k_has_a_part_for_every_sm_and_two_slabs_in_each)
{
    for (int tiles = 1; tiles <= 132; tiles++)
        for (int slabs = 1; slabs < 600; slabs += 7) {
            const int parts = plumb_spread_parts(tiles, slabs, 132);
            assert_in_range(parts, 1, tiles < 4 ? 32 : 132 / tiles);
            assert_true(parts == 1 || slabs / parts >= (parts > 16 ? 6 : 2));
            assert_true(parts == 32 || parts == 132 / tiles ||
                        slabs < (parts < 16 ? 2 * parts + 2 : 6 * parts + 6));
        }
    const char *spread = "bf16-64x64-w1x1-s10-m8-coop-spread";
    const char *split = "bf16-64x64-w1x1-k8-s10-m8-split";
    assert_true(cost_of(spread, 100, 200, 60000) < 0.8 * cost_of(split, 100, 200, 60000));
    assert_true(isinf(cost_of(spread, 64 * 133, 64, 8192)));
}

TEST(test_split_k_takes_another_turn_beyond_the_clusters_that_fit)
{
    const char *row = "bf16-128x64-w2x1-k4-s6-m8-split"; // clusters of four: 30 fit
    const double fit = cost_of(row, 128, 64 * 30, 8192), more = cost_of(row, 128, 64 * 31, 8192);
    assert_true(more > 1.5 * fit);
}

TEST(test_two_blocks_per_sm_gain_only_where_both_are_there)
{
    const char *row = "bf16-64x64-w1x1-c1x1-s5-e2-m8-twin";
    const double one = cost_of(row, 64 * 12, 64 * 11, 16384); // 132 tiles
    const double two = cost_of(row, 64 * 12, 64 * 22, 16384);
    assert_true(two > 1.2 * one && two < 1.8 * one);
    assert_true(cost_of(row, 64 * 7, 64 * 19, 16384) > 0.98 * two); // 133
}

TEST(test_rows_of_c_without_tma_cost_more_and_only_they)
{
    const char *row = "bf16-128x64-w2x1-c1x1-s8-e2-m8-coop";
    const double odd = cost_of(row, 1024, 1017, 1024), even = cost_of(row, 1024, 1016, 1024);
    assert_true(odd - even > 2900 && odd - even < 3100);
    assert_true(cost_of(row, 1017, 1024, 1024) <= cost_of(row, 1024, 1024, 1024));
}

TEST(test_crooked_rows_are_paid_by_the_byte_however_wide_the_slab)
{
    const char *wide = "bf16-64x96-w1x1-c1x1-s5-e2-m8-wide";
    const char *plain = "bf16-64x96-w1x1-c1x1-s10-e2-m8-coop";
    // As many bytes of K either way; a slab's own cost is made small beside them.
    const struct plumb_cost cost = {1, 1, 1, 1};
    const struct plumb_problem p = {.m = 4096, .n = 4096, .k = 8192 + 8};
    struct sweep_row a, b;
    assert_true(sweep_row_parse(&a, wide) && sweep_row_parse(&b, plain));
    const double x = plumb_cost_cycles(&a.traits, &cost, &p, &plumb_cost_h200);
    const double y = plumb_cost_cycles(&b.traits, &cost, &p, &plumb_cost_h200);
    assert_true(fabs(x / y - 1) < 0.02);
}

// Two tiles of 64x64 on each of 132 SMs, rows of K aligned to 32 bytes.
TEST(test_what_l2_delivers_is_counted_once_where_two_blocks_share_an_sm)
{
    const char *rows[] = {"tf32-64x64-w1x1-c1x1-s5-e2-m8-twin",
                          "bf16-64x64-w1x1-c1x1-s5-e2-m8-twin",
                          "e4m3-64x64-w1x1-c1x1-s5-e2-m8-twin"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sweep_row row;
        assert_true(sweep_row_parse(&row, rows[i]));
        const int in = i == 0 ? 4 : i == 1 ? 2 : 1;
        const struct plumb_problem p = {.m = 64 * 12, .n = 64 * 22, .k = 8192 + 32 / in};
        const double slabs = plumb_take_turns(&row.traits, &p, &plumb_cost_h200).slabs;
        const double cycles = plumb_cache_cycles(&row.traits, &p, slabs, in, &plumb_cost_h200);
        const double bytes = (double)(12 * 22) * (64 + 64) * (double)p.k * in;
        assert_true(fabs(cycles * plumb_cost_h200.off_line / bytes - 1) < 0.02);
    }
}

TEST(test_m_of_1_has_no_turns)
{
    const double one = cost_of("bf16-gemv", 1, 8448, 7168),
                 next = cost_of("bf16-gemv", 1, 8464, 7168);
    assert_true(next > one && next < 1.01 * one);
}
