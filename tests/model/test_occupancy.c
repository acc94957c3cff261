// SPDX-License-Identifier: Apache-2.0
//
// Numbers worked out by hand from the rules of the CUDA C++ Programming Guide for an H200: 65536
// registers, 228 KiB of shared memory, 64 warps and 32 blocks per SM.
#include "model/predict/parts/limits.h"
#include "tests/helpers/test.h"

TEST(occupancy_follows_the_scarcest_resource)
{
    static const struct {
        int32_t threads, registers, smem, blocks, warps;
        enum occupancy_limit limit;
    } rows[] = {
        {32, 16, 0, 32, 32, OCCUPANCY_BLOCKS},
        {1024, 32, 0, 2, 64, OCCUPANCY_THREADS},
        {256, 128, 8448, 2, 16, OCCUPANCY_REGISTERS},
        {256, 129, 8448, 1, 8, OCCUPANCY_REGISTERS}, // one register more costs a block
        {256, 32, 0, 8, 64, OCCUPANCY_THREADS},
        {384, 168, 0, 1, 12, OCCUPANCY_REGISTERS},
        {128, 64, 231424, 1, 4, OCCUPANCY_SHARED}, // + 1 KiB is 227 KiB: one fits
        {128, 64, 115712, 2, 8, OCCUPANCY_SHARED}, // + 1 KiB is 114 KiB: two fill 228 KiB
        {128, 64, 115713, 1, 4, OCCUPANCY_SHARED},
        {1024, 128, 0, 0, 0, OCCUPANCY_REGISTERS}, // cannot be launched
    };
    const struct gpu *gpu = gpu_find("h200-sxm");
    assert_non_null(gpu);
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct occupancy o = occupancy_of(gpu, rows[i].threads, rows[i].registers, rows[i].smem);
        if (o.blocks != rows[i].blocks || o.warps != rows[i].warps || o.limit != rows[i].limit)
            fail_msg("row %zu: %d blocks, %d warps, limit %s", i, o.blocks, o.warps,
                     occupancy_limit_name(o.limit));
    }
}

TEST(occupancy_never_grows_with_what_a_block_takes)
{
    const struct gpu *gpu = gpu_find("h200-sxm");
    for (int32_t threads = 1; threads <= 1024; threads += 31) {
        int32_t last = 32;
        for (int32_t registers = 1; registers <= 255; registers++) {
            struct occupancy o = occupancy_of(gpu, threads, registers, 0);
            assert_true(o.blocks <= last);
            assert_true(o.blocks * ((threads + 31) / 32) <= 64);
            last = o.blocks;
        }
    }
}

TEST(occupancy_of_nonsense_is_unknown)
{
    const struct gpu *gpu = gpu_find("h200-sxm");
    const struct gpu nothing = {0};
    assert_int_equal(occupancy_of(gpu, 0, 32, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 2048, 32, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 32, -1, 0).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(gpu, 32, 32, INT32_MAX).limit, OCCUPANCY_UNKNOWN);
    assert_int_equal(occupancy_of(&nothing, 32, 32, 0).limit, OCCUPANCY_UNKNOWN);
}
