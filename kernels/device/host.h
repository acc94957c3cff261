// SPDX-License-Identifier: Apache-2.0
//
// Parts of the host device: its reference, its noise and its micro-benchmarks.
#ifndef PLUMB_KERNELS_HOST_H
#define PLUMB_KERNELS_HOST_H

#include "kernels/device/device.h"

#include <sched.h>

int host_reference(struct reference **out, struct device_base *device,
                   const struct problem *problem, const struct plumb_args *args,
                   const uint64_t *seed, struct error *err);
int host_compare(struct comparison *out, struct device_base *device,
                 const struct reference *reference, const void *c, const struct inputs_signs *signs,
                 double tolerance, struct error *err);
void host_reference_free(struct device_base *device, struct reference *reference);

int host_form_reference(struct form_reference **out, struct device_base *device,
                        const struct problem *problem, const struct plumb_form_args *args,
                        const void *given, struct error *err);
int host_form_compare(struct comparison *out, struct device_base *device,
                      const struct form_reference *reference, const void *c, double tolerance,
                      struct error *err);
void host_form_reference_free(struct device_base *device, struct form_reference *reference);

int host_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err);

double host_now_ns(void); // CLOCK_MONOTONIC_RAW
// The processor that kernels of one thread are pinned to, this bench's own where it was told one,
// and all that this process may use. Where none is its own, kernels of one thread are not pinned.
void host_processors(cpu_set_t *alone, cpu_set_t *all);
// The core's clock now, from the time that a chain of dependent additions takes (one clock each on
// every x86-64 and AArch64 core). About 20 us. 0 where the chain is not known.
double host_clock_hz(void);
size_t host_cache_bytes(int level); // of this CPU, 0 if unknown

#endif
