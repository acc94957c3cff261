// SPDX-License-Identifier: Apache-2.0
//
// Formulas of whole numbers, as a plan writes them: ceil_div(m, 128) * ceil_div(n, 256).
//
//     &&     ==  !=  <  <=  >  >=     +  -  *  /  %     ( )     ceil_div(a, b)  min(a, b)
//
// Operators bind as in C. Numbers are of 64 bits with a sign, true is 1 and false 0. Names are of
// letters, digits and _, in any case. A formula is hostile text: what overflows, divides by zero
// (for ceil_div: by less than 1) or nests deeper than 64 levels is an error, never a number.

#ifndef PLUMB_EXPRESSION_H
#define PLUMB_EXPRESSION_H

#include "model/base.h"

// The values that a formula may name: name i is names[i].
struct expression_names {
    const char *const *names;
    const int64_t *values; // NULL: a formula is read and not worked out, and is 0
    size_t count;
};

// Formulas separated by commas, 1 to `most` of them. constants, unless NULL: whether each names
// nothing, so that it is the same whatever the values are.
int expression_values(int64_t *out, bool *constants, size_t *count, size_t most, const char *text,
                      const struct expression_names *names, struct error *err);

#endif
