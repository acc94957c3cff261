// SPDX-License-Identifier: Apache-2.0
//
// One timed stretch of the stream. It is queued while a one-thread kernel holds the stream, so that
// no time of the host lies between the events:
//     flush | hold | stamp | event | launches | event | stamp      then: release      look, or
//                                                                  fetch
// In a stream, launches that heat come before the hold, and the run-up behind it, so that nothing
// lies between the run-up and the timed launches. Both are graphs, made anew while the device
// heats: queued one by one, launches were 1.4 us further apart on an H100 (19.0 instead of 17.6
// us), which nobody's stream has to be. Launches on the default stream cannot be a graph. If one
// side has such launches, those of both sides are queued one by one, behind the hold.
//     flush | heat | hold | stamp | run-up | event | launches | event | stamp
// Launches that are timed one by one have a flush and two events of their own; stamps are taken
// around the last of them:
//     heat | hold | flush | event | launch | event | flush | ...              dirty
//     rest | flush | touch | event | launch | event | flush | ...             activations
//     rest | flush | hold | event | launch | event | flush | hold | ...       isolated
//     heat | hold | launch | fresh contents | event | launch | event | ...    warm
// The hold gives up after cuda->hold_ns, so that a launch() that waits for the device cannot block
// it for ever; the sample is then refused. Stamps are taken on every SM. An SM's clock64 and the
// global timer, directly before and after, give the mean clock inside of the kernel. A probe beside
// the kernel would miss it (1.93 GHz beside a large GEMM on an H200, 1.58 inside).
#include "kernels/device/device_cuda.h"
#include "kernels/device/phases.h"

// ---- what an error of the runtime means for the device ----

static enum device_loss loss_of(cudaError_t code)
{
    switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorTensorMemoryLeak:
        return DEVICE_POISONED;
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorSystemNotReady:
    case cudaErrorContextIsDestroyed:
    case cudaErrorUnknown:
    case cudaErrorContained:
        return DEVICE_GONE;
    default:
        return DEVICE_OK;
    }
}

int cuda_failed(struct cuda *cuda, cudaError_t code, const char *what, struct error *err)
{
    if (code == cudaSuccess)
        return 0;
    if (cuda && cuda->base.loss == DEVICE_OK)
        cuda->base.loss = loss_of(code);
    if (cuda && code == cudaErrorMemoryAllocation)
        cuda->base.lacks = true;
    return error_set(err, "cuda: %.200s: %s (%d)", what, cudaGetErrorString(code), (int)code);
}

// ---- what is queued around launches ----

enum { FLUSH_THREADS = 512, REST_NS = 100000, QUIET_NS = 15000 };

// Holds the stream until the host has queued everything, and reports how long it held. A short time
// means that the host was ready before the flush was over.
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

// cleared: findings that are reset, or NULL.
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
    if (sum == 0x9e3779b9u) // hardly ever true, and harmless; it makes the compiler keep the loads
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

// Prefers shared memory or cache for the stopwatch's kernels. The driver divides an SM's memory
// between the two by the wishes of its kernels.
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

// The place to which the stopwatch's own kernels write results that nobody reads.
static unsigned *sink_of(const struct cuda *cuda)
{
    return (unsigned *)&cuda->stamps[2 * STAMPS_MAX - 1].sequence;
}

