// SPDX-License-Identifier: Apache-2.0
//
// The way from accumulators to C, in two steps that need not follow each other at once. First,
// stager::hold() converts sums to words of the output type in other registers; in a dual GEMM,
// this is where two sums become one result. Then stager::put() brings pieces, 16 rows of 128
// bytes, from each warp into the warp's ring in shared memory, and the warp's first lane has the
// copy engine store them. The warp waits only if it comes back to a piece of the ring whose
// store has not read it yet. Called between the matrix instructions of the next tile, all of
// this costs nothing (persistent/persistent.cuh).
//
// The copy engine cannot store rows of C whose length is no multiple of 16 bytes; such rows are
// stored element by element.
#ifndef PLUMB_GEMM_EPILOGUE_CUH
#define PLUMB_GEMM_EPILOGUE_CUH

#include <utility>

#include "element.cuh"

// ---- Swapped operands, for m smaller than the matrix instruction's 64 rows. The kernel computes
// C^T = B * A^T, so that B's n rows lie along the instruction's 64 rows, and A's m rows along its
// width of 16 to 256. Then nothing is loaded or multiplied for rows that do not exist, and shared
// memory holds more of B. Only the way out differs from the same kernel with its operands exchanged
// (oriented(), persistent/launch.cuh), and it is here: a warp's sums are 16 columns of C (rows of
// C^T) by `width` rows, and leave as 32 contiguous bytes per row of C.

struct output_target {
    void *c;
    int m, n;   // as the kernel computes it: the size of C^T where operands are swapped
    int direct; // 1: rows of C are no multiples of 16 bytes and are stored element by element
};

// Bytes of shared memory for a warp's piece: 16 columns of at most 64 rows of C. 4-byte
// outputs need none.
template <class output, int n>
constexpr int transposed_bytes = sizeof(typename output::type) == 2 ? (n < 64 ? n : 64) * 32 : 0;

// Writes columns x = row .. row + 15 of C's rows column .. column + width - 1, from the words that
// hold() left in shared memory. The two 16-byte halves of 32 bytes change places every four rows,
// so that eight rows at a time are in different banks.
template <class output, int width>
DEVICE void store_transposed(const uint32_t *held, const output_target &target, uint32_t piece,
                             int row, int column)
{
    typename output::type *c = static_cast<typename output::type *>(target.c);
    const int lane = threadIdx.x % 32;
    if constexpr (sizeof(typename output::type) == 2) {
        const int line = lane % 8 + lane / 16 * 8, half = lane / 8 % 2;
        __syncwarp();
#pragma unroll
        for (int i = 0; i < width / 16; ++i)
            store_matrices_transposed(piece + i * 512 + line * 32 + (half ^ line / 4 % 2) * 16,
                                      held[4 * i], held[4 * i + 1], held[4 * i + 2],
                                      held[4 * i + 3]);
        __syncwarp();
        const int x = row + lane % 2 * 8;
        const uint32_t from = piece + lane / 2 * 32 + (lane % 2 ^ lane / 8 % 2) * 16;
#pragma unroll
        for (int i = 0; i < width / 16; ++i) {
            const int64_t y = column + i * 16 + lane / 2;
            if (y < target.n && x < target.m)
                *reinterpret_cast<float4 *>(c + y * target.m + x) = load_shared(from + i * 512);
        }
    } else {
#pragma unroll
        for (int i = 0; i < width / 2; ++i) {
            const int x = row + lane / 4 + i / 2 % 2 * 8;
            const int64_t y = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
            if (y < target.n && x < target.m)
                c[y * target.m + x] = __uint_as_float(held[i]);
        }
    }
}

constexpr int piece_bytes = 16 * 128;

// The words per thread that a warp's 64 x n block of accumulators (16 rows per warp)
// has after conversion.
template <class output, int n> constexpr int held_words = n / 2 * sizeof(typename output::type) / 4;

// 1 + e^-x, at most 2^63 + 1: below x = -43 silu is smaller than any number of the output types.
DEVICE float silu_divisor(float x)
{
    return 1 + power_of_two(fminf(x * -1.4426950408889634f, 63));
}

// silu(x) * y.
DEVICE float gated(float x, float y)
{
    return x * reciprocal(silu_divisor(x)) * y;
}

