// SPDX-License-Identifier: Apache-2.0
//
// Everything that a measuring command needs: the repository, the policy, the store, the sandbox,
// the build cache and the devices of this machine. Each is opened once.

#ifndef PLUMB_CONTEXT_H
#define PLUMB_CONTEXT_H

#include "baselines/store.h"
#include "ci/settings/policy.h"
#include "ci/settings/progress.h"
#include "runner/bench/measure.h"
#include "runner/build/build.h"

struct report_events; // reports/report.h

// Whether a gate may judge a CUDA kernel by its machine code, without a device.
enum static_use {
    STATIC_NEVER, // a kernel must be measured
    STATIC_AUTO,  // it may where nvcc is here and the device is not, unless the policy says
                  // gate.static = off
    STATIC_ONLY,  // `plumb gate --static`: every CUDA device of the policy is judged that way, and
                  // no other
    STATIC_LIST   // kernels are only listed, so a CUDA device may be missing
};

// Options that several commands share. A command names those that it takes.
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

// The words that stand beside the options, in their order.
struct words {
    char **items;
    size_t count;
};

// The options that commands share (ci/command.c parses them).
struct options {
    struct words words;
    const char *repository; // a directory; default "."
    const char *policy;     // a file; default: ci/plumb.cfg of the commit or checkout
    const char *overlay;    // a directory; default: the policy's
    const char *store;      // a file; default REPOSITORY/.plumb/store.db
    const char *cache;      // a directory; default REPOSITORY/.plumb/cache
    const char *bench;      // a program; default: the one beside plumb
    const char *device;     // only this device of the policy
    const char *out;        // the folder for reports; NULL: none (gate: "plumb-report")
    const char *sandbox;    // the sandbox mode, which overrides the policy's; NULL: the policy's
    const char *kernel;     // a glob: only these kernels; NULL: all
    const char *problem;    // a glob over problems' texts: only these; NULL: all
    uint32_t seconds;       // instead of the policy's gate.seconds; 0: not given
    enum static_use static_use;
    bool units; // use all units of a device (the policy's device.units) and not only the first
    bool dry_run;
    bool quiet;
};

// A device of the policy, or one of several equal units of it; the units of a device stand
// together. If the device is away, nothing is measured on it and its profile is a shipped one.
struct context_device {
    size_t units;    // for the first unit, their number; 0: the device is away, or this is a later
                     // unit
    bool away;       // the policy names it, but it is not in this machine
    const char *odd; // how this unit differs from the first; NULL: it does not
    const char *out; // it is away because it was taken out of use, and this is why; NULL: it was
                     // not taken out
    bool is_static;  // it is away, and its kernels are built and judged by their machine code
    const struct policy_device *policy;
    int index;          // the unit's index among devices of its kind
    struct device unit; // the concrete unit; if it is away, only what the policy says of it
    struct gpu gpu;     // its profile, made of the driver's, the shipped and the calibrated figures
};

struct context {
    const struct options *options;
    struct repository *repository;
    struct policy policy;
    struct policy trusted; // the policy of the trusted branch's tip, if `policy` is held against it
    bool first;            // the trusted branch has no policy yet, so `policy` counts entirely
    bool foreign;          // `policy` belongs to no commit of the trusted branch
    bool nobodys;          // no trusted branch is known, so nothing is built or measured by
                           // `policy`
    const char *otherwise; // a trusted branch whose policy builds differently; NULL: none
    const char *recaptured; // one whose policy captures by other commands, which count; NULL: none
    bool untold;            // that a tolerance is of a type that nobody names was said
    struct store *store;
    struct sandbox sandbox;
    enum sandbox_mode asked;      // the mode that the policy or --sandbox asked for
    struct toolchain toolchain;   // the default toolchain
    struct toolchain *toolchains; // the policy's toolchains that were asked for, each in the arena
    size_t toolchain_count;
    struct builder builder; // the default toolchain's builder
    const char *kept;       // the cache's folder, in which each library has its own
                            // (runner/code/code_id.h)
    struct overlay overlay; // used when policy.recipe.overlay points here
    char references[64];    // a folder in which benches keep correct results that libraries
                            // computed; "": none
    const char *state;      // the directory of the store, the cache and the logs
    const char *bench_log;  // stderr of the bench children
    struct context_device *devices;
    size_t device_count;
    struct progress progress;
    size_t unbuilt;                    // number of commits that a dry run would have to build
    struct bench *leaving[UNITS_MOST]; // children that were told to end and have no open series;
                                       // see context_end_leaving()
    size_t leaving_count;
    const struct report_events *events; // the events that reports show beside a run; NULL: none
    struct line *line;  // the line of the commit that was judged last (ci/gate/linking.c); NULL:
                        // none
    struct arena arena; // strings of all these members
};

