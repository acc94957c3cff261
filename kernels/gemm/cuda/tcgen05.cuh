// SPDX-License-Identifier: Apache-2.0
//
// The PTX instructions of Blackwell (sm_100a) that ptx.cuh has not: tensor memory, and the matrix
// instruction with block scales. `group` is the number of blocks that act together: 1, or a pair,
// whose first block issues for both.
#ifndef PLUMB_TCGEN05_CUH
#define PLUMB_TCGEN05_CUH

#include "blackwell.h"
#include "ptx.cuh"

// ---- tensor memory ----

// One warp of each block of the group; writes the address of the columns, a power of two of them.
template <int group> DEVICE void tensor_allocate(uint32_t shared, int columns)
{
    asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(shared),
                 "r"(columns), "n"(group)
                 : "memory");
}

template <int group> DEVICE void tensor_free(uint32_t address, int columns)
{
    asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "r"(columns), "n"(group)
                 : "memory");
}

DEVICE void tensor_fence_after()
{
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

DEVICE void tensor_fence_before()
{
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}

// 32 rows of 16 bytes to 32 lanes of four columns, in each quarter of the lanes, of each block.
template <int group> DEVICE void tensor_copy_scales(uint32_t to, uint64_t from)
{
    asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(to), "l"(from),
                 "n"(group)
                 : "memory");
}

// This lane's 16 columns; a warp reaches the quarter of the lanes that is its number's.
DEVICE void tensor_read(float (&x)[16], uint32_t from)
{
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, "
                 "%10, %11, %12, %13, %14, %15}, [%16];"
                 : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]), "=f"(x[4]), "=f"(x[5]),
                   "=f"(x[6]), "=f"(x[7]), "=f"(x[8]), "=f"(x[9]), "=f"(x[10]), "=f"(x[11]),
                   "=f"(x[12]), "=f"(x[13]), "=f"(x[14]), "=f"(x[15])
                 : "r"(from));
}

DEVICE void tensor_read_wait()
{
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}

// ---- the matrix instruction ----

// What it should do with A's buffer in front of the tensor cores: drop it, as by default, keep it
// for the next instruction, or take what the one before kept.
enum class collector { drop, keep, take };

#define BLOCK_SCALED_MMA(usage)                                                                    \
    asm volatile("{\n"                                                                             \
                 ".reg .pred p;\n"                                                                 \
                 "setp.ne.b32 p, %6, 0;\n"                                                         \
                 "tcgen05.mma.cta_group::%7.kind::mxf4nvf4.block_scale.block16" usage              \
                 " [%0], %1, %2, %3, [%4], [%5], p;\n"                                             \
                 "}" ::"r"(sums),                                                                  \
                 "l"(a), "l"(b), "r"(instruction), "r"(scales_a), "r"(scales_b), "r"(accumulate),  \
                 "n"(group)                                                                        \
                 : "memory")

// sums (+)= A B^T, 64 of K, by one thread of the group's first block.
template <int group, collector usage>
DEVICE void block_scaled_mma(uint32_t sums, uint64_t a, uint64_t b, uint32_t instruction,
                             uint32_t scales_a, uint32_t scales_b, uint32_t accumulate)
{
    if constexpr (usage == collector::keep)
        BLOCK_SCALED_MMA(".collector::a::fill");
    else if constexpr (usage == collector::take)
        BLOCK_SCALED_MMA(".collector::a::lastuse");
    else
        BLOCK_SCALED_MMA("");
}

#undef BLOCK_SCALED_MMA

// Arrives on the barrier of each block of the group when all that this thread issued has ended.
template <int group> DEVICE void tensor_commit(uint32_t barrier)
{
    if constexpr (group == 1)
        asm volatile(
            "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(
                barrier)
            : "memory");
    else
        asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast"
                     "::cluster.b64 [%0], %1;" ::"r"(barrier),
                     "h"((uint16_t)3)
                     : "memory");
}

// ---- loads whose bytes count on the barrier of the pair's first block ----

// Bit 24 of a shared-memory address in a cluster tells the blocks of a pair apart.
template <int group> DEVICE uint32_t first_block_barrier(uint32_t barrier)
{
    return group == 1 ? barrier : barrier & 0xfeffffffu;
}

template <int group>
DEVICE void pair_load_2d(uint32_t shared, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".cta_group::%5 [%0], [%1, {%2, %3}], [%4];" ::"r"(shared),
                 "l"(map), "r"(x), "r"(y), "r"(first_block_barrier<group>(barrier)), "n"(group)
                 : "memory");
}

template <int group>
DEVICE void pair_load_3d(uint32_t shared, const CUtensorMap *map, int x, int y, int z,
                         uint32_t barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".cta_group::%6 [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared),
                 "l"(map), "r"(x), "r"(y), "r"(z), "r"(first_block_barrier<group>(barrier)),
                 "n"(group)
                 : "memory");
}

#endif
