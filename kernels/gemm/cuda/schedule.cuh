// SPDX-License-Identifier: Apache-2.0
//
// Chooses the output tile that a persistent block computes next. Blocks that run at the same time
// should share rows of A and rows of B, so that L2 serves most loads. So `group` tile rows (or
// columns) form a band, which is walked one column (row) after the other; or squares of 16 x 16
// tiles are walked along Hilbert's curve.
//
// The host prepares every divisor, because a block divides before it can ask for its first byte:
// the hardware's integer division took 690 cycles, 3 % of a 20 us kernel.
#ifndef PLUMB_GEMM_SCHEDULE_CUH
#define PLUMB_GEMM_SCHEDULE_CUH

#include "../../kernel.h"
#include "ptx.cuh"

struct schedule {
    int raster; // enum plumb_raster
    int group;  // tile rows (RASTER_M) or columns (RASTER_N) in a band, counted in clusters
    int stages; // K slabs in flight
};

// Divides by multiplying: x / divisor = floor(x * magic / 2^64) with magic = floor(2^64 / divisor)
// + 1. This is exact for 32-bit x, because the error x / 2^64 is less than 1 / divisor. For a
// divisor of 1, magic is 0 and nothing is divided.
struct divider {
    uint64_t magic;
    int divisor;

    static divider by(int divisor)
    {
        return {divisor > 1 ? UINT64_MAX / divisor + 1 : 0, divisor};
    }
    DEVICE int quotient(int x) const
    {
        return magic ? (int)__umul64hi((uint64_t)x, magic) : x;
    }
};

constexpr int hilbert_order = 4, hilbert_side = 1 << hilbert_order;

struct tile_grid {
    int rows, columns, tiles;  // counted in tiles of a cluster
    int raster;                // enum plumb_raster
    int lines, length;         // across and along bands: rows and columns, or the reverse
    divider band, whole, last; // divide by the tiles of a band; by the lines of a whole band; by
                               // those of the last one
};

struct tile {
    int row, column;
};

inline tile_grid make_grid(int rows, int columns, int raster, int group)
{
    const bool by_columns = raster == PLUMB_RASTER_N;
    const int lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
    if (raster == PLUMB_RASTER_HILBERT)
        group = hilbert_side;
    if (group > lines)
        group = lines;
    const int last = lines % group ? lines % group : group;
    return {rows,
            columns,
            rows * columns,
            raster,
            lines,
            length,
            divider::by(group * length),
            divider::by(group),
            divider::by(last)};
}

// Converts a distance along Hilbert's curve over a square of hilbert_side tiles to a position.
DEVICE tile hilbert_position(int index)
{
    int x = 0, y = 0;
    for (int side = 1; side < hilbert_side; side *= 2) {
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

DEVICE tile tile_at(int index, const tile_grid &grid)
{
    constexpr int square = hilbert_side * hilbert_side;
    const int band = grid.band.quotient(index), first = band * grid.whole.divisor;
    const int within = index - band * grid.band.divisor;
    const bool whole = first + grid.whole.divisor <= grid.lines;
    if (grid.raster == PLUMB_RASTER_HILBERT && whole && grid.whole.divisor == hilbert_side &&
        within / square < grid.length / hilbert_side) [[unlikely]] {
        const tile t = hilbert_position(within % square);
        return {first + t.row, within / square * hilbert_side + t.column};
    }
    const int along = whole ? grid.whole.quotient(within) : grid.last.quotient(within);
    const int across = within - along * (whole ? grid.whole.divisor : grid.last.divisor);
    if (grid.raster == PLUMB_RASTER_N)
        return {along, first + across};
    return {first + across, along};
}

#endif
