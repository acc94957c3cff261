// SPDX-License-Identifier: Apache-2.0
//
// plumb list: what there is: kernels of a commit, models, GPU profiles with the origin of every
// number, devices, reports.
#include "ci/command.h"
#include "ci/gate/built.h"
#include "ci/settings/options.h"
#include "ci/settings/profile.h"
#include "model/predict.h"
#include "reports/report.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *what, *name;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->options;
        return 0;
    case ARGP_KEY_ARG:
        if (!a->what)
            a->what = arg;
        else if (!a->name)
            a->name = arg;
        else
            argp_error(state, "too many words: '%s'", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {
    .parser = parse,
    .args_doc = "kernels [REV] | models | gpus [NAME] | devices | reports",
    .doc = "Lists what there is.",
    .children = children,
};

static int list_gpus(const char *name, struct error *err)
{
    if (name && !gpu_find(name))
        return error_set(err, "%.60s: no such profile; `plumb list gpus` names those there are",
                         name);
    for (size_t i = 0; i < gpu_count; i++) {
        if (name && gpus[i] != gpu_find(name))
            continue;
        printf("%-16s %s\n", gpus[i]->name, gpus[i]->summary);
        if (name)
            profile_print(stdout, gpus[i]);
    }
    return 0;
}

static int list_devices(struct context *context, struct error *err)
{
    if (context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_stations(context, err))
        return -1;
    for (size_t i = 0; i < context->station_count; i++) {
        const struct station *station = &context->stations[i];
        printf("%s: %s, %s, driver %s, runtime %s, profile %s\n", station->policy->name,
               station->device.name, station->device.uuid, station->device.driver,
               station->device.runtime, station->device.profile);
        profile_print(stdout, &station->gpu);
    }
    return 0;
}

static int list_kernels(struct context *context, const char *revision, struct error *err)
{
    struct commit commit;
    struct built built;
    if (repository_commit(&commit, context->repository, revision ? revision : "HEAD",
                          &context->arena, err) ||
        context_policy(context, "", err) || context_store(context, STORE_WRITE, err) ||
        context_builder(context, err) || context_stations(context, err) ||
        built_make(&built, context, &commit, NULL, &context->arena, err))
        return -1;
    progress_end(&context->progress);
    if (built.absent)
        printf("dry run: it would be built first; only then are its kernels known\n");
    if (built.state != MEASURED_OK)
        return error_set(err, "%.10s does not build: %s", commit.id, built.detail);
    for (size_t i = 0; i < built.count; i++) {
        const struct built_kernel *k = &built.kernels[i];
        printf("%-28s %-5s %s-%s  tile %dx%dx%d  threads %d  code %.10s\n", k->name, k->device,
               dtype_name(k->traits.in), dtype_name(k->traits.out), k->traits.tile_m,
               k->traits.tile_n, k->traits.tile_k, k->traits.threads, k->code);
    }
    return 0;
}

static int list(struct context *context, const struct arguments *a, struct error *err)
{
    const char *what = a->what ? a->what : "";
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
    if (strcmp(what, "devices") == 0)
        return context_open(context, &a->options, err) ? -1 : list_devices(context, err);
    return error_set(err, "list what? kernels, models, gpus, devices or reports");
}

static int run_list(int argc, char **argv)
{
    struct arguments a = {0};
    struct context context = {0};
    struct error err;
    int code = options_parse(&argp, argc, argv, &a);
    if (code)
        return code - 1;
    code = list(&context, &a, &err) ? fail(&err) : CONCLUDE_OK;
    context_close(&context);
    return code;
}

const struct command command_list = {
    .name = "list",
    .summary = "Kernels, models, GPU profiles, devices, reports",
    .run = run_list,
};
