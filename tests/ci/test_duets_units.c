// SPDX-License-Identifier: Apache-2.0
//
// Duets that several equal devices share: who plays what, who confirms, what a lost device leaves,
// and that verdicts are those of one device.
#include "ci/gate/duets.h"
#include "tests/helpers/helper_played.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { SERIES = 8 };
static const char *const mixed[] = {"slower-1", "good-1",       "slower-2", "good-2", "places",
                                    "good-3",   "scatter-20-7", "slower-3", NULL};

static struct lost_units {
    size_t count, unit;
    char why[200];
} lost_units;

static void told_lost(void *context, size_t unit, const char *why)
{
    lost_units.count++;
    lost_units.unit = unit;
    text_copy(lost_units.why, sizeof(lost_units.why), why);
}

static int set_up(void **state)
{
    lost_units = (struct lost_units){0};
    if (played_set_up(state))
        return -1;
    struct played *p = *state;
    fake_bench_write(&p->fake, "units", "4");
    p->duets.units = 2;
    p->duets.lost = told_lost;
    return 0;
}

AROUND_EACH(set_up, played_tear_down);

static bool is_slower(const struct duet *d)
{
    return strncmp(d->kernel, "slower", 6) == 0 || strncmp(d->kernel, "scatter", 7) == 0;
}

// As they are stored: by process, and those of a process together.
static void assert_in_order(const struct duet *d)
{
    for (size_t i = 1; i < d->base_samples.count; i++)
        assert_true(d->base_samples.items[i - 1].process <= d->base_samples.items[i].process);
    for (size_t i = 1; i < d->visit_count; i++)
        assert_true(d->visits[i - 1].process < d->visits[i].process);
}

TEST(alarms_are_confirmed_by_another_unit)
{
    struct played *p = *state;
    played_all(p, mixed);
    assert_int_equal(p->duets.processes, 4); // of each two: what one leaves is new to the other's
    for (size_t i = 0; i < SERIES; i++) {
        const struct duet *d = &p->items[i];
        played_whole(d, is_slower(d) ? VERDICT_SLOWER : VERDICT_SAME);
        assert_int_equal(d->visit_count, d->decision.processes);
        if (strncmp(d->kernel, "slower", 6) == 0)
            assert_int_equal(d->visit_count, 4);
        for (size_t v = 1; v < d->visit_count; v++)
            assert_int_not_equal(d->visits[v].unit, d->visits[v - 1].unit);
        assert_in_order(d);
    }
}

// The driver makes contexts of several GPUs one after another, so some start later.
TEST(a_unit_that_starts_later_still_has_its_share)
{
    struct played *p = *state;
    int open = 0, most = 0;
    fake_bench_write(&p->fake, "starts.1", "500");
    played_all(p, (const char *const[]){"good-1", "good-2", "good-3", "good-4", "good-5", "good-6",
                                        "good-7", "good-8", NULL});
    // Until the first ends; later the one at work takes what is still there.
    for (const char *at = p->journal; strncmp(at, "close ", 6) != 0; at = strchr(at, ';') + 1) {
        open += strncmp(at, "open ", 5) == 0;
        most = open > most ? open : most;
    }
    assert_int_equal(most, SERIES / 2);
    for (size_t i = 0; i < SERIES; i++)
        played_whole(&p->items[i], VERDICT_SAME);
}

// Four of them need no child twice: whoever confirms has a process that is new to the series.
TEST(with_four_units_every_process_is_another_units)
{
    struct played *p = *state;
    p->duets.units = 4;
    played_all(p, mixed);
    for (size_t i = 0; i < SERIES; i++) {
        const struct duet *d = &p->items[i];
        played_whole(d, is_slower(d) ? VERDICT_SLOWER : VERDICT_SAME);
        for (size_t v = 1; v < d->visit_count; v++)
            assert_int_not_equal(d->visits[v].unit, d->visits[v - 1].unit);
        assert_in_order(d);
    }
}

// Each waits for the other before its first open.
static pthread_barrier_t both;
static int (*start_alone)(struct bench **out, void *context, size_t unit, struct error *err);
static int start_together(struct bench **out, void *context, size_t unit, struct error *err)
{
    const int status = start_alone(out, context, unit, err);
    pthread_barrier_wait(&both);
    return status;
}

TEST(series_are_shared_out)
{
    static const char *const names[] = {"good-1",  "good-2",  "good-3",  "good-4",  "good-5",
                                        "good-6",  "good-7",  "good-8",  "good-9",  "good-10",
                                        "good-11", "good-12", "good-13", "good-14", NULL};
    struct played *p = *state;
    size_t on[2] = {0};
    start_alone = p->duets.start;
    p->duets.start = start_together;
    p->duets.open_most = 2;
    pthread_barrier_init(&both, NULL, 2);
    played_all(p, names);
    pthread_barrier_destroy(&both);
    assert_int_equal(p->duets.processes, 2);
    for (size_t i = 0; i < p->duets.count; i++) {
        played_whole(&p->items[i], VERDICT_SAME);
        assert_int_equal(p->items[i].visit_count, 1);
        on[p->items[i].visits[0].unit]++;
    }
    assert_true(on[0] > 0 && on[1] > 0);
}

