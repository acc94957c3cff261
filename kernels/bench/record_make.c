// SPDX-License-Identifier: Apache-2.0
//
// Loads the library, finds the kernel, and has the device record what its launch() queues.
#include "kernels/bench/bench.h"

#include "kernels/bench/arm.h"
#include "kernels/device/check.h"
#include "kernels/device/record.h"

#include <string.h>

int record_make(struct record *out, struct bench *bench, const struct series_spec *spec,
                struct arena *arena, struct error *err)
{
    struct arm arm = ARM_NONE;
    struct series_state state = {.state = MEASURED_OK};
    struct record record = {.problem = spec->problem};
    struct parts parts;
    struct record_request request = {.kernel = &arm.kernel,
                                     .form = check_abi_form(&spec->problem),
                                     .pin = spec->pins[ROLE_HEAD]};
    int status = -1;
    if (!bench->ops->record)
        return error_set(err, "bench: record: the device %s makes no records", bench->ops->kind);
    if (spec->problem.number_count || parts_refuse(&spec->problem))
        return error_set(err, "what is no GEMM is timed as a library, not as a record");
    parts_of(&parts, &spec->problem);
    if (!text_copy(record.kernel, sizeof(record.kernel), spec->kernel))
        return error_set(err, "bench: record: '%.80s...' is no kernel's name", spec->kernel);
    if (arm_load(&arm, ROLE_HEAD, false, spec, bench->ops, bench->device, &state, err)) {
        error_set(err, "%s: %.500s", spec->kernel, state.note);
    } else if (arm.record) {
        error_set(err, "%s: this is a record already", spec->head);
    } else {
        record.workspace_bytes = arm_workspace_bytes(&arm, &request.form);
        buffers_lengths(request.bytes, &spec->problem, &parts, record.workspace_bytes);
        status = bench->ops->record(&record, bench->device, &request, arena, err);
    }
    arm_release(&arm);
    if (status == 0)
        *out = record;
    return status;
}