// gated() for two pairs, into x. The special-function units give a result every four cycles per
// quarter of an SM, and all sums of a tile come at once. One reciprocal for both pairs saves 1 % at
// 512 x 3072 x 7168.
DEVICE void gate_both(float (&x)[2], const float (&y)[2])
{
    const float first = silu_divisor(x[0]), second = silu_divisor(x[1]);
    const float both = reciprocal(first * second);
    x[0] *= both * second * y[0];
    x[1] *= both * first * y[1];
}

// Stores two 8x8 matrices of 16-bit elements from a warp's registers to shared memory. Lanes 0 to
// 15 give the addresses of the matrices' rows.
DEVICE void store_matrices(uint32_t shared, uint32_t a, uint32_t b)
{
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(shared), "r"(a),
                 "r"(b)
                 : "memory");
}

// One warp's way to C: blocks of 64 x n results, of which the warp has 16 rows each.
// dual: each result is made of two sums, of B1 and of B2, which lie side by side in
// the accumulators (dual/dual.cuh).
template <class output, int blocks, int n, int ring, bool swapped = false, bool dual = false>
struct stager {
    static constexpr int element = sizeof(typename output::type);
    static constexpr int columns = 128 / element; // columns of a whole piece
    // pieces of a block; the last may be narrower and has a map of its own
    static constexpr int per_block = (n + columns - 1) / columns;
    static constexpr int count = blocks * per_block;
    using words = uint32_t[blocks][held_words<output, n>];
    using sums = float[dual && swapped ? 2 * blocks : blocks][dual && !swapped ? n : n / 2];

    const CUtensorMap &map, &tail_map;
    const uint32_t pieces;
    const output_target &target;
    int slot = 0;

    static __host__ __device__ constexpr bool is_whole(int piece)
    {
        return n - piece % per_block * columns >= columns;
    }

    // Writes a piece: row r begins at r * pitch. If the piece is whole, its 16-byte parts are
    // permuted by r % 8, as its tensor map says.
    template <int number> DEVICE void fill(const words &held, uint32_t piece) const
    {
        constexpr int index = number % per_block;
        constexpr int width = is_whole(number) ? columns : n % columns;
        constexpr int pitch = width * element;
        const int lane = threadIdx.x % 32;
        if constexpr (element == 2) {
            const int row = lane % 8 + lane / 8 % 2 * 8, swizzle = is_whole(number) ? row % 8 : 0;
#pragma unroll
            for (int i = 0; i < width / 16; ++i) {
                const uint32_t *v = &held[number / per_block][index * 16 + i * 4];
                const int part = (2 * i + lane / 16) ^ swizzle;
                store_matrices(piece + row * pitch + part * 16, v[0], v[1], v[2], v[3]);
            }
            if constexpr (width % 16 != 0) {
                static_assert(!is_whole(number), "no swizzle");
                const uint32_t *v = &held[number / per_block][index * 16 + width / 16 * 4];
                store_matrices(piece + row * pitch + width / 16 * 32, v[0], v[1]);
            }
        } else {
            const int row = lane / 4, swizzle = is_whole(number) ? row % 8 : 0;
            const uint32_t start = piece + row * pitch + lane % 2 * 8;
#pragma unroll
            for (int i = 0; i < width / 8; ++i) {
                const uint32_t *v = &held[number / per_block][index * 16 + i * 4];
                const int part = (2 * i + lane % 4 / 2) ^ swizzle;
                store_shared(start + part * 16, v[0], v[1]);
                store_shared(start + part * 16 + 8 * pitch, v[2], v[3]);
            }
        }
    }

    // Stores piece `number` of the warp's rows, whose first element is (row, column) of C. Pieces
    // go one at a time: the next is converted while the copy engine still reads this one.
    // (Filling the whole ring at a time has to wait for all pieces before, and cost 6 to 9 % at k
    // = 512 in FP8.)
    template <int number> DEVICE void put(const words &held, int row, int column)
    {
        if constexpr (swapped) {
            constexpr int index = number % per_block, block = number / per_block;
            store_transposed<output, (is_whole(number) ? columns : n % columns)>(
                &held[block][index * 16], target, pieces, row + block * 64,
                column + index * columns);
            return;
        }
        const uint32_t piece = pieces + slot * piece_bytes;
        if (elect())
            bulk_wait_read<ring - 1>();
        __syncwarp();
        fill<number>(held, piece);
        fence_async_shared();
        __syncwarp();
        if (elect()) {
            tensor_store(is_whole(number) ? &map : &tail_map, column + number % per_block * columns,
                         row + number / per_block * 64, piece);
            bulk_commit();
        }
        slot = slot + 1 < ring ? slot + 1 : 0;
    }

