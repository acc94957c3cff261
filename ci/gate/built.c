// SPDX-License-Identifier: Apache-2.0
//
// Builds a commit's kernels, or finds their build, lists them, and records them in the store.
// Nothing is measured here.
#include "ci/gate/built.h"

#include "ci/settings/context.h"
#include "runner/bench/capture.h"
#include "runner/build/build.h"
#include "runner/child/files.h"
#include "runner/code/code_id.h"
#include "runner/code/plan_file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- captures ----

// Captures of the policy are made while a commit is built. After build.command, in the same sandbox
// but with the GPU, each program runs once with the library that watches it (kernels/capture). So
// captures are cached and trusted like builds, and a policy with captures needs no build.command.

static const char mark[] = "captures"; // so that a build with only captures leaves a file, too
static const uint64_t usual_limit = (uint64_t)2 << 30;

static const struct context_device *gpu_of(const struct context *context)
{
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (!device->away && strcmp(device->policy->kind, "cuda") == 0)
            return device;
    }
    return NULL;
}

// Whether the policy has captures, and this machine a GPU for them.
static bool capturing_possible(const struct context *context)
{
    return context->policy.capture_count && gpu_of(context);
}

// Whether a file of a build is the mark that captures leave, and no library.
static bool capturing_is_mark(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, mark) == 0;
}

// Writes 'text' for a shell; quotes inside are escaped.
static void put_quoted(struct buffer *out, const char *text)
{
    buffer_puts(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            buffer_puts(out, "'\\''");
        else
            buffer_add(out, text, 1);
    }
    buffer_puts(out, "'");
}

static void put_setting(struct buffer *out, const char *name, const char *value)
{
    buffer_printf(out, " %s=", name);
    put_quoted(out, value);
}

// Writes the settings of one section; it is the nth section, from 1, for which its program runs.
static void put_wish(struct buffer *out, const struct policy_capture *capture, uint32_t nth)
{
    const char *range = capture->range;
    char number[16] = "";
    if (nth > 1)
        snprintf(number, sizeof(number), "_%u", nth);
    buffer_printf(out, " PLUMB_CAPTURE%s=\"$PLUMB_OUT/capture-%s\"", number, capture->name);
    buffer_printf(out, " PLUMB_CAPTURE_%s%s=", range ? "RANGE" : "KERNEL", number);
    put_quoted(out, range ? range : capture->kernel);
    buffer_printf(out, " PLUMB_CAPTURE_LAUNCH%s=%u PLUMB_CAPTURE_LIMIT%s=%llu", number,
                  capture->launch, number,
                  (unsigned long long)(capture->limit_bytes ? capture->limit_bytes : usual_limit));
}

// Runs the program of the policy's section `first` once, for all sections that name it. Everything
// else that defines a series is written as a comment, because the text is part of the build's key.
static void put_run(struct buffer *out, const struct policy *policy, size_t first, bool *done,
                    const char *library, const struct context_device *device)
{
    enum { WISHES_MOST = 16 }; // kernels/capture/capture.h
    const struct policy_capture *capture = &policy->captures[first];
    struct buffer wishes = {0};
    uint32_t count = 0;
    for (size_t i = first; i < policy->capture_count; i++) {
        const struct policy_capture *other = &policy->captures[i];
        if (done[i] || count == WISHES_MOST || strcmp(other->command, capture->command) != 0)
            continue;
        done[i] = true;
        buffer_printf(out, "mkdir \"$PLUMB_OUT/capture-%s\"\n", other->name);
        put_wish(&wishes, other, ++count);
    }
    buffer_puts(out, "env");
    buffer_add(out, wishes.bytes, wishes.length);
    buffer_free(&wishes);
    put_setting(out, "CUDA_INJECTION64_PATH", library);
    put_setting(out, "NVTX_INJECTION64_PATH", library);
    if (device->index)
        buffer_printf(out, " CUDA_VISIBLE_DEVICES=%d", device->index);
    buffer_puts(out, " PYTHONDONTWRITEBYTECODE=1 sh -c ");
    put_quoted(out, capture->command);
    buffer_printf(out, " # on %s\n", device->unit.name ? device->unit.name : "");
}

