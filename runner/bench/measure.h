// SPDX-License-Identifier: Apache-2.0
//
// Drives the child `bench` over the line protocol of model/wire.h: one child per device, that loads
// libraries, times launches and streams samples.
//
// Three kinds of trouble are kept apart:
//   - a kernel that is wrong, hangs, crashes its process or makes it write garbage is data: the
//     call returns 0 and the outcome's state says it. `gone` then means the child is dead: stop it
//     and start a new one for the next series;
//   - a device that disappears, or a child that cannot start, is an error of the run: -1;
//   - a command the child refuses (`fail`) leaves it alive: 0 with state crashed (or, for a library
//     that cannot be listed, unbuildable) and the child's words.
#ifndef PLUMB_MEASURE_H
#define PLUMB_MEASURE_H

#include "model/record/record.h"
#include "model/result.h"
#include "runner/child/process.h"
#include "runner/child/sandbox.h"

// Exit status of a bench whose device is gone; it says why in a `fail` or `note` line before. Since
// a kernel can exit so too, it is believed only when a fresh child finds no device either.
enum { BENCH_DEVICE_LOST = 40 };

// Longest each command may take, seconds of wall time; 0 takes the default in brackets.
struct bench_limits {
    double start_s;        // until `device` [60]
    double list_s;         // list and supports [30]
    double open_s;         // load, reference, check, warm-up [120]
    double measure_s;      // one pairs or solo command [120]
    double close_s;        // [60]
    double calibrate_s;    // [300]
    uint64_t memory_bytes; // of the child, see process.h [none]
};

// bench_start() copies it; only the sandbox and the site must live until bench_stop().
struct bench_plan {
    const char *program; // NULL: `bench` beside this executable
    const char *kind;    // "host", "cuda", or "none": no device, libraries are only listed
    int32_t index;       // of the device among its kind
    bool ask;            // mostly for what it is: it takes what measuring needs when it must
    const struct sandbox *sandbox;
    const char *const *read_only; // directories with libraries, shown in the sandbox
    size_t read_only_count;
    size_t build_count; // the first of read_only: builds, of which a host library sees its own
    const char *kept;   // one of them is the folder of libraries' folders (runner/code/code_id.h),
                        // of which it sees its own; NULL: none is
    const char *references; // a folder in which children keep, for each other, what libraries say
                            // of known inputs; NULL: none
    const char *log_path;   // its stderr; NULL: dropped
    struct bench_limits limits;
    // Where its own processors come from (processors.h) when it opens its first series; NULL: this
    // machine.
    const struct processors_site *site;
    // Progress notes of the child, sanitised; may be NULL.
    void (*note)(void *context, const char *text);
    void *note_context;
};

struct bench;
// Starts the child and reads what device it has. -1: no program, no device, wrong wire version.
int bench_start(struct bench **out, const struct bench_plan *plan, struct error *err);
// bench_start() in two steps, so that several children start at once: after bench_begin() a child
// takes no command yet, and bench_ready() waits until it does. The caller bench_stop()s it, also
// when bench_ready() fails. A child lives no longer than the thread that started it.
int bench_begin(struct bench **out, const struct bench_plan *plan, struct error *err);
int bench_ready(struct bench *bench, struct error *err);
// Asks the child to quit and does not wait, so that it ends while something else goes on; only
// bench_stop() may follow. NULL is allowed.
void bench_leave(struct bench *bench);
// Asks the child to quit, kills it if it does not; frees. NULL is allowed.
void bench_stop(struct bench *bench);
// The device, and its figures as the driver gives them (origin device). Borrowed until stop.
const struct device *bench_device(const struct bench *bench);
const struct gpu *bench_gpu(const struct bench *bench);

struct bench_outcome {
    enum measurement_state state; // MEASURED_OK or what went wrong
    enum sample_role role;        // whose fault; ROLE_HEAD where that cannot be told
    bool gone;                    // the child is dead: only bench_stop() may follow
    bool refused;                 // the child answered `fail`: it is alive, and nothing was done
    bool lacks;                   // refused, for want of memory, and nothing else is open there
    bool faulted; // the child is dead by a fault of its device, which on a device that others use
                  // too may be theirs, or by abort()
    // The code of `role` ended the child, and would again: the child crashed or kept
    // silent, was not killed from outside, and the other library cannot have done it.
    bool own_fault;
    double max_error, tolerance; // of open and close; 0 if they were not reached; always finite
    uint32_t launches;           // timed together per sample, after open
    double reference_s;          // that references took, from open on; 0 where it is not told
    bool on_end;                 // after open: blocks of others between its own cost it time
    double memory_bytes[2];      // of each side, beside the operands; 0 where it is not told
    char detail[512];            // why not ok, or the kernel's note; sanitised, untrusted
    char base_note[512];         // the base's, after open; likewise
};

