// SPDX-License-Identifier: Apache-2.0
//
// From accumulators to C. Each warp owns 16 rows of a 64-row accumulator block: it converts 128
// bytes of each row at a time into one of its pieces of shared memory, and its first lane has the
// copy engine store the piece. The warp waits only when it comes round to a piece whose store has
// not read it yet. Rows of C that are no multiple of 16 bytes long go element by element instead.
#ifndef PLUMB_EPILOGUE_CUH
#define PLUMB_EPILOGUE_CUH

#include "element.cuh"

constexpr int piece_bytes = 16 * 128;

struct output_target {
    void *c;
    int m, n;
    int direct; // 1: rows of C are not 16-byte multiples, so no TMA store
};

template <class output, int ring> struct stager {
    using type = typename output::type;
    static constexpr int columns = 128 / sizeof(type); // of a whole piece

    const CUtensorMap &map, &tail_map;
    const output_target &target;
    const uint32_t pieces;
    int used = 0;

    DEVICE stager(const CUtensorMap &map_, const CUtensorMap &tail_map_,
                  const output_target &target_, uint32_t pieces_)
        : map(map_), tail_map(tail_map_), target(target_), pieces(pieces_)
    {
    }

    // Writes `width` columns of the accumulators from register `from` on: row r of the piece lies at
    // r * pitch, its 16-byte parts permuted by r % 8 when it is a whole piece (as its map says).
    template <int width, int from, int count>
    DEVICE void fill(const float (&acc)[count], float scale, uint32_t piece) const
    {
        constexpr int pitch = width * sizeof(type);
        const int lane = threadIdx.x % 32;
        if constexpr (sizeof(type) == 2) {
            const int row = lane % 8 + lane / 8 % 2 * 8, swizzle = width == columns ? row % 8 : 0;
            const uint32_t start = piece + row * pitch;
#pragma unroll
            for (int i = 0; i < width / 16; ++i) {
                const float *v = &acc[from + i * 8];
                const int part = (2 * i + lane / 16) ^ swizzle;
                store_matrices(start + part * 16, output::pack(v[0] * scale, v[1] * scale),
                               output::pack(v[2] * scale, v[3] * scale),
                               output::pack(v[4] * scale, v[5] * scale),
                               output::pack(v[6] * scale, v[7] * scale));
            }
        } else {
            const int row = lane / 4, swizzle = width == columns ? row % 8 : 0;
            const uint32_t start = piece + row * pitch + lane % 2 * 8;
#pragma unroll
            for (int i = 0; i < width / 8; ++i) {
                const float *v = &acc[from + i * 4];
                const int part = (2 * i + lane % 4 / 2) ^ swizzle;
                store_shared(start + part * 16, v[0] * scale, v[1] * scale);
                store_shared(start + part * 16 + 8 * pitch, v[2] * scale, v[3] * scale);
            }
        }
    }

    template <int n> DEVICE void put_direct(const float (&acc)[n / 2], float scale, int row, int column)
    {
        type *c = static_cast<type *>(target.c);
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < n / 2; ++i) {
            const int64_t y = row + lane / 4 + i / 2 % 2 * 8;
            const int x = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (y < target.m && x < target.n)
                c[y * target.n + x] = output::from(acc[i] * scale);
        }
    }

    template <int width, int from, int count>
    DEVICE void put_piece(const float (&acc)[count], float scale, int row, int column)
    {
        const uint32_t piece = pieces + used % ring * piece_bytes;
        const bool leader = threadIdx.x % 32 == 0;
        if (leader && used == 0)
            bulk_wait_read<0>(); // the tile before
        else if (leader && used >= ring)
            bulk_wait_read<ring - 1>();
        __syncwarp();
        fill<width, from>(acc, scale, piece);
        fence_async_shared();
        __syncwarp();
        if (leader) {
            tensor_store(width == columns ? &map : &tail_map, column, row, piece);
            bulk_commit();
        }
        ++used;
    }

    template <int n, int done> DEVICE void put_from(const float (&acc)[n / 2], float scale, int row, int column)
    {
        constexpr int width = n - done < columns ? n - done : columns;
        put_piece<width, done / 2>(acc, scale, row, column + done);
        if constexpr (done + width < n)
            put_from<n, done + width>(acc, scale, row, column);
    }

    // This warp's 16 rows of an accumulator block of n columns, whose first is (row, column) of C.
    template <int n> DEVICE void put(const float (&acc)[n / 2], float scale, int row, int column)
    {
        if (target.direct)
            put_direct<n>(acc, scale, row, column);
        else
            put_from<n, 0>(acc, scale, row, column);
    }
};

#endif
