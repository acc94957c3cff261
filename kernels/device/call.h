// SPDX-License-Identifier: Apache-2.0
//
// Asks a kernel of either version of the ABI. Version 1 is asked about plain problems alone; a
// kernel of version 2 about those too, unless its first part answers them.
#ifndef PLUMB_CALL_H
#define PLUMB_CALL_H

#include "kernels/kernel.h"

// Whether the kernel says that it does the problem.
int call_supports(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
size_t call_workspace(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
// Whether there is a prepare(); without one it returns 0.
int call_prepares(const struct plumb_form_kernel *kernel, const struct plumb_form *form);
int call_prepare(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                 void *stream, const char *pin, char *note, size_t note_size);
int call_launch(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                void *stream);

#endif
