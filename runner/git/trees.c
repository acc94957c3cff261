// SPDX-License-Identifier: Apache-2.0
//
// The content of a commit: its trees and paths, the objects of its submodules, single files, ids
// and differences.
#include "runner/git/handle.h"

#include "runner/child/files.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

// The root tree of a commit, or of a submodule in it, and its name in errors.
struct git_root {
    git_tree *tree;
    const char *commit; // the outermost commit
    const char *within; // path of the submodule; "" if it is in none
};

// Limits for the depth and the number of files, for an export and everything else.
enum { GIT_DEPTH_MAX = 128, GIT_ENTRIES_MAX = 1000000 };

// Finds where the objects of a commit's submodules are on this machine.
//
// What a commit says about its submodules is hostile: .gitmodules, their names, their paths.
// Nothing is downloaded, and .gitmodules is only used for the name that belongs to a path. Objects
// are taken only from folders of the repository itself, which no commit can make: its
// .git/modules/NAME, the same folder of the present worktree, and .git in the submodule's checkout.
// A name or a link that leads out of these is not followed. Their configuration is not read. Only
// objects are read, and each is checked against the id to which the commit above pins it.

// A repository, or a submodule of one, while its tree is read.
struct submodule_level {
    git_repository *git; // the repository with its objects
    bool owned;          // `git` is closed with the level
    char **folders;      // real paths of folders, each of which may contain repositories of its
                         // submodules by name
    size_t folder_count, folder_room;
    char *home;               // the git directory that the first of them lies in, or would lie in
    char *work;               // real path of its checkout; NULL: it has none
    char *path;               // path from the outermost checkout; "" for that itself
    const char *outermost;    // path of the outermost submodule on the way; NULL: there is none
    struct config_file names; // the content of its .gitmodules
};

// A further result beside 0, -1 and enum export_end: .gitmodules names no submodule at the path, so
// nobody can fetch it. `err` is empty.
enum { SUBMODULE_NAMELESS = EXPORT_LACKS + 1 };

// ---- trees and paths
//
// git keeps the names of a tree in a fixed order, each once. A tree made by hand
// may contain a name twice. Of two such folders one reader finds the first and another reads both,
// so the files that were reviewed and those that are built may differ. Such a tree is never read.

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// Finds a name that occurs twice. A file and a folder of one name may have other names between
// them, because they are sorted as "a" and "a/".
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

// Finds the first name that is out of order, which git's lookup by name may miss.
static const char *misplaced_name(const git_tree *tree)
{
    for (size_t i = 1; i < git_tree_entrycount(tree); i++) {
        const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
        if (git_tree_entry_cmp(git_tree_entry_byindex(tree, i - 1), entry) >= 0)
            return git_tree_entry_name(entry);
    }
    return NULL;
}

// Finds the first name with a '/', which would look like a file in a folder.
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

