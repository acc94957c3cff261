// SPDX-License-Identifier: Apache-2.0
//
// Asks a kernel of either version of the ABI. A kernel of version 1 is only asked about plain
// problems. A kernel of version 2 is asked about these, too, unless its version 1 part answers.
#ifndef PLUMB_CALL_H
#define PLUMB_CALL_H

#include "kernels/kernel.h"

// Whether the kernel says that it supports the problem.
int call_supports(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
size_t call_workspace(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
// Whether the kernel has a prepare(); without one, call_prepare() returns 0.
int call_prepares(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
int call_prepare(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                 void *stream, const char *pin, char *note, size_t note_size);
int call_launch(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                void *stream);

#endif
