// SPDX-License-Identifier: Apache-2.0
//
// Opens what a measuring command needs, in order, and closes it in reverse. It reads no kernel and
// starts a bench only to ask for the devices.
#include "ci/settings/context.h"
#include "baselines/kept/device_state.h"
#include "ci/settings/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_directory(const char *path, struct error *err)
{
    if (mkdir(path, 0777) && errno != EEXIST)
        return error_set(err, "%s: %s; give --store and --cache elsewhere", path, strerror(errno));
    return 0;
}

int context_ignore(const char *directory, struct error *err)
{
    char *path = xprintf("%s/.gitignore", directory);
    int status = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) {
        if (write(fd, "*\n", 2) != 2)
            status = error_set(err, "%s: %s", path, strerror(errno));
        close(fd);
    } else if (errno != EEXIST) {
        status = error_set(err, "%s: %s", path, strerror(errno));
    }
    free(path);
    return status;
}

int context_open(struct context *context, const struct options *options, struct error *err)
{
    memset(context, 0, sizeof(*context));
    context->options = options;
    progress_init(&context->progress, options->quiet);
    const char *where = options->repository ? options->repository : ".";
    if (repository_open(&context->repository, where, err))
        return -1;
    context->state =
        arena_printf(&context->arena, "%s/%s", repository_directory(context->repository),
                     context_is_bare(context) ? "plumb" : ".plumb");
    return 0;
}

int context_store(struct context *context, enum store_mode mode, struct error *err)
{
    const char *path = context->options->store;
    if (!path) {
        if (mode == STORE_WRITE &&
            (make_directory(context->state, err) || context_ignore(context->state, err)))
            return -1;
        path = arena_printf(&context->arena, "%s/store.db", context->state);
    }
    return store_open(&context->store, path, mode, err);
}

// A commit must not name a folder of this machine for its builds to read: only who runs the tool
// may, by --overlay or in a policy given by --policy, whose folder a relative path begins at.
static int open_overlay(struct context *context, struct error *err)
{
    struct policy *policy = &context->policy;
    const struct options *options = context->options;
    const char *directory = options->overlay, *slash = NULL;
    if (!directory && !policy->overlay)
        return 0;
    if (!directory && !options->policy)
        return error_set(err,
                         "%s: build.overlay = %.80s: a committed policy cannot name a folder "
                         "outside of the commit; give --overlay, or the policy by --policy",
                         policy->label, policy->overlay);
    if (!directory && policy->overlay[0] != '/')
        slash = strrchr(options->policy, '/');
    if (!directory)
        directory = slash ? arena_printf(&context->arena, "%.*s/%s", (int)(slash - options->policy),
                                         options->policy, policy->overlay)
                          : policy->overlay;
    if (overlay_open(&context->overlay, directory, &context->arena, err))
        return -1;
    policy->recipe.overlay = &context->overlay;
    const char *name = strrchr(context->overlay.directory, '/') + 1;
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_OVERLAY_NOTE "%s, content %.12s\n",
                                policy->text, name, context->overlay.id);
    return 0;
}

// Aloud, and in the run, so that every report says it.
static void tell_unconfined(struct context *context)
{
    struct policy *policy = &context->policy;
    progress_note(&context->progress, "builds and kernels run unconfined: %s",
                  context->sandbox.reason);
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_UNCONFINED_NOTE "%s\n", policy->text,
                                context->sandbox.reason);
}

static int open_sandbox(struct context *context, struct error *err)
{
    enum sandbox_mode mode = context->policy.sandbox;
    const char *asked = context->options->sandbox;
    if (asked && sandbox_mode_parse(&mode, asked))
        return error_set(err, "--sandbox=%.40s: is auto, require or off", asked);
    if (sandbox_probe(&context->sandbox, mode, err))
        return -1;
    if (mode == SANDBOX_UNSAID && context->stranger && !context->sandbox.active)
        return error_set(err,
                         "no sandbox, and what is judged may be a stranger's pull request: %s; "
                         "install bubblewrap and allow user namespaces, or, where the code is your "
                         "own, say so: --sandbox=auto, or sandbox = auto in the base's policy, or "
                         "`git config plumb.trustCheckout true`",
                         context->sandbox.reason);
    return 0;
}

