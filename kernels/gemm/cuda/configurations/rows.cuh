// SPDX-License-Identifier: Apache-2.0
//
// The configuration space: kernels as rows of a table. A row's name states everything about it:
// type-tile-warpgroups-cluster-stages-pieces-raster-mode, as in
// bf16-128x256-w2x1-c2x1-s4-e2-m8-coop. This file parses such names at compile time; the tables are
// bf16.h and the others beside it.
//
//   128x256     rows and columns of C that a block computes
//   w2x1        consumer warpgroups that divide them
//   c2x1        blocks of a cluster, which share their loads
//   k4          blocks of a cluster that divide K
//   s4          stages of the ring
//   e2          pieces of C that a warp stages, 2 KiB each
//   m8          order of the tiles, in bands of eight: m, n or h (Hilbert's curve)
//   coop        the warpgroups share a tile
//   pingpong    the warpgroups take turns at tiles
//   twin        coop, two blocks per SM
//   wide        coop, stages of 256 bytes of each row instead of 128
//   promote     coop, FP8 sums promoted every 128 of K; promote_twin: two blocks per SM
//   scaled      promote, with block scales; twin_scaled: two blocks per SM
//   split       K divided over a cluster (split/cluster.cuh)
//   stream      K in equal shares (split/stream.cuh)
//   spread      K divided over all SMs (split/device.cuh)
//   brief       one tile per block, begun early (small/tile_per_block.cuh)
//   gemv        m = 1 (small/gemv.cuh)
//   swapped     operands exchanged; the name still has C's own rows and columns
//   dual        two products (dual/dual.cuh); the tile is C's
//
// The flags TYPE and TABLE of a module say which table it compiles: bf16, bf16_dual.
//
// Stages and order are run-time arguments, so rows that differ only in these share machine code.
// plumb reads such names without a compiler, too (model/predict/parts/space_name.c).
#ifndef PLUMB_GEMM_CONFIGURATIONS_ROWS_CUH
#define PLUMB_GEMM_CONFIGURATIONS_ROWS_CUH

#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../dual/dual.cuh"
#include "../scaled/scaled.cuh"
#include "../small/gemv.cuh"
#include "../small/tile_per_block.cuh"
#include "../split/cluster.cuh"
#include "../split/device.cuh"
#include "../split/stream.cuh"
#include "cost.h"

enum class way { persistent, split, stream, spread, brief, gemv };

struct configuration {
    tiling t = {};
    int stages = 0, split = 1, raster = PLUMB_RASTER_M, group = 1;
    way how = way::persistent;
    bool dual = false, scaled = false;
};

constexpr int take_number(std::string_view &text)
{
    int number = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
        number = 10 * number + (text[0] - '0');
    return number;
}

// "128x256"
constexpr void take_pair(std::string_view &text, int &first, int &second)
{
    first = take_number(text);
    text.remove_prefix(1);
    second = take_number(text);
}

// Reads a part of the name that is a letter and a number.
constexpr void read_number(configuration &c, std::string_view part)
{
    const char letter = part[0];
    part.remove_prefix(1);
    if (letter == 'w')
        take_pair(part, c.t.groups_m, c.t.groups_n);
    else if (letter == 'c')
        take_pair(part, c.t.cluster_m, c.t.cluster_n);
    else if (letter == 'k')
        c.split = take_number(part);
    else if (letter == 's')
        c.stages = take_number(part);
    else if (letter == 'e')
        c.t.pieces = take_number(part);
    else {
        c.raster = letter == 'm'   ? PLUMB_RASTER_M
                   : letter == 'n' ? PLUMB_RASTER_N
                                   : PLUMB_RASTER_HILBERT;
        c.group = take_number(part);
    }
    if (!part.empty())
        throw "a part of a configuration's name is not a number";
}

constexpr void read_word(configuration &c, std::string_view word)
{
    constexpr std::string_view ways[] = {"coop", "split", "stream", "spread", "brief", "gemv"};
    c.scaled |= word == "scaled" || word == "twin_scaled";
    c.t.promote |= c.scaled || word == "promote" || word == "promote_twin";
    c.dual |= word == "dual";
    c.t.pingpong |= word == "pingpong";
    c.t.swapped |= word == "swapped";
    if (word == "twin" || word == "promote_twin" || word == "twin_scaled")
        c.t.blocks_per_sm = 2;
    else if (word == "wide")
        c.t.boxes = 2;
    for (int i = 1; i < 6; ++i)
        if (word == ways[i])
            c.how = (way)i;
}

