// SPDX-License-Identifier: Apache-2.0
//
// Nothing can be guessed: what launches are given changes from pair to pair, outputs hold something
// plausible, and a launch that is wrong while it is timed is found.
#include "kernels/device/inputs.h"
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { PAIRS = 40 };

// Opens `kernel` of the sly library against the honest one; then the lines of `more`.
static void play(struct transcript *t, const char *kernel, const char *base, uint64_t seed,
                 const char *more)
{
    char *head = test_module("sly"), *other = test_module(base);
    char *script = xprintf("open\tid=1\tkernel=%s\tproblem=24x40x32:fp32\thead=%s\tbase=%s\t"
                           "seed=%llu\tlaunches=1\n%squit\n",
                           kernel, head, other, (unsigned long long)seed, more);
    bench_script(t, "--device host", script);
    free(script);
    free(other);
    free(head);
}

struct told {
    double inputs[4], output, workspace;
    int base;
};

// What the last launches told, in their order.
static void read_told(struct told out[2 * PAIRS], const char *text)
{
    const char *lines[2 * PAIRS];
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "launch ")) != NULL; at++)
        lines[count++ % ARRAY_COUNT(lines)] = at;
    assert_true(count > ARRAY_COUNT(lines));
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        struct told *t = &out[i];
        memset(t, 0, sizeof(*t)); // they are compared whole
        assert_int_equal(sscanf(lines[(count + i) % ARRAY_COUNT(lines)],
                                "launch %la %la %la %la %la %la %d", &t->inputs[0], &t->inputs[1],
                                &t->inputs[2], &t->inputs[3], &t->output, &t->workspace, &t->base),
                         7);
    }
}

static void tell(struct told out[2 * PAIRS], uint64_t seed)
{
    struct transcript t;
    char more[64];
    snprintf(more, sizeof(more), "pairs\tid=1\tcount=%d\tblock=0\n", PAIRS);
    play(&t, "tells", "sly_base", seed, more);
    assert_int_equal(transcript_count(&t, "sample"), 2 * PAIRS);
    read_told(out, t.errors);
    transcript_free(&t);
}

static bool same_inputs(const struct told *a, const struct told *b)
{
    return memcmp(a->inputs, b->inputs, sizeof(a->inputs)) == 0;
}

TEST(both_sides_of_a_pair_get_what_no_pair_had_before)
{
    struct told told[2 * PAIRS];
    tell(told, 5);
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        assert_true(same_inputs(&told[i], &told[i + 1]));
        assert_int_equal(told[i].base + told[i + 1].base, 1);
    }
    // Known contents differ in signs, 64 of them; of the four numbers here four have one, so that
    // of the two or three turns with known contents two may seem the same.
    size_t repeated = 0;
    for (size_t i = 0; i < 2 * PAIRS; i += 2) {
        for (size_t j = 0; j < i; j += 2)
            repeated += same_inputs(&told[i], &told[j]);
    }
    assert_true(repeated <= 1);
}

// The numbers of the seed itself would show it to whoever undoes their hash: with it all is known.
TEST(no_contents_are_made_of_the_seed_itself)
{
    enum { SEED = 5 };
    struct told told[2 * PAIRS];
    const double first = inputs_normal(SEED, MATRIX_A, 0);
    tell(told, SEED);
    for (size_t i = 0; i < 2 * PAIRS; i++)
        assert_true(fabs(told[i].inputs[0]) != fabs(first));
}

TEST(outputs_hold_something_plausible_and_other_each_time)
{
    struct told told[2 * PAIRS];
    double squares = 0;
    size_t repeated = 0;
    tell(told, 6);
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        assert_true(isfinite(told[i].output));
        squares += told[i].output * told[i].output / (2 * PAIRS);
        for (size_t j = 0; j < i; j++)
            repeated += told[i].output == told[j].output;
    }
    assert_true(repeated <= 2); // of 32,768 numbers that there are
    // A product of 32 terms has a standard deviation of sqrt(32).
    assert_true(sqrt(squares / 32) > 0.6 && sqrt(squares / 32) < 1.6);
}

// From a MiB on. 512 x 512 are as much.
static void play_large(struct transcript *t, const char *kernel, int pairs)
{
    char *head = test_module("sly"), *other = test_module("sly_base");
    char *script = xprintf("open\tid=1\tkernel=%s\tproblem=512x512x16:fp32\thead=%s\tbase=%s\t"
                           "seed=12\tlaunches=1\npairs\tid=1\tcount=%d\tblock=0\nclose\tid=1\n"
                           "quit\n",
                           kernel, head, other, pairs);
    bench_script(t, "--device host", script);
    free(script);
    free(other);
    free(head);
}

