// SPDX-License-Identifier: Apache-2.0
//
// The store: one SQLite file with every run, measurement, prediction and verdict. README.md beside
// this file draws the tables and says what a row of each is.
//
// Facts (commits, builds, measurements, calibrations) are inserted once and never rewritten.
// Predictions and verdicts are kept with the model and version that made them, and may be made
// again. Everything has a content key, so saving twice or merging twice changes nothing.
//
// Durability: each store_save_... call is one transaction, on disk when it returns. A process
// killed at any instant, or a full disk, loses nothing that was saved before. A call waits for
// writers of other processes (STORE_WAIT_MS), then fails with a line that says so.
//
// A file from elsewhere is hostile: store_open() refuses any file whose schema is not exactly ours,
// and each value is checked when it is read.
//
// A handle belongs to one thread. Strings that a function returns live in the arena named in its
// call. Functions return 0, or -1 with one line in `err`; `out` parameters are untouched on
// failure.
// Times ending in _s are seconds since 1970, UTC.
#ifndef PLUMB_STORE_H
#define PLUMB_STORE_H

#include "baselines/epoch.h"
#include "model/buffer.h"
#include "model/fields.h"
#include "model/history/event.h"
#include "model/result.h"

#include <stdio.h>

enum {
    STORE_WAIT_MS = 10000
};                                   // how long a writer waits for another one if the caller sets
                                     // no other time
enum { STORE_UID_TEXT = 33 };        // room for a run's uid: 128 random bits, hexadecimal
enum { STORE_ALL_RUNS = RUN_KINDS }; // where a kind is asked for: runs of any kind

struct store;

// The version of SQLite that is loaded.
const char *store_library(void);

// STORE_READ never changes the file. STORE_WRITE creates a missing file (and its folder), and
// migrates an older store to this program's version, one transaction per migration.
enum store_mode { STORE_READ, STORE_WRITE };
int store_open(struct store **out, const char *path, enum store_mode mode, struct error *err);
// Opens another handle on the same file for another thread, because a handle belongs to one thread.
// Fails while a batch is open, because the new handle would not see the batch's rows.
int store_open_beside(struct store **out, const struct store *store, struct error *err);
void store_close(struct store *store); // NULL is allowed
const char *store_path(const struct store *store);

// Makes one transaction of many saves, which is faster, and keeps all of them or none. Batches do
// not nest. Everything saved since store_begin_batch() is lost unless store_commit_batch() follows.
int store_begin_batch(struct store *store, struct error *err);
int store_commit_batch(struct store *store, struct error *err);
void store_cancel_batch(struct store *store);

// ---- runs ----

// Inserts the run (kind, times, versions, policy, commits, devices; not its results) and sets
// run->id. The run needs at least one device; a plain run has base.id "".
int store_begin_run(struct store *store, struct run *run, struct error *err);

// Finds an interrupted run to go on with: it began like this run (kind, commits, toolchains,
// devices, tool version, policy), is not finished, and no other open handle holds it. The caller
// sets run->id to *run_id, and skips the results that store_find_result() finds. The run belongs to
// this handle until store_close().
int store_find_unfinished(int64_t *run_id, bool *found, struct store *store, const struct run *like,
                          struct error *err);

// Saves one result of run->id in one transaction. It can be saved when it is measured and again
// when it is judged: a result that the store has keeps its measurements as they are (looks are
// added if it had none), and its prediction and verdict replace earlier ones of the same model and
// version.
//   - A measurement with no samples and state ok counts as absent.
//   - result->reused names sides whose code id has a stored measurement under the driver that the
//     device has in this run; such a side refers to that measurement.
//   - prediction.model NULL or verdict.sentence NULL: there is none yet.
int store_save_result(struct store *store, const struct run *run, const struct result *result,
                      struct error *err);

// Saves what a study found for each of its series, and replaces what an earlier study found.
int store_save_study(struct store *store, const struct run *run, struct error *err);

// Writes finished_s (now, if 0), the conclusion, the headline and the self test.
int store_finish_run(struct store *store, const struct run *run, struct error *err);

// Reads everything of one run. Results come in the order of kernel, problem and device. The caller
// calls run_free().
int store_load_run(struct run *out, struct store *store, int64_t run_id, struct error *err);

