// SPDX-License-Identifier: Apache-2.0
//
// A week's pattern is told as one and is no drift; plain noise has none; steps beside it are found.
#include "model/history/changepoint.h"
#include "tests/helpers/helper_changepoint.h"
#include "tests/helpers/test.h"

enum { SERIES = 40, NIGHTS = 140 };

// Two days in seven are slower by so much, in noise of SD 1.
static void draw(double *values, double slower, struct random *random)
{
    for (size_t i = 0; i < NIGHTS; i++)
        values[i] = 100 + random_normal(random) + (i % 7 >= 5 ? slower : 0);
}

TEST(a_week_is_a_pattern_and_no_drift)
{
    struct random random = {311};
    double values[NIGHTS];
    size_t said = 0, drifts = 0, changes = 0, swings = 0;
    for (int s = 0; s < SERIES; s++) {
        struct changepoints found;
        draw(values, 3, &random);
        changepoints_find(&found, values, NIGHTS, NULL);
        said += found.pattern.period == 7;
        swings += found.pattern.swing > 2.5 && found.pattern.swing < 4.5;
        drifts += found.drift;
        changes += found.count;
        changepoints_free(&found);
    }
    print_message("weeks: %zu of %d said, %zu drift, %zu changes\n", said, SERIES, drifts, changes);
    assert_true(said >= SERIES - 1 && swings >= SERIES - 2 && drifts == 0 && changes <= 1);
}

TEST(a_step_beside_it_is_found)
{
    struct random random = {313};
    double values[NIGHTS];
    size_t found = 0;
    for (int s = 0; s < SERIES; s++) {
        struct changepoints c;
        draw(values, 3, &random);
        for (size_t i = 80; i < NIGHTS; i++)
            values[i] += 3;
        changepoints_find(&c, values, NIGHTS, NULL);
        found += c.count == 1 && c.changes[0].earliest <= 80 && c.changes[0].latest >= 80;
        changepoints_free(&c);
    }
    print_message("steps beside weeks: %zu of %d found\n", found, SERIES);
    assert_true(found >= SERIES - 3);
}

TEST(noise_has_none)
{
    struct random random = {317};
    double values[NIGHTS];
    size_t said = 0;
    for (int kind = 0; kind < CP_KINDS; kind++) {
        for (int s = 0; s < SERIES; s++) {
            cp_series(values, NIGHTS, kind, &random);
            said += pattern_take_off(values, NIGHTS).period > 0;
        }
    }
    print_message("noise: %zu of %d patterns\n", said, CP_KINDS * SERIES);
    assert_true(said <= 2);
}
