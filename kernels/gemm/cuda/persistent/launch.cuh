// SPDX-License-Identifier: Apache-2.0
//
// The description of one persistent or split-K kernel: its compile-time configuration, its
// parameters, the layout of its shared memory, and its loads. On the host: the problems that it
// supports, its tensor maps and the values of its parameters.
#ifndef PLUMB_GEMM_PERSISTENT_LAUNCH_CUH
#define PLUMB_GEMM_PERSISTENT_LAUNCH_CUH

#include "../element.cuh"
#include "../epilogue.cuh"
#include "../resident.cuh"
#include "../schedule.cuh"
#include "../tensor_map.cuh"

// The settings that are fixed at compile time, by name.
struct tiling {
    int tile_m, tile_n;             // rows and columns of C that a block computes
    int groups_m = 1, groups_n = 1; // consumer warpgroups that divide them
    int cluster_m = 1, cluster_n = 1;
    bool pingpong = false; // the warpgroups take turns at whole tiles and do not share them
    // Adds FP8 sums of 128 of K in FP32. (The tensor core itself keeps about 14 bits of its
    // products' sum, which "fast accumulation" accepts.)
    bool promote = false;
    int blocks_per_sm = 1;
    int pieces = 2;       // pieces of 2 KiB that the epilogue stages per warp
    int boxes = 1;        // boxes of 128 bytes per row that a stage holds
    bool swapped = false; // the kernel's a is B and its b is A (epilogue.cuh)
};

// The same settings as a type, which is the template parameter of the kernels. tiled<> makes it.
// Its parameters are numbers, because its name becomes part of each kernel's name, and so of its
// library's code id.
template <class type_, int bm_, int bn_, int wm_, int wn_, int cm_, int cn_, bool pingpong_,
          bool promote_, int blocks_, int ring_, int boxes_, bool swapped_>
struct config {
    using type = type_;
    using output = typename type::output;
    static constexpr int bm = bm_, bn = bn_, wm = wm_, wn = wn_, cm = cm_, cn = cn_;
    static constexpr bool pingpong = pingpong_, promote = promote_, swapped = swapped_;
    static constexpr int blocks = blocks_, ring = ring_, boxes = boxes_;
    static constexpr bool dual = false;    // B is two matrices (dual/dual.cuh)
    static constexpr bool drained = false; // partial sums go where the
                                           // slabs were (split/cluster.cuh)
    static constexpr bool scaled = false; // has block scales (persistent/persistent.cuh), and then:
    static constexpr int scale_bytes = 0; // bytes of a slab's scales
    static constexpr int full_arrivals = 1; // arrivals that say that a slab is there
    static constexpr int releases = 1;      // arrivals of a warpgroup that say that it was read

    static constexpr int cluster = cm * cn;
    static constexpr int consumers = pingpong ? 2 : wm * wn;
    static constexpr int threads = 128 * (1 + consumers);
    static constexpr int n = bn / wn;       // columns of one matrix instruction
    static constexpr int mi = bm / wm / 64; // matrix instructions along a warpgroup's rows
    // The part of C that a block computes, and a warpgroup's part of it: n columns, mi
    // times 64 rows.
    static constexpr int c_rows = bm, c_columns = bn, c_n = n, c_mi = mi;
    // The place in a stage where a warpgroup's i-th 64 rows of A begin.
    static __host__ __device__ constexpr int a_block(int i)
    {
        return i * 64 * slab_bytes;
    }
    static constexpr int box_k = slab_elements<type>, bk = boxes * box_k;
    static constexpr int a_box = bm * slab_bytes, b_box = bn * slab_bytes;
    static constexpr int a_bytes = boxes * a_box, b_bytes = boxes * b_box;
    static constexpr int stage_bytes = a_bytes + b_bytes;
    static constexpr int warp_staging = swapped ? transposed_bytes<output, n> : ring * piece_bytes;
    static constexpr int staging_bytes = consumers * 4 * warp_staging;

