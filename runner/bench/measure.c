// SPDX-License-Identifier: Apache-2.0
//
// Starts a bench, greets it and ends it. Sends it commands (list, open, measure, close, calibrate),
// and decides which answers are believed. Makes records of what it tells.
#include "runner/bench/measure.h"

#include "model/record/record.h"
#include "model/wire.h"
#include "runner/child/files.h"
#include "runner/code/machine_code.h"
#include "runner/code/plan_file.h"
#include "runner/git/repository.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct bench {
    struct bench_plan plan;  // its texts are copies in the arena
    struct process *process; // NULL when the child is gone
    struct arena arena;
    struct device device;
    struct gpu gpu;
    bool left;       // it was told to quit
    int64_t last_id; // id of the series that was opened last
    const char *bus; // the device's address; NULL: it has none
    struct processors own;
    char processors[PROCESSORS_TEXT]; // as the child was told; "" before it opened a series
    char said[400];                   // the child's last note or fail, used when it dies
};

// Takes one record of an answer. Returns -1, with a text, if the record does not belong to the
// answer.
typedef int (*bench_handler)(void *context, const struct wire_record *record, struct error *err);

// ---- the child: its program, its environment, and what it sees

enum { PROCESSES_MAX = 4096, BENCH_LOG_BYTES = 1 << 20 };

// Variables that a child may need to find its device, or with which the user limits its threads.
static const char *const passed[] = {
    "CUDA_VISIBLE_DEVICES",   "CUDA_DEVICE_ORDER", "CUDA_HOME",     "LD_LIBRARY_PATH",
    "OMP_NUM_THREADS",        "OMP_PROC_BIND",     "OMP_PLACES",    "OPENBLAS_NUM_THREADS",
    "NVIDIA_VISIBLE_DEVICES", "ASAN_OPTIONS",      "UBSAN_OPTIONS", "LSAN_OPTIONS"};

// Lists the builds, one per line.
static const char *builds(const struct bench_plan *plan, struct arena *arena)
{
    const char *text = "PLUMB_BUILDS=";
    for (size_t i = 0; i < plan->build_count; i++) {
        const bool kept = plan->kept && strcmp(plan->read_only[i], plan->kept) == 0;
        text = arena_printf(arena, "%s%s%s%s", text, i ? "\n" : "", plan->read_only[i],
                            kept ? "/*" : "");
    }
    return text;
}

static const char *const *child_environment(const struct bench_plan *plan, struct arena *arena)
{
    const char **env = arena_alloc(arena, (ARRAY_COUNT(passed) + 7) * sizeof(*env));
    const char *path = getenv("PATH");
    size_t used = 0;
    env[used++] = arena_printf(arena, "PATH=%s", path ? path : "/usr/bin:/bin");
    env[used++] = "HOME=/tmp";
    env[used++] = "LC_ALL=C.UTF-8";
    env[used++] = builds(plan, arena);
    if (plan->references)
        env[used++] = arena_printf(arena, "PLUMB_REFERENCES=%s", plan->references);
    if (plan->sandbox && plan->sandbox->active) // then /tmp and /dev/shm are the sandbox's
        env[used++] = plan->sandbox->required ? "PLUMB_FOLDERS=required" // kernels/bench/arm.c
                                              : "PLUMB_FOLDERS=own";
    for (size_t i = 0; i < ARRAY_COUNT(passed); i++) {
        const char *value = getenv(passed[i]);
        if (value)
            env[used++] = arena_printf(arena, "%s=%s", passed[i], value);
    }
    return env;
}

// Finds the program's absolute path, at which the sandbox shows it.
static int find_bench(char out[PATH_MAX], const struct bench_plan *plan, struct error *err)
{
    char own[PATH_MAX];
    const char *program = plan->program;
    if (!program) {
        files_own(own, "bench");
        program = own;
    }
    if (realpath(program, out) && access(out, X_OK) && access(out, F_OK) == 0)
        return error_set(err, "%s: cannot be run: it may not be, or its file system is noexec",
                         out);
    if (!realpath(program, out))
        return error_set(err, "%s: there is no bench program; is plumb installed whole?", program);
    return 0;
}

static const char *const *child_argv(struct bench *bench, const char *program,
                                     const char *const *env)
{
    const struct bench_plan *plan = &bench->plan;
    struct arena *arena = &bench->arena;
    struct sandbox_bind *binds = arena_alloc(arena, (plan->read_only_count + 2) * sizeof(*binds));
    size_t bind_count = plan->read_only_count;
    for (size_t i = 0; i < plan->read_only_count; i++)
        binds[i] = (struct sandbox_bind){plan->read_only[i], plan->read_only[i], false};
    program = arena_strdup(arena, program);
    binds[bind_count++] = (struct sandbox_bind){program, program, false};
    if (plan->references)
        binds[bind_count++] = (struct sandbox_bind){plan->references, plan->references, true};
    const struct sandbox_view view = {
        .binds = binds,
        .bind_count = bind_count,
        .env = env,
        .gpu = strcmp(plan->kind, "cuda") == 0,
        .memory_bytes = process_fair_memory(),
        .tasks = PROCESSES_MAX,
        .freezes = strcmp(plan->kind, "host") == 0,
        .proc_read_only = strcmp(plan->kind, "host") == 0,
    };
    const char **argv = arena_alloc(arena, 5 * sizeof(*argv));
    argv[0] = program;
    argv[1] = "--device";
    argv[2] = strcmp(plan->kind, "cuda") == 0 || plan->index > 0
                  ? arena_printf(arena, "%s:%d", plan->kind, plan->index)
                  : plan->kind;
    argv[3] = plan->ask ? "--ask" : NULL;
    return plan->sandbox ? sandbox_argv(plan->sandbox, &view, argv, arena) : argv;
}

static int bench_spawn(struct bench *bench, struct error *err)
{
    char program[PATH_MAX];
    if (find_bench(program, &bench->plan, err))
        return -1;
    const char *const *env = child_environment(&bench->plan, &bench->arena);
    bool inside = bench->plan.sandbox && bench->plan.sandbox->active;
    const struct process_plan plan = {
        .argv = child_argv(bench, program, env),
        .env = inside ? sandbox_environment(bench->plan.sandbox, &bench->arena) : env,
        .log_path = bench->plan.log_path,
        .log_bytes = BENCH_LOG_BYTES,
        .limits = {.memory_bytes = bench->plan.limits.memory_bytes,
                   .processes = PROCESSES_MAX,
                   .together_bytes = process_fair_memory(),
                   .watch_s = 1,
                   .file_bytes = (uint64_t)1 << 30},
    };
    return process_start(&bench->process, &plan, err);
}

