// SPDX-License-Identifier: Apache-2.0
//
// Whole gates, repeated: of libraries with themselves (A/A, every alarm is false) and of libraries
// that differ by work put in on purpose. One round = so many gates of every series, each with
// contents, an order of its pairs and an end of its own, in one set of fresh processes; the alarms
// of a round are confirmed together, in as few further processes as the policy wants. What a
// process adds by its places is drawn anew with each round, and, of records, with each gate.
#ifndef PLUMB_CI_STUDY_H
#define PLUMB_CI_STUDY_H

#include "ci/gate/part.h"
#include "ci/settings/context.h"
#include "model/gate/gate.h"
#include "runner/bench/measure.h"

#include <stdio.h>

struct study_series {
    const char *base, *head; // libraries: absolute paths
    // Kernel, problem, device and kind are given; the rest is the sum over all rounds, not the
    // mean.
    struct study_result sum;
    bool unsupported; // the kernel does not do this problem: left out
    bool record;      // is timed from records, not from libraries
    double size_ns;   // gate_size_ns() of its gates
    double squares;   // of the log ratios
    double largest;   // of them, either way
    double *pairs;    // of each gate that came to a verdict
    size_t timed, room;
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
    uint32_t gates;     // of each series in a round; 0: 1
    double deadline_s;  // monotonic: no new round after it, and of many gates none; 0: none
    double margin;      // 0: the default for the device and size
    uint32_t open_most; // series at once; 0: as a gate
    uint32_t max_pairs; // of the first process; 0: the default
    uint32_t pairs;     // exactly so many in one process, decided or not: a recording; 0: gates
    FILE *csv;          // a row per gate; NULL: none
    FILE *samples;      // a row per gate and process with its times; NULL: none
    uint32_t rounds_done, gates_done, processes; // gates: of each series
    double wall_s;                               // with the starts of processes
};

// The heads of the two tables.
void study_csv_header(FILE *csv);

void study_samples_header(FILE *samples);

// -1: the device is gone or no bench can be started, or nothing is supported. A series that is
// wrong or dies counts as broken, and its process is replaced.
int study_run(struct study *study, struct error *err);

// A line for each regime and kind of series: what its gates found, and what they cost. Of a
// recording, where each gate is one process, a line per series: how far the means of the processes
// lie apart, and how far their own pairs would scatter them.
void study_print_summary(const struct study *study, FILE *out);

// The result of a series, with means instead of sums.
struct study_result study_found(const struct study *study, const struct study_series *series);

// ---- sources ----
//
// What a study compares: the libraries of two directories, or the builds of two commits.

struct study_request {
    const char *base, *head;     // two directories, or two revisions; head NULL: only A/A
    const char *device;          // directories: "host" or "cuda"; commits: one of the policy's
    const char *kernel;          // GLOB: only these; NULL: all
    const char *const *problems; // commits: may be none, then the policy's
    size_t problem_count;
    uint32_t units;      // of directories: so many equal devices share each round; 0: 1
    bool faster;         // also the other way round
    const char *records; // of directories: a folder to record every kernel in; NULL: libraries
};

// A study per device, and the run that they are.
struct studied {
    struct run run;
    struct study *studies; // [run.device_count]
    // How their children are started:
    struct bench_plan plan;     // directories
    struct context *context;    // commits; borrowed
    const char *directories[3]; // of libraries and captures
    size_t directory_count;
    struct study_start *starts; // one per study
};

// The library of each name in both, absolute paths; every kernel of the device's kind.
int study_of_directories(struct studied *out, const struct study_request *request,
                         const char *bench, struct error *err);

// Builds both (context_open() has been called) as a gate does, under the base's policy.
int study_of_commits(struct studied *out, const struct study_request *request,
                     struct context *context, struct error *err);

void studied_free(struct studied *studied);

// ---- parts ----
//
// A study in parts: each task counts the gates of some series, and the counts of all are one study.

// Leaves this part's series in the study, and notes it in its run; a whole is left as it is.
void study_take_part(struct studied *studied, const struct work_part *part);

// The run of a study whose parts are in the store at `path`. *missing: the numbers of those that
// are not, "" when all are; in the run's arena. -1 as pieces_read(). The caller run_free()s it.
int study_join(struct run *out, const char **missing, uint32_t *parts, const char *path,
               struct error *err);

// Saves a joined study, unless the store has it already.
int study_save_joined(struct store *store, struct run *run, struct error *err);

#endif
