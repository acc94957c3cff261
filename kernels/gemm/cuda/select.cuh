// SPDX-License-Identifier: Apache-2.0
//
// Selector kernels: one name, a table of configurations with their costs (costs_*.cuh), and per
// problem the one that the cost model (cost.h) ranks first, with no trial run.
#ifndef PLUMB_SELECT_CUH
#define PLUMB_SELECT_CUH

#include <stdio.h>
#include <string.h>

#include "cost.h"
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

template <int count>
static size_t selector_workspace(const candidate (&candidates)[count], const plumb_problem *problem)
{
    const candidate *c = select_candidate(candidates, *problem);
    return c && c->row.workspace ? c->row.workspace(problem) : 0;
}

// Writes the chosen configuration's name into the note; a pinned note must be the same choice.
template <int count>
static int prepare_selector(const candidate (&candidates)[count], const plumb_args *args,
                            const char *pin, char *note, size_t note_size)
{
    const candidate *c = select_candidate(candidates, args->problem);
    if (!c || (pin && strcmp(pin, c->row.name)))
        return cudaErrorInvalidValue;
    snprintf(note, note_size, "%s", c->row.name);
    return 0;
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
#define PLUMB_SELECTOR(type, name, summary, costs)                                                 \
    static constexpr candidate candidates[] = {costs(PLUMB_CANDIDATE, type)};                      \
    static int supports(const plumb_problem *problem)                                              \
    {                                                                                              \
        return supports_tn<type>(problem);                                                         \
    }                                                                                              \
    static size_t workspace(const plumb_problem *problem)                                          \
    {                                                                                              \
        return selector_workspace(candidates, problem);                                            \
    }                                                                                              \
    static int prepare(const plumb_args *args, void *, const char *pin, char *note, size_t size)   \
    {                                                                                              \
        return prepare_selector(candidates, args, pin, note, size);                                \
    }                                                                                              \
    static int launch(const plumb_args *args, void *stream)                                        \
    {                                                                                              \
        const candidate *c = select_candidate(candidates, args->problem);                          \
        return c ? c->row.launch(args, stream) : (int)cudaErrorInvalidValue;                       \
    }                                                                                              \
    static const plumb_kernel kernel = {                                                           \
        name,    summary, selector_traits(type::dtype, type::output::dtype), supports, workspace,  \
        prepare, launch};                                                                          \
    PLUMB_LIBRARY("cuda", kernel)

#endif
