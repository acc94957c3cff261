// SPDX-License-Identifier: Apache-2.0
//
// Two builds as the compiler would report them, without a compiler.
#include "tests/helpers/helper_facts.h"

#include <stdlib.h>
#include <string.h>

int two_builds_set_up(void **state)
{
    struct two_builds *f = xcalloc(1, sizeof(*f));
    f->base_functions[0] = (struct code_function){.name = "gemm",
                                                  .architecture = "sm_90a",
                                                  .registers = 128,
                                                  .shared_bytes = 8448,
                                                  .max_threads = 256,
                                                  .code_bytes = 4096};
    f->base_functions[1] = f->base_functions[0];
    f->base_functions[1].name = "reduce";
    memcpy(f->head_functions, f->base_functions, sizeof(f->head_functions));
    f->base.functions = (struct code_function_list){f->base_functions, 1, true};
    f->head.functions = (struct code_function_list){f->head_functions, 1, true};
    f->base_kernel.traits.threads = f->head_kernel.traits.threads = 256;
    f->device.gpu = *gpu_find("h200-sxm");
    f->task = (struct task){.device = &f->device,
                            .base = &f->base_kernel,
                            .head = &f->head_kernel,
                            .result = &f->result};
    *state = f;
    return 0;
}

int two_builds_tear_down(void **state)
{
    struct two_builds *f = *state;
    arena_free(&f->arena);
    free(f);
    return 0;
}
