// SPDX-License-Identifier: Apache-2.0
//
// Commits: their ancestry, single commits with time and parent, and ranges: which commits they
// contain, in which order, and which of them change certain paths.
#include "runner/git/handle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- ancestry, as far as the repository knows it
//
// The walk is our own, because libgit2 1.5 fails on shallow clones even if the missing commits are
// not needed. It reads commits and no files.

struct graph_node {
    git_oid id;
    int64_t time_s;      // the committer's time
    int64_t order_s;     // time that is not before any parent's, because clocks may be wrong while
                         // ancestry is not
    uint32_t generation; // length of the longest way to a root
    uint32_t marks;      // one bit for each walk that reached it
    size_t first_parent; // index into `parents`
    size_t parent_count;
};

// Stands for a parent that a shallow clone does not have.
#define GRAPH_MISSING SIZE_MAX

struct commit_graph {
    struct graph_node *nodes; // parents come before children
    size_t count, capacity;
    size_t *parents; // indices of nodes
    size_t parents_used, parents_capacity;
    size_t *table; // hash table by id: index of the node + 1, open addressing
    size_t table_size;
    bool cut; // a parent was missing, so the clone is shallow
};

static size_t slot_of(const struct commit_graph *graph, const git_oid *id)
{
    uint64_t hash;
    memcpy(&hash, id->id, sizeof(hash)); // object ids are hashes already
    size_t slot = (size_t)hash & (graph->table_size - 1);
    while (graph->table[slot] && !git_oid_equal(&graph->nodes[graph->table[slot] - 1].id, id))
        slot = (slot + 1) & (graph->table_size - 1);
    return slot;
}

static const struct graph_node *graph_find(const struct commit_graph *graph, const git_oid *id)
{
    if (graph->table_size == 0)
        return NULL;
    size_t index = graph->table[slot_of(graph, id)];
    return index ? &graph->nodes[index - 1] : NULL;
}

static void grow_table(struct commit_graph *graph)
{
    free(graph->table);
    graph->table_size = graph->table_size ? 2 * graph->table_size : 1024;
    graph->table = xcalloc(graph->table_size, sizeof(*graph->table));
    for (size_t i = 0; i < graph->count; i++)
        graph->table[slot_of(graph, &graph->nodes[i].id)] = i + 1;
}

static void add_parent(struct commit_graph *graph, struct graph_node *node, const git_oid *id)
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

// The id of the first parent that the commit names, "" for a root. At the edge of a shallow clone
// libgit2 1.7 and later report no parents, although the commit names some.
static void first_parent_named(char out[OBJECT_ID_TEXT], const git_commit *commit)
{
    static const char name[] = "\nparent ";
    const char *header = git_commit_raw_header(commit);
    const char *parent = header ? strstr(header, name) : NULL;
    snprintf(out, OBJECT_ID_TEXT, "%.*s", (int)OBJECT_ID_TEXT - 1,
             parent ? parent + strlen(name) : "");
    out[strcspn(out, "\n")] = '\0';
}

// Adds a commit; all its parents that exist must have been added before.
static void add_node(struct commit_graph *graph, const git_commit *commit)
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
    first_parent_named(named, commit);
    graph->cut |= *named && git_commit_parentcount(commit) == 0;
    for (unsigned i = 0; i < git_commit_parentcount(commit); i++)
        add_parent(graph, &node, git_commit_parent_id(commit, i));
    graph->nodes[graph->count++] = node;
    if (2 * graph->count >= graph->table_size)
        grow_table(graph);
    else
        graph->table[slot_of(graph, &node.id)] = graph->count;
}

// The way down from a commit, as a stack, because recursion would be as deep as the history is
// long.
struct step {
    git_commit *commit;
    unsigned next; // index of the next parent to visit
};

struct way {
    struct step *steps;
    size_t count, capacity;
};