    // There are several ways to store a tile's sums (persistent/persistent.cuh). In ping-pong the
    // other warpgroup multiplies meanwhile. Or a second set of accumulators takes the next tile's
    // sums. Or the results are held in other registers, if there are enough. Otherwise they are
    // stored at once.
    using stager = ::stager<output, mi, n, ring, swapped>;
    static constexpr int words = held_words<output, n>;
    static constexpr bool cooperative = !pingpong && !promote && blocks == 1 && consumers == 2;
    static constexpr bool alternate = cooperative && mi * n <= 192;
    static constexpr bool overlap =
        cooperative && !alternate &&
        mi * (n / 2 + words) <= (sizeof(typename output::type) == 2 && mi == 1 ? 192 : 128);

    // The first warp sets up the block's barriers, and one of its threads asks for the first slabs
    // before the others are told (persistent/persistent.cuh). Isolated, that gains 1 to 3 % of a
    // short launch. With one consumer warpgroup that has its SM to itself it gains nothing, and
    // with swapped operands beside another block it loses 1 %.
    static constexpr bool eager =
        cluster == 1 && !promote &&
        (cooperative || pingpong || (!swapped && (blocks == 2 || boxes == 2)));

    // One warp sets up the barriers, tells the others, and asks for the first slabs at once
    // (persistent/persistent.cuh). A dual GEMM with one consumer warpgroup gains 1 % by that.
    static constexpr bool prompt = false;

    // The 64 Ki registers of an SM are allocated evenly at launch, and then shared out
    // anew by role.
    static constexpr bool reallocate = consumers >= 2;
    static constexpr int registers_beside(int resident)
    {
        return 65536 / (threads * resident) / 8 * 8;
    }
    static constexpr int launch_registers = registers_beside(blocks);
    static constexpr int producer_registers = 40;
    static constexpr int consumer_registers_ =
        (launch_registers * threads / 128 - producer_registers) / consumers / 8 * 8;
    static constexpr int consumer_registers = consumer_registers_ > 240 ? 240 : consumer_registers_;

    // Promotes with two partial sums that take turns.
    static constexpr bool twofold = promote && mi == 1 && 3 * n / 2 <= 216;

    static constexpr int smem_bytes(int stages)
    {
        return stages * stage_bytes + staging_bytes + stages * 16;
    }
    static constexpr int smem_limit = blocks == 1 ? 232448 : 233472 / blocks - 1024;
    static constexpr int most_stages()
    {
        return (smem_limit - staging_bytes) / (stage_bytes + 16);
    }

    static_assert(bm % (64 * wm) == 0 && bn % (8 * wn) == 0 && n <= 256, "tile and warpgroups");
    static_assert(!promote || boxes == 1, "sums of 128 of K");
    static_assert(!pingpong || wm * wn == 1, "ping-pong: each warpgroup has a whole tile");
    static_assert(wn == 1 || n * (int)sizeof(typename output::type) % 128 == 0, "whole pieces");
};

template <class type, tiling t>
using tiled = config<type, t.tile_m, t.tile_n, t.groups_m, t.groups_n, t.cluster_m, t.cluster_n,
                     t.pingpong, t.promote, t.blocks_per_sm, t.pieces, t.boxes, t.swapped>;

struct gemm_params {
    output_target out;
    const float *scale_a, *scale_b; // FP8: scales of whole tensors, or NULL
    int slabs;                      // number of slabs along K
    int stages;
    tile_grid grid;
};

// A role's place in the ring of stages. `phase` is the parity of the present turn around the ring.
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
    // Advances by `turns` whole turns and `count` more stages, fewer than a turn.
    DEVICE void skip(int count, int turns, int stages)
    {
        stage += count;
        phase ^= turns & 1;
        if (stage >= stages) {
            stage -= stages;
            phase ^= 1;
        }
    }
};

