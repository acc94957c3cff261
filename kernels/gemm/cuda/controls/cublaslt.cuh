// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt as a kernel. Each algorithm that its heuristics return is timed once per problem and
// regime, in that regime, and the best is then kept. It is the reference to beat, and a control.
//
// The note names the library's version and the algorithm, and holds the algorithm itself (64 opaque
// bytes, which the library documents as storable for one version), so that a pin reproduces it.
#ifndef PLUMB_GEMM_CONTROLS_CUBLASLT_CUH
#define PLUMB_GEMM_CONTROLS_CUBLASLT_CUH

#include <cstdio>
#include <cstring>
#include <cublasLt.h>
#include <cuda_runtime.h>

#include "../../../kernel.h"
#include "../trial.cuh"

// ---- One problem as cuBLASLt is asked to do it: descriptors, algorithms, the call.
//
// Row-major C = A B is column-major C' = B' A', so the library's first operand is our B: K-major B
// is its "T", K-major A its "N".

constexpr size_t cublaslt_workspace_bytes = size_t{64} << 20;
constexpr int algorithms_max = 32;

// The data that launch() needs for one problem. They are kept from prepare() to launch(), as
// the only state of a module, because making the library's descriptors within a launch would
// change its time.
struct library_call {
    struct plumb_problem problem;
    cublasLtMatmulDesc_t operation;
    cublasLtMatrixLayout_t first, second, out;
    cublasLtMatmulAlgo_t algorithm;
    int ready;
};

struct cublaslt_state {
    cublasLtHandle_t handle;
    struct library_call choices[64];
    unsigned next;
};

static int type_of(cudaDataType_t *out, int type)
{
    switch (type) {
    case PLUMB_FP32:
    case PLUMB_TF32:
        *out = CUDA_R_32F;
        return 1;
    case PLUMB_BF16:
        *out = CUDA_R_16BF;
        return 1;
    case PLUMB_FP16:
        *out = CUDA_R_16F;
        return 1;
    case PLUMB_E4M3:
        *out = CUDA_R_8F_E4M3;
        return 1;
    default:
        return 0;
    }
}

static int make_layout(cublasLtMatrixLayout_t *out, cudaDataType_t type, int64_t rows, int64_t cols,
                       int32_t batch)
{
    const int64_t stride = rows * cols;
    int code = cublasLtMatrixLayoutCreate(out, type, rows, cols, rows);
    if (!code)
        code = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                sizeof(batch));
    if (!code)
        code = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof(stride));
    return code;
}

static int make_operation(struct library_call *c, bool fast)
{
    const struct plumb_problem *p = &c->problem;
    const cublasOperation_t none = CUBLAS_OP_N, transposed = CUBLAS_OP_T;
    const bool b_k_major = p->layout == PLUMB_TN || p->layout == PLUMB_TT;
    const bool a_k_major = p->layout == PLUMB_TN || p->layout == PLUMB_NN;
    const int8_t fast_accumulation = fast;
    cudaDataType_t in = CUDA_R_32F, out = CUDA_R_32F;
    type_of(&in, p->in_type);
    type_of(&out, p->out_type);
    const cublasComputeType_t compute =
        p->in_type == PLUMB_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    int code = cublasLtMatmulDescCreate(&c->operation, compute, CUDA_R_32F);
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSA,
                                              b_k_major ? &transposed : &none, sizeof(none));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSB,
                                              a_k_major ? &none : &transposed, sizeof(none));
    if (!code && p->in_type == PLUMB_E4M3)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM,
                                              &fast_accumulation, sizeof(fast_accumulation));
    if (!code)
        code = b_k_major ? make_layout(&c->first, in, p->k, p->n, p->batch)
                         : make_layout(&c->first, in, p->n, p->k, p->batch);
    if (!code)
        code = a_k_major ? make_layout(&c->second, in, p->k, p->m, p->batch)
                         : make_layout(&c->second, in, p->m, p->k, p->batch);
    return code ? code : make_layout(&c->out, out, p->n, p->m, p->batch);
}

