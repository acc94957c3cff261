// SPDX-License-Identifier: Apache-2.0
//
// Runs a program to be captured, and reads the folder that it wrote. Only files with names that the
// library gives are opened, and no links.
#include "runner/bench/capture.h"

#include "model/record/record.h"
#include "runner/bench/measure.h"
#include "runner/child/files.h"
#include "runner/code/code_id.h"
#include "runner/code/machine_code.h"
#include "runner/git/repository.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES_SHOWN = 6, PROCESSES_MAX = 4096 };

// ---- the program ----

// The settings for the program, as NAME=value.
static const char **settings_of(const struct capture_program *p, size_t *count, struct arena *arena)
{
    enum { SETTINGS = 8 };
    const char **out = arena_alloc(arena, SETTINGS * sizeof(*out));
    size_t n = 0;
    out[n++] = arena_printf(arena, "PLUMB_CAPTURE=%s", p->folder);
    out[n++] = arena_printf(arena, "CUDA_INJECTION64_PATH=%s", p->library);
    out[n++] = arena_printf(arena, "NVTX_INJECTION64_PATH=%s", p->library);
    out[n++] = arena_printf(arena, "PLUMB_CAPTURE_LIMIT=%llu", (unsigned long long)p->limit_bytes);
    out[n++] = "PLUMB_CAPTURE_TIMES=1";
    if (p->wish.kernel)
        out[n++] = arena_printf(arena, "PLUMB_CAPTURE_KERNEL=%s", p->wish.kernel);
    if (p->wish.range)
        out[n++] = arena_printf(arena, "PLUMB_CAPTURE_RANGE=%s", p->wish.range);
    if (p->wish.launch)
        out[n++] =
            arena_printf(arena, "PLUMB_CAPTURE_LAUNCH=%llu", (unsigned long long)p->wish.launch);
    *count = n;
    return out;
}

// The environment that a program needs to be found and to find its libraries, and nothing else of
// the user's.
static const char *const *inner_environment(const char *const *settings, size_t count,
                                            struct arena *arena)
{
    static const char *const passed[] = {"PATH", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH",
                                         "CUDA_VISIBLE_DEVICES"};
    const char **out = arena_alloc(arena, (count + ARRAY_COUNT(passed) + 2) * sizeof(*out));
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        const char *value = getenv(passed[i]);
        if (value)
            out[n++] = arena_printf(arena, "%s=%s", passed[i], value);
    }
    out[n++] = "HOME=/tmp";
    memcpy(out + n, settings, count * sizeof(*out));
    return out;
}

static const char *const *confined(const struct capture_program *p, const char *const *settings,
                                   size_t count, const char *const *argv, struct arena *arena)
{
    struct sandbox_bind *binds = arena_alloc(arena, (p->shown_count + 2) * sizeof(*binds));
    struct sandbox_view view = {.binds = binds,
                                .bind_count = p->shown_count + 2,
                                .env = inner_environment(settings, count, arena),
                                .directory = p->directory,
                                .gpu = true,
                                .memory_bytes = process_fair_memory()};
    for (size_t i = 0; i < p->shown_count; i++)
        binds[i] = (struct sandbox_bind){.from = p->shown[i], .to = p->shown[i]};
    binds[p->shown_count] = (struct sandbox_bind){.from = p->library, .to = p->library};
    binds[p->shown_count + 1] =
        (struct sandbox_bind){.from = p->folder, .to = p->folder, .writable = true};
    return sandbox_argv(p->sandbox, &view, argv, arena);
}

// The program's words as a list that ends with NULL.
static const char *const *words_of(const struct capture_program *p, struct arena *arena)
{
    const char **words = arena_alloc(arena, (p->word_count + 1) * sizeof(*words));
    memcpy(words, p->words, p->word_count * sizeof(*words));
    return words;
}

