// SPDX-License-Identifier: Apache-2.0
//
// A trimmed mean over the series, its error from their scatter, and four of those errors: what
// differs by place differs from series to series, what differs by device does not.
// Below half a percent nobody minds: two H200s of one host were 0.19 % apart, plain by 198 series.
#include "model/gate/apart.h"
#include "model/robust.h"

#include <math.h>

static const struct moderation by_place = {.sd = 0.003, .weight = 8};
static const double errors = 4, least = 0.005;

struct apart apart_of(double *differences, size_t count)
{
    struct apart out = {.log_ratio = NAN, .se = INFINITY};
    if (!count)
        return out;
    out.log_ratio = robust_mean(differences, count).mean;
    const double sd = count > 1 ? robust_sd(differences, count) : 0;
    out.se = moderate_sd(by_place, sd, (double)count - 1) / sqrt((double)count);
    out.told = count > 1 && fabs(out.log_ratio) > fmax(errors * out.se, least);
    return out;
}
