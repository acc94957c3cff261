// SPDX-License-Identifier: Apache-2.0
//
// A bisection finds the culprit as often as it claims, repeats what is noisy, and blames no
// neighbour.
#include "model/gate/bisect.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct bisect_options usual = {.confidence = 0.99,
                                            .effect = 0.01,
                                            .effect_se = 0.0005,
                                            .between_sd = 0.001,
                                            .expected_se = 0.0015};

static struct bisect start(size_t count, const struct bisect_options *options)
{
    struct bisect b;
    struct error err;
    assert_int_equal(bisect_start(&b, count, options, &err), 0);
    return b;
}

struct outcome {
    struct bisect_step step;
    size_t duets;
};

// Plays the machine: commits from `culprit` on are slower by `effect`; those in `broken` do not
// build.
static struct outcome play(struct bisect *b, size_t culprit, const bool *broken,
                           const char *const *codes, double effect, struct random *random)
{
    struct outcome out = {0};
    double sd = hypot(b->options.expected_se, b->options.between_sd);
    for (;;) {
        out.step = bisect_next(b);
        if (out.step.state != BISECT_TEST || out.duets > 500)
            return out;
        size_t k = out.step.commit;
        if (broken && broken[k]) {
            bisect_skip(b, k);
            continue;
        }
        if (codes && !b->commits[k].code)
            bisect_set_code(b, k, codes[k]);
        double mean = k >= culprit ? effect : 0;
        bisect_observe(b, k, mean + sd * random_normal(random), b->options.expected_se);
        out.duets++;
    }
}

TEST(bisect_finds_the_culprit_as_often_as_it_says)
{
    struct random random = {7};
    size_t wrong = 0, duets = 0;
    enum { GAMES = 400, COMMITS = 65 };
    for (size_t game = 0; game < GAMES; game++) {
        size_t culprit = 1 + game % (COMMITS - 1);
        struct bisect b = start(COMMITS, &usual);
        struct outcome out = play(&b, culprit, NULL, NULL, usual.effect, &random);
        assert_int_equal(out.step.state, BISECT_FOUND);
        assert_true(out.step.probability >= 0.99);
        wrong += out.step.first != culprit || out.step.last != culprit;
        duets += out.duets;
        bisect_free(&b);
    }
    assert_true(wrong <= 10);                // 1 % of 400 is 4, two standard deviations more 8
    assert_true((double)duets / GAMES < 14); // six halvings without noise
}

// An effect of two standard deviations of a duet needs repeats, not luck.
TEST(bisect_repeats_noisy_duets)
{
    struct random random = {8};
    struct bisect_options noisy = usual;
    noisy.expected_se = 0.005;
    size_t wrong = 0, duets = 0;
    for (size_t game = 0; game < 200; game++) {
        size_t culprit = 1 + game % 31;
        struct bisect b = start(32, &noisy);
        struct outcome out = play(&b, culprit, NULL, NULL, noisy.effect, &random);
        assert_int_equal(out.step.state, BISECT_FOUND);
        wrong += out.step.last != culprit;
        duets += out.duets;
        bisect_free(&b);
    }
    assert_true(wrong <= 7);
    assert_true(duets > 200 * 8 && duets < 200 * 40);
}

TEST(bisect_blames_no_neighbour_of_a_commit_that_does_not_build)
{
    struct random random = {9};
    bool broken[16] = {[6] = true, [7] = true, [8] = true};
    for (size_t culprit = 6; culprit <= 9; culprit++) {
        struct bisect b = start(16, &usual);
        struct outcome out = play(&b, culprit, broken, NULL, usual.effect, &random);
        assert_int_equal(out.step.state, BISECT_FOUND);
        assert_int_equal(out.step.first, 6);
        assert_int_equal(out.step.last, 9);
        assert_true(out.step.probability >= 0.99);
        assert_true(b.posterior[9] < 0.5);
        bisect_free(&b);
    }
    struct bisect b = start(16, &usual); // next to them it is told apart
    struct outcome out = play(&b, 10, broken, NULL, usual.effect, &random);
    assert_int_equal(out.step.first, 10);
    assert_int_equal(out.step.last, 10);
    bisect_free(&b);
}

TEST(bisect_ends_when_nothing_can_be_tested)
{
    struct bisect b = start(4, &usual);
    bisect_skip(&b, 1);
    bisect_skip(&b, 2);
    struct bisect_step step = bisect_next(&b);
    assert_int_equal(step.state, BISECT_FOUND);
    assert_int_equal(step.first, 1);
    assert_int_equal(step.last, 3);
    bisect_free(&b);
    b = start(2, &usual);
    step = bisect_next(&b);
    assert_int_equal(step.state, BISECT_FOUND);
    assert_int_equal(step.first, 1);
    bisect_free(&b);
}

