// SPDX-License-Identifier: Apache-2.0
//
// This project's own policy fits its own kernels, those for CUDA too: every library of the CUDA
// build is listed as a run would list it, without a GPU, and ci/plumb.cfg is applied. Fails on two
// kernels of one name, on kernels that no section names, and on problems that nothing supports.
//
// The libraries are this build's own, or those of the folder that PLUMB_TEST_KERNELS names. Without
// nvcc there are none: then the test is skipped (exit code 77), and says so.
#include "model/buffer.h"
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *kernels; // folder of the libraries
static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    return 0;
}

AROUND_ALL(set_up, NULL);

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

TEST(every_cuda_library_fits_the_policy)
{
    list_series("cuda", "");
    plumb_said(&outcome, 0, "cublaslt ");
}

// Those that no device at hand runs too.
TEST(every_library_for_blackwell_fits_the_policy)
{
    list_series("b200", "");
    plumb_said(&outcome, 0, "blackwell-1-fused ");
    plumb_said(&outcome, 0, "blackwell-3-collector ");
}

TEST(every_host_library_fits_the_policy)
{
    list_series("host", "");
    plumb_said(&outcome, 0, "naive ");
}

static long number(const struct wire_record *record, const char *key)
{
    return strtol(field(record, key), NULL, 10);
}

// What a kernel states of itself can be: its resident blocks have their registers and their shared
// memory (Hopper's: 64 Ki registers, 228 KiB of which each block's set-up takes one).
TEST(the_blocks_that_kernels_state_fit_an_sm)
{
    struct transcript listed;
    struct buffer script = {0};
    glob_t files;
    char *pattern = xprintf("%s/lib*.so", kernels);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        buffer_printf(&script, "list\tlibrary=%s\n", files.gl_pathv[i]);
    bench_script(&listed, "--device none", script.bytes);
    const size_t count = transcript_count(&listed, "kernel");
    assert_true(count >= files.gl_pathc);
    assert_int_equal(transcript_count(&listed, "done"), files.gl_pathc);
    for (size_t i = 0; i < count; i++) {
        const struct wire_record *kernel = transcript_find(&listed, "kernel", i);
        if (strcmp(field(kernel, "device"), "cuda") != 0)
            continue;
        const long blocks = number(kernel, "blocks_per_sm");
        if (number(kernel, "registers") * number(kernel, "threads") * blocks > 65536 ||
            (number(kernel, "smem_bytes") + 1024) * blocks > 228 << 10)
            fail_msg("%s: %ld blocks of %ld threads with %ld registers do not fit",
                     field(kernel, "name"), blocks, number(kernel, "threads"),
                     number(kernel, "registers"));
    }
    transcript_free(&listed);
    buffer_free(&script);
    globfree(&files);
    free(pattern);
}

// The test can fail: each of its reasons, with the real libraries.
TEST(what_does_not_fit_is_found)
{
    list_series("cuda", "[library \"libspace_bf16_few.so\"]\n\tskip = false\n");
    plumb_said(&outcome, 3, "both hold a kernel named bf16-gemv");
    list_series("cuda", "[kernel \"bf16-split\"]\n\tproblems = host\n\tdevice = host\n");
    plumb_said(&outcome, 4, "kernel bf16-split (cuda): no section names it");
    list_series("cuda", "[problems \"cuda-bf16\"]\n\tproblem = 64x64x64:fp64\n");
    plumb_said(&outcome, 4, "64x64x64:fp64-fp64:tn: no kernel does it");
}

int main(void)
{
    const char *named = getenv("PLUMB_TEST_KERNELS");
    kernels = xprintf("%s", named ? named : TEST_BIN "/../kernels");
    char *one = xprintf("%s/libcublaslt.so", kernels);
    FILE *there = fopen(one, "r");
    int code = there ? test_main()
                     : program_skipped("cuda", "this build has no CUDA libraries (no nvcc, or "
                                               "PLUMB_CUDA=OFF)");
    if (there)
        fclose(there);
    free(one);
    free(kernels);
    return code;
}
