// SPDX-License-Identifier: Apache-2.0
//
// What a verdict says beside the gate's own decision: its cause, numbers told apart, what stands
// beside it, and the change of a mix.
#include "model/gate/verdict.h"
#include "model/robust.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

// ---- Which cause a verdict gets, from its own code and the controls beside it.

static struct verdict verdict_of(enum verdict_kind kind, double log_ratio)
{
    return (struct verdict){.kind = kind, .log_ratio = {.value = log_ratio}, .margin = 0.003};
}

static struct common_mode mode_of(const struct interval *controls, size_t count)
{
    struct arena arena = {0};
    struct common_mode mode = common_mode_of(controls, count, 0.0015, &arena);
    arena_free(&arena);
    return mode;
}

TEST(changed_code_is_the_kernel)
{
    struct verdict v = verdict_of(VERDICT_SLOWER, 0.01);
    struct cause_input input = {.verdict = &v, .code_changed = true};
    assert_int_equal(cause_of(&input), CAUSE_KERNEL);
    v = verdict_of(VERDICT_FASTER, -0.01);
    assert_int_equal(cause_of(&input), CAUSE_KERNEL);
}

TEST(same_code_is_the_environment)
{
    struct verdict v = verdict_of(VERDICT_SLOWER, 0.01);
    struct cause_input input = {.verdict = &v, .code_changed = false};
    assert_int_equal(cause_of(&input), CAUSE_ENVIRONMENT);
}

TEST(no_alarm_has_no_cause)
{
    struct verdict v = verdict_of(VERDICT_SAME, 0.001);
    struct cause_input input = {.verdict = &v, .code_changed = true};
    assert_int_equal(cause_of(&input), CAUSE_NONE);
    v.kind = VERDICT_BROKEN;
    input.placement = true;
    assert_int_equal(cause_of(&input), CAUSE_NONE);
}

TEST(contradicting_processes_are_placement)
{
    struct verdict v = verdict_of(VERDICT_UNDECIDED, 0.01);
    struct cause_input input = {.verdict = &v, .code_changed = true, .placement = true};
    assert_int_equal(cause_of(&input), CAUSE_PLACEMENT);
}

TEST(controls_that_moved_alike_are_the_environment)
{
    const struct interval moved[] = {{0.010, 0.008, 0.012}, {0.009, 0.007, 0.011}, {0, -1, 1}};
    struct verdict v = verdict_of(VERDICT_SLOWER, 0.011);
    struct cause_input input = {&v, true, false, 0, mode_of(moved, 3)};
    assert_true(input.controls.moved && fabs(input.controls.shift - 0.009) < 1e-15);
    assert_int_equal(cause_of(&input), CAUSE_ENVIRONMENT);
    v.log_ratio.value = 0.03; // far more than the controls
    assert_int_equal(cause_of(&input), CAUSE_KERNEL);
    v = verdict_of(VERDICT_FASTER, -0.01); // the other way
    assert_int_equal(cause_of(&input), CAUSE_KERNEL);
}

TEST(controls_count_only_if_most_are_sure)
{
    const struct interval unsure[] = {
        {0.01, -0.01, 0.03}, {0.01, -0.01, 0.03}, {0.01, 0.005, 0.02}};
    assert_false(mode_of(unsure, 3).moved);
    const struct interval small[] = {{0.001, 0.0009, 0.0011}};
    assert_false(mode_of(small, 1).moved);
    const struct interval down[] = {{-0.01, -0.011, -0.009}, {NAN, NAN, NAN}};
    assert_true(mode_of(down, 2).moved && mode_of(down, 2).count == 1);
    assert_int_equal(mode_of(NULL, 0).count, 0);
    assert_false(mode_of(NULL, 0).moved);
}

// The model now predicts 5 % more, so actual/predicted fell by 5 % though no time changed.
TEST(prediction_that_moved_is_the_model)
{
    struct verdict v = verdict_of(VERDICT_FASTER, -0.05);
    struct cause_input input = {.verdict = &v, .code_changed = true, .log_model = 0.051};
    assert_int_equal(cause_of(&input), CAUSE_MODEL);
    input.log_model = 0.01;
    assert_int_equal(cause_of(&input), CAUSE_KERNEL);
}

