// SPDX-License-Identifier: Apache-2.0
// nvcc: -lcublas
//
// Grouped GEMM as cuBLAS has it: cublasGemmGroupedBatchedEx. It takes the matrices' addresses from
// device memory, where a small kernel writes them first, and rows from the host
// (controls/groups.cuh).
#include "groups.cuh"

#include <cublas_v2.h>

#include <cstdio>

#ifndef KERNEL_NAME
#define KERNEL_NAME "cublas_grouped"
#endif

constexpr size_t library_bytes = size_t{64} << 20;

static struct {
    cublasHandle_t handle;
    struct known_groups groups;
    int count; // groups that have rows
    // Of those, as the library is told: column-major, so that our rows are its n.
    cublasOperation_t of_b[control_groups_most], of_a[control_groups_most];
    int m[control_groups_most], n[control_groups_most], k[control_groups_most];
    int ld_in[control_groups_most], ld_out[control_groups_most], one[control_groups_most];
    float alpha[control_groups_most], beta[control_groups_most];
} state;

struct offsets {
    int32_t first[control_groups_most], group[control_groups_most];
};

static __global__ void write_addresses(const void **out, const __grid_constant__ struct offsets at,
                                       int count, const void *a, const void *b, void *c, int64_t n,
                                       int64_t k)
{
    const int i = static_cast<int>(threadIdx.x);
    if (i >= count)
        return;
    out[i] = static_cast<const char *>(b) + at.group[i] * n * k * 2;
    out[count + i] = static_cast<const char *>(a) + at.first[i] * k * 2;
    out[2 * count + i] = static_cast<char *>(c) + at.first[i] * n * 2;
}

static int prepare(const struct plumb_form_args *args, void *, const char *, char *note,
                   size_t note_size)
{
    const struct plumb_problem *p = &args->form.problem;
    int code = state.handle ? 0 : static_cast<int>(cublasCreate(&state.handle));
    if (!code)
        code = read_groups(&state.groups, args);
    if (code)
        return code;
    state.count = 0;
    for (int g = 0; g < args->form.groups; g++) {
        if (state.groups.rows[g] == 0)
            continue;
        const int i = state.count++;
        state.of_b[i] = CUBLAS_OP_T;
        state.of_a[i] = CUBLAS_OP_N;
        state.m[i] = state.ld_out[i] = static_cast<int>(p->n);
        state.n[i] = state.groups.rows[g];
        state.k[i] = state.ld_in[i] = static_cast<int>(p->k);
        state.one[i] = 1;
        state.alpha[i] = 1;
        state.beta[i] = 0;
    }
    int version = 0;
    cublasGetVersion(state.handle, &version);
    snprintf(note, note_size, "cublas %d", version);
    return 0;
}

static int launch(const struct plumb_form_args *args, void *stream)
{
    const struct plumb_problem *p = &args->form.problem;
    const cudaStream_t target = static_cast<cudaStream_t>(stream);
    char *const workspace = static_cast<char *>(args->args.workspace);
    const void **const addresses = reinterpret_cast<const void **>(workspace + library_bytes);
    struct offsets at;
    if (!same_form(&state.groups.form, &args->form))
        return cudaErrorInvalidValue;
    for (int g = 0, i = 0; g < args->form.groups; g++) {
        if (state.groups.rows[g] > 0) {
            at.first[i] = state.groups.first[g];
            at.group[i++] = g;
        }
    }
    write_addresses<<<1, control_groups_most, 0, target>>>(addresses, at, state.count, args->args.a,
                                                           args->args.b, args->args.c, p->n, p->k);
    int code = cudaGetLastError();
    if (!code)
        code = cublasSetStream(state.handle, target);
    if (!code)
        code = cublasSetWorkspace(state.handle, workspace, library_bytes);
    if (code)
        return code;
    return cublasGemmGroupedBatchedEx(state.handle, state.of_b, state.of_a, state.m, state.n,
                                      state.k, state.alpha, addresses, CUDA_R_16BF, state.ld_in,
                                      addresses + state.count, CUDA_R_16BF, state.ld_in, state.beta,
                                      const_cast<void **>(addresses + 2 * state.count), CUDA_R_16BF,
                                      state.ld_out, state.count, state.one, CUBLAS_COMPUTE_32F);
}

static size_t workspace(const struct plumb_form *)
{
    return library_bytes + 3 * control_groups_most * sizeof(void *);
}

static const struct plumb_form_kernel kernel = {
    .kernel = {.name = KERNEL_NAME,
               .summary = "cublasGemmGroupedBatchedEx",
               .traits = {.in_type = PLUMB_BF16, .out_type = PLUMB_BF16, .acc_type = PLUMB_FP32}},
    .supports = supports_bf16_groups,
    .workspace = workspace,
    .prepare = prepare,
    .launch = launch,
};
PLUMB_FORM_LIBRARY("cuda", kernel)
