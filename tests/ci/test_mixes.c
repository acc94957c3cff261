// SPDX-License-Identifier: Apache-2.0
//
// A mix of the policy stands in the verdict's line and in every report, judges by its own margin,
// and is the same when the reports are made again from the store.
// Label: measured
// Label: unsanitized
#include "ci/gate/conclude.h"
#include "ci/gate/mixes.h"
#include "model/gate/verdict.h"
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
    helper_repo_know_host(&repo, NULL);
    return 0;
}

AROUND_ALL(set_up, NULL);

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
TEST(a_mix_with_a_margin_fails_what_no_series_does)
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
    assert_string_equal(
        run.headline,
        "SLOWER: mix decode by fast with cold caches: +0.35 % (0.28 to 0.42 %); 3...");
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

// A person reads so many words of it, and which one is slower is among them.
TEST(a_series_that_is_slower_comes_before_the_mixes)
{
    struct result results[] = {part("fast", 16, 0.05), part("fast", 32, 0.0)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.5};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 2, .base.id = "1", .policy = ""};
    results[0].verdict.kind = VERDICT_SLOWER;
    results[0].verdict.sentence = "fast is slower";
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.conclusion, CONCLUDE_REGRESSION);
    const char *series = strstr(run.headline, "fast is slower"),
               *whole = strstr(run.headline, "; fast mix:decode +");
    if (!series || !whole || series > whole || strncmp(run.headline, "SLOWER: 1 slower, ", 18) != 0)
        fail_msg("%s", run.headline);
    run.results = NULL; // not the run's
    run_free(&run);
}

// Each regime is judged for itself, in sentences that say it; a problem that names its own stays
// there.
TEST(the_mix_that_decides_comes_before_the_others)
{
    static const char *const kernels[] = {"a", "b", "c", "d", "e"};
    const double changes[] = {0, 0, 0, 0.004, 0}; // the fourth lies at the margin
    struct result results[ARRAY_COUNT(kernels)];
    for (size_t i = 0; i < ARRAY_COUNT(kernels); i++)
        results[i] = part(kernels[i], 16, changes[i]);
    struct policy_mix_part parts[] = {{1, results[0].problem}};
    struct policy_mix mix[] = {{.name = "shown", .parts = parts, .count = 1},
                               {.name = "m", .parts = parts, .count = 1, .margin = 0.004}};
    const struct policy with = {.mixes = mix, .mix_count = 2};
    struct run run = {.results = results,
                      .count = ARRAY_COUNT(kernels),
                      .base.id = "1",
                      .policy = "",
                      .kind = RUN_GATE};
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.conclusion, CONCLUDE_UNDECIDED);
    assert_string_equal(run.headline,
                        "UNDECIDED: mix m by d with cold caches undecided: +0.40 % (0.30 to "
                        "0.50 %);...");
    for (size_t i = 2; i < ARRAY_COUNT(kernels); i++)
        text_copy(results[i].head_code, sizeof(results[i].head_code), "1"); // without d's change
    results[1].verdict.log_ratio = interval_about(0.05, 0.001);
    mixes_find(&run, &with);
    assert_string_equal(run.mixes[0].sentence,
                        "mix m by b with cold caches: +5.13 % (5.02 to 5.23 %)");
    assert_string_equal(run.mixes[9].name, "shown");
    const char *text = mixes_text(&run);
    assert_true(strncmp(text, "mix m by b with cold", strlen("mix m by b with cold")) == 0);
    assert_non_null(strstr(text, "; 7 more mixes; "));
    run.results = NULL; // not the run's
    run_free(&run);
}

// In a regime in which nobody has timed it, too.
TEST(a_mix_of_unchanged_code_is_the_same_though_no_part_has_a_time)
{
    struct result results[] = {part("fast", 16, 0), part("fast", 32, 0)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.005};
    struct policy policy = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 2, .base.id = "1", .policy = ""};
    for (size_t i = 0; i < 2; i++) {
        results[i].prediction.feasible = false;
        results[i].verdict.log_ratio = interval_unknown;
        text_copy(results[i].head_code, sizeof(results[i].head_code), "1");
    }
    mixes_find(&run, &policy);
    assert_int_equal(run.mix_count, 1);
    assert_int_equal(run.mixes[0].kind, VERDICT_SAME);
    text_copy(results[1].head_code, sizeof(results[1].head_code), "2"); // how much is not known
    mixes_find(&run, &policy);
    assert_int_equal(run.mixes[0].kind, VERDICT_NOT_MEASURED);
    run.results = NULL; // not the run's
    run_free(&run);
}

