// SPDX-License-Identifier: Apache-2.0
//
// What the files of the cuda device share, CUDA C++ only: its state, a timed stretch, its errors.
#ifndef PLUMB_DEVICE_CUDA_H
#define PLUMB_DEVICE_CUDA_H

#include "kernels/device/inputs.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

extern "C" {
#include "kernels/device/check.h"
#include "kernels/device/device.h"
#include "kernels/device/nvml.h"
}

// One SM's clocks at one moment. `sequence` tells whose sample it belongs to.
struct stamp {
    uint64_t sequence, clock, time_ns;
};

enum { STAMPS_MAX = 1024 }; // SMs

struct tally;

struct cuda {
    struct device_base base;
    cudaStream_t stream;
    cudaEvent_t start[EACH_MOST], stop[EACH_MOST];
    cudaEvent_t told; // recorded when the times and findings of a sample have reached the host
    cudaGraphExec_t graphs[2]; // of a stream's last sample: its run-up and its timed launches
    char *flush;
    size_t flush_bytes;
    size_t wide_bytes; // total bytes of `flush`, as used before launches that are timed one by one
    bool keeps;        // its L2 can keep lines that a program marks
    int sm_count;
    uint64_t sequence;
    uint64_t hold_ns; // after which a held stretch is released although not everything is queued
    volatile uint64_t *go;    // host memory that the device sees: number of the sample that may run
    volatile uint64_t *late;  // the device sets it when it has waited too long
    struct stamp *stamps;     // device: [2][STAMPS_MAX], before and after; then findings
    struct stamp *seen;       // the same on the host
    unsigned *differs, looks; // device: the number of the last of cuda_same()'s comparisons that
                              // found a difference
    struct tally *tally;      // device: counts of cuda_differ()
    const struct batch *batch; // of the stretch that is running; NULL: none
    struct nvml *nvml;         // NULL if there is no libnvidia-ml
    struct nvml_state state;
    double state_at_ns;
};

// Returns 0, or -1 with the text. Notes the loss if the error says that the device is
// gone or poisoned.
int cuda_failed(struct cuda *cuda, cudaError_t code, const char *what, struct error *err);

#define CUDA_TRY(cuda, call, err)                                                                  \
    do {                                                                                           \
        if (cuda_failed((cuda), (call), #call, (err)))                                             \
            return -1;                                                                             \
    } while (0)

// Loads a kernel's code now. Otherwise the runtime would load it at the first launch, and loading
// waits for everything that runs: behind a hold it would wait for itself.
template <class Kernel>
static inline int cuda_load(struct cuda *cuda, Kernel *kernel, struct error *err)
{
    cudaFuncAttributes attributes;
    return cuda_failed(cuda, cudaFuncGetAttributes(&attributes, kernel), "loading a kernel", err);
}

// The stopwatch's own kernels have at most this many blocks of 256 threads on an SM, so that all of
// them fit at once. After a kernel with more blocks than fit, chance decides among eight or sixteen
// ways how the blocks of the next kernel are distributed over SMs. One of these ways made an FP32
// kernel 6.8 % slower, in an eighth of its launches (baselines/recorded/h200/measuring).
enum { CUDA_BLOCKS = 4 }; // per SM
static inline unsigned cuda_at_once(const struct cuda *cuda)
{
    return CUDA_BLOCKS * (unsigned)cuda->sm_count;
}
int cuda_load_noise(struct cuda *cuda, struct error *err); // loads the kernels of noise_cuda.cu
int cuda_queue_look(struct cuda *cuda, const struct look *look, struct error *err);
// The findings of a look lie behind the stamps and are copied to the host with them.
static __host__ __device__ inline struct findings *cuda_findings(struct stamp *stamps)
{
    return (struct findings *)(stamps + 2 * STAMPS_MAX);
}
// Behind them is the hold's stamp, which tells how long it held; its `sequence` counts the blocks
// of a look that have ended.
static __host__ __device__ inline struct stamp *cuda_held(struct stamp *stamps)
{
    return &stamps[STAMPS_MAX - 1];
}
enum { STAMPS_BYTES = 2 * STAMPS_MAX * sizeof(struct stamp) + sizeof(struct findings) };
int cuda_load_stretch(struct cuda *cuda, struct error *err); // loads the kernels of begin and end

// A timed stretch of the stream: begin, queue work, end. The stream is held until end releases it.
struct stretch {
    double seconds, clock_hz; // mean clock of one SM during the stretch
    double waited_ns;         // of the device for bench, at the hold
    bool late;                // the hold timed out, so the time means nothing
};
int cuda_take(struct stretch *out, struct cuda *cuda, const struct batch *batch, int *code,
              struct error *err);
int cuda_begin(struct cuda *cuda, enum flush flush, struct error *err);
int cuda_end(struct stretch *out, struct cuda *cuda, struct error *err);

static __device__ __forceinline__ uint64_t device_time_ns(void)
{
    uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

extern "C" {
int cuda_noise(struct device_base *device, const struct noise *noise, uint32_t count,
               struct error *err);
int cuda_calibrate(struct device_base *device, const char *only, calibration_sink *sink,
                   void *state, struct error *err);
}

#endif
