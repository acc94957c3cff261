// SPDX-License-Identifier: Apache-2.0
//
// The story in one header: sample, measurement, prediction, verdict, result, run. Every stage of
// ci/gate/pipeline.c fills its member; the store saves them; reports are pure functions of `struct
// run`.
//
// Ownership: everything a run points to (strings, samples, parts, results) lives in run->arena and
// is freed at once by run_free(). Times are nanoseconds, clocks Hz, unless a name says otherwise.
#ifndef PLUMB_RESULT_H
#define PLUMB_RESULT_H

#include "model/base.h"
#include "model/gpu.h"
#include "model/problem.h"

enum { OBJECT_ID_TEXT = 65 }; // room for a hexadecimal git object id, SHA-1 or SHA-256
enum { KERNEL_NAME_TEXT = 201 };
// Years 1 and 9999, as seconds since 1970: what ISO 8601 writes with four digits. A time is not
// outside, whatever a commit says.
#define OLDEST_TIME_S (-62135596800)
#define LATEST_TIME_S 253402300799

// The name of a build that names no toolchain: the policy's [build] alone.
#define TOOLCHAIN_DEFAULT "default"
enum { TOOLCHAIN_NAME_TEXT = 40 };

// A commit, as plumb records it. `tree` survives rewritten history; the id does not.
struct commit {
    char id[OBJECT_ID_TEXT];
    char tree[OBJECT_ID_TEXT];
    char parent[OBJECT_ID_TEXT]; // first parent, "" for a root
    const char *summary;         // first line of the message, untrusted text
    const char *author;          // "" if unknown
    int64_t time_s;              // committer time, seconds since 1970 (may go backwards)
    int64_t after_s; // its place in histories is so much later: after its parents; 0 if not known
};

// Begins the uuid of a device that is not here, whose kernels are judged by their code alone.
#define DEVICE_STATIC "static:"
// One concrete unit. Series are keyed by UUID: two boards of one model differ by up to 22 %.
struct device {
    const char *kind;    // "host" or "cuda"
    const char *uuid;    // GPU-... ; host: a stable id of this machine's CPU
    const char *name;    // "NVIDIA H200"
    const char *driver;  // driver version, or kernel release
    const char *runtime; // CUDA runtime version, or libc
    const char *profile; // name of the profile in use, "" if none
};

// Why the clock was held back while a sample ran (NVML's reasons, folded).
// HARD: the hardware itself slowed down (heat, a power brake), beside what else holds.
enum throttle {
    THROTTLE_NONE = 0,
    THROTTLE_POWER = 1,
    THROTTLE_THERMAL = 2,
    THROTTLE_OTHER = 4,
    THROTTLE_HARD = 8,
    THROTTLE_ALL = 15
};
// Under a hard limit a time says how hot the device is, or what its power supply allows. The
// software's power cap is none: GEMMs meet it all the time.
#define THROTTLE_LIMITED (THROTTLE_THERMAL | THROTTLE_HARD)

enum sample_role { ROLE_BASE, ROLE_HEAD };

struct sample {
    double time_ns;        // per launch
    double clock_hz;       // mean SM clock over the sample, from stamps on one SM; 0 if unknown
    uint32_t launches;     // launches timed together
    uint32_t pair;         // base and head samples of one pair share it
    uint16_t block;        // blocks of pairs
    uint16_t process;      // fresh processes, 0-based
    uint8_t role;          // enum sample_role
    uint8_t order;         // 0 = first of its pair
    uint8_t throttle;      // enum throttle bits
    uint8_t excluded;      // 1 = dropped by a rule declared beforehand
    int16_t temperature_c; // INT16_MIN if unknown
    int32_t power_mw;      // -1 if unknown
};

enum measurement_state {
    MEASURED_NOT_TAKEN,   // nobody has tried: no samples, and nothing is known
    MEASURED_OK,          // it has samples
    MEASURED_WRONG,       // output differs from the reference: it has no time
    MEASURED_CRASHED,     // the bench child died in it
    MEASURED_TIMEOUT,     // it ran past its limit
    MEASURED_UNBUILDABLE, // the commit does not build
    MEASURED_UNSUPPORTED, // the kernel says it cannot do the problem
    MEASURED_MISSING,     // this build has no such kernel
    MEASUREMENT_STATES
};
const char *measurement_state_name(enum measurement_state state);
int measurement_state_parse(enum measurement_state *out, const char *name);

