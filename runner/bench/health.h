// SPDX-License-Identifier: Apache-2.0
//
// Facts about this machine that may disturb a measurement; `plumb doctor` says what they mean. GPUs
// are asked through the driver's own nvidia-smi, so that it works where nothing was built. A figure
// that cannot be read is unknown, never assumed.
#ifndef PLUMB_HEALTH_H
#define PLUMB_HEALTH_H

#include "model/base.h"

struct health_gpu {
    // As nvidia-smi says them, "" unknown. The three modes are "Enabled", "Disabled" or "[N/A]".
    const char *uuid, *name, *driver, *persistence, *mig, *ecc;
    int64_t ecc_errors;     // uncorrected since the driver was loaded; -1 unknown
    int64_t reasons;        // NVML's bits of why clocks are low; -1 unknown
    int64_t clock_mhz;      // SM clock now; -1 unknown
    int64_t clock_most_mhz; // the highest there is; -1 unknown
    int64_t temperature_c;  // -1 unknown
    size_t processes;       // that compute on it now
    const char *process;    // name of the first
};

struct health {
    struct health_gpu *gpus;
    size_t gpu_count;
    const char *no_gpu;       // why none was read, NULL when some were
    bool gpu_device;          // the driver's /dev/nvidiactl is there
    const char *clock_source; // "tsc"; "" unknown
    const char *huge_pages;   // "always", "madvise", "never"; "" unknown
    const char *governor;     // of the first CPU's clock; "" unknown or none
    double load;              // average of a minute, in CPUs; -1 unknown
    int64_t cpus;             // online
    int64_t cpus_ours;        // of them, that this program may run on
    double cpu_limit;         // of the control group, in CPUs; 0: none
    size_t cores;             // of cpus_ours: hyperthreads are one; 0 unknown
    size_t cores_measured;    // of them, on which a bench has begun to measure
    int64_t memory_limit;     // of the control group, in bytes; 0: none
    int64_t disk_free;        // bytes for us where `folder` is; -1 unknown
};

// `root` stands before /dev, /proc and /sys, "" for this machine's own. Texts live in the arena.
void health_read(struct health *out, const char *root, const char *folder, struct arena *arena);

#endif