// The shared memory of one block: stages, staging of the epilogue, barriers.
template <class c> struct block_memory {
    uint32_t base, fulls, empties;
    int stages;
    DEVICE block_memory(uint32_t address, int stages_)
        : base(uniform(address)), fulls(uniform(address + barriers(stages_))),
          empties(uniform(address + barriers(stages_) + stages_ * 8)), stages(stages_)
    {
    }
    static DEVICE uint32_t barriers(int stages)
    {
        return stages * c::stage_bytes + c::staging_bytes;
    }
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
        return base + stages * c::stage_bytes + warp * c::warp_staging;
    }
    DEVICE uint32_t full(int stage) const
    {
        return fulls + stage * 8;
    }
    DEVICE uint32_t empty(int stage) const
    {
        return empties + stage * 8;
    }
    DEVICE uint32_t scales(int stage) const
    {
        return empties + stages * 8 + stage * c::scale_bytes;
    }
};

// ---- The loads of one slab, and the loop that loads. Rows outside of a matrix take longer to load
// than rows inside (m = 1 took 48 us with boxes of 64 rows, where m = 64 took 35), so they are not
// asked for. A part of a stage at the end of a matrix has a tensor map with a box of its own
// height, and a part that lies wholly outside is not loaded. The stage then keeps old values there;
// the rows of C that are computed from them do not exist.

// Parameters of the kernel. One load of an operand is a box of `part` rows. At the end of the
// matrix, the edge map's box has the rest of the rows, in whole swizzle atoms.
struct gemm_maps {
    CUtensorMap a, b, c, tail, edge_a, edge_b;
};

enum class extent { whole, edge, none };

// The rows of a matrix, divided into the parts of a stage.
struct row_parts {
    int rows, part;
    __host__ __device__ int edge() const
    {
        return (rows % part + 7) / 8 * 8;
    }
    // The rows of the matrix that the part beginning at row `first` holds.
    DEVICE extent extent_at(int first) const
    {
        return first + part <= rows ? extent::whole : first < rows ? extent::edge : extent::none;
    }
    // The number of rows that arrive in `count` parts, beginning at row `first`.
    DEVICE int received(int first, int count) const
    {
        const int left = rows - first;
        return left >= count * part ? count * part : left > 0 ? (left + 7) / 8 * 8 : 0;
    }
};

