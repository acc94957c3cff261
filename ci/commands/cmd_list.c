// SPDX-License-Identifier: Apache-2.0
//
// plumb list: lists the kernels of a commit and the series that the policy makes of them, models,
// GPU profiles with the origin of every number, devices, and reports.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/gate/task_list.h"
#include "ci/settings/gpu_file.h"
#include "model/predict.h"
#include "reports/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *what, *name;
    bool json;
};

static const struct command_option own_options[] = {OPTION_FORMAT(json), {0}};

static int check(void *arguments, struct error *err)
{
    struct arguments *a = arguments;
    const struct words *words = &a->options.words;
    (void)err;
    a->what = words->count > 0 ? words->items[0] : "";
    a->name = words->count > 1 ? words->items[1] : NULL;
    if (words->count && strcmp(a->what, "devices") != 0)
        a->options.static_use = STATIC_LIST;
    return 0;
}

// ---- the figures of a profile

static void figures_json(struct json *json, const struct gpu *gpu)
{
    struct gpu copy = *gpu;
    json_begin(json, "figures", '[');
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const struct figure *figure = gpu_figure(&copy, gpu_figure_key(i));
        const bool known = figure->value != 0;
        json_newline(json);
        json_begin(json, NULL, '{');
        json_clean(json, "figure", gpu_figure_key(i));
        json_number(json, "value", known ? figure->value : NAN);
        json_clean(json, "unit", gpu_figure_unit(i));
        json_clean(json, "origin", known ? origin_name(figure->origin) : "unknown");
        json_clean(json, "source", figure->source);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void print_figures(const struct gpu *gpu)
{
    struct gpu copy = *gpu;
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        const struct figure *figure = gpu_figure(&copy, gpu_figure_key(i));
        if (figure->value != 0)
            printf("  %-18s %-14.6g %-10s %s\n", gpu_figure_key(i), figure->value,
                   origin_name(figure->origin), figure->source ? figure->source : "");
        else
            printf("  %-18s %-14s %-10s %s\n", gpu_figure_key(i), "-", "unknown",
                   gpu_figure_unit(i));
    }
}

// ---- the lists; `answer` is NULL for a table

static void print_name(struct answer *answer, const char *what, const char *name,
                       const char *summary)
{
    if (!answer) {
        printf("%-16s %s\n", name, summary);
        return;
    }
    struct json *row = answer_row(answer);
    json_clean(row, what, name);
    json_clean(row, "summary", summary);
}

static void say_judged(struct answer *answer, const struct gpu *gpu)
{
    if (answer)
        json_clean(&answer->json, "judged", gpu->judged);
    else
        printf("%-16s judged: %s\n", "", gpu->judged ? gpu->judged : "never, on any time");
}

static int list_gpus(struct answer *answer, struct context *context, const char *name,
                     struct error *err)
{
    struct gpu_profile profile;
    (void)context;
    for (size_t i = 0; i < gpu_count && !name; i++) {
        print_name(answer, "gpu", gpus[i]->name, gpus[i]->summary);
        say_judged(answer, gpus[i]);
    }
    if (!name)
        return 0;
    if (gpu_option_resolve(&profile, &(struct gpu_option){.name = name}, err))
        return -1;
    print_name(answer, "gpu", profile.gpu.name, profile.gpu.summary);
    say_judged(answer, &profile.gpu);
    if (answer)
        figures_json(&answer->json, &profile.gpu);
    else
        print_figures(&profile.gpu);
    gpu_profile_free(&profile);
    return 0;
}

static int list_models(struct answer *answer, struct context *context, const char *name,
                       struct error *err)
{
    (void)context, (void)name, (void)err;
    for (size_t i = 0; i < model_count; i++) {
        if (!answer) {
            printf("%-16s %-6s %s\n", models[i]->name, models[i]->version, models[i]->why);
            continue;
        }
        print_name(answer, "model", models[i]->name, models[i]->why);
        json_clean(&answer->json, "version", models[i]->version);
    }
    return 0;
}

static int list_reports(struct answer *answer, struct context *context, const char *name,
                        struct error *err)
{
    (void)context, (void)name, (void)err;
    for (size_t i = 0; i < report_count; i++) {
        if (!answer) {
            printf("%-16s %-18s %s\n", reports[i]->name, reports[i]->file, reports[i]->why);
            continue;
        }
        print_name(answer, "report", reports[i]->name, reports[i]->why);
        json_clean(&answer->json, "file", reports[i]->file);
    }
    return 0;
}

