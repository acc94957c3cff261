// SPDX-License-Identifier: Apache-2.0
//
// One look at a series, without what earlier ones were sure of (changepoint_looks.c).
#ifndef PLUMB_CHANGEPOINT_LOOK_H
#define PLUMB_CHANGEPOINT_LOOK_H

#include "model/history/changepoint.h"

// As changepoints_find(), by the n values alone; `options` is not NULL.
void changepoints_look(struct changepoints *out, const double *values, size_t n,
                       const struct changepoint_options *options);

#endif
