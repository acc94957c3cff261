// SPDX-License-Identifier: Apache-2.0
//
// The configuration space: the persistent kernel as rows of a kernel table. A row's name says all
// of it: type-tile-warpgroups-cluster-stages-epilogue pieces-raster-mode, as in
// bf16-128x256-w2x1-c2x1-s4-e2-m8-coop.
//
// Stages and rasterisation are run-time arguments, so rows that differ in these alone share machine
// code and cost no build time. Modules of many kernels are for sweeps, not for gates: code that is
// not run still moves a kernel's time by up to 0.4 %.
#ifndef PLUMB_SPACE_CUH
#define PLUMB_SPACE_CUH

#include "brief.cuh"
#include "gemv.cuh"
#include "split.cuh"
#include "spread.cuh"
#include "streamk.cuh"

enum mode {
    coop,         // the warpgroups share a tile
    pingpong,     // they take turns at tiles
    twin,         // cooperative, two blocks per SM
    wide,         // cooperative, stages of 256 bytes of each row, not 128
    promote,      // cooperative, FP8 sums promoted every 128 of K
    promote_twin, // the same, two blocks per SM
    held,         // cooperative, results in other registers where two sets of sums would fit
};

constexpr int raster_m = PLUMB_RASTER_M, raster_n = PLUMB_RASTER_N, raster_h = PLUMB_RASTER_HILBERT;

constexpr tiling in_mode(mode how, tiling t)
{
    t.pingpong = how == pingpong;
    t.promote = how == promote || how == promote_twin;
    t.blocks_per_sm = how == twin || how == promote_twin ? 2 : 1;
    t.boxes = how == wide ? 2 : 1;
    return t;
}

#define SPACE_CONFIG(type, bm, bn, wm, wn, cm, cn, how, ring)                                      \
    tiled<type, in_mode(how, {.tile_m = bm,                                                        \
                              .tile_n = bn,                                                        \
                              .groups_m = wm,                                                      \
                              .groups_n = wn,                                                      \
                              .cluster_m = cm,                                                     \
                              .cluster_n = cn,                                                     \
                              .pieces = ring})>

template <class c, int stages, int raster, int group>
constexpr plumb_kernel space_row(const char *name)
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            "persistent, warp-specialised",
            persistent_traits<c>(stages, raster, group),
            supports_tn<typename c::type, c::dual>,
            nullptr,
            nullptr,
            launch_row<c, stages, raster, group>};
}

// Raster is m, n or h.
#define ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                        \
    space_row<SPACE_CONFIG(type, bm, bn, wm, wn, cm, cn, how, ring), stages, raster_##raster,      \
              group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages          \
                           "-e" #ring "-" #raster #group "-" #how)

template <class c, int split, int stages, int raster, int group>
constexpr plumb_kernel split_row(const char *name)
{
    static_assert(stages >= split_layout<c, split>::least_stages &&
                      stages <= split_layout<c, split>::most_stages(),
                  "stages do not fit shared memory, or partial sums not the stages");
    return {name,
            "split-K over a cluster's shared memory",
            split_traits<c, split>(stages, raster, group),
            supports_split<c, split>,
            nullptr,
            nullptr,
            launch_split_row<c, split, stages, raster, group>};
}

#define SPLIT_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                              \
    split_row<SPACE_CONFIG(type, bm, bn, wm, wn, 1, 1, coop, 2), split, stages, raster_##raster,   \
              group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages               \
                           "-" #raster #group "-split")

#define SPLIT_PROMOTED_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                     \
    split_row<SPACE_CONFIG(type, bm, bn, wm, wn, 1, 1, promote, 2), split, stages,                 \
              raster_##raster, group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split           \
                                            "-s" #stages "-" #raster #group "-promote-split")

template <class c, int stages, int raster, int group>
constexpr plumb_kernel stream_row(const char *name)
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            "stream-K over the workspace",
            stream_traits<c>(stages, raster, group),
            supports_stream<c>,
            stream_workspace<c>,
            nullptr,
            launch_stream_row<c, stages, raster, group>};
}

#define STREAM_ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                 \
    stream_row<SPACE_CONFIG(type, bm, bn, wm, wn, cm, cn, how, ring), stages, raster_##raster,     \
               group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages         \
                            "-e" #ring "-" #raster #group "-" #how "-stream")