#define POLICY_PATH "ci/plumb.cfg"
#define EPOCHS_PATH "baselines/epochs.txt"

// Opens the repository and the state directory, which every later step needs. The caller calls
// context_close(), also after a failure.
int context_open(struct context *context, const struct options *options, struct error *err);

// Whether --kernel and --problem select a series; NULL stands for any kernel or problem.
bool context_selects(const struct context *context, const char *kernel,
                     const struct problem *problem);

// The selection as text, " (only kernels 'GLOB', problems 'GLOB')", in `arena`; "" if everything is
// selected.
const char *context_selection(const struct context *context, struct arena *arena);

#define STATE ".plumb" // the folder in a checkout that has the store and the cache

// Reads the policy: the file of options->policy, or else the file at `commit` ("": the checkout's
// file, or HEAD's in a bare repository). Unless the repository is the user's own
// (repository_trusted()), each of its keys counts only where it is no laxer than the policy at the
// tip of the trusted branch (policy_confine()). Otherwise a change could bring its own policy, or
// could pick an old one of the branch by where it forks off. --seconds, --kernel and --problem
// become part of the policy, the last two as a comment at the end of policy.text, so that every run
// says what it left out. If no trusted branch is known, a commit's policy is refused, and a
// checkout's policy builds and measures nothing.
int context_policy(struct context *context, const char *commit, struct error *err);

// Whether a commit is untrusted: the repository is not the user's own, and the trusted branch does
// not have the commit.
bool context_strangers(const struct context *context, const char *commit);

// Whether this commit may be built. -1 if a sandbox is needed and there is none. It is needed if
// the commit is untrusted, or if the policy is, whose command builds it. Somebody who says auto, by
// --sandbox or in a trusted policy, says that none is needed.
int context_may_build(struct context *context, const struct commit *commit, struct error *err);

// The address of a commit's page, with %s in place of its id: from the policy, or else made from a
// remote's address; or NULL.
const char *context_commit_url(const struct context *context, struct arena *arena);

int context_store(struct context *context, enum store_mode mode, struct error *err);

// Notes edits of files that a build of the commit reads. They are not measured with the commit,
// because nobody committed them.
void context_tell_edits(struct context *context, const char *commit);

// Finds the sandbox that --sandbox asks for, or else the policy, and puts it into context->sandbox.
int context_sandbox_probe(struct context *context, struct error *err);

// Prepares builds: the sandbox, the toolchain, the overlay and the cache. -1 if a sandbox is
// required and there is none. An overlay becomes part of policy.recipe, and a comment at the end of
// policy.text, so that every run says what it was built with.
int context_builder(struct context *context, struct error *err);

// Finds a toolchain of the policy by its name and asks it once for its compilers. NULL or "default"
// is the toolchain without a section. It stays where it is until context_close().
int context_toolchain(const struct toolchain **out, struct context *context, const char *name,
                      struct error *err);

// Starts a bench on each device of the policy once to identify it. A host without a profile is
// calibrated, and the profile is kept in the store (not in a dry run). A device that is not in this
// machine, and is not required, is still listed for a gate: it has no bench, and is judged from the
// build alone where options->static_use says so.
int context_devices(struct context *context, struct error *err);

