// SPDX-License-Identifier: Apache-2.0
//
// The cuda device's inputs: numbers by a recipe, computed or, with other signs, copied.
#include "kernels/device/device_cuda.h"
#include "kernels/device/inputs.h"

enum { FILL_THREADS = 256 };

static __global__ void fill_all(void *to, struct inputs_recipe recipe, uint64_t count)
{
    const uint64_t first = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x, each = inputs_each(recipe.type);
    const uint64_t words = recipe.bare ? count / each : 0;
    for (uint64_t i = first; i < words; i += step)
        ((uint64_t *)to)[i] = ((const uint64_t *)recipe.bare)[i] ^ inputs_flips(&recipe, i);
    for (uint64_t i = words * each + first; i < count; i += step)
        inputs_store(to, i, &recipe);
}

int cuda_load_inputs(struct cuda *cuda, struct error *err)
{
    return cuda_load(cuda, fill_all, err);
}

extern "C" int cuda_fill(struct device_base *device, void *to, const struct inputs_recipe *recipe,
                         uint64_t count, struct error *err)
{
    struct cuda *cuda = (struct cuda *)device;
    fill_all<<<cuda_at_once(cuda), FILL_THREADS, 0, cuda->stream>>>(to, *recipe, count);
    CUDA_TRY(cuda, cudaGetLastError(), err);
    return 0;
}
