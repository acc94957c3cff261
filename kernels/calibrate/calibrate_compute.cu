// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's micro-benchmarks of arithmetic. They count clocks by clock64 on an SM, so they
// hold at any clock.
//
//   fma_latency_clk, fma_clk_ilp_N   clocks per FP32 FMA of one warp, in 1 and N independent
//                                    chains; timing bodies of 32 and 64 removes the loop's own cost
//   imad_latency_clk, loop_clk       integer multiply-add; cost of one turn of the loop
//   mma_latency_clk                  one mma.sync m16n8k16 (FP16) after another, one warp
//   mma_sync_flops_clk_*             four independent chains in each of 16 warps, per SM
//   flops_clk_fp32                   FMA, 32 warps of 8 chains, per SM; 256 of them hide the loop
//   study_OP_ilp_N                   ten instructions in 1 to 128 chains, timed as seed 2 does:
//                                    clocks per instruction of one warp, including the loop's cost
//
// Micro-benchmarks that need wgmma are in calibrate_wgmma.cu.
#include "kernels/calibrate/calibrate.cuh"

enum { LOOPS = 512 };

template <int chains, int body> static __global__ void fma_chain(uint64_t *out, float x, float y)
{
    float sum[chains];
#pragma unroll
    for (int c = 0; c < chains; c++)
        sum[c] = x + (float)c;
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int b = 0; b < body; b++)
            sum[b % chains] = sum[b % chains] * x + y;
    }
    const long long end = clock64();
    float all = 0;
#pragma unroll
    for (int c = 0; c < chains; c++)
        all += sum[c];
    if (all == 12345.678f)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

template <int body> static __global__ void imad_chain(uint64_t *out, int x, int y)
{
    int sum = x;
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int b = 0; b < body; b++)
            sum = sum * x + y;
    }
    const long long end = clock64();
    if (sum == 123456789)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

// One warp-wide 16 x 8 product; k is 8 (TF32), 16 (FP16) or 32 (e4m3).
template <mma_type type>
static __device__ __forceinline__ void mma(float (&c)[4], const unsigned (&a)[4],
                                           const unsigned (&b)[2])
{
#define MMA(shape)                                                                                 \
    asm volatile("mma.sync.aligned." shape                                                         \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    if constexpr (type == MMA_TF32)
        MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else if constexpr (type == MMA_FP16)
        MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
        MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#endif
    }
#undef MMA
}

template <mma_type type, int chains> static __global__ void mma_chain(uint64_t *out, unsigned seed)
{
    unsigned a[4], b[2];
    float c[chains][4] = {};
    for (int i = 0; i < 4; i++)
        a[i] = seed * (threadIdx.x + 1) & 0x3c3c3c3cu; // small finite numbers in every type
    b[0] = a[1];
    b[1] = a[2];
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int j = 0; j < chains; j++)
            mma<type>(c[j], a, b);
    }
    __syncthreads();
    const long long end = clock64();
    float all = 0;
    for (int j = 0; j < chains; j++)
        all += c[j][0] + c[j][1] + c[j][2] + c[j][3];
    if (all == 12345.678f)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

// Clocks per operation of bodies of 32 and 64, so that the loop's own cost cancels.
template <class Short, class Long>
static int chain_figure(const struct calibration_plan *plan, const char *key, const char *note,
                        Short short_body, Long long_body, bool loop_cost, struct error *err)
{
    double values[CALIBRATE_REPEATS], of_32, of_64;
    if (!calibrate_wanted(plan->only, key))
        return 0;
    for (int i = -1; i < CALIBRATE_REPEATS; i++) {
        short_body((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&of_32, plan->cuda, err))
            return -1;
        long_body((uint64_t *)plan->cuda->stamps);
        if (fetch_clocks(&of_64, plan->cuda, err))
            return -1;
        values[i < 0 ? 0 : i] =
            loop_cost ? (2 * of_32 - of_64) / LOOPS : (of_64 - of_32) / (32.0 * LOOPS);
    }
    calibrate_send(plan->sink, plan->state, key, values, CALIBRATE_REPEATS, note);
    return 0;
}

template <int chains>
static int fma_figure(const struct calibration_plan *plan, const char *key, const char *note,
                      bool loop_cost, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    return chain_figure(
        plan, key, note,
        [=](uint64_t *out) { fma_chain<chains, 32><<<1, 32, 0, stream>>>(out, 0.999f, 0.001f); },
        [=](uint64_t *out) { fma_chain<chains, 64><<<1, 32, 0, stream>>>(out, 0.999f, 0.001f); },
        loop_cost, err);
}

static int arithmetic_figures(const struct calibration_plan *plan, struct error *err)
{
    struct cuda *cuda = plan->cuda;
    cudaStream_t stream = cuda->stream;
    const unsigned sms = (unsigned)cuda->sm_count;
    if (fma_figure<1>(plan, "fma_latency_clk", "one warp, one chain, loop cost removed", false,
                      err) ||
        fma_figure<2>(plan, "fma_clk_ilp_2", "clocks per FMA, two chains", false, err) ||
        fma_figure<4>(plan, "fma_clk_ilp_4", "clocks per FMA, four chains", false, err) ||
        fma_figure<8>(plan, "fma_clk_ilp_8", "clocks per FMA, eight chains", false, err) ||
        fma_figure<1>(plan, "loop_clk", "cost of one turn of the loop", true, err))
        return -1;
    if (chain_figure(
            plan, "imad_latency_clk", "integer multiply-add, one chain",
            [=](uint64_t *out) { imad_chain<32><<<1, 32, 0, stream>>>(out, 3, 5); },
            [=](uint64_t *out) { imad_chain<64><<<1, 32, 0, stream>>>(out, 3, 5); }, false, err))
        return -1;
    return figure(
        plan, "flops_clk_fp32", "FMA, 32 warps of 8 chains on every SM, 256 a turn",
        [=](uint64_t *out) { fma_chain<8, 256><<<sms, 1024, 0, stream>>>(out, 0.999f, 0.001f); },
        [=](double clocks) { return 2.0 * 1024 * 256 * LOOPS / clocks; }, err);
}

