// SPDX-License-Identifier: Apache-2.0
// arch: 100a
// module: blackwell_1_fused -DGROUP=1 -DCOLLECTS=false -DNAME="blackwell-1-fused"
// module: blackwell_2_pair -DGROUP=2 -DCOLLECTS=false -DNAME="blackwell-2-pair"
// module: blackwell_3_collector -DGROUP=2 -DCOLLECTS=true -DNAME="blackwell-3-collector"
//
// The dual GEMM in NVFP4 by the tensor cores of Blackwell, C = silu(A B1) * (A B2), as described in
// the document on NVFP4 that the dual ladder follows. It is one kernel with a tile of C per block;
// both sums are in tensor memory.
//
//   loader       one thread of warp 4 fills a ring of stages by TMA: 256 of K of A, B1, B2 and
//                their scales, which are tiles of 512 bytes in memory.
//   multiplier   one thread of warp 5 copies a stage's scales to tensor memory and starts two
//                matrix instructions for each 64 of K.
//   warps 0-3    read both sums when everything has ended, 32 rows each, and store their results.
//
// There are three rungs:
//
//   fused        both products and the gate in one kernel.
//   pair         two neighbouring blocks along m share each instruction (group 2). Each loads its
//                own 128 rows of A and half of the rows of B1 and B2, so that stages are smaller
//                and the ring is deeper. The first block's barriers count the bytes of both blocks,
//                and its multiplier works for both. Both blocks need all scales of B.
//   collector    the two instructions that use the same A say so, and the second takes A from the
//                buffer in front of the tensor cores.
//
// Scales have columns of their own for each stage: the PTX ISA does not promise that a copy waits
// for earlier instructions that read scales.
//
// No such device was available. These kernels are compiled, and their encodings are tested
// (blackwell/descriptors.h), but nothing here has run.
#include "../epilogue.cuh"
#include "../nvfp4/form.cuh"
#include "../ptx.cuh"
#include "../resident.cuh"
#include "../tensor_map.cuh"
#include "descriptors.h"

// ---- The PTX instructions of Blackwell (sm_100a) that ptx.cuh does not have: tensor memory, and
// the matrix instruction with block scales. `group` is the number of blocks that act together: 1,
// or 2 for a pair, whose first block issues for both.

// ---- tensor memory ----

// Run by one warp of each block of the group. Writes the address of the columns to shared memory;
// `columns` is a power of two.
template <int group> DEVICE void tensor_allocate(uint32_t shared, int columns)
{
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
                 "r"(columns), "n"(group)
                 : "memory");
}

template <int group> DEVICE void tensor_free(uint32_t address, int columns)
{
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "r"(columns), "n"(group)
                 : "memory");
}

DEVICE void tensor_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

DEVICE void tensor_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

// Copies 32 rows of 16 bytes to 32 lanes of four columns, in each quarter of the lanes,
// in each block.
template <int group> DEVICE void tensor_copy_scales(uint32_t to, uint64_t from)
{
    asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from),
                 "n"(group)
                 : "memory");
}

// Reads this lane's 16 columns. A warp reaches the quarter of the lanes that has its number.
DEVICE void tensor_read(float (&x)[16], uint32_t from)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
                 "%10, %11, %12, %13, %14, %15}, [%16];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]), "=f"(x[4]), "=f"(x[5]),
                   "=f"(x[6]), "=f"(x[7]), "=f"(x[8]), "=f"(x[9]), "=f"(x[10]), "=f"(x[11]),
                   "=f"(x[12]), "=f"(x[13]), "=f"(x[14]), "=f"(x[15])
                 : "r"(from));
}

DEVICE void tensor_read_wait()
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// ---- the matrix instruction ----

// What the instruction does with A's buffer in front of the tensor cores: drop it (the default),
// keep it for the next instruction, or take what the instruction before kept.
enum class collector { drop, keep, take };

