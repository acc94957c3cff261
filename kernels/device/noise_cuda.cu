// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's noise, and its look at what launches wrote: each one kernel for all places of a
// batch, since a launch costs more than most of them write.
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
    uint32_t outputs; // then places of inputs follow
    uint64_t elements, key;
    double *store;
    uint32_t one_in;
    bool first;
    struct noise_jobs inputs;
    const float *scales[2];
    float scale;
    struct findings *found;
};

// A lane's share of a chunk: vectors of 16 bytes.
template <int type, int bytes>
static __device__ double sum_vectors(const struct look_places &look, const uint8_t *from,
                                     uint64_t chunk, uint64_t key)
{
    constexpr int each = NOISE_VECTOR / bytes;
    double sum = 0;
    for (int at = (threadIdx.x % WARP) * each; at < DIGEST_CHUNK; at += WARP * each) {
        const uint64_t first = chunk * DIGEST_CHUNK + at;
        const uint64_t signs = digest_signs(key, first) >> first % 64;
        const bool whole = first + each <= look.elements;
        uint4 vector = {};
        if (whole)
            vector = *(const uint4 *)(from + first * bytes);
        for (int i = 0; i < each; i++) {
            double value = 0;
            if (whole)
                value = inputs_load(type, &vector, i);
            else if (first + i < look.elements)
                value = inputs_load(type, from, first + i);
            sum += signs >> i & 1 ? -value : value;
        }
    }
    for (int step = WARP / 2; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}

// Bits of a non-negative double order like integers.
static __device__ void keep_worst(struct findings *found, double off)
{
    unsigned long long *worst = (unsigned long long *)&found->worst;
    if (isnan(off))
        off = INFINITY;
    const unsigned long long bits = (unsigned long long)__double_as_longlong(off);
    if (bits > *(volatile unsigned long long *)worst)
        atomicMax(worst, bits);
}

template <int type, int bytes> static __device__ void digest(const struct look_places &look)
{
    const uint8_t *from = (const uint8_t *)look.from[blockIdx.y];
    const uint64_t key = inputs_mix(look.key + blockIdx.y);
    const uint64_t segments = (digest_count(look.elements) + look.one_in - 1) / look.one_in;
    uint64_t segment = blockIdx.x * (uint64_t)WARPS + threadIdx.x / WARP;
    for (; segment < segments; segment += (uint64_t)gridDim.x * WARPS) {
        const uint64_t chunk = digest_chunk(key, segment, look.one_in);
        const double sum = sum_vectors<type, bytes>(look, from, chunk, key);
        double *at = look.store + blockIdx.y * segments + segment;
        if (threadIdx.x % WARP)
            continue;
        if (look.first)
            *at = sum;
        else
            keep_worst(look.found, fabs(sum - *at));
    }
}

static __device__ void look_at_inputs(const struct look_places &look)
{
    const uint32_t place = blockIdx.y - look.outputs;
    const struct noise_job &job = job_of(look.inputs, place);
    const uint64_t key = inputs_mix(job.key + place - job.first), whole = job.bytes / NOISE_VECTOR;
    const uint64_t segments = noise_segments(job.bytes, job.one_in, job.line);
    uint64_t segment = blockIdx.x * (uint64_t)NOISE_THREADS + threadIdx.x;
    for (; segment < segments; segment += (uint64_t)gridDim.x * NOISE_THREADS) {
        const uint64_t at = noise_spot(look.key, noise_line(key, segment, job.one_in), job.line);
        if (at >= whole)
            continue;
        const uint4 is = look.inputs.to[place][at];
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

template <int type, int bytes>
static __global__ void __launch_bounds__(NOISE_THREADS)
    look_all(const __grid_constant__ struct look_places look)
{
    if (blockIdx.x + blockIdx.y + threadIdx.x == 0)
        look_at_scales(look);
    if (blockIdx.y >= look.outputs)
        look_at_inputs(look);
    else if (look.store)
        digest<type, bytes>(look);
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

// Blocks for one place, so that those of all places are at work at once (device_cuda.h).
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

// Returns how many places there are; *blocks is what the longest job wants.
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

int cuda_queue_look(struct cuda *cuda, const struct look *look, struct error *err)
{
    struct look_places l = {};
    uint64_t blocks = digest_count(look->elements) / look->one_in / WARPS + 1;
    l.outputs = look->count;
    for (uint32_t i = 0; i < look->count; i++)
        l.from[i] = look->from[i];
    l.elements = look->elements;
    l.key = look->key;
    l.store = look->store;
    l.one_in = look->one_in;
    l.first = look->first;
    uint32_t places = look->count;
    if (look->inputs)
        places += fill_jobs(&l.inputs, &blocks, look->inputs, 2);
    l.scales[0] = look->scales[0];
    l.scales[1] = look->scales[1];
    l.scale = look->scale;
    l.found = cuda_findings(cuda->stamps);
    kernel_for(look->type)<<<dim3(blocks_for(cuda, blocks, places), places), NOISE_THREADS, 0,
                             cuda->stream>>>(l);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}
