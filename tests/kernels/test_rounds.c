// SPDX-License-Identifier: Apache-2.0
//
// Who goes on in a trial of many ways, and what is noted of it (kernels/gemm/cuda/rounds.h).
#include "kernels/gemm/cuda/rounds.h"
#include "tests/helpers/test.h"

#include <stdint.h>
#include <string.h>

enum { ways_most = 16 };

static double draw(uint64_t *state) // in [-1, 1)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state / 9223372036854775808.0;
}

struct played {
    int best, turns;
};

// A trial of ways that take so long, whose looks are off by up to `noise`. From round to round all
// take longer by `drift`, as where a clock falls.
static struct played play(const double *us, int count, double noise, double drift, uint64_t seed)
{
    struct way_times ways[ways_most] = {0};
    struct played p = {0};
    double clock = 1;
    for (int round = 0; round < looks_most; round++, clock *= 1 + drift) {
        for (int i = 0; i < count; i++) {
            if (!way_goes_on(&ways[i]))
                continue;
            way_add(&ways[i], us[i] * clock * (1 + noise * draw(&seed)));
            p.turns++;
        }
        leave_slow_ways(ways, count);
    }
    p.best = fastest_way(ways, count);
    return p;
}

// Sixteen ways of which number `best` is the fastest, the others slower by 1 % and more.
static void spread(double us[ways_most], int best)
{
    for (int i = 0; i < ways_most; i++)
        us[i] = 20 * (i == best ? 1 : 1.01 + 0.02 * ((i * 7 + best) % ways_most));
}

TEST(the_fastest_of_sixteen_wins_wherever_it_stands)
{
    for (int best = 0; best < ways_most; best++) {
        double us[ways_most];
        spread(us, best);
        assert_int_equal(play(us, ways_most, 0, 0, 1).best, best);
    }
}

TEST(looks_off_by_two_percent_choose_a_way_within_two)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        double us[ways_most];
        const int best = (int)(seed % ways_most);
        spread(us, best);
        assert_true(us[play(us, ways_most, 0.02, 0, seed).best] <= 1.02 * us[best]);
    }
}

// What was looked at only while the clock was high must not win by that.
TEST(a_clock_that_falls_favours_nobody)
{
    for (int best = 0; best < ways_most; best++) {
        double us[ways_most];
        spread(us, best);
        assert_int_equal(play(us, ways_most, 0, 0.02, 1).best, best);
    }
}

TEST(the_last_rounds_are_the_last_fours)
{
    double us[ways_most];
    for (int i = 0; i < ways_most; i++)
        us[i] = 20 + 0.001 * i;
    const int turns = looks_of_all * ways_most + looks_of_all * ways_most / 2 +
                      (looks_most - 2 * looks_of_all) * finalists_most;
    assert_int_equal(play(us, ways_most, 0, 0, 1).turns, turns);
    assert_int_equal(play(us, ways_most, 0, 0, 1).best, 0);
}

TEST(ways_as_fast_as_each_other_all_go_on)
{
    double us[ways_most];
    for (int i = 0; i < ways_most; i++)
        us[i] = 20;
    assert_int_equal(play(us, ways_most, 0, 0, 1).turns, looks_most * ways_most);
}

TEST(a_way_that_fails_is_not_chosen)
{
    struct way_times ways[3] = {{.fails = 1}, {.fails = 0}, {.fails = 0}};
    for (int look = 0; look < looks_of_all; look++) {
        way_add(&ways[1], 12);
        way_add(&ways[2], 11);
        leave_slow_ways(ways, 3);
    }
    assert_int_equal(fastest_way(ways, 3), 2);
    assert_true(isinf(way_median(&ways[0])));
}

TEST(as_many_ways_as_the_time_allows)
{
    assert_int_equal(ways_in_time(1000000, 16), 16);
    assert_int_equal(ways_in_time(56, 16), 16);
    assert_int_equal(ways_in_time(41, 16), 11);
    assert_int_equal(ways_in_time(15, 16), 4);
    assert_int_equal(ways_in_time(9, 16), 3);
    assert_int_equal(ways_in_time(6, 16), 2);
    assert_int_equal(ways_in_time(5, 16), 1);
    assert_int_equal(ways_in_time(1000, 3), 3);
}

// What a later run of the same code takes is what the trial chose, not what it chose against.
TEST(a_pin_is_the_choice_and_its_order)
{
    char note[128];
    int in_order = -1;
    note_choice(note, sizeof note, "wide", 1, "wide", 0);
    assert_string_equal(note, "wide in order, the model alone wide");
    assert_true(is_noted(note, "wide", &in_order) && in_order == 1);
    note_choice(note, sizeof note, "wide", 0, "wider", 1);
    assert_string_equal(note, "wide, the model alone wider in order");
    assert_true(is_noted(note, "wide", &in_order) && in_order == 0);
    assert_false(is_noted(note, "wider", &in_order) || is_noted(note, "wid", &in_order));
    note_choice(note, sizeof note, "wider", 1, "wider", 1);
    assert_string_equal(note, "wider in order");
    assert_false(is_noted(note, "wide", &in_order));
    assert_true(is_noted(note, "wider", &in_order) && in_order == 1);
}
