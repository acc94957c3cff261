// SPDX-License-Identifier: Apache-2.0
//
// Measures the tasks of a run with bench children: first what they open (records), then one side
// alone, then the tasks of a plain run, and last those of gates and comparisons, side by side.
// Tasks that need no pairs are settled first, the others become duets, and every result is stored
// as soon as it is known. A kernel that fails is a result; only a lost device or a full disk is an
// error.
#include "ci/gate/measuring.h"

#include "ci/gate/duets.h"
#include "ci/gate/explain.h"
#include "ci/gate/mixes.h"
#include "ci/gate/task_list.h"
#include "ci/settings/context.h"
#include "model/gate/verdict.h"
#include "model/predict/parts/limits.h"
#include "model/robust.h"
#include "runner/bench/measure.h"
#include "runner/child/files.h"
#include "runner/code/machine_code.h"
#include "runner/code/plan_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// ---- records ----
//
// The file that the stopwatch opens for a task is the library, or a record of its kernel where the
// policy says `trust = device-code`; then no host code of the commit runs beside the stopwatch or
// the other build. Records are made in sandboxed processes of their own, base and head apart,
// before anything is timed. They lie in a folder of their own, which is removed at the end. A
// record's name contains its code and problem, so nothing is recorded twice in a run.

struct recording {
    struct context *context;
    char folder[64]; // where the records lie; "" before the first
    // For each side, a bench that runs the library's host code and times nothing. It sees only that
    // one library.
    struct bench *bench[2];
    bool starting[2];                    // the bench has not answered yet
    const char *shown[2];                // the folder that each bench sees
    struct bench *ahead[2];              // the benches for the next library, which start meanwhile
    const char *ahead_shown[2];          // the folders that these see
    const struct context_device *device; // the device that these benches use
    bool away;                           // they use no device
};

// The regime of a measurement that could not be recorded. It is stored, and so tells later why
// there is none.
static const char refused_regime[] = "not recorded";

bool recording_refused(const struct measurement *m)
{
    return m->state == MEASURED_UNSUPPORTED && m->regime && strcmp(m->regime, refused_regime) == 0;
}

static const struct built_kernel *side(const struct task *task, enum sample_role role)
{
    return role == ROLE_BASE ? task->base : task->head;
}

// The file to open for one side. A kernel's name and its problem may be long, so a hash stands for
// both.
static const char *recording_file(const struct recording *r, const struct task *task,
                                  enum sample_role role, struct arena *arena)
{
    const struct built_kernel *kernel = side(task, role);
    char problem[PROBLEM_TEXT];
    if (!task_is_recorded(task) || kernel->captured)
        return kernel->library;
    problem_format(problem, &task->result->problem);
    const uint64_t hash = hash_text(hash_text(HASH_START, task->result->kernel), problem);
    return arena_printf(arena, "%s/%s-%016llx.record", r->folder, kernel->code,
                        (unsigned long long)hash);
}

static int make_folder(struct recording *r, struct error *err)
{
    return r->folder[0] ? 0 : files_temporary(r->folder, sizeof(r->folder), err);
}

static int make_plan(struct bench_outcome *out, const char *file, const struct task *task,
                     const struct built_kernel *kernel, struct error *err)
{
    const int64_t sms = (int64_t)task->device->gpu.sm_count.value;
    return record_of_plan(out, file, kernel->library, &task->result->problem, sms, err);
}

// Ends a recorder without waiting. That takes a tenth of a second, in which the next one starts.
static void leave(struct recording *r, enum sample_role role)
{
    context_leave(r->context, r->bench[role]);
    r->bench[role] = NULL;
    r->starting[role] = false;
}

static void leave_ahead(struct recording *r)
{
    for (int role = 0; role < 2; role++) {
        context_leave(r->context, r->ahead[role]);
        r->ahead[role] = NULL;
    }
}

static void leave_all(struct recording *r)
{
    leave(r, ROLE_BASE);
    leave(r, ROLE_HEAD);
    leave_ahead(r);
}

// Ends the recorders' benches, because nothing else may run while kernels are timed.
static void recording_pause(struct recording *r)
{
    leave_all(r);
    context_end_leaving(r->context);
}

// The folder that a recorder sees: one library with the files that its id covers, and no other.
static const char *folder_of(const struct recording *r, const struct task *task,
                             enum sample_role role)
{
    const char *library = side(task, role)->library;
    const size_t length = strlen(r->context->kept) + 1;
    return arena_printf(&task->run->arena, "%.*s", (int)(length + strcspn(library + length, "/")),
                        library);
}

// Begins the bench of one side, which may still be starting afterwards. `away`: it uses no device,
// and has substitutes for the driver and the runtime.
static int begin(struct recording *r, const struct task *task, enum sample_role role, bool away,
                 struct error *err)
{
    if (r->device != task->device || r->away != away)
        recording_pause(r);
    r->device = task->device;
    r->away = away;
    if (make_folder(r, err))
        return -1;
    const char *folder = folder_of(r, task, role);
    if (!r->shown[role] || strcmp(r->shown[role], folder) != 0)
        leave(r, role);
    r->shown[role] = folder;
    if (r->bench[role])
        return 0;
    r->starting[role] = !away;
    if (r->ahead[role] && strcmp(r->ahead_shown[role], folder) == 0) {
        r->bench[role] = r->ahead[role];
        r->ahead[role] = NULL;
        return 0;
    }
    return away ? context_lister(&r->bench[role], r->context, &r->shown[role], 1, err)
                : context_begin_bench(&r->bench[role], r->context, task->device, &r->shown[role], 1,
                                      err);
}

// Begins the recorder of the next library beside the one at work, because starting one takes longer
// than recording.
static int begin_ahead(struct recording *r, const struct task *task, enum sample_role role,
                       struct error *err)
{
    if (r->device != task->device || r->away)
        return 0;
    const char *folder = folder_of(r, task, role);
    const bool there = (r->bench[role] && strcmp(r->shown[role], folder) == 0) ||
                       (r->ahead[role] && strcmp(r->ahead_shown[role], folder) == 0);
    if (there)
        return 0;
    context_leave(r->context, r->ahead[role]);
    r->ahead_shown[role] = folder;
    return context_begin_bench(&r->ahead[role], r->context, task->device, &r->ahead_shown[role], 1,
                               err);
}

static int ready(struct recording *r, const struct task *task, enum sample_role role, bool away,
                 struct error *err)
{
    if (begin(r, task, role, away, err))
        return -1;
    const bool starting = r->starting[role];
    r->starting[role] = false;
    return starting ? bench_ready(r->bench[role], err) : 0;
}

// Notes why a side has no record. A plan that cannot be followed means the same under every policy:
// its kernel does not support the problem.
static void refuse(struct measurement *out, const struct task *task, bool plan,
                   const struct bench_outcome *why, struct arena *arena)
{
    const char *because = task->rule->device_code ? "the policy trusts device code alone"
                                                  : "a plan is compared with records alone";
    *out =
        (struct measurement){.state = plan ? why->state : MEASURED_UNSUPPORTED,
                             .regime = plan ? "" : refused_regime,
                             .detail = plan ? arena_strdup(arena, why->detail)
                                            : arena_printf(arena, "cannot be recorded, and %s: %s",
                                                           because, why->detail)};
}

// Whether a kernel without a record does not support the problem at all, as a library would say.
static bool does_not_do(struct bench *bench, const struct bench_series *series,
                        const struct bench_outcome *why)
{
    struct bench_outcome outcome;
    struct error ignored; // then it counts as one that cannot be recorded
    bool yes = true;
    return why->state == MEASURED_UNSUPPORTED && !why->gone &&
           bench_supports(&outcome, &yes, bench, series->head, series->kernel, series->problem,
                          &ignored) == 0 &&
           outcome.state == MEASURED_OK && !yes;
}

