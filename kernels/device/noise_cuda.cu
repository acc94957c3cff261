// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's noise, and its look at the outputs of launches. Each is one kernel for all
// places of a batch, because a launch costs more than most of them write.
#include "kernels/device/device_cuda.h"
#include "kernels/device/noise.h"

enum { NOISE_THREADS = 256, WARP = 32, WARPS = NOISE_THREADS / WARP, JOB_TARGETS = 32 };

// ---- noise ----

struct noise_job {
    const struct noise_vector *pool;
    uint64_t bytes, signs, key;
    uint32_t one_in, line;
    bool coarse;
    uint32_t first, count; // of the places
};
struct noise_jobs {
    struct noise_job job[NOISE_JOBS];
    uint4 *to[NOISE_JOBS * JOB_TARGETS];
};

static __device__ uint4 as_vector(struct noise_vector v)
{
    return make_uint4((unsigned)v.half[0], (unsigned)(v.half[0] >> 32), (unsigned)v.half[1],
                      (unsigned)(v.half[1] >> 32));
}

static __device__ void write_vector(uint4 *to, uint64_t at, const struct noise_job &job,
                                    uint64_t key)
{
    const struct noise_vector v = noise_at(job.pool, job.signs, key, job.coarse, at);
    const uint64_t whole = job.bytes / NOISE_VECTOR;
    if (at < whole)
        to[at] = as_vector(v);
    else if (at == whole)
        memcpy(to + at, &v, job.bytes % NOISE_VECTOR);
}

static __device__ const struct noise_job &job_of(const struct noise_jobs &jobs, uint32_t place)
{
    int i = 0;
    while (place >= jobs.job[i].first + jobs.job[i].count)
        i++;
    return jobs.job[i];
}

static __global__ void __launch_bounds__(NOISE_THREADS)
    write_noise(const __grid_constant__ struct noise_jobs jobs)
{
    const struct noise_job &job = job_of(jobs, blockIdx.y);
    const uint64_t key = inputs_mix(job.key + blockIdx.y - job.first);
    const uint64_t segments = noise_segments(job.bytes, job.one_in, job.line);
    const uint64_t step = (uint64_t)gridDim.x * (NOISE_THREADS / job.line);
    const uint32_t in_line = threadIdx.x & (job.line - 1);
    uint64_t segment = (blockIdx.x * (uint64_t)NOISE_THREADS + threadIdx.x) / job.line;
    for (; segment < segments; segment += step) {
        const uint64_t line = noise_line(key, segment, job.one_in);
        write_vector(jobs.to[blockIdx.y], line * job.line + in_line, job, key);
    }
}

// ---- looks ----

struct look_places {
    const void *from[JOB_TARGETS];
    uint32_t outputs; // followed by the places of inputs
    uint64_t elements, key;
    double *store;
    uint32_t one_in;
    bool first;
    struct noise_jobs inputs;
    const float *scales[2];
    float scale;
    struct findings *found;
    struct stamp *stamps, *seen; // `stamps` is copied to `seen` at the end
    unsigned *done;              // number of blocks that have ended
    uint32_t sm_count;
};

// The chunks of a warp in one round are all loaded before the first is summed: waiting for each one
// took five times as long. So each lane has so many vectors of 16 bytes under way.
enum { LOADS = 4 };

struct chunk {
    const uint8_t *from; // of its output
    uint64_t first;      // first element of the chunk
    uint64_t key;
    double *at; // the chunk's digest
};

static __device__ struct chunk chunk_of(const struct look_places &look, uint64_t index,
                                        uint64_t segments)
{
    const uint64_t output = inputs_quotient(index, segments);
    const uint64_t key = inputs_mix(look.key + output);
    return {(const uint8_t *)look.from[output],
            digest_chunk(key, index - output * segments, look.one_in) * DIGEST_CHUNK, key,
            look.store + index};
}

// The contribution of a vector of 16 bytes, elements `first` and on, to its chunk's digest.
template <int type, int bytes>
static __device__ double sum_vector(const struct look_places &look, const struct chunk &chunk,
                                    uint64_t first, const uint4 &vector)
{
    constexpr int each = NOISE_VECTOR / bytes;
    const uint64_t signs = digest_signs(chunk.key, first) >> first % 64;
    const bool whole = first + each <= look.elements;
    double sum = 0;
    for (int i = 0; i < each; i++) {
        double value = 0;
        if (whole)
            value = inputs_load(type, &vector, i);
        else if (first + i < look.elements)
            value = inputs_load(type, chunk.from, first + i);
        sum += signs >> i & 1 ? -value : value;
    }
    return sum;
}

// Keeps the largest difference. The bits of a non-negative double sort like integers.
static __device__ void keep_worst(struct findings *found, double off)
{
    unsigned long long *worst = (unsigned long long *)&found->worst;
    if (isnan(off))
        off = INFINITY;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(off);
    if (bits > *(volatile unsigned long long *)worst)
        atomicMax(worst, bits);
}

