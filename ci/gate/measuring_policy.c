// SPDX-License-Identifier: Apache-2.0
//
// The gate's numbers for one task: defaults, the policy's, and what earlier runs saw of the series'
// scatter.
#include "ci/gate/measuring.h"
#include "ci/gate/recording.h"
#include "model/history/levels.h"

#include <math.h>

int measuring_policy(struct gate_policy *out, struct context *context, const struct task *task,
                     const struct sample *base, size_t count, struct error *err)
{
    const struct policy_gate gate = policy_gate_for(&context->policy, task->rule);
    const struct context_device *device = task->device;
    const struct problem *problem = &task->result->problem;
    struct gate_policy policy =
        gate_policy_default(device->policy->kind, gate_size_ns(base, count, problem, &device->gpu));
    if (recording_wanted(task))
        gate_policy_records(&policy);
    policy.alpha = gate.alpha;
    policy.processes = gate.processes;
    policy.max_pairs = gate.max_pairs;
    if (gate.margin > 0) {
        policy.floor *= gate.margin / policy.margin;
        policy.margin = gate.margin;
    }
    const struct series series = {task->result->kernel, problem, device->unit.uuid};
    struct pair_scale *stored = NULL;
    size_t runs = 0;
    if (store_scale(&stored, &runs, context->store, &series, 8, task->run->id, &task->run->arena,
                    err))
        return -1;
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < runs; i++) {
        if (stored[i].sd_mad > 0 && stored[i].pairs >= 8) {
            sum += log(stored[i].sd_mad) * stored[i].pairs;
            pairs += stored[i].pairs;
        }
    }
    if (pairs > 0)
        gate_policy_learn(&policy, (struct moderation){0, 0}, exp(sum / pairs), pairs);
    gate_policy_use(&policy, task->use, levels_prior.sd);
    *out = policy;
    return 0;
}