static void add_text(const char *const **texts, size_t *count, const char *text,
                     struct arena *arena)
{
    const char **grown = arena_alloc(arena, (*count + 1) * sizeof(*grown));
    if (*count)
        memcpy(grown, *texts, *count * sizeof(*grown));
    grown[(*count)++] = text;
    *texts = grown;
}

// Adds the captures to a build's command and outputs.
static void capturing_recipe(struct recipe *recipe, const struct context *context,
                             struct arena *arena)
{
    const struct policy *policy = &context->policy;
    struct buffer text = {0};
    char library[PATH_MAX];
    if (!policy->capture_count)
        return;
    recipe->in_place = true; // also without a GPU, when only libraries are built
    buffer_puts(&text, "set -e\n");
    if (recipe->command)
        buffer_printf(&text, "(%s\n)\n", recipe->command);
    if (capturing_possible(context)) {
        files_own(library, "plumb_capture.so");
        bool *done = arena_alloc(arena, policy->capture_count * sizeof(*done));
        for (size_t i = 0; i < policy->capture_count; i++) {
            if (!done[i])
                put_run(&text, policy, i, done, library, gpu_of(context));
        }
        recipe->gpu = true;
        add_text(&recipe->folders, &recipe->folder_count, arena_strdup(arena, library), arena);
    }
    buffer_printf(&text, "echo %zu >\"$PLUMB_OUT/%s\"\n", policy->capture_count, mark);
    recipe->command = arena_strndup(arena, text.bytes, text.length);
    recipe->outputs = recipe->outputs ? arena_printf(arena, "%s %s", recipe->outputs, mark) : mark;
    buffer_free(&text);
}

// Makes the series of one capture from the output folder of a build. 0: done; 1: the capture was
// not taken, `err` says why; -1: the tool could not do its work.
static int capturing_make(struct capture_made **out, size_t *count, const struct context *context,
                          const struct policy_capture *capture, const char *folder,
                          struct arena *arena, struct error *err)
{
    const char *from = arena_printf(arena, "%s/capture-%s", folder, capture->name);
    const struct problem *problem = policy_set_find(&context->policy, capture->name)->problems;
    const struct capture_series series = {
        .name = capture->name,
        .wish = {capture->range ? NULL : capture->kernel, capture->range, capture->launch},
        .problem = capture->problem ? problem : NULL,
        .tolerance = capture->tolerance,
        .shared = arena_printf(arena, "%s/contents", context->state)};
    return capture_make(out, count, from, &series, arena, err);
}

// ---- listing ----
//
// Asks a bench child which kernels each library has. Plans are read here, because they contain no
// code that would run.

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

// Adds the kernels of a library of the build; `shown` is the path under which the library is
// loaded.
static int add_library(struct built *built, struct bench **bench, struct context *context,
                       const char *library, const char *shown, const char code[OBJECT_ID_TEXT],
                       struct arena *arena, struct error *err)
{
    struct bench_outcome outcome;
    struct bench_kernel_list list = {0};
    if (!*bench && context_lister(bench, context, built->directories, 1, err))
        return -1;
    if (bench_list(&outcome, &list, *bench, shown, arena, err))
        return -1;
    if (outcome.gone) {
        bench_stop(*bench);
        *bench = NULL;
    }
    if (outcome.state != MEASURED_OK) {
        if (built->state == MEASURED_OK)
            built->detail = arena_printf(arena, "%s: %s", file_name(library), outcome.detail);
        built->state = MEASURED_UNBUILDABLE;
        return 0;
    }
    struct built_kernel *kernel = add_kernels(built, list.count, arena);
    for (size_t i = 0; i < list.count; i++, kernel++) {
        *kernel = (struct built_kernel){.library = shown,
                                        .file = file_name(library),
                                        .device = list.items[i].device,
                                        .traits = list.items[i].traits};
        text_copy(kernel->name, sizeof(kernel->name), list.items[i].name);
        memcpy(kernel->code, code, sizeof(kernel->code));
    }
    return 0;
}

// Fills in traits that only the machine code tells: the registers of the first launch.
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

