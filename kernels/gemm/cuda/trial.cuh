// SPDX-License-Identifier: Apache-2.0
//
// Rows of kernels on trial: as in space.cuh, the trials (config.cuh) at the end of the name, as in
// bf16-64x128-w1x1-c1x1-s8-e2-m8-coop-ready.
#ifndef PLUMB_TRIAL_CUH
#define PLUMB_TRIAL_CUH

#include "space.cuh"

constexpr int plain = 0, maps = all_maps, first = maps | first_loads, ready = first | rehearse,
              firstspare = first | spare, readyskew = ready | skewed, readywide = ready | deep,
              wide = maps | deep, wideskew = wide | skewed, wider = maps | deeper,
              mapsready = maps | rehearse, evict = maps | evict_first,
              firststamps = first | spare | stamped, readystamps = ready | stamped,
              readytwo = ready | two_parts, two = maps | two_parts;

template <class type, int bm, int bn, int wm, int wn, int cm, int cn, mode how, int ring,
          int trials>
using trial_config = config<type, bm, bn, wm, wn, cm, cn, how == pingpong, how == promote,
                            how == twin ? 2 : 1, ring, trials>;

#define TRIAL(trial, type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)               \
    space_row<trial_config<type, bm, bn, wm, wn, cm, cn, how, ring, trial>, stages,                \
              raster_##raster, group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn      \
                                            "-s" #stages "-e" #ring "-" #raster #group "-" #how    \
                                            "-" #trial),

#define TRIAL_SPLIT(trial, type, bm, bn, wm, wn, split, stages, raster, group, how)                \
    split_row<trial_config<type, bm, bn, wm, wn, 1, 1, how, 2, trial>, split, stages,              \
              raster_##raster, group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-k" #split           \
                                            "-s" #stages "-" #raster #group "-" #how               \
                                            "-split-" #trial),

#define TRIAL_STREAM(trial, type, bm, bn, wm, wn, cm, cn, stages, ring, raster, group, how)        \
    stream_row<trial_config<type, bm, bn, wm, wn, cm, cn, how, ring, trial>, stages,               \
               raster_##raster, group>(#type "-" #bm "x" #bn "-w" #wm "x" #wn "-c" #cm "x" #cn     \
                                             "-s" #stages "-e" #ring "-" #raster #group "-" #how   \
                                             "-stream-" #trial),

#endif
