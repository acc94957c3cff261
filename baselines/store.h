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
#include "model/fields.h"
#include "model/history/event.h"
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
// Codes that a finished plain run called slower or faster by their times alone, and that no link
// has paired since. Ordered by series, then by run; keys are of this file.
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

// ==== events ====
//
// Events in the store: what was reported, and what the tool said became of it. Nothing of it is
// ever deleted. A person's word is in the epochs file (epoch.h).

struct stored_event_change {
    int64_t series;                                   // its key in this file
    char first[OBJECT_ID_TEXT], last[OBJECT_ID_TEXT]; // commits: it began with one of these
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
    char culprit[OBJECT_ID_TEXT]; // that a search ended with; "" if none
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
// NULL: there is none so.
const char *attribution_word(int cause);
extern const struct stored_fields event_fields, event_change_fields, event_entry_fields;

// All, in the order of their first report; in the arena.
int store_load_events(struct stored_event **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err);
// Adds it (and sets its key), or replaces the changes and the culprit of one that is there. Entries
// are left as they are.
int store_save_event(struct store *store, struct stored_event *event, struct error *err);
// Adds what the program itself says of an event: that it is new, confirmed, fixed or withdrawn. An
// entry that is there already is not added again.
int store_add_event_entry(struct store *store, int64_t event, const struct event_entry *entry,
                          struct error *err);

// Every commit that is known, parents before children, in the arena.
int store_commits(struct commit **out, size_t *count, struct store *store, struct arena *arena,
                  struct error *err);

// ==== links ====
//
// Links in the store: paired comparisons of two codes of one series on one device. A link is a
// fact: it is added once, never changed, and outlives the run whose samples it was made from.

enum { LINK_BACK_MOST = 1000000 };

struct link {
    char uid[STORE_UID_TEXT]; // of the run that measured it and has its samples
    char base_code[OBJECT_ID_TEXT], head_code[OBJECT_ID_TEXT];
    struct commit base, head; // commits that have these codes
    const char *tool_version;
    int64_t made_s;
    // How many codes the base was before the head along first parents, up to LINK_BACK_MOST; 0:
    // they met in a gate or a bisection, and the head may be of a branch.
    uint32_t back;
    // Same, slower, faster or undecided, by the gate's rule. Links with the code before are
    // confirmed in fresh processes, as a gate's; those with marks (back > 1) claim nothing and are
    // not.
    enum verdict_kind kind;
    double log_ratio; // log(head time / base time), -50 to 50
    double error;     // its standard error by its own pairs, 1e-6 to 50
    double log_evidence;
    uint32_t pairs, processes; // at least 1
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

// Whether a link can be stored. A link that cannot is never handed out.
bool link_sound(const struct link *link);
// The series' device must be known to the store. A stored link of this run and series stays.
int store_save_link(struct store *store, const struct series *series, const struct link *link,
                    struct error *err);
int store_run_uid(char out[STORE_UID_TEXT], struct store *store, int64_t run_id, struct error *err);
// A series' links, by the head's commit, then by making. An unknown series has none.
int store_links(struct link **out, size_t *count, struct store *store, const struct series *series,
                struct arena *arena, struct error *err);
// The links of all series whose key is larger than `after`, in no order.
int store_links_beyond(struct link **out, size_t *count, struct store *store, int64_t after,
                       struct arena *arena, struct error *err);

// The part of a link that levelling needs. Codes and commits are keys of this file.
struct link_fact {
    int64_t key; // of the link; they only grow
    int64_t base_code, head_code, base, head, made_s;
    uint32_t back;
    enum verdict_kind kind;
    double log_ratio, error, log_evidence; // as in struct link
};
// Facts of the links with key `from` or larger, by key. An unknown series has none.
int store_link_facts(struct link_fact **out, size_t *count, struct store *store,
                     const struct series *series, int64_t from, struct arena *arena,
                     struct error *err);

// The part of a link that a page of pairs needs; keys of this file.
struct link_pair {
    int64_t series, key, base_code, head_code;
    enum verdict_kind kind;
    double log_ratio, error;
    uint32_t pairs;
};
// The `most` newest pairs of all series, in order of their series' keys.
int store_newest_pairs(struct link_pair **out, size_t *count, struct store *store, size_t most,
                       struct arena *arena, struct error *err);

// The place of a commit. All commits are read at once: every series asks for nearly all of them.
struct commit_place {
    int64_t key, time_s, order_s; // order_s: as links stand, by time and after its parents
    char id[OBJECT_ID_TEXT];
};
// order_s of a commit that the store may not know.
int store_commit_order(int64_t *out, struct store *store, const struct commit *commit,
                       struct error *err);
// A finished plain run of the default toolchain, and its commit; keys.
struct line_run {
    int64_t run, commit;
};
struct commit_places {
    struct commit_place *items; // by key
    size_t count;
    struct line_run *runs; // the LINE_RUNS_MOST of the newest commits, newest first
    size_t run_count;
    bool read;
    bool line; // the runs are of one line of first parents alone, as whoever read them knows it
};
enum { LINE_RUNS_MOST = 512 };
// Reads the places once; later calls return at once.
int store_commit_places(struct commit_places *out, struct store *store, struct arena *arena,
                        struct error *err);
// The code that a series had in a run; 0: the series was not in the run, or had no code.
int store_run_code(int64_t *out, struct store *store, int64_t run, const struct series *series,
                   struct error *err);
// The code of each kernel at each of the commits, by the builds of their trees, in the order of the
// commits; keys. A commit whose codes are not known has no entry.
struct code_at {
    size_t at; // which commit
    int64_t kernel, code;
};
int store_codes_at(struct code_at **out, size_t *count, struct store *store,
                   const struct commit *commits, size_t commit_count, struct arena *arena,
                   struct error *err);
// The kernel of a link, and the codes that it compared.
int store_link_codes(int64_t *kernel, int64_t *base, int64_t *head, struct store *store,
                     int64_t link, struct error *err);
// Whether a plain run of the commit found the series with the code of that link's base.
int store_had_base(bool *out, struct store *store, int64_t link, const char *commit,
                   struct error *err);
// NULL: there is none.
const struct commit_place *commit_place_find(const struct commit_places *places, int64_t key);

// The evidence of the links of neighbouring codes with a key beyond `after`, up to `newest`, in the
// order in which they were measured.
struct link_evidence {
    int64_t key, made_s;
    int64_t series, base_code, head_code; // keys of this file
    char uid[STORE_UID_TEXT];             // of the run
    double log_evidence;
};
int store_link_evidence(struct link_evidence **out, size_t *count, struct store *store,
                        int64_t after, int64_t newest, struct arena *arena, struct error *err);
// The summed evidence of earlier links of neighbours, up to key `newest`, between the same codes.
int store_earlier_evidence(double *out, struct store *store, const struct link_evidence *link,
                           int64_t newest, struct error *err);
// The largest key of all links, and of all codes; 0: there is none.
int store_newest_of_links(int64_t *link, int64_t *code, struct store *store, struct error *err);

#endif
