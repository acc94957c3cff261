// SPDX-License-Identifier: Apache-2.0
//
// The persistent kernel over groups (a mixture of experts): one launch multiplies every group's
// rows of A by its own matrix B. Operands are swapped (transposed.cuh): B's rows lie along the
// matrix instruction's 64, the group's rows along its width, which is the tile's own, so that a
// group of 20 rows multiplies 32 and one of 300 multiplies 160 and 144. What differs from tile to
// tile is thus the width of the instruction, the box that is loaded, and which rows are stored; the
// ring, the main loop and the way out are persistent.cuh's.
//
//   start        a warp sums up where each group's tiles begin (groups.h); all wait for it
//   producer     one thread takes tiles, the first by its block's number and the others as they
//                come, from a counter in the workspace, which a memset before the launch clears;
//                it tells the consumers which, and loads 128 rows of the group's B and `width` rows
//                of A per slab, the latter by a tensor map of that box's height
//   consumers    two warpgroups take turns at tiles (seam.cuh, ping-pong)
//
// A box may reach into the next group's rows, or beyond the last ones: what is computed from those
// is not stored.
#ifndef PLUMB_GROUPED_CUH
#define PLUMB_GROUPED_CUH

#include "groups.h"
#include "persistent.cuh"

constexpr int group_step = 16, group_widths = 256 / group_step;

// Parameters of the kernel.
struct grouped_maps {
    CUtensorMap weights, rows[group_widths]; // the latter by height, in steps
};

struct grouped_params {
    gemm_params gemm; // out.m: columns of C; the grid is not used
    group_grid grid;
    const int32_t *first, *rows; // of each group
    int n;                       // rows of one matrix B
    int turns, rest;             // slabs of a tile, as turns of the ring
    int *taken;                  // tiles that blocks took beyond their first
};

// The same configuration with a narrower instruction; everything in shared memory stays where it
// is.
template <class base, int width> struct narrowed : base {
    static constexpr int n = width, c_n = width;
};

// Where group i's tiles begin, for all groups, by one warp: lane by lane a run of groups.
DEVICE void lay_groups(int32_t *starts, const grouped_params &p)
{
    const int lane = threadIdx.x % 32, each = (p.grid.groups + 31) / 32;
    const int from = min(lane * each, p.grid.groups), to = min(from + each, p.grid.groups);
    int own = 0;
#pragma unroll 4
    for (int i = from; i < to; ++i)
        own += group_tiles(&p.grid, p.rows[i]);
    int until = own;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const int below = __shfl_up_sync(~0u, until, step);
        until += lane >= step ? below : 0;
    }
    int at = until - own;
#pragma unroll 4
    for (int i = from; i < to; ++i) {
        starts[i] = at;
        at += group_tiles(&p.grid, p.rows[i]);
    }
    if (lane == 31)
        starts[p.grid.groups] = until;
}

// A tile with its place in memory, as the producer tells it to the consumers.
struct alignas(16) placed_tile {
    int row, end; // its rows of A and C, of which those from `end` on are not the group's
    int column;   // of C
    int width;    // 0: there are no more tiles, and the other warpgroup is to hear it; -1: nor it
};

DEVICE placed_tile place_tile(const int32_t *starts, const grouped_params &p, int index,
                              int columns, int *weight)
{
    const int group = group_of_tile(starts, p.grid.groups, index);
    const int first = p.first[group], rows = p.rows[group];
    const group_tile t = group_tile_at(&p.grid, group, rows, index - starts[group]);
    *weight = group * p.n + t.column * columns;
    return {first + t.row, first + t.row + t.rows, t.column * columns, t.width};
}

// What is in shared memory behind the ring of slabs and its barriers: a ring of tiles.
constexpr int tile_slots = 4;

struct tile_ring {
    placed_tile tiles[tile_slots];
    uint64_t full[tile_slots], empty[tile_slots];
};

// What one thread tells the consumers.
struct tile_teller {
    tile_ring &ring;
    ring_position slot = {};

