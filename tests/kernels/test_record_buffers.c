// SPDX-License-Identifier: Apache-2.0
//
// The buffers of a record on problems of every form: recording is told all that a launch is given,
// and a replay gives each launch the same ones of the stopwatch's. The kernel here is one that
// passes all of its pointers on to the device; host memory stands in for the device's.
#include "kernels/bench/bench.h"
#include "kernels/bench/buffers.h"
#include "kernels/device/check.h"
#include "kernels/device/form.h"
#include "kernels/device/record.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 3 };

static const struct {
    const char *problem, *buffers;
} forms[] = {
    {"33x17x31:bf16", "a b c"},
    {"33x17x32:fp8", "a b c scale_a scale_b"},
    {"33x17x31:bf16:bias-gelu", "a b c bias"},
    {"33x17x32:fp8:bias:lda=48", "a b c scale_a scale_b bias"},
    {"33x17x31:fp32:alpha=0.5:beta=2:ldc=18", "a b c"},
    {"5x130x300:fp8:fp32/1x128/128x128/columns", "a b c block_scales_a block_scales_b"},
    {"33x17x48:nvfp4:e4m3/16/tiled:dual-silu",
     "a b c scale_a scale_b block_scales_a block_scales_b"},
    {"33x17x50:mxfp4-fp32:e8m0/32/columns:b3",
     "a b c scale_a scale_b block_scales_a block_scales_b"},
    {"300x17x40:bf16:contiguous4/30", "a b c group_first group_rows"},
    {"40x7x130:fp8:fp32/1x128/128x128/columns:contiguous2/60",
     "a b c block_scales_a block_scales_b group_first group_rows"},
    {"12x7x34:nvfp4-fp32:e4m3/16/tiled:masked3/7/50",
     "a b c scale_a scale_b block_scales_a block_scales_b group_first group_rows"},
};

static struct arena arena;

static int tear_down(void **state)
{
    host_tear_down(state);
    arena_free(&arena);
    return 0;
}

AROUND_ALL(host_set_up, tear_down);

static struct buffers buffers_of(const char *text, uint32_t sets)
{
    const struct problem p = helper_problem(text);
    struct buffers buffers;
    struct parts parts;
    struct error err;
    parts_of(&parts, &p);
    if (buffers_open(&buffers, host, device, &p, &parts, 1, 0, &err) ||
        buffers_grow(&buffers, sets, &err))
        fail_msg("%s: %s", text, err.text);
    return buffers;
}

static void assert_named(const char *problem, const uint64_t bytes[RECORD_BUFFERS],
                         const char *wanted)
{
    char names[256] = "";
    for (int b = 0; b < RECORD_BUFFERS; b++) {
        if (bytes[b])
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                     names[0] ? " " : "", record_buffer_name((enum record_buffer)b));
    }
    if (strcmp(names, wanted) != 0)
        fail_msg("%s: %s, not %s", problem, names, wanted);
}

TEST(a_launch_is_told_of_every_buffer_that_its_problem_has)
{
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        struct buffers b = buffers_of(forms[i].problem, 1);
        struct record_places places = buffers_places(&b, 0);
        assert_named(forms[i].problem, places.bytes, forms[i].buffers);
        const struct record_places again = record_args_places(&b.args[0], places.bytes);
        assert_memory_equal(&again, &places, sizeof(again));
        assert_int_equal(again.address[RECORD_C], (uintptr_t)b.outputs[0]);
        // Back: the very arguments that a library gets, pointer by pointer.
        const struct plumb_form_args back = record_args(&places, &b.args[0].form);
        struct plumb_form_args library = b.args[0];
        library.args.workspace = NULL; // of no bytes
        assert_memory_equal(&back.args.a, &library.args.a,
                            sizeof(back.args) - offsetof(struct plumb_args, a));
        assert_ptr_equal(back.block_scales_a, library.block_scales_a);
        assert_ptr_equal(back.block_scales_b, library.block_scales_b);
        assert_ptr_equal(back.bias, library.bias);
        assert_ptr_equal(back.group_first, library.group_first);
        assert_ptr_equal(back.group_rows, library.group_rows);
        buffers_free(&b);
    }
}

