// SPDX-License-Identifier: Apache-2.0
//
// plumb capture: runs any CUDA program once. It says which kernels the program launched, how long
// each took, and which of them can be recorded; with --kernel or --range it keeps those launches as
// a record. Its table goes to standard output, everything that the program prints to standard
// error. Needs no repository.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "runner/bench/capture.h"
#include "runner/child/files.h"
#include "runner/git/repository.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct arguments {
    struct options options;
    const char *kernel, *range, *output, *build, *show, *with;
    uint32_t launch, limit_mib, timeout_s;
    bool write;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("kernel", 'k', "GLOB", "Record a launch of these device functions", kernel),
    OPTION_TEXT("range", 0, "GLOB", "Record all launches of one NVTX range of these names", range),
    OPTION_COUNT("launch", "N", "--kernel, --range: which of those that match [one of each shape]",
                 launch, 1, 1000000000),
    OPTION_COUNT("limit", "MIB", "Memory that a record's buffers may hold [2048]", limit_mib, 1,
                 1 << 20),
    OPTION_COUNT("timeout", "SECONDS",
                 "In the sandbox: how long the program may take [600, as a build]", timeout_s, 1,
                 86400),
    OPTION_TEXT("output", 'o', "DIR", "Keep the record and its buffers there", output),
    OPTION_FLAG("write", 'w',
                "Add a [capture] section to " POLICY_PATH " for what takes most of the time, or "
                "for --range; where there is none, one begins with it",
                write),
    OPTION_TEXT("build", 0, "COMMAND",
                "--write: how a commit builds the program [what its Makefile or CMakeLists.txt "
                "says, where it was built here]",
                build),
    OPTION_TEXT("sandbox", 0, "MODE",
                "require, auto or off [in a checkout that may be a stranger's: require]",
                options.sandbox),
    OPTION_FLAG("quiet", 'q', "No progress", options.quiet),
    OPTION_TEXT("show", 0, "FILE", "Say what a record holds; runs nothing", show),
    OPTION_TEXT("with", 0, "FILE", "--show: hold it against this record", with),
    {0},
};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const bool command = a->options.words.count > 0;
    if (!a->show == !command)
        return error_set(err, "write `capture [options] -- COMMAND` or `capture --show FILE`");
    if (a->kernel && a->range)
        return error_set(err, "--kernel or --range: one of both");
    if (a->output && !a->kernel && !a->range)
        return error_set(err,
                         "--output needs --kernel or --range: they say which launches are kept");
    return 0;
}

// ---- the program ----

static uint32_t timeout_of(const struct arguments *a)
{
    return a->timeout_s ? a->timeout_s : 600;
}

// The text of the progress line while the program runs.
struct telling {
    struct progress *progress;
    const char *folder;
    double began_s, next_s;
    char text[200];
};

// Counts the launches that the program's processes have reported so far. Does nothing if the
// reports cannot be read.
static void count_launches(uint64_t *launches, size_t *shapes, const char *folder)
{
    struct arena arena = {0};
    struct capture_surveys surveys;
    struct error none;
    *launches = *shapes = 0;
    if (capture_surveys(&surveys, folder, &arena, &none) == 0) {
        for (size_t i = 0; i < surveys.count; i++) {
            *shapes += surveys.items[i].count;
            for (size_t k = 0; k < surveys.items[i].count; k++)
                *launches += surveys.items[i].kernels[k].launches;
        }
    }
    arena_free(&arena);
}

// Shows progress: each second on a terminal, and less and less often where lines stay.
static void tick(void *context)
{
    struct telling *t = context;
    const double now_s = monotonic_s(), ran_s = now_s - t->began_s;
    uint64_t launches;
    size_t shapes;
    if (now_s < t->next_s)
        return;
    t->next_s = now_s + (t->progress->terminal ? 1 : fmax(1, ran_s / 4));
    count_launches(&launches, &shapes, t->folder);
    if (launches)
        snprintf(t->text, sizeof(t->text), "the program has run for %.0f s: %llu %s of %zu %s",
                 ran_s, (unsigned long long)launches, plural(launches, "launch", "launches"),
                 shapes, plural(shapes, "shape", "shapes"));
    else
        snprintf(t->text, sizeof(t->text), "the program has run for %.0f s: no launch yet", ran_s);
    progress_step(t->progress, "%s", t->text);
}

// Where the program and its files lie, and whether a stranger may have written them.
struct place {
    struct sandbox sandbox;
    char *directory;
    char **checkouts; // folders that a stranger may have written
    size_t count;
};

// Looks at a path: the present folder, or a word of the command that is a file.
static int look_at(struct place *place, const char *path, const struct arguments *a,
                   struct error *err)
{
    char *checkout;
    if (context_sandbox_of(&place->sandbox, &checkout, path, a->options.sandbox, err))
        return -1;
    if (checkout)
        place->checkouts[place->count++] = checkout;
    return 0;
}

