// SPDX-License-Identifier: Apache-2.0
//
// The numbers of attributes and instructions were compared with the output of ptxas -v for the same
// code.
#include "runner/code/code_id.h"

#include "runner/child/process.h"
#include "runner/code/machine_code.h"
#include "runner/code/plan_file.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ==== operations, by the disassembler ====
//
// Runs the toolkit's disassembler and counts the operations in its output. It needs no GPU, and
// reports if there is no disassembler.

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

// A line looks like this: "        /*0010*/              @!P0 FFMA.FTZ R1, R2, R3, R4 ;     /*
// 0x... */"
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

// Finds the first program of that name in PATH.
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
    *strrchr(folder, '/') = '\0'; // nvdisasm lies in the same folder
    struct sandbox_bind *binds = arena_alloc(arena, 2 * sizeof(*binds));
    binds[0] = (struct sandbox_bind){*folder ? folder : "/", *folder ? folder : "/", false};
    binds[1] = (struct sandbox_bind){library, library, false};
    const struct sandbox_view view = {.binds = binds, .bind_count = 2, .env = env};
    argv[0] = own;
    argv[1] = "-sass";
    argv[2] = library;
    return sandbox && sandbox->active ? sandbox_argv(sandbox, &view, argv, arena) : argv;
}

// Reads all output. True when the program ended by itself and successfully.
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
        .limits = {.time_s = limit_s, .memory_bytes = memory_most, .file_bytes = 1 << 28},
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

// ==== resources ====

enum { INSTRUCTION = 16, OPCODE_MASK = 0xfff, OPCODE_LDL = 0x983, OPCODE_STL = 0x387 };

struct collector {
    struct code_function_list list;
    size_t capacity;
    struct arena *arena;
};

static void add(struct collector *c, const struct code_function *function)
{
    c->list.items = xgrow(c->list.items, c->list.count, &c->capacity, sizeof(*c->list.items));
    c->list.items[c->list.count++] = *function;
}

