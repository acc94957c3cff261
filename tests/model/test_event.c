// SPDX-License-Identifier: Apache-2.0
//
// Changes with one cause are one event, and changes with two are two.
#include "model/history/event.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

AROUND_ALL(NULL, NULL);

static struct event_change change(size_t series, size_t first, size_t last, double size)
{
    return (struct event_change){.series = series,
                                 .first = first,
                                 .last = last,
                                 .at = last,
                                 .size = {size, size, size},
                                 .log_evidence = 20,
                                 .cause = ATTRIBUTION_KERNEL};
}

static struct event_list group(const struct event_change *changes, size_t count)
{
    struct event_list list;
    event_group(&list, changes, count, &arena);
    return list;
}

TEST(changes_of_one_commit_are_one_event_whatever_their_direction)
{
    struct event_change c[] = {change(0, 5, 5, 0.02), change(1, 5, 5, -0.2), change(2, 7, 7, 0.01)};
    c[1].device = 3;
    const struct event_list list = group(c, ARRAY_COUNT(c));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.events[0].first, 7);
    assert_int_equal(list.events[1].count, 2);
    assert_int_equal(list.events[1].culprit_count, 1);
    assert_int_equal(list.events[1].device, SIZE_MAX);
    assert_int_equal(event_largest(&list.events[1])->series, 1);
}

TEST(what_is_known_less_well_joins_what_is_known_and_the_culprits_narrow)
{
    struct event_change c[] = {change(0, 2, 9, 0.02), change(1, 5, 7, 0.03), change(2, 6, 12, 0.1)};
    c[0].at = 4, c[1].at = 6, c[2].at = 7;
    const struct event_list list = group(c, ARRAY_COUNT(c));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.events[0].first, 6);
    assert_int_equal(list.events[0].last, 7);
    assert_int_equal(list.events[0].culprit_count, 2);
    assert_int_equal(list.events[0].culprits[0], 7); // of two equals the newer
    assert_int_equal(list.events[0].culprits[1], 6);
}

// Evidence counts for a commit wherever it lies in the event, at either end too.
TEST(the_commit_with_most_evidence_is_the_first_culprit)
{
    for (size_t end = 0; end < 3; end++) {
        struct event_change c[] = {change(0, 5, 7, 0.02), change(1, 5, 7, 0.02)};
        c[0].at = 5 + end;
        c[0].log_evidence = 90;
        c[1].at = 5 + (end + 1) % 3;
        const struct event_list list = group(c, ARRAY_COUNT(c));
        assert_int_equal(list.count, 1);
        assert_int_equal(list.events[0].culprits[0], 5 + end);
    }
}

TEST(a_wide_change_goes_to_the_event_nearest_to_its_most_likely_commit)
{
    struct event_change c[] = {change(0, 5, 5, 0.02), change(1, 15, 15, 0.02),
                               change(2, 3, 20, 0.02)};
    c[2].at = 14;
    const struct event_list list = group(c, ARRAY_COUNT(c));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.events[0].last, 15);
    assert_int_equal(list.events[0].count, 2);
}

TEST(two_changes_of_one_series_have_two_causes)
{
    struct event_change c[] = {change(0, 3, 6, 0.02), change(0, 5, 8, 0.02)};
    assert_int_equal(group(c, ARRAY_COUNT(c)).count, 2);
}

TEST(a_devices_shift_is_its_own_and_no_commits)
{
    struct event_change c[26];
    for (size_t i = 0; i < 25; i++) {
        c[i] = change(i, 10, 12, 0.02);
        c[i].cause = ATTRIBUTION_ENVIRONMENT;
        c[i].device = 1;
    }
    c[25] = change(30, 11, 11, 0.05); // a commit of that night
    struct event_list list = group(c, ARRAY_COUNT(c));
    assert_int_equal(list.count, 2);
    assert_int_equal(list.events[0].count, 25);
    assert_int_equal(list.events[0].cause, ATTRIBUTION_ENVIRONMENT);
    assert_int_equal(list.events[0].device, 1);
    c[0].device = 2; // another machine's
    assert_int_equal(group(c, ARRAY_COUNT(c)).count, 3);
}

