// SPDX-License-Identifier: Apache-2.0
//
// The size that a gate's default margin goes by must be the kernel's own, not that of the day: a
// GPU that another process heats runs an FP8 kernel of 94 us in 119 us, at 1.30 instead of 1.65 GHz
// (baselines/recorded/h200, clocks-step.csv), and took it across 100 us, where the margin changes.
//     size = time x (clock / top clock)^e
// where e is 1 if the SMs bound the problem and 0 if DRAM does, by the roofline at the top clock,
// which knows the problem and the device and nothing measured. So measured, 51 first blocks of that
// kernel lie within 76.7 to 79.0 us. Two constants are enough: fitted exponents are 0.95 there, and
// what is in between errs by a fraction of the clock's move.
#include "model/gate/gate.h"
#include "model/predict.h"

static bool follows_the_clock(const struct problem *problem, const struct gpu *gpu)
{
    const struct predict_input at_top = {
        .gpu = gpu, .problem = problem, .clock_hz = gpu->clock_max_hz.value};
    const struct prediction roofline = model_find("sol")->predict(&at_top);
    return !roofline.feasible || roofline.bound == BOUND_COMPUTE;
}

double gate_size_ns(const struct sample *base, size_t count, const struct problem *problem,
                    const struct gpu *gpu)
{
    struct sample first[64];
    size_t used = 0;
    for (size_t i = 0; i < count && used < ARRAY_COUNT(first); i++) {
        if (base[i].process == base[0].process && base[i].block == base[0].block)
            first[used++] = base[i];
    }
    const struct measurement block = {.samples = first, .count = used};
    const double time_ns = measurement_time_ns(&block), clock_hz = measurement_clock_hz(&block);
    const double top_hz = gpu->clock_max_hz.value;
    if (!(clock_hz > 0 && clock_hz < top_hz) || !follows_the_clock(problem, gpu))
        return time_ns;
    return time_ns * clock_hz / top_hz;
}

void gate_policy_records(struct gate_policy *policy)
{
    policy->margin = policy->margin > 0.004 ? 0.003 : 0.0015;
    policy->floor = 0.5 * policy->margin;
}
