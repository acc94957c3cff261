// SPDX-License-Identifier: Apache-2.0
//
// What a change may be, once it was found: the points that it may have happened at, and its size,
// so that both hold the truth as often as they say, whichever rule has found it.
#ifndef PLUMB_CHANGE_SET_H
#define PLUMB_CHANGE_SET_H

#include "model/history/changepoint.h"

// Sets earliest, latest and the ends of size from the values first..end-1, between the neighbouring
// changes; index, before, after and size.value stay and are within them. Values that are not finite
// are missing. `inflation`, >= 1: of the variance of a mean, as far as it is known already.
void change_set(struct change *change, const double *values, size_t first, size_t end,
                double inflation, double confidence);
// Of all changes, between their neighbours; of one that came when the noise was `calm`, without the
// loud values before. A level that wanders has its own.
void change_set_all(struct changepoints *found, const double *values, size_t n, size_t calm,
                    double confidence);

#endif
