// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublasLt
// module: cublaslt_wide -DMODULE_cublaslt_wide
// module: cublaslt_wide_fast -DMODULE_cublaslt_wide_fast
//
// cuBLASLt's best beyond its heuristics: these return eight algorithms at most, and the library
// holds hundreds. Every tile, cluster, split of k and order of tiles that it accepts, with the
// options that its heuristics' answers use, is drawn in random order and timed once, cold, for as
// long as `search_s`; the best of them and the heuristics' then compete as in
// controls/cublaslt.cuh. What beats this beats what a user of the library could get by searching,
// not only what it offers.
#include <chrono>
#include <cstdlib>

#include "cublaslt.cuh"

constexpr double search_s = 0.6;
constexpr int candidates_max = 1 << 14, tiles_max = 1024, finalists = 12;

struct candidate {
    cublasLtMatmulAlgo_t algorithm;
    float ms;
};

struct candidates {
    struct candidate *items;
    int count;
};

static void set_config(cublasLtMatmulAlgo_t *a, cublasLtMatmulAlgoConfigAttributes_t key,
                       int32_t value)
{
    // An algorithm that lacks the setting refuses it here; what comes out is checked as a whole.
    cublasLtMatmulAlgoConfigSetAttribute(a, key, &value, sizeof(value));
}

static void add_if_accepted(struct candidates *list, const struct cublaslt_state *s,
                            const struct choice *c, const cublasLtMatmulAlgo_t *a,
                            size_t workspace_bytes)
{
    cublasLtMatmulHeuristicResult_t result;
    if (list->count < candidates_max &&
        cublasLtMatmulAlgoCheck(s->handle, c->operation, c->first, c->second, c->out, c->out, a,
                                &result) == CUBLAS_STATUS_SUCCESS &&
        result.workspaceSize <= workspace_bytes)
        list->items[list->count++] = {*a, 1e30f};
}

// One tile of one algorithm: clusters x splits of k x both orders of tiles.
static void add_tile(struct candidates *list, const struct cublaslt_state *s,
                     const struct choice *c, cublasLtMatmulAlgo_t a, size_t workspace_bytes)
{
    static const int32_t clusters[] = {
        CUBLASLT_CLUSTER_SHAPE_AUTO,  CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1,
        CUBLASLT_CLUSTER_SHAPE_1x2x1, CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1,
        CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_8x1x1, CUBLASLT_CLUSTER_SHAPE_1x8x1};
    static const int32_t splits[] = {1, 2, 3, 4, 6, 8, 16};
    for (int32_t cluster : clusters) {
        set_config(&a, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster);
        for (int32_t split : splits) {
            set_config(&a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split);
            set_config(&a, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                       split > 1 ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                 : CUBLASLT_REDUCTION_SCHEME_NONE);
            for (int32_t swizzle = 0; swizzle < 2; swizzle++) {
                set_config(&a, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle);
                add_if_accepted(list, s, c, &a, workspace_bytes);
            }
        }
    }
}

// Everything around one of the heuristics' answers, whose stages, inner shape and custom option
// stay.
static void add_around(struct candidates *list, const struct cublaslt_state *s,
                       const struct choice *c, const cublasLtMatmulAlgo_t *seed,
                       size_t workspace_bytes)
{
    int32_t tiles[tiles_max];
    size_t written = 0;
    if (cublasLtMatmulAlgoCapGetAttribute(seed, CUBLASLT_ALGO_CAP_TILE_IDS, tiles, sizeof(tiles),
                                          &written) != CUBLAS_STATUS_SUCCESS)
        return;
    for (size_t i = 0; i < written / sizeof(tiles[0]); i++) {
        cublasLtMatmulAlgo_t a = *seed;
        set_config(&a, CUBLASLT_ALGO_CONFIG_TILE_ID, tiles[i]);
        add_tile(list, s, c, a, workspace_bytes);
    }
}

