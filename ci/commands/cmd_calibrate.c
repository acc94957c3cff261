// SPDX-License-Identifier: Apache-2.0
//
// plumb calibrate: measures a device's profile with micro-benchmarks and keeps it in the store.
// Readings that do not repeat are refused by name.
#include "ci/command.h"
#include "ci/commands/output.h"
#include "ci/settings/gpu_file.h"
#include "ci/settings/text_file.h"

#include <stdio.h>
#include <string.h>

struct arguments {
    struct options options;
    const char *only;
    bool json;
};

static const struct command_option own_options[] = {
    OPTION_TEXT("only", 0, "FIGURE", "Only this figure, e.g. dram_bytes_s", only),
    OPTION_FORMAT(json),
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

static const char *unit_of(const char *key)
{
    for (size_t i = 0; i < gpu_figure_count(); i++) {
        if (strcmp(gpu_figure_key(i), key) == 0)
            return gpu_figure_unit(i);
    }
    return "(shown, not used)";
}

// `answer` NULL: as a table.
static void print_reading(struct answer *answer, const struct context_device *device,
                          const struct bench_figure *f)
{
    if (!answer) {
        printf("  %-18s %-14.6g cv %5.2f %% of %u  %s%s\n", f->key, f->value, f->cv * 100,
               f->repeats, f->stable ? "" : "REFUSED: ", f->stable ? unit_of(f->key) : f->note);
        return;
    }
    struct json *row = answer_row(answer);
    json_clean(row, "device", device->policy->name);
    json_clean(row, "figure", f->key);
    json_number(row, "value", f->value);
    json_clean(row, "unit", unit_of(f->key));
    json_number(row, "cv", f->cv);
    json_int(row, "repeats", f->repeats);
    json_clean(row, "refused", f->stable ? NULL : f->note);
}

static int calibrate_device(struct answer *answer, struct context *context,
                            struct context_device *device, const struct arguments *a,
                            struct error *err)
{
    struct bench *bench = NULL;
    struct bench_figure_list readings = {0};
    if (context_bench(&bench, context, device, NULL, 0, err))
        return -1;
    if (!answer)
        printf("%s: %s\n", device->policy->name, device->unit.name);
    int status = profile_measure(&readings, device, context, bench, a->only, err);
    bench_stop(bench);
    for (size_t i = 0; status == 0 && i < readings.count; i++)
        print_reading(answer, device, &readings.items[i]);
    if (status == 0 && a->options.out)
        status = write_profile(a->options.out, device, err);
    return status;
}

static int calibrate_all(struct answer *answer, struct context *context, const struct arguments *a,
                         struct error *err)
{
    for (size_t i = 0; i < context->device_count; i++) {
        struct context_device *device = &context->devices[i];
        if (!a->options.dry_run && calibrate_device(answer, context, device, a, err))
            return -1;
        if (a->options.dry_run && !answer)
            printf("dry run: %s: %s would be calibrated\n", device->policy->name,
                   device->unit.name);
    }
    return 0;
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
    struct answer kept, *answer = answer_if(&kept, a->json, "readings");
    return answer_leave(answer, calibrate_all(answer, context, a, err));
}

const struct command command_calibrate = {
    .name = "calibrate",
    .summary = "Measure a device's profile and keep it",
    .json =
        "readings (device, figure, value, unit, cv: a fraction, repeats, refused: why, or null).",
    .shared = SHARED_MEASURE | SHARED_OUT,
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
