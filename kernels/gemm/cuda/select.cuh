// SPDX-License-Identifier: Apache-2.0
//
// Selector kernels: one name, a table of configurations, and per problem the one that a small cost
// model ranks first, with no trial run. A configuration c takes, in SM cycles,
//
//   compute = launch_c + waves * (slabs * slab_c + tile_c)
//   memory  = 0.8 * launch_c + bytes / bandwidth * max(1, 110 / busy SMs)
//   time    = (compute^6 + memory^6)^(1/6), a maximum with a soft corner
//
// waves = tiles / resident blocks, rounded up; slabs = 128-byte slabs of K, a split's share of
// them; bytes = A + B + C once. slab_c, tile_c and launch_c are fitted (least squares on relative
// error, none negative) to cold times at random shapes that are none of those selectors are judged
// by: see baselines/recorded/h200/. launch_c includes the events' own overhead.
//
// At 110 busy SMs reads reach 4.1 TB/s; below that each SM has its share (measured on the H200).
#ifndef PLUMB_SELECT_CUH
#define PLUMB_SELECT_CUH

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "space.cuh"

struct candidate {
    plumb_kernel row;
    float slab, tile, launch; // cycles
};

constexpr double nominal_hz = 1.75e9, read_bytes_per_s = 4.1e12, saturating_sms = 110;
// Clusters of four leave some SMs of a GPC over: 28 of them are resident on 132 SMs.
constexpr int quads_resident = 28;

inline int count_sms()
{
    int device = 0, sms = 132;
    if (cudaGetDevice(&device) == cudaSuccess)
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    return sms;
}

inline double cost_cycles(const candidate &c, const plumb_problem &p, int sms)
{
    const plumb_traits &t = c.row.traits;
    const int cluster = t.cluster_m * t.cluster_n, split = t.split_k;
    const int in = t.in_type == PLUMB_TF32 ? 4 : t.in_type == PLUMB_E4M3 ? 1 : 2;
    const int out = t.out_type == PLUMB_FP32 ? 4 : 2;
    const int tiles = ceil_div(p.m, t.tile_m * t.cluster_m) * ceil_div(p.n, t.tile_n * t.cluster_n);
    const int resident = split == 4 ? sms * quads_resident / 132 : sms / (cluster * split);
    const int waves = ceil_div(tiles, resident), slabs = ceil_div(ceil_div(p.k, t.tile_k), split);
    const int busy = (tiles < resident ? tiles : resident) * cluster * split;
    const double bytes = (double)(p.m + p.n) * p.k * in + (double)p.m * p.n * out;
    const double compute = c.launch + (double)waves * ((double)slabs * c.slab + c.tile);
    const double share = busy < saturating_sms ? saturating_sms / busy : 1;
    const double memory = 0.8 * c.launch + bytes / read_bytes_per_s * nominal_hz * share;
    return pow(pow(compute, 6) + pow(memory, 6), 1.0 / 6);
}

// The cheapest candidate for the problem, NULL if none can do it.
template <int count>
static const candidate *select_candidate(const candidate (&candidates)[count],
                                         const plumb_problem &problem)
{
    static const int sms = count_sms();
    const candidate *best = nullptr;
    double least = INFINITY;
    for (const candidate &c : candidates) {
        const double cycles = c.row.supports(&problem) ? cost_cycles(c, problem, sms) : INFINITY;
        if (cycles < least) {
            least = cycles;
            best = &c;
        }
    }
    return best;
}

// The selector's own row: its traits say only what all candidates share.
constexpr plumb_traits selector_traits(plumb_dtype in, plumb_dtype out)
{
    plumb_traits t = {};
    t.in_type = in;
    t.out_type = out;
    t.acc_type = PLUMB_FP32;
    t.blocks_per_sm = 1;
    return t;
}

// Writes the chosen configuration's name into the note; a pinned note must be the same choice.
template <int count>
int prepare_selector(const candidate (&candidates)[count], const plumb_args *args, const char *pin,
                     char *note, size_t note_size)
{
    const candidate *c = select_candidate(candidates, args->problem);
    if (!c || (pin && strcmp(pin, c->row.name)))
        return cudaErrorInvalidValue;
    snprintf(note, note_size, "%s", c->row.name);
    return 0;
}

#endif
