// SPDX-License-Identifier: Apache-2.0
//
// Formulas of whole numbers, as a plan writes them: ceil_div(m, 128) * ceil_div(n, 256).
//
//     condition ? value : value     or     ||     and     &&     not     !
//     ==  !=  <  <=  >  >=     +  -  *  /  %     ( )
//     ceil_div(a, b)  round_up(a, b)  min(a, b)  max(a, b)
//
// Operators bind as in C. Numbers are of 64 bits with a sign, decimal or 0x..., true is 1 and false
// 0; of ?:, && and || only what counts is worked out. Names are of letters, digits and _, in any
// case. A formula is hostile text: what overflows, divides by zero (for ceil_div and round_up: by
// less than 1), nests deeper than 64 levels or has more than 256 parts is an error, never a number.

#ifndef PLUMB_EXPRESSION_H
#define PLUMB_EXPRESSION_H

#include "model/base.h"

// The values that a formula may name: name i is names[i].
struct expression_names {
    const char *const *names;
    size_t count;
};

struct expression; // lives in the arena it was made in

// One formula, the whole text.
int expression_parse(const struct expression **out, const char *text,
                     const struct expression_names *names, struct arena *arena, struct error *err);

// Formulas separated by commas: 1 to `most` of them.
int expression_parse_list(const struct expression **out, size_t *count, size_t most,
                          const char *text, const struct expression_names *names,
                          struct arena *arena, struct error *err);

// values: one for each name that it was parsed with.
int expression_value(int64_t *out, const struct expression *expression, const int64_t *values,
                     struct error *err);

// Whether it names nothing: it has the same value whatever the others are.
bool expression_constant(const struct expression *expression);

#endif
