// SPDX-License-Identifier: Apache-2.0
//
// Medians over the controls of how far their last two points lie from what was before.
#include "model/history/sickness.h"

#include "model/base.h"
#include "model/robust.h"

#include <math.h>
#include <stdlib.h>

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