static void become(const struct capture_program *p)
{
    struct arena arena = {0};
    size_t count;
    const char **settings = settings_of(p, &count, &arena);
    const char *const *words = words_of(p, &arena);
    char **argv = arena_alloc(&arena, (p->word_count + 1) * sizeof(*argv));
    for (size_t i = 0; i < p->word_count; i++)
        argv[i] = arena_strdup(&arena, words[i]);
    for (size_t i = 0; i < count; i++)
        putenv(arena_strdup(&arena, settings[i]));
    if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        execvp(argv[0], argv);
    fprintf(stderr, "plumb: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

// The user's own program. It gets the interrupt of the terminal, too, and its end is reported.
static int run_own(struct process_result *out, const struct capture_program *p, struct error *err)
{
    enum { TICK_US = 50000 };
    const pid_t child = fork();
    int result = 0, status = 0;
    if (child < 0)
        return error_set(err, "%s: cannot be started: %s", p->words[0], strerror(errno));
    if (child == 0)
        become(p);
    signal(SIGINT, SIG_IGN);
    for (pid_t ended = 0; result == 0 && ended != child;) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended < 0 && errno != EINTR)
            result = error_set(err, "%s: cannot be waited for: %s", p->words[0], strerror(errno));
        if (ended == 0) {
            p->tick(p->tick_context);
            usleep(TICK_US);
        }
    }
    signal(SIGINT, SIG_DFL);
    *out = (struct process_result){.end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED,
                                   .code = WIFSIGNALED(status) ? WTERMSIG(status)
                                                               : WEXITSTATUS(status)};
    return result;
}

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool tick_on(void *context)
{
    const struct capture_program *p = context;
    p->tick(p->tick_context);
    return !interrupted;
}

// A program that may be a stranger's. It has a session of its own, so an interrupt ends it from
// here.
static int run_confined(struct process_result *out, const struct capture_program *p,
                        struct error *err)
{
    enum { PROCESSES_MOST = 4096 };
    static const uint64_t file_bytes = (uint64_t)4 << 30, disk_bytes = (uint64_t)16 << 30;
    struct arena arena = {0};
    struct capture_program copy = *p;
    size_t count;
    const char **settings = settings_of(p, &count, &arena);
    const struct process_plan plan = {
        .argv = confined(p, settings, count, words_of(p, &arena), &arena),
        .env = sandbox_environment(p->sandbox, &arena),
        .limits = {.time_s = p->time_s,
                   .processes = PROCESSES_MOST,
                   .file_bytes = p->limit_bytes > file_bytes ? p->limit_bytes : file_bytes,
                   .together_bytes = process_fair_memory(),
                   .disk_bytes = p->limit_bytes > disk_bytes ? 2 * p->limit_bytes : disk_bytes,
                   .folders = {p->folder}},
        .tick = tick_on,
        .tick_context = &copy};
    interrupted = 0;
    signal(SIGINT, note_interrupt);
    const int result = process_run(out, &plan, err);
    signal(SIGINT, SIG_DFL);
    arena_free(&arena);
    return result;
}

int capture_run(struct process_result *out, const struct capture_program *p, struct error *err)
{
    return p->sandbox ? run_confined(out, p, err) : run_own(out, p, err);
}

// ---- the folder ----

static int by_text(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    const size_t first = strlen(*a), second = strlen(*b);
    return first == second ? strcmp(*a, *b) : first < second ? -1 : 1;
}

// Lists the paths of files named BEGIN.NUMBER or BEGIN.NUMBER.NUMBER, sorted by these numbers. -1:
// the folder cannot be read.
static int find_files(const char ***out, size_t *count, const char *folder, const char *begin,
                      struct arena *arena, struct error *err)
{
    const size_t length = strlen(begin);
    DIR *open = opendir(folder);
    struct dirent *entry;
    *out = NULL;
    *count = 0;
    if (!open && errno == ENOENT)
        return 0; // an empty file left by a build is not kept
    if (!open)
        return error_set(err, "%s: %s", folder, strerror(errno));
    const char **names = NULL;
    size_t room = 0;
    while ((entry = readdir(open)) && *count < PROCESSES_MAX) {
        const char *number = entry->d_name + length;
        struct stat status;
        if (strncmp(entry->d_name, begin, length) != 0 || !*number ||
            strspn(number, "0123456789.") != strlen(number))
            continue;
        const char *path = arena_printf(arena, "%s/%s", folder, entry->d_name);
        if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        names = xgrow(names, *count, &room, sizeof(*names));
        names[(*count)++] = path;
    }
    closedir(open);
    if (*count) {
        qsort(names, *count, sizeof(*names), by_text);
        *out = arena_copy(arena, names, *count * sizeof(*names));
    }
    free(names);
    return 0;
}

