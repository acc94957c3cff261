// SPDX-License-Identifier: Apache-2.0
//
// Reports: pure functions from one run to one file each. A report is one file in formats/, whose
// name registers it: formats/foo.c defines `const struct report report_foo`.
//
// No report reads a clock, a store or the network. The same run gives the same bytes, so every
// report can be made again from what is stored. All text from outside (commit messages, logs,
// names) is hostile; formats pass it through clean.h and their own escaping.
#ifndef PLUMB_REPORTS_REPORT_H
#define PLUMB_REPORTS_REPORT_H

#include "model/buffer.h"
#include "model/history/event.h"
#include "model/result.h"

// A change in a series' own past: from points[index] on, the level is another one.
struct report_change {
    size_t index;     // into result.history.points
    double log_ratio; // log(after / before)
    double log_evidence;
};

// Facts about one series that the run itself does not have. All of them are optional.
struct report_series {
    double false_alarm_rate; // measured with A/A pairs of this series, 0..1; NaN: not known
    const struct report_change *changes; // sorted by index
    size_t change_count;
};

// How identical code compared with itself on one device, over everything stored.
struct report_record {
    uint64_t gates, alarms;           // counted over studies
    uint64_t self_tests, self_alarms; // series of the runs' self tests, and alarms among them
};

// An event that is open: it is new or confirmed, and nobody has decided about it
// (model/history/event.h).
struct report_event {
    const char *name; // the name that `plumb events show` takes
    enum event_state state;
    enum attribution cause;
    const char *what;     // "driver 570.86 -> 580.65", or NULL
    const char *sentence; // how large it is, where, and how many more series it touches
    double log_ratio;     // the largest change
    struct commit commit; // the most likely commit to have begun it; without an id none is known
    size_t commits;       // the number of commits of which one began it
    bool slowdown;        // event_is_slowdown() is true of it, so it counts as a failure
    struct event_taken taken;
};
// The open events of the whole store, newest first, which a report lists beside its run.
struct report_events {
    bool known; // false: nobody has looked for events, so reports do not mention them
    const struct report_event *items;
    size_t count;
};

// Facts that a report may use and that the run itself does not have. NULL and zeroes mean that
// there are none. They are borrowed during the call.
struct report_context {
    const struct report_series *series;  // one per run->results, or NULL
    const struct report_record *records; // one per run->devices, or NULL
    const char *commit_url;              // address of a commit's page: the id replaces %s, or is
                                         // appended; or NULL
    const char *site_url;                // address of the nightly site, or NULL
    struct report_events events;
};

struct report {
    const char *name; // the name in `plumb report --format NAME`
    const char *file; // name of the file that it is written to
    const char *why;  // one line that says who reads it
    // Appends the report to `out`. Every run is valid, even an empty one. `context` may be NULL.
    void (*write)(struct buffer *out, const struct run *run, const struct report_context *context);
};

// All reports, sorted by name. report_find() returns NULL for an unknown name.
extern const struct report *const reports[];
extern const size_t report_count;
const struct report *report_find(const char *name);

// Makes a folder for reports, with missing parents, and checks that a file can be written there.
// Call it before measuring for an hour, not after. The folder's content stays as it is.
int report_directory(const char *directory, struct error *err);
// Writes every report to DIRECTORY/<report->file>. A reader sees the old file or the complete new
// one: each is written under a temporary name, synced, closed with a check, and renamed; then the
// directory is synced. The directory and its parents are made if they are missing. Stops at the
// first report that fails; those before it are complete.
int report_write_all(const char *directory, const struct run *run,
                     const struct report_context *context, struct error *err);

// Replaces one file, with any bytes, in the same careful way.
int report_replace_file(const char *path, const char *bytes, size_t length, struct error *err);
// Replaces one of many files that can be made again after a power cut. A kill never leaves half a
// file, but the call does not wait for the disk.
int report_put_file(const char *path, const char *bytes, size_t length, struct error *err);

#endif
