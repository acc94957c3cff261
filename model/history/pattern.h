// SPDX-License-Identifier: Apache-2.0
//
// A pattern that comes again after so many values, as of the days of a week. It is no change of
// level, and no drift: it is told, and taken off before changes are looked for.
#ifndef PLUMB_PATTERN_H
#define PLUMB_PATTERN_H

#include <stddef.h>

struct pattern {
    size_t period; // values after which it comes again; 0: there is none
    double swing;  // from its lowest place to its highest, in the unit of the values
};

// Takes it off the values. NaN and infinite ones are missing, and count in the period.
struct pattern pattern_take_off(double *values, size_t n);

#endif