static int read_file(char **out, size_t *size, const char *path, struct arena *arena,
                     struct error *err)
{
    struct code_file file;
    if (code_read(&file, path, err))
        return -1;
    *out = arena_alloc(arena, file.size + 1);
    memcpy(*out, file.bytes, file.size);
    *size = file.size;
    code_close(&file);
    return 0;
}

int capture_surveys(struct capture_surveys *out, const char *folder, struct arena *arena,
                    struct error *err)
{
    const char **paths;
    size_t count;
    *out = (struct capture_surveys){0};
    if (find_files(&paths, &count, folder, "survey.", arena, err) ||
        find_files(&out->records, &out->record_count, folder, "record.", arena, err))
        return -1;
    out->items = arena_alloc(arena, (count + 1) * sizeof(*out->items));
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        struct error why;
        char *bytes;
        size_t size;
        if (read_file(&bytes, &size, paths[i], arena, err))
            return -1;
        if (survey_parse(&out->items[i], bytes, size, arena, &why))
            return error_set(err, "%s: %.900s", paths[i], why.text);
    }
    return 0;
}

// Sets addresses to zero: where buffers lay in that process does not concern the code, and the
// addresses are replaced before a launch.
static void blank_addresses(const struct record *record)
{
    for (size_t l = 0; l < record->launch_count; l++) {
        const struct record_launch *launch = &record->launches[l];
        for (uint32_t i = 0; i < launch->address_count; i++)
            memset(launch->bytes + launch->addresses[i].at, 0, sizeof(uint64_t));
        for (uint32_t i = 0; i < launch->map_count; i++)
            memset(launch->bytes + launch->maps[i].at, 0, RECORD_MAP_BYTES);
    }
}

int capture_read(struct record *out, const char *path, struct arena *arena, struct error *err)
{
    struct error why;
    char *bytes;
    size_t size;
    if (read_file(&bytes, &size, path, arena, err))
        return -1;
    if (record_parse(out, bytes, size, arena, &why))
        return error_set(err, "%s: %.900s", path, why.text);
    blank_addresses(out);
    return 0;
}

// ---- why there is no record ----

// Names what was launched, or the ranges that were pushed, by all processes together.
static void list_seen(struct buffer *out, const struct capture_surveys *surveys, bool ranges)
{
    size_t shown = 0;
    for (size_t i = 0; i < surveys->count && shown < NAMES_SHOWN; i++) {
        const struct survey *s = &surveys->items[i];
        const size_t count = ranges ? s->ranges[0] != '\0' : s->count;
        for (size_t k = 0; k < count && shown < NAMES_SHOWN; k++) {
            const char *name = ranges ? s->ranges : s->kernels[k].name;
            if (!ranges && k && strcmp(name, s->kernels[k - 1].name) == 0)
                continue; // another shape of it
            buffer_printf(out, "%s%.500s", shown++ ? ", " : "", name);
        }
    }
    if (!shown)
        buffer_puts(out, ranges ? "none" : "nothing");
    buffer_add(out, "", 1);
}

// How many launches or ranges were among those that were wished for.
static uint64_t count_wished(const struct capture_surveys *surveys, const struct capture_wish *wish)
{
    uint64_t count = 0;
    for (size_t i = 0; i < surveys->count; i++) {
        const struct survey *s = &surveys->items[i];
        count += wish->range ? s->pushes : 0;
        for (size_t k = 0; wish->kernel && k < s->count; k++)
            count += fnmatch(wish->kernel, s->kernels[k].name, 0) == 0 ? s->kernels[k].launches : 0;
    }
    return count;
}