// Reads a plan. That is safe here, because a plan contains no code that would run.
static int add_plan(struct built *built, const char *path, struct arena *arena, struct error *err)
{
    struct plan_file file;
    struct error why;
    char code[OBJECT_ID_TEXT];
    if (plan_file_open(&file, path, &why)) {
        if (built->state == MEASURED_OK)
            built->detail = arena_strdup(arena, why.text);
        built->state = MEASURED_UNBUILDABLE;
        return 0;
    }
    const int status = plan_file_code_id(code, &file, err);
    if (status == 0) {
        struct built_kernel *kernel = add_kernels(built, 1, arena);
        *kernel = (struct built_kernel){.library = path,
                                        .file = file_name(path),
                                        .device = "cuda",
                                        .plan = true,
                                        .traits = file.plan.traits};
        text_copy(kernel->name, sizeof(kernel->name), file.plan.name);
        memcpy(kernel->code, code, sizeof(kernel->code));
        fill_traits(&kernel->traits, &file.plan, path, arena);
    }
    plan_file_close(&file);
    return status;
}

// Adds the problem of a capture to its set, if the policy named none.
static void learn_problem(struct policy *policy, const struct policy_capture *capture,
                          const struct problem *problem)
{
    struct policy_set *set = NULL;
    for (size_t i = 0; i < policy->set_count; i++)
        set = strcmp(policy->sets[i].name, capture->name) == 0 ? &policy->sets[i] : set;
    for (size_t i = 0; i < set->count; i++) {
        if (problem_equal(&set->problems[i], problem))
            return;
    }
    struct problem *grown = arena_alloc(&policy->arena, (set->count + 1) * sizeof(*grown));
    if (set->count)
        memcpy(grown, set->problems, set->count * sizeof(*grown));
    grown[set->count++] = *problem;
    set->problems = grown;
}

static void add_series(struct built *built, struct policy *policy,
                       const struct policy_capture *capture, const struct capture_made *made,
                       struct arena *arena)
{
    struct built_kernel *kernel = add_kernels(built, 1, arena);
    *kernel = (struct built_kernel){.library = made->file,
                                    .file = file_name(made->file),
                                    .device = "cuda",
                                    .captured = &made->problem,
                                    .traits = made->traits};
    text_copy(kernel->name, sizeof(kernel->name), made->name);
    memcpy(kernel->code, made->code, sizeof(kernel->code));
    learn_problem(policy, capture, &made->problem);
}

// Read as FP32, two elements of a narrower type are one number, of which the second is hardly seen.
static void tell_untold(struct context *context, const char *capture)
{
    if (!context->untold)
        progress_note(&context->progress,
                      "capture %s: nothing says of what type its results are, so its tolerance is "
                      "of FP32, and could hide elements of another: `problem = rows=1:bf16` in its "
                      "section names one",
                      capture);
    context->untold = true;
}

// Adds captures. If one was not taken, the commit is unbuildable, as it is for a library that
// cannot be loaded.
static int add_captures(struct built *built, struct context *context, struct arena *arena,
                        struct error *err)
{
    struct policy *policy = &context->policy;
    if (policy->capture_count && !capturing_possible(context))
        progress_note(&context->progress, "%zu %s not taken: no GPU of the policy is here",
                      policy->capture_count,
                      plural(policy->capture_count, "capture is", "captures are"));
    for (size_t i = 0; capturing_possible(context) && i < policy->capture_count; i++) {
        const struct policy_capture *capture = &policy->captures[i];
        struct capture_made *made;
        struct error why;
        size_t count;
        const int status =
            capturing_make(&made, &count, context, capture, built->directories[1], arena, &why);
        if (status < 0)
            return error_set(err, "%.900s", why.text);
        if (status && built->state == MEASURED_OK)
            built->detail = arena_printf(arena, "capture %s: %s", capture->name, why.text);
        if (status)
            built->state = MEASURED_UNBUILDABLE;
        for (size_t n = 0; status == 0 && n < count; n++) {
            add_series(built, policy, capture, &made[n], arena);
            if (made[n].untold)
                tell_untold(context, capture->name);
        }
    }
    return 0;
}

static void refuse_twins(struct built *built, struct arena *arena)
{
    for (size_t i = 1; i < built->count; i++) {
        const struct built_kernel *a = &built->kernels[i - 1], *b = &built->kernels[i];
        if (by_name(a, b))
            continue;
        built->state = MEASURED_UNBUILDABLE;
        built->count = 0; // it is not clear which of the two is meant
        built->detail = arena_printf(arena,
                                     "%s and %s both hold a kernel named %s; rename one, or leave "
                                     "a library out: [library \"%s\"] skip = true",
                                     a->file, b->file, a->name, a->file);
        return;
    }
}

