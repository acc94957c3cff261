// SPDX-License-Identifier: Apache-2.0
//
// A slab copied word by word lies where the matrix instruction reads it, ragged rows of C are
// stored whole, and only products are done so for which that was faster.
#include "kernels/gemm/cuda/odd_k/copies.h"
#include "tests/helpers/test.h"

#include <string.h>

enum { ROWS = 128, WORDS = 32 };

// Warp w of four copies rows w, w + 4, ..., of which every second has the same place among eight.
TEST(test_every_word_has_its_place)
{
    static int times[ROWS * WORDS];
    memset(times, 0, sizeof times);
    for (uint32_t warp = 0; warp < 4; warp++)
        for (uint32_t lane = 0; lane < WORDS; lane++) {
            const uint32_t even = loose_place(warp, lane), odd = loose_place(warp + 4, lane) - 512;
            for (uint32_t j = 0; j < ROWS / 4; j++) {
                const uint32_t at = j * 512 + (j % 2 ? odd : even), row = warp + 4 * j;
                // What the instruction takes for chunk lane / 4 of the row (128-byte swizzle: bits
                // 4 to 6 of the address by its bits 7 to 9).
                const uint32_t plain = row * 128 + lane * 4;
                assert_int_equal(at, plain ^ (plain >> 7 & 7) << 4);
                times[at / 4]++;
            }
        }
    for (int i = 0; i < ROWS * WORDS; i++)
        assert_int_equal(times[i], 1);
}

// Whole lines of C are worth their own kernel where writing C takes the time: a K of one slab of
// BF16 or two of FP32, and a C of a megabyte and more.
TEST(a_large_c_beside_a_short_k_may_be_written_in_whole_lines)
{
    assert_true(may_take_sheet(2816, 15108, 24, 2));
    assert_true(may_take_sheet(2816, 15108, 64, 2));
    assert_false(may_take_sheet(2816, 15108, 65, 2));
    assert_true(may_take_sheet(2816, 15108, 64, 4));
    assert_false(may_take_sheet(2816, 15108, 65, 4));
    assert_false(may_take_sheet(63, 151080, 24, 2)); // less than a warpgroup's rows
    assert_false(may_take_sheet(128, 1024, 24, 2));
    assert_false(may_take_sheet(1 << 20, 127, 24, 2));
}

// At most three slabs of K, in so many tiles as were measured.
TEST(test_a_short_k_is_loaded_at_once)
{
    for (int bytes = 2; bytes <= 4; bytes += 2)
        for (int m = 1; m < 9000; m += 1 + m / 9)
            for (int n = 1; n < 20000; n += 1 + n / 7)
                for (int k = 1; k < 400; k += 1 + k / 5) {
                    const int columns = short_columns(m, n, k, bytes);
                    if (columns == 0)
                        continue;
                    assert_true(columns == 64 || columns == 128);
                    assert_true(k * bytes <= 384);
                    const int tiles = (m + 63) / 64 * ((n + 127) / 128);
                    assert_true(tiles <= 768 || (tiles <= 40000 && k <= 33 && n * bytes % 16 != 0));
                    assert_true(n * bytes % 16 == 0 || bytes == 2 || columns == 64);
                }
    assert_int_equal(short_columns(300, 4096, 7, 4), 64);
    assert_int_equal(short_columns(2048, 2048, 91, 2), 128);
    assert_int_equal(short_columns(2000, 3000, 5, 2), 64);
    assert_int_equal(short_columns(300, 4096, 97, 4), 0);
    // Ragged rows of C.
    assert_int_equal(short_columns(1009, 1013, 1, 2), 128);
    assert_int_equal(short_columns(1009, 1013, 191, 2), 128);
    assert_int_equal(short_columns(64, 4099, 63, 2), 64);
    assert_int_equal(short_columns(2001, 3001, 5, 2), 128);
    assert_int_equal(short_columns(1009, 1013, 33, 4), 64);
    assert_int_equal(short_columns(1009, 1013, 97, 4), 0);
    assert_int_equal(short_columns(4001, 5003, 33, 2), 128);
    assert_int_equal(short_columns(12000, 12001, 33, 2), 128);
    assert_int_equal(short_columns(4001, 5003, 34, 2), 0);
    assert_int_equal(short_columns(4001, 5000, 33, 2), 0);
}

