// SPDX-License-Identifier: Apache-2.0
//
// What is settled of a series' links. A long history is levelled in stretches of STRETCH codes:
// when so many and LAG more have come, the links up to the commit at which they began are closed
// together with those of the lag, and settled. Their fits, changes and misfits stay, and so do the
// levels of all codes that no later link is expected to name. What the links say of the others
// stands in their place (levels_settle() of model/history/levels.h).
//
// So what a history says follows from its links alone, whether they are gone through at once or as
// they come, to the last bit. A link that belongs before what was looked at when a stretch was
// settled, or that names a code that is gone, makes it begin anew; then the code was named late,
// and is kept from the beginning.
#ifndef PLUMB_LINKS_SETTLED_H
#define PLUMB_LINKS_SETTLED_H

#include "ci/history/history_links.h"
#include "model/history/levels.h"

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
    uint64_t chain;                       // of the bytes of all stretches (links_kept.c)
};

// Levels of some codes, and some steps; codes and marks by their numbers.
struct linked_part {
    size_t *numbers;
    struct linked_level *levels;
    size_t level_count;
    struct linked_step *steps;
    size_t step_count;
};

struct facts;
// The links that are not settled, up to `end`: closed. NULL: they are too tangled. The caller:
// levels_free.
struct levels *links_level(const struct facts *facts, size_t end, struct error *err);
// Settles the next stretch, if it has come: then *out is its part, facts->settled all of it, and
// facts->first the first link that is not settled. All in the arena. *lacking is set if not all
// that is needed was read.
bool links_settle(struct linked_part *out, struct facts *facts, bool *lacking, struct arena *arena);

#endif