// Lists the build's libraries of kernels, without those that the policy skips. Every other shared
// object of the build is a file that a library may load under a name that it composes at run time,
// so each such file is part of the code ids of all libraries.
static size_t libraries_listed(const char **out, const struct context *context,
                               const struct build *build)
{
    size_t count = 0;
    for (size_t i = 0; i < build->library_count; i++) {
        if (!capturing_is_mark(build->libraries[i]) &&
            !policy_skips_library(&context->policy, build->libraries[i]))
            out[count++] = build->libraries[i];
    }
    return count;
}

// Fills in built->kernels, sorted by name, in `arena`; libraries that the policy skips are left
// out. If something cannot be listed (it is no library of ours, or two kernels have one name),
// `built` becomes unbuildable with that as its detail, and the kernels of other libraries stay. -1
// only when the tool could not do its work.
static int listing_fill(struct built *built, struct context *context, const struct build *build,
                        struct arena *arena, struct error *err)
{
    struct bench *bench = NULL;
    struct error why;
    const char **libraries = arena_alloc(arena, build->library_count * sizeof(*libraries));
    const size_t count = libraries_listed(libraries, context, build);
    char(*codes)[OBJECT_ID_TEXT] = arena_alloc(arena, build->library_count * sizeof(*codes));
    const struct code_kept kept = {context->kept, arena_alloc(arena, count * sizeof(*kept.paths)),
                                   arena};
    int status = code_ids(codes, libraries, count, build->out, &kept, &why);
    if (status < 0)
        return error_set(err, "%s", why.text);
    if (status > 0) {
        built->state = MEASURED_UNBUILDABLE;
        built->detail = arena_strdup(arena, why.text);
        return 0;
    }
    for (size_t i = 0; status == 0 && i < count; i++) {
        if (plan_file_is(libraries[i]))
            status = add_plan(built, libraries[i], arena, err);
        else
            status = add_library(built, &bench, context, libraries[i], kept.paths[i], codes[i],
                                 arena, err);
    }
    bench_stop(bench);
    if (status || add_captures(built, context, arena, err))
        return -1;
    if (built->count)
        qsort(built->kernels, built->count, sizeof(*built->kernels), by_name);
    refuse_twins(built, arena);
    return 0;
}

// The libraries that are left out, as a text: with another policy the same build has other kernels.
static const char *without(const struct context *context, struct arena *arena)
{
    const char *text = "";
    for (size_t i = 0; i < context->policy.library_count; i++) {
        const struct policy_library *library = &context->policy.libraries[i];
        if (library->skip)
            text = arena_printf(arena, "%s without %s", text, library->pattern);
    }
    return text;
}

static int record(const struct built *built, const char *key, struct context *context,
                  struct arena *arena, struct error *err)
{
    struct build_kernel *kernels = xcalloc(built->count, sizeof(*kernels));
    size_t count = built->state == MEASURED_OK ? built->count : 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(kernels[i].name, built->kernels[i].name, sizeof(kernels[i].name));
        memcpy(kernels[i].code, built->kernels[i].code, sizeof(kernels[i].code));
        kernels[i].traits = built->kernels[i].traits;
    }
    const struct build_record content = {
        .content = arena_printf(arena, "%s%s", key, without(context, arena)),
        .recipe = built_recipe(context, built->toolchain),
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
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        const bool built_for = !device->away || device->is_static;
        if (built_for && strcmp(device->policy->kind, kind) == 0)
            return true;
    }
    return false;
}

static const char *device_kinds(const struct context *context)
{
    bool host = has_kind(context, "host"), cuda = has_kind(context, "cuda");
    return host && cuda ? "host cuda" : cuda ? "cuda" : "host";
}

const char *built_recipe(struct context *context, const struct toolchain *toolchain)
{
    const struct overlay *overlay = context->policy.recipe.overlay;
    const char *name = toolchain ? toolchain->name : NULL;
    return arena_printf(&context->arena, "policy: %s%s%s%s%s%s", device_kinds(context),
                        without(context, &context->arena), overlay ? " overlay " : "",
                        overlay ? overlay->id : "", name ? " toolchain " : "", name ? name : "");
}

