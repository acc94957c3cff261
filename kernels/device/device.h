// SPDX-License-Identifier: Apache-2.0
//
// What `bench` needs of a device: memory, inputs, a reference, one timed sample. A device is one
// file that defines `const struct device_ops device_<kind>`; series.c and the protocol know no
// other difference between a CPU and a GPU.
//
// Memory that ops->alloc gives is the device's own; the host touches it only through ops->read.
// Functions with an `err` return 0 or -1. A device that is gone (or whose context a kernel has
// poisoned) makes every later call fail; `struct device_base.lost` says which it is.
#ifndef PLUMB_KERNELS_DEVICE_H
#define PLUMB_KERNELS_DEVICE_H

#include "kernels/kernel.h"
#include "model/gpu.h"
#include "model/result.h"

#include <sched.h>

enum { EXIT_NO_DEVICE = 40 }; // bench's exit code for: no such device, or it disappeared

enum device_loss {
    DEVICE_OK,
    DEVICE_GONE,    // fell off the bus, taken away
    DEVICE_POISONED // a kernel faulted: this process cannot use the device any more
};

// Every device's struct begins with this.
struct device_base {
    enum device_loss loss;
    bool lacks; // memory that was asked for was not there; whoever wants to know clears it before
};

// Properties the driver tells; every figure's origin is ORIGIN_DEVICE.
struct device_info {
    char uuid[96], name[128], driver[64], runtime[64];
    char bus[32]; // where it is, "0000:1b:00.0"; "" where it is on none
    struct gpu figures;
};

enum flush {
    FLUSH_READ,  // read twice the last cache's size: cold, and no dirty lines are left behind
    FLUSH_WRITE, // overwrite it: leaves dirty lines, whose write-back the next kernel pays for
    FLUSH_NONE
};

// Ways to do something otherwise, to see what it is worth: `bench time --variant`, by hand. Nothing
// that judges sets any of them, and some of them let cheats through.
enum variant {
    VARIANT_WHOLE = 1 << 0,   // all of the operands is written anew, not a part
    VARIANT_WIDE = 1 << 1,    // the part is of lines of 128 bytes instead of 64
    VARIANT_COARSE = 1 << 2,  // a hash for each line of noise instead of each vector
    VARIANT_OUTPUTS = 1 << 3, // operands stay, outputs are disguised
    VARIANT_STILL = 1 << 4,   // both stay
    VARIANT_BLIND = 1 << 5,   // launches are not looked at
    VARIANT_FIRST = 1 << 6,   // the stream is held before the flush, not behind it
    VARIANT_REST = 1 << 7,    // the device rests for 100 us between flush and launch
    VARIANT_TWICE = 1 << 8,   // two flushes
    VARIANT_AGAIN = 1 << 9,   // one untimed launch before the flush
    VARIANT_SHARED = 1 << 10, // the stamps' kernel wants all of an SM's memory to be shared ...
    VARIANT_CACHE = 1 << 11   // ... or all of it to be cache
};
#define VARIANT_NAMES                                                                              \
    {                                                                                              \
        "whole", "wide", "coarse", "outputs", "still", "blind", "first", "rest", "twice", "again", \
            "shared", "cache"                                                                      \
    }

// Fresh noise (kernels/device/noise.h) for `count` places of so many bytes, another one for each.
struct noise {
    void *const *to; // on 16-byte boundaries
    uint32_t count;
    uint32_t one_in; // a power of two: one line of so many is written; 1: all
    uint32_t line;   // vectors of a line, a power of two
    bool coarse;     // see noise.h
    size_t bytes;
    const void *pool;
    int type; // of the pool's numbers
    uint64_t key;
};

// The things that are looked at after a sample: digests of `count` outputs of `elements` each, one
// after the other in `store`; and whether the inputs are what they were, in spots that `key` draws.
// Of `one_in` chunks of an output, a power of two, one is digested, which `key` draws too.
struct look {
    void *const *from;
    uint32_t count;
    int type;
    uint64_t elements;
    uint32_t one_in;
    uint64_t key;
    double *store; // the device's memory: count * digest_count(elements); NULL: no digests
    bool first;    // digests go to the store; otherwise they are held against it
    const struct noise *inputs; // two, A and B, as they were written last; NULL: not by noise
    const float *scales[2];     // NULL, or what must still be `scale`
    float scale;
};
struct findings {
    double worst;     // largest difference of a digest from the store's; infinite: a NaN
    uint64_t changed; // spots of the inputs, by this look and by the first one
    // The time that the device has waited for us between flush and launch, ns: not found by a look,
    // but told with what it found.
    double waited_ns;
};

// The data that is to be in the cache before a launch: places of A and of C, one for each set.
struct touched {
    void *const *places[2];
    size_t bytes[2];
};

