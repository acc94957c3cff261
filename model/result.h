// SPDX-License-Identifier: Apache-2.0
//
// The data of the whole pipeline in one header: sample, measurement, prediction, verdict, result,
// run.
// Every stage of ci/gate/pipeline.c fills in its member; the store saves them; reports are pure
// functions of `struct run`.
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
// Years 1 and 9999 as seconds since 1970; ISO 8601 writes these years with four digits. Every time
// lies between them, whatever a commit says.
#define OLDEST_TIME_S (-62135596800)
#define LATEST_TIME_S 253402300799

// The toolchain's name for a build that names none, which uses only the policy's [build].
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
    int64_t after_s; // by how much its place in histories is later than time_s, so that it comes
                     // after its parents; 0: not known
};

// The beginning of the UUID of a device that is not here and whose kernels are judged by their code
// alone.
#define DEVICE_STATIC "static:"
// One concrete unit. Series are kept for each UUID, because two boards of one model differ by up to
// 22 %.
struct device {
    const char *kind;    // "host" or "cuda"
    const char *uuid;    // GPU-...; for a host an id of this machine's CPU that stays the same
    const char *name;    // "NVIDIA H200"
    const char *driver;  // driver version, or kernel release
    const char *runtime; // CUDA runtime version, or libc
    const char *profile; // name of the profile in use, "" if none
};

// Why the clock was held back while a sample ran (NVML's reasons, combined). HARD: the hardware
// itself slowed down (heat, a power brake), in addition to the other reasons.
enum throttle {
    THROTTLE_NONE = 0,
    THROTTLE_POWER = 1,
    THROTTLE_THERMAL = 2,
    THROTTLE_OTHER = 4,
    THROTTLE_HARD = 8,
    THROTTLE_ALL = 15
};
// Under a hard limit, a time depends on the device's heat or power supply. The software's power cap
// is not one of these limits, because GEMMs reach it all the time.
#define THROTTLE_LIMITED (THROTTLE_THERMAL | THROTTLE_HARD)

enum sample_role { ROLE_BASE, ROLE_HEAD };

struct sample {
    double time_ns;        // per launch
    double clock_hz;       // mean SM clock over the sample, from stamps on one SM; 0 if unknown
    uint32_t launches;     // launches timed together
    uint32_t pair;         // the same number in the base's and the head's sample of a pair
    uint16_t block;        // number of the block of pairs
    uint16_t process;      // number of the process, 0-based
    uint8_t role;          // enum sample_role
    uint8_t order;         // 0 = first of its pair
    uint8_t throttle;      // enum throttle bits
    uint8_t excluded;      // 1 = left out by a rule that was fixed beforehand
    int16_t temperature_c; // INT16_MIN if unknown
    int32_t power_mw;      // -1 if unknown
};

