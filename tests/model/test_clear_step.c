// SPDX-License-Identifier: Apache-2.0
//
// Steps that anybody sees are found where one noise for all values would hide them, and what was
// surely seen stays as the series grows.
#include "model/history/changepoint.h"
#include "model/history/clear_step.h"
#include "tests/helpers/helper_cp_series.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>

enum { GAMES = 200, MOST = 300 };

// Share of series with `before` and `after` values, of these scatters, whose step is found within
// `near` values.
static double found(size_t before, size_t after, double scatter_before, double scatter_after,
                    double size, size_t near)
{
    struct random random = {977};
    double values[MOST];
    size_t hits = 0;
    for (int g = 0; g < GAMES; g++) {
        for (size_t i = 0; i < before + after; i++)
            values[i] =
                100 + (i < before ? scatter_before : scatter_after) * random_normal(&random);
        cp_add_step(values, before + after, before, g % 2 ? size : -size);
        struct changepoints c;
        changepoints_find(&c, values, before + after, NULL);
        bool hit = false;
        for (size_t i = 0; i < c.count; i++)
            hit =
                hit || (c.changes[i].index + near >= before && c.changes[i].index <= before + near);
        hits += hit;
        changepoints_free(&c);
    }
    return (double)hits / GAMES;
}

static void short_series_show_large_steps(void **state)
{
    const double even = found(5, 5, 1, 1, 20, 0), late = found(50, 3, 1, 1, 20, 0);
    const double longer = found(40, 5, 1, 1, 20, 0);
    print_message("5|5: %.3f, 50|3: %.3f, 40|5: %.3f\n", even, late, longer);
    assert_true(even >= 0.95 && late >= 0.9 && longer >= 0.95);
}

static void sides_may_have_noise_of_their_own(void **state)
{
    const double louder = found(60, 60, 1, 8, 10, 10), calmer = found(60, 60, 8, 1, 10, 10);
    print_message("1 -> 8: %.3f, 8 -> 1: %.3f\n", louder, calmer);
    assert_true(louder >= 0.9 && calmer >= 0.9);
}

static void values_without_noise_are_levels(void **state)
{
    static const struct {
        size_t values;
        double level;
    } runs[] = {{50, 100}, {10, 120}, {50, 100}, {50, 110}};
    double values[160];
    size_t n = 0;
    for (size_t r = 0; r < 4; r++) {
        for (size_t i = 0; i < runs[r].values; i++)
            values[n++] = runs[r].level;
    }
    struct changepoints c;
    changepoints_find(&c, values, n, NULL);
    assert_int_equal(c.count, 3);
    assert_true(c.changes[0].index == 50 && c.changes[1].index == 60 && c.changes[2].index == 110);
    assert_true(fabs(c.changes[0].size.value - 20) < 1e-9);
    changepoints_free(&c);
    size_t starts[32];
    values[7] = 101; // one value that differs makes no levels of what is beside it
    assert_int_equal(clear_step_runs(starts, values, n), 0);
}

// Ten values that a mode sorts by chance, a line, a walk: none is a step.
static void what_is_no_step_is_none(void **state)
{
    struct random random = {41};
    double values[120];
    struct change change;
    for (int i = 0; i < 120; i++)
        values[i] = 0.05 * i + random_normal(&random);
    assert_false(clear_step_find(&change, values, 120, 0.95));
    for (int i = 0; i < 10; i++)
        values[i] = (i < 5 ? 0 : 8) + random_normal(&random);
    assert_false(clear_step_find(&change, values, 10, 0.95));
    assert_false(clear_step_find(&change, values, 3, 0.95));
}

static bool has(const struct changepoints *c, size_t index)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->changes[i].index + 5 >= index && c->changes[i].index <= index + 5)
            return true;
    }
    return false;
}

// Of changes in growing prefixes, 4.4 % were gone at the next length; among them some of a hundred
// nats, when a new step began and the series was called a walk.
static void what_was_found_stays_as_a_series_grows(void **state)
{
    static const enum cp_kind kinds[] = {CP_NORMAL, CP_SPIKES, CP_AR5, CP_SKEWED};
    struct random random = {79};
    double values[MOST];
    size_t gone = 0, all = 0;
    for (int g = 0; g < 120; g++) {
        struct changepoints before = {0};
        cp_series(values, MOST, kinds[g % 4], &random);
        for (int s = 0; s < 3; s++) {
            const double size = (random_coin(&random) ? 1 : -1) * (2 + 8 * random_uniform(&random));
            cp_add_step(values, MOST, 10 + (size_t)(280 * random_uniform(&random)), size);
        }
        for (size_t n = 20; n <= MOST; n += 1 + (size_t)(40 * random_uniform(&random))) {
            struct changepoints now;
            changepoints_find(&now, values, n, NULL);
            for (size_t i = 0; i < before.count; i++)
                gone += !has(&now, before.changes[i].index);
            all += before.count;
            changepoints_free(&before);
            before = now;
        }
        changepoints_free(&before);
    }
    print_message("%zu of %zu changes were gone at the next length\n", gone, all);
    assert_true(gone * 1000 <= 16 * all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_series_show_large_steps),
        cmocka_unit_test(sides_may_have_noise_of_their_own),
        cmocka_unit_test(values_without_noise_are_levels),
        cmocka_unit_test(what_is_no_step_is_none),
        cmocka_unit_test(what_was_found_stays_as_a_series_grows),
    };
    return cmocka_run_group_tests_name("clear_step", tests, NULL, NULL);
}
