// SPDX-License-Identifier: Apache-2.0
//
// Resolves revisions. If a short name stands for several things, git takes one of them, a tag
// before a branch, and prints a warning at most. Somebody who may push a tag could so replace the
// branch with which everything is compared. Here a name that could mean two commits is refused. A
// full name means exactly the reference of that name: `git tag refs/heads/main` makes
// refs/tags/refs/heads/main.
#include "runner/git/handle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char git_fetch_more[] = "this is a shallow clone: git fetch --unshallow";

// libgit2 downloads nothing, so objects that a partial clone left out are missing in any case.
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

bool git_is_shallow(const struct repository *repository)
{
    return git_repository_is_shallow(repository->git) == 1;
}

int git_named_commit(git_oid *out, const struct repository *repository, const char *name)
{
    git_reference *reference = NULL;
    git_object *commit = NULL;
    int code = git_reference_lookup(&reference, repository->git, name);
    if (code == 0)
        code = git_reference_peel(&commit, reference, GIT_OBJECT_COMMIT);
    if (code == 0)
        *out = *git_object_id(commit);
    git_object_free(commit);
    git_reference_free(reference);
    return code;
}

// ---- the name at the beginning of a revision

struct revision_name {
    char *revision; // with HEAD in place of @
    char *text;     // "" if it has none, as in ":/words" and "@{-1}"
    bool exact;     // it is HEAD, a full name, or a full id, and means exactly that
};

static bool is_hex(const char *text)
{
    return text[strspn(text, "0123456789abcdefABCDEF")] == '\0';
}

static bool is_whole_id(const char *text)
{
    return strlen(text) == GIT_OID_HEXSZ && is_hex(text);
}

static void read_name(struct revision_name *out, const char *revision)
{
    const bool at = *revision == '@' && (!revision[1] || strchr("~^:", revision[1]));
    char *whole = at ? xprintf("HEAD%s", revision + 1) : xstrdup(revision);
    size_t length = strcspn(whole, "~^:");
    const char *brace = strstr(whole, "@{");
    if (brace && (size_t)(brace - whole) < length)
        length = (size_t)(brace - whole);
    char *text = xprintf("%.*s", (int)length, whole);
    *out = (struct revision_name){whole, text,
                                  strcmp(text, "HEAD") == 0 || strncmp(text, "refs/", 5) == 0 ||
                                      is_whole_id(text)};
}

static void free_name(struct revision_name *name)
{
    free(name->revision);
    free(name->text);
}

static bool exact_is_there(const struct repository *repository, const struct revision_name *name)
{
    git_object *object = NULL;
    git_oid id;
    if (!is_whole_id(name->text))
        return git_reference_name_to_id(&id, repository->git, name->text) == 0;
    const bool found = git_oid_fromstr(&id, name->text) == 0 &&
                       git_object_lookup(&object, repository->git, &id, GIT_OBJECT_ANY) == 0;
    git_object_free(object);
    return found;
}

// ---- the possible meanings of a short name

struct meaning {
    git_oid commit;
    char *name; // the full name, as one can type it
};

enum { MEANINGS_MOST = 8 };

static void add_reference(struct meaning *list, size_t *count, const struct repository *repository,
                          char *name)
{
    struct meaning *to = &list[*count];
    if (git_named_commit(&to->commit, repository, name)) {
        free(name);
        return;
    }
    to->name = name;
    ++*count;
}

// Adds the commit whose id begins with these digits, alone or after a name by `git describe`. git
// prefers a branch or a tag with that name. Fewer digits than git prints are often a coincidence.
static void add_digits(struct meaning *list, size_t *count, const struct repository *repository,
                       const char *text)
{
    enum { DIGITS_LEAST = 7 };
    const char *described = NULL;
    for (const char *at = text; (at = strstr(at, "-g")); at++)
        described = at + 2;
    const char *digits = described ? described : text;
    const size_t length = strlen(digits);
    git_object *object = NULL, *commit = NULL;
    git_oid part;
    if (length >= DIGITS_LEAST && length <= GIT_OID_HEXSZ && is_hex(digits) &&
        git_oid_fromstrn(&part, digits, length) == 0 &&
        git_object_lookup_prefix(&object, repository->git, &part, length, GIT_OBJECT_ANY) == 0 &&
        git_object_peel(&commit, object, GIT_OBJECT_COMMIT) == 0) {
        struct meaning *to = &list[(*count)++];
        char id[OBJECT_ID_TEXT];
        to->commit = *git_object_id(commit);
        to->name = xstrdup(git_oid_tostr(id, sizeof(id), &to->commit));
    }
    git_object_free(commit);
    git_object_free(object);
}

