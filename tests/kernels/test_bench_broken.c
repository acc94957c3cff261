// SPDX-License-Identifier: Apache-2.0
//
// The real bench on the host device finds every kernel and every library that is broken.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Opens `kernel` of the broken library: it is found in this state, and the note says `in_note`.
static void assert_state(const char *kernel, const char *state, const char *in_note)
{
    struct transcript t;
    char *script =
        xprintf("open\tid=1\tkernel=%s\tproblem=33x29x47:fp32\thead=%%B\tseed=7\nquit\n", kernel);
    bench_play(&t, script);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    assert_string_equal(field(opened, "state"), state);
    assert_string_equal(field(opened, "role"), "head");
    if (!strstr(field(opened, "note"), in_note))
        fail_msg("%s: the note says '%s', not '%s'", kernel, field(opened, "note"), in_note);
    assert_int_equal(transcript_count(&t, "done"), 1);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
    free(script);
}

TEST(wrong_kernels_are_found)
{
    assert_state("wrong", "wrong", "1 of 957 elements wrong");
    assert_state("imprecise", "wrong", "1 of 957 elements wrong");
    assert_state("nan", "wrong", "nan");
    assert_state("unwritten", "wrong", "nan");
    assert_state("short_k", "wrong", "elements wrong");
    assert_state("transposed", "wrong", "elements wrong");
}

TEST(out_of_bounds_writes_are_found)
{
    assert_state("beyond", "wrong", "out of bounds: byte 0 behind C");
    assert_state("before", "wrong", "before C");
    assert_state("overrun", "wrong", "behind the workspace");
}

TEST(kernels_that_cannot_run_say_why)
{
    assert_state("right", "ok", "");
    assert_state("nowhere", "missing", "no kernel of this name");
    assert_state("unsupported", "unsupported", "does not do this problem");
    assert_state("refuses", "crashed", "launch() returned 7");
    assert_state("unprepared", "crashed", "prepare() returned 5");
}

// As a library of a GPU is, in bench's own process.
TEST(a_kernel_that_is_nowhere_is_missing_without_a_process_too)
{
    char *library = test_module("broken"), said[4096] = "";
    char *line = xprintf("'%s/bench' --device host time --inside --head %s --base %s --kernel "
                         "nowhere --problem 33x29x47:fp32 --pairs 2 2>&1",
                         TEST_BIN, library, library);
    FILE *bench = popen(line, "r");
    assert_non_null(bench);
    said[fread(said, 1, sizeof(said) - 1, bench)] = '\0';
    assert_int_not_equal(pclose(bench), 0);
    if (!strstr(said, "no kernel of this name"))
        fail_msg("%s", said);
    free(line);
    free(library);
}

TEST(kernel_that_turns_wrong_is_found_at_close)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(1, "late", "") "solo\tid=1\tcount=100\tblock=0\nclose\tid=1\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "wrong");
    transcript_free(&t);
}

TEST(crash_ends_bench_by_a_signal)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(1, "crash", "") "quit\n");
    assert_int_not_equal(transcript_exit(&t), 0);
    assert_int_equal(transcript_count(&t, "opened"), 0);
    transcript_free(&t);
}

TEST(what_kernels_print_stays_out_of_the_protocol)
{
    struct transcript t;
    bench_play(&t, BENCH_OPEN(1, "prints", "") "solo\tid=1\tcount=2\tblock=0\nquit\n");
    assert_int_equal(transcript_count(&t, "sample"), 2);
    assert_non_null(strstr(t.errors, "sample\tid=1"));
    transcript_free(&t);
}

TEST(library_of_the_base_is_blamed_for_its_own)
{
    struct transcript t;
    bench_play(&t, "open\tid=1\tkernel=simd\tproblem=8x8x8:fp32\thead=%S\tbase=%B\tseed=1\nquit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "missing");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "role"), "base");
    transcript_free(&t);
}

static void assert_library_refused(const char *module, const char *state, const char *note)
{
    struct transcript t;
    char *path = test_module(module);
    char *script =
        xprintf("open\tid=1\tkernel=right\tproblem=8x8x8:fp32\thead=%s\tseed=1\nquit\n", path);
    bench_script(&t, "", script);
    const struct wire_record *opened = transcript_find(&t, "opened", 0);
    assert_string_equal(field(opened, "state"), state);
    if (!strstr(field(opened, "note"), note))
        fail_msg("%s: '%s' does not say '%s'", module, field(opened, "note"), note);
    assert_int_equal(transcript_exit(&t), 0);
    transcript_free(&t);
    free(script);
    free(path);
}

TEST(unusable_libraries_are_refused)
{
    assert_library_refused("newer_abi", "unbuildable", "ABI version 3, this bench reads 1 and 2");
    assert_library_refused("small_table", "unbuildable", "16 bytes");
    assert_library_refused("bad_name", "unbuildable", "[a-z0-9]");
    assert_library_refused("not_a_library", "unbuildable", "no plumb_library()");
    assert_library_refused("unresolved", "unbuildable", "defined_nowhere");
    assert_library_refused("other_device", "unsupported", "abacus");
    assert_library_refused("there_is_none", "unbuildable", "cannot be loaded");
}

TEST(one_file_twice_is_two_copies)
{
    struct transcript t;
    // Each copy has its own variables, and the second is held to the first one's choice.
    bench_play(&t,
               BENCH_OPEN(1, "once", "\tbase=%B") BENCH_OPEN(2, "chooses", "\tbase=%B") "quit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "ok");
    const struct wire_record *chosen = transcript_find(&t, "opened", 1);
    assert_string_equal(field(chosen, "state"), "ok");
    assert_non_null(strstr(field(chosen, "note"), "choice of this copy at"));
    assert_string_equal(field(chosen, "base_note"), field(chosen, "note"));
    transcript_free(&t);
}

TEST(pin_is_reproduced_or_refused)
{
    struct transcript t;
    bench_play(&t,
               BENCH_OPEN(1, "chooses", "\tpin=choice 5") BENCH_OPEN(2, "chooses", "\tpin=other")
                   BENCH_OPEN(3, "chooses", "\tbase=%B\tpin=choice 5\tbase_pin=choice 6") "quit\n");
    assert_string_equal(field(transcript_find(&t, "opened", 0), "note"), "choice 5");
    assert_string_equal(field(transcript_find(&t, "opened", 1), "state"), "unsupported");
    assert_non_null(strstr(field(transcript_find(&t, "opened", 1), "note"), "reproduce 'other'"));
    assert_string_equal(field(transcript_find(&t, "opened", 2), "note"), "choice 5");
    assert_string_equal(field(transcript_find(&t, "opened", 2), "base_note"), "choice 6");
    transcript_free(&t);
}
