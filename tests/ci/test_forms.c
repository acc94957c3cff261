// SPDX-License-Identifier: Apache-2.0
//
// The main job on kernels that are no plain GEMM: softmax, a transpose, and GEMMs of several forms
// are built, gated, followed and reported by the real program with the real bench; a softmax that
// is wrong is broken. What is asked is never how fast this machine is.
// Label: measured
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static const char policy[] =
    "[build]\n\tinput = kernels\n"
    "\tcommand = \"for f in kernels/*.c; do cc -O2 -shared -fPIC -Ikernels -o "
    "$PLUMB_OUT/$(basename $f .c).so $f -lm || exit 1; done\"\n"
    "[device \"cpu\"]\n\tkind = host\n"
    "[problems \"rows\"]\n\tproblem = S=40,H=33:fp32\n"
    "[problems \"sides\"]\n\tproblem = M=65,N=33:fp32\n"
    "[problems \"gemm\"]\n\tproblem = 24x16x32:bf16:bias-gelu\n"
    "\tproblem = 24x16x32:fp32:lda=40:alpha=0.5:beta=2\n"
    "\tproblem = 24x16x32:nvfp4\n"
    "[mix \"all\"]\n\tproblem = 1 S=40,H=33:fp32\n"
    "[kernel \"softmax\"]\n\tproblems = rows\n[kernel \"transpose\"]\n\tproblems = sides\n"
    "[kernel \"gemm-form\"]\n\tproblems = gemm\n"
    "[gate]\n\tself-test = 0\n\tprocesses = 1\n\tseconds = 3\n"
    "\tmax-pairs = 16\n"
    "[measure]\n\tsamples = 4\n\ttimeout = 60\n";

static const char *const copied[][2] = {
    {"kernels/kernel.h", "kernels/kernel.h"},
    {"kernels/gemm.h", "kernels/examples/gemm.h"},
    {"kernels/gemm_form.c", "kernels/examples/host/gemm_form.c"},
    {"kernels/softmax.c", "kernels/examples/host/softmax.c"},
    {"kernels/transpose.c", "kernels/examples/host/transpose.c"},
};

enum { FIRST, OTHER, WRONG, COMMITS };
static char ids[COMMITS][OBJECT_ID_TEXT];
static struct helper_repo made;
static struct plumb_outcome outcome;
static char *policy_file;

// The first occurrence of `from` is another text.
static void change(int which, const char *from, const char *to)
{
    char *text = helper_read(TEST_SOURCE "/kernels/examples/host/softmax.c", NULL);
    char *at = strstr(text, from);
    assert_non_null(at);
    char *other = xprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    const struct helper_file file = {"kernels/softmax.c", other, 0};
    const char *parent = ids[which - 1];
    helper_repo_commit(ids[which], made.directory, "main", &parent, 1, which, to, &file, 1);
    free(other);
    free(text);
}

static int set_up(void **state)
{
    enum { FILES = sizeof(copied) / sizeof(copied[0]) };
    struct helper_file files[FILES];
    helper_repo_create(&made);
    helper_repo_know_host(&made, NULL);
    for (size_t i = 0; i < FILES; i++) {
        char *path = xprintf(TEST_SOURCE "/%s", copied[i][1]);
        files[i] = (struct helper_file){copied[i][0], helper_read(path, NULL), 0};
        free(path);
    }
    policy_file = xprintf("%s/forms.cfg", made.directory);
    helper_write_text(policy_file, policy);
    helper_repo_commit(ids[FIRST], made.directory, "main", NULL, 0, 0, "first", files, FILES);
    for (size_t i = 0; i < FILES; i++)
        free((char *)(uintptr_t)files[i].contents);
    change(OTHER, "float largest = x[0], sum = 0;", "float sum = 0, largest = x[h - 1];");
    change(WRONG, "for (int64_t i = 0; i < h; i++) {", "for (int64_t i = 0; i + 1 < h; i++) {");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void gate(int base, int head)
{
    const char *argv[] = {"gate",    "--base", ids[base],   "--head",
                          ids[head], "-p",     policy_file, NULL};
    plumb_run(&outcome, made.directory, argv, 0);
}

static void report_says(const char *name, const char *part)
{
    char *path = xprintf("%s/plumb-report/%s", made.directory, name);
    if (!helper_says(path, part))
        fail_msg("%s does not say '%s'", name, part);
    free(path);
}

TEST(forms_are_measured_and_have_a_history)
{
    const char *run[] = {"run", ids[FIRST], "-p", policy_file, NULL},
               *history[] = {"history", NULL};
    plumb_run(&outcome, made.directory, run, 0);
    plumb_said(&outcome, 0, "OK: 5 new");
    plumb_said(&outcome, 0, "softmax H=33,S=40:fp32-fp32 is new");
    plumb_said(&outcome, 0, "gemm-form 24x16x32:e2m1-bf16:tn:e4m3/16 is new");
    plumb_run(&outcome, made.directory, history, 0);
    plumb_said(&outcome, 0, "5 series");
}

// Whatever a busy machine makes of the times.
TEST(another_right_softmax_is_no_failure)
{
    gate(FIRST, OTHER);
    if (outcome.code == 3 || outcome.code == 4)
        fail_msg("%d: %s", outcome.code, outcome.output);
    // How fast it is, is not what is tested: it may be the same as well.
    plumb_said(&outcome, outcome.code, strstr(outcome.output, "5 same") ? "5 same" : "4 same");
    report_says("index.html", "no model: the problem is no GEMM");
    report_says("junit.xml", "H=33,S=40");
}

TEST(a_wrong_softmax_is_broken)
{
    gate(FIRST, WRONG);
    plumb_said(&outcome, 3, "softmax H=33,S=40:fp32-fp32 gives wrong results");
    plumb_said(&outcome, 3, "1 broken, 4 same");
    report_says("junit.xml", "gives wrong results");
}
