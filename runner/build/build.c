// SPDX-License-Identifier: Apache-2.0
//
// Builds a commit's kernels in the sandbox, or takes them from the cache. This covers the key of a
// build, the libraries that need not be made, the cache, and the build itself.
//
// The cache's layout:
//   KEY/state     "ok" or the reason of the failure, a newline, seconds
//   KEY/log       the build's log
//   KEY/parts     the libraries that a later build may take over
//   KEY/out/      the libraries and files, as code_settle() leaves them
//   KEY/stated/   the statements
//   KEY.lock      locked while KEY is being built
//   tmp-KEY-PID/  a build in progress, or left by a builder that was killed
//   tidied        its time says when the cache was last cleaned
#include "runner/build/build.h"

#include "model/buffer.h"
#include "runner/child/files.h"
#include "runner/code/code_id.h"
#include "runner/git/repository.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

// ==== overlays ====
//
// Walks over the folder once, in the order of names. The walk lists the files, one per line, and
// copies them if a target is given. The id is the hash of the list.

enum { FILES_MOST = 10000, DEPTH_MOST = 64 };
static const uint64_t bytes_most = (uint64_t)256 << 20;

struct overlay_walk {
    struct buffer *list;
    size_t files;
    uint64_t bytes;
};

static int wanted(const struct dirent *entry)
{
    static const char *const passed[] = {".", "..", ".git"};
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        if (strcmp(entry->d_name, passed[i]) == 0)
            return 0;
    }
    return 1;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); // alphasort() depends on the locale
}

static int list_file(struct overlay_walk *walk, const char *path, const char *name,
                     const struct stat *status, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    const size_t size = (size_t)status->st_size;
    walk->bytes += size;
    if (++walk->files > FILES_MOST || walk->bytes > bytes_most)
        return error_set(err, "an overlay has at most %d files and 256 MiB; %s is beyond",
                         FILES_MOST, path);
    char *bytes = xcalloc(size + 1, 1);
    FILE *file = fopen(path, "rbe");
    const bool whole = file && fread(bytes, 1, size + 1, file) == size && !ferror(file);
    if (file)
        fclose(file);
    if (whole)
        content_id(id, bytes, size);
    free(bytes);
    if (!whole)
        return error_set(err, "%s: cannot be read: %s", path,
                         file ? "it changes" : strerror(errno));
    buffer_printf(walk->list, "%s %d %zu:%s\n", id, (status->st_mode & 0100) != 0, strlen(name),
                  name);
    return 0;
}

static int visit_folder(struct overlay_walk *walk, const char *path, const char *name,
                        const char *to, int depth, struct error *err);

