// SPDX-License-Identifier: Apache-2.0
//
// Everything that a measuring command needs, opened once: the repository, the policy, the store,
// the sandbox, the build cache and the devices of this machine.

#ifndef PLUMB_CONTEXT_H
#define PLUMB_CONTEXT_H

#include "baselines/store.h"
#include "ci/settings/policy.h"
#include "ci/settings/progress.h"
#include "runner/bench/measure.h"
#include "runner/build/build.h"

struct report_events; // reports/report.h

// Whether a gate may judge a CUDA kernel by its code alone.
enum static_use {
    STATIC_NEVER, // only measuring counts
    STATIC_AUTO,  // where nvcc is and the device is not, unless the policy says gate.static = off
    STATIC_ONLY,  // `plumb gate --static`: every CUDA device of the policy, and no other
    STATIC_LIST   // kernels are only listed: a CUDA device that would be missed need not be here
};

// The options that a command shares with others. A command names those that it uses, and no other.
enum shared_options {
    SHARED_NONE = 0,
    SHARED_STORE = 1 << 0,  // --repo and --store
    SHARED_POLICY = 1 << 1, // --policy
    SHARED_DEVICE = 1 << 2, // --device, --sandbox and --bench
    SHARED_OUT = 1 << 3,
    SHARED_DRY = 1 << 4,
    SHARED_QUIET = 1 << 5,
    SHARED_WHICH = 1 << 6, // --kernel and --problem
    SHARED_BUILD = 1 << 7, // --cache and --overlay
    SHARED_TIME = SHARED_STORE | SHARED_POLICY | SHARED_DEVICE | SHARED_DRY | SHARED_QUIET,
    SHARED_MEASURE = SHARED_TIME | SHARED_BUILD
};

// The words that stand beside the options, in order.
struct words {
    char **items;
    size_t count;
};

// The options that commands share (ci/command.c parses them).
struct options {
    struct words words;
    const char *repository; // directory; default "."
    const char *policy;     // file; default: ci/plumb.cfg of the commit or checkout
    const char *overlay;    // directory; default: the policy's
    const char *store;      // file; default REPOSITORY/.plumb/store.db
    const char *cache;      // directory; default REPOSITORY/.plumb/cache
    const char *bench;      // program; default beside plumb
    const char *device;     // only this one of the policy's
    const char *out;        // reports; NULL: none (gate: "plumb-report")
    const char *sandbox;    // mode that overrides the policy's; NULL: none
    const char *kernel;     // GLOB: only these kernels; NULL: all
    const char *problem;    // GLOB: only problems written like this; NULL: all
    uint32_t seconds;       // instead of the policy's gate.seconds; 0: not given
    enum static_use static_use;
    bool units; // use all of a device's units (the policy's device.units), not the first alone
    bool dry_run;
    bool quiet;
};

// A device of the policy, or one of several equal units of it, which follow each other. Where it is
// away nothing is measured and its profile is a shipped one.
struct context_device {
    size_t units; // this one and those behind it; 0: it is away, or one of those behind the first
    bool away;    // not on this machine, though the policy names it
    const char *odd; // one of several units: how it differs from the first; NULL: it does not
    const char *out; // away, for it was taken out; why. NULL: it was not
    bool is_static;  // away, and its kernels are built and judged by their code alone
    const struct policy_device *policy;
    int index;          // of the unit among its kind
    struct device unit; // the concrete one; where it is away, only what the policy says
    struct gpu gpu;     // profile: driver's figures, shipped ones, calibrated ones
};

