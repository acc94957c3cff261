// SPDX-License-Identifier: Apache-2.0
//
// Which commits a range names, in which order, and which of them change what is asked about.
#include "runner/git/git_handle.h"

#include "runner/git/graph.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_A = 1, MARK_B = 2, MARK_SELECTED = 4 };

static int select_revision(struct graph *graph, const struct repository *repository,
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

static int select_range(struct graph *graph, const struct repository *repository,
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

// The node of a commit just walked; only it is selected.
static void select_node(struct graph *graph, const git_oid *id)
{
    size_t index = (size_t)(graph_find(graph, id) - graph->nodes);
    graph->nodes[index].marks |= MARK_SELECTED;
}

// References below a prefix, or all that people look at. Tags of things that are no commits are
// passed over.
static int select_references(struct graph *graph, const struct repository *repository,
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

static int select_marks(struct graph *graph, const struct repository *repository,
                        const struct commit_selection *selection, struct error *err)
{
    const char *dots = strstr(selection->range, "..");
    if (dots)
        return select_range(graph, repository, selection, dots, err);
    if (strcmp(selection->range, "TAGS") == 0)
        return select_references(graph, repository, selection, true, err);
    if (select_references(graph, repository, selection, false, err))
        return -1;
    // A detached HEAD may be on no branch; one that names a branch not made yet is none.
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

// Keeps `steps` of `count`, the first and last among them; a single step is the last.
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

// Whether two commits differ in what is at one of the paths.
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

// Drops the nodes, but the first, that have the same at the paths as their first parent. A root,
// and a commit whose parent is not here, stay.
static int drop_unchanged(struct graph_node *nodes, size_t *count, const struct graph *graph,
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

static int list_selected(struct commit_list *out, const struct graph *graph,
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
    if (strcmp(range, "ALL") != 0 && strcmp(range, "TAGS") != 0 && !strstr(range, ".."))
        return list_single(out, repository, range, arena, err);
    struct graph graph = {0};
    int result = select_marks(&graph, repository, selection, err);
    if (result == 0)
        result = list_selected(out, &graph, repository, selection, arena, err);
    graph_free(&graph);
    return result;
}
