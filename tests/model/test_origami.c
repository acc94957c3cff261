// SPDX-License-Identifier: Apache-2.0
//
// The model `origami` equals seed 3, and its laws hold on any input.
#include "model/predict/parts/select.h"
#include "tests/helpers/helper_table.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static struct problem fp16(double m, double n, double k)
{
    return (struct problem){.m = (int64_t)m,
                            .n = (int64_t)n,
                            .k = (int64_t)k,
                            .in = DTYPE_FP16,
                            .out = DTYPE_FP16,
                            .batch = 1};
}

static struct problem row_problem(const struct csv *t, size_t row)
{
    return fp16(table_number(t, row, "m"), table_number(t, row, "n"), table_number(t, row, "k"));
}

static void check(const struct csv *t, size_t row, const char *column, double actual)
{
    if (table_has(t, row, column))
        assert_true(close_to(actual, table_number(t, row, column), 1e-12));
}

static void check_latency(const struct csv *t, size_t row, const struct origami_latency *l)
{
    const struct {
        const char *column;
        double value;
    } figures[] = {
        {"n_mma", l->n_mma},
        {"L_compute", l->compute},
        {"grid_0", (double)l->grid_m},
        {"grid_1", (double)l->grid_n},
        {"active", (double)l->active},
        {"waves", (double)l->waves},
        {"l2_tile_0", (double)l->l2_tile_m},
        {"l2_tile_1", (double)l->l2_tile_n},
        {"l2_hit", l->l2_hit},
        {"uncached_bytes", l->uncached_bytes},
        {"load_a", l->load_a},
        {"load_b", l->load_b},
        {"total_load", l->total_load},
        {"L_l2", l->l2},
        {"load_dram", l->load_dram},
        {"L_dram", l->dram},
        {"L_mem", l->mem},
        {"utilization", l->utilization},
        {"L_prologue", l->prologue},
        {"L_epilogue", l->epilogue},
        {"num_iter", (double)l->iterations},
        {"k_pad", l->k_pad},
        {"L_steady", l->steady},
        {"L_total", l->total},
        {"working_set", l->working_set},
    };
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++)
        check(t, row, figures[i].column, figures[i].value);
}

TEST(latencies_equal_seed_3)
{
    struct csv t = table_read("conformance_origami_latency.csv");
    for (size_t row = 0; row < t.count; row++) {
        struct problem p = row_problem(&t, row);
        struct origami_config c = {.tile_m = (int32_t)table_number(&t, row, "tile_m"),
                                   .tile_n = (int32_t)table_number(&t, row, "tile_n"),
                                   .tile_k = (int32_t)table_number(&t, row, "tile_k")};
        struct origami_latency l;
        assert_null(origami_latency(&l, gpu_find("rtx4090"), &p, &c, 0));
        check_latency(&t, row, &l);
    }
    csv_free(&t);
}

// Cases of the same kind, worked out by hand from the document's formulas.
TEST(corner_cases_follow_the_formulas)
{
    const struct gpu *gpu = gpu_find("rtx4090");
    struct origami_latency l;
    // One tile: one SM draws 2.22 % of DRAM's bandwidth and 1/128 of L2's, and there is no reuse.
    struct problem one = fp16(128, 128, 64);
    struct origami_config c = {.tile_m = 128, .tile_n = 128, .tile_k = 64};
    assert_null(origami_latency(&l, gpu, &one, &c, 0));
    assert_int_equal(l.active, 1);
    assert_true(close_to(l.dram, 32768 / (342.9 * 0.0222) + 623, 1e-12));
    assert_true(l.l2_hit == 0);
    assert_int_equal(l.iterations, 1);
    // Wrap-around: a grid two rows high takes 12 columns and 5 more times 12, clamped to 64.
    struct problem flat = fp16(256, 8192, 1024);
    assert_null(origami_latency(&l, gpu, &flat, &c, 0));
    assert_int_equal(l.l2_tile_m, 2);
    assert_int_equal(l.l2_tile_n, 64);
    // The cap: the operands' slabs exceed L2.
    struct problem wide = fp16(65536, 65536, 8192);
    c.tile_k = 512;
    c.tile_m = c.tile_n = 16;
    assert_null(origami_latency(&l, gpu, &wide, &c, 0));
    assert_true(l.working_set > gpu->l2_bytes.value);
    assert_true(l.l2_hit <= 0.5);
}