struct context {
    const struct options *options;
    struct repository *repository;
    struct policy policy;
    struct policy trusted; // of the trusted branch's tip, where the policy is held against it
    bool first;            // a trusted branch has no policy yet, and all of this one counts
    bool foreign;          // `policy` is of no commit that the trusted branch has
    bool nobodys;          // no trusted branch is known: nothing is built or measured by it
    const char *otherwise; // a trusted branch whose policy builds otherwise; NULL: none
    struct store *store;
    struct sandbox sandbox;
    enum sandbox_mode asked;      // what of it was asked for, by the policy or by --sandbox
    struct toolchain toolchain;   // the default
    struct toolchain *toolchains; // those of the policy that were asked for, each in the arena
    size_t toolchain_count;
    struct builder builder; // by the default
    const char *kept;       // where each library has a folder of its own (runner/code/code_id.h)
    struct overlay overlay; // when policy.recipe.overlay points here
    char references[64];    // folder in which benches keep what libraries say is right; "": none
    const char *state;      // directory of store, cache and logs
    const char *bench_log;  // stderr of the bench children
    struct context_device *devices;
    size_t device_count;
    struct progress progress;
    size_t unbuilt;                    // commits that a dry run would have to build
    struct bench *leaving[UNITS_MOST]; // nothing is open in them; context_end_leaving()
    size_t leaving_count;
    const struct report_events *events; // that reports tell beside a run; NULL: none
    struct line *line;  // of the commit that was judged last (ci/gate/linking.c); NULL: none was
    struct arena arena; // strings of all of these
};

#define POLICY_PATH "ci/plumb.cfg"
#define EPOCHS_PATH "baselines/epochs.txt"

// Keeps a folder of ours out of the user's `git status` without touching any file of theirs.
int context_ignore(const char *directory, struct error *err);

// Repository and state directory. Every later step needs it. Caller: context_close, also after a
// failure.
int context_open(struct context *context, const struct options *options, struct error *err);

// Whether --kernel and --problem leave a series in; NULL stands for any.
bool context_selects(const struct context *context, const char *kernel,
                     const struct problem *problem);

// " (only kernels 'GLOB', problems 'GLOB')" in `arena`, or "" where all are measured.
const char *context_selection(const struct context *context, struct arena *arena);

#define STATE ".plumb" // the folder of a checkout with the store and the cache

bool context_is_bare(const struct context *context); // there is no checkout

// options->policy; else the file at `commit` ("" = the checkout's, or HEAD's of a bare repository).
// Unless the repository is the user's own (repository_trusted()), what the policy says counts only
// where it is no laxer than the trusted branch's at its tip (policy_confine()): a change may bring
// a policy, or choose among all that the branch ever had by where it leaves it. What --seconds,
// --kernel and --problem say becomes part of it, the last two as a comment at the end of
// policy.text, so that every run says what it left out. Where no trusted branch is known, a
// commit's policy is refused, and nothing is built or measured by that of a checkout.
int context_policy(struct context *context, const char *commit, struct error *err);

// Whether a change touches what context->otherwise builds or captures: it may have begun before a
// kernel was, and made it slower unseen.
int context_unjudged(bool *out, const struct context *context, const char *base, const char *head,
                     struct error *err);

// Whether a commit may be a stranger's: the repository is not the user's own, and the trusted
// branch does not have the commit.
bool context_strangers(const struct context *context, const char *commit);

// -1 when there must be a sandbox to build this commit, because it or the policy, whose command
// builds it, may be a stranger's, and there is none. Who says auto, by --sandbox or in a policy
// that counts, says that none is needed.
int context_may_build(const struct context *context, const struct commit *commit,
                      struct error *err);

// The address of a commit, with %s in place of its id: the policy's, or else one of the remote; or
// NULL.
const char *context_commit_url(const struct context *context, struct arena *arena);

int context_store(struct context *context, enum store_mode mode, struct error *err);

// Notes edits of the checkout that are not measured with the commit: nobody committed them, and the
// build reads the files.
void context_tell_edits(struct context *context, const char *commit);

// The sandbox that --sandbox or else the policy asks for, into context->sandbox.
int context_sandbox_probe(struct context *context, struct error *err);

// Sandbox, toolchain, overlay and cache; -1 where a sandbox is required and is none. An overlay
// becomes part of policy.recipe, and a comment at the end of policy.text, so that every run says
// what it was built with.
int context_builder(struct context *context, struct error *err);

// A toolchain of the policy by its name, which is asked for its compilers once; NULL or "default":
// the one without a section. It stays where it is until context_close().
int context_toolchain(const struct toolchain **out, struct context *context, const char *name,
                      struct error *err);

