// SPDX-License-Identifier: Apache-2.0
//
// What every report says of a series, worked out once: times, change, actual/predicted, whether it
// fails the run, in which order people want to read it, and how numbers are written; and the words
// for what is not a series: a commit that does not build, and open events.
#ifndef PLUMB_REPORTS_VIEW_H
#define PLUMB_REPORTS_VIEW_H

#include "reports/report.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"

// How a verdict counts for a machine that knows pass, fail, error and skip.
enum outcome {
    OUTCOME_BROKEN,    // error
    OUTCOME_REGRESSED, // failure: slower, and the kernel itself is why
    OUTCOME_UNDECIDED, // skipped: no conclusion, not measured, or a reason outside this change
    OUTCOME_PASSED
};

struct view {
    const struct result *result;
    const struct report_series *extra; // never NULL
    const struct device *device;       // never NULL
    size_t index;                      // of the result in the run
    char problem[PROBLEM_TEXT];        // canonical, for other tools
    double base_ns, head_ns;           // NaN when there is no time
    double base_hz, head_hz;           // SM clock, NaN when unknown
    struct interval change;            // head / base - 1, NaN when none
    double actual_predicted;           // NaN when there is no prediction or no time
    double throttled;                  // share of the head's samples with a throttle reason, 0..1
    uint8_t throttle;                  // the reasons seen, enum throttle bits
    double detectable;                 // smallest relative change that would be found, NaN unknown
    double mean, p95; // head over base less 1, of the mean and of the 95th percentile; NaN without
    enum outcome outcome;
    bool is_environment; // slower or faster, but not because of the kernel
};

// One per result, worst first: outcome, then verdict, then size of the change. The caller frees.
struct view *view_all(const struct run *run, const struct report_context *context);

// The verdict's sentence, or one made from its numbers when it has none. Untrusted text.
void view_sentence(struct buffer *out, const struct view *view);
// Where a commit is shown: `url` with the id behind it, appended to `out`. False, with nothing
// appended, when there is no http(s) address or the id is not hexadecimal.
bool view_commit_link(struct buffer *out, const char *url, const char *id);
// The short id as HTML, linked where view_commit_link() has a link.
void view_commit(struct markup *m, const char *url, const char *id);
// The same without the series' name in front, for places that show it beside.
void view_reason(struct buffer *out, const struct view *view);
// The reasons of a verdict that its sentence gives, without the size and the odds: for places that
// show these beside it.
void view_why(struct buffer *out, const struct view *view);
// Commands to type next after a gate, for its worst series that moved (NULL: none did): repeat it,
// find the commit that did it, accept it; those that do not apply stay empty. To be copied into a
// shell: text of a stranger's file is one word there.
struct view_commands {
    struct buffer again, bisect, accept;
};
void view_commands(struct view_commands *out, const struct run *run, const struct view *worst);
void view_commands_free(struct view_commands *commands);
// Whether base and head run the same machine code.
bool view_same_code(const struct view *view);
// Whether the result is slower or faster, by a size that is known.
bool view_has_moved(const struct view *view);
// Whether base and head run the same machine code, so that nothing was measured.
bool view_is_identical(const struct view *view);
// Why the kernel has no time, or the kernel's note; "" if nothing. Untrusted text.
const char *view_detail(const struct view *view);
// "since": the commit that the last change began with, NULL when not known. Points into the run. Of
// a gate it is the head, if the head has no other parent than the base.
const char *view_since(const struct view *view, const struct run *run);

enum { VIEW_TEXT = 64 };
void view_time(char out[VIEW_TEXT], double time_ns); // "182.4 µs"; "-" for NaN
// The unit that suits an axis up to this time, with a space in front, and what to multiply by.
const char *view_unit(double time_ns, double *factor);
void view_percent(char out[VIEW_TEXT], double relative);           // "+3.21 %"
void view_interval(char out[VIEW_TEXT], struct interval relative); // its bounds; "-" for NaN
// Mean and 95th percentile, "+1.20, +3.51 %" or "-": what launches that are slow now and then do.
void view_slow(char out[VIEW_TEXT], const struct view *view);
// A metric's values, by enum sample_role, with its unit, and what counts as the same; "-" for what
// there is not.
void view_metric(char values[2][VIEW_TEXT], char margin[VIEW_TEXT],
                 const struct metric_result *metric);
