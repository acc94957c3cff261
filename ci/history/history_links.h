// SPDX-License-Identifier: Apache-2.0
//
// What links say of a series: the commits at which its code got slower or faster, measured side by
// side, and the level of every code. Nothing here is guessed from absolute times. What a history
// says follows from its links alone, whether they are gone through at once or as they come.

#ifndef PLUMB_HISTORY_LINKS_H
#define PLUMB_HISTORY_LINKS_H

#include "baselines/judgement.h"
#include "baselines/store.h"

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

// What is found in `arena`, what is needed for it, and the levels, in `scratch`. A series without
// links has nothing. `places`: all commits (store_commit_places), for as long as the levels are
// used. `accepted`: the commit from which on its level is accepted, or NULL.
int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err);

// As history_links(), worked out only when a link has come since: *fresh then, and to be kept. Its
// maker is "" where there are no links.
int history_links_kept(struct kept_links *out, bool *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct error *err);

// The change that one link says, which is no step of a history; without its commits.
struct linked_change history_alarm(const struct link_fact *link);

// A change point that was found side by side too, and is said there.
bool history_is_linked(const struct linked_history *linked, const struct history_change *change);

#endif
