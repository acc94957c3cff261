// SPDX-License-Identifier: Apache-2.0
//
// The progress that a person sees while work goes on. On a terminal it is one line that is
// rewritten and never longer than the terminal is wide. Elsewhere it is plain lines: at most one
// per second, and every note. Everything goes to stderr; stdout is for results. Control bytes in a
// line become spaces.
#ifndef PLUMB_PROGRESS_H
#define PLUMB_PROGRESS_H

#include "model/base.h"

struct progress {
    bool terminal, quiet;
    double started_s, shown_s; // monotonic
    double left_s;             // NaN: not known
    double share;              // the share of the work that is done, 0..1; it never decreases
    size_t width;              // columns of the line on the screen
};

void progress_init(struct progress *progress, bool quiet);
// Begins work whose duration is not known yet.
void progress_begin(struct progress *progress);
// Sets the seconds that are left. With the seconds spent they give the share that is done. NaN: not
// known.
void progress_left(struct progress *progress, double left_s);
// Whether a step would be shown now. Ask before computing a step that is expensive.
bool progress_due(const struct progress *progress);
// Shows what is being done now, with the share that is done and the time left.
void progress_step(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
// Prints a line that stays.
void progress_note(struct progress *progress, const char *format, ...) PRINTF_LIKE(2, 3);
// Clears the rewritten line.
void progress_end(struct progress *progress);

// Writes the line of a step as it is shown, at most `columns` characters wide; 0: any width.
// Returns its number of columns.
size_t progress_line(char *out, size_t size, const struct progress *progress, size_t columns,
                     const char *what);

double monotonic_s(void);

// ==== pace ====
//
// Estimates how long the rest of the work takes: a line through the series that this run has
// measured, from a series' size to its seconds. The line carries the cost of every series whatever
// its size (opening, checking, flushing caches), and the added cost of a long one.

struct pace {
    double count, size, size2, seconds, product; // number of points, and sums over them
};

// Adds a point: a series of this size took, or is expected to take, so many seconds.
void pace_add(struct pace *pace, double size, double seconds);

// The expected seconds of a series of this size; NaN before anything is known.
double pace_expect(const struct pace *pace, double size);

// ==== untrusted text ====
//
// Lines for people, on a terminal or in a CI service's log, made of untrusted text.

// Makes one line without terminal escapes and control bytes (reports/text/clean.h). It also removes
// what the log readers of GitHub and Azure take for commands: "::" at the beginning of a line, and
// "##" anywhere. These could hide words, or end commands that plumb itself gives. The caller frees.
char *plain_line(const char *text) __attribute__((returns_nonnull));

#endif