// Starts a bench on each device of the policy, once, to learn what is there; calibrates a host that
// has no profile yet and keeps it in the store (a dry run does not). A device of the policy that is
// not in this machine, and need not be, is there for a gate too: without a bench, to be judged from
// the build alone where options->static_use says so.
int context_devices(struct context *context, struct error *err);

// The first of equal units, in whose name all of them are planned.
const struct context_device *context_first_unit(const struct context *context,
                                                const struct context_device *device);

void context_close(struct context *context);

// A fresh bench without a device that sees `directories`: it lists libraries, the same on every
// machine.
int context_lister(struct bench **out, struct context *context, const char *const *directories,
                   size_t directory_count, struct error *err);

// A fresh bench on a device, which is no static one, that sees `directories`. May be called by
// several threads at once.
int context_bench(struct bench **out, struct context *context, const struct context_device *device,
                  const char *const *directories, size_t directory_count, struct error *err);

// The sandbox for a file or folder at `path`, which a command runs without a policy. `asked`: the
// mode of --sandbox, or NULL. *checkout: the root of the checkout that it lies in, if that may be a
// stranger's, else NULL; the caller frees it. -1: it may be a stranger's, there is no sandbox, and
// nobody said that it needs none.
int context_sandbox_of(struct sandbox *out, char **checkout, const char *path, const char *asked,
                       struct error *err);

// A bench for one library that a command names, by options' bench and sandbox: in the sandbox where
// there is one, and where there is none that is said. The caller stops it, also when it did not
// start.
struct library_bench {
    struct sandbox sandbox;
    char *library; // its absolute path
    char *directory;
    struct bench *bench;
};

int library_bench_start(struct library_bench *out, const char *library,
                        const struct options *options, const char *kind, struct error *err);

void library_bench_stop(struct library_bench *bench);

// The first step of context_bench(), as bench_begin(): the device's policy and index are enough.
int context_begin_bench(struct bench **out, struct context *context,
                        const struct context_device *device, const char *const *directories,
                        size_t directory_count, struct error *err);

// Tells a child to end, and does not wait for it: on a GPU that takes a tenth of a second, in which
// other work can be done. No series may be open in the child. Call context_end_leaving(), which
// waits, before anything is measured.
void context_leave(struct context *context, struct bench *bench);

void context_end_leaving(struct context *context);

// A device's profile: driver's figures < shipped < calibrated. What is measured is kept in the
// store; a reading that does not repeat is refused by name and changes nothing.

// The driver's and the shipped figures for the device of this bench, on top of a zeroed `out`.
void profile_shipped(struct gpu *out, const struct bench *bench, struct arena *arena);

// Why the shipped profile is to be taken and not the one calibrated on the device; the caller frees
// it. NULL: the calibrated one is to be taken. The shipped one stays where it predicts the newest
// run's GEMMs on that device better, and where it was judged by measured times and that run has too
// few: micro-benchmarks draw less power than a product does, so their clocks may mislead.
int profile_stays(char **why, const struct gpu *calibrated, const struct gpu *shipped,
                  struct store *store, const char *uuid, struct error *err);

// Runs the micro-benchmarks (`only`: one figure, NULL: all), takes the stable figures and keeps
// them. `readings`, which lives in the context's arena, gets every reading; where it is NULL,
// refusals become notes.
int profile_measure(struct bench_figure_list *readings, struct context_device *device,
                    struct context *context, struct bench *bench, const char *only,
                    struct error *err);

// ---- commands that need nothing but a store: it lies where every other command finds it ----

// Opens the store that --store names, or the repository's. The caller closes the context, also
// after a failure. A repository is only needed when --store is not given, and opened when --repo
// is.
int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err);

// Opens an existing store for a command that reads the whole past. Where the command wants to keep
// what it concludes (`wanted`) and the file can be written, the store is opened for writing and
// *keeps is true; else it is opened for reading.
int store_option_open_kept(struct context *context, const struct options *options, bool wanted,
                           bool *keeps, struct error *err);

#endif