void built_tell(struct run *run, const struct built *base, const struct built *head)
{
    const struct built *sides[] = {base, head};
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        const struct toolchain *t = sides[role] ? sides[role]->toolchain : NULL;
        run->toolchain[role] = t && t->name ? arena_strdup(&run->arena, t->name) : NULL;
    }
}

// The policy's recipe, with PLUMB_DEVICES in the environment of the build.
static struct recipe with_devices(const struct context *context, struct arena *arena)
{
    struct recipe recipe = context->policy.recipe;
    const char **names = arena_alloc(arena, (recipe.environment_count + 1) * sizeof(*names));
    for (size_t i = 0; i < recipe.environment_count; i++)
        names[i] = recipe.environment[i];
    names[recipe.environment_count++] = "PLUMB_DEVICES";
    recipe.environment = names;
    setenv("PLUMB_DEVICES", device_kinds(context), 1);
    capturing_recipe(&recipe, context, arena);
    return recipe;
}

static struct builder builder_of(const struct context *context, const struct to_build *what)
{
    struct builder builder = context->builder;
    if (what->toolchain)
        builder.toolchain = what->toolchain;
    return builder;
}

// Finds a build in the cache; if there is none, a dry run prints that.
static int find_kept(struct build *out, bool *found, struct context *context,
                     const struct to_build *what, const struct recipe *recipe, struct arena *arena,
                     struct error *err)
{
    const struct builder builder = builder_of(context, what);
    if (build_find(out, found, &builder, context->repository, what->commit->id,
                   what->base ? what->base->id : NULL, recipe, arena, err))
        return -1;
    if (!*found && context->options->dry_run) {
        context->unbuilt++;
        printf("%-10s %.10s\n", "build", what->commit->id);
    }
    return 0;
}

int built_kept(bool *found, struct context *context, const struct to_build *what, struct error *err)
{
    struct build build;
    struct arena arena = {0};
    const struct recipe recipe = with_devices(context, &arena);
    int status = find_kept(&build, found, context, what, &recipe, &arena, err);
    arena_free(&arena);
    return status;
}

// Fills in why a commit does not build. The whole log is read if it was kept, because the first
// errors may stand far above its end. A failure to list a library has no log.
static void fill_failure(struct built *built, const struct build *build, struct arena *arena)
{
    enum { LOG_MOST = 8 << 20 };
    struct build_error found[BUILD_ERRORS];
    struct build_failure *f = &built->failure;
    *f = (struct build_failure){.reason = built->detail, .log = ""};
    if (build->state == BUILD_OK)
        return;
    f->reason = build->reason;
    char *whole = NULL;
    if (build->directory[0]) {
        const char *path = arena_printf(arena, "%s/log", build->directory);
        whole = log_tail(path, LOG_MOST);
        f->log = whole[0] ? path : ""; // a commit that cannot be exported has no log
    }
    f->count = build_errors_find(found, whole ? whole : build->log, arena);
    f->errors = arena_copy(arena, found, f->count * sizeof(*found));
    free(whole);
    built->detail = built_first_error(f, arena);
}

const char *built_first_error(const struct build_failure *failure, struct arena *arena)
{
    const struct build_error *first = failure->count ? &failure->errors[0] : NULL;
    // After "; " the reason says what differed between the build and a checkout
    // (runner/build/build.c).
    const char *seen = strstr(failure->reason, "; ");
    if (first && first->file[0] && first->line)
        return arena_printf(arena, "%s:%u: %s%s", first->file, first->line, first->text,
                            seen ? seen : "");
    return first ? arena_printf(arena, "%s%s", first->text, seen ? seen : "") : failure->reason;
}

// Whether the trusted base was built here within the limits that the build exceeded; then the
// commit is to blame.
static bool base_builds(struct context *context, const struct to_build *what,
                        const struct recipe *recipe, struct arena *arena)
{
    const struct builder builder = builder_of(context, what);
    struct build base;
    struct error ignored;
    bool found = false;
    return what->base &&
           build_find(&base, &found, &builder, context->repository, what->base->id, NULL, recipe,
                      arena, &ignored) == 0 &&
           found && base.state == BUILD_OK;
}

