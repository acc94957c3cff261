// SPDX-License-Identifier: Apache-2.0
//
// Opens a repository and reads single commits of it. What revisions mean is in
// repository_revision.c, ranges are in repository_select.c, files of a commit in repository_files.c
// and repository_export.c.
#include "runner/git/repository.h"

#include "runner/git/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// libgit2 fetches nothing, so what a partial clone left out is missing for good, whatever is asked.
const char *git_words(void)
{
    static const char missing[] = "object not found";
    static _Thread_local char text[512];
    const git_error *error = git_error_last();
    const char *words = error && error->message ? error->message : "unknown failure";
    if (strncmp(words, missing, strlen(missing)) != 0)
        return words;
    snprintf(text, sizeof(text), "%s; if this is a partial clone: git fetch --refetch --no-filter",
             words);
    return text;
}

const char *repository_library(void)
{
    static char text[48];
    int major, minor, revision;
    git_libgit2_version(&major, &minor, &revision);
    snprintf(text, sizeof(text), "%d.%d.%d", major, minor, revision);
    return text;
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
    if (git_is_brought(git)) {
        error_set(err,
                  "%s: a repository that came with the commit of the one around it, which may be a "
                  "stranger's; run this outside of it",
                  git_repository_path(git));
        git_repository_free(git);
        return -1;
    }
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

bool repository_is_bare(const struct repository *repository)
{
    return git_repository_workdir(repository->git) == NULL;
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

void git_first_parent(char out[OBJECT_ID_TEXT], const git_commit *commit)
{
    static const char name[] = "\nparent ";
    const char *header = git_commit_raw_header(commit);
    const char *parent = header ? strstr(header, name) : NULL;
    snprintf(out, OBJECT_ID_TEXT, "%.*s", (int)OBJECT_ID_TEXT - 1,
             parent ? parent + strlen(name) : "");
    out[strcspn(out, "\n")] = '\0';
}

static int64_t time_of(const git_commit *commit)
{
    const int64_t time_s = git_commit_time(commit);
    return time_s < OLDEST_TIME_S ? OLDEST_TIME_S : time_s > LATEST_TIME_S ? LATEST_TIME_S : time_s;
}

// A rebase makes many commits in one second, and clocks go wrong. So a commit's place is its time,
// or later: so many seconds after each of its first parents as it is commits away. A store that
// does not know all of them could not tell. Those that are so much older than it are before it.
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
    git_first_parent(commit.parent, git);
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
        if (git_is_shallow(repository))
            return error_set(err, "the parent of commit %.12s is not here; %s", commit->id,
                             git_fetch_more);
        return error_set(err, "the parent %.12s of commit %.12s: %s", commit->parent, commit->id,
                         git_words());
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

enum { MARK_A = 1, MARK_B = 2, MARK_IS_PARENT = 4 };

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
