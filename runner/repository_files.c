// SPDX-License-Identifier: Apache-2.0
//
// What a commit holds: single files, ids and differences.
#include "runner/submodule.h"

#include <stdlib.h>
#include <string.h>

enum { READ_MAX = 1 << 20 };

int git_tree_of(git_tree **out, const struct repository *repository, const char *commit,
                struct error *err)
{
    git_oid id;
    git_commit *found = NULL;
    if (git_oid_fromstr(&id, commit) || git_commit_lookup(&found, repository->git, &id) ||
        git_commit_tree(out, found)) {
        git_commit_free(found);
        return error_set(err, "%s: commit %.40s: %s", repository->directory, commit, git_words());
    }
    git_commit_free(found);
    return 0;
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

// The submodule that the path leads into.
static git_tree_entry *submodule_on_way(const char **rest, const git_tree *tree, const char *path)
{
    git_tree_entry *entry = NULL;
    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        char *before = xprintf("%.*s", (int)(at - path), path);
        const int code = git_tree_entry_bypath(&entry, tree, before);
        free(before);
        if (code)
            return NULL;
        if (git_tree_entry_type(entry) == GIT_OBJECT_COMMIT) {
            *rest = at + 1;
            return entry;
        }
        git_tree_entry_free(entry);
    }
    return NULL;
}

int git_find_way(git_tree_entry **out, const char **rest, const git_tree *tree, const char *path,
                 struct error *err)
{
    const int code = git_tree_entry_bypath(out, tree, path);
    *rest = "";
    if (code == GIT_ENOTFOUND)
        *out = submodule_on_way(rest, tree, path);
    else if (code)
        return error_set(err, "%s: %s", path, git_words());
    return 0;
}

// As people write the path; of one in a submodule the submodule.
static int find_entry(git_tree_entry **out, const git_tree *tree, const char *path,
                      struct error *err)
{
    const char *rest;
    char *plain = git_plain_path(path);
    const int code = git_find_way(out, &rest, tree, plain, err);
    free(plain);
    return code;
}

int repository_path_id(char out[OBJECT_ID_TEXT], const struct repository *repository,
                       const char *commit, const char *path, struct error *err)
{
    git_tree *tree = NULL;
    git_tree_entry *entry = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    char *plain = git_plain_path(path);
    int result = *plain ? find_entry(&entry, tree, plain, err) : 0;
    if (result == 0) {
        out[0] = '\0';
        if (!*plain)
            git_oid_tostr(out, OBJECT_ID_TEXT, git_tree_id(tree));
        else if (entry)
            git_oid_tostr(out, OBJECT_ID_TEXT, git_tree_entry_id(entry));
    }
    free(plain);
    git_tree_entry_free(entry);
    git_tree_free(tree);
    return result;
}

// ---- names

struct naming {
    struct path_list *list;
    size_t capacity;
    const char *below; // "a/b/", or "" for the whole tree
    struct arena *arena;
};

static void add_name(struct naming *naming, const char *folder, const char *name,
                     const git_tree_entry *entry)
{
    struct path_list *list = naming->list;
    list->items = xgrow(list->items, list->count, &naming->capacity, sizeof(*list->items));
    list->items[list->count++] = arena_printf(naming->arena, "%s%s%s", naming->below, folder, name);
    list->links |= git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK;
    if (git_tree_entry_type(entry) == GIT_OBJECT_COMMIT) {
        char id[OBJECT_ID_TEXT];
        git_oid_tostr(id, sizeof(id), git_tree_entry_id(entry));
        list->submodules = arena_printf(naming->arena, "%s%s %s\n", list->submodules, id,
                                        list->items[list->count - 1]);
    }
}

static int visit_entry(const char *folder, const git_tree_entry *entry, void *data)
{
    if (git_tree_entry_type(entry) != GIT_OBJECT_TREE)
        add_name(data, folder, git_tree_entry_name(entry), entry);
    return 0;
}

