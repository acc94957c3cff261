// SPDX-License-Identifier: Apache-2.0
//
// The progress that a person sees while work goes on: one line that is rewritten on a terminal and
// never longer than it is wide, plain lines (at most one a second, and every note) otherwise.
// Everything goes to stderr; stdout is for results. Control bytes in a line become spaces.
#ifndef PLUMB_PROGRESS_H
#define PLUMB_PROGRESS_H

#include "model/base.h"

struct progress {
    bool terminal, quiet;
    double started_s, shown_s; // monotonic
    double left_s;             // NaN: not known
    double share;              // of the work that is done, 0..1: it never goes back
    size_t width;              // columns of the line on screen
};

void progress_init(struct progress *progress, bool quiet);
// Work begins whose end is not known yet.
void progress_begin(struct progress *progress);
// Sets the seconds that are left: with those spent, the share that is done. NaN: no idea.
void progress_left(struct progress *progress, double left_s);
// Whether a step said now would be shown, for a step that is costly to work out.
bool progress_due(const struct progress *progress);
// Says what is being done now, with the share that is done and the time left.
void progress_step(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
// A line that stays.
void progress_note(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
// Clears the rewritten line.
void progress_end(struct progress *progress);

// The line of a step as it is shown, at most `columns` characters; 0: as long as it is. Returns how
// many columns it has.
size_t progress_line(char *out, size_t size, const struct progress *progress, size_t columns,
                     const char *what);

double monotonic_s(void);

// ==== text that may be a stranger's ====
//
// Lines for people, on a terminal or in the log of a CI service, of text that may be a stranger's.

// One line without terminal escapes and control bytes (reports/text/clean.h), and without what the
// log readers of GitHub and Azure take for a command: "::" where a line begins, "##" anywhere. They
// could hide words, or end the commands that we give ourselves. The caller frees.
char *plain_line(const char *text) __attribute__((returns_nonnull));

#endif
