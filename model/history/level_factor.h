// SPDX-License-Identifier: Apache-2.0
//
// The inside of levels.h, for the files beside it: links, and the factored equations.
#ifndef PLUMB_LEVEL_FACTOR_H
#define PLUMB_LEVEL_FACTOR_H

#include "model/history/levels.h"

struct level_factor {
    // Links, and for each code those that end at it: first[code], then next[2 link + end].
    struct level_link *links;
    double *doubt; // of each, the variance that it has besides while it is doubted
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
    // What earlier links say of the first codes (levels_begin). Its arrays are the caller's.
    struct levels_settled settled;
    bool afloat; // marks are unknowns like all others
};

#define LEVEL_NO_LINK SIZE_MAX
static const double level_bridge = 1e-7; // redundancy of a link in no loop, but for rounding

// How far a link's codes are unlike, d of levels_close.c.
double level_change(const struct level_link *link);
double level_weight(const struct levels *levels, size_t link);
// A code's mark is not among the unknowns.
bool level_known(const struct levels *levels, size_t code);
// Element of the factor or of the inverse: positions, the column in the row's envelope.
double *level_at(const struct level_factor *factor, double *values, size_t row, size_t column);
// Sets the mark of every code.
void level_marks(struct levels *levels);
// The order of the equations: hubs last.
void level_put_in_order(struct levels *levels);
// Makes room for the rows of blocks from one on. -1: they are too many.
int level_lay_out(struct levels *levels, size_t from, struct error *err);
// Fills and factors the rows of blocks from one on, and the right hand side with them. Those from
// `end` on are only reduced: what is left there of A and of the right hand side, where what stands
// before them is eliminated.
void level_factor_rows(struct levels *levels, size_t from, size_t end);
// Sets all levels from the factor and the right hand side.
void level_substitute_back(struct levels *levels);
// The sums that the first `links` links add to those of the settled ones before them. The loops are
// closed.
void level_settle_sums(struct levels_settled *out, const struct levels *levels, size_t links);
// Works out factor->inverse, unless it stands.
void level_invert(const struct levels *levels);
// Variance of the difference of two codes' levels, from the inverse; for the two ends of a link.
double level_variance(const struct levels *levels, size_t a, size_t b);

#endif
