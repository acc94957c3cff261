// SPDX-License-Identifier: Apache-2.0
//
// One open series: a kernel of one or two libraries on one problem, with its buffers.
//
// Everything a launch touches is shared by base and head: inputs, output, workspace (unless `apart`
// is asked for, by hand: nothing that judges does). Buffers come in sets; launches of a batch walk
// over them, so that each launch finds its data cold. Around every matrix lie guard bytes that must
// never change.
#ifndef PLUMB_SERIES_H
#define PLUMB_SERIES_H

#include "kernels/device/device.h"

struct series_spec {
    const char *kernel;
    const char *base_kernel; // the base's, where it has another name; NULL: the same
    struct problem problem;
    const char *head, *base; // paths; base may be NULL
    uint64_t seed;           // of inputs and of the order inside pairs
    uint64_t known;          // of the inputs whose product a library says: one for all processes
    const char *pins[2];     // by role: a note of an earlier prepare() to reproduce, or NULL
    bool head_first;         // order of loading
    enum regime regime;
    enum flush flush;
    uint32_t launches;  // timed per sample; 0: as the regime says
    uint32_t runup;     // and before them, by hand; 0: as the regime says
    bool warm;          // every launch of a batch on one set
    bool inside;        // host libraries in this process: to see what their own ones cost
    uint32_t instances; // of each record (arm.h): by hand; 0: as a gate has them
    unsigned variant;   // enum variant: by hand
    bool apart;         // base on device memory of its own: to see what sharing all of it is worth
};

struct series_state {
    enum measurement_state state;
    enum sample_role role; // whose state it is
    enum regime regime;
    double error, tolerance;
    uint32_t launches;
    double reference_s;     // that references took since it was opened
    bool on_end;            // blocks of other series between its own would cost it time
    double memory_bytes[2]; // that each side took at most beside the operands; by enum sample_role
    double baton_ns;        // what an empty turn of a library's own process takes; 0: it has none
    char note[512];         // the kernel's note, or why it is not ok
    char base_note[512];    // the base's, where there is one
};

// Device memory that a series takes at most, but for its workspace: the buffer sets of a batch, and
// a reference of the output in double precision.
double series_need_bytes(const struct series_spec *spec, const struct device_ops *ops,
                         struct device_base *device);

struct timed_series;
typedef void sample_sink(void *state, const struct sample *sample);

enum regime series_regime(const struct timed_series *series);

// Loads, fills, prepares, checks, warms up. Returns 0 with *out NULL when `state` says why the
// series cannot be timed; -1 when the device or the memory failed. The caller frees.
int series_open(struct timed_series **out, struct series_state *state, const struct device_ops *ops,
                struct device_base *device, const struct series_spec *spec, struct error *err);

bool series_has_base(const struct timed_series *series);

// Runs what the series launches once, untimed. To be called when others were opened or closed since
// its last sample: what a driver puts off until the next launch (it unloads modules so) must not
// wait for a sample, which holds the device until all is queued.
int series_settle(struct timed_series *series, struct error *err);

// Times `count` pairs (base and head, in random order), or `count` samples of the head alone where
// there is no base, and hands each sample to `sink`.
int series_pairs(struct timed_series *series, uint32_t count, uint16_t block, sample_sink *sink,
                 void *state, struct error *err);

int series_solo(struct timed_series *series, uint32_t count, uint16_t block, sample_sink *sink,
                void *state, struct error *err);

// Checks what the last timed launch left, then both libraries once more on poisoned outputs.
int series_close(struct series_state *state, struct timed_series *series, struct error *err);

void series_free(struct timed_series *series); // NULL does nothing

// Whether the launches of a stream are queued one by one, though the device has graphs.
bool series_is_singly(const struct timed_series *series);

// The time that the device waited for us between flush and launch of the last sample, ns.
double series_waited_ns(const struct timed_series *series);

// ==== references that series share ====
//
// References that series share: of one problem and seed the exact result is computed once, and kept
// while a series has it and for some time after. Of a large problem it costs a GPU more than all
// else that opening a series does (14 of 19 ms, baselines/recorded/h200/history), and series that
// are timed one after the other have the same few problems again and again.

struct shared_reference {
    struct reference *exact;
    struct device_base *device;
    struct problem problem;
    uint64_t seed;
    uint32_t users;
    double bytes;
    struct shared_reference *next;
};

// The inputs in args are those of `seed`, without other signs. Whoever takes one gives it back.
int references_take(struct shared_reference **out, const struct device_ops *ops,
                    struct device_base *device, const struct problem *problem,
                    const struct plumb_args *args, uint64_t seed, struct error *err);
// The latest ones that nobody has stay, up to a part of the memory that a series may take.
void references_give(struct shared_reference *reference, const struct device_ops *ops);
// Frees those that nobody has.
void references_drop(const struct device_ops *ops);

#endif
