// SPDX-License-Identifier: Apache-2.0
//
// SLOW_BEFORE, SLOW_AFTER: so many kernels that nobody launches, to stand in a module before or
// after the one that is timed: BESIDE(SLOW_BEFORE, 1) and BESIDE(SLOW_AFTER, 101). Their numbers
// differ, so that no two are alike.
#ifndef PLUMB_SLOW_BESIDE_CUH
#define PLUMB_SLOW_BESIDE_CUH

// About 16 KB of code each, no two alike.
template <int n> __global__ void beside(float *p)
{
    float x = p[threadIdx.x], y = p[threadIdx.x + n];
#pragma unroll
    for (int i = 0; i < 1000; i++) {
        const float z = fmaf(x, static_cast<float>(i * n + 1), y);
        y = x;
        x = z;
    }
    p[threadIdx.x] = x + y;
}
#define BESIDE_1(n)  template __global__ void beside<n>(float *);
#define BESIDE_4(n)  BESIDE_1(n) BESIDE_1((n) + 1) BESIDE_1((n) + 2) BESIDE_1((n) + 3)
#define BESIDE_16(n) BESIDE_4(n) BESIDE_4((n) + 4) BESIDE_4((n) + 8) BESIDE_4((n) + 12)
#define BESIDE_0(n)
#define BESIDE_OF(count, n) BESIDE_##count(n)
#define BESIDE(count, n)    BESIDE_OF(count, n)
#ifndef SLOW_BEFORE
#define SLOW_BEFORE 0
#endif
#ifndef SLOW_AFTER
#define SLOW_AFTER 0
#endif

#endif
