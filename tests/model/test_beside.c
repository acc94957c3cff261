// SPDX-License-Identifier: Apache-2.0
//
// Looks in other regimes: their sizes, their text, and which of them says the opposite of a
// verdict.
#include "model/gate/verdict.h"
#include "tests/helpers/test.h"

#include <math.h>

static struct arena arena;

static struct beside look(enum regime regime, double value, double half)
{
    return (struct beside){.regime = regime,
                           .state = MEASURED_OK,
                           .log_ratio = interval_about(value, half),
                           .pairs = 16};
}

TEST(its_text_gives_back_what_was_looked_at)
{
    struct beside looks[] = {look(REGIME_STREAM, -0.0015, 0.001),
                             look(REGIME_ISOLATED, -0.07, 0.001),
                             {.regime = REGIME_WARM, .state = MEASURED_WRONG}};
    struct beside back[REGIMES];
    const char *text = beside_format(looks, 3, &arena);
    assert_string_equal(text, "stream ok -0.0015 -0.0025 -0.0005 16, "
                              "isolated ok -0.07 -0.071 -0.069 16, warm wrong");
    assert_int_equal(beside_parse(back, text), 3);
    assert_int_equal(back[1].regime, REGIME_ISOLATED);
    assert_true(back[1].log_ratio.low == -0.071 && back[1].pairs == 16);
    assert_int_equal(back[2].state, MEASURED_WRONG);
    assert_string_equal(beside_say(back, 3, &arena),
                        "in a stream -0.15 % (-0.25 to -0.05), alone -6.76 % (-6.85 to -6.67), "
                        "wrong on warm operands");
    assert_null(beside_format(looks, 0, &arena));
    assert_int_equal(beside_parse(back, NULL), 0);
}

TEST(what_is_no_such_text_has_no_looks)
{
    static const char *const texts[] = {
        "",
        "stream",
        "stream ok",
        "nowhere ok 0 0 0 8",
        "stream ok 0 0 0 8 more",
        "stream ok nan 0 0 8",
        "stream ok 0 1 -1 8",
        "stream ok 1e9 0 1e10 8",
        "stream ok 0 0 0 4000000000",
        "stream ok 0 -inf 0 8",
        "stream <b>",
        "stream ok 0 0 0 8,",
        "stream wrong, isolated ok 0 0 0",
        ("stream wrong, stream wrong, stream wrong, stream wrong, stream wrong, stream wrong, "
         "stream wrong"),
    };
    struct beside back[REGIMES];
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        assert_int_equal(beside_parse(back, texts[i]), i == 11 ? 1 : 0);
}

TEST(a_look_is_over_when_nothing_is_open)
{
    struct sample base[BESIDE_PAIRS], head[BESIDE_PAIRS];
    struct beside seen = {.regime = REGIME_STREAM};
    for (size_t i = 0; i < BESIDE_PAIRS; i++) {
        base[i] = (struct sample){.time_ns = 1000, .excluded = i == 3};
        head[i] = (struct sample){.time_ns = 1020 + (double)(i % 4)};
    }
    beside_take(&seen, base, head, 1);
    assert_true(isnan(seen.log_ratio.value));
    assert_false(beside_enough(&seen, 0.003));
    beside_take(&seen, base, head, 10);
    assert_int_equal(seen.pairs, 9); // one is excluded
    assert_true(fabs(seen.log_ratio.value - log(1.0214)) < 5e-4);
    assert_true(seen.log_ratio.low > 0.02 && seen.log_ratio.high < 0.0225);
    assert_true(beside_enough(&seen, 0.003));  // beyond
    assert_true(beside_enough(&seen, 0.03));   // within
    assert_false(beside_enough(&seen, 0.021)); // neither
    seen.pairs = BESIDE_PAIRS;
    assert_true(beside_enough(&seen, 0.021));
}

static struct result result_in(enum regime regime, enum verdict_kind kind, double value)
{
    struct result r = {
        .kernel = "k",
        .verdict = {
            .kind = kind, .pairs = 64, .margin = 0.003, .log_ratio = interval_about(value, 0.001)}};
    struct error err;
    assert_int_equal(problem_parse(&r.problem, "64x64x64:fp32", &err), 0);
    r.problem = problem_in(&r.problem, regime);
    return r;
}

TEST(only_the_opposite_beyond_the_margin_opposes)
{
    struct result results[] = {result_in(REGIME_COLD, VERDICT_SLOWER, 0.02),
                               result_in(REGIME_WARM, VERDICT_SAME, 0.001)};
    struct run run = {.results = results, .count = 2};
    struct beside opposed, looks[2];
    assert_false(beside_opposed(&opposed, &run, &results[0]));
    looks[0] = look(REGIME_STREAM, -0.002, 0.001); // within the margin
    looks[1] = look(REGIME_ISOLATED, 0.05, 0.001); // of the same sign
    results[0].head.beside = beside_format(looks, 2, &arena);
    assert_false(beside_opposed(&opposed, &run, &results[0]));
    looks[0] = look(REGIME_STREAM, -0.01, 0.011); // it may be nothing
    results[0].head.beside = beside_format(looks, 2, &arena);
    assert_false(beside_opposed(&opposed, &run, &results[0]));
    looks[0] = look(REGIME_STREAM, -0.01, 0.005);
    results[0].head.beside = beside_format(looks, 2, &arena);
    assert_true(beside_opposed(&opposed, &run, &results[0]));
    assert_int_equal(opposed.regime, REGIME_STREAM);
    // What the run has judged in another regime counts as well, and the larger one is told.
    results[1] = result_in(REGIME_WARM, VERDICT_FASTER, -0.04);
    assert_true(beside_opposed(&opposed, &run, &results[0]));
    assert_int_equal(opposed.regime, REGIME_WARM);
    assert_true(beside_opposed(&opposed, &run, &results[1]));
    assert_int_equal(opposed.regime, REGIME_COLD);
    results[0].verdict.kind = VERDICT_SAME;
    assert_false(beside_opposed(&opposed, &run, &results[0]));
}

AROUND_ALL(NULL, NULL);
