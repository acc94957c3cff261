// SPDX-License-Identifier: Apache-2.0
//
// Calls the functions of a kernel, by the version of the ABI that it has.
#include "kernels/device/call.h"

static int is_first(const struct plumb_form_kernel *kernel, const struct plumb_form *form)
{
    return form->plain && kernel->kernel.launch;
}

int call_supports(const struct plumb_form_kernel *kernel, const struct plumb_form *form)
{
    if (is_first(kernel, form))
        return kernel->kernel.supports && kernel->kernel.supports(&form->problem);
    if (form->number_count && (!kernel->buffers || !kernel->reference))
        return 0;
    return kernel->supports && kernel->launch && kernel->supports(form);
}

size_t call_workspace(const struct plumb_form_kernel *kernel, const struct plumb_form *form)
{
    if (is_first(kernel, form))
        return kernel->kernel.workspace ? kernel->kernel.workspace(&form->problem) : 0;
    return kernel->workspace ? kernel->workspace(form) : 0;
}

int call_prepares(const struct plumb_form_kernel *kernel, const struct plumb_form *form)
{
    return is_first(kernel, form) ? kernel->kernel.prepare != 0 : kernel->prepare != 0;
}

int call_prepare(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                 void *stream, const char *pin, char *note, size_t note_size)
{
    if (is_first(kernel, &args->form))
        return kernel->kernel.prepare
                   ? kernel->kernel.prepare(&args->args, stream, pin, note, note_size)
                   : 0;
    return kernel->prepare ? kernel->prepare(args, stream, pin, note, note_size) : 0;
}

int call_launch(const struct plumb_form_kernel *kernel, const struct plumb_form_args *args,
                void *stream)
{
    if (is_first(kernel, &args->form))
        return kernel->kernel.launch(&args->args, stream);
    return kernel->launch(args, stream);
}