static int find_place(struct place *out, const struct arguments *a, struct error *err)
{
    const struct words *words = &a->options.words;
    out->directory = realpath(".", NULL);
    out->checkouts = xcalloc(words->count + 1, sizeof(*out->checkouts));
    if (!out->directory)
        return error_set(err, "the folder that this is called in: %s", strerror(errno));
    int status = look_at(out, out->directory, a, err);
    if (!out->count) // otherwise the sandbox would show it, and it may be a whole home folder
        free(out->directory), out->directory = NULL;
    for (size_t i = 0; i < words->count && status == 0; i++) {
        if (access(words->items[i], F_OK) == 0)
            status = look_at(out, words->items[i], a, err);
    }
    return status;
}

static void free_place(struct place *place)
{
    for (size_t i = 0; i < place->count; i++)
        free(place->checkouts[i]);
    free(place->checkouts);
    free(place->directory);
}

static int run_program(struct process_result *end, const struct arguments *a, const char *folder,
                       const char *library, struct context *context, struct error *err)
{
    const struct words *words = &a->options.words;
    struct place place = {0};
    struct telling telling = {.progress = &context->progress, .folder = folder};
    struct capture_program program = {.words = (const char *const *)words->items,
                                      .word_count = words->count,
                                      .folder = folder,
                                      .library = library,
                                      .wish = {a->kernel, a->range, a->launch},
                                      .limit_bytes = (uint64_t)(a->limit_mib ? a->limit_mib : 2048)
                                                     << 20,
                                      .time_s = timeout_of(a),
                                      .tick = tick,
                                      .tick_context = &telling};
    fflush(stdout);
    progress_init(&context->progress, a->options.quiet);
    int result = find_place(&place, a, err);
    if (result == 0 && place.sandbox.active && (place.count || a->options.sandbox)) {
        program.sandbox = &place.sandbox;
        program.directory = place.directory;
        program.shown = (const char *const *)place.checkouts;
        program.shown_count = place.count;
        progress_note(&context->progress,
                      "the program runs in the sandbox: it sees the system%s%s, and no network",
                      place.count ? " and " : "", place.count ? place.checkouts[0] : "");
    }
    if (result == 0) {
        progress_begin(&context->progress);
        telling.began_s = monotonic_s();
        telling.next_s = telling.began_s + 1;
        result = capture_run(end, &program, err);
        progress_end(&context->progress);
    }
    free_place(&place);
    return result;
}

// ---- the table ----

// The function's name as source code has it, "sgemm<32>(int, ...)", without its parameters. Uses
// the C++ library if there is one.
static const char *plain_name(const char *name, struct arena *arena)
{
    typedef char *demangle_function(const char *, char *, size_t *, int *);
    static demangle_function *demangle;
    static bool tried;
    int status = -1;
    if (!tried) {
        void *library = dlopen("libstdc++.so.6", RTLD_LAZY);
        if (library)
            *(void **)&demangle = dlsym(library, "__cxa_demangle");
        tried = true;
    }
    char *text =
        demangle && strncmp(name, "_Z", 2) == 0 ? demangle(name, NULL, NULL, &status) : NULL;
    if (!text || status)
        return name;
    // The last bracket that opens on the outermost level begins the parameters.
    int depth = 0;
    size_t cut = strlen(text);
    for (size_t i = cut; i-- > 0;) {
        depth += (text[i] == ')' || text[i] == '>') - (text[i] == '(' || text[i] == '<');
        if (text[i] == '(' && depth == 0) {
            cut = i;
            break;
        }
    }
    const char *plain = arena_strndup(arena, strncmp(text, "void ", 5) ? text : text + 5,
                                      strncmp(text, "void ", 5) ? cut : cut - 5);
    free(text);
    return plain;
}

static const char *clean(const char *text, struct arena *arena)
{
    struct buffer line = {0};
    buffer_puts(&line, "");
    clean_line(&line, text, CLEAN_LINE);
    const char *copy = arena_strdup(arena, line.bytes);
    buffer_free(&line);
    return copy;
}

static double total_ns(const struct survey_kernel *k)
{
    return k->time_ns * (double)k->launches;
}

static int by_time(const void *left, const void *right)
{
    const struct survey_kernel *const *a = left, *const *b = right;
    const double x = total_ns(*a), y = total_ns(*b);
    if (x != y)
        return x < y ? 1 : -1;
    return (*a)->launches < (*b)->launches ? 1 : (*a)->launches > (*b)->launches ? -1 : 0;
}

static const char *shape(char out[40], const uint32_t three[3])
{
    snprintf(out, 40,
             three[2] > 1   ? "%ux%ux%u"
             : three[1] > 1 ? "%ux%u"
                            : "%u",
             three[0], three[1], three[2]);
    return out;
}

static const struct column_head columns[] = {{"device function", -62},
                                             {"launches", 8},
                                             {"grid", 14},
                                             {"block", 10},
                                             {"shared", 8},
                                             {"regs", 5},
                                             {"mean us", 10},
                                             {"MiB", 9},
                                             {"can be recorded", 0}};

// A line of the table. It stands for shapes that differ only in the numbers among their parameters.
struct survey_row {
    struct survey_kernel all;
    size_t shapes;
};

