// SPDX-License-Identifier: Apache-2.0
//
// Plans: what launches they become for a problem, and how they are refused when they are wrong or
// hostile.
#include "model/plan/plan.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

static int free_all(void **state)
{
    arena_free(&arena);
    return 0;
}

AROUND_EACH(NULL, free_all);

static const char *seed(const char *name)
{
    char *path = arena_printf(&arena, TEST_SOURCE "/tests/fuzz/seeds/%s", name);
    size_t size;
    char *text = helper_read(path, &size);
    const char *kept = arena_strdup(&arena, text);
    free(text);
    return kept;
}

static struct launch_plan parsed(const char *text)
{
    struct launch_plan plan;
    struct error err = {""};
    if (plan_parse(&plan, text, strlen(text), "x.plan", &err))
        fail_msg("%s", err.text);
    return plan;
}

static struct record recorded(const struct launch_plan *plan, const char *text,
                              const struct plan_entry *entries)
{
    const struct problem problem = helper_problem(text);
    struct record record;
    struct error err = {""};
    if (plan_record(&record, plan, &problem, 132, entries, &arena, &err))
        fail_msg("%s", err.text);
    return record;
}

static int64_t int_at(const struct record_launch *launch, uint32_t parameter, size_t size)
{
    int64_t value = 0;
    memcpy(&value, launch->bytes + launch->parameters[parameter].offset, size);
    return value;
}

// Where ptxas put the parameters of the persistent kernel (Triton 3.6, sm_90a).
static const uint32_t sizes[] = {128, 4, 4, 8, 8, 128, 4, 4, 8, 8, 128, 4, 4, 8, 8, 4, 4, 4, 8, 8},
                      offsets[] = {48,  176, 180, 184, 192, 240, 368, 372, 376, 384,
                                   432, 560, 564, 568, 576, 584, 588, 592, 600, 608};

static struct plan_entry persistent_entry(void)
{
    struct record_parameter *p = arena_alloc(&arena, ARRAY_COUNT(sizes) * sizeof(*p));
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
        p[i] = (struct record_parameter){offsets[i], sizes[i]};
    return (struct plan_entry){p, ARRAY_COUNT(sizes)};
}

TEST(a_persistent_kernel_gets_its_blocks_descriptors_and_numbers)
{
    struct launch_plan plan = parsed(seed("persistent.plan"));
    const struct plan_entry entry = persistent_entry();
    const struct record record = recorded(&plan, "4096x7168x2048:bf16", &entry);
    assert_string_equal(record.kernel, "triton-persistent");
    assert_int_equal(record.launch_count, 1);
    assert_int_equal(record.workspace_bytes, 0);
    const struct record_launch *launch = &record.launches[0];
    assert_string_equal(launch->function, "matmul_persistent");
    assert_int_equal(launch->grid[0], 132);
    assert_int_equal(launch->block[0], 256);
    assert_int_equal(launch->cluster[0], 1);
    assert_int_equal(launch->shared_bytes, 213016);
    assert_int_equal(launch->carveout, -1);
    assert_int_equal(launch->size, 616);
    assert_int_equal(launch->address_count, 0);
    assert_int_equal(launch->map_count, 3);
    const struct record_map *b = &launch->maps[1];
    assert_int_equal(b->at, 240);
    assert_int_equal(b->buffer, RECORD_B);
    assert_int_equal(b->type, RECORD_MAP_BF16);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->dims[0], 2048);
    assert_int_equal(b->dims[1], 7168);
    assert_int_equal(b->strides[1], 4096);
    assert_int_equal(b->box[0], 64);
    assert_int_equal(b->box[1], 256);
    assert_int_equal(b->elements[1], 1);
    assert_int_equal(b->swizzle, 128);
    assert_int_equal(b->promote, 128);
    assert_int_equal(record_map_extent(b), 7168 * 4096);
    assert_int_equal(int_at(launch, 6, 4), 7168);
    assert_int_equal(int_at(launch, 8, 8), 2048);
    assert_int_equal(int_at(launch, 17, 4), 2048);
    const struct record few = recorded(&plan, "128x512x2048:bf16", &entry);
    assert_int_equal(few.launches[0].grid[0], 2);
    assert_int_equal(plan.traits.tile_n, 256);
    assert_int_equal(plan.traits.threads, 256);
    assert_int_equal(plan.traits.smem_bytes, 213016);
    assert_int_equal(plan.traits.raster_group, 8);
    plan_free(&plan);
}

