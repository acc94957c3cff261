// SPDX-License-Identifier: Apache-2.0
//
// The seam between two tiles. A tile's sums must be converted and stored before its accumulators
// take the next tile's; what the tensor cores do meanwhile decides what a tile costs beside its
// slabs (of 1024 cycles for 128 x 256). By what registers allow, with the cycles per tile and wave
// that cuBLASLt's own times and a launch of 12,000 cycles leave in FP8 and BF16 (H200):
//
//   take_turns     ping-pong: one warpgroup stores its tile while the other multiplies its own.
//                  300 to 400 (110 by stamps in FP8, what the change from one to the other takes);
//                  128 x 176 fits, since the sums are stored without a copy.
//   alternate      two sets of accumulators: one is stored while the other takes the next tile.
//                  425 and 100 at 128 x 192.
//   hold_results   the converted results wait in other registers, in half the room: stored under
//                  the next tile's slabs, but converted while the tensor cores wait. 1,250, 1,050.
//
// Tried and rejected: a consumer that stays 0, 1 or 2 slabs behind the other, so that one converts
// while the other multiplies: 0 to 3 % slower, stages are then held longer. The last slab of 64 x
// 256 in two halves of the columns, one converted while the other is multiplied: gained 1 to 5 %
// where it compiled, but ptxas seldom finds registers for a part of the accumulators (C7511).
// Promoted sums with the next tile's first slab started before the last one is added: 77 cycles
// more per slab. A warpgroup whose turn it is starting its second slab only when the other has
// finished its last: the same cycles.
#ifndef PLUMB_SEAM_CUH
#define PLUMB_SEAM_CUH

#include "consumer.cuh"

// A warp's way to C, and where its part of the present tile lies.
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

// A block with one tile only takes a way of its own: code that has not run since the launch is
// fetched from memory, and in the loops below it lies far apart (1,200 to 2,300 cycles of 22,000).
template <class c> DEVICE void only_tile(consumer<c> &self, output_of<c> &out, int index)
{
    float acc[c::mi][c::n / 2];
    self.accumulate(
        acc, [](int) {}, [&] { out.move(index); });
    out.store(acc);
}

// ---- ping-pong ----

// A turn ends when its last slab was started, not when it is finished.
template <class c>
DEVICE void take_turns(consumer<c> &self, output_of<c> &out, int group, int first, int step)
{
    const int slabs = self.p.slabs, tiles = self.p.grid.tiles;
    float acc[c::mi][c::n / 2];
    const int turns = slabs / self.p.stages, rest = slabs % self.p.stages;
    if (group == 1)
        self.at.skip(rest, turns, self.p.stages);
    if (group == 1)
        named_barrier_arrive(1, 256); // the first turn is warpgroup 0's
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

// Sums one tile into acc. Those of the tile before, in `other`, end when the first slab was started
// and are stored piece by piece under the next ones. (first: there is no tile before.)
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
    while (next < c::stager::count) // fewer slabs than pieces
        store_next();
}

// Registers cannot be indexed, so the loop has both tiles in its body.
template <class c> DEVICE void alternate(consumer<c> &self, output_of<c> &out, int first, int step)
{
    float even[c::mi][c::n / 2], odd[c::mi][c::n / 2];
    const auto finish = [&](float(&acc)[c::mi][c::n / 2]) {
        wgmma_wait<0>();
        self.pin_all(acc);
        if constexpr (c::cluster > 1) // whose producers wait for it
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
    typename c::stager::words held; // a tile's results ...
    int next = c::stager::count;    // ... of which these pieces are still to be stored
    const auto store_next = [&](int) {
        if (next < c::stager::count)
            out.out.put_one(held, out.row, out.column, next++);
    };
    int index = first;
    const auto end = [&] {
#pragma unroll 1
        while (next < c::stager::count) // fewer slabs than pieces
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

#endif
