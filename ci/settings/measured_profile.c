// SPDX-License-Identifier: Apache-2.0
//
// Looks for a measured profile where the other commands keep it. A store that is not there is no
// error; one that cannot be read is, when --store named it, and is said otherwise.
#include "ci/settings/measured_profile.h"

#include "reports/text/clean.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *const otherwise = "h200-sxm";

// Names are what the store holds: no control bytes of theirs reach the terminal.
static void say_measured(const char *profile, const struct device_entry *device, const char *path)
{
    char date[16] = "";
    const time_t when = (time_t)device->last_s;
    struct tm parts;
    struct buffer line = {0};
    if (gmtime_r(&when, &parts))
        strftime(date, sizeof(date), "%Y-%m-%d", &parts);
    char *text = xprintf("profile %s as measured on %s, %s, %s (%s)", profile, device->name,
                         device->uuid, date, path);
    clean_line(&line, text, CLEAN_LINE);
    fprintf(stderr, "plumb: %s\n", line.bytes);
    buffer_free(&line);
    free(text);
}

static int from_store(struct gpu_profile *out, bool *found, struct store *store, struct error *err)
{
    struct device_entry device;
    struct gpu calibrated;
    *found = false;
    if (store_newest_profile(&device, store, &out->arena, err))
        return -1;
    if (!device.uuid)
        return 0;
    if (store_load_profile(&calibrated, found, store, device.uuid, &out->arena, err))
        return -1;
    const struct gpu *shipped = *found ? gpu_find(calibrated.name) : NULL;
    out->gpu = shipped ? *shipped : calibrated;
    if (shipped)
        gpu_overlay(&out->gpu, &calibrated);
    if (*found)
        say_measured(out->gpu.name, &device, store_path(store));
    return 0;
}

// The store, or none.
static int open_store(struct context *context, const struct options *options, struct error *err)
{
    struct error ignored;
    if (options->store) {
        context->options = options;
        return context_store(context, STORE_READ, err);
    }
    if (context_open(context, options, &ignored))
        return 0; // no repository here
    const char *path = arena_printf(&context->arena, "%s/store.db", context->state);
    if (access(path, F_OK) == 0 && context_store(context, STORE_READ, &ignored))
        fprintf(stderr, "plumb: %s; no measured profile is looked for in it\n", ignored.text);
    return 0;
}

int measured_profile(struct gpu_profile *out, const struct gpu_option *option,
                     struct context *context, const struct options *options, struct error *err)
{
    bool found = false;
    *out = (struct gpu_profile){0};
    if (option->name)
        return gpu_option_resolve(out, option, err);
    if (open_store(context, options, err))
        return -1;
    int status = context->store ? from_store(out, &found, context->store, err) : 0;
    if (status == 0 && !found) {
        out->gpu = *gpu_find(otherwise);
        fprintf(stderr, "plumb: profile %s as shipped; --gpu names another\n", otherwise);
    }
    if (status == 0)
        status = gpu_option_apply(out, option, err);
    if (status)
        gpu_profile_free(out);
    return status;
}
