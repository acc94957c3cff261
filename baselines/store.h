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
// killed at any instant, or a full disk, loses nothing that was saved before. Writers of other
// processes are waited for (STORE_WAIT_MS), then the call fails with a line that says so.
//
// A file from elsewhere is hostile: store_open() refuses any whose schema is not exactly ours, and
// each value is checked when it is read.
//
// A handle belongs to one thread. Strings handed out live in the arena named in the call. Functions
// return 0, or -1 with one line in `err`; `out` parameters are untouched on failure. Times ending
// in _s are seconds since 1970, UTC.
#ifndef PLUMB_STORE_H
#define PLUMB_STORE_H

#include "baselines/epoch.h"
#include "model/buffer.h"
#include "model/result.h"

#include <stdio.h>

enum { STORE_WAIT_MS = 10000 };      // how long a writer waits for another, unless told
enum { STORE_UID_TEXT = 33 };        // room for a run's uid: 128 random bits, hexadecimal
enum { STORE_ALL_RUNS = RUN_KINDS }; // as a kind: any

struct store;

// The version of SQLite that is loaded.
const char *store_library(void);

// STORE_READ never changes the file. STORE_WRITE creates it (and its folder) when missing, and
// brings an older store up to this program's version, one transaction per migration.
enum store_mode { STORE_READ, STORE_WRITE };
int store_open(struct store **out, const char *path, enum store_mode mode, struct error *err);
// Opens another handle on the same file, for another thread: a handle is one thread's at a time. -1
// while a batch is open, whose rows it would not see.
int store_open_beside(struct store **out, const struct store *store, struct error *err);
void store_close(struct store *store); // NULL is fine
const char *store_path(const struct store *store);

// Many saves as one transaction: faster, and all or nothing. May not nest. Without a matching
// store_commit_batch() everything since store_begin_batch() is lost.
int store_begin_batch(struct store *store, struct error *err);
int store_commit_batch(struct store *store, struct error *err);
void store_cancel_batch(struct store *store);

// ---- runs ----

// Inserts the run (kind, times, versions, policy, commits, devices; not its results) and sets
// run->id. Expects at least one device and, in a plain run, base.id "".
int store_begin_run(struct store *store, struct run *run, struct error *err);

// Finds a run to go on with: one that began like this run (kind, commits, toolchains, devices, tool
// version, policy), is not finished, and is held by no other open handle. Set run->id to *run_id,
// and skip the results that store_find_result() finds. The run is this handle's until
// store_close().
int store_find_unfinished(int64_t *run_id, bool *found, struct store *store, const struct run *like,
                          struct error *err);

// Saves one result of run->id, in one transaction. A result already there keeps its measurements
// as they are, but for looks where it had none; its prediction and verdict are put in place of
// earlier ones of the same model and version. So a result can be saved when it is measured, and
// again when it is judged.
//   - A measurement with no samples and state ok counts as absent.
//   - result->reused: a side whose code id has a stored measurement, by the device's driver of this
//     run, refers to that one.
//   - prediction.model NULL or verdict.sentence NULL: there is none yet.
int store_save_result(struct store *store, const struct run *run, const struct result *result,
                      struct error *err);

// Saves a study's findings on each of its series, in place of earlier ones.
int store_save_study(struct store *store, const struct run *run, struct error *err);

// Writes finished_s (now, if 0), the conclusion, the headline and the self test.
int store_finish_run(struct store *store, const struct run *run, struct error *err);

// Reads everything of one run; results in kernel, problem, device order. The caller run_free()s it.
int store_load_run(struct run *out, struct store *store, int64_t run_id, struct error *err);

// Names a series. store_find_result() reads its result in a run, without its history.
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

// The value of a metric of the policy at a commit, built by the default toolchain. Values come by
// name, subject and device, each in the order of the runs that found them. In the arena.
struct metric_value {
    const char *name, *subject, *device, *what, *unit;
    char commit[OBJECT_ID_TEXT];
    int64_t commit_s;
    double value, margin, least;
    bool higher, noisy;
    bool proposed; // of a gate's head, which may never reach the line
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
    int64_t head_s;               // its time
    const char *device_uuid;      // of the first device
    const char *toolchain[2];     // of base and head, by enum sample_role; "": the default
};
// Newest first, at most `limit` (0: all).
int store_list_runs(struct run_entry **out, size_t *count, struct store *store, int kind,
                    size_t limit, struct arena *arena, struct error *err);

