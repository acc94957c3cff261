// SPDX-License-Identifier: Apache-2.0
//
// Finds a submodule's objects. Where they may be is compared as real paths, so that whatever a name
// is made of, nothing outside of the repository's own folders is opened.
#include "runner/git/submodule.h"

#include "runner/child/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- where

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

// ---- names

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

// ---- objects

static bool is_folder(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// No link is on the way, and none at its end.
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

// ---- what is missing

// Safe to print as a part of a command that somebody will copy.
static bool is_plain(const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-/";
    return *text != '-' && text[strspn(text, plain)] == '\0';
}

// What to type. `out` has a home where there is a repository of it, without the commit.
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
        result = git_load_tree(&root->tree, git, git_commit_tree_id((git_commit *)object),
                               root->commit, path, err);
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
