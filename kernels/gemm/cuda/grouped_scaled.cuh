// SPDX-License-Identifier: Apache-2.0
//
// Groups in FP8 with block scales: of A one FP32 scale for each row and 128 of K, of B one for each
// 128 x 128. As grouped.cuh, but the tensor core sums each slab, which is 128 of K, on its own, and
// the sums are scaled when they are added here, in FP32. Both warpgroups work at one tile, 64 rows
// of B each, so that one adds while the other's slab is multiplied. A's scales of a slab come into
// its stage by a bulk copy of their own; B's is one number for the whole tile.
#ifndef PLUMB_GROUPED_SCALED_CUH
#define PLUMB_GROUPED_SCALED_CUH

#include "grouped.cuh"

constexpr int scale_block = 128; // of K, and of B's rows

// A stage has room for A's scales behind the slab.
template <class base> struct scaled_config : base {
    static constexpr int scales_at = base::stage_bytes;
    static constexpr int stage_bytes = base::stage_bytes + 1024;
    static constexpr bool promote = true;
    static constexpr int smem_bytes(int stages)
    {
        return stages * stage_bytes + base::staging_bytes + stages * 16;
    }
};

struct scaled_params {
    grouped_params groups;
    const float *scales_a, *scales_b;
    int rows;   // of one matrix A: its scales of one 128 of K
    int blocks; // of K
    int pitch;  // from one 128 rows of B to the next, in scales
    int across; // 128s of B's rows, of one matrix
    bool masked;
};

// Copies `bytes`, a multiple of 16, to shared memory; they count on `barrier`.
DEVICE void bulk_load(uint32_t shared, const void *from, uint32_t bytes, uint32_t barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(shared),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

DEVICE float2 load_shared_pair(uint32_t shared)
{
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v.x), "=f"(v.y)
                 : "r"(shared)
                 : "memory");
    return v;
}

// What the producer tells beside the tile: where the scales of its 128 rows of B begin.
struct scaled_ring {
    tile_ring tiles;
    const float *scales_b[tile_slots];
};

template <class c>
DEVICE void produce_scaled_groups(const grouped_maps &maps, const scaled_params &p,
                                  const block_memory<c> &memory, scaled_ring &ring,
                                  const int32_t *starts)
{
    tile_teller teller = {ring.tiles};
    ring_position at;
    take_tiles<c>(p.groups, starts, [&](const placed_tile &t, int weight) {
        const int group = weight / p.groups.n;
        const int64_t matrix = p.masked ? t.row / p.rows : 0;
        const float *of_b =
            p.scales_b + ((int64_t)group * p.across + t.column / scale_block) * p.pitch;
        const float *of_a =
            p.scales_a + matrix * p.rows * p.blocks + (p.masked ? t.row % p.rows : t.row);
        teller.tell(t, [&](int slot) { ring.scales_b[slot] = of_b; });
        load_tile(maps, p.groups, memory, at, t, weight, sizeof(float),
                  [&](int slab, uint32_t stage, uint32_t full) {
                      bulk_load(stage + c::scales_at, of_a + (int64_t)slab * p.rows,
                                t.width * sizeof(float), full);
                  });
    });
    teller.tell({0, 0, 0, 0}, [](int) {});
}