void view_clock(char out[VIEW_TEXT], double clock_hz); // "1.583 GHz"
// A prediction's time, model and bound, and where 95 of 100 measured times over predicted ones lie;
// or why there is none. `actual_predicted` NaN: it is not known.
void view_prediction(struct buffer *out, const struct prediction *p, double actual_predicted);
// "12440 B", "3.26 s"; "-" for what is not known.
void view_metric_value(char out[VIEW_TEXT], double value, const char *unit);
void view_date(char out[VIEW_TEXT], int64_t time_s);     // "2026-11-21 03:04 UTC"
void view_short_id(char out[VIEW_TEXT], const char *id); // first 10 digits
const char *view_symbol(enum verdict_kind kind);         // a sign that needs no colour
const char *view_conclusion(enum conclusion conclusion); // "regression"
void view_throttle(char out[VIEW_TEXT], uint8_t bits);   // "power, thermal" or "none"

// ---- a commit that does not build ----
// Which one, what the tools said first, where all of it is. One row for the build, whatever it
// holds: no kernel is to blame. Of a base that does not build it says that there is nothing to
// compare with.

// "commit 0123456789 does not build: exit status 1"; nothing where it builds. Untrusted text.
void unbuilt_sentence(struct buffer *out, const struct run *run, enum sample_role role);
// "kernels/plain.c:34: error: ..."
void unbuilt_error(struct buffer *out, const struct build_error *error);
// All of it: the sentence, a line for each error, the log's path.
void unbuilt_text(struct buffer *out, const struct run *run, enum sample_role role);

// ---- open events ----

// "2 events are open, 1 of them a kernel that is slower".
void open_events_title(struct buffer *out, const struct report_events *events);
// "kernel", or whose it was; and what it was, where the event's sentence does not say so.
void open_event_cause(struct buffer *out, const struct report_event *event);
// Who is on an event, wherever it is told: as the end of a sentence ("; A. Author is on it since
// 2026-11-21"; nothing while nobody is), as members of JSON and as cells of CSV under TAKEN_HEADS.
// Untrusted text; in CSV and JSON without control bytes.
#define TAKEN_HEADS "taken_by,taken_s,taken_why"
void taken_text(struct buffer *out, const struct event_taken *taken);
void taken_json(struct json *json, const struct event_taken *taken);
void taken_csv(struct csv_line *line, const struct event_taken *taken);

// ==== changes, for people in a hurry ====
//
// What changed in a run, as Markdown for people in a hurry: one line a kernel, with its worst
// problem, and the commands that repeat, find or accept it.

// One kernel and verdict: its worst series, and how many say the same.
struct kernel_verdict {
    const struct view *worst;
    size_t series;
};

// Finds the series that are not simply the same; `out` has room for `count` of them. Views come
// worst first.
size_t changes_find(struct kernel_verdict *out, const struct view *views, size_t count);
// Writes a table of at most 20 rows.
void changes_table(struct buffer *out, const struct kernel_verdict *lines, size_t count);
// A folded list of commands, for a gate.
void changes_next(struct buffer *out, const struct run *run, const struct kernel_verdict *lines,
                  size_t count);
// Writes what the run had to do without, a paragraph each behind `before`, and at most `limit`
// bytes of a reason.
void changes_lacks(struct buffer *out, const struct run *run, const char *before, size_t limit);
// "base..head", linked to the forge's comparison where context->commit_url ends in "/commit/%s".
void changes_range(struct buffer *out, const struct run *run, const struct report_context *context);

#endif
