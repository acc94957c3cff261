// SPDX-License-Identifier: Apache-2.0
//
// The persistent, warp-specialised GEMM of Hopper: C = A * B^T, both operands K-major (layout TN).
//
//   producer warpgroup      one thread fills a ring of `stages` K slabs by TMA, tile after tile, and
//                           never stops at a tile's end; it gives its registers away.
//   consumer warpgroups     wm x wn of them divide the tile (or, ping-pong, take turns at whole
//                           tiles); each keeps one slab's matrix instructions in flight while it
//                           releases the slab before.
//   cluster of cm x cn      the blocks of a column share B's rows, those of a row share A's: each
//                           loads its part of the slab and multicasts it.
//   epilogue                sums are converted into spare registers; while the next tile's first
//                           slabs are multiplied, each warp brings 16 rows of 128 bytes at a time
//                           into its own small ring of shared memory and lets TMA store them.
//
// The full barrier of a stage counts the slab's bytes; its empty barrier counts one arrival per
// consumer warpgroup that reads what this block loads, in whichever block of the cluster.
#ifndef PLUMB_PERSISTENT_CUH
#define PLUMB_PERSISTENT_CUH

#include "element.cuh"
#include "epilogue.cuh"
#include "schedule.cuh"
#include "tensor_map.cuh"
#include "wgmma.cuh"

// What is fixed at compile time. bm x bn: tile of one block. wm x wn: consumer warpgroups.
// blocks: resident per SM. promote: FP8 sums of 128 of K are added in FP32 (the tensor core keeps
// about 14 bits of its products' sum, which "fast accumulation" accepts).
template <class type_, int bm_, int bn_, int wm_, int wn_, int cm_ = 1, int cn_ = 1,
          bool pingpong_ = false, bool promote_ = false, int blocks_ = 1, int ring_ = 2>
struct config {
    using type = type_;
    using output = typename type::output;
    static constexpr int bm = bm_, bn = bn_, wm = wm_, wn = wn_, cm = cm_, cn = cn_;
    static constexpr bool pingpong = pingpong_, promote = promote_;
    static constexpr int blocks = blocks_;
    static constexpr int ring = ring_; // staged 2 KiB pieces per warp in the epilogue

    static constexpr int cluster = cm * cn;
    static constexpr int consumers = pingpong ? 2 : wm * wn;
    static constexpr int threads = 128 * (1 + consumers);
    static constexpr int n = bn / wn;        // columns of one matrix instruction
    static constexpr int mi = bm / wm / 64;  // matrix instructions down a warpgroup's rows
    static constexpr int bk = slab_elements<type>;
    static constexpr int a_bytes = bm * slab_bytes, b_bytes = bn * slab_bytes;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int staging_bytes = consumers * 4 * ring * piece_bytes;

    // A tile's results wait in registers and are stored between the next tile's slabs, if these
    // registers are to be had; else at once.
    using stager = ::stager<output, mi, n, ring>;
    static constexpr int words = held_words<output, n>;
    static constexpr bool overlap =
        !pingpong && !promote && blocks == 1 && consumers == 2 &&
        mi * (n / 2 + words) <= (sizeof(typename output::type) == 2 ? 192 : 128);

    // 64 Ki registers per SM, allocated evenly at launch and shared out anew by role.
    static constexpr bool reallocate = consumers >= 2;
    static constexpr int launch_registers = 65536 / (threads * blocks) / 8 * 8;
    static constexpr int producer_registers = 40;
    static constexpr int consumer_registers_ =
        (launch_registers * threads / 128 - producer_registers) / consumers / 8 * 8;
    static constexpr int consumer_registers = consumer_registers_ > 240 ? 240 : consumer_registers_;

    // Promoting with two partial sums in turn.
    static constexpr bool twofold = promote && mi == 1 && 3 * n / 2 <= 192;

    static constexpr int smem_bytes(int stages)
    {
        return stages * stage_bytes + staging_bytes + stages * 16;
    }
    static constexpr int smem_limit = blocks == 1 ? 232448 : 233472 / blocks - 1024;
    static constexpr int most_stages()
    {
        return (smem_limit - staging_bytes) / (stage_bytes + 16);
    }