TEST(a_plan_does_the_problems_that_it_says)
{
    static const struct {
        const char *problem;
        bool yes;
    } cases[] = {{"4096x4096x4096:bf16", true},           {"4096x4096x4096:fp16", false},
                 {"4096x4096x4096:bf16:nn", false},       {"4096x4096x4096:bf16-fp32", false},
                 {"4096x4096x4096:bf16:b2", false},       {"4096x4096x4090:bf16", false},
                 {"4096x4096x4096:bf16:dual-silu", false}};
    struct launch_plan plan = parsed(seed("persistent.plan"));
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct problem problem = helper_problem(cases[i].problem);
        struct record record;
        struct error err;
        bool yes;
        assert_int_equal(plan_supports(&yes, &plan, &problem, 132, &err), 0);
        if (yes != cases[i].yes)
            fail_msg("%s", cases[i].problem);
        assert_int_equal(plan_record(&record, &plan, &problem, 132, NULL, &arena, &err),
                         yes ? 0 : -1);
    }
    plan_free(&plan);
}

TEST(launches_and_values_follow_the_text)
{
    struct launch_plan plan = parsed(
        "[kernel]\n\tname = two\n\tin = fp32\n\tout = fp32\n\tbatched = true\n"
        "[launch \"one\"]\n\tcubin = a.cubin\n\tentry = f\n\tgrid = 2 * batch, ceil_div(m, 100)\n"
        "\tblock = 32, 4\n\tcluster = 2\n\tparameter = pointer b + k\n"
        "\tparameter = int8 -1\n\tparameter = int64 k / 2\n\tparameter = float 1.5\n"
        "\tparameter = double -2\n\tparameter = int16 k / 4\n\tparameter = pointer null\n"
        "[launch \"two\"]\n\tcubin = b.cubin\n\tentry = g\n\tgrid = sms\n\tblock = 64\n");
    const struct record record = recorded(&plan, "256x256x128:fp32:b3", NULL);
    assert_int_equal(record.launch_count, 2);
    const struct record_launch *one = &record.launches[0], *two = &record.launches[1];
    assert_int_equal(one->grid[0], 6);
    assert_int_equal(one->grid[1], 3);
    assert_int_equal(one->grid[2], 1);
    assert_int_equal(one->block[1], 4);
    assert_int_equal(one->cluster[0], 2);
    assert_int_equal(one->parameter_count, 7);
    assert_int_equal(one->address_count, 1);
    assert_int_equal(one->addresses[0].buffer, RECORD_B);
    assert_int_equal(one->addresses[0].offset, 128);
    assert_int_equal(one->bytes[8], 0xff);
    assert_int_equal(one->parameters[2].offset, 16);
    assert_int_equal(int_at(one, 2, 8), 64);
    const float one_and_a_half = 1.5F;
    assert_memory_equal(one->bytes + 24, &one_and_a_half, 4);
    assert_int_equal(one->parameters[4].offset, 32);
    assert_int_equal(int_at(one, 5, 2), 32);
    assert_int_equal(one->size, 56);
    assert_string_equal(two->function, "g");
    assert_int_equal(two->grid[0], 132);
    assert_int_equal(plan.traits.threads, 128);
    plan_free(&plan);
}

