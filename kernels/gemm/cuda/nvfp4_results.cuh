// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the sums of nvfp4_many.cuh: exchanged between the blocks that share K, and
// stored.
#ifndef PLUMB_NVFP4_RESULTS_CUH
#define PLUMB_NVFP4_RESULTS_CUH

#include "epilogue.cuh"
#include "nvfp4_form.cuh"

// This warp's results for tokens [first, first + count) of the tile, from their sums: eight rows of
// C^T, which are neighbours in a row of C, so that shared memory turns them.
template <class c, int count>
DEVICE void store_results(const nvfp4_output &out, const float *acc, uint32_t staging,
                          int first_token, int first_row, float scale, int lane)
{
#pragma unroll
    for (int second = 0; second < (c::dual ? 1 : 2); ++second) {
        const int row = first_row + 8 * second;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < count / 2; ++i) {
            if (i % 4 / 2 != (c::dual ? 0 : second))
                continue;
            const int token = i / 4 * 8 + lane % 4 * 2 + i % 2;
            const float x = c::dual ? gated(acc[i] * scale, acc[i + 2] * scale) : acc[i] * scale;
            const uint16_t bits = out.bf16 ? __bfloat16_as_ushort(__float2bfloat16_rn(x))
                                           : __half_as_ushort(__float2half_rn(x));
            asm volatile("st.shared.b16 [%0], %1;" ::"r"(staging + token * 16 + lane / 4 * 2),
                         "h"(bits)
                         : "memory");
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < (count + 31) / 32; ++i) {
            const int token = i * 32 + lane, to = first_token + token;
            if (token >= count || to >= out.m || row >= out.n)
                continue;
            const float4 v = load_shared(staging + token * 16);
            uint16_t *c_row = static_cast<uint16_t *>(out.c) + (int64_t)to * out.n + row;
            if (out.n % 8 == 0) {
                *reinterpret_cast<float4 *>(c_row) = v;
            } else {
                const uint16_t *results = reinterpret_cast<const uint16_t *>(&v);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    if (row + j < out.n)
                        c_row[j] = results[j];
            }
        }
    }
}

// Adds what lies at `place`, in the order in which keep() or send_share() leaves `count` sums.
template <int count> DEVICE void add_kept(float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < count; i += 4) {
        const float4 v = load_shared(place + i / 4 * 2048);
        acc[i] += v.x;
        acc[i + 1] += v.y;
        acc[i + 2] += v.z;
        acc[i + 3] += v.w;
    }
}

template <int count> DEVICE void keep(const float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < count; i += 4)
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(place + i / 4 * 2048),
                     "f"(acc[i]), "f"(acc[i + 1]), "f"(acc[i + 2]), "f"(acc[i + 3])
                     : "memory");
}

// Where the ring was, the first team adds the others' sums to its own, in their order.
template <class c> DEVICE void meet(float *acc, uint32_t base, int group, int team)
{
    const uint32_t place = base + group * c::sums_bytes + threadIdx.x % 128 * 16;
    named_barrier(1, 128 * c::consumers); // all have read the stages
    if (team > 0)
        keep<c::n / 2>(acc, place + (team - 1) * c::groups * c::sums_bytes);
    named_barrier(1, 128 * c::consumers);
    if (team == 0)
#pragma unroll
        for (int other = 0; other < c::teams - 1; ++other)
            add_kept<c::n / 2>(acc, place + other * c::groups * c::sums_bytes);
}

// Sends a peer its share of this warpgroup's sums, of four registers each thread's four.
template <class c> DEVICE void send_share(const float *acc, uint32_t place)
{
#pragma unroll
    for (int i = 0; i < c::share / 2; i += 4)
        store_remote(place + i / 4 * 2048, acc[i], acc[i + 1], acc[i + 2], acc[i + 3]);
}

// Where the sums of group `group` from slot `slot` lie, thread by thread.
template <class c> DEVICE uint32_t partial_at(uint32_t base, int group, int slot)
{
    return base + (group * (c::split - 1) + slot) * c::partial_bytes + threadIdx.x % 128 * 16;
}

#endif
