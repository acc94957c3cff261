// SPDX-License-Identifier: Apache-2.0
//
// A running child; internal to runner/child/process.c and process_start.c.
#ifndef PLUMB_PROCESS_HANDLE_H
#define PLUMB_PROCESS_HANDLE_H

#include "runner/child/keeper.h"
#include "runner/child/log.h"

enum { LINE_ROOM = 65536 };

struct process {
    pid_t keeper;
    int input;  // socket to the child's 0; -1 when closed
    int output; // pipe from its 1; -1 at the end
    int errors; // pipe from its 2 (and 1 in process_run); -1 at the end
    int status; // from the keeper; -1 once the report is in
    double started_s;
    double deadline_s; // of the whole life; INFINITY without one
    bool timed_out, stopped;
    struct keeper_report report;
    struct log log;
    size_t used;   // bytes in `line`
    bool skipping; // inside an overlong line
    char line[LINE_ROOM];
};

// talks: lines over input and output; else input is empty and output goes to the log.
int process_open(struct process **out, const struct process_plan *plan, bool talks,
                 struct error *err);
double process_now_s(void);     // CLOCK_MONOTONIC
void process_close_fd(int *fd); // and makes it -1

#endif
