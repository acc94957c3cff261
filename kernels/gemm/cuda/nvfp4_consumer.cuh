// SPDX-License-Identifier: Apache-2.0
//
// A configuration of nvfp4_many.cuh, its block's shared memory, and a consumer's main loop: weights
// to registers, decoded there, multiplied by the stage's tokens.
//
// Each thread copies its own weights into shared memory, slabs ahead, and reads them back itself,
// so that this needs no barrier. Loads into registers cannot be as far ahead: a warp has six
// scoreboards, ptxas put the loads of all slabs on one, and who waits for the oldest of these waits
// for the newest too.
#ifndef PLUMB_NVFP4_CONSUMER_CUH
#define PLUMB_NVFP4_CONSUMER_CUH

#include "config.cuh"
#include "nvfp4.cuh"
#include "wgmma_registers.cuh"

// n: tokens of a tile. groups: consumer warpgroups' 64 rows that a block has, teams: so many such
// warpgroups share each of them, slab by slab. words: that a group of instructions multiplies.
// depth: slabs of weights that a thread has room for in shared memory, one of them at work.
template <bool dual_, int groups_, int n_, int split_, int depth_, int words_, int teams_ = 1>
struct many_config {
    static constexpr bool dual = dual_;
    static constexpr int groups = groups_, n = n_, split = split_, depth = depth_, words = words_;
    static constexpr int teams = teams_, consumers = groups * teams;
    static constexpr int threads = 128 * (1 + consumers);
    static constexpr int unit_rows = dual ? 32 : 64;          // of C^T, per warpgroup
    static constexpr int units = nvfp4_tile_rows / unit_rows; // of a tile of scales
    static constexpr int slab = 128;                          // of K
    static constexpr int box_bytes = n * 128, stage_bytes = 2 * box_bytes;
    static constexpr int share = n / split;                   // tokens that a block finishes
    static constexpr int partial_bytes = 128 * share / 2 * 4; // of a warpgroup, from one peer
    // A thread's weights of a slab, 16 bytes and a word of scales of each of two rows; `depth`
    // slabs.
    static constexpr int slot_bytes = 128 * consumers * 2 * (16 + 4);
    static constexpr int most = (227 * 1024 - 1024 - depth * slot_bytes) / stage_bytes;
    static constexpr int wanted = teams == 1 ? 6 : 9;
    // Each is one team's. A barrier tells a turn of the ring from the next by parity alone: who
    // came a turn ahead of a stage's filling, as of another team's it might, would take it for
    // full.
    static constexpr int stages = (most > wanted ? wanted : most) / teams * teams;
    static constexpr int sums_bytes = 128 * n / 2 * 4; // of a warpgroup
    static constexpr int smem_bytes = stages * stage_bytes + depth * slot_bytes + 1024;
    // 64 Ki registers, by role.
    static constexpr int launch_registers = 65536 / threads / 8 * 8, producer_registers = 40;
    static constexpr int consumer_registers_ =
        (launch_registers * (1 + consumers) - producer_registers) / consumers / 8 * 8;
    static constexpr int consumer_registers = consumer_registers_ > 240 ? 240 : consumer_registers_;
    static_assert(groups * (split - 1) * partial_bytes + groups * 4 * share * 16 <=
                      stages * stage_bytes,
                  "room for sums and results");
    static_assert(stages % teams == 0, "a stage is one team's");
    static_assert(stages >= 2 && (teams - 1) * groups * sums_bytes <= stages * stage_bytes,
                  "room for each team's slabs, and for its sums");
    static_assert(n % 32 == 0 && share % 8 == 0, "whole chunks");
};

struct many_params {
    const uint8_t *a, *b, *scales_a, *scales_b;
    nvfp4_output out;
    int k;
    int scale_tiles; // along K
    int slabs;
    int token_tiles;
};

struct many_maps {
    CUtensorMap tokens;
};

// A thread's 16 bytes of a row, and the word of scales that its two are in.
struct packed_chunk {
    uint4 codes;
    uint32_t scales;
};

// Where a thread finds its chunks of a row; of rows outside, what a row inside has.
struct packed_row {
    const uint8_t *codes, *scales;

    DEVICE packed_row(const uint8_t *matrix, const uint8_t *scales_of, int row, int rows, int k,
                      int scale_tiles, int lane)
    {
        const int at = row < rows ? row : rows - 1;
        codes = matrix + (int64_t)at * (k / 2) + lane % 4 * 16;
        scales = scales_of + ((int64_t)(at / 128) * scale_tiles + lane % 4 / 2) * nvfp4_tile_bytes +
                 at % 32 * 16 + at % 128 / 32 * 4;
    }
    DEVICE void request(uint32_t codes_to, uint32_t scales_to, int slab, bool is_there) const
    {
        const int at = is_there ? slab : 0;
        copy_async<16>(codes_to, codes + (int64_t)at * 64, is_there);
        copy_async<4>(scales_to, scales + (int64_t)at * 1024, is_there);
    }
};

