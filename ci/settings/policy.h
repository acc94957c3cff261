// SPDX-License-Identifier: Apache-2.0
//
// The policy is a git-config file in which a repository says what plumb builds and measures, how,
// and what counts as a regression; `plumb init` writes one with comments, `ci/plumb.cfg` by
// default. It is read from the BASE commit, so that a change cannot loosen its own gate; and a key
// counts only where it is no laxer than in the policy at the trusted branch's tip
// (policy_confine()). An unknown key is an error that names file and line. The sections and their
// keys, with BOOL for true or false:
//
//     [build]            input = PATH (repeated)   command = SHELL   output = GLOBS
//                        without = PATH (repeated: submodules that stay empty folders)
//                        timeout = SECONDS   memory = BYTES   disk = BYTES   pass = NAME
//                        sandbox = auto|require|off (context_may_build() says what without)
//                        overlay = DIR (in a policy given by --policy only)
//     [toolchain "NAME"] set = VARIABLE=VALUE (repeated: what builds by it see)
//                        prefix = FOLDER (its bin comes first in PATH; outside of /usr, /opt,
//                        /nix/store and /gnu/store in a policy given by --policy only)
//                        container = IMAGE (builds see its files in place of this machine's; the
//                        prefix is in it then)
//     [device "NAME"]    kind = host|cuda   index = N   required = BOOL   profile = GPU (NAME is
//                        yours)   units = N (a gate or a study shares so many equal ones, from
//                        index on, or those of them that are here)   exact = BOOL (a GPU that is
//                        not of this profile counts as absent)
//     [problems "SET"]   problem = MxNxK:TYPE... (repeated)   regime = WORDS
//     [kernel "GLOB"]    problems = SET (repeated)   device = NAME (repeated)   control = BOOL
//                        skip = BOOL (these are not measured, and need no problems)
//                        trust = library|device-code   margin = 0.5%   max-pairs = N
//                        regime = WORDS   owner = TEXT (who looks after these kernels)
//                        (the first section whose GLOB matches rules)
//     [capture "NAME"]   command = SHELL (run in the built commit, with the GPU)   kernel = GLOB or
//                        range = GLOB (of NVTX ranges)   launch = N   problem = PROBLEM
//                        tolerance = 0.1% or type   limit = BYTES   margin = 0.5%   regime = WORDS
//     [mix "NAME"]       problem = WEIGHT MxNxK:TYPE... (repeated)   kernel = GLOB   margin = 0.2%
//     [metric "NAME"]    what = WORD (ci/settings/metric.h; without: NAME)   margin = 1%
//                        least = N (in its own unit: a smaller change does not count)
//                        better = lower|higher   kernel = GLOB   builds = N (of each commit, at
//                        most, where builds are timed)
//     [gate]             margin = 0.3%   alpha = X   max-pairs = N   processes = N   seconds = N
//                        undecided = fail|pass   removed = fail|allow   self-test = N
//                        static = auto|off   static-alone = pass|fail   accept = head|base
//                        regime = WORDS (repeated, or several in a line: stream, isolated, dirty,
//                        warm, activations, cold; each problem is a series in each. The kernel's
//                        section rules, then the problems', then this one; a problem that names
//                        its own is in that one alone)
//                        beside = WORDS (changed series are looked at in these, too, by a few
//                        pairs, and reports say what they show; none: in none; all but cold)
//     [library "GLOB"]   skip = BOOL (libraries of these file names are neither listed nor loaded)
//     [measure]          samples = N   timeout = SECONDS   model = NAME
//                        bias = FILE   (of `plumb accuracy --fit`; from the repository's directory)
//     [fleet]            tasks = N   partition, gres, time, account = WORD (`plumb list fleet`)
//     [history]          link = on|off (ci/gate/linking.h)   search = SECONDS (for `plumb bisect
//                        --events`, all searches of a run together; default 300)
//                        sick = 5% (a GPU whose controls are this much slower, or fail, is taken
//                        out by `plumb doctor --controls`; 0: none is)
//     [report]           commit-url = URL   site-url = URL