// Names a series. store_find_result() reads the result that a run has for it, without its history.
struct series {
    const char *kernel;
    const struct problem *problem;
    const char *device_uuid;
};
int store_find_result(struct result *out, bool *found, struct store *store, int64_t run_id,
                      const struct series *series, struct arena *arena, struct error *err);

// The newest finished run of a kind (or STORE_ALL_RUNS); *run_id is 0 if there is none.
int store_last_run(int64_t *run_id, struct store *store, int kind, struct error *err);
// The newest finished plain run of a commit by a toolchain (NULL: the default); 0 if there is none.
int store_commit_run(int64_t *run_id, struct store *store, const char *commit,
                     const char *toolchain, struct error *err);

// The value of a metric of the policy at a commit, built by the default toolchain. Values are
// sorted by name, subject and device, and then by the order of the runs that found them. They live
// in the arena.
struct metric_value {
    const char *name, *subject, *device, *what, *unit;
    char commit[OBJECT_ID_TEXT];
    int64_t commit_s;
    double value, margin, least;
    bool higher, noisy;
    bool proposed; // found for a gate's head, which may never be merged
};
int store_metric_values(struct metric_value **out, size_t *count, struct store *store,
                        struct arena *arena, struct error *err);

struct run_entry {
    int64_t id;
    char uid[STORE_UID_TEXT];
    enum run_kind kind;
    int64_t started_s, finished_s; // finished 0: interrupted
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    enum conclusion conclusion;
    const char *headline;
    const char *summary, *author; // of the head commit
    int64_t head_s;               // the head commit's time
    const char *device_uuid;      // of the first device
    const char *toolchain[2];     // toolchains of base and head, indexed by enum sample_role; "":
                                  // the default
};
// Lists runs, newest first, at most `limit` (0: all).
int store_list_runs(struct run_entry **out, size_t *count, struct store *store, int kind,
                    size_t limit, struct arena *arena, struct error *err);

// The times of a run's heads, sorted by the key of their series.
struct run_time {
    int64_t series; // the series' key, as in series_entry
    double time_ns;
    int64_t code; // key of the code that ran; 0: not known
};
int store_run_times(struct run_time **out, size_t *count, struct store *store, int64_t run_id,
                    struct arena *arena, struct error *err);

// ---- work that need not be done again ----

// A build: one content (tree of the kernel folder, flags, compiler) made into a library. Commits
// with the same content share one build.
struct build_kernel {
    char name[KERNEL_NAME_TEXT];
    char code[OBJECT_ID_TEXT]; // code id
    struct traits traits;
};
#define BUILD_FIELDS(F)                                                                            \
    F(content, "content", TEXT, content, "", FIELD_ANY, 1)                                         \
    F(recipe, "recipe", TEXT, recipe, "", FIELD_ANY, 1)                                            \
    F(state, "state", STATE, state, "", FIELD_ANY, 1)                                              \
    F(detail, "detail", TEXT, detail, "", FIELD_ANY, 1)
struct build_record {
    const char *content;          // the build's content key, which includes the recipe
    const char *recipe;           // how it was built: device kind, or the recipe's name
    enum measurement_state state; // MEASURED_OK or MEASURED_UNBUILDABLE
    const char *detail;           // for an unbuildable one, why, in one line; untrusted text
    struct build_kernel *kernels;
    size_t count;
};
// Records the build, its kernels, and that `commit` has this build. If the store knows the content
// already, the earlier record stays.
int store_record_build(struct store *store, const struct commit *commit,
                       const struct build_record *build, struct error *err);
// The newest build by this recipe of the commit, or of another commit with the same tree.
int store_find_commit_build(struct build_record *out, bool *found, struct store *store,
                            const struct commit *commit, const char *recipe, struct arena *arena,
                            struct error *err);

// The newest measurement of this code id in this series, from any run. A crash or timeout may have
// been the machine's fault, so it is offered only if its regime is `failure`, in which the code
// itself is to blame.
struct measured_how {
    const char *regime;  // of the measurement; NULL: any
    const char *failure; // the regime in which crashes and timeouts are offered; NULL: they never
                         // are
    const char *driver;  // the device's driver in the run that measured; NULL: any
    bool plain;          // times are offered only from plain runs and imports, not from pairs
};
int store_find_measurement(struct measurement *out, bool *found, struct store *store,
                           const struct series *series, const char *code,
                           const struct measured_how *how, struct arena *arena, struct error *err);

// Whether any run ever measured a code of this series and found its results correct.
int store_ever_right(bool *right, struct store *store, const struct series *series,
                     struct error *err);