// Whether the side's library must run for its record.
static bool has_to_run(const struct recording *r, const struct task *task, enum sample_role role)
{
    const struct built_kernel *kernel = side(task, role);
    return task_is_recorded(task) && !kernel->captured && !kernel->plan &&
           access(recording_file(r, task, role, &task->run->arena), R_OK) != 0;
}

// Makes the record of one side of the task unless it exists. *made is false if the kernel cannot be
// recorded. `instead` (NULL: nothing) then has the reason, as "unsupported", because code that the
// policy does not trust is not measured. -1: the device is gone or the disk is full.
static int recording_make(bool *made, struct recording *r, const struct task *task,
                          enum sample_role role, struct measurement *instead, struct arena *arena,
                          struct error *err)
{
    struct bench_outcome outcome = {.state = MEASURED_OK};
    const struct bench_series series = {.kernel = task->result->kernel,
                                        .problem = &task->result->problem,
                                        .head = side(task, role)->library};
    *made = true;
    const struct built_kernel *kernel = side(task, role);
    if (!task_is_recorded(task) || kernel->captured)
        return 0;
    if (make_folder(r, err))
        return -1;
    const char *file = recording_file(r, task, role, arena);
    if (access(file, R_OK) == 0)
        return 0;
    if (!kernel->plan && ready(r, task, role, false, err))
        return -1;
    if (kernel->plan ? make_plan(&outcome, file, task, kernel, err)
                     : record_write(&outcome, file, r->bench[role], &series, err))
        return -1;
    const bool other = !kernel->plan && does_not_do(r->bench[role], &series, &outcome);
    if (outcome.state != MEASURED_OK) { // a stream or context may be left in a state that other
                                        // kernels cannot use
        bench_stop(r->bench[role]);
        r->bench[role] = NULL;
    }
    *made = outcome.state == MEASURED_OK;
    if (!*made && instead && other)
        *instead = (struct measurement){.state = MEASURED_UNSUPPORTED,
                                        .detail = "the kernel does not do this problem"};
    else if (!*made && instead)
        refuse(instead, task, kernel->plan, &outcome, arena);
    return 0;
}

// Whether a library calls the driver directly; without a driver nobody sees such calls.
static bool asks_driver(const char *library)
{
    static const char name[] = "libcuda.so";
    struct code_file file;
    struct error ignored;
    if (code_read(&file, library, &ignored))
        return true;
    const bool asks = memmem(file.bytes, file.size, name, strlen(name));
    code_close(&file);
    return asks;
}

// The id of what the side launches; *told is false if that cannot be told.
static int launched_code(char code[OBJECT_ID_TEXT], bool *told, struct recording *r,
                         const struct task *task, enum sample_role role, struct error *err)
{
    const struct built_kernel *kernel = side(task, role);
    const struct bench_series series = {
        .kernel = task->result->kernel, .problem = &task->result->problem, .head = kernel->library};
    struct bench_outcome outcome;
    *told = false;
    if (kernel->plan || kernel->captured || asks_driver(kernel->library))
        return 0;
    if (ready(r, task, role, true, err))
        return -1;
    const char *file = arena_printf(&task->run->arena, "%s/away", r->folder);
    if (record_write(&outcome, file, r->bench[role], &series, err))
        return -1;
    *told = outcome.state == MEASURED_OK;
    if (*told)
        return record_code_id(code, file, err);
    bench_stop(r->bench[role]); // what one launch() did, the next one might not do again
    r->bench[role] = NULL;
    return 0;
}

// *same: both sides of the task launch the same machine code in the same way. Both are timed from
// libraries, or not at all. *same is false where that cannot be told without a device.
static int recording_same_away(bool *same, struct recording *r, const struct task *task,
                               struct error *err)
{
    char codes[2][OBJECT_ID_TEXT];
    bool told = task->result->problem.number_count == 0;
    *same = false;
    for (int role = ROLE_BASE; told && role <= ROLE_HEAD; role++) {
        if (launched_code(codes[role], &told, r, task, (enum sample_role)role, err))
            return -1;
    }
    *same = told && strcmp(codes[ROLE_BASE], codes[ROLE_HEAD]) == 0;
    return 0;
}

// Removes the records.
static void recording_end(struct recording *r)
{
    struct error ignored;
    leave_all(r);
    if (r->folder[0])
        files_remove(r->folder, &ignored);
    r->folder[0] = '\0';
}

// ---- one bench child at a time ----

// Shows on the progress line which series is being measured.
static void task_show(const struct task *task, struct context *context)
{
    char problem[PROBLEM_TEXT];
    problem_tell(problem, &task->result->problem);
    progress_step(&context->progress, "%s %s", task->result->kernel, problem);
}

static void show(struct measuring *m, const char *directory)
{
    bool shown = !directory;
    for (size_t i = 0; i < m->directory_count && !shown; i++)
        shown = strcmp(m->directories[i], directory) == 0;
    if (!shown)
        m->directories[m->directory_count++] = directory;
}

void measuring_begin(struct measuring *m, struct context *context,
                     const struct built *const *builds, size_t count)
{
    *m = (struct measuring){.context = context, .seed = bench_draw_seed()};
    if (context->policy.seed_given)
        progress_note(&context->progress,
                      "%s: measure.seed is not used any more: what kernels must not guess is drawn",
                      context->policy.label);
    m->directories = xcalloc(2 * count + 1, sizeof(*m->directories)); // one is that of the records
    for (size_t i = 0; i < 2 * count; i++) {
        const struct built *built = builds[i / 2];
        if (built && built->count)
            show(m, built->directories[i % 2]);
    }
    m->recording = xcalloc(1, sizeof(*m->recording));
    m->recording->context = context;
    m->shown_count = m->directory_count;
}

// Ends the child, also one that was left, so that the next task gets a fresh one.
static void measuring_fresh(struct measuring *m)
{
    context_end_leaving(m->context);
    bench_stop(m->bench);
    m->bench = NULL;
}

// Lets the child end; no series is open in it.
static void let_go(struct measuring *m)
{
    context_leave(m->context, m->bench);
    m->bench = NULL;
}

void measuring_leave(struct measuring *m)
{
    let_go(m);
    recording_end(m->recording);
    free(m->recording);
    m->recording = NULL;
    free(m->directories);
    m->directories = NULL;
}

void measuring_end(struct measuring *m)
{
    measuring_fresh(m);
    measuring_leave(m);
}

// Makes the records of the sides that are timed from records. `sides` and *made are sums of 1 <<
// enum sample_role. The recorders of two sides start together. `tell`: if a side cannot be
// recorded, its measurement says so and why.
static int measuring_record(unsigned *made, struct measuring *m, const struct task *task,
                            unsigned sides, bool tell, struct error *err)
{
    struct recording *recording = m->recording;
    struct result *r = task->result;
    for (int role = 0; role < 2; role++) {
        if (sides >> role & 1 && has_to_run(recording, task, (enum sample_role)role) &&
            begin(recording, task, (enum sample_role)role, false, err))
            return -1;
    }
    for (int role = 0; role < 2; role++) {
        if (m->next && sides >> role & 1 &&
            has_to_run(recording, m->next, (enum sample_role)role) &&
            begin_ahead(recording, m->next, (enum sample_role)role, err))
            return -1;
    }
    *made = 0;
    for (int role = 0; role < 2; role++) {
        struct measurement *instead = role == ROLE_BASE ? &r->base : &r->head;
        bool one = sides >> role & 1;
        if (sides >> role & 1 && recording_make(&one, recording, task, (enum sample_role)role,
                                                tell ? instead : NULL, &task->run->arena, err))
            return -1;
        *made |= (unsigned)one << role;
    }
    if (recording->folder[0]) {
        m->directories[m->shown_count] = recording->folder;
        m->directory_count = m->shown_count + 1;
    }
    return 0;
}