static void free_choice(struct library_call *c)
{
    if (c->operation)
        cublasLtMatmulDescDestroy(c->operation);
    if (c->first)
        cublasLtMatrixLayoutDestroy(c->first);
    if (c->second)
        cublasLtMatrixLayoutDestroy(c->second);
    if (c->out)
        cublasLtMatrixLayoutDestroy(c->out);
    *c = {};
}

static int run(const struct cublaslt_state *s, const struct library_call *c,
               const struct plumb_args *args, cudaStream_t stream)
{
    const float one = 1, zero = 0;
    return cublasLtMatmul(s->handle, c->operation, &one, args->b, c->first, args->a, c->second,
                          &zero, args->c, c->out, args->c, c->out, &c->algorithm, args->workspace,
                          args->workspace_bytes, stream);
}

static int ask_heuristics(cublasLtMatmulHeuristicResult_t *results, int *count, int most,
                          const struct cublaslt_state *s, const struct library_call *c,
                          const struct plumb_args *args)
{
    cublasLtMatmulPreference_t preference = nullptr;
    const uint64_t bytes = args->workspace_bytes;
    int code = cublasLtMatmulPreferenceCreate(&preference);
    if (!code)
        code = cublasLtMatmulPreferenceSetAttribute(
            preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof(bytes));
    if (!code)
        code = cublasLtMatmulAlgoGetHeuristic(s->handle, c->operation, c->first, c->second, c->out,
                                              c->out, preference, most, results, count);
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    return code;
}

// The library's first operand is our B.
static int point_to_scales(struct library_call *c, const void *of_a, const void *of_b)
{
    const int code = cublasLtMatmulDescSetAttribute(
        c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &of_b, sizeof(of_b));
    return code ? code
                : cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                 &of_a, sizeof(of_a));
}

static int set_scales(struct library_call *c, const struct plumb_args *args)
{
    return args->scale_a && args->scale_b ? point_to_scales(c, args->scale_a, args->scale_b) : 0;
}

// One scale for each row of A and 128 of K, and for each 128 x 128 of B.
[[maybe_unused]] static int set_block_scales(struct library_call *c, const void *of_a,
                                             const void *of_b)
{
    const int32_t blocks = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t vectors = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    int code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                                              &blocks, sizeof(blocks));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                                              &vectors, sizeof(vectors));
    return code ? code : point_to_scales(c, of_a, of_b);
}

constexpr double trial_us = 1e6; // of the device's time

static struct library_call *find_choice(struct cublaslt_state *s, const struct plumb_problem *p)
{
    for (struct library_call &choice : s->choices) {
        if (choice.ready && memcmp(&choice.problem, p, sizeof(*p)) == 0)
            return &choice;
    }
    return nullptr;
}

