// SPDX-License-Identifier: Apache-2.0
//
// The persistent, warp-specialised GEMM of Hopper: C = A * B^T, both operands K-major (layout TN).
//
//   producer warpgroup      one thread fills a ring of `stages` K slabs by TMA, tile after tile. It
//                           does not stop at a tile's end, and gives its registers away.
//   consumer warpgroups     wm x wn warpgroups divide the tile (or, in ping-pong, take turns at
//                           whole tiles). Each keeps the matrix instructions of one slab in flight
//                           while it releases the slab before.
//   cluster of cm x cn      the blocks of a column share B's rows, and those of a row share A's:
//                           each block loads its part of the slab and multicasts it.
//   epilogue                while the next tile's slabs are multiplied, each warp brings 16 rows of
//                           128 bytes at a time into its own small ring in shared memory, and TMA
//                           stores them (epilogue.cuh).
//
// The producer's loop (load_slabs()) is not unrolled, because code that runs for the first time in
// a launch must be fetched from memory.
//
// A stage has two barriers. The full barrier counts the slab's bytes. The empty barrier counts one
// arrival from each consumer warpgroup that reads this block's loads, in any block of the cluster.
#ifndef PLUMB_GEMM_PERSISTENT_PERSISTENT_CUH
#define PLUMB_GEMM_PERSISTENT_PERSISTENT_CUH

#include "../wgmma.cuh"
#include "launch.cuh"

// ---- Block scales of FP8: an FP32 scale for each row and 128 of K of A, and one for each 128 x
// 128 of B (kernel.h, PLUMB_SCALES_COLUMNS). A slab is 128 of K, so its sums are scaled where they
// are promoted: the addition of promoted sums becomes a multiplication and an addition.
//
// The scales of a slab travel with it. The producer's second warp copies them into shared memory,
// and its 32 lanes arrive on the slab's full barrier. If they were read straight from global memory
// they would come late, because each slab's scales are in cache lines of their own. cp.async takes
// scales at any address, so any number of rows is possible (TMA would need a multiple of four).
//
// block_scaled_config<c>: a promoted configuration c with block scales.

constexpr int block_side = 128; // elements along K, and columns

template <class base> struct block_scaled_config : base {
    static constexpr bool scaled = true;
    static constexpr int full_arrivals = 1 + 32;
    static constexpr int releases = 4;                // arrivals: each warp reads scales for itself
    static constexpr int step = base::bn & -base::bn; // every tile begins at a multiple of this
    // The number of blocks of columns that a tile may touch.
    static constexpr int blocks_b =
        step >= block_side ? base::bn / block_side
                           : (block_side - step + base::bn + block_side - 1) / block_side;
    // scales of one slab: first A's, then B's
    static constexpr int scale_bytes = (base::bm + 4) * 4;
    static constexpr bool twofold = base::mi == 1 && 3 * base::n / 2 <= 192;

    static constexpr int smem_bytes(int stages)
    {
        return base::smem_bytes(stages) + stages * scale_bytes;
    }
    static constexpr int most_stages()
    {
        return (base::smem_limit - base::staging_bytes) / (base::stage_bytes + 16 + scale_bytes);
    }
    static_assert(base::promote && !base::swapped && base::wn == 1 && blocks_b <= 4, "scales");
    static_assert(base::box_k == block_side, "a slab is a block");
};

// The places of a product's scales. Those of A are [k][m], those of B [n / 128][k rounded up to 4].
struct scale_source {
    const float *a, *b;
    int rows, blocks_n, pitch_b; // pitch_b: scales from one block of columns to the next

    // p: the parameters as the host made them, with all slabs.
    DEVICE scale_source(const gemm_params &p)
        : a(p.scale_a), b(p.scale_b), rows(p.out.m),
          blocks_n((p.out.n + block_side - 1) / block_side), pitch_b((p.slabs + 3) / 4 * 4)
    {
    }
};

// One warp copies the scales of slab `slab` for the tile at (row, column). Scales outside of the
// matrices keep any value, because they scale results that are not stored.
template <class c>
DEVICE void copy_scales(const scale_source &from, uint32_t to, int row, int column, int slab)
{
    const int lane = threadIdx.x % 32, left = from.rows - row;
    const float *a = from.a + (int64_t)slab * from.rows + row;
    if (from.rows % 4 == 0) {
        for (int i = lane * 4; i < c::bm; i += 128)
            if (i < left)
                copy_async_16(to + i * 4, a + i, true);
    } else {
        for (int i = lane; i < c::bm; i += 32)
            if (i < left)
                copy_async_4(to + i * 4, a + i);
    }
    const int block = column / block_side + lane;
    if (lane < c::blocks_b && block < from.blocks_n)
        copy_async_4(to + (c::bm + lane) * 4, from.b + (int64_t)block * from.pitch_b + slab);
}

