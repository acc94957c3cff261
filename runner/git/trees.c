// SPDX-License-Identifier: Apache-2.0
//
// What a commit holds: its trees and the ways through them, the objects of its submodules, single
// files, ids and differences.
#include "runner/git/handle.h"

#include "runner/child/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- trees and the ways through them
//
// Git keeps the names of a tree in one order, each
// once. A tree made by hand may hold one twice: of two folders one reader finds the first, and
// another goes through both, so that what is looked at and what is built are not the same. So no
// such tree is read, wherever it is.

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

// The first name that is out of order: git's lookup by name may miss it.
static const char *misplaced_name(const git_tree *tree)
{
    for (size_t i = 1; i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        if (git_tree_entry_cmp(git_tree_entry_byindex(tree, i - 1), entry) >= 0)
            return git_tree_entry_name(entry);
    }
    return NULL;
}

// The first name that holds a '/': as a path it would look like a file in a folder.
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

// The tree of that id, which errors say is at `where` in the commit.
static int load_tree(git_tree **out, git_repository *git, const git_oid *id, const char *commit,
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
    const int code = load_tree(out, git_tree_owner(root->tree), id, root->commit, where, err);
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
    const int code = load_tree(out, repository->git, git_commit_tree_id(found), commit, "", err);
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

void content_id(char out[OBJECT_ID_TEXT], const void *bytes, size_t size)
{
    git_libgit2_init();
    git_oid id = {{0}};
    if (git_odb_hash(&id, bytes, size, GIT_OBJECT_BLOB))
        out_of_memory(); // or a hash that detects an attack
    git_oid_tostr(out, OBJECT_ID_TEXT, &id);
}

// ---- a submodule's objects
//
// Where they may be is compared as real paths, so that whatever a name
// is made of, nothing outside of the repository's own folders is opened.

static void add_folder(struct submodule_level *level, const char *git_directory)
{
    char *named = xprintf("%s/modules", git_directory), *real = realpath(named, NULL);
    bool known = real == NULL;
    for (size_t i = 0; !known && i < level->folder_count; i++)
        known = strcmp(level->folders[i], real) == 0;
    free(named);
    if (known) {
        free(real);
        return;
    }
    level->folders =
        xgrow(level->folders, level->folder_count, &level->folder_room, sizeof(*level->folders));
    level->folders[level->folder_count++] = real;
}

void submodule_top(struct submodule_level *out, const struct repository *repository)
{
    const char *work = git_repository_workdir(repository->git);
    *out = (struct submodule_level){.git = repository->git, .path = xstrdup("")};
    out->home = realpath(git_repository_path(repository->git), NULL);
    out->work = work ? realpath(work, NULL) : NULL;
    add_folder(out, git_repository_path(repository->git)); // of a worktree its own come first
    add_folder(out, git_repository_commondir(repository->git));
}

void submodule_leave(struct submodule_level *level)
{
    if (level->owned)
        git_repository_free(level->git);
    for (size_t i = 0; i < level->folder_count; i++)
        free(level->folders[i]);
    free(level->folders);
    free(level->home);
    free(level->work);
    free(level->path);
    config_free(&level->names);
    *level = (struct submodule_level){0};
}

// ---- what .gitmodules calls it

// A path of the level as the outermost checkout has it. Caller frees.
static char *below(const struct submodule_level *level, const char *path)
{
    return *level->path ? xprintf("%s/%s", level->path, path) : xstrdup(path);
}

int submodule_names(struct submodule_level *level, const git_tree *root, struct error *err)
{
    enum { TEXT_MOST = 1 << 20, ENTRIES_MOST = 10000 };
    const git_tree_entry *entry = git_tree_entry_byname(root, ".gitmodules");
    git_blob *blob = NULL;
    git_odb *odb = NULL;
    git_object_t type;
    size_t size = 0;
    if (!entry || git_tree_entry_type(entry) != GIT_OBJECT_BLOB ||
        git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return 0; // git reads no other either
    const git_oid *id = git_tree_entry_id(entry);
    char *label = below(level, ".gitmodules");
    int result = -1;
    if (git_repository_odb(&odb, level->git) || git_odb_read_header(&size, &type, odb, id))
        error_set(err, "%s: %s", label, git_words());
    else if (size > TEXT_MOST)
        result = (error_set(err, "%s: larger than 1 MiB", label), EXPORT_REFUSED);
    else if (git_blob_lookup(&blob, level->git, id))
        error_set(err, "%s: %s", label, git_words());
    else if (config_parse(&level->names, git_blob_rawcontent(blob), size, label, err))
        result = EXPORT_REFUSED;
    else if (level->names.count > ENTRIES_MOST)
        result = (error_set(err, "%s: more than %d lines of settings", label, ENTRIES_MOST),
                  EXPORT_REFUSED);
    else
        result = 0;
    git_blob_free(blob);
    git_odb_free(odb);
    free(label);
    return result;
}

// As people write paths: with a final '/', or "./" before. The last line that fits counts.
static const char *name_of(const struct submodule_level *level, const char *path)
{
    const char *name = NULL;
    for (size_t i = 0; i < level->names.count; i++) {
        const struct config_entry *e = &level->names.entries[i];
        if (strcmp(e->section, "submodule") != 0 || strcmp(e->key, "path") != 0 || !e->value)
            continue;
        char *plain = git_plain_path(e->value);
        if (strcmp(plain, path) == 0)
            name = e->subsection;
        free(plain);
    }
    return name;
}

// A name is a folder below .git/modules.
static bool good_name(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\'))
        return false;
    for (const char *part = name; part;) {
        const size_t length = strcspn(part, "/");
        if (length == 0 || (length <= 2 && strncmp(part, "..", length) == 0))
            return false;
        part = part[length] ? part + length + 1 : NULL;
    }
    return true;
}

// ---- where its objects are

static bool is_folder(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// Whether the path and all folders above it are no symbolic links.
static bool is_real(const char *path)
{
    char *real = realpath(path, NULL);
    const bool same = real && strcmp(real, path) == 0;
    free(real);
    return same;
}

// The objects of the git directory take part, if it is one.
static int add_objects(struct submodule_level *out, git_odb *odb, const char *git_directory)
{
    char *objects = xprintf("%s/objects", git_directory);
    const bool there = is_real(objects) && is_folder(objects);
    const int code = there ? git_odb_add_disk_alternate(odb, objects) : 0;
    if (there && code == 0)
        add_folder(out, git_directory);
    if (there && !out->home)
        out->home = xstrdup(git_directory);
    free(objects);
    return code;
}

// Where the file .git of a checkout leads, if that is one of the folders that the level has: older
// commits know a submodule by other names.
static char *linked_directory(const struct submodule_level *level, const char *checkout)
{
    static const char word[] = "gitdir: ";
    char *file = xprintf("%s/.git", checkout), *text = files_read(file, 4096), *real = NULL;
    if (text && strncmp(text, word, strlen(word)) == 0) {
        char *to = text + strlen(word);
        to[strcspn(to, "\r\n")] = '\0';
        char *path = *to == '/' ? xstrdup(to) : xprintf("%s/%s", checkout, to);
        real = realpath(path, NULL);
        free(path);
    }
    bool own = false;
    for (size_t i = 0; real && i < level->folder_count; i++) {
        const size_t length = strlen(level->folders[i]);
        own |= strncmp(real, level->folders[i], length) == 0 && real[length] == '/';
    }
    if (!own) {
        free(real);
        real = NULL;
    }
    free(text);
    free(file);
    return real;
}

static int find_objects(struct submodule_level *out, git_odb *odb,
                        const struct submodule_level *level, const char *name)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < level->folder_count; i++) {
        char *directory = xprintf("%s/%s", level->folders[i], name);
        code = add_objects(out, odb, directory);
        free(directory);
    }
    if (code || !out->work || !is_real(out->work))
        return code;
    char *inside = xprintf("%s/.git", out->work);
    char *directory = is_folder(inside) ? xstrdup(inside) : linked_directory(level, out->work);
    code = directory ? add_objects(out, odb, directory) : 0;
    free(directory);
    free(inside);
    return code;
}

// ---- what to do where they are missing

// Safe to print as a part of a command that somebody will copy.
static bool is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-/";
    return *text != '-' && text[strspn(text, plain)] == '\0';
}