TEST(bisect_takes_equal_code_for_one_commit)
{
    struct random random = {10};
    const char *codes[12] = {"a", "a", "a", "a", "a", "b", "b", "b", "b", "b", "b", "b"};
    struct bisect b = start(12, &usual);
    for (size_t i = 0; i < 12; i++)
        bisect_set_code(&b, i, codes[i]);
    struct outcome out = play(&b, 5, NULL, codes, usual.effect, &random);
    assert_int_equal(out.step.state, BISECT_FOUND);
    assert_int_equal(out.step.last, 5);
    assert_int_equal(out.duets, 0); // the code alone tells
    bisect_free(&b);
}

TEST(bisect_of_equal_code_is_impossible)
{
    struct bisect b = start(5, &usual);
    bisect_set_code(&b, 0, "x");
    bisect_set_code(&b, 2, "y");
    bisect_set_code(&b, 4, "x");
    assert_int_equal(bisect_next(&b).state, BISECT_IMPOSSIBLE);
    bisect_free(&b);
}

TEST(bisect_refuses_what_does_not_differ)
{
    struct bisect b;
    struct error err;
    struct bisect_options weak = usual;
    weak.effect = 0.001;
    assert_int_equal(bisect_start(&b, 9, &weak, &err), -1);
    assert_non_null(strstr(err.text, "too little to bisect"));
    weak.effect = NAN;
    assert_int_equal(bisect_start(&b, 9, &weak, &err), -1);
}

TEST(bisect_says_when_several_commits_share_the_effect)
{
    struct bisect b = start(9, &usual);
    for (size_t k = 1; k < 9; k++)
        bisect_observe(&b, k, k < 3 ? 0 : k < 6 ? 0.005 : 0.01, 0.0005);
    assert_true(bisect_next(&b).inconsistent);
    bisect_free(&b);
    b = start(9, &usual);
    for (size_t k = 1; k < 9; k++)
        bisect_observe(&b, k, k < 3 ? 0 : 0.0105, 0.0005);
    assert_false(bisect_next(&b).inconsistent);
    assert_int_equal(bisect_next(&b).last, 3);
    bisect_free(&b);
}

// Chi-squared's mean and four standard deviations of it, and 8 more: for one commit that was tried
// 3.83 standard errors, for eight of them, of which two are off, 4.
TEST(bisect_calls_odd_answers_inconsistent_from_a_size_on)
{
    static const struct {
        size_t count, off; // commits, and those of them that are off
        double errors;     // by so many standard errors
        bool told;
    } cases[] = {{2, 1, 3.7, false}, {2, 1, 3.95, true}, {9, 2, 3.9, false}, {9, 2, 4.1, true}};
    struct bisect_options options = usual;
    options.effect_se = 0;
    const double sd = hypot(options.expected_se, options.between_sd);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct bisect b = start(cases[i].count, &options);
        for (size_t k = 1; k < cases[i].count; k++)
            bisect_observe(&b, k, options.effect + (k <= cases[i].off ? cases[i].errors * sd : 0),
                           options.expected_se);
        assert_int_equal(bisect_next(&b).last, 1);
        assert_true(bisect_next(&b).inconsistent == cases[i].told);
        bisect_free(&b);
    }
}

// The state is the answers: the order in which they came does not matter.
TEST(bisect_resumes_from_its_answers_in_any_order)
{
    struct bisect a = start(20, &usual), b = start(20, &usual);
    const size_t commits[] = {10, 5, 7, 7, 6};
    const double ratios[] = {0.011, -0.001, 0.004, 0.006, 0.0002};
    for (size_t i = 0; i < 5; i++)
        bisect_observe(&a, commits[i], ratios[i], 0.0015);
    bisect_skip(&a, 8);
    bisect_skip(&b, 8);
    for (size_t i = 5; i-- > 0;)
        bisect_observe(&b, commits[i], ratios[i], 0.0015);
    for (size_t k = 0; k < 20; k++)
        assert_true(fabs(a.posterior[k] - b.posterior[k]) < 1e-12);
    assert_int_equal(bisect_next(&a).commit, bisect_next(&b).commit);
    bisect_free(&a);
    bisect_free(&b);
}

// A code is known where duets told of it, or at an end, which is told already; never by itself.
TEST(a_code_is_known_by_another_commit_that_was_compared)
{
    static const char *const codes[] = {"a", "b", "b", "a", "c"};
    struct bisect b = start(5, &usual);
    for (size_t i = 0; i < ARRAY_COUNT(codes); i++)
        bisect_set_code(&b, i, codes[i]);
    assert_true(bisect_knows_code(&b, 3)); // that of the first commit
    assert_false(bisect_knows_code(&b, 1));
    bisect_observe(&b, 2, 0, usual.expected_se);
    assert_true(bisect_knows_code(&b, 1));
    assert_false(bisect_knows_code(&b, 2));
    bisect_free(&b);
}
