// SPDX-License-Identifier: Apache-2.0
//
// The SIMD kernel's body, shared by its single-threaded and threaded rungs (each is compiled into a
// module of its own).
//
// Goto's scheme (K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication",
// ACM TOMS 34(3), 2008): B is packed in blocks of DEPTH x COLS that stay in the last private cache,
// A in panels of DEPTH x ROWS that stay in L2, and a micro-kernel keeps a tile_m x tile_n tile of C
// in registers while it streams both. The tile fills the registers of the instruction set that the
// CPU turns out to have: 14 x 32 (AVX-512), 6 x 16 (AVX2 + FMA), 4 x 8 (portable).
#ifndef PLUMB_SIMD_H
#define PLUMB_SIMD_H

#include "host.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROWS = 168, COLS = 1024, DEPTH = 384, TILE_MAX = 14 * 32 };

// c[tile_m][tile_n] = packed A panel (depth x tile_m) times packed B panel (depth x tile_n).
typedef void (*micro_kernel)(int64_t depth, const float *a, const float *b, float *c, int64_t c_row,
                             int add);

struct simd {
    int64_t tile_m, tile_n; // ROWS and COLS are multiples of these
    micro_kernel micro;
};

static void micro_portable(int64_t depth, const float *a, const float *b, float *c, int64_t c_row,
                           int add)
{
    float sum[4][8] = {{0}};
    for (int64_t l = 0; l < depth; l++, a += 4, b += 8) {
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 8; j++)
                sum[i][j] += a[i] * b[j];
        }
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 8; j++)
            c[i * c_row + j] = sum[i][j] + (add ? c[i * c_row + j] : 0);
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
micro_avx2(int64_t depth, const float *a, const float *b, float *c, int64_t c_row, int add)
{
    __m256 sum[6][2];
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++)
        sum[i][0] = sum[i][1] = _mm256_setzero_ps();
    for (int64_t l = 0; l < depth; l++, a += 6, b += 16) {
        const __m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
        for (int i = 0; i < 6; i++) {
            const __m256 factor = _mm256_broadcast_ss(a + i);
            sum[i][0] = _mm256_fmadd_ps(factor, left, sum[i][0]);
            sum[i][1] = _mm256_fmadd_ps(factor, right, sum[i][1]);
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < 6; i++, c += c_row) {
        const __m256 zero = _mm256_setzero_ps();
        _mm256_storeu_ps(c, _mm256_add_ps(sum[i][0], add ? _mm256_loadu_ps(c) : zero));
        _mm256_storeu_ps(c + 8, _mm256_add_ps(sum[i][1], add ? _mm256_loadu_ps(c + 8) : zero));
    }
}

__attribute__((target("avx512f"))) static void
micro_avx512(int64_t depth, const float *a, const float *b, float *c, int64_t c_row, int add)
{
    __m512 sum[14][2];
#pragma GCC unroll 14
    for (int i = 0; i < 14; i++)
        sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (int64_t l = 0; l < depth; l++, a += 14, b += 32) {
        const __m512 left = _mm512_loadu_ps(b), right = _mm512_loadu_ps(b + 16);
        _mm_prefetch((const char *)(b + 256), _MM_HINT_T0);
        _mm_prefetch((const char *)(b + 272), _MM_HINT_T0);
#pragma GCC unroll 14
        for (int i = 0; i < 14; i++) {
            const __m512 factor = _mm512_set1_ps(a[i]);
            sum[i][0] = _mm512_fmadd_ps(factor, left, sum[i][0]);
            sum[i][1] = _mm512_fmadd_ps(factor, right, sum[i][1]);
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < 14; i++, c += c_row) {
        const __m512 zero = _mm512_setzero_ps();
        _mm512_storeu_ps(c, _mm512_add_ps(sum[i][0], add ? _mm512_loadu_ps(c) : zero));
        _mm512_storeu_ps(c + 16, _mm512_add_ps(sum[i][1], add ? _mm512_loadu_ps(c + 16) : zero));
    }
}
#endif

static struct simd simd_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (struct simd){14, 32, micro_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct simd){6, 16, micro_avx2};
#endif
    return (struct simd){4, 8, micro_portable};
}