// The command to type. `out` has a home where there is a repository of it, without the commit.
static char *advice(const struct submodule_level *out, const struct submodule_level *level,
                    const char *name, const char *id)
{
    char *inside = out->work ? xprintf("%s/.git", out->work) : xstrdup("");
    struct stat status;
    char *how;
    if (out->home && level->work && lstat(inside, &status) == 0)
        how = xprintf("git -C %s fetch origin %s", out->path, id);
    else if (level->work)
        how = xprintf("git submodule update --init --recursive %s",
                      level->outermost ? level->outermost : out->path);
    else if (out->home)
        how = xprintf("git --git-dir=%s fetch origin %s", out->home, id);
    else
        how = xprintf("git clone --bare <its url> %s/modules/%s", level->home, name);
    free(inside);
    return how;
}

static int say_lacking(const struct submodule_level *out, const struct submodule_level *level,
                       const char *name, const git_oid *commit, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    git_oid_tostr(id, sizeof(id), commit);
    const bool plain = is_plain(out->path) && is_plain(name);
    char *how =
        plain ? advice(out, level, name, id) : xstrdup("git submodule update --init --recursive");
    error_set(err,
              "submodule '%.200s' at commit %.12s is not on this machine; `%.400s` brings it; or, "
              "if no build needs it, `without = %.200s` under [build] of the policy",
              out->path, id, how, plain ? out->path : "PATH");
    free(how);
    return EXPORT_LACKS;
}

