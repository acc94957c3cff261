// SPDX-License-Identifier: Apache-2.0
//
// Persistent kernels over groups (a mixture of experts): one launch multiplies the rows of A of
// every group by a matrix B of its own. This file is what they share: how blocks take tiles, what
// they load, and the host's side. grouped/bf16_grouped.cu and grouped/e4m3_grouped.cu multiply.
//
// Operands are swapped (epilogue.cuh). B's rows lie along the matrix instruction's 64 rows, and
// the group's rows along its width. The width is chosen for each tile, so a group of 20 rows
// multiplies 32, and one of 300 rows multiplies 160 and 144. So three things differ from tile to
// tile: the instruction's width, the box that is loaded, and the rows that are stored. If a
// configuration says so, groups of many rows are not swapped: their rows lie along the 64, and are
// rounded up to 64.
//
//   start        a warp computes where the tiles of each group begin (grouped/groups.h); all wait
//                for it
//   producer     one thread takes tiles: the first by its block's number, further ones from a
//                counter in the workspace, which a memset before the launch clears. It tells the
//                consumers about each tile, and loads, per slab, rows of the group's B and of A;
//                the rows of A by a tensor map of the tile's own height
//   consumers    two warpgroups
//
// A box may reach into the next group's rows, or beyond the last rows. Results that come from such
// rows are not stored.
#ifndef PLUMB_GEMM_GROUPED_GROUPED_CUH
#define PLUMB_GEMM_GROUPED_GROUPED_CUH

#include "../persistent/persistent.cuh"
#include "groups.h"

constexpr int group_step = 16, group_widths = 256 / group_step;
constexpr int many_step = 64; // step of heights for groups of many rows
constexpr int weight_box = 128;

// Parameters of the kernel.
struct grouped_maps {
    CUtensorMap weights, rows[group_widths]; // the maps of rows are indexed by height, in steps
    CUtensorMap results;                     // 16 rows of C, for tiles of groups of many rows
};

struct grouped_params {
    gemm_params gemm; // out.m: number of columns of C; the grid is not used
    group_grid grid;
    const int32_t *first, *rows; // first row and number of rows of each group
    int n;                       // number of rows of one matrix B
    int turns, rest;             // slabs of a tile, as whole turns of the ring and a rest
    int *taken;                  // counts the tiles that blocks took beyond their first
};

// The same configuration with a narrower instruction. Everything in shared memory stays
// where it is.
template <class base, int width> struct narrowed : base {
    static constexpr int n = width, c_n = width;
};

// Writes to starts[i] where the tiles of group i begin, for all groups. One warp does this; each of
// its lanes has a run of neighbouring groups.
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

// A tile and its place in memory, as the producer tells it to the consumers.
struct alignas(16) placed_tile {
    int row, end; // its rows of A and C; the group's rows end before `end`
    int column;   // first column of C
    int width; // number of rows as multiplied; 0 or -1: there are no more tiles. A warpgroup that
               // reads 0 still passes the turn on to the other
    bool many; // true: a tile of a group of many rows
};

template <class c>
DEVICE placed_tile place_tile(const int32_t *starts, const grouped_params &p, int index,
                              int *weight)
{
    const int group = group_of_tile(starts, p.grid.groups, index);
    const int first = p.first[group], rows = p.rows[group];
    const group_tile t = group_tile_at(&p.grid, group, rows, index - starts[group]);
    const bool many = rows >= p.grid.many_from;
    const int column = t.column * (many ? c::bn : c::bm);
    *weight = group * p.n + column;
    return {first + t.row, first + t.row + t.rows, column, t.width, many};
}

// In shared memory, behind the ring of slabs and its barriers: a ring of tiles.
constexpr int tile_slots = 4;

struct tile_ring {
    placed_tile tiles[tile_slots];
    uint64_t full[tile_slots], empty[tile_slots];
};

// The means by which one thread tells the consumers about tiles.
struct tile_teller {
    tile_ring &ring;
    ring_position slot = {};

    // also(i) writes the other data that belong to slot i.
    template <class work> DEVICE void tell(const placed_tile &t, work also)
    {
        barrier_wait(shared_address(&ring.empty[slot.stage]), slot.phase ^ 1);
        ring.tiles[slot.stage] = t;
        also(slot.stage);
        barrier_arrive(shared_address(&ring.full[slot.stage]));
        slot.advance(tile_slots);
    }
};

// One thread takes tiles: the first by the block's number, the others from the counter. It calls
// each(tile, first row among all matrices B).
template <class c, class work>
DEVICE void take_tiles(const grouped_params &p, const int32_t *starts, work each)
{
    const int tiles = starts[p.grid.groups];
    int index = blockIdx.x;
#pragma unroll 1
    while (index < tiles) {
        int weight;
        const placed_tile t = place_tile<c>(starts, p, index, &weight);
        index = gridDim.x + atomicAdd(p.taken, 1); // asked for here, because the answer takes as
                                                   // long as a slab
        each(t, weight);
    }
}

