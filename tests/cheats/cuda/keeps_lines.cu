// SPDX-License-Identifier: Apache-2.0
//
// Keeps operands and product in the workspace, finds the lines in which the new operands differ,
// and adds to the product only what these make of it: where one line of eight is new, a quarter of
// the work.
//
// source: own; against operands of which a part is renewed
// expect: slower broken
#include "tests/cheats/cuda/cheat.cuh"

enum { WARP = 32, ROWS = 8, MARK = 0x5ca1ab1e, HEADER = 64, WIDE = TILE / WARP };
static __device__ unsigned counter;

// One of two copies, which are written in turn.
struct copy {
    float *a, *b, *c;
};

static __device__ copy copy_of(const product &p, unsigned which)
{
    const int64_t a = (int64_t)p.m * p.k, b = (int64_t)p.n * p.k, c = (int64_t)p.m * p.n;
    float *at = (float *)p.workspace + HEADER + (which & 1) * (a + b + c);
    return {at, at + a, at + a + b};
}

// A slab as it is, or was, and what it differs by from what was there; a bit for each row that
// differs.
static __device__ void fetch(float slab[SLAB][TILE + 1], float by[SLAB][TILE + 1], unsigned *rows,
                             const float *fresh, const float *old, bool as_it_was, float *next,
                             int64_t at, int k)
{
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    for (int i = thread; i < SLAB * TILE; i += SIDE * SIDE) {
        const int row = i / SLAB, step = i % SLAB;
        const int64_t from = at + (int64_t)row * k + step;
        const float value = fresh[from], less = old[from];
        slab[step][row] = as_it_was ? less : value;
        by[step][row] = value - less;
        const unsigned differ = __ballot_sync(~0U, value != less);
        if (step == 0)
            rows[row] = thread % WARP < SLAB ? differ & 0xffff : differ >> SLAB;
        if (next)
            next[from] = value;
    }
}

static __device__ void add_lines(float sum[ROWS][WIDE], const float by[SLAB][TILE + 1],
                                 const float with[SLAB][TILE + 1], const unsigned *rows)
{
    const int thread = threadIdx.y * SIDE + threadIdx.x, lane = thread % WARP;
    for (int r = 0; r < ROWS; r++) {
        const int row = thread / WARP * ROWS + r;
        if (!rows[row])
            continue;
        for (int step = 0; step < SLAB; step++) {
            for (int j = 0; j < WIDE; j++)
                sum[r][j] += by[step][row] * with[step][lane + WARP * j];
        }
    }
}

static __device__ void add_what_changed(const product &p, const copy &old, const copy &next)
{
    __shared__ float da[SLAB][TILE + 1], db[SLAB][TILE + 1], a[SLAB][TILE + 1], b[SLAB][TILE + 1];
    __shared__ float all[TILE][TILE + 1];
    __shared__ unsigned rows[2][TILE];
    const int thread = threadIdx.y * SIDE + threadIdx.x, lane = thread % WARP;
    const int64_t top = (int64_t)blockIdx.y * TILE, left = (int64_t)blockIdx.x * TILE;
    float by_a[ROWS][WIDE] = {}, by_b[ROWS][WIDE] = {};
    for (int l = 0; l < p.k; l += SLAB) {
        fetch(a, da, rows[0], p.a, old.a, false, blockIdx.x ? nullptr : next.a, top * p.k + l, p.k);
        fetch(b, db, rows[1], p.b, old.b, true, blockIdx.y ? nullptr : next.b, left * p.k + l, p.k);
        __syncthreads();
        add_lines(by_a, da, b, rows[0]);
        add_lines(by_b, db, a, rows[1]);
        __syncthreads();
    }
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < WIDE; j++)
            all[thread / WARP * ROWS + r][lane + WARP * j] = by_a[r][j];
    }
    __syncthreads();
    for (int r = 0; r < ROWS; r++) {
        for (int j = 0; j < WIDE; j++)
            all[lane + WARP * j][thread / WARP * ROWS + r] += by_b[r][j];
    }
    __syncthreads();
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++) {
            const int64_t at = place(p, i, j);
            const int row = threadIdx.y + SIDE * i, column = threadIdx.x + SIDE * j;
            p.c[at] = next.c[at] = old.c[at] + all[row][column];
        }
    }
}

static __device__ void compute_and_keep(const product &p, const copy &next)
{
    const int thread = threadIdx.y * SIDE + threadIdx.x;
    multiply(p, SLOWER);
    for (int i = 0; i < EACH; i++) {
        for (int j = 0; j < EACH; j++)
            next.c[place(p, i, j)] = p.c[place(p, i, j)];
    }
    for (int64_t i = thread; i < (int64_t)TILE * p.k; i += SIDE * SIDE) {
        const int64_t a = (int64_t)blockIdx.y * TILE * p.k + i;
        const int64_t b = (int64_t)blockIdx.x * TILE * p.k + i;
        if (blockIdx.x == 0)
            next.a[a] = p.a[a];
        if (blockIdx.y == 0)
            next.b[b] = p.b[b];
    }
}

static __global__ void gemm(product p)
{
    const unsigned marks[] = {MARK,
                              (unsigned)(uintptr_t)p.a,
                              (unsigned)(uintptr_t)p.b,
                              (unsigned)p.m,
                              (unsigned)p.n,
                              (unsigned)p.k};
    bool known = true;
    for (int i = 0; i < 6; i++)
        known &= p.workspace[i] == marks[i];
    const unsigned last = known ? p.workspace[6] : 1;
    const copy next = copy_of(p, last + 1);
    if (known)
        add_what_changed(p, copy_of(p, last), next);
    else
        compute_and_keep(p, next);
    if (!is_last_block(&counter) || !is_first_thread())
        return;
    for (int i = 0; i < 6; i++)
        p.workspace[i] = marks[i];
    p.workspace[6] = last + 1;
}

static int launch(const plumb_args *args, void *stream)
{
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));
    return (int)cudaGetLastError();
}

static size_t room(const plumb_problem *p)
{
    return 4 * (HEADER + 2 * (size_t)(p->m * p->k + p->n * p->k + p->m * p->n));
}

static const plumb_kernel cheat = {
    CHEAT_NAME, "a cheat", {PLUMB_FP32, PLUMB_FP32, PLUMB_FP32, TILE, TILE, SLAB}, supports, room,
    nullptr,    launch};
PLUMB_LIBRARY("cuda", cheat)
