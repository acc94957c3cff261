// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/cuda/cost.h"
#include "kernels/gemm/cuda/costs_bf16.cuh"
#include "kernels/gemm/cuda/costs_e4m3.cuh"
#include "kernels/gemm/cuda/costs_e4m3_promoted.cuh"
#include "kernels/gemm/cuda/costs_tf32.cuh"
#include "kernels/sweep/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The selectors' tables, with the names that kernels/gemm/cuda/space.cuh gives the rows.
struct candidate {
    const char *name;
    float slab, tile, launch;
};

#define ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                        \
#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages "-e" #ring                \
          "-" #raster #group "-" #how
#define SPLIT_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                              \
#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages "-" #raster #group "-split"
#define SPLIT_PROMOTED_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                     \
#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages "-" #raster #group             \
          "-promote-split"
#define STREAM_ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                 \
    ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how) "-stream"
#define SWAPPED_ROW(type, bm, bn, wm, wn, cm, cn, stages, raster, group, how)                      \
#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages "-" #raster #group        \
          "-" #how "-swapped"
#define SWAPPED_SPLIT_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                      \
#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages "-" #raster #group             \
          "-swapped-split"
#define GEMV_ROW(type)                     #type "-gemv"
#define GEMV_PROMOTED_ROW(type)            #type "-gemv-promote"
#define CANDIDATE(row, slab, tile, launch) {row, slab, tile, launch},

static const struct candidate bf16_candidates[] = {PLUMB_COSTS_BF16(CANDIDATE, bf16)};
static const struct candidate tf32_candidates[] = {PLUMB_COSTS_TF32(CANDIDATE, tf32)};
static const struct candidate e4m3_candidates[] = {PLUMB_COSTS_E4M3(CANDIDATE, e4m3)};
static const struct candidate promoted_candidates[] = {PLUMB_COSTS_E4M3_PROMOTED(CANDIDATE, e4m3)};

struct table {
    const struct candidate *candidates;
    size_t count;
};
#define TABLE(array) ((struct table){array, sizeof(array) / sizeof *(array)})

static const struct candidate *find(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->candidates[i].name, name) == 0)
            return &table->candidates[i];
    return NULL;
}

