// SPDX-License-Identifier: Apache-2.0
//
// Recorded duets, and trials drawn from them.
#ifndef PLUMB_TESTS_HELPER_DUETS_H
#define PLUMB_TESTS_HELPER_DUETS_H

#include "tests/helpers/helper_random.h"

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
    size_t files; // read so far
    size_t lines; // of processes
    bool waiting; // for the other sample of a pair
    bool waiting_head;
    double waiting_pair, waiting_us;
};

// Adds a file of one of three kinds, told apart by its header; further columns and lines that begin
// with # are skipped.
//   shape,batch,variant,process,us_a,us_b: a line per pair in the order taken, us of a sample of
//     `batch` launches, the lines of a process together; variant "same": a build against itself;
//   kernel,problem,role,pair,launches,time_ns: what `bench time --base A --head A --csv FILE`
//   writes;
//     each file is one process of a build against itself.
//   kind,kernel,problem,launches,unit_ns,base_head_1e5: what `plumb study --samples` writes, a line
//     per process; of kernel "shape_0050" shape and problem name the shape, "slower 0050" the
//     variant, and kind aa is "same".
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
