// SPDX-License-Identifier: Apache-2.0
//
// Kernels without host code as a user meets them: `plumb plan` checks a plan, and a build that
// leaves plans has kernels that are listed.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct plumb_outcome outcome;
static char *folder;

#define PLAN                                                                                       \
    "[kernel]\n\tname = add-plan\n\tsummary = adds\n\tin = fp32\n\tout = fp32\n"                   \
    "\tsupports = m %% 64 == 0\n[launch \"one\"]\n\tcubin = add.cubin\n\tentry = _Z3addPfi\n"      \
    "\tgrid = %s\n\tblock = 64\n\tparameter = pointer c\n\tparameter = int32 n\n"

static void write_plan(const char *grid)
{
    char *text = xprintf(PLAN, grid), *path = xprintf("%s/add.plan", folder);
    helper_write_text(path, text);
    free(text);
    free(path);
}

static int set_up(void **state)
{
    struct cubin cubin;
    struct cubin_plan plan = library_usual_cubin;
    plan.parameter_count = 2;
    plan.parameters[0].bytes = 8;
    plan.parameters[1].offset = 8;
    plan.parameters[1].bytes = 4;
    library_set_up(state);
    folder = library_path(".");
    cubin_make(&cubin, &plan);
    char *path = xprintf("%s/add.cubin", folder);
    helper_write(path, cubin.bytes, cubin.used);
    free(path);
    return 0;
}

static int tear_down(void **state)
{
    free(folder);
    return library_tear_down(state);
}

AROUND_ALL(set_up, tear_down);

static void plumb(const char *a, const char *b, const char *c, const char *d, const char *e)
{
    const char *argv[] = {a, b, c, d, e, NULL};
    plumb_run(&outcome, folder, argv, 0);
}

TEST(check_says_what_would_be_launched)
{
    write_plan("ceil_div(m, 64), sms");
    plumb("plan", "check", "add.plan", "128x48x8:fp32", "--sms=7");
    plumb_said(&outcome, CONCLUDE_OK, "kernel     add-plan: adds");
    plumb_said(&outcome, CONCLUDE_OK, "_Z3addPfi (sm_90): 40 registers");
    plumb_said(&outcome, CONCLUDE_OK, "device     7 multiprocessors");
    plumb_said(&outcome, CONCLUDE_OK, "grid 2 x 7 x 1, block 64 x 1 x 1");
    plumb_said(&outcome, CONCLUDE_OK, "2 parameters of 12 bytes; byte 0 is c + 0");
    plumb("plan", "check", "add.plan", "100x48x8:fp32", NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN,
               "add.plan:6: add-plan does not do 100x48x8:fp32-fp32:tn: supports says no");
    plumb("plan", "check", "add.plan", "128x48x8:bf16", NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN,
               "add.plan:1: add-plan does not do 128x48x8:bf16-bf16:tn: in says no");
    write_plan("m / 0");
    plumb("plan", "check", "add.plan", "128x48x8:fp32", NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN, "add.plan:10: grid: 'm / 0': a division by less than 1");
    write_plan("tiles");
    plumb("plan", "check", "add.plan", NULL, NULL);
    plumb_said(&outcome, CONCLUDE_BROKEN, "add.plan:10: [launch] grid: 'tiles': nothing is called");
}

TEST(a_record_is_made_of_a_plan_without_a_gpu)
{
    const char *argv[] = {"record",   "make",     "add.plan", "--problem", "128x48x8:fp32",
                          "--output", "x.record", "--sms",    "78",        NULL};
    write_plan("sms");
    plumb_run(&outcome, folder, argv, 0);
    plumb_said(&outcome, CONCLUDE_OK, "record     x.record");
    argv[7] = NULL; // no guess
    plumb_run(&outcome, folder, argv, 0);
    plumb_said(&outcome, CONCLUDE_FAILED, "make needs --sms");
    plumb("record", "show", "x.record", NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "kernel     add-plan");
    plumb_said(&outcome, CONCLUDE_OK, "grid 78 x 1 x 1");
}

static void make_repository(void)
{
    const struct helper_file file = {"README", "plans\n", 0};
    char id[OBJECT_ID_TEXT];
    git_repository *git = NULL;
    git_libgit2_init();
    assert_int_equal(git_repository_init(&git, folder, 0), 0);
    git_repository_free(git);
    helper_repo_commit(id, folder, "main", NULL, 0, 1, "plans", &file, 1);
    helper_put(folder, ".git/HEAD", "ref: refs/heads/main\n");
}

