// SPDX-License-Identifier: Apache-2.0
//
// The selector in FP8 with fast accumulation: candidates ranked by select.cuh's model.
// Costs fitted on 2026-11-21 (H200, driver 580.159.04, CUDA 13.0).
#include "select.cuh"

static constexpr candidate candidates[] = {
    {ROW(e4m3, 128, 256, 2, 1, 1, 1, 4, 2, m, 16, coop), 1025, 3346, 11728},
    {ROW(e4m3, 128, 256, 2, 1, 1, 1, 4, 2, m, 8, coop), 1030, 3231, 11743},
    {ROW(e4m3, 128, 256, 2, 1, 2, 1, 4, 2, m, 16, coop), 1024, 2238, 14279},
    {ROW(e4m3, 128, 256, 2, 1, 2, 1, 4, 2, m, 8, coop), 1024, 2247, 14264},
    {ROW(e4m3, 256, 128, 2, 1, 1, 2, 4, 2, m, 8, coop), 1083, 3328, 12039},
    {ROW(e4m3, 128, 240, 2, 1, 2, 1, 4, 2, m, 8, coop), 968, 2558, 13850},
    {ROW(e4m3, 192, 160, 3, 1, 1, 2, 4, 2, m, 8, coop), 993, 3462, 11981},
    {ROW(e4m3, 128, 224, 2, 1, 2, 1, 4, 2, m, 8, coop), 904, 2747, 13591},
    {ROW(e4m3, 128, 208, 2, 1, 1, 1, 4, 2, m, 8, coop), 855, 3189, 11265},
    {ROW(e4m3, 128, 208, 2, 1, 2, 1, 4, 2, m, 8, coop), 859, 2565, 12969},
    {ROW(e4m3, 128, 192, 2, 1, 1, 1, 5, 1, m, 8, coop), 801, 3210, 10504},
    {ROW(e4m3, 128, 192, 2, 1, 1, 2, 5, 1, m, 8, coop), 829, 3158, 11974},
    {ROW(e4m3, 128, 192, 2, 1, 2, 1, 4, 2, m, 8, coop), 823, 2296, 12600},
    {SPLIT_ROW(e4m3, 128, 192, 2, 1, 2, 3, m, 8), 1046, 8328, 7515},
    {SPLIT_ROW(e4m3, 128, 192, 2, 1, 4, 3, m, 8), 999, 9349, 8871},
    {ROW(e4m3, 128, 176, 2, 1, 1, 1, 5, 2, m, 8, coop), 744, 3273, 9987},
    {ROW(e4m3, 128, 176, 2, 1, 2, 1, 5, 2, m, 8, coop), 763, 2459, 12321},
    {ROW(e4m3, 128, 160, 2, 1, 1, 1, 5, 2, m, 8, coop), 677, 3137, 10622},
    {ROW(e4m3, 128, 160, 2, 1, 2, 1, 5, 2, m, 8, coop), 717, 2457, 12216},
    {ROW(e4m3, 128, 144, 2, 1, 1, 1, 5, 2, m, 8, coop), 627, 2823, 10821},
    {ROW(e4m3, 128, 144, 2, 1, 2, 1, 5, 2, m, 8, coop), 684, 2125, 12328},
    {ROW(e4m3, 128, 128, 1, 1, 1, 2, 6, 2, m, 8, pingpong), 629, 1625, 13203},
    {ROW(e4m3, 128, 128, 1, 1, 2, 1, 6, 2, m, 8, pingpong), 650, 1208, 13613},
    {ROW(e4m3, 128, 128, 2, 1, 1, 1, 6, 2, m, 8, coop), 590, 2505, 10596},
    {ROW(e4m3, 128, 128, 2, 1, 1, 2, 6, 2, m, 8, coop), 627, 2292, 11997},
    {ROW(e4m3, 128, 128, 2, 1, 2, 1, 6, 2, m, 8, coop), 650, 1821, 12433},
    {SPLIT_ROW(e4m3, 128, 128, 2, 1, 2, 4, m, 8), 768, 7363, 6186},
    {SPLIT_ROW(e4m3, 128, 128, 2, 1, 4, 4, m, 8), 814, 7478, 7571},
    {ROW(e4m3, 64, 256, 1, 1, 2, 1, 5, 1, m, 8, pingpong), 631, 1337, 14119},
    {ROW(e4m3, 64, 256, 1, 2, 1, 1, 4, 2, m, 8, coop), 723, 1802, 12390},
    {SPLIT_ROW(e4m3, 64, 256, 1, 2, 2, 4, m, 8), 914, 7373, 6716},
    {SPLIT_ROW(e4m3, 64, 256, 1, 2, 4, 3, m, 8), 1026, 7175, 9312},
    {ROW(e4m3, 128, 112, 2, 1, 1, 1, 6, 2, m, 8, coop), 558, 2438, 10268},
    {ROW(e4m3, 128, 112, 2, 1, 2, 1, 6, 2, m, 8, coop), 629, 1877, 11664},
    {SPLIT_ROW(e4m3, 128, 112, 2, 1, 2, 4, m, 8), 748, 6940, 6173},
    {ROW(e4m3, 128, 96, 2, 1, 1, 1, 6, 2, m, 8, coop), 514, 2309, 9735},
    {SPLIT_ROW(e4m3, 128, 96, 2, 1, 2, 5, m, 8), 660, 6723, 5581},
    {SPLIT_ROW(e4m3, 128, 96, 2, 1, 4, 5, m, 8), 694, 6783, 6768},
    {SPLIT_ROW(e4m3, 64, 192, 1, 1, 4, 4, m, 8), 801, 6269, 8350},
    {ROW(e4m3, 128, 64, 2, 1, 1, 1, 8, 2, m, 8, coop), 509, 1737, 7759},
    {SPLIT_ROW(e4m3, 128, 64, 2, 1, 2, 6, m, 8), 570, 6005, 5003},
    {SPLIT_ROW(e4m3, 128, 64, 2, 1, 4, 6, m, 8), 555, 6119, 4706},
    {ROW(e4m3, 64, 128, 1, 1, 1, 1, 8, 2, m, 8, coop), 469, 1281, 9912},
    {SPLIT_ROW(e4m3, 64, 128, 1, 1, 2, 7, m, 8), 592, 5471, 6455},
    {SPLIT_ROW(e4m3, 64, 128, 1, 1, 4, 6, m, 8), 589, 5585, 8462},
    {ROW(e4m3, 64, 112, 1, 1, 1, 1, 9, 2, m, 8, coop), 428, 1251, 9923},
    {SPLIT_ROW(e4m3, 64, 112, 1, 1, 2, 7, m, 8), 522, 5340, 6962},
    {SPLIT_ROW(e4m3, 128, 48, 2, 1, 2, 7, m, 8), 521, 5671, 5414},
    {ROW(e4m3, 64, 96, 1, 1, 1, 1, 10, 2, m, 8, coop), 427, 1035, 9509},
    {SPLIT_ROW(e4m3, 64, 96, 1, 1, 2, 8, m, 8), 497, 5149, 6930},
    {ROW(e4m3, 64, 64, 1, 1, 1, 1, 10, 2, m, 8, coop), 369, 664, 9782},
    {SPLIT_ROW(e4m3, 64, 64, 1, 1, 2, 10, m, 8), 416, 4816, 7217},
    {SPLIT_ROW(e4m3, 64, 64, 1, 1, 4, 8, m, 8), 388, 4729, 7159},
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

static const plumb_kernel kernel = {"select-e4m3",
                                    "picks a configuration by a cost model, fast accumulation",
                                    selector_traits(e4m3::dtype, e4m3::output::dtype),
                                    supports,
                                    nullptr,
                                    prepare,
                                    launch};
PLUMB_LIBRARY("cuda", kernel)
