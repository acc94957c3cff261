// SPDX-License-Identifier: Apache-2.0
//
// Groups in FP8 with block scales, in one launch: tiles of 256 of a group's rows of B by up to 128
// of A's, or of groups of many rows of 256 of A's by 128 of B's.
#include "grouped.cuh"

// ---- Groups in FP8 with block scales: of A one FP32 scale for each row and 128 of K, of B one for
// each 128 x 128. The tensor core sums each slab, which is 128 of K, on its own, and the sums are
// scaled when they are added here, in FP32. Both warpgroups work at one tile, so that one adds
// while the other's slab is multiplied. A's scales of a slab come into its stage by a bulk copy of
// their own; B's is one number for all of a warpgroup's rows and columns.
//
// A tile of a group of few rows is swapped, 256 rows of B by up to 128 of A, so that few of A's are
// multiplied in vain; each thread's sums then have 32 scales, which cost as many reads of shared
// memory and multiplications in each slab. Of a group of many rows it is 256 of A by 128 of B, as
// in the plain kernel (scaled/scaled.cuh): two scales for each 64 sums.

constexpr int scale_block = 128; // of K, and of B's rows

// A stage has room for A's scales behind the slab.
template <class base> struct scaled_config : base {
    static_assert(base::bm == 256 && base::bn == scale_block && base::wm == 2 && base::swapped);
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

// What the producer tells beside the tile: where the scales of its rows of B begin.
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
        const int group = (weight - t.column) / p.groups.n;
        const int64_t matrix = p.masked ? t.row / p.rows : 0;
        const int row = p.masked ? t.row % p.rows : t.row;
        const float *of_b =
            p.scales_b + ((int64_t)group * p.across + t.column / scale_block) * p.pitch;
        const float *of_a = p.scales_a + matrix * p.rows * p.blocks + row;
        const int bytes = min(t.width, p.rows - row) * (int)sizeof(float); // a matrix may end
        teller.tell(t, [&](int slot) { ring.scales_b[slot] = of_b; });
        load_tile(maps, p.groups, memory, at, t, weight, bytes,
                  [&](int slab, uint32_t stage, uint32_t full) {
                      bulk_load(stage + c::scales_at, of_a + (int64_t)slab * p.rows, bytes, full);
                  });
    });
    teller.tell({0, 0, 0, 0, false}, [](int) {});
}

// A thread's factors of 64 x width sums of a slab whose columns are rows of A.
template <int width> struct factors_of_columns {
    float2 of_rows[width / 8];

    // scales: A's, of the tile; of_b: B's; rows of A before the sums' do not matter here.
    DEVICE factors_of_columns(uint32_t scales, float of_b, int)
    {
        scales += threadIdx.x % 4 * 8;
#pragma unroll
        for (int i = 0; i < width / 8; ++i) {
            of_rows[i] = load_shared_pair(scales + i * 32);
            of_rows[i].x *= of_b;
            of_rows[i].y *= of_b;
        }
    }

    DEVICE float of(int i) const
    {
        return i % 2 ? of_rows[i / 4].y : of_rows[i / 4].x;
    }
};

// Of sums whose rows are A's.
struct factors_of_rows {
    float of_row[2];

    DEVICE factors_of_rows(uint32_t scales, float of_b, int rows_before)
    {
        const int row = rows_before + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
        of_row[0] = load_shared_float(scales + row * 4) * of_b;
        of_row[1] = load_shared_float(scales + row * 4 + 32) * of_b;
    }

    DEVICE float of(int i) const
    {
        return of_row[i / 2 % 2];
    }
};