TEST(verdicts_are_those_of_one_unit)
{
    struct played *p = *state, *alone;
    void *other = NULL;
    assert_int_equal(played_set_up(&other), 0);
    alone = other;
    played_all(alone, mixed);
    played_all(p, mixed);
    for (size_t i = 0; i < SERIES; i++) {
        const struct duet *a = &alone->items[i], *b = &p->items[i];
        assert_int_equal(a->decision.kind, b->decision.kind);
        assert_int_equal(a->decision.pairs, b->decision.pairs);
        assert_int_equal(a->decision.processes, b->decision.processes);
        assert_true(a->decision.log_evidence == b->decision.log_evidence);
        assert_true(a->decision.log_ratio == b->decision.log_ratio);
    }
    played_tear_down(&other);
}

TEST(what_is_of_one_unit_stays_there)
{
    struct played *p = *state;
    for (size_t i = 0; i < 4; i++)
        p->items[i] = (struct duet){.kernel = i < 2 ? "places" : "good-1",
                                    .problem = &fake_problem,
                                    .base = "/x/base.so",
                                    .head = "/x/head.so",
                                    .seed = 1,
                                    .only = i % 2 + 1};
    p->duets.count = 4;
    played_all(p, (const char *const[]){"", "", "", "", NULL});
    for (size_t i = 0; i < 4; i++) {
        played_whole(&p->items[i], VERDICT_SAME);
        assert_int_equal(p->items[i].visit_count, i < 2 ? 2 : 1);
        for (size_t v = 0; v < p->items[i].visit_count; v++)
            assert_int_equal(p->items[i].visits[v].unit, i % 2);
    }
}

// In the middle of its third block, of which it has at least as many to confirm.
TEST(a_lost_units_series_go_on_with_the_others)
{
    struct played *p = *state;
    fake_bench_write(&p->fake, "breaks", "1 3");
    played_all(p, mixed);
    for (size_t i = 0; i < SERIES; i++) {
        const struct duet *d = &p->items[i];
        played_whole(d, is_slower(d) ? VERDICT_SLOWER : VERDICT_SAME);
        assert_in_order(d);
    }
    assert_int_equal(lost_units.count, 1);
    assert_int_equal(lost_units.unit, 1);
    assert_non_null(strstr(lost_units.why, "was lost"));
}

TEST(what_only_a_lost_unit_could_play_is_not_measured)
{
    struct played *p = *state;
    fake_bench_write(&p->fake, "breaks", "1 1");
    p->items[0] = (struct duet){.kernel = "good-1",
                                .problem = &fake_problem,
                                .base = "/x/base.so",
                                .head = "/x/head.so",
                                .seed = 1,
                                .only = 2};
    p->duets.count = 1;
    played_all(p, (const char *const[]){"", "slower-1", NULL});
    assert_false(p->items[0].judged);
    assert_int_equal(p->items[0].base_samples.count, 0);
    played_whole(&p->items[1], VERDICT_SLOWER);
    assert_int_equal(lost_units.count, 1);
}

TEST(without_any_unit_left_it_fails)
{
    struct played *p = *state;
    struct error err;
    assert_int_equal(played_try(p, (const char *const[]){"good-1", "lost-pairs", NULL}, &err), -1);
    // One of them may not have begun yet.
    assert_true(strstr(err.text, "was lost") || strstr(err.text, "there is no host device"));
}

TEST(kernels_that_crash_are_known_beside_other_units_too)
{
    struct played *p = *state;
    played_all(p, (const char *const[]){"good-1", "crash-pairs", "good-2", "wrong", "slower-1",
                                        "late-wrong", NULL});
    assert_int_equal(p->items[1].outcome.state, MEASURED_CRASHED);
    assert_int_equal(p->items[3].outcome.state, MEASURED_WRONG);
    assert_int_equal(p->items[5].outcome.state, MEASURED_WRONG);
    played_whole(&p->items[0], VERDICT_SAME);
    played_whole(&p->items[2], VERDICT_SAME);
    played_whole(&p->items[4], VERDICT_SLOWER);
    assert_int_equal(lost_units.count, 0);
}

// What the progress line and the wish for controls go by.
TEST(a_duet_knows_what_it_still_needs)
{
    struct gate_stream streams[2] = {{.pairs = 10}, {.pairs = 6}};
    struct duet d = {.place = DUET_OPEN,
                     .wall_s = 5,
                     .play_s = 1.6,
                     .visit_count = 2,
                     .gate = {.policy = {.min_pairs = 8, .processes = 4},
                              .streams = streams,
                              .capacity = 64,
                              .pairs = 16,
                              .processes = 2},
                     .left = {.pairs = 24, .processes = 9}};
    assert_true(isnan(duet_left(&d).seconds)); // it has not played
    d.judged = true;
    struct duet_left left = duet_left(&d);
    assert_true(left.processes == 2);                         // of the policy's four
    assert_true(fabs(left.least_s - 2 * 0.1) < 1e-9);         // min_pairs in this process
    assert_true(fabs(left.seconds - (2.4 + 2 * 1.7)) < 1e-9); // pairs, and opening twice
    d.gate.capacity = 20;
    assert_true(fabs(duet_left(&d).seconds - (0.4 + 2 * 1.7)) < 1e-9); // there is room for four
    d.place = DUET_ASIDE;
    assert_true(duet_left(&d).processes == 9 && duet_left(&d).least_s == 0);
    d.place = DUET_OVER;
    left = duet_left(&d);
    assert_true(left.seconds == 0 && left.least_s == 0 && left.processes == 0);
}
