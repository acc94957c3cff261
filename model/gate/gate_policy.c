// SPDX-License-Identifier: Apache-2.0
//
// A gate's numbers: the defaults, what a series' own past says of its noise, what its pairs are
// for, and how budgets grow with noise.
#include "model/gate/gate.h"

#include <math.h>
#include <string.h>

// A pair's SD up to which the plain budget suffices, in units of margin - floor. At 0.95 % on a
// large kernel (6.3 units) 3 finds a change of 0.47 % in 100 of 100 simulated gates for 735 pairs,
// 4 in 99 for 615, 5 in 95 for 480; without any stretch it is 73 for 321.
static const double steady = 4;

const struct gate_policy gate_defaults = {
    .alpha = 1e-3,
    .q = 0.01,
    .confidence = 0.95,
    .block_pairs = 8,
    .min_pairs = 16,
    .max_pairs = 256,
    .confirm_pairs = 64,
    .stretch = 4,
    .processes = 4,
};

struct gate_policy gate_policy_default(const char *device_kind, double size_ns)
{
    struct gate_policy policy = gate_defaults;
    policy.margin = 0.003;
    policy.scale = 0.004;
    if (strcmp(device_kind, "host") == 0) {
        policy.margin = 0.03;
        policy.scale = 0.03;
    } else if (!(size_ns > 100e3)) {
        policy.margin = 0.005;
        policy.scale = 0.01;
    }
    policy.floor = 0.5 * policy.margin;
    return policy;
}

void gate_policy_learn(struct gate_policy *policy, struct moderation prior, double sd, double pairs)
{
    const double most = 16;
    double weight = prior.weight + pairs, scale = moderate_sd(prior, sd, pairs);
    if (!(weight > 0) || !(scale > 0) || !isfinite(scale))
        return;
    policy->scale = scale;
    policy->scale_pairs = fmin(weight, most);
}

// A link's variance is that of its pairs and that of what they cannot see: when the first is the
// smaller one, more pairs sharpen a level little.
static const double margin_part = 1.0 / 6, unseen_part = 0.5;

void gate_policy_use(struct gate_policy *policy, enum gate_use use, double unseen)
{
    if (use == GATE_FOR_VERDICT)
        return;
    policy->stretch = 1;
    if (use == GATE_FOR_CHANGE)
        return;
    policy->processes = 1;
    policy->enough = fmax(margin_part * policy->margin, unseen_part * unseen);
}

uint32_t gate_budget(const struct gate_policy *policy, double sd, uint32_t pairs)
{
    double units = sd / (policy->margin - policy->floor) / steady;
    return (uint32_t)ceil(fmin(fmax(1, units * units), policy->stretch) * pairs);
}
