// SPDX-License-Identifier: Apache-2.0
//
// What a launch costs the host: 200,000 launches that do nothing, the queue never full.
#include <chrono>
#include <cstdio>

__global__ void nothing(int *)
{
}

int main()
{
    int *at;
    double us = 0;
    cudaMalloc(&at, 4);
    nothing<<<1, 32>>>(at);
    cudaDeviceSynchronize();
    for (int i = 0; i < 400; i++) {
        const auto begin = std::chrono::steady_clock::now();
        for (int k = 0; k < 500; k++)
            nothing<<<1, 32>>>(at);
        us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                  .count();
        cudaDeviceSynchronize();
    }
    printf("%.3f us a launch\n", us / 200000);
    return 0;
}