// Launches that only bring power and clock to where they stay: `count` of them, on `sets` sets from
// `first` on, which are no others'. With `each` and a flush that writes, each is behind one.
struct heat {
    int (*launch)(void *self, uint32_t set, void *stream);
    void *self;
    uint32_t first, sets, count;
    uint32_t kernels; // that one queues
    // Queues what is written before round `round` over the sets, one kernel; NULL: nothing.
    int (*between)(void *self, uint32_t round, struct error *err);
    void *between_self;
};

enum { EACH_MOST = 8 }; // launches of a sample that are timed each alone

// One sample: `runup` launches that are not timed and `launches` that are, launch i of all on
// buffer set i % sets. A stream's are launched as graphs are, where that can be. Between two
// stamps are all that are timed, behind one flush; or, with `each`, every one has two stamps and a
// flush of its own, and the sample's time is their mean.
struct batch {
    // Queues one launch and returns 0, or a code of its own.
    int (*launch)(void *self, uint32_t set, void *stream);
    void *self;
    uint32_t sets;
    uint32_t runup; // 0 with `each`
    uint32_t launches;
    struct heat heat;
    bool each;
    bool stream;                   // nothing between the run-up and those that are timed
    bool graphs;                   // with `stream`: both are launched as graphs
    double rest_ns;                // with `each`: the device rests before the first flush
    bool quiet;                    // with `each`: it rests for a moment behind the flush
    const struct touched *touched; // with `each`, behind the flush; NULL: nothing
    // With `each`: every launch is made on its set twice, and only then timed the second time; this
    // queues what is written in between. NULL: nothing of it.
    int (*between)(void *self, uint32_t set, struct error *err);
    void *between_self;
    uint32_t kernels; // that a launch queues, as far as is known
    int32_t beside;   // kernels that are queued for the sample, more than one of noise and one look
    enum flush flush;
    int32_t threads;  // of the kernel, as its traits say (the host pins single-threaded ones)
    unsigned variant; // enum variant
    const struct look *look; // taken behind the last launch, outside the time; NULL: none
    // Queues what may begin behind the look, while the host waits for what was timed; NULL:
    // nothing.
    int (*behind)(void *self, struct error *err);
    void *behind_self;
    // Where a library runs in another process: so many launches at once, from set `first` on, and
    // what they took. NULL: launch() is called for each.
    int (*run)(void *self, uint32_t first, uint32_t sets, uint32_t launches, double *time_ns);
};

struct inputs_recipe;
struct inputs_signs;
struct host_memory;
struct record;
struct record_places;
struct record_request;
struct replay;

// The exact result, held by the device until freed.
struct reference;
struct form_reference;

struct comparison {
    double error;       // largest |c - reference| over the result's scale; infinity for NaN
    uint64_t wrong;     // elements beyond the tolerance
    int64_t row, col;   // of the first wrong one (batch * m + i, j)
    double got, wanted; // there
};

