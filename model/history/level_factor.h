// SPDX-License-Identifier: Apache-2.0
//
// The inside of levels.h, for levels.c and levels_close.c: links, and the factored equations.
#ifndef PLUMB_LEVEL_FACTOR_H
#define PLUMB_LEVEL_FACTOR_H

#include "model/history/levels.h"

struct level_factor {
    // Links, and for each code those that end at it: first[code], then next[2 link + end].
    struct level_link *links;
    size_t *next, *first;
    size_t link_room, code_room, next_room;
    // Components: a code's parent in its tree; of a root, its mark.
    size_t *parent, *root_mark;
    // Order of the equations.
    size_t *at, *code; // position of a code, code at a position
    bool *hub;         // linked from far behind: last in the order
    size_t hubs;
    size_t dirty; // positions from here on are to be factored again
    // Row p of the factor: columns begin[p]..p at value[offset[p]], the last one inverted.
    size_t *begin, *offset;
    double *value, *right; // right: the right hand side, forward substituted
    size_t value_room;
};

double level_weight(const struct levels *levels, size_t link);
// A code's mark is not among the unknowns.
bool level_known(const struct levels *levels, size_t code);
double level_dot(const double *a, const double *b, size_t count);

#endif