// The producer's second warp loads the scales of slabs `first` to end - 1 of a tile, while
// load_slabs() loads the slabs.
template <class c>
DEVICE void load_scales(const scale_source &from, const block_memory<c> &memory, ring_position &at,
                        int stages, int row, int column, int first, int end)
{
#pragma unroll 1
    for (int slab = first; slab < end; ++slab) {
        barrier_wait(memory.empty(at.stage), at.phase ^ 1);
        copy_scales<c>(from, memory.scales(at.stage), row, column, slab);
        barrier_arrive_copied(memory.full(at.stage));
        at.advance(stages);
    }
}

struct no_factors {
};

// A thread's factors for one slab: the scale of each of its rows, times the scale of
// the column's block.
template <class c> struct slab_factors {
    float factor[c::blocks_b][c::mi][2];

    // first_row: first row of the warpgroup in the tile.
    DEVICE void read(const block_memory<c> &memory, int stage, int first_row)
    {
        const uint32_t scales = memory.scales(stage);
        const int row = first_row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
        float b[c::blocks_b];
#pragma unroll
        for (int k = 0; k < c::blocks_b; ++k)
            b[k] = load_shared_float(scales + (c::bm + k) * 4);
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float a = load_shared_float(scales + (row + i * 64 + half * 8) * 4);
#pragma unroll
                for (int k = 0; k < c::blocks_b; ++k)
                    factor[k][i][half] = a * b[k];
            }
    }

    // edge: number of the tile's columns before B's second block begins. It is a
    // multiple of `step`, so all columns of a step have the same factor, and one
    // comparison serves eight columns.
    DEVICE void add(float (&acc)[c::n / 2], const float (&part)[c::n / 2], int i, int edge) const
    {
#pragma unroll
        for (int j = 0; j < c::n / 2; j += 4) {
            float f[2] = {factor[0][i][0], factor[0][i][1]};
#pragma unroll
            for (int k = 1; k < c::blocks_b; ++k)
                if (2 * j / c::step * c::step >= edge + (k - 1) * block_side) {
                    f[0] = factor[k][i][0];
                    f[1] = factor[k][i][1];
                }
#pragma unroll
            for (int l = 0; l < 4; ++l)
                acc[j + l] += f[l / 2] * part[j + l];
        }
    }
};

// ---- The consumer's main loop: wait for a slab, start its matrix instructions, hand back the slab
// before. One group of instructions is always in flight.

// Tells every block whose loads this warpgroup has read that the stage is free. One lane of the
// warpgroup does so; if its warps have read scales, one lane of each warp.
template <class c>
DEVICE void release(const block_memory<c> &memory, int stage, int rank_m, int rank_n)
{
    if constexpr (c::scaled)
        __syncwarp();
    if constexpr (c::cluster == 1) {
        if (threadIdx.x % (128 / c::releases) == 0)
            barrier_arrive(memory.empty(stage));
    } else {
        const int peer = threadIdx.x % (128 / c::releases);
        if (peer < c::cluster && (peer % c::cm == rank_m || peer / c::cm == rank_n))
            barrier_arrive_remote(memory.empty(stage), peer);
    }
}

// Starts the matrix instructions of one slab: four per box, for each 64 rows.
template <class c>
DEVICE void multiply_slab(float (&acc)[c::mi][c::n / 2], uint32_t a, uint32_t b, bool accumulate)
{
#pragma unroll
    for (int step = 0; step < 4 * c::boxes; ++step) {
        const uint32_t a_bytes = step / 4 * c::a_box + step % 4 * 32;
        const uint32_t b_bytes = step / 4 * c::b_box + step % 4 * 32;
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
            wgmma<typename c::type, c::n>::multiply(
                acc[i], operand_descriptor(a, a_bytes + c::a_block(i)),
                operand_descriptor(b, b_bytes), accumulate || step > 0);
    }
}