// The first of a device's equal units; plans are made for it and hold for all of them.
const struct context_device *context_first_unit(const struct context *context,
                                                const struct context_device *device);

// Whether new codes are linked with earlier ones on this device, so that the history consists of
// links and not only of times.
bool context_links(const struct context *context, const struct context_device *device);

// Whether a change that only absolute times show must be confirmed by a link before it is a
// verdict. This is so for the series of a host, unless the policy says whether codes are linked.
bool context_confirms(const struct context *context, const struct run *run, const struct result *r);

void context_close(struct context *context);

// Starts a fresh bench that uses no device and sees `directories`. It lists libraries, with the
// same result on every machine.
int context_lister(struct bench **out, struct context *context, const char *const *directories,
                   size_t directory_count, struct error *err);

// Starts a fresh bench on a device that is not static; it sees `directories`. Several threads may
// call this at once.
int context_bench(struct bench **out, struct context *context, const struct context_device *device,
                  const char *const *directories, size_t directory_count, struct error *err);

// Finds the sandbox for a file or folder at `path`, for a command that runs without a policy.
// `asked` is the mode of --sandbox, or NULL. *checkout is the root of the checkout around `path` if
// that checkout may be untrusted, else NULL; the caller frees it. -1: it may be untrusted, there is
// no sandbox, and nobody said that none is needed.
int context_sandbox_of(struct sandbox *out, char **checkout, const char *path, const char *asked,
                       struct error *err);

// A bench for one library that a command names, with the options' bench and sandbox. It runs in the
// sandbox if there is one; if not, a message says so. The caller stops it, even when it did not
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

// Does the first step of context_bench(), as bench_begin() does. Only the device's policy and index
// are needed.
int context_begin_bench(struct bench **out, struct context *context,
                        const struct context_device *device, const char *const *directories,
                        size_t directory_count, struct error *err);

// Tells a child to end and does not wait for it: on a GPU that takes a tenth of a second, in which
// other work can be done. No series may be open in the child. Call context_end_leaving(), which
// waits, before measuring anything.
void context_leave(struct context *context, struct bench *bench);

void context_end_leaving(struct context *context);

// A device's profile. Calibrated figures take precedence over shipped ones, and those over the
// driver's. Measured figures are kept in the store. A reading that does not repeat is refused by
// name and changes nothing.

// Fills a zeroed `out` with the driver's figures and those shipped for such a device.
void profile_shipped(struct gpu *out, const struct device *device, const struct gpu *drivers,
                     struct arena *arena);

// Says why the shipped profile should be used and not the one calibrated on the device; *why is
// NULL if the calibrated one should be used. The caller frees *why. The shipped profile stays in
// two cases. Either it predicts the GEMMs of the device's newest run better, or that run has too
// few GEMMs to tell and the shipped profile was itself judged by measured times.
int profile_stays(char **why, const struct gpu *calibrated, const struct gpu *shipped,
                  struct store *store, const char *uuid, struct error *err);

// Runs the micro-benchmarks (`only`: of one figure, NULL: of all) and keeps the stable figures.
// `readings`, in the context's arena, gets every reading; where it is NULL, refused figures become
// notes.
int profile_measure(struct bench_figure_list *readings, struct context_device *device,
                    struct context *context, struct bench *bench, const char *only,
                    struct error *err);

// ---- commands that need only a store ----

// Opens the store that --store names, or the repository's. The caller closes the context, also
// after a failure. A repository is needed only if --store is not given; it is also opened if --repo
// is given.
int store_option_open(struct context *context, const struct options *options, enum store_mode mode,
                      struct error *err);

// Opens an existing store for a command that reads the whole past. It is opened for writing, and
// *keeps is true, if the command wants to keep its conclusions (`wanted`) and the file can be
// written. Otherwise it is opened for reading.
int store_option_open_kept(struct context *context, const struct options *options, bool wanted,
                           bool *keeps, struct error *err);

#endif
