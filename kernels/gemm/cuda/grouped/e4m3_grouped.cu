// SPDX-License-Identifier: Apache-2.0
//
// Groups in FP8 with block scales, in one launch. A tile has 256 rows of a group's B and up to 128
// rows of its A; in groups of many rows it has 256 rows of A and 128 of B.
#include "grouped.cuh"

// ---- Groups in FP8 with block scales: A has one FP32 scale for each row and 128 of K, B has one
// for each 128 x 128. The tensor core sums each slab (128 of K) on its own, and the sums are scaled
// when they are added here, in FP32. Both warpgroups work at one tile, so that one adds while the
// other's slab is multiplied. A slab's scales of A come into its stage by a bulk copy of their own;
// B's scale is one number for all rows and columns of a warpgroup.
//
// A tile of a group with few rows is swapped, 256 rows of B by up to 128 of A, so that few rows of
// A are multiplied in vain. Each thread's sums then have 32 scales, so each slab costs 32 reads of
// shared memory and 32 multiplications. A tile of a group with many rows is 256 rows of A by 128 of
// B, as in the plain kernel (scaled/scaled.cuh), with two scales for each 64 sums.

constexpr int scale_block = 128; // elements along K, and rows of B

// Each stage has room for A's scales behind the slab.
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
    int rows;   // of one matrix A, whose scales for one 128 of K lie together
    int blocks; // number of 128s of K
    int pitch;  // scales from one 128 rows of B to the next
    int across; // number of 128s of one matrix B's rows
    bool masked;
};

// Copies `bytes`, a multiple of 16, to shared memory. `barrier` counts them.
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

// Beside the tile, the producer tells where the scales of the tile's rows of B begin.
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
        // the matrix may end here
        const int bytes = min(t.width, p.rows - row) * (int)sizeof(float);
        teller.tell(t, [&](int slot) { ring.scales_b[slot] = of_b; });
        load_tile(maps, p.groups, memory, at, t, weight, bytes,
                  [&](int slab, uint32_t stage, uint32_t full) {
                      bulk_load(stage + c::scales_at, of_a + (int64_t)slab * p.rows, bytes, full);
                  });
    });
    teller.tell({0, 0, 0, 0, false}, [](int) {});
}

// A thread's factors for 64 x width sums of a slab, if the sums' columns are rows of A.
template <int width> struct factors_of_columns {
    float2 of_rows[width / 8];

    // scales: A's scales of the tile. of_b: B's scale. The third parameter, rows of A before these
    // sums, is not used here.
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

// The same if the sums' rows are rows of A.
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

    // Takes the tile in `slot`, which is free afterwards.
    DEVICE placed_tile take()
    {
        const placed_tile t = ring.tiles.tiles[slot.stage];
        warp_arrives(shared_address(&ring.tiles.empty[slot.stage]));
        return t;
    }

    // Sums `count` times 64 rows of the operand that is first in a stage, from row 64 * `first` on.
    // part: the configuration with the instruction's width.
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
                // Reads the scales before the sums are waited for, because there is time.
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
            scale_b += p.pitch; // rows beyond B's last one are not stored
        float acc[c::mi][width / 2];
        sum<narrowed<c, width>, factors_of_columns<width>>(acc, first, scale_b);
        const placed_tile t = take();
        if (elect())
            bulk_wait_read<0>(); // the stores of a tile of many rows, before this tile,
                                 // have been read
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
        // Rows from t.end on are zeros, up to a multiple of 16.
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((row + i / stager::per_block * 64 < t.end
                  ? out.template put_sums<i>(acc, 1.0f, row, t.column)
                  : void()),
             ...);
        }
        (std::make_integer_sequence<int, stager::count>());
    }

    // Skips a tile in which the other warpgroup has all 64 rows: waits for each slab and hands it
    // back without multiplying, so that the ring goes on.
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
    // A stage is free only after each warp has read its scales.
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
// many_from: groups of at least so many rows run without swapped operands.
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

// Its tile is the tile of groups of many rows.
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