// Loads the tree with that id; errors say that it is at `where` in the commit.
static int load_tree(git_tree **out, git_repository *git, const git_oid *id, const char *commit,
                     const char *where, struct error *err)
{
    enum {
        TREE_BYTES_MAX = 64 << 20
    }; // enough for a million files; a tree is read into memory as
       // a whole
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

// Loads the tree at a path below the root. The caller frees.
static int git_sound_tree(git_tree **out, const struct git_root *root, const git_oid *id,
                          const char *path, struct error *err)
{
    char *where = *root->within ? xprintf("%s/%s", root->within, path) : xstrdup(path);
    const int code = load_tree(out, git_tree_owner(root->tree), id, root->commit, where, err);
    free(where);
    return code;
}

// Loads the tree of a commit, given by its full id. The caller frees. Also fails if the tree has a
// name twice, out of order or with a slash; so do the next two functions.
static int git_tree_of(git_tree **out, const struct repository *repository, const char *commit,
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

// Normalises a path as people write it: "./a/b/" becomes a/b; "" and "." are the whole tree. The
// caller frees.
static char *git_plain_path(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    char *copy = xstrdup(strcmp(path, ".") == 0 ? "" : path);
    size_t length = strlen(copy);
    while (length > 0 && copy[length - 1] == '/')
        copy[--length] = '\0';
    return copy;
}

// Finds the entry of a plain path. *out stays NULL when the path is not in the tree. For a path
// inside a submodule it is the submodule's entry, and *rest is the part inside, else "". The caller
// frees the entry. The path is followed part by part, because libgit2's own lookup does not check a
// tree as a whole.
static int git_find_way(git_tree_entry **out, const char **rest, const struct git_root *root,
                        const char *path, struct error *err)
{
    git_tree *folder = NULL; // the folder that contains `part`; NULL: the root
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
// Places are compared as real paths, so that nothing outside of the repository's own
// folders is opened, whatever a name contains.

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

// Begins with the repository itself; submodule_leave() ends it, also on failure.
static void submodule_top(struct submodule_level *out, const struct repository *repository)
{
    const char *work = git_repository_workdir(repository->git);
    *out = (struct submodule_level){.git = repository->git, .path = xstrdup("")};
    out->home = realpath(git_repository_path(repository->git), NULL);
    out->work = work ? realpath(work, NULL) : NULL;
    // In a worktree, its own folders come first.
    add_folder(out, git_repository_path(repository->git));
    add_folder(out, git_repository_commondir(repository->git));
}

static void submodule_leave(struct submodule_level *level)
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

// ---- the submodule's name in .gitmodules

// A path of the level, relative to the outermost checkout. The caller frees.
static char *below(const struct submodule_level *level, const char *path)
{
    return *level->path ? xprintf("%s/%s", level->path, path) : xstrdup(path);
}

// Reads .gitmodules of the level's root tree.
static int submodule_names(struct submodule_level *level, const git_tree *root, struct error *err)
{
    enum { TEXT_MOST = 1 << 20, ENTRIES_MOST = 10000 };
    const git_tree_entry *entry = git_tree_entry_byname(root, ".gitmodules");
    git_blob *blob = NULL;
    git_odb *odb = NULL;
    git_object_t type;
    size_t size = 0;
    if (!entry || git_tree_entry_type(entry) != GIT_OBJECT_BLOB ||
        git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return 0; // git reads no other file either
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

// Finds the name of the submodule at a path. .gitmodules may have the path as people write it, with
// a '/' at the end or a "./" in front. The last line that matches counts.
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

// Whether a submodule's name, which is a folder below .git/modules, stays inside that.
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

// Adds the objects of a git directory to those that are searched, if it is one.
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

// Follows the file .git of a checkout, if it leads to one of the level's folders: older commits may
// know a submodule by other names.
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

// ---- what to do if objects are missing

// Whether a text can safely be printed as part of a command that somebody will copy.
static bool is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-/";
    return *text != '-' && text[strspn(text, plain)] == '\0';
}

// The command to type. `out` has a home if the submodule's repository exists and lacks the commit.
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

// ---- entering a submodule

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

// Enters the submodule at `path` of the level, which is pinned to `commit`. Sets the tree, which
// the caller frees; the caller has set the outermost commit. It is valid as long as the level.
static int submodule_enter(struct submodule_level *out, struct git_root *root,
                           const struct submodule_level *level, const char *path,
                           const git_oid *commit, struct error *err)
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

// Finds the entry of a path as people write it. For a path inside a submodule it is the submodule's
// entry.
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

// Lists names. `folder` is relative to the path that was asked for, with a '/' at the end, or "".
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
    // The size is checked first, because a blob is read into memory as a whole.
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

// Reads a file at a plain path of the level; errors name it by the label.
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
        // Inner levels have read them already.
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
    options.pathspec.strings = (char **)(uintptr_t)paths; // nobody writes to these
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

// ==== export ====
//
// Writes the tree itself instead of using libgit2's checkout: no index, no filters, no attributes
// and no configuration take part. Files, links and folders are newly made (O_EXCL, links are not
// followed) below an open directory, so that a name that would lead elsewhere fails.

struct export_job {
    const char *commit;
    struct export_terms terms;
    struct exported told;
    const struct submodule_level *level; // the level of the tree that is being written
    bool look;                           // nothing is written, and the descriptors `at` are not
                                         // used
    size_t entries, submodules;
    uint64_t bytes;
    struct error *err;
};

// ---- files, links and folders

enum { LINK_BYTES_MAX = 4096 };

// A file is in memory while it is written, and a few compressed bytes can become any number of
// them.
static const uint64_t export_bytes_max = (uint64_t)4 << 30, file_bytes_max = (uint64_t)1 << 30;

// Refuses something for which the commit is to blame: EXPORT_REFUSED.
static int export_refuse(struct export_job *job, const char *name, const char *why)
{
    error_set(job->err, "commit %.12s cannot be exported: '%.200s' %s", job->commit, name, why);
    return EXPORT_REFUSED;
}

static int fail_file(struct export_job *job, const char *name)
{
    if (errno == EEXIST)
        return export_refuse(job, name, "is there twice (or differs in case only)");
    if (errno == ENAMETOOLONG || errno == EILSEQ || errno == EINVAL)
        return export_refuse(job, name, "is no name for this file system");
    return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, strerror(errno));
}

// Whether a link stays inside the export. It may go up at its beginning, at most to the export's
// root, and then only down. A later ".." could pass through another link and lead elsewhere than it
// appears to.
static bool link_stays_inside(const char *target, int depth)
{
    if (*target == '/' || !*target)
        return false;
    int climbed = 0;
    while (strncmp(target, "..", 2) == 0 && (target[2] == '/' || !target[2])) {
        climbed++;
        target += target[2] ? 3 : 2;
        while (*target == '/')
            target++;
    }
    for (const char *at = target; (at = strstr(at, "..")); at += 2) {
        bool part = (at == target || at[-1] == '/') && (at[2] == '/' || !at[2]);
        if (part)
            return false;
    }
    return climbed <= depth;
}

static int write_file(struct export_job *job, int at, const char *name, const git_blob *blob,
                      bool executable)
{
    const char *bytes = git_blob_rawcontent(blob);
    size_t left = (size_t)git_blob_rawsize(blob);
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    executable ? 0777 : 0666);
    if (fd < 0)
        return fail_file(job, name);
    while (left > 0) {
        ssize_t written = write(fd, bytes, left);
        if (written < 0 && errno != EINTR)
            break;
        bytes += written > 0 ? written : 0;
        left -= written > 0 ? (size_t)written : 0;
    }
    int result = left > 0 ? fail_file(job, name) : 0;
    if (close(fd) && result == 0)
        result = fail_file(job, name);
    return result;
}

static int write_link(struct export_job *job, int at, const char *name, const git_blob *blob,
                      int depth)
{
    char *target = xcalloc((size_t)git_blob_rawsize(blob) + 1, 1);
    memcpy(target, git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob));
    int result = 0;
    if (strlen(target) != (size_t)git_blob_rawsize(blob) || !link_stays_inside(target, depth))
        result = export_refuse(job, name, "is a link out of the export");
    else if (symlinkat(target, at, name))
        result = fail_file(job, name);
    free(target);
    return result;
}

static void export_see(struct export_seen *seen, const struct export_job *job, const char *folder,
                       const char *name)
{
    const char *path = job->level->path;
    if (seen->count++ > 0)
        return;
    snprintf(seen->first, sizeof(seen->first), "%s%s%s%s", path, *path ? "/" : "", folder, name);
    for (char *at = seen->first; *at; at++)
        *at = iscntrl((unsigned char)*at) ? '?' : *at; // the name becomes a part of one line
}

// Whether a blob is a Git LFS pointer, which stands in place of a file.
static bool is_pointer(const git_blob *blob)
{
    static const char begin[] = "version https://git-lfs.github.com/spec/v1\n";
    enum { POINTER_MOST = 1024 };
    const git_object_size_t size = git_blob_rawsize(blob);
    return size >= strlen(begin) && size < POINTER_MOST &&
           memcmp(git_blob_rawcontent(blob), begin, strlen(begin)) == 0;
}

// Finds the blob's size, and refuses a blob that is too large for the memory.
static int weigh(struct export_job *job, const git_tree_entry *entry)
{
    const char *name = git_tree_entry_name(entry);
    git_odb *odb = NULL;
    size_t size = 0;
    git_object_t type;
    int code = git_repository_odb(&odb, job->level->git);
    if (code == 0)
        code = git_odb_read_header(&size, &type, odb, git_tree_entry_id(entry));
    git_odb_free(odb);
    job->bytes += size;
    if (code)
        return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, git_words());
    if (job->bytes > export_bytes_max)
        return export_refuse(job, name, "makes the export larger than 4 GiB");
    if (size > file_bytes_max)
        return export_refuse(job, name, "is larger than 1 GiB");
    if (size > LINK_BYTES_MAX && git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return export_refuse(job, name, "is a link out of the export");
    if (job->terms.allowed_bytes && size > job->terms.allowed_bytes)
        return export_refuse(job, name, "is larger than the memory that building it may take");
    if (size > job->terms.free_bytes)
        return error_set(job->err,
                         "exporting %.12s: '%.200s' of %zu bytes needs more memory than is free",
                         job->commit, name, size);
    return 0;
}

// Writes a file or link into the open folder `at`, which lies `depth` levels below the export's
// root. `folder` is its path in the level's tree, with a '/' at the end, or "".
static int export_blob(struct export_job *job, int at, const git_tree_entry *entry,
                       const char *folder, int depth)
{
    const char *name = git_tree_entry_name(entry);
    git_blob *blob = NULL;
    int result = weigh(job, entry);
    if (result)
        return result;
    if (git_blob_lookup(&blob, job->level->git, git_tree_entry_id(entry)))
        return error_set(job->err, "exporting %.12s: '%.200s': %s", job->commit, name, git_words());
    if (is_pointer(blob))
        export_see(&job->told.pointers, job, folder, name);
    git_filemode_t mode = git_tree_entry_filemode(entry);
    if (mode == GIT_FILEMODE_LINK)
        result = write_link(job, at, name, blob, depth);
    else
        result = write_file(job, at, name, blob, mode == GIT_FILEMODE_BLOB_EXECUTABLE);
    git_blob_free(blob);
    return result;
}

// Makes a folder in `at` and opens it. -1: it failed; -2: the commit is to blame.
static int export_folder(struct export_job *job, int at, const char *name)
{
    if (mkdirat(at, name, 0777))
        return fail_file(job, name) == EXPORT_REFUSED ? -2 : -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail_file(job, name);
    return fd;
}

// Opens the folder that contains the path's last part, and makes missing folders on the way.
static int export_parent(struct export_job *job, int root, const char *path, int *depth)
{
    char *copy = xstrdup(path), *save = NULL;
    char *last = strrchr(copy, '/');
    if (last)
        *last = '\0';
    int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
    for (char *part = last ? strtok_r(copy, "/", &save) : NULL; part && at >= 0;
         part = strtok_r(NULL, "/", &save)) {
        int next = -1;
        if (mkdirat(at, part, 0777) == 0 || errno == EEXIST)
            next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            fail_file(job, path);
        close(at);
        at = next;
        ++*depth;
    }
    free(copy);
    return at;
}

enum { SUBMODULES_MAX = 1000 };

static bool bad_name(const char *name)
{
    return !*name || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strcasecmp(name, ".git") == 0;
}

static int export_tree(struct export_job *job, int at, const struct git_root *root,
                       const git_tree *tree, const char *folder, int depth);

static int export_path(struct export_job *job, int top, const struct git_root *root,
                       const char *path, int depth, size_t *found);

// Whether the policy says that the build needs nothing of this submodule.
static bool left_out(const struct export_job *job, const char *path)
{
    const char *outer = job->level->path;
    char *whole = *outer ? xprintf("%s/%s", outer, path) : xstrdup(path);
    bool found = false;
    for (size_t i = 0; !found && i < job->terms.without_count; i++) {
        char *plain = git_plain_path(job->terms.without[i]);
        found = strcmp(plain, whole) == 0;
        free(plain);
    }
    free(whole);
    return found;
}

// Writes the submodule at `path` of the level into the open folder: all of it, or the part at
// `rest`.
static int export_submodule(struct export_job *job, int at, const git_oid *commit, const char *path,
                            const char *rest, int depth, size_t *found)
{
    const struct submodule_level *outer = job->level;
    struct submodule_level inner = {0};
    struct git_root root = {.commit = job->commit};
    if (left_out(job, path))
        return 0;
    if (++job->submodules > SUBMODULES_MAX)
        return export_refuse(job, path, "is one submodule too many");
    int result = submodule_enter(&inner, &root, outer, path, commit, job->err);
    if (result == SUBMODULE_NAMELESS) { // git leaves such a folder empty, too
        export_see(&job->told.nameless, job, "", path);
        result = 0;
    } else if (result == 0) {
        job->level = &inner;
        result = export_path(job, at, &root, rest, depth, found);
        job->level = outer;
    }
    git_tree_free(root.tree);
    submodule_leave(&inner);
    return result;
}

// Exports the entries below a folder that was made for them. `folder` is its path, with a '/' at
// the end, or "".
static int export_below(struct export_job *job, int at, const struct git_root *root,
                        const git_tree_entry *entry, const char *folder, int depth)
{
    git_tree *tree = NULL;
    size_t found = 0;
    int result;
    char *path = xprintf("%s%s", folder, git_tree_entry_name(entry));
    if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) {
        result = export_submodule(job, at, git_tree_entry_id(entry), path, "", depth, &found);
    } else {
        char *below = xprintf("%s/", path);
        result = git_sound_tree(&tree, root, git_tree_entry_id(entry), path, job->err);
        if (result == 0)
            result = export_tree(job, at, root, tree, below, depth);
        free(below);
    }
    git_tree_free(tree);
    free(path);
    return result;
}

