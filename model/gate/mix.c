// SPDX-License-Identifier: Apache-2.0
//
// Of parts with weights w and base times t, the head takes sum(w t exp(r)) where the base takes
// sum(w t), with r a part's log ratio. With shares s = w t / sum(w t) the change is
// log(sum(s exp(r))), and, the ratios being small, its error is that of sum(s r): parts are
// measured apart from each other, so half-widths add as squares. What stands on one side of all
// parts for good, as the place of a process does, is small (baselines/recorded/h200/README.md,
// "Other binaries") and independent between them too.
#include "model/gate/mix.h"

#include <assert.h>
#include <math.h>

struct interval mix_change(const struct mix_part *parts, size_t count)
{
    double total = 0, ratio = 0, below = 0, above = 0;
    assert(count > 0);
    for (size_t i = 0; i < count; i++)
        total += parts[i].weight * parts[i].time_ns;
    for (size_t i = 0; i < count; i++) {
        const struct interval r = parts[i].log_ratio;
        const double share = parts[i].weight * parts[i].time_ns / total;
        ratio += share * exp(r.value);
        below += pow(share * (r.value - r.low), 2);
        above += pow(share * (r.high - r.value), 2);
    }
    const double change = log(ratio);
    return (struct interval){change, change - sqrt(below), change + sqrt(above)};
}

enum mix_standing mix_standing(struct interval change, double margin)
{
    // Quantiles of a normal error: the interval has 95 %, the verdict 99.9 %.
    static const double wider = 3.291 / 1.960;
    const double low = change.value - wider * (change.value - change.low);
    const double high = change.value + wider * (change.high - change.value);
    return low > margin ? MIX_SLOWER : high < -margin ? MIX_FASTER : MIX_SAME;
}