static const double start_limit_s = 60, write_limit_s = 10, end_grace_s = 3;

// A limit of the plan, or its default.
static double bench_limit(double seconds, double otherwise)
{
    return seconds > 0 ? seconds : otherwise;
}

// Writes the error for a record that does not belong to the answer; returns -1. Used by handlers.
static int bench_unexpected(const struct wire_record *record, struct error *err)
{
    return error_set(err, "a record '%.40s' that was not asked for", record->name);
}

// Copies untrusted text for people: control bytes become spaces, and the text is cut at `size`.
static void bench_clean(char *out, size_t size, const char *text)
{
    text_copy(out, size, text);
    for (char *c = out; *c; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
}

static void remember(struct bench *bench, const char *text)
{
    if (text)
        bench_clean(bench->said, sizeof(bench->said), text);
}

// ---- one command

static int end_child(struct process_result *result, struct bench *bench, double grace_s)
{
    process_stop(result, bench->process, grace_s);
    bench->process = NULL;
    processors_give_back(&bench->own);
    return 0;
}

// Whether a fresh child finds no device either.
static bool device_is_gone(const struct bench *bench, struct error *err)
{
    struct bench *again = NULL;
    struct bench_plan plan = bench->plan;
    plan.log_path = NULL; // the dead child's log is kept
    int code = bench_start(&again, &plan, err);
    bench_stop(again);
    return code != 0;
}

// Whether the child was killed by a person, the machine's lack of memory, or a scheduler. A sandbox
// reports a signal as a status above 128. Exceeding its own limits is the child's own fault.
static bool killed_from_outside(const struct process_result *result)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXCPU};
    const int code = result->end == PROCESS_SIGNALLED ? result->code : result->code - 128;
    bool found = false;
    for (size_t i = 0; i < ARRAY_COUNT(signals); i++)
        found |= code == signals[i];
    return found;
}

// Handles a child that closed its output: finds out how it ended, and whether the device was the
// cause.
static int child_died(struct bench_outcome *out, struct bench *bench, struct error *err)
{
    struct process_result result;
    struct error why;
    char ending[64];
    end_child(&result, bench, end_grace_s);
    process_describe(ending, sizeof(ending), &result);
    if (result.end == PROCESS_EXITED && result.code == BENCH_DEVICE_LOST &&
        device_is_gone(bench, &why))
        return error_set(err, "device %s was lost while it was measured (%s); %s",
                         bench->device.name, *bench->said ? bench->said : "no reason given",
                         why.text);
    out->state = MEASURED_CRASHED;
    out->gone = true;
    out->faulted = (result.end == PROCESS_SIGNALLED ? result.code : result.code - 128) == SIGABRT;
    // A device that was away for a moment tells nothing about the kernel either.
    out->own_fault = !killed_from_outside(&result) &&
                     !(result.end == PROCESS_EXITED && result.code == BENCH_DEVICE_LOST);
    snprintf(out->detail, sizeof(out->detail), "the process died: %s%s%s", ending,
             *bench->said ? "; it said: " : "", bench->said);
    return 0;
}

static int child_late(struct bench_outcome *out, struct bench *bench, double limit_s,
                      struct error *err)
{
    const bool crowded = process_crowded(bench->process);
    end_child(NULL, bench, 0);
    if (crowded)
        return error_set(err,
                         "the machine is too crowded to measure on: in %.3g s of wall time bench "
                         "got less than %.3g s; end what else runs here",
                         PROCESS_PATIENCE * limit_s, limit_s);
    out->state = MEASURED_TIMEOUT;
    out->gone = out->own_fault = true;
    snprintf(out->detail, sizeof(out->detail), "no answer within %.3g s%s%s", limit_s,
             *bench->said ? "; it said: " : "", bench->said);
    return 0;
}

static int child_babbles(struct bench_outcome *out, struct bench *bench, const char *text)
{
    end_child(NULL, bench, 0);
    out->state = MEASURED_CRASHED;
    out->gone = out->own_fault = true;
    snprintf(out->detail, sizeof(out->detail), "broke the protocol: %.400s", text);
    return 0;
}

enum line_result { ANSWER_MORE, ANSWER_DONE, ANSWER_FAIL, ANSWER_BAD };

static enum line_result take_line(struct bench_outcome *out, struct bench *bench, char *line,
                                  bench_handler handler, void *context, struct error *err)
{
    struct wire_record record;
    if (wire_parse(&record, line, err))
        return ANSWER_BAD;
    const char *text = wire_text(&record, "text");
    if (strcmp(record.name, "done") == 0)
        return ANSWER_DONE;
    if (strcmp(record.name, "fail") == 0) {
        remember(bench, text);
        out->state = MEASURED_CRASHED;
        out->refused = true;
        out->lacks = wire_text(&record, "lacks") != NULL;
        out->unable = wire_text(&record, "unable") != NULL;
        bench_clean(out->detail, sizeof(out->detail), text ? text : "the command failed");
        return ANSWER_FAIL;
    }
    if (strcmp(record.name, "note") == 0) {
        remember(bench, text);
        if (bench->plan.note && text)
            bench->plan.note(bench->plan.note_context, bench->said);
        return ANSWER_MORE;
    }
    return handler(context, &record, err) ? ANSWER_BAD : ANSWER_MORE;
}

static int read_answer(struct bench_outcome *out, struct bench *bench, double limit_s,
                       bench_handler handler, void *context, struct error *err)
{
    char line[WIRE_LINE];
    struct error bad;
    process_allow(bench->process, limit_s);
    for (;;) {
        enum process_line kind = process_read(bench->process, line, sizeof(line), limit_s);
        if (kind == PROCESS_LINE_TIMEOUT)
            return child_late(out, bench, limit_s, err);
        if (kind == PROCESS_LINE_END)
            return child_died(out, bench, err);
        if (kind == PROCESS_LINE_LONG)
            return child_babbles(out, bench, "a line that is too long or binary");
        enum line_result answer = take_line(out, bench, line, handler, context, &bad);
        if (answer == ANSWER_BAD)
            return child_babbles(out, bench, bad.text);
        if (answer != ANSWER_MORE)
            return 0;
    }
}