// Blocks of outer.cuh: every element of C in one block's part of one row, whatever its rows begin
// at (outer_gemm() in outer.cuh), and at least two blocks for each SM where there are so many rows.
TEST(test_the_blocks_of_an_outer_product_hold_every_row_once)
{
    static const int edges[] = {16, 17, 300, 517, 1009, 2048, 4001, 6000};
    for (int bytes = 2; bytes <= 4; bytes += 2)
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            for (int n = 500; n < 9000; n += 1 + n / 5)
                for (int k = 1; k <= most_outer_k; k += 3) {
                    const int columns = 16 / bytes, m = edges[i];
                    const int rows = outer_rows(m, n, k, bytes);
                    assert_true(rows == 8 || rows == 16 || rows == 32 || rows == 64);
                    const int chunks = (m + rows * columns - 1) / (rows * columns);
                    assert_true(chunks * rows * columns >= m);
                    const int parts = (n + 2 * columns - 2) / columns;
                    for (int group = 0; group < columns; group++) {
                        const int off = group * (n % columns) % columns;
                        // Its first row's vectors lie at multiples of 16 bytes, and reach its end.
                        assert_int_equal((group * n - off) % columns, 0);
                        assert_true(parts * columns - off >= n);
                    }
                    assert_true(rows == 8 ||
                                columns * ((n + 128 * columns - 1) / (128 * columns)) * chunks >=
                                    256);
                }
}

// Where it was measured to be faster, and where not.
TEST(test_an_outer_product_is_for_a_large_c)
{
    assert_true(takes_outer(6000, 6001, 2, 2) && takes_outer(6000, 6001, 16, 2));
    assert_true(takes_outer(6000, 6001, 2, 4) && takes_outer(8192, 8192, 7, 4));
    assert_true(takes_outer(8192, 8192, 8, 2) && !takes_outer(8192, 8192, 9, 2));
    assert_true(!takes_outer(8192, 8192, 8, 4) && !takes_outer(6000, 6001, 17, 2));
    assert_true(takes_outer(2001, 3001, 9, 2) && !takes_outer(2001, 3001, 11, 2));
    assert_true(takes_outer(1009, 1013, 1, 2) && !takes_outer(1009, 1013, 2, 2));
    // Blocks would write little of a row, or there would be few.
    assert_true(!takes_outer(6000000, 3, 2, 2) && !takes_outer(9, 60000, 2, 4));
}

// A K of whole 16 bytes too, where slabs of the copy engine are slower.
TEST(test_words_are_loaded_beside_ragged_rows_and_where_k_is_tiny)
{
    assert_true(loads_words(2001, 3001, 32, 2) && !loads_words(2001, 3001, 40, 2));
    assert_true(loads_words(1000, 1000, 8, 2) && !loads_words(1000, 1000, 16, 2));
    assert_true(loads_words(300, 4096, 12, 4) && !loads_words(300, 4096, 16, 4));
    assert_true(!loads_words(1, 3001, 8, 2));
}

// A trial has at least the way that is taken without one, and none that cannot do the product.
TEST(test_what_a_trial_has_of_a_short_k)
{
    for (int bytes = 2; bytes <= 4; bytes += 2)
        for (int m = 2; m < 9000; m += 1 + m / 9)
            for (int n = 1; n < 20000; n += 1 + n / 7)
                for (int k = 1; k < 400; k += 1 + k / 5) {
                    const int whole = k * bytes % 16 == 0;
                    const int outer = may_take_outer(m, n, k, bytes);
                    const int words = may_take_short(m, n, k, bytes);
                    assert_true(outer || !takes_outer(m, n, k, bytes));
                    assert_true(words || !short_columns(m, n, k, bytes) ||
                                (whole && !loads_words(m, n, k, bytes)));
                    assert_true(!outer || k <= most_outer_k);
                    assert_true(!words || k * bytes <= 384);
                }
    // No ragged row, and a K that the copy engine loads sooner.
    assert_true(may_take_short(4096, 4096, 24, 2) && !may_take_short(4096, 4096, 40, 2));
    assert_true(may_take_outer(4096, 4096, 8, 2) && !takes_outer(4096, 4096, 8, 2));
}

// Each element once, and words at their multiples.
TEST(test_a_ragged_row_is_stored_whole)
{
    for (int64_t begin = 0; begin < 5; begin++)
        for (int32_t left = -3; left <= 128; left++) {
            const struct loose_part part = loose_part_of(begin, left);
            assert_true(part.head >= 0 && part.head <= 1 && part.tail >= 0 && part.tail <= 1);
            assert_true(part.words >= 0);
            assert_int_equal(part.head + 2 * part.words + part.tail, left > 0 ? left : 0);
            assert_true(part.words == 0 || (begin + part.head) % 2 == 0);
        }
}
