// SPDX-License-Identifier: Apache-2.0
//
// Which output tile a persistent block works on next. Blocks that run at the same time should share
// rows of A and rows of B, so that L2 serves most loads: `group` tile rows (or columns) are walked
// together, one column (row) after the other.
#ifndef PLUMB_SCHEDULE_CUH
#define PLUMB_SCHEDULE_CUH

#include "../../kernel.h"
#include "ptx.cuh"

struct schedule {
    int raster; // enum plumb_raster
    int group;  // tile rows (RASTER_M) or columns (RASTER_N) walked together; clusters count as one
    int stages; // K slabs in flight
};

struct tile_grid {
    int rows, columns; // in clusters' tiles
    int raster, group;
};

struct tile {
    int row, column;
};

// The index-th tile when bands of `group` lines across `lines` are walked, each `length` long.
DEVICE tile banded_tile(int index, int lines, int length, int group)
{
    const int band = index / (group * length);
    const int first = band * group;
    const int width = min(group, lines - first);
    const int within = index - band * group * length;
    return {first + within % width, within / width};
}

// Hilbert's curve over a square of 2^order, distance to position.
DEVICE tile hilbert_position(int index, int order)
{
    int x = 0, y = 0;
    for (int side = 1; side < (1 << order); side *= 2) {
        const int turn_x = 1 & (index / 2);
        const int turn_y = 1 & (index ^ turn_x);
        if (turn_y == 0) {
            if (turn_x == 1) {
                x = side - 1 - x;
                y = side - 1 - y;
            }
            const int swap = x;
            x = y;
            y = swap;
        }
        x += side * turn_x;
        y += side * turn_y;
        index /= 4;
    }
    return {y, x};
}

// Hilbert's curve in squares of 16 x 16 tiles where a whole square fits, bands elsewhere: the squares
// lie in bands of 16 rows; the remainders of a band follow its squares.
DEVICE tile hilbert_tile(int index, const tile_grid &grid)
{
    constexpr int order = 4, side = 1 << order;
    const int band = index / (side * grid.columns);
    const int first = band * side;
    const int height = min(side, grid.rows - first);
    const int within = index - band * side * grid.columns;
    const int squares = height == side ? grid.columns / side : 0;
    if (within < squares * side * side) {
        const tile t = hilbert_position(within % (side * side), order);
        return {first + t.row, within / (side * side) * side + t.column};
    }
    const int rest = within - squares * side * side;
    return {first + rest % height, squares * side + rest / height};
}

DEVICE tile tile_at(int index, const tile_grid &grid)
{
    if (grid.raster == PLUMB_RASTER_M)
        return banded_tile(index, grid.rows, grid.columns, grid.group);
    if (grid.raster == PLUMB_RASTER_N) {
        const tile t = banded_tile(index, grid.columns, grid.rows, grid.group);
        return {t.column, t.row};
    }
    return hilbert_tile(index, grid);
}

#endif