TEST(a_record_of_a_plan_reads_back_and_binds_within_its_buffers)
{
    struct launch_plan plan = parsed(seed("persistent.plan"));
    const struct record record = recorded(&plan, "256x256x128:bf16", NULL);
    struct buffer text = {0}, again = {0};
    struct record back;
    struct error err = {""};
    record_print(&text, &record);
    char *copy = arena_copy(&arena, text.bytes, text.length);
    if (record_parse(&back, copy, text.length, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back.launches[0].map_count, 3);
    record_print(&again, &back);
    assert_int_equal(again.length, text.length);
    assert_memory_equal(again.bytes, text.bytes, text.length);
    struct record_places places = {.address = {0x1000, 0x20000, 0x40000},
                                   .bytes = {2 * 256 * 128, 2 * 256 * 128, 2 * 256 * 256}};
    unsigned char *bytes = arena_alloc(&arena, back.launches[0].size);
    assert_int_equal(record_bind(bytes, &back.launches[0], &places, &err), 0);
    places.bytes[RECORD_B]--;
    assert_int_equal(record_bind(bytes, &back.launches[0], &places, &err), -1);
    assert_non_null(strstr(err.text, "of b, which has"));
    buffer_free(&text);
    buffer_free(&again);
    plan_free(&plan);
}

static const char *changed(const char *text, const char *line, const char *instead);

TEST(hostile_descriptors_are_refused)
{
    static const char *const cases[][2] = {
        {"dims=128,256", "dims=0,256"},
        {"dims=128,256", "dims=128,4294967297"},
        {"dims=128,256", "dims=128"},
        {"dims=128,256", "dims=1,1,1,1,1,1"},
        {"dims=128,256", "dims=-1,256"},
        {"dims=128,256", "dims="},
        {"strides=256", "strides=1099511627776"},
        {"strides=256", "strides=256,256"},
        {"box=64,128", "box=0,128"},
        {"box=64,128", "box=64,257"},
        {"box=64,128", "box=64,99999999999999999999"},
        {"elements=1,1", "elements=1,9"},
        {"swizzle=128", "swizzle=48"},
        {"interleave=0", "interleave=8"},
        {"promote=128", "promote=1"},
        {"nan=0", "nan=2"},
        {"type=bf16", "type=half"},
        {"tensormap\tat=0\tbuffer=a", "tensormap\tat=0\tbuffer=d"},
        {"tensormap\tat=0", "tensormap\tat=8"},
        {"tensormap\tat=0", "tensormap\tat=2147483647"},
    };
    struct launch_plan plan = parsed(seed("persistent.plan"));
    const struct record record = recorded(&plan, "256x256x128:bf16", NULL);
    struct buffer text = {0};
    record_print(&text, &record);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const char *hostile = changed(text.bytes, cases[i][0], cases[i][1]);
        char *copy = arena_strdup(&arena, hostile);
        struct record back;
        struct error err = {""};
        if (record_parse(&back, copy, strlen(copy), &arena, &err) != -1)
            fail_msg("%s is taken", cases[i][1]);
    }
    buffer_free(&text);
    plan_free(&plan);
}

// The text with one line put in place of another, or behind it.
static const char *changed(const char *text, const char *line, const char *instead)
{
    const char *at = strstr(text, line);
    assert_non_null(at);
    return arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(line));
}

#define GRID "grid = min(sms, ceil_div(m, 128) * ceil_div(n, 256))"

TEST(wrong_plans_say_file_and_line)
{
    static const struct {
        const char *line, *instead, *error;
    } cases[] = {
        {"name = triton", "name = Triton", "x.plan:3: [kernel] name: is at most"},
        {"tile = 128x256x64", "tile = 128", "x.plan:8: [kernel] tile: is MxNxK"},
        {"stages = 3", "stages = many", "x.plan:9: [kernel] stages: needs a whole number"},
        {"stages = 3", "stage = 3", "x.plan:9: [kernel] stage: there is no such key"},
        {"stages = 3", "tile = 1x1x1", "x.plan:9: [kernel] tile: stands twice"},
        {"in = bf16", "in = bf17", "x.plan:5: [kernel] in: 'bf17' is no element type"},
        {"n % 16 == 0", "n % == 0", "x.plan:12: [kernel] supports: 'm % 16 == 0 && n % == 0"},
        {"ceil_div(m, 128)", "ceil_div(m 128)", "x.plan:41: [launch] grid: "},
        {"ceil_div(m", "tiles(m", "nothing is called tiles"},
        {"[tensormap \"b\"]", "[let]", "x.plan:22: [let]: is gone: write each formula"},
        {"place = a", "place = d", "x.plan:15: [tensormap] place: d is neither a, b, c"},
        {"place = a", "place = bias", "x.plan:15: [tensormap] place: bias is neither a, b, c"},
        {"place = a", "place = a - 2", "after a place stands +"},
        {"type = bf16\n\tdims = k, m", "type = half\n\tdims = k, m", "x.plan:16: "},
        {"box = 64, 128\n", "box = 64\n", "x.plan:14: [tensormap \"a\"] needs dims, a box"},
        {"swizzle = 128", "swizzle = 1000", "x.plan:20: [tensormap] swizzle: needs a whole"},
        {"[tensormap \"b\"]", "[tensormap \"a\"]", "x.plan:22: [tensormap]: there are two"},
        {"[tensormap \"b\"]", "[texture \"b\"]", "x.plan:22: [texture]: there are kernel"},
        {"[tensormap \"b\"]", "[tensormap]", "x.plan:22: [tensormap]: needs a name"},
        {"cubin = matmul", "cubin = ../matmul", "x.plan:39: [launch] cubin: '../matmul"},
        {"entry = matmul", "entry = mat mul", "x.plan:40: [launch] entry: 'mat mul"},
        {GRID "\n", "", "x.plan:38: [launch \"matmul\"] needs cubin, entry"},
        {GRID, "grid = 1, 2, 3, 4", "x.plan:41: [launch] grid: "},
        {"tensormap b\n", "tensormap d\n", "there is no [tensormap \"d\"]"},
        {"int32 n", "int31 n", "x.plan:50: [launch] parameter: 'int31 n' is not"},
        {"[launch \"matmul\"]", "[launch \"matmul\"]\n\tfield = int32 m", "there is no such key"},
        {"[launch \"matmul\"]", "[scratch \"s\"]\n[launch \"matmul\"]", "there are kernel, tens"},
        {"place = a", "place = scale_a",
         "x.plan:15: [tensormap] place: scale_a is neither a, b, c"},
        {"[kernel]", "[kernel]\n\tlayout = up", "x.plan:3: [kernel] layout: is tn, nn, nt or tt"},
        {"[kernel]\n\tname = triton-persistent", "[kernel]", "x.plan: a plan needs"},
    };
    const char *text = seed("persistent.plan");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const char *wrong = changed(text, cases[i].line, cases[i].instead);
        struct error err = {""};
        struct launch_plan plan;
        if (plan_parse(&plan, wrong, strlen(wrong), "x.plan", &err) != -1 ||
            !strstr(err.text, cases[i].error))
            fail_msg("%s: %s, not %s", cases[i].instead, err.text, cases[i].error);
    }
}