// Visits a file or folder. `name` is its path below the overlay, and below the copy's target.
static int visit(struct overlay_walk *walk, const char *path, const char *name, const char *to,
                 int depth, struct error *err)
{
    struct stat status;
    if (lstat(path, &status))
        return error_set(err, "%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return visit_folder(walk, path, name, to, depth, err);
    if (!S_ISREG(status.st_mode))
        return error_set(err, "%s: an overlay holds regular files and folders, no links or others",
                         path);
    if (to && files_copy(path, to, err))
        return -1;
    return list_file(walk, to ? to : path, name, &status, err);
}

static int visit_folder(struct overlay_walk *walk, const char *path, const char *name,
                        const char *to, int depth, struct error *err)
{
    struct dirent **entries = NULL;
    int result = 0;
    if (depth > DEPTH_MOST)
        return error_set(err, "%s: an overlay is at most %d folders deep", path, DEPTH_MOST);
    if (to && mkdir(to, 0777))
        return error_set(err, "%s: cannot make the directory: %s", to, strerror(errno));
    const int count = scandir(path, &entries, wanted, by_bytes);
    if (count < 0)
        return error_set(err, "%s: %s", path, strerror(errno));
    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        char *below = xprintf("%s/%s", path, entry),
             *copy = to ? xprintf("%s/%s", to, entry) : NULL;
        char *inner = *name ? xprintf("%s/%s", name, entry) : xstrdup(entry);
        if (result == 0)
            result = visit(walk, below, inner, copy, depth + 1, err);
        free(inner);
        free(copy);
        free(below);
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int read_overlay(char id[OBJECT_ID_TEXT], const char *directory, const char *to,
                        struct error *err)
{
    struct buffer text = {0};
    struct overlay_walk walk = {.list = &text};
    int result = visit_folder(&walk, directory, "", to, 0, err);
    if (result == 0)
        content_id(id, text.bytes ? text.bytes : "", text.length);
    buffer_free(&text);
    return result;
}

int overlay_open(struct overlay *out, const char *directory, struct arena *arena, struct error *err)
{
    char *absolute = realpath(directory, NULL);
    if (!absolute)
        return error_set(err, "overlay %s: %s", directory, strerror(errno));
    struct overlay overlay = {.directory = arena_strdup(arena, absolute)};
    free(absolute);
    if (read_overlay(overlay.id, overlay.directory, NULL, err))
        return -1;
    *out = overlay;
    return 0;
}

int overlay_copy(const struct overlay *overlay, const char *to, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (read_overlay(id, overlay->directory, to, err))
        return -1;
    if (strcmp(id, overlay->id) != 0)
        return error_set(err, "overlay %s: changed since this run began; start it again",
                         overlay->directory);
    return 0;
}

// ==== builds ====

enum { LOG_BYTES = 4 << 20, LOG_TAIL = 16384, ANCESTORS_MAX = 256 };

// Where a statement is checked: at another commit the same paths have other contents.
struct build_place {
    const struct repository *repository;
    const char *commit;
    const struct recipe *recipe;
};

// ---- how much memory may still be used
//
// Reads /proc/meminfo, and the limits of each control group from our own up to the root that
// a container shows.

enum { LINE = 4096 };

// Reads the number after `key` from a file with lines "key number"; with key "", from its first
// line.
static bool read_number(uint64_t *out, const char *root, const char *folder, const char *file,
                        const char *key)
{
    char line[LINE], *path = xprintf("%s%s/%s", root, folder, file);
    FILE *stream = fopen(path, "re");
    bool found = false;
    while (stream && !found && fgets(line, sizeof(line), stream)) {
        int64_t value;
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        char *text = line + strlen(key) + strspn(line + strlen(key), " ");
        text[strcspn(text, " \n")] = '\0';
        found = parse_int64(&value, text) == 0 && value >= 0;
        if (!found)
            break; // "max"
        *out = (uint64_t)value;
    }
    if (stream)
        fclose(stream);
    free(path);
    return found;
}

// The memory that a control group leaves free. Memory that caches files counts as free, because the
// system releases it when needed.
static uint64_t left_by(const char *root, const char *group)
{
    static const char *const yields[] = {"inactive_file ", "active_file ", "slab_reclaimable "};
    uint64_t most, taken, part;
    if (!read_number(&most, root, group, "memory.max", "") ||
        !read_number(&taken, root, group, "memory.current", ""))
        return UINT64_MAX;
    for (size_t i = 0; i < ARRAY_COUNT(yields); i++) {
        if (read_number(&part, root, group, "memory.stat", yields[i]))
            taken -= part < taken ? part : taken;
    }
    return taken < most ? most - taken : 0;
}

static uint64_t left_by_groups(const char *root)
{
    char line[LINE] = "", *path = xprintf("%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    bool unified = false;
    while (file && !unified && fgets(line, sizeof(line), file))
        unified = strncmp(line, "0::/", 4) == 0;
    if (file)
        fclose(file);
    free(path);
    line[strcspn(line, "\n")] = '\0';
    char *own = unified ? line + 3 : NULL;
    uint64_t least = UINT64_MAX;
    while (own) {
        char *group = xprintf("/sys/fs/cgroup%s", own), *end = strrchr(own, '/');
        const uint64_t left = left_by(root, group);
        least = left < least ? left : least;
        free(group);
        if (end)
            *end = '\0'; // now the group above
        else
            own = NULL;
    }
    return least;
}

uint64_t spare_memory_bytes(const char *root)
{
    uint64_t available_kib = 0;
    const uint64_t groups = left_by_groups(root);
    const uint64_t machine = read_number(&available_kib, root, "/proc", "meminfo", "MemAvailable:")
                                 ? available_kib * 1024
                                 : UINT64_MAX;
    const uint64_t least = groups < machine ? groups : machine;
    return least == UINT64_MAX ? least : least / 2;
}

// ---- the files that a build sees, and which of them may surprise

// Exports the commit to the directory. 1: that is not possible, and the build's state and reason
// say why.
static int build_source(struct build *build, struct exported *out, const struct build_place *place,
                        const char *directory, struct arena *arena, struct error *err)
{
    const struct recipe *recipe = place->recipe;
    struct error refused;
    const struct export_terms terms = {recipe->memory_bytes, spare_memory_bytes(""),
                                       recipe->without, recipe->without_count};
    const int code = repository_export(out, place->repository, place->commit, recipe->inputs,
                                       recipe->input_count, &terms, directory, &refused);
    if (code < 0)
        return error_set(err, "%s", refused.text);
    if (code == 0)
        return 0;
    build->state = code == EXPORT_LACKS ? BUILD_LACKING : BUILD_FAILED;
    build->reason = arena_strdup(arena, refused.text);
    build->log = "";
    return 1;
}

// Adds to the reason of a failed build how its files differ from those in a checkout.
static void build_source_seen(struct build *build, const struct exported *exported,
                              struct arena *arena)
{
    const struct {
        const struct export_seen *seen;
        const char *what;
    } kinds[] = {{&exported->pointers, "a pointer of Git LFS: its file is not in the commit"},
                 {&exported->nameless, "a submodule without a line in .gitmodules: it is empty"},
                 {&exported->absent, "an input that the commit does not have"}};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        const struct export_seen *seen = kinds[i].seen;
        if (seen->count == 1)
            build->reason =
                arena_printf(arena, "%s; '%s' is %s", build->reason, seen->first, kinds[i].what);
        else if (seen->count)
            build->reason = arena_printf(arena, "%s; '%s' is, with %zu more, %s", build->reason,
                                         seen->first, seen->count - 1, kinds[i].what);
    }
}

// ---- the key of a build
//
// A hash over its toolchain, recipe and inputs; each is a field with its length.

// Version 4: the output of a build is kept in the form of code_settle(), without debug information
// of cubins.
enum { KEY_VERSION = 4 };

// Adds a field. It carries its length, so that two different lists of fields never give the same
// text.
static void build_key_field(struct buffer *to, const char *name, const char *value)
{
    buffer_printf(to, "%s %zu:%s\n", name, strlen(value), value);
}

// Adds everything except the inputs: format, toolchain, command, output pattern, overlay,
// environment.
static void build_key_recipe(struct buffer *to, const struct builder *builder,
                             const struct recipe *recipe)
{
    buffer_printf(to, "plumb build %d\n", KEY_VERSION);
    build_key_field(to, "toolchain", builder->toolchain->text);
    build_key_field(to, "command", recipe->command);
    build_key_field(to, "outputs", recipe->outputs);
    if (recipe->overlay)
        build_key_field(to, "overlay", recipe->overlay->id);
    for (size_t i = 0; i < recipe->without_count; i++)
        build_key_field(to, "without", recipe->without[i]);
    for (size_t i = 0; i < recipe->environment_count; i++) {
        const char *value = getenv(recipe->environment[i]);
        build_key_field(to, "name", recipe->environment[i]);
        build_key_field(to, value ? "value" : "unset", value ? value : "");
    }
}

// Turns a commit's key into that of the same content built as an untrusted head.
static void build_key_of_head(char key[OBJECT_ID_TEXT])
{
    char *text = xprintf("plumb head %s\n", key);
    content_id(key, text, strlen(text));
    free(text);
}

// Adds .gitmodules to the key, because a submodule that it does not name becomes an empty folder. A
// commit without that file adds nothing.
static int build_key_submodules(struct buffer *to, const struct repository *repository,
                                const char *commit, struct error *err)
{
    char id[OBJECT_ID_TEXT];
    if (repository_path_id(id, repository, commit, ".gitmodules", err))
        return -1;
    if (id[0])
        build_key_field(to, "submodules", id);
    return 0;
}

static int add_inputs(struct buffer *to, const struct repository *repository, const char *commit,
                      const struct recipe *recipe, struct error *err)
{
    if (build_key_submodules(to, repository, commit, err))
        return -1;
    for (size_t i = 0; i < (recipe->input_count ? recipe->input_count : 1); i++) {
        const char *path = recipe->input_count ? recipe->inputs[i] : "";
        char id[OBJECT_ID_TEXT];
        if (repository_path_id(id, repository, commit, path, err))
            return -1;
        build_key_field(to, "input", path);
        build_key_field(to, "object", id);
    }
    return 0;
}

int build_key(char out[OBJECT_ID_TEXT], const struct builder *builder,
              const struct repository *repository, const char *commit, const struct recipe *recipe,
              struct error *err)
{
    struct buffer text = {0};
    build_key_recipe(&text, builder, recipe);
    int result = add_inputs(&text, repository, commit, recipe, err);
    if (result == 0)
        content_id(out, text.bytes, text.length);
    buffer_free(&text);
    return result;
}

// ---- parts
//
// Libraries of one build that the next one need not make. A build may state what a library was made
// from, in a file beside it (build.h describes its form). A trusted build is kept with a file
// `parts`, which has a line for each such library:
//   PART NAME
// PART is the content id of the recipe, the toolchain, the library's name, and each stated path and
// name with its content at the commit. Equal parts mean equal libraries, if the statement is true.
// Only builds of trusted commits have parts, so only trusted statements are believed.

enum { STATEMENT_MAX = 1 << 20, PARTS_MAX = 1 << 20, NAME_MAX_BYTES = 200 };

// A commit's inputs, which are read once for all libraries.
struct inputs_view {
    const struct build_place *place;
    char recipe[OBJECT_ID_TEXT]; // recipe, toolchain, environment and submodules
    struct path_list names;
    struct arena arena;
};

static int open_view(struct inputs_view *view, const struct builder *builder,
                     const struct build_place *place, struct error *err)
{
    const struct recipe *recipe = place->recipe;
    struct buffer text = {0}, *to = &text;
    *view = (struct inputs_view){.place = place};
    build_key_recipe(to, builder, recipe);
    for (size_t i = 0; i < recipe->input_count; i++)
        build_key_field(to, "input", recipe->inputs[i]);
    // The names of a submodule's files are not listed here: a new commit of a submodule changes all
    // libraries' parts.
    int status = repository_names(&view->names, place->repository, place->commit, recipe->inputs,
                                  recipe->input_count, &view->arena, err);
    if (status == 0 && view->names.submodules[0]) {
        build_key_field(to, "pinned", view->names.submodules);
        status = build_key_submodules(to, place->repository, place->commit, err);
    }
    if (status == 0)
        content_id(view->recipe, text.bytes, text.length);
    buffer_free(&text);
    return status;
}

static void add_names(struct buffer *to, const struct inputs_view *view, const char *pattern)
{
    build_key_field(to, "names", pattern);
    for (size_t i = 0; i < view->names.count; i++) {
        if (fnmatch(pattern, view->names.items[i], 0) == 0)
            build_key_field(to, "name", view->names.items[i]);
    }
}

// Adds a path with its content. False when the commit has no such path.
static bool add_path(struct buffer *to, const struct inputs_view *view, const char *path)
{
    char id[OBJECT_ID_TEXT];
    struct error ignored;
    if (repository_path_id(id, view->place->repository, view->place->commit, path, &ignored) ||
        !id[0])
        return false;
    build_key_field(to, "path", path);
    build_key_field(to, "object", id);
    return true;
}

static bool add_statement(struct buffer *to, const struct inputs_view *view, char *statement)
{
    bool any_path = false, any_names = false;
    char *rest = statement;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (!*line)
            continue;
        if (strpbrk(line, "*?[")) {
            add_names(to, view, line);
            any_names = true;
        } else if (add_path(to, view, line)) {
            any_path = true;
        } else {
            return false;
        }
    }
    if (!any_names)
        add_names(to, view, "*");
    return any_path;
}

// Computes the part of a library from its statement in `folder`. False when it has none.
static bool find_part(char part[OBJECT_ID_TEXT], const struct inputs_view *view, const char *folder,
                      const char *name)
{
    char *path = xprintf("%s/%s" BUILD_STATEMENT, folder, name);
    char *statement = files_read(path, STATEMENT_MAX);
    struct buffer text = {0};
    build_key_field(&text, "recipe", view->recipe);
    build_key_field(&text, "library", name);
    const bool stated = statement && add_statement(&text, view, statement);
    if (stated)
        content_id(part, text.bytes, text.length);
    buffer_free(&text);
    free(statement);
    free(path);
    return stated;
}

// The name of a library that lies directly in PLUMB_OUT and consists of plain characters; NULL for
// others, which have no part.
static const char *plain_name(const char *library, const char *folder)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
    size_t length = strlen(folder);
    if (strncmp(library, folder, length) != 0 || library[length] != '/')
        return NULL;
    const char *name = library + length + 1;
    size_t used = strspn(name, plain);
    return used > 0 && used <= NAME_MAX_BYTES && !name[used] && name[0] != '.' ? name : NULL;
}