// Makes sure that a live child runs on the task's device. The previous child ends while this one
// starts, and is gone before anything is opened, so no sample that counts is taken beside it. A
// recorder may stay if no sample counts, because starting it anew takes far longer than a look.
static int child_ready(struct measuring *m, const struct task *task, bool counts, struct error *err)
{
    if (counts)
        recording_pause(m->recording);
    if (m->bench && m->device == task->device)
        return 0;
    let_go(m);
    m->device = task->device;
    if (context_begin_bench(&m->bench, m->context, m->device, m->directories, m->directory_count,
                            err))
        return -1;
    context_end_leaving(m->context);
    return bench_ready(m->bench, err);
}

static void lost(struct measuring *m, const struct bench_outcome *outcome)
{
    if (outcome->gone)
        measuring_fresh(m);
}

// Finds what prepare() chose when the same code was last timed alone on this device; NULL: nothing.
// A record contains its choice.
static int find_choice(const char **note, const struct measuring *m, const struct task *task,
                       enum sample_role role, struct error *err)
{
    const struct result *r = task->result;
    const struct series series = {r->kernel, &r->problem, task->device->unit.uuid};
    const struct measured_how how = {.plain = true, .driver = task->device->unit.driver};
    struct measurement known;
    bool found = false;
    *note = NULL;
    if (task_is_recorded(task))
        return 0;
    if (store_find_measurement(&known, &found, m->context->store, &series,
                               role == ROLE_BASE ? r->base_code : r->head_code, &how,
                               &task->run->arena, err))
        return -1;
    if (found && known.state == MEASURED_OK && known.detail && known.detail[0])
        *note = known.detail;
    return 0;
}

// Opens a series. If its earlier choice is not possible any more, for example because a library
// that the kernel calls has changed, it chooses anew, and the new choice is stored.
static int open_alone(struct bench_outcome *out, struct measuring *m, const struct task *task,
                      enum sample_role role, struct error *err)
{
    struct bench_series series = {
        .kernel = task->result->kernel,
        .problem = &task->result->problem,
        .head = recording_file(m->recording, task, role, &task->run->arena),
        .seed = m->seed,
    };
    if (find_choice(&series.pins[ROLE_HEAD], m, task, role, err) ||
        bench_open(out, &m->handle, m->bench, &series, err))
        return -1;
    if (out->state == MEASURED_UNSUPPORTED && !out->gone && series.pins[ROLE_HEAD]) {
        series.pins[ROLE_HEAD] = NULL;
        if (bench_open(out, &m->handle, m->bench, &series, err))
            return -1;
    }
    lost(m, out);
    return 0;
}

// How the series is timed, as reports say it. Of cold the text is "cold, back to back", for stores
// from before regimes hold these words.
static const char *how_timed(const struct task *task)
{
    const enum regime regime = task->result->problem.regime;
    return arena_printf(&task->run->arena, "%s%s%s", regime_name(regime),
                        regime ? "" : ", back to back",
                        task_is_recorded(task) ? ", " REGIME_DEVICE_CODE : "");
}

// Fills in a task's measurement from the outcome of its series: samples, state, seed and regime.
// They live in the arena of the task's run.
static void measuring_fill(struct measurement *out, struct measuring *m, const struct task *task,
                           const struct bench_outcome *outcome, const struct sample_list *samples)
{
    measurement_fill(out, outcome, samples, &task->run->arena);
    // A library that was open alone was the head of its bench, even where this measurement is
    // the task's base.
    const bool base = out == &task->result->base && outcome->memory_bytes[ROLE_BASE] > 0;
    out->memory_bytes =
        out->state == MEASURED_OK ? outcome->memory_bytes[base ? ROLE_BASE : ROLE_HEAD] : 0;
    out->seed = m->seed;
    out->regime = outcome->own_fault ? task_failure_regime(m->context) : how_timed(task);
}

// Measures one side alone. The samples go to result->base or ->head, as many as the policy asks
// for. `count`, if not 0, limits them, for a look; a recorder may then wait beside it.
static int measure_solo(struct measuring *m, const struct task *task, enum sample_role role,
                        uint32_t count, struct error *err)
{
    struct sample_list samples = {0};
    struct bench_outcome opened, outcome;
    struct result *r = task->result;
    int status = -1;
    unsigned made;
    if (measuring_record(&made, m, task, 1U << role, true, err))
        return -1;
    if (!made)
        return 0;
    if (child_ready(m, task, count == 0, err) || open_alone(&opened, m, task, role, err))
        return -1;
    outcome = opened;
    if (opened.state == MEASURED_OK) {
        if (bench_solo(&outcome, &samples, m->bench, &m->handle,
                       count ? count : m->context->policy.samples, 0, err))
            goto done;
        lost(m, &outcome);
        if (outcome.state == MEASURED_OK && bench_close(&outcome, m->bench, &m->handle, err))
            goto done;
        lost(m, &outcome);
        const double bytes = outcome.memory_bytes[ROLE_HEAD];
        if (outcome.state == MEASURED_OK)
            outcome = opened; // its note is the kernel's, e.g. an algorithm's id
        outcome.memory_bytes[ROLE_HEAD] = fmax(outcome.memory_bytes[ROLE_HEAD], bytes);
    }
    const double least_ns = least_time_ns(&task->device->gpu, &r->problem);
    for (size_t i = 0; i < samples.count; i++) {
        samples.items[i].role = (uint8_t)role;
        samples.items[i].excluded = samples.items[i].time_ns < least_ns;
    }
    measuring_fill(role == ROLE_BASE ? &r->base : &r->head, m, task, &outcome, &samples);
    status = 0;
done:
    sample_list_free(&samples);
    return status;
}

// ---- a plain run ----
//
// Measures a plain run: its tasks one after the other, each stored as soon as it is known.

// A task's size for struct pace: the seconds of one launch as last measured, or else an estimate
// from its number of operations at a usual rate. Only the ratios between sizes matter.
static int task_size(double *out, const struct task *task, struct context *context,
                     struct error *err)
{
    const struct result *r = task->result;
    const struct device *device = &task->device->unit;
    const struct series series = {r->kernel, &r->problem, device->uuid};
    const struct history_query newest = {.limit = 1, .comparisons = true};
    const double rate = strcmp(device->kind, "cuda") == 0 ? 1e14 : 1e10; // operations per second
    struct stored_points stored = {0};
    struct arena arena = {0};
    int status = store_points(&stored, context->store, &series, &newest, &arena, err);
    if (status == 0)
        *out = stored.count ? stored.points[stored.count - 1].time_ns / 1e9
                            : problem_flops(&r->problem) / rate;
    arena_free(&arena);
    return status;
}

// The tasks of a plain run, how long they took so far, and how long those after `next` will take.
struct course {
    const struct task_list *tasks;
    double *sizes;
    struct pace pace;
};

static int course_begin(struct course *out, const struct task_list *tasks, struct run *run,
                        struct context *context, struct error *err)
{
    *out = (struct course){.tasks = tasks};
    out->sizes = arena_alloc(&run->arena, tasks->count * sizeof(*out->sizes));
    for (size_t i = 0; i < tasks->count; i++) {
        if (task_size(&out->sizes[i], &tasks->items[i], context, err))
            return -1;
    }
    return 0;
}