// ---- start and stop

// Sends a line and hands each record of the answer to `handler`. The answer ends with `done` (state
// ok), with `fail` (crashed, alive) or with a dead child (crashed or timeout, gone). -1: no device.
static int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                          double limit_s, bench_handler handler, void *context, struct error *err)
{
    assert(bench->process); // after `gone` only bench_stop() may follow
    struct bench_outcome outcome = {.state = MEASURED_OK, .role = ROLE_HEAD};
    bench->said[0] = '\0';
    if (line->overflow)
        return error_set(err, "bench: a command is too long; shorten the paths");
    // Whether the child received the line will show in its answer.
    process_write(bench->process, wire_end(line), write_limit_s);
    if (read_answer(&outcome, bench, limit_s, handler, context, err))
        return -1;
    *out = outcome;
    return 0;
}

static const char *text_of(struct arena *arena, const struct wire_record *record, const char *key)
{
    char clean[200];
    const char *text = wire_text(record, key);
    bench_clean(clean, sizeof(clean), text ? text : "");
    return arena_strdup(arena, clean);
}

static int read_figures(struct gpu *gpu, const struct wire_record *record, struct error *err)
{
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const char *key = gpu_figure_key(i);
        struct figure *figure = gpu_figure(gpu, key);
        if (!wire_text(record, key))
            continue;
        if (wire_double(&figure->value, record, key, 0, 1e30, err))
            return -1;
        figure->origin = ORIGIN_DEVICE;
        figure->source = "read from the device";
    }
    return 0;
}

struct greeting {
    struct bench *bench;
    bool hello, device;
};

static int take_greeting(struct greeting *greeting, const struct wire_record *record,
                         struct error *err)
{
    struct bench *bench = greeting->bench;
    int64_t wire;
    if (strcmp(record->name, "hello") == 0) {
        if (wire_int(&wire, record, "wire", 0, INT32_MAX, err))
            return -1;
        if (wire != WIRE_VERSION)
            return error_set(err,
                             "bench speaks version %d of the protocol, plumb version %d; install "
                             "both from one build",
                             (int)wire, WIRE_VERSION);
        greeting->hello = true;
        return 0;
    }
    if (strcmp(record->name, "device") != 0 || !greeting->hello)
        return error_set(err, "bench: '%.40s' instead of a greeting", record->name);
    struct arena *arena = &bench->arena;
    bench->device = (struct device){
        .kind = text_of(arena, record, "kind"),
        .uuid = text_of(arena, record, "uuid"),
        .name = text_of(arena, record, "name"),
        .driver = text_of(arena, record, "driver"),
        .runtime = text_of(arena, record, "runtime"),
        .profile = "",
    };
    bench->gpu.name = bench->gpu.summary = bench->device.name;
    if (strcmp(bench->device.kind, bench->plan.kind) != 0 || !*bench->device.uuid)
        return error_set(err, "bench: no %s device, but '%.40s' with id '%.80s'", bench->plan.kind,
                         bench->device.kind, bench->device.uuid);
    bench->bus = wire_text(record, "bus") ? text_of(arena, record, "bus") : NULL;
    greeting->device = true;
    return read_figures(&bench->gpu, record, err);
}

// Handles a child that ended before its greeting; its log says why.
static int no_greeting(struct bench *bench, struct error *err)
{
    struct process_result result;
    char ending[64];
    end_child(&result, bench, end_grace_s);
    process_describe(ending, sizeof(ending), &result);
    const char *log = bench->plan.log_path;
    const char *said = *bench->said ? bench->said : ending;
    if (result.end == PROCESS_EXITED && result.code == BENCH_DEVICE_LOST)
        return error_set(err, "there is no %s device %d here%s%s", bench->plan.kind,
                         bench->plan.index, *bench->said ? ": " : "", bench->said);
    return error_set(err, "bench could not start: %s%s%s", said, log ? "; see " : "",
                     log ? log : "");
}

static int greet(struct bench *bench, struct error *err)
{
    char line[WIRE_LINE];
    struct greeting greeting = {.bench = bench};
    double limit_s = bench->plan.limits.start_s > 0 ? bench->plan.limits.start_s : start_limit_s;
    process_allow(bench->process, limit_s);
    while (!greeting.device) {
        struct wire_record record;
        enum process_line kind = process_read(bench->process, line, sizeof(line), limit_s);
        if (kind == PROCESS_LINE_END)
            return no_greeting(bench, err);
        if (kind == PROCESS_LINE_TIMEOUT)
            return error_set(err, "bench did not start within %.3g s; is the device stuck?",
                             limit_s);
        if (kind == PROCESS_LINE_LONG)
            return error_set(err, "bench: its first lines are too long or binary");
        if (wire_parse(&record, line, err))
            return -1;
        if (strcmp(record.name, "note") == 0 || strcmp(record.name, "fail") == 0)
            remember(bench, wire_text(&record, "text"));
        else if (take_greeting(&greeting, &record, err))
            return -1;
    }
    return 0;
}

static void copy_plan(struct bench *bench, const struct bench_plan *plan)
{
    struct arena *arena = &bench->arena;
    const char **folders = arena_alloc(arena, (plan->read_only_count + 1) * sizeof(*folders));
    for (size_t i = 0; i < plan->read_only_count; i++)
        folders[i] = arena_strdup(arena, plan->read_only[i]);
    bench->plan = *plan;
    bench->plan.program = arena_strdup(arena, plan->program);
    bench->plan.kind = arena_strdup(arena, plan->kind);
    bench->plan.log_path = arena_strdup(arena, plan->log_path);
    bench->plan.read_only = folders;
    bench->plan.kept = arena_strdup(arena, plan->kept);
    bench->plan.references = arena_strdup(arena, plan->references);
}

int bench_begin(struct bench **out, const struct bench_plan *plan, struct error *err)
{
    struct bench *bench = xcalloc(1, sizeof(*bench));
    copy_plan(bench, plan);
    if (bench_spawn(bench, err)) {
        bench_stop(bench);
        return -1;
    }
    *out = bench;
    return 0;
}

