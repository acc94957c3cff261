// SPDX-License-Identifier: Apache-2.0
//
// What `plumb bisect` prints: its progress, the commits that may be guilty, and how their code
// differs. Which commit is tested next is decided in model/gate/bisect.c.
#include "ci/commands/answer.h"
#include "ci/commands/bisection.h"
#include "ci/settings/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_line(const char *text)
{
    char *line = plain_line(text);
    puts(line);
    free(line);
}

static const char *steps_word(const struct search *s)
{
    return s->toolchains ? "toolchains" : "commits";
}

static void plan_step(struct answer *answer, struct search *s, size_t i, bool kept)
{
    if (!answer && kept)
        printf("%-10s %s\n", "built", bisection_name(s, i));
    if (!answer)
        return;
    struct json *row = answer_row(answer);
    json_clean(row, "commit", s->commits[i].id);
    json_clean(row, "name", bisection_name(s, i));
    json_bool(row, "built", kept);
}

static int plan_steps(struct answer *answer, struct search *s, struct error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        bool kept;
        const struct to_build what = bisection_step(s, i);
        if (built_kept(&kept, s->context, &what, err))
            return -1;
        plan_step(answer, s, i, kept);
    }
    return 0;
}

int bisection_plan(struct search *s, struct error *err)
{
    struct answer kept, *answer = answer_if(&kept, s->json, "commits");
    if (answer_leave(answer, plan_steps(answer, s, err)))
        return -1;
    if (!answer)
        printf("dry run: one of %zu %s is searched for; at most %zu of them would be built\n",
               s->count - 1, steps_word(s), s->context->unbuilt);
    return 0;
}

static const char *said_of(const struct search *s, size_t i)
{
    return i == 0 ? "good" : s->said[i] ? s->said[i] : "not asked";
}

static void print_commits(const struct search *s)
{
    for (size_t i = 0; s->bisect.posterior && i < s->count; i++) {
        char *line = xprintf("  %-10s  %5.1f %%  %-32s  %s", bisection_name(s, i),
                             100 * s->bisect.posterior[i], said_of(s, i),
                             s->toolchains ? "" : s->commits[i].summary);
        print_line(line);
        free(line);
    }
}

static int find_changes(struct file_change_list *out, const struct search *s,
                        const struct bisect_step *step, struct error *err)
{
    const struct commit *before = &s->commits[step->first - 1], *after = &s->commits[step->last];
    return repository_changes(out, s->context->repository, before->id, after->id,
                              &s->context->arena, err);
}

static void print_changes(const struct file_change_list *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct file_change *c = &changes->items[i];
        char *line = xprintf("  %c %s (+%u -%u)", c->status, c->path, c->added, c->removed);
        print_line(line);
        free(line);
    }
}

static void changes_json(struct json *json, const struct file_change_list *changes)
{
    json_begin(json, "changes", '[');
    for (size_t i = 0; i < changes->count; i++) {
        const struct file_change *c = &changes->items[i];
        const char status[] = {c->status, '\0'};
        json_begin(json, NULL, '{');
        json_clean(json, "status", status);
        json_clean(json, "path", c->path);
        json_int(json, "added", c->added);
        json_int(json, "removed", c->removed);
        json_end(json, '}');
    }
    json_end(json, ']');
}

// `step` NULL: the machine code is the same at both ends. `found`: its one commit is sure.
static void search_json(const struct search *s, const struct bisect_step *step, bool found,
                        const struct file_change_list *changes)
{
    struct answer answer;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    answer_begin(&answer, "commits");
    for (size_t i = 0; s->bisect.posterior && i < s->count; i++) {
        struct json *row = answer_row(&answer);
        json_clean(row, "commit", s->commits[i].id);
        json_clean(row, "name", bisection_name(s, i));
        json_clean(row, "summary", s->commits[i].summary);
        json_number(row, "probability", s->bisect.posterior[i]);
        json_clean(row, "said", said_of(s, i));
    }
    struct json *whole = answer_whole(&answer);
    json_clean(whole, "kernel", s->kernel);
    json_clean(whole, "problem", problem);
    json_clean(whole, "found", found ? bisection_name(s, step->last) : NULL);
    json_clean(whole, "first", step ? bisection_name(s, step->first) : NULL);
    json_clean(whole, "last", step ? bisection_name(s, step->last) : NULL);
    json_number(whole, "probability", step ? step->probability : NAN);
    json_number(whole, "change", step ? expm1(s->bisect.options.effect) : NAN);
    json_bool(whole, "fits", step && !step->inconsistent);
    changes_json(whole, changes);
    answer_end(&answer);
}

int bisection_conclude(enum conclusion *out, const struct search *s, const struct bisect_step *step,
                       struct error *err)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    struct file_change_list changes = {0};
    *out = CONCLUDE_UNDECIDED;
    if (step->state == BISECT_IMPOSSIBLE && s->json) {
        search_json(s, NULL, false, &changes);
        return 0;
    }
    if (step->state == BISECT_IMPOSSIBLE) {
        print_commits(s);
        printf("NONE: %s %s runs the same machine code at both ends%s\n", s->kernel, problem,
               s->toolchains ? "" : ": the environment changed");
        return 0;
    }
    if (!s->toolchains && find_changes(&changes, s, step, err))
        return -1;
    const bool found =
        step->first == step->last && step->probability >= s->bisect.options.confidence;
    if (found)
        *out = CONCLUDE_OK;
    if (s->json) {
        search_json(s, step, found, &changes);
        return 0;
    }
    print_commits(s);
    print_changes(&changes);
    if (step->inconsistent)
        puts("The duets fit no single change well: several of them may share it.");
    const char *last = bisection_name(s, step->last);
    double effect = 100 * expm1(s->bisect.options.effect);
    char *line = found
                     ? xprintf("FOUND: %s made %s %s %+.2f %% (%.1f %% sure)%s%s", last, s->kernel,
                               problem, effect, 100 * step->probability, s->toolchains ? "" : ": ",
                               s->toolchains ? "" : s->commits[step->last].summary)
                     : xprintf("BETWEEN: %s..%s, %zu %s that cannot be told apart, made %s %s "
                               "%+.2f %% (%.1f %% sure)",
                               bisection_name(s, step->first), last, step->last - step->first + 1,
                               steps_word(s), s->kernel, problem, effect, 100 * step->probability);
    print_line(line);
    free(line);
    return 0;
}