static bool same_options(const cublasLtMatmulAlgo_t *x, const cublasLtMatmulAlgo_t *y)
{
    static const cublasLtMatmulAlgoConfigAttributes_t keys[] = {
        CUBLASLT_ALGO_CONFIG_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
        CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID};
    for (auto key : keys) {
        if (config(x, key) != config(y, key))
            return false;
    }
    return true;
}

static void collect(struct candidates *list, const struct cublaslt_state *s, const struct choice *c,
                    const cublasLtMatmulHeuristicResult_t *results, int count,
                    size_t workspace_bytes)
{
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (int j = 0; j < i; j++)
            known |= same_options(&results[i].algo, &results[j].algo);
        if (!known)
            add_around(list, s, c, &results[i].algo, workspace_bytes);
    }
    uint64_t random = 0x9e3779b97f4a7c15; // a fixed seed: the same draw on every machine
    for (int i = list->count - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int j = static_cast<int>((random >> 33) % (static_cast<uint64_t>(i) + 1));
        const struct candidate swapped = list->items[i];
        list->items[i] = list->items[j];
        list->items[j] = swapped;
    }
}

// One cold launch each, until the time is up. The first launch of a kernel also loads it, so that a
// slow first one gets a second.
static int time_once(struct candidates *list, const struct cublaslt_state *s, struct choice *c,
                     const struct plumb_args *args, cudaStream_t stream)
{
    const auto begun = std::chrono::steady_clock::now();
    cudaEvent_t start, stop;
    int timed = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (; timed < list->count; timed++) {
        const auto now = std::chrono::steady_clock::now();
        if (std::chrono::duration<double>(now - begun).count() > search_s)
            break;
        struct candidate *candidate = &list->items[timed];
        c->algorithm = candidate->algorithm;
        for (int launch = 0; launch < 2; launch++) {
            float ms = 0;
            cudaMemsetAsync(args->workspace, 0, args->workspace_bytes, stream);
            cudaEventRecord(start, stream);
            const int code = run(s, c, args, stream);
            cudaEventRecord(stop, stream);
            if (cudaEventSynchronize(stop) != cudaSuccess || code)
                break;
            cudaEventElapsedTime(&ms, start, stop);
            if (ms < candidate->ms)
                candidate->ms = ms;
        }
    }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return timed;
}

static int by_time(const void *x, const void *y)
{
    const float a = static_cast<const struct candidate *>(x)->ms;
    const float b = static_cast<const struct candidate *>(y)->ms;
    return (a > b) - (a < b);
}

static int choose_widely(const struct cublaslt_state *s, struct choice *c,
                         const struct plumb_args *args, cudaStream_t stream)
{
    cublasLtMatmulHeuristicResult_t results[algorithms_max];
    int count = 0, best;
    int code = ask_heuristics(results, &count, algorithms_max - finalists, s, c, args);
    struct candidates list = {
        static_cast<struct candidate *>(calloc(candidates_max, sizeof(struct candidate))), 0};
    if (code || !list.items) {
        free(list.items);
        return code ? code : static_cast<int>(CUBLAS_STATUS_ALLOC_FAILED);
    }
    collect(&list, s, c, results, count, args->workspace_bytes);
    const int timed = time_once(&list, s, c, args, stream);
    qsort(list.items, static_cast<size_t>(timed), sizeof(list.items[0]), by_time);
    for (int i = 0; i < timed && i < finalists; i++)
        results[count++].algo = list.items[i].algorithm;
    free(list.items);
    return choose_of(&best, s, c, results, count, args, stream);
}

#if defined MODULE_cublaslt_wide
// cuBLASLt by a wide search: the control for "could the library do better than it says".

CUBLASLT_LIBRARY("cublaslt_wide", "best of a wide search in cuBLASLt, 0.6 s per problem, frozen",
                 false, choose_widely)

#elif defined MODULE_cublaslt_wide_fast
// cuBLASLt fp8 with fast accumulation by a wide search.

CUBLASLT_LIBRARY("cublaslt_wide_fast",
                 "cuBLASLt fp8 with fast accumulation, best of a wide search, 0.6 s per problem",
                 true, choose_widely)
#endif