#define BLOCK_SCALED_MMA(usage)                                                                    \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %6, 0;\n"                                                         \
                 "tcgen05.mma.cta_group::%7.kind::mxf4nvf4.block_scale.block16" usage              \
                 " [%0], %1, %2, %3, [%4], [%5], p;\n"                                             \
                 "}" ::"r"(sums),                                                                  \
                 "l"(a), "l"(b), "r"(instruction), "r"(scales_a), "r"(scales_b), "r"(accumulate),  \
                 "n"(group)                                                                        \
                 : "memory")

// sums (+)= A B^T over 64 of K. Issued by one thread of the group's first block.
template <int group, collector usage>
DEVICE void block_scaled_mma(uint32_t sums, uint64_t a, uint64_t b, uint32_t instruction,
                             uint32_t scales_a, uint32_t scales_b, uint32_t accumulate)
{
    if constexpr (usage == collector::keep)
        BLOCK_SCALED_MMA(".collector::a::fill");
    else if constexpr (usage == collector::take)
        BLOCK_SCALED_MMA(".collector::a::lastuse");
    else
        BLOCK_SCALED_MMA("");
}

#undef BLOCK_SCALED_MMA

// Arrives on the barrier of each block of the group when everything that this thread
// issued has ended.
template <int group> DEVICE void tensor_commit(uint32_t barrier)
{
    if constexpr (group == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                barrier)
            : "memory");
    else
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast"
                     "::cluster.b64 [%0], %1;" ::"r"(barrier),
                     "h"((uint16_t)3)
                     : "memory");
}

// ---- loads whose bytes count on the barrier of the pair's first block ----

// Bit 24 of a shared-memory address in a cluster distinguishes the two blocks of a pair.
template <int group> DEVICE uint32_t first_block_barrier(uint32_t barrier)
{
    return group == 1 ? barrier : barrier & 0xfeffffffu;
}

template <int group>
DEVICE void pair_load_2d(uint32_t shared, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".cta_group::%5 [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
                 "l"(map), "r"(x), "r"(y), "r"(first_block_barrier<group>(barrier)), "n"(group)
                 : "memory");
}

template <int group>
DEVICE void pair_load_3d(uint32_t shared, const CUtensorMap *map, int x, int y, int z,
                         uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".cta_group::%6 [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(first_block_barrier<group>(barrier)),
                 "n"(group)
                 : "memory");
}

struct blackwell_maps {
    CUtensorMap a, b, scales_a, scales_b;
};

struct blackwell_params {
    nvfp4_output out;
    int slabs;       // slabs of 256 along K
    int b_tile_rows; // rows of tiles of scales of one matrix B
    int row_tiles;   // row tiles of C; with a pair, a tile is that of both blocks together
};

// n: number of columns of C that a block computes.
template <int n_, int group_, bool collects_> struct blackwell_config {
    static constexpr int n = n_, group = group_;
    static constexpr bool collects = collects_;
    static constexpr int threads = 192;
    static constexpr blackwell_layout layout = blackwell_layout_of(n, group);
    static constexpr int b_rows = n / group; // rows of each matrix B that a block loads
    static constexpr int loaded = layout.a_bytes + 2 * layout.b_bytes + 3 * layout.scale_bytes;
    static_assert(layout.stages >= 3 && layout.stages <= 16, "a ring");
    static_assert(n % (16 * group) == 0 && 128 % n == 0, "the instruction, and a tile of scales");
};

// The shared memory of a block: barriers, the address of tensor memory, and stages from the next
// multiple of 1024 bytes on.
template <class c> struct blackwell_memory {
    uint32_t barriers, stages;
    DEVICE blackwell_memory(uint32_t address)
        : barriers(address), stages((address + 512 + 1023) & ~1023u)
    {
    }
    DEVICE uint32_t full(int stage) const
    {
        return barriers + stage * 8;
    }
    DEVICE uint32_t empty(int stage) const
    {
        return barriers + (c::layout.stages + stage) * 8;
    }
    DEVICE uint32_t done() const
    {
        return barriers + 2 * c::layout.stages * 8;
    }
    DEVICE uint32_t columns() const
    {
        return done() + 8;
    }
    DEVICE uint32_t a(int stage) const
    {
        return stages + stage * c::layout.stage_bytes;
    }
    DEVICE uint32_t b(int stage, int which) const
    {
        return a(stage) + c::layout.a_bytes + which * c::layout.b_bytes;
    }
    // which: 0 for A's scales, 1 and 2 for those of B1 and B2.
    DEVICE uint32_t scales(int stage, int which) const
    {
        return b(stage, 2) + which * c::layout.scale_bytes;
    }
};

