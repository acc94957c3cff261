// SPDX-License-Identifier: Apache-2.0
//
// A model's accuracy run by run, and the change points in it. The models' own figures on one file
// of rows are model/predict/parts/accuracy.c.
#include "ci/history/accuracy_history.h"
#include "model/predict/parts/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct accuracy_point {
    int64_t run_id;
    int64_t time_s;
    uint32_t commit; // into the group's commits
    float predicted_ns, actual_ns;
};

struct accuracy_group {
    struct accuracy_series series;
    struct accuracy_point *points;
    size_t count, room;
    char (*commits)[OBJECT_ID_TEXT]; // of each run, as they came
    int64_t *runs;                   // that the commits are of
    size_t commit_count, commit_room;
};

static struct accuracy_group *group_of(struct accuracy_history *n, const struct series_entry *s)
{
    for (size_t i = 0; i < n->group_count; i++) {
        struct accuracy_series *g = &n->groups[i].series;
        if (strcmp(g->kernel, s->kernel) == 0 && g->dtype == s->problem.in &&
            strcmp(g->device_uuid, s->device_uuid) == 0)
            return &n->groups[i];
    }
    n->groups = xrealloc(n->groups, n->group_count + 1, sizeof(*n->groups));
    struct accuracy_group *group = &n->groups[n->group_count++];
    *group =
        (struct accuracy_group){.series = {.model = "",
                                           .kernel = arena_strdup(&n->arena, s->kernel),
                                           .dtype = s->problem.in,
                                           .device_uuid = arena_strdup(&n->arena, s->device_uuid)}};
    return group;
}

// Series of one kernel have nearly the same runs in the same order: the next commit is most often
// the one after the last.
static uint32_t commit_index(struct accuracy_group *g, const struct stored_point *p, size_t *hint)
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

void accuracy_history_add(struct accuracy_history *accuracy, const struct series_entry *series,
                          const struct stored_points *stored)
{
    struct accuracy_group *g = group_of(accuracy, series);
    size_t hint = 0;
    for (size_t i = 0; i < stored->count; i++) {
        const struct stored_point *p = &stored->points[i];
        if (!(p->predicted_ns > 0))
            continue;
        g->points = xgrow(g->points, g->count, &g->room, sizeof(*g->points));
        g->points[g->count++] =
            (struct accuracy_point){p->run_id, p->time_s, commit_index(g, p, &hint),
                                    (float)p->predicted_ns, (float)p->time_ns};
        if (i + 1 == stored->count && strcmp(g->series.model, p->model) != 0)
            g->series.model = arena_strdup(&accuracy->arena, p->model);
    }
}

static int by_time(const void *left, const void *right)
{
    const struct accuracy_point *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->run_id < b->run_id ? -1 : a->run_id > b->run_id;
}

static struct run_accuracy run_accuracy_of(const struct accuracy_group *g, size_t first, size_t end,
                                           double *work)
{
    const struct accuracy_point *p = &g->points[first];
    size_t count = end - first;
    struct run_accuracy run = {
        .run_id = p->run_id, .time_s = p->time_s, .count = count, .tau = NAN};
    memcpy(run.commit, g->commits[p->commit], sizeof(run.commit));
    for (size_t i = 0; i < count; i++) {
        double predicted = (double)p[i].predicted_ns, actual = (double)p[i].actual_ns;
        double error = fabs(predicted / actual - 1);
        work[i] = predicted;
        work[count + i] = actual;
        run.mape += error / (double)count;
        run.bias += (actual / predicted - 1) / (double)count;
        run.within += (error <= 0.1) / (double)count;
    }
    if (count > 1)
        run.tau = kendall_tau(work, work + count, count);
    return run;
}

static struct accuracy_series settle(struct accuracy_group *g, struct arena *arena)
{
    struct accuracy_series s = g->series;
    double *work = xcalloc(2 * g->count + 1, sizeof(*work));
    if (g->count)
        qsort(g->points, g->count, sizeof(*g->points), by_time);
    s.runs = arena_alloc(arena, (g->commit_count + 1) * sizeof(*s.runs));
    for (size_t first = 0, end; first < g->count; first = end) {
        for (end = first + 1; end < g->count && g->points[end].run_id == g->points[first].run_id;)
            end++;
        s.runs[s.count++] = run_accuracy_of(g, first, end, work);
    }
    free(work);
    return s;
}

void accuracy_history_judge(struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        struct accuracy_series *s = &accuracy->series[i];
        double *work = xcalloc(s->count + 1, sizeof(*work));
        for (size_t k = 0; k < s->count; k++)
            work[k] = log1p(s->runs[k].bias);
        changepoints_find(&s->bias, work, s->count, NULL);
        for (size_t k = 0; k < s->count; k++)
            work[k] = log(s->runs[k].mape + 0.001);
        changepoints_find(&s->error, work, s->count, NULL);
        free(work);
    }
}

static void group_free(struct accuracy_group *g)
{
    free(g->points);
    free(g->commits);
    free(g->runs);
}

void accuracy_history_collect(struct accuracy_history *accuracy)
{
    accuracy->series =
        arena_alloc(&accuracy->arena, accuracy->group_count * sizeof(*accuracy->series));
    for (size_t i = 0; i < accuracy->group_count; i++) {
        if (accuracy->groups[i].count)
            accuracy->series[accuracy->count++] = settle(&accuracy->groups[i], &accuracy->arena);
        group_free(&accuracy->groups[i]);
    }
    free(accuracy->groups);
    accuracy->groups = NULL;
    accuracy->group_count = 0;
}

void accuracy_history_settle(struct accuracy_history *accuracy)
{
    accuracy_history_collect(accuracy);
    accuracy_history_judge(accuracy);
}

void accuracy_history_free(struct accuracy_history *accuracy)
{
    for (size_t i = 0; i < accuracy->count; i++) {
        changepoints_free(&accuracy->series[i].bias);
        changepoints_free(&accuracy->series[i].error);
    }
    for (size_t i = 0; i < accuracy->group_count; i++)
        group_free(&accuracy->groups[i]);
    free(accuracy->groups);
    arena_free(&accuracy->arena);
    memset(accuracy, 0, sizeof(*accuracy));
}
