// SPDX-License-Identifier: Apache-2.0
//
// Starts a bench, greets it and ends it, and reads its answers. Opening a series and taking its
// samples is measure_series.c.
#include "runner/bench/bench_talk.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double start_limit_s = 60, write_limit_s = 10, end_grace_s = 3;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void bench_clean(char *out, size_t size, const char *text)
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

// True when a fresh child finds no device either.
static bool device_is_gone(const struct bench *bench, struct error *err)
{
    struct bench *again = NULL;
    struct bench_plan plan = bench->plan;
    plan.log_path = NULL; // the dead child's log stays
    int code = bench_start(&again, &plan, err);
    bench_stop(again);
    return code != 0;
}

// Nothing of the child's own ends it so: a person, the machine's want of memory, a scheduler. A
// sandbox passes a signal on as a status above 128. What it used beyond its limits is its own.
static bool killed_from_outside(const struct process_result *result)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    const int code = result->end == PROCESS_SIGNALLED ? result->code : result->code - 128;
    bool found = false;
    for (size_t i = 0; i < ARRAY_COUNT(signals); i++)
        found |= code == signals[i];
    return found;
}

// The child closed its output: how did it end, and was it the device?
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
    // A device that was away for a moment says nothing of the kernel either.
    out->own_fault = !killed_from_outside(&result) &&
                     !(result.end == PROCESS_EXITED && result.code == BENCH_DEVICE_LOST);
    snprintf(out->detail, sizeof(out->detail), "the process died: %s%s%s", ending,
             *bench->said ? "; it said: " : "", bench->said);
    return 0;
}

static int child_late(struct bench_outcome *out, struct bench *bench, double limit_s)
{
    end_child(NULL, bench, 0);
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

enum answer { ANSWER_MORE, ANSWER_DONE, ANSWER_FAIL, ANSWER_BAD };

static enum answer take_line(struct bench_outcome *out, struct bench *bench, char *line,
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
    double until_s = now_s() + limit_s;
    for (;;) {
        double left_s = until_s - now_s();
        enum process_line kind = left_s <= 0
                                     ? PROCESS_LINE_TIMEOUT // however fast the lines come
                                     : process_read(bench->process, line, sizeof(line), left_s);
        if (kind == PROCESS_LINE_TIMEOUT)
            return child_late(out, bench, limit_s);
        if (kind == PROCESS_LINE_END)
            return child_died(out, bench, err);
        if (kind == PROCESS_LINE_LONG)
            return child_babbles(out, bench, "a line that is too long or binary");
        enum answer answer = take_line(out, bench, line, handler, context, &bad);
        if (answer == ANSWER_BAD)
            return child_babbles(out, bench, bad.text);
        if (answer != ANSWER_MORE)
            return 0;
    }
}

int bench_exchange(struct bench_outcome *out, struct bench *bench, struct wire_line *line,
                   double limit_s, bench_handler handler, void *context, struct error *err)
{
    assert(bench->process); // after `gone` only bench_stop() may follow
    struct bench_outcome outcome = {.state = MEASURED_OK, .role = ROLE_HEAD};
    bench->said[0] = '\0';
    if (line->overflow)
        return error_set(err, "bench: a command is too long; shorten the paths");
    // Whether the child takes the line shows in how it answers.
    process_write(bench->process, wire_end(line), write_limit_s);
    if (read_answer(&outcome, bench, limit_s, handler, context, err))
        return -1;
    *out = outcome;
    return 0;
}

// ---- start and stop

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

// The end of a child that never greeted: its log says why.
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
    double until_s = now_s() + limit_s;
    while (!greeting.device) {
        struct wire_record record;
        double left_s = until_s - now_s();
        enum process_line kind = left_s > 0
                                     ? process_read(bench->process, line, sizeof(line), left_s)
                                     : PROCESS_LINE_TIMEOUT;
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
