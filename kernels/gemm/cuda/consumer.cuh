// SPDX-License-Identifier: Apache-2.0
//
// The consumer's main loop: wait for a slab, start its matrix instructions, hand back the slab
// before. One group of instructions is always in flight.
#ifndef PLUMB_CONSUMER_CUH
#define PLUMB_CONSUMER_CUH

#include "scales.cuh"
#include "wgmma.cuh"

// Tells every block whose loads this warpgroup has read that the stage is free. One lane each, of
// every warp where its lanes have read scales.
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

// The matrix instructions along one slab, four per box, for each 64 rows.
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

// A consumer warpgroup's view of its block: where it reads, whom it tells.
template <class c> struct consumer {
    using factors = std::conditional_t<c::scaled, slab_factors<c>, no_factors>;
    const gemm_params &p;
    const block_memory<c> &memory;
    const int rank_m, rank_n;
    const uint32_t offset_a, offset_b; // this warpgroup's part of a stage
    ring_position at;
    int previous = 0; // stage of the slab before
    int edge = 0;     // of block scales: columns of the tile before B's second

    // The tile's columns begin here.
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

    // Those of the slab before have ended; its stage is free.
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

    // Keeps the compiler from moving accesses to sums over this point.
    static DEVICE void pin_all(float (&acc)[c::mi][c::n / 2])
    {
#pragma unroll
        for (int block = 0; block < c::mi; ++block)
            pin(acc[block]);
    }

    // Sums all slabs of a tile into acc. meanwhile(slab) runs after each slab's instructions were
    // started, at_end() after the last one's, before they have ended.
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

    // (Choosing between part and acc + part for the first slab, instead of zeroing acc, costs 20
    // %.)
    DEVICE void add_part(float (&acc)[c::n / 2], float (&part)[c::n / 2])
    {
        pin(part);
#pragma unroll
        for (int j = 0; j < c::n / 2; ++j)
            acc[j] += part[j];
    }

    // The present stage's scales, nothing without block scales.
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

    // The same with each slab summed by the tensor core on its own and added here, in FP32: this
    // warpgroup's additions leave the tensor cores to the other one.
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

    // The same with two partial sums, so that one is added while the other is computed.
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
};

#endif
