// SPDX-License-Identifier: Apache-2.0
//
// NVFP4 on Hopper by the configuration that fits.
#include "nvfp4_select.cuh"

static const plumb_form_kernel kernel = nvfp4_selector<false>("select-nvfp4");
PLUMB_FORM_LIBRARY("cuda", kernel)