void capture_why_none(char *out, size_t size, const struct capture_surveys *surveys,
                      const struct capture_wish *wish)
{
    struct buffer seen = {0};
    const char *what = wish->range ? wish->range : wish->kernel ? wish->kernel : "*";
    const uint64_t count = count_wished(surveys, wish);
    for (size_t i = 0; i < surveys->count; i++) {
        const struct survey *s = &surveys->items[i];
        if (!s->refused[0] && !s->note[0])
            continue;
        snprintf(out, size, "%s", s->refused[0] ? s->refused : s->note);
        return;
    }
    list_seen(&seen, surveys, wish->range);
    if (!surveys->count)
        snprintf(out, size, "it did not use CUDA, or ended before it could be told");
    else if (count && wish->launch > count)
        snprintf(out, size, "launch %llu of %.200s is asked for, and there were %llu",
                 (unsigned long long)wish->launch, what, (unsigned long long)count);
    else if (count)
        snprintf(out, size,
                 wish->range ? "nothing was launched in the range %.200s"
                             : "no launch of %.200s could be recorded",
                 what);
    else
        snprintf(out, size,
                 wish->range ? "no range %.200s was pushed; it pushed %.700s"
                             : "no launch of %.200s was seen; it ran %.700s",
                 what, seen.bytes);
    buffer_free(&seen);
}

static int say_none(const char *folder, const struct capture_wish *wish, struct arena *arena,
                    struct error *err)
{
    struct capture_surveys surveys;
    char why[1000];
    if (capture_surveys(&surveys, folder, arena, err) == 0) {
        capture_why_none(why, sizeof(why), &surveys, wish);
        error_set(err, "%s", why);
    }
    return 1;
}

static int find_records(const char ***out, size_t *count, const char *folder,
                        const struct capture_wish *wish, struct arena *arena, struct error *err)
{
    static const char begin[] = "record.";
    if (find_files(out, count, folder, begin, arena, err))
        return 1;
    if (!*count)
        return say_none(folder, wish, arena, err);
    for (size_t i = 1; i < *count; i++) {
        const char *one = strrchr((*out)[0], '/') + sizeof(begin);
        const char *other = strrchr((*out)[i], '/') + sizeof(begin);
        const size_t length = strcspn(one, ".");
        if (length != strcspn(other, ".") || strncmp(one, other, length) != 0)
            return error_set(err, "several of its processes took a launch: name one by its kernel"),
                   1;
    }
    return 0;
}

// ---- the series ----

static void find_code(char out[OBJECT_ID_TEXT], const struct record *record, struct arena *arena)
{
    struct buffer text = {0};
    struct record launches = *record;
    struct record_content *contents =
        arena_alloc(arena, (record->content_count + 1) * sizeof(*contents));
    buffer_puts(&text, "plumb capture 1\n");
    for (size_t i = 0; i < record->image_count; i++) {
        char code[OBJECT_ID_TEXT];
        // code_id_of() does not change the bytes.
        code_id_of(code, &(struct code_file){(unsigned char *)(uintptr_t)record->images[i].bytes,
                                             record->images[i].size});
        buffer_printf(&text, "image %s\n", code);
    }
    for (size_t i = 0; i < record->content_count; i++)
        contents[i] = (struct record_content){record->contents[i].bytes, "", NULL};
    launches.image_count = 0;
    launches.contents = contents;
    launches.tolerance = 0;
    record_print(&text, &launches);
    content_id(out, text.bytes, text.length);
    buffer_free(&text);
}

// Adds the function of a launch, unless the list has it.
static void add_function(struct code_function_list *out, const struct record *record,
                         const struct record_launch *launch, struct arena *arena)
{
    struct code_function_list list = {0};
    struct error none;
    if (launch->kind != RECORD_KERNEL || !launch->image)
        return;
    const struct record_image *image = &record->images[launch->image - 1];
    const struct code_file file = {(unsigned char *)(uintptr_t)image->bytes, image->size};
    for (size_t i = 0; i < out->count; i++) {
        if (strcmp(out->items[i].name, launch->function) == 0)
            return;
    }
    if (code_resources_of(&list, &file, arena, &none))
        return;
    for (size_t i = 0; i < list.count; i++) {
        if (strcmp(list.items[i].name, launch->function) == 0) {
            out->items[out->count++] = list.items[i];
            return;
        }
    }
}

