// SPDX-License-Identifier: Apache-2.0
//
// Opens a repository and finds commits in it. Files of a commit are read in repository_files.c and
// repository_export.c.
#include "runner/repository.h"

#include "runner/graph.h"

#include <stdlib.h>
#include <string.h>

static const char fetch_more[] = "this is a shallow clone: git fetch --unshallow";

const char *git_words(void)
{
    const git_error *error = git_error_last();
    return error && error->message ? error->message : "unknown failure";
}

static char *without_slash(const char *path)
{
    char *copy = xstrdup(path);
    size_t length = strlen(copy);
    while (length > 1 && copy[length - 1] == '/')
        copy[--length] = '\0';
    return copy;
}

// Last part of the path, without ".git"; of ".../x/.git" it is x.
static char *name_of(const char *directory)
{
    char *path = without_slash(directory);
    char *slash = strrchr(path, '/');
    if (slash && slash > path && strcmp(slash, "/.git") == 0) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    char *name = xstrdup(slash && slash[1] ? slash + 1 : path);
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".git") == 0)
        name[length - 4] = '\0';
    free(path);
    return name;
}

int repository_open(struct repository **out, const char *directory, struct error *err)
{
    git_libgit2_init(); // counted; never undone, it lives as long as the program
    git_repository *git = NULL;
    int code = git_repository_open_ext(&git, directory, 0, NULL);
    if (code == GIT_ENOTFOUND)
        return error_set(err, "%s: no git repository here or above; run this inside one",
                         directory);
    if (code == GIT_EOWNER)
        return error_set(err,
                         "%s: the repository belongs to another user; if you trust it: git config "
                         "--global --add safe.directory <its path>",
                         directory);
    if (code)
        return error_set(err, "%s: cannot open the repository: %s", directory, git_words());
    const char *work = git_repository_workdir(git);
    struct repository *repository = xcalloc(1, sizeof(*repository));
    repository->git = git;
    repository->directory = without_slash(work ? work : git_repository_path(git));
    repository->name = name_of(repository->directory);
    *out = repository;
    return 0;
}

void repository_close(struct repository *repository)
{
    if (!repository)
        return;
    git_repository_free(repository->git);
    free(repository->directory);
    free(repository->name);
    free(repository);
}

const char *repository_directory(const struct repository *repository)
{
    return repository->directory;
}

const char *repository_name(const struct repository *repository)
{
    return repository->name;
}

int repository_user(char **name, char **mail, const struct repository *repository,
                    struct arena *arena, struct error *err)
{
    git_signature *user = NULL;
    const int code = git_signature_default(&user, repository->git);
    if (code == GIT_ENOTFOUND)
        return error_set(err, "git's configuration has no user.name and user.email");
    if (code)
        return error_set(err, "git's configuration: %s", git_words());
    *name = arena_strdup(arena, user->name);
    *mail = arena_strdup(arena, user->email);
    git_signature_free(user);
    return 0;
}

void content_id(char out[OBJECT_ID_TEXT], const void *bytes, size_t size)
{
    git_libgit2_init();
    git_oid id = {{0}};
    if (git_odb_hash(&id, bytes, size, GIT_OBJECT_BLOB))
        abort(); // only a hash that detects an attack, or no memory, gets here
    git_oid_tostr(out, OBJECT_ID_TEXT, &id);
}

static bool is_shallow(const struct repository *repository)
{
    return git_repository_is_shallow(repository->git) == 1;
}

static int resolve(git_commit **out, const struct repository *repository, const char *revision,
                   struct error *err)
{
    git_object *object = NULL, *commit = NULL;
    int code = git_revparse_single(&object, repository->git, revision);
    if (code == 0)
        code = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
    git_object_free(object);
    if (code == 0) {
        *out = (git_commit *)commit;
        return 0;
    }
    if (git_repository_is_empty(repository->git) == 1)
        return error_set(err, "%s: the repository has no commit yet", repository->directory);
    if (object)
        return error_set(err, "%s: is not a commit", revision);
    if (is_shallow(repository))
        return error_set(err, "%s: no such revision in %s; %s", revision, repository->directory,
                         fetch_more);
    return error_set(err, "%s: no such revision in %s (%s)", revision, repository->directory,
                     git_words());
}

static void fill_commit(struct commit *out, const git_commit *git, struct arena *arena)
{
    struct commit commit = {.time_s = git_commit_time(git)};
    git_oid_tostr(commit.id, sizeof(commit.id), git_commit_id(git));
    git_oid_tostr(commit.tree, sizeof(commit.tree), git_commit_tree_id(git));
    if (git_commit_parentcount(git) > 0)
        git_oid_tostr(commit.parent, sizeof(commit.parent), git_commit_parent_id(git, 0));
    // git_commit_summary() wants to cache its answer, hence the copy of the first line here.
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
    if (resolve(&commit, repository, revision, err))
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
        if (is_shallow(repository))
            return error_set(err, "the parent of commit %.12s is not here; %s", commit->id,
                             fetch_more);
        return error_set(err, "the parent %.12s of commit %.12s: %s", commit->parent, commit->id,
                         git_words());
    }
    fill_commit(out, parent, arena);
    git_commit_free(parent);
    return 0;
}

enum { MARK_A = 1, MARK_B = 2, MARK_SELECTED = 4, MARK_IS_PARENT = 8 };

// Common ancestors are closed under "parent of", so the best ones are those that are no common
// ancestor's parent. Of several (merges that cross) the youngest is taken.
static const struct graph_node *best_common(struct graph *graph)
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
    struct graph graph = {0};
    git_commit *first = NULL, *second = NULL;
    int result = -1;
    if (resolve(&first, repository, a, err) || resolve(&second, repository, b, err))
        goto done;
    if (graph_walk(&graph, repository, git_commit_id(first), MARK_A, false, err) ||
        graph_walk(&graph, repository, git_commit_id(second), MARK_B, false, err))
        goto done;
    const struct graph_node *best = best_common(&graph);
    if (!best) {
        error_set(err, "%s and %s have no common commit%s%s", a, b, graph.cut ? "; " : "",
                  graph.cut ? fetch_more : "");
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

static int select_revision(struct graph *graph, const struct repository *repository,
                           const char *revision, uint32_t mark, bool first_parent,
                           struct error *err)
{
    git_commit *commit = NULL;
    if (resolve(&commit, repository, *revision ? revision : "HEAD", err))
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