static __device__ void keep_digest(const struct look_places &look, double *at, double sum)
{
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % WARP)
        return;
    if (look.first)
        *at = sum;
    else
        keep_worst(look.found, fabs(sum - *at));
}

// The warps share the chunks of all outputs evenly.
template <int type, int bytes> static __device__ void digest(const struct look_places &look)
{
    constexpr int each = NOISE_VECTOR / bytes, lanes = DIGEST_CHUNK / each;
    constexpr int vectors = lanes > WARP ? lanes / WARP : 1, chunks = LOADS / vectors;
    const uint64_t segments = (digest_count(look.elements) + look.one_in - 1) / look.one_in;
    const uint64_t count = segments * look.outputs, step = (uint64_t)gridDim.x * WARPS;
    const uint32_t lane = threadIdx.x % WARP;
    for (uint64_t at = blockIdx.x * (uint64_t)WARPS + threadIdx.x / WARP; at < count;
         at += chunks * step) {
        struct chunk chunk[chunks];
        uint4 loaded[chunks][vectors];
#pragma unroll
        for (int c = 0; c < chunks; c++) {
            const uint64_t index = at + c * step;
            chunk[c] = chunk_of(look, index < count ? index : at, segments);
#pragma unroll
            for (int v = 0; v < vectors; v++) {
                const uint64_t first = chunk[c].first + (v * WARP + lane) * each;
                loaded[c][v] = {};
                if (lane < lanes && first + each <= look.elements)
                    loaded[c][v] = *(const uint4 *)(chunk[c].from + first * bytes);
            }
        }
#pragma unroll
        for (int c = 0; c < chunks; c++) {
            double sum = 0;
            for (int v = 0; v < vectors; v++) {
                if (lane < lanes)
                    sum += sum_vector<type, bytes>(
                        look, chunk[c], chunk[c].first + (v * WARP + lane) * each, loaded[c][v]);
            }
            if (at + c * step < count)
                keep_digest(look, chunk[c].at, sum);
        }
    }
}

// The threads share the written lines of an operand, in all of its places, evenly.
static __device__ void look_at_operand(const struct look_places &look, const struct noise_job &job)
{
    const uint64_t whole = job.bytes / NOISE_VECTOR;
    const uint64_t segments = noise_segments(job.bytes, job.one_in, job.line);
    const uint64_t count = segments * job.count;
    for (uint64_t i = blockIdx.x * (uint64_t)NOISE_THREADS + threadIdx.x; i < count;
         i += (uint64_t)gridDim.x * NOISE_THREADS) {
        const uint64_t place = inputs_quotient(i, segments);
        const uint64_t key = inputs_mix(job.key + place);
        const uint64_t line = noise_line(key, i - place * segments, job.one_in);
        const uint64_t at = noise_spot(look.key, line, job.line);
        if (at >= whole)
            continue;
        const uint4 is = look.inputs.to[job.first + place][at];
        const uint4 was = as_vector(noise_at(job.pool, job.signs, key, job.coarse, at));
        if (is.x != was.x || is.y != was.y || is.z != was.z || is.w != was.w)
            atomicAdd((unsigned long long *)&look.found->changed, 1ull);
    }
}

static __device__ void look_at_scales(const struct look_places &look)
{
    for (int i = 0; i < 2; i++) {
        if (look.scales[i] && __float_as_uint(*look.scales[i]) != __float_as_uint(look.scale))
            atomicAdd((unsigned long long *)&look.found->changed, 1ull);
    }
}

// The block that ends last writes the findings to the host, because a copy after the kernel would
// take 5 us.
static __device__ void tell_host(const struct look_places &look)
{
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(look.done, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last)
        return;
    for (uint32_t i = threadIdx.x; i < 2 * look.sm_count; i += NOISE_THREADS) {
        const uint32_t at = i < look.sm_count ? i : STAMPS_MAX + i - look.sm_count;
        look.seen[at] = look.stamps[at];
    }
    if (threadIdx.x == 0) {
        *cuda_held(look.seen) = *cuda_held(look.stamps);
        cuda_findings(look.seen)->worst = *(volatile double *)&look.found->worst;
        cuda_findings(look.seen)->changed = *(volatile uint64_t *)&look.found->changed;
    }
}

template <int type, int bytes>
static __global__ void __launch_bounds__(NOISE_THREADS, CUDA_BLOCKS)
    look_all(const __grid_constant__ struct look_places look)
{
    if (blockIdx.x + threadIdx.x == 0)
        look_at_scales(look);
    for (int i = 0; i < 2; i++) {
        if (look.inputs.job[i].count)
            look_at_operand(look, look.inputs.job[i]);
    }
    if (look.store)
        digest<type, bytes>(look);
    tell_host(look);
}

typedef void look_kernel(struct look_places);

