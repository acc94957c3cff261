// SPDX-License-Identifier: Apache-2.0
//
// Drives the child `bench` over the line protocol of model/wire.h. There is one child for each
// device;
// it loads libraries, times launches and streams samples.
//
// Three kinds of failure are kept apart:
//   - A kernel that is wrong, hangs, crashes its process or makes it write garbage is data: the
//     call returns 0 and the outcome's state says so. `gone` then means that the child is dead:
//     stop
//     it and start a new one for the next series.
//   - A device that disappears, a child that cannot start, and a machine so crowded that a child
//     gets none of its time are errors of the run: -1.
//   - A command that the child refuses (`fail`) leaves the child alive: the call returns 0 with
//     state crashed (or unbuildable, for a library that cannot be listed) and the child's text.
#ifndef PLUMB_MEASURE_H
#define PLUMB_MEASURE_H

#include "model/record/record.h"
#include "model/result.h"
#include "runner/child/process.h"
#include "runner/child/sandbox.h"

// Exit status of a bench whose device is gone; before, it says why in a `fail` or `note` line. A
// kernel can exit with this status, too, so it is believed only if a fresh child finds no device
// either.
enum { BENCH_DEVICE_LOST = 40 };

// The longest own time of each command (process.h), in seconds; 0 means the default in brackets.
struct bench_limits {
    double start_s;        // until the `device` line [60]
    double list_s;         // list and supports [30]
    double open_s;         // load, reference, check, warm-up [120]
    double measure_s;      // one `pairs` or `solo` command [120]
    double close_s;        // [60]
    double calibrate_s;    // [300]
    uint64_t memory_bytes; // the child's memory, see process.h [none]
};

// How to start a child. bench_start() copies it; only the sandbox and the site must live until
// bench_stop().
struct bench_plan {
    const char *program; // NULL: `bench` beside this executable
    const char *kind;    // "host", "cuda", or "none": no device, libraries are only listed
    int32_t index;       // the device's index among devices of its kind
    bool ask;            // the child is mainly asked what the device is; it prepares for measuring
                         // only when it must
    const struct sandbox *sandbox;
    const char *const *read_only; // directories with libraries, which the sandbox shows
    size_t read_only_count;
    size_t build_count; // the first so many of read_only are builds; a library on the host sees
                        // only its own
    const char *kept;   // one of read_only: a folder in which each library has a folder of its own
                        // (runner/code/code_id.h) and sees only that one; NULL: there is none
    const char *references; // a folder in which children keep, for each other, the results of
                            // libraries for known inputs; NULL: none
    const char *log_path;   // the file for its stderr; NULL: dropped
    struct bench_limits limits;
    // Where it takes its own processors from (processors.h) when it opens its first series; NULL:
    // this machine.
    const struct processors_site *site;
    // Called with the child's progress notes, which are sanitised; may be NULL.
    void (*note)(void *context, const char *text);
    void *note_context;
};

struct bench;
// Starts the child and reads which device it has. -1: there is no program or no device, or the wire
// version is wrong.
int bench_start(struct bench **out, const struct bench_plan *plan, struct error *err);
// Does the same in two steps, so that several children can start at once. After bench_begin() a
// child takes no command yet; bench_ready() waits until it does. The caller calls bench_stop(),
// also when bench_ready() fails. A child ends when the thread that started it ends.
int bench_begin(struct bench **out, const struct bench_plan *plan, struct error *err);
int bench_ready(struct bench *bench, struct error *err);
// Asks the child to quit and does not wait, so that other work can go on while it ends. Only
// bench_stop() may follow. NULL is allowed.
void bench_leave(struct bench *bench);
// Asks the child to quit, kills it if it does not, and frees it. NULL is allowed.
void bench_stop(struct bench *bench);
// Returns the device, and its figures as the driver gives them (origin device). Borrowed until
// bench_stop().
const struct device *bench_device(const struct bench *bench);
const struct gpu *bench_gpu(const struct bench *bench);