static double course_left_s(const struct course *course, size_t next)
{
    double left_s = 0;
    for (size_t i = next; i < course->tasks->count; i++)
        left_s += pace_expect(&course->pace, course->sizes[i]);
    return left_s;
}

static int measure_one(const struct task *task, struct measuring *measuring, bool again,
                       struct error *err)
{
    bool found = false;
    if (!again && task_reuse(&found, task, measuring->context, err))
        return -1;
    return found ? 0 : measure_solo(measuring, task, ROLE_HEAD, 0, err);
}

int solo_measure(struct run *run, const struct task_list *tasks, struct measuring *measuring,
                 enum anew anew, struct error *err)
{
    struct context *context = measuring->context;
    struct course course;
    progress_begin(&context->progress);
    if (course_begin(&course, tasks, run, context, err))
        return -1;
    for (size_t i = 0; i < tasks->count; i++) {
        struct task *task = &tasks->items[i];
        bool known = false;
        progress_left(&context->progress, course_left_s(&course, i));
        task_show(task, context);
        if (run->id && task_resumed(&known, task, context, err))
            return -1;
        if (known)
            continue;
        const double begun_s = monotonic_s();
        if (measure_one(task, measuring, anew_wanted(anew, run, task->result), err))
            return -1;
        if (run->id && store_save_result(context->store, run, task->result, err))
            return -1;
        if (!task->result->reused)
            pace_add(&course.pace, course.sizes[i], monotonic_s() - begun_s);
    }
    progress_end(&context->progress);
    return 0;
}

// ==== side by side ====
//
// The base and the head of each task of a gate or a comparison are played next to each other, all
// tasks together, with a few builds against themselves among them.

struct unit_times {
    struct unit_time *items;
    size_t count, capacity;
};

// The work of a gate, or of several comparisons together. It is measured side by side until each
// series is decided, its alarm is confirmed or refuted in fresh processes, or the time is over.
struct gate_work {
    // Tasks that compare base and head. If a device has several units, a task and its result stay
    // with the unit that had it first.
    struct task *const *tasks;
    size_t count;
    struct task *const *self; // tasks that compare a build with itself (self_tests_order()); a
                              // difference is chance
    size_t self_count;
    // The verdicts of these tasks, UNITS_MOST for each task, by unit; `pairs` is 0 if none
    // could be measured.
    struct verdict *verdicts;
    bool mixes; // the policy's mixes are asked what they want of decided series
    bool looks; // changed series are looked at in other regimes
    void *context;
    // Called for each task as soon as its result->base and head are filled in, but not for a task
    // that got no time: its measurements are "not taken". judge_gate() makes the verdict.
    int (*done)(void *context, const struct task *task, struct error *err);
};

// ---- units ----
//
// A slow device does not disturb pairs, because it is slow for both builds. But its absolute times
// are those of another device, and whoever compares times should know that.

struct unit_time {
    const void *series;
    size_t unit;
    double log_ns;
};

static void unit_times_free(struct unit_times *times)
{
    free(times->items);
    *times = (struct unit_times){0};
}

static bool was_on(const struct duet *d, uint16_t process, size_t unit)
{
    for (size_t i = 0; i < d->visit_count; i++) {
        if (d->visits[i].process == process)
            return d->visits[i].unit == unit;
    }
    return false;
}

static void add_unit(struct unit_times *times, const struct duet *d, const void *series,
                     size_t unit)
{
    double *work = xcalloc(d->base_samples.count + 1, sizeof(*work));
    size_t count = 0;
    for (size_t i = 0; i < d->base_samples.count; i++) {
        const struct sample *s = &d->base_samples.items[i];
        if (!s->excluded && s->time_ns > 0 && was_on(d, s->process, unit))
            work[count++] = log(s->time_ns);
    }
    if (count) {
        times->items = xgrow(times->items, times->count, &times->capacity, sizeof(*times->items));
        times->items[times->count++] = (struct unit_time){series, unit, robust_median(work, count)};
    }
    free(work);
}

// Keeps the time of a duet's base on each unit. `series` is an address that identifies duets of the
// same code.
static void unit_times_add(struct unit_times *times, const struct duet *d, const void *series)
{
    bool seen[UNITS_MOST] = {false};
    if (!d->judged)
        return;
    for (size_t i = 0; i < d->visit_count; i++) {
        const size_t unit = d->visits[i].unit;
        if (!seen[unit])
            add_unit(times, d, series, unit);
        seen[unit] = true;
    }
}

// Computes the log ratios of the unit's times to those of the first unit, series by series.
static size_t differences(double *out, const struct unit_times *times, size_t unit)
{
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++) {
        const struct unit_time *own = &times->items[i];
        for (size_t j = 0; own->unit == unit && j < times->count; j++) {
            const struct unit_time *other = &times->items[j];
            if (other->unit != 0 || other->series != own->series)
                continue;
            out[count++] = own->log_ns - other->log_ns;
            break;
        }
    }
    return count;
}

// Reports a unit that is faster or slower than the first by more than other places in memory
// explain, and notes it in its `odd`. `first` is the device's first unit.
static void unit_times_tell(struct unit_times *times, struct context *context,
                            struct context_device *first)
{
    double *work = xcalloc(times->count + 1, sizeof(*work));
    for (size_t unit = 1; unit < first->units; unit++) {
        struct context_device *device = &first[unit];
        const size_t count = differences(work, times, unit);
        const struct apart apart = apart_of(work, count);
        if (!apart.told)
            continue;
        device->odd = arena_printf(&context->arena, "%s is %.2f %% %s than %s", device->unit.uuid,
                                   100 * fabs(expm1(apart.log_ratio)),
                                   apart.log_ratio > 0 ? "slower" : "faster", first->unit.uuid);
        progress_note(&context->progress,
                      "device %s: %s (+-%.2f, same code in %zu series): they are not equal; "
                      "`plumb doctor` looks for why",
                      device->policy->name, device->odd, 200 * apart.se, count);
    }
    free(work);
}

// ---- duets ----
//
// Plays the duets of a gate's tasks, device by device (equal units together), and fills in their
// results. A task whose base does not work is measured alone, to learn which side is to blame.

// A task whose base is not known to work, and what failed beside the head.
struct trouble {
    struct task *task;
    struct bench_outcome outcome;
};

// The gate's work on one device, or on its equal units.
struct session {
    struct measuring *m;
    struct context_device *device; // the first unit
    const struct gate_work *work;
    const struct duets *duets; // the duets that are being played
    double share;              // its share of the remaining time
    struct trouble *troubles;
    size_t trouble_count;
    struct unit_times times;
    double look_s;             // time that looks may still take
    struct pace look[REGIMES]; // how long a look took so far
};

// The task of a duet. Duets of the work come first, then those of the self tests.
struct task_place {
    struct task *task;
    double size;          // from task_size()
    struct verdict *self; // NULL: it compares base and head
    const void *series;   // equal for duets that compare the same code
    double look_s;        // how long its looks took
};

static int start(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct session *s = context;
    return context_bench(out, s->m->context, &s->device[unit], s->m->directories,
                         s->m->directory_count, err);
}

static void lose_unit(void *context, size_t unit, const char *why)
{
    struct session *s = context;
    struct context *c = s->m->context;
    struct context_device *device = &s->device[unit];
    device->odd = arena_printf(&c->arena, "%s was lost", device->unit.uuid);
    progress_note(&c->progress, "device %s: %s, its series go to the others: %s",
                  device->policy->name, device->odd, why);
}

