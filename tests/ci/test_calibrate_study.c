// SPDX-License-Identifier: Apache-2.0
//
// plumb calibrate --study: what a device answers stands beside seed 2's own figures, as a table, a
// CSV and figures.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *directory, *bench, *kernels, *study, *policy;

static const char policy_text[] =
    "[build]\n\tinput = kernels\n\tcommand = true\n[device \"host\"]\n\tkind = host\n"
    "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n\tproblems = p\n";

static int set_up(void **state)
{
    git_repository *git = NULL;
    directory = helper_directory();
    bench = xprintf("%s/bench", directory);
    kernels = xprintf("%s/kernels", directory);
    study = xprintf("%s/study", directory);
    char *prepare = xprintf("cp '%s/fake_bench' '%s' && mkdir '%s' && : >'%s/libtf32_1_mma.so' && "
                            ": >'%s/libnaive_fp32.so'",
                            TEST_BIN, bench, kernels, kernels, kernels);
    if (system(prepare) || git_libgit2_init() < 1 || git_repository_init(&git, directory, 0))
        return -1;
    git_repository_free(git);
    free(prepare);
    policy = xprintf("%s/policy.cfg", directory);
    helper_write_text(policy, policy_text);
    return 0;
}

AROUND_ALL(set_up, NULL);

static char *left(const char *name)
{
    char *path = xprintf("%s/%s", study, name), *text = helper_read(path, NULL);
    free(path);
    return text;
}

// How many steps of the ladder in a study's table are kernels of this repository, by their names.
static int known_steps(const char *csv)
{
    int known = 0;
    for (const char *row = strstr(csv, "\ntf32-"); row; row = strstr(row + 1, "\ntf32-")) {
        char *name = xprintf("%.*s", (int)strcspn(row + 1, ","), row + 1);
        char *stem = xprintf("%s", name);
        for (char *c = stem; *c; c++)
            *c = *c == '-' ? '_' : *c;
        char *path = xprintf("%s/kernels/gemm/cuda/ladder/%s.cu", TEST_SOURCE, stem);
        char *source = helper_read(path, NULL), *quoted = xprintf("\"%s\",", name);
        known += strstr(source, quoted) != NULL;
        free(quoted);
        free(source);
        free(path);
        free(stem);
        free(name);
    }
    return known;
}

TEST(figures_stand_beside_seed_2)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    plumb_run(out, directory,
              (const char *const[]){"calibrate", "--study", "--kernels", kernels, "--bench", bench,
                                    "--policy", policy, "--sandbox", "auto", "-o", study, NULL},
              0);
    static const char *const lines[] = {
        "\nFADD                             30.50       -       -",
        "\n  seed 2, H100 SXM5              29.00   14.50    7.80    3.90    1.90    1.40    1.20",
        "\nL1, 8 KiB                           41.25      40.20 clocks\n",
        "\nDRAM copy, 1 thread                     -       0.09 GB/s\n", // unsteady
        "\nDRAM copy, all SMs                 2500.0     1992.0 GB/s\n",
        "26.00 ms, 4096x8192x16384:tf32-fp32:tn\n",
        "296.2 ms, 4096x8192x16384:fp32-fp32:nn\n"};
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        plumb_said(out, 0, lines[i]);
    assert_null(strstr(out->output, "tf32-7-tma")); // not there
    char *csv = left("study.csv");
    assert_non_null(strstr(csv, "\nFADD ilp 1,30.5,clocks,29\n"));
    assert_non_null(strstr(csv, "\ndram_thread,,GB/s,0.09\n"));
    assert_non_null(strstr(csv, "\ndram_sm_all,2500,GB/s,1992\n"));
    assert_int_equal(known_steps(csv), 9);
    free(csv);
    static const char *const figures[] = {"instructions.svg", "copies.svg", "gemm.svg"};
    for (size_t i = 0; i < ARRAY_COUNT(figures); i++) {
        char *svg = left(figures[i]);
        assert_non_null(strstr(svg, "stroke-dasharray"));
        assert_non_null(strstr(svg, "</svg>"));
        assert_null(strstr(svg, "nan"));
        free(svg);
    }
    free(out);
}

// After a calibration nobody should wonder which profile predicts.
TEST(what_predictions_take_after_a_calibration_is_said)
{
    static const char on_gpu[] =
        "[build]\n\tinput = kernels\n\tcommand = true\n[device \"cuda\"]\n\tkind = cuda\n"
        "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n\tproblems = p\n";
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    char *name = xprintf("%s.cuda", bench), *store = xprintf("%s/own.db", directory);
    const char *const words[] = {"calibrate", "--bench", bench,       "--policy", policy,
                                 "--store",   store,     "--sandbox", "off",      NULL};
    helper_write_text(policy, on_gpu);
    helper_write_text(name, "NVIDIA H200\n"); // whose profile was judged
    plumb_run(out, directory, words, 0);
    plumb_said(out, 0, "\npredictions: profile h200-sxm as shipped, which was held to measured");
    helper_write_text(name, "NVIDIA GeForce RTX 4090\n"); // whose profile was not
    plumb_run(out, directory, words, 0);
    plumb_said(out, 0, "\npredictions: with these figures\n");
    helper_write_text(name, "NVIDIA unheard of\n"); // which has none
    plumb_run(out, directory, words, 0);
    assert_int_equal(out->code, 0);
    assert_null(strstr(out->output, "predictions:"));
    helper_write_text(policy, policy_text);
    free(name);
    free(store);
    free(out);
}

TEST(what_cannot_be_studied_is_said)
{
    struct plumb_outcome *out = xcalloc(1, sizeof(*out));
    PLUMB_EXPECT(out, directory, 4, "--kernels is for --study", "calibrate", "--kernels", kernels);
    PLUMB_EXPECT(out, directory, 4, "no library of the ladder", "calibrate", "--study", "--kernels",
                 directory, "--bench", bench, "--policy", policy, "--sandbox", "auto");
    PLUMB_EXPECT(out, directory, 4, "/nowhere: no such directory", "calibrate", "--study",
                 "--kernels", "/nowhere", "--bench", bench, "--policy", policy, "--sandbox",
                 "auto");
    free(out);
}
