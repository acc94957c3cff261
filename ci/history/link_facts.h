// SPDX-License-Identifier: Apache-2.0
//
// The links of a series as history_links.c looks at them: in their order, with the commits that
// they name and the codes numbered, and which of the codes is the newest.
#ifndef PLUMB_LINK_FACTS_H
#define PLUMB_LINK_FACTS_H

#include "baselines/link.h"
#include "ci/history/links_settled.h"

// A link with what it names.
struct fact {
    const struct link_fact *link;
    const struct commit_place *base, *head;
    size_t from, to; // the codes' numbers, if it is not settled
};

// The links of a series, in order of the head's commit, then of making.
struct facts {
    struct fact *items;
    size_t count;
    size_t first;        // those before it are settled
    bool partial;        // not all settled ones are here,
    int64_t context_s;   // but those of heads behind this one, by its order_s
    int64_t newest_link; // the largest key
    struct settled_links settled;
    size_t known;      // codes that were settled when these links were read
    int64_t *codes;    // of the numbers from there on, the key
    size_t *met;       // and the link that names it first
    bool *late;        // and whether one names it late
    size_t code_count; // with those that are settled
    size_t newest;     // number of the newest code
    size_t line_run;   // index of the plain run that has it; SIZE_MAX: the newest link has it
    bool newest_gone;  // the newest code is one that is settled and gone
    struct store *store;
    const struct commit_places *places;
    const struct series *series;
    struct arena *arena;
};

// In the arena. `places` (store_commit_places) and the series stay where they are. `settled`:
// zeroed to begin anew. *holds: they go on where that ends; else nothing is read.
int link_facts_read(struct facts *out, bool *holds, const struct settled_links *settled,
                    struct store *store, const struct commit_places *places,
                    const struct series *series, struct arena *arena, struct error *err);

// The kept code of a number below settled.codes; NULL: it is gone.
struct settled_code *link_kept_code(const struct facts *facts, size_t number);
// A code that is not gone, as the levels of the links that are not settled number it; and back.
size_t link_handle(const struct facts *facts, size_t number);
size_t link_number(const struct facts *facts, size_t handle);
// The commit where a code that is not gone came first.
const struct commit_place *link_met_at(const struct facts *facts, size_t number);

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