// On the host all of an output is disguised, for a library there can learn what disguises look
// like.
TEST(of_what_the_other_side_left_nothing_is_right)
{
    enum { LARGE_PAIRS = 6 };
    struct transcript t;
    size_t told = 0;
    play_large(&t, "holds", LARGE_PAIRS);
    assert_int_equal(transcript_count(&t, "sample"), 2 * LARGE_PAIRS);
    for (const char *at = t.errors; (at = strstr(at, "right ")) != NULL; at++, told++) {
        double right;
        assert_int_equal(sscanf(at, "right %la", &right), 1);
        assert_true(right < 0.01);
    }
    assert_true(told >= 2 * LARGE_PAIRS);
    transcript_free(&t);
}

TEST(who_leaves_what_looks_right_finds_nothing_to_leave)
{
    struct transcript t;
    play_large(&t, "leaves", 24);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
}

// How often a series of `kernel` is found wrong, of so many seeds: when it is opened, or, where it
// opens, in a timed launch of so many pairs.
static size_t count_found(const char *kernel, const char *base, const char *problem,
                          const char *regime, int seeds, int pairs)
{
    char *head = test_module("sly"), *other = test_module(base);
    size_t found = 0;
    for (int seed = 0; seed < seeds; seed++) {
        struct transcript t;
        char *more = pairs ? xprintf("pairs\tid=1\tcount=%d\tblock=0\n", pairs) : NULL;
        char *script = xprintf("open\tid=1\tkernel=%s\tproblem=%s\thead=%s\tbase=%s\tseed=%d\t"
                               "regime=%s\tlaunches=%d\n%sclose\tid=1\nquit\n",
                               kernel, problem, head, other, seed, regime,
                               strcmp(regime, "stream") == 0 ? 3 : 1, more ? more : "");
        bench_script(&t, "--device host", script);
        const struct wire_record *last = transcript_find(&t, "opened", 0);
        if (pairs && strcmp(field(last, "state"), "ok") == 0)
            last = transcript_find(&t, "closed", 0);
        const bool closed = strcmp(last->name, "closed") == 0;
        found += strcmp(field(last, "state"), "wrong") == 0 &&
                 (!closed || strstr(field(last, "note"), "in a timed launch") != NULL);
        transcript_free(&t);
        free(script);
        free(more);
    }
    free(other);
    free(head);
    print_message("%s, %s: found %zu of %d\n", kernel, regime, found, seeds);
    return found;
}

TEST(who_remembers_is_always_found_when_opened)
{
    const int series = (int)draws(20);
    assert_int_equal(count_found("remembers", "sly_base", "24x40x32:fp32", "cold", series, 0),
                     series);
    assert_int_equal(count_found("remembers", "sly_base", "256x1024x512:fp32", "cold", 3, 0), 3);
}

// No regime is a way around: not the launches of a stream, of which the first are not timed, nor a
// second launch on a warm set. Of five honest ones none is wrong.
TEST(each_regime_finds_what_cold_finds)
{
    static const char *const regimes[] = {"stream", "isolated", "dirty", "warm"};
    const int n = 1 + (int)draws(40) / 10;
    for (size_t i = 0; i < ARRAY_COUNT(regimes); i++) {
        const char *regime = regimes[i];
        assert_int_equal(count_found("remembers", "sly_base", "24x40x32:fp32", regime, n, 0), n);
        assert_int_equal(count_found("between", "sly_base", "24x40x32:fp32", regime, n, 24), n);
        assert_int_equal(count_found("honest", "sly_base", "24x40x32:fp32", regime, n, 24), 0);
    }
    assert_int_equal(count_found("repeats", "sly_base", "24x40x32:fp32", "warm", n, 0), n);
}

// Nothing tells two sides that are wrong alike but turns whose product is known, one in 32. These
// are wrong in the last 41 of 64 pairs: 1 - (31/32)^41 = 73 %, or 23.3 of 32 series with a standard
// deviation of 2.5.
TEST(sides_that_are_wrong_alike_are_found_in_known_turns)
{
    const size_t found =
        count_found("together", "sly", "24x40x32:fp32", "cold", (int)draws(32), 64);
    assert_counted(found >= 14 && found <= 31);
}

TEST(workspace_is_dirty_with_something_new)
{
    struct told first[2 * PAIRS], second[2 * PAIRS];
    tell(first, 7);
    tell(second, 8);
    assert_true(isfinite(first[0].workspace) && first[0].workspace != 0);
    assert_true(first[0].workspace != second[0].workspace);
}

TEST(seed_gives_all_of_it_again)
{
    struct told first[2 * PAIRS], second[2 * PAIRS], other[2 * PAIRS];
    tell(first, 9);
    tell(second, 9);
    tell(other, 10);
    assert_memory_equal(first, second, sizeof(first));
    assert_memory_not_equal(first, other, sizeof(first));
}