int bench_ready(struct bench *bench, struct error *err)
{
    if (greet(bench, err) == 0)
        return 0;
    end_child(NULL, bench, 0);
    return -1;
}

int bench_start(struct bench **out, const struct bench_plan *plan, struct error *err)
{
    struct bench *bench;
    if (bench_begin(&bench, plan, err))
        return -1;
    if (bench_ready(bench, err)) {
        bench_stop(bench);
        return -1;
    }
    *out = bench;
    return 0;
}

void bench_leave(struct bench *bench)
{
    if (!bench || !bench->process || bench->left)
        return;
    process_write(bench->process, "quit\n", 0.1);
    process_hang_up(bench->process);
    processors_give_back(&bench->own);
    bench->left = true;
}

void bench_stop(struct bench *bench)
{
    if (!bench)
        return;
    bench_leave(bench);
    if (bench->process)
        end_child(NULL, bench, end_grace_s);
    arena_free(&bench->arena);
    free(bench);
}

const struct device *bench_device(const struct bench *bench)
{
    return &bench->device;
}

const struct gpu *bench_gpu(const struct bench *bench)
{
    return &bench->gpu;
}

// ---- the kernels of a library

enum { KERNELS_MAX = 4096 };

static const double list_limit_s = 30;

struct listing {
    struct bench_kernel_list list;
    size_t capacity;
    struct arena *arena;
};

static bool is_kernel_name(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    return name && *name && strchr(first, *name) && strspn(name, rest) == strlen(name) &&
           strlen(name) < KERNEL_NAME_TEXT;
}

static int take_kernel(void *context, const struct wire_record *record, struct error *err)
{
    struct listing *listing = context;
    struct bench_kernel_list *list = &listing->list;
    if (strcmp(record->name, "kernel") != 0)
        return bench_unexpected(record, err);
    const char *name = wire_text(record, "name"), *summary = wire_text(record, "summary");
    const char *device = wire_text(record, "device");
    if (!is_kernel_name(name))
        return error_set(err, "'%.80s' is no kernel name: [a-z0-9][a-z0-9_.-]*, at most 200",
                         name ? name : "");
    if (!device || (strcmp(device, "host") != 0 && strcmp(device, "cuda") != 0))
        return error_set(err, "kernel %s is for no known device", name);
    if (list->count == KERNELS_MAX)
        return error_set(err, "more than %d kernels", KERNELS_MAX);
    struct bench_kernel kernel = {.device = strcmp(device, "host") == 0 ? "host" : "cuda"};
    if (wire_traits(&kernel.traits, record, err))
        return -1;
    char clean[200];
    bench_clean(clean, sizeof(clean), summary ? summary : "");
    kernel.name = arena_strdup(listing->arena, name);
    kernel.summary = arena_strdup(listing->arena, clean);
    list->items = xgrow(list->items, list->count, &listing->capacity, sizeof(*list->items));
    list->items[list->count++] = kernel;
    return 0;
}

int bench_list(struct bench_outcome *out, struct bench_kernel_list *list, struct bench *bench,
               const char *library, struct arena *arena, struct error *err)
{
    struct listing listing = {.arena = arena};
    struct wire_line line;
    wire_begin(&line, "list");
    wire_add_text(&line, "library", library);
    double limit_s = bench_limit(bench->plan.limits.list_s, list_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_kernel, &listing, err);
    if (result == 0 && out->state == MEASURED_CRASHED && !out->gone)
        out->state = MEASURED_UNBUILDABLE; // it said why it cannot be loaded
    if (result == 0 && out->state == MEASURED_OK) {
        struct bench_kernel_list all = listing.list;
        list->items = arena_alloc(arena, all.count * sizeof(*all.items));
        list->count = all.count;
        for (size_t i = 0; i < all.count; i++)
            list->items[i] = all.items[i];
    }
    free(listing.list.items);
    return result;
}

static int take_supported(void *context, const struct wire_record *record, struct error *err)
{
    if (strcmp(record->name, "supported") != 0)
        return bench_unexpected(record, err);
    return wire_int(context, record, "yes", 0, 1, err);
}

int bench_supports(struct bench_outcome *out, bool *yes, struct bench *bench, const char *library,
                   const char *kernel, const struct problem *problem, struct error *err)
{
    int64_t answer = 0;
    char text[PROBLEM_TEXT];
    struct wire_line line;
    const struct problem work = problem_in(problem, REGIME_COLD);
    problem_format(text, &work);
    wire_begin(&line, "supports");
    wire_add_text(&line, "library", library);
    wire_add_text(&line, "kernel", kernel);
    wire_add_text(&line, "problem", text);
    double limit_s = bench_limit(bench->plan.limits.list_s, list_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_supported, &answer, err);
    if (result == 0 && out->state == MEASURED_OK)
        *yes = answer == 1;
    return result;
}

// ---- a series

static const double open_limit_s = 120, measure_limit_s = 120, close_limit_s = 60;

// ---- open and close

struct state_answer {
    int64_t id;
    const char *record; // "opened" or "closed"
    const char *regime; // the regime that the answer must name, because a child that does not know
                        // it would time another one; or NULL
    struct bench_outcome outcome;
    bool seen;
};

// Reads an error. One that is no number counts as the largest possible error.
static int take_error(double *out, const struct wire_record *record, const char *key,
                      struct error *err)
{
    const char *text = wire_text(record, key);
    if (text && (strcmp(text, "inf") == 0 || strstr(text, "nan"))) {
        *out = DBL_MAX;
        return 0;
    }
    return wire_double(out, record, key, 0, DBL_MAX, err);
}

