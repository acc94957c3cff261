// SPDX-License-Identifier: Apache-2.0
//
// Whose words in a checkout are the user's own. What is checked out may be a stranger's pull
// request; the configuration of the repository and its remote branches are not part of any commit.
#include "runner/git/git_handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool configured(const struct repository *repository)
{
    git_config *config = NULL;
    int trusted = 0;
    if (git_repository_config_snapshot(&config, repository->git) ||
        git_config_get_bool(&trusted, config, "plumb.trustCheckout"))
        trusted = 0;
    git_config_free(config);
    return trusted != 0;
}

// By going through the configuration: git_remote_list() matches names with a regular expression,
// which leaks in Debian's libgit2 1.5. What cannot be read counts as having one.
static bool has_remote(const struct repository *repository)
{
    static const char first[] = "remote.", last[] = ".url";
    git_config *config = NULL;
    git_config_iterator *entries = NULL;
    git_config_entry *entry;
    bool found = git_repository_config_snapshot(&config, repository->git) ||
                 git_config_iterator_new(&entries, config);
    while (!found && git_config_next(&entry, entries) == 0) {
        const size_t length = strlen(entry->name);
        found = strncmp(entry->name, first, sizeof(first) - 1) == 0 && length > sizeof(last) &&
                strcmp(entry->name + length - (sizeof(last) - 1), last) == 0;
    }
    git_config_iterator_free(entries);
    git_config_free(config);
    return found;
}

// The file itself, or anything below it.
static bool is_in_index(const struct repository *repository, const char *path)
{
    git_index *index = NULL;
    char *below = xprintf("%s/", path);
    const bool found = git_repository_index(&index, repository->git) ||
                       git_index_get_bypath(index, path, 0) ||
                       git_index_find_prefix(NULL, index, below) == 0;
    free(below);
    git_index_free(index);
    return found;
}

bool repository_tracks(const struct repository *repository, const char *path)
{
    char id[OBJECT_ID_TEXT] = "";
    git_commit *head = NULL;
    struct error ignored; // there is no commit yet
    if (git_resolve(&head, repository, "HEAD", &ignored) == 0) {
        char commit[OBJECT_ID_TEXT];
        git_oid_tostr(commit, sizeof(commit), git_commit_id(head));
        git_commit_free(head);
        if (repository_path_id(id, repository, commit, path, &ignored))
            return true;
    }
    return id[0] || is_in_index(repository, path);
}

void repository_trusted(struct repository_trust *out, const struct repository *repository)
{
    static const char *const branches[] = {"upstream/HEAD",   "origin/HEAD", "upstream/main",
                                           "upstream/master", "origin/main", "origin/master"};
    *out = (struct repository_trust){.own = configured(repository) || !has_remote(repository)};
    for (size_t i = 0; !out->own && i < ARRAY_COUNT(branches); i++) {
        git_oid commit;
        char name[64];
        snprintf(name, sizeof(name), "refs/remotes/%s", branches[i]);
        if (git_named_commit(&commit, repository, name))
            continue;
        git_oid_tostr(out->commit, sizeof(out->commit), &commit);
        out->branch = branches[i];
        return;
    }
}

bool repository_accepts(const struct repository *repository, const struct repository_trust *trust,
                        const char *commit)
{
    struct arena arena = {0};
    struct commit shared;
    struct error ignored;
    const bool accepted =
        trust->branch &&
        repository_merge_base(&shared, repository, trust->commit, commit, &arena, &ignored) == 0 &&
        strcmp(shared.id, commit) == 0;
    arena_free(&arena);
    return accepted;
}
