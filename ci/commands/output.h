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

// The answer of a command with --format json: one object, whose first member is the list of the
// rows that its table has, named for what they are; members of the whole come after it. Names end
// in units (time_ns), shares and changes are fractions (0.01 is 1 %), null is not known. Which
// members there are stands in each command's `json` (ci/command.h), and so in its --help. Members
// are added, never renamed.
struct answer {
    struct buffer text;
    struct json json;
    size_t rows;
    bool in_row, whole;
};

// Begins the object and the list `rows`.
void answer_begin(struct answer *answer, const char *rows);

// answer_begin() where JSON is asked for; returns the answer, or NULL, which stands for the table.
struct answer *answer_if(struct answer *answer, bool json, const char *rows);

// Begins the next row, and returns the writer for its members.
struct json *answer_row(struct answer *answer);

// Ends the list, and returns the writer for members of the whole.
struct json *answer_whole(struct answer *answer);

// Ends the object, prints it, and frees the text that was kept of it.
void answer_end(struct answer *answer);

// answer_end(), but prints nothing where the command failed before its first row, or `answer` is
// NULL. Returns `status`.
int answer_leave(struct answer *answer, int status);

// ---- what a command leaves behind ----

// Collects facts for a run's reports from the context's store (if there is one), its policy
// (addresses) and the run's own pairs: false alarms of identical code on its devices, the smallest
// change that each series could show. Lives in the arena.
int output_context(struct report_context *out, const struct run *run, const struct context *context,
                   struct arena *arena, struct error *err);

// Prints the verdicts that matter, writes every report under `directory` (NULL: none), prints the
// headline, also when a report cannot be written, which is -1.
// With an `answer` nothing is printed: the run becomes one of the answer's rows, in the form of the
// report `json`.
int output_run(struct answer *answer, const struct run *run, const struct context *context,
               const char *directory, struct error *err);

// Makes the folder, and checks that reports can be written there; refuses a link that came with a
// commit that may be a stranger's.
int output_directory(const char *directory, struct error *err);

// Writes every report under `directory`, and prints nothing.
int output_reports(const struct run *run, const struct context *context, const char *directory,
                   struct error *err);

// Ends a figure that markup_new(MARKUP_XML) began, writes it to a file of its own and frees it.
int output_figure(const char *path, struct markup *figure, struct error *err);

// Prints the last line alone: the verdict and its reason.
void output_headline(const struct run *run);

// Prints one line of untrusted text.
void output_line(const char *text);

// output_run() for a run just made: `measured` is its pipeline's status, and is returned. A verdict
// that was reached is told even when it could not be stored.
int output_measured(struct answer *answer, const struct run *run, int measured,
                    const struct context *context, const char *directory, struct error *err);

// Prints which series a dry run would build and measure, or adds them as rows of `answer`.
// `compared`: see struct measured; it concerns reused series, NULL for a gate.
void output_plan(struct answer *answer, const struct run *run, const bool *compared,
                 const struct context *context);

// The members that `answer` gets, for a command's --help.
#define OUTPUT_JSON                                                                                \
    "runs (each as `plumb report --format json` has it); of a dry run series (commit, kernel, "    \
    "problem, device, action: identical, known, compare or measure)"

// ==== a record's launches, for people ====

// Makes one line of text that a program or a file of a stranger brought, with nothing in it that a
// terminal obeys. Caller frees.
char *launch_clean(const char *text) __attribute__((returns_nonnull));

// Prints a record: problem, workspace, and each launch with its arguments.
void launch_print_all(const struct record *record);

#endif
