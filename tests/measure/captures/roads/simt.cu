// SPDX-License-Identifier: Apache-2.0
//
// C = A B^T in FP32 by threads: tiles of 128 x 128 on 256 threads, eight columns of K at a time.
#define TYPE   float
#define TYPES  "fp32"
#define KERNEL simt
enum { TILE = 128, DEPTH = 8 };

extern "C" __global__ void __launch_bounds__(256)
    simt(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float left[DEPTH][TILE], right[DEPTH][TILE];
    const int row = threadIdx.x / 2, col = threadIdx.x % 2 * 4;
    const int y = threadIdx.x / 16 * 8, x = threadIdx.x % 16 * 8;
    float sum[8][8] = {};
    a += ((size_t)blockIdx.y * TILE + row) * k + col;
    b += ((size_t)blockIdx.x * TILE + row) * k + col;
    for (int at = 0; at < k; at += DEPTH) {
        const float4 p = *(const float4 *)(a + at), q = *(const float4 *)(b + at);
        left[col][row] = p.x, left[col + 1][row] = p.y;
        left[col + 2][row] = p.z, left[col + 3][row] = p.w;
        right[col][row] = q.x, right[col + 1][row] = q.y;
        right[col + 2][row] = q.z, right[col + 3][row] = q.w;
        __syncthreads();
        for (int l = 0; l < DEPTH; l++) {
            for (int i = 0; i < 8; i++) {
                for (int j = 0; j < 8; j++)
                    sum[i][j] += left[l][y + i] * right[l][x + j];
            }
        }
        __syncthreads();
    }
    c += ((size_t)blockIdx.y * TILE + y) * n + blockIdx.x * TILE + x;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++)
            c[(size_t)i * n + j] = sum[i][j];
    }
}
