// SPDX-License-Identifier: Apache-2.0
//
// Kernels can read all device memory. So what they should compute lies there under a key.
#ifndef PLUMB_MASK_CUH
#define PLUMB_MASK_CUH

#include "kernels/device/inputs.h"

#include <cstdint>
#include <cstring>

enum { MASK_STREAM = 12 }; // of inputs_word(): where keys come from

// `value`, element `at`, with its bits changed by the key; of a masked one the value itself.
static __host__ __device__ inline double masked(double value, uint64_t key, uint64_t at)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits ^= inputs_mix(key + at * 0x9e3779b97f4a7c15u);
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

#endif