// Describes the measurements that a plain run of one commit on one device would have to take.
struct demand {
    const char *recipe;
    const char *device_uuid;
    const char *driver;    // NULL: any
    const char *toolchain; // NULL: the default
    const struct problem *problems;
    size_t problem_count;
    const char *const *kernels; // only kernels of these names; NULL: all kernels of the build
    size_t kernel_count;
};
// True if the commit needs no measuring: finished plain runs of it (or of a commit with the same
// tree) have a result for every kernel of its build on every demanded problem, or the commit is
// known not to build.
int store_commit_measured(bool *measured, struct store *store, const struct commit *commit,
                          const struct demand *demand, struct error *err);

// ---- history ----

// A point of a series may have been measured at another commit that has the same code. This says at
// which commit such a point counts, or that it counts nowhere. Sorted by series, then by
// measurement; the keys are of this file.
struct point_place {
    int64_t series, measurement;
    int64_t time_s;              // the commit's time in the order of histories
    char commit[OBJECT_ID_TEXT]; // "": nowhere
};
struct point_places {
    struct point_place *items;
    size_t count;
};

struct history_query {
    const struct point_places *places; // NULL: every point counts where it was measured
    size_t limit;                      // how many of the newest points are kept; 0: all
    int64_t except_run;                // this run's points are left out, because a run never judges
                                       // itself; 0: none
    int64_t until_s;                   // only commits of this time or earlier; 0: no bound
    const char *until;     // only commits up to this one's place, if the store knows it; NULL: all
    bool comparisons;      // also the heads of gates, bisections and studies
    const char *toolchain; // NULL: the default. Another toolchain has a history of its own, in
                           // which `comparisons` and `oldest` are not allowed
    int64_t until_key;     // only measurements with this key or a smaller one; 0: no bound
    int64_t from_s;        // only commits of this time or later; 0: no bound
    bool oldest;           // `limit` keeps the oldest points instead; they have no predictions
};
// The measurements of a series' heads that have a time (state ok), with driver, model and runtime
// of each. They are sorted by commit time, then by time of measuring, newest last. Points live in
// the arena. An unknown series has none.
struct stored_point {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;              // the commit's time; a child may have an earlier time than its
                                 // parent
    int64_t run_id, measurement; // keys of this file
    double time_ns, clock_hz;
    double predicted_ns; // at the observed clock; 0 if none
    int64_t code;        // two points of equal `code` ran the same machine code; 0: unknown
    enum bound bound;
    // Equal texts are equal pointers; "" means unknown.
    const char *model, *driver, *runtime; // model: name and version
};
struct stored_points {
    struct stored_point *points;
    size_t count;
    const char *newest_code; // id of the last point's code; "" unknown
};
int store_points(struct stored_points *out, struct store *store, const struct series *series,
                 const struct history_query *query, struct arena *arena, struct error *err);
// A hash of the places of one series' points; 0: it has none.
uint64_t point_places_hash(const struct point_places *places, int64_t series);
// The heads of a commit's plain runs that have a time, built by the default toolchain.
struct timed_head {
    int64_t series, measurement, code;
};
int store_timed_heads(struct timed_head **out, size_t *count, struct store *store, int64_t commit,
                      struct arena *arena, struct error *err);
// Changes that no link confirms: codes that a finished plain run called slower or faster by their
// times alone, and that no link has compared since. Sorted by series, then by run; keys are of this
// file.
struct told_alone {
    int64_t series, kernel, code;
    const char *device_kind;
    char commit[OBJECT_ID_TEXT]; // the run's commit, which had the code
    int64_t time_s;              // that commit's time in the order of histories
    struct interval size;        // log ratio as the run reported it
};
int store_told_alone(struct told_alone **out, size_t *count, struct store *store,
                     struct arena *arena, struct error *err);
// Looks up the id of a point's code.
int store_code_id(const char **out, struct store *store, int64_t code, struct arena *arena,
                  struct error *err);

// The spread of the log ratio of pairs in one run's gate; the next gate scales its test by it.
struct pair_scale {
    int64_t run_id;
    uint32_t pairs; // complete pairs; excluded ones are not counted
    double sd;      // standard deviation of log(head / base)
    double sd_mad;  // the same from the median absolute deviation, times 1.4826
    bool same_code; // both sides ran the same machine code
};
// Lists at most `limit` spreads, newest first, in the arena.
int store_scale(struct pair_scale **out, size_t *count, struct store *store,
                const struct series *series, size_t limit, int64_t except_run, struct arena *arena,
                struct error *err);