static int take_state(void *context, const struct wire_record *record, struct error *err)
{
    struct state_answer *answer = context;
    struct bench_outcome *outcome = &answer->outcome;
    int64_t seen, launches = 0, on_end = 0;
    if (strcmp(record->name, answer->record) != 0 || answer->seen)
        return bench_unexpected(record, err);
    const char *state = wire_text(record, "state"), *role = wire_text(record, "role");
    const char *note = wire_text(record, "note"), *base_note = wire_text(record, "base_note");
    if (wire_int(&seen, record, "id", answer->id, answer->id, err) ||
        take_error(&outcome->max_error, record, "error", err) ||
        take_error(&outcome->tolerance, record, "tolerance", err))
        return -1;
    if (wire_text(record, "launches") &&
        wire_int(&launches, record, "launches", 0, UINT32_MAX, err))
        return -1;
    if (wire_text(record, "reference_s") &&
        wire_double(&outcome->reference_s, record, "reference_s", 0, 1e6, err))
        return -1;
    if (wire_text(record, "on_end") && wire_int(&on_end, record, "on_end", 0, 1, err))
        return -1;
    outcome->on_end = on_end;
    static const char *const bytes[] = {"base_bytes", "head_bytes"};
    for (int i = ROLE_BASE; i <= ROLE_HEAD; i++) {
        if (wire_text(record, bytes[i]) &&
            wire_double(&outcome->memory_bytes[i], record, bytes[i], 0, 1e18, err))
            return -1;
    }
    if (!state || measurement_state_parse(&outcome->state, state) ||
        outcome->state == MEASURED_NOT_TAKEN)
        return error_set(err, "'%.40s' is no state", state ? state : "");
    const char *regime = wire_text(record, "regime");
    if (answer->regime && outcome->state == MEASURED_OK &&
        (!regime || strcmp(regime, answer->regime) != 0))
        return error_set(err, "the stopwatch does not know the regime %s", answer->regime);
    outcome->role = role && strcmp(role, "base") == 0 ? ROLE_BASE : ROLE_HEAD;
    outcome->launches = (uint32_t)launches;
    bench_clean(outcome->detail, sizeof(outcome->detail), note ? note : "");
    bench_clean(outcome->base_note, sizeof(outcome->base_note), base_note ? base_note : "");
    answer->seen = true;
    return 0;
}

// Sends a command whose answer is one state.
static int ask_state(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                     struct state_answer answer, double limit_s, struct error *err)
{
    struct bench_outcome outcome;
    if (bench_exchange(&outcome, bench, line, limit_s, take_state, &answer, err))
        return -1;
    if (outcome.state == MEASURED_OK && answer.seen) {
        outcome = answer.outcome;
    } else if (outcome.state == MEASURED_OK) {
        outcome.state = MEASURED_CRASHED;
        snprintf(outcome.detail, sizeof(outcome.detail), "broke the protocol: no '%s'",
                 answer.record);
    }
    *out = outcome;
    return 0;
}

// Takes a core for the child when it opens its first series. A child that is only asked for its
// device, or that ends while the next one starts, needs none. A failure is reported once and not by
// every child.
static void take_processors(struct bench *bench)
{
    static atomic_bool said;
    struct error why;
    if (bench->processors[0])
        return;
    const struct processors_site *site = bench->plan.site ? bench->plan.site : &processors_here;
    if (!processors_take(&bench->own, site, bench->bus, &why) && bench->plan.note &&
        !atomic_exchange(&said, true)) {
        char text[sizeof(why.text) + 80];
        snprintf(text, sizeof(text), "no processor of its own, so times scatter more: %s",
                 why.text);
        bench->plan.note(bench->plan.note_context, text);
    }
    processors_text(bench->processors, &bench->own);
}

static int open_series(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
                       const struct bench_series *series, struct error *err)
{
    char problem[PROBLEM_TEXT];
    struct wire_line line;
    const struct problem work = problem_in(series->problem, REGIME_COLD);
    problem_format(problem, &work);
    *handle = (struct bench_handle){.id = ++bench->last_id, .process = series->process};
    take_processors(bench);
    wire_begin(&line, "open");
    wire_add_int(&line, "id", handle->id);
    wire_add_text(&line, "kernel", series->kernel);
    wire_add_text(&line, "problem", problem);
    if (series->problem->regime)
        wire_add_text(&line, "regime", regime_name(series->problem->regime));
    wire_add_text(&line, "head", series->head);
    if (series->base)
        wire_add_text(&line, "base", series->base);
    wire_add_int(&line, "seed", (int64_t)((series->seed + series->process) & INT64_MAX));
    if (series->problem->number_count) // all processes use the same seed, because its reference may
                                       // take seconds
        wire_add_int(&line, "known",
                     (int64_t)((series->known ? series->known : series->seed) & INT64_MAX));
    if (series->pins[ROLE_HEAD])
        wire_add_text(&line, "pin", series->pins[ROLE_HEAD]);
    if (series->base && series->pins[ROLE_BASE])
        wire_add_text(&line, "base_pin", series->pins[ROLE_BASE]);
    wire_add_int(&line, "order", series->head_first ? 1 : 0);
    wire_add_text(&line, "processors", bench->processors);
    if (series->launches)
        wire_add_int(&line, "launches", series->launches);
    double limit_s = bench_limit(bench->plan.limits.open_s, open_limit_s);
    const struct state_answer answer = {
        .id = handle->id,
        .record = "opened",
        .regime = series->problem->regime ? regime_name(series->problem->regime) : NULL};
    if (ask_state(out, bench, &line, answer, limit_s, err))
        return -1;
    if (out->lacks || out->unable)
        return error_set(err, "%.80s %s cannot be measured on device %s: %s%s", series->kernel,
                         problem, bench->device.name, out->detail,
                         out->lacks ? "; end what uses its memory, or leave the problem out of the "
                                      "policy"
                                    : "");
    return 0;
}

// Finds out which side is to blame. A child that died with two libraries does not tell; a fresh
// child with only the base does.
static int blame(struct bench_outcome *out, const struct bench *bench,
                 const struct bench_series *series, struct error *err)
{
    struct bench_series alone = *series;
    struct bench_outcome outcome;
    struct bench_handle handle;
    struct bench *fresh;
    alone.head = series->base;
    alone.base = NULL;
    alone.pins[ROLE_HEAD] = series->pins[ROLE_BASE];
    struct bench_plan plan = bench->plan;
    plan.log_path = NULL; // the dead child's log is kept
    if (bench_start(&fresh, &plan, err))
        return -1;
    int result = open_series(&outcome, &handle, fresh, &alone, err);
    bench_stop(fresh);
    if (result == 0 && outcome.gone) {
        outcome.role = ROLE_BASE;
        *out = outcome;
    }
    return result;
}

