// SPDX-License-Identifier: Apache-2.0
//
// A model's accuracy run by run, and the change points in it. The models' own figures on one file
// of rows are model/predict/parts/accuracy.c.
#include "ci/history/nights.h"
#include "model/predict/parts/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct night_point {
    int64_t run_id;
    int64_t time_s;
    uint32_t commit; // into the group's commits
    float predicted_ns, actual_ns;
};

struct night_group {
    struct night_series series;
    struct night_point *points;
    size_t count, room;
    char (*commits)[OBJECT_ID_TEXT]; // of each run, as they came
    int64_t *runs;                   // that the commits are of
    size_t commit_count, commit_room;
};

static struct night_group *group_of(struct nights *n, const struct series_entry *s)
{
    for (size_t i = 0; i < n->group_count; i++) {
        struct night_series *g = &n->groups[i].series;
        if (strcmp(g->kernel, s->kernel) == 0 && g->dtype == s->problem.in &&
            strcmp(g->device_uuid, s->device_uuid) == 0)
            return &n->groups[i];
    }
    n->groups = xrealloc(n->groups, n->group_count + 1, sizeof(*n->groups));
    struct night_group *group = &n->groups[n->group_count++];
    *group =
        (struct night_group){.series = {.model = "",
                                        .kernel = arena_strdup(&n->arena, s->kernel),
                                        .dtype = s->problem.in,
                                        .device_uuid = arena_strdup(&n->arena, s->device_uuid)}};
    return group;
}

// Series of one kernel have nearly the same runs in the same order: the next commit is most often
// the one after the last.
static uint32_t commit_index(struct night_group *g, const struct past_point *p, size_t *hint)
{
    if (*hint < g->commit_count && g->runs[*hint] == p->run_id)
        return (uint32_t)(*hint)++;
    for (size_t k = 0; k < g->commit_count; k++) {
        size_t i = (*hint + k) % g->commit_count;
        if (g->runs[i] == p->run_id) {
            *hint = i + 1;
            return (uint32_t)i;
        }
    }
    if (g->commit_count == g->commit_room) {
        g->commit_room = g->commit_room ? 2 * g->commit_room : 64;
        g->commits = xrealloc(g->commits, g->commit_room, sizeof(*g->commits));
        g->runs = xrealloc(g->runs, g->commit_room, sizeof(*g->runs));
    }
    memcpy(g->commits[g->commit_count], p->commit, sizeof(p->commit));
    g->runs[g->commit_count++] = p->run_id;
    *hint = g->commit_count;
    return (uint32_t)(g->commit_count - 1);
}

void nights_add(struct nights *nights, const struct series_entry *series, const struct past *past)
{
    struct night_group *g = group_of(nights, series);
    size_t hint = 0;
    for (size_t i = 0; i < past->count; i++) {
        const struct past_point *p = &past->points[i];
        if (!(p->predicted_ns > 0))
            continue;
        g->points = xgrow(g->points, g->count, &g->room, sizeof(*g->points));
        g->points[g->count++] =
            (struct night_point){p->run_id, p->time_s, commit_index(g, p, &hint),
                                 (float)p->predicted_ns, (float)p->time_ns};
        if (i + 1 == past->count && strcmp(g->series.model, p->model) != 0)
            g->series.model = arena_strdup(&nights->arena, p->model);
    }
}

static int by_night(const void *left, const void *right)
{
    const struct night_point *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->run_id < b->run_id ? -1 : a->run_id > b->run_id;
}

static struct night night_of(const struct night_group *g, size_t first, size_t end, double *work)
{
    const struct night_point *p = &g->points[first];
    size_t count = end - first;
    struct night night = {.run_id = p->run_id, .time_s = p->time_s, .count = count, .tau = NAN};
    memcpy(night.commit, g->commits[p->commit], sizeof(night.commit));
    for (size_t i = 0; i < count; i++) {
        double predicted = (double)p[i].predicted_ns, actual = (double)p[i].actual_ns;
        double error = fabs(predicted / actual - 1);
        work[i] = predicted;
        work[count + i] = actual;
        night.mape += error / (double)count;
        night.bias += (actual / predicted - 1) / (double)count;
        night.within += (error <= 0.1) / (double)count;
    }
    if (count > 1)
        night.tau = kendall_tau(work, work + count, count);
    return night;
}

static struct night_series settle(struct night_group *g, struct arena *arena)
{
    struct night_series s = g->series;
    double *work = xcalloc(2 * g->count + 1, sizeof(*work));
    if (g->count)
        qsort(g->points, g->count, sizeof(*g->points), by_night);
    s.nights = arena_alloc(arena, (g->commit_count + 1) * sizeof(*s.nights));
    for (size_t first = 0, end; first < g->count; first = end) {
        for (end = first + 1; end < g->count && g->points[end].run_id == g->points[first].run_id;)
            end++;
        s.nights[s.count++] = night_of(g, first, end, work);
    }
    free(work);
    return s;
}

void nights_judge(struct nights *nights)
{
    for (size_t i = 0; i < nights->count; i++) {
        struct night_series *s = &nights->series[i];
        double *work = xcalloc(s->count + 1, sizeof(*work));
        for (size_t k = 0; k < s->count; k++)
            work[k] = log1p(s->nights[k].bias);
        changepoints_find(&s->bias, work, s->count, NULL);
        for (size_t k = 0; k < s->count; k++)
            work[k] = log(s->nights[k].mape + 0.001);
        changepoints_find(&s->error, work, s->count, NULL);
        free(work);
    }
}

static void group_free(struct night_group *g)
{
    free(g->points);
    free(g->commits);
    free(g->runs);
}

void nights_collect(struct nights *nights)
{
    nights->series = arena_alloc(&nights->arena, nights->group_count * sizeof(*nights->series));
    for (size_t i = 0; i < nights->group_count; i++) {
        if (nights->groups[i].count)
            nights->series[nights->count++] = settle(&nights->groups[i], &nights->arena);
        group_free(&nights->groups[i]);
    }
    free(nights->groups);
    nights->groups = NULL;
    nights->group_count = 0;
}

void nights_settle(struct nights *nights)
{
    nights_collect(nights);
    nights_judge(nights);
}

void nights_free(struct nights *nights)
{
    for (size_t i = 0; i < nights->count; i++) {
        changepoints_free(&nights->series[i].bias);
        changepoints_free(&nights->series[i].error);
    }
    for (size_t i = 0; i < nights->group_count; i++)
        group_free(&nights->groups[i]);
    free(nights->groups);
    arena_free(&nights->arena);
    memset(nights, 0, sizeof(*nights));
}
