// SPDX-License-Identifier: Apache-2.0
//
// What a commit holds: single files, ids and differences.
#include "runner/git/submodule.h"

#include <stdlib.h>
#include <string.h>

enum { READ_MAX = 1 << 20 };

// As people write the path; of one in a submodule the submodule.
static int find_entry(git_tree_entry **out, const struct git_root *root, const char *path,
                      struct error *err)
{
    const char *rest;
    char *plain = git_plain_path(path);
    const int code = git_find_way(out, &rest, root, plain, err);
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
    const struct git_root root = {tree, commit, ""};
    char *plain = git_plain_path(path);
    int result = *plain ? find_entry(&entry, &root, plain, err) : 0;
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
    const struct git_root *root;
    size_t capacity, entries;
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

// folder: below the path that is asked for, with a final '/', or "".
static int name_below(struct naming *naming, const git_tree *tree, const char *folder, int depth,
                      struct error *err)
{
    const struct git_root *root = naming->root;
    int result = 0;
    if (depth > GIT_DEPTH_MAX)
        return error_set(err, "commit %.12s: '%.200s' is too deep", root->commit, folder);
    for (size_t i = 0; result == 0 && i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        const char *name = git_tree_entry_name(entry);
        git_tree *inner = NULL;
        if (++naming->entries > GIT_ENTRIES_MAX)
            return error_set(err, "commit %.12s: '%.200s%.200s' is one file too many", root->commit,
                             folder, name);
        if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) {
            add_name(naming, folder, name, entry);
            continue;
        }
        char *path = xprintf("%s%s%s", naming->below, folder, name);
        char *below = xprintf("%s%s/", folder, name);
        result = git_sound_tree(&inner, root, git_tree_entry_id(entry), path, err);
        if (result == 0)
            result = name_below(naming, inner, below, depth + 1, err);
        git_tree_free(inner);
        free(below);
        free(path);
    }
    return result;
}

static int name_path(struct naming *naming, const char *path, struct error *err)
{
    const struct git_root *root = naming->root;
    git_tree_entry *entry = NULL;
    git_tree *folder = NULL;
    int result = 0;
    naming->below = "";
    if (!*path)
        return name_below(naming, root->tree, "", 0, err);
    if (find_entry(&entry, root, path, err))
        return -1;
    if (entry && git_tree_entry_type(entry) != GIT_OBJECT_TREE) {
        add_name(naming, "", path, entry);
    } else if (entry) {
        naming->below = arena_printf(naming->arena, "%s/", path);
        result = git_sound_tree(&folder, root, git_tree_entry_id(entry), path, err);
        if (result == 0)
            result = name_below(naming, folder, "", 0, err);
    }
    git_tree_free(folder);
    git_tree_entry_free(entry);
    return result;
}

int repository_names(struct path_list *out, const struct repository *repository, const char *commit,
                     const char *const *paths, size_t path_count, struct arena *arena,
                     struct error *err)
{
    static const char *const whole[] = {""};
    struct path_list list = {.submodules = ""};
    git_tree *tree = NULL;
    int result = git_tree_of(&tree, repository, commit, err);
    const struct git_root root = {tree, commit, ""};
    struct naming naming = {.list = &list, .root = &root, .arena = arena};
    if (path_count == 0) {
        paths = whole;
        path_count = 1;
    }
    for (size_t i = 0; result == 0 && i < path_count; i++) {
        char *plain = git_plain_path(paths[i]);
        result = name_path(&naming, plain, err);
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
static int read_path(char **out, size_t *size, struct submodule_level *level,
                     const struct git_root *root, const char *path, const char *label,
                     struct error *err)
{
    git_tree_entry *entry = NULL;
    struct git_root inner_root = {.commit = root->commit};
    struct submodule_level inner = {0};
    const char *rest;
    int result = -1;
    if (git_find_way(&entry, &rest, root, path, err))
        return -1;
    const git_filemode_t mode = entry ? git_tree_entry_filemode(entry) : GIT_FILEMODE_UNREADABLE;
    if (!entry) {
        error_set(err, "%s: not there", label);
    } else if (*rest) {
        char *own = xprintf("%.*s", (int)(rest - path) - 1, path);
        // Of inner levels they are read already.
        const int end = *level->path ? 0 : submodule_names(level, root->tree, err);
        result =
            end ? end
                : submodule_enter(&inner, &inner_root, level, own, git_tree_entry_id(entry), err);
        if (result == SUBMODULE_NAMELESS)
            error_set(err, "%s: .gitmodules does not name the submodule", label);
        if (result == 0)
            result = read_path(out, size, &inner, &inner_root, rest, label, err);
        result = result ? -1 : 0;
        free(own);
    } else if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE) {
        error_set(err, "%s: not a regular file", label);
    } else {
        result = read_blob(out, size, level->git, git_tree_entry_id(entry), label, err);
    }
    git_tree_free(inner_root.tree);
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
    const struct git_root root = {tree, commit, ""};
    char *plain = git_plain_path(path), *label = xprintf("%.12s:%s", commit, path);
    const int result = read_path(out, size, &level, &root, plain, label, err);
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