int bench_open(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
               const struct bench_series *series, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_handle opened;
    if (open_series(&outcome, &opened, bench, series, err))
        return -1;
    if (outcome.gone && series->base && strcmp(series->base, series->head) != 0 &&
        blame(&outcome, bench, series, err))
        return -1;
    *out = outcome;
    *handle = opened;
    return 0;
}

int bench_close(struct bench_outcome *out, struct bench *bench, const struct bench_handle *handle,
                struct error *err)
{
    struct wire_line line;
    wire_begin(&line, "close");
    wire_add_int(&line, "id", handle->id);
    double limit_s = bench_limit(bench->plan.limits.close_s, close_limit_s);
    const struct state_answer answer = {.id = handle->id, .record = "closed"};
    return ask_state(out, bench, &line, answer, limit_s, err);
}

// ---- samples

static void sample_list_add(struct sample_list *list, const struct sample *sample)
{
    list->items = xgrow(list->items, list->count, &list->capacity, sizeof(*list->items));
    list->items[list->count++] = *sample;
}

void sample_list_free(struct sample_list *list)
{
    free(list->items);
    *list = (struct sample_list){0};
}

struct sampling {
    struct bench *bench;
    struct bench_handle *handle;
    struct sample_list *base, *head;
    bool pairs;
    uint32_t left; // number of samples or pairs that are missing
    uint16_t block;
    bool half; // `first` waits for the second sample of its pair
    struct sample first;
};

// Takes a sample. They come in the order of measuring: the two of a pair, then those of the next
// one.
static int take_pair(struct sampling *s, const struct sample *sample, struct error *err)
{
    if (!s->half) {
        if (sample->order != 0)
            return error_set(err, "pair %u begins with its second sample", sample->pair);
        s->first = *sample;
        s->half = true;
        return 0;
    }
    if (sample->order != 1 || sample->role == s->first.role)
        return error_set(err, "pair %u has no second sample", s->first.pair);
    bool head_first = s->first.role == ROLE_HEAD;
    sample_list_add(s->base, head_first ? sample : &s->first);
    sample_list_add(s->head, head_first ? &s->first : sample);
    s->half = false;
    s->left--;
    s->handle->next_pair++;
    return 0;
}

static int take_sample(void *context, const struct wire_record *record, struct error *err)
{
    struct sampling *s = context;
    struct sample sample;
    int64_t id;
    if (strcmp(record->name, "sample") != 0)
        return bench_unexpected(record, err);
    if (wire_int(&id, record, "id", s->handle->id, s->handle->id, err) ||
        wire_sample(&sample, record, err))
        return -1;
    if (s->left == 0)
        return error_set(err, "more samples than were asked for");
    if (sample.block != s->block || sample.pair != s->handle->next_pair)
        return error_set(err, "sample of block %u, pair %u instead of %u, %u", sample.block,
                         sample.pair, s->block, s->handle->next_pair);
    sample.process = s->handle->process;
    if (s->pairs)
        return take_pair(s, &sample, err);
    if (sample.role != ROLE_HEAD)
        return error_set(err, "a sample of the base in a measurement of the head alone");
    sample_list_add(s->head, &sample);
    s->left--;
    s->handle->next_pair++;
    return 0;
}

static int measure(struct bench_outcome *out, struct sampling *sampling, const char *command,
                   struct error *err)
{
    struct bench *bench = sampling->bench;
    uint32_t count = sampling->left;
    struct wire_line line;
    assert(count > 0);
    wire_begin(&line, command);
    wire_add_int(&line, "id", sampling->handle->id);
    wire_add_int(&line, "count", count);
    wire_add_int(&line, "block", sampling->block);
    double limit_s = bench_limit(bench->plan.limits.measure_s, measure_limit_s);
    if (bench_exchange(out, bench, &line, limit_s, take_sample, sampling, err))
        return -1;
    if (out->state == MEASURED_OK && sampling->left > 0) {
        out->state = MEASURED_CRASHED;
        snprintf(out->detail, sizeof(out->detail), "broke the protocol: %u of %u samples",
                 count - sampling->left, count);
    }
    return 0;
}

int bench_pairs(struct bench_outcome *out, struct sample_list *base, struct sample_list *head,
                struct bench *bench, struct bench_handle *handle, uint32_t count, uint16_t block,
                struct error *err)
{
    struct sampling sampling = {.bench = bench,
                                .handle = handle,
                                .base = base,
                                .head = head,
                                .pairs = true,
                                .left = count,
                                .block = block};
    if (measure(out, &sampling, "pairs", err))
        return -1;
    out->own_fault = false; // it cannot be told which side is to blame
    return 0;
}

int bench_solo(struct bench_outcome *out, struct sample_list *head, struct bench *bench,
               struct bench_handle *handle, uint32_t count, uint16_t block, struct error *err)
{
    struct sampling sampling = {
        .bench = bench, .handle = handle, .head = head, .left = count, .block = block};
    return measure(out, &sampling, "solo", err);
}

void measurement_fill(struct measurement *out, const struct bench_outcome *outcome,
                      const struct sample_list *samples, struct arena *arena)
{
    struct measurement measurement = {
        // It worked, but was stopped before the first sample, so nothing is known.
        .state =
            outcome->state == MEASURED_OK && !samples->count ? MEASURED_NOT_TAKEN : outcome->state,
        .count = samples->count,
        .max_error = outcome->max_error,
        .tolerance = outcome->tolerance,
        .detail = arena_strdup(arena, outcome->detail),
    };
    measurement.samples = arena_alloc(arena, samples->count * sizeof(*measurement.samples));
    for (size_t i = 0; i < samples->count; i++)
        measurement.samples[i] = samples->items[i];
    *out = measurement;
}

// ---- figures of a device, and which of them are believed

enum { FIGURES_MAX = 256 };

static const double calibrate_limit_s = 300;

struct figures {
    struct bench_figure items[FIGURES_MAX];
    size_t count;
    struct arena *arena;
};

// Whether a key is valid. Readings beside the profile's figures (points of a curve, checks) may
// have any name.
static bool is_key(const char *key)
{
    size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length < 40 && !key[length];
}