int context_builder(struct context *context, struct error *err)
{
    if (open_overlay(context, err) || open_sandbox(context, err) ||
        toolchain_detect(&context->toolchain, &context->sandbox, err))
        return -1;
    if (!context->sandbox.active)
        tell_unconfined(context);
    else if (!context->sandbox.scope && !context->sandbox.grouped)
        progress_note(&context->progress,
                      "no control group holds builds and kernels, what they use is watched: %s",
                      context->sandbox.no_group);
    const char *cache = context->options->cache;
    if (!cache) {
        if (make_directory(context->state, err) || context_ignore(context->state, err))
            return -1;
        cache = arena_printf(&context->arena, "%s/cache", context->state);
    } else if (make_directory(cache, err)) {
        return -1;
    }
    char *absolute = realpath(cache, NULL);
    if (!absolute && make_directory(cache, err))
        return -1;
    if (!absolute)
        absolute = realpath(cache, NULL);
    if (!absolute)
        return error_set(err, "%s: %s", cache, strerror(errno));
    cache = arena_strdup(&context->arena, absolute);
    free(absolute);
    context->bench_log = arena_printf(&context->arena, "%s/bench.log", cache);
    if (!context->options->dry_run)
        build_tidy(cache);
    context->builder = (struct builder){cache, &context->sandbox, &context->toolchain};
    return 0;
}

static void note_bench(void *data, const char *text)
{
    struct context *context = data;
    progress_note(&context->progress, "bench: %s", text);
}

static int start_bench(struct bench **out, struct context *context,
                       const struct policy_device *wanted, const char *const *directories,
                       size_t directory_count, uint16_t process, struct error *err)
{
    // What a toolchain built may load libraries of its prefix.
    const char **shown =
        arena_alloc(&context->arena, (directory_count + context->toolchain_count) * sizeof(*shown));
    if (directory_count)
        memcpy(shown, directories, directory_count * sizeof(*shown));
    for (size_t i = 0; i < context->toolchain_count; i++) {
        if (context->toolchains[i].prefix)
            shown[directory_count++] = context->toolchains[i].prefix;
    }
    const struct bench_plan plan = {
        .program = context->options->bench,
        .kind = wanted->kind,
        .index = wanted->index,
        .sandbox = &context->sandbox,
        .read_only = shown,
        .read_only_count = directory_count,
        .log_path = context->bench_log,
        .limits = {.open_s = context->policy.timeout_s, .measure_s = context->policy.timeout_s},
        .process = process,
        .note = note_bench,
        .note_context = context,
    };
    return bench_start(out, &plan, err);
}

int context_lister(struct bench **out, struct context *context, const char *const *directories,
                   size_t directory_count, struct error *err)
{
    static const struct policy_device none = {.name = "none", .kind = "none"};
    return start_bench(out, context, &none, directories, directory_count, 0, err);
}

int context_bench(struct bench **out, struct context *context, const struct context_device *device,
                  const char *const *directories, size_t directory_count, uint16_t process,
                  struct error *err)
{
    return start_bench(out, context, device->policy, directories, directory_count, process, err);
}

// The toolchain's line says "nvcc: -" where there is none.
static bool has_nvcc(const struct context *context)
{
    const char *line = strstr(context->toolchain.text, "nvcc: ");
    return line && line[6] != '-' && line[6] != '\n';
}

static bool wants_static(const struct context *context, const struct policy_device *wanted)
{
    const enum static_use use = context->options->static_use;
    if (strcmp(wanted->kind, "cuda") != 0 || use == STATIC_NEVER)
        return false;
    if (use == STATIC_LIST)
        return wanted->required || context->options->device;
    return use == STATIC_ONLY ||
           (!wanted->required && !context->policy.gate.static_off && has_nvcc(context));
}

static int add_away_device(struct context *context, const struct policy_device *wanted,
                           bool is_static, struct error *err)
{
    const char *profile = wanted->profile ? wanted->profile : "h200-sxm";
    const struct gpu *gpu = gpu_find(profile);
    struct arena *arena = &context->arena;
    if (!gpu)
        return error_set(err,
                         "%s: [device \"%.60s\"] profile = %.60s: `plumb list gpus` names those "
                         "there are",
                         context->policy.label, wanted->name, profile);
    struct context_device *device = &context->devices[context->device_count++];
    *device = (struct context_device){
        .away = true, .is_static = is_static, .policy = wanted, .gpu = *gpu};
    device->unit = (struct device){
        .kind = wanted->kind,
        .uuid = is_static ? arena_printf(arena, "static:%s", gpu->name)
                          : arena_printf(arena, "away:%s", wanted->name),
        .name = is_static ? arena_printf(arena, "no device (static, %s)", gpu->name)
                          : arena_printf(arena, "no device (%s is not here)", wanted->name),
        .driver = "",
        .runtime = "",
        .profile = gpu->name,
    };
    if (is_static)
        progress_note(
            &context->progress,
            context->options->static_use == STATIC_LIST
                ? "device %s is not here; its kernels are listed all the same"
                : "device %s: kernels are judged by their code alone (static), nothing is "
                  "measured",
            wanted->name);
    return 0;
}

