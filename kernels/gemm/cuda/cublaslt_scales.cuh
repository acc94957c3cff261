// SPDX-License-Identifier: Apache-2.0
//
// Block scales of groups as cuBLASLt takes them, one FP32 for each row of A and 128 of K and one
// for each 128 x 128 of B. B's lie as the library wants them. A's of one product it wants side by
// side, [k / 128][rows] with rows a multiple of 4, where those of all groups, or of a matrix with
// more rows than are used, lie together: a kernel brings them there first, which belongs to the
// control's time. Rows that fill up to a multiple of 4 are multiplied; they hold zeros.
#ifndef PLUMB_CUBLASLT_SCALES_CUH
#define PLUMB_CUBLASLT_SCALES_CUH

#include "cublas_groups.cuh"
#include "cublaslt_call.cuh"

constexpr int scales_each = 128; // of K, and of B's rows

static inline int fill_up(int64_t count, int to)
{
    return static_cast<int>((count + to - 1) / to * to);
}

static inline int64_t scale_blocks(const struct plumb_form *f)
{
    return (f->problem.k + scales_each - 1) / scales_each;
}

static int supports_scaled_groups(const struct plumb_form *f)
{
    const struct plumb_problem *p = &f->problem;
    return known_groups_form(f) && p->in_type == PLUMB_E4M3 && p->n % 16 == 0 && p->k % 16 == 0 &&
           f->scale_type == PLUMB_FP32 && f->scale_vector == scales_each && f->scale_rows_a == 1 &&
           f->scale_rows_b == scales_each && f->scale_layout == PLUMB_SCALES_COLUMNS &&
           (f->grouping == PLUMB_CONTIGUOUS || p->m % 4 == 0);
}

// Scales of A as they are brought together: of group g's block b at (sum of the rows of the groups
// before + b / blocks * rows of g).
static size_t gathered_bytes(const struct plumb_form *f)
{
    return f->scale_vector ? static_cast<size_t>(scale_blocks(f) * (f->rows + 4 * f->groups)) * 4
                           : 0;
}

struct gathering {
    int32_t first[control_groups_most], rows[control_groups_most]; // rows filled up
    int64_t matrix_rows, blocks;                                   // of one matrix A
};

static __global__ void gather_scales(float *out, const float *in,
                                     const __grid_constant__ struct gathering of)
{
    const int g = static_cast<int>(blockIdx.y);
    int64_t before = 0;
    for (int i = 0; i < g; i++)
        before += of.rows[i];
    const int64_t matrix = of.first[g] / of.matrix_rows, row = of.first[g] % of.matrix_rows;
    const int64_t count = of.rows[g] * of.blocks;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < count;
         i += gridDim.x * static_cast<int64_t>(blockDim.x))
        out[before * of.blocks + i] =
            in[(matrix * of.blocks + i / of.rows[g]) * of.matrix_rows + row + i % of.rows[g]];
}

static int gather(float *out, const struct known_groups *groups, const struct plumb_form_args *args,
                  cudaStream_t stream)
{
    const struct plumb_form *f = &args->form;
    struct gathering of = {};
    of.matrix_rows = f->grouping == PLUMB_MASKED ? f->problem.m : f->rows;
    of.blocks = scale_blocks(f);
    for (int g = 0; g < f->groups; g++) {
        of.first[g] = groups->first[g];
        of.rows[g] = fill_up(groups->rows[g], 4);
    }
    const dim3 blocks(16, static_cast<unsigned>(f->groups));
    gather_scales<<<blocks, 256, 0, stream>>>(out, static_cast<const float *>(args->block_scales_a),
                                              of);
    return cudaGetLastError();
}

// What a product's operation has to know of its scales: the library's first operand is our B.
static int set_block_scales(struct choice *c, const float *of_a, const float *of_b)
{
    const int32_t blocks = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t vectors = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    int code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                                              &blocks, sizeof(blocks));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                                              &vectors, sizeof(vectors));
    if (!code)
        code = cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                              &of_b, sizeof(of_b));
    return code ? code
                : cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                                 &of_a, sizeof(of_a));
}

#endif