// All samples of one series at one commit in one run.
struct measurement {
    enum measurement_state state;
    struct sample *samples; // in the order they were taken
    size_t count;
    double max_error;   // largest error relative to the tolerance's scale; NaN fails
    double tolerance;   // what it was held against
    const char *detail; // why it is not ok, or the kernel's note (algorithm id); untrusted text
    const char *regime; // e.g. "cold, read flush, back to back"
    uint64_t seed;      // of the inputs
    // The memory that the kernel takes at most beside its operands: the workspace that it wants,
    // and on the host the memory of the process that holds the library alone. 0: not known.
    double memory_bytes;
    // The looks at its pair of builds in other regimes (model/gate/verdict.h); NULL: nobody looked
    // at the pair there.
    const char *beside;
};
// Trimmed mean (10 % each side) of the included samples' times; 0 if there are none.
double measurement_time_ns(const struct measurement *measurement);
double measurement_clock_hz(const struct measurement *measurement);

enum bound { BOUND_UNKNOWN, BOUND_COMPUTE, BOUND_MEMORY, BOUND_LATENCY, BOUND_EPILOGUE, BOUNDS };
const char *bound_name(enum bound bound);

enum { PREDICTION_PARTS = 12 };
struct prediction_part {
    const char *name; // static text: "launch", "first-dma", "mainloop", ...
    double time_ns;
};

// The prediction of a model. `feasible` false: `why` says why not, and there is no time.
struct prediction {
    const char *model;   // static
    const char *version; // of the model: its code's version, raised when its numbers change
    bool feasible;
    const char *why;       // static text or arena; NULL when feasible
    double time_ns;        // at clock_hz
    double clock_hz;       // the observed clock if one was given, else the profile's
    double clock_exponent; // d log time / d log clock, negative; 0 = independent of the clock
    double band;           // relative half-width to expect (one sigma), 0 if not known
    double band_95;        // that 95 of 100 lie in, which may be more than twice; 0 if not known
    uint32_t bias_rows;    // measured times that a bias of its kernel was fitted to; 0: it has none
    enum bound bound;
    struct prediction_part parts[PREDICTION_PARTS];
    size_t part_count;
};

// Only a series that was measured, or runs the same machine code, is "same". A verdict that nobody
// gave is "not measured".
enum verdict_kind {
    VERDICT_NOT_MEASURED, // no device, no such problem, or nobody has tried; the sentence says why
    VERDICT_SAME,
    VERDICT_SLOWER,
    VERDICT_FASTER,
    VERDICT_UNDECIDED,
    VERDICT_BROKEN,   // unbuildable, wrong, crashed, timed out, gone
    VERDICT_NEW,      // nothing to compare with
    VERDICT_ACCEPTED, // slower or gone, and the change itself or the policy says that it is meant
    VERDICT_KINDS
};
// All kinds, in the order that people are told of them.
extern const enum verdict_kind verdict_order[VERDICT_KINDS];
const char *verdict_kind_name(enum verdict_kind kind);
int verdict_kind_parse(enum verdict_kind *out, const char *name);

enum cause {
    CAUSE_NONE,
    CAUSE_KERNEL,      // its code id changed
    CAUSE_ENVIRONMENT, // controls moved too, or the code is the same
    CAUSE_MODEL,       // the model's version changed
    CAUSE_PLACEMENT,   // the sign depends on where the process put things
    CAUSE_BASE,        // broken on the base too: this change did not do it
    CAUSES
};
const char *cause_name(enum cause cause);

// The limit that ended an undecided series, and so what would decide it.
enum verdict_limit {
    LIMIT_NONE,    // it is decided, or nothing is known
    LIMIT_SECONDS, // the time of the gate
    LIMIT_PAIRS,   // its budget of pairs
    LIMIT_MARGIN,  // it is as large as the margin: more pairs say so again
    LIMIT_NOISE,   // its pairs scatter too much for this margin, however many
    LIMIT_PLACES   // its processes contradict each other
};

