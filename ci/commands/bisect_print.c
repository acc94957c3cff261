// SPDX-License-Identifier: Apache-2.0
//
// What `plumb bisect` prints: its progress, the commits that may be guilty, and how their code
// differs. Which commit is tested next is decided in model/gate/bisect.c.
#include "ci/commands/bisection.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_line(const char *text)
{
    char *line = clean_copy(text);
    puts(line);
    free(line);
}

static const char *steps_word(const struct search *s)
{
    return s->toolchains ? "toolchains" : "commits";
}

int bisection_plan(struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        bool kept;
        const struct to_build what = bisection_step(s, i);
        if (built_kept(&kept, s->context, &what, err))
            return -1;
        if (kept)
            printf("%-10s %s\n", "built", bisection_name(s, i));
    }
    printf("dry run: one of %zu %s is searched for; at most %zu of them would be built\n",
           s->count - 1, steps_word(s), s->context->unbuilt);
    return 0;
}

static void print_commits(const struct search *s)
{
    for (size_t i = 0; s->bisect.posterior && i < s->count; i++) {
        const char *said = i == 0 ? "good" : s->said[i] ? s->said[i] : "not asked";
        char *line =
            xprintf("  %-10s  %5.1f %%  %-32s  %s", bisection_name(s, i),
                    100 * s->bisect.posterior[i], said, s->toolchains ? "" : s->commits[i].summary);
        print_line(line);
        free(line);
    }
}

static int print_diff(const struct search *s, const struct bisect_step *step, struct error *err)
{
    struct file_change_list changes;
    const struct commit *before = &s->commits[step->first - 1], *after = &s->commits[step->last];
    if (repository_changes(&changes, s->context->repository, before->id, after->id,
                           &s->context->arena, err))
        return -1;
    for (size_t i = 0; i < changes.count; i++) {
        const struct file_change *c = &changes.items[i];
        char *line = xprintf("  %c %s (+%u -%u)", c->status, c->path, c->added, c->removed);
        print_line(line);
        free(line);
    }
    return 0;
}

int bisection_conclude(enum conclusion *out, const struct search *s, const struct bisect_step *step,
                       struct error *err)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    print_commits(s);
    *out = CONCLUDE_UNDECIDED;
    if (step->state == BISECT_IMPOSSIBLE) {
        printf("NONE: %s %s runs the same machine code at both ends%s\n", s->kernel, problem,
               s->toolchains ? "" : ": the environment changed");
        return 0;
    }
    if (!s->toolchains && print_diff(s, step, err))
        return -1;
    if (step->inconsistent)
        puts("The duets fit no single change well: several of them may share it.");
    const char *last = bisection_name(s, step->last);
    double effect = 100 * expm1(s->bisect.options.effect);
    bool one = step->first == step->last, sure = step->probability >= s->bisect.options.confidence;
    char *line = one && sure
                     ? xprintf("FOUND: %s made %s %s %+.2f %% (%.1f %% sure)%s%s", last, s->kernel,
                               problem, effect, 100 * step->probability, s->toolchains ? "" : ": ",
                               s->toolchains ? "" : s->commits[step->last].summary)
                     : xprintf("BETWEEN: %s..%s, %zu %s that cannot be told apart, made %s %s "
                               "%+.2f %% (%.1f %% sure)",
                               bisection_name(s, step->first), last, step->last - step->first + 1,
                               steps_word(s), s->kernel, problem, effect, 100 * step->probability);
    print_line(line);
    free(line);
    if (one && sure)
        *out = CONCLUDE_OK;
    return 0;
}
