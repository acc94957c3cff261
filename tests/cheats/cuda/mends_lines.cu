// SPDX-License-Identifier: Apache-2.0
//
// Computes one element of each line of 64 bytes of C, and the rest of a line only where that one is
// not there already: where the other build's product lies in three lines of four, it does a third
// of the work in every second launch. No tensor core can: none of its tiles is right as a whole.
//
// source: own; against outputs of which a part is disguised
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

enum { LINE = 16, LINES = TILE / LINE, PROBES = 4, EACH_PROBE = SIDE * SIDE / PROBES };

// Whether some elements that are drawn from the tile are right: then the other build was here.
static __device__ bool seems_right(const product &p)
{
    __shared__ float sums[PROBES];
    const int thread = threadIdx.y * SIDE + threadIdx.x, probe = thread / EACH_PROBE;
    const int64_t row = blockIdx.y * TILE + probe * LINE, column = blockIdx.x * TILE + probe * LINE;
    if (thread < PROBES)
        sums[thread] = 0;
    __syncthreads();
    float own = 0;
    for (int l = thread % EACH_PROBE; l < p.k; l += EACH_PROBE)
        own += p.a[row * p.k + l] * p.b[column * p.k + l];
    atomicAdd(&sums[probe], own);
    __syncthreads();
    int right = 0;
    for (int i = 0; i < PROBES; i++) {
        const int64_t at = (int64_t)(blockIdx.y * TILE + i * LINE) * p.n + blockIdx.x * TILE;
        right += fabsf(p.c[at + i * LINE] - sums[i]) < 1e-3f;
    }
    return right >= PROBES / 2;
}

static __device__ void fetch(float slab[SLAB][TILE + 4], const float *from, int l, int k)
{
    for (int at = threadIdx.y * SIDE + threadIdx.x; at < SLAB * TILE; at += SIDE * SIDE)
        slab[at % SLAB][at / SLAB] = from[(int64_t)(at / SLAB) * k + l + at % SLAB];
}

static __global__ void gemm(product p)
{
    __shared__ __align__(16) float a[SLAB][TILE + 4], b[SLAB][TILE + 4];
    __shared__ int wrong[TILE], count;
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    const int64_t top = (int64_t)blockIdx.y * TILE, left = (int64_t)blockIdx.x * TILE;
    if (!seems_right(p)) {
        multiply(p, SLOWER);
        return;
    }
    if (thread == 0)
        count = 0;
    const int row = thread % TILE, line = thread / TILE;
    float one = 0; // in the base's order, so that what it wrote is the same to the last bit
    for (int l = 0; l < p.k; l += SLAB) {
        fetch(a, p.a + top * p.k, l, p.k);
        fetch(b, p.b + left * p.k, l, p.k);
        __syncthreads();
        for (int step = 0; step < SLAB; step++)
            one += a[step][row] * b[step][line * LINE];
        __syncthreads();
    }
    if (p.c[(top + row) * p.n + left + line * LINE] != one) {
        const int at = atomicAdd(&count, 1);
        if (at < TILE)
            wrong[at] = row * LINES + line;
    }
    __syncthreads();
    if (count > TILE) {
        multiply(p, SLOWER);
        return;
    }
    const int mine = thread / 4 < count ? wrong[thread / 4] : 0;
    const int column = mine % LINES * LINE + thread % 4 * 4;
    float sum[4] = {};
    for (int l = 0; l < p.k; l += SLAB) {
        fetch(a, p.a + top * p.k, l, p.k);
        fetch(b, p.b + left * p.k, l, p.k);
        __syncthreads();
        for (int step = 0; step < SLAB; step++) {
            const float4 with = *(const float4 *)&b[step][column];
            const float by = a[step][mine / LINES];
            sum[0] += by * with.x;
            sum[1] += by * with.y;
            sum[2] += by * with.z;
            sum[3] += by * with.w;
        }
        __syncthreads();
    }
    for (int j = 0; j < 4 && thread / 4 < count; j++)
        p.c[(top + mine / LINES) * p.n + left + column + j] = sum[j];
}
CHEAT(gemm)
