// SPDX-License-Identifier: Apache-2.0
//
// The inside of levels.h, for the files beside it: links, and the factored equations.
#ifndef PLUMB_LEVEL_FACTOR_H
#define PLUMB_LEVEL_FACTOR_H

#include "model/history/levels.h"

#include <stdbool.h>
#include <stddef.h>

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
    // Row p of the factor: its columns begin[p]..p at value[offset[p]], the last one inverted.
    size_t *begin, *offset;
    double *value, *right; // right: the right hand side, forward substituted
    size_t value_room;
    // Of the inverse of A, what lies where the factor has room.
    double *inverse;
    bool inverted; // it is that of the factor as it is
};

#define LEVEL_NO_LINK SIZE_MAX

static const double level_bridge = 1e-7; // redundancy of a link in no loop, but for rounding

// How far a link's codes are unlike, d of levels.c.
double level_change(const struct level_link *link);

double level_weight(const struct levels *levels, size_t link);

// Makes room for the rows from one on. -1: they are too many.
int level_lay_out(struct levels *levels, size_t from, struct error *err);

// Fills and factors the rows from one on, and the right hand side with them.
void level_factor_rows(struct levels *levels, size_t from);

// Sets all levels from the factor and the right hand side.
void level_substitute_back(struct levels *levels);

// Works out factor->inverse, unless it stands.
void level_invert(const struct levels *levels);

// Variance of the difference of two codes' levels, from the inverse; for the two ends of a link.
double level_variance(const struct levels *levels, size_t a, size_t b);

#endif