static int name_path(struct naming *naming, const struct repository *repository,
                     const git_tree *tree, const char *path, struct error *err)
{
    git_tree_entry *entry = NULL;
    git_tree *folder = NULL;
    int code = 0;
    if (!*path) {
        code = git_tree_walk(tree, GIT_TREEWALK_PRE, visit_entry, naming);
    } else if (find_entry(&entry, tree, path, err)) {
        return -1;
    } else if (entry && git_tree_entry_type(entry) != GIT_OBJECT_TREE) {
        add_name(naming, "", path, entry);
    } else if (entry) {
        naming->below = arena_printf(naming->arena, "%s/", path);
        code = git_tree_lookup(&folder, repository->git, git_tree_entry_id(entry));
        if (code == 0)
            code = git_tree_walk(folder, GIT_TREEWALK_PRE, visit_entry, naming);
        naming->below = "";
    }
    git_tree_free(folder);
    git_tree_entry_free(entry);
    return code ? error_set(err, "%s: %s", path, git_words()) : 0;
}

int repository_names(struct path_list *out, const struct repository *repository, const char *commit,
                     const char *const *paths, size_t path_count, struct arena *arena,
                     struct error *err)
{
    static const char *const whole[] = {""};
    struct path_list list = {.submodules = ""};
    struct naming naming = {.list = &list, .below = "", .arena = arena};
    git_tree *tree = NULL;
    int result = git_tree_of(&tree, repository, commit, err);
    if (path_count == 0) {
        paths = whole;
        path_count = 1;
    }
    for (size_t i = 0; result == 0 && i < path_count; i++) {
        char *plain = git_plain_path(paths[i]);
        result = name_path(&naming, repository, tree, plain, err);
        free(plain);
    }
    git_tree_free(tree);
    if (result == 0) {
        *out = list;
        out->items = arena_alloc(arena, (list.count + 1) * sizeof(*list.items));
        if (list.count)
            memcpy(out->items, list.items, list.count * sizeof(*list.items));
    }
    free(list.items);
    return result;
}

static int read_blob(char **out, size_t *size, git_repository *git, const git_oid *id,
                     const char *label, struct error *err)
{
    git_odb *odb = NULL;
    git_blob *blob = NULL;
    size_t length = 0;
    git_object_t type;
    int result = -1;
    // The size comes first: a blob is read into memory whole.
    if (git_repository_odb(&odb, git) || git_odb_read_header(&length, &type, odb, id)) {
        error_set(err, "%s: %s", label, git_words());
        goto done;
    }
    if (length > READ_MAX) {
        error_set(err, "%s: larger than %d bytes", label, READ_MAX);
        goto done;
    }
    if (git_blob_lookup(&blob, git, id)) {
        error_set(err, "%s: %s", label, git_words());
        goto done;
    }
    *size = length;
    *out = xcalloc(length + 1, 1);
    memcpy(*out, git_blob_rawcontent(blob), length);
    result = 0;
done:
    git_blob_free(blob);
    git_odb_free(odb);
    return result;
}

// path: a plain one, of the level; the label is how errors name it.
static int read_path(char **out, size_t *size, struct submodule_level *level, const git_tree *tree,
                     const char *path, const char *label, struct error *err)
{
    git_tree_entry *entry = NULL;
    git_tree *inner_tree = NULL;
    struct submodule_level inner = {0};
    const char *rest;
    int result = -1;
    if (git_find_way(&entry, &rest, tree, path, err))
        return -1;
    const git_filemode_t mode = entry ? git_tree_entry_filemode(entry) : GIT_FILEMODE_UNREADABLE;
    if (!entry) {
        error_set(err, "%s: not there", label);
    } else if (*rest) {
        char *own = xprintf("%.*s", (int)(rest - path) - 1, path);
        // Of inner levels they are read already.
        const int end = *level->path ? 0 : submodule_names(level, tree, err);
        result =
            end ? end
                : submodule_enter(&inner, &inner_tree, level, own, git_tree_entry_id(entry), err);
        if (result == SUBMODULE_NAMELESS)
            error_set(err, "%s: .gitmodules does not name the submodule", label);
        if (result == 0)
            result = read_path(out, size, &inner, inner_tree, rest, label, err);
        result = result ? -1 : 0;
        free(own);
    } else if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE) {
        error_set(err, "%s: not a regular file", label);
    } else {
        result = read_blob(out, size, level->git, git_tree_entry_id(entry), label, err);
    }
    git_tree_free(inner_tree);
    submodule_leave(&inner);
    git_tree_entry_free(entry);
    return result;
}

