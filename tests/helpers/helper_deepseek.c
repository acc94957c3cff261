// SPDX-License-Identifier: Apache-2.0
//
// The problems and tiles that seed 0 sweeps, in its order.
#include "tests/helpers/helper_deepseek.h"

const struct shape deepseek_v3_shapes[] = {
    {4096, 7168, 128000}, {4096, 128000, 7168}, {128000, 7168, 4096}, {4096, 512, 7168},
    {4096, 7168, 512},    {7168, 512, 4096},    {4096, 1536, 7168},   {4096, 7168, 1536},
    {7168, 1536, 4096},   {4096, 16384, 512},   {4096, 512, 16384},   {512, 16384, 4096},
    {4096, 16384, 1536},  {4096, 1536, 16384},  {1536, 16384, 4096},  {4096, 8192, 7168},
    {4096, 7168, 8192},   {7168, 8192, 4096},   {4096, 8192, 1536},   {4096, 1536, 8192},
    {1536, 8192, 4096},   {4096, 4096, 192},    {4096, 192, 4096},    {192, 4096, 4096},
    {4096, 16384, 4096},  {4096, 4096, 16384},  {4096, 7168, 16384},  {4096, 16384, 7168},
    {16384, 7168, 4096},  {4096, 18432, 7168},  {4096, 7168, 18432},  {7168, 18432, 4096},
    {18432, 7168, 4096},  {4096, 257, 7168},    {4096, 7168, 257},    {7168, 257, 4096},
    {4096, 2048, 7168},   {4096, 7168, 2048},   {7168, 2048, 4096},   {2048, 7168, 4096},
};
const size_t deepseek_v3_shape_count = ARRAY_COUNT(deepseek_v3_shapes);

// 128-row tiles last, so that the block-scaled types can use the tail.
static const struct sweep_tile tiles[] = {
    {64, 64}, {64, 128}, {64, 192}, {64, 256}, {128, 64}, {128, 128}, {128, 192}, {128, 256},
};

const struct sweep_tile *sweep_tiles(enum dtype in, size_t *count)
{
    size_t skip = in == DTYPE_E2M1 ? 4 : 0;
    *count = ARRAY_COUNT(tiles) - skip;
    return tiles + skip;
}

const struct sweep_cluster sweep_clusters[] = {{2, 1}, {2, 2}};
const size_t sweep_cluster_count = ARRAY_COUNT(sweep_clusters);
