// SPDX-License-Identifier: Apache-2.0
//
// What a series does besides changing its level is said as such, and hardly ever of plain noise.
#include "model/history/shape.h"
#include "tests/helpers/helper_changepoint.h"
#include "tests/helpers/test.h"

#include <math.h>

enum { SERIES = 60, MOST = 300 };

static struct shape shape_of(const double *values, size_t n, size_t *changes)
{
    struct changepoints found;
    struct shape shape;
    changepoints_find(&found, values, n, NULL);
    shape_find(&shape, values, n, &found, 0.95);
    *changes = found.count;
    changepoints_free(&found);
    return shape;
}

// 3 % over 60 values in noise of half a percent.
TEST(a_creep_is_said_and_is_no_step)
{
    struct random random = {211};
    double values[60];
    size_t said = 0, stepped = 0, covered = 0, changes;
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < 60; i++)
            values[i] = 100 + 3 * i / 59.0 + 0.5 * random_normal(&random);
        struct shape shape = shape_of(values, 60, &changes);
        said += shape.creeps;
        stepped += changes > 0;
        covered += shape.creeps && shape.creep.low < 3 && shape.creep.high > 3;
    }
    print_message("creep: %zu of %d said, %zu with a step\n", said, SERIES, stepped);
    assert_true(said >= 57 && stepped <= 2 && covered >= 50);
}

TEST(louder_noise_is_said)
{
    struct random random = {223};
    double values[200];
    size_t said = 0, changes;
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < 200; i++)
            values[i] = 100 + (i < 100 ? 1 : 2) * random_normal(&random);
        struct shape shape = shape_of(values, 200, &changes);
        said += shape.louder && shape.louder_at > 70 && shape.louder_at < 130 &&
                shape.spread_after > 1.5 * shape.spread_before && changes == 0;
    }
    print_message("variance times four: %zu of %d said\n", said, SERIES);
    assert_true(said >= 50);
}

// 20 values of SD 3, then 137 of SD 0.1 with a step of 0.5 after 20 of them.
TEST(a_loud_start_hides_no_step)
{
    struct random random = {239};
    double values[157];
    size_t calm = 0, found = 0;
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < 157; i++)
            values[i] = 100 + (i < 20 ? 3 : 0.1) * random_normal(&random) + (i < 40 ? 0 : 0.5);
        struct changepoints steps;
        changepoints_find(&steps, values, 157, NULL);
        const size_t from = shape_calm(values, 157, &steps);
        calm += from > 15 && from < 25;
        for (size_t i = 0; i < steps.count; i++)
            found += steps.changes[i].earliest <= 40 && 40 <= steps.changes[i].latest;
        changepoints_free(&steps);
    }
    print_message("loud start: %zu of %d said, %zu steps behind it found\n", calm, SERIES, found);
    assert_true(calm >= 50 && found >= 54);
}

// Of nine loud values, so much is said as they are.
TEST(a_short_loud_start_is_said)
{
    struct random random = {241};
    double values[137];
    size_t said = 0, right = 0, changes;
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < 137; i++)
            values[i] = 100 + (i < 9 ? 3 : 0.1) * random_normal(&random);
        const struct shape shape = shape_of(values, 137, &changes);
        said += shape.louder;
        right += shape.louder && shape.louder_at < 13 && shape.spread_before > 1.5;
    }
    print_message("nine loud values: %zu of %d said, %zu as they are\n", said, SERIES, right);
    assert_true(said >= 40 && right >= 36);
}

// From one value in ten to one in two.
TEST(a_mode_that_comes_more_often_is_said)
{
    struct random random = {227};
    double values[200];
    size_t said = 0, changes;
    for (int s = 0; s < SERIES; s++) {
        for (int i = 0; i < 200; i++) {
            const bool upper = random_uniform(&random) < (i < 100 ? 0.1 : 0.5);
            values[i] = 100 + random_normal(&random) + (upper ? 8 : 0);
        }
        struct shape shape = shape_of(values, 200, &changes);
        said += shape.shifts && shape.shifts_at > 70 && shape.shifts_at < 130 &&
                shape.share_before < 0.25 && shape.share_after > 0.35;
    }
    print_message("share of a mode: %zu of %d said\n", said, SERIES);
    assert_true(said >= 45);
}

