// SPDX-License-Identifier: Apache-2.0
//
// Whole gates, repeated: of libraries with themselves (A/A, every alarm is false) and of libraries
// that differ by work put in on purpose. One round = one gate of every series, in fresh processes;
// the alarms of a round are confirmed together, in as few further processes as the policy wants.
#ifndef PLUMB_CI_STUDY_H
#define PLUMB_CI_STUDY_H

#include "model/gate/gate.h"
#include "runner/bench/measure.h"

#include <stdio.h>

struct study_series {
    const char *base, *head; // libraries: absolute paths
    // Kernel, problem, device and kind are given; the rest is the sum over all rounds, not the
    // mean.
    struct study_result sum;
    bool unsupported; // the kernel does not do this problem: left out
    double size_ns;   // gate_size_ns() of its gates
    double squares;   // of the log ratios
    double largest;   // of them, either way
};

// The series of one device.
struct study {
    const char *kind; // "host" or "cuda"
    struct gpu gpu;   // its profile
    size_t units;     // equal devices that share each round; 0: 1
    // A fresh child on one of them.
    int (*start)(struct bench **out, void *context, size_t unit, struct error *err);
    void *context;
    // Told after each round; NULL: nobody is.
    int (*round_over)(void *state, struct error *err);
    void *state;
    struct study_series *series;
    size_t count, room;
    uint32_t rounds;    // at most
    double deadline_s;  // monotonic: no new round after it; 0: none
    bool records;       // are timed, not libraries
    double margin;      // 0: the default for the device and size
    uint32_t open_most; // series at once; 0: as a gate
    uint32_t max_pairs; // of the first process; 0: the default
    uint32_t pairs;     // exactly so many in one process, decided or not: a recording; 0: gates
    FILE *csv;          // a row per gate; NULL: none
    FILE *samples;      // a row per gate and process with its times; NULL: none
    uint32_t rounds_done, processes;
    double wall_s; // with the starts of processes
};

// `kernel` shorter than KERNEL_NAME_TEXT.
void study_add(struct study *study, enum study_kind kind, const char *kernel, const char *base,
               const char *head, const struct problem *problem, size_t device);
// The heads of the two tables.
void study_csv_header(FILE *csv);
void study_samples_header(FILE *samples);

// -1: the device is gone or no bench can be started, or nothing is supported. A series that is
// wrong or dies counts as broken, and its process is replaced.
int study_run(struct study *study, struct error *err);

// Of a recording, where each gate is one process: how far the means of the processes lie apart, and
// how far their own pairs would scatter them. A line per series.
void study_print_processes(const struct study *study, FILE *out);

// What was found of a series, with means instead of sums.
struct study_result study_found(const struct study *study, const struct study_series *series);

#endif
