// SPDX-License-Identifier: Apache-2.0
//
// What a gate could not judge is never "the same", on real kernels with the real bench: problems
// that no kernel does, a device that is away, kernels that are wrong on both sides, a head that
// breaks the base beside it.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"

#include "model/result.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A product whose result is off by what is told; INIT is done when the library is loaded. launch()
// is aligned, for INIT moves it: a loop that lies across two lines of the cache takes 1.8 times as
// long on some processors, and a gate says so.
static const char format[] =
    "#include \"kernel.h\"\n"
    "#include <stdlib.h>\n"
    "static int supports(const struct plumb_problem *p) {\n"
    "    return p->in_type == PLUMB_FP32 && p->layout == PLUMB_TN && p->batch == 1; }\n"
    "static __attribute__((constructor)) void init(void) { %s }\n"
    "static __attribute__((aligned(64))) int launch(const struct plumb_args *args, void *stream) "
    "{\n"
    "    const struct plumb_problem *p = &args->problem; (void)stream;\n"
    "    const float *a = args->a, *b = args->b; float *c = args->c;\n"
    "    const float off = %s;\n"
    "    for (long i = 0; i < p->m; i++) for (long j = 0; j < p->n; j++) {\n"
    "        float sum = off;\n"
    "        for (long l = 0; l < p->k; l++) sum += a[i * p->k + l] * b[j * p->k + l];\n"
    "        c[i * p->n + j] = sum; }\n"
    "    return 0; }\n"
    "static const struct plumb_kernel kernel = {.name = \"%s\", .summary = \"\",\n"
    "    .supports = supports, .launch = launch};\n"
    "PLUMB_LIBRARY(\"%s\", kernel)\n";

enum version { FINE, ALSO_FINE, WRONG, ALSO_WRONG, STILL_WRONG, SPOILS_OTHERS, VERSIONS };
static const struct {
    const char *init, *off;
} versions[VERSIONS] = {
    // Other machine code that takes the same time.
    [FINE] = {"", "getenv(\"PLUMB_TEST_SPOILED\") ? 100.0f : 0.0f"},
    [ALSO_FINE] = {"", "getenv(\"PLUMB_TEST_ANOTHER\") ? 101.0f : 0.0f"},
    [WRONG] = {"", "50.0f"},
    [ALSO_WRONG] = {"", "60.0f"},
    [STILL_WRONG] = {"", "60.0f /* the same code */"},
    [SPOILS_OTHERS] = {"setenv(\"PLUMB_TEST_SPOILED\", \"1\", 1);",
                       "getenv(\"PLUMB_TEST_ANOTHER\") ? 101.0f : 0.0f"},
};

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char ids[VERSIONS][OBJECT_ID_TEXT], policy_path[320];

static void commit_version(enum version v)
{
    const char *parent = repo.ids[REPO_FASTER];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    char *source = xprintf(format, versions[v].init, versions[v].off, "loop", "host");
    char *far = xprintf(format, versions[v].init, versions[v].off, "far", "cuda");
#pragma GCC diagnostic pop
    const struct helper_file files[] = {{"kernels/blocked.c", NULL, 0},
                                        {"kernels/plain.c", NULL, 0},
                                        {"kernels/far.c", far, 0},
                                        {"kernels/loop.c", source, 0}};
    helper_repo_commit(ids[v], repo.directory, "loop", &parent, 1, 40 + (int)v, "loop", files, 4);
    free(source);
    free(far);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    for (int v = 0; v < VERSIONS; v++)
        commit_version((enum version)v);
    return 0;
}

AROUND_ALL(set_up, NULL);