template <class c> struct tile_loads {
    static_assert(c::cn <= 2, "row_ranks");
    // If A (or B) is two matrices, a stage has the same rows of both, one below the other. If two
    // blocks share them, each loads the rows of one matrix.
    static constexpr int matrices_a = c::dual && c::swapped ? 2 : 1;
    static constexpr int matrices_b = c::dual && !c::swapped ? 2 : 1;
    // matrices that this block loads
    static constexpr int loads_a = matrices_a == 2 && c::cn == 1 ? 2 : 1;
    static constexpr int loads_b = matrices_b == 2 && c::cm == 1 ? 2 : 1;
    static constexpr int part_a = c::bm / (c::cn * loads_a), part_b = c::bn / (c::cm * loads_b);
    static_assert(part_a % 8 == 0 && part_b % 8 == 0, "parts are whole swizzle atoms");
    static_assert(matrices_a * matrices_b == 1 || (c::cm <= 2 && c::cn <= 2), "a matrix each");
    extent extent_a, extent_b; // extents of the parts that this block loads,
    int row, column;           // the first row and column of these parts,
    int next_a, next_b;        // and their distance to the same parts of the second matrix
    const int rank_m, rank_n;  // this block's place in its cluster
    uint32_t bytes;            // that this block receives per slab, from itself and its peers

    DEVICE tile_loads(const gemm_params &p, const tile &t, int rank_m_, int rank_n_)
        : next_a(p.out.m), next_b(p.out.n), rank_m(rank_m_), rank_n(rank_n_)
    {
        const row_parts a = {p.out.m, part_a}, b = {p.out.n, part_b};
        const int first_row = (t.row * c::cm + rank_m) * c::c_rows;
        const int first_column = (t.column * c::cn + rank_n) * c::c_columns;
        const int own_row = matrices_a == 2 ? 0 : rank_n * part_a;
        const int own_column = matrices_b == 2 ? 0 : rank_m * part_b;
        row = first_row + own_row;
        column = first_column + own_column;
        extent_a = a.extent_at(row);
        extent_b = b.extent_at(column);
        bytes = (matrices_a * a.received(first_row, matrices_a == 2 ? 1 : c::cn) +
                 matrices_b * b.received(first_column, matrices_b == 2 ? 1 : c::cm)) *
                (c::boxes * slab_bytes);
        if (matrices_a == 2 && c::cn == 2)
            row += rank_n * next_a;
        if (matrices_b == 2 && c::cm == 2)
            column += rank_m * next_b;
    }

    // Loads this block's part of A's slab to `stage` in shared memory, for itself and for its
    // cluster's blocks of the same row.
    DEVICE void load_a(const gemm_maps &maps, uint32_t stage, int slab, uint32_t full) const
    {
        // bits of the blocks with rank_m = 0
        constexpr int row_ranks = c::cn == 1 ? 1 : 1 | 1 << c::cm;
        if (extent_a != extent::none)
#pragma unroll
            for (int i = 0; i < loads_a * c::boxes; ++i)
                load<(c::cn > 1)>(extent_a == extent::whole ? &maps.a : &maps.edge_a,
                                  stage + i % c::boxes * c::a_box +
                                      (rank_n + i / c::boxes) * part_a * slab_bytes,
                                  slab * c::bk + i % c::boxes * c::box_k,
                                  row + i / c::boxes * next_a, full, row_ranks << rank_m);
    }
    // Loads this block's part of B's slab, for itself and for the blocks of the same column.
    DEVICE void load_b(const gemm_maps &maps, uint32_t stage, int slab, uint32_t full) const
    {
        constexpr int column_ranks = (1 << c::cm) - 1; // bits of the blocks with rank_n = 0
        if (extent_b != extent::none)
#pragma unroll
            for (int i = 0; i < loads_b * c::boxes; ++i)
                load<(c::cm > 1)>(
                    extent_b == extent::whole ? &maps.b : &maps.edge_b,
                    stage + i % c::boxes * c::b_box + (rank_m + i / c::boxes) * part_b * slab_bytes,
                    slab * c::bk + i % c::boxes * c::box_k, column + i / c::boxes * next_b, full,
                    column_ranks << (rank_n * c::cm));
    }

  private:
    template <bool shares>
    static DEVICE void load(const CUtensorMap *map, uint32_t shared, int x, int y, uint32_t full,
                            uint16_t ranks)
    {
        if constexpr (shares)
            tensor_load_multicast(shared, map, x, y, full, ranks);
        else
            tensor_load(shared, map, x, y, full);
    }
};

// Run by one thread: for slabs `first` to end - 1 of a tile, waits for a free stage and loads this
// block's part of both operands.
template <class c>
DEVICE void load_slabs(const tile_loads<c> &loads, const gemm_maps &maps,
                       const block_memory<c> &memory, ring_position &at, int stages, int first,
                       int end)
{
#pragma unroll 1
    for (int slab = first; slab < end; ++slab) {
        const uint32_t full = memory.full(at.stage);
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        barrier_arrive_expect(full, loads.bytes);
        loads.load_a(maps, memory.a(at.stage), slab, full);
        loads.load_b(maps, memory.b(at.stage), slab, full);
        at.advance(stages);
    }
}

inline int ceil_div(int64_t x, int64_t y)
{
    return (int)((x + y - 1) / y);
}

