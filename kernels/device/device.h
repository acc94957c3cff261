// SPDX-License-Identifier: Apache-2.0
//
// What `bench` needs from a device: memory, inputs, a reference, a timed sample. A device is one
// file that defines `const struct device_ops device_<kind>`. To series.c and the protocol, that
// table is the only difference between a CPU and a GPU.
//
// Memory from ops->alloc belongs to the device; the host reads it only through ops->read. Functions
// with an `err` return 0 or -1. If a device is gone, or a kernel has poisoned its context, every
// later call fails; `struct device_base.lost` says which of the two happened.
#ifndef PLUMB_KERNELS_DEVICE_H
#define PLUMB_KERNELS_DEVICE_H

#include "kernels/kernel.h"
#include "model/gpu.h"
#include "model/result.h"

#include <sched.h>

enum { EXIT_NO_DEVICE = 40 }; // bench's exit code when there is no such device, or it disappeared

enum device_loss {
    DEVICE_OK,
    DEVICE_GONE,    // it fell off the bus, or was taken away
    DEVICE_POISONED // a kernel faulted: this process cannot use the device any more
};

// Every device's struct begins with this.
struct device_base {
    enum device_loss loss;
    bool lacks;  // memory was asked for and was not available; a caller that wants to know
                 // clears this first
    bool unable; // what failed is this machine's fault and no kernel's; cleared as `lacks` is
};

// Properties that the driver tells; each figure's origin is ORIGIN_DEVICE.
struct device_info {
    char uuid[96], name[128], driver[64], runtime[64];
    char bus[32]; // its bus address, "0000:1b:00.0"; "" if it is on no bus
    struct gpu figures;
};

enum flush {
    FLUSH_READ,  // reads twice the last cache's size: data is cold, and no dirty lines are left
    FLUSH_WRITE, // overwrites that much: leaves dirty lines, which the next kernel has to write
                 // back
    FLUSH_NONE
};

// Ways of doing something differently, to see what that is worth: `bench time --variant`, for
// people. Nothing that judges uses them, and some of them would let cheats through.
enum variant {
    VARIANT_WHOLE = 1 << 0,   // all of the operands is written anew, not only a part
    VARIANT_WIDE = 1 << 1,    // the part consists of lines of 128 bytes instead of 64
    VARIANT_COARSE = 1 << 2,  // one hash for each line of noise instead of each vector
    VARIANT_OUTPUTS = 1 << 3, // operands stay as they are, outputs are overwritten with noise
    VARIANT_STILL = 1 << 4,   // operands and outputs stay
    VARIANT_BLIND = 1 << 5,   // launches are not checked
    VARIANT_FIRST = 1 << 6,   // the stream is held before the flush and not after it
    VARIANT_REST = 1 << 7,    // the device rests for 100 us between flush and launch
    VARIANT_TWICE = 1 << 8,   // two flushes
    VARIANT_AGAIN = 1 << 9,   // one untimed launch before the flush
    VARIANT_SHARED = 1 << 10, // the stamps' kernel asks for all of an SM's memory as shared memory
                              // ...
    VARIANT_CACHE = 1 << 11   // ... or for all of it as cache
};
#define VARIANT_NAMES                                                                              \
    {                                                                                              \
        "whole", "wide", "coarse", "outputs", "still", "blind", "first", "rest", "twice", "again", \
            "shared", "cache"                                                                      \
    }

// Fresh noise (kernels/device/noise.h) for `count` places of equal size, different for each place.
struct noise {
    void *const *to; // on 16-byte boundaries
    uint32_t count;
    uint32_t one_in; // a power of two: one in so many lines is written; 1: all lines
    uint32_t line;   // number of vectors in a line, a power of two
    bool coarse;     // see noise.h
    size_t bytes;
    const void *pool;
    int type; // type of the pool's numbers
    uint64_t key;
};

// What is checked after a sample: digests of `count` outputs of `elements` each, one after the
// other in `store`; and whether the inputs are unchanged, in places that `key` draws. One in
// `one_in` chunks of an output (a power of two) is digested; `key` draws it, too.
struct look {
    void *const *from;
    uint32_t count;
    int type;
    uint64_t elements;
    uint32_t one_in;
    uint64_t key;
    double *store; // device memory: count * digest_count(elements); NULL: no digests
    bool first;    // digests are stored; otherwise they are compared with the stored ones
    const struct noise *inputs; // two, of A and B, as they were last written; NULL: they are not
                                // noise
    const float *scales[2];     // NULL, or values that must still be `scale`
    float scale;
};
struct findings {
    double worst;     // the largest difference from a stored digest; infinite: a NaN
    uint64_t changed; // changed places of the inputs, found by this look and by the first one
    // How long, in ns, the device waited for bench between flush and launch. A look does not find
    // this, but it is reported with its findings.
    double waited_ns;
};

// The data that must be in the cache before a launch: the places of A and of C, one for each set.
struct touched {
    void *const *places[2];
    size_t bytes[2];
};