// The state of a consumer warpgroup: the stages that it reads, and the blocks that it tells.
template <class c> struct consumer {
    using factors = std::conditional_t<c::scaled, slab_factors<c>, no_factors>;
    const gemm_params &p;
    const block_memory<c> &memory;
    const int rank_m, rank_n;
    const uint32_t offset_a, offset_b; // this warpgroup's part of a stage
    ring_position at;
    int previous = 0; // stage of the slab before
    int edge = 0;     // with block scales: number of the tile's columns before B's second block

    // Sets the first column of the tile.
    DEVICE void place(int column)
    {
        edge = block_side - column % block_side;
    }

    // Starts the next slab's instructions.
    DEVICE void start_next(float (&acc)[c::mi][c::n / 2], bool accumulate)
    {
        barrier_wait(memory.full(at.stage), at.phase);
        wgmma_fence();
        constexpr uint32_t stage_step = c::stage_bytes / 16;
        multiply_slab<c>(acc, operand_start(memory.a(0) + offset_a) + at.stage * stage_step,
                         operand_start(memory.b(0) + offset_b) + at.stage * stage_step, accumulate);
        wgmma_commit();
    }

    // Frees the stage of the slab before, whose instructions have ended.
    DEVICE void release_previous()
    {
        release(memory, previous, rank_m, rank_n);
    }

    DEVICE void advance()
    {
        previous = at.stage;
        at.advance(p.stages);
    }

    DEVICE void multiply_next(float (&acc)[c::mi][c::n / 2], int slab)
    {
        start_next(acc, slab > 0);
        wgmma_wait<1>();
        if (slab > 0)
            release_previous();
        advance();
    }

    // Keeps the compiler from moving accesses to sums across this point.
    static DEVICE void pin_all(float (&acc)[c::mi][c::n / 2])
    {
#pragma unroll
        for (int block = 0; block < c::mi; ++block)
            pin(acc[block]);
    }

    // Sums all slabs of a tile into acc. meanwhile(slab) runs after each slab's instructions were
    // started; at_end() runs after the last slab's, before they have ended.
    template <class work, class last>
    DEVICE void accumulate(float (&acc)[c::mi][c::n / 2], work meanwhile, last at_end)
    {
        pin_all(acc);
#pragma unroll 1
        for (int slab = 0; slab < p.slabs; ++slab) {
            multiply_next(acc, slab);
            meanwhile(slab);
        }
        at_end();
        wgmma_wait<0>();
        pin_all(acc);
        release_previous();
    }

    template <class work> DEVICE void accumulate(float (&acc)[c::mi][c::n / 2], work meanwhile)
    {
        accumulate(acc, meanwhile, [] {});
    }

    // Starts part = the sum over the next slab of rows block * 64 and on, and does not wait for it.
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

    DEVICE void add_part(float (&acc)[c::n / 2], float (&part)[c::n / 2])
    {
        pin(part);
#pragma unroll
        for (int j = 0; j < c::n / 2; ++j)
            acc[j] += part[j];
    }

    // Reads the present stage's scales; does nothing without block scales.
    DEVICE factors read_factors() const
    {
        factors f;
        if constexpr (c::scaled)
            f.read(memory, at.stage, offset_a / slab_bytes);
        return f;
    }

    DEVICE void add_scaled(float (&acc)[c::n / 2], float (&part)[c::n / 2], int i, const factors &f)
    {
        if constexpr (c::scaled) {
            pin(part);
            f.add(acc, part, i, edge);
        } else {
            add_part(acc, part);
        }
    }

    DEVICE void clear(float (&acc)[c::mi][c::n / 2])
    {
#pragma unroll
        for (int i = 0; i < c::mi; ++i)
#pragma unroll
            for (int j = 0; j < c::n / 2; ++j)
                acc[i][j] = 0;
    }

    // Sums all slabs of a tile. The tensor core sums each slab on its own, and this code adds the
    // slab's sums in FP32. While this warpgroup adds, the tensor cores work for the other one.
    DEVICE void accumulate_promoted(float (&acc)[c::mi][c::n / 2])
    {
        float part[c::n / 2];
        clear(acc);
#pragma unroll 1
        for (int slab = 0; slab < p.slabs; ++slab) {
            barrier_wait(memory.full(at.stage), at.phase);
            factors f;
#pragma unroll
            for (int i = 0; i < c::mi; ++i) {
                start_part(part, i);
                if (i == 0)
                    f = read_factors();
                wgmma_wait<0>();
                if (i == c::mi - 1)
                    release(memory, at.stage, rank_m, rank_n);
                add_scaled(acc[i], part, i, f);
            }
            at.advance(p.stages);
        }
    }

    // Does the same with two partial sums, so that one is added while the other is computed.
    DEVICE void accumulate_promoted_twofold(float (&acc)[c::mi][c::n / 2])
    {
        clear(acc);
        float even[c::n / 2], odd[c::n / 2];
        factors even_factors, odd_factors;
        const auto begin = [&](float(&part)[c::n / 2], factors &f) {
            barrier_wait(memory.full(at.stage), at.phase);
            start_part(part, 0);
            f = read_factors();
        };
        const auto end = [&](float(&part)[c::n / 2], const factors &f) {
            release(memory, previous, rank_m, rank_n);
            add_scaled(acc[0], part, 0, f);
        };
        const auto turn = [&] {
            previous = at.stage;
            at.advance(p.stages);
        };
        begin(even, even_factors);
        turn();
        int slab = 1;
#pragma unroll 1
        for (; slab + 1 < p.slabs; slab += 2) {
            begin(odd, odd_factors);
            wgmma_wait<1>();
            end(even, even_factors);
            turn();
            begin(even, even_factors);
            wgmma_wait<1>();
            end(odd, odd_factors);
            turn();
        }
        if (slab < p.slabs) {
            begin(odd, odd_factors);
            wgmma_wait<1>();
            end(even, even_factors);
            turn();
            wgmma_wait<0>();
            end(odd, odd_factors);
        } else {
            wgmma_wait<0>();
            end(even, even_factors);
        }
    }

    // Sums all slabs of a tile in the way that its configuration names.
    DEVICE void accumulate(float (&acc)[c::mi][c::n / 2])
    {
        if constexpr (c::twofold)
            accumulate_promoted_twofold(acc);
        else if constexpr (c::promote)
            accumulate_promoted(acc);
        else
            accumulate(acc, [](int) {});
    }
};

