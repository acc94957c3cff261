// SPDX-License-Identifier: Apache-2.0
//
// What lies in a checkout because a commit put it there: repositories, folders and links. A commit
// can make no file or folder named .git, so what is below one of that name is git's own.
#include "runner/git/git_handle.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_strangers(const struct repository *repository)
{
    struct repository_trust trust;
    struct commit head;
    struct arena arena = {0};
    struct error ignored; // without a commit nothing is accepted
    repository_trusted(&trust, repository);
    const bool known =
        trust.own || (repository_commit(&head, repository, "HEAD", &arena, &ignored) == 0 &&
                      repository_accepts(repository, &trust, head.id));
    arena_free(&arena);
    return !known;
}

// Does the checkout at `root`, if it is one, have the path from a stranger's commit?
static bool checkout_brought(const char *root, const char *path)
{
    struct repository outer = {.directory = xstrdup(root)};
    struct stat there;
    char *git = xprintf("%s/.git", root);
    bool found = false;
    if (lstat(git, &there) == 0 && git_repository_open(&outer.git, git) == 0)
        found = repository_tracks(&outer, path + strlen(root) + 1) && is_strangers(&outer);
    git_repository_free(outer.git);
    free(git);
    free(outer.directory);
    return found;
}

// Every checkout that the path lies in: it can pretend to lie in a repository of its own.
static bool is_brought(const char *path)
{
    char *root = xstrdup(path);
    bool found = false;
    for (char *slash; !found && (slash = strrchr(root, '/')) && slash > root;) {
        *slash = '\0';
        found = checkout_brought(root, path);
    }
    free(root);
    return found;
}

bool git_is_brought(git_repository *git)
{
    const char *path = git_repository_path(git); // with a final '/'
    char *head = xprintf("%sHEAD", path);
    const bool found = !strstr(path, "/.git/") && is_brought(head);
    free(head);
    return found;
}

static bool entry_is_brought(const char *folder, const char *name)
{
    char *real = realpath(*folder ? folder : ".", NULL);
    char *path = real ? xprintf("%s/%s", real, name) : NULL;
    const bool found = path && is_brought(path);
    free(path);
    free(real);
    return found;
}

// Up to `end`: a link on the way counts, and what the path itself names.
static bool part_is_brought(const char *path, const char *end, bool counts)
{
    struct stat there;
    char *part = xprintf("%.*s", (int)(end - path), path), *slash = strrchr(part, '/');
    const char *name = slash ? slash + 1 : part;
    bool found = false;
    if (*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
        (counts || (lstat(part, &there) == 0 && S_ISLNK(there.st_mode)))) {
        char *folder = xprintf("%.*s", slash ? (int)(slash - part) + 1 : 0, part);
        found = entry_is_brought(folder, name);
        free(folder);
    }
    free(part);
    return found;
}

int repository_refuse_brought(const char *path, enum brought what, struct error *err)
{
    git_libgit2_init(); // counted, as in repository_open()
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    for (const char *end = path; end < path + length;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        const bool last = end >= path + length;
        if (part_is_brought(path, last ? path + length : end, last && what == BROUGHT_ANYTHING))
            return error_set(err,
                             "%.*s: %scame with the commit that is checked out, which may be a "
                             "stranger's; name another one (or `git config plumb.trustCheckout "
                             "true` if this repository's commits are yours)",
                             (int)(end - path), path, what == BROUGHT_LINKS ? "a link that " : "");
    }
    return 0;
}
