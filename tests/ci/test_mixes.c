// SPDX-License-Identifier: Apache-2.0
//
// A mix of the policy stands in the verdict's line and in every report, judges by its own margin,
// and is the same when the reports are made again from the store.
// Label: measured
#include "ci/gate/conclude.h"
#include "ci/gate/mixes.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

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

static void gate(const char *mix)
{
    char *rest =
        xprintf("[gate]\n\tself-test = 0\n\tmargin = 90%%\n[measure]\n\tsamples = 4\n%s", mix);
    helper_repo_policy(repo.policy, "\tproblem = 96x96x96:fp32\n\tproblem = 64x96x64:fp32\n", rest);
    free(rest);
    plumb_run(&outcome, repo.directory,
              (const char *[]){"gate", "--policy", repo.policy, "--base", repo.ids[REPO_MERGE],
                               "--head", repo.ids[REPO_SLOWER], "--quiet", NULL},
              0);
}

static struct result part(const char *kernel, int64_t m, double log_ratio)
{
    struct result r = {.base_code = "1", .head_code = "2"};
    text_copy(r.kernel, sizeof(r.kernel), kernel);
    r.problem = (struct problem){.m = m, .n = 64, .k = 64, .batch = 1};
    r.verdict = (struct verdict){.kind = VERDICT_SAME,
                                 .sentence = "the same",
                                 .log_ratio = interval_about(log_ratio, 0.001)};
    r.prediction = (struct prediction){.model = "sol", .feasible = true, .time_ns = 1e5};
    r.base.state = r.head.state = MEASURED_OK;
    return r;
}

// Each problem is within its margin; the two together are not within the mix's. Another kernel does
// only one of them.
static void a_mix_with_a_margin_fails_what_no_series_does(void **state)
{
    struct result results[] = {part("fast", 16, 0.003), part("fast", 32, 0.004),
                               part("half", 16, 0.1)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.002};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 3, .base.id = "1", .policy = ""};
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.mix_count, 1);
    assert_int_equal(run.conclusion, CONCLUDE_REGRESSION);
    assert_string_equal(run.headline,
                        "SLOWER: mix decode by fast: +0.35 % (0.28 to 0.42 %); 3 same");
    mix.margin = 0;
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.conclusion, CONCLUDE_OK);
    // A kernel that is named is told of even when it cannot be known.
    mix.kernel = "half";
    mixes_find(&run, &with);
    assert_int_equal(run.mix_count, 1);
    assert_int_equal(run.mixes[0].kind, VERDICT_NOT_MEASURED);
    run.results = NULL; // not the run's
    run_free(&run);
}

static void without_a_margin_it_is_only_shown_and_reports_agree(void **state)
{
    static const struct {
        const char *format, *says;
    } formats[] = {{"markdown", "| mix | kernel | weighted time | margin |"},
                   {"comment", "mix decode by simple"},
                   {"junit", "plumb.mix.decode"},
                   {"json", "\"mixes\":["},
                   {"html", "mix decode by simple"}};
    gate("[mix \"decode\"]\n\tproblem = 0.5 96x96x96:fp32\n\tproblem = 0.5 64x96x64:fp32\n"
         "\tkernel = simple\n");
    plumb_said(&outcome, 0, "OK: mix decode by simple: ");
    char *said = xprintf("%s", strstr(outcome.output, "OK: mix decode"));
    said[strcspn(said, "\n")] = '\0';
    plumb_run(&outcome, repo.directory, (const char *[]){"report", NULL}, 0);
    plumb_said(&outcome, 0, said);
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        plumb_run(&outcome, repo.directory,
                  (const char *[]){"report", "--format", formats[i].format, NULL}, 0);
        if (strcmp(formats[i].format, "html") != 0) // its beginning is longer than what is kept
            plumb_said(&outcome, 0, formats[i].says);
    }
    free(said);
}

static void a_mix_that_cannot_be_is_an_error_with_its_place(void **state)
{
    gate("[mix \"decode\"]\n\tproblem = much 96x96x96:fp32\n");
    plumb_said(&outcome, 4, "needs a weight above 0 and a problem");
    gate("[mix \"decode\"]\n\tproblem = 1 32x32x32:fp32\n");
    plumb_said(&outcome, 4, "is in no [problems] section");
    gate("[mix \"decode\"]\n\tmargin = 1%\n");
    plumb_said(&outcome, 4, "has no problem");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mix_with_a_margin_fails_what_no_series_does),
        cmocka_unit_test(without_a_margin_it_is_only_shown_and_reports_agree),
        cmocka_unit_test(a_mix_that_cannot_be_is_an_error_with_its_place),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