// The part of its block's tile that a consumer warp has, if warpgroups share a tile.
template <class c> struct tile_part {
    const int warp = (int)uniform(threadIdx.x / 32) - 4, group = warp / 4;
    const int m = group % c::wm, n = group / c::wm;

    // Offset of the warp's rows in a stage.
    DEVICE uint32_t offset_a() const
    {
        return m * (c::c_mi * 64u * slab_bytes);
    }
    DEVICE uint32_t offset_b() const
    {
        return n * (uint32_t)(c::n * slab_bytes);
    }
    // First row of the warp's part of C, for the tile in this row and column of tiles.
    DEVICE int row(int tile_row) const
    {
        return tile_row * c::c_rows + m * (c::c_mi * 64) + warp % 4 * 16;
    }
    DEVICE int column(int tile_column) const
    {
        return tile_column * c::c_columns + n * c::c_n;
    }
};

// ---- The transition between two tiles. A tile's sums must be converted and stored before its
// accumulators take the next tile's sums. What the tensor cores do meanwhile decides what a tile
// costs beside its slabs (1024 cycles each at 128 x 256). There are three ways, and the registers
// decide which is possible. The numbers are cycles per tile and wave, in FP8 and BF16 on an H200,
// after cuBLASLt's own times and a launch of 12,000 cycles were taken off:
//
//   take_turns     ping-pong: one warpgroup stores its tile while the other multiplies its own.
//                  300 to 400 (by stamps in FP8 the change from one to the other takes 110). Tiles
//                  of 128 x 176 fit, because the sums are stored without a copy.
//   alternate      two sets of accumulators: one is stored while the other takes the next tile.
//                  425 and 100 at 128 x 192.
//   hold_results   the converted results wait in other registers, in half of the room. They are
//                  stored under the next tile's slabs, but converted while the tensor cores wait.
//                  1,250 and 1,050.
// NOTES.md says what else was tried here.

// A warp's way to C, and the place of its part of the present tile.
template <class c> struct output_of {
    using sums = float[c::mi][c::n / 2];
    const gemm_params &p;
    typename c::stager out;
    const float scale;
    const int rank_m, rank_n, part_m, part_n, warp;
    int row = 0, column = 0;

    DEVICE void move(int index)
    {
        const tile t = tile_at(index, p.grid);
        row = (t.row * c::cm + rank_m) * c::c_rows + part_m * (c::c_mi * 64) + warp % 4 * 16;
        column = (t.column * c::cn + rank_n) * c::c_columns + part_n * c::c_n;
    }

    DEVICE void store_elements_of(const sums &acc) const
    {
        c::stager::store_elements(acc, scale, p.out, row, column);
    }

    DEVICE void store(const sums &acc)
    {
        if (p.out.direct)
            store_elements_of(acc);
        else
            out.put_all_sums(acc, scale, row, column);
    }
};

