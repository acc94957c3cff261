// SPDX-License-Identifier: Apache-2.0
//
// The online detector: rare false alarms, quick true ones.
#include "model/history/focus.h"
#include "tests/helpers/helper_cp_series.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tally {
    size_t alarms, drift;
    struct focus_alarm last;
    size_t pushed_at_last;
};

static struct tally watch(const double *values, size_t n)
{
    struct tally tally = {0};
    struct focus *focus = focus_new(NULL);
    for (size_t i = 0; i < n; i++) {
        enum focus_state now = focus_push(focus, values[i], &tally.last);
        tally.drift += now == FOCUS_DRIFT;
        if (now != FOCUS_ALARM)
            continue;
        tally.alarms++;
        tally.pushed_at_last = i;
    }
    focus_free(focus);
    return tally;
}

// One alarm in 10,000 values is what is asked for, also of a series that becomes three times as
// loud as the one whose threshold was learned.
static void focus_alarms_rarely_on_pure_noise(void **state)
{
    (void)state;
    double *values = xcalloc(10000, sizeof(*values));
    for (int kind = 0; kind < CP_KINDS; kind++) {
        struct random random = {23 + (uint64_t)kind};
        size_t alarms = 0;
        const size_t games = kind == CP_LOUDER ? 24 : 6; // its rate is close to what is asked for
        for (size_t game = 0; game < games; game++) {
            cp_series(values, 10000, kind, &random);
            alarms += watch(values, 10000).alarms;
        }
        if (alarms > games)
            print_message("%s: %zu alarms in %zu0,000\n", cp_kind_names[kind], alarms, games);
        assert_true(alarms <= games);
    }
    free(values);
}

static void focus_calls_a_random_walk_drift(void **state)
{
    (void)state;
    struct random random = {24};
    double values[2000];
    size_t drift = 0;
    for (int game = 0; game < 10; game++) {
        cp_series(values, 2000, CP_WALK, &random);
        struct tally tally = watch(values, 2000);
        assert_true(tally.alarms <= 1);
        drift += tally.drift;
    }
    assert_true(drift > 10 * 2000 * 8 / 10);
}

static void focus_finds_steps_up_and_down_soon(void **state)
{
    (void)state;
    static const struct {
        double size;
        size_t within;
    } steps[] = {{1, 90}, {-1, 90}, {2, 20}, {-4, 8}};
    for (size_t s = 0; s < ARRAY_COUNT(steps); s++) {
        int soon = 0, placed = 0;
        for (uint64_t game = 0; game < 40; game++) {
            struct random random = {100 + game};
            double values[500];
            cp_series(values, 500, game % 2 ? CP_SPIKES : CP_NORMAL, &random);
            cp_add_step(values, 500, 300, steps[s].size);
            struct tally tally = watch(values, 300 + steps[s].within);
            soon += tally.alarms == 1 && tally.pushed_at_last >= 300;
            placed += tally.alarms == 1 && llabs((long long)tally.last.index - 300) <= 8 &&
                      tally.last.size * steps[s].size > 0;
        }
        assert_true(soon >= 32);
        assert_true(placed >= 30);
    }
}

static void focus_finds_the_next_step_too(void **state)
{
    (void)state;
    struct random random = {25};
    double values[900];
    cp_series(values, 900, CP_NORMAL, &random);
    cp_add_step(values, 900, 300, 4);
    cp_add_step(values, 900, 600, -4);
    struct tally tally = watch(values, 900);
    assert_int_equal(tally.alarms, 2);
    assert_true(tally.last.size < 0 && llabs((long long)tally.last.index - 600) <= 2);
}

static void focus_ignores_missing_values_and_units(void **state)
{
    (void)state;
    struct random random = {26};
    double values[400], other[800];
    cp_series(values, 400, CP_NORMAL, &random);
    cp_add_step(values, 400, 300, 3);
    for (size_t i = 0; i < 400; i++) {
        other[2 * i] = NAN;
        other[2 * i + 1] = -1e-6 * values[i];
    }
    struct tally a = watch(values, 400), b = watch(other, 800);
    assert_int_equal(a.alarms, 1);
    assert_int_equal(b.alarms, 1);
    assert_int_equal(2 * a.last.index + 1, b.last.index);
    assert_true(fabs(b.last.size + 1e-6 * a.last.size) < 1e-12);
}

static void focus_stays_calm_on_degenerate_series(void **state)
{
    (void)state;
    double values[200];
    for (size_t i = 0; i < 200; i++)
        values[i] = 7;
    assert_int_equal(watch(values, 200).alarms, 0);
    for (size_t i = 0; i < 200; i++)
        values[i] = i == 150 ? 1e9 : (double)(i % 2);
    assert_int_equal(watch(values, 200).alarms, 0);
    focus_free(NULL);
}

static enum focus_state newest(struct change *out, const double *values, size_t n)
{
    struct changepoints found;
    changepoints_find(&found, values, n, NULL);
    enum focus_state state =
        found.count ? FOCUS_LEARNING : focus_newest(out, values, n, &found, NULL);
    changepoints_free(&found);
    return state;
}

// Few values and then a step of three deviations: where the segmentation waits, the alarm often
// does not.
static void focus_reports_the_newest_before_the_segmentation(void **state)
{
    (void)state;
    int alarms = 0, right = 0, segmented = 0;
    for (uint64_t game = 0; game < 40; game++) {
        struct random random = {300 + game};
        double values[60];
        struct change change;
        cp_series(values, 60, game % 2 ? CP_SPIKES : CP_NORMAL, &random);
        cp_add_step(values, 60, 45, game % 4 < 2 ? 3 : -3);
        enum focus_state now = newest(&change, values, 60);
        segmented += now == FOCUS_LEARNING;
        if (now != FOCUS_ALARM)
            continue;
        alarms++;
        right += change.earliest <= 45 && 45 <= change.latest &&
                 change.size_low < (game % 4 < 2 ? 3 : -3) &&
                 change.size_high > (game % 4 < 2 ? 3 : -3);
        assert_true(change.earliest <= change.index && change.index <= change.latest);
        assert_true(change.latest < 60 && change.evidence > 0);
    }
    assert_true(alarms >= 5);
    assert_true(alarms + segmented >= 25);
    assert_true(10 * right >= 8 * alarms);
}

// Asked after every value, of all kinds of noise, louder and wandering too.
static void focus_rarely_alarms_about_the_newest_of_noise(void **state)
{
    (void)state;
    size_t alarms = 0;
    for (int kind = 0; kind < CP_KINDS; kind++) {
        for (uint64_t game = 0; game < 8; game++) {
            struct random random = {700 + game};
            double values[200];
            struct change change;
            cp_series(values, 200, kind, &random);
            for (size_t n = 41; n <= 200; n += 3)
                alarms += newest(&change, values, n) == FOCUS_ALARM;
        }
    }
    assert_true(alarms <= 12); // of 4240 looks; an alarm stands for several
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(focus_alarms_rarely_on_pure_noise),
        cmocka_unit_test(focus_calls_a_random_walk_drift),
        cmocka_unit_test(focus_finds_steps_up_and_down_soon),
        cmocka_unit_test(focus_finds_the_next_step_too),
        cmocka_unit_test(focus_ignores_missing_values_and_units),
        cmocka_unit_test(focus_reports_the_newest_before_the_segmentation),
        cmocka_unit_test(focus_rarely_alarms_about_the_newest_of_noise),
        cmocka_unit_test(focus_stays_calm_on_degenerate_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
