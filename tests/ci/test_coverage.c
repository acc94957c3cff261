// SPDX-License-Identifier: Apache-2.0
//
// Kernels and series are listed without any device, and what would silently not be measured is
// said.
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    return 0;
}

AROUND_ALL(set_up, NULL);

// Runs a command with a policy that builds by `command`, which has $SOURCE and $CC.
static void with_policy(const char *what, const char *which, const char *command, const char *rest)
{
    char *path = xprintf("%s/policy.cfg", repo.directory);
    char *text = xprintf("[build]\n\tinput = kernels\n\tinput = include\n\tcommand = \""
                         "CC='cc -std=gnu17 -shared -fPIC -Iinclude'; SOURCE=kernels/blocked.c; %s"
                         "\"\n[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n%s",
                         command, rest);
    helper_write_text(path, text);
    const char *argv[] = {what, which, "--policy", path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    free(path);
    free(text);
}

#define ONE   "$CC -o $PLUMB_OUT/one.so $SOURCE"
#define TWO   ONE "; cp $PLUMB_OUT/one.so $PLUMB_OUT/two.so"
#define SMALL "[problems \"p\"]\n\tproblem = 32x32x32:fp32\n"
#define HOST  "[device \"host\"]\n\tkind = host\n" SMALL
#define ALL   "[kernel \"*\"]\n\tproblems = p\n"
// A library for a device that the tests' machines need not have, linked with the driver.
#define DRIVEN(function)                                                                           \
    "cd $PLUMB_BUILD; echo 'int " function "(void) { return 0; }' > d.c; "                         \
    "cc -shared -fPIC -Wl,-soname,libcuda.so.1 -o libcuda.so d.c; "                                \
    "(sed 's/\\\"host\\\"/\\\"cuda\\\"/' $PLUMB_SOURCE/$SOURCE; "                                  \
    "echo 'int " function "(void); int used(void); int used(void) { return " function "(); }') "   \
    "> k.c; cc -std=gnu17 -shared -fPIC -I$PLUMB_SOURCE/include -Wl,-z,now -o $PLUMB_OUT/k.so "    \
    "k.c -L. -lcuda"
#define GPU "[device \"gpu\"]\n\tkind = cuda\n" SMALL

TEST(kernels_and_series_need_no_device)
{
    with_policy("list", "kernels", DRIVEN("cuTensorMapEncodeTiled"), GPU ALL);
    plumb_said(&outcome, 0, "blocked                      cuda");
    with_policy("list", "series", DRIVEN("cuTensorMapEncodeTiled"), GPU ALL);
    plumb_said(&outcome, 0, "32x32x32:fp32-fp32:tn:stream gpu");
}

TEST(what_cannot_be_loaded_is_named)
{
    with_policy("list", "kernels", DRIVEN("cuNoSuchFunction"), GPU ALL);
    plumb_said(&outcome, 3, "k.so");
    plumb_said(&outcome, 3, "cuNoSuchFunction");
}

TEST(measuring_still_needs_the_device)
{
    with_policy("run", "HEAD", DRIVEN("cuTensorMapEncodeTiled"),
                "[device \"gpu\"]\n\tkind = cuda\n\tindex = 1023\n" SMALL ALL);
    plumb_said(&outcome, 4, "device gpu: ");
}

TEST(a_range_that_is_not_there_is_told_before_a_device_that_is_not)
{
    with_policy("run", "nosuch", ONE,
                "[device \"gpu\"]\n\tkind = cuda\n\tindex = 1023\n" SMALL ALL);
    plumb_said(&outcome, 4, "nosuch: no such revision");
}

TEST(twins_are_named_with_both_libraries)
{
    with_policy("list", "kernels", TWO, HOST ALL);
    plumb_said(&outcome, 3, "one.so and two.so both hold a kernel named blocked");
}

TEST(skipped_library_is_neither_listed_nor_loaded)
{
    static const char spoilt[] = ONE "; echo spoilt > $PLUMB_OUT/two.so";
    with_policy("list", "kernels", spoilt, HOST ALL);
    plumb_said(&outcome, 3, "two.so");
    with_policy("list", "kernels", spoilt, HOST ALL "[library \"t*.so\"]\n\tskip = true\n");
    plumb_said(&outcome, 0, "blocked");
    with_policy("list", "kernels", spoilt,
                HOST ALL
                "[library \"two.so\"]\n\tskip = false\n[library \"t*.so\"]\n\tskip = true\n");
    plumb_said(&outcome, 3, "two.so");
}

// The digits behind "code".
static void listed_code(char out[16], const char *command)
{
    with_policy("list", "kernels", command, HOST ALL "[library \"t*.so\"]\n\tskip = true\n");
    plumb_said(&outcome, 0, "  code ");
    snprintf(out, 16, "%.10s", strstr(outcome.output, "  code ") + 7);
}

// A helper that the policy leaves out may be loaded by a name that nobody finds in the kernel's
// library: where it alone changes, the kernel is not the same.
TEST(skipped_library_counts_for_all)
{
    char first[16], again[16], other[16];
    listed_code(first, ONE "; echo first > $PLUMB_OUT/two.so");
    listed_code(again, ONE "; echo first > $PLUMB_OUT/two.so; true");
    listed_code(other, ONE "; echo other > $PLUMB_OUT/two.so");
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
}

// The same build by another policy, and by none of them is it "measured already".
TEST(leaving_a_twin_out_mends_a_commit_that_was_refused)
{
    with_policy("run", "HEAD", TWO, HOST ALL);
    plumb_said(&outcome, 3, "both hold a kernel named blocked");
    with_policy("run", "HEAD", TWO, HOST ALL);
    plumb_said(&outcome, 3, "both hold a kernel named blocked");
    with_policy("run", "HEAD", TWO, HOST ALL "[library \"two.so\"]\n\tskip = true\n");
    plumb_said(&outcome, 0, "OK: 1 new");
}

// Whoever made it is to blame, not this machine: exit 3 and not 4.
TEST(library_beyond_all_sizes_is_broken)
{
    with_policy("run", "HEAD", ONE "; truncate -s 1073741825 $PLUMB_OUT/large.bin", HOST ALL);
    plumb_said(&outcome, 3, "large.bin: is not a file of at most 1 GiB");
}

TEST(what_would_not_be_measured_is_said)
{
    with_policy("list", "series", ONE, HOST "[kernel \"simple\"]\n\tproblems = p\n");
    plumb_said(&outcome, 4, "nothing to measure");
    with_policy("list", "series", ONE "; $CC -o $PLUMB_OUT/b.so kernels/plain.c",
                HOST "[kernel \"simple\"]\n\tproblems = p\n");
    plumb_said(&outcome, 4, "kernel blocked (host): no section names it");
    with_policy("list", "series", ONE,
                HOST "[problems \"q\"]\n\tproblem = 32x32x32:bf16\n"
                     "[kernel \"*\"]\n\tproblems = p\n\tproblems = q\n");
    plumb_said(&outcome, 4, "[problems \"q\"] 32x32x32:bf16-bf16:tn: no kernel does it");
    with_policy("list", "series", ONE,
                HOST
                "[problems \"q\"]\n\tproblem = 32x32x32:bf16\n[kernel \"*\"]\n\tproblems = q\n");
    plumb_said(&outcome, 4, "kernel blocked (host): does none of its 1 problem");
    plumb_said(&outcome, 4, "[problems \"p\"] 32x32x32:fp32-fp32:tn: no kernel does it");
    with_policy("list", "series", ONE "; $CC -o $PLUMB_OUT/b.so kernels/plain.c",
                HOST "[kernel \"blocked\"]\n\tproblems = p\n[kernel \"simple\"]\n\tskip = true\n");
    plumb_said(&outcome, 0, "blocked");
}