// The times of a run's heads, by ascending key of their series.
struct run_time {
    int64_t series; // key, as series_entry has it
    double time_ns;
    int64_t code; // key of what ran; 0: not known
};
int store_run_times(struct run_time **out, size_t *count, struct store *store, int64_t run_id,
                    struct arena *arena, struct error *err);

// ---- work that need not be done again ----

// A build: one content (tree of the kernel folder, flags, compiler) made into a library. Commits
// with the same content share it.
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
    const char *content;          // the build's content key; includes the recipe
    const char *recipe;           // how it was built: device kind, or the recipe's name
    enum measurement_state state; // MEASURED_OK or MEASURED_UNBUILDABLE
    const char *detail;           // why, one line, when unbuildable; untrusted text
    struct build_kernel *kernels;
    size_t count;
};
// Records the build, its kernels and that `commit` has it. A content already known keeps its
// record.
int store_record_build(struct store *store, const struct commit *commit,
                       const struct build_record *build, struct error *err);
// The newest build of the commit, or of one with the same tree, by this recipe.
int store_find_commit_build(struct build_record *out, bool *found, struct store *store,
                            const struct commit *commit, const char *recipe, struct arena *arena,
                            struct error *err);

// The newest measurement of this code id in this series, in any run. A crash or timeout may have
// been the machine's fault: it is offered only where its regime says that it was the code's own.
struct measured_how {
    const char *regime;  // NULL: whichever
    const char *failure; // regime of crashes and timeouts that are offered; NULL: none is
    const char *driver;  // of the device, in the run that measured; NULL: whichever
    bool plain;          // times count only where a plain run or an import took them, not pairs
};
int store_find_measurement(struct measurement *out, bool *found, struct store *store,
                           const struct series *series, const char *code,
                           const struct measured_how *how, struct arena *arena, struct error *err);

// Whether any run ever measured a code of this series, and found its results right.
int store_ever_right(bool *right, struct store *store, const struct series *series,
                     struct error *err);

// The measurements that a plain run of one commit on one device would have to take.
struct demand {
    const char *recipe;
    const char *device_uuid;
    const char *driver;    // NULL: whichever
    const char *toolchain; // NULL: the default
    const struct problem *problems;
    size_t problem_count;
    const char *const *kernels; // only these names; NULL: all that the build has
    size_t kernel_count;
};
// True when finished plain runs of this commit (or of one with the same tree) have a result for
// every kernel of its build times every problem demanded, or the commit is known not to build.
int store_commit_measured(bool *measured, struct store *store, const struct commit *commit,
                          const struct demand *demand, struct error *err);

// ---- history ----

// Where points of a series count that were measured elsewhere: at another commit, which has their
// code, or nowhere. By series, then by measurement; keys of this file.
struct point_place {
    int64_t series, measurement;
    int64_t time_s;              // of the commit, in the order of histories
    char commit[OBJECT_ID_TEXT]; // "": nowhere
};
struct point_places {
    struct point_place *items;
    size_t count;
};

struct history_query {
    const struct point_places *places; // NULL: every point counts where it was measured
    size_t limit;                      // newest points kept; 0: all
    int64_t except_run;                // a run never judges itself; 0: none left out
    int64_t until_s;                   // only commits of this time or before; 0: no bound
    const char *until; // only commits up to the place of this one, if the store knows it; NULL: all
    bool comparisons;  // also the heads of gates, bisections and studies
    const char *toolchain; // NULL: the default; another has a history of its own, without
                           // `comparisons` and `oldest`
    int64_t until_key;     // no measurement with a larger key; 0: no bound
    int64_t from_s;        // only commits of this time or later; 0: no bound
    bool oldest;           // `limit` keeps the oldest points; without their predictions
};
// Timed (state ok) head measurements of a series in order of commit time, then of measuring, newest
// last, with what was in force at each. Points live in the arena. An unknown series has none.
struct stored_point {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;              // of the commit; may go backwards between parents and children
    int64_t run_id, measurement; // keys of this file
    double time_ns, clock_hz;
    double predicted_ns; // at the observed clock; 0 if none
    int64_t code;        // equal: the same machine code; 0 unknown
    enum bound bound;
    // Equal texts are equal pointers. "" unknown.
    const char *model, *driver, *runtime; // model: name and version
};
struct stored_points {
    struct stored_point *points;
    size_t count;
    const char *newest_code; // id of the last point's; "" unknown
};
int store_points(struct stored_points *out, struct store *store, const struct series *series,
                 const struct history_query *query, struct arena *arena, struct error *err);