// Waits while the device is hot or its power brake is on; nobody measures until then.
static void rest(void *context, const struct duet *d, double seconds)
{
    struct session *s = context;
    struct context *c = s->m->context;
    const struct timespec time = {.tv_sec = (time_t)seconds,
                                  .tv_nsec = (long)(fmod(seconds, 1) * 1e9)};
    progress_note(&c->progress,
                  "device %s: under a hard limit (heat, or a power brake), so it rests for %.0f s; "
                  "such pairs of %s do not count",
                  s->device[d->unit].policy->name, ceil(seconds), d->kernel);
    nanosleep(&time, NULL);
}

// Assigns a series to the unit that had it first.
static void settle(const struct session *s, const struct duet *d)
{
    const struct task_place *place = d->owner;
    if (place->self || !d->visit_count)
        return;
    place->task->device = &s->device[d->visits[0].unit];
    place->task->result->device = (size_t)(place->task->device - s->m->context->devices);
}

static int ask_policy(struct gate_policy *out, void *context, const struct duet *d,
                      struct error *err)
{
    const struct session *s = context;
    const struct task_place *place = d->owner;
    settle(s, d);
    return task_policy(out, s->m->context, place->task, d->base_samples.items,
                       d->base_samples.count, err);
}

// ---- what mixes want ----

static const struct duet *duet_of(const struct session *s, const struct result *r)
{
    for (size_t i = 0; i < s->duets->count; i++) {
        const struct task_place *place = s->duets->items[i].owner;
        if (!place->self && place->task->result == r)
            return &s->duets->items[i];
    }
    return NULL;
}

// What is known of a result that is not played now: its code is the same, or an interrupted run had
// it.
static int known_before(struct mix_part *out, const struct session *s, const struct result *r)
{
    const struct context_device *device = &s->m->context->devices[r->device];
    const bool same = r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
    struct arena arena = {0};
    double log_ratio = 0, error = 0;
    const double time_ns = measurement_time_ns(&r->head);
    const bool known = same || gate_ratio(&log_ratio, &error, &r->base, &r->head, &arena);
    arena_free(&arena);
    *out = (struct mix_part){.time_ns =
                                 time_ns > 0 ? time_ns : least_time_ns(&device->gpu, &r->problem),
                             .log_ratio = interval_about(log_ratio, 2 * error)};
    return known && out->time_ns > 0 ? 1 : -1;
}

static int known_now(struct mix_part *out, void *context, const struct result *r)
{
    const struct session *s = context;
    const struct duet *d = duet_of(s, r);
    if (!d)
        return known_before(out, s, r);
    if (!d->judged)
        return d->place == DUET_OVER ? -1 : 0;
    const struct measurement base = {
        .state = MEASURED_OK, .samples = d->base_samples.items, .count = d->base_samples.count};
    *out =
        (struct mix_part){.time_ns = measurement_time_ns(d->base_samples.count ? &base : &r->base),
                          .log_ratio = gate_series_interval(&d->gate)};
    return out->time_ns > 0 ? 1 : -1;
}

static enum duet_wish wish(void *context, const struct duet *d)
{
    static const enum duet_wish wishes[] = {
        [MIX_DECIDED] = DUET_ENOUGH, [MIX_WAITS] = DUET_LATER, [MIX_WANTS_PAIRS] = DUET_PAIRS};
    struct session *s = context;
    const struct task_place *place = d->owner;
    const struct mix_asked asked = {place->task->run, &s->m->context->policy, known_now, s};
    return place->self ? DUET_ENOUGH : wishes[mixes_wish(&asked, place->task->result)];
}

// ---- looks in other regimes ----
//
// Looks take at most one second of a device for each kernel that changed, on all devices together,
// and at most 0.6 of a series' own time. Series that end early have no alarm. Each gets its share
// of the remaining time, so that alarms, which end last, get the rest.

static const double look_s_per_kernel = 1, look_part = 0.6, look_first_s = 0.05;

// Regimes that need a device at rest come first, so that one rest serves all of them.
static const enum regime look_order[] = {REGIME_STREAM, REGIME_ISOLATED, REGIME_ACTIVATIONS,
                                         REGIME_DIRTY,  REGIME_WARM,     REGIME_COLD};

// Whether the gate itself judges it in that regime.
static bool is_judged_in(const struct task *task, enum regime regime)
{
    const struct problem there = problem_in(&task->result->problem, regime);
    for (size_t i = 0; i < task->run->count; i++) {
        const struct result *r = &task->run->results[i];
        if (strcmp(r->kernel, task->result->kernel) == 0 && problem_equal(&r->problem, &there))
            return true;
    }
    return false;
}

static bool affords(const struct session *s, const struct duet *d, enum regime regime)
{
    const struct task_place *place = d->owner;
    const double expected_s =
        s->look[regime].count > 0 ? pace_expect(&s->look[regime], 1) : look_first_s;
    size_t left = 0;
    for (size_t i = 0; i < s->duets->count; i++) {
        const struct duet *other = &s->duets->items[i];
        const struct task_place *there = other->owner;
        left += !there->self && !(other->looked & 1u << regime) &&
                (other->place != DUET_OVER || other->to_look);
    }
    return expected_s * (double)left <= s->look_s &&
           place->look_s + expected_s <= look_part * d->wall_s;
}

static bool next_look(enum regime *out, void *context, const struct duet *d)
{
    const struct session *s = context;
    const struct task_place *place = d->owner;
    const uint32_t named = s->m->context->policy.gate.beside;
    const uint32_t wanted = named ? named : ~(1u << REGIME_COLD);
    for (size_t i = 0; !place->self && i < ARRAY_COUNT(look_order); i++) {
        const enum regime regime = look_order[i];
        if (!(wanted & 1u << regime) || d->looked & 1u << regime || !affords(s, d, regime) ||
            is_judged_in(place->task, regime))
            continue;
        *out = regime;
        return true;
    }
    return false;
}

static void has_looked(void *context, const struct duet *d, enum regime regime, double seconds)
{
    struct session *s = context;
    struct task_place *place = d->owner;
    pace_add(&s->look[regime], 1, seconds);
    place->look_s += seconds;
    s->look_s -= seconds;
    place->task->result->head.beside =
        beside_format(d->looks, d->look_count, &place->task->run->arena);
}

// The number of kernels that the session compares.
static double kernel_count(const struct session *s)
{
    const char *last = "";
    double count = 0;
    for (size_t i = 0; i < s->work->count; i++) {
        const struct task *task = s->work->tasks[i];
        if (task->device != s->device || strcmp(last, task->result->kernel) == 0)
            continue;
        last = task->result->kernel;
        count++;
    }
    return count;
}

static void fill_verdict(struct verdict *out, const struct duet *d)
{
    *out = (struct verdict){.kind = VERDICT_UNDECIDED, .log_ratio = {.value = NAN}};
    if (!d->judged)
        return;
    out->kind = d->decision.kind;
    out->log_evidence = d->decision.log_evidence;
    out->pairs = d->decision.pairs;
    out->processes = d->decision.processes;
    out->log_ratio = gate_series_interval(&d->gate);
}

// Fills in a result. False: something must be run alone, or there was no time for it.
static bool fill_result(struct session *s, struct task *task, const struct duet *d)
{
    const struct sample_list none = {0};
    const struct bench_outcome fine = {.state = MEASURED_OK};
    const bool by_base = d->outcome.role == ROLE_BASE;
    struct result *result = task->result;
    if (d->outcome.state == MEASURED_OK || d->outcome.state == MEASURED_NOT_TAKEN) {
        struct bench_outcome base = d->outcome;
        if (base.state == MEASURED_OK)
            text_copy(base.detail, sizeof(base.detail), base.base_note);
        measuring_fill(&result->base, s->m, task, &base, &d->base_samples);
        measuring_fill(&result->head, s->m, task, &d->outcome, &d->head_samples);
        return d->judged;
    }
    if (by_base)
        measuring_fill(&result->base, s->m, task, &d->outcome, &none);
    else
        measuring_fill(&result->base, s->m, task, &fine, &d->base_samples);
    if (!by_base)
        measuring_fill(&result->head, s->m, task, &d->outcome, &d->head_samples);
    if (result->base.state == MEASURED_OK)
        return true;
    s->troubles[s->trouble_count++] = (struct trouble){task, d->outcome};
    return false;
}

