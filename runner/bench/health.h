// SPDX-License-Identifier: Apache-2.0
//
// Facts about this machine that may disturb a measurement; `plumb doctor` explains them. GPUs are
// asked through the driver's nvidia-smi, so that this works where nothing was built. A figure that
// cannot be read counts as unknown.
#ifndef PLUMB_HEALTH_H
#define PLUMB_HEALTH_H

#include "model/base.h"

struct health_gpu {
    // As nvidia-smi prints them, "" unknown. The three modes are "Enabled", "Disabled" or "[N/A]".
    const char *uuid, *name, *driver, *persistence, *mig, *ecc;
    int64_t ecc_errors;     // uncorrected since the driver was loaded; -1 unknown
    int64_t reasons;        // NVML's bits for the reasons why clocks are low; -1 unknown
    int64_t clock_mhz;      // present SM clock; -1 unknown
    int64_t clock_most_mhz; // highest possible SM clock; -1 unknown
    int64_t temperature_c;  // -1 unknown
    size_t processes;       // number of processes that compute on it now
    const char *process;    // name of the first of them
};

struct health {
    struct health_gpu *gpus;
    size_t gpu_count;
    const char *no_gpu;       // why no GPU was read, NULL when some were
    bool gpu_device;          // the driver's /dev/nvidiactl is there
    const char *clock_source; // "tsc"; "" unknown
    const char *huge_pages;   // "always", "madvise", "never"; "" unknown
    const char *governor;     // clock governor of the first CPU; "" unknown or none
    double load;              // mean over a minute, in CPUs; -1 unknown
    int64_t cpus;             // number of CPUs that are online
    int64_t cpus_ours;        // number of these on which this program may run
    double cpu_limit;         // the control group's limit, in CPUs; 0: none
    size_t cores;             // number of cores of cpus_ours, where hyperthreads count as one; 0
                              // unknown
    size_t cores_measured;    // number of these on which a bench is measuring
    int64_t memory_limit;     // the control group's limit, in bytes; 0: none
    int64_t disk_free;        // free bytes for this user where `folder` is; -1 unknown
};

// Reads the facts. `root` is put before /dev, /proc and /sys; "" means this machine. Texts live in
// the arena.
void health_read(struct health *out, const char *root, const char *folder, struct arena *arena);

#endif