#ifndef PLUMB_POLICY_H
#define PLUMB_POLICY_H

#include "model/config.h"
#include "model/result.h"
#include "runner/build/build.h"

enum { UNITS_MOST = 16 }; // number of units of a device
#define POLICY_SICK 0.05  // used where the policy gives none
enum { POLICY_NO_LOOKS = 1 << REGIMES };

// The keys of a section, one line each: the member with its type; the key, its kind (enum type of
// policy.c) and range, or its two words, the first of which is the false one. A new key is a line
// here and a line in ci/assets/policy.cfg, which explains it. Keys that hold lists, and those of
// [build], whose members are the builder's, stand in policy.c.
#define POLICY_MEMBER(type, member, ...) type member;

#define POLICY_DEVICE(X)                                                                           \
    X(const char *, kind, "kind", WORD, 0, 0, "host", "cuda")                                      \
    X(int, index, "index", INDEX, 0, 1023, 0, 0)                                                   \
    /* equal ones from index on that a gate or a study shares; 0: 1 */                             \
    X(uint32_t, units, "units", COUNT, 1, UNITS_MOST, 0, 0)                                        \
    /* the shipped one that a static gate holds kernels against; NULL: h200-sxm */                 \
    X(const char *, profile, "profile", TEXT, 0, 0, 0, 0)                                          \
    /* absent: an error when required, else said and skipped */                                    \
    X(bool, required, "required", BOOL, 0, 0, 0, 0)                                                \
    /* a GPU that is not of this profile counts as absent */                                       \
    X(bool, exact, "exact", BOOL, 0, 0, 0, 0)

struct policy_device {
    const char *name;
    POLICY_DEVICE(POLICY_MEMBER)
};

// `regimes` has one bit for each enum regime; 0: a more general key decides.
#define POLICY_SET(X) X(uint32_t, regimes, "regime", REGIMES, 0, 0, 0, 0)

struct policy_set {
    const char *name;
    struct problem *problems;
    size_t count;
    POLICY_SET(POLICY_MEMBER)
};

#define POLICY_KERNEL(X)                                                                           \
    /* who looks after these kernels, or NULL */                                                   \
    X(const char *, owner, "owner", TEXT, 0, 0, 0, 0)                                              \
    X(bool, control, "control", BOOL, 0, 0, 0, 0)                                                  \
    X(bool, skip, "skip", BOOL, 0, 0, 0, 0) /* listed, but neither measured nor missed */          \
    /* timed from a record, without host code of the commit (ci/gate/measuring.h) */               \
    X(bool, device_code, "trust", CHOICE, 0, 0, "library", "device-code")                          \
    X(double, margin, "margin", FRACTION, 1e-4, 1, 0, 0)      /* 0: the gate's */                  \
    X(uint32_t, max_pairs, "max-pairs", COUNT, 16, 1e5, 0, 0) /* 0: the gate's */                  \
    X(uint32_t, regimes, "regime", REGIMES, 0, 0, 0, 0)

struct policy_kernel {
    const char *pattern; // fnmatch
    const char *also;    // a second pattern that must match, too (policy_confine()); NULL: none
    const char **sets;
    size_t set_count;
    const char **devices; // none: every device of the library's kind
    size_t device_count;
    POLICY_KERNEL(POLICY_MEMBER)
};

struct policy_mix_part {
    double weight;
    struct problem problem;
};

#define POLICY_MIX(X)                                                                              \
    /* fnmatch; NULL: every kernel that does all of the problems */                                \
    X(const char *, kernel, "kernel", TEXT, 0, 0, 0, 0)                                            \
    X(double, margin, "margin", FRACTION, 1e-4, 1, 0, 0) /* 0: it does not judge */

struct policy_mix {
    const char *name;
    struct policy_mix_part *parts;
    size_t count;
    POLICY_MIX(POLICY_MEMBER)
};

