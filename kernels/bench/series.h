// SPDX-License-Identifier: Apache-2.0
//
// One open series: a kernel of one or two libraries on one problem, with its buffers.
//
// Base and head share everything that a launch touches: inputs, output, workspace (except with
// `apart`, which people may ask for, and nothing that judges does). Buffers come in sets. The
// launches of a batch use the sets in turn, so that each launch finds its data cold. Guard bytes
// around every matrix must never change.
#ifndef PLUMB_SERIES_H
#define PLUMB_SERIES_H

#include "kernels/device/device.h"

struct series_spec {
    const char *kernel;
    const char *base_kernel; // the base's kernel, if it has another name; NULL: the same name
    struct problem problem;
    const char *head, *base; // paths; base may be NULL
    uint64_t seed;           // for inputs and for the order inside pairs
    uint64_t known;          // seed of the inputs whose product a library computes; the same in all
                             // processes
    const char *pins[2];     // by role: the note of an earlier prepare() that should be reproduced,
                             // or NULL
    bool head_first;         // order of loading
    enum regime regime;
    enum flush flush;
    uint32_t launches;  // timed per sample; 0: as the regime requires
    uint32_t runup;     // untimed launches before them, if a person asks for them; 0: as the regime
                        // requires
    bool warm;          // every launch of a batch uses one set
    bool inside;        // host libraries run in this process, to see what separate processes cost
    uint32_t instances; // of each record (arm.h), if a person asks; 0: as in a gate
    unsigned variant;   // enum variant, which only people set
    bool apart;         // the base has device memory of its own, to see what sharing is worth
};

struct series_state {
    enum measurement_state state;
    enum sample_role role; // the side that has this state
    enum regime regime;
    double error, tolerance;
    uint32_t launches;
    double reference_s;     // seconds that references took since it was opened
    bool on_end;            // its blocks should follow each other: blocks of other series in
                            // between would cost it time
    double memory_bytes[2]; // the most memory of each side beside the operands; by enum sample_role
    double baton_ns;        // the time of an empty turn of a library's own process; 0: it has none
    char note[512];         // the kernel's note, or why it is not ok
    char base_note[512];    // the base's note, if there is a base
};

// The most device memory that a series takes, without its workspace: the buffer sets of a batch,
// and a reference of the output in double precision.
double series_need_bytes(const struct series_spec *spec, const struct device_ops *ops,
                         struct device_base *device);

struct timed_series;
typedef void sample_sink(void *state, const struct sample *sample);

// Opens a series: loads, fills, prepares, checks, warms up. Returns 0 with *out NULL when `state`
// says why the series cannot be timed; -1 when the device or the memory failed. The caller frees.
int series_open(struct timed_series **out, struct series_state *state, const struct device_ops *ops,
                struct device_base *device, const struct series_spec *spec, struct error *err);

// Runs everything that the series launches once, untimed. Call it if other series were opened or
// closed since its last sample. A driver may postpone work until the next launch (it unloads
// modules in this way), and that must not fall into a sample, which holds the device until
// everything is queued.
int series_settle(struct timed_series *series, struct error *err);

// Times `count` pairs (base and head, in random order), or without a base `count` samples of the
// head, and gives each sample to `sink`.
int series_pairs(struct timed_series *series, uint32_t count, uint16_t block, sample_sink *sink,
                 void *state, struct error *err);

int series_solo(struct timed_series *series, uint32_t count, uint16_t block, sample_sink *sink,
                void *state, struct error *err);

// Checks the output of the last timed launch, and then both libraries once more on poisoned
// outputs.
int series_close(struct series_state *state, struct timed_series *series, struct error *err);

void series_free(struct timed_series *series); // NULL is allowed

// Whether the launches of a stream are queued one by one although the device has graphs.
bool series_is_singly(const struct timed_series *series);

// How long, in ns, the device waited for bench between flush and launch of the last sample.
double series_waited_ns(const struct timed_series *series);

// ==== references that series share ====
//
// The exact result for a problem and a seed is computed once. It is kept while a series uses it and
// for some time after. For a large problem a GPU takes longer for it than for everything else in
// opening a series (14 of 19 ms, baselines/recorded/h200/history), and series that are timed one
// after the other have the same few problems.

struct shared_reference {
    struct reference *exact;
    struct device_base *device;
    struct problem problem;
    uint64_t seed;
    uint32_t users;
    double bytes;
    struct shared_reference *next;
};

// Takes a shared reference. The inputs in args are those of `seed`, without other signs. The caller
// gives it back.
int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err);
// Gives a reference back. The latest unused ones are kept, up to a part of the memory that a series
// may take.
void references_give(struct shared_reference *reference, const struct device_ops *ops);
// Frees the references that no series uses.
void references_drop(const struct device_ops *ops);

#endif