static int queue_flush(struct cuda *cuda, enum flush flush, size_t bytes, struct error *err)
{
    if (flush == FLUSH_WRITE)
        CUDA_TRY(cuda, cudaMemsetAsync(cuda->flush, 1, bytes, cuda->stream), err);
    if (flush == FLUSH_READ)
        read_all<<<4 * cuda->sm_count, FLUSH_THREADS, 0, cuda->stream>>>(
            (const uint4 *)cuda->flush, bytes / sizeof(uint4), sink_of(cuda));
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

static void queue_hold(struct cuda *cuda, uint64_t least_ns)
{
    hold<<<1, 1, 0, cuda->stream>>>(cuda->go, cuda->late, cuda->sequence, cuda->hold_ns, least_ns,
                                    cuda_held(cuda->stamps));
}

static void queue_stamps(struct cuda *cuda)
{
    take_stamps<<<(unsigned)cuda->sm_count, 32, 0, cuda->stream>>>(
        cuda->stamps, cuda->sequence,
        look_of(cuda) && look_of(cuda)->first ? cuda_findings(cuda->stamps) : NULL);
}

static int launch_on(struct cuda *cuda, uint32_t number)
{
    const struct batch *b = cuda->batch;
    return b->launch(b->self, number % b->sets, cuda->stream);
}

// *code: the return code of a launch, here and below.
static int queue_heat(struct cuda *cuda, int *code, struct error *err)
{
    const struct batch *b = cuda->batch;
    const struct heat *heat = &b->heat;
    const bool flushed = b->each && b->flush == FLUSH_WRITE;
    for (uint32_t i = 0; i < heat->count && !*code; i++) {
        const uint32_t round = i % heat->sets ? 0 : i / heat->sets;
        if ((flushed && queue_flush(cuda, b->flush, cuda->wide_bytes, err)) ||
            (round && heat->between && heat->between(heat->between_self, round, err)))
            return -1;
        *code = heat->launch(heat->self, heat->first + i % heat->sets, cuda->stream);
    }
    return 0;
}

static int queue_some(struct cuda *cuda, uint32_t first, uint32_t count)
{
    int code = 0;
    for (uint32_t i = 0; i < count && !code; i++)
        code = launch_on(cuda, first + i);
    return code;
}

// Queues the flush and the hold. Nothing behind the hold runs until the caller releases it. *code:
// that of a launch before the hold.
static int begin_held(struct cuda *cuda, enum flush flush, int *code, struct error *err)
{
    cuda->sequence++;
    const bool before = variant_of(cuda) & VARIANT_FIRST;
    const size_t bytes = cuda->flush_bytes;
    if (prefer_memory(cuda, err) || (!before && queue_flush(cuda, flush, bytes, err)) ||
        (variant_of(cuda) & VARIANT_TWICE && queue_flush(cuda, flush, bytes, err)))
        return -1;
    if (cuda->batch && queue_heat(cuda, code, err))
        return -1;
    if (cuda->batch && !*code)
        *code = queue_some(cuda, 0, cuda->batch->runup);
    if (*code)
        return 0;
    queue_hold(cuda, variant_of(cuda) & VARIANT_REST ? REST_NS : 0);
    return before ? queue_flush(cuda, flush, bytes, err) : 0;
}

static int begin_time(struct cuda *cuda, struct error *err)
{
    queue_stamps(cuda);
    CUDA_TRY(cuda, cudaEventRecord(cuda->start[0], cuda->stream), err);
    return 0;
}

int cuda_begin(struct cuda *cuda, enum flush flush, struct error *err)
{
    int code = 0;
    return begin_held(cuda, flush, &code, err) || begin_time(cuda, err) ? -1 : 0;
}

static int queue_end(struct cuda *cuda, struct error *err)
{
    const bool each = cuda->batch && cuda->batch->each; // if so, the last launch has its event
    if (!each)
        CUDA_TRY(cuda, cudaEventRecord(cuda->stop[0], cuda->stream), err);
    take_stamps<<<(unsigned)cuda->sm_count, 32, 0, cuda->stream>>>(cuda->stamps + STAMPS_MAX,
                                                                   cuda->sequence, NULL);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// The number of the stopwatch's own kernels in a sample: noise, flush, hold, stamps before
// and after, look.
static uint32_t usual_kernels(const struct batch *batch)
{
    const uint32_t each = (batch->flush != FLUSH_NONE) + batch->quiet +
                          2 * (batch->touched != NULL) + (batch->between != NULL);
    const struct heat *h = &batch->heat;
    const bool flushed = batch->each && batch->flush == FLUSH_WRITE;
    const uint32_t heat =
        h->count * (h->kernels + flushed) + (h->between && h->count ? (h->count - 1) / h->sets : 0);
    if (!batch->each)
        return heat + PHASES_OWN;
    return heat + batch->launches * each + 3 + (batch->rest_ns > 0) + !batch->quiet +
           !batch->between;
}

static uint32_t own_kernels(const struct batch *batch)
{
    return (uint32_t)((int32_t)usual_kernels(batch) + batch->beside);
}

static uint32_t launches_of(const struct batch *batch)
{
    return batch->runup + (batch->between ? 2 : 1) * batch->launches;
}

// Fills the sample up to whole phases (phases.h) by kernels that do nothing. They are queued after
// the event that the host waits for, so they cost a pair one or two microseconds at most.
static int fill_phase(struct cuda *cuda, const struct batch *batch, struct error *err)
{
    for (uint32_t i = phases_missing(own_kernels(batch), launches_of(batch), batch->kernels); i > 0;
         i--)
        do_nothing<<<1, 1, 0, cuda->stream>>>();
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// Queues a copy of the stamps to the host, unless a look copies them.
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

// The mean clock over the SMs that were stamped both times; 0 if there are none.
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
    const uint32_t count = cuda->batch && cuda->batch->each ? cuda->batch->launches : 1;
    double seconds = 0;
    const int failed = queue_end(cuda, err);
    *cuda->go = cuda->sequence; // whatever happened, the device must not stay held
    if (failed || queue_fetch(cuda, err))
        return -1;
    CUDA_TRY(cuda, cudaEventSynchronize(cuda->told), err);
    for (uint32_t i = 0; i < count; i++) {
        float elapsed_ms = 0;
        CUDA_TRY(cuda, cudaEventElapsedTime(&elapsed_ms, cuda->start[i], cuda->stop[i]), err);
        seconds += (double)elapsed_ms * 1e-3;
    }
    *out = {seconds, mean_clock_hz(cuda), (double)cuda_held(cuda->seen)->time_ns,
            *cuda->late == cuda->sequence};
    return 0;
}

// Queues the work before launch `i` of those timed one by one, up to its event.
static int approach(struct cuda *cuda, uint32_t i, int *code, struct error *err)
{
    const struct batch *b = cuda->batch;
    const struct touched *t = b->touched;
    const uint32_t set = i % b->sets;
    // Nothing may be queued between written lines and a launch, because it would change the lines.
    // So with FLUSH_WRITE the stamps come before the flush.
    const bool last = i + 1 == b->launches, early = b->flush == FLUSH_WRITE;
    if (last && early)
        queue_stamps(cuda);
    if (i == 0 && b->rest_ns > 0)
        queue_hold(cuda, (uint64_t)b->rest_ns);
    if (queue_flush(cuda, b->flush, cuda->wide_bytes, err))
        return -1;
    for (int part = 0; t && part < 2; part++) // C comes last, so that it stays if
                                              // not everything fits
        read_all<<<cuda_at_once(cuda) / 2, FLUSH_THREADS, 0, cuda->stream>>>(
            (const uint4 *)t->places[part][set], t->bytes[part] / sizeof(uint4), sink_of(cuda));
    if (b->between && ((*code = launch_on(cuda, i)) || b->between(b->between_self, set, err)))
        return *code ? 0 : -1;
    if (b->quiet)
        queue_hold(cuda, QUIET_NS);
    if (last && !early)
        queue_stamps(cuda);
    CUDA_TRY(cuda, cudaEventRecord(cuda->start[i], cuda->stream), err);
    return 0;
}

static int take_each(struct cuda *cuda, int *code, struct error *err)
{
    const struct batch *b = cuda->batch;
    cuda->sequence++;
    if (queue_heat(cuda, code, err))
        return -1;
    if (!b->quiet)
        queue_hold(cuda, 0);
    for (uint32_t i = 0; i < b->launches && !*code; i++) {
        if (approach(cuda, i, code, err))
            return -1;
        if (!*code)
            *code = launch_on(cuda, i);
        CUDA_TRY(cuda, cudaEventRecord(cuda->stop[i], cuda->stream), err);
    }
    return 0;
}

// Makes a graph of some launches of the batch. It is made from nothing each time: a graph changed
// from another kernel's by cudaGraphExecUpdate wrote a tile of another product (driver 580.159.04),
// and there is time while the device heats.
static int make_graph(cudaGraphExec_t *out, struct cuda *cuda, uint32_t first, uint32_t count,
                      int *code, struct error *err)
{
    cudaGraph_t graph = NULL;
    CUDA_TRY(cuda, cudaStreamBeginCapture(cuda->stream, cudaStreamCaptureModeThreadLocal), err);
    *code = queue_some(cuda, first, count);
    const cudaError_t ended = cudaStreamEndCapture(cuda->stream, &graph);
    if (*code || ended != cudaSuccess) {
        cudaGetLastError();
        if (graph)
            cudaGraphDestroy(graph);
        return *code ? 0
                     : error_set(err,
                                 "cuda: launch() cannot be captured as a graph, as regime stream "
                                 "has it (%s); take another regime for this kernel",
                                 cudaGetErrorString(ended));
    }
    if (*out)
        cudaGraphExecDestroy(*out);
    *out = NULL;
    const cudaError_t made = cudaGraphInstantiate(out, graph, 0);
    cudaGraphDestroy(graph);
    CUDA_TRY(cuda, made, err);
    return 0;
}

static int launch_stream(struct cuda *cuda, int part, uint32_t first, uint32_t count, int *code,
                         struct error *err)
{
    if (cuda->batch->graphs)
        CUDA_TRY(cuda, cudaGraphLaunch(cuda->graphs[part], cuda->stream), err);
    else if (!*code)
        *code = queue_some(cuda, first, count);
    return 0;
}

static int take_stream(struct cuda *cuda, int *code, struct error *err)
{
    const struct batch *b = cuda->batch;
    cuda->sequence++;
    if (prefer_memory(cuda, err) || queue_flush(cuda, b->flush, cuda->flush_bytes, err) ||
        queue_heat(cuda, code, err) || *code)
        return *code ? 0 : -1;
    if (b->graphs &&
        (make_graph(&cuda->graphs[0], cuda, 0, b->runup, code, err) || *code ||
         make_graph(&cuda->graphs[1], cuda, b->runup, b->launches, code, err) || *code))
        return *code ? 0 : -1;
    queue_hold(cuda, 0);
    queue_stamps(cuda);
    if (launch_stream(cuda, 0, 0, b->runup, code, err))
        return -1;
    CUDA_TRY(cuda, cudaEventRecord(cuda->start[0], cuda->stream), err);
    return launch_stream(cuda, 1, b->runup, b->launches, code, err);
}

static int take_together(struct cuda *cuda, int *code, struct error *err)
{
    const struct batch *b = cuda->batch;
    if (begin_held(cuda, b->flush, code, err))
        return -1;
    if (*code)
        return 0;
    if (begin_time(cuda, err))
        return -1;
    for (uint32_t i = 0; i < b->launches && !*code; i++)
        *code = launch_on(cuda, b->runup + i);
    return 0;
}

int cuda_take(struct stretch *out, struct cuda *cuda, const struct batch *batch, int *code,
              struct error *err)
{
    *code = 0;
    cuda->batch = batch;
    if (batch->variant & VARIANT_AGAIN)
        *code = launch_on(cuda, 0);
    const int failed = *code                           ? 0
                       : batch->each                   ? take_each(cuda, code, err)
                       : batch->stream && batch->runup ? take_stream(cuda, code, err)
                                                       : take_together(cuda, code, err);
    // After a failed launch not all events were recorded, so there is no time to read.
    if (failed || *code) {
        *cuda->go = cuda->sequence;
        cudaStreamSynchronize(cuda->stream);
        cuda->batch = NULL;
        out->late = false;
        return failed;
    }
    const int ended = cuda_end(out, cuda, err);
    cuda->batch = NULL;
    return ended;
}
