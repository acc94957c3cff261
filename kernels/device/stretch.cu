// SPDX-License-Identifier: Apache-2.0
//
// One timed stretch of the stream. It is queued while a one-thread kernel holds the stream, so that
// nothing of the host's time is between the events:
//     flush | hold | stamp | event | launches | event | stamp      then: release      look, or
//     fetch
// The hold gives up after cuda->hold_ns, so that a launch() that waits for the device cannot wedge
// it; the sample is then refused. Stamps are taken on every SM: an SM's clock64 and the global
// timer from just before to just after give the mean clock inside, which probes beside a kernel
// miss (1.93 GHz beside, 1.58 inside a large GEMM on an H200).
#include "kernels/device/device_cuda.h"
#include "kernels/device/phases.h"

enum { FLUSH_THREADS = 512, REST_NS = 100000 };

// Says how long it held: whether the host was ready before the flush was over.
static __global__ void hold(const volatile uint64_t *go, volatile uint64_t *late, uint64_t sequence,
                            uint64_t limit_ns, uint64_t least_ns, struct stamp *held)
{
    const uint64_t start = device_time_ns();
    uint64_t held_ns = 0;
    while (*go < sequence || held_ns < least_ns) {
        held_ns = device_time_ns() - start;
        if (held_ns > limit_ns) {
            *late = sequence;
            break;
        }
    }
    held->time_ns = held_ns;
}

// cleared: findings that begin anew, or NULL.
static __global__ void take_stamps(struct stamp *stamps, uint64_t sequence,
                                   struct findings *cleared)
{
    if (cleared && blockIdx.x + threadIdx.x == 0)
        *cleared = {};
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (sm < STAMPS_MAX && threadIdx.x == 0)
        stamps[sm] = {sequence, (uint64_t)clock64(), device_time_ns()};
}

static __global__ void read_all(const uint4 *from, size_t count, unsigned *sink)
{
    unsigned sum = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        const uint4 x = __ldcg(from + i);
        sum += x.x ^ x.y ^ x.z ^ x.w;
    }
    if (sum == 0x9e3779b9u) // never with a constant buffer; keeps the loads
        *sink = sum;
}

static __global__ void do_nothing()
{
}

int cuda_load_stretch(struct cuda *cuda, struct error *err)
{
    return cuda_load(cuda, hold, err) || cuda_load(cuda, take_stamps, err) ||
                   cuda_load(cuda, read_all, err) || cuda_load(cuda, do_nothing, err)
               ? -1
               : 0;
}

static unsigned variant_of(const struct cuda *cuda)
{
    return cuda->batch ? cuda->batch->variant : 0;
}

static const struct look *look_of(const struct cuda *cuda)
{
    return cuda->batch ? cuda->batch->look : NULL;
}

// Whether memory of an SM is shared or cache is chosen by the driver from what its kernels want.
static int prefer_memory(struct cuda *cuda, struct error *err)
{
    const int carveout = variant_of(cuda) & VARIANT_SHARED  ? cudaSharedmemCarveoutMaxShared
                         : variant_of(cuda) & VARIANT_CACHE ? cudaSharedmemCarveoutMaxL1
                                                            : cudaSharedmemCarveoutDefault;
    if (carveout != cudaSharedmemCarveoutDefault)
        CUDA_TRY(cuda,
                 cudaFuncSetAttribute(take_stamps, cudaFuncAttributePreferredSharedMemoryCarveout,
                                      carveout),
                 err);
    return 0;
}