// How often identical code raised an alarm, counted over the A/A gates of finished studies and the
// self tests of finished runs that measured on this device alone.
struct alarm_count {
    uint64_t gates, alarms;
};
int store_false_alarms(struct alarm_count *studies, struct alarm_count *self_tests,
                       struct store *store, const char *device_uuid, struct error *err);
// Counts the A/A gates of one series only; an unknown series has none.
int store_series_false_alarms(struct alarm_count *out, struct store *store,
                              const struct series *series, struct error *err);

// Every series of the store, sorted by kernel, problem and device. A series is left out if the
// kernel never supported the problem.
struct series_entry {
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    const char *device_uuid;
    const char *device_name; // its uuid, where an import named none
    bool control;            // its newest plain run called it a control
    int64_t key;             // of this file
};
int store_list_series(struct series_entry **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err);

// ---- devices and epochs ----

// The devices of plain runs, and when these runs began.
struct device_entry {
    const char *uuid, *kind, *name;
    int64_t first_s, last_s;
};
int store_list_devices(struct device_entry **out, size_t *count, struct store *store,
                       struct arena *arena, struct error *err);

// Saves the measured figures of `gpu` (origin CALIBRATED) as this device's newest profile.
int store_save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                       struct error *err);
// Loads the device's newest profile: figures of origin CALIBRATED with their source. All other
// figures are unknown. Strings live in the arena.
int store_load_profile(struct gpu *out, bool *found, struct store *store, const char *device_uuid,
                       struct arena *arena, struct error *err);
// The device whose profile was measured last, and when (last_s). The host does not count. uuid is
// NULL if there is none.
int store_newest_profile(struct device_entry *out, struct store *store, struct arena *arena,
                         struct error *err);

// Records the accepted epochs of the repository's file (epoch.h). Known ones stay unchanged.
int store_save_epochs(struct store *store, const struct epoch_list *epochs, struct error *err);

// ---- keeping house ----

struct store_counts {
    int64_t runs, unfinished, commits, builds, series, measurements, samples_bytes, predictions,
        verdicts, profiles, epochs;
    int64_t links, events; // counted by an import only
};
struct store_report {
    int version;   // number of migrations that were applied
    int64_t bytes; // the file's size
    struct store_counts counts;
    size_t problems; // how many problems were found
    char first[512]; // the first problem in one line; "" if there is none
};
// Reads the whole file: SQLite's own checks, foreign keys, and every packed sample. The call
// succeeds also for a damaged store; report->problems then says so.
int store_check(struct store_report *out, struct store *store, struct error *err);
int store_info(struct store_report *out, struct store *store, struct error *err); // counts only

// Adds everything that `shard` has and `store` lacks, in one transaction. Runs are recognised by
// uid, everything else by content. A run that is unfinished in `store` is completed. `added` may be
// NULL; it counts rows that are new or were completed, and no bytes.
int store_merge(struct store *store, const char *shard, struct store_counts *added,
                struct error *err);

struct prune_rule {
    int64_t before_s; // only runs that started before this time are pruned
    bool runs;        // true: removes the runs with their results; false: only their raw samples
    bool dry_run;     // nothing is removed, only counted
};
// Removes old runs. Epochs, builds, profiles, and measurements that other runs refer to stay.
// *removed says what was removed. The file shrinks only when a quarter of it is free; until then
// new runs use the free room.
int store_prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                struct error *err);

// ---- other formats (README.md describes them) ----

struct export_filter {
    int64_t run_id;     // one run; 0: all finished ones
    const char *kernel; // NULL: all kernels
};
// Exports. CSV has one line per measurement, for spreadsheets, or one line per link. JSON has one
// complete object per line (samples, predictions, verdicts, builds, profiles). store_import() reads
// CSV and JSON back. Metrics is a table of figures beside time, one line each. BMF is for Bencher
// and has the newest time of each series and the newest value of each metric. OpenMetrics is for
// Prometheus and the like and has these and more. A failed write shows in the state of `file`.
int store_export_csv(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err);
int store_export_links(struct store *store, const struct export_filter *filter, FILE *file,
                       struct error *err);
