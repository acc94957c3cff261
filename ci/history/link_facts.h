// SPDX-License-Identifier: Apache-2.0
//
// The links of a series as history_links.c looks at them: in their order, with the commits that
// they name and the codes numbered, and which of the codes is the newest.
#ifndef PLUMB_LINK_FACTS_H
#define PLUMB_LINK_FACTS_H

#include "baselines/link.h"

// A link with what it names.
struct fact {
    const struct link_fact *link;
    const struct commit_place *base, *head;
    size_t from, to; // the codes' numbers
};

// The links of a series, in order of the head's commit, then of making.
struct facts {
    struct fact *items;
    size_t count;
    int64_t *codes; // of each number, its key
    size_t code_count;
    size_t newest;   // number of the newest code
    size_t line_run; // index of the plain run that has it; SIZE_MAX: the newest link has it
    struct store *store;
    const struct commit_places *places;
    const struct series *series;
    struct arena *arena;
};

// In the arena. `places` (store_commit_places) and the series stay where they are.
int link_facts_read(struct facts *out, struct store *store, const struct commit_places *places,
                    const struct series *series, struct arena *arena, struct error *err);

// The code of the series at the newest commit that a plain run looked at, by its key, and the index
// of that run; 0 and SIZE_MAX: none had one.
int link_newest_code(int64_t *code, size_t *run, struct store *store,
                     const struct commit_places *places, const struct series *series,
                     struct error *err);
// Of the plain runs that had the newest code, one after the other back from the newest, the oldest
// one's commit. Only where `line_run` is one.
int link_newest_since(const struct commit_place **out, const struct facts *facts,
                      struct error *err);

#endif
