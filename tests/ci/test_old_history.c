// SPDX-License-Identifier: Apache-2.0
//
// A history that never heard of plumb, measured with policy and shim outside of it, and only where
// it changes what the build reads.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"

#include "model/result.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char product[] =
    "void product(const float *a, const float *b, float *c, long m, long n, long k) {\n"
    "    for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) {\n"
    "        float sum = %s;\n"
    "        for (long l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];\n"
    "        c[i * n + j] = sum; }\n"
    "}\n";
static const char shim[] =
    "#include \"product.c\"\n"
    "#include \"plumb_kernel.h\"\n"
    "static int supports(const struct plumb_problem *p) {\n"
    "    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1; }\n"
    "static int launch(const struct plumb_args *a, void *stream) {\n"
    "    (void)stream;\n"
    "    product(a->a, a->b, a->c, a->problem.m, a->problem.n, a->problem.k);\n"
    "    return 0; }\n"
    "static const struct plumb_kernel kernel = {.name = \"%s\", .summary = \"\",\n"
    "    .supports = supports, .launch = launch};\n"
    "PLUMB_LIBRARY(\"host\", kernel)\n";
static const char policy[] =
    "[build]\n\tinput = product.c\n%s"
    "\tcommand = cc -O1 -shared -fPIC -I. -I$PLUMB_OVERLAY -o $PLUMB_OUT/product.so "
    "$PLUMB_OVERLAY/shim.c\n"
    "[device \"cpu\"]\n\tkind = host\n[problems \"one\"]\n\tproblem = 32x32x32:fp32\n"
    "[kernel \"*\"]\n\tproblems = one\n[gate]\n\tself-test = 0\n\tprocesses = 1\n"
    "[measure]\n\tsamples = 4\n\ttimeout = 20\n";

enum { FIRST, README, OTHER, SECOND, POLICY, COMMITS };
static char ids[COMMITS][OBJECT_ID_TEXT];
static char *repo, *outside, *policy_file, *store_file, *shim_folder;
static struct plumb_outcome outcome;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void write_as(const char *folder, const char *name, const char *format, const char *value)
{
    char *path = xprintf("%s/%s", folder, name), *text = xprintf(format, value);
    helper_write_text(path, text);
    free(text);
    free(path);
}

static void add(int which, const char *path, const char *format, const char *value)
{
    char *text = xprintf(format, value);
    const struct helper_file file = {path, text, 0};
    const char *parent = which ? ids[which - 1] : NULL;
    helper_repo_commit(ids[which], repo, "main", &parent, which > 0, which, path, &file, 1);
    free(text);
}
#pragma GCC diagnostic pop

static int set_up(void **state)
{
    static struct helper_repo made;
    helper_repo_create(&made);
    repo = made.directory;
    add(FIRST, "product.c", product, "0");
    add(README, "README", "%s\n", "one");
    add(OTHER, "other.c", "%s\n", "int x;");
    add(SECOND, "product.c", product, "-0.0f");
    add(POLICY, "ci/plumb.cfg", policy, "\toverlay = /etc\n");
    outside = helper_directory();
    policy_file = xprintf("%s/plumb.cfg", outside);
    store_file = xprintf("%s/store.db", outside);
    shim_folder = xprintf("%s/shims", outside);
    mkdir(shim_folder, 0777);
    write_as(outside, "plumb.cfg", policy, "\toverlay = shims\n");
    write_as(shim_folder, "shim.c", shim, "product");
    char *header = helper_read(TEST_SOURCE "/kernels/kernel.h", NULL);
    write_as(shim_folder, "plumb_kernel.h", "%s", header);
    free(header);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void run_range(const char *range, const char *more)
{
    const char *argv[] = {"run", range, "-p", policy_file, "--store", store_file, more, NULL};
    plumb_run(&outcome, repo, argv, 0);
}

// Whatever a busy machine makes of the times: nothing here is broken or fails.
static void said(const char *part)
{
    assert_in_range(outcome.code, 0, 2);
    plumb_said(&outcome, outcome.code, part);
}

TEST(range_visits_what_changes_the_inputs)
{
    char *range = xprintf("%s..%s", ids[FIRST], ids[POLICY]);
    run_range(range, NULL);
    said("2 commits change nothing that the build reads and are passed over");
    said("commit 2 of 2: ");
    assert_null(strstr(outcome.output, ids[OTHER]));
    run_range(range, "--all");
    said("commit 4 of 4: ");
    free(range);
}

TEST(changed_overlay_is_another_build_and_is_said)
{
    run_range(ids[SECOND], NULL);
    run_range(ids[SECOND], NULL);
    said("nothing to do: 1 commit is measured already");
    write_as(shim_folder, "shim.c", shim, "renamed");
    run_range(ids[SECOND], NULL);
    said("renamed 32x32x32");
    write_as(shim_folder, "shim.c", shim, "product");
    const char *argv[] = {"gate",      "--base",  ids[FIRST], "--head", ids[SECOND], "-p",
                          policy_file, "--store", store_file, "-o",     outside,     NULL};
    plumb_run(&outcome, repo, argv, 0);
    assert_in_range(outcome.code, 0, 2);
    char *page = xprintf("%s/index.html", outside);
    assert_true(helper_says(page, "<dt>overlay</dt><dd>shims, content "));
    free(page);
    page = xprintf("%s/junit.xml", outside);
    assert_true(helper_says(page, "<property name=\"overlay\" value=\"shims, content "));
    free(page);
}

TEST(committed_policy_cannot_name_a_folder)
{
    const char *refused[] = {"gate", "--base", ids[POLICY], "--head", ids[POLICY], NULL};
    plumb_run(&outcome, repo, refused, 0);
    plumb_said(&outcome, 4, "build.overlay = /etc: a committed policy cannot name a folder");
    const char *given[] = {"gate",      "--base",    ids[POLICY], "--head",
                           ids[POLICY], "--overlay", shim_folder, NULL};
    plumb_run(&outcome, repo, given, 0);
    plumb_said(&outcome, 0, "OK: 1 same");
}
