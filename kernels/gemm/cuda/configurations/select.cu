// SPDX-License-Identifier: Apache-2.0
// module: select_bf16          -DTYPE=bf16 -DTABLE=bf16 -DNAME="select-bf16"
// module: select_fp16          -DTYPE=fp16 -DTABLE=bf16 -DNAME="select-fp16"
// module: select_tf32          -DTYPE=tf32 -DTABLE=tf32 -DNAME="select-tf32"
// module: select_e4m3          -DTYPE=e4m3 -DTABLE=e4m3 -DNAME="select-e4m3"
// module: select_e4m3_promoted -DTYPE=e4m3 -DTABLE=e4m3_promoted -DNAME="select-e4m3-promoted"
// module: select_e4m3_scaled   -DTYPE=e4m3 -DTABLE=e4m3_scaled -DNAME="select-e4m3-scaled" -DSCALED
// module: select_bf16_dual     -DTYPE=bf16 -DTABLE=bf16_dual -DNAME="select-bf16-dual"
//
// Selector kernels. A selector has one name, a table of configurations with their costs (rows.cuh),
// and chooses a configuration for each problem in each regime. The cost model (cost.h) ranks the
// configurations. If prepare() finds the operands in the device's memory, it tries the first of the
// ranking on them, in the problem's regime (../trial.cuh), and keeps the fastest. If it does not,
// as in the process that records, it chooses the first of the ranking. A pin decides without model
// and trial, so that a record, a replay and a later run have the code of the run from which the
// note is. In a stream, short launches begin early, long ones in order; for lengths in between both
// ways are tried.
//
// If no configuration takes a K, it is padded first, or read as it is at m = 1 and where K is short
// (odd_k/odd_k.cuh). Products of BF16 with about 100 tiles, whose rows begin in the middle of
// sectors, have a way of their own (small/tile_per_block_clusters.cuh). Such a way is the first
// choice; padding is tried, too, and so are, where K is short, the other ways that take it as it
// is.
#include <stdio.h>
#include <string.h>

// Whether the launches made now wait for the end of the launch before them (../resident.cuh).
static bool launches_in_order;
#define MAY_BEGIN_EARLY !launches_in_order

#include "../odd_k/sheet.cuh"
#include "../small/tile_per_block_clusters.cuh"
#include "../trial.cuh"
#include "cost.h"
#include "rows.cuh"

struct candidate {
    plumb_kernel row;
    plumb_cost cost;
    bool trusted; // the model alone may choose it
};