template <mma_type type>
static int mma_rate(const struct calibration_plan *plan, const char *key, int k, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    const unsigned sms = (unsigned)plan->cuda->sm_count;
    return figure(
        plan, key, "mma.sync, 16 warps of 4 chains on every SM",
        [=](uint64_t *out) { mma_chain<type, 4><<<sms, 512, 0, stream>>>(out, 0x01020304u); },
        [=](double clocks) { return 2.0 * 16 * 8 * k * 4 * 16 * LOOPS / clocks; }, err);
}

static int mma_figures(const struct calibration_plan *plan, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    if (figure(
            plan, "mma_latency_clk", "mma.sync m16n8k16 FP16, one warp, one chain",
            [=](uint64_t *out) { mma_chain<MMA_FP16, 1><<<1, 32, 0, stream>>>(out, 0x01020304u); },
            [](double clocks) { return clocks / LOOPS; }, err))
        return -1;
    return mma_rate<MMA_TF32>(plan, "mma_sync_flops_clk_tf32", 8, err) ||
                   mma_rate<MMA_FP16>(plan, "mma_sync_flops_clk_fp16", 16, err) ||
                   mma_rate<MMA_FP8>(plan, "mma_sync_flops_clk_fp8", 32, err)
               ? -1
               : 0;
}

// ---- seed 2's table of instructions ----

// The loops of whole numbers are written as machine code, because the compiler would compute their
// results without a loop.
#define OPERATION(name, kind, expression)                                                          \
    struct name {                                                                                  \
        typedef kind type;                                                                         \
        static __device__ __forceinline__ kind apply(kind x, kind y)                               \
        {                                                                                          \
            (void)y;                                                                               \
            expression;                                                                            \
            return x;                                                                              \
        }                                                                                          \
    };
OPERATION(op_fadd, float, x = __fadd_rn(x, y))
OPERATION(op_fmul, float, x = __fmul_rn(x, y))
OPERATION(op_fma, float, x = __fmaf_rn(x, y, 0.5f))
OPERATION(op_iadd, int, asm volatile("add.s32 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(op_imul, int, asm volatile("mul.lo.s32 %0, %0, %1;" : "+r"(x) : "r"(y)))
OPERATION(op_frcp, float, x = __frcp_rn(x))
OPERATION(op_fsqrt, float, x = __fsqrt_rn(x))
OPERATION(op_sinf, float, x = __sinf(x))
OPERATION(op_logf, float, x = __logf(x))
OPERATION(op_expf, float, x = __expf(x))

template <class Operation, int chains>
static __global__ void study_chain(uint64_t *out, typename Operation::type y)
{
    typename Operation::type x[chains], all = 0;
#pragma unroll
    for (int c = 0; c < chains; c++)
        x[c] = y + (typename Operation::type)c;
    const long long begin = clock64();
#pragma unroll 1
    for (int i = 0; i < LOOPS; i++) {
#pragma unroll
        for (int c = 0; c < chains; c++)
            x[c] = Operation::apply(x[c], y);
    }
    const long long end = clock64();
#pragma unroll
    for (int c = 0; c < chains; c++)
        all += x[c];
    if (all == (typename Operation::type)123456789)
        out[SINK] = 1;
    if (threadIdx.x == 0)
        out[blockIdx.x] = (uint64_t)(end - begin);
}

template <class Operation, int chains>
static int study_chains(const struct calibration_plan *plan, const char *name, struct error *err)
{
    cudaStream_t stream = plan->cuda->stream;
    char key[32];
    snprintf(key, sizeof(key), "study_%s_ilp_%d", name, chains);
    if (calibrate_studied(plan->only, key) &&
        figure(
            plan, key, "clocks an instruction of one warp, loop within",
            [=](uint64_t *out) { study_chain<Operation, chains><<<1, 32, 0, stream>>>(out, 3); },
            [](double clocks) { return clocks / ((double)LOOPS * chains); }, err))
        return -1;
    if constexpr (chains < 128)
        return study_chains<Operation, 2 * chains>(plan, name, err);
    return 0;
}

static int study_instructions(const struct calibration_plan *plan, struct error *err)
{
    return study_chains<op_fadd, 1>(plan, "fadd", err) ||
                   study_chains<op_fmul, 1>(plan, "fmul", err) ||
                   study_chains<op_fma, 1>(plan, "fma", err) ||
                   study_chains<op_iadd, 1>(plan, "iadd", err) ||
                   study_chains<op_imul, 1>(plan, "imul", err) ||
                   study_chains<op_frcp, 1>(plan, "frcp", err) ||
                   study_chains<op_fsqrt, 1>(plan, "fsqrt", err) ||
                   study_chains<op_sinf, 1>(plan, "sinf", err) ||
                   study_chains<op_logf, 1>(plan, "logf", err) ||
                   study_chains<op_expf, 1>(plan, "expf", err)
               ? -1
               : 0;
}

int calibrate_cuda_compute(const struct calibration_plan *plan, struct error *err)
{
    return arithmetic_figures(plan, err) || mma_figures(plan, err) || study_instructions(plan, err)
               ? -1
               : 0;
}
