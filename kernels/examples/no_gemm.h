// SPDX-License-Identifier: Apache-2.0
//
// A library with one kernel that is no GEMM: the supports(), launch(), buffers() and reference() of
// the file that asks for it. C17 and C++20.
#ifndef EXAMPLE_NO_GEMM_H
#define EXAMPLE_NO_GEMM_H

#include "kernel.h"

#define NO_GEMM_LIBRARY(device, called, does, in, out, block)                                      \
    static const struct plumb_form_kernel kernel = {                                               \
        .kernel = {.name = (called),                                                               \
                   .summary = (does),                                                              \
                   .traits = {.in_type = (in), .out_type = (out), .threads = (block)}},            \
        .supports = supports,                                                                      \
        .launch = launch,                                                                          \
        .buffers = buffers,                                                                        \
        .reference = reference,                                                                    \
    };                                                                                             \
    PLUMB_FORM_LIBRARY(device, kernel)

#endif