static void print_line(const struct text_table *table, const struct survey_row *line,
                       struct arena *arena)
{
    const struct survey_kernel *k = &line->all;
    const char *can = k->refused[0]       ? clean(k->refused, arena)
                      : line->shapes == 1 ? "yes"
                                          : arena_printf(arena, "yes, %zu shapes", line->shapes);
    char grid[40], block[40], name[64];
    const char *plain = clean(plain_name(k->name, arena), arena);
    if (strlen(plain) < sizeof(name))
        snprintf(name, sizeof(name), "%s", plain);
    else
        snprintf(name, sizeof(name), "%.40s...%s", plain, plain + strlen(plain) - 17);
    table_row(table, "%s\t%llu\t%s\t%s\t%u\t%u\t%.1f\t%.1f\t%s", name,
              (unsigned long long)k->launches, shape(grid, k->grid), shape(block, k->block),
              k->shared_bytes + k->static_bytes, k->registers,
              k->time_ns > 0 ? k->time_ns / 1e3 : NAN, (double)k->touched_bytes / 0x1p20, can);
}

static const struct survey_kernel **sorted(const struct capture_surveys *surveys, size_t *count,
                                           struct arena *arena)
{
    *count = 0;
    for (size_t i = 0; i < surveys->count; i++)
        *count += surveys->items[i].count;
    const struct survey_kernel **all = arena_alloc(arena, (*count + 1) * sizeof(*all));
    for (size_t i = 0, at = 0; i < surveys->count; i++) {
        for (size_t k = 0; k < surveys->items[i].count; k++)
            all[at++] = &surveys->items[i].kernels[k];
    }
    if (*count)
        qsort(all, *count, sizeof(*all), by_time);
    return all;
}

static int by_look(const void *left, const void *right)
{
    const struct survey_kernel *a = &((const struct survey_row *)left)->all;
    const struct survey_kernel *b = &((const struct survey_row *)right)->all;
    int order = strcmp(a->name, b->name);
    order = order ? order : strcmp(a->refused, b->refused);
    order = order ? order : memcmp(a->grid, b->grid, sizeof(a->grid));
    order = order ? order : memcmp(a->block, b->block, sizeof(a->block));
    order = order ? order : memcmp(a->cluster, b->cluster, sizeof(a->cluster));
    return order ? order
                 : (a->shared_bytes > b->shared_bytes) - (a->shared_bytes < b->shared_bytes);
}

static int by_total(const void *left, const void *right)
{
    const struct survey_kernel *a = &((const struct survey_row *)left)->all;
    const struct survey_kernel *b = &((const struct survey_row *)right)->all;
    return by_time(&a, &b);
}

// Makes the lines of the table from the kernels, and returns their number.
static size_t lines_of(struct survey_row *lines, const struct survey_kernel *const *kernels,
                       size_t count)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++)
        lines[i] = (struct survey_row){*kernels[i], 1};
    if (count)
        qsort(lines, count, sizeof(*lines), by_look);
    for (size_t i = 0; i < count; i++) {
        if (!made || by_look(&lines[made - 1], &lines[i]) != 0) {
            lines[made++] = lines[i];
            continue;
        }
        struct survey_kernel *all = &lines[made - 1].all;
        const double both_ns = total_ns(all) + total_ns(&lines[i].all);
        all->launches += lines[i].all.launches;
        all->time_ns = both_ns / (double)all->launches;
        lines[made - 1].shapes++;
    }
    if (made)
        qsort(lines, made, sizeof(*lines), by_total);
    return made;
}

static void print_table(const struct survey_kernel *const *kernels, size_t count,
                        struct arena *arena)
{
    struct survey_row *lines = arena_alloc(arena, (count + 1) * sizeof(*lines));
    const size_t made = lines_of(lines, kernels, count);
    struct buffer out = {0};
    const struct text_table table = {&out, columns, ARRAY_COUNT(columns)};
    table_heads(&table);
    for (size_t i = 0; i < made; i++)
        print_line(&table, &lines[i], arena);
    buffer_print(&out, stdout);
}

// ---- a section of the policy ----

enum { NAME_TEXT = 41 };

// Makes a name for a section, such as "sgemm_32" for sgemm<32>.
static void name_of(char out[NAME_TEXT], const char *text, const char *otherwise)
{
    size_t used = 0;
    for (const char *c = text; *c && used + 1 < NAME_TEXT; c++) {
        const char lower = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        const bool plain = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
        if (plain || (used && out[used - 1] != '_'))
            out[used++] = plain ? lower : '_';
    }
    while (used && out[used - 1] == '_')
        used--;
    out[used] = '\0';
    if (!used)
        text_copy(out, NAME_TEXT, otherwise);
}

// Makes a pattern from a mangled name, "_Z4gemm*" from _Z4gemmILi128EEviPf: the part that stays
// when template arguments and parameters change. For an anonymous namespace the compiler makes a
// name from the file's content, so the pattern leaves it open.
static const char *pattern_of(const char *name, struct arena *arena)
{
    const char *end = NULL, *at = name + 2;
    const char *begin = name;
    if (strncmp(name, "_Z", 2) != 0)
        return name;
    at += *at == 'N';
    while (isdigit((unsigned char)*at)) {
        char *text;
        const unsigned long length = strtoul(at, &text, 10);
        if (length > strlen(text))
            return name;
        end = text + length;
        if (strncmp(text, "_GLOBAL__N_", 11) == 0 || strncmp(text, "_INTERNAL_", 10) == 0)
            begin = end;
        at = end;
    }
    return !end            ? name
           : begin != name ? arena_printf(arena, "_ZN*%.*s*", (int)(end - begin), begin)
                           : arena_printf(arena, "%.*s*", (int)(end - name), name);
}

