// SPDX-License-Identifier: Apache-2.0
//
// The commits of a store in one order, parents before children, with those between them that were
// never measured as far as a repository knows them. Events are ranges of it.
#ifndef PLUMB_TIMELINE_H
#define PLUMB_TIMELINE_H

#include "baselines/kept/event.h"
#include "runner/git/repository.h"

struct timeline_place {
    const char *id;
    size_t at;
};
struct timeline {
    struct commit *commits;
    size_t *begins; // of each stretch: the first commit behind its base that is on its own line;
                    // SIZE_MAX: it was not followed as far as its base
    bool *line; // of each: it is on the line of first parents of a change; others are of branches
    bool *between; // the store does not know it
    size_t count;
    struct timeline_place *places; // by id
};

// A change lies behind `base` (full id, or "": behind the commit before `first` that the store
// knows) and began with `last` at the latest.
struct timeline_stretch {
    const char *base, *first, *last;
};

// What is known beside the store.
struct timeline_sources {
    const struct repository *repository; // NULL: only what the store knows
    const char *const *paths; // files and folders that a build reads; a commit that changes none of
    size_t path_count;        // them is on no line. None: every commit counts
};
// In the arena. A stretch is followed back along first parents; what lies on it gets its place
// between.
int timeline_read(struct timeline *out, struct store *store, const struct timeline_sources *sources,
                  const struct timeline_stretch *stretches, size_t count, struct arena *arena,
                  struct error *err);
// The position of a commit; SIZE_MAX: it is not known.
size_t timeline_find(const struct timeline *timeline, const char *id);

#endif