static int go_down(struct way *way, struct commit_graph *graph, const struct repository *repository,
                   const git_oid *id, struct error *err)
{
    git_commit *commit = NULL;
    int code = git_commit_lookup(&commit, repository->git, id);
    if (code) { // asked now, because another call of libgit2 would replace its message
        error_set(err, "%s: commit %s: %s", repository->directory, git_oid_tostr_s(id),
                  git_words());
        graph->cut = code == GIT_ENOTFOUND && way->count > 0 && git_is_shallow(repository);
        return graph->cut ? 0 : -1;
    }
    way->steps = xgrow(way->steps, way->count, &way->capacity, sizeof(*way->steps));
    way->steps[way->count++] = (struct step){commit, 0};
    return 0;
}

static int add_ancestors(struct commit_graph *graph, const struct repository *repository,
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

// Marks the ancestors of a node. Children come after their parents, so one backward pass is enough.
static void mark_ancestors(struct commit_graph *graph, size_t from, uint32_t mark,
                           bool first_parent)
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

// Adds a commit and all its ancestors, then marks those reached (only along first parents, if
// asked).
static int graph_walk(struct commit_graph *graph, const struct repository *repository,
                      const git_oid *from, uint32_t mark, bool first_parent, struct error *err)
{
    if (add_ancestors(graph, repository, from, err))
        return -1;
    mark_ancestors(graph, (size_t)(graph_find(graph, from) - graph->nodes), mark, first_parent);
    return 0;
}

static void graph_free(struct commit_graph *graph)
{
    free(graph->nodes);
    free(graph->parents);
    free(graph->table);
    *graph = (struct commit_graph){0};
}

// ---- single commits

static int64_t time_of(const git_commit *commit)
{
    const int64_t time_s = git_commit_time(commit);
    return time_s < OLDEST_TIME_S ? OLDEST_TIME_S : time_s > LATEST_TIME_S ? LATEST_TIME_S : time_s;
}

// Computes the place of a commit, the time by which a store orders it. It is the commit's own time,
// except if a first parent n commits back is less than n seconds older; then it is that parent's
// time plus n seconds. So the commits of a rebase, many within one second, keep their order, and so
// do commits made with a wrong clock, even in a store that has only some of them. The search ends
// at a parent that is NEAR seconds older or NEAR commits back, because earlier parents cannot
// matter.
enum { NEAR = 600 };

static int64_t place_of(const git_commit *commit)
{
    const int64_t time_s = time_of(commit);
    int64_t place_s = time_s;
    git_commit *at = NULL, *parent = NULL;
    for (int n = 1; n <= NEAR; n++) {
        if (git_commit_parent(&parent, at ? at : commit, 0)) // a root, or the edge of the clone
            break;
        git_commit_free(at);
        at = parent;
        const int64_t parent_s = time_of(at);
        if (parent_s + n > place_s)
            place_s = parent_s + n;
        if (parent_s < time_s - NEAR)
            break;
    }
    git_commit_free(at);
    return place_s < LATEST_TIME_S ? place_s : LATEST_TIME_S;
}

static void fill_commit(struct commit *out, const git_commit *git, struct arena *arena)
{
    struct commit commit = {.time_s = time_of(git)};
    commit.after_s = place_of(git) - commit.time_s;
    git_oid_tostr(commit.id, sizeof(commit.id), git_commit_id(git));
    git_oid_tostr(commit.tree, sizeof(commit.tree), git_commit_tree_id(git));
    first_parent_named(commit.parent, git);
    // git_commit_summary() caches its answer in the commit, so the first line is copied here
    // instead.
    const char *message = git_commit_message(git);
    const char *line = message ? message : "";
    commit.summary = arena_strndup(arena, line, strcspn(line, "\r\n"));
    const git_signature *author = git_commit_author(git);
    commit.author = arena_strdup(arena, author && author->name ? author->name : "");
    *out = commit;
}

int repository_commit(struct commit *out, const struct repository *repository, const char *revision,
                      struct arena *arena, struct error *err)
{
    git_commit *commit = NULL;
    if (git_resolve(&commit, repository, revision, err))
        return -1;
    fill_commit(out, commit, arena);
    git_commit_free(commit);
    return 0;
}

int repository_parent(struct commit *out, const struct repository *repository,
                      const struct commit *commit, struct arena *arena, struct error *err)
{
    if (!commit->parent[0])
        return error_set(err, "commit %.12s has no parent to compare with: it is a root",
                         commit->id);
    git_oid id;
    git_commit *parent = NULL;
    if (git_oid_fromstr(&id, commit->parent) || git_commit_lookup(&parent, repository->git, &id)) {
        error_set(err, "the parent %.12s of commit %.12s: %s", commit->parent, commit->id,
                  git_words());
        return git_is_shallow(repository)
                   ? error_set(err, "the parent of commit %.12s is not here; %s", commit->id,
                               git_fetch_more)
                   : -1;
    }
    fill_commit(out, parent, arena);
    git_commit_free(parent);
    return 0;
}

bool repository_descends(const struct repository *repository, const char *commit,
                         const char *ancestor)
{
    git_oid later, earlier;
    if (git_oid_fromstr(&later, commit) || git_oid_fromstr(&earlier, ancestor))
        return true;
    return git_graph_descendant_of(repository->git, &later, &earlier) != 0;
}

enum { MARK_A = 1, MARK_B = 2, MARK_SELECTED = 4, MARK_IS_PARENT = 4 };

// Finds the merge base. A parent of a common ancestor is a common ancestor, too, so the best ones
// are no common ancestor's parents. If there are several (merges that cross), the youngest is
// taken.
static const struct graph_node *best_common(struct commit_graph *graph)
{
    const uint32_t both = MARK_A | MARK_B;
    const struct graph_node *best = NULL;
    for (size_t i = graph->count; i-- > 0;) {
        const struct graph_node *node = &graph->nodes[i];
        if ((node->marks & both) != both)
            continue;
        for (size_t p = 0; p < node->parent_count; p++) {
            size_t parent = graph->parents[node->first_parent + p];
            if (parent != GRAPH_MISSING)
                graph->nodes[parent].marks |= MARK_IS_PARENT;
        }
        if (!(node->marks & MARK_IS_PARENT) && (!best || node->order_s > best->order_s))
            best = node;
    }
    return best;
}

int repository_merge_base(struct commit *out, const struct repository *repository, const char *a,
                          const char *b, struct arena *arena, struct error *err)
{
    struct commit_graph graph = {0};
    git_commit *first = NULL, *second = NULL;
    int result = -1;
    if (git_resolve(&first, repository, a, err) || git_resolve(&second, repository, b, err))
        goto done;
    if (graph_walk(&graph, repository, git_commit_id(first), MARK_A, false, err) ||
        graph_walk(&graph, repository, git_commit_id(second), MARK_B, false, err))
        goto done;
    const struct graph_node *best = best_common(&graph);
    if (!best) {
        error_set(err, "%s and %s have no common commit%s%s", a, b, graph.cut ? "; " : "",
                  graph.cut ? git_fetch_more : "");
        goto done;
    }
    char id[OBJECT_ID_TEXT];
    result =
        repository_commit(out, repository, git_oid_tostr(id, sizeof(id), &best->id), arena, err);
done:
    git_commit_free(first);
    git_commit_free(second);
    graph_free(&graph);
    return result;
}

// ---- ranges

static int select_revision(struct commit_graph *graph, const struct repository *repository,
                           const char *revision, uint32_t mark, bool first_parent,
                           struct error *err)
{
    git_commit *commit = NULL;
    if (git_resolve(&commit, repository, *revision ? revision : "HEAD", err))
        return -1;
    int result = graph_walk(graph, repository, git_commit_id(commit), mark, first_parent, err);
    git_commit_free(commit);
    return result;
}

static int select_range(struct commit_graph *graph, const struct repository *repository,
                        const struct commit_selection *selection, const char *dots,
                        struct error *err)
{
    char *from = xstrdup(selection->range);
    from[dots - selection->range] = '\0';
    int result = -1;
    if (dots[2] == '.')
        error_set(err, "%s: write a range as A..B, with two dots", selection->range);
    else
        result = select_revision(graph, repository, dots + 2, MARK_B, selection->first_parent, err);
    if (result == 0)
        result = select_revision(graph, repository, from, MARK_A, false, err);
    free(from);
    for (size_t i = 0; result == 0 && i < graph->count; i++) {
        if ((graph->nodes[i].marks & (MARK_A | MARK_B)) == MARK_B)
            graph->nodes[i].marks |= MARK_SELECTED;
    }
    return result;
}

// Selects only the commit that was just walked.
static void select_node(struct commit_graph *graph, const git_oid *id)
{
    size_t index = (size_t)(graph_find(graph, id) - graph->nodes);
    graph->nodes[index].marks |= MARK_SELECTED;
}

// Selects the commits of the references below a prefix, or of all references that people use. Tags
// of objects that are no commits are skipped.
static int select_references(struct commit_graph *graph, const struct repository *repository,
                             const struct commit_selection *selection, bool tags_only,
                             struct error *err)
{
    git_reference_iterator *iterator = NULL;
    git_reference *reference = NULL;
    int result = git_reference_iterator_new(&iterator, repository->git);
    if (result)
        error_set(err, "%s: cannot list references: %s", repository->directory, git_words());
    while (result == 0 && git_reference_next(&reference, iterator) == 0) {
        git_object *commit = NULL;
        bool tag = git_reference_is_tag(reference);
        bool wanted = tag || (!tags_only && (git_reference_is_branch(reference) ||
                                             git_reference_is_remote(reference)));
        if (wanted && git_reference_peel(&commit, reference, GIT_OBJECT_COMMIT) == 0) {
            result = graph_walk(graph, repository, git_object_id(commit),
                                tags_only ? MARK_B : MARK_SELECTED, selection->first_parent, err);
            if (result == 0 && tags_only)
                select_node(graph, git_object_id(commit));
        }
        git_object_free(commit);
        git_reference_free(reference);
    }
    git_reference_iterator_free(iterator);
    return result ? -1 : 0;
}

static int select_marks(struct commit_graph *graph, const struct repository *repository,
                        const struct commit_selection *selection, struct error *err)
{
    const char *dots = strstr(selection->range, "..");
    if (dots)
        return select_range(graph, repository, selection, dots, err);
    if (strcmp(selection->range, "TAGS") == 0)
        return select_references(graph, repository, selection, true, err);
    if (strcmp(selection->range, "LINE") == 0)
        return select_revision(graph, repository, "HEAD", MARK_SELECTED, true, err);
    if (select_references(graph, repository, selection, false, err))
        return -1;
    // A detached HEAD may be on no branch; a HEAD that names a branch which does not exist yet
    // selects nothing.
    if (graph->count > 0 && git_repository_head_unborn(repository->git) == 1)
        return 0;
    return select_revision(graph, repository, "HEAD", MARK_SELECTED, selection->first_parent, err);
}

static int compare_nodes(const void *left, const void *right)
{
    const struct graph_node *a = left, *b = right;
    if (a->order_s != b->order_s)
        return (a->order_s > b->order_s) - (a->order_s < b->order_s);
    if (a->generation != b->generation)
        return (a->generation > b->generation) - (a->generation < b->generation);
    return git_oid_cmp(&a->id, &b->id);
}

// Keeps `steps` of `count` nodes, including the first and the last; a single step is the last.
static size_t thin_out(struct graph_node *nodes, size_t count, size_t steps)
{
    if (steps == 0 || steps >= count)
        return count;
    if (steps == 1) {
        nodes[0] = nodes[count - 1];
        return 1;
    }
    for (size_t i = 0; i < steps; i++)
        nodes[i] = nodes[(i * (count - 1) + (steps - 1) / 2) / (steps - 1)];
    return steps;
}

// Whether two commits differ in the content of one of the paths.
static int paths_differ(bool *differ, const struct repository *repository, const git_oid *left,
                        const git_oid *right, const struct commit_selection *selection,
                        struct error *err)
{
    static const char *const everything[] = {""};
    const char *const *paths = selection->path_count ? selection->paths : everything;
    const size_t count = selection->path_count ? selection->path_count : 1;
    char commits[2][OBJECT_ID_TEXT], ids[2][OBJECT_ID_TEXT];
    git_oid_tostr(commits[0], sizeof(commits[0]), left);
    git_oid_tostr(commits[1], sizeof(commits[1]), right);
    *differ = false;
    for (size_t i = 0; !*differ && i < count; i++) {
        for (int side = 0; side < 2; side++) {
            if (repository_path_id(ids[side], repository, commits[side], paths[i], err))
                return -1;
        }
        *differ = strcmp(ids[0], ids[1]) != 0;
    }
    return 0;
}

// Drops commits that change none of the selection's paths relative to their first parent. The first
// commit, a root, and a commit whose parent is not in this clone stay.
static int drop_unchanged(struct graph_node *nodes, size_t *count, const struct commit_graph *graph,
                          const struct repository *repository,
                          const struct commit_selection *selection, struct error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        const size_t parent =
            nodes[i].parent_count ? graph->parents[nodes[i].first_parent] : GRAPH_MISSING;
        bool differ = true;
        if (i > 0 && parent != GRAPH_MISSING &&
            paths_differ(&differ, repository, &nodes[i].id, &graph->nodes[parent].id, selection,
                         err))
            return -1;
        if (differ)
            nodes[kept++] = nodes[i];
    }
    *count = kept;
    return 0;
}