struct verdict {
    enum verdict_kind kind;
    enum cause cause;
    struct interval log_ratio; // log(head / base), with its interval at `confidence`
    double confidence;         // e.g. 0.95
    double log_evidence;       // natural log of the e-value against "same"; 0 = none
    double margin;             // relative size below which a change does not count, e.g. 0.003
    uint32_t pairs;            // pairs used
    uint32_t processes;        // fresh processes used
    double gpu_s;              // device seconds spent on it
    // Smallest log ratio that such a gate finds with 90 % power, by its own policy and the noise of
    // these pairs: within its budget, or within `pairs` where it ended undecided. Not above 0: not
    // known.
    double detectable;
    enum verdict_limit limit; // not stored: the sentence says it
    uint32_t more_pairs;      // that would decide it; likewise; 0: not known
    const char *sentence;     // what a person reads first
    const char *explanation;  // what changed, in lines; NULL: nothing to explain. Untrusted text
    const char *model;        // who judged: gate, drift, or plumb where nothing is computed
    const char *version;      // raised when the same measurements give another verdict
};

// Points of a series from earlier runs, newest last. Owned by the run's arena.
struct history_point {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    double time_ns;
    double clock_hz;
    double predicted_ns; // 0 if none
    bool same_code;      // same code id as the point before
};
struct history {
    struct history_point *points;
    size_t count;
    char newest_code[OBJECT_ID_TEXT]; // code id of the last point; "": not known
};

// One series in one run.
struct result {
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    struct traits traits;           // of the head build (the base's if the head has none)
    size_t device;                  // index into run->devices
    char base_code[OBJECT_ID_TEXT]; // "" when there is none
    char head_code[OBJECT_ID_TEXT];
    bool control;            // a series that cannot have changed
    bool reused;             // found in the store or identical code, not measured now
    struct measurement base; // empty in a plain run
    struct measurement head;
    struct prediction prediction; // of the head, at its observed clock
    struct history history;
    struct verdict verdict;
};

// The first things that a build's tools said were wrong. Untrusted text, one line each.
struct build_error {
    const char *file; // as the commit names it; "" when the tool named none
    uint32_t line;    // 0 when not known
    const char *text;
};
// Why a commit does not build.
struct build_failure {
    const char *reason; // one line, e.g. "exit status 1"; NULL: it builds
    const char *log;    // path of the whole log, where it was built; "" when none is kept
    struct build_error *errors;
    size_t count;
};

enum run_kind { RUN_MEASURE, RUN_GATE, RUN_STUDY, RUN_BISECT, RUN_IMPORT, RUN_KINDS };
const char *run_kind_name(enum run_kind kind);
int run_kind_parse(enum run_kind *out, const char *name);

// Exit codes of the program; a gate's conclusion.
enum conclusion {
    CONCLUDE_OK = 0,
    CONCLUDE_REGRESSION = 1,
    CONCLUDE_UNDECIDED = 2, // or void: the run's own A/A failed
    CONCLUDE_BROKEN = 3,
    CONCLUDE_FAILED = 4 // the tool could not do its work
};

// The run's test of itself: pairs of one build with itself.
struct self_test {
    uint32_t series, alarms;   // builds that met themselves; how many of these were called changed
    double worst_log_evidence; // the largest of them, natural log
    bool void_run;             // more than chance gives: nothing that the run says counts
};

// A mix of the policy by one kernel on one device (model/gate/verdict.h). Not stored: it follows
// from the run's results and policy.
struct mix_result {
    const char *name;
    char kernel[KERNEL_NAME_TEXT];
    enum regime regime;        // that its series are in
    size_t device;             // index into run->devices
    struct interval log_ratio; // interval_unknown: a problem of it is not known
    double margin;             // relative; 0: it is shown and does not judge
    enum verdict_kind kind;    // as a series'; not measured where a problem of it is not known
    const char *sentence;
};

// A figure of a build or of a kernel beside its time, which the policy asks for by [metric "NAME"]
// (ci/settings/metric.h): base against head, or in a plain run the commit's past against it.
struct metric_result {
    const char *name;       // the policy's
    const char *what;       // which figure: "registers"
    const char *subject;    // kernel, "KERNEL PROBLEM", a library's file name, or "build"
    const char *device;     // UUID of what is measured on one; else ""
    const char *unit;       // "B", "s" or ""
    double base, head;      // NaN: not known
    double margin;          // relative change from which on it counts
    double least;           // and in its own unit: below it none does
    bool higher;            // is better
    bool noisy;             // it scatters: one value decides nothing
    enum verdict_kind kind; // slower: worse beyond the margin; faster: better; new: no base
    const char *sentence;
};
// "worse", "better", or the verdict's own word.
const char *metric_word(enum verdict_kind kind);