constexpr configuration read_configuration(std::string_view name)
{
    configuration c;
    name.remove_prefix(name.find('-')); // the type
    while (!name.empty()) {
        const std::string_view part = name.substr(1, name.substr(1).find('-'));
        std::string_view tile = part;
        if (part[0] >= '0' && part[0] <= '9')
            take_pair(tile, c.t.tile_m, c.t.tile_n);
        else if (part.size() > 1 && part[1] >= '0' && part[1] <= '9')
            read_number(c, part);
        else
            read_word(c, part);
        name.remove_prefix(1 + part.size());
    }
    if (c.dual)
        c.t.tile_n *= 2;
    if (c.t.swapped) { // the kernel has rows and columns the other way round
        std::swap(c.t.tile_m, c.t.tile_n);
        std::swap(c.t.groups_m, c.t.groups_n);
        std::swap(c.t.cluster_m, c.t.cluster_n);
        c.raster = c.raster == PLUMB_RASTER_M   ? PLUMB_RASTER_N
                   : c.raster == PLUMB_RASTER_N ? PLUMB_RASTER_M
                                                : c.raster;
    }
    return c;
}

// Sections of a table; a module may compile only some of them.
enum section { large = 1, small = 2, few = 4, swapped = 8 };

constexpr int section_of(const configuration &c)
{
    const int area = c.t.tile_m * c.t.tile_n;
    return c.t.swapped                          ? swapped
           : c.how != way::persistent           ? few
           : area >= 128 * 144 && !c.t.pingpong ? large
                                                : small;
}

// ---- the table ----

#define PLUMB_STRING_(x) #x
#define PLUMB_STRING(x)  PLUMB_STRING_(x)

#define TRY(...)       ROW(__VA_ARGS__)
#define ROW(name, ...) PLUMB_STRING(TYPE) "-" name,
static constexpr const char *row_names[] = {
#include PLUMB_STRING(TABLE.h)
};
#undef ROW

// A row of zeros: no selector has the row.
#define ROW(name, ...) {__VA_ARGS__},
static constexpr plumb_cost row_costs[] = {
#include PLUMB_STRING(TABLE.h)
};
#undef ROW
#undef TRY

// Whether the model alone may choose the row. If its costs are too inaccurate for that, a trial may
// still choose it.
#define ROW(name, ...) true,
#define TRY(name, ...) false,
static constexpr bool row_is_trusted[] = {
#include PLUMB_STRING(TABLE.h)
};
#undef ROW
#undef TRY
constexpr int row_count = sizeof row_names / sizeof *row_names;

template <int i> struct row_at {
    static constexpr configuration is = read_configuration(row_names[i]);
    using plain = tiled<TYPE, is.t>;
    using dual = dual_config<plain, is.how == way::split>;
    using scaled = block_scaled_config<plain>;
    using config = std::conditional_t<is.dual, dual, std::conditional_t<is.scaled, scaled, plain>>;
};

// Makes the row. A row with block scales takes them in place of the scales of whole tensors.
template <int i> constexpr plumb_kernel plain_row()
{
    constexpr configuration is = row_at<i>::is;
    using c = typename row_at<i>::config;
    constexpr const char *name = row_names[i];
    if constexpr (is.how == way::gemv)
        return gemv_row<TYPE, is.dual>(name, is.t.promote);
    else if constexpr (is.how == way::split)
        return split_row<c, is.split, is.stages, is.raster, is.group>(name);
    else if constexpr (is.how == way::stream)
        return stream_row<c, is.stages, is.raster, is.group>(name);
    else if constexpr (is.how == way::spread)
        return spread_row<c, is.stages, is.raster, is.group>(name);
    else if constexpr (is.how == way::brief)
        return brief_row<c, is.stages, is.raster, is.group>(name);
    else
        return persistent_row<c, is.stages, is.raster, is.group>(name);
}

// The row as a module exports it: a plumb_form_kernel with block scales, else a plumb_kernel.
template <int i> constexpr auto make_row()
{
    constexpr plumb_kernel row = plain_row<i>();
    if constexpr (row_at<i>::is.scaled)
        return scaled_form<row.supports, row.launch>(row);
    else
        return row;
}
using row_type = std::conditional_t<row_at<0>::is.scaled, plumb_form_kernel, plumb_kernel>;

template <size_t i> using row_number = std::integral_constant<int, (int)i>;

// An std::array of made(i) for the rows with wanted(i). Other rows are not compiled.
template <class element, class wish, class maker, size_t... all>
constexpr auto rows_that(wish wanted, maker made, std::index_sequence<all...>)
{
    std::array<element, (0 + ... + wanted(row_number<all>()))> rows = {};
    size_t count = 0;
    const auto add = [&](auto i) {
        if constexpr (wanted(i))
            rows[count++] = made(i);
    };
    (add(row_number<all>()), ...);
    return rows;
}

#endif