static int32_t bounded(uint64_t value)
{
    return value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

// The width of a memory instruction, from bits 73..75: 1, 1, 2, 2, 4, 8 or 16 bytes.
static uint32_t access_bytes(const unsigned char *instruction)
{
    static const uint32_t widths[8] = {1, 1, 2, 2, 4, 8, 16, 16};
    return widths[instruction[9] >> 1 & 7];
}

// Counts accesses to local memory. Since Volta an instruction has 16 bytes, with the operation in
// the lowest 12 bits.
static void count_local(struct code_function *function, const struct elf_section *text)
{
    for (uint64_t at = 0; at + INSTRUCTION <= text->size; at += INSTRUCTION) {
        const unsigned char *instruction = text->bytes + at;
        uint16_t opcode = elf_u16(instruction) & OPCODE_MASK;
        if (opcode == OPCODE_LDL)
            function->local_load_bytes += access_bytes(instruction);
        else if (opcode == OPCODE_STL)
            function->local_store_bytes += access_bytes(instruction);
    }
}

// Reads attributes of all functions (.nv.info), and takes those whose symbols lie in this section.
static void read_common(struct code_function *function, const struct elf_image *cubin,
                        const struct elf_section *info, size_t text)
{
    struct cubin_attribute attribute;
    struct elf_symbol symbol;
    size_t at = 0;
    while (cubin_next(&attribute, &at, info)) {
        if (attribute.size < 8 ||
            !elf_symbol(&symbol, cubin, elf_symbols(cubin), elf_u32(attribute.bytes)) ||
            symbol.section != text)
            continue;
        int32_t value = bounded(elf_u32(attribute.bytes + 4));
        if (attribute.code == CUBIN_REGISTERS)
            function->registers = value;
        else if (attribute.code == CUBIN_FRAME && value > function->stack_bytes)
            function->stack_bytes = value;
    }
}

static void read_own(struct code_function *function, const struct elf_section *info)
{
    struct cubin_attribute attribute;
    size_t at = 0;
    while (cubin_next(&attribute, &at, info)) {
        if (attribute.code == CUBIN_PARAMETER_BYTES && attribute.size >= 2)
            function->parameter_bytes = elf_u16(attribute.bytes);
        else if (attribute.code == CUBIN_MAX_THREADS && attribute.size >= 12) {
            uint64_t threads = (uint64_t)elf_u32(attribute.bytes) * elf_u32(attribute.bytes + 4);
            threads = threads > INT32_MAX ? INT32_MAX : threads * elf_u32(attribute.bytes + 8);
            function->max_threads = bounded(threads);
        }
    }
}

// Whether a section such as ".nv.shared.NAME" belongs to the function whose code is in
// ".text.NAME".
static bool is_of(const struct elf_section *section, const char *prefix, const char *function)
{
    size_t length = strlen(prefix);
    return strncmp(section->name, prefix, length) == 0 &&
           strcmp(section->name + length, function) == 0;
}

static void read_function(struct collector *c, const struct elf_image *cubin, size_t text,
                          uint32_t architecture)
{
    const struct elf_section *code = &cubin->sections[text];
    const char *name = code->name + strlen(".text.");
    struct code_function function = {.name = arena_strdup(c->arena, name),
                                     .code_bytes = code->size};
    snprintf(function.architecture, sizeof(function.architecture), "sm_%u", architecture);
    bool entry = false;
    for (size_t i = 0; i < cubin->section_count; i++) {
        const struct elf_section *section = &cubin->sections[i];
        if (strcmp(section->name, ".nv.info") == 0 && section->bytes) {
            read_common(&function, cubin, section, text);
        } else if (is_of(section, ".nv.info.", name) && section->bytes) {
            read_own(&function, section);
        } else if (is_of(section, ".nv.shared.", name)) {
            function.shared_bytes = bounded(section->size);
        } else if (is_of(section, ".nv.constant0.", name)) {
            function.constant_bytes = bounded(section->size);
            entry = true; // only a function that can be launched has parameters
        }
    }
    count_local(&function, code);
    if (entry)
        add(c, &function);
}

static bool read_cubin(struct collector *c, const struct fatbin_entry *entry)
{
    struct elf_image cubin;
    if (elf_open(&cubin, entry->bytes, entry->size))
        return false;
    for (size_t i = 0; i < cubin.section_count; i++) {
        const struct elf_section *section = &cubin.sections[i];
        if (section->bytes && strncmp(section->name, ".text.", 6) == 0)
            read_function(c, &cubin, i, entry->architecture);
    }
    elf_close(&cubin);
    return true;
}

static int by_architecture(const void *left, const void *right)
{
    const struct code_function *a = left, *b = right;
    int order = strcmp(a->architecture, b->architecture);
    return order ? order : strcmp(a->name, b->name);
}

static void read_fatbin(struct collector *c, const struct elf_section *section)
{
    struct fatbin_entry entry;
    size_t at = 0;
    while (fatbin_next(&entry, &at, section->bytes, (size_t)section->size)) {
        bool read =
            entry.kind == FATBIN_PADDING || (entry.kind == FATBIN_CUBIN && read_cubin(c, &entry));
        c->list.complete = c->list.complete && read;
    }
}

static void take_list(struct code_function_list *out, struct collector *c)
{
    struct code_function_list list = c->list;
    list.items = arena_alloc(c->arena, list.count * sizeof(*list.items));
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = c->list.items[i];
    if (list.count)
        qsort(list.items, list.count, sizeof(*list.items), by_architecture);
    free(c->list.items);
    *out = list;
}

int code_resources_of(struct code_function_list *out, const struct code_file *file,
                      struct arena *arena, struct error *err)
{
    struct elf_image image;
    struct collector c = {.arena = arena, .list.complete = true};
    if (elf_open(&image, file->bytes, file->size))
        return error_set(err, "not a 64-bit ELF library");
    for (size_t i = 0; i < image.section_count; i++) {
        if (strcmp(image.sections[i].name, ".nv_fatbin") == 0 && image.sections[i].bytes)
            read_fatbin(&c, &image.sections[i]);
    }
    elf_close(&image);
    take_list(out, &c);
    return 0;
}

// The architecture in a cubin's flags; since CUDA 13 it is in their second byte.
static uint32_t architecture_of(const struct elf_image *cubin)
{
    enum { CUDA_13 = 0x41 };
    return cubin->bytes[EI_OSABI] >= CUDA_13 ? cubin->flags >> 8 & 0xff : cubin->flags & 0xff;
}

static int read_plan(struct code_function_list *out, const char *path, struct arena *arena,
                     struct error *err)
{
    struct collector c = {.arena = arena, .list.complete = true};
    struct plan_file plan;
    if (plan_file_open(&plan, path, err))
        return -1;
    for (size_t i = 0; i < plan.cubin_count; i++) {
        const struct plan_cubin *cubin = &plan.cubins[i];
        const struct fatbin_entry entry = {.kind = FATBIN_CUBIN,
                                           .architecture = architecture_of(&cubin->image),
                                           .bytes = cubin->file.bytes,
                                           .size = cubin->file.size};
        c.list.complete = read_cubin(&c, &entry) && c.list.complete;
    }
    plan_file_close(&plan);
    take_list(out, &c);
    return 0;
}

int code_resources(struct code_function_list *out, const char *library, struct arena *arena,
                   struct error *err)
{
    struct code_file file;
    struct error why;
    if (plan_file_is(library))
        return read_plan(out, library, arena, err);
    if (code_read(&file, library, err))
        return -1;
    const int status = code_resources_of(out, &file, arena, &why);
    code_close(&file);
    return status ? error_set(err, "%s: is %s", library, why.text) : 0;
}