static const char *select_one(struct origami_selection *out, const struct gpu *gpu,
                              const struct problem *problem, const struct origami_search *search)
{
    size_t count;
    return origami_rank(out, &count, 1, gpu, problem, search);
}

TEST(selections_equal_seed_3)
{
    struct csv t = table_read("conformance_origami_select.csv");
    assert_int_equal(t.count, 23);
    for (size_t row = 0; row < t.count; row++) {
        struct problem p = row_problem(&t, row);
        struct origami_selection s;
        const struct origami_search plain = {0};
        assert_null(select_one(&s, gpu_find("rtx4090"), &p, &plain));
        assert_int_equal(s.config.tile_m, (int)table_number(&t, row, "block_0"));
        assert_int_equal(s.config.tile_n, (int)table_number(&t, row, "block_1"));
        assert_int_equal(s.config.tile_k, (int)table_number(&t, row, "block_2"));
        assert_int_equal(s.config.group, (int)table_number(&t, row, "group_size_m"));
        assert_int_equal(s.tried, 150);
        check(&t, row, "n_valid", s.valid);
        check(&t, row, "group_cost", (double)s.group_cost);
        check(&t, row, "L_total", s.latency.total);
    }
    csv_free(&t);
}

// Seed 3's phase 1 whole: all 122, each once, none better than the one before it.
TEST(all_122_are_ranked)
{
    struct origami_selection all[200], one;
    const struct origami_search none = {0};
    struct problem p = fp16(2048, 2048, 2048);
    size_t count;
    assert_null(origami_rank(all, &count, ARRAY_COUNT(all), gpu_find("rtx4090"), &p, &none));
    assert_int_equal(count, 122);
    for (size_t i = 1; i < count; i++) {
        assert_true(all[i].latency.total >= all[i - 1].latency.total * (1 - 1e-9));
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(&all[i].config, &all[j].config, 3 * sizeof(int32_t));
    }
    assert_null(select_one(&one, gpu_find("rtx4090"), &p, &none));
    assert_memory_equal(&one.config, &all[0].config, sizeof(one.config));
    assert_null(origami_rank(all, &count, 5, gpu_find("rtx4090"), &p, &none));
    assert_int_equal(count, 5);
    assert_int_equal(all[4].valid, 122);
}

// What a profile does not know is derived (section 4.1), and comes near what the document measured.
TEST(every_profile_of_a_gpu_selects)
{
    struct problem p = fp16(4096, 4096, 4096);
    const struct origami_search none = {0};
    struct origami_selection s, derived;
    for (size_t i = 0; i < gpu_count; i++) {
        assert_null(select_one(&s, gpus[i], &p, &none));
        const double s_at_peak =
            2.0 * 4096 * 4096 * 4096 / gpu_flops_clk(gpus[i], DTYPE_FP16) / gpus[i]->sm_count.value;
        assert_true(s.latency.total > 0.9 * s_at_peak && s.latency.total < 6 * s_at_peak);
    }
    struct gpu bare = *gpu_find("rtx4090");
    bare.mma_units = bare.mma_latency_clk = bare.dram_latency_clk = bare.dram_sm_fraction =
        bare.l2_bytes_clk = (struct figure){0};
    assert_null(select_one(&s, gpu_find("rtx4090"), &p, &none));
    assert_null(select_one(&derived, &bare, &p, &none));
    assert_true(fabs(derived.latency.total / s.latency.total - 1) < 0.05);
    assert_memory_equal(&derived.config, &s.config, sizeof(s.config));
    bare.compute_capability = (struct figure){0}; // no GPU
    assert_non_null(select_one(&derived, &bare, &p, &none));
}

// The closed form of phase 2 against walking the tiles one by one.
TEST(group_cost_equals_enumeration)
{
    for (int64_t gm = 1; gm <= 20; gm += 3) {
        for (int64_t gn = 1; gn <= 20; gn++) {
            for (int32_t group = 1; group <= 16; group++) {
                int64_t blocks = gm * gn < 50 ? gm * gn : 50;
                bool rows[20] = {0}, columns[20] = {0};
                for (int64_t pid = 0; pid < blocks; pid++) {
                    int64_t width = group * gn, g = pid / width;
                    int64_t size = gm - g * group < group ? gm - g * group : group;
                    rows[g * group + pid % width % size] = true;
                    columns[pid % width / size] = true;
                }
                int64_t cost = 0;
                for (int64_t i = 0; i < 20; i++)
                    cost += (rows[i] ? 64 : 0) + (columns[i] ? 256 : 0);
                assert_int_equal(origami_group_cost(gm, gn, blocks, group, 64, 256), cost);
            }
        }
    }
}

