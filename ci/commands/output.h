// SPDX-License-Identifier: Apache-2.0
//
// The output of a command: its answer as JSON, report files, annotations for GitHub when it runs
// there, and the last line on stdout, which always gives the verdict and its reason.
#ifndef PLUMB_OUTPUT_H
#define PLUMB_OUTPUT_H

#include "ci/gate/task_list.h"
#include "ci/settings/context.h"
#include "model/record/record.h"
#include "reports/report.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"

// The answer of a command with --format json is one object. Its first member is the list of rows
// that the command's table has; the list is named for what its rows are. Members about the whole
// follow it. Names end in units (time_ns). Shares and changes are fractions (0.01 is 1 %). A value
// that is not known is null. Each command's `json` (ci/command.h) lists the members, and so does
// its --help. Members may be added and are never renamed.
struct answer {
    struct buffer text;
    struct json json;
    size_t rows;
    bool in_row, whole;
};

// Begins the object and the list `rows`.
void answer_begin(struct answer *answer, const char *rows);

// Does what answer_begin() does if JSON is asked for, and returns the answer; else returns NULL,
// which stands for the table.
struct answer *answer_if(struct answer *answer, bool json, const char *rows);

// Begins the next row, and returns the writer for its members.
struct json *answer_row(struct answer *answer);

// Ends the list, and returns the writer for members about the whole.
struct json *answer_whole(struct answer *answer);

// Ends the object, prints it, and frees its text.
void answer_end(struct answer *answer);

// Does what answer_end() does, but prints nothing where the command failed before its first row, or
// `answer` is NULL. Returns `status`.
int answer_leave(struct answer *answer, int status);

// ---- what a command leaves behind ----

// Collects the facts that a run's reports show beside the run. They come from the context's store
// (if there is one), from its policy (addresses), and from the run's own pairs: how often identical
// code raised an alarm on its devices, and the smallest change that each series could show. The
// result lives in the arena.
int output_context(struct report_context *out, const struct run *run, const struct context *context,
                   struct arena *arena, struct error *err);

// Prints the verdicts that matter, writes every report under `directory` (NULL: none), and prints
// the headline. Returns -1 if a report could not be written; the headline is printed all the same.
// With an `answer` nothing is printed; the run becomes one of the answer's rows, in the form of the
// report `json`.
int output_run(struct answer *answer, const struct run *run, const struct context *context,
               const char *directory, struct error *err);

// Makes the folder for reports and checks that files can be written there. Refuses a symbolic link
// that an untrusted commit may have brought.
int output_directory(const char *directory, struct error *err);

// Writes every report under `directory`, and prints nothing.
int output_reports(const struct run *run, const struct context *context, const char *directory,
                   struct error *err);

// Ends a figure that markup_new(MARKUP_XML) began, writes it to its own file and frees it.
int output_figure(const char *path, struct markup *figure, struct error *err);

// Prints only the last line: the verdict and its reason.
void output_headline(const struct run *run);

// Prints one line of untrusted text.
void output_line(const char *text);

// Does what output_run() does for a run that was just made. `measured` is the status of its
// pipeline, and is returned. A verdict that was reached is printed even when it could not be
// stored.
int output_measured(struct answer *answer, const struct run *run, int measured,
                    const struct context *context, const char *directory, struct error *err);

// Prints which series a dry run would build and measure, or adds them as rows of `answer`.
// `compared` concerns reused series (see struct measured); it is NULL for a gate.
void output_plan(struct answer *answer, const struct run *run, const bool *compared,
                 const struct context *context);

// The members that these functions give an `answer`, for a command's --help.
#define OUTPUT_JSON                                                                                \
    "runs (each as `plumb report --format json` has it); of a dry run series (commit, kernel, "    \
    "problem, device, action: identical, known, compare or measure)"

// ==== a record's launches, printed for people ====

// Prints a record: problem, workspace, and each launch with its arguments.
void launch_print_all(const struct record *record);

#endif