struct blackwell_tile {
    int row, column; // where this block's rows and columns of C begin
    int rank;        // of this block in its pair
};

template <class c>
DEVICE void blackwell_load(const blackwell_maps &maps, const blackwell_params &p,
                           const blackwell_memory<c> &memory, const blackwell_tile &t)
{
    const int first_b = t.column + t.rank * c::b_rows, scale_row = t.column / 128;
    int stage = 0;
    uint32_t phase = 0;
#pragma unroll 1
    for (int slab = 0; slab < p.slabs; ++slab) {
        const uint32_t full = memory.full(stage);
        barrier_wait(memory.empty(stage), phase ^ 1);
        if (t.rank == 0)
            barrier_arrive_expect(full, c::group * c::loaded);
        pair_load_2d<c::group>(memory.a(stage), &maps.a, slab * 128, t.row, full);
        pair_load_2d<c::group>(memory.b(stage, 0), &maps.b, slab * 128, first_b, full);
        pair_load_2d<c::group>(memory.b(stage, 1), &maps.b, slab * 128, p.out.n + first_b, full);
        pair_load_3d<c::group>(memory.scales(stage, 0), &maps.scales_a, 0, slab * 4, t.row / 128,
                               full);
        pair_load_3d<c::group>(memory.scales(stage, 1), &maps.scales_b, 0, slab * 4, scale_row,
                               full);
        pair_load_3d<c::group>(memory.scales(stage, 2), &maps.scales_b, 0, slab * 4,
                               p.b_tile_rows + scale_row, full);
        if (++stage == c::layout.stages) {
            stage = 0;
            phase ^= 1;
        }
    }
}

// Multiplies a stage in four steps of 64. With n = 64 the scales are half of a tile: two of
// every four columns.
template <class c>
DEVICE void blackwell_multiply_stage(const blackwell_memory<c> &memory, uint32_t columns, int stage,
                                     int half, bool accumulate)
{
    constexpr uint32_t instruction = blackwell_instruction(128 * c::group, c::n);
    constexpr collector first = c::collects ? collector::keep : collector::drop;
    constexpr collector second = c::collects ? collector::take : collector::drop;
    const uint32_t scales = columns + c::layout.scales + stage * (3 * BLACKWELL_SCALE_COLUMNS);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
        uint32_t place[3];
#pragma unroll
        for (int which = 0; which < 3; ++which) {
            place[which] = scales + which * BLACKWELL_SCALE_COLUMNS + step * 4;
            tensor_copy_scales<c::group>(
                place[which], blackwell_scales(memory.scales(stage, which) + step * 512));
        }
        const uint64_t a = blackwell_operand(memory.a(stage), step);
        block_scaled_mma<c::group, first>(columns, a, blackwell_operand(memory.b(stage, 0), step),
                                          instruction, place[0], place[1] + half,
                                          accumulate || step > 0);
        block_scaled_mma<c::group, second>(columns + c::layout.up, a,
                                           blackwell_operand(memory.b(stage, 1), step), instruction,
                                           place[0], place[2] + half, accumulate || step > 0);
    }
}

template <class c>
DEVICE void blackwell_multiply(const blackwell_params &p, const blackwell_memory<c> &memory,
                               uint32_t columns, const blackwell_tile &t)
{
    const int half = blackwell_scale_place(t.column % 128, 0).column;
    int stage = 0;
    uint32_t phase = 0;
#pragma unroll 1
    for (int slab = 0; slab < p.slabs; ++slab) {
        barrier_wait(memory.full(stage), phase);
        tensor_fence_after();
        blackwell_multiply_stage<c>(memory, columns, stage, half, slab > 0);
        tensor_commit<c::group>(memory.empty(stage));
        if (++stage == c::layout.stages) {
            stage = 0;
            phase ^= 1;
        }
    }
    tensor_commit<c::group>(memory.done());
}

