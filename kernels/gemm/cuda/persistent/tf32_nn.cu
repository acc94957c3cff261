// SPDX-License-Identifier: Apache-2.0
//
// TF32 for the layout NN (B stored as k rows of n): wgmma reads TF32 operands K-major only, so B is
// transposed into the workspace, 32 x 32 words at a time through padded shared memory, and the
// persistent kernel does the rest. The difference to tf32-9-persistent's time is the
// transposition's: it reads and writes B once.
#include "persistent.cuh"

using shape = tiled<tf32, tiling{.tile_m = 128, .tile_n = 256, .groups_m = 2, .cluster_m = 2}>;
constexpr int side = 32, rows_at_once = 8;

// out (columns x rows) = in (rows x columns), both row-major.
static __global__ void __launch_bounds__(side *rows_at_once)
    transpose(const float *in, float *out, int rows, int columns)
{
    __shared__ float tile[side][side + 1];
    const int column = blockIdx.x * side, row = blockIdx.y * side;
    for (int y = threadIdx.y; y < side; y += rows_at_once)
        if (row + y < rows && column + threadIdx.x < columns)
            tile[y][threadIdx.x] = in[(int64_t)(row + y) * columns + column + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < side; y += rows_at_once)
        if (column + y < columns && row + threadIdx.x < rows)
            out[(int64_t)(column + y) * rows + row + threadIdx.x] = tile[threadIdx.x][y];
}

static int supports(const plumb_problem *problem)
{
    plumb_problem tn = *problem;
    tn.layout = PLUMB_TN;
    return problem->layout == PLUMB_NN && supports_tn<tf32>(&tn) &&
           ceil_div(problem->k, side) < 65536;
}

static size_t workspace(const plumb_problem *problem)
{
    return (size_t)problem->n * problem->k * sizeof(float);
}

static int launch(const plumb_args *args, void *stream)
{
    const int n = (int)args->problem.n, k = (int)args->problem.k;
    if (args->workspace_bytes < workspace(&args->problem))
        return cudaErrorInvalidValue;
    transpose<<<dim3(ceil_div(n, side), ceil_div(k, side)), dim3(side, rows_at_once), 0,
                (cudaStream_t)stream>>>((const float *)args->b, (float *)args->workspace, k, n);
    const int error = cudaGetLastError();
    if (error)
        return error;
    plumb_args tn = *args;
    tn.b = args->workspace;
    tn.problem.layout = PLUMB_TN;
    return launch_gemm<shape>(&tn, stream, {PLUMB_RASTER_M, 8, 4});
}

static const plumb_kernel kernel = {
    "tf32-nn",
    "B transposed into the workspace, then the persistent kernel, 128x256x32",
    persistent_traits<shape>(4, PLUMB_RASTER_M, 8),
    supports,
    workspace,
    nullptr,
    launch};
PLUMB_LIBRARY("cuda", kernel)
