// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the host ladder, at sizes that fit no tile, in every layout and with a batch. The
// check is bench's own (test_bench.c shows that it finds what is wrong).
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/test.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS_MOST = 64 };
static char *kernels[KERNELS_MOST]; // each NAME.c of the ladder's folder, in order
static size_t kernel_count;

// One around every tile edge: 14 x 32, 6 x 16, 4 x 8 register tiles; 168, 1024, 384, 128, 256
// blocks.
static const char *const problems[] = {
    "1x1x1:fp32",        "1x37x5:fp32:nn",       "3x2x1:fp32:nt",         "17x33x65:fp32:tt",
    "14x32x384:fp32",    "15x33x385:fp32",       "13x31x383:fp32:nn",     "169x257x129:fp32:nt",
    "5x1025x3:fp32",     "7x1100x20:fp32:nn",    "173x41x401:fp32:tt:b2", "29x31x37:fp32:nn:b5",
    "200x1x300:fp32:nt", "1x300x500:fp32:tt:b3", "64x64x2000:fp32"};

static const char *const dual_problems[] = {
    "1x1x1:fp32:dual-silu", "17x33x65:fp32:dual-silu", "13x31x383:fp32:nn:dual-silu",
    "9x1x5:fp32:nt:dual-silu", "29x31x37:fp32:tt:b3:dual-silu"};

static void assert_right(const char *kernel, const char *path, const char *const *texts,
                         size_t count)
{
    char *script = xcalloc(1, 65536);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(script);
        snprintf(script + used, 65536 - used,
                 "open\tid=%zu\tkernel=%s\tproblem=%s\thead=%s\tseed=%zu\nclose\tid=%zu\n", i,
                 kernel, texts[i], path, i, i);
    }
    struct transcript t;
    bench_script(&t, "", script);
    for (size_t i = 0; i < count; i++) {
        const struct wire_record *opened = transcript_find(&t, "opened", i);
        const struct wire_record *closed = transcript_find(&t, "closed", i);
        if (strcmp(field(opened, "state"), "ok") || strcmp(field(closed, "state"), "ok"))
            fail_msg("%s %s: %s", kernel, texts[i], field(opened, "note"));
        assert_true(strtod(field(closed, "error"), NULL) <=
                    strtod(field(closed, "tolerance"), NULL));
    }
    assert_int_equal(transcript_count(&t, "fail"), 0);
    transcript_free(&t);
    free(script);
}

static void kernel_is_right_at_odd_sizes(void **state)
{
    const char *kernel = *state;
    char *path = ladder_module(kernel);
    if (access(path, R_OK)) { // OpenBLAS may be missing; the build said so
        assert_true(strncmp(kernel, "blas", 4) == 0);
        free(path);
        skip_without("blas", "OpenBLAS is missing");
    }
    assert_right(kernel, path, problems, ARRAY_COUNT(problems));
    free(path);
}

TEST(naive_is_right_as_a_dual_gemm)
{
    char *path = ladder_module("naive");
    assert_right("naive", path, dual_problems, ARRAY_COUNT(dual_problems));
    free(path);
}

static bool declines(const char *kernel, const char *path, const char *problem)
{
    char *script =
        xprintf("open\tid=1\tkernel=%s\tproblem=%s\thead=%s\tseed=1\n", kernel, problem, path);
    struct transcript t;
    bench_script(&t, "", script);
    const bool declined =
        strcmp(field(transcript_find(&t, "opened", 0), "state"), "unsupported") == 0;
    transcript_free(&t);
    free(script);
    return declined;
}

// A kernel for dual GEMMs is right at all of them.
TEST(other_types_are_declined)
{
    for (size_t i = 0; i < kernel_count; i++) {
        char *path = ladder_module(kernels[i]);
        if (access(path, R_OK) == 0) {
            assert_true(declines(kernels[i], path, "8x8x8:bf16"));
            if (!declines(kernels[i], path, "8x8x8:fp32:dual-silu"))
                assert_right(kernels[i], path, dual_problems, ARRAY_COUNT(dual_problems));
        }
        free(path);
    }
}

static void find_kernels(void)
{
    glob_t found;
    if (glob(TEST_SOURCE "/kernels/gemm/host/*.c", 0, NULL, &found))
        return;
    for (; kernel_count < found.gl_pathc && kernel_count < KERNELS_MOST; kernel_count++) {
        const char *name = strrchr(found.gl_pathv[kernel_count], '/') + 1;
        kernels[kernel_count] = xprintf("%.*s", (int)strlen(name) - 2, name);
    }
    globfree(&found);
}

TEST(the_ladder_is_found)
{
    assert_true(kernel_count >= 6 && kernel_count < KERNELS_MOST);
}

int main(void)
{
    static struct test each[KERNELS_MOST];
    find_kernels();
    for (size_t i = 0; i < kernel_count; i++) {
        each[i].unit = (struct CMUnitTest)cmocka_unit_test(kernel_is_right_at_odd_sizes);
        each[i].unit.name = kernels[i];
        each[i].unit.initial_state = (void *)(uintptr_t)kernels[i];
        add_test(&each[i]);
    }
    const int status = test_main();
    for (size_t i = 0; i < kernel_count; i++)
        free(kernels[i]);
    return status;
}