// Stores 16 neighbouring results of a row.
DEVICE void blackwell_store(const nvfp4_output &out, int row, int column, const float (&gate)[16],
                            const float (&up)[16], float scale)
{
    if (row >= out.m)
        return;
    if (out.n % 8 != 0 || column + 16 > out.n) {
        for (int i = 0; i < 16; ++i)
            if (column + i < out.n)
                nvfp4_store(out, row, column + i, gated(gate[i] * scale, up[i] * scale));
        return;
    }
    uint32_t words[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float x = gated(gate[2 * i] * scale, up[2 * i] * scale);
        const float y = gated(gate[2 * i + 1] * scale, up[2 * i + 1] * scale);
        words[i] = out.bf16 ? bf16_output::pack(x, y) : fp16_output::pack(x, y);
    }
    uint4 *to =
        reinterpret_cast<uint4 *>(static_cast<uint16_t *>(out.c) + (int64_t)row * out.n + column);
    to[0] = make_uint4(words[0], words[1], words[2], words[3]);
    to[1] = make_uint4(words[4], words[5], words[6], words[7]);
}

template <class c>
DEVICE void blackwell_finish(const blackwell_params &p, const blackwell_memory<c> &memory,
                             uint32_t columns, const blackwell_tile &t)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float scale = nvfp4_tensor_scale(p.out);
    barrier_wait(memory.done(), 0);
    tensor_fence_after();
    const uint32_t from = columns + blackwell_tensor_address(warp * 32, 0);
#pragma unroll 1
    for (int column = 0; column < c::n; column += 16) {
        float gate[16], up[16];
        tensor_read(gate, from + column);
        tensor_read(up, from + c::layout.up + column);
        tensor_read_wait();
        blackwell_store(p.out, t.row + warp * 32 + lane, t.column + column, gate, up, scale);
    }
    tensor_fence_before();
}

// Waits until all threads of the block, and of its pair, are here.
template <class c> DEVICE void blackwell_sync()
{
    if constexpr (c::group == 1)
        __syncthreads();
    else
        cluster_sync();
}

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    nvfp4_blackwell(const __grid_constant__ blackwell_maps maps,
                    const __grid_constant__ blackwell_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const blackwell_memory<c> memory(shared_address(shared));
    const int warp = (int)uniform(threadIdx.x / 32);
    const int rank = c::group == 1 ? 0 : (int)cluster_rank();
    const int index = blockIdx.x / c::group;
    const blackwell_tile tile = {(index % p.row_tiles * c::group + rank) * BLACKWELL_ROWS,
                                 index / p.row_tiles * c::n, rank};
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (int i = 0; i < 2 * c::layout.stages + 1; ++i)
            barrier_init(memory.barriers + i * 8, 1);
        barrier_init_fence();
    }
    if (warp == 5)
        tensor_allocate<c::group>(memory.columns(), c::layout.columns);
    tensor_fence_before();
    blackwell_sync<c>();
    tensor_fence_after();
    uint32_t columns;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(columns) : "r"(memory.columns()) : "memory");
    if (warp == 4) {
        if (elect())
            blackwell_load<c>(maps, p, memory, tile);
    } else if (warp == 5) {
        if (rank == 0 && elect())
            blackwell_multiply<c>(p, memory, columns, tile);
    } else {
        blackwell_finish<c>(p, memory, columns, tile);
    }
    __syncwarp();
    blackwell_sync<c>();
    tensor_fence_after();
    if (warp == 5)
        tensor_free<c::group>(columns, c::layout.columns);
}

// ---- host ----

