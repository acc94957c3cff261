// SPDX-License-Identifier: Apache-2.0
//
// Subtracts the machine's effect by means of a control. The values x and the control s, as logs,
// are x = own + machine and s = its own + machine. The machine's steps are the changes of the level
// of s. About these, let y and u be the deviations of x and s. The best guess of the machine's part
// of u is b u with b = sum y u / (sum u^2 + var y): least squares with a prior of b ~ N(0, 1), so
// that few values subtract only what they show. Both are centred block by block, a block ends where
// x has a change of its own, and y is winsorised. The changes are found once a first b is taken
// off, for which no block ends early: a change spoils the block that contains it, and so that b.
#include "model/history/device.h"

#include "model/history/changepoint.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 }; // number of values

static const double clip = 3; // standard deviations

void control_levels(double *levels, double *control, size_t count)
{
    struct changepoints found;
    double *work = xcalloc(count + 1, sizeof(*work));
    size_t used = 0;
    changepoints_find(&found, control, count, NULL);
    for (size_t i = 0; found.count == 0 && i < count; i++) {
        if (isfinite(control[i]))
            work[used++] = control[i];
    }
    const double begun = found.count ? found.changes[0].before : robust_median(work, used);
    double level = begun;
    for (size_t i = 0, next = 0; i < count; i++) {
        if (next < found.count && i == found.changes[next].index)
            level = found.changes[next++].after;
        levels[i] = level - begun;
        control[i] -= begun;
    }
    changepoints_free(&found);
    free(work);
}

// A series and its control where both exist, and then their deviations.
struct deviations {
    double *y, *u;
    size_t *at; // of which value
    size_t count;
};

static void deviations_read(struct deviations *out, const double *values, const double *control,
                            size_t count)
{
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i]) && isfinite(control[i])) {
            out->y[out->count] = values[i];
            out->u[out->count] = control[i];
            out->at[out->count++] = i;
        }
    }
}

// Subtracts a stretch's median from it.
static void centre(double *of, size_t count, double *work)
{
    memcpy(work, of, count * sizeof(*work));
    const double median = robust_median(work, count);
    for (size_t i = 0; i < count; i++)
        of[i] -= median;
}

// Centres each stretch between the changes block by block; its last block is up to twice as long.
static void centre_all(struct deviations *d, const struct changepoints *own, double *work)
{
    size_t next = 0;
    for (size_t first = 0, end; first < d->count; first = end) {
        while (next < own->count && own->changes[next].index <= d->at[first])
            next++;
        for (end = first; end < d->count && end < first + 2 * BLOCK; end++) {
            if (next < own->count && d->at[end] >= own->changes[next].index)
                break;
        }
        if (end == first + 2 * BLOCK)
            end = first + BLOCK;
        centre(d->y + first, end - first, work);
        centre(d->u + first, end - first, work);
    }
}

static double share_of(const struct deviations *d, double *work, double *sd)
{
    memcpy(work, d->u, d->count * sizeof(*work));
    *sd = d->count ? robust_sd(work, d->count) : 0;
    memcpy(work, d->y, d->count * sizeof(*work));
    const double most = d->count ? clip * robust_sd(work, d->count) : 0;
    double both = 0, square = 0, own = 0;
    for (size_t i = 0; i < d->count; i++) {
        const double a = fmax(-most, fmin(most, d->y[i])),
                     b = fmax(-clip * *sd, fmin(clip * *sd, d->u[i]));
        both += a * b;
        square += b * b;
        own += a * a;
    }
    return both > 0 ? both / (square + own / (double)d->count) : 0;
}

static void take_off(double *values, const double *levels, const double *control, size_t count,
                     double share, double sd)
{
    for (size_t i = 0; i < count; i++) {
        const double noise = control[i] - levels[i];
        const double own = fmax(-clip * sd, fmin(clip * sd, noise));
        if (isfinite(control[i]))
            values[i] -= control[i] - (1 - share) * own;
    }
}

double control_take_off(double *values, const double *levels, const double *control, size_t count)
{
    double *numbers = xcalloc(4 * count + 1, sizeof(*numbers)), *work = numbers + 2 * count,
           *rest = numbers + 3 * count, sd;
    struct deviations d = {numbers, numbers + count, xcalloc(count + 1, sizeof(*d.at)), 0};
    struct changepoints own = {0};
    deviations_read(&d, values, control, count);
    centre_all(&d, &own, work);
    double share = share_of(&d, work, &sd);
    memcpy(rest, values, count * sizeof(*rest));
    take_off(rest, levels, control, count, share, sd);
    changepoints_find(&own, rest, count, NULL);
    if (own.count) {
        deviations_read(&d, values, control, count);
        centre_all(&d, &own, work);
        share = share_of(&d, work, &sd);
    }
    take_off(values, levels, control, count, share, sd);
    changepoints_free(&own);
    free(d.at);
    free(numbers);
    return share;
}