int store_export_metrics(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err);
int store_export_json(struct store *store, const struct export_filter *filter, FILE *file,
                      struct error *err);
int store_export_bmf(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err);
int store_export_openmetrics(struct store *store, const struct export_filter *filter, FILE *file,
                             struct error *err);
// Whether a format of that name can be imported. `own`: it is plumb's own; such files say
// themselves which commit was measured.
bool store_import_knows(const char *format, bool *own);

// What the caller says about facts that files of other tools leave out.
struct import_source {
    const char *name;   // the file's name, shown in errors with the line
    const char *format; // the format's name; NULL: found out by the content
    // Finds the commit that was measured; `named` is the commit that the file names, or NULL. The
    // commit's texts outlive the import. May be NULL for our own formats.
    int (*find_commit)(struct commit *out, const char *named, void *context, struct error *err);
    bool commit_told; // the caller named the commit, so no other one is asked for
    void *context;
    // The problem of benchmarks that name none, and the element type of benchmarks that name no
    // type. A problem with m 0 and no numbers gives only the type. NULL: benchmarks without a
    // problem are left out.
    const struct problem *problem;
    const char *kernel;  // only kernels of this name (fnmatch); NULL: all
    const char *exclude; // kernels of this name are left out; NULL: none
    const char *control; // kernels of this name are controls; NULL: the file says which are
    const char *device;  // the device's UUID; NULL: the file says it
    const char *unit;    // the unit of columns that name none, "ms" or "TFLOPS"; NULL: such columns
                         // are left out
    const char *beside;  // the folder of files that this file refers to; NULL: it may refer to none
    bool strict;         // an unreadable row refuses the file; else the row is left out
};
// The outcome of importing another tool's file or a table. A row is one time, or one benchmark that
// says why it has no time (a failure). rows = samples + failures + unwanted + left.
struct import_report {
    size_t rows, samples, failures;
    size_t unwanted;     // rows excluded by name
    size_t left;         // rows left out because they cannot be read
    size_t aggregates;   // rows that summarise other rows; not counted in `rows`
    struct buffer said;  // a line for each of the first rows that were left out: where and why
    size_t told;         // how often the problem came from the caller
    size_t typed;        // how often only its element type did, while the file gave the sizes
    size_t means;        // samples that are means of times that the file does not hold
    struct buffer where; // "commit ..., device ..." of each run, one per line
};
void import_report_free(struct import_report *report);
// Imports a file in one transaction. Importing it twice adds nothing. `added` and `report` may be
// NULL; the caller frees the report, also after a failure.
int store_import(struct store *store, FILE *file, const struct import_source *source,
                 struct store_counts *added, struct import_report *report, struct error *err);

// ==== devices that were taken out ====
//
// An entry says that a device was taken out of use, or who brought it back. Entries are added and
// never changed. The newest entry of a device says whether it is out.

struct device_entry_state {
    bool out; // nothing is measured on it
    int64_t when_s;
    const char *who; // "plumb" for the tool itself
    const char *why;
};

// Loads a device's newest entry, in the arena. *found is false for a device that was never taken
// out.
int store_device_state(struct device_entry_state *out, bool *found, struct store *store,
                       const char *uuid, struct arena *arena, struct error *err);

// How many plain runs on the device began at `since_s` or later and have ended.
int store_device_runs(int64_t *out, struct store *store, const char *uuid, int64_t since_s,
                      struct error *err);

// Adds an entry for a device. Fails if the store does not know the device.
int store_set_device_state(struct store *store, const char *uuid,
                           const struct device_entry_state *state, struct error *err);

// Controls that fail in a device's newest plain run, although the same code worked under the same
// driver before.
struct control_failures {
    size_t wrong, lost;   // lost: crashed or timed out
    size_t controls;      // all controls of the run
    const char *examples; // "KERNEL PROBLEM" of the first ones; "" if none failed
};

int store_control_failures(struct control_failures *out, struct store *store, const char *uuid,
                           struct arena *arena, struct error *err);

// ==== events ====
//
// Events in the store: what was reported, and what the tool concluded of it later. Nothing is ever
// deleted. What a person decided is in the epochs file (epoch.h).

