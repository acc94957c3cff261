// SPDX-License-Identifier: Apache-2.0
//
// The inside of levels.h, for levels.c, level_inverse.c and levels_close.c: links, and the factored
// equations.
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
    // Row b of blocks of the factor: those of the columns begin[b]..b at value[offset[b]], one
    // after the other (level_block.h), the last one inverted.
    size_t *begin, *offset, blocks;
    double *value, *right; // right: the right hand side, forward substituted
    size_t value_room;
    // Of the inverse of A, what lies where the factor has room. Its blocks on the diagonal are
    // whole.
    double *inverse;
    bool inverted; // it is that of the factor as it is
};

// How far a link's codes are unlike, d of levels_close.c.
double level_change(const struct level_link *link);
double level_weight(const struct levels *levels, size_t link);
// A code's mark is not among the unknowns.
bool level_known(const struct levels *levels, size_t code);
// Element of the factor or of the inverse: positions, the column in the row's envelope.
double *level_at(const struct level_factor *factor, double *values, size_t row, size_t column);
// Works out factor->inverse, unless it stands.
void level_invert(const struct levels *levels);
// Variance of the difference of two codes' levels, from the inverse; for the two ends of a link.
double level_variance(const struct levels *levels, size_t a, size_t b);

#endif
