// SPDX-License-Identifier: Apache-2.0
//
// The cuda device: memory, samples, identity. Timing and errors are in stretch.cu, the
// reference in reference_cuda.cu, micro-benchmarks in calibrate_*.cu. Settings of the GPU are never
// changed.
#include "kernels/device/device_cuda.h"

#include "kernels/device/inputs.h"
#include "kernels/device/library_version.h"

#include <cstdint>
#include <cstring>

extern "C" {
#include "kernels/device/record.h"
}

// ==== inputs ====
//
// The cuda device's inputs: numbers by a recipe, computed or, with other signs, copied.

enum { FILL_THREADS = 256 };

static __global__ void fill_all(void *to, struct inputs_recipe recipe, uint64_t count)
{
    const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x, each = inputs_each(recipe.type);
    const uint64_t words = recipe.bare ? count / each : 0;
    for (uint64_t i = first; i < words; i += step)
        ((uint64_t *)to)[i] = ((const uint64_t *)recipe.bare)[i] ^ inputs_flips(&recipe, i);
    for (uint64_t i = words * each + first; i < count; i += step)
        inputs_store(to, i, &recipe);
}

static int cuda_load_inputs(struct cuda *cuda, struct error *err)
{
    return cuda_load(cuda, fill_all, err);
}

static int cuda_fill(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                     uint64_t count, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    fill_all<<<cuda_at_once(cuda), FILL_THREADS, 0, cuda->stream>>>(to, *recipe, count);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// ==== the device ====

enum { HOLD_LIMIT_MS = 500 };

enum { STATE_EVERY_MS = 10, ATTEMPTS = 3 };
// for launches timed one by one, as in other tools
static const size_t flush_least = (size_t)256 << 20;

// Makes the device with this index (among those that the user shows us) the only one. Then every
// runtime in the process, also those of libraries, agrees on which one is device 0.
static int choose(const char *index, struct error *err)
{
    int64_t wanted = 0;
    char entry[128];
    if (index && (parse_int64(&wanted, index) || wanted < 0 || wanted > 1023))
        return error_set(err, "cuda:%.40s: not an index; write --device cuda:0", index);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) {
        snprintf(entry, sizeof(entry), "%d", (int)wanted);
    } else {
        for (; wanted > 0 && visible; wanted--) {
            visible = strchr(visible, ',');
            visible = visible ? visible + 1 : NULL;
        }
        snprintf(entry, sizeof(entry), "%.*s", visible ? (int)strcspn(visible, ",") : 0,
                 visible ? visible : "");
    }
    setenv("CUDA_VISIBLE_DEVICES", entry, 1);
    return 0;
}

// Frees nothing for a device that was only asked about and never woken: it has no context, and even
// freeing nothing would make one.
static void cuda_close(struct device_base *device)
{
    struct cuda *cuda = (struct cuda *)device;
    nvml_close(cuda->nvml);
    if (cuda->base.loss == DEVICE_OK && cuda->stream) {
        for (cudaGraphExec_t graph : cuda->graphs) {
            if (graph)
                cudaGraphExecDestroy(graph);
        }
        for (int i = 0; i < EACH_MOST; i++) {
            if (cuda->start[i])
                cudaEventDestroy(cuda->start[i]);
            if (cuda->stop[i])
                cudaEventDestroy(cuda->stop[i]);
        }
        if (cuda->told)
            cudaEventDestroy(cuda->told);
        if (cuda->stream)
            cudaStreamDestroy(cuda->stream);
        cudaFree(cuda->flush);
        cudaFree(cuda->stamps);
        cudaFree(cuda->differs);
        cudaFree(cuda->tally);
        cudaFreeHost((void *)cuda->go);
        cudaFreeHost(cuda->seen);
    }
    free(cuda);
}

