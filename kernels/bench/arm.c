// SPDX-License-Identifier: Apache-2.0
//
// Loads one library of a series and has its kernel prepared. What cannot be timed is said in the
// series' state; only a device that fails is an error.
#include "kernels/bench/arm.h"

#include "kernels/device/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int series_refuse(struct series_state *state, enum sample_role role, enum measurement_state why,
                  const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(state->note, sizeof(state->note), format, list);
    va_end(list);
    state->role = role;
    state->state = why;
    return 1;
}

int arm_load(struct arm *arm, enum sample_role role, bool copy, const struct series_spec *spec,
             const char *kind, struct series_state *state)
{
    const char *path = role == ROLE_BASE ? spec->base : spec->head;
    struct error why;
    arm->used = true;
    if (module_load(&arm->module, path, copy, &why))
        return series_refuse(state, role, MEASURED_UNBUILDABLE, "%.500s", why.text);
    if (!module_find(&arm->kernel, &arm->module, spec->kernel))
        return series_refuse(state, role, MEASURED_MISSING,
                             "no kernel of this name in the library");
    if (strcmp(arm->module.library->device, kind) != 0)
        return series_refuse(state, role, MEASURED_UNSUPPORTED, "a kernel for device %.40s, not %s",
                             arm->module.library->device, kind);
    const struct plumb_problem problem = check_abi_problem(&spec->problem);
    if (!arm->kernel.supports(&problem))
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "the kernel does not do this problem");
    return 0;
}

size_t arm_workspace_bytes(const struct arm *arm, const struct plumb_problem *problem)
{
    return arm->used && arm->kernel.workspace ? arm->kernel.workspace(problem) : 0;
}

int arm_prepare(struct arm *arm, enum sample_role role, const char *pin,
                const struct plumb_args *args, const struct device_ops *ops,
                struct device_base *device, struct series_state *state, struct error *err)
{
    if (!arm->used || !arm->kernel.prepare)
        return 0;
    int code = arm->kernel.prepare(args, ops->stream(device), pin, arm->note, sizeof(arm->note));
    arm->note[ARM_NOTE - 1] = '\0';
    if (ops->sync(device, err))
        return -1;
    if (code && pin)
        return series_refuse(state, role, MEASURED_UNSUPPORTED,
                             "prepare() cannot reproduce '%.400s'", pin);
    if (code)
        return series_refuse(state, role, MEASURED_CRASHED, "prepare() returned %d", code);
    return 0;
}
