// SPDX-License-Identifier: Apache-2.0
//
// Reads the sources of HEAD by what they are called.
#include "ci/init/sources.h"
#include "ci/init/cutlass.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SOURCES_MAX = 2000, LIBRARIES = 5 };

// What a source that names one of these headers is linked with.
static const struct {
    const char *header, *word;
} libraries[LIBRARIES] = {{"<cublas_v2.h>", " -lcublas"},
                          {"<cublasLt.h>", " -lcublasLt"},
                          {"<curand.h>", " -lcurand"},
                          {"<cuda.h>", " -lcuda"},
                          {"<math.h>", " -lm"}};

static bool is_source(const char *path, bool host)
{
    static const char *const ends[] = {".c", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".inc"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < (host ? 1 : ARRAY_COUNT(ends)); i++) {
        if (strcmp(dot, ends[i]) == 0)
            return true;
    }
    return false;
}

// The top folder of a source, or the source itself: what its build may read.
static void add_input(struct sources *sources, const char *path, struct arena *arena)
{
    const char *top = arena_strndup(arena, path, strcspn(path, "/"));
    for (size_t i = 0; i < sources->input_count; i++) {
        if (strcmp(sources->inputs[i], top) == 0)
            return;
    }
    if (sources->input_count == INPUTS_MAX || strpbrk(top, "\"\\\n"))
        sources->whole_tree = true;
    else
        sources->inputs[sources->input_count++] = top;
}

static const char unquotable[] = " \t\n\"'\\$`;&|<>()";

// The folder above include/cutlass/cutlass.h, "." at the top; NULL: there is none, or its name
// would not survive the policy's quotes.
static const char *find_cutlass(const struct path_list *names, struct arena *arena)
{
    static const char header[] = "include/cutlass/cutlass.h";
    for (size_t i = 0; i < names->count; i++) {
        const char *path = names->items[i];
        const size_t length = strlen(path), tail = strlen(header);
        if (length < tail || strcmp(path + length - tail, header) != 0)
            continue;
        if (length == tail)
            return ".";
        if (path[length - tail - 1] == '/' && !strpbrk(path, unquotable))
            return arena_strndup(arena, path, length - tail - 1);
    }
    return NULL;
}

// The same in the submodules. One that is called so and cannot be looked into may be it too.
static void find_cutlass_below(struct sources *out, const struct repository *repository,
                               const char *commit, const char *submodules, struct arena *arena)
{
    for (const char *line = submodules; *line && !out->cutlass; line += strcspn(line, "\n") + 1) {
        const char *path = strchr(line, ' '); // "ID PATH", unless the path has line ends
        if (!path++)
            return;
        const char *own = arena_strndup(arena, path, strcspn(path, "\n"));
        const char *slash = strrchr(own, '/'), *name = slash ? slash + 1 : own;
        char *text;
        size_t size;
        struct error err;
        if (strpbrk(own, unquotable))
            continue;
        if (repository_read(&text, &size, repository, commit,
                            arena_printf(arena, "%s/include/cutlass/cutlass.h", own), &err) == 0) {
            out->cutlass = own;
            free(text);
        } else if (strcasecmp(name, "cutlass") == 0 && strstr(err.text, "is not on this machine")) {
            out->cutlass = own;
            out->missing = arena_strdup(arena, err.text);
        }
        out->cutlass_below = out->cutlass != NULL;
    }
}

// A source of somebody else's, of which no kernel is looked for.
static bool is_foreign(const struct sources *sources, const char *path)
{
    const size_t length = sources->cutlass ? strlen(sources->cutlass) : 0;
    return length && strncmp(path, sources->cutlass, length) == 0 && path[length] == '/';
}

static void refuse_from(struct signature_list *found, size_t first)
{
    for (size_t i = first; i < found->count; i++) {
        found->items[i].unnameable = found->items[i].understood;
        found->items[i].understood = false;
        found->items[i].why = "its path has a character that no #include can have";
    }
}

int sources_read(struct sources *out, const struct repository *repository, struct arena *arena,
                 struct error *err)
{
    struct commit head;
    struct path_list names;
    struct error none;
    bool links[LIBRARIES] = {false};
    *out = (struct sources){.libraries = ""};
    if (repository_commit(&head, repository, "HEAD", arena, &none))
        return 0; // no commit yet
    if (repository_names(&names, repository, head.id, NULL, 0, arena, err))
        return -1;
    out->cutlass = find_cutlass(&names, arena);
    if (!out->cutlass)
        find_cutlass_below(out, repository, head.id, names.submodules, arena);
    size_t read = 0;
    for (size_t i = 0; i < names.count && read < SOURCES_MAX; i++) {
        const char *path = names.items[i];
        char *text;
        size_t size;
        if (!is_source(path, false) || strncmp(path, "ci/", 3) == 0)
            continue;
        add_input(out, path, arena);
        const bool searched = strstr(path, ".cu") || is_source(path, true);
        if (!searched || is_foreign(out, path) ||
            repository_read(&text, &size, repository, head.id, path, &none))
            continue;
        const size_t before = out->found.count;
        signatures_find(&out->found, path, text, arena);
        if (strstr(path, ".cu"))
            cutlass_find(&out->found, path, text, arena);
        if (strpbrk(path, "\"\\<>\n"))
            refuse_from(&out->found, before);
        out->names_cutlass |= strstr(text, "\"cutlass/") || strstr(text, "<cutlass/");
        for (size_t l = 0; l < LIBRARIES; l++)
            links[l] |= strstr(text, libraries[l].header) != NULL;
        free(text);
        read++;
    }
    for (size_t l = 0; l < LIBRARIES; l++) {
        if (links[l])
            out->libraries = arena_printf(arena, "%s%s", out->libraries, libraries[l].word);
    }
    return 0;
}
