// SPDX-License-Identifier: Apache-2.0
//
// Which rows of an output are held against what they were: all that are no group's, where that is
// little; of gigabytes a part that the seed draws, so that every row has its turn.
#include "kernels/bench/series_parts.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

TEST(all_rows_of_no_group_are_held_once)
{
    const struct problem p = helper_problem("300x136x64:bf16:contiguous3/30");
    struct untouched_chunk *chunks;
    int32_t rows[GROUPS_MOST];
    const int64_t stored = problem_stored_rows(&p);
    unsigned char *held = calloc((size_t)stored, 1);
    const size_t count = untouched_choose(&chunks, &p, stored, 272, 4, 1);
    for (size_t i = 0; i < count; i++) {
        assert_false(chunks[i].used);
        for (int64_t r = chunks[i].row; r < chunks[i].row + chunks[i].count; r++)
            held[r]++;
    }
    problem_group_rows(rows, &p);
    int64_t own = 0, at = 0;
    for (int32_t g = 0; g < p.groups.count; g++) {
        for (int64_t r = 0; r < rows[g]; r++)
            assert_int_equal(held[at + r], 0);
        own += rows[g];
        at += (rows[g] + GROUP_ALIGN - 1) / GROUP_ALIGN * GROUP_ALIGN;
    }
    int64_t others = 0;
    for (int64_t r = 0; r < stored; r++) {
        assert_true(held[r] <= 1);
        others += held[r];
    }
    assert_int_equal(own + others, stored);
    free(chunks);
    free(held);
}

// 32 groups of 20 rows in room for 4096 each: 1 GiB a set, of which 64 MiB in all are read.
TEST(gigabytes_are_held_in_part_and_each_row_has_its_turn)
{
    enum { SETS = 2, PITCH = 8192, SEEDS = 400 };
    const struct problem p = helper_problem("4096x4096x2048:bf16:masked32/20/30");
    const int64_t stored = problem_stored_rows(&p);
    const size_t places = (size_t)stored / UNTOUCHED_CHUNK + GROUPS_MOST;
    unsigned *times = calloc(places, sizeof(*times));
    size_t never = 0, edges = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct untouched_chunk *chunks;
        double bytes = 0;
        const size_t count = untouched_choose(&chunks, &p, stored, PITCH, SETS, seed);
        for (size_t i = 0; i < count; i++) {
            bytes += (double)chunks[i].count * PITCH * SETS;
            edges += chunks[i].row % p.m < 64;
            times[chunks[i].row / UNTOUCHED_CHUNK]++;
        }
        assert_true(bytes < 1.5 * UNTOUCHED_BYTES && bytes > 0.5 * UNTOUCHED_BYTES);
        free(chunks);
    }
    for (int64_t row = 64; row < stored; row += UNTOUCHED_CHUNK)
        never += times[row / UNTOUCHED_CHUNK] == 0;
    assert_true(never * 20 < (size_t)stored / UNTOUCHED_CHUNK);
    assert_int_equal(edges, 32 * SEEDS); // what a tile that is not cut off would write: always
    free(times);
}

TEST(gaps_between_rows_are_held_of_every_row)
{
    const struct problem p = helper_problem("100x40x64:fp32:ldc=48");
    struct untouched_chunk *chunks;
    assert_int_equal(untouched_choose(&chunks, &p, 100, 192, 2, 1), 2);
    assert_true(chunks[0].used && chunks[0].row == 0 && chunks[0].count == 64);
    assert_true(chunks[1].used && chunks[1].row == 64 && chunks[1].count == 36);
    free(chunks);
}

// ---- on the host ----

AROUND_ALL(host_set_up, host_tear_down);

// The row that is told of where a launch writes one byte at `at` of the output. -1: none.
static int64_t told_of(const char *text, size_t at)
{
    const struct problem p = helper_problem(text);
    struct buffers b;
    struct parts parts;
    struct untouched kept;
    struct error err;
    int64_t row = -2;
    parts_of(&parts, &p);
    if (buffers_open(&b, host, device, &p, &parts, 1, 0, &err) || buffers_poison(&b, &err) ||
        untouched_keep(&kept, &b, &err))
        fail_msg("%s: %s", text, err.text);
    ((unsigned char *)b.outputs[0])[at] ^= 1;
    if (untouched_hold(&row, &kept, &b, &err))
        fail_msg("%s: %s", text, err.text);
    buffers_free(&b);
    return row;
}

// Rows of 40 numbers, 48 apart.
TEST(a_byte_between_rows_is_told_of_by_its_row)
{
    const size_t pitch = 48 * 4;
    assert_int_equal(told_of("100x40x64:fp32:ldc=48", 70 * pitch + 40 * 4), 70);
    assert_int_equal(told_of("100x40x64:fp32:ldc=48", 0 * pitch + 47 * 4 + 3), 0);
    assert_int_equal(told_of("100x40x64:fp32:ldc=48", 70 * pitch + 39 * 4), -1); // the row's own
}

TEST(a_row_of_no_group_is_told_of)
{
    const struct problem p = helper_problem("300x136x64:bf16:contiguous3/30");
    int32_t rows[GROUPS_MOST];
    problem_group_rows(rows, &p);
    const size_t row_bytes = 136 * 2, behind = (size_t)rows[0];
    assert_true(rows[0] % GROUP_ALIGN != 0);
    assert_int_equal(told_of("300x136x64:bf16:contiguous3/30", behind * row_bytes), behind);
    assert_int_equal(told_of("300x136x64:bf16:contiguous3/30", (behind - 1) * row_bytes), -1);
}
