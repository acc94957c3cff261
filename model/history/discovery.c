// SPDX-License-Identifier: Apache-2.0
//
// Online false discovery rate by e-values: one comparison per test.
#include "model/history/discovery.h"

#include <assert.h>
#include <math.h>

// 1 / sum of 1 / (n log(n)^2) over n = 2, 3, ..., which is 2.10974
static const double share = 0.474;

bool discovery_test(struct discoveries *d, double log_evidence)
{
    assert(d->q > 0 && d->q < 1);
    const double n = (double)++d->tests + 1;
    const double gamma = share / (n * log(n) * log(n));
    const bool found = log_evidence >= -log(d->q * gamma * (double)(d->found + 1));
    d->found += found;
    return found;
}
