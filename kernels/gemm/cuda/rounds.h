// SPDX-License-Identifier: Apache-2.0
//
// Decides which ways stay in a trial (trial.cuh). Many ways are timed in three rounds, the faster
// half of them in three more, and the fastest four as often as the time allows. All ways still in
// the trial were timed in the same rounds, so a clock that falls meanwhile affects all alike. A way
// that is out stays out, because its times come from other rounds. The file is C, so that tests run
// where there is no GPU.
#ifndef PLUMB_GEMM_ROUNDS_H
#define PLUMB_GEMM_ROUNDS_H

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { looks_most = 32, looks_of_all = 3, finalists_most = 4 };

// The times of one way, in ascending order. A way that cannot be launched fails, and has none.
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

// The fastest of the ways that are still in the trial; 0 if there are none.
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

// Called after a round: takes a way out if it is far behind the first, or if too many are
// ahead of it.
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

// The number of ways, at most `count`, that can be tried in `turns` timings of single ways: each
// way in the first rounds, and the finalists in two more. A few ways are rather tried three times
// each. Less than two: there is no time for a trial.
static inline int ways_in_time(int turns, int count)
{
    const int few = turns / 3, many = (turns - 2 * finalists_most) / looks_of_all;
    const int most = few <= finalists_most ? few : many > finalists_most ? many : finalists_most;
    return most < count ? most : count;
}

// ---- the note of a choice, which pins the choice in later runs ----
//
// The note is "NAME", or "NAME in order" if launches do not begin early, and then ", the model
// alone NAME" if a trial chose another way than the model.

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

// Whether the note chose the way with this name. If so, sets *in_order.
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