template <class c> struct scaled_consumer {
    const scaled_params &p;
    const CUtensorMap &results;
    scaled_ring &ring;
    const uint32_t shared;
    const int warp;
    ring_position at = {}, slot = {};

    // The tile in `slot`, which is then free.
    DEVICE placed_tile take()
    {
        const placed_tile t = ring.tiles.tiles[slot.stage];
        warp_arrives(shared_address(&ring.tiles.empty[slot.stage]));
        return t;
    }

    // Sums 64 times `count` rows of what lies first in a stage, from `first` times 64 on. part:
    // the configuration with the instruction's width.
    template <class part, class factors, int count>
    DEVICE void sum(float (&acc)[count][part::n / 2], int first, const float *scale_b)
    {
        const block_memory<part> memory(shared, p.groups.gemm.stages);
        consumer<part> self = {p.groups.gemm, memory, 0, 0, first * (64u * slab_bytes), 0, at};
        float sums[part::n / 2];
#pragma unroll
        for (int i = 0; i < part::n / 2; ++i) {
            sums[i] = 0;
#pragma unroll
            for (int k = 0; k < count; ++k)
                acc[k][i] = 0;
        }
        float next = __ldg(scale_b);
#pragma unroll 1
        for (int slab = 0; slab < p.groups.gemm.slabs; ++slab) {
            const float of_b = next;
            if (slab + 1 < p.groups.gemm.slabs)
                next = __ldg(++scale_b);
            barrier_wait(memory.full(self.at.stage), self.at.phase);
#pragma unroll
            for (int k = 0; k < count; ++k) {
                self.start_part(sums, k);
                // Before the sums are waited for: there is time.
                const factors f(memory.a(self.at.stage) + c::scales_at, of_b, (first + k) * 64);
                wgmma_wait<0>();
                if (k == count - 1)
                    warp_arrives(memory.empty(self.at.stage));
                pin(sums);
#pragma unroll
                for (int i = 0; i < part::n / 2; ++i)
                    acc[k][i] += sums[i] * f.of(i);
            }
            self.at.advance(p.groups.gemm.stages);
        }
        at = self.at;
    }

    // ---- few rows ----

    template <int width> DEVICE void sum_few()
    {
        const block_memory<c> memory(shared, p.groups.gemm.stages);
        const int first = warp / 4 * c::mi;
        const float *scale_b = ring.scales_b[slot.stage];
        if (warp / 4 == 1 && ring.tiles.tiles[slot.stage].column + scale_block < p.groups.n)
            scale_b += p.pitch; // what lies behind B's last rows is not stored
        float acc[c::mi][width / 2];
        sum<narrowed<c, width>, factors_of_columns<width>>(acc, first, scale_b);
        const placed_tile t = take();
        if (elect())
            bulk_wait_read<0>(); // of a tile of many rows before
        __syncwarp();
        store_swapped<c, width>(acc, p.groups, results, memory.staging(warp), t,
                                t.column + first * 64 + warp % 4 * 16);
    }

    // Registers cannot be indexed, so there is code for every width.
    template <int width = group_step> DEVICE void sum_any(int wanted)
    {
        if (width == wanted)
            sum_few<width>();
        else if constexpr (width < c::n)
            sum_any<width + group_step>(wanted);
    }

    // ---- many rows ----

    template <int count> DEVICE void sum_rows(int first)
    {
        using stager = ::stager<typename c::output, count, c::n, 1>;
        const block_memory<c> memory(shared, p.groups.gemm.stages);
        float acc[count][c::n / 2];
        sum<c, factors_of_rows>(acc, first, ring.scales_b[slot.stage]);
        const placed_tile t = take();
        const gemm_params &gemm = p.groups.gemm;
        const int row = t.row + first * 64 + warp % 4 * 16;
        const output_target target = {gemm.out.c, t.end, gemm.out.m, gemm.out.direct};
        stager out = {results, results, memory.staging(warp), target};
        if (target.direct) {
            stager::store_elements(acc, 1.0f, target, row, t.column);
            return;
        }
        // Rows from t.end on are zeros as far as 16 begun ones reach.
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((row + i / stager::per_block * 64 < t.end
                  ? out.template put_sums<i>(acc, 1.0f, row, t.column)
                  : void()),
             ...);
        }
        (std::make_integer_sequence<int, stager::count>());
    }

    // All 64 rows are the other warpgroup's.
    DEVICE void pass()
    {
        const block_memory<c> memory(shared, p.groups.gemm.stages);
#pragma unroll 1
        for (int slab = 0; slab < p.groups.gemm.slabs; ++slab) {
            barrier_wait(memory.full(at.stage), at.phase);
            warp_arrives(memory.empty(at.stage));
            at.advance(p.groups.gemm.stages);
        }
        take();
    }

    DEVICE void sum_many(int rows)
    {
        const int blocks = rows / many_step, half = (blocks + 1) / 2;
        const int first = warp < 4 ? 0 : half, count = warp < 4 ? half : blocks - half;
        if (count == 2)
            sum_rows<2>(first);
        else if (count == 1)
            sum_rows<1>(first);
        else
            pass();
    }

    DEVICE void run()
    {
#pragma unroll 1
        for (;;) {
            barrier_wait(shared_address(&ring.tiles.full[slot.stage]), slot.phase);
            const int width = (int)uniform(ring.tiles.tiles[slot.stage].width);
            if (width <= 0)
                break;
            if (uniform(ring.tiles.tiles[slot.stage].many))
                sum_many(width);
            else
                sum_any(width);
            slot.advance(tile_slots);
        }
        if (elect())
            bulk_wait_read<0>();
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
        scaled_consumer<c> consumer = {p, maps.results, ring, memory.base, warp};
        consumer.run();
    }
}

// ---- host ----

using shape = scaled_config<
    tiled<e4m3, tiling{.tile_m = 256, .tile_n = 128, .groups_m = 2, .swapped = true}>>;
// many_from: groups of at least so many rows run without their operands swapped.
constexpr int stages = 4, band = 8, many_from = 65;
static_assert(grouped_bytes<shape, scaled_ring>(stages, groups_most) <= shape::smem_limit);

static int supports(const plumb_form *f)
{
    return supports_grouping<shape>(f) && f->scale_type == PLUMB_FP32 &&
           f->scale_vector == scale_block && f->scale_rows_a == 1 &&
           f->scale_rows_b == scale_block && f->scale_layout == PLUMB_SCALES_COLUMNS &&
           (f->grouping == PLUMB_CONTIGUOUS || f->problem.m % group_step == 0);
}

static int launch(const plumb_form_args *args, void *stream)
{
    const plumb_form &f = args->form;
    grouped_maps maps = {};
    scaled_params p = {};
    if (make_grouped_maps<shape>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    p.groups = make_grouped_params<shape>(args, stages, band, many_from);
    p.scales_a = static_cast<const float *>(args->block_scales_a);
    p.scales_b = static_cast<const float *>(args->block_scales_b);
    p.masked = f.grouping == PLUMB_MASKED;
    p.rows = (int)(p.masked ? f.problem.m : f.rows);
    p.blocks = ceil_div(f.problem.k, scale_block);
    p.pitch = (p.blocks + 3) / 4 * 4;
    p.across = ceil_div(f.problem.n, scale_block);
    const int bytes = grouped_bytes<shape, scaled_ring>(stages, f.groups);
    return launch_groups<shape>(grouped_scaled_gemm<shape>, maps, p, p.groups.taken, bytes, stream);
}

// Its tile is that of groups of many rows.
static constexpr plumb_traits traits()
{
    plumb_traits t = persistent_traits<shape>(stages, PLUMB_RASTER_N, band);
    t.tile_m = shape::bm;
    t.tile_n = shape::bn;
    return t;
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = "e4m3-grouped",
               .summary = "all groups in one launch, scales of 1x128 and 128x128",
               .traits = traits()},
    .supports = supports,
    .workspace = grouped_workspace,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