// Exports an entry; `depth` is the number of levels from the export's root to `at`.
static int export_entry(struct export_job *job, int at, const struct git_root *root,
                        const git_tree_entry *entry, const char *folder, int depth)
{
    const char *name = git_tree_entry_name(entry);
    if (bad_name(name))
        return export_refuse(job, name, "is not a name a file may have");
    if (++job->entries > GIT_ENTRIES_MAX)
        return export_refuse(job, name, "is one file too many");
    if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
        return job->look ? 0 : export_blob(job, at, entry, folder, depth);
    if (depth >= GIT_DEPTH_MAX)
        return export_refuse(job, name, "is too deep");
    int fd = job->look ? -1 : export_folder(job, at, name);
    if (fd < 0 && !job->look)
        return fd == -2 ? EXPORT_REFUSED : -1;
    int result = export_below(job, fd, root, entry, folder, depth + 1);
    if (fd >= 0)
        close(fd);
    return result;
}

static int export_tree(struct export_job *job, int at, const struct git_root *root,
                       const git_tree *tree, const char *folder, int depth)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < git_tree_entrycount(tree); i++)
        result = export_entry(job, at, root, git_tree_entry_byindex(tree, i), folder, depth);
    return result;
}

// Whether an earlier or a longer-reaching path of the list covers this one, too.
static bool covered(char *const *paths, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(paths[i]);
        if (i == index || strncmp(paths[i], paths[index], length) != 0)
            continue;
        char after = paths[index][length];
        if (length == 0 || after == '/' || (after == '\0' && i < index))
            return true;
    }
    return false;
}

