// SPDX-License-Identifier: Apache-2.0
//
// --kernel, --problem and --seconds measure a part of what the policy says, say so in the verdict's
// line, and leave the rest to be measured.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    helper_repo_policy(repo.policy, "\tproblem = 8x8x8:fp32\n\tproblem = 16x8x8:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void ask(const char *command, const char *a, const char *b, const char *c, const char *d)
{
    const char *argv[] = {command, "--policy", repo.policy, "--quiet", a, b, c, d, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

TEST(only_what_was_asked_for_is_measured)
{
    ask("run", "--kernel", "blo*", "--problem", "16x*");
    plumb_said(&outcome, 0, "OK: 1 new (only kernels 'blo*', problems '16x*')");
    ask("run", "--kernel", "blo*", "--problem", "16x*");
    plumb_said(&outcome, 0, "nothing to do");
    ask("run", "--dry-run", NULL, NULL, NULL);
    plumb_said(&outcome, 0, "3 of 4 series would be measured");
}

TEST(a_gate_of_a_part_says_so)
{
    ask("gate", "--kernel", "blocked", "--seconds", "20");
    plumb_said(&outcome, 0, "OK: 2 same (only kernels 'blocked')");
}

TEST(what_matches_nothing_is_an_error)
{
    ask("gate", "--kernel", "nobody", NULL, NULL);
    plumb_said(&outcome, 4, "matches a [kernel] section (only kernels 'nobody')");
}

TEST(a_bisection_takes_kernel_and_problem)
{
    const char *argv[] = {"bisect", "--policy",  repo.policy, "--good",     "HEAD~1", "--kernel",
                          "simple", "--dry-run", "--problem", "8x8x8:fp32", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "one of 1 commits is searched for");
}