// Times all algorithms in the problem's regime. Sets *best to the index of the fastest,
// which is chosen.
static int choose_of(int *best, const struct cublaslt_state *s, struct library_call *c,
                     const cublasLtMatmulHeuristicResult_t *results, int count,
                     const struct plumb_args *args, cudaStream_t stream)
{
    *best = 0;
    if (count == 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const int code =
        try_out(best, {count, 0, trial_us, 1, 1}, args, stream, [&](int i, const plumb_args *on) {
            c->algorithm = results[i].algo;
            return run(s, c, on, stream);
        });
    c->algorithm = results[*best].algo;
    return code;
}

static int choose(const struct cublaslt_state *s, struct library_call *c,
                  const struct plumb_args *args, cudaStream_t stream)
{
    cublasLtMatmulHeuristicResult_t results[algorithms_max];
    int count = 0, best;
    const int code = ask_heuristics(results, &count, algorithms_max, s, c, args);
    return code ? code : choose_of(&best, s, c, results, count, args, stream);
}

static int32_t config(const cublasLtMatmulAlgo_t *algorithm,
                      cublasLtMatmulAlgoConfigAttributes_t key)
{
    int32_t value = -1;
    size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(algorithm, key, &value, sizeof(value), &written);
    return value;
}

static void write_note(char *note, size_t size, const cublasLtMatmulAlgo_t *a)
{
    int used = snprintf(
        note, size, "cublaslt %zu algo %d tile %d stages %d splitk %d data ", cublasLtGetVersion(),
        config(a, CUBLASLT_ALGO_CONFIG_ID), config(a, CUBLASLT_ALGO_CONFIG_TILE_ID),
        config(a, CUBLASLT_ALGO_CONFIG_STAGES_ID), config(a, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
    for (uint64_t word : a->data) {
        if (used > 0 && static_cast<size_t>(used) < size)
            used += snprintf(note + used, size - static_cast<size_t>(used), "%016llx",
                             static_cast<unsigned long long>(word));
    }
}

// Returns 0 if the pin is of this version and its algorithm does this problem here.
static int read_pin(const struct cublaslt_state *s, struct library_call *c, const char *pin)
{
    size_t version = 0;
    const char *data = strstr(pin, " data ");
    if (sscanf(pin, "cublaslt %zu ", &version) != 1 || version != cublasLtGetVersion() || !data)
        return -1;
    data += strlen(" data ");
    for (uint64_t &word : c->algorithm.data) {
        unsigned long long value;
        if (sscanf(data, "%16llx", &value) != 1)
            return -1;
        word = value;
        data += 16;
    }
    cublasLtMatmulHeuristicResult_t result;
    return cublasLtMatmulAlgoCheck(s->handle, c->operation, c->first, c->second, c->out, c->out,
                                   &c->algorithm, &result);
}

// A function that tells the library what a problem is: operation, layouts, scales.
typedef int describer(struct library_call *, const struct plumb_args *);

template <bool fast>
static int describe_plain(struct library_call *c, const struct plumb_args *args)
{
    const int code = make_operation(c, fast);
    return code ? code : set_scales(c, args);
}

static int cublaslt_prepare(struct cublaslt_state *s, describer *describe,
                            const struct plumb_args *args, void *stream, const char *pin,
                            char *note, size_t note_size)
{
    struct library_call fresh = {};
    struct library_call *slot = find_choice(s, &args->problem);
    int code = s->handle ? 0 : cublasLtCreate(&s->handle);
    fresh.problem = args->problem;
    if (!code)
        code = describe(&fresh, args);
    if (!code)
        code = pin ? read_pin(s, &fresh, pin)
                   : choose(s, &fresh, args, static_cast<cudaStream_t>(stream));
    if (code) {
        free_choice(&fresh);
        return code;
    }
    if (!slot)
        slot = &s->choices[s->next++ % (sizeof(s->choices) / sizeof(s->choices[0]))];
    free_choice(slot);
    fresh.ready = 1;
    *slot = fresh;
    write_note(note, note_size, &slot->algorithm);
    return 0;
}

static int cublaslt_launch(struct cublaslt_state *s, const struct plumb_args *args, void *stream)
{
    struct library_call *choice = find_choice(s, &args->problem);
    if (!choice)
        return -1; // not prepared
    const int code = set_scales(choice, args);
    return code ? code : run(s, choice, args, static_cast<cudaStream_t>(stream));
}

// FP8 needs K-major operands and multiples of 16; the library's heuristics decide the rest.
static int cublaslt_supports(const struct plumb_problem *p)
{
    cudaDataType_t type;
    if (!type_of(&type, p->in_type) || !type_of(&type, p->out_type) || p->epilogue != 0 ||
        p->m > INT32_MAX || p->n > INT32_MAX || p->k > INT32_MAX)
        return 0;
    if (p->in_type == PLUMB_E4M3)
        return p->layout == PLUMB_TN && p->k % 16 == 0 && p->n % 16 == 0 && p->m % 16 == 0 &&
               (p->out_type == PLUMB_BF16 || p->out_type == PLUMB_FP16 ||
                p->out_type == PLUMB_FP32);
    if (p->in_type == PLUMB_FP32 || p->in_type == PLUMB_TF32)
        return p->out_type == PLUMB_FP32 && (p->in_type == PLUMB_FP32 || p->k % 4 == 0);
    return p->out_type == p->in_type || p->out_type == PLUMB_FP32;
}

static size_t cublaslt_workspace(const struct plumb_problem *)
{
    return cublaslt_workspace_bytes;
}

#endif
