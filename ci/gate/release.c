// SPDX-License-Identifier: Apache-2.0
//
// e-BH over every series of a run that was tested; kernels first. The rule is
// model/gate/gate_release.c's.
#include "ci/gate/release.h"
#include "model/gate/gate.h"

#include <stdlib.h>
#include <string.h>

static void take_back(struct run *run, struct result *r)
{
    r->verdict.kind = VERDICT_UNDECIDED;
    r->verdict.explanation = NULL;
    if (r->verdict.cause != CAUSE_PLACEMENT)
        r->verdict.cause = CAUSE_NONE;
    r->verdict.sentence =
        arena_printf(&run->arena, "%s; not enough evidence for one of %zu series, measure again",
                     r->verdict.sentence, run->count);
}

void release_alarms(struct run *run)
{
    double *evidence = xcalloc(run->count, sizeof(*evidence));
    size_t *kernel = xcalloc(run->count, sizeof(*kernel));
    size_t *index = xcalloc(run->count, sizeof(*index));
    bool *released = xcalloc(run->count, sizeof(*released));
    size_t tested = 0, kernels = 0;
    const char *last = "";
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (!r->verdict.pairs)
            continue;
        if (strcmp(last, r->kernel))
            kernels++;
        last = r->kernel;
        evidence[tested] = r->verdict.log_evidence;
        kernel[tested] = kernels - 1;
        index[tested++] = i;
    }
    gate_release(released, evidence, kernel, tested, gate_defaults.q);
    for (size_t i = 0; i < tested; i++) {
        struct result *r = &run->results[index[i]];
        bool alarm = r->verdict.kind == VERDICT_SLOWER || r->verdict.kind == VERDICT_FASTER;
        if (alarm && !released[i])
            take_back(run, r);
    }
    free(evidence);
    free(kernel);
    free(index);
    free(released);
}