struct stored_event_change {
    int64_t series;                                   // key of the series in this file
    char first[OBJECT_ID_TEXT], last[OBJECT_ID_TEXT]; // the range of commits of which one began the
                                                      // event
    double log_ratio, log_evidence;
};
#define EVENT_CHANGE_FIELDS(F)                                                                     \
    F(first_id, "first", ID, first, "", FIELD_ANY, 13)                                             \
    F(last_id, "last", ID, last, "", FIELD_ANY, 13)                                                \
    F(log_ratio, "log_ratio", REAL, log_ratio, "", RANGE(-50, 50), 13)                             \
    F(log_evidence, "log_evidence", REAL, log_evidence, "", FIELD_ANY, 13)
// An entry is struct event_entry.
#define EVENT_ENTRY_FIELDS(F)                                                                      \
    F(state, "state", WORD, state, "", FIELD_ANY, 13, event_state_word)                            \
    F(when_s, "when_s", TIME, when_s, "s", FIELD_TIMES, 13)                                        \
    F(who, "who", TEXT, who, "", FIELD_ANY, 13)                                                    \
    F(why, "why", TEXT, why, "", FIELD_ANY, 13)

struct stored_event {
    int64_t key; // of this file; 0: not stored yet
    char name[EVENT_NAME_TEXT];
    enum attribution cause;
    const char *what;             // "" if none
    char culprit[OBJECT_ID_TEXT]; // the commit that a search named as the cause; "" if none
    struct stored_event_change *changes;
    size_t change_count;
    struct event_entry *entries; // oldest first
    size_t entry_count;
};
#define EVENT_FIELDS(F)                                                                            \
    F(name, "name", ID, name, "", FIELD_ANY, 13)                                                   \
    F(cause, "cause", WORD, cause, "", FIELD_ANY, 13, attribution_word)                            \
    F(what, "what", TEXT, what, "", FIELD_ANY, 13)                                                 \
    F(culprit, "culprit", ID, culprit, "", FIELD_ANY, 13)
// The word for a cause; NULL if there is no such cause.
const char *attribution_word(int cause);
extern const struct stored_fields event_fields, event_change_fields, event_entry_fields;

// Loads all events into the arena, in the order of their first report.
int store_load_events(struct stored_event **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err);
// Adds an event and sets its key. If the store has the event, its changes and culprit are replaced
// and its entries stay.
int store_save_event(struct store *store, struct stored_event *event, struct error *err);
// Adds what the program itself concluded of an event: that it is new, confirmed, fixed or
// withdrawn. An entry is added only once.
int store_add_event_entry(struct store *store, int64_t event, const struct event_entry *entry,
                          struct error *err);

// Loads every commit that the store knows into the arena, parents before children.
int store_commits(struct commit **out, size_t *count, struct store *store, struct arena *arena,
                  struct error *err);

// ==== links ====
//
// Links in the store: paired comparisons of two codes of one series on one device. A link is a
// fact:
// it is added once, never changed, and outlives the run whose samples it was made from.

enum { LINK_BACK_MOST = 1000000 };

struct link {
    char uid[STORE_UID_TEXT]; // uid of the run that measured it and has its samples
    char base_code[OBJECT_ID_TEXT], head_code[OBJECT_ID_TEXT];
    struct commit base, head; // commits that have the two codes
    const char *tool_version;
    int64_t made_s;
    // The number of codes by which the base precedes the head along first parents, up to
    // LINK_BACK_MOST. 0: the codes met in a gate or a bisection, and the head may be on a branch.
    uint32_t back;
    // The verdict by the gate's rule: same, slower, faster or undecided. A link with the code
    // before is confirmed in fresh processes, as a gate's verdict is. A link with a mark (back > 1)
    // is not confirmed and is no verdict.
    enum verdict_kind kind;
    double log_ratio; // log(head time / base time), -50 to 50
    double error;     // standard error of log_ratio, from the spread of its own pairs, 1e-6 to 50
    double log_evidence;
    uint32_t pairs, processes; // each at least 1
};

// The fields of a link that are figures, as model/fields.h describes them.
#define LINK_FIELDS(F)                                                                             \
    F(tool, "tool_version", SHARED, tool_version, "", FIELD_ANY, 12)                               \
    F(made_s, "made_s", TIME, made_s, "s", FIELD_TIMES, 12)                                        \
    F(back, "back", COUNT, back, "codes", RANGE(0, LINK_BACK_MOST), 12)                            \
    F(kind, "verdict", KIND, kind, "", FIELD_ANY, 12)                                              \
    F(log_ratio, "log_ratio", LOG, log_ratio, "", RANGE(-50, 50), 12)                              \
    F(error, "error", REAL, error, "", RANGE(1e-6, 50), 12)                                        \
    F(log_evidence, "log_evidence", REAL, log_evidence, "", RANGE(-1e9, 1e9), 12)                  \
    F(pairs, "pairs", COUNT, pairs, "", RANGE(1, UINT32_MAX), 12)                                  \
    F(processes, "processes", COUNT, processes, "", RANGE(1, 65535), 12)