template <class c> struct scaled_consumer {
    const scaled_params &p;
    const CUtensorMap &unused;
    scaled_ring &ring;
    const uint32_t shared;
    const int warp;
    ring_position at = {}, slot = {};

    template <int width> DEVICE void store(float (&acc)[1][width / 2])
    {
        using stager = ::stager<typename c::output, 1, width, c::ring, true>;
        const block_memory<c> memory(shared, p.groups.gemm.stages);
        const placed_tile t = ring.tiles.tiles[slot.stage];
        __syncwarp();
        if (elect())
            barrier_arrive(shared_address(&ring.tiles.empty[slot.stage]));
        const int column = t.column + warp * 16;
        output_target target = p.groups.gemm.out;
        target.n = t.end;
        stager out = {unused, unused, memory.staging(warp), target};
        if (target.direct)
            stager::store_elements(acc, 1.0f, target, column, t.row);
        else
            out.put_all_sums(acc, 1.0f, column, t.row);
    }

    template <int width> DEVICE void sum()
    {
        using part_config = narrowed<c, width>;
        const block_memory<part_config> memory(shared, p.groups.gemm.stages);
        consumer<part_config> self = {
            p.groups.gemm, memory, 0, 0, warp / 4 * (64u * slab_bytes), 0, at};
        const float *scale_b = ring.scales_b[slot.stage];
        float acc[1][width / 2], part[width / 2];
#pragma unroll
        for (int i = 0; i < width / 2; ++i)
            acc[0][i] = part[i] = 0;
        float next = __ldg(scale_b);
#pragma unroll 1
        for (int slab = 0; slab < p.groups.gemm.slabs; ++slab) {
            const float of_b = next;
            ++scale_b;
            if (slab + 1 < p.groups.gemm.slabs)
                next = __ldg(scale_b);
            barrier_wait(memory.full(self.at.stage), self.at.phase);
            self.start_part(part, 0);
            // Before the sums are waited for: there is time.
            const uint32_t scales = memory.a(self.at.stage) + c::scales_at + threadIdx.x % 4 * 8;
            float2 of_rows[width / 8];
#pragma unroll
            for (int i = 0; i < width / 8; ++i) {
                of_rows[i] = load_shared_pair(scales + i * 32);
                of_rows[i].x *= of_b;
                of_rows[i].y *= of_b;
            }
            wgmma_wait<0>();
            pin(part);
            __syncwarp();
            if (elect())
                barrier_arrive(memory.empty(self.at.stage));
#pragma unroll
            for (int i = 0; i < width / 2; ++i)
                acc[0][i] += part[i] * (i % 2 ? of_rows[i / 4].y : of_rows[i / 4].x);
            self.at.advance(p.groups.gemm.stages);
        }
        at = self.at;
        store<width>(acc);
    }

    template <int width = group_step> DEVICE void sum_any(int wanted)
    {
        if (width == wanted)
            sum<width>();
        else if constexpr (width < c::n)
            sum_any<width + group_step>(wanted);
    }

    DEVICE void run()
    {
#pragma unroll 1
        for (;;) {
            barrier_wait(shared_address(&ring.tiles.full[slot.stage]), slot.phase);
            const int width = (int)uniform(ring.tiles.tiles[slot.stage].width);
            if (width <= 0)
                return;
            sum_any(width);
            slot.advance(tile_slots);
        }
    }
};

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    grouped_scaled_gemm(const __grid_constant__ grouped_maps maps,
                        const __grid_constant__ scaled_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const int stages = p.groups.gemm.stages;
    const block_memory<c> memory(shared_address(shared), stages);
    scaled_ring &ring =
        *reinterpret_cast<scaled_ring *>(shared + memory.barriers(stages) + stages * 16);
    int32_t *const starts = reinterpret_cast<int32_t *>(&ring + 1);
    // Each warp has read the scales before a stage is free.
    begin_groups(maps, p.groups, memory, ring.tiles, starts, 8, 8);
    if (threadIdx.x < 128) {
        registers_give<c::producer_registers>();
        if (is_producer())
            produce_scaled_groups<c>(maps, p, memory, ring, starts);
    } else {
        registers_take<c::consumer_registers>();
        const int warp = (int)uniform(threadIdx.x / 32) - 4;
        scaled_consumer<c> consumer = {p, maps.weights, ring, memory.base, warp};
        consumer.run();
    }
}

// ---- host ----

template <class c> constexpr int scaled_bytes(int stages, int groups)
{
    return c::smem_bytes(stages) + (int)sizeof(scaled_ring) + (groups + 1) * (int)sizeof(int32_t);
}

template <class c> int supports_scaled_groups(const plumb_form *f)
{
    const plumb_problem &p = f->problem;
    const int64_t limit = INT32_MAX / 2;
    return f->grouping != PLUMB_NO_GROUPS && f->groups <= groups_most && f->number_count == 0 &&
           f->scale_type == PLUMB_FP32 && f->scale_vector == scale_block && f->scale_rows_a == 1 &&
           f->scale_rows_b == scale_block && f->scale_layout == PLUMB_SCALES_COLUMNS &&
           (f->grouping == PLUMB_CONTIGUOUS || p.m % group_step == 0) && f->alpha == 1 &&
           f->beta == 0 && f->lda == p.k && f->ldb == p.k && f->ldc == p.n &&
           p.in_type == c::type::dtype && p.out_type == c::output::dtype && p.layout == PLUMB_TN &&
           p.batch == 1 && p.epilogue == PLUMB_NO_EPILOGUE && p.n < limit && p.k < limit &&
           f->rows < limit && f->groups * p.n < limit && p.k * c::type::bytes % 16 == 0 &&
           (f->rows / c::bn + f->groups) * ceil_div(p.n, c::bm) < limit;
}

template <class c>
int launch_scaled_groups(const plumb_form_args *args, void *stream, int stages, int band)
{
    const plumb_form &f = args->form;
    grouped_maps maps = {};
    scaled_params p = {};
    if (make_grouped_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    p.groups = make_grouped_params<c>(args, stages, band);
    p.scales_a = static_cast<const float *>(args->block_scales_a);
    p.scales_b = static_cast<const float *>(args->block_scales_b);
    p.masked = f.grouping == PLUMB_MASKED;
    p.rows = (int)(p.masked ? f.problem.m : f.rows);
    p.blocks = ceil_div(f.problem.k, scale_block);
    p.pitch = (p.blocks + 3) / 4 * 4;
    p.across = ceil_div(f.problem.n, scale_block);
    const int bytes = scaled_bytes<c>(stages, f.groups);
    cluster_launch launch(c::threads, 1, bytes, stream);
    static const int resident = resident_clusters<c>(grouped_scaled_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3(resident);
    const cudaError_t error = cudaMemsetAsync(p.groups.taken, 0, sizeof(int), launch.config.stream);
    return error ? error : cudaLaunchKernelEx(&launch.config, grouped_scaled_gemm<c>, maps, p);
}

#endif