#define POLICY_METRIC(X)                                                                           \
    X(const char *, what, "what", TEXT, 0, 0, 0, 0)     /* NULL: its name */                       \
    X(const char *, kernel, "kernel", TEXT, 0, 0, 0, 0) /* fnmatch of kernels; NULL: all */        \
    X(double, margin, "margin", FRACTION, 0, 10, 0, 0)  /* below 0: the metric's own */            \
    X(double, least, "least", AMOUNT, 0, 1e15, 0, 0)    /* likewise */                             \
    X(bool, higher, "better", CHOICE, 0, 0, "lower", "higher")                                     \
    X(uint32_t, builds, "builds", COUNT, 1, 9, 0, 0) /* of each commit at most */

struct metric; // metric.h
struct policy_metric {
    const char *name;
    const struct metric *metric;
    POLICY_METRIC(POLICY_MEMBER)
};

#define POLICY_TOOLCHAIN(X)                                                                        \
    X(const char *, prefix, "prefix", TEXT, 0, 0, 0, 0)       /* absolute, or NULL */              \
    X(const char *, container, "container", TEXT, 0, 0, 0, 0) /* name of an image, or NULL */

struct policy_toolchain {
    const char *name;      // consists of letters, digits and ._+-
    const char **settings; // NAME=VALUE
    size_t setting_count;
    bool foreign; // the container comes from a checkout that may be untrusted (policy_confine())
    POLICY_TOOLCHAIN(POLICY_MEMBER)
};

#define CAPTURE_BY_TYPE (-1.0)
#define POLICY_CAPTURE(X)                                                                          \
    X(const char *, command, "command", TEXT, 0, 0, 0, 0) /* SHELL, as build.command */            \
    X(const char *, kernel, "kernel", TEXT, 0, 0, 0, 0) /* fnmatch of functions; NULL: a range */  \
    X(const char *, range, "range", TEXT, 0, 0, 0, 0) /* fnmatch of NVTX ranges; NULL: a kernel */ \
    /* which of those that match, from 1; 0: one of each shape */                                  \
    X(uint32_t, launch, "launch", COUNT, 1, 1e9, 0, 0)                                             \
    /* text; NULL: what its range is named as, or capture=1:fp32 */                                \
    X(const char *, problem, "problem", TEXT, 0, 0, 0, 0)                                          \
    /* relative to the largest result; 0: bit by bit; or CAPTURE_BY_TYPE */                        \
    X(double, tolerance, "tolerance", TOLERANCE, 0, 1, 0, 0)                                       \
    /* of all that its buffers hold; 0: 2 GiB */                                                   \
    X(uint64_t, limit_bytes, "limit", BYTES, 1, 1e12, 0, 0)                                        \
    X(uint32_t, regimes, "regime", REGIMES, 0, 0, 0, 0)                                            \
    X(double, margin, "margin", FRACTION, 1e-4, 1, 0, 0) /* 0: the gate's */

// A program that is run once; its launches, or those of its ranges, become a series of this name
// (ci/gate/built.h).
struct policy_capture {
    const char *name; // used as a kernel's name
    POLICY_CAPTURE(POLICY_MEMBER)
};

// A library that is skipped is built, but is neither listed nor loaded.
#define POLICY_LIBRARY(X) X(bool, skip, "skip", BOOL, 0, 0, 0, 0)

struct policy_library {
    const char *pattern; // an fnmatch pattern for the file's name without its folder
    const char *also;    // a second pattern that must match, too (policy_confine()); NULL: none
    POLICY_LIBRARY(POLICY_MEMBER)
};

// Options of sbatch for ci/fleet; NULL: the option is not given.
#define POLICY_FLEET(X)                                                                            \
    X(uint32_t, tasks, "tasks", COUNT, 1, 1e5, 0, 0) /* parts */                                   \
    X(const char *, partition, "partition", SLURM, 0, 0, 0, 0)                                     \
    X(const char *, gres, "gres", SLURM, 0, 0, 0, 0)                                               \
    X(const char *, time, "time", SLURM, 0, 0, 0, 0)                                               \
    X(const char *, account, "account", SLURM, 0, 0, 0, 0)