struct bench_outcome {
    enum measurement_state state; // MEASURED_OK, or what went wrong
    enum sample_role role;        // the side that caused it; ROLE_HEAD where that cannot be told
    bool gone;                    // the child is dead: only bench_stop() may follow
    bool refused;                 // the child answered `fail`: it is alive, and nothing was done
    bool lacks;                   // it refused because memory is short, and nothing else is open
                                  // there
    bool unable;                  // the same for another reason, which is this machine's
    bool faulted; // a fault of the device killed the child, or it called abort(); if others use the
                  // device, the fault may be theirs
    // The code of `role` ended the child and would do so again: the child crashed or did not
    // answer, it was not killed from outside, and the other library cannot be the cause.
    bool own_fault;
    double max_error, tolerance; // from open and close; 0 if these were not reached; always finite
    uint32_t launches;           // launches timed together per sample; set by open
    double reference_s;          // seconds that references took since open; 0: not told
    bool on_end;                 // set by open: its blocks should follow each other directly,
                                 // because other blocks between them cost time
    double memory_bytes[2];      // memory of each side beside the operands; 0: not told
    char detail[512];            // why it is not ok, or the kernel's note; sanitised, untrusted
    char base_note[512];         // the base's note, set by open; sanitised, untrusted
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
// Lists the kernels of one library (absolute path); strings live in the arena. `list` is untouched
// unless the outcome is ok.
int bench_list(struct bench_outcome *out, struct bench_kernel_list *list, struct bench *bench,
               const char *library, struct arena *arena, struct error *err);

// Asks whether a kernel of a library (absolute path) supports a problem. *yes is untouched unless
// the outcome is ok.
int bench_supports(struct bench_outcome *out, bool *yes, struct bench *bench, const char *library,
                   const char *kernel, const struct problem *problem, struct error *err);

// Draws a seed that nobody can know beforehand: 63 bits from the system's random source. Everything
// random in a bench (contents, order, noise, which launches are checked) follows from it. It is
// stored with the measurement, so that a bench can repeat it.
uint64_t bench_draw_seed(void);

// One series to measure. Paths are absolute and lie inside a directory of plan->read_only.
struct bench_series {
    const char *kernel;
    const struct problem *problem;
    const char *head;    // the head's library
    const char *base;    // the base's library; NULL: the head alone
    uint64_t seed;       // the child's seed; `process` is added to it
    uint64_t known;      // seed of the inputs that all series with a slow reference share; 0:
                         // `seed`
    uint16_t process;    // number of the process in the series' samples; it must grow with each
                         // process that opens the series
    const char *pins[2]; // by role: the note of an earlier prepare() that should be reproduced;
                         // NULL: none
    bool head_first;     // the head's library is loaded first
    uint32_t launches;   // launches timed together per sample, as an earlier process chose; 0:
                         // bench chooses
};
// A series that is open in a child; the caller owns the handle. When the child is gone it is of no
// use any more.
struct bench_handle {
    int64_t id;
    uint32_t next_pair;
    uint16_t process;
};
// Opens one more series. Several may be open at once, and they are measured in any order. A child
// that has no room for another one refuses. If the child dies or hangs, a fresh one tries the base
// alone, which shows whose fault it was.
int bench_open(struct bench_outcome *out, struct bench_handle *handle, struct bench *bench,
               const struct bench_series *series, struct error *err);

// A list of samples that grows across commands and children; a zeroed struct is empty.
struct sample_list {
    struct sample *items;
    size_t count, capacity;
};
void sample_list_free(struct sample_list *list);

// Measures `count` pairs, each of one base and one head sample; their numbers continue those of the
// series. Complete pairs that arrived before a failure are kept.
int bench_pairs(struct bench_outcome *out, struct sample_list *base, struct sample_list *head,
                struct bench *bench, struct bench_handle *handle, uint32_t count, uint16_t block,
                struct error *err);
// Measures `count` samples of the head only.
int bench_solo(struct bench_outcome *out, struct sample_list *head, struct bench *bench,
               struct bench_handle *handle, uint32_t count, uint16_t block, struct error *err);
// Checks the output once more. A kernel whose results were correct before and are wrong now has no
// time.
int bench_close(struct bench_outcome *out, struct bench *bench, const struct bench_handle *handle,
                struct error *err);

// Copies samples and outcome into a measurement of the run. The caller sets regime and seed.
void measurement_fill(struct measurement *out, const struct bench_outcome *outcome,
                      const struct sample_list *samples, struct arena *arena);

struct bench_figure {
    const char *key; // a key of GPU_FIGURES
    double value;
    double cv; // standard deviation of the repeats / value
    uint32_t repeats;
    bool stable; // false: the reading is refused, `note` says why
    const char *note;
};
struct bench_figure_list {
    struct bench_figure *items;
    size_t count;
};
// Measures the device's profile. `only` is one key, or NULL for all.
int bench_calibrate(struct bench_outcome *out, struct bench_figure_list *list, struct bench *bench,
                    const char *only, struct arena *arena, struct error *err);

// ==== records ====
//
// Makes records in two ways. One is of a kernel of a library: a sandboxed bench tells its launches,
// and its device code is taken from the library's file. The other is of a plan with its cubins.
// Neither runs here.

// Records a kernel. `bench` runs the library's host code, and should time nothing else. The file is
// written completely or not at all. Returns 0 with out->state MEASURED_OK, or with another state if
// the kernel cannot be recorded; out->detail then has the reason. -1: the device is gone, or the
// file cannot be written.
int record_write(struct bench_outcome *out, const char *path, struct bench *bench,
                 const struct bench_series *series, struct error *err);
// Writes a plan's record for a problem on a device with this number of multiprocessors. Returns 0
// with out->state MEASURED_OK, or with another state if the plan cannot be followed for this
// problem; out->detail then has the reason. -1: the file cannot be written.
int record_of_plan(struct bench_outcome *out, const char *to, const char *path,
                   const struct problem *problem, int64_t sms, struct error *err);

// Computes the code id of a record. It covers the launches, and of the launched kernels what
// code_id_of_kernel() covers. Two records with one id put the same code on the device and launch it
// in the same way. -1: it is no record.
int record_code_id(char out[OBJECT_ID_TEXT], const char *path, struct error *err);

// Writes a whole record, completely or not at all. The code of kernels that it does not launch is
// left out of its images (code_clear_unlaunched()).
int record_save(const struct record *record, const char *path, struct error *err);

#endif
