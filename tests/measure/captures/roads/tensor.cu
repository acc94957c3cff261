// SPDX-License-Identifier: Apache-2.0
//
// C = A B^T of BF16 in FP32 by tensor cores: tiles of 128 x 128 on eight warps, 32 columns of K at
// a time.
#include <cuda_bf16.h>
#include <mma.h>
#define TYPE   __nv_bfloat16
#define TYPES  "bf16-fp32"
#define KERNEL tensor
enum { TILE = 128, DEPTH = 32, PITCH = 40 };

extern "C" __global__ void __launch_bounds__(256)
    tensor(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int m, int n, int k)
{
    using namespace nvcuda::wmma;
    __shared__ __nv_bfloat16 left[TILE][PITCH], right[TILE][PITCH];
    const int y = threadIdx.x / 32 / 4 * 64, x = threadIdx.x / 32 % 4 * 32;
    fragment<accumulator, 16, 16, 16, float> sum[4][2];
    for (int i = 0; i < 8; i++)
        fill_fragment(sum[i / 2][i % 2], 0.0f);
    a += (size_t)blockIdx.y * TILE * k;
    b += (size_t)blockIdx.x * TILE * k;
    for (int at = 0; at < k; at += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += 256) {
            const int row = i / 4, col = i % 4 * 8;
            *(uint4 *)&left[row][col] = *(const uint4 *)&a[(size_t)row * k + at + col];
            *(uint4 *)&right[row][col] = *(const uint4 *)&b[(size_t)row * k + at + col];
        }
        __syncthreads();
        for (int l = 0; l < DEPTH; l += 16) {
            fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> p[4];
            fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> q[2];
            for (int i = 0; i < 4; i++)
                load_matrix_sync(p[i], &left[y + 16 * i][l], PITCH);
            for (int j = 0; j < 2; j++)
                load_matrix_sync(q[j], &right[x + 16 * j][l], PITCH);
            for (int i = 0; i < 8; i++)
                mma_sync(sum[i / 2][i % 2], p[i / 2], q[i % 2], sum[i / 2][i % 2]);
        }
        __syncthreads();
    }
    c += ((size_t)blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x;
    for (int i = 0; i < 8; i++)
        store_matrix_sync(&c[(size_t)(i / 2) * 16 * n + i % 2 * 16], sum[i / 2][i % 2], n,
                          mem_row_major);
}