template <class c, int stages, int raster, int group>
constexpr plumb_kernel brief_row(const char *name)
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            "one tile per block, soon begun",
            brief_traits<c>(stages, raster, group),
            supports_brief<c>,
            nullptr,
            nullptr,
            launch_brief_row<c, stages, raster, group>};
}

#define BRIEF_ROW(type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)                  \
    brief_row<SPACE_CONFIG(type, bm, bn, wm, wn, cm, cn, how, ring), stages, raster_##raster,      \
              group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages          \
                           "-e" #ring "-" #raster #group "-" #how "-brief")

template <class c, int stages, int raster, int group>
constexpr plumb_kernel spread_row(const char *name)
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {name,
            "K spread over all SMs, through the workspace",
            spread_traits<c>(stages, raster, group),
            supports_spread<c>,
            spread_workspace<c>,
            nullptr,
            launch_spread_row<c, stages, raster, group>};
}

#define SPREAD_ROW(type, bm, bn, wm, wn, stages, raster, group, how)                               \
    spread_row<SPACE_CONFIG(type, bm, bn, wm, wn, 1, 1, how, 2), stages, raster_##raster, group>(  \
        #type "-" #bm "x" #bn "-w" #wm "x" #wn "-s" #stages "-" #raster #group "-" #how "-spread")

// Swapped operands (transposed.cuh). Numbers and names are in C's own rows and columns, as the
// others'; the kernel has them the other way round.
constexpr int turned_m = raster_n, turned_n = raster_m, turned_h = raster_h;

#define SWAPPED_CONFIG(type, bm, bn, wm, wn, cm, cn, how)                                          \
    tiled<type, in_mode(how, {.tile_m = bn,                                                        \
                              .tile_n = bm,                                                        \
                              .groups_m = wn,                                                      \
                              .groups_n = wm,                                                      \
                              .cluster_m = cn,                                                     \
                              .cluster_n = cm,                                                     \
                              .swapped = true})>

#define SWAPPED_ROW(type, bm, bn, wm, wn, cm, cn, stages, raster, group, how)                      \
    space_row<SWAPPED_CONFIG(type, bm, bn, wm, wn, cm, cn, how), stages, turned_##raster, group>(  \
        #type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn "-s" #stages "-" #raster #group    \
              "-" #how "-swapped")

#define SWAPPED_SPLIT_ROW(type, bm, bn, wm, wn, split, stages, raster, group)                      \
    split_row<SWAPPED_CONFIG(type, bm, bn, wm, wn, 1, 1, coop), split, stages, turned_##raster,    \
              group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages               \
                           "-" #raster #group "-swapped-split")

#define SWAPPED_SPLIT_PROMOTED_ROW(type, bm, bn, wm, wn, split, stages, raster, group)             \
    split_row<SWAPPED_CONFIG(type, bm, bn, wm, wn, 1, 1, promote), split, stages, turned_##raster, \
              group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split "-s" #stages               \
                           "-" #raster #group "-promote-swapped-split")

#define SWAPPED_SPREAD_ROW(type, bm, bn, wm, wn, stages, raster, group, how)                       \
    spread_row<SWAPPED_CONFIG(type, bm, bn, wm, wn, 1, 1, how), stages, turned_##raster, group>(   \
        #type "-" #bm "x" #bn "-w" #wm "x" #wn "-s" #stages "-" #raster #group "-" #how            \
              "-swapped-spread")

// m = 1. In FP8 its sums are FP32 throughout, so it stands among the promoted kernels too.
#define GEMV_ROW(type)          gemv_row<type>(#type "-gemv", 0)
#define GEMV_PROMOTED_ROW(type) gemv_row<type>(#type "-gemv-promote", 1)

#define PLUMB_TABLE(rows)                                                                          \
    PLUMB_EXPORT const struct plumb_library *plumb_library(void)                                   \
    {                                                                                              \
        static const struct plumb_library library = {                                              \
            PLUMB_ABI_VERSION, (uint32_t)sizeof(struct plumb_kernel), "cuda",                      \
            (uint32_t)(sizeof(rows) / sizeof *(rows)), rows};                                      \
        return &library;                                                                           \
    }

#endif
