// SPDX-License-Identifier: Apache-2.0
//
// Which of a never-ending stream of tests are discoveries, so that the share of false ones among
// all that was ever called one stays bounded, and nothing that was called one is taken back.
#ifndef PLUMB_DISCOVERY_H
#define PLUMB_DISCOVERY_H

#include "model/base.h"

// e-LOND (Xu and Ramdas 2024): the t-th test is a discovery when its e-value reaches
//     1 / (q gamma_t (d + 1)),   gamma_t = 0.474 / ((t + 1) log(t + 1)^2),
// with d discoveries before it. The gamma_t add up to less than 1, and then the false discovery
// rate is at most q after every t, for e-values that depend on each other in any way (series of
// one device share its heat). Later tests change nothing that was decided.
struct discoveries {
    double q; // 0 < q < 1
    uint64_t tests, found;
};
// The next test, with this log e-value; NaN is no evidence.
bool discovery_test(struct discoveries *discoveries, double log_evidence);

#endif
