// SPDX-License-Identifier: Apache-2.0
//
// What links say of a series: the commits at which its code got slower or faster, measured side by
// side, and the level of every code. Nothing here is guessed from absolute times, and what was
// found stays found: links are never changed.

#ifndef PLUMB_HISTORY_LINKS_H
#define PLUMB_HISTORY_LINKS_H

#include "baselines/kept/judgement.h"
#include "baselines/kept/kept_links.h"
#include "baselines/link.h"
#include "model/history/levels.h"

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
    const char *was; // the commit that it was measured at, where `at` has got its code since; NULL
    bool aside;      // of a branch that the line of HEAD does not have
    bool alarm;      // of times alone, which pairs confirmed
    bool tried;      // in a gate or a bisection only: an alarm where a plain run met its codes
    bool filled;     // links within it lead from one code to the other: a change only where a line
                     // has these two and none between, as after a merge
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
// through; history_links_kept() says the same and goes through those that came since.
int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err);

// As history_links(), worked out only when a link has come since, and then only from the stretch on
// that is not settled. What was worked out now and has to be kept goes to `fresh`, with its bytes
// in `kept_in`; its size is 0 when there is nothing new.
int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct arena *kept_in,
                       struct error *err);

// The levels that `linked` was found with: those that are kept, or worked out again.
int history_linked_levels(struct linked_levels *out, const struct linked_history *linked,
                          struct store *store, const struct commit_places *places,
                          const struct series *series, const char *accepted, struct arena *arena,
                          struct error *err);

// The change that one link says, which is no step of a history; without its commits.
struct linked_change history_alarm(const struct link_fact *link);

// A change point that was found side by side too, and is said there.
bool history_is_linked(const struct linked_history *linked, const struct history_change *change);

// ---- what is settled ----

// A long history is levelled in stretches of STRETCH codes: when so many and LAG more have come,
// the links up to the commit at which they began are closed together with those of the lag, and
// settled. Their fits, changes and misfits stay, and so do the levels of all codes that no later
// link is expected to name. What the links say of the others stands in their place
// (levels_settle() of model/history/levels.h).
//
// So what a history says follows from its links alone, whether they are gone through at once or as
// they come, to the last bit. A link that belongs before what was looked at when a stretch was
// settled, or that names a code that is gone, makes it begin anew; then the code was named late,
// and is kept from the beginning.
enum {
    STRETCH = 1024,   // codes
    LAG = 256,        // codes
    LATE_AFTER = 128, // codes that came since, from which on naming one is late
    ACCEPTED_TEXT = OBJECT_ID_TEXT
};

// A code that later links may name.
struct settled_code {
    int64_t code, at; // its key, and that of the commit where it came first
    size_t number;    // among all codes of the series, in the order in which links name them
    bool line;        // of the line of first parents
    bool left;        // a link with the code after it is settled
    bool late;        // it is named late
};

struct settled_change {
    struct linked_change change; // but for what is left of it
    size_t place;                // of its link among all, in order
    bool slower;                 // as the gate's rule says
    size_t from;                 // the base's code, by its number
    size_t mark;                 // of that code's level, by its number
    double level;
};

struct settled_misfit {
    struct linked_misfit misfit;
    int64_t from, to; // the codes' keys
};

struct settled_links {
    size_t stretches;
    size_t links, neighbours, codes; // codes: that they name
    int64_t newest_link; // the largest key that had been read; what has a larger one came later
    int64_t read_from;   // smaller keys need not be read again
    int64_t context_s;   // nor is any of them of a head behind this one, by its order_s
    int64_t end_s, end_commit;   // of the first head that is not settled
    int64_t seen_s, seen_commit; // of the first head that was not looked at
    struct levels_settled levels;
    struct settled_code *kept; // levels.codes of them, by number
    int64_t *gone;             // levels.gone of them: keys, ascending
    struct settled_change *changes;
    size_t change_count;
    struct settled_misfit *misfits;
    size_t misfit_count;
    size_t newest;    // of the line, by its number
    int64_t newest_s; // its commit's order_s
    bool has_line;
    size_t step_count, step;              // steps so far, and the number of the last one's code
    char accepted[ACCEPTED_TEXT];         // what was looked for among them; "": nothing
    bool accepted_found, accepted_head;   // head: as its link's head, else as its base
    size_t accepted_code, accepted_place; // by its number; of the first link that names the commit
    uint64_t chain;                       // of the bytes of all stretches (history_links_kept())
};

// Levels of some codes, and some steps; codes and marks by their numbers.
struct linked_part {
    size_t *numbers;
    struct linked_level *levels;
    size_t level_count;
    struct linked_step *steps;
    size_t step_count;
};

#endif
