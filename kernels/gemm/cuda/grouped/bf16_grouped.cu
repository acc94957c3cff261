// SPDX-License-Identifier: Apache-2.0
//
// Groups in BF16, in one launch: a tile has 128 rows of a group's B and up to 192 rows of its A.
#include "grouped.cuh"

// ---- Groups whose tiles the two consumer warpgroups take in turns (ping-pong). The ring, the main
// loop and the way out are those of persistent/persistent.cuh.

template <class c>
DEVICE void produce_groups(const grouped_maps &maps, const grouped_params &p,
                           const block_memory<c> &memory, tile_ring &ring, const int32_t *starts)
{
    tile_teller teller = {ring};
    ring_position at;
    take_tiles<c>(p, starts, [&](const placed_tile &t, int weight) {
        teller.tell(t, [](int) {});
        load_tile(maps, p, memory, at, t, weight, 0, [](int, uint32_t, uint32_t) {});
    });
    teller.tell({0, 0, 0, 0, false}, [](int) {});
    teller.tell({0, 0, 0, -1, false}, [](int) {});
}

// A consumer warpgroup's way through its tiles, every other one of the block's. It stores a tile
// while the other warpgroup multiplies the next (ping-pong, persistent/persistent.cuh).
template <class c> struct groups_consumer {
    const grouped_params &p;
    const CUtensorMap &unused;
    tile_ring &ring;
    const uint32_t shared;
    const int group, warp;
    ring_position at = {}, slot = {};

    // Stores the tile in `slot`, which is free afterwards.
    template <int width> DEVICE void store(float (&acc)[c::mi][width / 2])
    {
        const block_memory<c> memory(shared, p.gemm.stages);
        const placed_tile t = ring.tiles[slot.stage];
        warp_arrives(shared_address(&ring.empty[slot.stage]));
        store_swapped<c, width>(acc, p, unused, memory.staging(warp), t, t.column + warp % 4 * 16);
    }

    template <int width> DEVICE void sum()
    {
        using part = narrowed<c, width>;
        const block_memory<part> memory(shared, p.gemm.stages);
        consumer<part> self = {p.gemm, memory, 0, 0, 0, 0, at};
        float acc[c::mi][width / 2];
        self.clear(acc); // otherwise registers would hold the sums of all widths side by side
        named_barrier(1 + group, 256);
        self.accumulate(
            acc, [](int) {}, [&] { named_barrier_arrive(2 - group, 256); });
        at = self.at;
        at.skip(p.rest, p.turns, p.gemm.stages);
        store<width>(acc);
    }

    // Registers cannot be indexed, so there is code for every width.
    template <int width = group_step> DEVICE void sum_any(int wanted)
    {
        if (width == wanted)
            sum<width>();
        else if constexpr (width < c::n)
            sum_any<width + group_step>(wanted);
    }

    DEVICE void run()
    {
        if (group == 1) {
            slot.advance(tile_slots);
            at.skip(p.rest, p.turns, p.gemm.stages);
            named_barrier_arrive(1, 256); // warpgroup 0 has the first turn
        }
        int width;
#pragma unroll 1
        for (;;) {
            barrier_wait(shared_address(&ring.full[slot.stage]), slot.phase);
            width = (int)uniform(ring.tiles[slot.stage].width);
            if (width <= 0)
                break;
            sum_any(width);
            slot.skip(2, 0, tile_slots);
        }
        named_barrier(1 + group, 256);
        if (width == 0)
            named_barrier_arrive(2 - group, 256);
    }
};

template <class c>
__global__ void __launch_bounds__(c::threads, 1)
    grouped_gemm(const __grid_constant__ grouped_maps maps,
                 const __grid_constant__ grouped_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.gemm.stages);
    tile_ring &ring = *reinterpret_cast<tile_ring *>(shared + memory.barriers(p.gemm.stages) +
                                                     p.gemm.stages * 16);
    int32_t *const starts = reinterpret_cast<int32_t *>(&ring + 1);
    begin_groups(maps, p, memory, ring, starts, 1, 4); // those of the warpgroup whose turn it is
    if (threadIdx.x < 128) {
        registers_give<c::producer_registers>();
        if (is_producer())
            produce_groups<c>(maps, p, memory, ring, starts);
    } else {
        registers_take<c::consumer_registers>();
        const int warp = (int)uniform(threadIdx.x / 32) - 4;
        groups_consumer<c> consumer = {p, maps.weights, ring, memory.base, warp / 4, warp};
        consumer.run();
    }
}

// ---- host ----

using shape = tiled<bf16, tiling{.tile_m = 128, .tile_n = 192, .pingpong = true, .swapped = true}>;
constexpr int stages = 5, band = 4;
static_assert(shape::bm == weight_box);
static_assert(grouped_bytes<shape, tile_ring>(stages, groups_most) <= shape::smem_limit);

static int supports(const plumb_form *f)
{
    return f->scale_vector == 0 && supports_grouping<shape>(f);
}

static int launch(const plumb_form_args *args, void *stream)
{
    grouped_maps maps = {};
    if (make_grouped_maps<shape>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const grouped_params p = make_grouped_params<shape>(args, stages, band, INT32_MAX);
    const int bytes = grouped_bytes<shape, tile_ring>(stages, args->form.groups);
    return launch_groups<shape>(grouped_gemm<shape>, maps, p, p.taken, bytes, stream);
}

static const plumb_form_kernel kernel = {
    .kernel = {.name = "bf16-grouped",
               .summary = "all groups in one launch, tiles as high as a group's rows",
               .traits = persistent_traits<shape>(stages, PLUMB_RASTER_N, band)},
    .supports = supports,
    .workspace = grouped_workspace,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