// Writes DIRECTORY/parts for a finished build. A library without a statement has no part, nor has
// one that states a path that the commit does not have. If the commit's inputs contain symbolic
// links, no library has a part, because a path then does not tell what was read.
static int build_parts_write(const char *directory, const struct build *build,
                             const struct builder *builder, const struct build_place *place,
                             struct error *err)
{
    char *path = xprintf("%s/parts", directory), *out = xprintf("%s/made", directory);
    char *folder = realpath(out, NULL); // in the form in which libraries are named
    struct inputs_view view = {0};
    FILE *file = NULL;
    int status = 0;
    if (!folder || build->library_count == 0)
        goto done;
    status = open_view(&view, builder, place, err);
    if (status == 0 && !view.names.links) {
        file = fopen(path, "wxe");
        status = file ? 0 : error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
    }
    for (size_t i = 0; file && i < build->library_count; i++) {
        const char *name = plain_name(build->libraries[i], folder);
        char part[OBJECT_ID_TEXT];
        if (name && find_part(part, &view, folder, name))
            fprintf(file, "%s %s\n", part, name);
    }
    const bool failed = file && ferror(file);
    if (file && (fclose(file) || failed))
        status = error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
done:
    arena_free(&view.arena);
    free(folder);
    free(out);
    free(path);
    return status;
}

static bool take(const char *have, const char *directory, const char *name)
{
    static const char *const kinds[] = {"", BUILD_STATEMENT}, *const folders[] = {"out", "stated"};
    struct error ignored;
    bool taken = true;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        char *from = xprintf("%s/%s/%s%s", directory, folders[i], name, kinds[i]);
        char *to = xprintf("%s/%s%s", have, name, kinds[i]);
        taken = taken && files_copy(from, to, &ignored) == 0;
        if (!taken)
            files_remove(to, &ignored);
        free(to);
        free(from);
    }
    if (!taken) { // without its statement a library could not be passed on again
        char *to = xprintf("%s/%s", have, name);
        files_remove(to, &ignored);
        free(to);
    }
    return taken;
}

// Copies libraries of the kept build `directory` into `have`, with their statements, if their parts
// are the same at `place`. Those that cannot be read or copied are left out. Returns their number.
static size_t build_parts_offer(const char *have, const char *directory,
                                const struct builder *builder, const struct build_place *place)
{
    char *path = xprintf("%s/parts", directory), *folder = xprintf("%s/stated", directory);
    char *parts = files_read(path, PARTS_MAX), *rest = parts;
    struct inputs_view view = {0};
    struct error ignored;
    size_t count = 0;
    bool ready = parts && open_view(&view, builder, place, &ignored) == 0 && !view.names.links;
    for (char *line; ready && (line = strsep(&rest, "\n"));) {
        char *name = strchr(line, ' '), part[OBJECT_ID_TEXT];
        if (!name)
            continue;
        *name++ = '\0';
        if (find_part(part, &view, folder, name) && strcmp(part, line) == 0)
            count += take(have, directory, name);
    }
    arena_free(&view.arena);
    free(parts);
    free(folder);
    free(path);
    return count;
}