    static_assert(bm % (64 * wm) == 0 && bn % (16 * wn) == 0 && n <= 256, "tile and warpgroups");
    static_assert(!pingpong || wm * wn == 1, "ping-pong: each warpgroup has a whole tile");
    static_assert(wn == 1 || n * (int)sizeof(typename output::type) % 128 == 0, "whole pieces");
    static_assert(bm % (8 * cn) == 0 && bn % (8 * cm) == 0, "shared parts are whole swizzle atoms");
};

struct gemm_params {
    output_target out;
    const float *scale_a, *scale_b; // FP8: per-tensor scales, or NULL
    int slabs;                      // along K
    int load_bytes;                 // that a block receives per slab
    int stages;
    tile_grid grid;
};

// Where a role stands in the ring of stages; `phase` is the parity of the current turn.
struct ring_position {
    int stage = 0;
    uint32_t phase = 0;
    DEVICE void advance(int stages)
    {
        if (++stage == stages) {
            stage = 0;
            phase ^= 1;
        }
    }
    DEVICE void skip(int count, int stages)
    {
        stage += count;
        phase ^= (stage / stages) & 1;
        stage %= stages;
    }
};

// Shared memory of one block: stages, staging, barriers.
template <class c> struct block_memory {
    uint32_t base;
    int stages;
    DEVICE uint32_t a(int stage) const
    {
        return base + stage * c::stage_bytes;
    }
    DEVICE uint32_t b(int stage) const
    {
        return base + stage * c::stage_bytes + c::a_bytes;
    }
    DEVICE uint32_t staging(int warp) const
    {
        return base + stages * c::stage_bytes + warp * c::ring * piece_bytes;
    }
    DEVICE uint32_t full(int stage) const
    {
        return base + stages * c::stage_bytes + c::staging_bytes + stage * 8;
    }
    DEVICE uint32_t empty(int stage) const
    {
        return full(stages + stage);
    }
};

// One thread: waits for a free stage, then loads (its part of) both operands' slabs.
template <class c>
DEVICE void produce(const CUtensorMap &map_a, const CUtensorMap &map_b, const gemm_params &p,
                    const block_memory<c> &memory, int rank_m, int rank_n, int first, int step)
{
    constexpr int part_a = c::bm / c::cn, part_b = c::bn / c::cm;
    const uint16_t row_ranks = (c::cn == 1 ? 1 : c::cn == 2 ? 1 | 1 << c::cm : 0) << rank_m;
    const uint16_t column_ranks = ((1 << c::cm) - 1) << (rank_n * c::cm);
    const int tiles = p.grid.rows * p.grid.columns;
    ring_position at;
    for (int index = first; index < tiles; index += step) {
        const tile t = tile_at(index, p.grid);
        const int row = (t.row * c::cm + rank_m) * c::bm + rank_n * part_a;
        const int column = (t.column * c::cn + rank_n) * c::bn + rank_m * part_b;
        for (int slab = 0; slab < p.slabs; ++slab) {
            const uint32_t full = memory.full(at.stage);
            const uint32_t a = memory.a(at.stage) + rank_n * part_a * slab_bytes;
            const uint32_t b = memory.b(at.stage) + rank_m * part_b * slab_bytes;
            barrier_wait(memory.empty(at.stage), at.phase ^ 1);
            barrier_arrive_expect(full, p.load_bytes);
            if constexpr (c::cn > 1)
                tensor_load_multicast(a, &map_a, slab * c::bk, row, full, row_ranks);
            else
                tensor_load(a, &map_a, slab * c::bk, row, full);
            if constexpr (c::cm > 1)
                tensor_load_multicast(b, &map_b, slab * c::bk, column, full, column_ranks);
            else
                tensor_load(b, &map_b, slab * c::bk, column, full);
            at.advance(p.stages);
        }
    }
}

