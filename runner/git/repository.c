// SPDX-License-Identifier: Apache-2.0
//
// Opens a repository, and says whose words in it count and what of it a commit brought. What
// revisions mean is in revision.c, commits and ranges are in commits.c, what commits hold is in
// trees.c and export.c.
#include "runner/git/handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- whose words in a checkout are the user's own
//
// What is checked out may be a stranger's pull
// request; the configuration of the repository and its remote branches are not part of any commit.

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

// ---- what lies in a checkout because a commit put it there: repositories, folders and links
//
// A commit
// can make no file or folder named .git, so what is below one of that name is git's own.

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

// It lies in the checkout of another repository and came with its commit, files, configuration and
// all; unless the outer one is the user's own.
static bool is_brought_repository(git_repository *git)
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

// ---- the repository itself

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

// Extensions that say where settings of a checkout are and where objects come from, none of which
// is asked here: sparse checkouts and partial clones have them.
static void start_libgit2(void)
{
    static const char *extensions[] = {"worktreeconfig", "partialclone"};
    git_libgit2_init(); // counted; never undone, it lives as long as the program
    git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, extensions, ARRAY_COUNT(extensions));
}

// libgit2 1.5 says of a repository of somebody else that there is none. NULL: there is none of
// somebody else's here or above. Caller frees.
static char *foreign_repository(const char *directory)
{
    char *at = realpath(directory, NULL);
    while (at && *at) {
        struct stat git;
        char *path = xprintf("%s/.git", at);
        const bool found = stat(path, &git) == 0;
        free(path);
        if (found && git.st_uid != geteuid())
            return at;
        char *slash = found ? NULL : strrchr(at, '/');
        if (slash)
            *slash = '\0';
        else
            *at = '\0';
    }
    free(at);
    return NULL;
}

int repository_open(struct repository **out, const char *directory, struct error *err)
{
    git_repository *git = NULL;
    start_libgit2();
    int code = git_repository_open_ext(&git, directory, 0, NULL);
    char *foreign = code == GIT_ENOTFOUND ? foreign_repository(directory) : NULL;
    if (foreign) {
        error_set(
            err,
            "%s: the repository belongs to another user; if you trust it: git config --global "
            "--add safe.directory %s",
            directory, foreign);
        free(foreign);
        return -1;
    }
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
    if (is_brought_repository(git)) {
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

// ---- where commits are shown

// "host" and "owner/name" of https://host/owner/name.git, ssh://git@host:22/owner/name and
// git@host:owner/name; false: it is of another form.
static bool split_remote(char host[256], char path[256], const char *url)
{
    const char *scheme = strstr(url, "://"), *at = scheme ? scheme + 3 : url;
    const char *end = at + strcspn(at, scheme ? "/" : ":"),
               *user = memchr(at, '@', (size_t)(end - at));
    at = user ? user + 1 : at;
    if (*end == '\0' || (!scheme && !user) ||
        snprintf(host, 256, "%.*s", (int)(end - at), at) > 255)
        return false;
    host[strcspn(host, ":")] = '\0'; // a port is of ssh, or of a server that nobody knows
    const size_t length = strlen(end + 1),
                 git = length > 4 && !strcmp(end + 1 + length - 4, ".git") ? 4 : 0;
    if (snprintf(path, 256, "%.*s", (int)(length - git), end + 1) > 255)
        return false;
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/";
    return path[0] && host[0] && path[strspn(path, plain)] == '\0' &&
           host[strspn(host, plain)] == '\0' && !strchr(host, '/');
}

static const char *commit_page(const char *url, struct arena *arena)
{
    static const struct {
        const char *host, *commits;
    } forges[] = {{"github", "commit"},     {"gitlab", "-/commit"}, {"codeberg", "commit"},
                  {"bitbucket", "commits"}, {"gitea", "commit"},    {"forgejo", "commit"}};
    char host[256], path[256];
    for (size_t i = 0; split_remote(host, path, url) && i < ARRAY_COUNT(forges); i++) {
        if (strstr(host, forges[i].host))
            return arena_printf(arena, "https://%s/%s/%s/%%s", host, path, forges[i].commits);
    }
    return NULL;
}

const char *repository_commit_url(const struct repository *repository, struct arena *arena)
{
    static const char *const remotes[] = {"remote.origin.url", "remote.upstream.url"};
    git_config *config = NULL;
    const char *url, *found = NULL;
    if (git_repository_config_snapshot(&config, repository->git))
        return NULL;
    for (size_t i = 0; !found && i < ARRAY_COUNT(remotes); i++) {
        if (git_config_get_string(&url, config, remotes[i]) == 0)
            found = commit_page(url, arena);
    }
    git_config_free(config);
    return found;
}