// Makes that pattern for a function, unless it would also match other functions of the program.
static const char *pattern_among(const struct survey_kernel *const *kernels, size_t count,
                                 const char *name, struct arena *arena)
{
    const char *pattern = pattern_of(name, arena);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(kernels[i]->name, name) != 0 && fnmatch(pattern, kernels[i]->name, 0) == 0)
            return name;
    }
    return pattern;
}

// Makes a section's name for a function. It has the template arguments if another function needs to
// be told apart.
static void section_name(char out[NAME_TEXT], const struct survey_kernel *const *kernels,
                         size_t count, const char *name, struct arena *arena)
{
    const char *plain = plain_name(name, arena);
    const bool alone = pattern_among(kernels, count, name, arena) != name;
    name_of(out, alone ? arena_strndup(arena, plain, strcspn(plain, "<")) : plain, "kernel");
}

// Makes a heading, [capture "sgemm_32"]. It has the kernel's index in the table if another kernel
// there has the same name.
static char *heading_of(const struct survey_kernel *const *kernels, size_t count, size_t which,
                        struct arena *arena)
{
    char own[NAME_TEXT], other[NAME_TEXT];
    size_t alike = 0;
    section_name(own, kernels, count, kernels[which]->name, arena);
    for (size_t i = 0; i < count; i++) {
        section_name(other, kernels, count, kernels[i]->name, arena);
        alike += strcmp(own, other) == 0;
    }
    return alike > 1 ? arena_printf(arena, "[capture \"%s-%zu\"]", own, which + 1)
                     : arena_printf(arena, "[capture \"%s\"]", own);
}

// Whether the policy has the section already; a second --write leaves the sections of the first as
// they are.
static bool has_heading(const char *heading)
{
    FILE *file = fopen(POLICY_PATH, "r");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&line, &room, file) > 0)
        found = strncmp(line + strspn(line, " \t"), heading, strlen(heading)) == 0;
    free(line);
    if (file)
        fclose(file);
    return found;
}

// Writes the command. Words are written as they were typed if a shell reads them that way, so that
// a section written by hand has the same text. Commands with the same text run only once
// (ci/gate/built.c).
static void put_command(FILE *file, const struct words *words)
{
    fputs("    command = \"", file);
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        const bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
                                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                       "0123456789_-+./:,@%")];
        fprintf(file, "%s%s", i ? " " : "", plain ? "" : "'");
        for (const char *c = word; *c; c++) {
            if (*c == '\'')
                fputs("'\\\\''", file);
            else if (*c == '"' || *c == '\\')
                fprintf(file, "\\%c", *c);
            else
                fputc(*c, file);
        }
        fputs(plain ? "" : "'", file);
    }
    fputs("\"\n", file);
}

// Whether a name is a single word in the policy and plain in a pattern. The policy is obeyed, so
// other functions are left out.
static bool is_word(const char *name)
{
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_.$@", *c))
            return false;
    }
    return *name != '\0';
}

// Whether the function was launched in one shape only, so that the section needs no launch number.
static bool is_only_shape(const struct survey_kernel *k, const struct survey_kernel *const *kernels,
                          size_t count)
{
    size_t shapes = 0;
    for (size_t i = 0; i < count; i++)
        shapes += strcmp(kernels[i]->name, k->name) == 0;
    return shapes == 1;
}

static void note_hidden(const char *what, const char *path, const char *here)
{
    if (path[0] == '/' && !sandbox_shows(path) &&
        (strncmp(path, here, strlen(here)) != 0 || path[strlen(here)] != '/'))
        printf(
            "note       %s is %s, which no sandbox shows to a gate: have it below /opt, or, where "
            "the code is your own, say `sandbox = off` in [build]\n",
            what, path);
}

// Notes that the program lies in a virtual environment in a home folder, which a gate's sandbox
// does not have.
static void note_where(const char *program, struct arena *arena)
{
    const char *path = getenv("PATH"), *python = getenv("PYTHONPATH");
    char *here = realpath(".", NULL);
    for (const char *from = path ? path : ""; here && *from && !strchr(program, '/');) {
        const size_t length = strcspn(from, ":");
        const char *file = arena_printf(arena, "%.*s/%s", (int)length, from, program);
        if (access(file, X_OK) == 0) {
            note_hidden(program, file, here);
            break;
        }
        from += length + (from[length] == ':');
    }
    if (here && strchr(program, '/'))
        note_hidden("the program", program, here);
    for (const char *from = python ? python : ""; here && *from;) {
        const size_t length = strcspn(from, ":");
        note_hidden("a folder of PYTHONPATH", arena_strndup(arena, from, length), here);
        from += length + (from[length] == ':');
    }
    free(here);
}

// Whether the program was compiled in this folder, so that each commit has to compile it.
static bool is_built_here(const char *program)
{
    char *here = realpath(".", NULL), *file = strchr(program, '/') ? realpath(program, NULL) : NULL;
    const size_t length = here ? strlen(here) : 0;
    char begin[4] = "";
    bool built = here && file && strncmp(file, here, length) == 0 && file[length] == '/';
    FILE *open = built ? fopen(file, "rb") : NULL;
    built = open && fread(begin, 1, sizeof(begin), open) == sizeof(begin) &&
            memcmp(begin, "\177ELF", sizeof(begin)) == 0;
    if (open)
        fclose(open);
    free(file);
    free(here);
    return built;
}

