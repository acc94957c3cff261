// SPDX-License-Identifier: Apache-2.0
//
// The dual GEMM with K divided among four blocks that leave their sums in global memory, FP32, and
// a second kernel that adds them and makes the results: as the ladder's document did it, and as
// there slower than the kernel without (four times 2 m n sums are written and read).
//
// Measured on 512 x 4096 x 7168: 118 us, without 78; at m = 256, where without half the SMs have no
// tile, 63 and 72.
#include "dual.cuh"

// BF16 whose sums leave as they are.
struct bf16_sums : bf16 {
    using output = fp32_output;
};
template <int n> struct wgmma<bf16_sums, n> : wgmma<bf16, n> {
};

using shape = tiled<bf16_sums, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2}>;
constexpr int splits = 4, stages = 4;

// The sums of a part of K lie below those of the part before, in whole tiles; a row has those of
// both products.
struct sums_place {
    int64_t rows, pitch; // of a part; of a row, in floats
};

static sums_place place_of(const plumb_problem *problem)
{
    return {(int64_t)ceil_div(problem->m, shape::bm) * shape::bm, (2 * problem->n + 3) / 4 * 4};
}

static size_t workspace(const plumb_problem *problem)
{
    const sums_place place = place_of(problem);
    return sizeof(float) * splits * place.rows * place.pitch;
}

static __global__ void __launch_bounds__(shape::threads, 1)
    sum_parts(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params whole)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    gemm_params p = whole;
    const block_memory<shape> memory(shared_address(shared), p.stages);
    const int part = blockIdx.y, from = p.slabs * part / splits;
    p.slabs = whole.slabs * (part + 1) / splits - from;
    const tile t = tile_at(blockIdx.x, p.grid);
    if (threadIdx.x < p.stages) {
        barrier_init(memory.full(threadIdx.x), 1);
        barrier_init(memory.empty(threadIdx.x), shape::consumers);
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_give<shape::producer_registers>();
        if (threadIdx.x == 0)
            split_produce<shape>(maps, p, memory, t, from);
        return;
    }
    registers_take<shape::consumer_registers>();
    const int warp = (int)uniform(threadIdx.x / 32) - 4, group = warp / 4;
    consumer<shape> self = {p, memory, 0, 0, group * (64u * slab_bytes), 0};
    shape::stager out = {maps.c, maps.tail, memory.staging(warp), p.out};
    float acc[shape::mi][shape::n / 2];
    self.accumulate(acc, [](int) {});
    out.put_all_sums(acc, 1, (part * p.grid.rows + t.row) * shape::bm + warp * 16,
                     t.column * shape::bn);
    if (elect())
        bulk_wait_read<0>();
}

// A thread adds `width` neighbouring results' sums, one row of them per block in y.
template <int width>
static __global__ void add_parts(const float *sums, __nv_bfloat16 *c, int n, sums_place place)
{
    const int column = (blockIdx.x * blockDim.x + threadIdx.x) * width;
    if (column >= n)
        return;
    float gate[width] = {}, up[width] = {};
#pragma unroll
    for (int part = 0; part < splits; ++part) {
        const float *row = sums + (part * place.rows + blockIdx.y) * place.pitch + column;
#pragma unroll
        for (int i = 0; i < width; ++i) {
            gate[i] += row[i];
            up[i] += row[n + i];
        }
    }
#pragma unroll
    for (int i = 0; i < width; ++i)
        c[(int64_t)blockIdx.y * n + column + i] = __float2bfloat16_rn(gated(gate[i], up[i]));
}

// ---- host ----

static int supports(const plumb_problem *problem)
{
    return supports_tn<bf16, PLUMB_DUAL_SILU>(problem) && problem->m <= 65535 &&
           ceil_div(problem->k, shape::bk) >= splits;
}

static int launch(const plumb_args *args, void *stream)
{
    static const cudaError_t allowed = cudaFuncSetAttribute(
        sum_parts, cudaFuncAttributeMaxDynamicSharedMemorySize, shape::smem_limit);
    const plumb_problem &problem = args->problem;
    const sums_place place = place_of(&problem);
    if (allowed != cudaSuccess || args->workspace_bytes < workspace(&problem))
        return cudaErrorInvalidValue;
    plumb_args both = *args; // one product of 2 n columns
    both.problem.n = 2 * problem.n;
    const matrix out = {args->workspace, splits * place.rows, both.problem.n,
                        place.pitch * (int64_t)sizeof(float), fp32_output::map};
    gemm_maps maps = {};
    if (make_maps<shape>(&maps, &both) || make_tensor_map(&maps.c, out, 16, 32, true))
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<shape>(&both, {PLUMB_RASTER_M, 8, stages});
    const cudaStream_t queue = (cudaStream_t)stream;
    sum_parts<<<dim3(p.grid.tiles, splits), shape::threads, shape::smem_bytes(stages), queue>>>(
        maps, p);
    const int n = (int)problem.n, wide = n % 4 == 0 ? 4 : 1, threads = 128;
    const dim3 blocks(ceil_div(n, threads * wide), (unsigned)problem.m);
    (wide == 4 ? add_parts<4> : add_parts<1>)<<<blocks, threads, 0, queue>>>(
        static_cast<const float *>(args->workspace), static_cast<__nv_bfloat16 *>(args->c), n,
        place);
    return cudaGetLastError();
}

constexpr plumb_traits traits()
{
    plumb_traits t = persistent_traits<shape>(stages, PLUMB_RASTER_M, 8);
    t.out_type = PLUMB_BF16;
    t.tile_n /= 2;
    t.persistent = 0;
    t.split_k = splits;
    t.overlap = PLUMB_OVERLAP_NONE;
    return t;
}

static const plumb_kernel kernel = {"dual-5-split-global",
                                    "dual GEMM, split-K over the workspace, a second kernel adds",
                                    traits(),
                                    supports,
                                    workspace,
                                    nullptr,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
