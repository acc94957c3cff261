// SPDX-License-Identifier: Apache-2.0
//
// Asks a bench child what is in each library, and reads plans here, for they have no code that
// would run.
#include "ci/gate/listing.h"
#include "runner/code/code_id.h"
#include "runner/code/plan_file.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right)
{
    const struct built_kernel *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->device, b->device);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static struct built_kernel *add_kernels(struct built *built, size_t count, struct arena *arena)
{
    struct built_kernel *grown = arena_alloc(arena, (built->count + count) * sizeof(*grown));
    if (built->count)
        memcpy(grown, built->kernels, built->count * sizeof(*grown));
    built->kernels = grown;
    built->count += count;
    return grown + built->count - count;
}

static int add_library(struct built *built, struct bench **bench, struct context *context,
                       const char *library, const char code[OBJECT_ID_TEXT], struct arena *arena,
                       struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list list = {0};
    if (!*bench && context_lister(bench, context, &built->directory, 1, err))
        return -1;
    if (bench_list(&outcome, &list, *bench, library, arena, err))
        return -1;
    if (outcome.gone) {
        bench_stop(*bench);
        *bench = NULL;
    }
    if (outcome.state != MEASURED_OK) {
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_printf(arena, "%s: %s", file_name(library), outcome.detail);
        return 0;
    }
    struct built_kernel *kernel = add_kernels(built, list.count, arena);
    for (size_t i = 0; i < list.count; i++, kernel++) {
        *kernel = (struct built_kernel){
            .library = library, .device = list.items[i].device, .traits = list.items[i].traits};
        text_copy(kernel->name, sizeof(kernel->name), list.items[i].name);
        memcpy(kernel->code, code, sizeof(kernel->code));
    }
    return 0;
}

// What only the machine code says: registers of the first launch.
static void fill_traits(struct traits *traits, const struct launch_plan *plan, const char *path,
                        struct arena *arena)
{
    struct code_function_list functions;
    struct error none;
    const char *entry = NULL;
    for (size_t i = 0; !entry && i < plan->launch_count; i++)
        entry = plan->launches[i].entry;
    if (traits->registers || code_resources(&functions, path, arena, &none))
        return;
    for (size_t i = 0; i < functions.count; i++) {
        if (strcmp(functions.items[i].name, entry) == 0)
            traits->registers = functions.items[i].registers;
    }
}

// A plan is read here: it has no code that would run.
static int add_plan(struct built *built, const char *path, struct arena *arena, struct error *err)
{
    struct plan_file file;
    struct error why;
    char code[OBJECT_ID_TEXT];
    if (plan_file_open(&file, path, &why)) {
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_strdup(arena, why.text);
        return 0;
    }
    const int status = plan_file_code_id(code, &file, err);
    if (status == 0) {
        struct built_kernel *kernel = add_kernels(built, 1, arena);
        *kernel = (struct built_kernel){
            .library = path, .device = "cuda", .plan = true, .traits = file.plan.traits};
        text_copy(kernel->name, sizeof(kernel->name), file.plan.name);
        memcpy(kernel->code, code, sizeof(kernel->code));
        fill_traits(&kernel->traits, &file.plan, path, arena);
    }
    plan_file_close(&file);
    return status;
}

static void refuse_twins(struct built *built, struct arena *arena)
{
    for (size_t i = 1; i < built->count; i++) {
        const struct built_kernel *a = &built->kernels[i - 1], *b = &built->kernels[i];
        if (by_name(a, b))
            continue;
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_printf(arena,
                                     "%s and %s both hold a kernel named %s; rename one, or leave "
                                     "a library out: [library \"%s\"] skip = true",
                                     file_name(a->library), file_name(b->library), a->name,
                                     file_name(a->library));
        return;
    }
}

// Those that the policy does not leave out. The others are files that any library may load, by a
// name that it puts together: they count for all.
static size_t libraries_listed(const char **out, const struct context *context,
                               const struct build *build)
{
    size_t count = 0;
    for (size_t i = 0; i < build->library_count; i++) {
        if (!policy_skips_library(&context->policy, build->libraries[i]))
            out[count++] = build->libraries[i];
    }
    return count;
}

int listing_fill(struct built *built, struct context *context, const struct build *build,
                 struct arena *arena, struct error *err)
{
    struct bench *bench = NULL;
    struct error why;
    const char **libraries = arena_alloc(arena, build->library_count * sizeof(*libraries));
    const size_t count = libraries_listed(libraries, context, build);
    char(*codes)[OBJECT_ID_TEXT] = arena_alloc(arena, build->library_count * sizeof(*codes));
    int status = code_ids(codes, libraries, count, build->out, &why);
    if (status < 0)
        return error_set(err, "%s", why.text);
    if (status > 0) {
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_strdup(arena, why.text);
        return 0;
    }
    for (size_t i = 0; status == 0 && built->state == MEASURED_OK && i < count; i++) {
        if (plan_file_is(libraries[i]))
            status = add_plan(built, libraries[i], arena, err);
        else
            status = add_library(built, &bench, context, libraries[i], codes[i], arena, err);
    }
    bench_stop(bench);
    if (status)
        return -1;
    if (built->count)
        qsort(built->kernels, built->count, sizeof(*built->kernels), by_name);
    refuse_twins(built, arena);
    return 0;
}