// How a person builds the program here. NULL: nothing says how.
static const char *says_how(const struct arguments *a, struct arena *arena)
{
    static const char *const makefiles[] = {"GNUmakefile", "makefile", "Makefile"};
    const char *program = a->options.words.items[0];
    if (a->build)
        return a->build;
    for (size_t i = 0; i < ARRAY_COUNT(makefiles); i++) {
        if (access(makefiles[i], F_OK) == 0)
            return "make";
    }
    program += strncmp(program, "./", 2) ? 0 : 2;
    const int folder = (int)strcspn(program, "/");
    if (program[0] != '/' && program[folder] && access("CMakeLists.txt", F_OK) == 0)
        return arena_printf(arena,
                            "cmake -S . -B '%.*s' -DCMAKE_BUILD_TYPE=Release && "
                            "cmake --build '%.*s' -j $PLUMB_JOBS",
                            folder, program, folder, program);
    return NULL;
}

// How a commit builds the program. NULL: it needs no build, or nothing here says how.
static const char *build_of(const struct arguments *a, struct arena *arena)
{
    return is_built_here(a->options.words.items[0]) ? says_how(a, arena) : a->build;
}

// Reports a program that does not exist, before it would be run. The user's own program may exist
// once it is built.
static int refuse_absent(const struct arguments *a, struct error *err)
{
    struct arena arena = {0};
    struct stat status;
    const char *program = a->options.words.items[0], *path = getenv("PATH");
    int result = 0;
    bool found = false;
    for (const char *from = path ? path : ""; !strchr(program, '/') && *from && !found;) {
        const size_t length = strcspn(from, ":");
        found = access(arena_printf(&arena, "%.*s/%s", (int)length, from, program), X_OK) == 0;
        from += length + (from[length] == ':');
    }
    const char *how = strchr(program, '/') ? says_how(a, &arena) : NULL;
    if (!strchr(program, '/') && !found)
        result = error_set(err, "%.200s: program not found; is it installed and in PATH?", program);
    else if (!found && stat(program, &status) && errno == ENOENT)
        result = error_set(err, "%.200s: there is no such program; build it first%s%.200s%s",
                           program, how ? ", here by `" : "", how ? how : "", how ? "`" : "");
    else if (!found && (access(program, X_OK) || S_ISDIR(status.st_mode)))
        result = error_set(err, "%.200s: it cannot be run; name the program that runs it first",
                           program);
    arena_free(&arena);
    return result;
}

// Writes a value into the policy.
static void put_value(FILE *file, const char *key, const char *text)
{
    fprintf(file, "    %s = \"", key);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputs("\"\n", file);
}

// Opens the policy to append captures. A new policy begins with the device, the variables by which
// Python and libraries are found here, and the build that --build gives.
static FILE *open_policy(const struct arguments *a, struct arena *arena, struct error *err)
{
    static const char *const passed[] = {"LD_LIBRARY_PATH", "PYTHONPATH"};
    char folder[] = POLICY_PATH;
    const bool first = access(POLICY_PATH, F_OK) != 0;
    *strrchr(folder, '/') = '\0';
    const int failed = repository_refuse_brought(POLICY_PATH, BROUGHT_LINKS, err) ||
                       (first && files_make_directory(folder, err));
    FILE *file = failed ? NULL : fopen(POLICY_PATH, "a");
    if (!file && !failed)
        error_set(err, "%s: %s", POLICY_PATH, strerror(errno));
    const char *build = build_of(a, arena);
    size_t section = 0;
    if (!file || !first) {
        if (file && a->build)
            printf("kept       [build] of %s\n", POLICY_PATH);
        return file;
    }
    fputs("[device \"gpu\"]\n    kind = cuda\n", file);
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        if (getenv(passed[i]) && *getenv(passed[i]))
            fprintf(file, "%s    pass = %s\n", section++ ? "" : "[build]\n", passed[i]);
    }
    if (build) {
        fputs(section ? "" : "[build]\n", file);
        put_value(file, "command", build);
    } else if (is_built_here(a->options.words.items[0]))
        printf("note       %s was built here, and no file says how: --build COMMAND, or command = "
               "... in [build]\n",
               a->options.words.items[0]);
    return file;
}

// Whether a function belongs to PyTorch, cuBLAS or cuDNN.
static bool is_librarys(const char *name)
{
    static const char *const begins[] = {"_ZN2at",     "_ZN3c10", "nvjet_", "sm80_xmma_",
                                         "sm90_xmma_", "ampere_", "volta_"};
    bool is = strstr(name, "cudnn") || strstr(name, "cublas");
    for (size_t i = 0; i < ARRAY_COUNT(begins); i++)
        is |= strncmp(name, begins[i], strlen(begins[i])) == 0;
    return is;
}

// Which functions --write takes: the program's own, or, if it has none, those of
// its libraries (`librarys`).
struct share {
    double all_ns;
    bool librarys;
};