static int list_devices(struct answer *answer, struct context *context, const char *name,
                        struct error *err)
{
    (void)name;
    if (context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_devices(context, err))
        return -1;
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        const struct device *unit = &device->unit;
        if (!answer) {
            printf("%s: %s, %s, driver %s, runtime %s, profile %s\n", device->policy->name,
                   unit->name, unit->uuid, unit->driver, unit->runtime, unit->profile);
            print_figures(&device->gpu);
            continue;
        }
        print_name(answer, "device", device->policy->name, unit->name);
        json_clean(&answer->json, "uuid", unit->uuid);
        json_clean(&answer->json, "driver", unit->driver);
        json_clean(&answer->json, "runtime", unit->runtime);
        json_clean(&answer->json, "profile", unit->profile);
        figures_json(&answer->json, &device->gpu);
    }
    return 0;
}

// Builds a commit. 1: it does not build, for the reason in `err`.
static int build(struct built *out, struct context *context, const char *revision,
                 struct error *err)
{
    struct commit commit;
    if (repository_commit(&commit, context->repository, revision ? revision : "HEAD",
                          &context->arena, err) ||
        context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_devices(context, err) ||
        built_make(out, context, &(struct to_build){.commit = &commit}, &context->arena, err))
        return -1;
    progress_end(&context->progress);
    if (out->state == MEASURED_OK)
        return 0;
    error_set(err, "%.10s does not build: %s%s%s", commit.id, out->detail,
              out->failure.log[0] ? "; the log is " : "", out->failure.log);
    return 1;
}

static void say_absent(const struct answer *answer, const struct built *built)
{
    if (built->absent && !answer)
        printf("dry run: it would be built first; only then are its kernels known\n");
}

// Whether this machine has a device on which the policy measures this kernel; true for a kernel
// that is measured on none.
static bool has_device(const struct context *context, const struct built_kernel *k)
{
    bool named = false;
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (strcmp(device->policy->kind, k->device) != 0 ||
            !policy_rule(&context->policy, k->name, device->policy))
            continue;
        if (!device->away)
            return true;
        named = true;
    }
    return !named;
}

static void kernel_json(struct json *row, const struct context *context,
                        const struct built_kernel *k)
{
    json_clean(row, "kernel", k->name);
    json_clean(row, "device", k->device);
    json_clean(row, "in", dtype_name(k->traits.in));
    json_clean(row, "out", dtype_name(k->traits.out));
    json_int(row, "tile_m", k->traits.tile_m);
    json_int(row, "tile_n", k->traits.tile_n);
    json_int(row, "tile_k", k->traits.tile_k);
    json_int(row, "threads", k->traits.threads);
    json_clean(row, "code", k->code);
    json_bool(row, "has_device", has_device(context, k));
}

static int list_kernels(struct answer *answer, struct context *context, const char *revision,
                        struct error *err)
{
    struct built built;
    int status = build(&built, context, revision, err);
    if (status)
        return status;
    say_absent(answer, &built);
    for (size_t i = 0; i < built.count; i++) {
        const struct built_kernel *k = &built.kernels[i];
        if (answer) {
            kernel_json(answer_row(answer), context, k);
            continue;
        }
        printf("%-28s %-5s %s-%s  ", k->name, k->device, dtype_name(k->traits.in),
               dtype_name(k->traits.out));
        if (k->traits.tile_m)
            printf("tile %dx%dx%d  ", k->traits.tile_m, k->traits.tile_n, k->traits.tile_k);
        if (k->traits.threads)
            printf("threads %d  ", k->traits.threads);
        printf("code %.10s%s\n", k->code,
               has_device(context, k) ? "" : "  not run: no such device");
    }
    return 0;
}

static void print_series(struct answer *answer, const struct coverage *coverage)
{
    for (size_t i = 0; i < coverage->tasks.count; i++) {
        const struct task *task = &coverage->tasks.items[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &task->result->problem);
        if (!answer) {
            printf("%-28s %-28s %s%s%s\n", task->result->kernel, problem,
                   task->device->policy->name, task->rule->control ? ", control" : "",
                   coverage->supports[i] ? "" : ", not supported");
            continue;
        }
        struct json *row = answer_row(answer);
        json_clean(row, "kernel", task->result->kernel);
        json_clean(row, "problem", problem);
        json_clean(row, "device", task->device->policy->name);
        json_bool(row, "control", task->rule->control);
        json_bool(row, "supported", coverage->supports[i]);
    }
}

static int list_series(struct answer *answer, struct context *context, const char *revision,
                       struct error *err)
{
    struct built built;
    struct run run = {0};
    struct coverage coverage;
    int status = build(&built, context, revision, err);
    if (status)
        return status;
    say_absent(answer, &built);
    if (built.absent)
        return 0;
    status = coverage_find(&coverage, &run, context, &built, err);
    if (status)
        goto done;
    print_series(answer, &coverage);
    fflush(stdout);
    for (size_t i = 0; i < coverage.complaint_count; i++)
        fprintf(stderr, "%s: %s\n", context->policy.label, coverage.complaints[i]);
    status = coverage.complaint_count
                 ? error_set(err, "%s and the kernels of %.10s do not fit each other",
                             context->policy.label, built.commit.id)
                 : 0;
done:
    run_free(&run);
    return status;
}