struct policy_fleet {
    POLICY_FLEET(POLICY_MEMBER)
};

#define POLICY_MEASURE(X)                                                                          \
    X(uint32_t, samples, "samples", COUNT, 3, 1e5, 0, 0)     /* per solo measurement */            \
    X(double, timeout_s, "timeout", SECONDS, 1, 86400, 0, 0) /* per series */                      \
    X(const char *, model, "model", TEXT, 0, 0, 0, 0)        /* used for predictions */            \
    X(const char *, bias, "bias", TEXT, 0, 0, 0, 0) /* file of calibrated biases, or NULL */       \
    X(bool, seed_given, "seed", SEED, 0, 0, 0, 0)   /* of older policies, and of no effect */

#define POLICY_HISTORY(X)                                                                          \
    /* whether `plumb run` links new codes; NULL: on CUDA devices */                               \
    X(const char *, link, "link", WORD, 0, 0, "off", "on")                                         \
    /* for all searches of `plumb bisect --events` together */                                     \
    X(uint32_t, search_s, "search", COUNT, 0, 86400, 0, 0)                                         \
    /* how much slower a GPU's controls may become, relative; 0: any */                            \
    X(double, sick, "sick", FRACTION, 0, 10, 0, 0)

#define POLICY_REPORT(X)                                                                           \
    /* of a commit, its id in place of %s or behind; or NULL */                                    \
    X(const char *, commit_url, "commit-url", URL, 0, 0, 0, 0)                                     \
    /* where the nightly site is published, or NULL */                                             \
    X(const char *, site_url, "site-url", URL, 0, 0, 0, 0)

// Each key of [gate] also says which value counts if the trusted branch has another one than the
// change (policy_confine()). TRUSTED: the branch's. LARGER: the larger one. BOTH: true if both are
// true. EITHER: true if one is. MARGIN and REGIMES: see join_margins() and join_regimes().
#define POLICY_GATE(X)                                                                             \
    X(uint32_t, regimes, "regime", REGIMES, 0, 0, 0, 0, REGIMES) /* 0: the default */              \
    /* what else changed series are looked at in: as regimes; 0: all but cold */                   \
    X(uint32_t, beside, "beside", LOOKS, 0, 0, 0, 0, TRUSTED)                                      \
    X(double, margin, "margin", FRACTION, 1e-4, 1, 0, 0, MARGIN)   /* relative */                  \
    X(double, alpha, "alpha", FRACTION, 1e-12, 0.5, 0, 0, TRUSTED) /* per series and gate */       \
    /* per series; noisy ones get up to four times as many (gate_budget) */                        \
    X(uint32_t, max_pairs, "max-pairs", COUNT, 16, 1e5, 0, 0, LARGER)                              \
    /* of an alarm, and of what the first leaves open */                                           \
    X(uint32_t, processes, "processes", COUNT, 1, 8, 0, 0, LARGER)                                 \
    X(uint32_t, seconds, "seconds", COUNT, 1, 86400, 0, 0, LARGER)    /* of measuring, in all */   \
    X(uint32_t, self_test, "self-test", COUNT, 0, 1000, 0, 0, LARGER) /* A/A series */             \
    X(bool, undecided_passes, "undecided", CHOICE, 0, 0, "fail", "pass", BOTH)                     \
    X(bool, removed_allowed, "removed", CHOICE, 0, 0, "fail", "allow", BOTH)                       \
    /* epochs of the head's file count, or the base's alone; see ci/gate/linking.h */              \
    X(bool, accept_base, "accept", CHOICE, 0, 0, "head", "base", EITHER)                           \
    X(bool, static_off, "static", CHOICE, 0, 0, "auto", "off", EITHER) /* ci/gate/explain.h */     \
    /* of a change that was judged by its code alone and not condemned */                          \
    X(bool, static_fails, "static-alone", CHOICE, 0, 0, "pass", "fail", EITHER)

struct policy_gate {
    POLICY_GATE(POLICY_MEMBER)
};