// ---- going in

static int tree_of(struct git_root *root, git_repository *git, const git_oid *id, const char *path,
                   struct error *err)
{
    git_object *object = NULL;
    int result = -1;
    if (git_object_lookup(&object, git, id, GIT_OBJECT_ANY))
        error_set(err, "submodule '%.200s': %s", path, git_words());
    else if (git_object_type(object) != GIT_OBJECT_COMMIT)
        result = (error_set(err, "submodule '%.200s' is pinned to what is no commit", path),
                  EXPORT_REFUSED);
    else
        result = load_tree(&root->tree, git, git_commit_tree_id((git_commit *)object), root->commit,
                           path, err);
    git_object_free(object);
    return result;
}

static int open_objects(struct submodule_level *out, const struct submodule_level *level,
                        const char *name, const git_oid *commit, struct error *err)
{
    git_odb *odb = NULL;
    int result = -1;
    if (git_odb_new(&odb) || find_objects(out, odb, level, name) ||
        git_repository_wrap_odb(&out->git, odb))
        error_set(err, "submodule '%.200s': %s", out->path, git_words());
    else
        result = git_odb_exists(odb, commit) ? 0 : say_lacking(out, level, name, commit, err);
    out->owned = out->git != NULL;
    git_odb_free(odb);
    return result;
}

int submodule_enter(struct submodule_level *out, struct git_root *root,
                    const struct submodule_level *level, const char *path, const git_oid *commit,
                    struct error *err)
{
    const char *name = name_of(level, path);
    *out = (struct submodule_level){0};
    if (!name)
        return SUBMODULE_NAMELESS;
    if (!good_name(name)) {
        error_set(err, "submodule '%.200s' has a name that leads elsewhere: '%.200s'", path, name);
        return EXPORT_REFUSED;
    }
    out->path = below(level, path);
    out->outermost = level->outermost ? level->outermost : out->path;
    out->work = level->work ? xprintf("%s/%s", level->work, path) : NULL;
    int result = open_objects(out, level, name, commit, err);
    if (result == 0)
        result = tree_of(root, out->git, commit, out->path, err);
    if (result == 0)
        result = submodule_names(out, root->tree, err);
    root->within = out->path;
    return result;
}

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

// ---- the names of all files

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

int repository_edited(struct path_list *out, const struct repository *repository,
                      const char *commit, const char *const *paths, size_t path_count,
                      struct arena *arena, struct error *err)
{
    git_tree *tree = NULL;
    git_diff *diff = NULL;
    git_diff_options options;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_DISABLE_PATHSPEC_MATCH | GIT_DIFF_IGNORE_SUBMODULES;
    options.pathspec.strings = (char **)(uintptr_t)paths; // which nobody writes to
    options.pathspec.count = path_count;
    int result = git_tree_of(&tree, repository, commit, err);
    if (result == 0 && git_diff_tree_to_workdir_with_index(&diff, repository->git, tree, &options))
        result = error_set(err, "cannot compare the checkout with %.12s: %s", commit, git_words());
    if (result == 0) {
        const size_t count = git_diff_num_deltas(diff);
        *out = (struct path_list){.items = arena_alloc(arena, (count + 1) * sizeof(*out->items)),
                                  .submodules = ""};
        for (size_t i = 0; i < count; i++) {
            const git_diff_delta *delta = git_diff_get_delta(diff, i);
            if (delta->status == GIT_DELTA_MODIFIED || delta->status == GIT_DELTA_ADDED)
                out->items[out->count++] = arena_strdup(arena, delta->new_file.path);
        }
    }
    git_diff_free(diff);
    git_tree_free(tree);
    return result;
}
