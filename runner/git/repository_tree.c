// SPDX-License-Identifier: Apache-2.0
//
// Trees of commits, and the ways through them. Git keeps the names of a tree in one order, each
// once. A tree made by hand may hold one twice: of two folders one reader finds the first, and
// another goes through both, so that what is looked at and what is built are not the same. So no
// such tree is read, wherever it is.
#include "runner/git/git_handle.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// A file and a folder of one name may have others between them: the order knows them as "a", "a/".
static const char *double_name(const git_tree *tree)
{
    const size_t count = git_tree_entrycount(tree);
    const char **names = xcalloc(count + 1, sizeof(*names)), *found = NULL;
    for (size_t i = 0; i < count; i++)
        names[i] = git_tree_entry_name(git_tree_entry_byindex(tree, i));
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 1; !found && i < count; i++)
        found = strcmp(names[i - 1], names[i]) == 0 ? names[i] : NULL;
    free(names);
    return found;
}

// Where a name is not in its place, some lookups miss it.
static const char *misplaced_name(const git_tree *tree)
{
    for (size_t i = 1; i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        if (git_tree_entry_cmp(git_tree_entry_byindex(tree, i - 1), entry) >= 0)
            return git_tree_entry_name(entry);
    }
    return NULL;
}

// Of a path it would look like a file in a folder.
static const char *name_of_parts(const git_tree *tree)
{
    for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
        const char *name = git_tree_entry_name(git_tree_entry_byindex(tree, i));
        if (strchr(name, '/'))
            return name;
    }
    return NULL;
}

static int check_tree(const git_tree *tree, const char *commit, const char *where,
                      struct error *err)
{
    const char *how = "twice", *name = double_name(tree);
    if (!name) {
        how = "as one name";
        name = name_of_parts(tree);
    }
    if (!name) {
        how = "out of order";
        name = misplaced_name(tree);
    }
    if (!name)
        return 0;
    return error_set(err,
                     "commit %.12s: its tree has '%.300s%s%.200s' %s, so what is in it depends on "
                     "who reads it; no git program makes such a tree: commit those files anew",
                     commit, where, *where ? "/" : "", name, how);
}

int git_load_tree(git_tree **out, git_repository *git, const git_oid *id, const char *commit,
                  const char *where, struct error *err)
{
    enum { TREE_BYTES_MAX = 64 << 20 }; // as a million files have: it is read into memory whole
    git_odb *odb = NULL;
    git_tree *tree = NULL;
    git_object_t type;
    size_t size = 0;
    int result = -1;
    if (git_repository_odb(&odb, git) || git_odb_read_header(&size, &type, odb, id))
        error_set(err, "commit %.12s: '%.300s': %s", commit, where, git_words());
    else if (size > TREE_BYTES_MAX)
        error_set(err, "commit %.12s: '%.300s': a folder with too many files", commit, where);
    else if (git_tree_lookup(&tree, git, id))
        error_set(err, "commit %.12s: '%.300s': %s", commit, where, git_words());
    else
        result = check_tree(tree, commit, where, err);
    git_odb_free(odb);
    if (result)
        git_tree_free(tree);
    else
        *out = tree;
    return result;
}

int git_sound_tree(git_tree **out, const struct git_root *root, const git_oid *id, const char *path,
                   struct error *err)
{
    char *where = *root->within ? xprintf("%s/%s", root->within, path) : xstrdup(path);
    const int code = git_load_tree(out, git_tree_owner(root->tree), id, root->commit, where, err);
    free(where);
    return code;
}

int git_tree_of(git_tree **out, const struct repository *repository, const char *commit,
                struct error *err)
{
    git_oid id;
    git_commit *found = NULL;
    if (git_oid_fromstr(&id, commit) || git_commit_lookup(&found, repository->git, &id))
        return error_set(err, "%s: commit %.40s: %s", repository->directory, commit, git_words());
    const int code =
        git_load_tree(out, repository->git, git_commit_tree_id(found), commit, "", err);
    git_commit_free(found);
    return code;
}

char *git_plain_path(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    char *copy = xstrdup(strcmp(path, ".") == 0 ? "" : path);
    size_t length = strlen(copy);
    while (length > 0 && copy[length - 1] == '/')
        copy[--length] = '\0';
    return copy;
}

// One part of the path at a time: libgit2's own way through it looks at no tree as a whole.
int git_find_way(git_tree_entry **out, const char **rest, const struct git_root *root,
                 const char *path, struct error *err)
{
    git_tree *folder = NULL; // that `part` is in; NULL: the root
    int result = 0;
    *out = NULL;
    *rest = "";
    for (const char *part = path; result == 0 && *part;) {
        const size_t length = strcspn(part, "/");
        char *name = xprintf("%.*s", (int)length, part);
        char *way = xprintf("%.*s", (int)(part - path + (ptrdiff_t)length), path);
        const git_tree_entry *entry = git_tree_entry_byname(folder ? folder : root->tree, name);
        const git_object_t type = entry ? git_tree_entry_type(entry) : GIT_OBJECT_INVALID;
        part += length + (part[length] == '/');
        git_tree *inner = NULL;
        if (entry && (!*part || type == GIT_OBJECT_COMMIT)) {
            *rest = part;
            result =
                git_tree_entry_dup(out, entry) ? error_set(err, "%s: %s", way, git_words()) : 0;
            part = "";
        } else if (type == GIT_OBJECT_TREE) {
            result = git_sound_tree(&inner, root, git_tree_entry_id(entry), way, err);
        } else {
            part = "";
        }
        free(way);
        free(name);
        git_tree_free(folder);
        folder = inner;
    }
    git_tree_free(folder);
    return result;
}