int repository_read(char **out, size_t *size, const struct repository *repository,
                    const char *commit, const char *path, struct error *err)
{
    git_tree *tree = NULL;
    struct submodule_level level;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    submodule_top(&level, repository);
    char *plain = git_plain_path(path), *label = xprintf("%.12s:%s", commit, path);
    const int result = read_path(out, size, &level, tree, plain, label, err);
    free(label);
    free(plain);
    submodule_leave(&level);
    git_tree_free(tree);
    return result;
}

static char status_letter(git_delta_t status)
{
    switch (status) {
    case GIT_DELTA_ADDED:
        return 'A';
    case GIT_DELTA_DELETED:
        return 'D';
    case GIT_DELTA_RENAMED:
        return 'R';
    case GIT_DELTA_TYPECHANGE:
        return 'T';
    default:
        return 'M';
    }
}

static int read_change(struct file_change *out, git_diff *diff, size_t index, struct arena *arena,
                       struct error *err)
{
    const git_diff_delta *delta = git_diff_get_delta(diff, index);
    git_patch *patch = NULL;
    size_t added = 0, removed = 0;
    if (git_patch_from_diff(&patch, diff, index) ||
        (patch && git_patch_line_stats(NULL, &added, &removed, patch))) {
        git_patch_free(patch);
        return error_set(err, "%s: cannot compare: %s", delta->new_file.path, git_words());
    }
    git_patch_free(patch);
    *out = (struct file_change){
        .path = arena_strdup(arena, delta->new_file.path),
        .old_path = arena_strdup(arena, delta->old_file.path),
        .status = status_letter(delta->status),
        .added = (uint32_t)added,
        .removed = (uint32_t)removed,
    };
    return 0;
}

int repository_changes(struct file_change_list *out, const struct repository *repository,
                       const char *from, const char *to, struct arena *arena, struct error *err)
{
    git_tree *old_tree = NULL, *new_tree = NULL;
    git_diff *diff = NULL;
    git_diff_options options;
    git_diff_find_options find;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    git_diff_find_options_init(&find, GIT_DIFF_FIND_OPTIONS_VERSION);
    options.max_size = 8 << 20; // larger files count as binary
    find.flags = GIT_DIFF_FIND_RENAMES;
    int result = -1;
    if (git_tree_of(&old_tree, repository, from, err) ||
        git_tree_of(&new_tree, repository, to, err))
        goto done;
    if (git_diff_tree_to_tree(&diff, repository->git, old_tree, new_tree, &options) ||
        git_diff_find_similar(diff, &find)) {
        error_set(err, "cannot compare %.12s with %.12s: %s", from, to, git_words());
        goto done;
    }
    size_t count = git_diff_num_deltas(diff);
    struct file_change_list list = {arena_alloc(arena, count * sizeof(*list.items)), 0};
    for (result = 0; result == 0 && list.count < count; list.count++)
        result = read_change(&list.items[list.count], diff, list.count, arena, err);
    if (result == 0)
        *out = list;
done:
    git_diff_free(diff);
    git_tree_free(old_tree);
    git_tree_free(new_tree);
    return result;
}
