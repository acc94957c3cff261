// SPDX-License-Identifier: Apache-2.0
//
// Commits and how they descend from each other, as far as the repository has them: an own walk,
// because libgit2 1.5 fails on shallow clones even where the missing commits are not needed.
// Internal to runner/git/repository.c.
#ifndef PLUMB_GRAPH_H
#define PLUMB_GRAPH_H

#include "runner/git/git_handle.h"

struct graph_node {
    git_oid id;
    int64_t time_s;      // of the committer
    int64_t order_s;     // not before any parent's: clocks go wrong, ancestry does not
    uint32_t generation; // longest way to a root
    uint32_t marks;      // one bit per walk that reached it
    size_t first_parent; // into `parents`
    size_t parent_count;
};

// In place of a parent that a shallow clone does not have.
#define GRAPH_MISSING SIZE_MAX

struct graph {
    struct graph_node *nodes; // parents before children
    size_t count, capacity;
    size_t *parents; // node indexes
    size_t parents_used, parents_capacity;
    size_t *table; // by id: node index + 1, open addressing
    size_t table_size;
    bool cut; // a parent was missing: a shallow clone
};

// Adds a commit and all its ancestors, then marks those reached (along first parents only, if so).
int graph_walk(struct graph *graph, const struct repository *repository, const git_oid *from,
               uint32_t mark, bool first_parent, struct error *err);
void graph_free(struct graph *graph);
const struct graph_node *graph_find(const struct graph *graph, const git_oid *id);

#endif
