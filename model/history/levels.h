// SPDX-License-Identifier: Apache-2.0
//
// Levels: the log time of every code of one series on one device, from paired comparisons of two
// codes each, as surveyors carry a height from mark to mark (the maths is on top of levels.c).
//
// Use:
//     struct levels *levels = levels_new();
//     levels_add(levels, &link);                 // any number, in any order, at any time
//     if (levels_solve(levels, &err)) ...        // level and mark of every code
//     levels_close(levels, &prior, &err)         // how well the loops close; then solved again
//     levels_between(&size, &error, levels, a, b);
//     levels_free(levels);

#ifndef PLUMB_LEVELS_H
#define PLUMB_LEVELS_H

#include "model/robust.h"

#include <stdbool.h>
#include <stddef.h>

// Codes are numbered by the caller, from 0, in the order in which they came.
struct level_link {
    size_t from, to;  // two different codes
    double log_ratio; // log(time of `to` / time of `from`), finite
    double error;     // standard error of it, by its own pairs; > 0, finite
};

enum link_fit {
    LINK_FITS,
    LINK_DOUBTED, // a loop does not close, and this link is as likely the reason as another
    LINK_ASIDE    // it alone does not fit: the levels are without it
};

// The results; the handle owns all of them. Everything else is in levels.c.
struct levels {
    size_t codes;       // 1 + the largest number in any link
    double *level;      // log time of a code less that of its mark, 0 for the mark; after a solve
    size_t *mark;       // where a code's level is measured from: the first code of its component
    size_t links;       // added
    enum link_fit *fit; // of each link, in the order of adding; after levels_close()
    size_t components;
    size_t loops;      // independent ones: links in use - codes + components
    double misclosure; // SD of what a link's pairs cannot see, log ratio; 0 until it is closed
    double unlike;     // SD of what they cannot see besides where the codes differ, of a log ratio
    double weighed, weighed_unlike; // what links are weighed with, near to those two
    double unit;                    // standard errors are those that the weights give times this
    double degrees;                 // of freedom that it is known with, the prior's among them
    size_t rounds;                  // of weighing and factoring them all that levels_close() took
    struct level_factor *factor;
};

// The misclosure that is assumed before any loop is known: 0.1 %, with the weight of four loops.
// Identical kernels in other places of a process were off by up to 0.18 %, process after process
// (baselines/recorded/h200/README.md, "Other binaries").
extern const struct moderation levels_prior;

// Never NULL. The caller: levels_free.
struct levels *levels_new(void);

void levels_free(struct levels *levels); // NULL is no harm

// The values must be in range (asserted).
void levels_add(struct levels *levels, const struct level_link *link);

// Brings level, mark, components and loops up to what was added. After one link more only the part
// of the equations behind the link's older code is factored again. -1: the links are tangled so
// much that it would take too long (LEVELS_ROOM); the levels stay as they were.
enum { LEVELS_ROOM = 1 << 23 }; // numbers in the factor

int levels_solve(struct levels *levels, struct error *err);

// Estimates the misclosure from all loops, sets aside links that do not fit, and solves again with
// weights by both kinds of error. The same links give the same answer, whatever was asked before.
int levels_close(struct levels *levels, const struct moderation *prior, struct error *err);

// Level of `to` less that of `from` and its standard error; infinite where no link leads from one
// to the other. Needs a solve, and a close for an error that knows the misclosure.
void levels_between(double *size, double *error, const struct levels *levels, size_t from,
                    size_t to);

// The standard error of every level against its mark; `out` has room for all codes.
void levels_errors(double *out, const struct levels *levels);

// Half the width of an interval in standard errors: Student's t with levels->degrees.
double levels_reach(const struct levels *levels, double confidence);

// How often chance takes one link's codes as far apart as so many standard errors, or farther,
// either way. The degrees are of what its pairs cannot see; its own standard error is known well.
// Needs a close.
double levels_link_chance(const struct levels *levels, size_t link, double errors);

// The probability that a good link misses what all other links say of its two codes by as much
// as this one does, or more. 1: no others say anything; 0: the link is doubted. levels_close()
// comes before.
double levels_fit_chance(const struct levels *levels, size_t link);

// The inside, for levels.c and its test: links, and the factored equations.
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

#endif