// ---- kept builds

// Returns a pattern that matches exactly this path, whatever characters it has.
static char *escape_pattern(const char *path)
{
    char *escaped = xcalloc(2 * strlen(path) + 1, 1), *to = escaped;
    for (; *path; path++) {
        if (strchr("*?[]\\{}~", *path))
            *to++ = '\\';
        *to++ = *path;
    }
    return escaped;
}

// 1: the file lies inside the folder; 0: it does not; -1: that cannot be known (errno). A library's
// name and kind may be hostile: links and files outside do not count.
static int is_inside(const char *file, const char *root)
{
    struct stat status;
    char real[PATH_MAX];
    size_t length = strlen(root);
    if (lstat(file, &status) || (S_ISREG(status.st_mode) && !realpath(file, real)))
        return errno == ENOENT ? 0 : -1;
    return S_ISREG(status.st_mode) && strncmp(real, root, length) == 0 && real[length] == '/';
}

// Finds the files that match any pattern of the list, whose patterns are separated by blanks.
static void find_matches(glob_t *found, const char *root, const char *outputs)
{
    char *escaped = escape_pattern(root);
    for (const char *at = outputs + strspn(outputs, " "); *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char *pattern = xprintf("%s/%.*s", escaped, (int)length, at);
        glob(pattern, found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
        free(pattern);
        at += length;
    }
    free(escaped);
}

static int by_path(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

// Finds the libraries below `directory` that match the patterns: regular files that really lie
// there, each once even if two patterns match. A build may leave any number. -1: one cannot be
// looked at (errno), so none counts: a list without it would say that it was not built.
static int build_cache_find(struct build *build, const char *directory, const char *outputs,
                            struct arena *arena)
{
    char root[PATH_MAX];
    glob_t found = {0};
    size_t count = 0;
    int status = 0;
    build->library_count = 0;
    if (!realpath(directory, root))
        return errno == ENOENT ? 0 : -1;
    find_matches(&found, root, outputs);
    const char **libraries = arena_alloc(arena, (found.gl_pathc + 1) * sizeof(*libraries));
    if (found.gl_pathc)
        qsort(found.gl_pathv, found.gl_pathc, sizeof(*found.gl_pathv), by_path);
    for (size_t i = 0; i < found.gl_pathc && status >= 0; i++) {
        const char *path = found.gl_pathv[i];
        if (count && strcmp(libraries[count - 1], path) == 0)
            continue;
        status = is_inside(path, root);
        if (status > 0)
            libraries[count++] = arena_strdup(arena, path);
    }
    const int failure = errno;
    if (found.gl_pathc)
        globfree(&found);
    errno = failure;
    if (status < 0)
        return -1;
    build->libraries = libraries;
    build->library_count = count;
    return 0;
}

static bool read_state(struct build *build, const char *directory, struct arena *arena)
{
    char *path = xprintf("%s/state", directory), *text = log_tail(path, 2048);
    char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
    bool ok = line && end && line > text;
    if (ok) {
        *line = *end = '\0';
        ok = parse_double(&build->seconds, line + 1) == 0;
        build->state = strcmp(text, "ok") == 0 ? BUILD_OK : BUILD_FAILED;
        build->reason = build->state == BUILD_OK ? "" : arena_strdup(arena, text);
        utimensat(AT_FDCWD, path, NULL, 0); // it is used now, so the prune keeps it longer
    }
    free(text);
    free(path);
    return ok;
}

// Loads a kept build. True when the key is there: fills in state, reason, seconds, libraries and
// log, and marks it as used.
static bool build_cache_load(struct build *out, const char *cache, const char *key,
                             const char *outputs, struct arena *arena)
{
    struct build build = {.cached = true};
    build.directory = arena_printf(arena, "%s/%s", cache, key);
    text_copy(build.key, sizeof(build.key), key);
    if (!read_state(&build, build.directory, arena))
        return false;
    char *where = xprintf("%s/out", build.directory), *log = xprintf("%s/log", build.directory);
    char real[PATH_MAX];
    build.out = arena_strdup(arena, realpath(where, real) ? real : "");
    const int found = build_cache_find(&build, where, outputs, arena);
    char *tail = log_tail(log, LOG_TAIL);
    build.log = arena_strdup(arena, tail);
    free(tail);
    free(log);
    free(where);
    // Somebody emptied it, or it cannot be looked at, so it counts as missing.
    if (found || (build.state == BUILD_OK && build.library_count == 0))
        return false;
    *out = build;
    return true;
}

// Whether the open file still has that name: a prune may have removed it while this process waited.
static bool is_named(int fd, const char *path)
{
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

int build_cache_lock(const char *cache, const char *key, struct error *err)
{
    char *path = xprintf("%s/%s.lock", cache, key);
    int fd = -1, code = -1;
    do {
        if (fd >= 0)
            close(fd);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        while (fd >= 0 && (code = flock(fd, LOCK_EX)) && errno == EINTR)
            ;
    } while (fd >= 0 && code == 0 && !is_named(fd, path));
    if (code) {
        error_set(err, "%s: cannot lock: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    free(path);
    return fd;
}

// Writes the state file of a finished build.
static int build_cache_state(const char *directory, const struct build *build, struct error *err)
{
    char *path = xprintf("%s/state", directory);
    FILE *file = fopen(path, "wxe");
    bool ok = file != NULL;
    if (file) {
        fprintf(file, "%s\n%.6f\n", build->state == BUILD_OK ? "ok" : build->reason,
                build->seconds);
        ok = fflush(file) == 0 && fsync(fileno(file)) == 0;
        ok = fclose(file) == 0 && ok;
    }
    if (!ok)
        error_set(err, "%s: cannot be written: %s", path, write_failure(errno));
    free(path);
    return ok ? 0 : -1;
}

// ---- making a build

static const double default_timeout_s = 600;

static const uint64_t file_bytes_max = (uint64_t)4 << 30, disk_bytes_usual = (uint64_t)16 << 30;

static const char inside_source[] = "/plumb/source";

static const char inside_build[] = "/plumb/build";

static const char inside_out[] = "/plumb/out";

static const char inside_have[] = "/plumb/have";

static const char inside_overlay[] = "/plumb/overlay";
static const char waiting[] = ".waiting"; // a file in $PLUMB_BUILD that exists until the command
                                          // begins

struct work {
    const struct builder *builder;
    const struct repository *repository;
    const char *commit;
    const struct recipe *recipe;
    const char *base; // of an untrusted head; NULL: the commit is trusted
    char *directory, *source, *build, *out, *have, *overlay, *log; // `out` is $PLUMB_OUT
    struct arena arena;                                            // holds the command line
};

static void open_work(struct work *work, const char *key)
{
    work->directory = xprintf("%s/tmp-%s-%ld", work->builder->cache, key, (long)getpid());
    work->source = xprintf("%s/source", work->directory);
    work->build = xprintf("%s/build", work->directory);
    work->out = xprintf("%s/made", work->directory);
    work->have = xprintf("%s/have", work->directory);
    work->overlay = xprintf("%s/overlay", work->directory);
    work->log = xprintf("%s/log", work->directory);
}

static void close_work(struct work *work)
{
    struct error ignored; // what remains is an abandoned build, which the next prune removes
    files_remove(work->directory, &ignored);
    free(work->directory);
    free(work->source);
    free(work->build);
    free(work->out);
    free(work->have);
    free(work->overlay);
    free(work->log);
    arena_free(&work->arena);
}

// Whether the toolchain sets the environment variable NAME.
static bool sets_variable(const struct toolchain *toolchain, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < toolchain->setting_count; i++) {
        const char *setting = toolchain->settings[i];
        if (strncmp(setting, name, length) == 0 && setting[length] == '=')
            return true;
    }
    return false;
}

static const char *const *environment(struct work *work)
{
    bool inside = work->builder->sandbox->active;
    const struct recipe *recipe = work->recipe;
    const struct toolchain *toolchain = work->builder->toolchain;
    const char *build = inside ? inside_build : work->build;
    const size_t most = recipe->environment_count + toolchain->setting_count + 15;
    const char **env = arena_alloc(&work->arena, most * sizeof(*env));
    size_t used = 0;
    env[used++] =
        arena_printf(&work->arena, "PLUMB_SOURCE=%s", inside ? inside_source : work->source);
    env[used++] = arena_printf(&work->arena, "PLUMB_BUILD=%s", build);
    env[used++] = arena_printf(&work->arena, "PLUMB_OUT=%s", inside ? inside_out : work->out);
    env[used++] = arena_printf(&work->arena, "PLUMB_HAVE=%s", inside ? inside_have : work->have);
    if (recipe->overlay)
        env[used++] =
            arena_printf(&work->arena, "PLUMB_OVERLAY=%s", inside ? inside_overlay : work->overlay);
    env[used++] = arena_printf(&work->arena, "PLUMB_JOBS=%ld", sysconf(_SC_NPROCESSORS_ONLN));
    env[used++] = arena_printf(&work->arena, "HOME=%s", build);
    env[used++] = arena_printf(&work->arena, "TMPDIR=%s", build);
    env[used++] = arena_printf(&work->arena, "PATH=%s", toolchain_path(toolchain, &work->arena));
    env[used++] = "LC_ALL=C.UTF-8";
    env[used++] = "SOURCE_DATE_EPOCH=0"; // so that __DATE__ does not make equal sources differ
    for (size_t i = 0; i < recipe->environment_count; i++) {
        const char *value = getenv(recipe->environment[i]);
        if (value && !sets_variable(toolchain, recipe->environment[i]))
            env[used++] = arena_printf(&work->arena, "%s=%s", recipe->environment[i], value);
    }
    if (toolchain->name)
        env[used++] = arena_printf(&work->arena, "PLUMB_TOOLCHAIN=%s", toolchain->name);
    for (size_t i = 0; i < toolchain->setting_count; i++)
        env[used++] = toolchain->settings[i];
    env[used] = NULL;
    return env;
}

static uint64_t smaller(uint64_t ours, uint64_t theirs, uint64_t usual)
{
    return (ours ? ours : usual) <= (theirs ? theirs : usual) ? ours : theirs;
}

void recipe_confine(struct recipe *out, const struct recipe *other)
{
    const double time_s = other->timeout_s > 0 ? other->timeout_s : default_timeout_s;
    if (!(out->timeout_s > 0 && out->timeout_s < time_s))
        out->timeout_s = time_s;
    out->memory_bytes = smaller(out->memory_bytes, other->memory_bytes, process_fair_memory());
    out->disk_bytes = smaller(out->disk_bytes, other->disk_bytes, disk_bytes_usual);
}

static struct process_limits limits_of(const struct work *work)
{
    const struct recipe *recipe = work->recipe;
    const uint32_t processors = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t many = processors > 16 ? 32 * processors : 512;
    return (struct process_limits){
        .time_s = recipe->timeout_s > 0 ? recipe->timeout_s : default_timeout_s,
        .memory_bytes = recipe->memory_bytes,
        .processes = recipe->processes ? recipe->processes : many,
        .file_bytes = file_bytes_max,
        .together_bytes = recipe->memory_bytes ? recipe->memory_bytes : process_fair_memory(),
        .disk_bytes = recipe->disk_bytes ? recipe->disk_bytes : disk_bytes_usual,
        .folders = {work->build, work->out, recipe->in_place ? work->source : NULL},
    };
}

static const char *const *command_line(struct work *work, const char *const *env)
{
    const struct recipe *recipe = work->recipe;
    const struct toolchain *toolchain = work->builder->toolchain;
    const char *prefix = toolchain->root ? NULL : toolchain->prefix;
    struct sandbox_bind *binds =
        arena_alloc(&work->arena, (recipe->folder_count + 6) * sizeof(*binds));
    size_t count = 0;
    if (prefix)
        binds[count++] = (struct sandbox_bind){prefix, prefix, false};
    for (size_t i = 0; i < recipe->folder_count; i++)
        binds[count++] = (struct sandbox_bind){recipe->folders[i], recipe->folders[i], false};
    // A captured program may have been built in place by its Makefile, or may write files beside
    // itself.
    binds[count++] = (struct sandbox_bind){work->source, inside_source, recipe->in_place};
    binds[count++] = (struct sandbox_bind){work->have, inside_have, false};
    if (recipe->overlay)
        binds[count++] = (struct sandbox_bind){work->overlay, inside_overlay, false};
    binds[count++] = (struct sandbox_bind){work->build, inside_build, true};
    binds[count++] = (struct sandbox_bind){work->out, inside_out, true};
    const struct process_limits limits = limits_of(work);
    size_t measured_on = 0; // a build makes room for processes that measure, and for no others
    processors_cores(&measured_on, &processors_here);
    const struct sandbox_view view = {.binds = binds,
                                      .bind_count = count,
                                      .env = env,
                                      .directory = inside_source,
                                      .root = toolchain->root,
                                      .gpu = recipe->gpu,
                                      .memory_bytes = limits.together_bytes,
                                      .tasks = limits.processes,
                                      .background = measured_on > 0};
    const char **argv = arena_alloc(&work->arena, 4 * sizeof(*argv));
    argv[0] = "sh";
    argv[1] = "-c";
    // If this file is still there afterwards, the command was never started.
    argv[2] = arena_printf(&work->arena, "rm -f \"$PLUMB_BUILD/%s\"; %s", waiting, recipe->command);
    return sandbox_argv(work->builder->sandbox, &view, argv, &work->arena);
}

static int run_command(struct process_result *result, struct work *work, struct error *err)
{
    bool inside = work->builder->sandbox->active;
    const char *const *env = environment(work);
    const struct process_plan plan = {
        .argv = command_line(work, env),
        .env = inside ? sandbox_environment(work->builder->sandbox, &work->arena) : env,
        .directory = inside ? NULL : work->source,
        .log_path = work->log,
        .log_bytes = LOG_BYTES,
        .limits = limits_of(work),
        .aside = &processors_here,
    };
    char *mark = xprintf("%s/%s", work->build, waiting);
    const int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int status =
        fd < 0 ? error_set(err, "%s: cannot be written: %s", mark, write_failure(errno)) : 0;
    if (fd >= 0)
        close(fd);
    if (status == 0)
        status = process_run(result, &plan, err);
    if (status == 0 && result->end == PROCESS_EXITED && result->code && access(mark, F_OK) == 0) {
        char *said = log_tail(work->log, 512);
        said[strcspn(said, "\n")] = '\0';
        status = error_set(err, "no build can begin here: %.400s", said);
        free(said);
    }
    free(mark);
    return status;
}

// Whether the build was ended from outside. A signal that kills bubblewrap itself comes from
// outside. systemd ends a scope by SIGTERM when a process had to be killed because of the scope's
// memory.
static bool ended_from_outside(const struct process_result *result)
{
    return result->end == PROCESS_SIGNALLED &&
           (result->code == SIGKILL || result->code == SIGTERM || result->code == SIGXCPU);
}

// Whether the disk is full. A build that fills it cannot always report that in its log, so the free
// space is checked.
static bool is_full(const char *folder)
{
    enum { LEAST_BYTES = 1 << 20 };
    struct statvfs disk;
    return statvfs(folder, &disk) == 0 &&
           ((double)disk.f_bavail * (double)disk.f_frsize < LEAST_BYTES ||
            (disk.f_files > 0 && disk.f_favail == 0));
}

// Whether this machine caused the failure and not the commit; such a failure must not be kept.
static bool ran_out(const struct process_result *result, const char *log, const char *folder)
{
    static const char *const signs[] = {
        "No space left on device", "Disk quota exceeded", "Cannot allocate memory", "out of memory",
        "virtual memory exhausted", "Killed signal terminated program", "Too many open files",
        // The same, reported by ld.so.
        "shared object file: Error 24", "File too large", "File size limit exceeded",
        "CPU time limit exceeded",
        "fork: retry", // reported by bash
        "Cannot fork", // reported by dash
        "Resource temporarily unavailable"};
    enum { SHELL_KILLED = 128 + SIGKILL, SHELL_TIMED = 128 + SIGXCPU };
    if (result->end == PROCESS_EXCEEDED || ended_from_outside(result))
        return true;
    if (result->end == PROCESS_EXITED &&
        (result->code == SHELL_KILLED || result->code == SHELL_TIMED))
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(signs); i++) {
        if (strstr(log, signs[i]))
            return true;
    }
    return is_full(folder);
}

// Whether a command was not found, as shells, make and ninja report it. Compilers report missing
// files in the same words.
static bool lacks_program(const struct process_result *result, const char *log)
{
    static const char *const ends[] = {": not found", ": command not found", " Error 127",
                                       "FAILED: [code=127]"};
    enum { SHELL_NOT_FOUND = 127 };
    if (result->end == PROCESS_EXITED && result->code == SHELL_NOT_FOUND)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        const size_t length = strlen(ends[i]);
        for (const char *at = log; (at = strstr(at, ends[i])); at += length) {
            if (!at[length] || at[length] == '\n' || at[length] == ' ')
                return true;
        }
    }
    return false;
}

// Judges a build. A command that failed may have made some of its libraries, which are still
// usable.
static void judge(struct build *build, const struct work *work, const struct process_result *result,
                  struct arena *arena)
{
    char ending[64], *log = log_tail(work->log, LOG_TAIL);
    process_describe(ending, sizeof(ending), result);
    build->log = arena_strdup(arena, log);
    build->seconds = result->wall_s;
    build->cpu_s = result->cpu_s;
    build->reason = "";
    if (result->end == PROCESS_TIMED_OUT) {
        build->state = BUILD_TIMEOUT;
        build->crowded = result->crowded;
        build->reason = result->crowded
                            ? arena_printf(arena, "%s, in which others had the processors", ending)
                            : arena_strdup(arena, ending);
    } else if (result->end != PROCESS_EXITED || result->code != 0) {
        build->state = ran_out(result, log, work->directory) ? BUILD_STARVED : BUILD_FAILED;
        build->reason =
            arena_printf(arena, "%s%s", ending,
                         build->state == BUILD_STARVED && result->end != PROCESS_EXCEEDED
                             ? ", out of memory or disk, or at a limit of this machine"
                             : "");
    } else {
        build->state = BUILD_OK;
    }
    if ((build->state == BUILD_OK || build->state == BUILD_FAILED) &&
        build_cache_find(build, work->out, work->recipe->outputs, arena)) {
        build->state = BUILD_STARVED;
        build->reason = arena_printf(arena, "what it made cannot be read: %s", strerror(errno));
    }
    if (build->state == BUILD_OK && build->library_count == 0) {
        build->state = BUILD_FAILED;
        build->reason = arena_printf(arena, "no file matches %s", work->recipe->outputs);
    }
    build->unkept =
        build->state == BUILD_FAILED && build->library_count == 0 && lacks_program(result, log);
    free(log);
}

static int make_directories(const struct work *work, struct error *err)
{
    struct error ignored;
    files_remove(work->directory, &ignored); // left by an earlier process with our process number
    const char *const made[] = {work->directory, work->build, work->out, work->have};
    for (size_t i = 0; i < ARRAY_COUNT(made); i++) {
        // Only this user may enter the first folder: what root's build makes there may run as root
        // for everybody.
        if (mkdir(made[i], i == 0 ? 0700 : 0777))
            return error_set(err, "%s: cannot make the directory: %s", made[i], strerror(errno));
    }
    return 0;
}

// Offers libraries of the nearest build of the trusted history that are unchanged here. That may be
// a build of the base itself, or of the commit's own past if the commit is trusted.
static void offer_libraries(const struct work *work)
{
    const struct builder *builder = work->builder;
    const struct build_place here = {work->repository, work->commit, work->recipe};
    struct arena arena = {0};
    struct commit commit;
    struct error ignored; // if anything goes wrong, nothing is offered and everything is built
    int status = repository_commit(&commit, work->repository,
                                   work->base ? work->base : work->commit, &arena, &ignored);
    for (size_t i = 0; status == 0 && i < ANCESTORS_MAX; i++) {
        char key[OBJECT_ID_TEXT];
        struct build earlier;
        status = build_key(key, builder, work->repository, commit.id, work->recipe, &ignored);
        if (status == 0 &&
            build_cache_load(&earlier, builder->cache, key, work->recipe->outputs, &arena) &&
            earlier.state == BUILD_OK) {
            build_parts_offer(work->have, earlier.directory, builder, &here);
            break;
        }
        status |= repository_parent(&commit, work->repository, &commit, &arena, &ignored);
    }
    arena_free(&arena);
}

static int export_and_run(struct build *build, struct work *work, struct arena *arena,
                          struct error *err)
{
    const struct recipe *recipe = work->recipe;
    struct process_result result;
    struct exported exported;
    const struct build_place place = {work->repository, work->commit, recipe};
    const int code = build_source(build, &exported, &place, work->source, arena, err);
    if (code)
        return code < 0 ? -1 : 0;
    if (recipe->overlay && overlay_copy(recipe->overlay, work->overlay, err))
        return -1;
    offer_libraries(work);
    if (run_command(&result, work, err))
        return -1;
    judge(build, work, &result, arena);
    if (build->state == BUILD_FAILED)
        build_source_seen(build, &exported, arena);
    return 0;
}

// Keeps what the command left. If it left more than is allowed, the build has failed and nothing of
// it is kept.
static int settle(struct build *build, const struct work *work, struct arena *arena,
                  struct error *err)
{
    const struct code_limits limits = {limits_of(work).disk_bytes};
    char *out = xprintf("%s/out", work->directory), *stated = xprintf("%s/stated", work->directory);
    struct error why;
    int status = mkdir(out, 0755) || mkdir(stated, 0755)
                     ? error_set(err, "%s: cannot make the directory: %s", out, strerror(errno))
                     : 0;
    if (status == 0 && build->library_count) {
        status = code_settle(work->out, out, stated, &limits, &why);
        if (status < 0)
            error_set(err, "%s", why.text);
    }
    if (status > 0) {
        if (build->state == BUILD_OK)
            build->reason = arena_strdup(arena, why.text);
        build->state = BUILD_FAILED;
        status = files_remove(out, err) || mkdir(out, 0755) ? -1 : 0;
    }
    free(stated);
    free(out);
    return status;
}

// Removes source and scratch, and renames the rest to the cache's entry.
static int keep(struct build *build, const struct work *work, struct arena *arena,
                struct error *err)
{
    const char *cache = work->builder->cache;
    char *final = xprintf("%s/%s", cache, build->key);
    int result = -1;
    const struct build_place place = {work->repository, work->commit, work->recipe};
    if (files_remove(work->source, err) || files_remove(work->build, err) ||
        files_remove(work->have, err) || files_remove(work->overlay, err) ||
        (!work->base && build->state == BUILD_OK &&
         build_parts_write(work->directory, build, work->builder, &place, err)) ||
        settle(build, work, arena, err) || files_remove(work->out, err) ||
        build_cache_state(work->directory, build, err))
        goto done;
    struct error ignored;
    files_remove(final, &ignored); // an emptied entry; an intact one would have been found
    if (rename(work->directory, final)) {
        error_set(err, "%s: cannot keep the build: %s", final, strerror(errno));
        goto done;
    }
    const double seconds = build->seconds, cpu_s = build->cpu_s;
    if (!build_cache_load(build, cache, build->key, work->recipe->outputs, arena)) {
        error_set(err, "%s: the build vanished; is the cache shared or the disk full?", final);
        goto done;
    }
    build->cached = false;
    build->seconds = seconds;
    build->cpu_s = cpu_s;
    result = 0;
done:
    free(final);
    return result;
}

static int build_now(struct build *out, struct work *work, const char *key, struct arena *arena,
                     struct error *err)
{
    struct build build = {.directory = "", .out = "", .reason = "", .log = ""};
    text_copy(build.key, sizeof(build.key), key);
    open_work(work, key);
    int result = make_directories(work, err);
    if (result == 0)
        result = export_and_run(&build, work, arena, err);
    if (result == 0 && (build.state == BUILD_OK || build.state == BUILD_FAILED) && !build.unkept)
        result = keep(&build, work, arena, err);
    close_work(work);
    if (result == 0)
        *out = build;
    return result;
}

// Finds a kept build, and the key that it has or will have. Builds of trusted commits serve
// everybody, builds of heads serve only heads.
static int find_kept(struct build *out, bool *found, char key[OBJECT_ID_TEXT],
                     const struct builder *builder, const struct repository *repository,
                     const char *commit, const char *base, const struct recipe *recipe,
                     struct arena *arena, struct error *err)
{
    if (build_key(key, builder, repository, commit, recipe, err))
        return -1;
    *found = build_cache_load(out, builder->cache, key, recipe->outputs, arena);
    if (!*found && base) {
        build_key_of_head(key);
        *found = build_cache_load(out, builder->cache, key, recipe->outputs, arena);
    }
    return 0;
}

int build_find(struct build *out, bool *found, const struct builder *builder,
               const struct repository *repository, const char *commit, const char *base,
               const struct recipe *recipe, struct arena *arena, struct error *err)
{
    char key[OBJECT_ID_TEXT];
    return find_kept(out, found, key, builder, repository, commit, base, recipe, arena, err);
}

int build_commit(struct build *out, const struct builder *builder,
                 const struct repository *repository, const char *commit, const char *base,
                 const struct recipe *recipe, struct arena *arena, struct error *err)
{
    char key[OBJECT_ID_TEXT];
    assert(builder->cache[0] == '/');
    if (recipe->outputs[0] == '/' || strstr(recipe->outputs, ".."))
        return error_set(err, "%s: the libraries' pattern must stay in PLUMB_OUT", recipe->outputs);
    bool found = false;
    if (find_kept(out, &found, key, builder, repository, commit, base, recipe, arena, err) ||
        (!found && files_make_directory(builder->cache, err)))
        return -1;
    if (found)
        return 0;
    struct statvfs disk;
    if (statvfs(builder->cache, &disk) == 0 && disk.f_flag & ST_NOEXEC)
        return error_set(err,
                         "%s: what is built there cannot be run, for its file system is mounted "
                         "noexec; name another folder by --cache",
                         builder->cache);
    int lock = build_cache_lock(builder->cache, key, err);
    if (lock < 0)
        return -1;
    int result = 0;
    if (!build_cache_load(out, builder->cache, key, recipe->outputs, arena)) {
        struct work work = {.builder = builder,
                            .repository = repository,
                            .commit = commit,
                            .base = base,
                            .recipe = recipe};
        result = build_now(out, &work, key, arena, err);
    }
    close(lock);
    return result;
}

// ==== removing builds ====
//
// Removes kept builds by age and size, and what killed builders left.

enum { KEY_LENGTH = 40, DAY_S = 86400 };

struct kept_build {
    char *path;
    struct timespec used;
    uint64_t bytes;
};
struct kept_list {
    struct kept_build *items;
    size_t count, capacity;
};

// Removes what a killed builder left, if its lock can be taken at once.
static int remove_abandoned(struct prune_result *result, const char *cache, const char *name,
                            struct error *err)
{
    char *lock = xprintf("%s/%.*s.lock", cache, KEY_LENGTH, name + 4);
    char *path = xprintf("%s/%s", cache, name);
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW), code = 0;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        result->bytes_removed += files_size(path);
        result->removed++;
        code = files_remove(path, err);
        unlink(lock);
    }
    if (fd >= 0)
        close(fd);
    free(lock);
    free(path);
    return code;
}