static void uuid_text(char out[96], const cudaDeviceProp *properties)
{
    const unsigned char *b = (const unsigned char *)properties->uuid.bytes;
    snprintf(out, 96, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

// Reads the facts that need no context, because making a context takes as long again, in one
// process after another.
static int open_known(struct cuda *cuda, struct error *err)
{
    cudaDeviceProp properties;
    char uuid[96];
    CUDA_TRY(cuda, cudaGetDeviceProperties(&properties, 0), err);
    cuda->sm_count = properties.multiProcessorCount;
    if (cuda->sm_count >= STAMPS_MAX) // the last stamp is that of cuda_held()
        return error_set(err, "cuda: %d SMs, bench knows fewer than %d", cuda->sm_count,
                         STAMPS_MAX);
    cuda->flush_bytes = 2 * (size_t)properties.l2CacheSize;
    cuda->wide_bytes = cuda->flush_bytes > flush_least ? cuda->flush_bytes : flush_least;
    cuda->keeps = properties.persistingL2CacheMaxSize > 0;
    uuid_text(uuid, &properties);
    cuda->nvml = nvml_open(uuid);
    return 0;
}

static int cuda_wake(struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    // A blocking stream: a kernel that strays to the default stream is still timed.
    CUDA_TRY(cuda, cudaStreamCreate(&cuda->stream), err);
    for (int i = 0; i < EACH_MOST; i++) {
        CUDA_TRY(cuda, cudaEventCreate(&cuda->start[i]), err);
        CUDA_TRY(cuda, cudaEventCreate(&cuda->stop[i]), err);
    }
    CUDA_TRY(cuda, cudaEventCreateWithFlags(&cuda->told, cudaEventDisableTiming), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->flush, cuda->wide_bytes), err);
    CUDA_TRY(cuda, cudaMemset(cuda->flush, 1, cuda->wide_bytes), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->stamps, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaMemset(cuda->stamps, 0, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->differs, sizeof(*cuda->differs)), err);
    CUDA_TRY(cuda, cudaMemset(cuda->differs, 0, sizeof(*cuda->differs)), err);
    CUDA_TRY(cuda, cudaMalloc(&cuda->tally, sizeof(*cuda->tally)), err);
    CUDA_TRY(cuda, cudaMallocHost(&cuda->seen, STAMPS_BYTES), err);
    CUDA_TRY(cuda, cudaHostAlloc((void **)&cuda->go, 2 * sizeof(uint64_t), cudaHostAllocMapped),
             err);
    cuda->late = cuda->go + 1;
    *cuda->go = *cuda->late = 0;
    cuda->hold_ns = HOLD_LIMIT_MS * 1000000ull;
    if (cuda_load_stretch(cuda, err) || cuda_load_noise(cuda, err) || cuda_load_inputs(cuda, err))
        return -1;
    cuda->state = nvml_read(cuda->nvml);
    return 0;
}

static int cuda_open(struct device_base **out, const char *index, bool *no_device,
                     struct error *err)
{
    int count = 0;
    if (choose(index, err))
        return -1;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
        *no_device = true;
        return error_set(err,
                         "cuda%s%s: there is no such device (%s); is the driver loaded, and "
                         "does the sandbox show /dev/nvidia*?",
                         index ? ":" : "", index ? index : "",
                         code != cudaSuccess ? cudaGetErrorString(code) : "none is visible");
    }
    struct cuda *cuda = (struct cuda *)xcalloc(1, sizeof(*cuda));
    if (open_known(cuda, err)) {
        *no_device = cuda->base.loss == DEVICE_GONE;
        cuda_close(&cuda->base);
        return -1;
    }
    *out = &cuda->base;
    return 0;
}

static void set_figure(struct figure *figure, double value, const char *source)
{
    if (value > 0)
        *figure = {value, ORIGIN_DEVICE, source};
}

static double attribute(enum cudaDeviceAttr which)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess ? value : 0;
}

// Finds cuBLASLt's release where a module would find the library: in the user's folders, then
// in the toolkit's.
static void runtime_text(char *out, size_t size, int version)
{
    const char *set = getenv("LD_LIBRARY_PATH"), *home = getenv("CUDA_HOME");
    char file[32], directories[4096], cublaslt[32];
    snprintf(file, sizeof(file), "libcublasLt.so.%d", version / 1000);
    snprintf(directories, sizeof(directories), "%s:%s%s:/usr/local/cuda/lib64", set ? set : "",
             home ? home : "", home ? "/lib64" : "");
    const bool known = library_version(cublaslt, sizeof(cublaslt), file, directories);
    snprintf(out, size, "CUDA %d.%d%s%s", version / 1000, version % 1000 / 10,
             known ? ", cuBLASLt " : "", cublaslt);
}