TEST(a_builds_plans_are_kernels)
{
    char *policy = xprintf("%s/policy.cfg", folder);
    char *text = xprintf("[build]\n\tcommand = \"cp %s/add.* $PLUMB_OUT\"\n\toutput = *.so *.plan\n"
                         "\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n[problems \"p\"]\n"
                         "\tproblem = 128x48x8:fp32\n\tproblem = 100x48x8:fp32\n"
                         "[kernel \"*\"]\n\tproblems = p\n",
                         folder);
    helper_write_text(policy, text);
    make_repository();
    write_plan("ceil_div(m, 64)");
    plumb("list", "kernels", "--policy", policy, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "add-plan                     cuda  fp32-fp32");
    plumb_said(&outcome, CONCLUDE_OK, "threads 64");
    plumb("list", "series", "--policy", policy, NULL);
    // One problem is not done by any kernel: the list says so, and fails.
    plumb_said(&outcome, CONCLUDE_FAILED, "add-plan                     128x48x8:fp32-fp32:tn");
    plumb_said(&outcome, CONCLUDE_FAILED, "100x48x8:fp32-fp32:tn:stream gpu, not supported");
    write_plan("ceil_div(m 64)");
    char *cache = xprintf("--cache=%s/other", folder);
    plumb("list", "kernels", "--policy", policy, cache);
    plumb_said(&outcome, CONCLUDE_BROKEN, "add.plan:10: [launch] grid: 'ceil_div(m 64)'");
    free(cache);
    free(policy);
    free(text);
}

// A commit of kernels/slower.plan, which launches blocks of so many threads.
static void commit_plan(char id[OBJECT_ID_TEXT], const char *parent, int number, const char *before,
                        int threads)
{
    char *text = xprintf("%s[kernel]\n\tname = slower\n\tin = fp32\n\tout = fp32\n[launch "
                         "\"one\"]\n\tcubin = add.cubin\n\tentry = _Z3addPfi\n\tgrid = sms\n"
                         "\tblock = %d\n\tparameter = pointer c\n\tparameter = int32 n\n",
                         before, threads);
    const struct helper_file file = {"kernels/slower.plan", text, 0};
    helper_repo_commit(id, folder, "gated", &parent, parent ? 1 : 0, number, "plan", &file, 1);
    free(text);
}

static void gate(const char *base, const char *head)
{
    char *policy = xprintf("%s/gate.cfg", folder), *bench = xprintf("%s/bench", folder);
    const char *argv[] = {"gate",     "--base", base,      "--head", head,
                          "--policy", policy,   "--bench", bench,    NULL};
    plumb_run(&outcome, folder, argv, 0);
    free(policy);
    free(bench);
}

// The fake bench has a device of kind cuda here, and takes longer for the other of two files.
TEST(a_plans_kernel_is_gated_by_its_records)
{
    char ids[3][OBJECT_ID_TEXT];
    char *policy = xprintf("%s/gate.cfg", folder);
    char *copy = xprintf("cp " TEST_BIN "/fake_bench %s/bench; : >%s/bench.cuda", folder, folder);
    char *text = xprintf("[build]\n\tcommand = \"cp kernels/*.plan %s/add.cubin $PLUMB_OUT\"\n"
                         "\toutput = *.plan\n\tsandbox = off\n[device \"gpu\"]\n\tkind = cuda\n"
                         "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n[kernel \"*\"]\n"
                         "\tproblems = p\n[gate]\n\tself-test = 0\n",
                         folder);
    assert_int_equal(library_shell(copy), 0);
    helper_write_text(policy, text);
    commit_plan(ids[0], NULL, 2, "", 64);
    commit_plan(ids[1], ids[0], 3, "# the same, with a comment\n", 64);
    commit_plan(ids[2], ids[1], 4, "", 128);
    char *cold = xprintf("%s\tregime = cold\n", text);
    helper_write_text(policy, cold);
    gate(ids[1], ids[2]);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "SLOWER: 1 slower");
    assert_null(strstr(outcome.output, "series in the store are cold"));
    helper_write_text(policy, text);
    gate(ids[0], ids[1]);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
    plumb_said(&outcome, CONCLUDE_OK, "this GPU's 1 series in the store are cold");
    gate(ids[1], ids[2]);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "slower in a stream: +");
    assert_null(strstr(outcome.output, "series in the store are cold")); // it was said
    free(cold);
    plumb("export", "--format=json", NULL, NULL, NULL);
    plumb_said(&outcome, CONCLUDE_OK, "stream, device code alone");
    free(policy);
    free(copy);
    free(text);
}