static int list_selected(struct commit_list *out, const struct commit_graph *graph,
                         const struct repository *repository,
                         const struct commit_selection *selection, struct arena *arena,
                         struct error *err)
{
    struct graph_node *nodes = xcalloc(graph->count, sizeof(*nodes));
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        if (graph->nodes[i].marks & MARK_SELECTED)
            nodes[count++] = graph->nodes[i];
    }
    qsort(nodes, count, sizeof(*nodes), compare_nodes);
    const size_t all = count;
    int result = 0;
    if (selection->only_changes && strcmp(selection->range, "TAGS") != 0)
        result = drop_unchanged(nodes, &count, graph, repository, selection, err);
    const size_t passed_over = all - count;
    count = thin_out(nodes, count, selection->steps);
    struct commit_list list = {.items = arena_alloc(arena, count * sizeof(*list.items)),
                               .passed_over = passed_over};
    while (result == 0 && list.count < count) {
        char id[OBJECT_ID_TEXT];
        git_oid_tostr(id, sizeof(id), &nodes[list.count].id);
        result = repository_commit(&list.items[list.count++], repository, id, arena, err);
    }
    free(nodes);
    if (result == 0)
        *out = list;
    return result;
}

static int list_single(struct commit_list *out, const struct repository *repository,
                       const char *revision, struct arena *arena, struct error *err)
{
    struct commit commit;
    if (repository_commit(&commit, repository, revision, arena, err))
        return -1;
    struct commit_list list = {.items = arena_alloc(arena, sizeof(*list.items)), .count = 1};
    list.items[0] = commit;
    *out = list;
    return 0;
}

int repository_select(struct commit_list *out, const struct repository *repository,
                      const struct commit_selection *selection, struct arena *arena,
                      struct error *err)
{
    const char *range = selection->range;
    if (strcmp(range, "ALL") != 0 && strcmp(range, "TAGS") != 0 && strcmp(range, "LINE") != 0 &&
        !strstr(range, ".."))
        return list_single(out, repository, range, arena, err);
    struct commit_graph graph = {0};
    int result = select_marks(&graph, repository, selection, err);
    if (result == 0)
        result = list_selected(out, &graph, repository, selection, arena, err);
    graph_free(&graph);
    return result;
}
