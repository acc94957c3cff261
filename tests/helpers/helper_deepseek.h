// SPDX-License-Identifier: Apache-2.0
//
// The problem list and the sweep of seed 0: DeepSeek-V3's GEMM sizes, forward and backward, at a
// sequence of 4096, and the thread-block tiles and clusters tried on each.
// Source: hbarclay/gemm-model @0de20a8, testlists/dsv3.csv and benchmark_gemm.py.
#ifndef PLUMB_TESTS_HELPER_DEEPSEEK_H
#define PLUMB_TESTS_HELPER_DEEPSEEK_H

#include "model/problem.h"

struct shape {
    int64_t m, n, k;
};
extern const struct shape deepseek_v3_shapes[];
extern const size_t deepseek_v3_shape_count; // 40

struct sweep_tile {
    int32_t tile_m, tile_n;
};
// The tiles swept for this input type: 64 and 128 rows, block-scaled types (e2m1) 128 only.
const struct sweep_tile *sweep_tiles(enum dtype in, size_t *count);

struct sweep_cluster {
    int32_t cluster_m, cluster_n;
};
extern const struct sweep_cluster sweep_clusters[];
extern const size_t sweep_cluster_count;

#endif