static void add_kept(struct kept_list *list, const char *cache, const char *name)
{
    struct kept_build kept = {.path = xprintf("%s/%s", cache, name)};
    char *state = xprintf("%s/state", kept.path);
    struct stat status;
    if (stat(state, &status) == 0)
        kept.used = status.st_mtim; // without a state it counts as very old and is removed first
    kept.bytes = files_size(kept.path);
    free(state);
    list->items = xgrow(list->items, list->count, &list->capacity, sizeof(*list->items));
    list->items[list->count++] = kept;
}

static bool is_key(const char *name)
{
    return strlen(name) == KEY_LENGTH && strspn(name, "0123456789abcdef") == KEY_LENGTH;
}

static int list_cache(struct kept_list *list, struct prune_result *result, const char *cache,
                      struct error *err)
{
    DIR *directory = opendir(cache);
    int code = 0;
    if (!directory)
        return errno == ENOENT ? 0 : error_set(err, "%s: %s", cache, strerror(errno));
    for (struct dirent *entry; code == 0 && (entry = readdir(directory));) {
        if (is_key(entry->d_name))
            add_kept(list, cache, entry->d_name);
        else if (strncmp(entry->d_name, "tmp-", 4) == 0)
            code = remove_abandoned(result, cache, entry->d_name, err);
    }
    closedir(directory);
    return code;
}