// A device that was taken out counts as away.
static int refuse_out(bool *refused, struct context *context, const struct policy_device *wanted,
                      const char *uuid, struct error *err)
{
    struct device_entry_state state;
    bool found = false;
    *refused = false;
    if (!context->store || context->options->static_use == STATIC_LIST)
        return 0;
    if (store_device_state(&state, &found, context->store, uuid, &context->arena, err))
        return -1;
    if (!found || !state.out)
        return 0;
    const char *text =
        arena_printf(&context->arena, "device %s (%s) was taken out: %s; `plumb doctor --clear %s`",
                     wanted->name, uuid, state.why, uuid);
    if (wanted->required || context->options->device)
        return error_set(err, "%s", text);
    *refused = true;
    progress_note(&context->progress, "%s brings it back", text);
    if (context->options->static_use == STATIC_NEVER)
        return 0;
    if (add_away_device(context, wanted, false, err))
        return -1;
    struct context_device *device = &context->devices[context->device_count - 1];
    device->out = state.why;
    device->unit.name = arena_printf(&context->arena, "no device (%s is taken out)", wanted->name);
    return 0;
}

static int add_device(struct context *context, const struct policy_device *wanted,
                      struct error *err)
{
    struct bench *bench = NULL;
    struct error why;
    if (context->options->static_use == STATIC_ONLY)
        return wants_static(context, wanted) ? add_away_device(context, wanted, true, err) : 0;
    if (start_bench(&bench, context, wanted, NULL, 0, 0, &why)) {
        if (wants_static(context, wanted))
            return add_away_device(context, wanted, true, err);
        if (wanted->required || context->options->device)
            return error_set(err, "device %s: %s", wanted->name, why.text);
        progress_note(&context->progress, "device %s is not here, its kernels are not measured: %s",
                      wanted->name, why.text);
        return context->options->static_use == STATIC_NEVER
                   ? 0
                   : add_away_device(context, wanted, false, err);
    }
    struct arena *arena = &context->arena;
    struct context_device *device = &context->devices[context->device_count];
    const struct device *seen = bench_device(bench);
    *device = (struct context_device){.policy = wanted};
    device->unit = (struct device){
        .kind = arena_strdup(arena, seen->kind),
        .uuid = arena_strdup(arena, seen->uuid),
        .name = arena_strdup(arena, seen->name),
        .driver = arena_strdup(arena, seen->driver),
        .runtime = arena_strdup(arena, seen->runtime),
        .profile = "",
    };
    bool refused;
    if (refuse_out(&refused, context, wanted, device->unit.uuid, err) || refused) {
        bench_stop(bench);
        return refused ? 0 : -1;
    }
    // Who only lists needs no figures, and waits for none.
    int status = context->options->static_use == STATIC_LIST
                     ? 0
                     : profile_resolve(device, context, bench, err);
    bench_stop(bench);
    if (status == 0)
        context->device_count++;
    return status;
}

int context_devices(struct context *context, struct error *err)
{
    const struct policy *policy = &context->policy;
    const char *only = context->options->device;
    bool known = !only;
    context->devices =
        arena_alloc(&context->arena, policy->device_count * sizeof(*context->devices));
    for (size_t i = 0; i < policy->device_count; i++) {
        if (only && strcmp(only, policy->devices[i].name))
            continue;
        known = true;
        if (add_device(context, &policy->devices[i], err))
            return -1;
    }
    if (!known)
        return error_set(err, "%s: there is no [device \"%.60s\"]", policy->label, only);
    bool useful = false;
    for (size_t i = 0; i < context->device_count; i++)
        useful |= !context->devices[i].away || context->devices[i].is_static;
    if (!useful)
        return error_set(err, "%s: none of the policy's devices is on this machine%s",
                         policy->label,
                         context->options->static_use == STATIC_AUTO
                             ? "; with nvcc, `plumb gate --static` compares what it says"
                             : "");
    return 0;
}

void context_close(struct context *context)
{
    progress_end(&context->progress);
    toolchain_free(&context->toolchain);
    for (size_t i = 0; i < context->toolchain_count; i++)
        toolchain_free(&context->toolchains[i]);
    store_close(context->store);
    policy_free(&context->policy);
    repository_close(context->repository);
    arena_free(&context->arena);
    memset(context, 0, sizeof(*context));
}