// Launches that only settle power and clock: `count` of them, on `sets` sets from `first` on, which
// nothing else uses. With `each` and a flush that writes, a flush comes before each of them.
struct heat {
    int (*launch)(void *self, uint32_t set, void *stream);
    void *self;
    uint32_t first, sets, count;
    uint32_t kernels; // how many kernels one launch queues
    // Queues, as one kernel, what is written before round `round` over the sets; NULL: nothing.
    int (*between)(void *self, uint32_t round, struct error *err);
    void *between_self;
};

enum { EACH_MOST = 8 }; // the most launches of a sample that are timed one by one

// One sample: `runup` launches that are not timed and `launches` that are; launch i of all uses
// buffer set i % sets. The launches of a stream are launched as graphs if possible. All timed
// launches lie between two stamps, after one flush. With `each`, every launch has two stamps and a
// flush of its own, and the sample's time is the mean.
struct batch {
    // Queues one launch and returns 0, or the launch's own error code.
    int (*launch)(void *self, uint32_t set, void *stream);
    void *self;
    uint32_t sets;
    uint32_t runup; // 0 with `each`
    uint32_t launches;
    struct heat heat;
    bool each;
    bool stream;                   // there is nothing between the run-up and the timed launches
    bool graphs;                   // with `stream`: both are launched as graphs
    double rest_ns;                // with `each`: the device rests before the first flush
    bool quiet;                    // with `each`: it rests for a moment behind the flush
    const struct touched *touched; // with `each`, after the flush; NULL: nothing
    // With `each`: every launch is made twice on its set, and only the second one is timed; this
    // queues what is written in between. NULL: launches are made once.
    int (*between)(void *self, uint32_t set, struct error *err);
    void *between_self;
    uint32_t kernels; // how many kernels a launch queues, as far as is known
    int32_t beside;   // kernels that are queued for the sample, in addition to one for noise and
                      // one for the look
    enum flush flush;
    int32_t threads;  // the kernel's threads by its traits (the host pins single-threaded ones)
    unsigned variant; // enum variant
    const struct look *look; // taken after the last launch, outside of the measured time; NULL:
                             // none
    // Queues work that may begin after the look, while the host waits for the timed launches; NULL:
    // none.
    int (*behind)(void *self, struct error *err);
    void *behind_self;
    // For a library in another process: runs that many launches together, from set `first` on, and
    // returns their time. NULL: launch() is called for each.
    int (*run)(void *self, uint32_t first, uint32_t sets, uint32_t launches, double *time_ns);
};

struct inputs_recipe;
struct inputs_signs;
struct host_memory;
struct record;
struct record_places;
struct record_request;
struct replay;

// The exact result, which the device holds until it is freed.
struct reference;
struct form_reference;

struct comparison {
    double error;       // largest |c - reference| over the result's scale; infinity for NaN
    uint64_t wrong;     // number of elements beyond the tolerance
    int64_t row, col;   // place of the first wrong one (batch * m + i, j)
    double got, wanted; // the values at that place
};

// Elements that are not equal byte for byte: their number, and the largest distance (infinity if
// one is no number). largest: the largest finite magnitude of the second array.
struct differences {
    uint64_t count;
    double most, largest;
};

struct calibration {
    const char *key; // a key of GPU_FIGURES or a name of the device's own
    double value, cv;
    int repeats;
    bool stable;
    char note[160];
};
typedef void calibration_sink(void *state, const struct calibration *reading);

struct device_ops {
    const char *kind; // "host", "cuda"
    // Kernels shorter than `batch_below_ns` are timed in batches, so that a
    // sample lasts `sample_ns`.
    double batch_below_ns, sample_ns;
    uint32_t launches_max;
    // Durations for a stream, in ns. stream_ns: how long the timed launches last. stream_most_ns:
    // there are at least stream_least of them if so many take no longer than this; before them at
    // least runup_least untimed launches run. heat_ns: the time in which power and clock settle; 0:
    // nothing settles. each_ns: launches that are timed one by one are taken together up to this
    // total. settle_ns: a device that was idle must first work for so long, and
    // then until times stand still, together at most settle_most_ns.
    double stream_ns, stream_most_ns, heat_ns, settle_ns, settle_most_ns;
    uint32_t stream_least, runup_least;
    double each_ns;
    long rest_ns;    // under a second; after this time, earlier work on the device does not matter
    double still_ns; // after this time, writing and checking for another sample do not matter
    bool touches;    // it can bring A and C into the cache without B

    // Opens a device. `index` NULL: the first one. -1 with *no_device set if there is none.
    int (*open)(struct device_base **out, const char *index, bool *no_device, struct error *err);
    void (*close)(struct device_base *device);
    // Prepares the device for measuring, once; before that only info() may be called. NULL: open()
    // does this.
    int (*wake)(struct device_base *device, struct error *err);
    int (*info)(struct device_info *out, struct device_base *device, struct error *err);
    // *out: whether the device's launches can be captured in a graph; for that, a launch is queued
    // and not run. NULL: the device has no graphs.
    int (*graphs)(bool *out, struct device_base *device,
                  int (*launch)(void *self, uint32_t set, void *stream), void *self,
                  struct error *err);
    // Sets the processors on which nobody else measures from now on; an empty set: there are none.
    void (*own)(struct device_base *device, const cpu_set_t *processors);
    size_t (*flush_bytes)(struct device_base *device); // twice the size of the cache that is made
                                                       // cold
    size_t (*free_bytes)(struct device_base *device);  // memory a series may take