static int oldest_first(const void *left, const void *right)
{
    const struct timespec a = ((const struct kept_build *)left)->used;
    const struct timespec b = ((const struct kept_build *)right)->used;
    if (a.tv_sec != b.tv_sec)
        return (a.tv_sec > b.tv_sec) - (a.tv_sec < b.tv_sec);
    return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

// Removes a kept build. It is renamed first, so that nobody finds half of it.
static int remove_kept(const char *cache, const struct kept_build *kept, struct error *err)
{
    char *aside = xprintf("%s/tmp-%s-prune", cache, strrchr(kept->path, '/') + 1);
    int code = 0;
    if (rename(kept->path, aside) == 0)
        code = files_remove(aside, err);
    else if (errno != ENOENT)
        code = error_set(err, "%s: cannot remove: %s", kept->path, strerror(errno));
    free(aside);
    return code;
}

// Removes the folders in which libraries see their files. These are hard links to the same files.
// Such a folder is made again when it is needed. It is removed with its builds, unless a run may
// still have it open.
static int remove_shown(const char *cache, time_t now, struct error *err)
{
    char *kept = xprintf("%s/" BUILD_KEPT, cache);
    DIR *directory = opendir(kept);
    int code = 0;
    for (struct dirent *entry; code == 0 && directory && (entry = readdir(directory));) {
        char *path = xprintf("%s/%s", kept, entry->d_name);
        struct stat status;
        if (entry->d_name[0] != '.' && lstat(path, &status) == 0 &&
            difftime(now, status.st_ctime) > DAY_S)
            code = files_remove(path, err);
        free(path);
    }
    if (directory)
        closedir(directory);
    free(kept);
    return code;
}

int build_prune(struct prune_result *out, const char *cache, double max_age_s, uint64_t max_bytes,
                struct error *err)
{
    struct prune_result result = {0};
    struct kept_list list = {0};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int code = list_cache(&list, &result, cache, err);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), oldest_first);
    for (size_t i = 0; i < list.count; i++)
        result.bytes_kept += list.items[i].bytes;
    result.kept = list.count;
    for (size_t i = 0; code == 0 && i < list.count; i++) {
        const struct kept_build *kept = &list.items[i];
        double age_s = difftime(now.tv_sec, kept->used.tv_sec);
        bool old = max_age_s > 0 && age_s > max_age_s;
        if (!old && !(max_bytes > 0 && result.bytes_kept > max_bytes))
            break; // the others are younger, and there is room for them
        code = remove_kept(cache, kept, err);
        result.removed++;
        result.kept--;
        result.bytes_removed += kept->bytes;
        result.bytes_kept -= kept->bytes;
    }
    for (size_t i = 0; i < list.count; i++)
        free(list.items[i].path);
    free(list.items);
    if (code == 0 && result.removed)
        code = remove_shown(cache, now.tv_sec, err);
    if (code == 0)
        *out = result;
    return code;
}

// ---- cleaning without being asked

enum { TIDY_AGE_S = 180 * DAY_S };
static const uint64_t tidy_bytes = (uint64_t)16 << 30;

// True once a day, because measuring a large cache takes longer than starting. A clock that was set
// back counts, too.
static bool is_due(const char *cache)
{
    struct stat last;
    char *path = xprintf("%s/tidied", cache);
    time_t now = time(NULL);
    bool due = stat(path, &last) || last.st_mtime > now || now - last.st_mtime > DAY_S;
    int fd = due ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;
    if (fd >= 0) {
        futimens(fd, NULL);
        close(fd);
    }
    free(path);
    return due;
}

void build_tidy(const char *cache)
{
    struct prune_result result = {0};
    struct error ignored; // another process is cleaning, or the next one will
    DIR *directory = opendir(cache);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, "tmp-", 4) == 0)
            remove_abandoned(&result, cache, entry->d_name, &ignored);
    }
    closedir(directory);
    if (is_due(cache))
        build_prune(&result, cache, TIDY_AGE_S, tidy_bytes, &ignored);
}