// Writes the whole tree, or what is at the path, into the open folder `top`.
static int export_path(struct export_job *job, int top, const struct git_root *root,
                       const char *path, int depth, size_t *found)
{
    const char *rest;
    git_tree_entry *entry = NULL;
    if (!*path) {
        ++*found;
        return export_tree(job, top, root, root->tree, "", depth);
    }
    if (git_find_way(&entry, &rest, root, path, job->err))
        return -1;
    if (!entry)
        return 0;
    // The length up to the entry, or up to the submodule if the path continues inside one.
    const size_t length = *rest ? (size_t)(rest - path) - 1 : strlen(path);
    char *own = xprintf("%.*s", (int)length, path);
    char *folder = xstrdup(own), *last = strrchr(folder, '/');
    (last ? last + 1 : folder)[0] = '\0';
    char *way = *rest ? xprintf("%s/", own) : xstrdup(own);
    int at = job->look ? -1 : export_parent(job, top, way, &depth), result = -1;
    const bool ready = at >= 0 || job->look;
    if (ready && *rest)
        result = export_submodule(job, at, git_tree_entry_id(entry), own, rest, depth, found);
    else if (ready)
        result = (++*found, export_entry(job, at, root, entry, folder, depth));
    if (at >= 0)
        close(at);
    free(way);
    free(folder);
    free(own);
    git_tree_entry_free(entry);
    return result;
}

