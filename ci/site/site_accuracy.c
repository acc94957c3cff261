// SPDX-License-Identifier: Apache-2.0
//
// The models' accuracy, run by run, as the site shows it.
#include "ci/site/site_data.h"

#include "ci/settings/together.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// The logarithm of what is a ratio, so that a change counts the same at any level.
static double level_of(const struct site_accuracy_point *p, enum site_accuracy_figure figure)
{
    double value = site_accuracy_value(p, figure);
    if (figure == SITE_MAPE)
        return value > 0 ? log(value) : NAN;
    return figure == SITE_BIAS ? log1p(value) : value;
}

// Of so many runs the oldest leave what is shown as new ones come: what it began with is another
// each time, and nothing to look at before the whole.
enum { MANY_RUNS = 500 };
// Raised where the same figures would be said to move elsewhere.
enum { MOVES_VERSION = 1 };

static void find_moves(struct site_accuracy *a, struct arena *arena)
{
    double *values = xcalloc(a->count + 1, sizeof(*values));
    for (int f = 0; f < SITE_ACCURACY_FIGURES; f++) {
        struct changepoints found;
        for (size_t k = 0; k < a->count; k++)
            values[k] = level_of(&a->points[k], (enum site_accuracy_figure)f);
        if (a->count < MANY_RUNS)
            changepoints_find(&found, values, a->count, NULL);
        else
            changepoints_again(&found, values, a->count, NULL, 0);
        size_t *at = arena_alloc(arena, found.count * sizeof(*at));
        for (size_t k = 0; k < found.count; k++)
            at[k] = found.changes[k].index;
        a->changes[f] = (struct site_accuracy_changes){at, found.count};
        changepoints_free(&found);
    }
    free(values);
}

// Each model's figures are judged by whichever thread is free.
struct judging {
    struct site_data *data;
    struct arena arena; // what this thread found
    atomic_size_t *next;
};

static void judge_some(void *context)
{
    struct judging *j = context;
    size_t i;
    while ((i = atomic_fetch_add(j->next, 1)) < j->data->site.accuracy_count)
        find_moves(&j->data->figures[i], &j->arena);
}

static void judge(void *context)
{
    struct site_data *data = ((struct site_reading *)context)->data;
    struct judging all[TOGETHER_MOST];
    void *contexts[TOGETHER_MOST];
    const size_t count = together_threads(data->site.accuracy_count, 1);
    atomic_size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct judging){.data = data, .next = &next};
        contexts[i] = &all[i];
    }
    together(judge_some, contexts, count);
    for (size_t i = 0; i < count; i++)
        arena_adopt(&data->set.arena, &all[i].arena);
}

void site_fill_accuracy(struct site_data *data)
{
    struct arena *arena = &data->set.arena;
    const struct accuracy_history *accuracy = &data->accuracy;
    struct site_accuracy *all = arena_alloc(arena, accuracy->count * sizeof(*all));
    for (size_t i = 0; i < accuracy->count; i++) {
        const struct accuracy_series *s = &accuracy->series[i];
        const char *space = strchr(s->model, ' ');
        struct site_accuracy_point *points = arena_alloc(arena, s->count * sizeof(*points));
        for (size_t k = 0; k < s->count; k++) {
            const struct run_accuracy *n = &s->runs[k];
            points[k] = (struct site_accuracy_point){.time_s = n->time_s,
                                                     .count = n->count,
                                                     .mape = n->mape,
                                                     .bias = n->bias,
                                                     .tau = n->tau,
                                                     .within = n->within};
            memcpy(points[k].commit, n->commit, sizeof(points[k].commit));
        }
        all[i] = (struct site_accuracy){
            .model = space ? arena_strndup(arena, s->model, (size_t)(space - s->model)) : s->model,
            .version = space ? space + 1 : "",
            .kernel = s->kernel,
            .dtype = s->dtype,
            .device = site_device_index(&data->site, s->device_uuid),
            .points = points,
            .count = s->count};
    }
    data->figures = all;
    data->site.accuracy = all;
    data->site.accuracy_judge = 1000 * CHANGEPOINT_VERSION + MOVES_VERSION;
    data->site.judge_accuracy = judge;
    data->site.accuracy_count = accuracy->count;
}