// Makes the map of scales as they lie: tiles of 128 words, first along K, then along rows. Missing
// tiles read as zero.
inline cudaError_t make_scale_map(CUtensorMap *map, const void *base, int64_t k_tiles,
                                  int64_t row_tiles)
{
    static const PFN_cuTensorMapEncodeTiled_v12000 encode = find_tensor_map_encoder();
    if (!encode)
        return cudaErrorNotSupported;
    const cuuint64_t extent[3] = {128, (cuuint64_t)k_tiles, (cuuint64_t)row_tiles};
    const cuuint64_t pitch[2] = {512, (cuuint64_t)k_tiles * 512};
    const cuuint32_t box[3] = {128, 4, 1}, step[3] = {1, 1, 1};
    const CUresult result =
        encode(map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, const_cast<void *>(base), extent, pitch, box,
               step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

// No tile holds scales beyond K. In a tile in which K ends, the scales beyond it
// have unknown values.
inline int supports_blackwell(const plumb_form *form)
{
    return nvfp4_supports(form, PLUMB_DUAL_SILU) && form->problem.k % 64 == 0;
}

template <class c> static int launch_blackwell(const plumb_form_args *args, void *stream)
{
    static const cudaError_t allowed = cudaFuncSetAttribute(
        nvfp4_blackwell<c>, cudaFuncAttributeMaxDynamicSharedMemorySize, c::layout.shared_bytes);
    const plumb_problem &problem = args->form.problem;
    const int64_t m = problem.m, n = problem.n, k = problem.k, row_bytes = k / 2;
    const int64_t k_tiles = k / 64, b_tile_rows = (n + 127) / 128;
    const matrix a = {args->args.a, m, row_bytes, row_bytes, CU_TENSOR_MAP_DATA_TYPE_UINT8};
    const matrix b = {args->args.b, 2 * n, row_bytes, row_bytes, CU_TENSOR_MAP_DATA_TYPE_UINT8};
    blackwell_maps maps = {};
    if (allowed != cudaSuccess)
        return allowed;
    if (make_tensor_map(&maps.a, a, BLACKWELL_ROWS, 128, true) ||
        make_tensor_map(&maps.b, b, c::b_rows, 128, true) ||
        make_scale_map(&maps.scales_a, args->block_scales_a, k_tiles, (m + 127) / 128) ||
        make_scale_map(&maps.scales_b, args->block_scales_b, k_tiles, 2 * b_tile_rows))
        return cudaErrorInvalidValue;
    const int64_t rows = BLACKWELL_ROWS * c::group;
    const blackwell_params p = {nvfp4_output_of(args),
                                (int)((k + BLACKWELL_SLAB - 1) / BLACKWELL_SLAB), (int)b_tile_rows,
                                (int)((m + rows - 1) / rows)};
    cluster_launch launch(c::threads, c::group, c::layout.shared_bytes, stream);
    launch.config.gridDim = dim3((unsigned)(p.row_tiles * ((n + c::n - 1) / c::n) * c::group));
    return cudaLaunchKernelEx(&launch.config, nvfp4_blackwell<c>, maps, p);
}

// The number of columns per block for which all of a B200's 148 SMs get some: 64 up to 256
// rows, then 128.
static int launch(const plumb_form_args *args, void *stream)
{
    const plumb_problem &p = args->form.problem;
    const int64_t wide = (p.m + 127) / 128 * ((p.n + 127) / 128);
    return wide <= 74 ? launch_blackwell<blackwell_config<64, GROUP, COLLECTS>>(args, stream)
                      : launch_blackwell<blackwell_config<128, GROUP, COLLECTS>>(args, stream);
}

using shape = blackwell_config<128, GROUP, COLLECTS>;

static const plumb_form_kernel kernel = {
    .kernel = {.name = NAME,
               .summary = COLLECTS
                              ? "A is kept between the two instructions that share it; never run"
                          : GROUP == 2
                              ? "pairs of blocks share an instruction; never run"
                              : "both sums in tensor memory, one block per instruction; never run",
               .traits = {.in_type = PLUMB_E2M1,
                          .out_type = PLUMB_FP16,
                          .acc_type = PLUMB_FP32,
                          .tile_m = BLACKWELL_ROWS,
                          .tile_n = shape::n,
                          .tile_k = BLACKWELL_SLAB,
                          .stages = shape::layout.stages,
                          .cluster_m = GROUP,
                          .cluster_n = 1,
                          .threads = shape::threads,
                          .smem_bytes = shape::layout.shared_bytes,
                          .blocks_per_sm = 1,
                          .raster_group = 1,
                          .split_k = 1}},
    .supports = supports_blackwell,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
