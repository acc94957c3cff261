// SPDX-License-Identifier: Apache-2.0
//
// Why a captured program left no record, in one sentence that says what was sought and what was
// seen.
#include "runner/bench/capture.h"

#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder;

static int begin(void **state)
{
    (void)state;
    folder = helper_directory();
    return 0;
}

static int end(void **state)
{
    (void)state;
    helper_discard(folder);
    free(folder);
    return 0;
}

AROUND_EACH(begin, end);

#define KERNEL(name, launches)                                                                     \
    "kernel\tname=" name "\tlaunches=" launches "\tfirst=1\tgrid=1,1,1\tblock=32,1,1\t"            \
    "cluster=1,1,1\tshared=0\tstatic=0\tregisters=8\tlocal=0\ttouched=4096\ttime_ns=0\trefused=\n"

// Of a process: what stands behind its first line's note.
static void leave(const char *process, const char *refused, const char *ranges, const char *kernels)
{
    char *name = xprintf("survey.%s", process);
    char *text = xprintf("survey\tversion=1\tprocess=%s\tnote=\ttaken=\trefused=%s%s\n%send\n",
                         process, refused, ranges, kernels);
    helper_put(folder, name, text);
    free(text);
    free(name);
}

static void say(const char *expected, const struct capture_wish *wish)
{
    const struct capture_series series = {.name = "c", .wish = *wish};
    struct arena arena = {0};
    struct capture_made *made;
    struct error err = {""};
    size_t count;
    assert_int_equal(capture_make(&made, &count, folder, &series, &arena, &err), 1);
    assert_string_equal(err.text, expected);
    arena_free(&arena);
}

TEST(a_pattern_that_matches_nothing_is_named_with_what_ran)
{
    leave("7", "", "", KERNEL("gemm", "3") KERNEL("gemm", "2") KERNEL("softmax", "1"));
    say("no launch of soft was seen; it ran gemm, softmax",
        &(struct capture_wish){.kernel = "soft"});
    say("launch 9 of g* is asked for, and there were 5",
        &(struct capture_wish){.kernel = "g*", .launch = 9});
    say("no launch of softmax could be recorded", &(struct capture_wish){.kernel = "softmax"});
}

TEST(a_range_that_never_opens_is_named_with_those_that_do)
{
    leave("7", "", "\tranges=layer, m=1\tpushes=0", KERNEL("gemm", "1"));
    leave("12", "", "\tranges=\tpushes=0", "");
    say("no range block was pushed; it pushed layer, m=1",
        &(struct capture_wish){.range = "block"});
    leave("7", "", "\tranges=block\tpushes=2", KERNEL("gemm", "1"));
    say("launch 3 of block is asked for, and there were 2",
        &(struct capture_wish){.range = "block", .launch = 3});
    say("nothing was launched in the range block", &(struct capture_wish){.range = "block"});
    leave("7", "", "\tranges=\tpushes=0", KERNEL("gemm", "1"));
    say("no range block was pushed; it pushed none", &(struct capture_wish){.range = "block"});
}

// A survey from before ranges were noted is read, too; and a refusal says more than any of this.
TEST(what_was_refused_goes_before)
{
    leave("7", "", "", KERNEL("gemm", "1"));
    say("no range block was pushed; it pushed none", &(struct capture_wish){.range = "block"});
    leave("7", "it uses textures", "", KERNEL("gemm", "1"));
    say("it uses textures", &(struct capture_wish){.kernel = "soft"});
}

TEST(a_program_without_cuda_is_told)
{
    say("it did not use CUDA, or ended before it could be told",
        &(struct capture_wish){.kernel = "soft"});
}
