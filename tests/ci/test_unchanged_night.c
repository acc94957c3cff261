// SPDX-License-Identifier: Apache-2.0
//
// A night on which nothing is new costs nothing but the controls: of what is known nothing else is
// opened, timed, paired or built again. Counted by a bench that notes what it is asked for.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char *folder;

static void must(const char *script)
{
    char *command = xprintf("cd '%s' && exec >said 2>&1; %s", folder, script);
    char *path = xprintf("%s/said", folder);
    const int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: %d: %s", script, status, helper_read(path, NULL));
    free(path);
    free(command);
}

// Three commits of five kernels whose code changes with each, the last three of them controls.
static int set_up(void **state)
{
    folder = helper_directory();
    must("mkdir -p bin repo/kernels repo/ci && cp '" TEST_BIN "/plumb' bin/plumb && cp '" TEST_BIN
         "/fake_bench' bin/bench && : >bin/bench.calm && printf '%s\\n' '[build]' "
         "'\tinput = kernels' '\tsandbox = off' '\tcommand = \"for f in kernels/*.c; do cc -shared "
         "-fPIC -o "
         "\\\"$PLUMB_OUT/$(basename $f .c).so\\\" $f || exit 1; done\"' '[device \"host\"]' "
         "'\tkind = host' '[problems \"p\"]' '\tproblem = 4x4x4:fp32' '\tproblem = 8x8x8:fp32' "
         "'[kernel \"*\"]' '\tproblems = p' '[history]' '\tlink = on' >repo/ci/plumb.cfg");
    must(
        "(sed '/^.kernel/,$d' repo/ci/plumb.cfg; printf '%s\\n' '[kernel \"calm*\"]' "
        "'\tproblems = p' '\tcontrol = true'; sed -n '/^.kernel/,$p' repo/ci/plumb.cfg) >with.cfg");
    must("cd repo && git init -q . && for i in 1 2 3; do for k in good-1 good-2 calm-1 calm-2 "
         "calm-3; do echo \"int v = $i; const char name[] = \\\"fake library $k\\\";\" "
         ">kernels/$k.c; done; git add . && git -c user.name=n -c "
         "user.email=e@example.org commit -qm \"commit $i\"; done");
    return 0;
}

AROUND_ALL(set_up, NULL);

// What the second of two nights without a commit between them asks bench for.
static char *second_night(const char *policy)
{
    char *night = xprintf(
        "rm -rf repo/.plumb; for i in 1 2; do : >bin/bench.journal; code=0; sh '" TEST_SOURCE
        "/ci/nightly' --repo \"$PWD/repo\" --plumb "
        "\"$PWD/bin/plumb\" --policy \"$PWD/%s\" || code=$?; [ $code -lt 3 ] || "
        "exit $code; done",
        policy);
    must(night);
    char *path = xprintf("%s/bin/bench.journal", folder), *asked = helper_read(path, NULL);
    free(path);
    free(night);
    return asked;
}

static size_t lines_of(const char *text, const char *with)
{
    size_t count = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        count += strncmp(at, with, strlen(with)) == 0;
    return count;
}

TEST(nothing_but_the_controls_is_measured)
{
    char *asked = second_night("with.cfg");
    assert_int_equal(lines_of(asked, "open calm-"), 6); // three controls on two problems
    assert_int_equal(lines_of(asked, "open "), 6);
    assert_int_equal(lines_of(asked, "pairs "), 6); // of nothing else, and no link
    // One measures; each of six steps of a night asks what device is here.
    assert_int_equal(lines_of(asked, "start"), 7);
    free(asked);
}

TEST(without_controls_everything_is_one)
{
    char *asked = second_night("repo/ci/plumb.cfg");
    assert_int_equal(lines_of(asked, "open "), 10);
    free(asked);
}