    // also(i) writes what else belongs to slot i.
    template <class work> DEVICE void tell(const placed_tile &t, work also)
    {
        barrier_wait(shared_address(&ring.empty[slot.stage]), slot.phase ^ 1);
        ring.tiles[slot.stage] = t;
        also(slot.stage);
        barrier_arrive(shared_address(&ring.full[slot.stage]));
        slot.advance(tile_slots);
    }
};

// Takes tiles, the first by the block's number and the others as they come, by one thread:
// work(tile, row of all matrices B).
template <class c, class work>
DEVICE void take_tiles(const grouped_params &p, const int32_t *starts, work each)
{
    const int tiles = starts[p.grid.groups];
    int index = blockIdx.x;
#pragma unroll 1
    while (index < tiles) {
        int weight;
        const placed_tile t = place_tile(starts, p, index, c::bm, &weight);
        index = gridDim.x + atomicAdd(p.taken, 1); // here: it takes as long as a slab
        each(t, weight);
    }
}

// Loads all slabs of a tile; more(slab, stage, full) loads what else belongs to a stage, so many
// bytes for each row of A.
template <class c, class work>
DEVICE void load_tile(const grouped_maps &maps, const grouped_params &p,
                      const block_memory<c> &memory, ring_position &at, const placed_tile &t,
                      int weight, int bytes_more, work more)
{
    const CUtensorMap *rows = &maps.rows[t.width / group_step - 1];
    const uint32_t bytes = (c::bm + t.width) * slab_bytes + t.width * bytes_more;
#pragma unroll 1
    for (int slab = 0; slab < p.gemm.slabs; ++slab) {
        const uint32_t full = memory.full(at.stage);
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(full, bytes);
        tensor_load(memory.a(at.stage), &maps.weights, slab * c::bk, weight, full);
        tensor_load(memory.b(at.stage), rows, slab * c::bk, t.row, full);
        more(slab, memory.a(at.stage), full);
        at.advance(p.gemm.stages);
    }
}

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
    teller.tell({0, 0, 0, 0}, [](int) {});
    teller.tell({0, 0, 0, -1}, [](int) {});
}

