// SPDX-License-Identifier: Apache-2.0
//
// Which of the policy's devices are here, and which stand for those that are not. A bench is
// started on each once, only to ask.
#include "baselines/store_device.h"
#include "ci/settings/context.h"
#include "ci/settings/profile.h"

#include <string.h>

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

// ---- the units of one device

// A bench that starts.
struct starting {
    struct context_device device; // what is known of it: policy and index
    struct bench *bench;          // NULL: there is none, and `why`
    struct error why;
};

// All at once, for each takes its time.
static void start_all(struct starting *units, size_t count, struct context *context)
{
    for (size_t i = 0; i < count; i++) {
        if (context_ask(&units[i].bench, context, &units[i].device, &units[i].why))
            units[i].bench = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (units[i].bench && bench_ready(units[i].bench, &units[i].why)) {
            bench_stop(units[i].bench);
            units[i].bench = NULL;
        }
    }
}

static struct device copy_unit(const struct device *seen, struct arena *arena)
{
    return (struct device){
        .kind = arena_strdup(arena, seen->kind),
        .uuid = arena_strdup(arena, seen->uuid),
        .name = arena_strdup(arena, seen->name),
        .driver = arena_strdup(arena, seen->driver),
        .runtime = arena_strdup(arena, seen->runtime),
        .profile = "",
    };
}

// Why a further unit cannot stand beside the first; NULL: it can.
static const char *unlike(const struct context_device *first, const struct device *next,
                          struct arena *arena)
{
    if (first->units && strcmp(first->unit.name, next->name) != 0)
        return arena_printf(arena, "it is a %s", next->name);
    if (first->units && strcmp(first->unit.driver, next->driver) != 0)
        return arena_printf(arena, "its driver is %s", next->driver);
    for (size_t i = 0; i < first->units; i++) {
        if (strcmp(first[i].unit.uuid, next->uuid) == 0)
            return "it is there already";
    }
    return NULL;
}

// *text: that it was taken out, and what to do; NULL: it was not.
static int ask_out(const char **text, const char **why, struct context *context,
                   const struct policy_device *wanted, const char *uuid, struct error *err)
{
    struct device_entry_state state;
    bool found = false;
    *text = NULL;
    if (!context->store || context->options->static_use == STATIC_LIST)
        return 0;
    if (store_device_state(&state, &found, context->store, uuid, &context->arena, err))
        return -1;
    if (!found || !state.out)
        return 0;
    *why = state.why;
    *text =
        arena_printf(&context->arena, "device %s (%s) was taken out: %s; `plumb doctor --clear %s`",
                     wanted->name, uuid, state.why, uuid);
    return 0;
}

// Those of a device that are here, one after the other; out: why the last was taken out, if any
// was.
struct units {
    struct context_device *first;
    const char *out_text, *out_why;
};

static int add_unit(struct units *all, struct context *context, const struct starting *s,
                    struct error *err)
{
    struct context_device *device = &context->devices[context->device_count];
    const struct policy_device *wanted = s->device.policy;
    const struct device *seen = bench_device(s->bench);
    const char *text, *different = unlike(all->first, seen, &context->arena);
    if (different) {
        progress_note(&context->progress, "device %s: unit %d is left out: %s", wanted->name,
                      s->device.index, different);
        return 0;
    }
    if (ask_out(&text, &all->out_why, context, wanted, seen->uuid, err))
        return -1;
    if (text) {
        all->out_text = text;
        if (wanted->units > 1)
            progress_note(&context->progress, "%s brings it back", text);
        return 0;
    }
    const size_t units = all->first->units;
    *device = s->device;
    device->unit = copy_unit(seen, &context->arena);
    // Who only lists needs no figures, and waits for none.
    if (context->options->static_use != STATIC_LIST &&
        profile_resolve(device, context, s->bench, err))
        return -1;
    all->first->units = units + 1;
    context->device_count++;
    return 0;
}

// ---- one device of the policy

// A device that was taken out counts as away.
static int refuse_out(const struct units *all, struct context *context,
                      const struct policy_device *wanted, struct error *err)
{
    if (wanted->required || context->options->device)
        return error_set(err, "%s", all->out_text);
    if (wanted->units <= 1)
        progress_note(&context->progress, "%s brings it back", all->out_text);
    if (context->options->static_use == STATIC_NEVER)
        return 0;
    if (add_away_device(context, wanted, false, err))
        return -1;
    struct context_device *device = &context->devices[context->device_count - 1];
    device->out = all->out_why;
    device->unit.name = arena_printf(&context->arena, "no device (%s is taken out)", wanted->name);
    return 0;
}

