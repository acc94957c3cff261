// SPDX-License-Identifier: Apache-2.0
//
// How every run begins and ends: its head is filled in, its place in the store is found or made,
// and at its end it is concluded and finished there. What lies between is pipeline.c's line.
#include "ci/gate/run_frame.h"
#include "ci/gate/conclude.h"

#include <string.h>
#include <time.h>

void run_begin(struct run *run, enum run_kind kind, const struct context *context,
               const struct commit *base, const struct commit *head)
{
    memset(run, 0, sizeof(*run));
    run->kind = kind;
    run->started_s = (int64_t)time(NULL);
    run->tool_version = PLUMB_VERSION;
    run->repository = arena_strdup(&run->arena, repository_name(context->repository));
    run->policy = arena_strdup(&run->arena, context->policy.text);
    if (base)
        run->base = *base;
    run->head = *head;
    run->device_count = context->device_count;
    run->devices = arena_alloc(&run->arena, run->device_count * sizeof(*run->devices));
    for (size_t i = 0; i < run->device_count; i++)
        run->devices[i] = context->devices[i].unit;
}

int run_enter(struct run *run, struct context *context, struct error *err)
{
    int64_t id = 0;
    bool found = false;
    if (context->options->dry_run)
        return 0;
    if (store_find_unfinished(&id, &found, context->store, run, err))
        return -1;
    if (!found)
        return store_begin_run(context->store, run, err);
    run->id = id;
    progress_note(&context->progress, "going on with the run that was interrupted");
    return 0;
}

static const char *toolchain_text(struct run *run)
{
    size_t same = 0;
    for (size_t i = 0; i < run->count; i++)
        same += run->results[i].base_code[0] &&
                strcmp(run->results[i].base_code, run->results[i].head_code) == 0;
    if (!run->base.id[0])
        return arena_printf(&run->arena, "; toolchain %s", run_toolchain(run, ROLE_HEAD));
    return arena_printf(&run->arena, "; toolchain %s -> %s, %zu of %zu the same bytes",
                        run_toolchain(run, ROLE_BASE), run_toolchain(run, ROLE_HEAD), same,
                        run->count);
}

// What built it, and what the run left out: by request, and for the devices that the policy names
// and that are not here.
static const char *away_text(struct run *run, const struct context *context)
{
    const char *text = context_selection(context, &run->arena);
    if (run_names_toolchain(run))
        text = arena_printf(&run->arena, "%s%s", text, toolchain_text(run));
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (device->away && !device->is_static)
            text = arena_printf(&run->arena, "%s; nothing was measured on %s%s%s", text,
                                device->policy->name, device->out ? ", taken out: " : "",
                                device->out ? device->out : "");
        if (device->odd)
            text = arena_printf(&run->arena, "%s; %s", text, device->odd);
    }
    return text;
}

static int save_some(struct run *run, struct store *store, size_t from, size_t end,
                     struct error *err)
{
    for (size_t i = from; i < end; i++) {
        if (store_save_result(store, run, &run->results[i], err))
            return -1;
    }
    return 0;
}

// Each transaction waits for the disk, and other writers wait for each: so many results in one.
static int save_in_batches(struct run *run, struct store *store, struct error *err)
{
    enum { TOGETHER = 500 };
    for (size_t from = 0; from < run->count; from += TOGETHER) {
        const size_t end = run->count - from < TOGETHER ? run->count : from + TOGETHER;
        if (store_begin_batch(store, err))
            return -1;
        if (save_some(run, store, from, end, err)) {
            store_cancel_batch(store);
            return -1;
        }
        if (store_commit_batch(store, err))
            return -1;
    }
    return 0;
}

// `inside`: of a transaction that the caller has begun.
static int finish(struct run *run, struct store *store, bool inside, struct error *err)
{
    if (!run->id)
        return 0;
    if (inside ? save_some(run, store, 0, run->count, err) : save_in_batches(run, store, err))
        return -1;
    return store_finish_run(store, run, err);
}

int run_leave(struct run *run, struct context *context, const struct built *head,
              const struct joined *joined, struct error *err)
{
    run->finished_s = (int64_t)time(NULL);
    drop_unsupported(run);
    conclude_run(run, &context->policy.gate, away_text(run, context));
    if (head->state != MEASURED_OK)
        conclude_unbuilt(run, head->detail);
    if (joined && joined->missing[0])
        conclude_incomplete(run, joined->missing, joined->parts);
    return finish(run, context->store, joined != NULL, err);
}

int run_leave_part(struct run *run, struct context *context, const struct part *part,
                   struct error *err)
{
    run->finished_s = (int64_t)time(NULL);
    conclude_part(run, part->number, part->count);
    return finish(run, context->store, false, err);
}

void run_tell_cost(const struct run *run, const struct measuring *measuring, double wall_s)
{
    double kernels_s = 0;
    size_t measured = 0;
    for (size_t i = 0; i < run->count; i++) {
        measured += run->results[i].verdict.pairs > 0;
        kernels_s += run->results[i].verdict.gpu_s;
    }
    if (measured)
        progress_note(&measuring->context->progress,
                      "%zu series side by side in %u %s, %.1f s, of it %.1f s of kernels", measured,
                      measuring->processes, plural(measuring->processes, "process", "processes"),
                      wall_s, kernels_s);
}
