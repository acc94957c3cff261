// SPDX-License-Identifier: Apache-2.0
//
// Kernels of FP8 with block scales, as the ABI sees them: forms. The device code is that of the
// promoted kernels (persistent/persistent.cuh).
#ifndef PLUMB_GEMM_SCALED_SCALED_CUH
#define PLUMB_GEMM_SCALED_SCALED_CUH

#include "../persistent/persistent.cuh"
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

// Makes a form of a plain kernel that takes block scales in place of the scales of whole tensors.
template <int (*supports)(const plumb_problem *), int (*launch)(const plumb_args *, void *)>
constexpr plumb_form_kernel scaled_form(const plumb_kernel &plain)
{
    return {{plain.name, plain.summary, plain.traits},
            supports_scaled<supports>,
            nullptr,
            nullptr,
            launch_scaled<launch>};
}

#endif
