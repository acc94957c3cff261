// SPDX-License-Identifier: Apache-2.0
//
// Walks the commits between two points of a history, also of a shallow clone. It reads commits and
// no files.
#include "runner/git/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct graph *graph, const git_oid *id)
{
    uint64_t hash;
    memcpy(&hash, id->id, sizeof(hash)); // object ids are hashes already
    size_t slot = (size_t)hash & (graph->table_size - 1);
    while (graph->table[slot] && !git_oid_equal(&graph->nodes[graph->table[slot] - 1].id, id))
        slot = (slot + 1) & (graph->table_size - 1);
    return slot;
}

const struct graph_node *graph_find(const struct graph *graph, const git_oid *id)
{
    if (graph->table_size == 0)
        return NULL;
    size_t index = graph->table[slot_of(graph, id)];
    return index ? &graph->nodes[index - 1] : NULL;
}

static void grow_table(struct graph *graph)
{
    free(graph->table);
    graph->table_size = graph->table_size ? 2 * graph->table_size : 1024;
    graph->table = xcalloc(graph->table_size, sizeof(*graph->table));
    for (size_t i = 0; i < graph->count; i++)
        graph->table[slot_of(graph, &graph->nodes[i].id)] = i + 1;
}

static void add_parent(struct graph *graph, struct graph_node *node, const git_oid *id)
{
    const struct graph_node *parent = graph_find(graph, id);
    graph->parents = xgrow(graph->parents, graph->parents_used, &graph->parents_capacity,
                           sizeof(*graph->parents));
    graph->parents[graph->parents_used++] =
        parent ? (size_t)(parent - graph->nodes) : GRAPH_MISSING;
    node->parent_count++;
    if (!parent)
        return;
    if (node->order_s < parent->order_s)
        node->order_s = parent->order_s;
    if (node->generation <= parent->generation)
        node->generation = parent->generation + 1;
}

// All parents that exist must have been added before.
static void add_node(struct graph *graph, const git_commit *commit)
{
    graph->nodes = xgrow(graph->nodes, graph->count, &graph->capacity, sizeof(*graph->nodes));
    assert(graph->nodes);
    struct graph_node node = {
        .id = *git_commit_id(commit),
        .time_s = git_commit_time(commit),
        .order_s = git_commit_time(commit),
        .first_parent = graph->parents_used,
    };
    char named[OBJECT_ID_TEXT];
    git_first_parent(named, commit);
    graph->cut |= *named && git_commit_parentcount(commit) == 0;
    for (unsigned i = 0; i < git_commit_parentcount(commit); i++)
        add_parent(graph, &node, git_commit_parent_id(commit, i));
    graph->nodes[graph->count++] = node;
    if (2 * graph->count >= graph->table_size)
        grow_table(graph);
    else
        graph->table[slot_of(graph, &node.id)] = graph->count;
}

// The way down from a commit, as a stack: recursion would be as deep as history is long.
struct step {
    git_commit *commit;
    unsigned next; // parent to look at
};
struct way {
    struct step *steps;
    size_t count, capacity;
};

static int go_down(struct way *way, struct graph *graph, const struct repository *repository,
                   const git_oid *id, struct error *err)
{
    git_commit *commit = NULL;
    int code = git_commit_lookup(&commit, repository->git, id);
    if (code == GIT_ENOTFOUND && way->count > 0 &&
        git_repository_is_shallow(repository->git) == 1) {
        graph->cut = true;
        return 0;
    }
    if (code)
        return error_set(err, "%s: commit %s: %s", repository->directory, git_oid_tostr_s(id),
                         git_words());
    way->steps = xgrow(way->steps, way->count, &way->capacity, sizeof(*way->steps));
    way->steps[way->count++] = (struct step){commit, 0};
    return 0;
}

static int add_ancestors(struct graph *graph, const struct repository *repository,
                         const git_oid *from, struct error *err)
{
    struct way way = {0};
    int result = graph_find(graph, from) ? 0 : go_down(&way, graph, repository, from, err);
    while (result == 0 && way.count > 0) {
        struct step *top = &way.steps[way.count - 1];
        if (top->next < git_commit_parentcount(top->commit)) {
            const git_oid *parent = git_commit_parent_id(top->commit, top->next++);
            if (!graph_find(graph, parent))
                result = go_down(&way, graph, repository, parent, err);
            continue;
        }
        add_node(graph, top->commit);
        git_commit_free(top->commit);
        way.count--;
    }
    for (size_t i = 0; i < way.count; i++)
        git_commit_free(way.steps[i].commit);
    free(way.steps);
    return result;
}

// Children come after their parents, so one pass backwards reaches everything.
static void mark_ancestors(struct graph *graph, size_t from, uint32_t mark, bool first_parent)
{
    graph->nodes[from].marks |= mark;
    for (size_t i = from + 1; i-- > 0;) {
        const struct graph_node *node = &graph->nodes[i];
        if (!(node->marks & mark))
            continue;
        size_t count = first_parent && node->parent_count > 1 ? 1 : node->parent_count;
        for (size_t p = 0; p < count; p++) {
            size_t parent = graph->parents[node->first_parent + p];
            if (parent != GRAPH_MISSING)
                graph->nodes[parent].marks |= mark;
        }
    }
}

int graph_walk(struct graph *graph, const struct repository *repository, const git_oid *from,
               uint32_t mark, bool first_parent, struct error *err)
{
    if (add_ancestors(graph, repository, from, err))
        return -1;
    mark_ancestors(graph, (size_t)(graph_find(graph, from) - graph->nodes), mark, first_parent);
    return 0;
}

void graph_free(struct graph *graph)
{
    free(graph->nodes);
    free(graph->parents);
    free(graph->table);
    *graph = (struct graph){0};
}
