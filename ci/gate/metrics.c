// SPDX-License-Identifier: Apache-2.0
//
// Collects the figures of both sides, compares them, and writes the sentences.
#include "ci/gate/conclude.h"

#include "ci/gate/linking.h"
#include "ci/settings/metric.h"
#include "model/robust.h"
#include "runner/bench/capture.h"
#include "runner/code/plan_file.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BUILDS_MOST = 9, PAST_MOST = 1024 };

struct metric_gathering {
    struct run *run;
    struct context *context;
    const struct policy_metric *metric; // the metric that is being collected
    size_t room;
};

// ---- rows ----

// The row of a subject; it is made if there is none.
static struct metric_result *row_of(struct metric_gathering *g, const char *subject,
                                    const char *device)
{
    struct run *run = g->run;
    const struct policy_metric *m = g->metric;
    for (size_t i = 0; i < run->metric_count; i++) {
        struct metric_result *r = &run->metrics[i];
        if (strcmp(r->name, m->name) == 0 && strcmp(r->subject, subject) == 0 &&
            strcmp(r->device, device) == 0)
            return r;
    }
    if (run->metric_count == g->room) {
        g->room = 2 * g->room + 16;
        struct metric_result *grown = arena_alloc(&run->arena, g->room * sizeof(*grown));
        if (run->metric_count)
            memcpy(grown, run->metrics, run->metric_count * sizeof(*grown));
        run->metrics = grown;
    }
    struct metric_result *r = &run->metrics[run->metric_count++];
    *r = (struct metric_result){.name = arena_strdup(&run->arena, m->name),
                                .what = m->metric->what,
                                .subject = arena_strdup(&run->arena, subject),
                                .device = arena_strdup(&run->arena, device),
                                .unit = m->metric->unit,
                                .base = NAN,
                                .head = NAN,
                                .margin = metric_margin(m),
                                .least = metric_least(m),
                                .higher = m->higher,
                                .noisy = m->metric->noisy};
    return r;
}

static void put(struct metric_gathering *g, enum sample_role role, const char *subject,
                const char *device, double value)
{
    struct metric_result *r = row_of(g, subject, device);
    *(role == ROLE_BASE ? &r->base : &r->head) = value;
}

// ---- libraries, and the code in them ----

// Whether the policy measures a kernel, and the command did not select others.
static bool is_wanted(const struct metric_gathering *g, const struct built_kernel *k)
{
    const char *pattern = g->metric->kernel;
    return !policy_skips(&g->context->policy, k->name) &&
           context_selects(g->context, k->name, NULL) &&
           (!pattern || fnmatch(pattern, k->name, 0) == 0);
}

// Whether kernel `at` is the first wanted one of its library. *alone: it is the only one there.
static bool is_first(const struct metric_gathering *g, const struct built *built, size_t at,
                     bool *alone)
{
    const struct built_kernel *k = &built->kernels[at];
    *alone = true;
    if (!is_wanted(g, k))
        return false;
    for (size_t i = 0; i < built->count; i++) {
        const struct built_kernel *other = &built->kernels[i];
        if (i == at || strcmp(other->library, k->library) != 0)
            continue;
        *alone = false;
        if (i < at && is_wanted(g, other))
            return false;
    }
    return true;
}

static double member_of(const struct code_function *f, const struct metric_member *member)
{
    const char *at = (const char *)f + member->offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (member->size == sizeof(wide))
        memcpy(&wide, at, sizeof(wide));
    else if (member->size)
        memcpy(&narrow, at, sizeof(narrow));
    return member->size == sizeof(wide) ? (double)wide : (double)(int32_t)narrow;
}

static double figure_of(const struct metric *metric, const struct code_function_list *functions)
{
    double figure = functions->count ? 0 : NAN;
    for (size_t i = 0; i < functions->count; i++) {
        const struct code_function *f = &functions->items[i];
        const double value = member_of(f, &metric->members[0]) + member_of(f, &metric->members[1]);
        figure = metric->sum ? figure + value : fmax(figure, value);
    }
    return figure;
}

// Computes the figure of one library; NaN if it holds no device code that can be read.
static int library_figure(double *out, const struct metric_gathering *g,
                          const struct built_kernel *k, struct error *err)
{
    const struct metric *metric = g->metric->metric;
    struct code_function_list functions;
    struct stat st;
    *out = NAN;
    if (metric->of == METRIC_OF_LIBRARY) {
        if (!k->plan && !k->captured && stat(k->library, &st) == 0)
            *out = (double)st.st_size;
        return 0;
    }
    if (strcmp(k->device, "cuda") != 0)
        return 0;
    if (k->captured ? capture_resources(&functions, k->library, &g->run->arena, err)
                    : code_resources(&functions, k->library, &g->run->arena, err))
        return -1;
    *out = figure_of(metric, &functions);
    return 0;
}