TEST(only_the_kernel_fails_a_pull_request)
{
    struct verdict v = verdict_of(VERDICT_SLOWER, 0.02);
    for (int cause = 0; cause < CAUSES; cause++) {
        v.cause = (enum cause)cause;
        assert_int_equal(cause_fails(&v), cause == CAUSE_KERNEL || cause == CAUSE_NONE);
    }
    v = verdict_of(VERDICT_FASTER, -0.02);
    v.cause = CAUSE_KERNEL;
    assert_false(cause_fails(&v));
    v.kind = VERDICT_BROKEN;
    assert_true(cause_fails(&v));
}

// ---- Which devices are told apart: by 1 % with three series, and not by what places do.

TEST(one_percent_is_told_by_three_series)
{
    double times[] = {0.0102, 0.0085, 0.0121};
    const struct apart apart = apart_of(times, 3);
    assert_true(apart.told);
    assert_true(fabs(apart.log_ratio - 0.0103) < 1e-3);
    assert_true(apart.se < 0.0020);
}

// What is known of places, 0.3 % as if from eight series, and what these series scatter, each by
// its degrees of freedom.
TEST(error_is_of_the_scatter_and_of_what_was_known)
{
    const double scatters[] = {0, 0.001, 0.004};
    for (size_t i = 0; i < 3; i++) {
        const double d = scatters[i];
        double times[] = {0.01 - d, 0.01, 0.01 + d}, copy[] = {0.01 - d, 0.01, 0.01 + d};
        const double sd = robust_sd(copy, 3);
        const double variance = (8 * 0.003 * 0.003 + 2 * sd * sd) / (8 + 2);
        const double se = apart_of(times, 3).se;
        assert_true(fabs(se - sqrt(variance / 3)) < 1e-9);
    }
}

TEST(one_series_tells_nothing)
{
    double times[] = {0.02};
    assert_false(apart_of(times, 1).told);
    assert_false(apart_of(times, 0).told);
}

// The largest scatter that was measured is 0.26 %; of 4 of such there should be none in thousands.
TEST(places_are_not_taken_for_devices)
{
    struct random random = {19};
    size_t told = 0;
    for (int trial = 0; trial < 5000; trial++) {
        double times[12];
        const size_t count = 2 + (size_t)trial % 11;
        for (size_t i = 0; i < count; i++)
            times[i] = 0.0026 * random_normal(&random);
        told += apart_of(times, count).told;
    }
    assert_true(told <= 2);
}

static bool told_of(double difference)
{
    struct random random = {20};
    double times[60];
    for (size_t i = 0; i < 60; i++)
        times[i] = difference + 0.0026 * random_normal(&random);
    const struct apart apart = apart_of(times, 60);
    assert_true(fabs(apart.log_ratio - difference) < 4 * apart.se);
    return apart.told;
}

// However sure: sister devices are a little apart.
TEST(less_than_half_a_percent_is_not_told)
{
    assert_false(told_of(-0.0025));
    assert_true(told_of(-0.007));
}

// ---- The one table of verdicts without a ratio: what two states say, and that nothing unmeasured
// is ever "same".

static enum verdict_kind kind_of(enum measurement_state base, enum measurement_state head,
                                 enum cause *cause)
{
    const struct standing_input input = {.base = base, .head = head};
    const struct standing *standing = standing_of(&input);
    assert_non_null(standing);
    *cause = standing->cause;
    return standing->kind;
}

