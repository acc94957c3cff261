// SPDX-License-Identifier: Apache-2.0
//
// Whole gates, repeated: of libraries with themselves (A/A, every alarm is false) and of libraries
// that differ by work put in on purpose. One round = one gate of every series, in fresh processes;
// the alarms of a round are confirmed together, in as few further processes as the policy wants.
#ifndef PLUMB_CI_STUDY_H
#define PLUMB_CI_STUDY_H

#include "model/gate.h"
#include "runner/measure.h"

#include <stdio.h>


struct study_series {
    enum study_kind kind;
    const char *kernel, *base, *head; // libraries: absolute paths
    struct problem problem;
    // Over all rounds:
    uint32_t gates, slower, faster, same, undecided, broken;
    uint32_t first_alarms; // before confirmation
    double sum_ratio, sum_pairs, sum_wall_s, sum_gpu_s, sum_ns, sum_sd;
};

struct study {
    struct bench_plan plan; // process is set here
    struct study_series *series;
    size_t count;
    uint32_t rounds;    // at most
    double deadline_s;  // monotonic: no new round after it; 0: none
    double margin;      // 0: the default for the device and size
    uint32_t max_pairs; // of the first process; 0: the default
    uint32_t pairs;     // exactly so many in one process, decided or not: a recording; 0: gates
    FILE *csv;          // a row per gate; NULL: none
    FILE *samples;      // a row per gate and process with its times; NULL: none
    uint32_t rounds_done, processes;
    double wall_s; // with the starts of processes
};

// The policy of a series whose base takes this time.
struct gate_policy study_policy(const struct study *study, double time_ns);

// -1: the device is gone or no bench can be started. A series that is wrong or dies counts as
// broken, and its process is replaced.
int study_run(struct study *study, struct error *err);

#endif
