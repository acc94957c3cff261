// SPDX-License-Identifier: Apache-2.0
//
// Computes which part of a grouped GEMM a block works on next. It is C, so that tests can count the
// tiles without a GPU; grouped/grouped.cuh uses it. Only the device knows how many rows each group
// has, so each block finds its tiles itself: it computes once where each group's tiles begin among
// all tiles, and looks there for each tile that it takes.
//
// The rows of a group are divided evenly into as few tiles as hold at most `most` rows each. A
// tile's rows are then rounded up to a whole step of the matrix instruction's width (or height): a
// group of 300 rows is two tiles of 160 and 140 (144) rows, not 256 and 44. A group without rows
// has no tile.
#ifndef PLUMB_GEMM_GROUPED_GROUPS_H
#define PLUMB_GEMM_GROUPED_GROUPS_H

#include <stdint.h>

#ifdef __CUDACC__
#define GROUPS_INLINE static __host__ __device__ __forceinline__
#else
#define GROUPS_INLINE static inline
#endif

// How the rows of a group are divided among tiles.
struct group_cut {
    int32_t columns; // tiles across the columns of C
    int32_t most;    // largest number of rows of a tile, a multiple of step
    int32_t step;
    int32_t band; // tile rows of a group that are walked together, one column after the other
};

// Groups of many rows may be cut in another way than groups of few rows.
struct group_grid {
    int32_t groups;
    struct group_cut few, many;
    int32_t many_from; // number of rows from which on `many` applies; INT32_MAX: it applies
                       // to no group
};

struct group_tile {
    int32_t group, column; // column: counted in tiles
    int32_t row, rows;     // first row in the group; number of rows
    int32_t width;         // number of rows, rounded up to whole steps
};

GROUPS_INLINE int32_t group_parts(int32_t rows, int32_t most)
{
    return (rows + most - 1) / most;
}

GROUPS_INLINE const struct group_cut *group_cut_of(const struct group_grid *g, int32_t rows)
{
    return rows >= g->many_from ? &g->many : &g->few;
}

// The number of tiles of a group with so many rows.
GROUPS_INLINE int32_t group_tiles(const struct group_grid *g, int32_t rows)
{
    const struct group_cut *cut = group_cut_of(g, rows);
    return group_parts(rows, cut->most) * cut->columns;
}

// The group of tile `index`. starts[i] tiles come before those of group i; starts[groups] is the
// number of all tiles.
GROUPS_INLINE int32_t group_of_tile(const int32_t *starts, int32_t groups, int32_t index)
{
    int32_t low = 0, high = groups;
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (starts[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

// Computes tile `index` of group `group`, which has `rows` rows.
GROUPS_INLINE struct group_tile group_tile_at(const struct group_grid *grid, int32_t group,
                                              int32_t rows, int32_t index)
{
    const struct group_cut *g = group_cut_of(grid, rows);
    const int32_t parts = group_parts(rows, g->most);
    const int32_t each = (group_parts(rows, parts) + g->step - 1) / g->step * g->step;
    const int32_t band = index / (g->band * g->columns), first = band * g->band;
    const int32_t within = index - first * g->columns;
    const int32_t high = parts - first < g->band ? parts - first : g->band;
    const int32_t column = within / high;
    struct group_tile t;
    t.group = group;
    t.column = column;
    t.row = (first + within - column * high) * each;
    t.rows = rows - t.row < each ? rows - t.row : each;
    t.width = (t.rows + g->step - 1) / g->step * g->step;
    return t;
}

#endif