// Makes the build. A build that ran out of time is tried once more, because the machine may have
// been busy. If it ran out of memory or the like, the commit is to blame only if its base is known
// to build within the same limits, or if the commit is one of many; otherwise the result is -1. If
// others had the processors, nothing is known of the commit: its base was built at another time.
static int build_it(struct build *build, struct context *context, const struct to_build *what,
                    const struct recipe *recipe, struct arena *arena, struct error *err)
{
    const struct builder builder = builder_of(context, what);
    const char *base = what->base ? what->base->id : NULL, *id = what->commit->id;
    int status = 0;
    build->state = BUILD_TIMEOUT;
    build->crowded = false;
    int tries = 0;
    for (; status == 0 && tries < 2 && build->state == BUILD_TIMEOUT && !build->crowded; tries++) {
        if (tries)
            progress_note(&context->progress, "%.10s: %s; it is built once more", id,
                          build->reason);
        status = build_commit(build, &builder, context->repository, id, base, recipe, arena, err);
    }
    if (status || (build->state != BUILD_TIMEOUT && build->state != BUILD_STARVED) ||
        (!build->crowded && (what->may_lack || base_builds(context, what, recipe, arena))))
        return status;
    double load = 0;
    getloadavg(&load, 1);
    return error_set(err,
                     "commit %.12s: its build was not done: %s%s, at a load of %.1f on %ld "
                     "processors; build.timeout and build.memory say what it may take",
                     id, build->reason, tries > 1 ? " (twice)" : "", load,
                     sysconf(_SC_NPROCESSORS_ONLN));
}

int built_make(struct built *out, struct context *context, const struct to_build *what,
               struct arena *arena, struct error *err)
{
    struct build build;
    struct built built = {
        .commit = *what->commit, .toolchain = what->toolchain, .state = MEASURED_OK, .detail = ""};
    const struct recipe recipe = with_devices(context, arena);
    const struct builder builder = builder_of(context, what);
    const bool dry = context->options->dry_run;
    bool found;
    if (context_may_build(context, what->commit, err) ||
        find_kept(&build, &found, context, what, &recipe, arena, err))
        return -1;
    if (!found && dry) {
        built.absent = true;
        *out = built;
        return 0;
    }
    if (!found)
        context_end_leaving(context); // a build takes long, and may need all memory
    if (!found)
        progress_step(&context->progress, "building %.10s%s%s", what->commit->id,
                      builder.toolchain->name ? " by " : "",
                      builder.toolchain->name ? builder.toolchain->name : "");
    if (!found && build_it(&build, context, what, &recipe, arena, err))
        return -1;
    built.cached = build.cached;
    built.directories[0] = context->kept;
    built.directories[1] = context->policy.capture_count ? build.out : NULL;
    built.log = build.log;
    if (build.state == BUILD_LACKING && !what->may_lack)
        return error_set(err, "commit %.12s: %s", what->commit->id, build.reason);
    if (build.library_count && listing_fill(&built, context, &build, arena, err))
        return -1;
    if (build.state != BUILD_OK)
        built.state = MEASURED_UNBUILDABLE;
    if (built.state != MEASURED_OK)
        fill_failure(&built, &build, arena);
    // A library that cannot be listed does not make the build a failure for good: another machine,
    // or a policy that leaves the library out, can list the rest. The same holds for a program that
    // is missing here.
    const bool fact = built.state == MEASURED_OK || (build.state == BUILD_FAILED && !build.unkept);
    if (!dry && fact && record(&built, build.key, context, arena, err))
        return -1;
    *out = built;
    return 0;
}

int built_timed(double *seconds, char key[OBJECT_ID_TEXT], struct context *context,
                const struct to_build *what, struct error *err)
{
    struct arena arena = {0};
    struct build build = {0};
    const struct recipe recipe = with_devices(context, &arena);
    struct builder builder = builder_of(context, what);
    struct error unremoved;
    int status = build_key(key, &builder, context->repository, what->commit->id, &recipe, err);
    if (seconds && status == 0) {
        builder.cache = arena_printf(&arena, "%s/timed-%ld", context->state, (long)getpid());
        progress_note(&context->progress, "building %.10s from nothing, for its time",
                      what->commit->id);
        status = build_commit(&build, &builder, context->repository, what->commit->id, NULL,
                              &recipe, &arena, err);
        *seconds = status == 0 && build.state == BUILD_OK ? build.cpu_s : NAN;
        if (files_remove(builder.cache, &unremoved))
            progress_note(&context->progress, "%s", unremoved.text);
    }
    arena_free(&arena);
    return status;
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
