// SPDX-License-Identifier: Apache-2.0
//
// Builds a kernel and one that takes twice its time.
#include "tests/helpers/helper_loop.h"
#include "model/base.h"

#include <stdio.h>
#include <stdlib.h>

static const char source[] =
    "#include \"kernel.h\"\n"
    "static int supports(const struct plumb_problem *p) {\n"
    "    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1; }\n"
    "static int launch(const struct plumb_args *args, void *stream) {\n"
    "    const struct plumb_problem *p = &args->problem; (void)stream;\n"
    "    const float *a = args->a, *b = args->b; float *c = args->c;\n"
    "    for (int again = 0; again < TIMES; again++)\n"
    "    for (long i = 0; i < p->m; i++) for (long j = 0; j < p->n; j++) {\n"
    "        volatile float sum = 0;\n"
    "        for (long l = 0; l < p->k; l++) sum += a[i * p->k + l] * b[j * p->k + l];\n"
    "        c[i * p->n + j] = sum; }\n"
    "    return 0; }\n"
    "static const struct plumb_kernel kernel = {.name = \"loop\", .summary = \"\",\n"
    "    .supports = supports, .launch = launch};\n"
    "PLUMB_LIBRARY(\"host\", kernel)\n";

int helper_loop_build(const char *directory)
{
    char *path = xprintf("%s/loop.c", directory);
    FILE *file = fopen(path, "w");
    free(path);
    if (!file || fputs(source, file) < 0 || fclose(file))
        return -1;
    char *command = xprintf("cd '%s' && mkdir base head && for side in base:1 head:2; do cc -O2 "
                            "-std=gnu17 -shared -fPIC -DTIMES=${side#*:} -I'" TEST_SOURCE
                            "/kernels' -o ${side%%:*}/loop.so loop.c || exit 1; done",
                            directory);
    int status = system(command);
    free(command);
    return status ? -1 : 0;
}
