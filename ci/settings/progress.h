// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while work goes on: one line that is rewritten on a terminal, plain lines (at
// most one a second, and every note) otherwise. Everything goes to stderr; stdout is for results.
#ifndef PLUMB_PROGRESS_H
#define PLUMB_PROGRESS_H

#include "model/base.h"

struct progress {
    bool terminal, quiet;
    size_t done, total;
    double started_s, shown_s; // monotonic
    size_t width;              // of the line on screen
};

void progress_init(struct progress *progress, bool quiet);
// Starts counting towards `total` steps.
void progress_begin(struct progress *progress, size_t total);
// Says what is being done now, with how much is done and the time left.
void progress_step(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
void progress_advance(struct progress *progress);
// A line that stays.
void progress_note(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
// Clears the rewritten line.
void progress_end(struct progress *progress);

double monotonic_s(void);

#endif