static int queue_flush(struct cuda *cuda, enum flush flush, struct error *err)
{
    if (flush == FLUSH_WRITE)
        CUDA_TRY(cuda, cudaMemsetAsync(cuda->flush, 1, cuda->flush_bytes, cuda->stream), err);
    if (flush == FLUSH_READ)
        read_all<<<4 * cuda->sm_count, FLUSH_THREADS, 0, cuda->stream>>>(
            (const uint4 *)cuda->flush, cuda->flush_bytes / sizeof(uint4),
            (unsigned *)&cuda->stamps[2 * STAMPS_MAX - 1].sequence);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// Nothing behind the hold runs until the caller releases it.
int cuda_begin(struct cuda *cuda, enum flush flush, struct error *err)
{
    const uint64_t sequence = ++cuda->sequence;
    const bool before = variant_of(cuda) & VARIANT_FIRST;
    if (prefer_memory(cuda, err) || (!before && queue_flush(cuda, flush, err)) ||
        (variant_of(cuda) & VARIANT_TWICE && queue_flush(cuda, flush, err)))
        return -1;
    hold<<<1, 1, 0, cuda->stream>>>(cuda->go, cuda->late, sequence, cuda->hold_ns,
                                    variant_of(cuda) & VARIANT_REST ? REST_NS : 0,
                                    cuda_held(cuda->stamps));
    if (before && queue_flush(cuda, flush, err))
        return -1;
    take_stamps<<<(unsigned)cuda->sm_count, 32, 0, cuda->stream>>>(
        cuda->stamps, sequence,
        look_of(cuda) && look_of(cuda)->first ? cuda_findings(cuda->stamps) : NULL);
    CUDA_TRY(cuda, cudaEventRecord(cuda->start, cuda->stream), err);
    return 0;
}

static int queue_end(struct cuda *cuda, struct error *err)
{
    CUDA_TRY(cuda, cudaEventRecord(cuda->stop, cuda->stream), err);
    take_stamps<<<(unsigned)cuda->sm_count, 32, 0, cuda->stream>>>(cuda->stamps + STAMPS_MAX,
                                                                   cuda->sequence, NULL);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// Behind what the host waits for, so that it costs a pair a microsecond or two at most.
static int fill_phase(struct cuda *cuda, const struct batch *batch, struct error *err)
{
    for (uint32_t i = phases_missing(batch->launches, batch->kernels); i > 0; i--)
        do_nothing<<<1, 1, 0, cuda->stream>>>();
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// A look brings the stamps along.
static int queue_fetch(struct cuda *cuda, struct error *err)
{
    const struct batch *batch = cuda->batch;
    if (look_of(cuda) && cuda_queue_look(cuda, look_of(cuda), err))
        return -1;
    if (!look_of(cuda))
        CUDA_TRY(cuda,
                 cudaMemcpyAsync(cuda->seen, cuda->stamps, STAMPS_BYTES, cudaMemcpyDeviceToHost,
                                 cuda->stream),
                 err);
    CUDA_TRY(cuda, cudaEventRecord(cuda->told, cuda->stream), err);
    if (batch && fill_phase(cuda, batch, err))
        return -1;
    return batch && batch->behind ? batch->behind(batch->behind_self, err) : 0;
}

// Mean over the SMs that were stamped both times; 0 if there are none.
static double mean_clock_hz(const struct cuda *cuda)
{
    double sum = 0;
    int count = 0;
    for (int sm = 0; sm < STAMPS_MAX; sm++) {
        const struct stamp *before = &cuda->seen[sm], *after = &cuda->seen[STAMPS_MAX + sm];
        if (before->sequence != cuda->sequence || after->sequence != cuda->sequence ||
            after->time_ns <= before->time_ns || after->clock <= before->clock)
            continue;
        sum += (double)(after->clock - before->clock) / (double)(after->time_ns - before->time_ns);
        count++;
    }
    return count ? sum / count * 1e9 : 0;
}

int cuda_end(struct stretch *out, struct cuda *cuda, struct error *err)
{
    float elapsed_ms = 0;
    const int failed = queue_end(cuda, err);
    *cuda->go = cuda->sequence; // whatever happened: never leave the device held
    if (failed || queue_fetch(cuda, err))
        return -1;
    CUDA_TRY(cuda, cudaEventSynchronize(cuda->told), err);
    CUDA_TRY(cuda, cudaEventElapsedTime(&elapsed_ms, cuda->start, cuda->stop), err);
    *out = {(double)elapsed_ms * 1e-3, mean_clock_hz(cuda), (double)cuda_held(cuda->seen)->time_ns,
            *cuda->late == cuda->sequence};
    return 0;
}

// A library's host code may have asked for lines that outlast reading twice the L2
// (llm.c #851 saw 3,530 instead of 714 GB/s); the limit is taken away and what is there let go.
int cuda_calm(struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    size_t limit = 0;
    if (!cuda->keeps)
        return 0;
    CUDA_TRY(cuda, cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize), err);
    if (limit > 0)
        CUDA_TRY(cuda, cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), err);
    CUDA_TRY(cuda, cudaCtxResetPersistingL2Cache(), err);
    return 0;
}