static int gather_libraries(struct metric_gathering *g, const struct built *built,
                            enum sample_role role, struct error *err)
{
    const bool of_file = g->metric->metric->of == METRIC_OF_LIBRARY;
    for (size_t i = 0; built->state == MEASURED_OK && i < built->count; i++) {
        const struct built_kernel *k = &built->kernels[i];
        bool alone;
        double figure;
        if (!is_first(g, built, i, &alone))
            continue;
        if (library_figure(&figure, g, k, err))
            return -1;
        if (isfinite(figure))
            put(g, role, of_file || !alone ? k->file : k->name, "", figure);
    }
    return 0;
}

// ---- series ----

static void gather_series(struct metric_gathering *g)
{
    const struct run *run = g->run;
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        const char *pattern = g->metric->kernel;
        char problem[PROBLEM_TEXT];
        const double base = r->base.memory_bytes, head = r->head.memory_bytes;
        if (!(head > 0) || (pattern && fnmatch(pattern, r->kernel, 0) != 0))
            continue;
        problem_format(problem, &r->problem);
        const char *subject = arena_printf(&g->run->arena, "%s %s", r->kernel, problem);
        const char *uuid = run->devices[r->device].uuid;
        put(g, ROLE_HEAD, subject, uuid, head);
        if (base > 0)
            put(g, ROLE_BASE, subject, uuid, base);
    }
}

// ---- builds ----

static double median_of(const double *values, size_t count)
{
    double sorted[BUILDS_MOST];
    memcpy(sorted, values, count * sizeof(*values));
    return robust_median(sorted, count);
}

// Whether every build of the head lies on the same side of every build of the base, which scatter
// does not produce.
static bool are_apart(const double *base, const double *head, size_t count)
{
    double low[2] = {base[0], head[0]}, high[2] = {base[0], head[0]};
    for (size_t i = 1; i < count; i++) {
        low[0] = fmin(low[0], base[i]);
        low[1] = fmin(low[1], head[i]);
        high[0] = fmax(high[0], base[i]);
        high[1] = fmax(high[1], head[i]);
    }
    return low[1] > high[0] || low[0] > high[1];
}

// Builds both commits in turn: once if that shows nothing beyond the margin, else as often as the
// policy allows.
static int time_builds(struct metric_gathering *g, const struct to_build *const to[2],
                       struct error *err)
{
    struct metric_result *r = row_of(g, "build", "");
    char key[OBJECT_ID_TEXT];
    double seconds[2][BUILDS_MOST];
    uint32_t count = 0;
    do {
        for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
            if (built_timed(&seconds[role][count], key, g->context, to[role], err))
                return -1;
        }
        count++;
        r->base = median_of(seconds[ROLE_BASE], count);
        r->head = median_of(seconds[ROLE_HEAD], count);
        r->kind = metric_standing(r->base, r->head, r->margin, r->least, r->higher);
    } while (count < g->metric->builds && r->kind != VERDICT_SAME && isfinite(r->base + r->head));
    if ((r->kind == VERDICT_SLOWER || r->kind == VERDICT_FASTER) &&
        !are_apart(seconds[ROLE_BASE], seconds[ROLE_HEAD], count))
        r->kind = VERDICT_UNDECIDED;
    return 0;
}

// Collects the figures of builds. Builds from nothing are slow, so none is made if no file that
// they read differs.
static int gather_builds(struct metric_gathering *g, const struct built *base,
                         const struct built *head, const struct to_build *const to[2],
                         struct error *err)
{
    char keys[2][OBJECT_ID_TEXT];
    if (head->state != MEASURED_OK || (base && base->state != MEASURED_OK))
        return 0;
    if (!base)
        return built_timed(&row_of(g, "build", "")->head, keys[0], g->context, to[ROLE_HEAD], err);
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (built_timed(NULL, keys[role], g->context, to[role], err))
            return -1;
    }
    if (strcmp(keys[ROLE_BASE], keys[ROLE_HEAD]) == 0) {
        struct metric_result *r = row_of(g, "build", "");
        r->kind = VERDICT_SAME;
        r->sentence = arena_printf(&g->run->arena,
                                   "%s the same: nothing that a build reads differs", r->name);
        return 0;
    }
    return time_builds(g, to, err);
}

// ---- the past of a plain run ----

struct metric_past {
    char (*ids)[OBJECT_ID_TEXT]; // of the line of first parents, newest first
    size_t count;
    struct metric_value *values;
    size_t value_count;
    size_t *places; // the place of each value's commit; SIZE_MAX: it is not on the line
};

