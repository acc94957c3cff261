// SPDX-License-Identifier: Apache-2.0
//
// The kernel before nvfp4_many.cuh's: tokens decoded to FP16, in the order of K of its slabs.
#ifndef PLUMB_NVFP4_TOKENS_CUH
#define PLUMB_NVFP4_TOKENS_CUH

#include "nvfp4.cuh"

// `all` rows of FP16 in slabs of 128, zeros behind K and behind `rows`. A thread has word `word` of
// the four chunks of a row and slab, whose pairs are neighbours: of 16 bytes, as four threads of
// the kernel after have them. What a warp has lies in one piece. Shared memory turns it, so that
// what a warp stores at once does too: by threads, each 64 bytes, 512 rows took 2.9 us more.
static __global__ void __launch_bounds__(256)
    decode_tokens(uint4 *to, const uint8_t *codes, const uint8_t *scales, int rows, int all, int k,
                  int slabs)
{
    __shared__ uint4 turned[8][128];
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    const int index = blockIdx.x * 256 + threadIdx.x, word = index % 4;
    const int slab = index / 4 % slabs, row = index / 4 / slabs;
    uint32_t pairs[4][4]; // by chunk
#pragma unroll
    for (int chunk = 0; chunk < 4; ++chunk) {
        const int at = slab * 128 + chunk * 32;
        uint32_t word_codes = 0, line = 0;
        if (at < k && row < rows) {
            word_codes = __ldg(reinterpret_cast<const uint32_t *>(codes + (int64_t)row * (k / 2) +
                                                                  at / 2 + word * 4));
            line = __ldg(reinterpret_cast<const uint32_t *>(
                scales + ((int64_t)(row / 128) * ((k + 63) / 64) + at / 64) * nvfp4_tile_bytes +
                row % 32 * 16 + row % 128 / 32 * 4));
        }
        nvfp4_decode(pairs[chunk], word_codes,
                     nvfp4_scale(line, nvfp4_scale_at(chunk % 2 * 2 + word / 2)));
    }
    const int lane = threadIdx.x % 32;
    uint4 *own = turned[threadIdx.x / 32];
#pragma unroll
    for (int i = 0; i < 4; ++i) // the exclusive or: no two lanes of eight in the same banks
        own[(lane * 4 + i) ^ (lane / 2 % 4)] =
            make_uint4(pairs[0][i], pairs[1][i], pairs[2][i], pairs[3][i]);
    __syncwarp();
    const int64_t first = (int64_t)(index - lane) * 4, end = (int64_t)all * slabs * 16;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int at = i * 32 + lane;
        if (first + at < end)
            to[first + at] = own[at ^ (at / 8 % 4)];
    }
}

#endif