static look_kernel *kernel_for(int type)
{
    switch (type) {
    case PLUMB_BF16:
        return look_all<PLUMB_BF16, 2>;
    case PLUMB_FP16:
        return look_all<PLUMB_FP16, 2>;
    case PLUMB_E4M3:
        return look_all<PLUMB_E4M3, 1>;
    case PLUMB_E5M2:
        return look_all<PLUMB_E5M2, 1>;
    case PLUMB_FP64:
        return look_all<PLUMB_FP64, 8>;
    case PLUMB_INT32:
        return look_all<PLUMB_INT32, 4>;
    case PLUMB_INT8:
        return look_all<PLUMB_INT8, 1>;
    default:
        return look_all<PLUMB_FP32, 4>;
    }
}

int cuda_load_noise(struct cuda *cuda, struct error *err)
{
    static const int types[] = {PLUMB_BF16, PLUMB_FP16, PLUMB_E4M3, PLUMB_E5M2,
                                PLUMB_FP64, PLUMB_FP32, PLUMB_INT8, PLUMB_INT32};
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (cuda_load(cuda, kernel_for(types[i]), err))
            return -1;
    }
    return cuda_load(cuda, write_noise, err);
}

// ---- the host's half ----

// The number of blocks for one place, so that those of all places fit at once (device_cuda.h).
static unsigned blocks_for(const struct cuda *cuda, uint64_t wanted, uint32_t places)
{
    const uint64_t most = (uint64_t)cuda_at_once(cuda) / places;
    return (unsigned)(most < 1 ? 1 : wanted < most ? wanted : most);
}

static uint64_t blocks_of(const struct noise *noise)
{
    return noise_segments(noise->bytes, noise->one_in, noise->line) * noise->line / NOISE_THREADS +
           1;
}

static struct noise_job job_from(const struct noise *noise, uint32_t first)
{
    return {(const struct noise_vector *)noise->pool,
            noise->bytes,
            noise_signs(noise->type),
            noise->key,
            noise->one_in,
            noise->line,
            noise->coarse,
            first,
            noise->count};
}

// Returns the number of places. *blocks is the number that the longest job needs.
static uint32_t fill_jobs(struct noise_jobs *out, uint64_t *blocks, const struct noise *noise,
                          uint32_t count)
{
    uint32_t places = 0;
    for (uint32_t i = 0; i < count; i++) {
        out->job[i] = job_from(&noise[i], places);
        for (uint32_t place = 0; place < noise[i].count; place++)
            out->to[places++] = (uint4 *)noise[i].to[place];
        *blocks = *blocks > blocks_of(&noise[i]) ? *blocks : blocks_of(&noise[i]);
    }
    return places;
}

int cuda_noise(struct device_base *device, const struct noise *noise, uint32_t count,
               struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    struct noise_jobs jobs = {};
    uint64_t blocks = 1;
    const uint32_t places = fill_jobs(&jobs, &blocks, noise, count);
    if (places)
        write_noise<<<dim3(blocks_for(cuda, blocks, places), places), NOISE_THREADS, 0,
                      cuda->stream>>>(jobs);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}

// The number of blocks with which every warp and thread has work, up to the number that
// fit at once.
static unsigned blocks_to_look(const struct cuda *cuda, const struct look *look, uint64_t spots)
{
    const uint64_t chunks = look->count * (digest_count(look->elements) / look->one_in + 1);
    const uint64_t wanted = chunks / WARPS + spots / NOISE_THREADS + 1;
    const uint64_t most = cuda_at_once(cuda);
    return (unsigned)(wanted < most ? wanted : most);
}

int cuda_queue_look(struct cuda *cuda, const struct look *look, struct error *err)
{
    struct look_places l = {};
    uint64_t spots = 0, blocks = 0;
    l.outputs = look->count;
    for (uint32_t i = 0; i < look->count; i++)
        l.from[i] = look->from[i];
    l.elements = look->elements;
    l.key = look->key;
    l.store = look->store;
    l.one_in = look->one_in;
    l.first = look->first;
    for (int i = 0; look->inputs && i < 2; i++) {
        const struct noise *noise = &look->inputs[i];
        spots += noise->count * noise_segments(noise->bytes, noise->one_in, noise->line);
    }
    if (look->inputs)
        fill_jobs(&l.inputs, &blocks, look->inputs, 2);
    l.scales[0] = look->scales[0];
    l.scales[1] = look->scales[1];
    l.scale = look->scale;
    l.found = cuda_findings(cuda->stamps);
    l.stamps = cuda->stamps;
    l.seen = cuda->seen;
    l.done = (unsigned *)&cuda_held(cuda->stamps)->sequence;
    l.sm_count = (uint32_t)cuda->sm_count;
    kernel_for(look->type)<<<blocks_to_look(cuda, look, spots), NOISE_THREADS, 0, cuda->stream>>>(
        l);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}