TEST(a_change_is_blamed_only_for_what_works_on_the_base)
{
    static const struct {
        enum measurement_state base, head;
        enum verdict_kind kind;
        enum cause cause;
    } rows[] = {
        {MEASURED_OK, MEASURED_WRONG, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_TIMEOUT, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_UNSUPPORTED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_OK, MEASURED_MISSING, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_MISSING, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_NOT_TAKEN, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_KERNEL},
        {MEASURED_WRONG, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_CRASHED, MEASURED_CRASHED, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_UNBUILDABLE, MEASURED_UNBUILDABLE, VERDICT_BROKEN, CAUSE_BASE},
        {MEASURED_UNSUPPORTED, MEASURED_UNSUPPORTED, VERDICT_NOT_MEASURED, CAUSE_NONE},
        {MEASURED_MISSING, MEASURED_UNSUPPORTED, VERDICT_NOT_MEASURED, CAUSE_NONE},
        {MEASURED_OK, MEASURED_NOT_TAKEN, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_NOT_TAKEN, MEASURED_NOT_TAKEN, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_NOT_TAKEN, MEASURED_OK, VERDICT_UNDECIDED, CAUSE_NONE},
        {MEASURED_MISSING, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_UNSUPPORTED, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_UNBUILDABLE, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
        {MEASURED_CRASHED, MEASURED_OK, VERDICT_NEW, CAUSE_NONE},
    };
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        enum cause cause;
        const enum verdict_kind kind = kind_of(rows[i].base, rows[i].head, &cause);
        if (kind != rows[i].kind || cause != rows[i].cause)
            fail_msg("base %s, head %s: %s (%s)", measurement_state_name(rows[i].base),
                     measurement_state_name(rows[i].head), verdict_kind_name(kind),
                     cause_name(cause));
    }
}

TEST(only_two_times_are_left_to_the_pairs)
{
    for (int base = 0; base < MEASUREMENT_STATES; base++) {
        for (int head = 0; head < MEASUREMENT_STATES; head++) {
            const struct standing_input input = {.base = (enum measurement_state)base,
                                                 .head = (enum measurement_state)head};
            const bool times = base == MEASURED_OK && head == MEASURED_OK;
            const struct standing *standing = standing_of(&input);
            assert_true((standing == NULL) == times);
            assert_true(times || standing->kind != VERDICT_SAME);
        }
    }
}

TEST(the_same_code_is_the_same_unless_it_is_broken)
{
    for (int head = 0; head < MEASUREMENT_STATES; head++) {
        const struct standing_input input = {.head = (enum measurement_state)head,
                                             .same_code = true};
        const struct standing *standing = standing_of(&input);
        assert_non_null(standing);
        assert_false(standing->kind == VERDICT_BROKEN && standing->cause == CAUSE_KERNEL &&
                     head != MEASURED_UNBUILDABLE && head != MEASURED_MISSING);
        const bool known = head == MEASURED_OK || head == MEASURED_NOT_TAKEN;
        assert_int_equal(standing->kind == VERDICT_SAME, known);
    }
}

// What one commit broke is not the next one's fault; what never worked is nobody's to pass.
TEST(the_same_broken_code_fails_where_it_never_worked)
{
    for (int unproven = 0; unproven < 2; unproven++) {
        const struct standing_input input = {
            .head = MEASURED_WRONG, .same_code = true, .unproven = unproven};
        const struct standing *standing = standing_of(&input);
        assert_int_equal(standing->kind, VERDICT_BROKEN);
        assert_int_equal(standing->cause, unproven ? CAUSE_KERNEL : CAUSE_BASE);
    }
    const struct standing_input changed = {
        .base = MEASURED_WRONG, .head = MEASURED_WRONG, .unproven = true};
    assert_int_equal(standing_of(&changed)->cause, CAUSE_BASE);
}

TEST(a_device_that_is_away_measures_nothing)
{
    struct arena arena = {0};
    const struct standing_input input = {.away = true};
    const struct standing *standing = standing_of(&input);
    assert_int_equal(standing->kind, VERDICT_NOT_MEASURED);
    assert_string_equal(standing_words(standing, &input, "gpu", &arena),
                        "was not measured: device gpu is not here");
    arena_free(&arena);
}

TEST(words_name_both_states)
{
    struct arena arena = {0};
    const struct standing_input input = {.base = MEASURED_TIMEOUT, .head = MEASURED_WRONG};
    assert_string_equal(standing_words(standing_of(&input), &input, "gpu", &arena),
                        "gives wrong results; on the base it does not finish in time");
    for (int i = 0; i < MEASUREMENT_STATES; i++)
        assert_non_null(standing_text((enum measurement_state)i));
    arena_free(&arena);
}