TEST(launches_out_of_range_say_line_and_problem)
{
    static const struct {
        const char *line, *instead, *error;
    } cases[] = {
        {GRID, "grid = n / 128 - 32", "x.plan:41: grid: is 0 and must be 1 to"},
        {GRID, "grid = 1 / (m - 256)", "x.plan:41: grid: '1 / (m - 256)'"},
        {"block = 256", "block = 256, 5", "x.plan:38: block: has more than 1024 threads"},
        {"block = 256", "block = 256\n\tcluster = 3", "is not a whole number of clusters"},
        {"shared = 213016", "shared = 1 - m", "x.plan:43: shared: is -255"},
        {"box = 64, 128", "box = 64, 2 * m", "x.plan:19: box: is 512 and must be 1 to 256"},
        {"swizzle = 128", "swizzle = 48",
         "x.plan:14: a: a tensormap with interleave 0, swizzle 48"},
        {"int32 m", "int8 m", "x.plan:45: parameter: is 256 and must be -128 to 127"},
        {"int32 m", "int32 m * 4294967296", "x.plan:45: parameter: is"},
        {GRID, "grid = m / 0", "x.plan:41: grid: 'm / 0': a division by less than 1"},
    };
    const char *text = seed("persistent.plan");
    const struct problem problem = helper_problem("256x4096x128:bf16");
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct launch_plan plan = parsed(changed(text, cases[i].line, cases[i].instead));
        struct record record;
        struct error err = {""};
        if (plan_record(&record, &plan, &problem, 132, NULL, &arena, &err) != -1 ||
            !strstr(err.text, cases[i].error) || !strstr(err.text, "256x4096x128:bf16"))
            fail_msg("%s: %s, not %s", cases[i].instead, err.text, cases[i].error);
        plan_free(&plan);
    }
}

TEST(device_code_with_other_parameters_is_refused)
{
    struct launch_plan plan = parsed(seed("persistent.plan"));
    const struct problem problem = helper_problem("256x256x128:bf16");
    struct plan_entry entry = persistent_entry();
    struct record record;
    struct error err = {""};
    entry.count--;
    assert_int_equal(plan_record(&record, &plan, &problem, 132, &entry, &arena, &err), -1);
    assert_non_null(strstr(err.text, "x.plan:38: matmul_persistent has 19 parameters, and this "
                                     "says 20"));
    entry = persistent_entry();
    struct record_parameter *parameters =
        arena_copy(&arena, entry.parameters, entry.count * sizeof(*entry.parameters));
    parameters[1].bytes = 8;
    entry.parameters = parameters;
    assert_int_equal(plan_record(&record, &plan, &problem, 132, &entry, &arena, &err), -1);
    assert_non_null(strstr(err.text, "parameter 1 has 8 bytes at 176, and this says 4"));
    plan_free(&plan);
}
