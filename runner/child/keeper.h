// SPDX-License-Identifier: Apache-2.0
//
// The small process between plumb and each child it runs (see process.h for why). Internal to
// runner/child/process.c.
#ifndef PLUMB_KEEPER_H
#define PLUMB_KEEPER_H

#include "runner/child/process.h"

#include <sys/types.h>

// What the keeper writes into its status pipe when the child has ended.
struct keeper_report {
    int status; // as waitpid() gives it
    enum process_excess excess;
    double cpu_s;
    uint64_t memory_bytes;
};

// What the child could not do before its exec, with errno; written into the start pipe.
struct keeper_failure {
    int code;
    char step[24];
};

struct keeper_job {
    const char *program; // absolute or relative path, already looked up
    const struct process_plan *plan;
    uint64_t process_limit; // RLIMIT_NPROC, 0: none
    int in, out, err;       // the child's 0, 1, 2
    int status, start;      // write ends
    pid_t parent;           // of the keeper
};

// Runs in the forked keeper and never returns. All signals are blocked when it is called.
_Noreturn void keeper_run(const struct keeper_job *job);

#endif
