// SPDX-License-Identifier: Apache-2.0
//
// Subtracts the machine's effect by means of a control. The values x and the control s, as logs,
// are x = own + machine and s = its own + machine. The machine's steps are the changes of the level
// of s. About these, let y and u be the deviations of x and s. The best guess of the machine's part
// of u is b u with b = sum y u / (sum u^2 + var y): least squares with a prior of b ~ N(0, 1), so
// that few values subtract only what they show. Both are centred block by block, because x may have
// changes of its own, and y is winsorised.
#include "model/history/device.h"

#include "model/history/changepoint.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 }; // number of values; a change of x then only spoils the block that contains it
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

// Subtracts the medians of y and u from them, block by block, where both exist. Returns the
// number of values.
static size_t centre(double *y, double *u, const double *x, const double *s, size_t count)
{
    size_t used = 0;
    double work[2 * BLOCK];
    for (size_t i = 0; i < count; i++) {
        if (isfinite(x[i]) && isfinite(s[i])) {
            y[used] = x[i];
            u[used++] = s[i];
        }
    }
    for (size_t first = 0, end; first < used; first = end) {
        end = used - first < 2 * BLOCK ? used : first + BLOCK;
        for (double *of = y;; of = u) {
            memcpy(work, of + first, (end - first) * sizeof(*work));
            const double median = robust_median(work, end - first);
            for (size_t i = first; i < end; i++)
                of[i] -= median;
            if (of == u)
                break;
        }
    }
    return used;
}

static double share_of(const double *values, const double *control, size_t count, double *sd)
{
    double *y = xcalloc(3 * count + 1, sizeof(*y)), *u = y + count, *work = u + count;
    const size_t used = centre(y, u, values, control, count);
    memcpy(work, u, used * sizeof(*work));
    *sd = used ? robust_sd(work, used) : 0;
    memcpy(work, y, used * sizeof(*work));
    const double most = used ? clip * robust_sd(work, used) : 0;
    double both = 0, square = 0, own = 0;
    for (size_t i = 0; i < used; i++) {
        const double a = fmax(-most, fmin(most, y[i])),
                     b = fmax(-clip * *sd, fmin(clip * *sd, u[i]));
        both += a * b;
        square += b * b;
        own += a * a;
    }
    free(y);
    return both > 0 ? both / (square + own / (double)used) : 0;
}

double control_take_off(double *values, const double *levels, const double *control, size_t count)
{
    double sd;
    const double share = share_of(values, control, count, &sd);
    for (size_t i = 0; i < count; i++) {
        const double noise = control[i] - levels[i];
        const double own = fmax(-clip * sd, fmin(clip * sd, noise));
        if (isfinite(control[i]))
            values[i] -= control[i] - (1 - share) * own;
    }
    return share;
}