static struct share share_of(const struct survey_kernel *const *kernels, size_t count)
{
    struct share own = {0, false}, theirs = {0, true};
    for (size_t i = 0; i < count; i++)
        *(is_librarys(kernels[i]->name) ? &theirs.all_ns : &own.all_ns) += total_ns(kernels[i]);
    return own.all_ns > 0 ? own : theirs;
}

// Whether a function takes a twentieth of that time or more, or is the one that was named.
static bool is_wanted(const struct arguments *a, const struct survey_kernel *k,
                      const struct share *share)
{
    enum { SHARE = 20 };
    return !k->refused[0] && is_word(k->name) &&
           (a->kernel
                ? fnmatch(a->kernel, k->name, 0) == 0
                : is_librarys(k->name) == share->librarys && total_ns(k) * SHARE >= share->all_ns);
}

static size_t put_sections(FILE *file, const struct arguments *a,
                           const struct survey_kernel *const *kernels, size_t count,
                           const struct share *share, struct arena *arena)
{
    size_t written = 0;
    for (size_t i = 0; i < count; i++) {
        const struct survey_kernel *k = kernels[i];
        const char *heading = heading_of(kernels, count, i, arena);
        if (!is_wanted(a, k, share))
            continue;
        if (has_heading(heading)) {
            printf("kept       %s of %s\n", heading, POLICY_PATH);
            continue;
        }
        fprintf(file, "\n%s\n", heading);
        put_command(file, &a->options.words);
        fprintf(file, "    kernel = %s\n", pattern_among(kernels, count, k->name, arena));
        if (!is_only_shape(k, kernels, count))
            fprintf(file, "    launch = %llu\n", (unsigned long long)k->first);
        written++;
    }
    return written;
}

// Writes the section of a range; returns 1 if it was written.
static size_t put_range(FILE *file, const struct arguments *a, struct arena *arena)
{
    char name[NAME_TEXT];
    name_of(name, a->range, "range");
    const char *heading = arena_printf(arena, "[capture \"%s\"]", name);
    if (has_heading(heading)) {
        printf("kept       %s of %s\n", heading, POLICY_PATH);
        return 0;
    }
    fprintf(file, "\n%s\n", heading);
    put_command(file, &a->options.words);
    put_value(file, "range", a->range);
    return 1;
}

static int write_policy(const struct arguments *a, const struct survey_kernel *const *kernels,
                        size_t count, bool taken, struct arena *arena, struct error *err)
{
    const struct share share = share_of(kernels, count);
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(a, kernels[i], &share);
    if (a->range ? !taken : !wanted)
        return error_set(err, "%s: no section was written: of %s", POLICY_PATH,
                         a->range    ? "the ranges none matched and could be recorded"
                         : a->kernel ? "the kernels that it ran none matches and can be recorded"
                                     : "the kernels that it ran none can be recorded");
    FILE *file = open_policy(a, arena, err);
    if (!file)
        return -1;
    const size_t written =
        a->range ? put_range(file, a, arena) : put_sections(file, a, kernels, count, &share, arena);
    if (fclose(file))
        return error_set(err, "%s: %s", POLICY_PATH, strerror(errno));
    printf("written    %zu [capture] %s to %s\n", written, plural(written, "section", "sections"),
           POLICY_PATH);
    note_where(a->options.words.items[0], arena);
    return 0;
}

// ---- the result ----

// Tells whether a launch or a range was recorded.
static bool tell_taken(enum conclusion *out, const struct arguments *a,
                       const struct capture_surveys *surveys, struct arena *arena)
{
    const struct capture_wish wish = {a->kernel, a->range, a->launch};
    bool taken = false, refused = false;
    char why[1000];
    for (size_t i = 0; i < surveys->count; i++) {
        const struct survey *s = &surveys->items[i];
        if (s->note[0])
            printf("note       process %lld: %s\n", (long long)s->process, clean(s->note, arena));
        if (s->refused[0])
            printf("refused    process %lld: %s\n", (long long)s->process,
                   clean(s->refused, arena));
        taken |= s->taken[0] != '\0';
        refused |= s->refused[0] != '\0';
    }
    for (size_t i = 0; taken && a->output && i < surveys->record_count; i++)
        printf("record     %s\n", clean(surveys->records[i], arena));
    if ((a->kernel || a->range) && !taken) {
        capture_why_none(why, sizeof(why), surveys, &wish);
        printf("record     none: %s\n", refused ? "it was refused" : clean(why, arena));
        *out = CONCLUDE_BROKEN;
    }
    return taken;
}

// The hint for a machine without a GPU: it has neither NVIDIA's driver nor that of WSL.
static const char *no_gpu(void)
{
    return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0
               ? ""
               : "; this machine has no GPU (/dev/nvidiactl), and a capture is taken where one is";
}

static void describe_end(char *out, size_t size, const struct process_result *ended)
{
    if (ended->end == PROCESS_EXITED)
        snprintf(out, size, "exit code %d", ended->code);
    else if (ended->end == PROCESS_SIGNALLED)
        snprintf(out, size, "killed by signal %d", ended->code);
    else
        process_describe(out, size, ended);
}