static int miss_device(struct context *context, const struct policy_device *wanted, const char *why,
                       struct error *err)
{
    if (wants_static(context, wanted))
        return add_away_device(context, wanted, true, err);
    if (wanted->required || context->options->device)
        return error_set(err,
                         "device %s: %.400s; `required = false` in its section goes on without "
                         "it%s",
                         wanted->name, why,
                         strcmp(wanted->kind, "cuda") == 0
                             ? ", `plumb gate --static` compares machine code"
                             : "");
    progress_note(&context->progress, "device %s is not here, its kernels are not measured: %s",
                  wanted->name, why);
    return context->options->static_use == STATIC_NEVER
               ? 0
               : add_away_device(context, wanted, false, err);
}

// One that is here, but of another profile than the policy means alone, counts as absent.
static void refuse_other(struct starting *s)
{
    const struct policy_device *wanted = s->device.policy;
    if (!s->bench || !wanted->exact)
        return;
    const char *name = bench_device(s->bench)->name;
    const char *profile = wanted->profile ? wanted->profile : "h200-sxm";
    const struct gpu *gpu = gpu_for_device(name);
    if (gpu && strcmp(gpu->name, profile) == 0)
        return;
    error_set(&s->why, "this is %.100s, no %.60s", name, profile);
    bench_stop(s->bench);
    s->bench = NULL;
}

static int add_units(struct units *all, struct context *context, struct starting *units,
                     size_t count, struct error *err)
{
    size_t here = 0;
    int status = 0;
    start_all(units, count, context);
    for (size_t i = 0; i < count; i++) {
        refuse_other(&units[i]);
        here += units[i].bench != NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (units[i].bench && status == 0)
            status = add_unit(all, context, &units[i], err);
        else if (here && !units[i].bench)
            progress_note(&context->progress, "device %s: unit %d is not here: %s",
                          units[i].device.policy->name, units[i].device.index, units[i].why.text);
        context_leave(context, units[i].bench);
    }
    return status;
}

static size_t units_wanted(const struct context *context, const struct policy_device *wanted)
{
    return context->options->units && wanted->units ? wanted->units : 1;
}

static int add_device(struct context *context, const struct policy_device *wanted,
                      struct error *err)
{
    struct starting units[UNITS_MOST] = {0};
    struct units all = {.first = &context->devices[context->device_count]};
    const size_t count = units_wanted(context, wanted);
    if (context->options->static_use == STATIC_ONLY)
        return wants_static(context, wanted) ? add_away_device(context, wanted, true, err) : 0;
    for (size_t i = 0; i < count; i++)
        units[i].device =
            (struct context_device){.policy = wanted, .index = wanted->index + (int)i};
    if (add_units(&all, context, units, count, err))
        return -1;
    if (all.first->units)
        return 0;
    return all.out_text ? refuse_out(&all, context, wanted, err)
                        : miss_device(context, wanted, units[0].why.text, err);
}

int context_devices(struct context *context, struct error *err)
{
    const struct policy *policy = &context->policy;
    const char *only = context->options->device;
    bool known = !only;
    size_t most = 0;
    for (size_t i = 0; i < policy->device_count; i++)
        most += units_wanted(context, &policy->devices[i]);
    context->devices = arena_alloc(&context->arena, most * sizeof(*context->devices));
    for (size_t i = 0; i < policy->device_count; i++) {
        if (only && strcmp(only, policy->devices[i].name))
            continue;
        known = true;
        if (add_device(context, &policy->devices[i], err))
            return -1;
    }
    if (!known)
        return error_set(err, "%s: there is no [device \"%.60s\"]", policy->label, only);
    bool useful = false, cuda = false;
    for (size_t i = 0; i < context->device_count; i++)
        useful |= !context->devices[i].away || context->devices[i].is_static;
    for (size_t i = 0; i < policy->device_count; i++)
        cuda |= strcmp(policy->devices[i].kind, "cuda") == 0;
    if (!useful && !cuda && context->options->static_use == STATIC_ONLY)
        return error_set(err,
                         "%s: --static compares the machine code of CUDA kernels, and no [device] "
                         "is of kind cuda; without it the kernels are measured",
                         policy->label);
    if (!useful)
        return error_set(err, "%s: none of the policy's devices is on this machine%s",
                         policy->label,
                         context->options->static_use == STATIC_AUTO
                             ? "; with nvcc, `plumb gate --static` compares what it says"
                             : "");
    return 0;
}

const struct context_device *context_first_unit(const struct context *context,
                                                const struct context_device *device)
{
    while (device > context->devices && device->units == 0 && device[-1].policy == device->policy)
        device--;
    return device;
}