static int is_over(void *context, struct duet *d, struct error *err)
{
    struct session *s = context;
    const struct task_place *place = d->owner;
    int status = 0;
    settle(s, d);
    unit_times_add(&s->times, d, place->series);
    if (place->self)
        fill_verdict(place->self, d);
    else if (fill_result(s, place->task, d))
        status = s->work->done(s->work->context, place->task, err);
    sample_list_free(&d->base_samples);
    sample_list_free(&d->head_samples);
    return status;
}

static void place_task(struct duet *d, struct task_place *place, const struct session *s,
                       struct task *task, struct verdict *self)
{
    struct arena *arena = &task->run->arena;
    const enum sample_role base = self ? self_tests_role(task) : ROLE_BASE;
    const enum sample_role head = self ? base : ROLE_HEAD;
    *place = (struct task_place){.task = task, .self = self, .series = task};
    *d = (struct duet){.kernel = task->result->kernel,
                       .problem = &task->result->problem,
                       .base = recording_file(s->m->recording, task, base, arena),
                       .head = recording_file(s->m->recording, task, head, arena),
                       .seed = s->m->seed,
                       .control = self && s->device->units < 2, // these tell units apart
                       .least_ns = least_time_ns(&task->device->gpu, &task->result->problem),
                       .owner = place};
}

// The longest time that a duet which is no control still takes, as far as is known.
static double longest_s(const struct duets *duets)
{
    double most_s = 0;
    for (size_t i = 0; i < duets->count; i++) {
        const double own_s = duet_left(&duets->items[i]).seconds;
        if (!duets->items[i].control && own_s > most_s)
            most_s = own_s;
    }
    return most_s;
}

// The seconds that are left. Duets that have played give an estimate of their own; a control that
// would outlast the others ends with them. For duets that have not played, the time is estimated
// from their size. All alarms share the processes that must still be started; they are confirmed
// even after the deadline, and are then looked at in other regimes.
static double left_s(const struct session *s, const struct duets *duets)
{
    const double others_s = longest_s(duets);
    struct pace pace = {0};
    double sum_s = 0, alarms_s = 0, further = 0, looks_s = 0;
    for (size_t i = 0; i < duets->count; i++) {
        const struct duet *d = &duets->items[i];
        const struct task_place *place = d->owner;
        const struct duet_left left = duet_left(d);
        if (isnan(left.seconds))
            continue;
        const double own_s =
            d->control ? fmin(left.seconds, fmax(others_s, left.least_s)) : left.seconds;
        pace_add(&pace, place->size, d->wall_s + left.seconds);
        sum_s += own_s;
        alarms_s += d->confirm_pairs ? own_s : 0;
        looks_s += d->confirm_pairs ? look_part * (d->wall_s + own_s) : 0;
        further = fmax(further, left.processes);
    }
    for (size_t i = 0; i < duets->count; i++) {
        const struct task_place *place = duets->items[i].owner;
        if (isnan(duet_left(&duets->items[i]).seconds))
            sum_s += pace_expect(&pace, place->size);
    }
    const double units = (double)duets->units;
    const double shared_s =
        further * duets->start_s + (s->work->looks ? fmin(looks_s, s->look_s) / units : 0);
    if (isnan(sum_s) || !(duets->deadline_s > 0))
        return sum_s / units + shared_s;
    const double until_s = duets->deadline_s - monotonic_s();
    return fmin(sum_s, fmax(units * until_s, alarms_s)) / units + shared_s;
}

static void has_played(void *context, const struct duets *duets, const struct duet *duet)
{
    const struct session *s = context;
    const struct task_place *place = duet->owner;
    if (duet->alarmed && !place->self && s->m->explaining)
        explaining_alarm(s->m->explaining, place->task);
    if (!progress_due(&s->m->context->progress))
        return;
    progress_left(&s->m->context->progress, left_s(s, duets));
    task_show(place->task, s->m->context);
}

static int alone(struct session *s, const struct task *task, enum sample_role role,
                 struct error *err)
{
    measuring_fresh(s->m);
    return measure_solo(s->m, task, role, 0, err);
}

// The base works alone and failed beside the head, so the head is to blame.
static void blame_head(const struct trouble *t)
{
    const enum measurement_state seen = t->outcome.state;
    const bool ran = seen == MEASURED_WRONG || seen == MEASURED_TIMEOUT;
    t->task->result->head = (struct measurement){
        .state = ran ? seen : MEASURED_CRASHED,
        .regime = "",
        .detail =
            arena_printf(&t->task->run->arena, "beside it the base, which works alone, %s: %.300s",
                         standing_text(seen), t->outcome.detail),
    };
}

// Resolves trouble. Both builds shared an address space and a device's memory, so only a failure
// alone in a fresh process is the base's own fault. Asking whether a base supports the problem
// costs nothing.
static int resolve(struct session *s, const struct trouble *t, struct error *err)
{
    struct result *r = t->task->result;
    const bool late = s->m->deadline_s > 0 && monotonic_s() > s->m->deadline_s;
    if (late && t->outcome.state != MEASURED_UNSUPPORTED)
        return 0;
    if (alone(s, t->task, ROLE_BASE, err))
        return -1;
    if (r->base.state != MEASURED_OK)
        return alone(s, t->task, ROLE_HEAD, err); // whichever seemed to fail
    if (t->outcome.role == ROLE_BASE)
        blame_head(t);
    return 0;
}

static int resolve_all(struct session *s, struct error *err)
{
    for (size_t i = 0; i < s->trouble_count; i++) {
        if (resolve(s, &s->troubles[i], err) ||
            s->work->done(s->work->context, s->troubles[i].task, err))
            return -1;
    }
    return 0;
}

// The deadline of a session; 0: none.
static double deadline_of(const struct session *s)
{
    const double now_s = monotonic_s();
    return s->m->deadline_s > 0 ? now_s + s->share * (s->m->deadline_s - now_s) : 0;
}

static int add_task(struct duets *duets, struct session *s, struct task_place *place,
                    struct task *task, struct verdict *self, struct error *err)
{
    place_task(&duets->items[duets->count++], place, s, task, self);
    return task_size(&place->size, task, s->m->context, err);
}

// Adds each self test on every unit, which shows what the same code takes there.
static int add_all(struct duets *duets, struct session *s, struct task_place *places,
                   struct error *err)
{
    const struct gate_work *work = s->work;
    for (size_t i = 0; i < work->count; i++) {
        if (work->tasks[i]->device == s->device &&
            add_task(duets, s, &places[duets->count], work->tasks[i], NULL, err))
            return -1;
    }
    for (size_t i = 0; i < work->self_count * duets->units; i++) {
        struct task *task = work->self[i / duets->units];
        const size_t at = duets->count, unit = i % duets->units;
        struct verdict *self = &work->verdicts[i / duets->units * UNITS_MOST + unit];
        if (context_first_unit(s->m->context, task->device) != s->device)
            continue;
        if (add_task(duets, s, &places[at], task, self, err))
            return -1;
        duets->items[at].only = unit + 1;
        places[at].series = &work->self[i / duets->units];
    }
    return 0;
}