    int (*alloc)(void **out, struct device_base *device, size_t bytes, struct error *err);
    // The same as alloc(), for memory that kernels only read.
    int (*alloc_inputs)(void **out, struct device_base *device, size_t bytes, struct error *err);
    // The memory for inputs and outputs if libraries run in processes of their own; NULL: they run
    // in this one.
    const struct host_memory *(*memory)(struct device_base *device);
    void (*free)(struct device_base *device, void *memory); // NULL is allowed
    int (*read)(struct device_base *device, void *to, const void *from, size_t bytes,
                struct error *err);
    int (*write)(struct device_base *device, void *to, const void *from, size_t bytes,
                 struct error *err);
    int (*set)(struct device_base *device, void *to, int byte, size_t bytes, struct error *err);
    // Queues a copy within the device's memory, as one kernel; and a comparison, by one kernel, of
    // whether both hold the same bytes. All addresses lie on 16-byte boundaries.
    int (*copy)(struct device_base *device, void *to, const void *from, size_t bytes,
                struct error *err);
    int (*same)(bool *out, struct device_base *device, const void *a, const void *b, size_t bytes,
                struct error *err);
    // Compares `count` elements of this type and of this many bytes each.
    int (*differ)(struct differences *out, struct device_base *device, int type,
                  size_t element_bytes, const void *a, const void *b, uint64_t count,
                  struct error *err);
    // Fills in `count` elements by a recipe of inputs.h.
    int (*fill)(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                uint64_t count, struct error *err);
    // Queues up to NOISE_JOBS kinds of fresh noise, each for at most launches_max places; a look
    // has at most as many outputs.
    int (*noise)(struct device_base *device, const struct noise *noise, uint32_t count,
                 struct error *err);
    // Undoes what host code may have set to keep data in a cache during a flush.
    int (*calm)(struct device_base *device, struct error *err);

    // Computes the reference from the inputs in args; check.h says how it is computed and why it
    // can be trusted. `seed` is that of the inputs; NULL: they are noise, and no part is computed a
    // second time.
    int (*reference)(struct reference **out, struct device_base *device,
                     const struct problem *problem, const struct plumb_args *args,
                     const uint64_t *seed, struct error *err);
    // `signs`: the signs that the inputs have now and did not have when the reference was computed.
    int (*compare)(struct comparison *out, struct device_base *device,
                   const struct reference *reference, const void *c,
                   const struct inputs_signs *signs, double tolerance, struct error *err);
    void (*reference_free)(struct device_base *device, struct reference *reference);
    // The same for a form that is a GEMM. `given` is what C held before, or NULL.
    int (*form_reference)(struct form_reference **out, struct device_base *device,
                          const struct problem *problem, const struct plumb_form_args *args,
                          const void *given, struct error *err);
    int (*form_compare)(struct comparison *out, struct device_base *device,
                        const struct form_reference *reference, const void *c, double tolerance,
                        struct error *err);
    void (*form_reference_free)(struct device_base *device, struct form_reference *reference);

    void *(*stream)(struct device_base *device);
    // Waits for everything that was queued. A kernel's fault shows here.
    int (*sync)(struct device_base *device, struct error *err);
    // Takes a sample. Fills in time, clock, throttle, temperature and power of `out`, and `found`;
    // neither may be NULL. The findings of a look are only set if there is one. *code is the launch
    // function's return code; when it is not 0 there is no sample.
    int (*sample)(struct sample *out, struct findings *found, struct device_base *device,
                  const struct batch *batch, int *code, struct error *err)
        __attribute__((nonnull(1, 2)));
    // Makes and replays records (kernels/device/record.h). NULL: the device does not support that.
    int (*record)(struct record *out, struct device_base *device, const struct record_request *what,
                  struct arena *arena, struct error *err);
    int (*replay_open)(struct replay **out, struct device_base *device, const struct record *record,
                       const struct record_places *places, uint32_t sets, struct error *err);
    int (*replay_launch)(struct replay *replay, uint32_t set);
    int (*replay_launch_one)(struct replay *replay, uint32_t set, size_t launch);
    void (*replay_free)(struct replay *replay); // NULL is allowed

    // Runs micro-benchmarks; `only` is a key or NULL for all.
    int (*calibrate)(struct device_base *device, const char *only, calibration_sink *sink,
                     void *state, struct error *err);
};

#define X(symbol) extern const struct device_ops symbol;
#include "kernels/devices.inc"
#undef X

// Finds a device by "host", "cuda" or "cuda:1"; *index points behind the colon or is NULL. NULL if
// this build has no such kind.
const struct device_ops *device_find(const char *text, const char **index);

#endif
