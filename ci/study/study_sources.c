// SPDX-License-Identifier: Apache-2.0
//
// Finds what a study compares, in two directories or two commits, and copies or builds it. It
// measures nothing.
#include "ci/study/study_sources.h"
#include "ci/gate/task_list.h"
#include "ci/settings/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct study_start {
    struct studied *studied;
    const struct context_device *device; // NULL: by the plan
};

static int start_bench(struct bench **out, void *context, size_t unit, struct error *err)
{
    const struct study_start *start = context;
    const struct studied *s = start->studied;
    if (start->device)
        return context_bench(out, s->context, start->device + unit, s->directories,
                             s->directory_count, err);
    struct bench_plan plan = s->plan;
    struct bench *bench = NULL;
    plan.index = (int32_t)unit;
    if (bench_start(&bench, &plan, err))
        return -1;
    if (strcmp(bench_device(bench)->name, s->run.devices[0].name) != 0) {
        const int status =
            error_set(err, "%s device %zu is a %.100s, the first is a %.100s", plan.kind, unit,
                      bench_device(bench)->name, s->run.devices[0].name);
        bench_stop(bench);
        return status;
    }
    *out = bench;
    return 0;
}

static void begin(struct studied *s, size_t devices)
{
    s->run = (struct run){.kind = RUN_STUDY,
                          .started_s = (int64_t)time(NULL),
                          .tool_version = PLUMB_VERSION,
                          .repository = "",
                          .policy = "",
                          .device_count = devices};
    s->run.devices = arena_alloc(&s->run.arena, devices * sizeof(*s->run.devices));
    s->studies = xcalloc(devices + 1, sizeof(*s->studies));
    s->starts = xcalloc(devices + 1, sizeof(*s->starts));
    for (size_t i = 0; i < devices; i++) {
        s->starts[i] = (struct study_start){.studied = s};
        s->studies[i] = (struct study){.start = start_bench, .context = &s->starts[i]};
    }
}

void studied_free(struct studied *s)
{
    for (size_t i = 0; s->studies && i < s->run.device_count; i++)
        free(s->studies[i].series);
    free(s->studies);
    free(s->starts);
    run_free(&s->run);
}

static void add_pair(struct study *study, const struct study_request *request, const char *kernel,
                     const char *base, const char *head, const struct problem *problem,
                     size_t device)
{
    study_add(study, STUDY_AA, kernel, base, base, problem, device);
    if (head)
        study_add(study, STUDY_SLOWER, kernel, base, head, problem, device);
    if (head && request->faster)
        study_add(study, STUDY_FASTER, kernel, head, base, problem, device);
}

// ---- directories ----