TEST(breaks_are_told_apart_by_what_they_are)
{
    struct event_change c[] = {change(0, 10, 10, 0.02), change(1, 10, 10, 0.02),
                               change(2, 10, 10, 0.02)};
    char driver[] = "driver 570.86 -> 580.65";
    for (size_t i = 0; i < ARRAY_COUNT(c); i++)
        c[i].cause = ATTRIBUTION_BREAK;
    c[0].what = "driver 570.86 -> 580.65";
    c[1].what = driver;
    c[2].what = "runtime 12.9 -> 13.0";
    assert_int_equal(group(c, ARRAY_COUNT(c)).count, 2);
}

static size_t below(struct random *random, size_t limit)
{
    return (size_t)(random_uniform(random) * (double)limit);
}

static bool same_changes(const struct event *x, const struct event *y)
{
    for (size_t i = 0; i < x->count; i++) {
        const struct event_change *a = &x->changes[i], *b = &y->changes[i];
        if (a->series != b->series || a->first != b->first || a->last != b->last ||
            a->size.value != b->size.value)
            return false;
    }
    return true;
}

static bool same_events(const struct event_list *a, const struct event_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct event *x = &a->events[i], *y = &b->events[i];
        same = x->first == y->first && x->last == y->last && x->count == y->count &&
               same_changes(x, y) &&
               memcmp(x->culprits, y->culprits, x->culprit_count * sizeof(*x->culprits)) == 0;
    }
    return same;
}

// Every change is in one event, within its range, and the order of the changes says nothing.
TEST(random_changes_are_grouped_soundly_in_any_order)
{
    struct random random = {20261122};
    for (int round = 0; round < 300; round++) {
        struct event_change c[40];
        const size_t count = 1 + below(&random, 40);
        size_t members = 0;
        memset(c, 0, sizeof(c));
        for (size_t i = 0; i < count; i++) {
            const size_t first = below(&random, 30), wide = below(&random, 6);
            c[i] = change(i, first, first + wide, 0.001 * (double)(1 + i));
            c[i].at = first + below(&random, wide + 1);
            c[i].series = below(&random, 12);
            c[i].device = below(&random, 2);
            c[i].cause = below(&random, 3) ? ATTRIBUTION_KERNEL : ATTRIBUTION_ENVIRONMENT;
        }
        const struct event_list list = group(c, count);
        for (size_t i = 0; i < list.count; i++) {
            const struct event *e = &list.events[i];
            assert_true(e->first <= e->last && e->culprit_count == e->last - e->first + 1);
            for (size_t k = 0; k < e->count; k++)
                assert_true(e->changes[k].first <= e->first && e->last <= e->changes[k].last);
            members += e->count;
        }
        assert_int_equal(members, count);
        for (size_t i = count; i > 1; i--) {
            const size_t k = below(&random, i);
            const struct event_change kept = c[i - 1];
            c[i - 1] = c[k];
            c[k] = kept;
        }
        const struct event_list again = group(c, count);
        assert_true(same_events(&list, &again));
    }
}

TEST(states_have_names_that_are_read_back)
{
    for (int i = 0; i < EVENT_STATES; i++) {
        enum event_state back;
        assert_int_equal(event_state_parse(&back, event_state_name((enum event_state)i)), 0);
        assert_int_equal(back, i);
    }
    enum event_state none;
    assert_int_equal(event_state_parse(&none, "closed"), -1);
}

// ---- Series that move together are put down to what they share.

enum { MEMORY = 5, COMPUTE = 6, ELSEWHERE = 4, ALL = MEMORY + COMPUTE + ELSEWHERE };