// A hash of the places of one series; 0: it has none.
uint64_t point_places_hash(const struct point_places *places, int64_t series);
// Timed heads of plain runs of a commit, by the default toolchain.
struct timed_head {
    int64_t series, measurement, code;
};
int store_timed_heads(struct timed_head **out, size_t *count, struct store *store, int64_t commit,
                      struct arena *arena, struct error *err);
// Codes that a plain run called slower or faster by their times alone, and that no link has paired
// since; by series, then by run. An unfinished run told nothing. Keys of this file.
struct told_alone {
    int64_t series, kernel, code;
    const char *device_kind;
    char commit[OBJECT_ID_TEXT]; // of the run, which had the code
    int64_t time_s;              // of it, in the order of histories
    struct interval size;        // log ratio, as it was told
};
int store_told_alone(struct told_alone **out, size_t *count, struct store *store,
                     struct arena *arena, struct error *err);
// The id of a point's code.
int store_code_id(const char **out, struct store *store, int64_t code, struct arena *arena,
                  struct error *err);

// Spread of the log ratio of one gate's pairs, per run, for the scale of the next gate's test.
struct pair_scale {
    int64_t run_id;
    uint32_t pairs; // complete pairs, none excluded
    double sd;      // standard deviation of log(head / base)
    double sd_mad;  // the same from the median absolute deviation, times 1.4826
    bool same_code; // both sides ran the same machine code
};
// Newest first, at most `limit`, in the arena.
int store_scale(struct pair_scale **out, size_t *count, struct store *store,
                const struct series *series, size_t limit, int64_t except_run, struct arena *arena,
                struct error *err);

// How often identical code raised an alarm: in the A/A gates of finished studies, and in the self
// tests of finished runs that measured on this device alone.
struct alarm_count {
    uint64_t gates, alarms;
};
int store_false_alarms(struct alarm_count *studies, struct alarm_count *self_tests,
                       struct store *store, const char *device_uuid, struct error *err);
// The studies' share of one series; an unknown series has none.
int store_series_false_alarms(struct alarm_count *out, struct store *store,
                              const struct series *series, struct error *err);

// Every series of the store, in the order of kernel, problem and device. A series is left out where
// the kernel does not support the problem, and never did.
struct series_entry {
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    const char *device_uuid;
    const char *device_name;
    bool control; // cannot have changed, as its newest plain run has it
    int64_t key;  // of this file
};
int store_list_series(struct series_entry **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err);

// ---- devices and epochs ----

// The devices that plain runs had, and when these began.
struct device_entry {
    const char *uuid, *kind, *name;
    int64_t first_s, last_s;
};
int store_list_devices(struct device_entry **out, size_t *count, struct store *store,
                       struct arena *arena, struct error *err);

// Keeps the figures of `gpu` that were measured (origin CALIBRATED) as this device's newest
// profile.
int store_save_profile(struct store *store, const struct device *device, const struct gpu *gpu,
                       struct error *err);
// The newest one: figures with origin CALIBRATED and their source, all others unknown. Strings live
// in the arena.
int store_load_profile(struct gpu *out, bool *found, struct store *store, const char *device_uuid,
                       struct arena *arena, struct error *err);
// The device, hosts aside, whose profile was measured last, and when (last_s); uuid NULL if there
// is none.
int store_newest_profile(struct device_entry *out, struct store *store, struct arena *arena,
                         struct error *err);

// Records the accepted epochs as the repository's file has them (epoch.h); known ones are left
// alone.
int store_save_epochs(struct store *store, const struct epoch_list *epochs, struct error *err);

// ---- keeping house ----

struct store_counts {
    int64_t runs, unfinished, commits, builds, series, measurements, samples_bytes, predictions,
        verdicts, profiles, epochs;
    int64_t links, events; // of an import alone
};
struct store_report {
    int version;   // migrations applied
    int64_t bytes; // of the file
    struct store_counts counts;
    size_t problems; // found
    char first[512]; // the first of them, one line; "" if none
};
// Reads the whole file: SQLite's own checks, foreign keys, and every packed sample. A damaged store
// is not a failure of the call: see report->problems.
int store_check(struct store_report *out, struct store *store, struct error *err);
int store_info(struct store_report *out, struct store *store, struct error *err); // counts only

// Adds all that `shard` has and `store` has not, in one transaction. Runs are recognised by uid,
// the rest by content; a run that was unfinished here is brought up. `added` may be NULL; it counts
// rows that are new or were brought up, and no bytes.
int store_merge(struct store *store, const char *shard, struct store_counts *added,
                struct error *err);