TEST(a_mix_is_judged_in_each_regime)
{
    struct result results[] = {part("fast", 16, 0.0), part("fast", 32, 0.0), part("fast", 16, 0.02),
                               part("fast", 32, 0.02)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 4, .base.id = "1", .policy = ""};
    results[2].problem.regime = results[3].problem.regime = REGIME_STREAM;
    mixes_find(&run, &with);
    assert_int_equal(run.mix_count, 2);
    assert_int_equal(run.mixes[1].kind, VERDICT_SAME);
    assert_string_equal(run.mixes[1].sentence,
                        "mix decode by fast with cold caches: +0.00 % (-0.07 to 0.07 %)");
    assert_int_equal(run.mixes[0].kind, VERDICT_SLOWER);
    assert_string_equal(run.mixes[0].sentence,
                        "mix decode by fast in a stream: +2.02 % (1.95 to 2.09 %)");
    assert_ptr_equal(mixes_judged(&run, VERDICT_SLOWER), &run.mixes[0]);
    parts[0].problem.regime = parts[1].problem.regime = REGIME_STREAM;
    mixes_find(&run, &with);
    assert_int_equal(run.mix_count, 1);
    assert_int_equal(run.mixes[0].kind, VERDICT_SLOWER);
    run.results = NULL;
    run_free(&run);
}

// Whatever comes before it: a last line that is too long is not cut within a mix.
TEST(a_last_line_names_the_regime_and_the_size_of_a_mix)
{
    struct result results[] = {part("fast", 16, 0.05), part("fast", 32, 0.02),
                               part("fast", 64, 0.0)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {
        .results = results, .count = 3, .base.id = "1", .policy = "", .kind = RUN_GATE};
    for (size_t i = 0; i < run.count; i++)
        results[i].problem.regime = REGIME_STREAM;
    results[0].verdict.kind = results[1].verdict.kind = VERDICT_SLOWER;
    results[0].verdict.cause = results[1].verdict.cause = CAUSE_KERNEL;
    results[0].verdict.sentence = results[1].verdict.sentence =
        "fast slower in a stream: +5.13 % (95 % interval +5.03 to +5.23), 128 pairs";
    results[0].verdict.pairs = results[1].verdict.pairs = 128;
    results[2].verdict.kind = VERDICT_UNDECIDED;
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    const char *end = strrchr(run.headline, ';');
    assert_non_null(end);
    assert_string_equal(end, "; fast mix:decode:stream +3.57 %");
    run.results = NULL; // not the run's
    run_free(&run);
}

// An interval that does not hold the margin is no verdict yet, and a reader is told why.
TEST(what_is_not_yet_surely_beyond_its_margin_is_undecided)
{
    struct result results[] = {part("fast", 16, 0.0049), part("fast", 32, 0.0049)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 2, .base.id = "1", .policy = ""};
    mixes_find(&run, &with);
    assert_int_equal(run.mixes[0].kind, VERDICT_UNDECIDED);
    assert_string_equal(
        run.mixes[0].sentence,
        "mix decode by fast with cold caches undecided: +0.49 % (0.42 to 0.56 %), not yet surely "
        "beyond 0.4 %");
    run.results = NULL;
    run_free(&run);
}

// Neither beyond the margin for sure nor within it: the gate does not pass.
TEST(what_its_pairs_leave_open_is_undecided)
{
    struct result results[] = {part("fast", 16, 0.003), part("fast", 32, 0.005)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    struct policy with = {.mixes = &mix, .mix_count = 1};
    struct run run = {.results = results, .count = 2, .base.id = "1", .policy = ""};
    mixes_find(&run, &with);
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.conclusion, CONCLUDE_UNDECIDED);
    assert_string_equal(run.headline, "UNDECIDED: mix decode by fast with cold caches undecided: "
                                      "+0.40 % (0.33 to 0.47 %);...");
    with.gate.undecided_passes = true;
    conclude_run(&run, &with.gate, "");
    assert_int_equal(run.conclusion, CONCLUDE_OK);
    run.results = NULL;
    run_free(&run);
}

TEST(a_mix_is_accepted_by_its_name_and_up_to_its_size)
{
    static const struct {
        const char *series;
        double level;
        enum conclusion conclusion;
    } cases[] = {{"fast mix:decode GPU-1", 0.02, CONCLUDE_OK},
                 {"* mix:* *", 0.02, CONCLUDE_OK},
                 {"* * *", 0.02, CONCLUDE_REGRESSION}, // of series
                 {"fast mix:prefill *", 0.02, CONCLUDE_REGRESSION},
                 {"fast mix:decode:warm *", 0.02, CONCLUDE_REGRESSION},
                 {"fast mix:decode GPU-2", 0.02, CONCLUDE_REGRESSION},
                 {"fast mix:decode GPU-1", 0.01, CONCLUDE_REGRESSION}};
    struct result results[] = {part("fast", 16, 0.02), part("fast", 32, 0.02)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    struct device device = {.kind = "host", .uuid = "GPU-1"};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct epoch epoch = {.series = cases[i].series,
                              .level = cases[i].level,
                              .reason = "wider: tiles",
                              .who = "A. Author"};
        const struct epoch_list accepted = {.epochs = &epoch, .count = 1};
        struct run run = {.results = results,
                          .count = 2,
                          .base.id = "1",
                          .policy = "",
                          .devices = &device,
                          .device_count = 1};
        mixes_note(&run, &accepted);
        mixes_find(&run, &with);
        conclude_run(&run, &with.gate, "");
        assert_int_equal(run.conclusion, cases[i].conclusion);
        if (run.conclusion == CONCLUDE_OK) {
            assert_int_equal(run.mixes[0].kind, VERDICT_ACCEPTED);
            assert_non_null(strstr(run.mixes[0].sentence, "wider: tiles (A. Author)"));
        } else {
            assert_string_equal(mix_series(&run, &run.mixes[0], &run.arena),
                                "fast mix:decode GPU-1");
        }
        run.results = NULL;
        run_free(&run);
    }
}

struct known {
    struct result *results;
    double half[2];
    int state[2];
};

static int known_now(struct mix_part *out, void *context, const struct result *r)
{
    const struct known *known = context;
    const size_t at = (size_t)(r - known->results);
    *out = (struct mix_part){.time_ns = 1e5, .log_ratio = interval_about(0.001, known->half[at])};
    return known->state[at];
}

// Pairs are asked of the series that leave it open, and of these alone.
TEST(pairs_are_wanted_until_it_is_decided)
{
    static const struct {
        double half[2];
        int state[2];
        enum mix_wish wishes[2];
    } cases[] = {
        {{0.001, 0.001}, {1, 1}, {MIX_DECIDED, MIX_DECIDED}},
        {{0.010, 0.010}, {1, 1}, {MIX_WANTS_PAIRS, MIX_WANTS_PAIRS}},
        {{0.010, 0.001}, {1, 1}, {MIX_WANTS_PAIRS, MIX_WAITS}},
        {{0.010, 0.001}, {1, 0}, {MIX_WAITS, MIX_WAITS}},
        {{0.010, 0.001}, {1, -1}, {MIX_DECIDED, MIX_DECIDED}},
    };
    struct result results[] = {part("fast", 16, 0), part("fast", 32, 0), part("fast", 64, 0)};
    struct policy_mix_part parts[] = {{0.5, results[0].problem}, {0.5, results[1].problem}};
    struct policy_mix mix = {.name = "decode", .parts = parts, .count = 2, .margin = 0.004};
    const struct policy with = {.mixes = &mix, .mix_count = 1};
    const struct run run = {.results = results, .count = 3};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct known known = {.results = results};
        memcpy(known.half, cases[i].half, sizeof(known.half));
        memcpy(known.state, cases[i].state, sizeof(known.state));
        const struct mix_asked asked = {&run, &with, known_now, &known};
        for (size_t r = 0; r < 2; r++)
            assert_int_equal(mixes_wish(&asked, &results[r]), cases[i].wishes[r]);
        assert_int_equal(mixes_wish(&asked, &results[2]), MIX_DECIDED); // of no mix
    }
    mix.margin = 0; // it is only shown
    struct known open = {results, {0.01, 0.01}, {1, 1}};
    const struct mix_asked asked = {&run, &with, known_now, &open};
    assert_int_equal(mixes_wish(&asked, &results[0]), MIX_DECIDED);
}