enum measurement_state {
    MEASURED_NOT_TAKEN,   // nobody has tried: there are no samples, and nothing is known
    MEASURED_OK,          // it has samples
    MEASURED_WRONG,       // the output differs from the reference, so it has no time
    MEASURED_CRASHED,     // the bench child died while running it
    MEASURED_TIMEOUT,     // it ran past its limit
    MEASURED_UNBUILDABLE, // the commit does not build
    MEASURED_UNSUPPORTED, // the kernel reports that it does not support the problem
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
    double max_error;   // the largest error, relative to the tolerance's scale; NaN fails
    double tolerance;   // the error that was allowed
    const char *detail; // why it is not ok, or the kernel's note (an algorithm's id); untrusted
                        // text
    const char *regime; // e.g. "cold, read flush, back to back"
    uint64_t seed;      // seed of the inputs
    // The most memory that the kernel takes beside its operands: the workspace that it asks for,
    // and on the host the memory of the process that holds only the library. 0: not known.
    double memory_bytes;
    // The looks at its pair of builds in other regimes (model/gate/verdict.h); NULL: there were
    // none.
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

// A model's prediction. With `feasible` false there is no time, and `why` gives the reason.
struct prediction {
    const char *model;   // static
    const char *version; // the model's version, raised when its predictions change
    bool feasible;
    const char *why;       // static text or arena; NULL when feasible
    double time_ns;        // at clock_hz
    double clock_hz;       // the observed clock if one was given, else the profile's
    double clock_exponent; // d log time / d log clock, negative; 0 = independent of the clock
    double band;           // the expected relative half-width (one sigma); 0: not known
    double band_95;        // the half-width that contains 95 of 100, which may be more than twice
                           // `band`; 0: not known
    uint32_t bias_rows;    // number of measured times to which its kernel's bias was fitted; 0:
                           // there is no bias
    enum bound bound;
    struct prediction_part parts[PREDICTION_PARTS];
    size_t part_count;
};

// Only a series that was measured, or that runs the same machine code, is "same". Without a verdict
// a series is "not measured".
enum verdict_kind {
    VERDICT_NOT_MEASURED, // there is no device or no such problem, or nobody has tried; the
                          // sentence says which
    VERDICT_SAME,
    VERDICT_SLOWER,
    VERDICT_FASTER,
    VERDICT_UNDECIDED,
    VERDICT_BROKEN,   // unbuildable, wrong, crashed, timed out, gone
    VERDICT_NEW,      // there is nothing to compare with
    VERDICT_ACCEPTED, // slower or gone, and the change itself or the policy says that this is
                      // intended
    VERDICT_KINDS
};
// All kinds, in the order in which people are told about them.
extern const enum verdict_kind verdict_order[VERDICT_KINDS];
const char *verdict_kind_name(enum verdict_kind kind);
int verdict_kind_parse(enum verdict_kind *out, const char *name);

enum cause {
    CAUSE_NONE,
    CAUSE_KERNEL,      // its code id changed
    CAUSE_ENVIRONMENT, // controls moved too, or the code is the same
    CAUSE_MODEL,       // the model's version changed
    CAUSE_PLACEMENT,   // the sign depends on where a process placed its data
    CAUSE_BASE,        // it is broken on the base, too, so this change is not to blame
    CAUSES
};
const char *cause_name(enum cause cause);

// The limit that left a series undecided. It tells what would decide the series.
enum verdict_limit {
    LIMIT_NONE,    // the series is decided, or nothing is known
    LIMIT_SECONDS, // the time of the gate
    LIMIT_PAIRS,   // its budget of pairs
    LIMIT_MARGIN,  // the change is as large as the margin, so more pairs would leave it undecided
                   // again
    LIMIT_NOISE,   // its pairs scatter too much for this margin, however many there are
    LIMIT_PLACES   // its processes contradict each other
};

struct verdict {
    enum verdict_kind kind;
    enum cause cause;
    struct interval log_ratio; // log(head / base), with its interval at `confidence`
    double confidence;         // e.g. 0.95
    double log_evidence;       // natural log of the e-value against "same"; 0 = none
    double margin;             // relative size below which a change does not count, e.g. 0.003
    uint32_t pairs;            // number of pairs used
    uint32_t processes;        // number of fresh processes used
    double gpu_s;              // device seconds spent on it
    // The smallest log ratio that such a gate finds with 90 % power, by its own policy and the
    // noise of these pairs: within its budget, or within `pairs` if it ended undecided. Not above
    // 0: not known.
    double detectable;
    enum verdict_limit limit; // not stored, because the sentence tells it
    uint32_t more_pairs;      // number of further pairs that would decide it; not stored either; 0:
                              // not known
    const char *sentence;     // what a person reads first
    const char *explanation;  // what changed, as lines; NULL: there is nothing to explain.
                              // Untrusted text
    const char *model;        // who judged: gate or drift, or plumb where nothing is computed
    const char *version;      // raised when the same measurements give another verdict
};

// Points of a series from earlier runs, newest last. Owned by the run's arena.
struct history_point {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    double time_ns;
    double clock_hz;
    double predicted_ns; // 0 if none
    bool same_code;      // it has the same code id as the point before
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
    struct traits traits;           // of the head's build (or the base's if the head has none)
    size_t device;                  // index into run->devices
    char base_code[OBJECT_ID_TEXT]; // "" when there is no base
    char head_code[OBJECT_ID_TEXT];
    bool control;            // a series that cannot have changed
    bool reused;             // found in the store or by identical code, so it was not measured now
    struct measurement base; // empty in a plain run
    struct measurement head;
    struct prediction prediction; // for the head, at its observed clock
    struct history history;
    struct verdict verdict;
};

// The first errors that a build's tools reported. Untrusted text, one line each.
struct build_error {
    const char *file; // as the commit names it; "" when the tool named none
    uint32_t line;    // 0 when not known
    const char *text;
};
// Why a commit does not build.
struct build_failure {
    const char *reason; // one line, e.g. "exit status 1"; NULL: it builds
    const char *log;    // path of the whole log, where the build was made; "" when none is kept
    struct build_error *errors;
    size_t count;
};

enum run_kind { RUN_MEASURE, RUN_GATE, RUN_STUDY, RUN_BISECT, RUN_IMPORT, RUN_KINDS };
const char *run_kind_name(enum run_kind kind);
int run_kind_parse(enum run_kind *out, const char *name);

// Exit codes of the program; also a gate's conclusion.
enum conclusion {
    CONCLUDE_OK = 0,
    CONCLUDE_REGRESSION = 1,
    CONCLUDE_UNDECIDED = 2, // or void: the run's own A/A failed
    CONCLUDE_BROKEN = 3,
    CONCLUDE_FAILED = 4 // the tool could not do its work
};

// A run's test of itself, by pairs of a build with itself.
struct self_test {
    uint32_t series, alarms;   // number of builds that met themselves, and how many of these were
                               // called changed
    double worst_log_evidence; // the largest evidence, as a natural log
    bool void_run;             // more alarms or evidence than chance gives, so the run's verdicts
                               // do not count
};

// A mix of the policy for one kernel on one device (model/gate/verdict.h). It is not stored,
// because it follows from the run's results and policy.
struct mix_result {
    const char *name;
    char kernel[KERNEL_NAME_TEXT];
    enum regime regime;        // the regime of its series
    bool apart;                // its problems name regimes of their own; `regime` means nothing
    size_t device;             // index into run->devices
    struct interval log_ratio; // interval_unknown: one of its problems is not known
    double margin;             // as a fraction; 0: the mix is shown and not judged
    enum verdict_kind kind;    // as for a series; "not measured" if one of its problems is not
                               // known
    const char *sentence;
};

// The words for a mix's regime in a sentence.
static inline const char *mix_regime_words(const struct mix_result *mix)
{
    return mix->apart ? "in its own regimes" : regime_words(mix->regime);
}

// A figure of a build or a kernel beside time, which the policy asks for by [metric "NAME"]
// (ci/settings/metric.h). It compares base and head; in a plain run the base is the past of the
// commit's line.
struct metric_result {
    const char *name;       // the name in the policy
    const char *what;       // which figure it is: "registers"
    const char *subject;    // kernel, "KERNEL PROBLEM", a library's file name, or "build"
    const char *device;     // UUID of the device if it was measured on one; else ""
    const char *unit;       // "B", "s" or ""
    double base, head;      // NaN: not known
    double margin;          // relative change from which on a difference counts
    double least;           // least change in the figure's own unit that counts
    bool higher;            // a higher figure is better
    bool noisy;             // it scatters, so one value decides nothing
    enum verdict_kind kind; // slower: worse beyond the margin; faster: better; new: no base
    const char *sentence;
};
// The word for a metric's verdict: "worse", "better", or the verdict's own word.
const char *metric_word(enum verdict_kind kind);

// A study's result for one series. A study runs gates of a build with itself (every alarm is
// false), or of two builds that differ by work that was added on purpose, one of which is the base.
// Means are over the gates that had a time; NaN when none had.
enum study_kind { STUDY_AA, STUDY_SLOWER, STUDY_FASTER, STUDY_KINDS };
const char *study_kind_name(enum study_kind kind); // "aa", ...
int study_kind_parse(enum study_kind *out, const char *name);
struct study_result {
    enum study_kind kind;
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    size_t device; // index into run->devices
    uint32_t gates, slower, faster, same, undecided, broken;
    uint32_t first_alarms; // alarms in the first process, confirmed or not
    double pairs;          // mean over the gates
    double time_ns;        // mean time of the base
    double log_ratio;      // mean over the gates
    double pair_sd;        // standard deviation of a pair's log ratio, mean over the gates
    double detectable;     // the smallest log ratio that such a gate finds with 90 % power
    double gpu_s, wall_s;  // sums over all gates
};

struct run {
    int64_t id; // the id in the store; 0: not saved
    enum run_kind kind;
    int64_t started_s, finished_s; // finished 0: the run was interrupted
    const char *tool_version;
    const char *repository;          // name shown, not a path
    const char *policy;              // the text of the policy that was used
    struct commit base, head;        // base.id "" in a plain run
    const char *toolchain[2];        // the toolchain of each build, by enum sample_role; NULL: the
                                     // default
    struct build_failure unbuilt[2]; // of base and head, by enum sample_role
    struct device *devices;
    size_t device_count;
    struct result *results;
    size_t count;
    struct study_result *studies; // for a run of kind study
    size_t study_count;
    struct mix_result *mixes; // what decides first, else in the order of the policy
    size_t mix_count;
    struct metric_result *metrics; // in the order of the policy, then by subject
    size_t metric_count;
    struct self_test self_test;
    enum conclusion conclusion;
    const char *headline; // the last line printed: which verdict and why
    struct arena arena;
};
void run_free(struct run *run);
// Whether a text can be a toolchain's name: at most 39 letters, digits and ._+-, so that reports,
// keys and command lines can use it unchanged.
bool toolchain_name_sound(const char *name);
// run_toolchain() returns the name of a side's toolchain, also of the default one.
// run_names_toolchain(): one of the two sides used another one than the default.
const char *run_toolchain(const struct run *run, enum sample_role role);
bool run_names_toolchain(const struct run *run);
// Facts about a run that are noted as lines after the policy's text: which overlay its builds saw,
// what was asked for, why there was no sandbox or no control group, which part of a whole it is,
// from which parts it was joined, and which mixes a change accepts.
#define RUN_OVERLAY_NOTE    "# built with the overlay "
#define RUN_POLICY_NOTE     "# judged by "
#define RUN_REQUEST_NOTE    "# measured by request"
#define RUN_UNCONFINED_NOTE "# without a sandbox: "
#define RUN_UNLIMITED_NOTE  "# without a control group: "
#define RUN_PART_NOTE       "# part "
#define RUN_JOINED_NOTE     "# joined from "
#define RUN_MIX_NOTE        "# accepts "
// Reads such a note without its beginning, cut to the room in `out`. False: there is no such note,
// and `out` is "".
bool run_overlay(char *out, size_t size, const struct run *run);
// Says whose policy judged, unless it is that of a single commit.
bool run_policy(char *out, size_t size, const struct run *run);
bool run_part(char *out, size_t size, const struct run *run);
// Protections that builds and kernels lacked, worst first; every report names them. Without a
// sandbox there is no control group either, and only the first is named.
enum run_lack { LACKS_SANDBOX, LACKS_GROUP, RUN_LACKS };
struct run_lack_words {
    const char *name;  // the key: "unconfined"
    const char *title; // "No sandbox"
    const char *what;  // a sentence; ": " and the reason follow it
};
const struct run_lack_words *run_lack_words(enum run_lack lack);
bool run_lacks(char *out, size_t size, const struct run *run, enum run_lack lack);

// What the stopwatch ran: only "device code" (of a record), the whole "library" with its host code
// beside the stopwatch, or "" if nothing was timed here.
#define REGIME_DEVICE_CODE "device code alone"
const char *result_timed(const struct result *result);
// Names the tricks that could go unseen because the whole library was timed, as a text after the
// word "library"; "" where there are none, as on the host device, whose libraries have processes of
// their own.
const char *result_timed_note(const struct result *result, const struct device *device);
// Counts the verdicts of each kind. The first kind that occurs decides: broken, then slower, then
// undecided, then the rest.
void run_count_verdicts(const struct run *run, size_t counts[VERDICT_KINDS]);

#endif
