// SPDX-License-Identifier: Apache-2.0
//
// Gates whose time runs out, on a clock that only measuring moves: what a pair costs, what a
// process costs to start, and so how much of each gate fits.
#include "tests/helpers/helper_played.h"
#include "tests/helpers/test.h"

#include <stdio.h>

enum { SERIES = 6 };

// Seconds of a pair and of a start.
static double pair_s, start_s;

static double clock_of(void *context)
{
    const struct played *p = context;
    double sum_s = start_s * p->duets.processes;
    for (size_t i = 0; i < p->duets.count; i++)
        sum_s += pair_s * (double)p->items[i].base_samples.count;
    return sum_s;
}

struct tally {
    int slower, undecided, false_alarms;
    double seconds; // mean
};

// Gates of one kernel that takes `percent` longer among others that did not change, with pairs that
// scatter by 10 % and the default policy of a host.
static struct tally play_gates(unsigned percent, double seconds, unsigned gates)
{
    struct tally tally = {0};
    for (unsigned gate = 0; gate < gates; gate++) {
        struct played *p;
        char names[SERIES][KERNEL_NAME_TEXT];
        const char *kernels[SERIES + 1] = {NULL};
        for (unsigned i = 0; i < SERIES; i++) {
            snprintf(names[i], sizeof(names[i]), "scatter-%u-%u", i == 2 ? percent : 0,
                     gate * SERIES + i + 1);
            kernels[i] = names[i];
        }
        played_set_up((void **)&p);
        p->duets.now = clock_of;
        p->duets.deadline_s = seconds;
        played_all(p, kernels);
        for (unsigned i = 0; i < SERIES; i++) {
            const enum verdict_kind kind = p->items[i].decision.kind;
            const bool alarm = kind == VERDICT_SLOWER || kind == VERDICT_FASTER;
            const bool confirmed = p->items[i].decision.processes >= 4;
            tally.slower += i == 2 && kind == VERDICT_SLOWER && confirmed;
            tally.undecided += kind == VERDICT_UNDECIDED || (alarm && !confirmed);
            tally.false_alarms += i != 2 && alarm;
        }
        tally.seconds += clock_of(p) / gates;
        played_tear_down((void **)&p);
    }
    return tally;
}

// All six would take 1000 pairs: the time ends the gate while the others are still open. They get
// what the slowdown leaves, 0.7 of it.
TEST(large_slowdown_is_decided_when_time_runs_out)
{
    pair_s = 1;
    start_s = 5;
    const int gates = (int)draws(40);
    const struct tally large = play_gates(20, 600, gates), smaller = play_gates(10, 600, gates);
    if (20 * large.slower < 19 * gates || 20 * smaller.slower < 19 * gates)
        fail_msg("%d and %d of %d slowdowns decided", large.slower, smaller.slower, gates);
    assert_int_equal(large.false_alarms + smaller.false_alarms, 0);
    assert_true(large.seconds < 600 + 20);
    assert_true(large.undecided < 0.7 * gates * SERIES);
}

// Its confirmation takes longer than the gate has: it goes on for that, and no further.
TEST(what_is_clear_is_confirmed_though_the_time_is_over)
{
    static const char *const kernels[] = {"scatter-20-7", NULL};
    static const struct {
        double seconds;
        bool confirmed;
    } cases[] = {{100, true}, {30, false}};
    pair_s = 1;
    start_s = 30;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct played *p;
        played_set_up((void **)&p);
        p->duets.now = clock_of;
        p->duets.deadline_s = cases[i].seconds;
        played_all(p, kernels);
        if (cases[i].confirmed)
            assert_int_equal(p->items[0].decision.kind, VERDICT_SLOWER);
        assert_true((p->items[0].decision.processes == 4) == cases[i].confirmed);
        assert_true(clock_of(p) > cases[i].seconds);
        assert_true(clock_of(p) < 2 * cases[i].seconds + start_s + 20 * pair_s);
        played_tear_down((void **)&p);
    }
}

// What was begun before the closing time is played to its end; of the others nothing is known.
TEST(none_is_begun_after_the_closing_time)
{
    static const char *const kernels[] = {"scatter-20-7", "scatter-20-8", "scatter-0-9",
                                          "scatter-0-10", NULL};
    struct played *p;
    played_set_up((void **)&p);
    pair_s = 1;
    start_s = 1;
    p->duets.now = clock_of;
    p->duets.open_most = 1;
    p->duets.closing_s = 40;
    played_all(p, kernels);
    assert_true(p->items[0].decision.kind == VERDICT_SLOWER && p->items[0].decision.processes == 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(p->items[i].place, DUET_OVER);
        assert_true((p->items[i].visit_count > 0) == (p->items[i].base_samples.count > 0));
    }
    assert_true(p->items[1].visit_count > 0);
    assert_true(p->items[3].visit_count == 0 && !p->items[3].judged);
    played_tear_down((void **)&p);
}