static int read_past(struct metric_past *out, const struct metric_gathering *g, struct error *err)
{
    struct arena *arena = &g->run->arena;
    struct commit commit = g->run->head;
    struct error edge;
    *out = (struct metric_past){.ids = arena_alloc(arena, PAST_MOST * sizeof(*out->ids))};
    while (out->count < PAST_MOST && commit.parent[0]) {
        text_copy(out->ids[out->count++], OBJECT_ID_TEXT, commit.parent);
        if (repository_parent(&commit, g->context->repository, &commit, arena, &edge))
            break;
    }
    if (store_metric_values(&out->values, &out->value_count, g->context->store, arena, err))
        return -1;
    out->places = arena_alloc(arena, (out->value_count + 1) * sizeof(*out->places));
    for (size_t i = 0; i < out->value_count; i++) {
        out->places[i] = SIZE_MAX;
        for (size_t k = 0; out->places[i] == SIZE_MAX && k < out->count; k++) {
            if (strcmp(out->ids[k], out->values[i].commit) == 0)
                out->places[i] = k;
        }
    }
    return 0;
}

// Takes the value of the nearest commit of the line; of two values at one commit the newer.
static void take_past(struct metric_result *r, const struct metric_past *past, const char **commit)
{
    size_t nearest = SIZE_MAX;
    for (size_t i = 0; i < past->value_count; i++) {
        const struct metric_value *v = &past->values[i];
        if (past->places[i] == SIZE_MAX || past->places[i] > nearest ||
            strcmp(v->name, r->name) != 0 || strcmp(v->what, r->what) != 0 ||
            strcmp(v->subject, r->subject) != 0 || strcmp(v->device, r->device) != 0)
            continue;
        nearest = past->places[i];
        r->base = v->value;
        *commit = v->commit;
    }
}

// ---- words ----

static const char *allowed_text(const struct metric_result *r, struct arena *arena)
{
    return r->least > r->margin * r->base
               ? arena_printf(arena, "up to %s counts as the same",
                              metric_value_text(r->least, r->unit, arena))
               : arena_printf(arena, "margin %g %%", 100 * r->margin);
}

static const char *title_of(const struct metric_result *r, struct arena *arena)
{
    return strcmp(r->subject, "build") == 0 ? r->name
                                            : arena_printf(arena, "%s of %s", r->name, r->subject);
}

// open: why it is undecided, if it is.
static void say(struct metric_result *r, const char *open, struct arena *arena)
{
    const char *title = title_of(r, arena), *head = metric_value_text(r->head, r->unit, arena);
    const char *base = metric_value_text(r->base, "", arena);
    if (r->kind == VERDICT_NOT_MEASURED)
        r->sentence = arena_printf(arena, "%s: not known, the head has none", title);
    else if (r->kind == VERDICT_NEW)
        r->sentence = arena_printf(arena, "%s: %s, with nothing to compare it with", title, head);
    else if (r->kind == VERDICT_SAME && fabs(r->base - r->head) <= 0)
        r->sentence = arena_printf(arena, "%s the same: %s", title, head);
    else if (r->base > 0)
        r->sentence =
            arena_printf(arena, "%s %s: %s -> %s (%+.2f %%; %s)%s", title, metric_word(r->kind),
                         base, head, 100 * (r->head / r->base - 1), allowed_text(r, arena),
                         r->kind == VERDICT_UNDECIDED ? open : "");
    else
        r->sentence = arena_printf(arena, "%s %s: %s -> %s (%s)", title, metric_word(r->kind), base,
                                   head, allowed_text(r, arena));
}

// ---- all ----

static int by_name(const void *left, const void *right)
{
    const struct metric_result *a = left, *b = right;
    const int names = strcmp(a->name, b->name), subjects = strcmp(a->subject, b->subject);
    return names ? names : subjects ? subjects : strcmp(a->device, b->device);
}

static int gather(struct metric_gathering *g, const struct built *base, const struct built *head,
                  const struct to_build *const to[2], bool of_builds, struct error *err)
{
    switch (g->metric->metric->of) {
    case METRIC_OF_BUILD:
        return of_builds ? gather_builds(g, base, head, to, err) : 0;
    case METRIC_OF_LIBRARY:
    case METRIC_OF_CODE:
        return of_builds && ((base && gather_libraries(g, base, ROLE_BASE, err)) ||
                             gather_libraries(g, head, ROLE_HEAD, err))
                   ? -1
                   : 0;
    case METRIC_OF_SERIES:
        gather_series(g);
        return 0;
    }
    return 0;
}