// A block with one tile only has code of its own. Code that runs for the first time in a launch is
// fetched from memory, and in the loops below it is spread over a longer way (1,200 to 2,300
// cycles of 22,000).
template <class c> DEVICE void only_tile(consumer<c> &self, output_of<c> &out, int index)
{
    float acc[c::mi][c::n / 2];
    self.accumulate(
        acc, [](int) {}, [&] { out.move(index); });
    out.store(acc);
}

// ---- ping-pong ----

// A turn ends when its last slab was started, not when that slab is finished.
template <class c>
DEVICE void take_turns(consumer<c> &self, output_of<c> &out, int group, int first, int step)
{
    const int slabs = self.p.slabs, tiles = self.p.grid.tiles;
    float acc[c::mi][c::n / 2];
    const int turns = slabs / self.p.stages, rest = slabs % self.p.stages;
    if (group == 1)
        self.at.skip(rest, turns, self.p.stages);
    if (group == 1)
        named_barrier_arrive(1, 256); // warpgroup 0 has the first turn
#pragma unroll 1
    for (int index = first + group * step; index < tiles; index += 2 * step) {
        named_barrier(1 + group, 256);
        self.accumulate(
            acc, [](int) {},
            [&] {
                if (index + step < tiles)
                    named_barrier_arrive(2 - group, 256);
                out.move(index);
            });
        self.at.skip(rest, turns, self.p.stages);
        out.store(acc);
    }
}

// ---- two sets of accumulators ----

// Sums one tile into acc. The sums of the tile before, in `other`, are complete when the
// first slab was started, and are stored piece by piece under the next slabs. (first: there
// is no tile before.)
template <class c>
DEVICE void alternate_tile(consumer<c> &self, output_of<c> &out, float (&acc)[c::mi][c::n / 2],
                           float (&other)[c::mi][c::n / 2], bool first)
{
    int next = first ? c::stager::count : 0;
    const auto store_next = [&] {
        if (next < c::stager::count)
            out.out.put_one_sums(other, out.scale, out.row, out.column, next++);
    };
    self.pin_all(acc);
    self.start_next(acc, false);
    wgmma_wait<1>();
    self.pin_all(other);
    if (!first) {
        self.release_previous();
        if (self.p.out.direct) {
            out.store_elements_of(other);
            next = c::stager::count;
        }
    }
    self.advance();
    store_next();
#pragma unroll 1
    for (int slab = 1; slab < self.p.slabs; ++slab) {
        self.multiply_next(acc, slab);
        store_next();
    }
#pragma unroll 1
    while (next < c::stager::count) // there were fewer slabs than pieces
        store_next();
}

// Registers cannot be indexed, so the loop's body handles two tiles, one for each set.
template <class c> DEVICE void alternate(consumer<c> &self, output_of<c> &out, int first, int step)
{
    float even[c::mi][c::n / 2], odd[c::mi][c::n / 2];
    const auto finish = [&](float(&acc)[c::mi][c::n / 2]) {
        wgmma_wait<0>();
        self.pin_all(acc);
        if constexpr (c::cluster > 1) // their producers wait for it
            self.release_previous();
        out.store(acc);
    };
    alternate_tile(self, out, even, odd, true);
#pragma unroll 1
    for (int index = first;;) {
        out.move(index);
        index += step;
        if (index >= self.p.grid.tiles)
            return finish(even);
        alternate_tile(self, out, odd, even, false);
        out.move(index);
        index += step;
        if (index >= self.p.grid.tiles)
            return finish(odd);
        alternate_tile(self, out, even, odd, false);
    }
}

// ---- results held in registers, or stored at once ----

