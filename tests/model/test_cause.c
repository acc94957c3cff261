// SPDX-License-Identifier: Apache-2.0
//
// Which cause a verdict gets, from its own code and the controls beside it.
#include "model/gate/verdict.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

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
