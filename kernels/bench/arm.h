// SPDX-License-Identifier: Apache-2.0
//
// One library's side of a series: loaded, its kernel found and prepared. Buffers, launches and
// samples are the series' own.
#ifndef PLUMB_ARM_H
#define PLUMB_ARM_H

#include "kernels/bench/module.h"
#include "kernels/bench/series.h"

enum { ARM_NOTE = 256 };

struct arm {
    bool used;
    struct module module;
    struct plumb_kernel kernel;
    char note[ARM_NOTE]; // what prepare() wrote, "" if it wrote nothing
};
#define ARM_NONE ((struct arm){.module = MODULE_NONE})

// The series cannot be timed; `state` says why. Returns 1, so that a step can stop the others.
int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...) PRINTF_LIKE(4, 5);

// Loads the library of `role`, as a private copy when `copy`, and finds the kernel for the problem
// on devices of `kind`. Returns 0, or 1 when `state` says why not. The caller releases arm->module
// either way.
int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const char *kind, struct series_state *state);
// Bytes of workspace that the kernel wants; 0 for an arm that is not used.
size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_problem *problem);
// Lets the kernel prepare itself for `args`, held to `pin` when that is not NULL. Returns 0, 1 when
// `state` says why it cannot, or -1 (error).
int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct plumb_args *args, const struct device_ops *ops,
                struct device_base *device, struct series_state *state, struct error *err);

#endif
