// SPDX-License-Identifier: Apache-2.0
//
// Who goes on in a trial (trial.cuh): many ways are looked at thrice, the faster half of them
// thrice more, and the fastest four as often as there is time for. All that are still in it have
// been timed in the same rounds, so that a clock that falls meanwhile is the same for all; who is
// out stays out, because its times are of other rounds. In C, so that tests hold it where there is
// no GPU.
#ifndef PLUMB_GEMM_ROUNDS_H
#define PLUMB_GEMM_ROUNDS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { looks_most = 16, looks_of_all = 3, finalists_most = 4 };

// The times of one way, in rising order. One that cannot be launched fails, and has none.
struct way_times {
    double us[looks_most];
    int count;
    int queued, fails, out;
};

static inline void way_add(struct way_times *way, double us)
{
    int at = way->count++;
    for (; at > 0 && way->us[at - 1] > us; --at)
        way->us[at] = way->us[at - 1];
    way->us[at] = us;
}

static inline double way_median(const struct way_times *way)
{
    return way->count && !way->fails ? way->us[(way->count - 1) / 2] : INFINITY;
}

static inline int way_goes_on(const struct way_times *way)
{
    return !way->fails && !way->out;
}

// Of those that are still in it; 0 where none is.
static inline int fastest_way(const struct way_times *ways, int count)
{
    int best = 0;
    for (int i = 1; i < count; ++i)
        if (way_goes_on(&ways[i]) &&
            (!way_goes_on(&ways[best]) || way_median(&ways[i]) < way_median(&ways[best])))
            best = i;
    return best;
}

static inline int ways_before(const struct way_times *ways, int count, double us)
{
    int before = 0;
    for (int i = 0; i < count; ++i)
        before += way_goes_on(&ways[i]) && way_median(&ways[i]) < us;
    return before;
}

// After a round: who is far behind the first, or behind too many, is out.
static inline void leave_slow_ways(struct way_times *ways, int count)
{
    const struct way_times *first = &ways[fastest_way(ways, count)];
    if (first->count < looks_of_all)
        return;
    const int late = first->count >= 2 * looks_of_all, half = (count + 1) / 2;
    const int places = late || half < finalists_most ? finalists_most : half;
    const double most = (late ? 1.03 : 1.1) * way_median(first);
    for (int i = 0; i < count; ++i)
        ways[i].out |=
            way_goes_on(&ways[i]) && (way_median(&ways[i]) > most ||
                                      ways_before(ways, count, way_median(&ways[i])) >= places);
}

// Of `count` ways so many that all can be looked at, and the finalists twice more, in so many turns
// of one way; few are rather looked at three times. Less than two: there is no time for a trial.
static inline int ways_in_time(int turns, int count)
{
    const int few = turns / 3, many = (turns - 2 * finalists_most) / looks_of_all;
    const int most = few <= finalists_most ? few : many > finalists_most ? many : finalists_most;
    return most < count ? most : count;
}

// ---- the note of a choice, which is the pin of later runs ----
//
// "NAME", "NAME in order" where its launches do not begin early, and then ", the model alone NAME"
// where a trial chose something else.

static inline void note_choice(char *note, size_t size, const char *name, int in_order,
                               const char *model, int model_in_order)
{
    const char *const orders[] = {"", " in order"};
    if (strcmp(name, model) == 0 && in_order == model_in_order)
        snprintf(note, size, "%s%s", name, orders[in_order]);
    else
        snprintf(note, size, "%s%s, the model alone %s%s", name, orders[in_order], model,
                 orders[model_in_order]);
}

// Whether the way is what the note chose, and sets *in_order if it is.
static inline int is_noted(const char *note, const char *name, int *in_order)
{
    const size_t length = strlen(name);
    if (strncmp(note, name, length) != 0)
        return 0;
    const char *behind = note + length;
    const int ordered = strncmp(behind, " in order", 9) == 0;
    behind += ordered ? 9 : 0;
    if (*behind && *behind != ',')
        return 0;
    *in_order = ordered;
    return 1;
}

#endif