static int tell(enum conclusion *out, const struct arguments *a, const char *folder,
                const struct process_result *ended, struct error *err)
{
    struct arena arena = {0};
    struct capture_surveys surveys;
    char end[64];
    const bool failed = ended->end != PROCESS_EXITED || ended->code;
    size_t count = 0;
    int result = capture_surveys(&surveys, folder, &arena, err);
    if (result == 0) {
        const struct survey_kernel **kernels = sorted(&surveys, &count, &arena);
        describe_end(end, sizeof(end), ended);
        if (!surveys.count && (failed || a->write))
            result = error_set(
                err, "%s: %s, and it did not start the CUDA driver: nothing was captured%s",
                a->options.words.items[0], end, no_gpu());
        else if (!surveys.count)
            printf("The program did not start the CUDA driver%s.\n", no_gpu());
        else if (count)
            print_table(kernels, count, &arena);
        if (result == 0) {
            printf("program    %s: %s\n", a->options.words.items[0], end);
            const bool taken = tell_taken(out, a, &surveys, &arena);
            if (a->write)
                result = write_policy(a, kernels, count, taken, &arena, err);
        }
    }
    arena_free(&arena);
    return result;
}

static int capture(enum conclusion *out, const struct arguments *a, struct context *context,
                   struct error *err)
{
    char library[PATH_MAX], folder[PATH_MAX] = "/tmp/plumb-capture-XXXXXX";
    struct error ignored;
    struct process_result end = {0};
    if (!files_own(library, "plumb_capture.so"))
        return error_set(
            err, "%s: there is no such library: this plumb was built without CUPTI's headers",
            library);
    if (refuse_absent(a, err))
        return -1;
    if ((a->output && repository_refuse_brought(a->output, BROUGHT_ANYTHING, err)) ||
        (a->write && repository_refuse_brought(POLICY_PATH, BROUGHT_LINKS, err)))
        return -1;
    if (a->output ? files_make_directory(a->output, err) || !realpath(a->output, folder)
                  : !mkdtemp(folder))
        return error_set(err, "%s: %s", a->output ? a->output : folder, strerror(errno));
    int result = run_program(&end, a, folder, library, context, err);
    if (result == 0 && end.end == PROCESS_TIMED_OUT)
        result = error_set(err,
                           "%s: it did not end within %u s, and a program that may be a stranger's "
                           "is then ended: let it do less, or give --timeout SECONDS%s",
                           a->options.words.items[0], timeout_of(a),
                           end.crowded ? "; others had the processors" : "");
    else if (result == 0)
        result = tell(out, a, folder, &end, err);
    if (!a->output)
        files_remove(folder, &ignored);
    return result;
}

// ---- records ----

static FILE *open_beside(const char *record, const char *name)
{
    const char *slash = strrchr(record, '/');
    char *path = xprintf("%.*s%s", slash ? (int)(slash + 1 - record) : 0, record, name);
    struct stat status;
    FILE *file = lstat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    free(path);
    return file;
}

// Says what is wrong with the file of a content; "" if nothing is.
static const char *fault_of(const char *record, const char *name, uint64_t bytes)
{
    FILE *file = name ? open_beside(record, name) : NULL;
    struct stat status = {0};
    const bool there = file && fstat(fileno(file), &status) == 0;
    if (file)
        fclose(file);
    return !name                               ? ""
           : !there                            ? " (IS NOT THERE)"
           : (uint64_t)status.st_size != bytes ? " (HAS ANOTHER SIZE)"
                                               : "";
}

// Prints the contents. The conclusion is "broken" if a file does not match the record.
static void show_contents(enum conclusion *out, const struct record *record, const char *path)
{
    for (size_t i = 0; i < record->content_count; i++) {
        const struct record_content *c = &record->contents[i];
        const char *before = fault_of(path, c->before, c->bytes);
        const char *after = fault_of(path, c->after, c->bytes);
        printf("%-10s %llu bytes, %s%s%s%s%s\n",
               record_buffer_name((enum record_buffer)(RECORD_CAPTURED + i)),
               (unsigned long long)c->bytes, c->before, before,
               c->after ? ", then " : ", not changed", c->after ? c->after : "", after);
        if (*before || *after)
            *out = CONCLUDE_BROKEN;
    }
}

// Writes a launch as text, without the addresses of its buffers and without its image.
static char *launch_text(const struct record *record, size_t which)
{
    struct buffer text = {0};
    struct record one = *record;
    one.launches = &record->launches[which];
    one.launch_count = 1;
    one.image_count = one.content_count = 0;
    record_print(&text, &one);
    buffer_add(&text, "", 1);
    return text.bytes;
}

static const char *launch_difference(const struct record *a, const struct record *b, size_t which)
{
    const struct record_launch *one = &a->launches[which], *other = &b->launches[which];
    if (one->kind != other->kind ||
        (one->kind == RECORD_KERNEL && strcmp(one->function, other->function) != 0))
        return "another function";
    char *texts[] = {launch_text(a, which), launch_text(b, which)};
    const bool same = strcmp(texts[0], texts[1]) == 0;
    free(texts[0]);
    free(texts[1]);
    return same ? NULL : "its shape or its parameters";
}

