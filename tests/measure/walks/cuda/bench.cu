// SPDX-License-Identifier: Apache-2.0
//
// bench N: how long a product of N x N matrices and its row sums take.
#include "gemm.cuh"

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 2048, rounds = 20;
    std::vector<float> host((size_t)n * n);
    float *a, *b, *c, *sums, ms;
    cudaMalloc(&a, host.size() * sizeof(float));
    cudaMalloc(&b, host.size() * sizeof(float));
    cudaMalloc(&c, host.size() * sizeof(float));
    cudaMalloc(&sums, n * sizeof(float));
    srand(1);
    for (float *to : {a, b}) {
        for (float &x : host)
            x = (float)rand() / (float)RAND_MAX - 0.5f;
        cudaMemcpy(to, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
    }
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int i = 0; i < rounds; i++) {
        gemm<<<dim3(n / TILE, n / TILE), 256>>>(n, n, a, b, c);
        row_sums<<<n, 32>>>(n, c, sums);
    }
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, begin, end);
    printf("%.3f ms a round: %s\n", ms / rounds, cudaGetErrorString(cudaGetLastError()));
    return cudaGetLastError() != cudaSuccess;
}
