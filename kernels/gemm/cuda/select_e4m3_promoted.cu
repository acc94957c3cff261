// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with sums promoted every 128 of K: candidates ranked by select.cuh's model.
// Costs fitted on 2026-11-21 (H200, driver 580.159.04, CUDA 13.0).
#include "select.cuh"

static constexpr candidate candidates[] = {
    {ROW(e4m3, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1123, 5243, 9319},
    {ROW(e4m3, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1254, 3545, 11757},
    {ROW(e4m3, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 795, 3120, 10199},
    {ROW(e4m3, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 824, 2354, 12447},
    {ROW(e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 737, 2987, 10296},
    {ROW(e4m3, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 593, 2396, 10609},
    {ROW(e4m3, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 639, 1975, 12365},
    {ROW(e4m3, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 670, 1596, 12642},
    {ROW(e4m3, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 570, 2304, 10343},
    {ROW(e4m3, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 539, 2102, 10147},
    {ROW(e4m3, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 493, 1656, 8447},
    {ROW(e4m3, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 503, 1433, 9687},
    {ROW(e4m3, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, promote), 450, 1192, 9522},
    {ROW(e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 388, 760, 9765},
};

static int supports(const plumb_problem *problem)
{
    return supports_tn<e4m3>(problem);
}

static int prepare(const plumb_args *args, void *, const char *pin, char *note, size_t note_size)
{
    return prepare_selector(candidates, args, pin, note, note_size);
}

static int launch(const plumb_args *args, void *stream)
{
    const candidate *c = select_candidate(candidates, args->problem);
    return c ? c->row.launch(args, stream) : (int)cudaErrorInvalidValue;
}

static const plumb_kernel kernel = {
    "select-e4m3-promoted",
    "picks a configuration by a cost model, sums promoted every 128 of K",
    selector_traits(e4m3::dtype, e4m3::output::dtype),
    supports,
    nullptr,
    prepare,
    launch};
PLUMB_LIBRARY("cuda", kernel)