static int add_library(struct studied *s, const struct study_request *request, const char *name,
                       struct bench *bench, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list kernels = {0};
    struct arena *arena = &s->run.arena;
    const char *base = arena_printf(arena, "%s/%s", request->base, name);
    const char *head = request->head ? arena_printf(arena, "%s/%s", request->head, name) : NULL;
    if (head && access(head, R_OK))
        head = NULL;
    if (bench_list(&outcome, &kernels, bench, base, arena, err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "%s: %.300s", base, outcome.detail);
    for (size_t k = 0; k < kernels.count; k++) {
        if (strcmp(kernels.items[k].device, s->plan.kind) ||
            (request->kernel && fnmatch(request->kernel, kernels.items[k].name, 0)))
            continue;
        for (size_t i = 0; i < request->problem_count; i++) {
            struct problem problem;
            if (problem_parse(&problem, request->problems[i], err))
                return -1;
            add_pair(&s->studies[0], request, kernels.items[k].name, base, head, &problem, 0);
        }
    }
    return 0;
}

static int is_library(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

static int add_libraries(struct studied *s, const struct study_request *request,
                         struct bench *bench, struct error *err)
{
    struct dirent **names = NULL;
    int count = scandir(request->base, &names, is_library, alphasort), status = 0;
    if (count < 0)
        return error_set(err, "%s: %s", request->base, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (status == 0)
            status = add_library(s, request, names[i]->d_name, bench, err);
        free(names[i]);
    }
    free(names);
    if (status == 0 && s->studies[0].count == 0)
        return error_set(err, "%s: no library there has a kernel for %s", request->base,
                         s->plan.kind);
    return status;
}

// The store tells series apart by kernel and problem.
static int check_names(const struct study *study, const char *directory, struct error *err)
{
    for (size_t i = 0; i < study->count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct study_series *a = &study->series[i], *b = &study->series[j];
            if (a->sum.kind == b->sum.kind && strcmp(a->sum.kernel, b->sum.kernel) == 0 &&
                problem_equal(&a->sum.problem, &b->sum.problem))
                return error_set(err,
                                 "%s: two libraries have a kernel %s, or a problem is "
                                 "given twice; each may be there once",
                                 directory, a->sum.kernel);
        }
    }
    return 0;
}

static struct device copy_device(const struct device *d, struct arena *arena)
{
    return (struct device){arena_strdup(arena, d->kind),    arena_strdup(arena, d->uuid),
                           arena_strdup(arena, d->name),    arena_strdup(arena, d->driver),
                           arena_strdup(arena, d->runtime), arena_strdup(arena, d->profile)};
}

int study_of_directories(struct studied *out, const struct study_request *request,
                         const char *bench, struct error *err)
{
    struct bench *child;
    *out = (struct studied){
        .plan = {.program = bench, .kind = request->device ? request->device : "host"}};
    begin(out, 1);
    const char **builds = arena_alloc(&out->run.arena, 2 * sizeof(*builds));
    builds[0] = request->base;
    builds[1] = request->head;
    out->plan.read_only = builds;
    out->plan.read_only_count = out->plan.build_count = request->head ? 2 : 1;
    if (!request->problem_count)
        return error_set(err, "a study of directories needs --problem; try plumb study --help");
    if (bench_start(&child, &out->plan, err))
        return -1;
    out->run.devices[0] = copy_device(bench_device(child), &out->run.arena);
    out->studies[0].kind = out->plan.kind;
    out->studies[0].units = request->units;
    profile_shipped(&out->studies[0].gpu, child, &out->run.arena);
    int status = add_libraries(out, request, child, err);
    bench_stop(child);
    if (status == 0 && request->records)
        status = study_record(out, request->records, err);
    return status ? -1 : check_names(&out->studies[0], request->base, err);
}

// ---- commits ----

static int parse_problems(struct problem **out, const struct study_request *request,
                          struct arena *arena, struct error *err)
{
    struct problem *problems = arena_alloc(arena, request->problem_count * sizeof(*problems));
    for (size_t i = 0; i < request->problem_count; i++) {
        if (problem_parse(&problems[i], request->problems[i], err))
            return -1;
    }
    *out = problems;
    return 0;
}

static bool wanted(const struct study_request *request, const struct problem *problems,
                   const struct problem *problem)
{
    for (size_t i = 0; i < request->problem_count; i++) {
        if (problem_equal(&problems[i], problem))
            return true;
    }
    return request->problem_count == 0;
}

// Code that is the same on both sides is only compared with itself.
static int add_tasks(struct studied *s, const struct study_request *request,
                     const struct task_list *tasks, struct error *err)
{
    struct problem *problems;
    size_t added = 0;
    if (parse_problems(&problems, request, &s->run.arena, err))
        return -1;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        const struct result *r = task->result;
        if (!task->base || task->device->is_static || !wanted(request, problems, &r->problem))
            continue;
        if (task->base->plan || (task->head && task->head->plan)) {
            progress_note(&s->context->progress, "%s: a plan's kernel is not studied", r->kernel);
            continue;
        }
        const bool differs = task->head && strcmp(r->base_code, r->head_code) != 0;
        add_pair(&s->studies[r->device], request, r->kernel, task->base->library,
                 differs ? task->head->library : NULL, &r->problem, r->device);
        added++;
    }
    return added ? 0 : error_set(err, "no series of the policy is left to study");
}

static int build(struct studied *s, struct built *base, struct built *head,
                 const struct study_request *request, struct error *err)
{
    struct context *context = s->context;
    struct arena *arena = &s->run.arena;
    if (built_make(base, context, &(struct to_build){.commit = &s->run.base}, arena, err))
        return -1;
    *head = *base;
    const struct to_build other = {.commit = &s->run.head, .base = &s->run.base};
    if (request->head && built_make(head, context, &other, arena, err))
        return -1;
    if (base->state != MEASURED_OK || head->state != MEASURED_OK)
        return error_set(err, "%s does not build: %.300s",
                         base->state != MEASURED_OK ? request->base : request->head,
                         base->state != MEASURED_OK ? base->detail : head->detail);
    s->directories[s->directory_count++] = base->directory;
    if (request->head)
        s->directories[s->directory_count++] = head->directory;
    return 0;
}

int study_of_commits(struct studied *out, const struct study_request *request,
                     struct context *context, struct error *err)
{
    struct commit base, head;
    struct built base_built, head_built;
    struct task_list tasks;
    *out = (struct studied){.context = context};
    const char *other = request->head ? request->head : request->base;
    if (repository_commit(&base, context->repository, request->base, &context->arena, err) ||
        repository_commit(&head, context->repository, other, &context->arena, err) ||
        context_policy(context, base.id, err) || context_store(context, STORE_WRITE, err))
        return -1;
    context_judge(context, &head);
    if (context_builder(context, err) || context_devices(context, err))
        return -1;
    begin(out, context->device_count);
    out->run.base = base;
    out->run.head = head;
    out->run.repository = arena_strdup(&out->run.arena, repository_name(context->repository));
    out->run.policy = arena_strdup(&out->run.arena, context->policy.text);
    for (size_t i = 0; i < context->device_count; i++) {
        out->run.devices[i] = context->devices[i].unit;
        out->starts[i].device = &context->devices[i];
        out->studies[i].kind = context->devices[i].policy->kind;
        out->studies[i].gpu = context->devices[i].gpu;
        out->studies[i].units = context->devices[i].units;
    }
    if (build(out, &base_built, &head_built, request, err) ||
        task_list_make(&tasks, &out->run, context, &base_built, &head_built, err))
        return -1;
    const int status = add_tasks(out, request, &tasks, err);
    out->run.count = 0; // a study has no results of its own
    return status;
}
