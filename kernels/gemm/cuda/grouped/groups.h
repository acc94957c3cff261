// SPDX-License-Identifier: Apache-2.0
//
// Which part of a grouped GEMM a block works on next, in C, so that tests count the tiles where
// there is no GPU (grouped/grouped.cuh is what takes them). How many rows a group has is known on
// the device alone, so that each block finds its tiles itself: it lays down once where each group's
// tiles begin among all, and looks there for each tile it takes.
//
// A group's rows are divided evenly, into as few tiles as hold at most `most` rows each, and a
// tile's rows are rounded up to whole steps of what the matrix instruction can be wide (or high): a
// group of 300 is two tiles of 160 and 140 (144), not 256 and 44. A group without rows has no tile.
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
    int32_t most;    // rows of a tile, a multiple of step
    int32_t step;
    int32_t band; // tiles of a group's rows that are walked together, one column after the other
};

// Groups of many rows may be cut otherwise than those of few.
struct group_grid {
    int32_t groups;
    struct group_cut few, many;
    int32_t many_from; // rows; INT32_MAX: none is cut so
};

struct group_tile {
    int32_t group, column; // the latter counts tiles
    int32_t row, rows;     // of the group; those that are there
    int32_t width;         // rows in whole steps
};

GROUPS_INLINE int32_t group_parts(int32_t rows, int32_t most)
{
    return (rows + most - 1) / most;
}

GROUPS_INLINE const struct group_cut *group_cut_of(const struct group_grid *g, int32_t rows)
{
    return rows >= g->many_from ? &g->many : &g->few;
}

// Tiles of a group of so many rows.
GROUPS_INLINE int32_t group_tiles(const struct group_grid *g, int32_t rows)
{
    const struct group_cut *cut = group_cut_of(g, rows);
    return group_parts(rows, cut->most) * cut->columns;
}

// The group of tile `index`, where starts[i] tiles come before group i's and starts[groups] are
// all.
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

// Tile `index` of group `group`, which has so many rows.
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