struct bench_kernel {
    const char *name;
    const char *summary; // untrusted text
    const char *device;  // "host" or "cuda"
    struct traits traits;
};
struct bench_kernel_list {
    struct bench_kernel *items;
    size_t count;
};
// Kernels of one library (absolute path); strings live in the arena. `list` is untouched unless the
// outcome is ok.
int bench_list(struct bench_outcome *out, struct bench_kernel_list *list, struct bench *bench,
               const char *library, struct arena *arena, struct error *err);

// Whether a kernel of a library (absolute path) can do a problem. *yes is untouched unless the
// outcome is ok.
int bench_supports(struct bench_outcome *out, bool *yes, struct bench *bench, const char *library,
                   const char *kernel, const struct problem *problem, struct error *err);

// A seed that nobody knows beforehand, 63 bits from the system's random source. All that a bench
// draws (contents, order, noise, which launches are looked at) follows from it, and it is stored
// with the measurement: told afterwards, it gives the same again.
uint64_t bench_draw_seed(void);

// One series to measure. Paths are absolute and inside a directory of plan->read_only.
struct bench_series {
    const char *kernel;
    const struct problem *problem;
    const char *head;    // library
    const char *base;    // NULL: head alone
    uint64_t seed;       // what the child draws from; `process` is added
    uint64_t known;      // seed of inputs that series with a slow reference share; 0: as seed
    uint16_t process;    // which of the processes that it was open in, for its samples: any number
                         // that is larger each time
    const char *pins[2]; // by role: the note of an earlier prepare() to reproduce, NULL if none
    bool head_first;     // load the head's library first
    uint32_t launches;   // timed together per sample, as an earlier process chose; 0: bench chooses
};
// A series that is open in a child, the caller's; it means nothing once that child is gone.
struct bench_handle {
    int64_t id;
    uint32_t next_pair;
    uint16_t process;
};
// Opens one more series; several may be open at once, and are measured in any order. A child that
// has no room for it beside the others refuses. When the child dies or hangs in it, a fresh one is
// tried with the base alone, to learn whose fault it was.
int bench_open(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
               const struct bench_series *series, struct error *err);

// A list of samples that grows across commands and children; a zeroed struct is empty.
struct sample_list {
    struct sample *items;
    size_t count, capacity;
};
void sample_list_free(struct sample_list *list);

// Measures `count` pairs of one base and one head sample, numbered from where the series stands.
// Complete pairs that arrived before a failure are kept.
int bench_pairs(struct bench_outcome *out, struct sample_list *base, struct sample_list *head,
                struct bench *bench, struct bench_handle *handle, uint32_t count, uint16_t block,
                struct error *err);
// Measures `count` samples of the head alone.
int bench_solo(struct bench_outcome *out, struct sample_list *head, struct bench *bench,
               struct bench_handle *handle, uint32_t count, uint16_t block, struct error *err);
// Checks the output once more; a kernel that was right before and is wrong after has no time.
int bench_close(struct bench_outcome *out, struct bench *bench, const struct bench_handle *handle,
                struct error *err);

// Copies samples and outcome into a measurement of the run. regime and seed are the caller's.
void measurement_fill(struct measurement *out, const struct bench_outcome *outcome,
                      const struct sample_list *samples, struct arena *arena);

struct bench_figure {
    const char *key; // of GPU_FIGURES
    double value;
    double cv; // spread of the repeats / value
    uint32_t repeats;
    bool stable; // false: the reading is refused, `note` says why
    const char *note;
};
struct bench_figure_list {
    struct bench_figure *items;
    size_t count;
};
// Measures the device's profile; only: one key, or NULL for all.
int bench_calibrate(struct bench_outcome *out, struct bench_figure_list *list, struct bench *bench,
                    const char *only, struct arena *arena, struct error *err);

// ==== records ====
//
// Makes records: of one kernel of a library, whose launches a sandboxed bench tells and whose
// device code stands in the library's file, or of a plan with its cubins. Neither runs here.

// `bench` runs the library's host code: it should time nothing else. Writes the file at once, or
// not at all. 0 with out->state MEASURED_OK; another state when the kernel cannot be recorded, with
// the reason in out->detail; -1: the device is gone, or the file cannot be written.
int record_write(struct bench_outcome *out, const char *path, struct bench *bench,
                 const struct bench_series *series, struct error *err);
// Writes the record of a problem on a device with so many multiprocessors. 0 with out->state
// MEASURED_OK; another state where the plan cannot be followed for this problem, with the reason in
// out->detail; -1: the file cannot be written.
int record_of_plan(struct bench_outcome *out, const char *to, const char *path,
                   const struct problem *problem, int64_t sms, struct error *err);

// The code id of a record: it covers the launches, and of their kernels what code_id_of_kernel()
// does. Two records of one id put the same code on the device, called alike. -1: it is no record.
int record_code_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err);

// Writes a whole record, at once or not at all. Its images are written without the code of kernels
// that it does not launch (code_clear_unlaunched()).
int record_save(const struct record *record, const char *path, struct error *err);

#endif