    // Converts results i and i + 1 of a block to one word.
    static DEVICE uint32_t make_word(const sums &acc, int block, int i, float scale)
    {
        float results[2] = {acc[block][i] * scale, acc[block][i + 1] * scale};
        if constexpr (dual) {
            const int other_block = swapped ? block + blocks : block,
                      other = swapped ? i : i + n / 2;
            const float up[2] = {acc[other_block][other] * scale,
                                 acc[other_block][other + 1] * scale};
            gate_both(results, up);
        }
        return output::pack(results[0], results[1]);
    }

    // Computes result i of a block.
    static DEVICE float result(const sums &acc, int block, int i, float scale)
    {
        if constexpr (!dual)
            return acc[block][i] * scale;
        else if constexpr (swapped)
            return gated(acc[block][i] * scale, acc[block + blocks][i] * scale);
        else
            return gated(acc[block][i] * scale, acc[block][i + n / 2] * scale);
    }

    // Converts columns first .. first + width - 1 of a block.
    template <int first = 0, int width = n>
    static DEVICE void hold_block(words &held, const sums &acc, int block, float scale)
    {
        constexpr int count = held_words<output, width>;
#pragma unroll
        for (int i = first * count / width; i < first * count / width + count; ++i)
            if constexpr (element == 2)
                held[block][i] = make_word(acc, block, 2 * i, scale);
            else
                held[block][i] = __float_as_uint(result(acc, block, i, scale));
    }

    static DEVICE void hold(words &held, const sums &acc, float scale)
    {
#pragma unroll
        for (int block = 0; block < blocks; ++block)
            hold_block(held, acc, block, scale);
    }

    // Stores all results, element by element.
    static DEVICE void store_elements(const sums &acc, float scale, const output_target &target,
                                      int row, int column)
    {
        typename output::type *c = static_cast<typename output::type *>(target.c);
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int block = 0; block < blocks; ++block)
#pragma unroll
            for (int i = 0; i < n / 2; ++i) {
                const int64_t y = row + block * 64 + lane / 4 + i / 2 % 2 * 8;
                const int x = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
                if (y < target.m && x < target.n)
                    c[swapped ? (int64_t)x * target.m + y : y * target.n + x] =
                        output::from(result(acc, block, i, scale));
            }
    }

    template <int number> static DEVICE void hold_piece(words &held, const sums &acc, float scale)
    {
        constexpr int index = number % per_block, block = number / per_block;
        constexpr int width = is_whole(number) ? columns : n % columns;
        hold_block<index * columns, width>(held, acc, block, scale);
    }

    // Does what put() does, from sums that were not converted yet.
    template <int number> DEVICE void put_sums(const sums &acc, float scale, int row, int column)
    {
        words held; // the words of this piece only
        hold_piece<number>(held, acc, scale);
        put<number>(held, row, column);
    }

    // Stores piece `number`, which is known only at run time. Registers cannot be indexed, so there
    // is code for each number.
    DEVICE void put_one_sums(const sums &acc, float scale, int row, int column, int number)
    {
        asm volatile("" : "+f"(scale)); // keeps the conversions out of the surrounding loop
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((number == i ? put_sums<i>(acc, scale, row, column) : void()), ...);
        }
        (std::make_integer_sequence<int, count>());
    }

    DEVICE void put_one(const words &held, int row, int column, int number)
    {
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            ((number == i ? put<i>(held, row, column) : void()), ...);
        }
        (std::make_integer_sequence<int, count>());
    }

    // Stores all pieces.
    DEVICE void put_all_sums(const sums &acc, float scale, int row, int column)
    {
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            (put_sums<i>(acc, scale, row, column), ...);
        }
        (std::make_integer_sequence<int, count>());
    }

    DEVICE void put_all(const words &held, int row, int column)
    {
        [&]<int... i>(std::integer_sequence<int, i...>)
        {
            (put<i>(held, row, column), ...);
        }
        (std::make_integer_sequence<int, count>());
    }

    // Stores all results of sums that are not needed any more. Returns whether the copy
    // engine stores them.
    DEVICE bool store_held(const sums &acc, float scale, int row, int column)
    {
        if (target.direct) {
            store_elements(acc, scale, target, row, column);
            return false;
        }
        words held;
        hold(held, acc, scale);
        put_all(held, row, column);
        return true;
    }
};

#endif