static void find_functions(struct code_function_list *out, const struct record *record,
                           struct arena *arena)
{
    *out = (struct code_function_list){
        .items = arena_alloc(arena, (record->launch_count + 1) * sizeof(*out->items)),
        .complete = true};
    for (size_t i = 0; i < record->launch_count; i++)
        add_function(out, record, &record->launches[i], arena);
}

int capture_resources(struct code_function_list *out, const char *file, struct arena *arena,
                      struct error *err)
{
    struct record record;
    if (capture_read(&record, file, arena, err))
        return -1;
    find_functions(out, &record, arena);
    return 0;
}

static void find_traits(struct traits *out, const struct record *record, struct arena *arena)
{
    const struct record_launch *launch = record->launches;
    struct code_function_list list;
    *out = (struct traits){.in = record->problem.in, .out = record->problem.out};
    if (record->launch_count != 1 || launch->kind != RECORD_KERNEL)
        return;
    out->threads = (int32_t)(launch->block[0] * launch->block[1] * launch->block[2]);
    out->smem_bytes = (int32_t)launch->shared_bytes;
    out->cluster_m = (int32_t)launch->cluster[0];
    out->cluster_n = (int32_t)launch->cluster[1];
    find_functions(&list, record, arena);
    out->registers = list.count ? list.items[0].registers : 0;
}

// ---- types ----

// The element type that a TMA descriptor gives.
static bool described_type(enum dtype *out, uint32_t type)
{
    static const int types[RECORD_MAP_TYPES] = {
        [RECORD_MAP_FP16] = 1 + DTYPE_FP16,     [RECORD_MAP_FP32] = 1 + DTYPE_FP32,
        [RECORD_MAP_FP64] = 1 + DTYPE_FP64,     [RECORD_MAP_BF16] = 1 + DTYPE_BF16,
        [RECORD_MAP_FP32_FTZ] = 1 + DTYPE_FP32, [RECORD_MAP_TF32] = 1 + DTYPE_FP32,
        [RECORD_MAP_INT32] = 1 + DTYPE_INT32};
    if (type < RECORD_MAP_TYPES && types[type])
        *out = (enum dtype)(types[type] - 1);
    return type < RECORD_MAP_TYPES && types[type];
}

// Finds the type of the results, if a descriptor describes them.
static void infer_type(struct record *record)
{
    for (size_t l = 0; l < record->launch_count; l++) {
        const struct record_launch *launch = &record->launches[l];
        for (uint32_t i = 0; i < launch->map_count; i++) {
            const struct record_map *map = &launch->maps[i];
            const size_t which = (size_t)(map->buffer - RECORD_CAPTURED);
            enum dtype type;
            if (map->buffer >= RECORD_CAPTURED && which < record->content_count &&
                record->contents[which].after && described_type(&type, map->type))
                record->problem.in = record->problem.out = type;
        }
    }
}

// The tolerance: two units in the last place of the largest result. FP32 sums in another order
// differ by more.
static double tolerance_of(enum dtype type)
{
    return type == DTYPE_BF16 || type == DTYPE_INT8 ? 0x1p-7
           : type == DTYPE_FP16                     ? 0x1p-10
           : type == DTYPE_E4M3                     ? 0x1p-3
           : type == DTYPE_E5M2                     ? 0x1p-2
           : type == DTYPE_FP64                     ? 0x1p-44
           : type == DTYPE_INT32                    ? 0
                                                    : 0x1p-16;
}

// Whether nothing has said of what problem and type it is.
static bool is_untold(const struct problem *problem)
{
    struct problem unnamed;
    struct error none;
    return problem_parse(&unnamed, "capture=1", &none) == 0 && problem_equal(problem, &unnamed);
}

// Finds the problem of the record: that of its range, or that of the series. 1: there is neither.
static int settle_problem(struct record *record, const struct capture_series *series, size_t shapes,
                          struct error *err)
{
    record->problem = problem_in(&record->problem, REGIME_COLD);
    if (!is_untold(&record->problem))
        return 0;
    if (!series->problem) {
        infer_type(record);
        return 0;
    }
    if (shapes > 1)
        return error_set(err,
                         "it launched %zu shapes, and the policy names one problem: choose one by "
                         "`launch`, or push NVTX ranges around them that are named as problems",
                         shapes),
               1;
    record->problem = *series->problem;
    return 0;
}

