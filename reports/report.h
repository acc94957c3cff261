// SPDX-License-Identifier: Apache-2.0
//
// Reports: pure functions from one run to one file each. A report is one file in formats/, and its
// name is its registration: formats/foo.c defines `const struct report report_foo`.
//
// Nothing here reads a clock, a store or the network: the same run gives the same bytes, so every
// report can be made again from what is stored. All text that came from outside (commit messages,
// logs, names) is hostile; formats pass it through clean.h and their own escaping.
#ifndef PLUMB_REPORTS_REPORT_H
#define PLUMB_REPORTS_REPORT_H

#include "model/buffer.h"
#include "model/history/event.h"
#include "model/result.h"

// A change found in a series' own past: the level is another one from points[index] on.
struct report_change {
    size_t index;     // into result.history.points
    double log_ratio; // size of the step, log(after / before)
    double log_evidence;
};

// Facts of one series from beyond this run. All optional.
struct report_series {
    double false_alarm_rate; // achieved on A/A pairs of this series, 0..1; NaN = not known
    const struct report_change *changes; // by index, ascending
    size_t change_count;
};

// Identical code compared with itself on one device, over all that is stored.
struct report_record {
    uint64_t gates, alarms;           // of studies
    uint64_t self_tests, self_alarms; // series of runs' self tests
};

// An event that is open: new, or confirmed, and nobody has decided yet (model/history/event.h).
struct report_event {
    const char *name; // by which `plumb events show` knows it
    enum event_state state;
    enum attribution cause;
    const char *what;     // "driver 570.86 -> 580.65", or NULL
    const char *sentence; // how much, where, and how many series more
    double log_ratio;     // the largest change
    struct commit commit; // the likeliest that it began with; without an id none is known
    size_t commits;       // it began with one of so many
    bool slowdown;        // event_is_slowdown(): a failure
    struct event_taken taken;
};
// The open events of the whole store, newest first, which a report tells beside its run.
struct report_events {
    bool known; // false: nobody has looked, and reports are silent about events
    const struct report_event *items;
    size_t count;
};

// Facts from beyond the run that a report may use; NULL or zeroes say "nothing". Borrowed during
// the call.
struct report_context {
    const struct report_series *series;  // one per run->results, or NULL
    const struct report_record *records; // one per run->devices, or NULL
    const char *commit_url;              // of a commit: its id in place of %s or behind; or NULL
    const char *site_url;                // where the nightly site is, or NULL
    struct report_events events;
};

struct report {
    const char *name; // as in `plumb report --format NAME`
    const char *file; // name of the file it is written to
    const char *why;  // one line: who reads it
    // Appends the report to `out`. Any run is valid, an empty one too. `context` may be NULL.
    void (*write)(struct buffer *out, const struct run *run, const struct report_context *context);
};

// All reports, sorted by name. report_find() gives NULL when there is none of that name.
extern const struct report *const reports[];
extern const size_t report_count;
const struct report *report_find(const char *name);

// Makes a folder for reports with the parents it lacks, and makes sure that a file can be written
// there: better before an hour of measuring than after it. What is in it stays as it is.
int report_directory(const char *directory, struct error *err);
// Writes every report to DIRECTORY/<report->file> so that a reader sees the old file or the new
// one, never half of it: temporary name, fsync, close checked, rename, fsync of the directory. The
// directory and its parents are made when they do not exist. Stops at the first that fails; the
// ones before it are complete.
int report_write_all(const char *directory, const struct run *run,
                     const struct report_context *context, struct error *err);

// Replaces one file, of any bytes, with the same care.
int report_replace_file(const char *path, const char *bytes, size_t length, struct error *err);
// Replaces one of many files that are made again if a power cut takes them: a kill never leaves
// half of it, but the call does not wait for the disk.
int report_put_file(const char *path, const char *bytes, size_t length, struct error *err);

#endif
