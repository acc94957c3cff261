// SPDX-License-Identifier: Apache-2.0
//
// Reads facts about a GPU from NVIDIA's management library. The library is loaded at run time;
// nothing here can change a setting.
#ifndef PLUMB_NVML_H
#define PLUMB_NVML_H

#include "model/base.h"

struct nvml;

struct nvml_state {
    int throttle;      // enum throttle bits
    int temperature_c; // INT16_MIN if unknown
    int power_mw;      // -1 if unknown
};

// NULL when the library or the GPU is missing: figures are then unknown, and nothing fails.
struct nvml *nvml_open(const char *uuid);
void nvml_close(struct nvml *nvml); // NULL is allowed
struct nvml_state nvml_read(struct nvml *nvml);
void nvml_driver(struct nvml *nvml, char *out, size_t size); // "" if unknown
double nvml_power_limit_w(struct nvml *nvml);                // 0 if unknown

#endif