// The number of tiles of C. A configuration with swapped operands gives the same number.
template <class c> int64_t count_tiles(const plumb_problem *problem)
{
    const bool turned = c::swapped;
    return (int64_t)ceil_div(turned ? problem->n : problem->m, c::c_rows) *
           ceil_div(turned ? problem->m : problem->n, c::c_columns);
}

template <class type, int epilogue = 0> int supports_tn(const plumb_problem *problem)
{
    const int64_t limit = INT32_MAX / 2;
    return problem->in_type == type::dtype && problem->out_type == type::output::dtype &&
           problem->layout == PLUMB_TN && problem->batch == 1 && problem->epilogue == epilogue &&
           problem->m > 0 && problem->n > 0 && problem->k > 0 && problem->m < limit &&
           problem->n < limit && problem->k < limit && problem->k * type::bytes % 16 == 0;
}

// Makes the maps of an operand's parts. The operand's rows end at `end`: at the number of C's rows
// for the first operand, of C's columns for the second; of two matrices in one operand, the first's
// rows end there.
inline cudaError_t make_operand_maps(CUtensorMap *whole, CUtensorMap *edge, const matrix &m,
                                     int64_t end, int part, int slab)
{
    const row_parts rows = {(int)end, part};
    cudaError_t error = make_tensor_map(whole, m, part, slab, true);
    if (!error && rows.edge())
        error = make_tensor_map(edge, m, rows.edge(), slab, true);
    return error;
}

// The arguments with the operands as the kernel sees them: exchanged if it computes C^T.
template <class c> plumb_args oriented(const plumb_args *args)
{
    plumb_args o = *args;
    if (c::swapped) {
        o.a = args->b;
        o.b = args->a;
        o.problem.m = args->problem.n;
        o.problem.n = args->problem.m;
    }
    return o;
}

// Makes the maps of A, B and C for the kernel.
template <class c> cudaError_t make_maps(gemm_maps *maps, const plumb_args *given)
{
    const plumb_args turned = oriented<c>(given), *args = &turned;
    using output = typename c::output;
    constexpr int element = sizeof(typename output::type);
    constexpr int piece = 128 / element, tail = c::c_n % piece;
    using loads = tile_loads<c>;
    const plumb_problem &p = args->problem;
    const int64_t pitch = p.k * c::type::bytes;
    const matrix a = {args->a, loads::matrices_a * p.m, p.k, pitch, c::type::map};
    const matrix b = {args->b, loads::matrices_b * p.n, p.k, pitch, c::type::map};
    const matrix out = {args->c, p.m, p.n, p.n * element, output::map};
    cudaError_t error = make_operand_maps(&maps->a, &maps->edge_a, a, p.m, loads::part_a, c::box_k);
    if (!error)
        error = make_operand_maps(&maps->b, &maps->edge_b, b, p.n, loads::part_b, c::box_k);
    if (error || c::swapped || p.n * element % 16) // TMA cannot store these rows of C
        return error;
    if (c::c_n >= piece)
        error = make_tensor_map(&maps->c, out, 16, piece, true);
    if (!error && tail)
        error = make_tensor_map(&maps->tail, out, 16, tail, false);
    return error;
}

template <class c> gemm_params make_params(const plumb_args *args, const schedule &s)
{
    const plumb_problem problem = oriented<c>(args).problem;
    gemm_params p = {};
    p.out.c = args->c;
    p.out.m = (int)problem.m;
    p.out.n = (int)problem.n;
    p.out.direct = args->problem.n * sizeof(typename c::output::type) % 16 != 0;
    p.scale_a = args->scale_a;
    p.scale_b = args->scale_b;
    p.slabs = ceil_div(problem.k, c::bk);
    p.stages = s.stages;
    p.grid = make_grid(ceil_div(problem.m, c::c_rows * c::cm),
                       ceil_div(problem.n, c::c_columns * c::cn), s.raster, s.group);
    return p;
}

#endif
