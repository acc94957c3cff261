// SPDX-License-Identifier: Apache-2.0
//
// This project's own policy fits its own kernels, those for CUDA too: every library of the CUDA
// build is listed as a run would list it, without a GPU, and ci/plumb.cfg is applied. Fails on two
// kernels of one name, on kernels that no section names, and on problems that nothing supports.
//
// The libraries are this build's own, or those of the folder that PLUMB_TEST_KERNELS names. Without
// nvcc there are none: then the test is skipped (exit code 77), and says so.
#include "model/base.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

static char *kernels; // folder of the libraries
static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    return 0;
}

static int tear_down(void **state)
{
    helper_repo_remove(&repo);
    return 0;
}

// ci/plumb.cfg, but for how libraries are made: these are copied. Sections in front rule.
static void put_policy(const char *path, const char *front)
{
    char *text = helper_read(TEST_SOURCE "/ci/plumb.cfg", NULL);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(front, file);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strstr(line, "\tcommand = "))
            fprintf(file, "\tcommand = \"cp '%s'/*.so \\\"$PLUMB_OUT\\\"\"\n", kernels);
        else if (!strstr(line, "\tinput = "))
            fprintf(file, "%s\n", line);
    }
    fclose(file);
    free(text);
}

static void list_series(const char *device, const char *front)
{
    char *path = xprintf("%s/own.cfg", repo.directory);
    put_policy(path, front);
    const char *argv[] = {
        "list", "series", "--policy", path, "--sandbox", "off", device ? "--device" : NULL,
        device, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    free(path);
}

static void every_cuda_library_fits_the_policy(void **state)
{
    list_series("cuda", "");
    plumb_said(&outcome, 0, "cublaslt ");
}

static void every_host_library_fits_the_policy(void **state)
{
    list_series("host", "");
    plumb_said(&outcome, 0, "naive ");
}

// The test can fail: each of its reasons, with the real libraries.
static void what_does_not_fit_is_found(void **state)
{
    list_series("cuda", "[library \"libspace_bf16_few.so\"]\n\tskip = false\n");
    plumb_said(&outcome, 4, "both hold a kernel named bf16-gemv");
    list_series("cuda", "[kernel \"bf16-split\"]\n\tproblems = host\n\tdevice = host\n");
    plumb_said(&outcome, 4, "kernel bf16-split (cuda): no section names it");
    list_series("cuda", "[problems \"cuda-bf16\"]\n\tproblem = 64x64x64:fp64\n");
    plumb_said(&outcome, 4, "64x64x64:fp64-fp64:tn: no kernel does it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cuda_library_fits_the_policy),
        cmocka_unit_test(every_host_library_fits_the_policy),
        cmocka_unit_test(what_does_not_fit_is_found),
    };
    const char *named = getenv("PLUMB_TEST_KERNELS");
    kernels = xprintf("%s", named ? named : TEST_BIN "/../kernels");
    char *one = xprintf("%s/libcublaslt.so", kernels);
    FILE *there = fopen(one, "r");
    int code = SKIPPED;
    if (there)
        fclose(there);
    else
        printf("SKIPPED: %s is not there; this build has no CUDA libraries (no nvcc, or "
               "PLUMB_CUDA=OFF)\n",
               one);
    if (there)
        code = cmocka_run_group_tests(tests, set_up, tear_down);
    free(one);
    free(kernels);
    return code;
}
