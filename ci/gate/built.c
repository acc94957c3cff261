// SPDX-License-Identifier: Apache-2.0
//
// Builds a commit's kernels, or finds them built, and lists what is in the libraries. Nothing is
// measured here.
#include "ci/gate/built.h"
#include "runner/code_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    const struct built_kernel *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->device, b->device);
}

static int add_library(struct built *built, struct bench **bench, struct context *context,
                       const char *library, struct arena *arena, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list list = {0};
    char code[OBJECT_ID_TEXT];
    if (code_id(code, library, err))
        return -1;
    if (!*bench &&
        context_bench(bench, context, &context->stations[0], &built->directory, 1, 0, err))
        return -1;
    if (bench_list(&outcome, &list, *bench, library, arena, err))
        return -1;
    if (outcome.gone) {
        bench_stop(*bench);
        *bench = NULL;
    }
    if (outcome.state != MEASURED_OK) {
        const char *name = strrchr(library, '/');
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_printf(arena, "%s: %s", name ? name + 1 : library, outcome.detail);
        return 0;
    }
    struct built_kernel *grown = arena_alloc(arena, (built->count + list.count) * sizeof(*grown));
    if (built->count)
        memcpy(grown, built->kernels, built->count * sizeof(*grown));
    built->kernels = grown;
    for (size_t i = 0; i < list.count; i++) {
        struct built_kernel *kernel = &built->kernels[built->count++];
        *kernel = (struct built_kernel){
            .library = library, .device = list.items[i].device, .traits = list.items[i].traits};
        text_copy(kernel->name, sizeof(kernel->name), list.items[i].name);
        memcpy(kernel->code, code, sizeof(code));
    }
    return 0;
}

static int refuse_twins(struct built *built, struct arena *arena)
{
    for (size_t i = 1; i < built->count; i++) {
        if (by_name(&built->kernels[i - 1], &built->kernels[i]) == 0) {
            built->state = MEASURED_UNBUILDABLE;
            built->detail =
                arena_printf(arena, "two libraries hold a kernel named %s", built->kernels[i].name);
            return 1;
        }
    }
    return 0;
}

static int list_kernels(struct built *built, struct context *context, const struct build *build,
                        struct arena *arena, struct error *err)
{
    struct bench *bench = NULL;
    int status = 0;
    for (size_t i = 0; status == 0 && built->state == MEASURED_OK && i < build->library_count; i++)
        status = add_library(built, &bench, context, build->libraries[i], arena, err);
    bench_stop(bench);
    if (status)
        return -1;
    if (built->count)
        qsort(built->kernels, built->count, sizeof(*built->kernels), by_name);
    refuse_twins(built, arena);
    return 0;
}

static int record(const struct built *built, const char *key, struct context *context,
                  struct error *err)
{
    struct build_kernel *kernels = xcalloc(built->count, sizeof(*kernels));
    size_t count = built->state == MEASURED_OK ? built->count : 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(kernels[i].name, built->kernels[i].name, sizeof(kernels[i].name));
        memcpy(kernels[i].code, built->kernels[i].code, sizeof(kernels[i].code));
        kernels[i].traits = built->kernels[i].traits;
    }
    const struct build_record content = {
        .content = key,
        .recipe = built_recipe(context),
        .state = built->state,
        .detail = built->detail,
        .kernels = kernels,
        .count = count,
    };
    int status = store_record_build(context->store, &built->commit, &content, err);
    free(kernels);
    return status;
}

static bool has_kind(const struct context *context, const char *kind)
{
    for (size_t i = 0; i < context->station_count; i++) {
        if (strcmp(context->stations[i].policy->kind, kind) == 0)
            return true;
    }
    return false;
}

static const char *device_kinds(const struct context *context)
{
    bool host = has_kind(context, "host"), cuda = has_kind(context, "cuda");
    return host && cuda ? "host cuda" : cuda ? "cuda" : "host";
}

const char *built_recipe(struct context *context)
{
    return arena_printf(&context->arena, "policy: %s", device_kinds(context));
}

// The policy's recipe with PLUMB_DEVICES among what the build sees.
static struct recipe with_devices(const struct context *context, struct arena *arena)
{
    struct recipe recipe = context->policy.recipe;
    const char **names = arena_alloc(arena, (recipe.environment_count + 1) * sizeof(*names));
    for (size_t i = 0; i < recipe.environment_count; i++)
        names[i] = recipe.environment[i];
    names[recipe.environment_count++] = "PLUMB_DEVICES";
    recipe.environment = names;
    setenv("PLUMB_DEVICES", device_kinds(context), 1);
    return recipe;
}

// A dry run's build: one that is kept, or none, which it says.
static int find_kept(struct build *out, bool *found, struct context *context,
                     const struct commit *commit, const struct commit *base,
                     const struct recipe *recipe, struct arena *arena, struct error *err)
{
    if (build_find(out, found, &context->builder, context->repository, commit->id,
                   base ? base->id : NULL, recipe, arena, err))
        return -1;
    if (!*found) {
        context->unbuilt++;
        printf("%-10s %.10s\n", "build", commit->id);
    }
    return 0;
}

int built_kept(bool *found, struct context *context, const struct commit *commit,
               const struct commit *base, struct error *err)
{
    struct build build;
    struct arena arena = {0};
    const struct recipe recipe = with_devices(context, &arena);
    int status = find_kept(&build, found, context, commit, base, &recipe, &arena, err);
    arena_free(&arena);
    return status;
}

int built_make(struct built *out, struct context *context, const struct commit *commit,
               const struct commit *base, struct arena *arena, struct error *err)
{
    struct build build;
    struct built built = {.commit = *commit, .state = MEASURED_OK, .detail = ""};
    const struct recipe recipe = with_devices(context, arena);
    const bool dry = context->options->dry_run;
    bool found = true;
    if (dry && find_kept(&build, &found, context, commit, base, &recipe, arena, err))
        return -1;
    if (!found) {
        built.absent = true;
        *out = built;
        return 0;
    }
    progress_step(&context->progress, "building %.10s", commit->id);
    if (!dry && build_commit(&build, &context->builder, context->repository, commit->id,
                             base ? base->id : NULL, &recipe, arena, err))
        return -1;
    built.cached = build.cached;
    built.directory = build.directory;
    built.log = build.log;
    if (build.state != BUILD_OK) {
        built.state = MEASURED_UNBUILDABLE;
        built.detail = arena_printf(arena, "%s\n%s", build.reason, build.log);
    } else if (list_kernels(&built, context, &build, arena, err)) {
        return -1;
    }
    if (!dry && build.state != BUILD_TIMEOUT && record(&built, build.key, context, err))
        return -1;
    *out = built;
    return 0;
}

const struct built_kernel *built_find(const struct built *built, const char *name,
                                      const char *device)
{
    for (size_t i = 0; i < built->count; i++) {
        if (!strcmp(built->kernels[i].name, name) && !strcmp(built->kernels[i].device, device))
            return &built->kernels[i];
    }
    return NULL;
}
