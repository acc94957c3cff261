// SPDX-License-Identifier: Apache-2.0
//
// The real bench on the host device: what it says of itself and its kernels, and how it times them.
// Label: measured
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

TEST(greeting_names_wire_and_device)
{
    struct transcript t;
    bench_play(&t, "quit\n");
    assert_string_equal(field(transcript_find(&t, "hello", 0), "wire"), "1");
    const struct wire_record *device = transcript_find(&t, "device", 0);
    assert_string_equal(field(device, "kind"), "host");
    assert_true(strncmp(field(device, "uuid"), "HOST-", 5) == 0);
    assert_true(atoi(field(device, "sm_count")) >= 1);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

TEST(device_identity_is_stable)
{
    struct transcript first, second;
    bench_play(&first, "quit\n");
    bench_play(&second, "quit\n");
    assert_string_equal(field(transcript_find(&first, "device", 0), "uuid"),
                        field(transcript_find(&second, "device", 0), "uuid"));
    transcript_free(&first);
    transcript_free(&second);
}

TEST(list_gives_every_kernel_and_its_traits)
{
    struct transcript t;
    struct traits traits;
    struct error err;
    bench_play(&t, "list\tlibrary=%B\nlist\tlibrary=%S\nquit\n");
    assert_string_equal(field(transcript_find(&t, "kernel", 0), "name"), "right");
    assert_string_equal(field(transcript_find(&t, "kernel", 0), "summary"), "tabs\tand\nlines");
    assert_int_equal(transcript_count(&t, "done"), 2);
    const struct wire_record *simd =
        transcript_find(&t, "kernel", transcript_count(&t, "kernel") - 1);
    assert_string_equal(field(simd, "name"), "simd");
    assert_int_equal(wire_traits(&traits, simd, &err), 0);
    assert_int_equal(traits.threads, 1);
    assert_int_equal(traits.tile_n, 1024);
    transcript_free(&t);
}

TEST(pairs_alternate_roles_in_random_order)
{
    struct transcript t;
    int head_first = 0;
    bench_play(
        &t, "open\tid=4\tkernel=simd\tproblem=64x64x64:fp32\thead=%S\tbase=%S\tseed=3\n"
            "pairs\tid=4\tcount=32\tblock=2\npairs\tid=4\tcount=1\tblock=3\nclose\tid=4\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "sample"), 66);
    for (size_t i = 0; i < 66; i += 2) {
        struct sample first, second;
        struct error err;
        assert_int_equal(wire_sample(&first, transcript_find(&t, "sample", i), &err), 0);
        assert_int_equal(wire_sample(&second, transcript_find(&t, "sample", i + 1), &err), 0);
        assert_int_equal(first.pair, i / 2);
        assert_int_equal(second.pair, i / 2);
        assert_int_equal(first.block, i < 64 ? 2 : 3);
        assert_int_equal(first.order, 0);
        assert_int_equal(second.order, 1);
        assert_int_not_equal(first.role, second.role);
        head_first += first.role == ROLE_HEAD;
        assert_true(first.time_ns > 0 && second.time_ns > 0);
    }
    assert_in_range(head_first, 5, 28);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "fail"), 0);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

TEST(order_inside_pairs_follows_the_seed)
{
    struct transcript t;
    bench_play(&t, "open\tid=1\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=3\n"
                   "open\tid=2\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=3\n"
                   "open\tid=3\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%S\tseed=4\n"
                   "pairs\tid=1\tcount=40\tblock=0\npairs\tid=2\tcount=40\tblock=0\n"
                   "pairs\tid=3\tcount=40\tblock=0\nquit\n");
    int same = 0;
    for (size_t i = 0; i < 80; i++) {
        const char *role = field(transcript_find(&t, "sample", i), "role");
        assert_string_equal(role, field(transcript_find(&t, "sample", 80 + i), "role"));
        same += strcmp(role, field(transcript_find(&t, "sample", 160 + i), "role")) == 0;
    }
    assert_true(same < 80);
    transcript_free(&t);
}

TEST(solo_samples_are_of_head)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(9, "right",
                              "") "solo\tid=9\tcount=5\tblock=0\npairs\tid=9\tcount=1\tblock=0\n"
                                  "close\tid=9\nsolo\tid=9\tcount=1\tblock=0\nquit\n");
    assert_int_equal(transcript_count(&t, "sample"), 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(field(transcript_find(&t, "sample", i), "role"), "head");
    // No base to pair with, and nothing open after close.
    assert_int_equal(transcript_count(&t, "fail"), 2);
    assert_non_null(strstr(field(transcript_find(&t, "fail", 0), "text"), "no base"));
    assert_non_null(strstr(field(transcript_find(&t, "fail", 1), "text"), "not open"));
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

TEST(short_kernels_are_batched)
{
    struct transcript t;
    bench_play(&t, "open\tid=1\tkernel=simd\tproblem=16x16x16:fp32\thead=%S\tseed=1\n"
                   "solo\tid=1\tcount=1\tblock=0\n"
                   "open\tid=2\tkernel=simd\tproblem=700x700x700:fp32\thead=%S\tseed=1\nquit\n");
    assert_true(atoi(field(transcript_find(&t, "opened", 0), "launches")) > 8);
    assert_string_equal(field(transcript_find(&t, "opened", 0), "launches"),
                        field(transcript_find(&t, "sample", 0), "launches"));
    assert_string_equal(field(transcript_find(&t, "opened", 1), "launches"), "1");
    transcript_free(&t);
}

TEST(launches_can_be_fixed_from_outside)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(1, "right", "\tlaunches=3") "solo\tid=1\tcount=2\tblock=0\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "launches"), "3");
    assert_string_equal(field(transcript_find(&t, "sample", 1), "launches"), "3");
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

// The second of two copies is held to the first one's note: to where its matrices are.
TEST(both_sides_share_their_memory_unless_asked_apart)
{
    struct transcript t;
    bench_play(
        &t,
        BENCH_OPEN(1, "where", "\tbase=%B") BENCH_OPEN(2, "where", "\tbase=%B\tapart=1") BENCH_OPEN(
            3, "right", "\tbase=%B\tapart=1") "pairs\tid=3\tcount=4\tblock=0\nclose\tid=3\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_string_equal(field(transcript_find(&t, "opened", 1), "state"), "unsupported");
    assert_non_null(strstr(field(transcript_find(&t, "opened", 1), "note"), "cannot reproduce"));
    assert_string_equal(field(transcript_find(&t, "opened", 2), "state"), "ok");
    assert_int_equal(transcript_count(&t, "sample"), 8);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

// A matrix of 2^40 elements fits nowhere; beside an open series it is refused before it is tried.
TEST(series_without_room_beside_another_is_refused)
{
    struct transcript t;
    bench_play(&t,
               BENCH_OPEN(1, "right", "") "open\tid=2\tkernel=right\tproblem=1048576x1048576x8:fp32"
                                          "\thead=%B\tseed=7\n"
                                          "solo\tid=1\tcount=2\tblock=0\nquit\n");
    const char *text = field(transcript_find(&t, "fail", 0), "text");
    assert_string_equal(text, "bench: open: no room beside 1 open series; close some");
    assert_int_equal(transcript_count(&t, "sample"), 2);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
}

TEST(calibrate_repeats_and_knows_its_figures)
{
    struct transcript t;
    bench_play(&t, "calibrate\tonly=flops_clk_fp32\ncalibrate\tonly=nothing\nquit\n");
    const struct wire_record *figure = transcript_find(&t, "figure", 0);
    assert_string_equal(field(figure, "key"), "flops_clk_fp32");
    assert_true(atoi(field(figure, "repeats")) >= 3);
    double value = strtod(field(figure, "value"), NULL);
    assert_true(value > 0.1 && value < 1000);
    assert_non_null(wire_text(figure, "cv"));
    assert_non_null(wire_text(figure, "stable"));
    assert_int_equal(transcript_count(&t, "figure"), 1);
    assert_non_null(strstr(field(transcript_find(&t, "fail", 0), "text"), "'nothing'"));
    transcript_free(&t);
}
