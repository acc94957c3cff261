// SPDX-License-Identifier: Apache-2.0
//
// The shift of times by a driver. The shift of each series is the difference of its means, and the
// device's shift is the median over the series. What a run adds to all its series is the median of
// their distances from their own means under that driver. The variance of this over the runs, with
// one degree of freedom lost per driver, gives the standard error, and Student's t the interval.
// The differences among the series are added to it.
#include "model/history/device.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// ---- a sick device ----
//
// Medians over the controls of the distance between their last two points and the earlier level.

enum { CONTROLS_MOST = 64, JUDGED = 2 };

void sickness_find(struct sickness *out, const struct sickness_control *controls, size_t count,
                   double margin)
{
    double shifts[JUDGED][CONTROLS_MOST];
    struct sickness found = {0};
    for (size_t i = 0; i < count && found.controls < CONTROLS_MOST; i++) {
        const struct sickness_control *c = &controls[i];
        if (c->count < SICKNESS_EARLIER + JUDGED)
            continue;
        const size_t earlier = c->count - JUDGED;
        double *work = xcalloc(earlier, sizeof(*work));
        for (size_t k = 0; k < earlier; k++)
            work[k] = c->values[k];
        const double level = robust_median(work, earlier);
        free(work);
        for (size_t k = 0; k < JUDGED; k++)
            shifts[k][found.controls] = c->values[earlier + k] - level;
        found.controls++;
    }
    found.known = found.controls >= SICKNESS_CONTROLS;
    if (found.known) {
        const double before = robust_median(shifts[0], found.controls);
        const double newest = robust_median(shifts[1], found.controls);
        found.log_ratio = fmin(before, newest);
        found.slow = found.log_ratio > log1p(margin);
    }
    *out = found;
}

struct device_side {
    double sum[2];
    size_t count[2]; // [before, after]
};

struct device_work {
    const struct driver_point *points;
    size_t count;
    struct device_side *series;
    size_t series_count;
};

static double mean_of(const struct device_work *w, const struct driver_point *p)
{
    const struct device_side *s = &w->series[p->series];
    return s->sum[p->after] / (double)s->count[p->after];
}

static bool is_on_both(const struct device_work *w, size_t series)
{
    return w->series[series].count[0] && w->series[series].count[1];
}

// The t with P(
// T
//  > t) = outside for Student's distribution, found by bisection.
static double t_quantile(double degrees, double outside)
{
    double low = 0, high = 1e4;
    for (int i = 0; i < 80; i++) {
        const double t = (low + high) / 2;
        const double p = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
        if (p > outside)
            low = t;
        else
            high = t;
    }
    return high;
}

// The median distance of a run's series from their means under that driver.
static double residual_of(const struct device_work *w, int64_t run, double *room)
{
    size_t count = 0;
    for (size_t i = 0; i < w->count; i++) {
        const struct driver_point *p = &w->points[i];
        if (p->run == run && is_on_both(w, p->series))
            room[count++] = p->log_time - mean_of(w, p);
    }
    return robust_median(room, count);
}

static bool is_first_of_run(const struct device_work *w, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (w->points[i].run == w->points[at].run && is_on_both(w, w->points[i].series))
            return false;
    }
    return is_on_both(w, w->points[at].series);
}

static void fill_interval(struct driver_shift *out, const struct device_work *w, double *room)
{
    double squares = 0;
    for (size_t i = 0; i < w->count; i++) {
        if (!is_first_of_run(w, i))
            continue;
        const double e = residual_of(w, w->points[i].run, room);
        squares += e * e;
        *(w->points[i].after ? &out->after : &out->before) += 1;
    }
    size_t count = 0;
    for (size_t i = 0; i < w->series_count; i++) {
        const struct device_side *s = &w->series[i];
        if (is_on_both(w, i))
            room[count++] = s->sum[1] / (double)s->count[1] - s->sum[0] / (double)s->count[0];
    }
    out->size.value = robust_median(room, count);
    const double among = count > 3 ? robust_sd(room, count) / sqrt((double)count) : 0;
    const double degrees = (double)out->before + (double)out->after - 2;
    if (!(degrees > 0))
        return;
    out->run_sd = sqrt(squares / degrees);
    const double runs = 1 / (double)out->before + 1 / (double)out->after;
    const double se = hypot(out->run_sd * sqrt(runs), among);
    out->size = interval_about(out->size.value, t_quantile(degrees, 0.05) * se);
}

void driver_shift_find(struct driver_shift *out, const struct driver_point *points, size_t count)
{
    struct device_work w = {.points = points, .count = count};
    *out = (struct driver_shift){.size = interval_unknown, .run_sd = NAN};
    for (size_t i = 0; i < count; i++)
        w.series_count = points[i].series >= w.series_count ? points[i].series + 1 : w.series_count;
    w.series = xcalloc(w.series_count + 1, sizeof(*w.series));
    double *room = xcalloc(w.series_count + count + 1, sizeof(*room));
    for (size_t i = 0; i < count; i++) {
        struct device_side *s = &w.series[points[i].series];
        s->sum[points[i].after] += points[i].log_time;
        s->count[points[i].after]++;
    }
    for (size_t i = 0; i < w.series_count; i++)
        out->series += is_on_both(&w, i);
    if (out->series)
        fill_interval(out, &w, room);
    free(room);
    free(w.series);
}