TEST(plain_noise_says_hardly_anything)
{
    static const size_t lengths[] = {30, 100, MOST};
    static const enum cp_kind kinds[] = {CP_NORMAL,  CP_SPIKES,    CP_AR5,     CP_AR8,
                                         CP_BIMODAL, CP_TWO_MODES, CP_STEPPED, CP_SKEWED};
    struct random random = {229};
    double values[MOST];
    size_t said = 0, asked = 0, changes;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        for (int s = 0; s < SERIES; s++) {
            const size_t n = lengths[s % 3];
            cp_series(values, n, kinds[k], &random);
            struct shape shape = shape_of(values, n, &changes);
            said += shape.creeps || shape.louder || shape.shifts;
            asked++;
        }
    }
    print_message("plain noise: %zu of %zu series said something\n", said, asked);
    assert_true(said * 100 <= asked); // one in a hundred
}

TEST(newest_level_counts_what_is_there)
{
    const double values[] = {1, NAN, 3, 10, 11, NAN, 12};
    struct newest_level now = newest_level(values, 3, 7, 3);
    assert_true(now.level == 11 && now.values == 3 && now.at_first == 2);
    assert_true(isnan(newest_level(values, 1, 2, 1).level));
}

// 2 % over 600 values at .4 % noise is found as steps; what it is stands beside them. Steps are
// none.
TEST(a_long_creep_is_said_beside_its_steps)
{
    size_t creeps = 0, steps = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random = {seed};
        double creeping[600], stepping[600];
        for (size_t i = 0; i < 600; i++) {
            const double noise = 0.4 * random_normal(&random);
            creeping[i] = 100 + 2 * (double)i / 600 + noise;
            stepping[i] = 100 + noise + (i >= 200 ? 1 : 0) + (i >= 400 ? 1 : 0);
        }
        for (int k = 0; k < 2; k++) {
            const double *values = k ? stepping : creeping;
            struct changepoints found;
            struct shape shape;
            changepoints_find(&found, values, 600, NULL);
            shape_find(&shape, values, 600, &found, 0.95);
            *(k ? &steps : &creeps) += shape.creeps;
            changepoints_free(&found);
        }
    }
    print_message("%zu of 20 creeps, %zu of 20 pairs of steps\n", creeps, steps);
    assert_true(creeps >= 18);
    assert_true(steps == 0);
}

// ---- Slow creep is seen against the accepted level.

// Twenty times 0.2 %, each far below the noise of one value.
TEST(creep_is_seen_against_the_epoch)
{
    struct random random = {27};
    double values[20];
    int seen = 0, false_alarms = 0;
    for (int game = 0; game < 200; game++) {
        cp_series(values, 20, CP_NORMAL, &random);
        for (size_t i = 0; i < 20; i++)
            values[i] = 0.005 * (values[i] - 100);
        false_alarms += creep_test(0, 0.0005, values, 20, 0.003, 0.99).moved;
        for (size_t i = 0; i < 20; i++)
            values[i] += 0.04;
        struct creep creep = creep_test(0, 0.0005, values, 20, 0.003, 0.99);
        seen += creep.moved && creep.evidence > 7;
        assert_true(creep.size.low < creep.size.value && creep.size.value < creep.size.high);
    }
    assert_true(seen >= 190);
    assert_true(false_alarms <= 4);
    assert_false(creep_test(0, 0, values, 2, 0, 0.99).moved);
    assert_true(creep_test(1, 0, (double[]){2, 2, 2, NAN}, 4, 0.5, 0.99).moved);
}
