// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with sums promoted every 128 of K: candidates ranked by select.cuh's model.
// Costs fitted on 2026-11-21 (H200, driver 580.159.04, CUDA 13.0).
#include "select.cuh"

static constexpr candidate candidates[] = {
    {ROW(e4m3, 256, 128, 2, 1, 1, 1, 4, 2, m, 8, promote), 1520, 4553, 9596},
    {ROW(e4m3, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, promote), 1577, 3134, 12531},
    {ROW(e4m3, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, promote), 978, 2983, 10482},
    {ROW(e4m3, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, promote), 1038, 2301, 12395},
    {ROW(e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, promote), 923, 2561, 10819},
    {ROW(e4m3, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, promote), 675, 2241, 11431},
    {ROW(e4m3, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, promote), 742, 1671, 13165},
    {ROW(e4m3, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, promote), 754, 1389, 13465},
    {ROW(e4m3, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, promote), 637, 2098, 11202},
    {ROW(e4m3, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, promote), 594, 1925, 11042},
    {ROW(e4m3, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, promote), 528, 1434, 9246},
    {ROW(e4m3, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, promote), 504, 1447, 10577},
    {ROW(e4m3, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, promote), 455, 1210, 10199},
    {ROW(e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, promote), 393, 767, 10254},
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
