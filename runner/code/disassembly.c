// SPDX-License-Identifier: Apache-2.0
//
// Runs the toolkit's disassembler and counts the operations in its text. It needs no GPU, and says
// so where there is no disassembler.
#include "runner/code/code_id.h"

#include "runner/child/process.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 4096 };
static const double limit_s = 60, line_limit_s = 20;
static const uint64_t lines_most = 20000000, memory_most = (uint64_t)4 << 30;

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char name_bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

static void count_one(struct operation_list *list, const char *name, size_t length)
{
    size_t at = 0;
    while (at < list->count &&
           (strncmp(list->items[at].name, name, length) != 0 || list->items[at].name[length]))
        at++;
    if (at == OPERATIONS_MOST)
        return;
    struct operation *item = &list->items[at];
    if (at == list->count) {
        memcpy(item->name, name, length);
        item->name[length] = '\0';
        item->count = 0;
        list->count++;
    }
    item->count++;
}

// "        /*0010*/              @!P0 FFMA.FTZ R1, R2, R3, R4 ;     /* 0x... */"
void operation_take(struct operation_list *list, const char *line)
{
    line += strspn(line, " \t");
    if (strncmp(line, "/*", 2) != 0)
        return;
    size_t digits = strspn(line + 2, "0123456789abcdef");
    if (!digits || strncmp(line + 2 + digits, "*/", 2) != 0)
        return;
    line += 4 + digits;
    line += strspn(line, " \t{");
    if (*line == '@') {
        line += strcspn(line, " \t");
        line += strspn(line, " \t");
    }
    size_t length = strspn(line, name_bytes);
    if (length && length < OPERATION_TEXT && strchr(letters, *line))
        count_one(list, line, length);
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct operation *)left)->name, ((const struct operation *)right)->name);
}

// The first of that name in PATH.
static bool find_program(char out[PATH_MAX], const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t length = strcspn(path, ":");
        char *file = xprintf("%.*s/%s", (int)length, path, name);
        bool found = *path == '/' && access(file, X_OK) == 0 && realpath(file, out);
        free(file);
        if (found)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static const char *const *command(const char *program, const char *library,
                                  const struct sandbox *sandbox, const char *const *env,
                                  struct arena *arena)
{
    const char **argv = arena_alloc(arena, 4 * sizeof(*argv));
    const char *own = arena_strdup(arena, program);
    char *folder = arena_strdup(arena, program);
    *strrchr(folder, '/') = '\0'; // nvdisasm lies beside it
    struct sandbox_bind *binds = arena_alloc(arena, 2 * sizeof(*binds));
    binds[0] = (struct sandbox_bind){*folder ? folder : "/", *folder ? folder : "/", false};
    binds[1] = (struct sandbox_bind){library, library, false};
    const struct sandbox_view view = {.binds = binds, .bind_count = 2, .env = env};
    argv[0] = own;
    argv[1] = "-sass";
    argv[2] = library;
    return sandbox && sandbox->active ? sandbox_argv(sandbox, &view, argv, arena) : argv;
}

// True when it ended by itself, and well.
static bool read_all(struct operation_list *list, struct process *process)
{
    char line[LINE];
    struct process_result result;
    enum process_line kind = PROCESS_LINE;
    time_t until = time(NULL) + (time_t)limit_s;
    for (uint64_t lines = 0; lines < lines_most && time(NULL) <= until; lines++) {
        kind = process_read(process, line, sizeof(line), line_limit_s);
        if (kind == PROCESS_LINE_END || kind == PROCESS_LINE_TIMEOUT)
            break;
        if (kind == PROCESS_LINE)
            operation_take(list, line);
    }
    process_stop(&result, process, kind == PROCESS_LINE_END ? 5 : 0);
    return kind == PROCESS_LINE_END && result.end == PROCESS_EXITED && result.code == 0;
}

struct disassembly {
    struct process *process;
    struct arena arena; // of its arguments
};

int disassembly_begin(struct disassembly **out, const char *library, const struct sandbox *sandbox,
                      struct error *err)
{
    static const char *const empty[] = {NULL};
    char program[PATH_MAX];
    *out = NULL;
    if (!find_program(program, "cuobjdump"))
        return 0;
    struct disassembly *d = xcalloc(1, sizeof(*d));
    const char *path = getenv("PATH");
    const char *env[] = {arena_printf(&d->arena, "PATH=%s", path), "HOME=/tmp", "LC_ALL=C.UTF-8",
                         NULL};
    bool inside = sandbox && sandbox->active;
    const struct process_plan plan = {
        .argv = command(program, library, sandbox, env, &d->arena),
        .env = inside ? empty : env,
        .limits = {.wall_s = limit_s, .memory_bytes = memory_most, .file_bytes = 1 << 28},
        .aside = &processors_here,
    };
    if (process_start(&d->process, &plan, err)) {
        arena_free(&d->arena);
        free(d);
        return -1;
    }
    *out = d;
    return 0;
}

void disassembly_end(struct operation_list *out, struct disassembly *d, struct arena *arena)
{
    struct operation_list list = {0};
    *out = list;
    if (!d)
        return;
    list.items = arena_alloc(arena, OPERATIONS_MOST * sizeof(*list.items));
    list.known = read_all(&list, d->process) && list.count > 0;
    if (!list.known)
        list.count = 0;
    qsort(list.items, list.count, sizeof(*list.items), by_name);
    arena_free(&d->arena);
    free(d);
    *out = list;
}