// One recorded problem: the configurations measured.
struct runner {
    struct sweep_row row;
    double us, ghz;
    int rounds;
};
struct race {
    long m, n, k;
    size_t count;
    struct runner runners[256];
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct outcome {
    double speeds[256];
    size_t count;
};

// The mean clock of a race's finalists.
static double race_ghz(const struct race *race)
{
    double sum = 0, count = 0;
    int most = 0;
    for (size_t i = 0; i < race->count; i++)
        most = race->runners[i].rounds > most ? race->runners[i].rounds : most;
    for (size_t i = 0; i < race->count; i++)
        if (race->runners[i].rounds == most) {
            sum += race->runners[i].ghz;
            count += 1;
        }
    return sum / count;
}

// Adds the speed of what the table chooses over the fastest's. Times as the fit takes them: what
// was no finalist at the finalists' clock.
static void finish(struct outcome *o, const struct table *table, const struct race *race)
{
    const struct plumb_problem p = {.m = race->m, .n = race->n, .k = race->k};
    const double ghz = race_ghz(race);
    double least_cycles = INFINITY, chosen_us = 0, best_us = INFINITY;
    for (size_t i = 0; i < race->count; i++) {
        const struct runner *r = &race->runners[i];
        const struct candidate *c = find(table, r->row.name);
        const double us = r->rounds < 5 ? r->us * r->ghz / ghz : r->us;
        best_us = fmin(best_us, us);
        if (!c)
            continue;
        const struct plumb_cost cost = {c->slab, c->tile, c->launch};
        const double cycles = plumb_cost_cycles(&r->row.traits, &cost, &p, &plumb_cost_h200);
        if (cycles < least_cycles) {
            least_cycles = cycles;
            chosen_us = us;
        }
    }
    if (chosen_us > 0 && o->count < sizeof o->speeds / sizeof *o->speeds)
        o->speeds[o->count++] = best_us / chosen_us;
}

// Speeds of the table's choices over brute force's, sorted, of one recorded list.
static void judge(struct outcome *o, const struct table *table, const char *kind, const char *list)
{
    char path[512], line[512];
    snprintf(path, sizeof path, "%s/baselines/recorded/h200/ladder/%s", TEST_SOURCE, list);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static struct race race;
    race.count = o->count = 0;
    while (fgets(line, sizeof line, file)) {
        struct runner r;
        long m, n, k;
        char name[128];
        if (sscanf(line, "%*d,%ld,%ld,%ld,%127[^,],%lf,%*f,%*f,%lf,%*f,%d", &m, &n, &k, name, &r.us,
                   &r.ghz, &r.rounds) != 7 ||
            !sweep_row_parse(&r.row, name) || strcmp(r.row.kind, kind) != 0)
            continue;
        if (m != race.m || n != race.n || k != race.k) {
            finish(o, table, &race);
            race.m = m;
            race.n = n;
            race.k = k;
            race.count = 0;
        }
        assert_true(race.count < sizeof race.runners / sizeof *race.runners);
        race.runners[race.count++] = r;
    }
    finish(o, table, &race);
    fclose(file);
    qsort(o->speeds, o->count, sizeof *o->speeds, compare);
}

// What the project asks of its selectors: median 0.97, worst 0.90 of brute force. All but `missed`
// reach the latter, and those at least 0.70 (kernels/README.md says which they are and why).
static void reaches(const struct table *table, const char *kind, const char *list, size_t problems,
                    size_t missed)
{
    struct outcome o;
    judge(&o, table, kind, list);
    print_message("%s: median %.3f, worst %.3f\n", list, o.speeds[o.count / 2], o.speeds[0]);
    assert_int_equal(o.count, problems);
    assert_true(o.speeds[o.count / 2] >= 0.97);
    assert_true(o.speeds[missed] >= 0.90);
    assert_true(o.speeds[0] >= 0.70);
}

static void test_the_tables_reach_nine_tenths_of_brute_force_on_every_recorded_list(void **state)
{
    (void)state;
    const struct table bf16 = TABLE(bf16_candidates), tf32 = TABLE(tf32_candidates);
    const struct table e4m3 = TABLE(e4m3_candidates), promoted = TABLE(promoted_candidates);
    reaches(&bf16, "bf16", "dsv3.bf16.csv", 39, 0);
    reaches(&bf16, "bf16", "more.bf16.csv", 20, 1);
    reaches(&bf16, "bf16", "smallm.bf16.csv", 20, 0);
    reaches(&tf32, "tf32", "dsv3.tf32.csv", 39, 0);
    reaches(&tf32, "tf32", "more.tf32.csv", 20, 1);
    reaches(&tf32, "tf32", "smallm.tf32.csv", 20, 1);
    reaches(&e4m3, "e4m3", "dsv3.e4m3.csv", 39, 0);
    reaches(&e4m3, "e4m3", "more.e4m3.csv", 20, 1);
    reaches(&e4m3, "e4m3", "smallm.e4m3.csv", 20, 0);
    reaches(&promoted, "e4m3-promoted", "dsv3.e4m3.csv", 39, 1);
    reaches(&promoted, "e4m3-promoted", "more.e4m3.csv", 20, 0);
    reaches(&promoted, "e4m3-promoted", "smallm.e4m3.csv", 20, 0);
}

static void test_every_candidate_is_a_row_that_can_be_read_back(void **state)
{
    (void)state;
    const struct table tables[] = {TABLE(bf16_candidates), TABLE(tf32_candidates),
                                   TABLE(e4m3_candidates), TABLE(promoted_candidates)};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct candidate *c = &tables[t].candidates[i];
            struct sweep_row row;
            assert_true(sweep_row_parse(&row, c->name));
            assert_true(c->slab >= 1 && c->tile >= 1 && c->launch >= 1);
        }
}

static void test_shares_hold_all_slabs_and_no_block_more_than_fit(void **state)
{
    (void)state;
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
    const struct plumb_cost cost = {500, 2000, 8000};
    const struct plumb_problem p = {.m = m, .n = n, .k = k};
    struct sweep_row row;
    assert_true(sweep_row_parse(&row, name));
    return plumb_cost_cycles(&row.traits, &cost, &p, &plumb_cost_h200);
}

static void test_two_tile_rows_read_b_slower_than_one(void **state)
{
    (void)state;
    const double one = cost_of("bf16-128x64-w2x1-k2-s6-m8-split", 128, 4096, 14336);
    const double two = cost_of("bf16-64x128-w1x1-k2-s7-m8-split", 128, 4096, 14336);
    assert_true(two > 1.05 * one);
    assert_true(fabs(cost_of("bf16-64x128-w1x1-k2-s7-m8-split", 64, 4096, 14336) / one - 1) < 0.05);
}

static void test_stream_k_is_for_less_than_a_wave_of_tiles(void **state)
{
    (void)state;
    const char *whole = "bf16-128x192-w2x1-c1x1-s5-e1-m8-coop";
    const char *shared = "bf16-128x192-w2x1-c1x1-s5-e1-m8-coop-stream";
    assert_true(cost_of(shared, 128 * 11, 192 * 8, 8192) <
                0.8 * cost_of(whole, 128 * 11, 192 * 8, 8192));
    assert_true(fabs(cost_of(shared, 128 * 132, 192, 8192) / cost_of(whole, 128 * 132, 192, 8192) -
                     1) < 1e-6);
    assert_true(isinf(cost_of(shared, 128 * 133, 192, 8192)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tables_reach_nine_tenths_of_brute_force_on_every_recorded_list),
        cmocka_unit_test(test_every_candidate_is_a_row_that_can_be_read_back),
        cmocka_unit_test(test_shares_hold_all_slabs_and_no_block_more_than_fit),
        cmocka_unit_test(test_two_tile_rows_read_b_slower_than_one),
        cmocka_unit_test(test_stream_k_is_for_less_than_a_wave_of_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