// Five memory-bound and six compute-bound series of device 0, four of device 1; none changed.
static void fleet(struct attribution_series *series)
{
    memset(series, 0, ALL * sizeof(*series));
    for (size_t i = 0; i < ALL; i++) {
        series[i].device = i >= MEMORY + COMPUTE;
        series[i].bound = i < MEMORY ? BOUND_MEMORY : BOUND_COMPUTE;
    }
}

static void move(struct attribution_series *series, size_t first, size_t end, double size)
{
    for (size_t i = first; i < end; i++) {
        series[i].changed = true;
        series[i].size = size;
    }
}

static void expect(const struct attribution_series *series, size_t first, size_t end,
                   enum attribution wanted)
{
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(out[i], i >= first && i < end ? wanted : ATTRIBUTION_NONE);
}

TEST(attribution_of_one_series_is_its_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 3, 4, 0.02);
    expect(series, 3, 4, ATTRIBUTION_KERNEL);
    move(series, 7, 8, 0.02); // two that have nothing in common
    series[7].changed = true;
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    assert_int_equal(out[3], ATTRIBUTION_KERNEL);
    assert_int_equal(out[7], ATTRIBUTION_KERNEL);
}

TEST(attribution_of_a_class_is_memory_or_power)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY, 0.02);
    expect(series, 0, MEMORY, ATTRIBUTION_MEMORY);
    fleet(series);
    move(series, MEMORY, MEMORY + COMPUTE, -0.02);
    expect(series, MEMORY, MEMORY + COMPUTE, ATTRIBUTION_POWER);
}

TEST(attribution_of_a_class_that_scatters_is_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, 3, 0.02);
    move(series, 3, MEMORY, -0.02);
    expect(series, 0, MEMORY, ATTRIBUTION_KERNEL);
}

TEST(attribution_of_a_whole_device_is_environment)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY + COMPUTE, 0.02);
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT);
}

// A shared header, a compiler's flag: the commit gave all of them other code. One that kept its
// code and moved with them says that it was the device.
TEST(attribution_of_a_commit_that_changed_all_code_is_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY + COMPUTE, 0.05);
    for (size_t i = 0; i < MEMORY + COMPUTE; i++)
        series[i].code_changed = true;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT); // nobody knows
    for (size_t i = 0; i < MEMORY + COMPUTE; i++)
        series[i].code_known = true;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_KERNEL);
    series[2].code_changed = false;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT);
}

TEST(attribution_of_a_new_model_is_the_model)
{
    struct attribution_series series[ALL];
    fleet(series);
    for (size_t i = 0; i < ALL; i++)
        series[i].model_changed = i % 2 == 0;
    for (size_t i = 0; i < ALL; i += 2)
        move(series, i, i + 1, i % 4 ? 0.03 : -0.01);
    move(series, 1, 2, 0.02); // at the same commit, for its own reasons
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    for (size_t i = 0; i < ALL; i += 2)
        assert_int_equal(out[i], ATTRIBUTION_MODEL);
    assert_int_equal(out[1], ATTRIBUTION_KERNEL);
    series[0].code_changed = true; // a new model excuses no new code
    attribution_find(out, series, ALL);
    assert_int_equal(out[0], ATTRIBUTION_KERNEL);
    assert_int_equal(out[2], ATTRIBUTION_MODEL);
}

// Who is listed first must not matter.
TEST(attribution_ignores_the_order_of_series)
{
    struct attribution_series series[ALL], turned[ALL];
    enum attribution out[ALL], other[ALL];
    fleet(series);
    move(series, 0, MEMORY, 0.02);
    move(series, ALL - 1, ALL, -0.05);
    for (size_t i = 0; i < ALL; i++)
        turned[i] = series[ALL - 1 - i];
    attribution_find(out, series, ALL);
    attribution_find(other, turned, ALL);
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(out[i], other[ALL - 1 - i]);
}