static int cuda_info(struct device_info *out, struct device_base *device, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct device_info info = {};
    cudaDeviceProp properties;
    int version = 0;
    CUDA_TRY(cuda, cudaGetDeviceProperties(&properties, 0), err);
    CUDA_TRY(cuda, cudaRuntimeGetVersion(&version), err);
    uuid_text(info.uuid, &properties);
    text_copy(info.name, sizeof(info.name), properties.name);
    nvml_driver(cuda->nvml, info.driver, sizeof(info.driver));
    runtime_text(info.runtime, sizeof(info.runtime), version);
    if (cudaDeviceGetPCIBusId(info.bus, sizeof(info.bus), 0) != cudaSuccess)
        info.bus[0] = '\0';
    struct gpu *g = &info.figures;
    g->name = "cuda";
    set_figure(&g->sm_count, cuda->sm_count, "cudaGetDeviceProperties");
    set_figure(&g->clock_max_hz, attribute(cudaDevAttrClockRate) * 1e3, "cudaDevAttrClockRate");
    set_figure(&g->l2_bytes, (double)properties.l2CacheSize, "cudaGetDeviceProperties");
    set_figure(&g->smem_bytes, (double)properties.sharedMemPerBlockOptin,
               "cudaGetDeviceProperties");
    set_figure(&g->registers, properties.regsPerMultiprocessor, "cudaGetDeviceProperties");
    set_figure(&g->dram_bytes_s,
               2 * attribute(cudaDevAttrMemoryClockRate) * 1e3 *
                   attribute(cudaDevAttrGlobalMemoryBusWidth) / 8,
               "memory clock and bus width");
    set_figure(&g->power_w, nvml_power_limit_w(cuda->nvml), "NVML, enforced limit");
    *out = info;
    return 0;
}

// Moves the thread that queues and waits. Threads that the driver has started stay where they are.
static void cuda_own(struct device_base *device, const cpu_set_t *processors)
{
    (void)device;
    if (CPU_COUNT(processors) > 0)
        // if it is refused, the scheduler decides
        sched_setaffinity(0, sizeof(*processors), processors);
}

static size_t cuda_flush_bytes(struct device_base *device)
{
    return ((struct cuda *)device)->flush_bytes;
}

static size_t cuda_free_bytes(struct device_base *device)
{
    (void)device;
    size_t free_bytes = 0, total = 0;
    const size_t most = (size_t)4 << 30;
    if (cudaMemGetInfo(&free_bytes, &total) != cudaSuccess)
        return 0;
    return free_bytes / 4 < most ? free_bytes / 4 : most;
}

static int cuda_alloc(void **out, struct device_base *device, size_t bytes, struct error *err)
{
    void *memory = NULL;
    char what[64];
    snprintf(what, sizeof(what), "memory for %zu MiB", bytes >> 20);
    if (cuda_failed((struct cuda *)device, cudaMalloc(&memory, bytes), what, err))
        return -1;
    *out = memory;
    return 0;
}

static void cuda_free(struct device_base *device, void *memory)
{
    if (device->loss == DEVICE_OK)
        cudaFree(memory);
}

static int cuda_read(struct device_base *device, void *to, const void *from, size_t bytes,
                     struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), err);
    return 0;
}

static int cuda_write(struct device_base *device, void *to, const void *from, size_t bytes,
                      struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaMemcpy(to, from, bytes, cudaMemcpyDefault), err);
    return 0;
}

static int cuda_set(struct device_base *device, void *to, int byte, size_t bytes, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    CUDA_TRY(cuda, cudaMemsetAsync(to, byte, bytes, cuda->stream), err);
    return 0;
}

static void *cuda_stream(struct device_base *device)
{
    return ((struct cuda *)device)->stream;
}

static int cuda_sync(struct device_base *device, struct error *err)
{
    CUDA_TRY((struct cuda *)device, cudaDeviceSynchronize(), err);
    CUDA_TRY((struct cuda *)device, cudaGetLastError(), err);
    return 0;
}

// Asking NVML takes longer than many kernels run, and its answers change slowly.
static void refresh_state(struct cuda *cuda)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double now_ns = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
    if (now_ns - cuda->state_at_ns < STATE_EVERY_MS * 1e6)
        return;
    cuda->state = nvml_read(cuda->nvml);
    cuda->state_at_ns = now_ns;
}

static const unsigned hold_ms[ATTEMPTS] = {20, 100, HOLD_LIMIT_MS};