static constexpr auto candidates =
    rows_that<candidate>([](auto i) { return row_costs[i].launch > 0; },
                         [](auto i) {
                             return candidate{plain_row<i>(), row_costs[i], row_is_trusted[i]};
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

static constexpr bool is_scaled = row_at<0>::is.scaled;

// One way to do a problem: a configuration of the table, or a kernel that takes any K as it is.
struct way_to {
    const char *name;
    const candidate *row;
    int (*as_is)(const plumb_args *args, void *stream);
    double us;     // the model's time
    bool in_order; // true: its launches do not begin under the launch before
};

constexpr int ranked_most = 16, as_is_most = 4;

// Times of one launch in a stream, by the model. Below the first, beginning
// early gains 3 to 39 %. In between, it gains up to 9 % and loses up to 12 %.
// Above the second, it gains nothing, and loses up to 8 % where power limits
// the multiplication (c235861e:baselines/recorded/h100/drawn.csv).
constexpr double early_us = 10, in_order_us = 150;
// device time of a trial, and the part of it for trying both orders
constexpr double trial_us = 20e3, order_trial_us = 4e3;

struct ways {
    way_to all[ranked_most + as_is_most];
    int count;
};

static way_to way_of(const candidate &c, double us, bool in_order)
{
    return {c.row.name, &c, nullptr, us, in_order};
}

// Puts the cheapest trusted way before ways that may only be tried.
static void put_trusted_first(ways *out, int from)
{
    int at = from;
    while (at < out->count && !out->all[at].row->trusted)
        ++at;
    if (at == out->count)
        return;
    const way_to first = out->all[at];
    for (; at > from; --at)
        out->all[at] = out->all[at - 1];
    out->all[from] = first;
}

// Ranks the candidates behind the first `from` ways, the cheapest first.
static void rank(ways *out, const plumb_problem &asked)
{
    static const plumb_cost_device device = this_device();
    const int from = out->count;
    for (const candidate &c : candidates) {
        if (!c.row.supports(&asked))
            continue;
        const double cycles = plumb_cost_cycles(&c.row.traits, &c.cost, &asked, &device);
        const double us = cycles / plumb_cost_h200.hz * 1e6;
        const bool is_long = us > in_order_us && asked.regime == PLUMB_STREAM;
        const way_to way = way_of(c, us, is_long);
        int at = out->count;
        if (!(cycles < INFINITY) || (at == ranked_most && way.us >= out->all[at - 1].us))
            continue;
        if (at == ranked_most)
            --at;
        else
            ++out->count;
        for (; at > from && out->all[at - 1].us > way.us; --at)
            out->all[at] = out->all[at - 1];
        out->all[at] = way;
    }
    put_trusted_first(out, from);
}

// A selector's traits state only what all candidates share.
static constexpr plumb_traits selector_traits()
{
    plumb_traits t = {};
    t.in_type = TYPE::dtype;
    t.out_type = TYPE::output::dtype;
    t.acc_type = PLUMB_FP32;
    t.blocks_per_sm = 1;
    return t;
}

// For a few blocks that share their loads, where sectors make loading expensive.
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

// The way that takes the problem as it is. NULL: the problem is padded, or needs neither.
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
    return nullptr;
}

[[maybe_unused]] static void add_as_is(ways *out, const ragged_way &way)
{
    for (int i = 0; i < out->count; ++i)
        if (out->all[i].as_is == way.launch)
            return;
    const int at = out->count > 0;
    for (int i = out->count++; i > at; --i)
        out->all[i] = out->all[i - 1];
    out->all[at] = {way.name, nullptr, way.launch, 0, false};
}

// The ways that may take a short K as it is, behind the first way, for a trial of long launches
// leaves the last ones out. Which of them is faster, and whether they all lose to the copy engine,
// depends on C's size and on the device.
template <class type> static void add_short_ways(ways *out, const plumb_problem &problem)
{
    if constexpr (type::dtype == PLUMB_BF16 || type::dtype == PLUMB_TF32) {
        if (problem.epilogue != PLUMB_NO_EPILOGUE || problem.m == 1)
            return;
        if (may_take_outer(problem.m, problem.n, problem.k, type::bytes))
            add_as_is(out, outer_way<type>);
        if (may_take_short(problem.m, problem.n, problem.k, type::bytes))
            for (const ragged_way &way : short_ways<type>)
                add_as_is(out, way);
        if (may_take_sheet(problem.m, problem.n, problem.k, type::bytes))
            add_as_is(out, sheet_way<type>);
    }
}

static ways ways_to(const plumb_problem &problem)
{
    ways all = {};
    if constexpr (!is_scaled) {
        if (takes_ragged_row<TYPE>(problem)) {
            all.all[all.count++] = {"gemv-ragged", nullptr, launch_ragged_row<TYPE>, 0, false};
            return all;
        }
        if (const ragged_way *way = find_way<TYPE>(problem))
            all.all[all.count++] = {way->name, nullptr, way->launch, 0, false};
    }
    rank(&all, padded<TYPE>(problem));
    if constexpr (!is_scaled)
        add_short_ways<TYPE>(&all, problem);
    return all;
}

static int launch_way(const way_to &way, const plumb_args *args, void *stream)
{
    if (way.as_is)
        return way.as_is(args, stream);
    plumb_args inner;
    const int code = pad_operands<TYPE>(&inner, args, (cudaStream_t)stream);
    return code ? code : way.row->row.launch(&inner, stream);
}

// Whether the operands are in the device's memory. In the process that records, addresses are made
// up and nothing lies there.
static bool is_in_memory(const plumb_args *args)
{
    const void *operands[] = {args->a, args->b, args->c};
    for (const void *operand : operands) {
        cudaPointerAttributes at;
        if (cudaPointerGetAttributes(&at, operand) != cudaSuccess) {
            cudaGetLastError();
            return false;
        }
        if (at.type != cudaMemoryTypeDevice && at.type != cudaMemoryTypeManaged)
            return false;
    }
    return true;
}

// The choices that prepare() made; a new one replaces the oldest.
struct choice {
    plumb_problem asked;
    way_to way;
};
static choice choices[256];
static unsigned chosen;

static const way_to *find_choice(const plumb_problem &asked)
{
    for (const choice &c : choices)
        if (c.way.name && memcmp(&c.asked, &asked, sizeof asked) == 0)
            return &c.way;
    return nullptr;
}

// Finds the way that a note pins, and puts it into `best`. A note may pin any candidate that can
// do the problem.
static int take_pin(way_to *best, const ways &known, const plumb_problem &asked, const char *pin)
{
    int in_order;
    for (int i = 0; i < known.count; ++i)
        if (is_noted(pin, known.all[i].name, &in_order)) {
            *best = known.all[i];
            best->in_order = in_order;
            return 0;
        }
    const plumb_problem rows_asked = padded<TYPE>(asked);
    for (const candidate &c : candidates)
        if (is_noted(pin, c.row.name, &in_order) && c.row.supports(&rows_asked)) {
            *best = way_of(c, 0, in_order);
            return 0;
        }
    return cudaErrorInvalidValue;
}

// Queues one launch, early or in order as the way says.
static int launch_begun(const way_to &way, const plumb_args *args, void *stream)
{
    launches_in_order = way.in_order;
    return launch_way(way, args, stream);
}

// Sets *best to the way that is fastest on the operands in memory.
static int choose(way_to *best, const way_to *all, int count, double limit_us, int together_least,
                  const plumb_args *args, void *stream)
{
    int fastest = 0;
    const int code = try_out(&fastest, {count, all[count - 1].us, limit_us, 0.99, together_least},
                             args, (cudaStream_t)stream, [&](int i, const plumb_args *on) {
                                 return launch_begun(all[i], on, stream);
                             });
    *best = all[fastest];
    return code;
}

static int try_ways(way_to *best, const ways &known, const plumb_args *args, void *stream)
{
    const bool in_stream = args->problem.regime == PLUMB_STREAM;
    const double limit_us = in_stream ? trial_us - order_trial_us : trial_us;
    int code = 0;
    if (known.count > 1)
        code = choose(best, known.all, known.count, limit_us, 1, args, stream);
    const double us = best->row ? best->us : known.all[known.count - 1].us;
    if (code || !in_stream || us < early_us || us > in_order_us)
        return code;
    way_to orders[2] = {*best, *best}; // two are timed together, so that one begins under the other
    orders[1].in_order = !best->in_order;
    return choose(best, orders, 2, order_trial_us, 2, args, stream);
}

static int prepare(const plumb_args *args, void *stream, const char *pin, char *note, size_t size)
{
    const plumb_problem &asked = args->problem;
    const ways known = ways_to(asked);
    if (known.count == 0)
        return cudaErrorInvalidValue;
    way_to best = known.all[0];
    int code = 0;
    if (pin)
        code = take_pin(&best, known, asked, pin);
    else if (is_in_memory(args))
        code = try_ways(&best, known, args, stream);
    if (code)
        return code;
    way_to *kept = const_cast<way_to *>(find_choice(asked));
    if (!kept) {
        choice &c = choices[chosen++ % (sizeof choices / sizeof *choices)];
        c.asked = asked;
        kept = &c.way;
    }
    *kept = best;
    const way_to &model = known.all[0];
    note_choice(note, size, best.name, best.in_order, model.name, model.in_order);
    return 0;
}

static int launch(const plumb_args *args, void *stream)
{
    const way_to *way = find_choice(args->problem);
    if (way)
        return launch_begun(*way, args, stream);
    const ways known = ways_to(args->problem);
    return known.count ? launch_begun(known.all[0], args, stream) : (int)cudaErrorInvalidValue;
}

#ifdef SCALED

static int prepare_form(const plumb_form_args *args, void *stream, const char *pin, char *note,
                        size_t size)
{
    const plumb_args plain = plain_args(args);
    return prepare(&plain, stream, pin, note, size);
}

static const plumb_form_kernel kernel = {
    {NAME, "tries the first of a cost model's ranking, block scales", selector_traits()},
    supports_scaled<supports_tn<TYPE>>,
    nullptr,
    prepare_form,
    launch_scaled<launch>};
PLUMB_FORM_LIBRARY("cuda", kernel)

#else

static int supports(const plumb_problem *problem)
{
    constexpr int epilogue = row_at<0>::is.dual ? PLUMB_DUAL_SILU : PLUMB_NO_EPILOGUE;
    const plumb_problem p = padded<TYPE>(*problem);
    return supports_tn<TYPE, epilogue>(&p);
}

// The largest workspace of all candidates, because a note may pin any of them.
static size_t workspace(const plumb_problem *problem)
{
    if (takes_ragged_row<TYPE>(*problem))
        return 0;
    const plumb_problem p = padded<TYPE>(*problem);
    size_t most = 0;
    for (const candidate &c : candidates) {
        const size_t bytes = c.row.workspace && c.row.supports(&p) ? c.row.workspace(&p) : 0;
        most = bytes > most ? bytes : most;
    }
    return padding_bytes<TYPE>(*problem) + most;
}

static const plumb_kernel kernel = {NAME,
                                    "tries the first of a cost model's ranking",
                                    selector_traits(),
                                    supports,
                                    workspace,
                                    prepare,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)

#endif