template <class c>
DEVICE void hold_results(consumer<c> &self, output_of<c> &out, int first, int step)
{
    const int tiles = self.p.grid.tiles;
    float acc[c::mi][c::n / 2];
    typename c::stager::words held; // the results of one tile
    int next = c::stager::count;    // the first piece of them that is still to be stored
    const auto store_next = [&](int) {
        if (next < c::stager::count)
            out.out.put_one(held, out.row, out.column, next++);
    };
    int index = first;
    const auto end = [&] {
#pragma unroll 1
        while (next < c::stager::count) // there were fewer slabs than pieces
            store_next(0);
        out.move(index);
    };
#pragma unroll 1
    for (; index < tiles; index += step) {
        if constexpr (c::promote)
            out.move(index);
        if constexpr (c::scaled)
            self.place(out.column);
        if constexpr (c::twofold)
            self.accumulate_promoted_twofold(acc);
        else if constexpr (c::promote)
            self.accumulate_promoted(acc);
        else if constexpr (c::overlap)
            self.accumulate(acc, store_next, end);
        else
            self.accumulate(
                acc, [](int) {}, end);
        if (self.p.out.direct) {
            out.store_elements_of(acc);
            continue;
        }
        c::stager::hold(held, acc, out.scale);
        if (c::overlap && index + step < tiles)
            next = 0;
        else
            out.out.put_all(held, out.row, out.column);
    }
}

// The first threads of a block set up its barriers, each those of one stage.
template <class c> DEVICE void set_barriers(const block_memory<c> &memory, int stages)
{
    if (threadIdx.x < stages) { // at most 32 threads: the producer's warp
        barrier_init(memory.full(threadIdx.x), c::full_arrivals);
        barrier_init(memory.empty(threadIdx.x),
                     (c::pingpong ? 1 : c::consumers) * (c::cm + c::cn - 1) * c::releases);
        barrier_init_fence();
    }
}

// One thread loads `count` slabs, at most as many as there are stages. All stages are free.
template <class c>
DEVICE void load_free(const tile_loads<c> &loads, const gemm_maps &maps,
                      const block_memory<c> &memory, int count)
{
#pragma unroll 1
    for (int slab = 0; slab < count; ++slab) {
        barrier_arrive_expect(memory.full(slab), loads.bytes);
        loads.load_a(maps, memory.a(slab), slab, memory.full(slab));
        loads.load_b(maps, memory.b(slab), slab, memory.full(slab));
    }
}

// Loads the first slabs of the first tile.
template <class c>
DEVICE void load_first(const gemm_maps &maps, const gemm_params &p, const block_memory<c> &memory,
                       int first, int count)
{
    const tile_loads<c> loads(p, tile_at(first, p.grid), 0, 0);
    wait_for_launch_before();
    load_free(loads, maps, memory, count);
}

// Waits until no peer in the cluster can arrive on this block's barriers any more: until all its
// stages are free. Nothing more comes into them then, because its own consumers have read
// everything that was sent. A barrier of the whole cluster would take longer in every launch.
template <class c>
DEVICE void wait_for_peers(const block_memory<c> &memory, ring_position at, int stages)
{
    if constexpr (c::cluster > 1)
#pragma unroll 1
        for (int stage = 0; stage < stages; ++stage) {
            barrier_wait(memory.empty(at.stage), at.phase ^ 1);
            at.advance(stages);
        }
}

// One thread loads all slabs of all tiles. The first `loaded` slabs of the first tile are on
// their way already.
template <class c>
DEVICE void produce(const gemm_maps &maps, const gemm_params &p, const block_memory<c> &memory,
                    int rank_m, int rank_n, int first, int step, int loaded)
{
    ring_position at;
    if (loaded == p.stages)
        at.phase = 1;
    else
        at.stage = loaded;
    for (int index = first; index < p.grid.tiles; index += step) {
        const tile_loads<c> loads(p, tile_at(index, p.grid), rank_m, rank_n);
        load_slabs(loads, maps, memory, at, p.stages, loaded, p.slabs);
        loaded = 0;
    }
    let_next_launch_begin();
    wait_for_peers(memory, at, p.stages);
}

// The product of the tensors' scales in FP8; 1 for other types, for which the compiler
// drops the multiplication.
template <class c> DEVICE float output_scale(const gemm_params &p)
{
    if constexpr (c::type::dtype == PLUMB_E4M3 && !c::scaled)
        return (p.scale_a ? *p.scale_a : 1.0f) * (p.scale_b ? *p.scale_b : 1.0f);
    return 1;
}