struct prune_rule {
    int64_t before_s; // concerns runs started before this
    bool runs;        // true: removes the runs with their results; false: only their raw samples
    bool dry_run;     // only count
};
// Epochs, builds, profiles and measurements other runs refer to stay. What was removed is in
// *removed. The file shrinks when a quarter of it is free; before, the next runs use that room.
int store_prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                struct error *err);

// ---- other formats (README.md describes them) ----

struct export_filter {
    int64_t run_id;     // one run; 0: all finished ones
    const char *kernel; // NULL: all
};
// CSV: one line per measurement, for spreadsheets; of links, one line per link. JSON: one object
// per line, complete (samples, predictions, verdicts, builds, profiles); store_import() reads each
// back. Metrics: a table of figures beside time, one line each. BMF: the newest time of each series
// and the newest of each metric, for Bencher. OpenMetrics: the same and more, for Prometheus and
// its like. What could not be written the caller sees in `file`.
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
// Whether a form of that name can be read.
bool store_import_knows(const char *format);
// Whether a form is plumb's own, whose files say themselves which commit was measured.
bool store_import_own(const char *format);
// The caller's word on facts that files of other tools leave out.
struct import_source {
    const char *name;   // shown in errors, with the line
    const char *format; // by name; NULL: by the content
    // The commit that was measured; `named` is the file's own word for it, or NULL. Its texts
    // outlive the import. May be NULL for our own forms.
    int (*find_commit)(struct commit *out, const char *named, void *context, struct error *err);
    bool commit_told; // by the caller, who is not asked for another
    void *context;
    // The problem of benchmarks that name none, and the element type of those that name no type.
    // With m 0 and no numbers it gives the type alone. NULL: benchmarks without a problem are left
    // out.
    const struct problem *problem;
    const char *kernel;  // only kernels of this name (fnmatch); NULL: all
    const char *exclude; // but not of this one; NULL: none
    const char *control; // kernels of this name never change; NULL: as the file says
    const char *device;  // its UUID; NULL: as the file says
    const char *unit;    // of columns that name none, "ms" or "TFLOPS"; NULL: left out
    const char *beside;  // the folder where files lie that this one names; NULL: nowhere
    bool strict;         // an unreadable row refuses the file; else the row is left out
};
// The outcome of importing another tool's file, or a table: rows = samples + failures + unwanted +
// left. A row is a time, or a benchmark that says why it has none (a failure).
struct import_report {
    size_t rows, samples, failures;
    size_t unwanted;     // by name
    size_t left;         // rows left out, as they cannot be read
    size_t aggregates;   // summaries of other rows; not counted in `rows`
    struct buffer said;  // a line on each of the first rows left out: where, and why
    size_t told;         // how often the problem was the caller's
    size_t typed;        // how often its type was, of sizes that the file says
    size_t means;        // samples that are a mean of times that the file does not hold
    struct buffer where; // "commit ..., device ..." of each run, a line each
};
void import_report_free(struct import_report *report);
// One transaction; importing twice adds nothing. `added` and `report` may be NULL; the caller frees
// the report, also after a failure.
int store_import(struct store *store, FILE *file, const struct import_source *source,
                 struct store_counts *added, struct import_report *report, struct error *err);

// ==== devices that were taken out ====
//
// An entry says that a device was taken out of use, or who brought it back. Entries are added and
// never changed; of each device the newest counts.

struct device_entry_state {
    bool out; // nothing is measured on it
    int64_t when_s;
    const char *who; // "plumb" for the tool itself
    const char *why;
};

// *found: the newest entry of a device that was ever taken out. In the arena.
int store_device_state(struct device_entry_state *out, bool *found, struct store *store,
                       const char *uuid, struct arena *arena, struct error *err);

// How many plain runs on the device began at `since_s` or later and have ended.
int store_device_runs(int64_t *out, struct store *store, const char *uuid, int64_t since_s,
                      struct error *err);

// Adds an entry of a device that the store knows; -1 when it does not.
int store_set_device_state(struct store *store, const char *uuid,
                           const struct device_entry_state *state, struct error *err);

// Controls that do not work any more in the newest plain run of a device, though the same code did
// under the driver that is there now.
struct control_failures {
    size_t wrong, lost;   // lost: crashed or timed out
    size_t controls;      // of the run
    const char *examples; // "KERNEL PROBLEM", of the first; "" none
};

int store_control_failures(struct control_failures *out, struct store *store, const char *uuid,
                           struct arena *arena, struct error *err);

#endif