static int export_paths(struct export_job *job, int top, git_tree *tree, const char *const *paths,
                        size_t count)
{
    char **plain = xcalloc(count + 1, sizeof(*plain));
    const struct git_root root = {tree, job->commit, ""};
    size_t used = count ? count : 1, found = 0;
    for (size_t i = 0; i < used; i++)
        plain[i] = git_plain_path(count ? paths[i] : "");
    int result = 0;
    for (size_t i = 0; result == 0 && i < used; i++) {
        const size_t before = found;
        if (covered(plain, used, i))
            continue;
        result = export_path(job, top, &root, plain[i], 0, &found);
        if (found == before)
            export_see(&job->told.absent, job, "", plain[i]);
    }
    if (result == 0 && found == 0)
        result = export_refuse(job, plain[0],
                               used > 1 ? "and the other inputs are not in it" : "is not in it");
    for (size_t i = 0; i < used; i++)
        free(plain[i]);
    free(plain);
    return result;
}

int repository_export(struct exported *out, const struct repository *repository, const char *commit,
                      const char *const *paths, size_t count, const struct export_terms *terms,
                      const char *directory, struct error *err)
{
    assert(directory[0] == '/');
    struct submodule_level level;
    struct export_job job = {.commit = commit, .terms = *terms, .level = &level, .err = err};
    git_tree *tree = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    int result = -1, root = -1;
    submodule_top(&level, repository);
    if (mkdir(directory, 0777)) {
        error_set(err, "%s: cannot make the directory: %s", directory, strerror(errno));
        goto done;
    }
    root = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0)
        error_set(err, "%s: %s", directory, strerror(errno));
    else if ((result = submodule_names(&level, tree, err)) == 0)
        result = export_paths(&job, root, tree, paths, count);
    struct error ignored;
    if (result)
        files_remove(directory, &ignored);
    else if (out)
        *out = job.told;
done:
    if (root >= 0)
        close(root);
    submodule_leave(&level);
    git_tree_free(tree);
    return result;
}

int repository_submodules(size_t *out, const struct repository *repository, const char *commit,
                          const char *const *paths, size_t count, const struct export_terms *terms,
                          struct error *err)
{
    struct submodule_level level;
    struct export_job job = {
        .commit = commit, .terms = *terms, .level = &level, .look = true, .err = err};
    git_tree *tree = NULL;
    if (git_tree_of(&tree, repository, commit, err))
        return -1;
    submodule_top(&level, repository);
    int result = submodule_names(&level, tree, err);
    if (result == 0)
        result = export_paths(&job, -1, tree, paths, count);
    *out = job.submodules - job.told.nameless.count;
    submodule_leave(&level);
    git_tree_free(tree);
    return result;
}
