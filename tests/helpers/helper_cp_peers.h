// SPDX-License-Identifier: Apache-2.0
//
// The change-point rules of other tools, written from descriptions of what they do, to compare
// with. Each returns how many indices it wrote to `out` (room for n), in ascending order.
#ifndef PLUMB_TESTS_HELPER_CP_PEERS_H
#define PLUMB_TESTS_HELPER_CP_PEERS_H

#include <stddef.h>

// Otava (Hunter): windows of 50 stepped by 25 or to the last point found, split where the energy
// statistic with exponent 1 is largest while Student's t says p < 10 p0, then the weakest are
// dropped until every p < p0. Its default is p0 = 0.001.
size_t cp_otava(size_t *out, const double *values, size_t n, double p0);

// asv: exact piecewise-constant L1 fits for a range of penalties; the one with the least
// log(mean |innovation| of the AR(1) residuals) + beta (segments) wins. beta = factor ln n / n; its
// default factor is 4.
size_t cp_asv(size_t *out, const double *values, size_t n, double factor);

// Perfherder: Student's t of up to 24 values before against 12 from each index on, both weighted
// linearly towards the index; local maxima above `threshold`. Its default is 7, and then changes
// under 2 % are ignored, which is left out here.
size_t cp_perfherder(size_t *out, const double *values, size_t n, double threshold);

#endif
