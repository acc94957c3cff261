// SPDX-License-Identifier: Apache-2.0
//
// The tiles of a grouped GEMM: whatever rows groups have, each row of each column of tiles is in
// one tile.
#include "kernels/gemm/cuda/grouped/groups.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

enum { GROUPS = 40 };

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// Where each group's tiles begin, as the kernel's first warp lays it down.
static void lay(int32_t *starts, const struct group_grid *g, const int32_t *rows)
{
    starts[0] = 0;
    for (int32_t i = 0; i < g->groups; i++)
        starts[i + 1] = starts[i] + group_tiles(g, rows[i]);
}

static struct group_tile at(const struct group_grid *g, const int32_t *starts, const int32_t *rows,
                            int32_t index)
{
    const int32_t group = group_of_tile(starts, g->groups, index);
    return group_tile_at(g, group, rows[group], index - starts[group]);
}

// How often each row of each column of tiles is in a tile, for groups of so many rows.
static void assert_each_once(const struct group_grid *g, const int32_t *rows)
{
    int32_t starts[GROUPS + 1], first[GROUPS + 1] = {0};
    for (int32_t i = 0; i < g->groups; i++)
        first[i + 1] = first[i] + rows[i];
    lay(starts, g, rows);
    const int32_t most_columns =
        g->few.columns > g->many.columns ? g->few.columns : g->many.columns;
    const size_t cells = (size_t)first[g->groups] * (size_t)most_columns;
    unsigned char *const seen = calloc(cells + 1, 1);
    assert_non_null(seen);
    for (int32_t index = 0; index < starts[g->groups]; index++) {
        const struct group_tile t = at(g, starts, rows, index);
        assert_in_range(t.group, 0, g->groups - 1);
        const struct group_cut *cut = rows[t.group] >= g->many_from ? &g->many : &g->few;
        assert_in_range(t.column, 0, cut->columns - 1);
        assert_in_range(t.rows, 1, cut->most);
        assert_in_range(t.width, t.rows, t.rows + cut->step - 1);
        assert_int_equal(t.width % cut->step, 0);
        assert_true(t.row >= 0 && t.row + t.rows <= rows[t.group]);
        for (int32_t r = 0; r < t.rows; r++)
            seen[(first[t.group] + t.row + r) * most_columns + t.column]++;
    }
    for (int32_t i = 0; i < g->groups; i++) {
        const int32_t columns = group_cut_of(g, rows[i])->columns;
        for (int32_t r = first[i]; r < first[i + 1]; r++) {
            for (int32_t c = 0; c < most_columns; c++)
                assert_int_equal(seen[r * most_columns + c], c < columns);
        }
    }
    free(seen);
}

TEST(every_row_is_in_one_tile_of_each_column)
{
    static const int32_t most[] = {16, 128, 176, 256}, bands[] = {1, 4, 8, 100};
    static const int32_t columns[] = {1, 2, 7, 56};
    uint64_t seed = 7;
    for (int32_t i = 0; i < 400; i++) {
        const struct group_grid g = {.groups = 1 + i % GROUPS,
                                     .few = {.columns = columns[i % 4],
                                             .most = most[i / 4 % 4],
                                             .step = 16,
                                             .band = bands[i / 16 % 4]},
                                     .many = {.columns = 2 * columns[i % 4],
                                              .most = 256,
                                              .step = 64,
                                              .band = bands[i / 16 % 4]},
                                     .many_from = i % 3 ? 65 : INT32_MAX};
        int32_t rows[GROUPS];
        for (int32_t j = 0; j < g.groups; j++) { // a third without rows, some with many
            const uint32_t kind = next(&seed) % 6;
            rows[j] = kind < 2 ? 0 : (int32_t)(next(&seed) % (kind < 5 ? 300 : 3000));
        }
        assert_each_once(&g, rows);
    }
}

TEST(groups_without_rows_have_no_tile)
{
    const struct group_grid g = {.groups = 5, .few = {3, 256, 16, 8}, .many_from = INT32_MAX};
    const int32_t rows[] = {0, 0, 17, 0, 256};
    int32_t starts[6];
    lay(starts, &g, rows);
    assert_int_equal(starts[5], 6);
    for (int32_t i = 0; i < 6; i++)
        assert_int_equal(at(&g, starts, rows, i).group, i < 3 ? 2 : 4);
}

// A group just over what a tile holds is two tiles of about the same height.
TEST(rows_are_divided_evenly)
{
    const struct group_grid g = {.groups = 1, .few = {1, 256, 16, 8}, .many_from = INT32_MAX};
    const struct group_tile first = group_tile_at(&g, 0, 300, 0);
    const struct group_tile second = group_tile_at(&g, 0, 300, 1);
    assert_int_equal(first.width, 160);
    assert_int_equal(second.row, 160);
    assert_int_equal(second.rows, 140);
    assert_int_equal(second.width, 144);
}

// Groups of many rows have larger steps, and columns of their own.
TEST(many_rows_are_cut_otherwise)
{
    const struct group_grid g = {
        .groups = 3, .few = {2, 128, 16, 8}, .many = {4, 256, 64, 8}, .many_from = 65};
    const int32_t rows[] = {64, 65, 300};
    int32_t starts[4];
    lay(starts, &g, rows);
    assert_int_equal(starts[1], 2); // one tile in each of two columns
    assert_int_equal(starts[2], 2 + 4);
    assert_int_equal(starts[3], 2 + 4 + 2 * 4);
    assert_int_equal(at(&g, starts, rows, 0).width, 64);
    assert_int_equal(at(&g, starts, rows, 2).width, 128);
    assert_int_equal(at(&g, starts, rows, 6).width, 192); // 300 in halves
    assert_int_equal(at(&g, starts, rows, 7).rows, 108);
    assert_int_equal(at(&g, starts, rows, 7).width, 128);
}

// Tiles that run at the same time should share rows of A and of B: of a band's, one column's come
// one after the other.
TEST(a_band_is_walked_column_by_column)
{
    const struct group_grid g = {.groups = 1, .few = {3, 16, 16, 4}, .many_from = INT32_MAX};
    static const int32_t rows[] = {0, 16, 32, 48, 0, 16, 32, 48, 0, 16, 32, 48, 64, 80, 64, 80};
    static const int32_t columns[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 1, 1};
    for (int32_t i = 0; i < 16; i++) {
        const struct group_tile t = group_tile_at(&g, 0, 96, i);
        assert_int_equal(t.row, rows[i]);
        assert_int_equal(t.column, columns[i]);
    }
}