static int play(struct session *s, struct duets *duets, struct error *err)
{
    recording_pause(s->m->recording);
    measuring_fresh(s->m); // only one child runs on a device at a time
    progress_begin(&s->m->context->progress);
    int status = duets_play(duets, err);
    for (size_t i = 0; i < duets->count; i++) {
        sample_list_free(&duets->items[i].base_samples);
        sample_list_free(&duets->items[i].head_samples);
    }
    s->m->processes += duets->processes;
    if (status == 0)
        status = resolve_all(s, err);
    if (status == 0)
        unit_times_tell(&s->times, s->m->context, s->device);
    return status;
}

static int measure_device(struct session *s, struct error *err)
{
    const struct gate_work *work = s->work;
    const size_t units = s->device->units ? s->device->units : 1;
    const size_t most = work->count + work->self_count * units;
    struct arena arena = {0};
    struct task_place *places = arena_alloc(&arena, most * sizeof(*places));
    struct duets duets = {.items = arena_alloc(&arena, most * sizeof(*duets.items)),
                          .units = units,
                          .deadline_s = deadline_of(s),
                          .arena = &arena,
                          .context = s,
                          .start = start,
                          .policy = ask_policy,
                          .wish = work->mixes ? wish : NULL,
                          .beside = work->looks ? next_look : NULL,
                          .looked = has_looked,
                          .played = has_played,
                          .over = is_over,
                          .rest = rest,
                          .lost = lose_unit};
    s->duets = &duets;
    s->look_s = look_s_per_kernel * kernel_count(s);
    s->troubles = arena_alloc(&arena, most * sizeof(*s->troubles));
    const int status = add_all(&duets, s, places, err) || play(s, &duets, err) ? -1 : 0;
    unit_times_free(&s->times);
    arena_free(&arena);
    return status;
}

static bool has_work(const struct gate_work *work, const struct context *context,
                     const struct context_device *device)
{
    for (size_t i = 0; i < work->count + work->self_count; i++) {
        const struct task *task = i < work->count ? work->tasks[i] : work->self[i - work->count];
        if (context_first_unit(context, task->device) == device)
            return true;
    }
    return false;
}

// Measures side by side. Each device gets its share of the remaining time, so that the first does
// not use all of it.
static int measure_side_by_side(struct measuring *m, const struct gate_work *work,
                                struct error *err)
{
    size_t left = 0;
    for (size_t i = 0; i < m->context->device_count; i++)
        left += has_work(work, m->context, &m->context->devices[i]);
    for (size_t i = 0; i < m->context->device_count; i++) {
        struct session session = {.m = m, .device = &m->context->devices[i], .work = work};
        if (!has_work(work, m->context, session.device))
            continue;
        session.share = 1 / (double)left--;
        if (measure_device(&session, err))
            return -1;
    }
    return 0;
}

static int save(const struct task *task, struct context *context, struct error *err)
{
    return task->run->id ? store_save_result(context->store, task->run, task->result, err) : 0;
}

static int save_compared(void *measuring, const struct task *task, struct error *err)
{
    struct context *context = ((const struct measuring *)measuring)->context;
    task_show(task, context);
    return save(task, context, err);
}

// Enough samples to see that a kernel works. Its time does not matter here, and slow kernels take
// seconds.
enum { LOOK_SAMPLES = 3 };

// Launches once a kernel that no run has ever launched, before it is called the same, because it
// may be wrong. That takes no time from the pairs.
static int check_first(const struct task *task, struct measuring *measuring, struct error *err)
{
    const double begun_s = monotonic_s();
    task_show(task, measuring->context);
    if (measure_solo(measuring, task, ROLE_HEAD, LOOK_SAMPLES, err))
        return -1;
    if (measuring->deadline_s > 0)
        measuring->deadline_s += monotonic_s() - begun_s;
    measuring->checked++;
    return 0;
}

// Fills in a task with the same code on both sides from what is known. *first: it needs a first
// look. A comparison needs none, because it says nothing about a commit alone.
static int gate_same(bool *first, const struct task *task, struct context *context,
                     struct error *err)
{
    bool found = false;
    if (task_reuse(&found, task, context, err) ||
        (!found && task_launched(&found, task, context, err)))
        return -1;
    *first = !found && task->run->kind == RUN_GATE;
    task->result->reused = !*first;
    return 0;
}

// The tasks of a gate, sorted by what they need.
struct sorted {
    struct task **paired, **first; // tasks that need pairs, and tasks that need a first look
    size_t paired_count, first_count;
};

// Settles a task without pairs: it is not here, its code is the same, or there is no base.
static int gate_unpaired(struct sorted *out, struct task *task, struct measuring *measuring,
                         struct error *err)
{
    struct context *context = measuring->context;
    const bool here = task->head && !task->device->away;
    bool first = false;
    int status = 0;
    if (!task->base)
        task_show(task, context);
    if (here)
        status = task->base ? gate_same(&first, task, context, err)
                            : measure_solo(measuring, task, ROLE_HEAD, 0, err);
    if (first)
        out->first[out->first_count++] = task;
    return status ? -1 : first ? 0 : save(task, context, err);
}

// *known: the code of one side is known to crash or hang, so nothing can be compared. The other
// side is measured alone, because a head is to blame only if the base works.
static int gate_failing(bool *known, const struct task *task, struct measuring *measuring,
                        struct error *err)
{
    struct task_failure failure;
    if (task_known_to_fail(&failure, task, measuring->context, err))
        return -1;
    *known = failure.base || failure.head;
    if (!*known)
        return 0;
    task_show(task, measuring->context);
    if (!(failure.base && failure.head) &&
        measure_solo(measuring, task, failure.base ? ROLE_HEAD : ROLE_BASE, 0, err))
        return -1;
    task->result->reused = failure.head;
    return save(task, measuring->context, err);
}

// Finds kernels that did not change in a library that did. A library of several kernels differs
// when any of them changed. If the records, which are all that is timed, run the same code in the
// same way, the series' kernel is the same on both sides.
static void take_same(struct task *task)
{
    struct built_kernel *head = arena_copy(&task->run->arena, task->head, sizeof(*head));
    memcpy(head->code, task->base->code, sizeof(head->code));
    memcpy(task->result->head_code, head->code, sizeof(head->code));
    task->head = head;
}

static int find_same_launches(bool *same, struct task *task, struct measuring *measuring,
                              struct error *err)
{
    struct arena *arena = &task->run->arena;
    char codes[2][OBJECT_ID_TEXT];
    *same = false;
    if (!task_is_recorded(task) || task->base->captured || task->head->captured)
        return 0;
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const char *path =
            recording_file(measuring->recording, task, (enum sample_role)role, arena);
        if (record_code_id(codes[role], path, err))
            return -1;
    }
    *same = strcmp(codes[ROLE_BASE], codes[ROLE_HEAD]) == 0;
    if (*same)
        take_same(task);
    return 0;
}

// Finds the same where libraries are timed, or nothing is. A library's host code chooses its
// launches; it is trusted there.
static int find_same_away(struct task *task, struct measuring *measuring, struct error *err)
{
    bool same = false;
    if (!task->base || !task->head || strcmp(task->base->code, task->head->code) == 0 ||
        strcmp(task->device->policy->kind, "cuda") != 0 ||
        (task->device->away ? !task->device->is_static : task_is_recorded(task)))
        return 0;
    if (recording_same_away(&same, measuring->recording, task, err))
        return -1;
    if (same)
        take_same(task);
    return 0;
}

