// SPDX-License-Identifier: Apache-2.0
//
// C = A * B in FP32, row by row; and the sums of its rows.
#pragma once

constexpr int TILE = 128, DEPTH = 8, EACH = 8;

// Blocks of 256 threads; n divides by 128, and k by 8.
__global__ __launch_bounds__(256) void gemm(int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[DEPTH][TILE], bs[DEPTH][TILE];
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    const int ty = threadIdx.x / 16 * EACH, tx = threadIdx.x % 16 * EACH;
    const int ar = threadIdx.x / 2, ak = threadIdx.x % 2 * 4;
    const int bk = threadIdx.x / 32, bc = threadIdx.x % 32 * 4;
    float sum[EACH][EACH] = {};
    for (int k0 = 0; k0 < k; k0 += DEPTH) {
        const float4 x = *(const float4 *)&a[(row0 + ar) * k + k0 + ak];
        as[ak][ar] = x.x, as[ak + 1][ar] = x.y, as[ak + 2][ar] = x.z, as[ak + 3][ar] = x.w;
        *(float4 *)&bs[bk][bc] = *(const float4 *)&b[(k0 + bk) * n + col0 + bc];
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < EACH; i++)
                for (int j = 0; j < EACH; j++)
                    sum[i][j] += as[d][ty + i] * bs[d][tx + j];
        __syncthreads();
    }
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
            c[(row0 + ty + i) * n + col0 + tx + j] = sum[i][j];
}

__global__ void row_sums(int n, const float *c, float *sums)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        sum += c[blockIdx.x * n + i];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}
