// SPDX-License-Identifier: Apache-2.0
//
// The selector in TF32: candidates ranked by select.cuh's model.
// Costs fitted on 2026-11-21 (H200, driver 580.159.04, CUDA 13.0).
#include "select.cuh"

static constexpr candidate candidates[] = {
    {ROW(tf32, 128, 256, 2, 1, 1, 1, 4, 2, m, 16, coop), 1020, 6215, 10452},
    {ROW(tf32, 128, 256, 2, 1, 1, 1, 4, 2, m, 8, coop), 1020, 6171, 10228},
    {ROW(tf32, 128, 256, 2, 1, 2, 1, 4, 2, m, 16, coop), 1031, 5904, 12914},
    {ROW(tf32, 128, 256, 2, 1, 2, 1, 4, 2, m, 8, coop), 1030, 6007, 12694},
    {ROW(tf32, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, coop), 1062, 5481, 12165},
    {ROW(tf32, 128, 240, 2, 1, 2, 1, 4, 2, m, 8, coop), 965, 5886, 13073},
    {ROW(tf32, 192, 160, 3, 1, 1, 2, 4, 2, m, 8, coop), 967, 5800, 12982},
    {ROW(tf32, 128, 224, 2, 1, 2, 1, 4, 2, m, 8, coop), 909, 5483, 12701},
    {ROW(tf32, 128, 208, 2, 1, 1, 1, 4, 2, m, 8, coop), 830, 4941, 11086},
    {ROW(tf32, 128, 208, 2, 1, 2, 1, 4, 2, m, 8, coop), 855, 4872, 12883},
    {ROW(tf32, 128, 192, 2, 1, 1, 1, 5, 1, m, 8, coop), 777, 4379, 10129},
    {ROW(tf32, 128, 192, 2, 1, 1, 2, 5, 1, m, 8, coop), 797, 5417, 11513},
    {ROW(tf32, 128, 192, 2, 1, 2, 1, 4, 2, m, 8, coop), 801, 4139, 12758},
    {SPLIT_ROW(tf32, 128, 192, 2, 1, 2, 3, m, 8), 960, 8924, 7743},
    {SPLIT_ROW(tf32, 128, 192, 2, 1, 4, 3, m, 8), 882, 9790, 10616},
    {ROW(tf32, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop), 709, 4222, 10783},
    {ROW(tf32, 128, 176, 2, 1, 2, 1, 5, 2, m, 8, coop), 742, 3667, 12822},
    {ROW(tf32, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, coop), 652, 4050, 10618},
    {ROW(tf32, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, coop), 695, 3288, 12466},
    {ROW(tf32, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, coop), 590, 3861, 10358},
    {ROW(tf32, 128, 144, 2, 1, 2, 1, 5, 2, m, 8, coop), 646, 2972, 12607},
    {ROW(tf32, 128, 128, 1, 1, 1, 2, 6, 2, m, 8, pingpong), 572, 2836, 14439},
    {ROW(tf32, 128, 128, 1, 1, 2, 1, 6, 2, m, 8, pingpong), 602, 986, 15384},
    {ROW(tf32, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, coop), 530, 3983, 10852},
    {ROW(tf32, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, coop), 567, 4203, 12983},
    {ROW(tf32, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, coop), 600, 2582, 13582},
    {SPLIT_ROW(tf32, 128, 128, 2, 1, 2, 4, m, 8), 656, 8308, 5187},
    {SPLIT_ROW(tf32, 128, 128, 2, 1, 4, 4, m, 8), 696, 7587, 7069},
    {ROW(tf32, 64, 256, 1, 1, 2, 1, 5, 1, m, 8, pingpong), 576, 2438, 15821},
    {ROW(tf32, 64, 256, 1, 2, 1, 1, 4, 2, m, 8, coop), 612, 3678, 11505},
    {SPLIT_ROW(tf32, 64, 256, 1, 2, 2, 4, m, 8), 757, 7761, 6791},
    {SPLIT_ROW(tf32, 64, 256, 1, 2, 4, 3, m, 8), 943, 6647, 10342},
    {ROW(tf32, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, coop), 480, 3575, 11184},
    {ROW(tf32, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, coop), 571, 2431, 12839},
    {SPLIT_ROW(tf32, 128, 112, 2, 1, 2, 4, m, 8), 651, 7466, 5484},
    {ROW(tf32, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, coop), 438, 3484, 8981},
    {SPLIT_ROW(tf32, 128, 96, 2, 1, 2, 5, m, 8), 570, 7240, 3519},
    {SPLIT_ROW(tf32, 128, 96, 2, 1, 4, 5, m, 8), 601, 6739, 5740},
    {SPLIT_ROW(tf32, 64, 192, 1, 1, 4, 4, m, 8), 651, 6489, 8331},
    {ROW(tf32, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop), 446, 2809, 4350},
    {SPLIT_ROW(tf32, 128, 64, 2, 1, 2, 6, m, 8), 496, 6437, 1381},
    {SPLIT_ROW(tf32, 128, 64, 2, 1, 4, 6, m, 8), 492, 6201, 784},
    {ROW(tf32, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop), 359, 2057, 8602},
    {SPLIT_ROW(tf32, 64, 128, 1, 1, 2, 7, m, 8), 479, 5930, 3186},
    {SPLIT_ROW(tf32, 64, 128, 1, 1, 4, 6, m, 8), 478, 5643, 9596},
    {ROW(tf32, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop), 341, 1918, 8476},
    {SPLIT_ROW(tf32, 64, 112, 1, 1, 2, 7, m, 8), 433, 5728, 4038},
    {SPLIT_ROW(tf32, 128, 48, 2, 1, 2, 7, m, 8), 452, 6026, 1696},
    {ROW(tf32, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop), 331, 1284, 8680},
    {SPLIT_ROW(tf32, 64, 96, 1, 1, 2, 8, m, 8), 406, 5308, 4178},
    {ROW(tf32, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop), 296, 612, 9301},
    {SPLIT_ROW(tf32, 64, 64, 1, 1, 2, 10, m, 8), 342, 4839, 5481},
    {SPLIT_ROW(tf32, 64, 64, 1, 1, 4, 8, m, 8), 317, 4673, 8080},
};

static int supports(const plumb_problem *problem)
{
    return supports_tn<tf32>(problem);
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

static const plumb_kernel kernel = {"select-tf32",
                                    "picks a configuration by a cost model, no trial runs",
                                    selector_traits(tf32::dtype, tf32::output::dtype),
                                    supports,
                                    nullptr,
                                    prepare,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