static int cuda_sample(struct sample *out, struct findings *found, struct device_base *device,
                       const struct batch *batch, int *code, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct stretch stretch = {0, 0, 0, true};
    // The host may have been stopped for a while, but not three times. Queueing takes well under a
    // ms, so the first attempts need not wait long for a launch that waits for the device.
    for (int attempt = 0; attempt < ATTEMPTS && stretch.late; attempt++) {
        cuda->hold_ns = hold_ms[attempt] * 1000000ull;
        if (cuda_take(&stretch, cuda, batch, code, err))
            return -1;
    }
    cuda->hold_ns = HOLD_LIMIT_MS * 1000000ull;
    if (stretch.late)
        return error_set(err,
                         "cuda: queueing took so long, %d times, that the device was let go; "
                         "does launch() wait for it?",
                         ATTEMPTS);
    if (!(stretch.seconds > 0) && !*code)
        return error_set(err, "cuda: the events read no time; the kernel ran elsewhere");
    refresh_state(cuda);
    if (batch->look)
        *found = *cuda_findings(cuda->seen);
    found->waited_ns = stretch.waited_ns;
    out->time_ns = stretch.seconds * 1e9 / batch->launches;
    out->clock_hz = stretch.clock_hz;
    out->throttle = (uint8_t)cuda->state.throttle;
    out->temperature_c = (int16_t)cuda->state.temperature_c;
    out->power_mw = cuda->state.power_mw;
    return 0;
}

// Kernels of 10 to 50 us are timed in batches of 6 to 32. With cuBLASLt compared with itself on an
// H200 (292 blocks of 64 pairs, both arms one file, over 60 processes; bf16), the SD of z is 1.07;
// 5.1 % are beyond 2, and 0.3 % beyond 3. The standard error of a block is 0.042 % at 4096^3 (179
// us), 0.05 % at 2048^3 in batches of 12 (25 us), and 0.08-0.09 % at 128x7168x2048 in batches of 26
// (11.7 us), where single launches give 0.33 %.
extern "C" const struct device_ops device_cuda = {
    .kind = "cuda",
    .batch_below_ns = 50e3,
    .sample_ns = 300e3,
    .launches_max = 32,
    .stream_ns = 600e3,
    // Single launches differ by 0.8 to 2 %. So pairs of two launches of TF32 at 4096^3 on an H100
    // scattered by 0.7 to 0.9 %, and those of ten launches by 0.35 %, however much heat came before
    // (baselines/recorded/h100/regimes, "What scatters").
    .stream_most_ns = 2.4e6,
    // After a pause of 0.2 ms, an SM's clock was 1.69 GHz in the first 0.1 ms, and 1.56 GHz in the
    // mean of the next 1.6 ms (TF32 at 2048^3). From 1 ms on, launches took the same time as 10 ms
    // later, within 0.5 %. More heat brings the device to the limit of its mean power, which
    // wanders for seconds: pairs after 16 ms scattered by 1.5 to 2.2 %.
    .heat_ns = 1e6,
    // After a pause of 20 ms or more, an H100's clock was 0.1 to 0.25 GHz higher than pairs keep
    // it, for 65 to 170 ms of pairs. One change was +1.5 to +2.5 % instead of -0.2 %, another -4.5
    // instead of -0.6 % (baselines/recorded/h100/regimes, "What a pause does").
    .settle_ns = 150e6,
    .stream_least = 6,
    .runup_least = 1,
    // Most of a sample's cost is its rest or its heat, so it holds several launches. With pairs of
    // one launch of 97 us alone (FP8 on an H100), pairs scattered by 3.3 %, and 60 of 60 gates of
    // identical code ended undecided.
    .each_ns = 400e3,
    .rest_ns = 100000000,
    .still_ns = 1e6,
    .touches = true,
    .open = cuda_open,
    .close = cuda_close,
    .wake = cuda_wake,
    .info = cuda_info,
    .graphs = cuda_graphs,
    .own = cuda_own,
    .flush_bytes = cuda_flush_bytes,
    .free_bytes = cuda_free_bytes,
    .alloc = cuda_alloc,
    .alloc_inputs = cuda_alloc,
    .memory = nullptr,
    .free = cuda_free,
    .read = cuda_read,
    .write = cuda_write,
    .set = cuda_set,
    .copy = cuda_copy,
    .same = cuda_same,
    .differ = cuda_differ,
    .fill = cuda_fill,
    .noise = cuda_noise,
    .calm = cuda_calm,
    .reference = cuda_reference,
    .compare = cuda_compare,
    .reference_free = cuda_reference_free,
    .form_reference = cuda_form_reference,
    .form_compare = cuda_form_compare,
    .form_reference_free = cuda_form_reference_free,
    .stream = cuda_stream,
    .sync = cuda_sync,
    .sample = cuda_sample,
    .record = cuda_record,
    .replay_open = cuda_replay_open,
    .replay_launch = cuda_replay_launch,
    .replay_launch_one = cuda_replay_launch_one,
    .replay_free = cuda_replay_free,
    .calibrate = cuda_calibrate,
};