// The meaning that a message suggests first: if a branch and a tag have the same name, the branch
// is probably meant.
static const char *likely(const struct meaning *list, size_t count)
{
    static const char *const branches[] = {"refs/heads/", "refs/remotes/"};
    for (size_t b = 0; b < ARRAY_COUNT(branches); b++) {
        for (size_t i = 0; i < count; i++) {
            if (strncmp(list[i].name, branches[b], strlen(branches[b])) == 0)
                return list[i].name;
        }
    }
    return list[0].name;
}

// Refuses a name with several meanings, unless all of them are the same commit.
static int check_name(const struct repository *repository, const char *revision,
                      const struct revision_name *name, struct error *err)
{
    struct meaning list[MEANINGS_MOST];
    size_t count = 0, other = 0;
    git_oid root;
    if (!*name->text || git_named_commit(&root, repository, name->text) == 0)
        return 0; // FETCH_HEAD and the like are files of the git directory, which no push creates
    add_reference(list, &count, repository, xprintf("refs/%s", name->text));
    add_reference(list, &count, repository, xprintf("refs/tags/%s", name->text));
    add_reference(list, &count, repository, xprintf("refs/heads/%s", name->text));
    add_reference(list, &count, repository, xprintf("refs/remotes/%s", name->text));
    add_reference(list, &count, repository, xprintf("refs/remotes/%s/HEAD", name->text));
    add_digits(list, &count, repository, name->text);
    for (size_t i = 1; i < count && !other; i++)
        other = git_oid_equal(&list[0].commit, &list[i].commit) ? 0 : i;
    if (other)
        error_set(
            err,
            "%s: may be %.120s or %.120s, which are not the same commit; type the whole name, "
            "for instance %.120s",
            revision, list[0].name, list[other].name, likely(list, count));
    for (size_t i = 0; i < count; i++)
        free(list[i].name);
    return other ? -1 : 0;
}

// The id that a branch or a tag names, whether or not the object exists.
static bool names_object(git_oid *id, const struct repository *repository, const char *revision)
{
    git_reference *named = NULL, *last = NULL;
    const bool found = git_reference_dwim(&named, repository->git, revision) == 0 &&
                       git_reference_resolve(&last, named) == 0;
    if (found)
        git_oid_cpy(id, git_reference_target(last));
    git_reference_free(last);
    git_reference_free(named);
    return found;
}

static bool object_is_there(const struct repository *repository, const git_oid *id)
{
    git_odb *objects = NULL;
    const bool found =
        git_repository_odb(&objects, repository->git) == 0 && git_odb_exists(objects, id);
    git_odb_free(objects);
    return found;
}

// Whether a branch, a tag or an id names an object that exists but cannot be read: a commit that
// git would not make, for example without an author's address or with a time beyond all numbers.
static bool is_there(const struct repository *repository, const char *revision)
{
    git_oid id;
    const bool whole = git_oid_fromstr(&id, revision) == 0 && is_whole_id(revision);
    return (whole || names_object(&id, repository, revision)) && object_is_there(repository, &id);
}

int git_resolve(git_commit **out, const struct repository *repository, const char *revision,
                struct error *err)
{
    git_object *object = NULL, *commit = NULL;
    struct revision_name name;
    read_name(&name, revision);
    if (!name.exact && check_name(repository, revision, &name, err)) {
        free_name(&name);
        return -1;
    }
    int code = name.exact && !exact_is_there(repository, &name)
                   ? GIT_ENOTFOUND
                   : git_revparse_single(&object, repository->git, name.revision);
    free_name(&name);
    if (code)
        error_set(err, "%s: cannot be read: %s", revision, git_words());
    if (code == 0)
        code = git_object_peel(&commit, object, GIT_OBJECT_COMMIT);
    git_object_free(object);
    if (code == 0) {
        *out = (git_commit *)commit;
        return 0;
    }
    const bool unborn = git_repository_head_unborn(repository->git) == 1;
    if (git_repository_is_empty(repository->git) == 1 || (unborn && strcmp(revision, "HEAD") == 0))
        return error_set(err, "%s: the repository has no commit yet", repository->directory);
    if (object)
        return error_set(err, "%s: is not a commit", revision);
    if (code != GIT_ENOTFOUND && code != GIT_EAMBIGUOUS && is_there(repository, revision))
        return -1;
    if (git_is_shallow(repository))
        return error_set(err, "%s: no such revision in %s; %s", revision, repository->directory,
                         git_fetch_more);
    if (code == GIT_EAMBIGUOUS)
        return error_set(err, "%s: several objects of %s begin so; give more digits", revision,
                         repository->directory);
    git_oid lost;
    char id[OBJECT_ID_TEXT];
    if (names_object(&lost, repository, revision) && !object_is_there(repository, &lost))
        return error_set(err,
                         "%s: commit %.12s is missing in %s, or you may not read it; look at the "
                         "rights of its objects, and `git fsck`",
                         revision, git_oid_tostr(id, sizeof(id), &lost), repository->directory);
    return error_set(err, "%s: no such revision in %s; `git log --all --oneline` shows commits",
                     revision, repository->directory);
}
