// SPDX-License-Identifier: Apache-2.0
//
// Evidence that grows while data arrive and may be looked at after every pair.
//
// An e-process starts at 1 and is a bet: under the null hypothesis its expectation stays <= 1 at
// every stopping time, so the chance that it ever reaches 1/a is at most a (Ville). Values are kept
// as natural logarithms; the maths is on top of eprocess.c.
#ifndef PLUMB_EPROCESS_H
#define PLUMB_EPROCESS_H

#include "model/base.h"

enum { EPROCESS_BETS = 5 };

// Evidence that the centre of a stream lies above 0, for z that is symmetric about its centre.
// A zeroed struct has seen nothing.
struct eprocess {
    double log_wealth[EPROCESS_BETS]; // one per fixed bet size
};

// Adds one standardised observation, z = (y - centre under the null) / scale. `scale` has to be
// known before y. z is finite.
void eprocess_add(struct eprocess *process, double z);
// log E; 0 before any data, negative when the data speak for the null.
double eprocess_log(const struct eprocess *process);

// Carries on with `next` where `process` ended, as if one had seen both streams: every bet keeps
// its wealth. For evidence from several processes.
void eprocess_join(struct eprocess *process, const struct eprocess *next);

// log of the e-value of a whole stream against "the centre of y is at or below `centre`" (side +1)
// or "at or above" (side -1). The same figure as adding the pairs one by one.
double eprocess_of(const double *y, const double *scale, size_t count, double centre, int side);

// Confidence bound for the centre by inversion: with side +1 the largest value that the stream
// refutes as "centre <= value" at log E >= log_limit, i.e. a lower bound; with side -1 the upper
// bound. Valid at any stopping time. -INFINITY (+INFINITY) while the data bound nothing.
double eprocess_bound(const double *y, const double *scale, size_t count, double log_limit,
                      int side);

// Evidence about launches that are slow now and then, which a trimmed mean does not see. The order
// inside a pair is a fair coin, so whatever large differences there are, each side has them equally
// often where both builds are the same. A zeroed struct has seen nothing.
enum { TAIL_BETS = 3 };
struct tail {
    struct eprocess signs, mean; // bets that the large differences, and all of them, have a side
    double few[TAIL_BETS];       // bets that the side has hardly any of them
    uint32_t pairs;
    int64_t excess; // large differences of this side, less those of the other
};
// `z`: from the centre under the null, in scales; `plain`: from 0. `least`: no smaller difference
// is large; nor is one that normal noise makes.
void tail_add(struct tail *tail, double z, double plain, double least);
void tail_join(struct tail *tail, const struct tail *next);
// log E that the side has more large differences, or a larger mean clipped at 8 scales.
double tail_log(const struct tail *tail);
// Whether nobody can say "same", as it is not known well enough if the large differences have this
// side or not: there are some, and they may be too many.
bool tail_open(const struct tail *tail, double confidence);
// Among so many pairs one has a large difference, with 97 %, where one in 20 has it.
enum { TAIL_PAIRS = 72 };

// The scale-free normal mixture: log E against "centre 0" for values that are independent and about
// normal, such as medians of blocks. NOT for single launches (see eprocess.c). 0 below 2 values.
double eprocess_scale_free(const double *values, size_t count);

// e-BH: rejects the k largest of `count` e-values with e >= count/(q k); the share of false ones
// among the rejected is at most q on average, whatever the dependence. Returns how many;
// rejected[i] is set for every i. NaN counts as no evidence.
size_t ebh(bool *rejected, const double *log_e, size_t count, double q);

// log of the mean of exp(log_e), i.e. of e-values: an e-value under any
// dependence. -INFINITY for count 0.
double log_mean_exp(const double *log_e, size_t count);

#endif