struct policy {
    const char *label; // "ci/plumb.cfg" or "ci/plumb.cfg at 1234abcd"
    const char *text;
    struct recipe recipe;
    enum sandbox_mode sandbox;
    const char *overlay; // the folder of a policy that lies outside of every commit, or NULL
    struct policy_toolchain *toolchains;
    size_t toolchain_count;
    struct policy_device *devices;
    size_t device_count;
    struct policy_set *sets;
    size_t set_count;
    struct policy_kernel *kernels;
    size_t kernel_count;
    struct policy_capture *captures; // each has a rule among the kernels and a set of problems
                                     // under its name
    size_t capture_count;
    struct policy_library *libraries;
    size_t library_count;
    struct policy_mix *mixes;
    size_t mix_count;
    struct policy_metric *metrics;
    size_t metric_count;
    struct policy_gate gate;
    struct policy_fleet fleet;
    POLICY_MEASURE(POLICY_MEMBER)
    POLICY_HISTORY(POLICY_MEMBER)
    POLICY_REPORT(POLICY_MEMBER)
    struct arena arena; // owns everything above
};

// Parses a policy and checks it. Errors name the file by `label`. The caller calls policy_free().
int policy_parse(struct policy *out, const char *text, size_t size, const char *label,
                 struct error *err);

// Reads a policy from a file of the working tree.
int policy_load(struct policy *out, const char *path, struct error *err);

void policy_free(struct policy *policy);

// Confines a policy, so that a change gains nothing by bringing its own policy or by going back to
// an old one. `trusted` is the trusted branch's newest policy, and must live as long as `policy`.
// For each key the stricter of the two values counts:
//   - Sandbox, accept, undecided, removed, static: strict if either is.
//   - Variables and containers: as `trusted` has them.
//   - Problems, devices, kernels, mixes and metrics: those of both. A kernel or library is left out
//     only where both leave it out; only device code is trusted where either says so.
//   - Margins: those of `trusted`, or smaller ones.
//   - Seconds, pairs, processes and self tests: the larger number.
//   - How to build: as in `policy`, within the time, memory and disk that both allow.
//   - Samples, searches, a fleet's queue, and the addresses to which reports lead: those of
//   `trusted`.
// With `trusted` NULL, because there is none, no variable, container and address is used, and a
// sandbox is required unless the policy does not mention it. *changed: some key of this policy no
// longer counts as it stands. -1: there are too many sections.
int policy_confine(bool *changed, struct policy *policy, const struct policy *trusted,
                   struct error *err);

// The rule for a kernel on a device; NULL: the kernel is not measured there.
const struct policy_kernel *policy_rule(const struct policy *policy, const char *kernel,
                                        const struct policy_device *device);

// Whether all its kernels are captured. Such kernels have machine code only after their programs
// have run, so nothing is known of them without a GPU.
bool policy_captures_alone(const struct policy *policy);

// The owner that the kernel's section names; NULL: it names none.
const char *policy_kernel_owner(const struct policy *policy, const char *kernel);

// Whether the policy leaves this kernel out on purpose.
bool policy_skips(const struct policy *policy, const char *kernel);

// Whether the policy leaves this library (a path or file name) out on purpose. Such a library is
// not loaded, so its kernels are not known.
bool policy_skips_library(const struct policy *policy, const char *library);

const struct policy_toolchain *policy_toolchain_find(const struct policy *policy, const char *name);

const struct policy_set *policy_set_find(const struct policy *policy, const char *name);

// Lists the regimes in which a rule's kernels run a problem of that set on a device of this kind,
// in their order; returns their number. `set` may be NULL.
size_t policy_regimes(enum regime out[REGIMES], const struct policy *policy, const char *kind,
                      const struct policy_kernel *rule, const struct policy_set *set,
                      const struct problem *problem);

// The smallest change of a metric that counts: as a fraction, and in the metric's own unit.
double metric_margin(const struct policy_metric *metric);
double metric_least(const struct policy_metric *metric);

// The gate's figures, replaced by the kernel's own where it has any.
struct policy_gate policy_gate_for(const struct policy *policy, const struct policy_kernel *rule);

#endif
