// SPDX-License-Identifier: Apache-2.0
//
// Selector kernels: one name, a table of configurations with their costs (costs_*.cuh), and per
// problem the one that the cost model (cost.h) ranks first, with no trial run. A K that no
// configuration takes is padded first (padded.cuh), or read as it is: at m = 1 (gemv_ragged.cuh),
// where K is short (short.cuh; outer.cuh, whatever K's multiple), and in TF32 where rows are few
// (loose.cuh, shifted.cuh).
// About 100 tiles of BF16 with rows in the middle of sectors have a way of their own (allied.cuh).
#ifndef PLUMB_SELECT_CUH
#define PLUMB_SELECT_CUH

#include <stdio.h>
#include <string.h>

#include "allied.cuh"
#include "cost.h"
#include "gemv_ragged.cuh"
#include "loose.cuh"
#include "outer.cuh"
#include "shifted.cuh"
#include "short.cuh"
#include "space.cuh"

struct candidate {
    plumb_kernel row;
    plumb_cost cost;
};

static plumb_cost_device this_device()
{
    plumb_cost_device d = plumb_cost_h200;
    const int sms = count_sms();
    d.triples = count_clusters(3, d.triples * sms / d.sms);
    d.quads = count_clusters(4, d.quads * sms / d.sms);
    d.octets = count_clusters(8, d.octets * sms / d.sms);
    d.sixteens = count_clusters(16, 0); // not every device has them
    d.sms = sms;
    return d;
}

// The cheapest candidate for the problem, NULL if none can do it.
template <int count>
static const candidate *select_candidate(const candidate (&candidates)[count],
                                         const plumb_problem &problem)
{
    static const plumb_cost_device device = this_device();
    const candidate *best = nullptr;
    double least = INFINITY;
    for (const candidate &c : candidates) {
        if (!c.row.supports(&problem))
            continue;
        const double cycles = plumb_cost_cycles(&c.row.traits, &c.cost, &problem, &device);
        if (cycles < least) {
            least = cycles;
            best = &c;
        }
    }
    return best;
}

// Few blocks that share what they load, where sectors are what loading costs.
template <class type>
static constexpr ragged_way allied_ways[] = {
    {"allied-128x72", launch_allied_row<tiled<type, allied_tiling>, allied_stages>},
    {"allied-128x80", launch_allied_row<tiled<type, allied_wide_tiling>, allied_stages>}};

template <class type> static const ragged_way *find_allied(const plumb_problem &problem)
{
    if (takes_allied<tiled<type, allied_tiling>>(problem))
        return &allied_ways<type>[0];
    return takes_allied<tiled<type, allied_wide_tiling>>(problem) ? &allied_ways<type>[1] : nullptr;
}

// The way that takes the problem as it is; NULL: it is padded, or has no need of either.
template <class type> static const ragged_way *find_way(const plumb_problem &problem)
{
    if (problem.epilogue != PLUMB_NO_EPILOGUE || takes_ragged_row<type>(problem))
        return nullptr;
    if constexpr (type::dtype == PLUMB_BF16)
        if (const ragged_way *way = find_allied<type>(problem))
            return way;
    if constexpr (type::dtype == PLUMB_BF16 || type::dtype == PLUMB_TF32) {
        if (const ragged_way *way = find_outer<type>(problem))
            return way;
        if (is_ragged<type>(problem) || loads_words(problem.m, problem.n, problem.k, type::bytes))
            if (const ragged_way *way = find_short<type>(problem))
                return way;
    }
    if (!is_ragged<type>(problem))
        return nullptr;
    if constexpr (type::dtype == PLUMB_TF32) {
        const ragged_way *way = find_loose<type>(problem);
        return way ? way : find_shifted<type>(problem);
    }
    return nullptr;
}

template <class type, int count>
static size_t selector_workspace(const candidate (&candidates)[count], const plumb_problem *problem)
{
    if (takes_ragged_row<type>(*problem) || find_way<type>(*problem))
        return 0;
    const plumb_problem p = padded<type>(*problem);
    const candidate *c = select_candidate(candidates, p);
    return padding_bytes<type>(*problem) + (c && c->row.workspace ? c->row.workspace(&p) : 0);
}

// Writes the chosen configuration's name into the note; a pinned note must be the same choice.
template <class type, int count>
static int prepare_selector(const candidate (&candidates)[count], const plumb_args *args,
                            const char *pin, char *note, size_t note_size)
{
    const candidate *c = select_candidate(candidates, padded<type>(args->problem));
    const ragged_way *way = find_way<type>(args->problem);
    const char *name = takes_ragged_row<type>(args->problem) ? "gemv-ragged"
                       : way                                 ? way->name
                       : c                                   ? c->row.name
                                                             : nullptr;
    if (!name || (pin && strcmp(pin, name)))
        return cudaErrorInvalidValue;
    snprintf(note, note_size, "%s", name);
    return 0;
}

template <class type, int count>
static int launch_selected(const candidate (&candidates)[count], const plumb_args *args,
                           void *stream)
{
    if (takes_ragged_row<type>(args->problem))
        return launch_ragged_row<type>(args, stream);
    if (const ragged_way *way = find_way<type>(args->problem))
        return way->launch(args, stream);
    plumb_args inner;
    const int code = pad_operands<type>(&inner, args, (cudaStream_t)stream);
    if (code)
        return code;
    const candidate *c = select_candidate(candidates, inner.problem);
    return c ? c->row.launch(&inner, stream) : (int)cudaErrorInvalidValue;
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

// A module: the selector `name` over the candidates of a costs_*.cuh table.
#define PLUMB_CANDIDATE(row, slab, tile, elements, launch) {row, {slab, tile, elements, launch}},
#define PLUMB_SELECTOR(type, epilogue, name, summary, costs)                                       \
    static constexpr candidate candidates[] = {costs(PLUMB_CANDIDATE, type)};                      \
    static int supports(const plumb_problem *problem)                                              \
    {                                                                                              \
        const plumb_problem p = padded<type>(*problem);                                            \
        return supports_tn<type, epilogue>(&p);                                                    \
    }                                                                                              \
    static size_t workspace(const plumb_problem *problem)                                          \
    {                                                                                              \
        return selector_workspace<type>(candidates, problem);                                      \
    }                                                                                              \
    static int prepare(const plumb_args *args, void *, const char *pin, char *note, size_t size)   \
    {                                                                                              \
        return prepare_selector<type>(candidates, args, pin, note, size);                          \
    }                                                                                              \
    static int launch(const plumb_args *args, void *stream)                                        \
    {                                                                                              \
        return launch_selected<type>(candidates, args, stream);                                    \
    }                                                                                              \
    static const plumb_kernel kernel = {                                                           \
        name,    summary, selector_traits(type::dtype, type::output::dtype), supports, workspace,  \
        prepare, launch};                                                                          \
    PLUMB_LIBRARY("cuda", kernel)

#endif