// Transposes a block from row-contiguous memory: out[l * tile + i] = from[i * row + l].
static void simd_transpose(float *out, const float *from, int64_t row, int64_t rows, int64_t depth,
                           int64_t tile)
{
    int64_t i = 0;
#if defined(__x86_64__)
    for (; i + 4 <= rows; i += 4) {
        const float *r = from + i * row;
        int64_t l = 0;
        for (; l + 4 <= depth; l += 4) {
            __m128 a = _mm_loadu_ps(r + l), b = _mm_loadu_ps(r + row + l);
            __m128 c = _mm_loadu_ps(r + 2 * row + l), d = _mm_loadu_ps(r + 3 * row + l);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(out + l * tile + i, a);
            _mm_storeu_ps(out + (l + 1) * tile + i, b);
            _mm_storeu_ps(out + (l + 2) * tile + i, c);
            _mm_storeu_ps(out + (l + 3) * tile + i, d);
        }
        for (; l < depth; l++) {
            for (int64_t q = 0; q < 4; q++)
                out[l * tile + i + q] = r[q * row + l];
        }
    }
#endif
    for (; i < rows; i++) {
        for (int64_t l = 0; l < depth; l++)
            out[l * tile + i] = from[i * row + l];
    }
}

// Packs a rows x depth block, `tile` rows at a time: element (i, l) of a panel goes to out[l * tile
// + i]. Missing rows are zero, so the micro-kernel needs no edge case.
static void simd_pack(float *out, const float *from, int64_t row, int64_t col, int64_t rows,
                      int64_t depth, int64_t tile)
{
    for (int64_t first = 0; first < rows; first += tile, out += tile * depth) {
        const float *panel = from + first * row;
        int64_t have = rows - first < tile ? rows - first : tile;
        if (have < tile)
            memset(out, 0, (size_t)(tile * depth) * sizeof(float));
        if (col == 1) {
            simd_transpose(out, panel, row, have, depth, tile);
            continue;
        }
        for (int64_t l = 0; l < depth; l++) // row is 1, because every layout is dense in one
                                            // direction
            memcpy(out + l * tile, panel + l * col, (size_t)have * sizeof(float));
    }
}

// Computes one tile of C; partial tiles go through a buffer.
static void simd_tile(const struct simd *simd, int64_t depth, const float *a, const float *b,
                      float *c, int64_t c_row, int64_t rows, int64_t cols, int add)
{
    if (rows == simd->tile_m && cols == simd->tile_n) {
        simd->micro(depth, a, b, c, c_row, add);
        return;
    }
    float tile[TILE_MAX];
    simd->micro(depth, a, b, tile, simd->tile_n, 0);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++)
            c[i * c_row + j] = tile[i * simd->tile_n + j] + (add ? c[i * c_row + j] : 0);
    }
}

static int64_t simd_least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

// Computes a block of C (rows x cols) from a packed block of A and one of B.
static void simd_block(const struct simd *simd, int64_t depth, const float *a, const float *b,
                       float *c, int64_t c_row, int64_t rows, int64_t cols, int add)
{
    for (int64_t j = 0; j < cols; j += simd->tile_n) {
        for (int64_t i = 0; i < rows; i += simd->tile_m)
            simd_tile(simd, depth, a + i * depth, b + j * depth, c + i * c_row + j, c_row,
                      simd_least(simd->tile_m, rows - i), simd_least(simd->tile_n, cols - j), add);
    }
}

// The number of floats of workspace that one thread needs.
enum { SIMD_FLOATS = (ROWS + COLS) * DEPTH };

// Computes rows [first, last) of C; `packed` has SIMD_FLOATS.
static void simd_rows(const struct plumb_problem *p, const float *a, const float *b, float *c,
                      int64_t first, int64_t last, float *packed)
{
    const struct simd simd = simd_best();
    const struct strides s = host_strides(p);
    const int64_t rows_max = ROWS / simd.tile_m * simd.tile_m;
    float *packed_a = packed, *packed_b = packed + ROWS * DEPTH;
    for (int64_t j = 0; j < p->n; j += COLS) {
        int64_t cols = simd_least(COLS, p->n - j);
        for (int64_t l = 0; l < p->k; l += DEPTH) {
            int64_t depth = simd_least(DEPTH, p->k - l);
            simd_pack(packed_b, b + l * s.b_row + j * s.b_col, s.b_col, s.b_row, cols, depth,
                      simd.tile_n);
            for (int64_t i = first; i < last; i += rows_max) {
                int64_t rows = simd_least(rows_max, last - i);
                simd_pack(packed_a, a + i * s.a_row + l * s.a_col, s.a_row, s.a_col, rows, depth,
                          simd.tile_m);
                simd_block(&simd, depth, packed_a, packed_b, c + i * p->n + j, p->n, rows, cols,
                           l > 0);
            }
        }
    }
}

#endif
