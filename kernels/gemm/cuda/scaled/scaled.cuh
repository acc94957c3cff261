// SPDX-License-Identifier: Apache-2.0
//
// Kernels of FP8 with block scales, as the ABI has them: forms. The device code is the promoted
// kernels' (persistent/persistent.cuh).
#ifndef PLUMB_GEMM_SCALED_SCALED_CUH
#define PLUMB_GEMM_SCALED_SCALED_CUH

#include "../split/cluster.cuh"
#include "forms.cuh"

template <int (*supports_plain)(const plumb_problem *)> int supports_scaled(const plumb_form *form)
{
    return has_block_scales(form) && supports_plain(&form->problem);
}

template <int (*launch_plain)(const plumb_args *, void *)>
int launch_scaled(const plumb_form_args *args, void *stream)
{
    const plumb_args plain = plain_args(args);
    return launch_plain(&plain, stream);
}

template <class c, int stages, int raster, int group>
constexpr plumb_form_kernel scaled_row(const char *name,
                                       const char *summary = "persistent, block scales")
{
    static_assert(stages >= 2 && stages <= c::most_stages(), "stages do not fit shared memory");
    return {{name, summary, persistent_traits<c>(stages, raster, group)},
            supports_scaled<supports_tn<typename c::type>>,
            nullptr,
            nullptr,
            launch_scaled<launch_scheduled<launch_gemm<c>, stages, raster, group>>};
}

template <class c, int split, int stages, int raster, int group>
constexpr plumb_form_kernel scaled_split_row(const char *name)
{
    static_assert(stages >= 2 && stages <= split_layout<c, split>::most_stages(),
                  "stages do not fit shared memory");
    return {{name, "split-K over a cluster's shared memory, block scales",
             split_traits<c, split>(stages, raster, group)},
            supports_scaled<supports_split<c, split>>,
            nullptr,
            nullptr,
            launch_scaled<launch_scheduled<launch_split<c, split>, stages, raster, group>>};
}

#endif
