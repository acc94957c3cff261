// SPDX-License-Identifier: Apache-2.0
//
// How a series' time follows the SM clock, and how much of a change the clock explains. Time
// decides a verdict; the clock's part stands beside it (pure functions).
#ifndef PLUMB_CLOCK_H
#define PLUMB_CLOCK_H

#include "model/gate/gate.h"

// log time = level of the process + exponent x log clock. -1: bound by the SMs; 0: by memory. The
// same sign as prediction.clock_exponent.
struct clock_fit {
    double exponent; // 0 when nothing is known
    double se;       // INFINITY when the clock did not move
    uint32_t samples;
};

// Fits within processes (and builds), never across them: levels differ for other reasons. Samples
// that are excluded or without time or clock are left out. The standard error is inflated for
// serial correlation, and launches far off the line (host stalls) are left out after a first fit.
struct clock_fit clock_fit(const struct sample *samples, size_t count, struct arena *arena);

// Precision-weighted mean with the model's exponent; model_sd is how far models are trusted
// (0.15: scatter of fits about the roofline's -1 and 0, see clock.c).
struct clock_fit clock_shrink(struct clock_fit fit, double model_exponent, double model_sd);
extern const double clock_model_sd;

struct clock_effect {
    bool known;       // false: no clocks; the rest is 0
    double log_clock; // trimmed mean of log(head clock / base clock)
    double explained; // exponent x log_clock: the part of log_ratio that the clock explains
    double rest;      // log_ratio - explained: at equal clocks
    double cycles;    // log_ratio + log_clock: the ratio in clock cycles
};
struct clock_effect clock_explain(double log_ratio, const struct gate_pair *pairs, size_t count,
                                  double exponent, struct arena *arena);

#endif
