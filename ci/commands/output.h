// SPDX-License-Identifier: Apache-2.0
//
// What a command says and leaves behind: its answer as JSON, report files, annotations for GitHub
// when it runs there, and the last line on stdout, which always says which and why.
#ifndef PLUMB_OUTPUT_H
#define PLUMB_OUTPUT_H

#include "ci/gate/known.h"
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

// The same where JSON is asked for: the answer, or NULL, which stands for the table.
struct answer *answer_if(struct answer *answer, bool json, const char *rows);

// Begins the next row, whose members are written to what it returns.
struct json *answer_row(struct answer *answer);

// Ends the list; members of the whole are written to what it returns.
struct json *answer_whole(struct answer *answer);

// Ends the object, prints it, and frees what was kept of it.
void answer_end(struct answer *answer);

// The same; where the command failed before its first row, or `answer` is NULL, nothing is printed.
// Returns `status`.
int answer_leave(struct answer *answer, int status);

// ---- what a command leaves behind ----

// Collects for a run's reports what the context's store (if there is one), its policy (addresses)
// and the run's own pairs say beyond the run: false alarms of identical code on its devices, the
// smallest change each series could show. Lives in the arena.
int output_context(struct report_context *out, const struct run *run, const struct context *context,
                   struct arena *arena, struct error *err);

// Prints the verdicts that matter, writes every report under `directory` (NULL: none), prints the
// headline; that comes also when a report cannot be written, which is -1.
// With an `answer` nothing is printed: the run becomes one of its rows, as the report `json` has
// it.
int output_run(struct answer *answer, const struct run *run, const struct context *context,
               const char *directory, struct error *err);

// Makes the folder, and sees that reports can be written there; not through a link that came with
// what may be a stranger's commit.
int output_directory(const char *directory, struct error *err);

// Every report under `directory`, and no word.
int output_reports(const struct run *run, const struct context *context, const char *directory,
                   struct error *err);

// A figure that is a file of its own: ends what markup_new(MARKUP_XML) began, writes and frees it.
int output_figure(const char *path, struct markup *figure, struct error *err);

// The last line alone: which and why.
void output_headline(const struct run *run);

// One line of untrusted text.
void output_line(const char *text);

// The same for a run just made: `measured` is what its pipeline returned, and is returned. A
// verdict that was reached is told even when it could not be stored.
int output_measured(struct answer *answer, const struct run *run, int measured,
                    const struct context *context, const char *directory, struct error *err);

// Prints what a dry run would build and measure, or adds it as rows of `answer`. `compared`: of
// what is reused (struct measured), NULL for a gate.
void output_plan(struct answer *answer, const struct run *run, const bool *compared,
                 const struct context *context);

// The members that `answer` gets, for a command's --help.
#define OUTPUT_JSON                                                                                \
    "runs (each as `plumb report --format json` has it); of a dry run series (commit, kernel, "    \
    "problem, device, action: identical, known, compare or measure)"

// ==== a record's launches, for people ====

// Lines on standard output: problem, workspace, and each launch with what it is given.
// Text that a program or a file of a stranger brought: on one line, and nothing in it that a
// terminal obeys. Caller frees.
char *launch_clean(const char *text) __attribute__((returns_nonnull));

void launch_print_all(const struct record *record);

#endif