// A consumer warpgroup's way through its tiles, every other one of the block's (seam.cuh,
// ping-pong: it stores one while the other warpgroup multiplies the next).
template <class c> struct groups_consumer {
    const grouped_params &p;
    const CUtensorMap &unused;
    tile_ring &ring;
    const uint32_t shared;
    const int group, warp;
    ring_position at = {}, slot = {};

    // Of the tile in `slot`, which is then free.
    template <int width> DEVICE void store(float (&acc)[c::mi][width / 2])
    {
        using stager = ::stager<typename c::output, c::mi, width, c::ring, true>;
        const block_memory<c> memory(shared, p.gemm.stages);
        const placed_tile t = ring.tiles[slot.stage];
        __syncwarp();
        if (elect())
            barrier_arrive(shared_address(&ring.empty[slot.stage]));
        const int column = t.column + warp % 4 * 16;
        output_target target = p.gemm.out;
        target.n = t.end;
        stager out = {unused, unused, memory.staging(warp), target};
        if (target.direct)
            stager::store_elements(acc, 1.0f, target, column, t.row);
        else
            out.put_all_sums(acc, 1.0f, column, t.row);
    }

    template <int width> DEVICE void sum()
    {
        using part = narrowed<c, width>;
        const block_memory<part> memory(shared, p.gemm.stages);
        consumer<part> self = {p.gemm, memory, 0, 0, 0, 0, at};
        float acc[c::mi][width / 2];
        self.clear(acc); // else the sums of all widths are kept in registers side by side
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
            named_barrier_arrive(1, 256); // the first turn is warpgroup 0's
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

// Sets up the barriers and lays down where groups' tiles begin; all wait for it. reads: arrivals
// that free a stage; warps: that read a tile's slot.
template <class c>
DEVICE void begin_groups(const grouped_maps &maps, const grouped_params &p,
                         const block_memory<c> &memory, tile_ring &ring, int32_t *starts, int reads,
                         int warps)
{
    const int i = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        lay_groups(starts, p);
    } else if (threadIdx.x < 64 && i < p.gemm.stages) {
        barrier_init(memory.full(i), 1);
        barrier_init(memory.empty(i), reads);
        barrier_init_fence();
    } else if (threadIdx.x >= 64 && threadIdx.x < 64 + tile_slots) {
        barrier_init(shared_address(&ring.full[i]), 1);
        barrier_init(shared_address(&ring.empty[i]), warps);
        barrier_init_fence();
    } else if (threadIdx.x == 96) {
        tensor_prefetch(&maps.weights);
    }
    __syncthreads();
}

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
    begin_groups(maps, p, memory, ring, starts, 1, 4); // the warpgroup's whose turn it is
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

constexpr int groups_most = 2048; // whose beginnings fit in shared memory beside the ring

template <class c> constexpr int grouped_bytes(int stages, int groups)
{
    return c::smem_bytes(stages) + (int)sizeof(tile_ring) + (groups + 1) * (int)sizeof(int32_t);
}

template <class c> int supports_groups(const plumb_form *f)
{
    const plumb_problem &p = f->problem;
    const int64_t limit = INT32_MAX / 2;
    return f->grouping != PLUMB_NO_GROUPS && f->groups <= groups_most && f->number_count == 0 &&
           f->scale_vector == 0 && f->alpha == 1 && f->beta == 0 && f->lda == p.k &&
           f->ldb == p.k && f->ldc == p.n && p.in_type == c::type::dtype &&
           p.out_type == c::output::dtype && p.layout == PLUMB_TN && p.batch == 1 &&
           p.epilogue == PLUMB_NO_EPILOGUE && p.n < limit && p.k < limit && f->rows < limit &&
           f->groups * p.n < limit && p.k * c::type::bytes % 16 == 0 &&
           (f->rows / c::bn + f->groups) * ceil_div(p.n, c::bm) < limit;
}

static inline size_t grouped_workspace(const plumb_form *)
{
    return sizeof(int);
}

template <class c>
static cudaError_t make_grouped_maps(grouped_maps *maps, const plumb_form_args *args)
{
    const plumb_problem &p = args->form.problem;
    const int64_t pitch = p.k * c::type::bytes;
    const matrix weights = {args->args.b, args->form.groups * p.n, p.k, pitch, c::type::map};
    const matrix rows = {args->args.a, args->form.rows, p.k, pitch, c::type::map};
    cudaError_t error = make_tensor_map(&maps->weights, weights, c::bm, c::box_k, true);
    for (int i = 0; !error && i < c::n / group_step; ++i)
        error = make_tensor_map(&maps->rows[i], rows, (i + 1) * group_step, c::box_k, true);
    return error;
}

template <class c>
grouped_params make_grouped_params(const plumb_form_args *args, int stages, int band)
{
    const plumb_form &f = args->form;
    const plumb_problem &problem = f.problem;
    grouped_params p = {};
    p.gemm.out = {args->args.c, (int)problem.n, (int)f.rows,
                  problem.n * sizeof(typename c::output::type) % 16 != 0};
    p.gemm.slabs = ceil_div(problem.k, c::bk);
    p.gemm.stages = stages;
    p.grid = {f.groups, ceil_div(problem.n, c::bm), c::bn, group_step, band};
    p.first = args->group_first;
    p.rows = args->group_rows;
    p.n = (int)problem.n;
    p.turns = p.gemm.slabs / stages;
    p.rest = p.gemm.slabs % stages;
    p.taken = static_cast<int *>(args->args.workspace);
    return p;
}

template <class c>
int launch_grouped(const plumb_form_args *args, void *stream, int stages, int band)
{
    grouped_maps maps = {};
    if (make_grouped_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const grouped_params p = make_grouped_params<c>(args, stages, band);
    cluster_launch launch(c::threads, 1, grouped_bytes<c>(stages, args->form.groups), stream);
    static const int resident = resident_clusters<c>(grouped_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3(resident);
    const cudaError_t error = cudaMemsetAsync(p.taken, 0, sizeof(*p.taken), launch.config.stream);
    return error ? error : cudaLaunchKernelEx(&launch.config, grouped_gemm<c>, maps, p);
}

#endif
