// SPDX-License-Identifier: Apache-2.0
//
// Prints what a study found, of one machine or of the parts of many.
#ifndef PLUMB_STUDY_PRINT_H
#define PLUMB_STUDY_PRINT_H

#include "ci/study/study.h"

// Over all series. Of parts that were joined the rounds, processes and the wall clock are not
// known: 0.
struct study_totals {
    uint64_t gates, aa, alarms, first; // aa: of identical code; first: before confirmation
    uint32_t rounds, processes;
    double wall_s, gates_s, gpu_s;
};
struct study_totals study_totals_of(const struct studied *studied);

// A line per series and two of the whole; or one object.
void study_print(const struct studied *studied, const struct study_totals *totals);
void study_print_json(const struct studied *studied, const struct study_totals *totals);

#endif