// Tells every block whose loads this warpgroup has read that the stage is free. One lane each.
template <class c>
DEVICE void release(const block_memory<c> &memory, int stage, int rank_m, int rank_n)
{
    if constexpr (c::cluster == 1) {
        if (threadIdx.x % 128 == 0)
            barrier_arrive(memory.empty(stage));
    } else {
        const int peer = threadIdx.x % 128;
        if (peer < c::cluster && (peer % c::cm == rank_m || peer / c::cm == rank_n))
            barrier_arrive_remote(memory.empty(stage), peer);
    }
}

// The four matrix instructions along one slab, for each 64 rows.
template <class c>
DEVICE void multiply_slab(float (&acc)[c::mi][c::n / 2], uint64_t a, uint64_t b, bool accumulate)
{
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
            wgmma<typename c::type, c::n>::multiply(acc[i], a + i * (64 * slab_bytes / 16) + 2 * step,
                                                    b + 2 * step, accumulate || step > 0);
}

// A consumer warpgroup's view of its block: where it reads, whom it tells.
template <class c> struct consumer {
    const gemm_params &p;
    const block_memory<c> &memory;
    const int rank_m, rank_n;
    const uint32_t offset_a, offset_b; // this warpgroup's part of a stage
    ring_position at;
    int previous = 0; // stage of the slab before

    DEVICE void multiply_next(float (&acc)[c::mi][c::n / 2], int slab)
    {
        barrier_wait(memory.full(at.stage), at.phase);
        wgmma_fence();
        multiply_slab<c>(acc, operand_descriptor(memory.a(at.stage) + offset_a),
                         operand_descriptor(memory.b(at.stage) + offset_b), slab > 0);
        wgmma_commit();
        wgmma_wait<1>();
        if (slab > 0)
            release(memory, previous, rank_m, rank_n);
        previous = at.stage;
        at.advance(p.stages);
    }

    // Sums all slabs of a tile into acc. meanwhile(slab) runs after each slab's instructions were
    // issued, while the tensor cores are busy.
    template <class work> DEVICE void accumulate(float (&acc)[c::mi][c::n / 2], work meanwhile)
    {
#pragma unroll
        for (int block = 0; block < c::mi; ++block)
            pin(acc[block]);
#pragma unroll 1
        for (int slab = 0; slab < p.slabs; ++slab) {
            multiply_next(acc, slab);
            meanwhile(slab);
        }
        wgmma_wait<0>();
#pragma unroll
        for (int block = 0; block < c::mi; ++block)
            pin(acc[block]);
        release(memory, previous, rank_m, rank_n);
    }

    // part = the sum over the next slab of rows block * 64 ..., left running.
    DEVICE void start_part(float (&part)[c::n / 2], int block)
    {
        const uint64_t a =
            operand_descriptor(memory.a(at.stage) + offset_a + block * 64 * slab_bytes);
        const uint64_t b = operand_descriptor(memory.b(at.stage) + offset_b);
        pin(part);
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < 4; ++step)
            wgmma<typename c::type, c::n>::multiply(part, a + 2 * step, b + 2 * step, step > 0);
        wgmma_commit();
    }

    DEVICE void add_part(float (&acc)[c::n / 2], float (&part)[c::n / 2], bool first)
    {
        pin(part);
#pragma unroll
        for (int j = 0; j < c::n / 2; ++j)
            acc[j] = first ? part[j] : acc[j] + part[j];
    }

    // The same with each slab summed by the tensor core on its own and added here, in FP32: this
    // warpgroup's additions leave the tensor cores to the other one.
    DEVICE void accumulate_promoted(float (&acc)[c::mi][c::n / 2])
    {
        float part[c::n / 2];
#pragma unroll 1
        for (int slab = 0; slab < p.slabs; ++slab) {
            barrier_wait(memory.full(at.stage), at.phase);
#pragma unroll
            for (int i = 0; i < c::mi; ++i) {
                start_part(part, i);
                wgmma_wait<0>();
                if (i == c::mi - 1)
                    release(memory, at.stage, rank_m, rank_n);
                add_part(acc[i], part, slab == 0);
            }
            at.advance(p.stages);
        }
    }

    // The same with two partial sums, so that one is added while the other is computed.
    DEVICE void accumulate_promoted_twofold(float (&acc)[c::n / 2])
    {
        float even[c::n / 2], odd[c::n / 2];
        const auto begin = [&](float (&part)[c::n / 2]) {
            barrier_wait(memory.full(at.stage), at.phase);
            start_part(part, 0);
        };
        const auto end = [&](float (&part)[c::n / 2], int slab) {
            release(memory, previous, rank_m, rank_n);
            add_part(acc, part, slab == 0);
        };
        const auto turn = [&] {
            previous = at.stage;
            at.advance(p.stages);
        };
        begin(even);
        turn();
        int slab = 1;
#pragma unroll 1
        for (; slab + 1 < p.slabs; slab += 2) {
            begin(odd);
            wgmma_wait<1>();
            end(even, slab - 1);
            turn();
            begin(even);
            wgmma_wait<1>();
            end(odd, slab);
            turn();
        }
        if (slab < p.slabs) {
            begin(odd);
            wgmma_wait<1>();
            end(even, slab - 1);
            turn();
            wgmma_wait<0>();
            end(odd, slab);
        } else {
            wgmma_wait<0>();
            end(even, slab - 1);
        }
    }
};