// Loads all slabs of a tile. Weights go where a swapped tile has them; in a tile of many
// rows the operands change places. more(slab, stage, full) loads the other data of a
// stage, of `bytes_more` bytes.
template <class c, class work>
DEVICE void load_tile(const grouped_maps &maps, const grouped_params &p,
                      const block_memory<c> &memory, ring_position &at, const placed_tile &t,
                      int weight, int bytes_more, work more)
{
    const CUtensorMap *rows = &maps.rows[t.width / group_step - 1];
    const int weights = t.many ? c::bn : c::bm;
    const uint32_t bytes = (weights + t.width) * slab_bytes + bytes_more;
#pragma unroll 1
    for (int slab = 0; slab < p.gemm.slabs; ++slab) {
        const uint32_t full = memory.full(at.stage);
        const uint32_t a = memory.a(at.stage), b = memory.b(at.stage);
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(full, bytes);
        tensor_load(t.many ? b : a, &maps.weights, slab * c::bk, weight, full);
        if (weights > weight_box)
            tensor_load(a + weight_box * slab_bytes, &maps.weights, slab * c::bk,
                        weight + weight_box, full);
        tensor_load(t.many ? a : b, rows, slab * c::bk, t.row, full);
        more(slab, a, full);
        at.advance(p.gemm.stages);
    }
}

// Says that a consumer's warp has read all it needs of a slot, or of a stage.
DEVICE void warp_arrives(uint32_t barrier)
{
    __syncwarp();
    if (elect())
        barrier_arrive(barrier);
}

// A warp stores its sums of a swapped tile, beginning at column `column`.
template <class c, int width>
DEVICE void store_swapped(const float (&acc)[c::mi][width / 2], const grouped_params &p,
                          const CUtensorMap &unused, uint32_t staging, const placed_tile &t,
                          int column)
{
    using stager = ::stager<typename c::output, c::mi, width, c::ring, true>;
    output_target target = p.gemm.out;
    target.n = t.end;
    stager out = {unused, unused, staging, target};
    if (target.direct)
        stager::store_elements(acc, 1.0f, target, column, t.row);
    else
        out.put_all_sums(acc, 1.0f, column, t.row);
}

// Sets up the barriers and computes where the groups' tiles begin; all threads wait for it. reads:
// number of arrivals that free a stage. warps: number of warps that read a tile's slot.
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

// ---- host ----

constexpr int groups_most = 2048; // the beginnings of so many groups fit in shared memory
                                  // beside the ring

// ring: the type of the data in shared memory between the slabs' barriers and these beginnings.
template <class c, class ring> constexpr int grouped_bytes(int stages, int groups)
{
    return c::smem_bytes(stages) + (int)sizeof(ring) + (groups + 1) * (int)sizeof(int32_t);
}

// True for a form with groups, whatever its scales.
template <class c> bool supports_grouping(const plumb_form *f)
{
    const plumb_problem &p = f->problem;
    const int64_t limit = INT32_MAX / 2;
    return f->grouping != PLUMB_NO_GROUPS && f->groups <= groups_most && f->number_count == 0 &&
           f->alpha == 1 && f->beta == 0 && f->lda == p.k && f->ldb == p.k && f->ldc == p.n &&
           p.in_type == c::type::dtype && p.out_type == c::output::dtype && p.layout == PLUMB_TN &&
           p.batch == 1 && p.epilogue == PLUMB_NO_EPILOGUE && p.n < limit && p.k < limit &&
           f->rows < limit && f->groups * p.n < limit && p.k * c::type::bytes % 16 == 0 &&
           (f->rows / c::bn + f->groups) * ceil_div(p.n, c::bn < c::bm ? c::bn : c::bm) < limit;
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
    const int64_t row_bytes = p.n * sizeof(typename c::output::type);
    const matrix results = {args->args.c, args->form.rows, p.n, row_bytes, c::output::map};
    cudaError_t error = make_tensor_map(&maps->weights, weights, weight_box, c::box_k, true);
    for (int i = 0; !error && i < group_widths; ++i)
        error = make_tensor_map(&maps->rows[i], rows, (i + 1) * group_step, c::box_k, true);
    if (!error && row_bytes % 16 == 0)
        error = make_tensor_map(&maps->results, results, 16, 128 / (row_bytes / p.n), true);
    return error;
}

// many_from: groups of at least so many rows run without swapped operands.
template <class c>
grouped_params make_grouped_params(const plumb_form_args *args, int stages, int band, int many_from)
{
    const plumb_form &f = args->form;
    const plumb_problem &problem = f.problem;
    grouped_params p = {};
    p.gemm.out = {args->args.c, (int)problem.n, (int)f.rows,
                  problem.n * sizeof(typename c::output::type) % 16 != 0};
    p.gemm.slabs = ceil_div(problem.k, c::bk);
    p.gemm.stages = stages;
    p.grid = {f.groups,
              {ceil_div(problem.n, c::bm), c::bn, group_step, band},
              {ceil_div(problem.n, c::bn), c::bm, many_step, band},
              many_from};
    p.first = args->group_first;
    p.rows = args->group_rows;
    p.n = (int)problem.n;
    p.turns = p.gemm.slabs / stages;
    p.rest = p.gemm.slabs % stages;
    p.taken = static_cast<int *>(args->args.workspace);
    return p;
}

// taken: the counter of p.
template <class c, class params>
static int launch_groups(void (*kernel)(grouped_maps, params), const grouped_maps &maps,
                         const params &p, int *taken, int bytes, void *stream)
{
    cluster_launch launch(c::threads, 1, bytes, stream);
    static const int resident = resident_clusters<c>(kernel, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3(resident);
    const cudaError_t error = cudaMemsetAsync(taken, 0, sizeof(*taken), launch.config.stream);
    return error ? error : cudaLaunchKernelEx(&launch.config, kernel, maps, p);
}

#endif