static int take_figure(void *context, const struct wire_record *record, struct error *err)
{
    struct figures *figures = context;
    int64_t repeats, stable;
    if (strcmp(record->name, "figure") != 0)
        return bench_unexpected(record, err);
    const char *key = wire_text(record, "key"), *note = wire_text(record, "note");
    if (!key || !is_key(key))
        return error_set(err, "'%.40s' is no figure of a device", key ? key : "");
    if (figures->count == FIGURES_MAX)
        return error_set(err, "more than %d figures", FIGURES_MAX);
    struct bench_figure figure = {0};
    if (wire_double(&figure.value, record, "value", 0, 1e30, err) ||
        wire_double(&figure.cv, record, "cv", 0, 1e6, err) ||
        wire_int(&repeats, record, "repeats", 0, INT32_MAX, err) ||
        wire_int(&stable, record, "stable", 0, 1, err))
        return -1;
    char clean[400];
    bench_clean(clean, sizeof(clean), note ? note : "");
    figure.key = arena_strdup(figures->arena, key);
    figure.note = arena_strdup(figures->arena, clean);
    figure.repeats = (uint32_t)repeats;
    figure.stable = stable == 1;
    figures->items[figures->count++] = figure;
    return 0;
}

int bench_calibrate(struct bench_outcome *out, struct bench_figure_list *list, struct bench *bench,
                    const char *only, struct arena *arena, struct error *err)
{
    struct figures *figures = xcalloc(1, sizeof(*figures));
    struct wire_line line;
    figures->arena = arena;
    wire_begin(&line, "calibrate");
    if (only)
        wire_add_text(&line, "only", only);
    double limit_s = bench_limit(bench->plan.limits.calibrate_s, calibrate_limit_s);
    int result = bench_exchange(out, bench, &line, limit_s, take_figure, figures, err);
    if (result == 0 && out->state == MEASURED_OK) {
        list->items = arena_copy(arena, figures->items, figures->count * sizeof(*list->items));
        list->count = figures->count;
    }
    free(figures);
    return result;
}

// ---- seeds

uint64_t bench_draw_seed(void)
{
    uint64_t seed;
    // A request for so few bytes is never cut short and, once the system is up, never refused.
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        perror("getrandom");
        abort();
    }
    return seed & INT64_MAX;
}

// ==== records ====
//
// Makes the record of a kernel: its launches, and the device code that they run. The launches come
// over the wire from a process that runs foreign code, so each line is parsed as hostile text. The
// device code is taken from the library's file: every cubin with an entry point that a launch
// names. Code that a library loads from elsewhere, compresses, or leaves to the driver's compiler
// has no cubin here; such a kernel is refused by name.

enum { RECORD_IMAGES = 64 };
static const double record_limit_s = 60;

// ---- the launches that bench tells ----

struct record_telling {
    struct record record;
    struct arena *arena;
    bool begun, ended;
};

static int take_head(struct record *out, const struct wire_record *line, struct error *err)
{
    int64_t version, workspace;
    const char *note = wire_text(line, "note");
    if (wire_int(&version, line, "version", 1, RECORD_VERSION, err) ||
        wire_int(&workspace, line, "workspace", 0, INT64_MAX / 4, err))
        return -1;
    bench_clean(out->note, sizeof(out->note), note ? note : "");
    out->version = (int)version;
    out->workspace_bytes = (uint64_t)workspace;
    return 0;
}

static int take_told(void *context, const struct wire_record *line, struct error *err)
{
    struct record_telling *t = context;
    if (!t->begun && strcmp(line->name, "record") == 0) {
        t->begun = true;
        return take_head(&t->record, line, err);
    }
    if (!t->begun || t->ended)
        return bench_unexpected(line, err);
    if (strcmp(line->name, "end") == 0) {
        t->ended = true;
        return 0;
    }
    return record_take_line(&t->record, line, t->arena, err);
}

static int ask(struct bench_outcome *out, struct record_telling *t, struct bench *bench,
               const struct bench_series *series, struct error *err)
{
    struct wire_line line;
    char problem[PROBLEM_TEXT];
    const struct problem work = problem_in(series->problem, REGIME_COLD);
    problem_format(problem, &work);
    wire_begin(&line, "record");
    wire_add_text(&line, "kernel", series->kernel);
    wire_add_text(&line, "problem", problem);
    wire_add_text(&line, "head", series->head);
    wire_add_int(&line, "seed", 0);
    if (series->pins[ROLE_HEAD])
        wire_add_text(&line, "pin", series->pins[ROLE_HEAD]);
    if (bench_exchange(out, bench, &line, record_limit_s, take_told, t, err))
        return -1;
    if (out->state == MEASURED_OK && (!t->ended || !t->record.launch_count)) {
        out->state = MEASURED_CRASHED;
        snprintf(out->detail, sizeof(out->detail), "broke the protocol: no whole record");
    } else if (out->refused) {
        out->state = MEASURED_UNSUPPORTED;
    }
    return 0;
}

// ---- the device code ----

static bool has_function(const struct elf_image *cubin, const char *name)
{
    const struct elf_section *table = elf_symbols(cubin);
    struct elf_symbol symbol;
    for (uint64_t i = 0; table && elf_symbol(&symbol, cubin, table, i); i++) {
        if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF &&
            strcmp(symbol.name, name) == 0)
            return true;
    }
    return false;
}

// Adds the cubin if a launch needs it; *covered has a bit for each launch whose function was found.
static void consider(struct record *record, bool *covered, const struct fatbin_entry *entry)
{
    struct elf_image cubin;
    bool needed = false;
    if (entry->kind != FATBIN_CUBIN || record->image_count == RECORD_IMAGES ||
        elf_open(&cubin, entry->bytes, entry->size))
        return;
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind == RECORD_KERNEL && has_function(&cubin, launch->function))
            covered[i] = needed = true;
    }
    elf_close(&cubin);
    if (needed)
        record->images[record->image_count++] = (struct record_image){entry->bytes, entry->size};
}

