// SPDX-License-Identifier: Apache-2.0
//
// plumb calibrate: measures a device's profile with micro-benchmarks and keeps it in the store.
// Readings that do not repeat are refused by name.
#include "ci/command.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/profile.h"
#include "ci/settings/text_file.h"

#include <stdio.h>

struct arguments {
    struct options options;
    const char *only;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("only", 0, "FIGURE", "Only this figure, e.g. dram_bytes_s", only),
    {0},
};

static int write_profile(const char *path, const struct context_device *device, struct error *err)
{
    struct buffer text = {0};
    struct gpu gpu = device->gpu;
    gpu.summary = device->unit.name;
    gpu_file_write(&text, &gpu);
    int status = text_file_write(path, &text, err);
    buffer_free(&text);
    return status;
}

static int calibrate_device(struct context *context, struct context_device *device,
                            const struct arguments *a, struct error *err)
{
    struct bench *bench = NULL;
    if (context_bench(&bench, context, device, NULL, 0, 0, err))
        return -1;
    printf("%s: %s\n", device->policy->name, device->unit.name);
    int status = profile_measure(device, context, bench, a->only, stdout, err);
    bench_stop(bench);
    if (status == 0 && a->options.out)
        status = write_profile(a->options.out, device, err);
    return status;
}

static int run(enum conclusion *out, struct context *context, void *arguments, struct error *err)
{
    const struct arguments *a = arguments;
    (void)out;
    if (context_open(context, &a->options, err) || context_policy(context, "", err) ||
        context_store(context, STORE_WRITE, err) || context_builder(context, err) ||
        context_devices(context, err))
        return -1;
    if (a->options.out && context->device_count > 1)
        return error_set(err, "--out takes one device; choose it with --device");
    for (size_t i = 0; i < context->device_count; i++) {
        const struct context_device *device = &context->devices[i];
        if (a->options.dry_run)
            printf("dry run: %s: %s would be calibrated\n", device->policy->name,
                   device->unit.name);
        else if (calibrate_device(context, &context->devices[i], a, err))
            return -1;
    }
    return 0;
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "Measure a device's profile and keep it",
    .shared = SHARED_MEASURE,
    .options = own_options,
    .size = sizeof(struct arguments),
    .run = run,
    .doc =
        "Measures the profile of every device of the policy that is here.\v"
        "Each figure is read at least three times; one whose readings do not agree is refused by "
        "name and the shipped figure stays. `plumb list devices` shows every number's origin. With "
        "-o FILE (here a file, not a folder) the profile is written there too, for --gpu FILE on "
        "machines without that device.",
};