// The number of bytes in which two files differ; -1: one of them cannot be read.
static int64_t bytes_differ(FILE *a, FILE *b, uint64_t bytes)
{
    enum { CHUNK = 1 << 20 };
    char *one = xcalloc(2, CHUNK), *other = one + CHUNK;
    int64_t differ = a && b ? 0 : -1;
    for (uint64_t at = 0; differ >= 0 && at < bytes; at += CHUNK) {
        const size_t size = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;
        if (fread(one, 1, size, a) != size || fread(other, 1, size, b) != size) {
            differ = -1;
            break;
        }
        for (size_t i = 0; i < size && memcmp(one, other, size) != 0; i++)
            differ += one[i] != other[i];
    }
    free(one);
    return differ;
}

// Says how two contents of one name differ. Returns whether they do.
static bool compare_files(const struct arguments *a, const char *what, const char *when,
                          const char *name, const char *with, uint64_t bytes)
{
    if (!name && !with)
        return false;
    FILE *files[] = {name ? open_beside(a->show, name) : NULL,
                     with ? open_beside(a->with, with) : NULL};
    const int64_t differ = bytes_differ(files[0], files[1], bytes);
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        if (files[i])
            fclose(files[i]);
    }
    if (!name || !with)
        printf("differ     %s: only one is changed by the launches\n", what);
    else if (differ < 0)
        printf("differ     %s: what it held %s the launches is not there\n", what, when);
    else if (differ)
        printf("differ     %s: %lld of %llu bytes %s the launches\n", what, (long long)differ,
               (unsigned long long)bytes, when);
    return differ != 0;
}

static size_t compare_contents(const struct arguments *a, const struct record *one,
                               const struct record *other)
{
    size_t differ = 0;
    for (size_t i = 0; i < one->content_count || i < other->content_count; i++) {
        const struct record_content *x = &one->contents[i], *y = &other->contents[i];
        const char *what = record_buffer_name((enum record_buffer)(RECORD_CAPTURED + i));
        if (i >= one->content_count || i >= other->content_count || x->bytes != y->bytes) {
            printf("differ     %s: its size\n", what);
            differ++;
            continue;
        }
        differ += compare_files(a, what, "before", x->before, y->before, x->bytes);
        differ += compare_files(a, what, "after", x->after, y->after, x->bytes);
    }
    return differ;
}

static void compare(enum conclusion *out, const struct arguments *arguments, const struct record *a,
                    const struct record *b)
{
    size_t differ = 0;
    if (a->launch_count != b->launch_count) {
        printf("differ     %zu launches and %zu\n", a->launch_count, b->launch_count);
        differ++;
    }
    for (size_t i = 0; i < a->launch_count && i < b->launch_count; i++) {
        const char *how = launch_difference(a, b, i);
        if (how)
            printf("differ     launch %zu: %s\n", i, how);
        differ += how != NULL;
    }
    for (size_t i = 0; i < a->image_count || i < b->image_count; i++) {
        if (i < a->image_count && i < b->image_count && a->images[i].size == b->images[i].size &&
            memcmp(a->images[i].bytes, b->images[i].bytes, a->images[i].size) == 0)
            continue;
        printf("differ     image %zu\n", i);
        differ++;
    }
    differ += compare_contents(arguments, a, b);
    printf(differ ? "%zu %s\n" : "the same launches of the same code on the same contents\n",
           differ, plural(differ, "difference", "differences"));
    *out = differ ? CONCLUDE_BROKEN : CONCLUDE_OK;
}

static int refuse_folder(const char *path, struct error *err)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode)
               ? error_set(err, "%s: is a folder; name a record in it, %s/record.PID", path, path)
               : 0;
}

static int show(enum conclusion *out, const struct arguments *a, struct error *err)
{
    struct arena arena = {0};
    struct record record, other;
    int status = refuse_folder(a->show, err) || (a->with && refuse_folder(a->with, err))
                     ? -1
                     : capture_read(&record, a->show, &arena, err);
    if (status == 0 && a->with)
        status = capture_read(&other, a->with, &arena, err);
    if (status == 0 && a->with)
        compare(out, a, &record, &other);
    else if (status == 0) {
        printf("kernel     %s\n", clean(record.kernel, &arena));
        launch_print_all(&record);
        show_contents(out, &record, a->show);
    }
    arena_free(&arena);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    return a->show ? show(out, a, err) : capture(out, a, context, err);
}

static bool runs(const void *arguments)
{
    const struct arguments *a = arguments;
    return !a->show;
}

static bool records(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->kernel || a->range;
}

static bool writes(const void *arguments)
{
    const struct arguments *a = arguments;
    return a->write;
}

static bool shows(const void *arguments)
{
    return !runs(arguments);
}

static const struct option_use uses[] = {
    {"with", shows, "--show FILE"},
    {"launch limit", records, "--kernel or --range"},
    {"build", writes, "--write"},
    {"kernel range output write sandbox quiet", runs, "a command that is run; --show runs none"},
    {0},
};

const struct command command_capture = {
    .name = "capture",
    .summary =
        "Run a CUDA program once: list the kernels that it launches, or keep one as a record",
    .words = "-- COMMAND\n--show FILE",
    .words_most = WORDS_ANY,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Says which kernels a CUDA program launches, and keeps launches of it as a record.\v"
           "The driver loads a library of plumb into the program, which asks CUPTI of each launch. "
           "So it works for nvcc, Triton, PyTorch, CuTe and cuBLAS alike, and the program needs no "
           "change. What the program prints goes to standard error.",
};