static int find_images(struct bench_outcome *out, struct record *record,
                       const struct code_file *file, struct arena *arena)
{
    struct elf_image library;
    bool *covered = arena_alloc(arena, record->launch_count * sizeof(*covered));
    record->images = arena_alloc(arena, RECORD_IMAGES * sizeof(*record->images));
    if (elf_open(&library, file->bytes, file->size) == 0) {
        for (size_t s = 0; s < library.section_count; s++) {
            const struct elf_section *section = &library.sections[s];
            struct fatbin_entry entry;
            size_t at = 0;
            if (!section->bytes || strcmp(section->name, ".nv_fatbin") != 0)
                continue;
            while (fatbin_next(&entry, &at, section->bytes, section->size))
                consider(record, covered, &entry);
        }
        elf_close(&library);
    }
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind != RECORD_KERNEL || covered[i])
            continue;
        out->state = MEASURED_UNSUPPORTED;
        snprintf(out->detail, sizeof(out->detail),
                 "the library's file has no machine code of %.200s: it is compressed (build with "
                 "-Xfatbin=-compress=false), left to the driver's compiler, or another library's",
                 launch->function);
        return -1;
    }
    return 0;
}

// ---- the file ----

// Copies of the images in which all code is cleared that no launch runs, because the record's id
// does not depend on it.
static struct record_image *cleared_images(const struct record *record, struct arena *arena)
{
    struct record_image *images = arena_alloc(arena, (record->image_count + 1) * sizeof(*images));
    const char **launched = arena_alloc(arena, (record->launch_count + 1) * sizeof(*launched));
    size_t count = 0;
    for (size_t i = 0; i < record->launch_count; i++) {
        if (record->launches[i].kind == RECORD_KERNEL)
            launched[count++] = record->launches[i].function;
    }
    for (size_t i = 0; i < record->image_count; i++) {
        images[i] = record->images[i];
        unsigned char *copy = arena_alloc(arena, images[i].size + 1);
        memcpy(copy, images[i].bytes, images[i].size);
        code_clear_unlaunched(copy, images[i].size, launched, count);
        images[i].bytes = copy;
    }
    return images;
}

int record_save(const struct record *record, const char *path, struct error *err)
{
    char *temporary = xprintf("%s.%ld", path, (long)getpid());
    FILE *file = fopen(temporary, "we");
    struct buffer text = {0};
    struct arena arena = {0};
    struct record saved = *record;
    int status = -1;
    saved.images = cleared_images(record, &arena);
    record_print(&text, &saved);
    arena_free(&arena);
    const bool whole = file && fwrite(text.bytes, 1, text.length, file) == text.length;
    buffer_free(&text);
    if (!file || fclose(file) || !whole || rename(temporary, path)) {
        error_set(err, "%s: %s", path, strerror(errno));
        unlink(temporary);
    } else {
        status = 0;
    }
    free(temporary);
    return status;
}

int record_write(struct bench_outcome *out, const char *path, struct bench *bench,
                 const struct bench_series *series, struct error *err)
{
    struct arena arena = {0};
    struct record_telling t = {.arena = &arena};
    struct code_file file = {0};
    int status = -1;
    t.record.problem = problem_in(series->problem, REGIME_COLD); // one record serves all regimes
    if (!text_copy(t.record.kernel, sizeof(t.record.kernel), series->kernel))
        return error_set(err, "'%.80s...' is no kernel's name", series->kernel);
    if (ask(out, &t, bench, series, err))
        goto done;
    status = 0;
    if (out->state != MEASURED_OK)
        goto done;
    status = code_read(&file, series->head, err);
    if (status == 0 && find_images(out, &t.record, &file, &arena) == 0)
        status = record_save(&t.record, path, err);
done:
    code_close(&file);
    arena_free(&arena);
    return status;
}

// ---- records of a plan ----

int record_of_plan(struct bench_outcome *out, const char *to, const char *path,
                   const struct problem *problem, int64_t sms, struct error *err)
{
    struct plan_file file;
    struct record record;
    struct error why;
    struct arena arena = {0};
    const struct problem work = problem_in(problem, REGIME_COLD); // one record serves all regimes
    int status = 0;
    *out = (struct bench_outcome){.state = MEASURED_OK, .role = ROLE_HEAD};
    if (plan_file_open(&file, path, &why)) {
        out->state = MEASURED_UNBUILDABLE;
    } else {
        if (plan_record(&record, &file.plan, &work, sms, file.entries, &arena, &why)) {
            out->state = MEASURED_UNSUPPORTED;
        } else {
            record.images = arena_alloc(&arena, (file.cubin_count + 1) * sizeof(*record.images));
            for (size_t i = 0; i < file.cubin_count; i++)
                record.images[record.image_count++] =
                    (struct record_image){file.cubins[i].file.bytes, file.cubins[i].file.size};
            status = record_save(&record, to, err);
        }
        plan_file_close(&file);
    }
    if (out->state != MEASURED_OK)
        snprintf(out->detail, sizeof(out->detail), "%.500s", why.text);
    arena_free(&arena);
    return status;
}

// ---- the code id of a record ----

// Writes a launch's kernel as the hash of its code, wherever it is looked up, and without
// addresses.
static void put_launch(struct record_launch *launch, const struct record *record,
                       struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; launch->kind == RECORD_KERNEL && i < record->image_count; i++) {
        const struct record_image *image = &record->images[i];
        char code[OBJECT_ID_TEXT];
        if (launch->image && launch->image != i + 1)
            continue;
        code_id_of_kernel(code, image->bytes, image->size, launch->function);
        text = arena_printf(arena, "%s %s", text, code);
    }
    launch->function = text;
    for (uint32_t i = 0; i < launch->address_count; i++) {
        const struct record_address *address = &launch->addresses[i];
        if (address->at + sizeof(uint64_t) <= launch->size)
            memset(launch->bytes + address->at, 0, sizeof(uint64_t));
    }
}

int record_code_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err)
{
    struct code_file file;
    struct record record;
    struct arena arena = {0};
    struct buffer text = {0};
    int status = code_read(&file, path, err);
    if (status)
        return -1;
    status = record_parse(&record, (char *)file.bytes, file.size, &arena, err);
    for (size_t i = 0; status == 0 && i < record.launch_count; i++)
        put_launch(&record.launches[i], &record, &arena);
    if (status == 0) {
        record.image_count = 0;
        record_print(&text, &record);
        content_id(out, text.bytes, text.length);
    }
    buffer_free(&text);
    arena_free(&arena);
    code_close(&file);
    return status;
}