// One warp copies the scales of all slabs of all tiles.
template <class c>
DEVICE void produce_scales(const gemm_params &p, const block_memory<c> &memory, int rank_m,
                           int rank_n, int first, int step)
{
    ring_position at;
    for (int index = first; index < p.grid.tiles; index += step) {
        const tile t = tile_at(index, p.grid);
        load_scales<c>(p, memory, at, p.stages, (t.row * c::cm + rank_m) * c::bm,
                       (t.column * c::cn + rank_n) * c::bn, 0, p.slabs);
    }
    copy_async_wait_all();
}

template <class c>
DEVICE void consume(const CUtensorMap &map_c, const CUtensorMap &map_tail, const gemm_params &p,
                    const block_memory<c> &memory, int rank_m, int rank_n, int first, int step)
{
    const int warp = (int)uniform(threadIdx.x / 32) - 4;
    const int group = warp / 4; // number of the consumer warpgroup
    const int part_m = c::pingpong || c::wm == 1 ? 0 : group % c::wm;
    const int part_n = c::pingpong || c::wn == 1 ? 0 : group / c::wm;
    consumer<c> self = {p,
                        memory,
                        rank_m,
                        rank_n,
                        part_m * (c::c_mi * 64u * slab_bytes),
                        part_n * (uint32_t)(c::n * slab_bytes)};
    output_of<c> out = {p,
                        {map_c, map_tail, memory.staging(warp), p.out},
                        output_scale<c>(p),
                        rank_m,
                        rank_n,
                        part_m,
                        part_n,
                        warp};
    if constexpr (c::pingpong)
        take_turns<c>(self, out, group, first, step);
    else if (c::cooperative && first + step >= p.grid.tiles)
        only_tile<c>(self, out, first);
    else if constexpr (c::alternate)
        alternate<c>(self, out, first, step);
    else
        hold_results<c>(self, out, first, step);
    if (elect())
        bulk_wait_read<0>();
}

// Called when the barriers are set up: fetches the tensor maps, and lets the cluster, or the
// block's consumers, go on. Everything before this call may run under the launch before this one.
template <class c> DEVICE void begin_block(const gemm_maps &maps)
{
    if (threadIdx.x == 32) {
        tensor_prefetch(&maps.a);
        tensor_prefetch(&maps.b);
        tensor_prefetch(&maps.c);
    }
    __syncwarp();
    if constexpr (c::cluster > 1) {
        cluster_arrive_relaxed(); // the fence of the barriers orders them
        cluster_wait();
    } else if constexpr (c::scaled)
        __syncthreads();
    else if (threadIdx.x < 32)
        named_barrier_arrive(3, c::threads - 96); // nobody in this warp waits for the others
    else if (threadIdx.x >= 128)
        named_barrier(3, c::threads - 96);
    wait_for_launch_before();
}

template <class c>
__global__ void __launch_bounds__(c::threads, c::blocks)
    persistent_gemm(const __grid_constant__ gemm_maps maps, const __grid_constant__ gemm_params p)
{
    extern __shared__ __align__(1024) uint8_t shared[];
    const block_memory<c> memory(shared_address(shared), p.stages);
    const int rank = c::cluster == 1 ? 0 : (int)cluster_rank();
    const int rank_m = rank % c::cm, rank_n = rank / c::cm;
    const int first = blockIdx.x / c::cluster, step = gridDim.x / c::cluster;

    const int loaded = !c::eager && !c::prompt ? 0 : p.slabs < p.stages ? p.slabs : p.stages;
    set_barriers(memory, p.stages);
    if (c::eager && uniform(threadIdx.x / 32) == 0) {
        __syncwarp();
        if (elect())
            load_first<c>(maps, p, memory, first, loaded);
    }
    begin_block<c>(maps);

    if (threadIdx.x < 128) {
        if (c::prompt && is_producer())
            load_first<c>(maps, p, memory, first, loaded);
        if constexpr (c::reallocate)
            registers_give<c::producer_registers>();
        if constexpr (c::scaled)
            if (threadIdx.x / 32 == 1)
                produce_scales<c>(p, memory, rank_m, rank_n, first, step);
        if (!is_producer())
            return; // the barriers of a cluster do not wait for threads that have left
        produce<c>(maps, p, memory, rank_m, rank_n, first, step, loaded);
    } else {
        if constexpr (c::reallocate)
            registers_take<c::consumer_registers>();
        consume<c>(maps.c, maps.tail, p, memory, rank_m, rank_n, first, step);
    }
}

// ---- host ----

