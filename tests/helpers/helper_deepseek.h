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
// Of 64 and 128 rows.
extern const struct sweep_tile sweep_tiles[];
extern const size_t sweep_tile_count;

struct sweep_cluster {
    int32_t cluster_m, cluster_n;
};
extern const struct sweep_cluster sweep_clusters[];
extern const size_t sweep_cluster_count;

#endif