// Reports figures that were asked for and do not exist, instead of silently leaving them out.
static void tell_nothing(struct metric_gathering *g)
{
    static const char *const whys[] = {
        [METRIC_OF_LIBRARY] = "no library holds a kernel that it is asked of",
        [METRIC_OF_CODE] = "no library that it is asked of has device code that can be read"};
    struct metric_result *r = row_of(g, "build", "");
    r->kind = VERDICT_NOT_MEASURED;
    r->sentence =
        arena_printf(&g->run->arena, "%s: not known: %s", r->name, whys[g->metric->metric->of]);
}

// Compares a plain run's metrics with its line's past. A metric that scatters is shown and not
// judged.
static int judge_past(struct metric_gathering *g, struct error *err)
{
    struct metric_past past;
    struct epoch_list epochs;
    if (!g->run->metric_count)
        return 0;
    if (read_past(&past, g, err))
        return -1;
    for (size_t i = 0; i < g->run->metric_count; i++) {
        struct metric_result *r = &g->run->metrics[i];
        const char *commit = NULL;
        struct commit base;
        struct error gone;
        if (r->sentence)
            continue;
        take_past(r, &past, &commit);
        r->kind = metric_standing(r->base, r->head, r->margin, r->least, r->higher);
        if (r->noisy && (r->kind == VERDICT_SLOWER || r->kind == VERDICT_FASTER))
            r->kind = VERDICT_UNDECIDED;
        say(r, ", of one build each; a gate builds both in turn", &g->run->arena);
        if (r->kind == VERDICT_SLOWER &&
            repository_commit(&base, g->context->repository, commit, &g->run->arena, &gone) == 0 &&
            accepting_read(&epochs, g->context, &base, &g->run->head, &g->run->arena, &gone) == 0)
            metrics_accept(g->run, &epochs);
    }
    return 0;
}

int metrics_find(struct run *run, struct context *context, const struct built *base,
                 const struct built *head, const struct to_build *const to[2],
                 const struct work_part *part, struct error *err)
{
    struct metric_gathering g = {.run = run, .context = context};
    const struct policy *policy = &context->policy;
    run->metric_count = 0;
    const bool of_builds = !part || part->number <= 1;
    for (size_t i = 0; head->state == MEASURED_OK && i < policy->metric_count; i++) {
        const size_t before = run->metric_count;
        g.metric = &policy->metrics[i];
        if (gather(&g, base, head, to, of_builds, err))
            return -1;
        const enum metric_of of = g.metric->metric->of;
        if (of_builds && run->metric_count == before &&
            (of == METRIC_OF_LIBRARY || of == METRIC_OF_CODE))
            tell_nothing(&g);
    }
    if (run->metric_count)
        qsort(run->metrics, run->metric_count, sizeof(*run->metrics), by_name);
    if (!base)
        return judge_past(&g, err);
    for (size_t i = 0; i < run->metric_count; i++) {
        struct metric_result *r = &run->metrics[i];
        if (r->sentence)
            continue;
        if (!r->noisy)
            r->kind = metric_standing(r->base, r->head, r->margin, r->least, r->higher);
        say(r, ", but builds of one side are among the other's", &run->arena);
    }
    return 0;
}

// ---- accepting, and the last line ----

const char *metric_short(const struct metric_result *m, struct arena *arena)
{
    const char *end = strstr(m->sentence, " (");
    return end ? arena_strndup(arena, m->sentence, (size_t)(end - m->sentence)) : m->sentence;
}

// Whether an epoch covers a metric. As for a series (linking.h), the change may exceed the epoch's
// size by half the margin at most.
static bool covers(const struct epoch *e, const struct metric_result *m)
{
    return e->level > 0 && !e->removed &&
           metric_worse_by(m->base, m->head, m->higher) <= e->level + log1p(m->margin) / 2 + 1e-9 &&
           metric_epoch_matches(e, m->subject, m->name, m->device);
}

void metrics_accept(struct run *run, const struct epoch_list *epochs)
{
    for (size_t i = 0; i < run->metric_count; i++) {
        struct metric_result *m = &run->metrics[i];
        const bool open = m->kind == VERDICT_UNDECIDED && run->base.id[0];
        for (size_t k = epochs->count; (open || m->kind == VERDICT_SLOWER) && k > 0; k--) {
            const struct epoch *e = &epochs->epochs[k - 1];
            if (!covers(e, m))
                continue;
            m->kind = VERDICT_ACCEPTED;
            m->sentence = arena_printf(&run->arena, "%s; accepted in this change: %.200s (%.100s)",
                                       m->sentence, e->reason, e->who);
            break;
        }
    }
}

size_t metrics_of_kind(const struct metric_result **first, const struct run *run,
                       enum verdict_kind kind)
{
    size_t count = 0;
    *first = NULL;
    for (size_t i = 0; i < run->metric_count; i++) {
        if (run->metrics[i].kind == kind && count++ == 0)
            *first = &run->metrics[i];
    }
    return count;
}