static void expect_wrong(const char *kernel, const char *base, const char *in_note)
{
    struct transcript t;
    play(&t, kernel, base, 11, "pairs\tid=1\tcount=64\tblock=0\nclose\tid=1\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_int_equal(transcript_count(&t, "sample"), 128);
    const struct wire_record *closed = transcript_find(&t, "closed", 0);
    assert_string_equal(field(closed, "state"), "wrong");
    assert_string_equal(field(closed, "role"), "head");
    if (!strstr(field(closed, "note"), in_note))
        fail_msg("%s: '%s' does not say '%s'", kernel, field(closed, "note"), in_note);
    transcript_free(&t);
}

TEST(wrong_in_timed_launches_only_is_found)
{
    expect_wrong("between", "sly_base", "in a timed launch");
}

// A host library cannot write to its inputs: it dies of it, in the first timed launches.
TEST(inputs_cannot_be_changed)
{
    struct transcript t;
    play(&t, "zeros", "sly_base", 11, "pairs\tid=1\tcount=64\tblock=0\nclose\tid=1\n");
    assert_true(WIFSIGNALED(t.status));
    assert_int_equal(transcript_count(&t, "closed"), 0);
    transcript_free(&t);
}

// A head that nobody is held against is looked at in every second turn.
TEST(wrong_in_timed_launches_alone_is_found)
{
    struct transcript t;
    char *head = test_module("sly");
    char *script = xprintf("open\tid=1\tkernel=between\tproblem=24x40x32:fp32\thead=%s\tseed=3\t"
                           "launches=1\nsolo\tid=1\tcount=64\tblock=0\nclose\tid=1\nquit\n",
                           head);
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "wrong");
    transcript_free(&t);
    free(script);
    free(head);
}

// In the default budget of 256 pairs at least 299 launches are looked at: 1 - 0.99^299 = 95.05 %.
// Of 20 such series 7 or more are missed with a chance of 3e-5.
TEST(wrong_once_in_a_hundred_is_found_with_95_percent)
{
    enum { SERIES = 20, MISSED_MOST = 6 };
    assert_true(1 - pow(0.99, 299) > 0.95);
    size_t found = 0;
    for (uint64_t seed = 0; seed < draws(SERIES); seed++) {
        struct transcript t;
        play(&t, "seldom", "sly_base", seed, "pairs\tid=1\tcount=256\tblock=0\nclose\tid=1\n");
        const bool opened = strcmp(field(transcript_find(&t, "opened", 0), "state"), "ok") == 0;
        found += !opened || strcmp(field(transcript_find(&t, "closed", 0), "state"), "wrong") == 0;
        transcript_free(&t);
    }
    print_message("found %zu of %zu\n", found, draws(SERIES));
    assert_counted(found >= SERIES - MISSED_MOST);
}

// How many launches a series of so many pairs has, and how many more once it is closed.
static size_t launches_of(int pairs, bool closed)
{
    struct transcript t;
    char more[96];
    size_t count = 0;
    snprintf(more, sizeof(more), "pairs\tid=1\tcount=%d\tblock=0\n%s", pairs,
             closed ? "close\tid=1\n" : "");
    play(&t, "tells", "sly_base", 5, more);
    for (const char *at = t.errors; (at = strstr(at, "launch ")) != NULL; at++)
        count++;
    transcript_free(&t);
    return count;
}

// Where few are missing of 299 that are looked at, they are made up for at the end; where many are,
// it is left, for that would cost more than the pairs.
TEST(launches_that_are_missing_are_made_up_for)
{
    const size_t few = launches_of(200, true) - launches_of(200, false);
    const size_t nearly = launches_of(270, true) - launches_of(270, false);
    const size_t enough = launches_of(320, true) - launches_of(320, false);
    print_message("%zu, %zu and %zu more\n", few, nearly, enough);
    assert_int_equal(few, enough);
    assert_true(nearly > few + 20);
}

TEST(honest_kernels_are_never_found_wrong)
{
    static const char *const kernels[] = {"between", "seldom", "zeros"};
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++) {
        struct transcript t;
        char *head = test_module("sly_base");
        char *script =
            xprintf("open\tid=1\tkernel=%s\tproblem=24x40x32:fp32\thead=%s\tbase=%s\tseed=%zu\n"
                    "pairs\tid=1\tcount=256\tblock=0\nclose\tid=1\nquit\n",
                    kernels[i], head, head, i);
        bench_script(&t, "--device host", script);
        assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
        transcript_free(&t);
        free(script);
        free(head);
    }
}