static int list_fleet(struct answer *answer, struct context *context, const char *name,
                      struct error *err)
{
    (void)name;
    if (context_policy(context, "", err))
        return -1;
    const struct policy_fleet *f = &context->policy.fleet;
    const char *const rows[][2] = {{"tasks", arena_printf(&context->arena, "%u", f->tasks)},
                                   {"partition", f->partition},
                                   {"gres", f->gres},
                                   {"time", f->time},
                                   {"account", f->account}};
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        if (answer && rows[i][1]) {
            struct json *row = answer_row(answer);
            json_clean(row, "key", rows[i][0]);
            json_clean(row, "value", rows[i][1]);
        } else if (rows[i][1]) {
            printf("%s %s\n", rows[i][0], rows[i][1]);
        }
    }
    return 0;
}

static const struct {
    const char *name;
    bool of_repository, takes; // takes: it takes a name
    int (*list)(struct answer *answer, struct context *context, const char *name,
                struct error *err);
} lists[] = {
    {"kernels", true, true, list_kernels},  {"series", true, true, list_series},
    {"models", false, false, list_models},  {"gpus", false, true, list_gpus},
    {"devices", true, false, list_devices}, {"reports", false, false, list_reports},
    {"fleet", true, false, list_fleet},
};

// A commit that does not build is "broken" (exit code 3), as for `gate` and `run`, and no failure
// of this program.
static int conclude(enum conclusion *out, int status, bool json, const struct error *err)
{
    if (status <= 0)
        return status;
    *out = CONCLUDE_BROKEN;
    fprintf(json ? stderr : stdout, "BROKEN: commit %s\n", err->text);
    return 0;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        if (strcmp(lists[i].name, a->what) != 0)
            continue;
        if (a->name && !lists[i].takes)
            return error_set(err, "list %s takes no '%.40s'", a->what, a->name);
        if (lists[i].of_repository && context_open(context, &a->options, err))
            return -1;
        struct answer kept, *answer = answer_if(&kept, a->json, lists[i].name);
        const int status = lists[i].list(answer, context, a->name, err);
        (void)answer_leave(answer, status > 0 ? 0 : status);
        return conclude(out, status, a->json, err);
    }
    return error_set(err, "list what? kernels, series, models, gpus, devices, reports or fleet");
}

static bool reads_repository(const void *arguments)
{
    const struct arguments *a = arguments;
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        if (strcmp(lists[i].name, a->what) == 0)
            return lists[i].of_repository;
    }
    return true;
}

static bool reads_devices(const void *arguments)
{
    const struct arguments *a = arguments;
    return reads_repository(a) && strcmp(a->what, "fleet") != 0;
}

static bool builds(const void *arguments)
{
    const struct arguments *a = arguments;
    return reads_devices(a) && strcmp(a->what, "devices") != 0;
}

static const struct option_use uses[] = {
    {"policy repo", reads_repository, "kernels, series, devices and fleet"},
    {"bench device dry-run quiet sandbox store", reads_devices, "kernels, series and devices"},
    {"cache overlay", builds, "kernels and series"},
    {0},
};

const struct command command_list = {
    .name = "list",
    .summary = "List kernels, series, models, GPU profiles, devices or reports",
    .words = "kernels [REV] | series [REV] | models | gpus [NAME|FILE] | devices | reports | fleet",
    .words_most = 2,
    .json = "kernels (kernel, device, in, out, tile_m, tile_n, tile_k, threads, code, "
            "has_device), series "
            "(kernel, problem, device, control, supported), models (model, summary, version), gpus "
            "(gpu, summary, judged: NULL if on no time), devices (device, summary, uuid, driver, "
            "runtime, profile), reports "
            "(report, summary, file), fleet (key, value); a device and a single GPU have figures "
            "(figure, value, unit, "
            "origin, source).",
    .shared = SHARED_MEASURE,
    .options = own_options,
    .check = check,
    .uses = uses,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Lists what there is.\v"
           "Kernels and series need no device; if the commit does not build the exit code is "
           "3. `series` says which kernels the policy measures on which problems. It fails "
           "(exit code 4) if a kernel has no section or supports none of its problems, or if "
           "no kernel supports a problem: plumb would measure nothing of these. `fleet` prints "
           "what the policy tells sbatch.",
};