extern const struct stored_fields link_fields;

// Whether a link is valid and can be stored. The store only returns valid links.
bool link_sound(const struct link *link);
// Saves a link. The store must know the series' device. If it has a link of this run and series
// already, that one stays.
int store_save_link(struct store *store, const struct series *series, const struct link *link,
                    struct error *err);
int store_run_uid(char out[STORE_UID_TEXT], struct store *store, int64_t run_id, struct error *err);
// Loads a series' links, sorted by the head's commit, then by the time of making. An unknown series
// has none.
int store_links(struct link **out, size_t *count, struct store *store, const struct series *series,
                struct arena *arena, struct error *err);
// The links of all series whose key is larger than `after`, in no order.
int store_links_beyond(struct link **out, size_t *count, struct store *store, int64_t after,
                       struct arena *arena, struct error *err);

// The facts of a link from which levels are computed. Codes and commits are keys of this file.
struct link_fact {
    int64_t key; // the link's key; keys only grow
    int64_t base_code, head_code, base, head, made_s;
    uint32_t back;
    enum verdict_kind kind;
    double log_ratio, error, log_evidence; // as in struct link
};
// Loads the facts of links with key `from` or a larger one, sorted by key. An unknown series has
// none.
int store_link_facts(struct link_fact **out, size_t *count, struct store *store,
                     const struct series *series, int64_t from, struct arena *arena,
                     struct error *err);

// The facts of a link that a page of pairs shows; keys are of this file.
struct link_pair {
    int64_t series, key, base_code, head_code;
    enum verdict_kind kind;
    double log_ratio, error;
    uint32_t pairs;
};
// Loads the `most` newest pairs of all series, sorted by the keys of their series.
int store_newest_pairs(struct link_pair **out, size_t *count, struct store *store, size_t most,
                       struct arena *arena, struct error *err);

// Where a commit stands in the order of histories. All commits are read at once, because the series
// together ask for nearly all of them.
struct commit_place {
    int64_t key, time_s, order_s; // order_s: its place in the order of histories, by time and after
                                  // its parents
    char id[OBJECT_ID_TEXT];
};
// Finds order_s of a commit that the store may not know.
int store_commit_order(int64_t *out, struct store *store, const struct commit *commit,
                       struct error *err);
// A finished plain run by the default toolchain, and its commit, as keys.
struct line_run {
    int64_t run, commit;
};
struct commit_places {
    struct commit_place *items; // sorted by key
    size_t count;
    struct line_run *runs; // runs of the LINE_RUNS_MOST newest commits, newest first
    size_t run_count;
    bool read;
    bool line; // all these runs lie on one line of first parents; the caller that read them sets
               // this
};
enum { LINE_RUNS_MOST = 512 };
// Reads the places. Later calls find them read and return at once.
int store_commit_places(struct commit_places *out, struct store *store, struct arena *arena,
                        struct error *err);
// The code that a series had in a run; 0: the series was not in the run, or had no code.
int store_run_code(int64_t *out, struct store *store, int64_t run, const struct series *series,
                   struct error *err);
// The code of each kernel at each of the commits, taken from the builds of the commits' trees.
// Entries have the order of the commits and hold keys. A commit whose codes are not known has no
// entry.
struct code_at {
    size_t at; // index of the commit
    int64_t kernel, code;
};
int store_codes_at(struct code_at **out, size_t *count, struct store *store,
                   const struct commit *commits, size_t commit_count, struct arena *arena,
                   struct error *err);
// Looks up the kernel of a link and the two codes that it compared.
int store_link_codes(int64_t *kernel, int64_t *base, int64_t *head, struct store *store,
                     int64_t link, struct error *err);
// Whether a plain run of the commit measured the series with the code that is the base of that
// link.
int store_had_base(bool *out, struct store *store, int64_t link, const char *commit,
                   struct error *err);
// NULL: the commit has no place.
const struct commit_place *commit_place_find(const struct commit_places *places, int64_t key);

#endif