// Barriers lie before the stages, which begin at a multiple of 1024 bytes; weights behind them.
template <class c> struct many_memory {
    uint32_t base, fulls;
    DEVICE many_memory(uint32_t address)
        : base(uniform((address + 256 + 1023) & ~1023u)), fulls(uniform(address))
    {
    }
    DEVICE uint32_t stage(int index) const
    {
        return base + index * c::stage_bytes;
    }
    // The calling thread's weights of row `second` in slot `slot`; of its scales likewise.
    DEVICE uint32_t codes(int slot, int second) const
    {
        return base + c::stages * c::stage_bytes + slot * c::slot_bytes +
               (second * 128 * c::consumers + (int)threadIdx.x - 128) * 16;
    }
    DEVICE uint32_t scales(int slot, int second) const
    {
        return base + c::stages * c::stage_bytes + slot * c::slot_bytes + 256 * c::consumers * 16 +
               (second * 128 * c::consumers + (int)threadIdx.x - 128) * 4;
    }
    DEVICE uint32_t full(int index) const
    {
        return fulls + index * 8;
    }
    DEVICE uint32_t empty(int index) const
    {
        return fulls + (c::stages + index) * 8;
    }
};

template <class c> struct many_consumer {
    using sums = float[c::n / 2];
    const many_params &p;
    const many_memory<c> &memory;
    const packed_row rows[2];
    const int lane, end;
    ring_position at;
    int previous = -1; // stage of the slab before

    // Asks for a slab, if there is one.
    DEVICE void request(int slab, int slot) const
    {
        if (slab < end)
#pragma unroll
            for (int second = 0; second < 2; ++second)
                rows[second].request(memory.codes(slot, second), memory.scales(slot, second), slab,
                                     slab * 128 + lane % 4 * 32 < p.k);
        copy_async_commit();
    }

    DEVICE void take(packed_chunk (&out)[2], int slot) const
    {
#pragma unroll
        for (int second = 0; second < 2; ++second) {
            const float4 v = load_shared(memory.codes(slot, second));
            out[second].codes = {__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z),
                                 __float_as_uint(v.w)};
            out[second].scales = __float_as_uint(load_shared_float(memory.scales(slot, second)));
        }
    }

    // Each warp by itself: they wait for their own weights, so one may be behind.
    DEVICE void release()
    {
        if (previous >= 0 && threadIdx.x % 32 == 0)
            barrier_arrive(memory.empty(previous));
    }

    // Starts the products of `words` words of both rows, when those that read `a` before have
    // ended.
    DEVICE void multiply_words(sums &acc, uint32_t (&a)[2 * c::words][4],
                               const packed_chunk (&chunks)[2], int first,
                               const uint32_t (&scales)[2])
    {
        wgmma_wait<1>();
#pragma unroll
        for (int i = 0; i < c::words; ++i) {
            uint32_t pairs[2][4];
#pragma unroll
            for (int second = 0; second < 2; ++second)
                nvfp4_decode(pairs[second], (&chunks[second].codes.x)[first + i], scales[second]);
#pragma unroll
            for (int step = 0; step < 2; ++step) {
                a[2 * i + step][0] = pairs[0][2 * step];
                a[2 * i + step][1] = pairs[1][2 * step];
                a[2 * i + step][2] = pairs[0][2 * step + 1];
                a[2 * i + step][3] = pairs[1][2 * step + 1];
            }
        }
        if (first == c::words) // the last words of the slab before have ended
            release();
        wgmma_fence();
        const uint32_t b = operand_start(memory.stage(0)) + at.stage * (c::stage_bytes / 16) +
                           first / 2 * (c::box_bytes / 16);
#pragma unroll
        for (int step = 0; step < 2 * c::words; ++step)
            wgmma_registers<c::n>::multiply(acc, a[step],
                                            operand_descriptor(b, (first % 2 * 2 + step) * 32), 1);
        wgmma_commit();
    }

    DEVICE void multiply_slab(sums &acc, uint32_t (&even)[2 * c::words][4],
                              uint32_t (&odd)[2 * c::words][4], const packed_chunk (&chunks)[2])
    {
        barrier_wait(memory.full(at.stage), at.phase);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const uint32_t which = nvfp4_scale_at(lane % 2 * 2 + half);
            const uint32_t scales[2] = {nvfp4_scale(chunks[0].scales, which),
                                        nvfp4_scale(chunks[1].scales, which)};
            if constexpr (c::words == 1) {
                multiply_words(acc, even, chunks, 2 * half, scales);
                multiply_words(acc, odd, chunks, 2 * half + 1, scales);
            } else {
                multiply_words(acc, half ? odd : even, chunks, 2 * half, scales);
            }
        }
        previous = at.stage;
        at.skip(c::teams, 0, c::stages);
    }

    // Of a team every so many-th slab, its own first.
    DEVICE void accumulate(sums &acc, int from, int team)
    {
        from += team;
        at.skip(team, 0, c::stages);
        uint32_t even[2 * c::words][4], odd[2 * c::words][4];
#pragma unroll
        for (int i = 0; i < c::depth - 1; ++i)
            request(from + i * c::teams, i);
#pragma unroll
        for (int i = 0; i < c::n / 2; ++i)
            acc[i] = 0;
        pin(acc);
        int slot = 0, free = c::depth - 1; // the latter was read
#pragma unroll 1
        for (int slab = from; slab < end; slab += c::teams) {
            packed_chunk chunks[2];
            copy_async_wait<c::depth - 2>();
            take(chunks, slot);
            request(slab + (c::depth - 1) * c::teams, free);
            multiply_slab(acc, even, odd, chunks);
            free = slot;
            slot = slot + 1 == c::depth ? 0 : slot + 1;
        }
        wgmma_wait<0>();
        pin(acc);
    }
};

#endif
