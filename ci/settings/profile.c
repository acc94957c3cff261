// SPDX-License-Identifier: Apache-2.0
//
// The profile that models are given for a device: asked from the driver, shipped, or calibrated
// here. The shipped figures themselves are in model/gpu/.
#include "ci/settings/profile.h"
#include "model/buffer.h"

#include <string.h>

static void take(struct context_device *device, struct context *context,
                 const struct bench_figure *f)
{
    struct figure *target = gpu_figure(&device->gpu, f->key);
    if (!target || !f->stable)
        return;
    *target = (struct figure){f->value, ORIGIN_CALIBRATED,
                              arena_printf(&context->arena, "measured here, %u %s, cv %.2f %%",
                                           f->repeats, plural(f->repeats, "repeat", "repeats"),
                                           f->cv * 100)};
}

// Of readings that did not repeat: one line, where no table says why of each.
static void tell_refused(struct context *context, const struct bench_figure_list *figures)
{
    struct buffer names = {0};
    for (size_t i = 0; i < figures->count; i++) {
        if (!figures->items[i].stable)
            buffer_printf(&names, "%s%s", names.length ? ", " : "", figures->items[i].key);
    }
    if (names.length)
        progress_note(&context->progress,
                      "profile: not steady here, so predictions go without: %s; `plumb calibrate` "
                      "measures again",
                      names.bytes);
    buffer_free(&names);
}

int profile_measure(struct bench_figure_list *readings, struct context_device *device,
                    struct context *context, struct bench *bench, const char *only,
                    struct error *err)
{
    struct bench_outcome outcome;
    struct bench_figure_list figures = {0};
    if (bench_calibrate(&outcome, &figures, bench, only, &context->arena, err))
        return -1;
    if (outcome.state != MEASURED_OK)
        return error_set(err, "device %s: %s", device->policy->name, outcome.detail);
    progress_end(&context->progress);
    for (size_t i = 0; i < figures.count; i++)
        take(device, context, &figures.items[i]);
    if (readings)
        *readings = figures;
    else
        tell_refused(context, &figures);
    return store_save_profile(context->store, &device->unit, &device->gpu, err);
}

void profile_shipped(struct gpu *out, const struct bench *bench, struct arena *arena)
{
    const struct device *device = bench_device(bench);
    const struct gpu *shipped = gpu_for_device(device->name);
    gpu_overlay(out, bench_gpu(bench));
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        struct figure *figure = gpu_figure(out, gpu_figure_key(i));
        if (figure->origin == ORIGIN_DEVICE)
            figure->source = "the driver"; // the child's own text ends with the child
    }
    out->name = shipped ? shipped->name : arena_strdup(arena, device->kind);
    if (shipped)
        gpu_overlay(out, shipped);
}

int profile_resolve(struct context_device *device, struct context *context, struct bench *bench,
                    struct error *err)
{
    struct arena *arena = &context->arena;
    struct gpu calibrated = {0};
    bool found = false;
    profile_shipped(&device->gpu, bench, arena);
    device->unit.profile = device->gpu.name;
    if (store_load_profile(&calibrated, &found, context->store, device->unit.uuid, arena, err))
        return -1;
    if (found)
        gpu_overlay(&device->gpu, &calibrated);
    if (found && strcmp(device->unit.kind, "host"))
        progress_note(&context->progress, "profile: %s as measured on this device",
                      device->gpu.name);
    // A host has no shipped profile. One whose peak was refused (a busy moment) is tried again.
    const bool unknown = !(device->gpu.flops_clk_fp32.value > 0);
    if (strcmp(device->unit.kind, "host") == 0 && unknown && !context->options->dry_run) {
        progress_note(&context->progress, "measuring the profile of this machine");
        return profile_measure(NULL, device, context, bench, NULL, err);
    }
    return 0;
}
