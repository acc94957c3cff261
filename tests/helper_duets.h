// SPDX-License-Identifier: Apache-2.0
//
// Recorded duets, and trials drawn from them.
#ifndef PLUMB_TESTS_HELPER_DUETS_H
#define PLUMB_TESTS_HELPER_DUETS_H

#include "helper_random.h"

enum { DUET_PROCESSES = 64, DUET_SERIES = 256 };

struct duet_process {
    double *us_a, *us_b;
    size_t count;
};

struct duet_series {
    char shape[64], variant[32];
    double batch;
    struct duet_process processes[DUET_PROCESSES];
    size_t count;
    size_t last; // process number read last
};

struct duets {
    struct duet_series series[DUET_SERIES];
    size_t count;
};

// Reads one line per pair with at least the columns shape,batch,variant,process,us_a,us_b: times of
// a sample of `batch` launches, pairs in the order taken, the lines of a process together. Lines
// that begin with # are skipped. Variant "same" is a build against itself.
int duets_read(struct duets *out, const char *path, struct error *err);
void duets_free(struct duets *data); // the struct too

// One trial: all pairs, process after process; those of process k end at end[k].
struct draw {
    double *base, *head;
    size_t end[DUET_PROCESSES];
    size_t processes;
};
struct draw draw_new(const struct duet_series *series);
void draw_free(struct draw *draw);
// Takes the processes in random order, begins each at a random pair (wrapping round, so that
// correlation stays), swaps the builds of a whole process by a coin if both are the same, and
// multiplies the head's times by 1 + change. `separate`: the head's times are those of the next
// process. Trials share the recorded processes: rates over them are over resampled data.
void draw_trial(struct draw *out, const struct duet_series *series, double change, bool separate,
                struct random *random);

#endif
