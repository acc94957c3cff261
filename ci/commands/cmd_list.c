// SPDX-License-Identifier: Apache-2.0
//
// plumb list: what there is: kernels of a commit and the series that the policy makes of them,
// models, GPU profiles with the origin of every number, devices, reports.
#include "ci/command.h"
#include "ci/gate/coverage.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/profile.h"
#include "model/predict.h"
#include "reports/report.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *what, *name;
};

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

static int list_gpus(const char *name, struct error *err)
{
    for (size_t i = 0; i < gpu_count && !name; i++)
        printf("%-16s %s\n", gpus[i]->name, gpus[i]->summary);
    if (!name)
        return 0;
    struct gpu_profile profile;
    if (gpu_option_resolve(&profile, &(struct gpu_option){.name = name}, err))
        return -1;
    printf("%-16s %s\n", profile.gpu.name, profile.gpu.summary);
    profile_print(stdout, &profile.gpu);
    gpu_profile_free(&profile);
    return 0;
}

static int list_devices(struct context *context, struct error *err)
{
    if (context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_devices(context, err))
        return -1;
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        printf("%s: %s, %s, driver %s, runtime %s, profile %s\n", device->policy->name,
               device->unit.name, device->unit.uuid, device->unit.driver, device->unit.runtime,
               device->unit.profile);
        profile_print(stdout, &device->gpu);
    }
    return 0;
}

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
    if (out->absent)
        printf("dry run: it would be built first; only then are its kernels known\n");
    if (out->state != MEASURED_OK)
        return error_set(err, "%.10s does not build: %s%s%s", commit.id, out->detail,
                         out->failure.log[0] ? "; the log is " : "", out->failure.log);
    return 0;
}

static int list_kernels(struct context *context, const char *revision, struct error *err)
{
    struct built built;
    if (build(&built, context, revision, err))
        return -1;
    for (size_t i = 0; i < built.count; i++) {
        const struct built_kernel *k = &built.kernels[i];
        printf("%-28s %-5s %s-%s  ", k->name, k->device, dtype_name(k->traits.in),
               dtype_name(k->traits.out));
        if (k->traits.tile_m)
            printf("tile %dx%dx%d  threads %d  ", k->traits.tile_m, k->traits.tile_n,
                   k->traits.tile_k, k->traits.threads);
        printf("code %.10s\n", k->code);
    }
    return 0;
}

static void print_series(const struct coverage *coverage)
{
    for (size_t i = 0; i < coverage->plan.count; i++) {
        const struct task *task = &coverage->plan.tasks[i];
        char problem[PROBLEM_TEXT];
        problem_format(problem, &task->result->problem);
        printf("%-28s %-28s %s%s%s\n", task->result->kernel, problem, task->device->policy->name,
               task->rule->control ? ", control" : "",
               coverage->supports[i] ? "" : ", not supported");
    }
}

static int list_series(struct context *context, const char *revision, struct error *err)
{
    struct built built;
    struct run run = {0};
    struct coverage coverage;
    int status = -1;
    if (build(&built, context, revision, err))
        return -1;
    if (built.absent)
        return 0;
    if (coverage_find(&coverage, &run, context, &built, err))
        goto done;
    print_series(&coverage);
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

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    const char *what = a->what;
    (void)out;
    if (strcmp(what, "models") == 0) {
        for (size_t i = 0; i < model_count; i++)
            printf("%-16s %-6s %s\n", models[i]->name, models[i]->version, models[i]->why);
        return 0;
    }
    if (strcmp(what, "reports") == 0) {
        for (size_t i = 0; i < report_count; i++)
            printf("%-16s %-18s %s\n", reports[i]->name, reports[i]->file, reports[i]->why);
        return 0;
    }
    if (strcmp(what, "gpus") == 0)
        return list_gpus(a->name, err);
    if (strcmp(what, "kernels") == 0)
        return context_open(context, &a->options, err) ? -1 : list_kernels(context, a->name, err);
    if (strcmp(what, "series") == 0)
        return context_open(context, &a->options, err) ? -1 : list_series(context, a->name, err);
    if (strcmp(what, "devices") == 0)
        return context_open(context, &a->options, err) ? -1 : list_devices(context, err);
    return error_set(err, "list what? kernels, series, models, gpus, devices or reports");
}

const struct command command_list = {
    .name = "list",
    .summary = "Kernels, models, GPU profiles, devices, reports",
    .words = "kernels [REV] | series [REV] | models | gpus [NAME|FILE] | devices | reports",
    .words_most = 2,
    .shared = SHARED_MEASURE,
    .check = check,
    .size = sizeof(struct arguments),
    .run = run,
    .doc = "Lists what there is.\v"
           "Kernels and series need no device. `series` says which kernels the policy measures on "
           "which problems, and fails (exit code 4) when a kernel has no section or does none of "
           "its problems, or when no kernel does a problem: nothing of that would be measured.",
};