// ---- contents that several captures share ----
//
// Each content is one file in one folder, named by its hash; captures have hard links to it. So
// fifty commits whose program fills its buffers alike store them once. A content that no capture
// has any more is removed when the next capture comes. Where files cannot have two names, each
// capture has a copy.

static bool is_alone(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
}

static bool same_bytes(const struct code_file *file, const char *path)
{
    struct code_file other;
    struct error none;
    if (code_read(&other, path, &none))
        return false;
    const bool same = other.size == file->size && memcmp(other.bytes, file->bytes, file->size) == 0;
    code_close(&other);
    return same;
}

static void share_file(const char *folder, const char *name, const char *shared)
{
    char *path = xprintf("%s/%s", folder, name), id[OBJECT_ID_TEXT];
    struct code_file file;
    struct error none;
    if (is_alone(path) && code_read(&file, path, &none) == 0) {
        content_id(id, file.bytes, file.size);
        char *once = xprintf("%s/%s", shared, id), *begun_as = xprintf("%s.new", path);
        if (link(path, once) && errno == EEXIST && same_bytes(&file, once) &&
            link(once, begun_as) == 0 && rename(begun_as, path))
            unlink(begun_as);
        free(begun_as);
        free(once);
        code_close(&file);
    }
    free(path);
}

static void remove_unshared(const char *shared)
{
    DIR *open = opendir(shared);
    struct dirent *entry;
    while (open && (entry = readdir(open))) {
        char *path = xprintf("%s/%s", shared, entry->d_name);
        if (is_alone(path))
            unlink(path);
        free(path);
    }
    if (open)
        closedir(open);
}

static void share_contents(const struct record *record, const char *folder, const char *shared)
{
    struct error none;
    if (!shared || files_make_directory(shared, &none))
        return;
    for (size_t i = 0; i < record->content_count; i++) {
        share_file(folder, record->contents[i].before, shared);
        if (record->contents[i].after)
            share_file(folder, record->contents[i].after, shared);
    }
}

static int make_series(struct capture_made *out, const char *folder, const char *path, size_t nth,
                       size_t shapes, const struct capture_series *series, struct error *err)
{
    struct arena arena = {0};
    struct record record;
    int status = capture_read(&record, path, &arena, err) ? 1 : 0;
    if (status == 0 && !record.content_count)
        status = (error_set(err, "its launches are given no memory of the device"), 1);
    if (status == 0)
        status = settle_problem(&record, series, shapes, err);
    if (status == 0) {
        snprintf(out->name, sizeof(out->name), nth ? "%s.%zu" : "%s", series->name, nth + 1);
        const int length = snprintf(out->file, sizeof(out->file), "%s/series.%zu", folder, nth + 1);
        if ((size_t)length >= sizeof(out->file))
            status = error_set(err, "%s: the path is too long", folder);
    }
    if (status == 0) {
        text_copy(record.kernel, sizeof(record.kernel), out->name);
        record.tolerance =
            series->tolerance < 0 ? tolerance_of(record.problem.out) : series->tolerance;
        out->untold = record.tolerance > 0 && is_untold(&record.problem);
        record.note[0] = '\0';
        find_code(out->code, &record, &arena);
        find_traits(&out->traits, &record, &arena);
        out->problem = record.problem;
        share_contents(&record, folder, series->shared);
        status = record_save(&record, out->file, err);
    }
    arena_free(&arena);
    return status;
}

int capture_make(struct capture_made **out, size_t *count, const char *folder,
                 const struct capture_series *series, struct arena *arena, struct error *err)
{
    const char **paths;
    int status = find_records(&paths, count, folder, &series->wish, arena, err);
    *out = arena_alloc(arena, (*count + 1) * sizeof(**out));
    for (size_t i = 0; status == 0 && i < *count; i++) {
        (*out)[i] = (struct capture_made){.file = ""};
        status = make_series(&(*out)[i], folder, paths[i], i, *count, series, err);
    }
    if (series->shared)
        remove_unshared(series->shared);
    return status;
}