// The kernel's own margin is so wide that its series decide at once; the mix's is not.
TEST(a_gate_measures_until_the_mix_is_decided)
{
    gate("[mix \"decode\"]\n\tproblem = 0.5 96x96x96:fp32\n\tproblem = 0.5 64x96x64:fp32\n"
         "\tkernel = simple\n\tmargin = 2%\n");
    plumb_said(&outcome, 1, "SLOWER: mix decode by simple with cold caches: ");
    plumb_run(&outcome, repo.directory,
              (const char *[]){"accept", "-n", "--who", "A <a@b>", "--reason", "meant",
                               "simple mix:decode", NULL},
              0);
    plumb_said(&outcome, 0, "series = simple mix:decode ");
    // Not all of it was asked for: that is said.
    plumb_run(&outcome, repo.directory,
              (const char *[]){"gate", "--policy", repo.policy, "--base", repo.ids[REPO_MERGE],
                               "--head", repo.ids[REPO_SLOWER], "--quiet", "--problem", "96x*",
                               NULL},
              0);
    plumb_said(&outcome, 0,
               "mix decode by simple with cold caches: not known, as 64x96x64:fp32-fp32:tn is not");
}

TEST(without_a_margin_it_is_only_shown_and_reports_agree)
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
    plumb_said(&outcome, 0, "OK: mix decode by simple with cold caches: ");
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

TEST(a_mix_that_cannot_be_is_an_error_with_its_place)
{
    gate("[mix \"decode\"]\n\tproblem = much 96x96x96:fp32\n");
    plumb_said(&outcome, 4, "needs a weight above 0 and a problem");
    gate("[mix \"decode\"]\n\tproblem = 1 32x32x32:fp32\n");
    plumb_said(&outcome, 4, "is in no [problems] section");
    gate("[mix \"decode\"]\n\tproblem = 1 96x96x96:fp32:nn\n");
    plumb_said(&outcome, 4, "96x96x96:fp32-fp32:tn is there");
    gate("[mix \"decode\"]\n\tmargin = 1%\n");
    plumb_said(&outcome, 4, "has no problem");
}
