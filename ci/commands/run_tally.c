// SPDX-License-Identifier: Apache-2.0
//
// Counts commits in words.
#include "ci/commands/run_tally.h"

#include <stdio.h>

// It does not build, and has no policy of its own, so perhaps no shims either.
static bool is_before_policy(const struct measured *measured, const struct context *context)
{
    char policy[OBJECT_ID_TEXT];
    struct error ignored;
    return measured->built.state == MEASURED_UNBUILDABLE && !context->policy.recipe.overlay &&
           repository_path_id(policy, context->repository, measured->built.commit.id, POLICY_PATH,
                              &ignored) == 0 &&
           !policy[0];
}

void run_tally_add(struct run_tally *tally, const struct measured *measured,
                   const struct context *context)
{
    tally->before += is_before_policy(measured, context);
}

void run_tally_say_left(struct run_tally *tally, size_t commits, size_t measured, size_t left)
{
    tally->known += commits - measured - left;
    tally->left += left;
    if (!tally->answer && left)
        printf("--seconds: %zu of %zu commits are left; the same command goes on\n", left, commits);
    else if (!tally->answer && commits == 0)
        printf("nothing to do: the range holds no commits\n");
    else if (!tally->answer && !measured)
        printf("nothing to do: %zu %s measured already\n", commits,
               plural(commits, "commit is", "commits are"));
}

void run_tally_say_before(const struct run_tally *tally, struct context *context, size_t before)
{
    const size_t count = tally->before - before;
    if (count)
        progress_note(&context->progress,
                      "%zu %s not build and %s no " POLICY_PATH "; what such commits lack can lie "
                      "outside of them: `plumb init --outside DIR`, --overlay DIR",
                      count, plural(count, "commit does", "commits do"),
                      plural(count, "has", "have"));
}