// Registers that seed 3 publishes for its selections at 8 warps (section 7.2): the estimate is a
// lower bound of each, and says "spills" exactly where the document saw spilling collapse.
TEST(register_estimate_bounds_the_published_counts)
{
    static const struct {
        struct origami_config c;
        int32_t registers;
    } rows[] = {
        {{.tile_m = 16, .tile_n = 16, .tile_k = 32}, 36},
        {{.tile_m = 16, .tile_n = 16, .tile_k = 64}, 38},
        {{.tile_m = 16, .tile_n = 32, .tile_k = 128}, 40},
        {{.tile_m = 32, .tile_n = 64, .tile_k = 128}, 58},
        {{.tile_m = 64, .tile_n = 128, .tile_k = 64}, 94},
        {{.tile_m = 128, .tile_n = 256, .tile_k = 64}, 255},
        {{.tile_m = 64, .tile_n = 64, .tile_k = 256}, 98},
        {{.tile_m = 128, .tile_n = 128, .tile_k = 128}, 168},
        {{.tile_m = 64, .tile_n = 128, .tile_k = 256}, 128},
        {{.tile_m = 128, .tile_n = 64, .tile_k = 256}, 128},
        {{.tile_m = 128, .tile_n = 256, .tile_k = 128}, 248},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_in_range(origami_registers(&rows[i].c, DTYPE_FP16), 1, rows[i].registers);
    struct origami_config big = {.tile_m = 256, .tile_n = 256, .tile_k = 64};
    assert_true(origami_registers(&big, DTYPE_FP16) > ORIGAMI_REGISTERS_MAX);
    big.warps = 16;
    assert_true(origami_registers(&big, DTYPE_FP16) <= ORIGAMI_REGISTERS_MAX);
}

TEST(register_filter_never_selects_a_spilling_tile)
{
    struct csv t = table_read("conformance_origami_select.csv");
    for (size_t row = 0; row < t.count; row++) {
        struct problem p = row_problem(&t, row);
        struct origami_selection plain, filtered;
        const struct origami_search off = {0}, on = {.registers = true};
        assert_null(select_one(&plain, gpu_find("rtx4090"), &p, &off));
        assert_null(select_one(&filtered, gpu_find("rtx4090"), &p, &on));
        assert_true(origami_registers(&filtered.config, DTYPE_FP16) <= ORIGAMI_REGISTERS_MAX);
        bool spilled = origami_registers(&plain.config, DTYPE_FP16) > ORIGAMI_REGISTERS_MAX;
        bool same = plain.config.tile_m == filtered.config.tile_m &&
                    plain.config.tile_n == filtered.config.tile_n;
        assert_int_equal(spilled, !same);
    }
    csv_free(&t);
}

// More warps make a thread's share of a tile smaller, not the block's.
// Triton on an H100: 128x256x256 asks for 393,216 bytes in two stages, of the 232,448 there are.
TEST(stages_have_room_from_hopper_on)
{
    struct problem p = fp16(4096, 4096, 4096);
    const struct origami_search searches[] = {{.registers = true}, {.pipeline = true}};
    for (size_t i = 0; i < ARRAY_COUNT(searches); i++) {
        struct origami_selection s;
        assert_null(select_one(&s, gpu_find("h100-sxm"), &p, &searches[i]));
        const struct origami_config *c = &s.config;
        assert_true(2.0 * (c->tile_m + c->tile_n) * c->tile_k * c->stages <= 232448);
    }
}

TEST(a_block_has_no_more_registers_than_an_sm)
{
    const struct gpu *gpu = gpu_find("rtx4090");
    const struct origami_search search = {.registers = true, .pipeline = true, .split_k = true};
    for (int64_t side = 256; side <= 8192; side *= 2) {
        struct problem p = {.m = side, .n = side, .k = side, .batch = 1};
        p.in = p.out = DTYPE_FP16;
        struct origami_selection s;
        assert_null(select_one(&s, gpu, &p, &search));
        assert_true(origami_registers(&s.config, p.in) * 32 * s.config.warps <= 65536);
    }
}

TEST(wider_searches_find_nothing_worse)
{
    struct problem p = fp16(256, 512, 16384);
    struct origami_selection plain, pipeline, split;
    const struct origami_search none = {0}, deep = {.pipeline = true}, cut = {.split_k = true};
    assert_null(select_one(&plain, gpu_find("rtx4090"), &p, &none));
    assert_null(select_one(&pipeline, gpu_find("rtx4090"), &p, &deep));
    assert_null(select_one(&split, gpu_find("rtx4090"), &p, &cut));
    assert_true(pipeline.latency.total <= plain.latency.total);
    assert_true(pipeline.valid > plain.valid);
    assert_true(split.latency.total < plain.latency.total); // few tiles, long K
    assert_true(split.config.split > 1);
    struct problem square = fp16(4096, 4096, 4096);
    assert_null(select_one(&split, gpu_find("rtx4090"), &square, &cut));
    assert_int_equal(split.config.split, 1); // enough tiles already
}

TEST(unpipelined_tiles_are_slower)
{
    struct problem p = fp16(4096, 4096, 4096);
    struct origami_config c = {.tile_m = 128, .tile_n = 128, .tile_k = 64, .stages = 1};
    struct origami_latency one, two;
    assert_null(origami_latency(&one, gpu_find("rtx4090"), &p, &c, 0));
    c.stages = 2;
    assert_null(origami_latency(&two, gpu_find("rtx4090"), &p, &c, 0));
    assert_true(close_to(one.steady, one.compute + one.mem, 1e-15));
    assert_true(one.total > two.total);
}

// From ROCm/rocm-libraries @ad0886a, shared/origami/tests/origami_gtest.yaml, as is the next.
TEST(l2_hit_lies_between_0_and_1_for_every_group)
{
    struct problem p = fp16(4096, 4096, 1024);
    for (int32_t group = 1; group <= 1024; group++) {
        struct origami_config c = {
            .tile_m = 256, .tile_n = 256, .tile_k = 64, .group = group, .split = 3};
        struct origami_latency l;
        assert_null(origami_latency(&l, gpu_find("rtx4090"), &p, &c, 0));
        assert_true(l.l2_hit > 0 && l.l2_hit < 1);
    }
}

TEST(instruction_counts_follow_the_atom)
{
    // 128x128x64 takes 256 instructions of 16x16x16 (Origami's test), so twice as many of 16x8x16.
    struct problem p = fp16(128, 128, 64);
    struct origami_config c = {.tile_m = 128, .tile_n = 128, .tile_k = 64};
    struct origami_latency l;
    assert_null(origami_latency(&l, gpu_find("rtx4090"), &p, &c, 0));
    assert_true(l.n_mma == 512);
    p.in = DTYPE_E4M3; // 32 elements of K each
    assert_null(origami_latency(&l, gpu_find("rtx4090"), &p, &c, 0));
    assert_true(l.n_mma == 256);
}

TEST(impossible_inputs_say_why)
{
    struct problem p = fp16(4096, 4096, 4096);
    struct origami_latency l;
    struct origami_config wide = {.tile_m = 256, .tile_n = 256, .tile_k = 512};
    assert_string_equal(origami_latency(&l, gpu_find("rtx4090"), &p, &wide, 0),
                        "the tile does not fit in shared memory");
    struct origami_config negative = {.tile_m = -16, .tile_n = 16, .tile_k = 16};
    assert_non_null(origami_latency(&l, gpu_find("rtx4090"), &p, &negative, 0));
    struct origami_selection s;
    const struct origami_search plain = {0};
    struct gpu empty = {.name = "empty"};
    assert_non_null(select_one(&s, &empty, &p, &plain));
}

TEST(the_model_predicts_finite_times_everywhere)
{
    const struct model *model = model_find("origami");
    const int64_t sizes[] = {1, 63, 257, 4096, INT32_MAX};
    for (size_t i = 0; i < 125; i++) {
        struct problem p =
            fp16((double)sizes[i % 5], (double)sizes[i / 5 % 5], (double)sizes[i / 25]);
        struct traits traits = {0};
        struct predict_input in = {.gpu = gpu_find("h200-sxm"), .traits = &traits, .problem = &p};
        struct prediction out = model->predict(&in);
        assert_true(out.feasible ? isfinite(out.time_ns) && out.time_ns > 0 : out.why != NULL);
        double sum = 0;
        for (size_t j = 0; j < out.part_count; j++)
            sum += out.parts[j].time_ns;
        if (out.feasible)
            assert_true(close_to(sum, out.time_ns, 1e-9));
    }
}
