// SPDX-License-Identifier: Apache-2.0
//
// GPU profiles that are not shipped: from a git-config file, or a shipped profile with figures set
// on the command line.
//
//     [gpu "my-gpu"]
//         base = h100-sxm               ; optional: gives the figures that the file does not
//         summary = NVIDIA H100 PCIe, two slots
//         match = NVIDIA H100 PCIe      ; optional: in the driver's name of the device
//     [figure "dram_bytes_s"]
//         value = 1.93 TB/s
//         source = read of 2 GiB, measured here
//
// Keys are those of `plumb list gpus NAME`. A value may carry a unit that fits its key: Hz, kHz,
// MHz, GHz (_hz); B/s, GB/s, TB/s (_bytes_s); B/clk (_bytes_clk); B, KiB, MiB, GiB (_bytes); s, us,
// ns (_s); clk (_clk); W (_w). A value without a unit is in the first of these. Every figure names
// its source.
#ifndef PLUMB_GPU_FILE_H
#define PLUMB_GPU_FILE_H

#include "ci/settings/context.h"
#include "model/buffer.h"
#include "model/gpu.h"
#include "model/predict.h"
#include "model/predict/parts/bias.h"

struct gpu_profile {
    struct gpu gpu;
    struct arena arena; // owns the profile's texts
};

// Parses a profile. Errors begin with `label` and the line.
int gpu_file_parse(struct gpu_profile *out, const char *text, size_t size, const char *label,
                   struct error *err);

int gpu_file_read(struct gpu_profile *out, const char *path, struct error *err);

// Writes the known figures of `gpu` in a form from which gpu_file_read() makes it again.
void gpu_file_write(struct buffer *out, const struct gpu *gpu);

void gpu_profile_free(struct gpu_profile *profile);

enum { GPU_SETS_MOST = 64 };

struct gpu_option {
    const char *name; // a shipped profile's name or a file; preset with the default, or NULL
                      // (measured_profile())
    const char *sets[GPU_SETS_MOST];
    size_t set_count;
};

// Takes one more --set into a struct gpu_option. -1: there are GPU_SETS_MOST already.
int gpu_option_set(void *out, const char *text);
// Both options for a command's table (ci/command.h). `of` is a struct gpu_option in its arguments.
#define GPU_OPTIONS(of)                                                                            \
    OPTION_TEXT("gpu", 'g', "NAME|FILE", "Profile, shipped or from a file; `plumb list gpus`",     \
                of.name),                                                                          \
        OPTION_PART("set", "KEY=VALUE",                                                            \
                    "A figure of it, e.g. dram_bytes_s='3.2 TB/s'; may be given again", of,        \
                    gpu_option_set, "too many of them")

// Makes the profile that the options ask for. Free it with gpu_profile_free().
int gpu_option_resolve(struct gpu_profile *out, const struct gpu_option *option, struct error *err);

// ---- for commands that predict without a device ----

// Finds the profile that --gpu names. Without --gpu it is that of the device which `plumb
// calibrate` measured last, according to the store that --store names or the repository's store:
// its figures on top of the shipped ones of its kind. Without such a device it is the shipped
// profile of an H200. A message on standard error says which of the last two it was. Figures of
// --set replace others. Free it with gpu_profile_free(); the caller closes the context.
int measured_profile(struct gpu_profile *out, const struct gpu_option *option,
                     struct context *context, const struct options *options, struct error *err);

// ==== biases ====
//
// Calibrated biases as a file: CSV with the columns kernel, log_factor, band, rows, model and
// version, below comments that say which data they were fitted to.

int bias_file_write(const char *path, const struct bias_table *table, const struct model *model,
                    const char *inputs, struct error *err);
// Reads biases. Refuses a file that was fitted for another model or version. Free with
// bias_table_free().
int bias_file_read(struct bias_table *out, const char *path, const struct model *model,
                   struct error *err);

#endif
