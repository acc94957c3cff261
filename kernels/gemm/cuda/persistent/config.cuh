// SPDX-License-Identifier: Apache-2.0
//
// What describes one persistent or split-K kernel: its compile-time configuration, its parameters,
// and how its shared memory is laid out.
#ifndef PLUMB_GEMM_PERSISTENT_CONFIG_CUH
#define PLUMB_GEMM_PERSISTENT_CONFIG_CUH

#include "../element.cuh"
#include "../epilogue.cuh"
#include "../schedule.cuh"

// What is fixed at compile time, by name.
struct tiling {
    int tile_m, tile_n;             // rows and columns of C that a block computes
    int groups_m = 1, groups_n = 1; // consumer warpgroups that divide them
    int cluster_m = 1, cluster_n = 1;
    bool pingpong = false; // the warpgroups take turns at whole tiles
    // FP8 sums of 128 of K are added in FP32 (the tensor core keeps about 14 bits of its products'
    // sum, which "fast accumulation" accepts).
    bool promote = false;
    int blocks_per_sm = 1;
    int pieces = 2;       // of 2 KiB, staged per warp in the epilogue
    int boxes = 1;        // of 128 bytes per row that a stage holds
    bool swapped = false; // a is B and b is A (epilogue.cuh)
};

// The same as a type: what the kernels are templates of. tiled<> makes it. Its parameters are
// numbers, because its name is part of each kernel's and so of its library's code id.
template <class type_, int bm_, int bn_, int wm_, int wn_, int cm_, int cn_, bool pingpong_,
          bool promote_, int blocks_, int ring_, int boxes_, bool swapped_>
struct config {
    using type = type_;
    using output = typename type::output;
    static constexpr int bm = bm_, bn = bn_, wm = wm_, wn = wn_, cm = cm_, cn = cn_;
    static constexpr bool pingpong = pingpong_, promote = promote_, swapped = swapped_;
    static constexpr int blocks = blocks_, ring = ring_, boxes = boxes_;
    static constexpr bool dual = false;     // B is two matrices (dual/dual.cuh)
    static constexpr bool drained = false;  // sums meet where slabs were (split/cluster.cuh)
    static constexpr bool scaled = false;   // block scales (persistent/persistent.cuh):
    static constexpr int scale_bytes = 0;   // a slab's scales,
    static constexpr int full_arrivals = 1; // how many say that a slab is there,
    static constexpr int releases = 1;      // how many of a warpgroup that it has been read

    static constexpr int cluster = cm * cn;
    static constexpr int consumers = pingpong ? 2 : wm * wn;
    static constexpr int threads = 128 * (1 + consumers);
    static constexpr int n = bn / wn;       // columns of one matrix instruction
    static constexpr int mi = bm / wm / 64; // matrix instructions down a warpgroup's rows
    // The part of C that a block computes, and of that a warpgroup: n columns, mi times 64 rows.
    static constexpr int c_rows = bm, c_columns = bn, c_n = n, c_mi = mi;
    // Where a warpgroup's i-th 64 rows of A lie in a stage.
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

    // What is done with a tile's sums (persistent/persistent.cuh): in ping-pong the other warpgroup
    // multiplies meanwhile; or a second set of accumulators takes the next tile's; or the results
    // are held in other registers, if these are to be had; else they are stored at once.
    using stager = ::stager<output, mi, n, ring, swapped>;
    static constexpr int words = held_words<output, n>;
    static constexpr bool cooperative = !pingpong && !promote && blocks == 1 && consumers == 2;
    static constexpr bool alternate = cooperative && mi * n <= 192;
    static constexpr bool overlap =
        cooperative && !alternate &&
        mi * (n / 2 + words) <= (sizeof(typename output::type) == 2 && mi == 1 ? 192 : 128);

    // One thread sets the block's barriers up and asks for its first slabs before the others are
    // told (persistent/persistent.cuh): 1 to 2.6 % where tiles are few. With narrower tiles, which
    // have more stages, it loses 1 to 3 %, in ping-pong 1 % in FP8.
    static constexpr bool eager = cooperative && cluster == 1 && bn >= 128;

    // One warp sets the barriers up, tells the others and asks for the first slabs at once
    // (persistent/persistent.cuh): what a dual GEMM of one warpgroup gains 1 % by.
    static constexpr bool prompt = false;

    // 64 Ki registers per SM, allocated evenly at launch and shared out anew by role.
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

    // Promoting with two partial sums in turn.
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
    const float *scale_a, *scale_b; // FP8: per-tensor scales, or NULL
    int slabs;                      // along K
    int stages;
    tile_grid grid;
};

// Where a role stands in the ring of stages; `phase` is the parity of the current turn.
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
    // turns whole turns and `count` stages more, fewer than a turn.
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

// Shared memory of one block: stages, staging, barriers.
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

#endif
