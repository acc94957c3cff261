// SPDX-License-Identifier: Apache-2.0
// module: select_bf16          -DTYPE=bf16 -DTABLE=bf16 -DNAME="select-bf16"
// module: select_fp16          -DTYPE=fp16 -DTABLE=bf16 -DNAME="select-fp16"
// module: select_tf32          -DTYPE=tf32 -DTABLE=tf32 -DNAME="select-tf32"
// module: select_e4m3          -DTYPE=e4m3 -DTABLE=e4m3 -DNAME="select-e4m3"
// module: select_e4m3_promoted -DTYPE=e4m3 -DTABLE=e4m3_promoted -DNAME="select-e4m3-promoted"
// module: select_e4m3_scaled   -DTYPE=e4m3 -DTABLE=e4m3_scaled -DNAME="select-e4m3-scaled" -DSCALED
// module: select_bf16_dual     -DTYPE=bf16 -DTABLE=bf16_dual -DNAME="select-bf16-dual"
//
// Selector kernels: one name, a table of configurations with their costs (rows.cuh), and per
// problem the one that the cost model (configurations/cost.h) ranks first, with no trial run. A K
// that no configuration takes is padded first (odd_k/padding.cuh), or read as it is: at m = 1
// (odd_k/gemv.cuh), where K is short (odd_k/short_k.cuh; odd_k/tiny_k.cuh, whatever K's multiple),
// and in TF32 where rows are few (odd_k/copy_words.cuh, odd_k/copy_chunks.cuh). About 100 tiles of
// BF16 with rows in the middle of sectors have a way of their own
// (small/tile_per_block_clusters.cuh).
#include <stdio.h>
#include <string.h>

#include "../odd_k/copy_chunks.cuh"
#include "../odd_k/copy_words.cuh"
#include "../odd_k/gemv.cuh"
#include "../odd_k/short_k.cuh"
#include "../odd_k/tiny_k.cuh"
#include "../small/tile_per_block_clusters.cuh"
#include "cost.h"
#include "rows.cuh"

struct candidate {
    row_type row;
    plumb_cost cost;
};

static constexpr auto candidates =
    rows_that<candidate>([](auto i) { return row_costs[i].launch > 0; },
                         [](auto i) {
                             return candidate{make_row<i>(), row_costs[i]};
                         },
                         std::make_index_sequence<row_count>());

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

// What a row is asked about, and of both what a plain product's row has.
#ifdef SCALED
using question = plumb_form;
static const plumb_problem &problem_of(const question &form)
{
    return form.problem;
}
static const plumb_kernel &kernel_of(const row_type &row)
{
    return row.kernel;
}
#else
using question = plumb_problem;
static const plumb_problem &problem_of(const question &problem)
{
    return problem;
}
static const plumb_kernel &kernel_of(const row_type &row)
{
    return row;
}
#endif

// The cheapest candidate, NULL if none can do it.
static const candidate *select_candidate(const question &asked)
{
    static const plumb_cost_device device = this_device();
    const candidate *best = nullptr;
    double least = INFINITY;
    for (const candidate &c : candidates) {
        if (!c.row.supports(&asked))
            continue;
        const double cycles =
            plumb_cost_cycles(&kernel_of(c.row).traits, &c.cost, &problem_of(asked), &device);
        if (cycles < least) {
            least = cycles;
            best = &c;
        }
    }
    return best;
}

// Writes the choice into the note; a pinned note must be the same choice.
static int note_choice(const char *name, const char *pin, char *note, size_t note_size)
{
    if (!name || (pin && strcmp(pin, name)))
        return cudaErrorInvalidValue;
    snprintf(note, note_size, "%s", name);
    return 0;
}

// Its traits say only what all candidates share.
static constexpr plumb_traits selector_traits()
{
    plumb_traits t = {};
    t.in_type = TYPE::dtype;
    t.out_type = TYPE::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.blocks_per_sm = 1;
    return t;
}

#ifdef SCALED

static int prepare(const plumb_form_args *args, void *, const char *pin, char *note, size_t size)
{
    const candidate *c = select_candidate(args->form);
    return note_choice(c ? c->row.kernel.name : nullptr, pin, note, size);
}

static int launch(const plumb_form_args *args, void *stream)
{
    const candidate *c = select_candidate(args->form);
    return c ? c->row.launch(args, stream) : (int)cudaErrorInvalidValue;
}

static const plumb_form_kernel kernel = {
    {NAME, "picks a configuration by a cost model, block scales", selector_traits()},
    supports_scaled<supports_tn<TYPE>>,
    nullptr,
    prepare,
    launch};
PLUMB_FORM_LIBRARY("cuda", kernel)

#else

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

static constexpr bool is_dual = row_at<0>::is.dual;

static int supports(const plumb_problem *problem)
{
    const plumb_problem p = padded<TYPE>(*problem);
    return supports_tn < TYPE, is_dual ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE > (&p);
}

static size_t workspace(const plumb_problem *problem)
{
    if (takes_ragged_row<TYPE>(*problem) || find_way<TYPE>(*problem))
        return 0;
    const plumb_problem p = padded<TYPE>(*problem);
    const candidate *c = select_candidate(p);
    return padding_bytes<TYPE>(*problem) + (c && c->row.workspace ? c->row.workspace(&p) : 0);
}

static int prepare(const plumb_args *args, void *, const char *pin, char *note, size_t note_size)
{
    const candidate *c = select_candidate(padded<TYPE>(args->problem));
    const ragged_way *way = find_way<TYPE>(args->problem);
    const char *name = takes_ragged_row<TYPE>(args->problem) ? "gemv-ragged"
                       : way                                 ? way->name
                       : c                                   ? c->row.name
                                                             : nullptr;
    return note_choice(name, pin, note, note_size);
}

static int launch(const plumb_args *args, void *stream)
{
    if (takes_ragged_row<TYPE>(args->problem))
        return launch_ragged_row<TYPE>(args, stream);
    if (const ragged_way *way = find_way<TYPE>(args->problem))
        return way->launch(args, stream);
    plumb_args inner;
    const int code = pad_operands<TYPE>(&inner, args, (cudaStream_t)stream);
    if (code)
        return code;
    const candidate *c = select_candidate(inner.problem);
    return c ? c->row.launch(&inner, stream) : (int)cudaErrorInvalidValue;
}

static const plumb_kernel kernel = {NAME,
                                    "picks a configuration by a cost model, no trial runs",
                                    selector_traits(),
                                    supports,
                                    workspace,
                                    prepare,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)

#endif
