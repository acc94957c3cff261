// SPDX-License-Identifier: Apache-2.0
//
// The rules of other tools, written anew from their description, for comparison only. Every rule
// turns two samples of times (any unit) into a score; it raises an alarm at score >= limit. The
// limit is the tool's own default; lower limits give its receiver operating characteristic.
#ifndef PLUMB_TESTS_HELPER_PEERS_H
#define PLUMB_TESTS_HELPER_PEERS_H

#include "model/base.h"

struct peer_data {
    const double *base, *head; // times, in the order taken; pair i is base[i], head[i]
    size_t count;              // of each, >= 4
};

struct peer {
    const char *name;
    const char *rule;
    double limit;
    bool paired; // needs pairs, so it has no meaning for separate runs
    double (*score)(const struct peer_data *data);
};
extern const struct peer peers[];
extern const size_t peer_count;

const struct peer *peer_find(const char *name);

// P(T <= t) of Student's distribution with `degrees` > 0 degrees of freedom.
double student_cdf(double t, double degrees);

#endif
