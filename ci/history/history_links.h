// SPDX-License-Identifier: Apache-2.0
//
// What links say of a series: the commits at which its code got slower or faster, measured side by
// side, and the level of every code. Nothing here is guessed from absolute times, and what was
// found stays found: links are never changed.
#ifndef PLUMB_HISTORY_LINKS_H
#define PLUMB_HISTORY_LINKS_H

#include "baselines/kept/judgement.h"
#include "baselines/link.h"

// A code that the gate's rule calls slower or faster than the one before it.
struct linked_change {
    struct history_commit at, base; // the commit with the new code, and the one it was held against
    struct interval size;           // log ratio by all links, with its 95 % interval
    double evidence;                // of the link itself, nats
    int64_t link;                   // its key
    bool misfit;                    // the link does not fit the others: it should be measured again
    bool sure;                      // its 99.99 % interval, with what pairs cannot see, has no 0
    bool back;                      // to a code that the series had before: an exact revert
    double left;                    // of it, in the newest code; log ratio, NaN: no link says
};
// A link that does not fit its loops, and was not measured again yet.
struct linked_misfit {
    struct history_commit at, base;
    uint32_t back; // codes
};
struct linked_level { // of a code, where it came first
    const struct commit_place *at;
    struct interval level; // log time against the first code that is linked with it
    size_t mark;           // index of that code's level
    bool tried;            // in a gate or a bisection only: it may never have been merged
};
// From this commit on the series has that level's code; a code that came back is there again.
struct linked_step {
    const struct commit_place *at;
    size_t level; // index
};
// The level of every code: long, and seldom asked for.
struct linked_levels {
    struct linked_level *levels;
    size_t level_count;
    struct linked_step *steps; // in order of their commits
    size_t step_count;
};
struct linked_history {
    struct linked_change *changes; // in order of their commits
    size_t change_count;
    struct linked_misfit *misfits;
    size_t misfit_count;
    size_t level_count, step_count; // of its linked_levels
    size_t newest; // index of the level of the newest code: of the newest commit, or newest link
    struct interval now;         // that level ...
    struct history_commit since; // ... against the code that came with this commit
    struct interval accepted; // log time of the newest code against the accepted one; NaN: no link
    bool moved;               // that one, or without an accepted code `now`, is no chance
    size_t links, loops;
    int64_t newest_link; // the largest key of a link that was looked at
    size_t neighbours;   // links of a code with the one before it; 0: nothing is followed by links
    const char *trouble; // why there are no levels and each link counts alone; NULL: there are
    double misclosure;   // SD of what a link's pairs cannot see, log ratio
};
// What is found in `arena`, what is needed for it, and the levels, in `scratch`. A series without
// links has nothing. `places`: all commits (store_commit_places), for as long as the levels are
// used. `accepted`: the commit from which on its level is accepted, or NULL. All links are gone
// through; links_kept.h says the same and goes through those that came since.
int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err);

// A change point that was found side by side too, and is said there.
bool history_is_linked(const struct linked_history *linked, const struct history_change *change);

#endif