// Of elements that are not the same bytes: how many, and how far apart they are at most (infinity
// where one is no number). largest: the largest magnitude of the second array's finite ones.
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
    // Kernels shorter than this are timed in batches, so that a sample lasts `sample_ns`.
    double batch_below_ns, sample_ns;
    uint32_t launches_max;
    // How long the timed launches of a stream last, how many they are at least where that many last
    // no longer than stream_most_ns, how many at least run before them, how long it takes until
    // power and clock are settled (0: there is nothing to settle), and up to which time launches
    // that are timed each alone are taken together. settle_ns: a device that was idle must be at
    // work for so long before.
    double stream_ns, stream_most_ns, heat_ns, settle_ns;
    uint32_t stream_least, runup_least;
    double each_ns;
    long rest_ns;    // under a second: after so long it does not matter what ran before
    double still_ns; // nor, after so long, what was written and looked at for another sample
    bool touches;    // it can bring A and C into the cache, and B not

    // index: NULL for the first. -1 with *no_device set when there is none.
    int (*open)(struct device_base **out, const char *index, bool *no_device, struct error *err);
    void (*close)(struct device_base *device);
    // Takes what measuring needs, once; before it only info() may be asked. NULL: open() has.
    int (*wake)(struct device_base *device, struct error *err);
    int (*info)(struct device_info *out, struct device_base *device, struct error *err);
    // *out: whether launches of it can be launched as a graph, which takes a launch that is queued
    // and not run. NULL: the device has no graphs.
    int (*graphs)(bool *out, struct device_base *device,
                  int (*launch)(void *self, uint32_t set, void *stream), void *self,
                  struct error *err);
    // Processors that nobody else measures on, from now on; an empty set: there are none.
    void (*own)(struct device_base *device, const cpu_set_t *processors);
    size_t (*flush_bytes)(struct device_base *device); // twice the cache that is made cold
    size_t (*free_bytes)(struct device_base *device);  // memory a series may take

    int (*alloc)(void **out, struct device_base *device, size_t bytes, struct error *err);
    // The same for what kernels only read.
    int (*alloc_inputs)(void **out, struct device_base *device, size_t bytes, struct error *err);
    // What both are of where libraries run in processes of their own; NULL: they run in this one.
    const struct host_memory *(*memory)(struct device_base *device);
    void (*free)(struct device_base *device, void *memory); // NULL does nothing
    int (*read)(struct device_base *device, void *to, const void *from, size_t bytes,
                struct error *err);
    int (*write)(struct device_base *device, void *to, const void *from, size_t bytes,
                 struct error *err);
    int (*set)(struct device_base *device, void *to, int byte, size_t bytes, struct error *err);
    // Queues a copy from elsewhere in the device's memory, as one kernel; and whether both hold the
    // same bytes, by one kernel. All begin on 16-byte boundaries.
    int (*copy)(struct device_base *device, void *to, const void *from, size_t bytes,
                struct error *err);
    int (*same)(bool *out, struct device_base *device, const void *a, const void *b, size_t bytes,
                struct error *err);
    // The same of `count` elements of this type, of so many bytes each.
    int (*differ)(struct differences *out, struct device_base *device, int type,
                  size_t element_bytes, const void *a, const void *b, uint64_t count,
                  struct error *err);
    // `count` elements by a recipe of inputs.h.
    int (*fill)(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                uint64_t count, struct error *err);
    // Queues up to NOISE_JOBS kinds of fresh noise; of places, as of outputs in a look, at most
    // launches_max each.
    int (*noise)(struct device_base *device, const struct noise *noise, uint32_t count,
                 struct error *err);
    // Takes back what host code may have set to keep data in a cache over a flush.
    int (*calm)(struct device_base *device, struct error *err);

    // Computes the reference from the inputs in args. check.h says how it is done and trusted.
    // seed: of the inputs; NULL: they are noise, and no sample of it is computed a second time.
    int (*reference)(struct reference **out, struct device_base *device,
                     const struct problem *problem, const struct plumb_args *args,
                     const uint64_t *seed, struct error *err);
    // signs: what the inputs have now and had not when the reference was computed.
    int (*compare)(struct comparison *out, struct device_base *device,
                   const struct reference *reference, const void *c,
                   const struct inputs_signs *signs, double tolerance, struct error *err);
    void (*reference_free)(struct device_base *device, struct reference *reference);
    // The same of a form that is a GEMM. given: what C held before, or NULL.
    int (*form_reference)(struct form_reference **out, struct device_base *device,
                          const struct problem *problem, const struct plumb_form_args *args,
                          const void *given, struct error *err);
    int (*form_compare)(struct comparison *out, struct device_base *device,
                        const struct form_reference *reference, const void *c, double tolerance,
                        struct error *err);
    void (*form_reference_free)(struct device_base *device, struct form_reference *reference);

    void *(*stream)(struct device_base *device);
    // Waits for everything queued. A fault of a kernel shows here.
    int (*sync)(struct device_base *device, struct error *err);
    // Fills time, clock, throttle, temperature and power of `out`, nothing else, and `found`, of
    // which what a look finds only where there is one; neither may be NULL. *code is the launch
    // function's return code; when it is not 0 there is no sample.
    int (*sample)(struct sample *out, struct findings *found, struct device_base *device,
                  const struct batch *batch, int *code, struct error *err)
        __attribute__((nonnull(1, 2)));
    // Makes and replays records (kernels/device/record.h). NULL: this device cannot.
    int (*record)(struct record *out, struct device_base *device, const struct record_request *what,
                  struct arena *arena, struct error *err);
    int (*replay_open)(struct replay **out, struct device_base *device, const struct record *record,
                       const struct record_places *places, uint32_t sets, struct error *err);
    int (*replay_launch)(struct replay *replay, uint32_t set);
    int (*replay_launch_one)(struct replay *replay, uint32_t set, size_t launch);
    void (*replay_free)(struct replay *replay); // NULL does nothing

    // Micro-benchmarks; `only` is a key or NULL for all.
    int (*calibrate)(struct device_base *device, const char *only, calibration_sink *sink,
                     void *state, struct error *err);
};

#define X(symbol) extern const struct device_ops symbol;
#include "kernels/devices.inc"
#undef X

// "host", "cuda", "cuda:1"; *index points behind the colon or is NULL. NULL if there is no such
// kind in this build.
const struct device_ops *device_find(const char *text, const char **index);

#endif