// ---- A mix's change is the change of its weighted time, and its interval holds it as often as it
// says.

TEST(it_is_the_ratio_of_weighted_times)
{
    // 3 x 100 us and 1 x 500 us: 800 us become 3 x 101 + 500 = 803.
    const struct mix_part parts[] = {
        {.weight = 3, .time_ns = 100e3, .log_ratio = {log(1.01), log(1.008), log(1.012)}},
        {.weight = 1, .time_ns = 500e3, .log_ratio = {0, 0, 0}},
    };
    const struct interval change = mix_change(parts, 2);
    assert_true(fabs(exp(change.value) - 803.0 / 800) < 1e-12);
    // Its half-width is the share's: 300 of 800.
    assert_true(fabs(change.value - change.low - 0.375 * (log(1.01) - log(1.008))) < 1e-9);
}

// Ten parts, each within its own margin, and the sum of them is not.
TEST(many_small_changes_show_together)
{
    struct mix_part parts[10];
    for (int i = 0; i < 10; i++)
        parts[i] = (struct mix_part){
            .weight = 1, .time_ns = 1e5, .log_ratio = {0.002, 0.002 - 0.0015, 0.002 + 0.0015}};
    assert_int_equal(mix_standing(mix_change(parts, 1), 0.001), VERDICT_UNDECIDED);
    assert_int_equal(mix_standing(mix_change(parts, 10), 0.001), VERDICT_SLOWER);
    for (int i = 0; i < 10; i++)
        parts[i].log_ratio = (struct interval){-0.002, -0.0035, -0.0005};
    assert_int_equal(mix_standing(mix_change(parts, 10), 0.001), VERDICT_FASTER);
}

// "Same" is a claim too: an interval that reaches beyond the margin makes none.
TEST(it_is_the_same_only_within_its_margin)
{
    static const struct {
        struct interval change;
        enum verdict_kind kind;
    } cases[] = {
        {{0.001, -0.001, 0.003}, VERDICT_SAME},     {{0.001, -0.001, 0.005}, VERDICT_UNDECIDED},
        {{0.083, 0.035, 0.153}, VERDICT_UNDECIDED}, {{-0.003, -0.005, -0.001}, VERDICT_UNDECIDED},
        {{0.010, 0.008, 0.012}, VERDICT_SLOWER},    {{-0.010, -0.012, -0.008}, VERDICT_FASTER}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        assert_int_equal(mix_standing(cases[i].change, 0.004), cases[i].kind);
}

TEST(the_interval_holds_the_truth_as_often_as_it_says)
{
    enum { ROUNDS = 20000, PARTS = 5 };
    struct random random = {11};
    int inside = 0, alarms = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct mix_part parts[PARTS];
        for (int i = 0; i < PARTS; i++) {
            const double se = 0.0005 * (1 + i), seen = se * random_normal(&random);
            parts[i] = (struct mix_part){.weight = 1 + i,
                                         .time_ns = 1e5 / (1 + i),
                                         .log_ratio = {seen, seen - 1.96 * se, seen + 1.96 * se}};
        }
        const struct interval change = mix_change(parts, PARTS);
        inside += change.low <= 0 && change.high >= 0;
        alarms += mix_standing(change, 1e-9) != VERDICT_UNDECIDED;
    }
    assert_in_range(inside, (int)(0.943 * ROUNDS), (int)(0.957 * ROUNDS));
    assert_in_range(alarms, 1, (int)(0.002 * ROUNDS));
}

TEST(a_verdict_reads_back)
{
    enum verdict_kind kind;
    for (int i = 0; i < VERDICT_KINDS; i++) {
        assert_int_equal(verdict_kind_parse(&kind, verdict_kind_name((enum verdict_kind)i)), 0);
        assert_int_equal(kind, i);
    }
    assert_int_equal(verdict_kind_parse(&kind, "Slower"), -1);
}