// The number of this kernel's clusters that fit on the device at once; 0 on error. (Functions with
// static variables are static themselves. Shared libraries of one process would share the variable
// of an inline function, and the second library's kernels would never be prepared.)
template <class c, class kernel>
static int resident_clusters(kernel gemm, cudaLaunchConfig_t *launch)
{
    int clusters = 0, device = 0, sms = 0;
    if (cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, c::smem_limit) !=
        cudaSuccess)
        return 0;
    if (c::cluster == 1) {
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
            return 0;
        return sms * c::blocks;
    }
    cudaLaunchConfig_t all = *launch;
    all.gridDim = dim3(c::cluster);
    if (cudaOccupancyMaxActiveClusters(&clusters, gemm, &all) != cudaSuccess)
        return 0;
    return clusters;
}

template <class c> static int launch_gemm(const plumb_args *args, void *stream, const schedule &s)
{
    gemm_maps maps = {};
    if (make_maps<c>(&maps, args) != cudaSuccess)
        return cudaErrorInvalidValue;
    const gemm_params p = make_params<c>(args, s);
    cluster_launch launch(c::threads, c::cluster, c::smem_bytes(s.stages), stream);
    static const int resident = resident_clusters<c>(persistent_gemm<c>, &launch.config);
    if (resident == 0)
        return cudaErrorInvalidConfiguration;
    launch.config.gridDim = dim3((p.grid.tiles < resident ? p.grid.tiles : resident) * c::cluster);
    launch.begin_early();
    return cudaLaunchKernelEx(&launch.config, persistent_gemm<c>, maps, p);
}

// Turns a launcher that takes any schedule into the ABI's launch() with one schedule.
template <auto launcher, int stages, int raster, int group>
int launch_scheduled(const plumb_args *args, void *stream)
{
    return launcher(args, stream, {raster, group, stages});
}

// States how many blocks an SM holds, and the most registers that this leaves to a thread.
template <class c> constexpr void set_resident(plumb_traits *t, int blocks)
{
    t->blocks_per_sm = blocks;
    t->registers = c::registers_beside(blocks) > 255 ? 255 : c::registers_beside(blocks);
}

template <class c> constexpr plumb_traits persistent_traits(int stages, int raster, int group)
{
    plumb_traits t = {};
    t.in_type = c::type::dtype;
    t.out_type = c::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.tile_m = c::c_rows;
    t.tile_n = c::c_columns;
    t.tile_k = c::bk;
    t.stages = stages;
    t.cluster_m = c::cm;
    t.cluster_n = c::cn;
    t.threads = c::threads;
    t.smem_bytes = c::smem_bytes(stages);
    set_resident<c>(&t, c::blocks);
    t.persistent = 1;
    t.raster = raster;
    t.raster_group = group;
    t.split_k = 1;
    t.overlap = c::pingpong                  ? PLUMB_OVERLAP_PINGPONG
                : c::overlap || c::alternate ? PLUMB_OVERLAP_NEXT_TILE
                                             : PLUMB_OVERLAP_NONE;
    t.promote_k = c::promote ? c::bk : 0;
    t.multiply = PLUMB_WGMMA;
    if (c::swapped) { // traits are in C's own rows and columns
        t.tile_m = c::c_columns;
        t.tile_n = c::c_rows;
        t.cluster_m = c::cn;
        t.cluster_n = c::cm;
        t.raster = raster == PLUMB_RASTER_M   ? PLUMB_RASTER_N
                   : raster == PLUMB_RASTER_N ? PLUMB_RASTER_M
                                              : raster;
    }
    return t;
}

// In a cluster of 2 x 2, a block whose rows and columns all lie outside of C would receive
// nothing. It would run ahead of its peers, and arrive a second time before the block across from
// it arrived once.
template <class c> int supports_persistent(const plumb_problem *problem)
{
    const bool turned = c::swapped;
    return supports_tn<typename c::type, c::dual>(problem) &&
           (c::cm == 1 || c::cn == 1 ||
            ceil_div(turned ? problem->n : problem->m, c::c_rows) % c::cm == 0 ||
            ceil_div(turned ? problem->m : problem->n, c::c_columns) % c::cn == 0);
}

// A row of a kernel table.
template <class c, int stages, int raster, int group>
constexpr plumb_kernel persistent_row(const char *name,
                                      const char *summary = "persistent, warp-specialised")
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            summary,
            persistent_traits<c>(stages, raster, group),
            supports_persistent<c>,
            nullptr,
            nullptr,
            launch_scheduled<launch_gemm<c>, stages, raster, group>};
}

#endif
