// SPDX-License-Identifier: Apache-2.0
//
// Functions as `plumb init` meets them: a seed of fuzz_sources.c.
#include <stdio.h>
// One thread for each element. /* void no(int m) { */
template <int BLOCK> __global__ void tiled(int m, int n, int k, const float *a, float *b, float *c)
{
    c[0] = a[0] * "}{"[0];
}
extern "C" __global__ void __launch_bounds__(256, 2)
    sgemm(int M, int N, int K, float alpha, const float *__restrict__ A, const float *d_B, int ldb,
          float beta, float *C)
{
    C[threadIdx.x] = alpha * A[0] * d_B[0] + (beta ? beta * C[0] : '\'');
}
void run(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C, cudaStream_t s)
{
    sgemm<<<dim3(M / 16, N / 16), 256, 0, s>>>(M, N, K, alpha, A, B, N, beta, C);
}

using Element = cutlass::half_t;
using Device = typename cutlass::gemm::device::Gemm<Element, cutlass::layout::RowMajor, Element,
                                                    cutlass::layout::ColumnMajor, float,
                                                    cutlass::layout::RowMajor>;
