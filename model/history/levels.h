// SPDX-License-Identifier: Apache-2.0
//
// Levels: the log time of every code of one series on one device, computed from paired comparisons
// of two codes each, as surveyors carry a height from mark to mark (levels.c begins with the
// maths).
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
    double error;     // standard error of log_ratio from its own pairs; > 0, finite
};

enum link_fit {
    LINK_FITS,
    LINK_DOUBTED, // a loop does not close, and this link may be the reason as well as another
    LINK_ASIDE    // this link alone does not fit, and the levels are computed without it
};

// The results; the handle owns them. Everything else is in levels.c.
struct levels {
    size_t codes;       // 1 + the largest number in any link
    double *level;      // log ratio of a code to its mark, 0 for the mark; set by a solve
    size_t *mark;       // the code from which a code's level is measured: the first code of its
                        // component
    size_t links;       // number of links that were added
    enum link_fit *fit; // one for each link, in the order of adding; set by levels_close()
    size_t components;
    size_t loops;      // number of independent loops: links in use - codes + components
    double misclosure; // standard deviation of the errors that a link's pairs cannot show, as a log
                       // ratio; 0 before levels_close()
    double unlike;     // the further standard deviation of such errors where the codes differ
    double weighed, weighed_unlike; // misclosure and unlike as the links were weighted with them;
                                    // close to the final values
    double unit;                    // the factor between the standard errors that the weights give
                                    // and the real ones
    double degrees;                 // degrees of freedom with which the unit is known, the prior's
                                    // included
    size_t rounds;                  // how often levels_close() weighted and factored all links
    struct level_factor *factor;
};

// The misclosure that is assumed before any loop is known: 0.1 %, with the weight of four loops.
// Identical kernels in different places of a process differed by up to 0.18 %, consistently over
// processes (baselines/recorded/h200/README.md, "Other binaries").
extern const struct moderation levels_prior;

// Never returns NULL. The caller calls levels_free().
struct levels *levels_new(void);

void levels_free(struct levels *levels); // NULL is allowed

// The values must be in range (asserted).
void levels_add(struct levels *levels, const struct level_link *link);

// Computes level, mark, components and loops for everything that was added. After one more link,
// only the part of the equations behind the link's older code is factored again. -1: the links are
// so tangled that it would take too long (LEVELS_ROOM); the levels stay as they were.
enum { LEVELS_ROOM = 1 << 23 }; // the most numbers in the factor

int levels_solve(struct levels *levels, struct error *err);

// Estimates the misclosure from all loops, sets aside links that do not fit, and solves again with
// weights for both kinds of error. The same links give the same result, whatever was computed
// before.
int levels_close(struct levels *levels, const struct moderation *prior, struct error *err);

// The level of `to` less that of `from`, and its standard error; infinite if no link leads from one
// to the other. Call it after a solve; the error includes the misclosure only after levels_close().
void levels_between(double *size, double *error, const struct levels *levels, size_t from,
                    size_t to);

// The standard error of every level relative to its mark; `out` has room for all codes.
void levels_errors(double *out, const struct levels *levels);

// Half the width of an interval, in standard errors: Student's t with levels->degrees.
double levels_reach(const struct levels *levels, double confidence);

// The probability that chance alone puts the codes of one link as many standard errors apart, or
// more, in either direction. Its own standard error is known well; the degrees of freedom belong to
// the errors that its pairs cannot show. Call it after levels_close().
double levels_link_chance(const struct levels *levels, size_t link, double errors);

// The probability that a good link differs from all other links between its two codes by as much as
// this one does, or more. 1: there are no others; 0: the link is doubted. Call it after
// levels_close().
double levels_fit_chance(const struct levels *levels, size_t link);

// The internal data of levels.c, also for its test: links, and the factored equations.
struct level_factor {
    // The links, and for each code a list of those that end at it: first[code], then next[2 link +
    // end].
    struct level_link *links;
    double *doubt; // for each link, the variance that is added while it is doubted
    size_t *next, *first;
    size_t link_room, code_room, next_room;
    // Components, as trees of codes: a code's parent, and for a root its mark.
    size_t *parent, *root_mark;
    // Order of the equations.
    size_t *at, *code; // position of a code, code at a position
    bool *hub;         // it has links to codes far before it, so it comes last in the order
    size_t hubs;
    size_t dirty; // positions from here on must be factored again
    // Row p of the factor: its columns begin[p]..p stand at value[offset[p]]; the last one is
    // inverted.
    size_t *begin, *offset;
    double *value, *right; // right: the right-hand side after forward substitution
    size_t value_room;
    // The elements of A's inverse at the positions that the factor has.
    double *inverse;
    bool inverted; // the inverse belongs to the present factor
};

#endif