// In a store of its own; `more` belongs to the gate.
static void gate_in(const char *store, enum version base, enum version head, const char *more)
{
    char *rest =
        xprintf("[gate]\n\tself-test = 0\n%s[measure]\n\tsamples = 4\n\ttimeout = 20\n", more);
    helper_repo_policy(policy_path, "\tproblem = 32x32x32:fp32\n", rest);
    free(rest);
    const char *argv[] = {"gate", "--base",    ids[base], "--head", ids[head],
                          "-p",   policy_path, "--store", store,    NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

static void gate(enum version base, enum version head, const char *problems, const char *more)
{
    char *rest = xprintf("\tmargin = 50%%\n%s[gate]\n\tself-test = 0\n\tprocesses = 2\n[measure]\n"
                         "\tsamples = 4\n\ttimeout = 20\n",
                         more);
    helper_repo_policy(policy_path, problems, rest);
    free(rest);
    const char *argv[] = {"gate",    "--base", ids[base],   "--head",
                          ids[head], "-p",     policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

static const char one[] = "\tproblem = 32x32x32:fp32\n";

TEST(problems_that_no_kernel_does_are_not_measured)
{
    gate(FINE, ALSO_FINE, "\tproblem = 32x32x32:bf16\n", "");
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 not measured: loop 32x32x32:bf16");
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "no kernel does this problem");
    gate(FINE, ALSO_FINE, "\tproblem = 32x32x32:bf16\n\tproblem = 32x32x32:fp32\n", "");
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 not measured, 1 same");
    // The store gives the same back.
    const char *report[] = {"report", "--format", "json", NULL};
    plumb_run(&outcome, repo.directory, report, 0);
    plumb_said(&outcome, 0, "\"not measured\"");
}

TEST(a_plain_run_of_nothing_is_no_pass)
{
    helper_repo_policy(policy_path, "\tproblem = 32x32x32:bf16\n", "");
    const char *argv[] = {"run", ids[FINE], "-p", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 not measured");
}

TEST(a_device_that_is_away_is_said)
{
    static const char away[] = "[device \"other\"]\n\tkind = cuda\n\tindex = 999\n"
                               "\trequired = false\n[gate]\n\tstatic = off\n";
    gate(FINE, ALSO_FINE, one, away);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 not measured, 1 same; nothing was measured on other");
    plumb_said(&outcome, CONCLUDE_OK,
               "far 32x32x32:fp32-fp32:tn in a stream was not measured: device other is not here");
}

static void list_kernels(const char *more)
{
    helper_repo_policy(policy_path, one, more);
    const char *argv[] = {"list", "kernels", ids[FINE], "-p", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

TEST(a_kernel_without_its_device_is_listed_as_not_run)
{
    list_kernels("[device \"other\"]\n\tkind = cuda\n\tindex = 999\n\trequired = false\n");
    plumb_said(&outcome, 0, "  not run: no such device\n");
    const char *const line = strstr(outcome.output, "\nloop "); // which is the host's
    assert_non_null(line);
    assert_null(memmem(line + 1, strcspn(line + 1, "\n"), "not run", 7));
}

// A device can be one product alone: another is no such device.
TEST(an_exact_device_is_no_other)
{
    static const char exact[] = "[device \"other\"]\n\tkind = host\n\tprofile = b200\n"
                                "\texact = true\n\trequired = false\n";
    gate(FINE, ALSO_FINE, one, exact);
    plumb_said(&outcome, CONCLUDE_OK, "; nothing was measured on other");
    plumb_said(&outcome, CONCLUDE_OK, "was not measured: device other is not here");
    plumb_said(&outcome, CONCLUDE_OK, "no b200");
}

TEST(wrong_on_both_sides_is_broken_and_not_this_changes_fault)
{
    gate(WRONG, ALSO_WRONG, one, "");
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "NOTHING JUDGED: 1 broken: loop");
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "on the base it gives wrong results");
    gate(FINE, WRONG, one, "");
    plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: 1 broken");
    gate(WRONG, FINE, one, "");
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 new");
    plumb_said(&outcome, CONCLUDE_OK, "on the base, also when run alone, it gives wrong results");
}

TEST(code_that_nobody_ever_launched_is_launched_before_it_is_the_same)
{
    gate_in("first.db", FINE, FINE, "");
    plumb_said(&outcome, CONCLUDE_OK, "1 series of unchanged code was launched and checked");
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
    gate_in("first.db", FINE, FINE, "");
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
    assert_null(strstr(outcome.output, "launched and checked"));
    gate_in("first.db", FINE, FINE, "\tregime = stream\n"); // it was right in another regime
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
    assert_null(strstr(outcome.output, "launched and checked"));
}

TEST(code_that_never_worked_is_broken_each_time)
{
    for (int turn = 0; turn < 2; turn++) {
        gate_in("never.db", ALSO_WRONG, STILL_WRONG, "");
        plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: 1 broken");
        plumb_said(&outcome, CONCLUDE_BROKEN, "gives wrong results, and no run ever saw it work");
    }
    // What worked once was broken by an earlier change; but a commit against itself is asked after.
    gate_in("once.db", FINE, ALSO_WRONG, "");
    gate_in("once.db", ALSO_WRONG, STILL_WRONG, "");
    plumb_said(&outcome, CONCLUDE_UNDECIDED, "on the base too: it is the same machine code");
    gate_in("once.db", STILL_WRONG, STILL_WRONG, "");
    plumb_said(&outcome, CONCLUDE_BROKEN, "BROKEN: 1 broken");
}

// It is in a process of its own.
TEST(a_head_cannot_spoil_the_base_beside_it)
{
    gate(FINE, SPOILS_OTHERS, one, "");
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 same");
}