// Bytes counted by hand, from what kernels/kernel.h says of each.
TEST(each_buffer_is_as_long_as_its_problem_says)
{
    static const struct {
        const char *problem;
        enum record_buffer buffer;
        uint64_t bytes;
    } cases[] = {
        {"5x130x300:fp8:fp32/1x128/128x128/columns", RECORD_BLOCK_SCALES_A, 3 * 5 * 4},
        {"5x130x300:fp8:fp32/1x128/128x128/columns", RECORD_BLOCK_SCALES_B, 2 * 4 * 4},
        {"130x17x72:nvfp4:e4m3/16/tiled", RECORD_BLOCK_SCALES_A, 256 * 8},
        {"130x17x72:nvfp4:e4m3/16/tiled", RECORD_BLOCK_SCALES_B, 128 * 8},
        {"130x17x72:nvfp4:e4m3/16/tiled:dual-silu", RECORD_BLOCK_SCALES_B, 2 * 128 * 8},
        {"130x17x72:nvfp4:e4m3/16/tiled", RECORD_SCALE_B, 4},
        {"33x17x31:bf16:bias-gelu", RECORD_BIAS, 17 * 2},
        {"12x8x34:bf16:masked3/7/50", RECORD_GROUP_FIRST, 3 * 4},
        {"12x8x34:bf16:masked3/7/50", RECORD_GROUP_ROWS, 3 * 4},
        {"12x8x34:bf16:masked3/7/50", RECORD_B, 3 * 8 * 34 * 2},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const struct problem p = helper_problem(cases[i].problem);
        uint64_t bytes[RECORD_BUFFERS];
        struct parts parts;
        parts_of(&parts, &p);
        buffers_lengths(bytes, &p, &parts, 0);
        assert_int_equal(bytes[cases[i].buffer], cases[i].bytes);
    }
}

// What a launch that passes on every pointer would be captured as.
static struct record_launch launch_of(const struct plumb_form_args *args)
{
    const void *const pointers[] = {args->args.a,         args->args.b,       args->args.c,
                                    args->args.scale_a,   args->args.scale_b, args->block_scales_a,
                                    args->block_scales_b, args->bias,         args->group_first,
                                    args->group_rows};
    struct record_launch launch = {.function = "_Z4form", .carveout = -1};
    for (int i = 0; i < 3; i++)
        launch.grid[i] = launch.block[i] = launch.cluster[i] = 1;
    launch.size = sizeof(pointers);
    launch.bytes = arena_copy(&arena, pointers, sizeof(pointers));
    launch.parameter_count = 1;
    launch.parameters = arena_alloc(&arena, sizeof(*launch.parameters));
    launch.parameters[0] = (struct record_parameter){0, sizeof(pointers)};
    return launch;
}

// Recorded at made-up addresses, written, and read back by another process.
static struct record recorded(const char *text, const uint64_t bytes[RECORD_BUFFERS])
{
    struct record record = {.kernel = "form", .problem = helper_problem(text), .launch_count = 1};
    const struct plumb_form form = check_abi_form(&record.problem);
    struct record_places places[2];
    struct record_launch launches[2];
    struct record back;
    struct buffer file = {0};
    struct error err;
    record_made_up(places, bytes);
    for (int i = 0; i < 2; i++) {
        const struct plumb_form_args args = record_args(&places[i], &form);
        launches[i] = launch_of(&args);
    }
    if (record_find_addresses(&launches[0], &launches[1], 1, places, &arena, &err))
        fail_msg("%s: %s", text, err.text);
    record.launches = launches;
    record_print(&file, &record);
    char *copy = arena_copy(&arena, file.bytes, file.length);
    if (record_parse(&back, copy, file.length, &arena, &err))
        fail_msg("%s: %s", text, err.text);
    buffer_free(&file);
    return back;
}

TEST(a_replay_gives_each_set_of_buffers_as_a_library_gets_it)
{
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        struct buffers b = buffers_of(forms[i].problem, SETS);
        const struct record_places first = buffers_places(&b, 0);
        const struct record record = recorded(forms[i].problem, first.bytes);
        assert_true(b.sets > 0);
        for (uint32_t set = 0; set < b.sets; set++) {
            const struct record_places places = buffers_places(&b, set);
            const struct record_launch wanted = launch_of(&b.args[set]);
            unsigned char *bytes = arena_alloc(&arena, wanted.size);
            struct error err;
            if (record_bind(bytes, &record.launches[0], &places, &err))
                fail_msg("%s: %s", forms[i].problem, err.text);
            assert_memory_equal(bytes, wanted.bytes, wanted.size);
        }
        buffers_free(&b);
    }
}

// ---- what bench asks of a device that records ----

static uint64_t asked[RECORD_BUFFERS];

static int note_request(struct record *out, struct device_base *base,
                        const struct record_request *what, struct arena *room, struct error *err)
{
    memcpy(asked, what->bytes, sizeof(asked));
    return 0;
}

TEST(bench_asks_for_records_of_every_form)
{
    struct device_ops records = *host;
    struct open_bench bench = {.ops = &records, .device = device};
    struct record record;
    struct error err;
    records.record = note_request;
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        const struct series_spec spec = {.kernel = "gemm-form",
                                         .problem = helper_problem(forms[i].problem),
                                         .head = TEST_BIN "/../examples/libgemm_form.so",
                                         .inside = true};
        if (record_make(&record, &bench, &spec, &arena, &err))
            fail_msg("%s: %s", forms[i].problem, err.text);
        assert_named(forms[i].problem, asked, forms[i].buffers);
    }
    const struct series_spec softmax = {.kernel = "softmax",
                                        .problem = helper_problem("S=100,H=65:fp32"),
                                        .head = TEST_BIN "/../examples/libsoftmax.so",
                                        .inside = true};
    assert_int_equal(record_make(&record, &bench, &softmax, &arena, &err), -1);
    assert_non_null(strstr(err.text, "what is no GEMM is timed as a library"));
}