// Per-tensor scales of FP8; 1 for the others, whose multiplications the compiler drops.
template <class c> DEVICE float output_scale(const gemm_params &p)
{
    if constexpr (c::type::dtype == PLUMB_E4M3)
        return (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
    return 1;
}

template <class c>
DEVICE void consume(const CUtensorMap &map_c, const CUtensorMap &map_tail, const gemm_params &p,
                    const block_memory<c> &memory, int rank_m, int rank_n, int first, int step)
{
    const int group = threadIdx.x / 128 - 1; // consumer warpgroup
    const int warp = threadIdx.x / 32 - 4;
    const int part_m = c::pingpong ? 0 : group % c::wm, part_n = c::pingpong ? 0 : group / c::wm;
    const int tiles = p.grid.rows * p.grid.columns;
    const float scale = output_scale<c>(p);
    consumer<c> self = {p,
                        memory,
                        rank_m,
                        rank_n,
                        part_m * (c::mi * 64u * slab_bytes),
                        part_n * (uint32_t)(c::n * slab_bytes)};
    typename c::stager out = {map_c, map_tail, memory.staging(warp)};

    int stride = step;
    if constexpr (c::pingpong) {
        self.at.skip(group * p.slabs, p.stages);
        first += group * step;
        stride = 2 * step;
        if (group == 1)
            named_barrier_arrive(1, 256); // the first turn is warpgroup 0's
    }
    float acc[c::mi][c::n / 2];
    uint32_t held[c::mi][c::words]; // a tile's results ...
    int next = c::stager::count;    // ... of which these pieces are still to be stored ...
    int row = 0, column = 0;        // ... here
    const auto store_next = [&](int) {
        if (next < c::stager::count)
            out.put_one(held, row, column, next++);
    };

    for (int index = first; index < tiles; index += stride) {
        if constexpr (c::pingpong)
            named_barrier(1 + group, 256);
        if constexpr (c::twofold)
            self.accumulate_promoted_twofold(acc[0]);
        else if constexpr (c::promote)
            self.accumulate_promoted(acc);
        else if constexpr (c::overlap)
            self.accumulate(acc, store_next);
        else
            self.accumulate(acc, [](int) {});
        if constexpr (c::pingpong) {
            self.at.skip(p.slabs, p.stages);
            if (index + step < tiles)
                named_barrier_arrive(2 - group, 256);
        }
#pragma unroll 1
        while (next < c::stager::count) // fewer slabs than pieces
            store_next(0);
        const tile t = tile_at(index, p.grid);
        row = (t.row * c::cm + rank_m) * c::bm + part_m * (c::mi * 64) + warp % 4 * 16;
        column = (t.column * c::cn + rank_n) * c::bn + part_n * c::n;
        if (p.out.direct) {
#pragma unroll
            for (int i = 0; i < c::mi; ++i)
                store_elements<typename c::output, c::n>(acc[i], scale, p.out, row + i * 64, column);
            continue;
        }
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
            hold<typename c::output, c::n>(held[i], acc[i], scale);
        if (c::overlap && index + stride < tiles)
            next = 0;
        else
            out.put_all(held, row, column);
    }
    if (threadIdx.x % 32 == 0)
        bulk_wait_read<0>();
}

template <class c>
__global__ void __launch_bounds__(c::threads, c::blocks)
    persistent_gemm(const __grid_constant__ CUtensorMap map_a,
                    const __grid_constant__ CUtensorMap map_b,
                    const __grid_constant__ CUtensorMap map_c,
                    const __grid_constant__ CUtensorMap map_tail,
                    const __grid_constant__ gemm_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory = {shared_address(shared), p.stages};
    const int rank = c::cluster == 1 ? 0 : (int)cluster_rank();
    const int rank_m = rank % c::cm, rank_n = rank / c::cm;
    const int first = blockIdx.x / c::cluster, step = gridDim.x / c::cluster;

    if (threadIdx.x < p.stages) { // at most 32: the producer's warp
        barrier_init(memory.full(threadIdx.x), 1);
        barrier_init(memory.empty(threadIdx.x),
                     (c::pingpong ? 1 : c::consumers) * (c::cm + c::cn - 1));
        barrier_init_fence();
    }
    if (threadIdx.x == 32) {
        tensor_prefetch(&map_a);
        tensor_prefetch(&map_b);
        tensor_prefetch(&map_c);
    }
    __syncwarp();
    if constexpr (c::cluster > 1)
        cluster_sync();
    else if (threadIdx.x < 32)
        named_barrier_arrive(3, c::threads - 96); // nobody in this warp waits for the others
    else if (threadIdx.x >= 128)
        named_barrier(3, c::threads - 96);

    if (threadIdx.x < 128) {
        if constexpr (c::reallocate)
            registers_give<c::producer_registers>();
        if (threadIdx.x == 0)
            produce<c>(map_a, map_b, p, memory, rank_m, rank_n, first, step);
    } else {
        if constexpr (c::reallocate)
            registers_take<c::consumer_registers>();
        consume<c>(map_c, map_tail, p, memory, rank_m, rank_n, first, step);
    }
    // No block may leave while a peer can still write to its shared memory or arrive on its barriers.
    if constexpr (c::cluster > 1)
        cluster_sync();
}

// ---- host ----------------------------------------------------------------------------------------

template <class type> int supports_tn(const plumb_problem *problem)
{
    const int64_t limit = INT32_MAX / 2;
    return problem->in_type == type::dtype && problem->out_type == type::output::dtype &&
           problem->layout == PLUMB_TN && problem->batch == 1 && problem->epilogue == 0 &&
           problem->m > 0 && problem->n > 0 && problem->k > 0 && problem->m < limit &&
           problem->n < limit && problem->k < limit && problem->k * type::bytes % 16 == 0;
}

// Clusters of this kernel that fit on the device at once, 0 on error.
template <class c> int resident_clusters(cudaLaunchConfig_t *launch)
{
    int clusters = 0, device = 0, sms = 0;
    if (cudaFuncSetAttribute(persistent_gemm<c>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             c::smem_limit) != cudaSuccess)
        return 0;
    if (c::cluster == 1) {
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
            return 0;
        return sms * c::blocks;
    }
    cudaLaunchConfig_t all = *launch;
    all.gridDim = dim3(c::cluster);
    if (cudaOccupancyMaxActiveClusters(&clusters, persistent_gemm<c>, &all) != cudaSuccess)
        return 0;
    return clusters;
}

inline int ceil_div(int64_t x, int64_t y)
{
    return (int)((x + y - 1) / y);
}

// Rows of one load: the block's part, but no more than the matrix has when that fits one part (in
// whole swizzle atoms). What is left of the stage keeps old values, and the rows of C computed from
// them do not exist. Rows outside the matrix cost more to load than rows inside: m = 1 took 48 us
// with boxes of 64 rows where m = 64 took 35.
template <class c> int load_rows(int64_t rows, int part)
{
    return c::cluster == 1 && rows < part ? (int)(rows + 7) / 8 * 8 : part;
}

// Describes A, B and C for the kernel.
template <class c> cudaError_t make_maps(CUtensorMap (&maps)[4], const plumb_args *args)
{
    using output = typename c::output;
    constexpr int element = sizeof(typename output::type);
    constexpr int piece = 128 / element, tail = c::n % piece;
    const plumb_problem &p = args->problem;
    const matrix a = {args->a, p.m, p.k, p.k * c::type::bytes, c::type::map};
    const matrix b = {args->b, p.n, p.k, p.k * c::type::bytes, c::type::map};
    const matrix out = {args->c, p.m, p.n, p.n * element, output::map};
    cudaError_t error = make_tensor_map(&maps[0], a, load_rows<c>(p.m, c::bm / c::cn), c::bk, true);
    if (!error)
        error = make_tensor_map(&maps[1], b, load_rows<c>(p.n, c::bn / c::cm), c::bk, true);
    if (error || p.n * element % 16) // such rows of C cannot be stored by TMA
        return error;
    if (c::n >= piece)
        error = make_tensor_map(&maps[2], out, 16, piece, true);
    if (!error && tail)
        error = make_tensor_map(&maps[3], out, 16, tail, false);
    return error;
}

template <class c> gemm_params make_params(const plumb_args *args, const schedule &s)
{
    const plumb_problem &problem = args->problem;
    gemm_params p = {};
    p.out.c = args->c;
    p.out.m = (int)problem.m;
    p.out.n = (int)problem.n;
    p.out.direct = problem.n * sizeof(typename c::output::type) % 16 != 0;
    p.scale_a = args->scale_a;
    p.scale_b = args->scale_b;
    p.slabs = ceil_div(problem.k, c::bk);
    p.load_bytes = (load_rows<c>(problem.m, c::bm / c::cn) * c::cn +
                    load_rows<c>(problem.n, c::bn / c::cm) * c::cm) *
                   slab_bytes;
    p.stages = s.stages;
    p.grid = make_grid(ceil_div(problem.m, c::bm * c::cm), ceil_div(problem.n, c::bn * c::cn),
                       s.raster, s.group);
    return p;
}

template <class c> int launch_gemm(const plumb_args *args, void *stream, const schedule &s)
{
    CUtensorMap maps[4] = {};
    if (make_maps<c>(maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, s);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {c::cluster, 1, 1};
    cudaLaunchConfig_t launch = {};
    launch.blockDim = dim3(c::threads);
    launch.dynamicSmemBytes = c::smem_bytes(s.stages);
    launch.stream = (cudaStream_t)stream;
    launch.attrs = &attribute;
    launch.numAttrs = c::cluster > 1;
    static const int resident = resident_clusters<c>(&launch);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    const int tiles = p.grid.rows * p.grid.columns;
    launch.gridDim = dim3((tiles < resident ? tiles : resident) * c::cluster);
    return cudaLaunchKernelEx(&launch, persistent_gemm<c>, maps[0], maps[1], maps[2], maps[3], p);
}

// A row of a kernel table: the ABI's functions for one configuration and one schedule.
template <class c, int stages, int raster, int group>
int launch_row(const plumb_args *args, void *stream)
{
    return launch_gemm<c>(args, stream, {raster, group, stages});
}

template <class c>
constexpr plumb_traits persistent_traits(int stages, int raster, int group)
{
    plumb_traits t = {};
    t.in_type = c::type::dtype;
    t.out_type = c::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.tile_m = c::bm;
    t.tile_n = c::bn;
    t.tile_k = c::bk;
    t.stages = stages;
    t.cluster_m = c::cm;
    t.cluster_n = c::cn;
    t.threads = c::threads;
    t.smem_bytes = c::smem_bytes(stages);
    t.registers = c::launch_registers > 255 ? 255 : c::launch_registers;
    t.blocks_per_sm = c::blocks;
    t.persistent = 1;
    t.raster = raster;
    t.raster_group = group;
    t.split_k = 1;
    return t;
}

#endif
