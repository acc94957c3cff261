// SPDX-License-Identifier: Apache-2.0
//
// Measures one side of a task alone, with a bench child that is kept while tasks share a device.
// Also has what comes before: estimating how long it takes, making the records that are timed, and
// the numbers of the gate's rule. A kernel that fails is a result; only a lost device or a full
// disk is an error.
#include "ci/gate/measuring.h"

#include "ci/gate/task_list.h"
#include "model/base.h"
#include "model/gate/gate.h"
#include "model/history/levels.h"
#include "model/predict/parts/limits.h"
#include "runner/bench/measure.h"
#include "runner/child/files.h"
#include "runner/code/machine_code.h"
#include "runner/code/plan_file.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- how long the rest takes ----
//
// Expected times, by least squares over running sums.

void pace_add(struct pace *pace, double size, double seconds)
{
    pace->count += 1;
    pace->size += size;
    pace->size2 += size * size;
    pace->seconds += seconds;
    pace->product += size * seconds;
}

double pace_expect(const struct pace *p, double size)
{
    if (p->count == 0)
        return NAN;
    const double mean = p->seconds / p->count, middle = p->size / p->count;
    const double spread = p->size2 - p->size * middle;
    double slope = (p->product - p->seconds * middle) / spread, fixed = mean - slope * middle;
    // If all sizes are alike, a larger one is expected to take longer, and a smaller one as long.
    if (!(spread > 1e-9 * p->size2))
        return middle > 0 ? mean * fmax(1, size / middle) : mean;
    if (slope < 0)
        slope = 0, fixed = mean;
    if (fixed < 0)
        fixed = 0, slope = p->product / p->size2;
    return fixed + slope * size;
}

int pace_size(double *out, const struct task *task, struct context *context, struct error *err)
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

// ---- records ----
//
// Makes records in sandboxed processes of their own, base and head apart, before anything is timed.
// A record's name contains its code and problem, so nothing is recorded twice in a run.

// The regime of a measurement that could not be recorded. It is stored, and so tells later why
// there is none.
static const char refused_regime[] = "not recorded";

bool recording_refused(const struct measurement *m)
{
    return m->state == MEASURED_UNSUPPORTED && m->regime && strcmp(m->regime, refused_regime) == 0;
}

bool recording_wanted(const struct task *task)
{
    const bool plan = (task->base && task->base->plan) || (task->head && task->head->plan);
    return (task->rule->device_code || plan) && strcmp(task->device->policy->kind, "cuda") == 0;
}

static const struct built_kernel *side(const struct task *task, enum sample_role role)
{
    return role == ROLE_BASE ? task->base : task->head;
}

// A kernel's name and its problem may be long, so a hash stands for both.
const char *recording_file(const struct recording *r, const struct task *task,
                           enum sample_role role, struct arena *arena)
{
    const struct built_kernel *kernel = side(task, role);
    char problem[PROBLEM_TEXT];
    if (!recording_wanted(task) || kernel->captured)
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
    return recording_wanted(task) && !kernel->captured && !kernel->plan &&
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
    if (!recording_wanted(task) || kernel->captured)
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

int recording_same_away(bool *same, struct recording *r, const struct task *task, struct error *err)
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

static void leave_all(struct recording *r)
{
    leave(r, ROLE_BASE);
    leave(r, ROLE_HEAD);
    leave_ahead(r);
}

void recording_pause(struct recording *r)
{
    leave_all(r);
    context_end_leaving(r->context);
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

// ---- the policy of a task ----
//
// The gate's numbers for one task: defaults, the policy's, and the scatter that earlier runs saw in
// the series.

int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct error *err)
{
    const struct policy_gate gate = policy_gate_for(&context->policy, task->rule);
    const struct context_device *device = task->device;
    const struct problem *problem = &task->result->problem;
    struct gate_policy policy =
        gate_policy_default(device->policy->kind, gate_size_ns(base, count, problem, &device->gpu));
    if (recording_wanted(task))
        gate_policy_records(&policy);
    policy.regime = problem->regime;
    policy.alpha = gate.alpha;
    policy.processes = gate.processes;
    policy.max_pairs = gate.max_pairs;
    if (gate.margin > 0) {
        policy.floor *= gate.margin / policy.margin;
        policy.margin = gate.margin;
    }
    const struct series series = {task->result->kernel, problem, device->unit.uuid};
    struct pair_scale *stored = NULL;
    size_t runs = 0;
    if (store_scale(&stored, &runs, context->store, &series, 8, task->run->id, &task->run->arena,
                    err))
        return -1;
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < runs; i++) {
        if (stored[i].sd_mad > 0 && stored[i].pairs >= 8) {
            sum += log(stored[i].sd_mad) * stored[i].pairs;
            pairs += stored[i].pairs;
        }
    }
    if (pairs > 0)
        gate_policy_learn(&policy, (struct moderation){0, 0}, exp(sum / pairs), pairs);
    gate_policy_use(&policy, task->use, levels_prior.sd);
    *out = policy;
    return 0;
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
    m->recording = (struct recording){.context = context};
    m->shown_count = m->directory_count;
}

void measuring_fresh(struct measuring *m)
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
    recording_end(&m->recording);
    free(m->directories);
    m->directories = NULL;
}

void measuring_end(struct measuring *m)
{
    measuring_fresh(m);
    measuring_leave(m);
}

int measuring_record(unsigned *made, struct measuring *m, const struct task *task, unsigned sides,
                     bool tell, struct error *err)
{
    struct recording *recording = &m->recording;
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
        recording_pause(&m->recording);
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
    if (recording_wanted(task))
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
        .head = recording_file(&m->recording, task, role, &task->run->arena),
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
                        recording_wanted(task) ? ", " REGIME_DEVICE_CODE : "");
}

void measuring_fill(struct measurement *out, struct measuring *m, const struct task *task,
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

int measure_solo(struct measuring *m, const struct task *task, enum sample_role role,
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
        if (pace_size(&out->sizes[i], &tasks->items[i], context, err))
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