// Checks that both sides can be timed as the policy wants. If it trusts only device code, a kernel
// that cannot be recorded is not measured, and its result says why.
static int gate_recorded(struct sorted *out, struct task *task, struct measuring *measuring,
                         struct error *err)
{
    const unsigned base = 1U << ROLE_BASE, head = 1U << ROLE_HEAD;
    unsigned recorded;
    bool same = false;
    if (measuring_record(&recorded, measuring, task, base | head, true, err))
        return -1;
    const bool both = recorded == (base | head);
    if (both && find_same_launches(&same, task, measuring, err))
        return -1;
    if (same)
        return gate_unpaired(out, task, measuring, err);
    if (both) {
        out->paired[out->paired_count++] = task;
        return 0;
    }
    if (recorded & head && measure_solo(measuring, task, ROLE_HEAD, 0, err))
        return -1;
    return save(task, measuring->context, err);
}

// Settles a task that needs neither pairs nor a first look.
static int gate_task(struct sorted *out, struct task *task, struct measuring *measuring,
                     struct error *err)
{
    bool resumed = false, failing = false;
    if (task->run->id && task_resumed(&resumed, task, measuring->context, err))
        return -1;
    if (resumed)
        return 0;
    if (find_same_away(task, measuring, err))
        return -1;
    if (!task_is_paired(task))
        return gate_unpaired(out, task, measuring, err);
    if (gate_failing(&failing, task, measuring, err))
        return -1;
    return failing ? 0 : gate_recorded(out, task, measuring, err);
}

// The next task that belongs to another library.
static const struct task *next_library(struct task *const *tasks, size_t count, size_t at)
{
    const struct task *now = tasks[at];
    for (size_t i = at + 1; i < count; i++) {
        if (tasks[i]->head && now->head && strcmp(tasks[i]->head->library, now->head->library) != 0)
            return tasks[i];
    }
    return NULL;
}

// Collects the tasks that need pairs in `paired`, and finishes all others.
static int gate_others(struct task **paired, size_t *count, const struct task_list *tasks,
                       struct measuring *measuring, struct error *err)
{
    struct task **work = xcalloc(2 * tasks->count + 1, sizeof(*work)), **open = work + tasks->count;
    struct sorted sorted = {.paired = paired + *count, .first = work};
    size_t open_count = 0, next = 0;
    int status = 0;
    for (size_t i = 0; i < tasks->count; i++) {
        if (task_is_paired(&tasks->items[i]))
            open[open_count++] = &tasks->items[i];
    }
    for (size_t i = 0; i < tasks->count && status == 0; i++) {
        const bool is_open = next < open_count && open[next] == &tasks->items[i];
        measuring->next = is_open ? next_library(open, open_count, next++) : NULL;
        status = gate_task(&sorted, &tasks->items[i], measuring, err);
    }
    for (size_t i = 0; i < sorted.first_count && status == 0; i++) {
        measuring->next = next_library(sorted.first, sorted.first_count, i);
        status = check_first(sorted.first[i], measuring, err) ||
                         save(sorted.first[i], measuring->context, err)
                     ? -1
                     : 0;
    }
    measuring->next = NULL;
    *count += sorted.paired_count;
    free(work);
    return status;
}

// The run's test of itself.
struct self_selection {
    struct task **order; // candidates
    size_t count;
    struct task **tasks;
    struct verdict *verdicts; // their verdicts
    size_t wanted, turn;      // turn: number of candidates that were tried
    size_t tested;            // how many of the wanted ones were tested
};

static int choose_self(struct gate_work *work, struct self_selection *s,
                       struct measuring *measuring, struct error *err)
{
    work->self = s->tasks;
    work->verdicts = s->verdicts;
    work->self_count = 0;
    while (s->tested + work->self_count < s->wanted && s->turn < s->count) {
        struct task *task = s->order[s->turn++];
        unsigned made;
        if (measuring_record(&made, measuring, task, 1U << self_tests_role(task), false, err))
            return -1;
        if (made)
            s->tasks[work->self_count++] = task;
    }
    memset(s->verdicts, 0, work->self_count * UNITS_MOST * sizeof(*s->verdicts));
    return 0;
}

// Keeps the verdicts of the self tests that could be measured.
static void take_self(struct gate_self *self, struct self_selection *s,
                      const struct gate_work *work)
{
    for (size_t i = 0; i < work->self_count; i++) {
        const size_t before = self->count;
        for (size_t unit = 0; unit < UNITS_MOST; unit++) {
            if (work->verdicts[i * UNITS_MOST + unit].pairs)
                self->verdicts[self->count++] = work->verdicts[i * UNITS_MOST + unit];
        }
        s->tested += self->count > before;
    }
}

int gate_measure(struct gate_self *out, struct run *run, const struct task_list *tasks,
                 struct measuring *measuring, struct error *err)
{
    struct context *context = measuring->context;
    struct task **paired = arena_alloc(&run->arena, (tasks->count + 1) * sizeof(*paired));
    struct gate_work work = {
        .tasks = paired, .mixes = true, .looks = true, .context = measuring, .done = save_compared};
    struct self_selection selection = {.wanted = context->policy.gate.self_test};
    struct gate_self self = {0};
    const size_t most = (selection.wanted + 1) * UNITS_MOST;
    self.verdicts = arena_alloc(&run->arena, most * sizeof(*self.verdicts));
    selection.verdicts = arena_alloc(&run->arena, most * sizeof(*selection.verdicts));
    selection.order = arena_alloc(&run->arena, (tasks->count + 1) * sizeof(*selection.order));
    selection.tasks = arena_alloc(&run->arena, (selection.wanted + 1) * sizeof(struct task *));
    progress_begin(&context->progress);
    if (gate_others(paired, &work.count, tasks, measuring, err))
        return -1;
    if (measuring->checked)
        progress_note(
            &context->progress, "%zu series of unchanged code %s: no run here ever had",
            measuring->checked,
            plural(measuring->checked, "was launched and checked", "were launched and checked"));
    selection.count =
        self_tests_order(selection.order, tasks, paired, work.count, selection.wanted);
    do {
        if (choose_self(&work, &selection, measuring, err) ||
            measure_side_by_side(measuring, &work, err))
            return -1;
        take_self(&self, &selection, &work);
        work.count = 0;
    } while (work.self_count > 0 && selection.tested < selection.wanted);
    progress_end(&context->progress);
    *out = self;
    return 0;
}

// Sorts series of one kernel and problem together, from whichever comparison they are, so that
// series that are open at the same time share libraries and references.
static int by_series(const void *left, const void *right)
{
    const struct task *a = *(const struct task *const *)left;
    const struct task *b = *(const struct task *const *)right;
    char problems[2][PROBLEM_TEXT];
    int order = strcmp(a->result->kernel, b->result->kernel);
    if (order)
        return order;
    problem_format(problems[0], &a->result->problem);
    problem_format(problems[1], &b->result->problem);
    order = strcmp(problems[0], problems[1]);
    return order ? order : a->run->id < b->run->id ? -1 : a->run->id > b->run->id;
}

int compare_measure(const struct task_list *lists, size_t count, struct measuring *measuring,
                    struct error *err)
{
    struct context *context = measuring->context;
    struct gate_work work = {.context = measuring, .done = save_compared};
    size_t most = 0;
    int status = 0;
    for (size_t i = 0; i < count; i++)
        most += lists[i].count;
    struct task **paired = xcalloc(most + 1, sizeof(*paired));
    work.tasks = paired;
    progress_begin(&context->progress);
    for (size_t i = 0; status == 0 && i < count; i++)
        status = gate_others(paired, &work.count, &lists[i], measuring, err);
    if (work.count)
        qsort(paired, work.count, sizeof(struct task *), by_series);
    if (status == 0)
        status = measure_side_by_side(measuring, &work, err);
    progress_end(&context->progress);
    free(paired);
    return status;
}
