// SPDX-License-Identifier: Apache-2.0
//
// Reads which libraries an earlier build kept and what they were made from, and takes over those
// whose parts are equal. Whole builds are kept by build_cache.c.
#include "runner/build/build_parts.h"

#include "runner/build/build_key.h"
#include "runner/child/files.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_MAX = 1 << 20, PARTS_MAX = 1 << 20, NAME_MAX_BYTES = 200 };

// A commit's inputs, looked at once for all libraries.
struct view {
    const struct build_place *place;
    char recipe[OBJECT_ID_TEXT]; // recipe, toolchain, environment and submodules
    struct path_list names;
    struct arena arena;
};

static int open_view(struct view *view, const struct builder *builder,
                     const struct build_place *place, struct error *err)
{
    const struct recipe *recipe = place->recipe;
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    *view = (struct view){.place = place};
    if (!to)
        return error_set(err, "no memory for a key");
    build_key_recipe(to, builder, recipe);
    for (size_t i = 0; i < recipe->input_count; i++)
        build_key_field(to, "input", recipe->inputs[i]);
    // The files of a submodule have no names here: a new commit of one counts for all libraries.
    int status = repository_names(&view->names, place->repository, place->commit, recipe->inputs,
                                  recipe->input_count, &view->arena, err);
    if (status == 0 && view->names.submodules[0]) {
        build_key_field(to, "pinned", view->names.submodules);
        status = build_key_submodules(to, place->repository, place->commit, err);
    }
    fclose(to);
    if (status == 0)
        content_id(view->recipe, text, size);
    free(text);
    return status;
}

static void add_names(FILE *to, const struct view *view, const char *pattern)
{
    build_key_field(to, "names", pattern);
    for (size_t i = 0; i < view->names.count; i++) {
        if (fnmatch(pattern, view->names.items[i], 0) == 0)
            build_key_field(to, "name", view->names.items[i]);
    }
}

// False when the commit has no such path.
static bool add_path(FILE *to, const struct view *view, const char *path)
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

static bool add_statement(FILE *to, const struct view *view, char *statement)
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

// The part of a library, whose statement lies beside it in `folder`. False when it has none.
static bool find_part(char part[OBJECT_ID_TEXT], const struct view *view, const char *folder,
                      const char *name)
{
    char *path = xprintf("%s/%s" BUILD_STATEMENT, folder, name), *text = NULL;
    char *statement = files_read(path, STATEMENT_MAX);
    size_t size = 0;
    FILE *to = statement ? open_memstream(&text, &size) : NULL;
    bool stated = to != NULL;
    if (to) {
        build_key_field(to, "recipe", view->recipe);
        build_key_field(to, "library", name);
        stated = add_statement(to, view, statement);
        fclose(to);
    }
    if (stated)
        content_id(part, text, size);
    free(text);
    free(statement);
    free(path);
    return stated;
}

// Of a library directly in PLUMB_OUT, of plain characters; NULL for others, which have no part.
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

int build_parts_write(const char *directory, const struct build *build,
                      const struct builder *builder, const struct build_place *place,
                      struct error *err)
{
    char *path = xprintf("%s/parts", directory), *out = xprintf("%s/out", directory);
    char *folder = realpath(out, NULL); // as the libraries are named
    struct view view = {0};
    FILE *file = NULL;
    int status = 0;
    if (!folder || build->library_count == 0)
        goto done;
    status = open_view(&view, builder, place, err);
    if (status == 0 && !view.names.links) {
        file = fopen(path, "wxe");
        status = file ? 0 : error_set(err, "%s: cannot write: %s", path, strerror(errno));
    }
    for (size_t i = 0; file && i < build->library_count; i++) {
        const char *name = plain_name(build->libraries[i], folder);
        char part[OBJECT_ID_TEXT];
        if (name && find_part(part, &view, folder, name))
            fprintf(file, "%s %s\n", part, name);
    }
    if (file && fclose(file))
        status = error_set(err, "%s: cannot write: %s", path, strerror(errno));
done:
    arena_free(&view.arena);
    free(folder);
    free(out);
    free(path);
    return status;
}

static bool take(const char *have, const char *folder, const char *name)
{
    static const char *const kinds[] = {"", BUILD_STATEMENT};
    struct error ignored;
    bool taken = true;
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        char *from = xprintf("%s/%s%s", folder, name, kinds[i]);
        char *to = xprintf("%s/%s%s", have, name, kinds[i]);
        taken = taken && files_copy(from, to, &ignored) == 0;
        if (!taken)
            files_remove(to, &ignored);
        free(to);
        free(from);
    }
    if (!taken) { // a library without its statement could not be passed on
        char *to = xprintf("%s/%s", have, name);
        files_remove(to, &ignored);
        free(to);
    }
    return taken;
}

size_t build_parts_offer(const char *have, const char *directory, const struct builder *builder,
                         const struct build_place *place)
{
    char *path = xprintf("%s/parts", directory), *folder = xprintf("%s/out", directory);
    char *parts = files_read(path, PARTS_MAX), *rest = parts;
    struct view view = {0};
    struct error ignored;
    size_t count = 0;
    bool ready = parts && open_view(&view, builder, place, &ignored) == 0 && !view.names.links;
    for (char *line; ready && (line = strsep(&rest, "\n"));) {
        char *name = strchr(line, ' '), part[OBJECT_ID_TEXT];
        if (!name)
            continue;
        *name++ = '\0';
        if (find_part(part, &view, folder, name) && strcmp(part, line) == 0)
            count += take(have, folder, name);
    }
    arena_free(&view.arena);
    free(parts);
    free(folder);
    free(path);
    return count;
}
