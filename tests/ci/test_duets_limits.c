// SPDX-License-Identifier: Apache-2.0
//
// Pairs under a hard limit (heat, a power brake): they are waited out, do not count, and end with
// the gate's time.
#include "tests/helpers/helper_played.h"
#include "tests/helpers/test.h"

static double rested_s, longest_s;
static size_t rests;

static void rest(void *context, const struct duet *duet, double seconds)
{
    rested_s += seconds;
    longest_s = seconds > longest_s ? seconds : longest_s;
    rests++;
}

static double clock_of(void *context)
{
    const struct played *p = context;
    double sum_s = rested_s;
    for (size_t i = 0; i < p->duets.count; i++)
        sum_s += 0.01 * (double)p->items[i].base_samples.count;
    return sum_s;
}

static void play(struct played *p, const char *kernel, double seconds)
{
    rested_s = longest_s = 0;
    rests = 0;
    p->duets.now = clock_of;
    p->duets.deadline_s = seconds;
    p->duets.rest = rest;
    played_all(p, (const char *const[]){kernel, NULL});
}

static size_t excluded(const struct duet *d)
{
    size_t count = 0;
    for (size_t i = 0; i < d->base_samples.count; i++)
        count += d->base_samples.items[i].excluded;
    return count;
}

AROUND_EACH(played_set_up, played_tear_down);

// The head is held back by half in 40 pairs: what counts are the others, and they are the same.
TEST(a_device_that_cools_down_is_waited_for)
{
    struct played *p = *state;
    play(p, "hot-40", 600);
    const struct duet *d = &p->items[0];
    assert_int_equal(d->decision.kind, VERDICT_SAME);
    assert_int_equal(excluded(d), 40);
    assert_int_equal(d->gate.pairs, d->base_samples.count - 40);
    assert_true(rests >= 2 && rested_s >= 3 && longest_s <= 16);
}

// What is measured until then is no verdict, and no time of it is known.
TEST(a_device_that_stays_limited_ends_with_the_time)
{
    struct played *p = *state;
    play(p, "brake-1", 50);
    const struct duet *d = &p->items[0];
    assert_int_equal(d->gate.pairs, 0);
    assert_int_equal(excluded(d), d->base_samples.count);
    assert_true(clock_of(p) >= 49 && clock_of(p) < 52);
    assert_true(longest_s > 8 && longest_s <= 16);
}

TEST(without_an_end_it_rests_a_minute)
{
    struct played *p = *state;
    play(p, "brake-1", 0);
    assert_int_equal(p->items[0].gate.pairs, 0);
    assert_true(rested_s >= 60 && rested_s < 90);
}

// The software's power cap is no limit of this kind.
TEST(a_power_cap_is_no_reason_to_rest)
{
    struct played *p = *state;
    play(p, "slower", 600);
    assert_int_equal(rests, 0);
    assert_int_equal(p->items[0].decision.kind, VERDICT_SLOWER);
}
