// SPDX-License-Identifier: Apache-2.0
//
// Fits log time to log clock by least squares, both centred within their process. On an H200
// this gives -0.65 to -0.91 for compute-bound GEMMs, and about -0.2 for 128 and 256 rows. If
// these small ones were counted in plain cycles (exponent -1), they would be 3 to 6 times
// noisier between processes.
//
// Samples of one process are correlated (lag 1 up to 0.96). So n of them count as n (1-r)/(1+r),
// with r the lag-1 correlation of the residuals within processes. A clock that hardly moves tells
// little: then the standard error is large, and clock_shrink() falls back to the model.
#include "model/gate/gate.h"

#include <math.h>
#include <stdlib.h>

const double clock_model_sd = 0.15;

static const double far_off = 6; // robust standard deviations; 0.02 % of launches are stalls of 30
                                 // % and more

struct point {
    double log_time, log_clock;
    uint32_t group; // process and build
    bool used;
};

static bool usable(const struct sample *s)
{
    return !s->excluded && isfinite(s->time_ns) && s->time_ns > 0 && isfinite(s->clock_hz) &&
           s->clock_hz > 0;
}

// A point with its place in time, so that sorting by group keeps the order of time within a group.
// Going through all points for each group would take time proportional to the square of their
// number.
struct keyed {
    struct point point;
    size_t place;
};

static int by_group(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    if (a->point.group != b->point.group)
        return a->point.group < b->point.group ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static size_t collect(struct keyed *points, const struct sample *samples, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &samples[i];
        if (!usable(s))
            continue;
        points[used] = (struct keyed){
            {log(s->time_ns), log(s->clock_hz), s->process * 2u + (s->role == ROLE_HEAD), true},
            used};
        used++;
    }
    qsort(points, used, sizeof(*points), by_group);
    return used;
}

static size_t group_end(const struct keyed *points, size_t count, size_t from)
{
    size_t end = from;
    while (end < count && points[end].point.group == points[from].point.group)
        end++;
    return end;
}

// Subtracts each group's mean from its used points; returns the number of groups that have any.
static size_t centre(struct keyed *points, size_t count)
{
    size_t groups = 0;
    for (size_t from = 0, end; from < count; from = end) {
        end = group_end(points, count, from);
        double time = 0, clock = 0, used = 0;
        for (size_t i = from; i < end; i++) {
            const struct point *p = &points[i].point;
            time += p->used ? p->log_time : 0;
            clock += p->used ? p->log_clock : 0;
            used += p->used;
        }
        for (size_t i = from; used > 0 && i < end; i++) {
            points[i].point.log_time -= time / used;
            points[i].point.log_clock -= clock / used;
        }
        groups += used > 0;
    }
    return groups;
}

static double slope(const struct keyed *points, size_t count, double *spread)
{
    double cross = 0;
    *spread = 0;
    for (size_t i = 0; i < count; i++) {
        const struct point *p = &points[i].point;
        if (!p->used)
            continue;
        cross += p->log_time * p->log_clock;
        *spread += p->log_clock * p->log_clock;
    }
    return *spread > 0 ? cross / *spread : 0;
}

static double residual(const struct point *p, double exponent)
{
    return p->log_time - exponent * p->log_clock;
}

static void drop_far_points(struct keyed *points, size_t count, double exponent, double *work)
{
    for (size_t i = 0; i < count; i++)
        work[i] = residual(&points[i].point, exponent);
    double limit = far_off * robust_sd(work, count);
    for (size_t i = 0; limit > 0 && i < count; i++)
        points[i].point.used = fabs(residual(&points[i].point, exponent)) <= limit;
}

struct clock_fit clock_fit(const struct sample *samples, size_t count, struct arena *arena)
{
    struct keyed *points = arena_alloc(arena, count * sizeof(*points));
    double *work = arena_alloc(arena, count * sizeof(*work)), spread;
    size_t total = collect(points, samples, count);
    centre(points, total);
    drop_far_points(points, total, slope(points, total, &spread), work);
    size_t groups = centre(points, total);
    double exponent = slope(points, total, &spread);

    double squares = 0, lagged = 0, used = 0;
    const struct point *before = NULL;
    for (size_t i = 0; i < total; i++) {
        const struct point *p = &points[i].point;
        if (!p->used)
            continue;
        double r = residual(p, exponent);
        squares += r * r;
        if (before && before->group == p->group)
            lagged += r * residual(before, exponent);
        used += 1;
        before = p;
    }
    double freedom = used - (double)groups - 1;
    if (!(spread > 1e-12) || freedom < 2)
        return (struct clock_fit){0, INFINITY, (uint32_t)used};
    double r = squares > 0 ? fmin(fmax(lagged / squares, 0), 0.99) : 0;
    double inflation = (1 + r) / (1 - r);
    return (struct clock_fit){exponent, sqrt(squares / freedom * inflation / spread),
                              (uint32_t)used};
}

struct clock_fit clock_shrink(struct clock_fit fit, double model_exponent, double model_sd)
{
    double prior = 1 / (model_sd * model_sd);
    double data = isinf(fit.se) ? 0 : 1 / fmax(fit.se * fit.se, 1e-12);
    fit.exponent = (data * fit.exponent + prior * model_exponent) / (data + prior);
    fit.se = sqrt(1 / (data + prior));
    return fit;
}

struct clock_effect clock_explain(double log_ratio, const struct gate_pair *pairs, size_t count,
                                  double exponent, struct arena *arena)
{
    double *work = arena_alloc(arena, count * sizeof(*work));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(pairs[i].log_clock))
            work[used++] = pairs[i].log_clock;
    }
    if (used == 0 || !isfinite(log_ratio))
        return (struct clock_effect){0};
    double log_clock = robust_mean(work, used).mean, explained = exponent * log_clock;
    return (struct clock_effect){true, log_clock, explained, log_ratio - explained,
                                 log_ratio + log_clock};
}