// The result of a study for one series: gates of a build with itself (every alarm is false), or of
// two that differ by work put in on purpose, one of them taken as the base. Means are over the
// gates that had a time; NaN when none had.
enum study_kind { STUDY_AA, STUDY_SLOWER, STUDY_FASTER, STUDY_KINDS };
const char *study_kind_name(enum study_kind kind); // "aa", ...
int study_kind_parse(enum study_kind *out, const char *name);
struct study_result {
    enum study_kind kind;
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    size_t device; // index into run->devices
    uint32_t gates, slower, faster, same, undecided, broken;
    uint32_t first_alarms; // in the first process, confirmed or not
    double pairs;          // mean
    double time_ns;        // of the base, mean
    double log_ratio;      // mean
    double pair_sd;        // of a pair's log ratio, mean over the gates
    double detectable;     // smallest log ratio that such a gate finds with 90 % power
    double gpu_s, wall_s;  // of all gates together
};

struct run {
    int64_t id; // the store's; 0 while not saved
    enum run_kind kind;
    int64_t started_s, finished_s; // finished 0: interrupted
    const char *tool_version;
    const char *repository;          // name shown, not a path
    const char *policy;              // text of the policy in force
    struct commit base, head;        // base.id "" in a plain run
    const char *toolchain[2];        // that built each, by enum sample_role; NULL: the default
    struct build_failure unbuilt[2]; // of base and head, by enum sample_role
    struct device *devices;
    size_t device_count;
    struct result *results;
    size_t count;
    struct study_result *studies; // of a run of kind study
    size_t study_count;
    struct mix_result *mixes; // in the policy's order
    size_t mix_count;
    struct metric_result *metrics; // in the policy's order, then by subject
    size_t metric_count;
    struct self_test self_test;
    enum conclusion conclusion;
    const char *headline; // the last line printed: which and why
    struct arena arena;
};
void run_free(struct run *run);
// At most 39 letters, digits and ._+-: it stands as it is in reports, keys and command lines.
bool toolchain_name_sound(const char *name);
// The toolchain's name, also of the default; and whether one of the two is another.
const char *run_toolchain(const struct run *run, enum sample_role role);
bool run_names_toolchain(const struct run *run);
// Facts about a run beside its policy stand in lines of their own behind the policy's text: which
// overlay its builds saw, what was asked for, why there was no sandbox or no control group, which
// part of a whole it is, of which parts it was made, and which mixes a change accepts.
#define RUN_OVERLAY_NOTE    "# built with the overlay "
#define RUN_POLICY_NOTE     "# judged by "
#define RUN_REQUEST_NOTE    "# measured by request"
#define RUN_UNCONFINED_NOTE "# without a sandbox: "
#define RUN_UNLIMITED_NOTE  "# without a control group: "
#define RUN_PART_NOTE       "# part "
#define RUN_JOINED_NOTE     "# joined from "
#define RUN_MIX_NOTE        "# accepts "
// Reads such a line behind its beginning, cut to the room there is; false: there is no such line,
// and `out` is "".
bool run_overlay(char *out, size_t size, const struct run *run);
// Says whose policy judged, where it is not one commit's alone.
bool run_policy(char *out, size_t size, const struct run *run);
bool run_part(char *out, size_t size, const struct run *run);
// Protections that builds and kernels lacked, worst first; every report names them. Without a
// sandbox there is no control group either, and the first alone is said.
enum run_lack { LACKS_SANDBOX, LACKS_GROUP, RUN_LACKS };
struct run_lack_words {
    const char *name;  // as a key: "unconfined"
    const char *title; // "No sandbox"
    const char *what;  // a sentence, to be followed by ": " and the reason
};
const struct run_lack_words *run_lack_words(enum run_lack lack);
bool run_lacks(char *out, size_t size, const struct run *run, enum run_lack lack);

// Names what the stopwatch ran: "device code" alone (a record's), the whole "library" with its host
// code beside the stopwatch, or "" where nothing was timed here.
#define REGIME_DEVICE_CODE "device code alone"
const char *result_timed(const struct result *result);
// The tricks that could go unseen where the whole library was timed, to be put behind that word; ""
// where there are none, as on the host device, whose libraries have processes of their own.
const char *result_timed_note(const struct result *result, const struct device *device);
// The verdict that decides: broken > slower > undecided > the rest; and how many of each there are.
void run_count_verdicts(const struct run *run, size_t counts[VERDICT_KINDS]);

#endif
