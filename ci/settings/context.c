// SPDX-License-Identifier: Apache-2.0
//
// Opens what a measuring command needs, in order, and closes it in reverse. It reads no kernel and
// starts no bench of its own: context_devices.c asks for the devices.
#include "ci/settings/context.h"

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
                     context_is_bare(context) ? "plumb" : STATE);
    return 0;
}

// A commit that brings a cache says what its base was built to, and one that brings a store what
// was measured; or both are links to somewhere else.
static int open_state(struct context *context, struct error *err)
{
    struct repository_trust trust;
    if (context_is_bare(context) || !repository_tracks(context->repository, STATE))
        return 0;
    repository_trusted(&trust, context->repository);
    return trust.own ? 0
                     : error_set(err,
                                 "%s: came with the commit that is checked out, which may be a "
                                 "stranger's, so no build and no result in it is believed; give "
                                 "--store and --cache elsewhere (or `git config "
                                 "plumb.trustCheckout true` if this checkout is yours)",
                                 context->state);
}

int context_store(struct context *context, enum store_mode mode, struct error *err)
{
    const char *path = context->options->store;
    if (!path) {
        if (open_state(context, err))
            return -1;
        if (mode == STORE_WRITE &&
            (make_directory(context->state, err) || context_ignore(context->state, err)))
            return -1;
        path = arena_printf(&context->arena, "%s/store.db", context->state);
    } else if (repository_refuse_brought(path, BROUGHT_ANYTHING, err)) {
        return -1;
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

static void tell_unlimited(struct context *context)
{
    struct policy *policy = &context->policy;
    progress_note(&context->progress,
                  "no control group holds builds and kernels, what they use is watched: %s",
                  context->sandbox.no_group);
    policy->text = arena_printf(&policy->arena, "%s\n" RUN_UNLIMITED_NOTE "%s\n", policy->text,
                                context->sandbox.no_group);
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
        tell_unlimited(context);
    const char *cache = context->options->cache;
    if (!cache) {
        if (open_state(context, err) || make_directory(context->state, err) ||
            context_ignore(context->state, err))
            return -1;
        cache = arena_printf(&context->arena, "%s/cache", context->state);
    } else if (repository_refuse_brought(cache, BROUGHT_ANYTHING, err) ||
               make_directory(cache, err)) {
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

static int ask_bench(struct bench **out, const struct bench_plan *plan, struct error *err)
{
    struct bench_plan asks = *plan;
    asks.ask = true;
    return bench_begin(out, &asks, err);
}

typedef int bench_starter(struct bench **out, const struct bench_plan *plan, struct error *err);

static int start_bench(struct bench **out, bench_starter *start, struct context *context,
                       const struct context_device *device, const char *const *directories,
                       size_t directory_count, struct error *err)
{
    // Each unit's has a log of its own.
    const int unit = device->index - device->policy->index;
    char *log = unit ? xprintf("%s.%d", context->bench_log, unit) : xstrdup(context->bench_log);
    // What a toolchain built may load libraries of its prefix.
    const char **shown = xcalloc(directory_count + context->toolchain_count + 1, sizeof(*shown));
    size_t shown_count = directory_count;
    if (directory_count)
        memcpy(shown, directories, directory_count * sizeof(*shown));
    for (size_t i = 0; i < context->toolchain_count; i++) {
        if (context->toolchains[i].prefix && !context->toolchains[i].root)
            shown[shown_count++] = context->toolchains[i].prefix;
    }
    const struct bench_plan plan = {
        .program = context->options->bench,
        .kind = device->policy->kind,
        .index = device->index,
        .sandbox = &context->sandbox,
        .read_only = shown,
        .read_only_count = shown_count,
        .build_count = directory_count,
        .log_path = log,
        .limits = {.open_s = context->policy.timeout_s, .measure_s = context->policy.timeout_s},
        .note = note_bench,
        .note_context = context,
    };
    const int status = start(out, &plan, err); // which copies it
    free(shown);
    free(log);
    return status;
}

int context_lister(struct bench **out, struct context *context, const char *const *directories,
                   size_t directory_count, struct error *err)
{
    static const struct policy_device none = {.name = "none", .kind = "none"};
    static const struct context_device device = {.policy = &none};
    return start_bench(out, bench_start, context, &device, directories, directory_count, err);
}

int context_bench(struct bench **out, struct context *context, const struct context_device *device,
                  const char *const *directories, size_t directory_count, struct error *err)
{
    return start_bench(out, bench_start, context, device, directories, directory_count, err);
}

int context_begin_bench(struct bench **out, struct context *context,
                        const struct context_device *device, const char *const *directories,
                        size_t directory_count, struct error *err)
{
    return start_bench(out, bench_begin, context, device, directories, directory_count, err);
}

int context_ask(struct bench **out, struct context *context, const struct context_device *device,
                struct error *err)
{
    return start_bench(out, ask_bench, context, device, NULL, 0, err);
}

void context_leave(struct context *context, struct bench *bench)
{
    if (!bench)
        return;
    if (context->leaving_count == UNITS_MOST)
        context_end_leaving(context);
    bench_leave(bench);
    context->leaving[context->leaving_count++] = bench;
}

void context_end_leaving(struct context *context)
{
    for (size_t i = 0; i < context->leaving_count; i++)
        bench_stop(context->leaving[i]);
    context->leaving_count = 0;
}

void context_close(struct context *context)
{
    context_end_leaving(context);
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
