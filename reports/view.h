// SPDX-License-Identifier: Apache-2.0
//
// The facts that every report gives about a series, computed once: times, change, actual/predicted,
// whether it fails the run, the order in which people want to read it, and how numbers are written.
// Then the words for two things that are no series: a commit that does not build, and open events.
#ifndef PLUMB_REPORTS_VIEW_H
#define PLUMB_REPORTS_VIEW_H

#include "reports/report.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"

// How a verdict counts for a machine that knows pass, fail, error and skip.
enum outcome {
    OUTCOME_BROKEN,    // error
    OUTCOME_REGRESSED, // failure: it is slower, and the kernel is the reason
    OUTCOME_UNDECIDED, // skipped: it is undecided or not measured, or the reason lies outside this
                       // change
    OUTCOME_PASSED
};

struct view {
    const struct result *result;
    const struct report_series *extra; // never NULL
    const struct device *device;       // never NULL
    size_t index;                      // the index of the result in the run
    char problem[PROBLEM_TEXT];        // canonical, for other tools
    double base_ns, head_ns;           // NaN where there is no time
    double base_hz, head_hz;           // SM clock; NaN: not known
    struct interval change;            // head / base - 1; NaN: none
    double actual_predicted;           // NaN when there is no prediction or no time
    double throttled;                  // the share of the head's samples with a throttle reason,
                                       // 0..1
    uint8_t throttle;                  // all throttle reasons of these samples, enum throttle bits
    double detectable;                 // the smallest relative change that would be found; NaN: not
                                       // known
    double mean, p95; // head / base - 1 of the mean and of the 95th percentile; NaN where not known
    enum outcome outcome;
    bool is_environment; // slower or faster for a reason other than the kernel
};

// Makes a view of each result, worst first: by outcome, then verdict, then size of the change. The
// caller frees.
struct view *view_all(const struct run *run, const struct report_context *context);

// Appends the verdict's sentence; if it has none, one is made from its numbers. Untrusted text.
void view_sentence(struct buffer *out, const struct view *view);
// Appends the address of a commit's page: `url` with the id in it. Returns false and appends
// nothing if `url` is no http(s) address or the id is not hexadecimal.
bool view_commit_link(struct buffer *out, const char *url, const char *id);
// Writes the short id as HTML, with a link if view_commit_link() gives one.
void view_commit(struct markup *m, const char *url, const char *id);
// Appends the sentence without the series' name, for places that show the name beside it.
void view_reason(struct buffer *out, const struct view *view);
// Appends only the sentence's reasons, without the size and the odds, for places that show those
// beside it.
void view_why(struct buffer *out, const struct view *view);
// The commands that a person may type after a gate, for its worst series that moved (NULL: none
// moved): repeat it, find the commit, accept it. A command that does not apply stays empty. The
// commands are to be copied into a shell, so an untrusted text is quoted into one word.
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
// Says why the kernel has no time, or gives the kernel's note; "" if there is neither. Untrusted
// text.
const char *view_detail(const struct view *view);
// The commit that the last change began with, NULL: not known. For a gate it is the head, if the
// base is the head's only parent. Points into the run.
const char *view_since(const struct view *view, const struct run *run);

enum { VIEW_TEXT = 64 };
void view_time(char out[VIEW_TEXT], double time_ns);     // "182.4 µs"; "-" for NaN
void view_percent(char out[VIEW_TEXT], double relative); // "+3.21 %"
// The interval's ends; "-" for NaN.
void view_interval(char out[VIEW_TEXT], struct interval relative);
// Writes the changes of the mean and of the 95th percentile, "+1.20, +3.51 %", or "-". They show
// launches that are slow now and then.
void view_slow(char out[VIEW_TEXT], const struct view *view);
// Writes a metric's values with its unit, by enum sample_role, and the margin within which they
// count as the same; "-" for a value that does not exist.
void view_metric(char values[2][VIEW_TEXT], char margin[VIEW_TEXT],
                 const struct metric_result *metric);
void view_clock(char out[VIEW_TEXT], double clock_hz); // "1.583 GHz"
// Appends a prediction's time, model and bound, and the range in which 95 of 100 ratios of measured
// to predicted time lie; or why there is no prediction. `actual_predicted` NaN: not known.
void view_prediction(struct buffer *out, const struct prediction *p, double actual_predicted);
// Writes a value with its unit, such as "12440 B" or "3.26 s"; "-" if it is not known.
void view_metric_value(char out[VIEW_TEXT], double value, const char *unit);
void view_date(char out[VIEW_TEXT], int64_t time_s);     // "2026-11-21 03:04 UTC"
void view_short_id(char out[VIEW_TEXT], const char *id); // first 10 digits
// A sign that says the verdict without colour.
const char *view_symbol(enum verdict_kind kind);
const char *view_conclusion(enum conclusion conclusion); // "regression"
void view_throttle(char out[VIEW_TEXT], uint8_t bits);   // "power, thermal" or "none"

// ---- a commit that does not build ----
//
// Which commit it is, the first error that the tools printed, and where the log is. It is one row
// for the build, whatever kernels it holds, because no kernel is to blame. If the base does not
// build, the text says that there is nothing to compare with.

// Appends a sentence such as "commit 0123456789 does not build: exit status 1"; nothing if the
// commit builds. Untrusted text.
void unbuilt_sentence(struct buffer *out, const struct run *run, enum sample_role role);
// Appends an error such as "kernels/plain.c:34: error: ...".
void unbuilt_error(struct buffer *out, const struct build_error *error);
// Appends everything: the sentence, a line for each error, and the log's path.
void unbuilt_text(struct buffer *out, const struct run *run, enum sample_role role);

// ---- open events ----

// Appends a title such as "2 events are open, 1 of them a kernel that is slower".
void open_events_title(struct buffer *out, const struct report_events *events);
// Appends the cause ("kernel", or what else was to blame). What happened follows if the event's
// sentence does not say it.
void open_event_cause(struct buffer *out, const struct report_event *event);
// Who looks into an event, in each form: as the end of a sentence ("; A. Author is on it since
// 2026-11-21", or nothing if nobody does), as members of JSON, and as CSV cells under TAKEN_HEADS.
// The text is untrusted; in CSV and JSON it has no control bytes.
#define TAKEN_HEADS "taken_by,taken_s,taken_why"
void taken_text(struct buffer *out, const struct event_taken *taken);
void taken_json(struct json *json, const struct event_taken *taken);

// ==== changes, for people in a hurry ====
//
// What changed in a run, as short Markdown: one line for each kernel, with its worst problem, and
// the commands that repeat, find or accept the change.

// A kernel and a verdict: its worst series, and how many series have that verdict.
struct kernel_verdict {
    const struct view *worst;
    size_t series;
};

// Finds the series whose verdict is not simply "same". `out` has room for `count` of them. Views
// come worst first.
size_t changes_find(struct kernel_verdict *out, const struct view *views, size_t count);
// Writes them as a table of at most 20 rows.
void changes_table(struct buffer *out, const struct kernel_verdict *lines, size_t count);
// Writes a folded list of commands after a gate.
void changes_next(struct buffer *out, const struct run *run, const struct kernel_verdict *lines,
                  size_t count);
// Writes what the run lacked. Each lack is a paragraph that begins with `before`, with at most
// `limit` bytes of its reason.
void changes_lacks(struct buffer *out, const struct run *run, const char *before, size_t limit);
// Writes "base..head", with a link to the forge's comparison if context->commit_url ends in
// "/commit/%s".
void changes_range(struct buffer *out, const struct run *run, const struct report_context *context);

#endif
