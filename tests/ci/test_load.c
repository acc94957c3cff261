// SPDX-License-Identifier: Apache-2.0
//
// The past of a series has one answer: whether it is kept or not, and in the report of a run.
#include "ci/history/load.h"
#include "tests/helpers/helper_scratch.h"
#include "tests/helpers/helper_stepped.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 1300 };

static struct store *store;
static struct error err;

static int set_up(void **state)
{
    scratch_set_up(state);
    store = stepped_store(scratch_in("stepped.db"), 0, POINTS);
    return 0;
}

static int tear_down(void **state)
{
    store_close(store);
    return scratch_tear_down(state);
}

static void ok(int status)
{
    if (status)
        fail_msg("%s", err.text);
}

static void load(struct history_set *set, bool keeps)
{
    const struct history_wanted wanted = {.keeps = keeps};
    ok(history_load(set, store, &wanted, NULL, &err));
    assert_int_equal(set->count, 1);
}

// A store that cannot be written, `history --comparisons` and the site say the same of a series.
static void kept_or_not_the_answer_is_one(void **state)
{
    struct history_set set, fresh;
    load(&set, true);
    load(&fresh, false);
    const struct series_history *a = &set.series[0], *b = &fresh.series[0];
    assert_int_equal(a->change_count, b->change_count);
    for (size_t i = 0; i < a->change_count; i++) {
        assert_memory_equal(&a->changes[i].change, &b->changes[i].change, sizeof(struct change));
        assert_int_equal(a->changes[i].attribution, b->changes[i].attribution);
    }
    assert_int_equal(a->break_count, b->break_count);
    assert_true(a->sigma == b->sigma && a->level == b->level && a->since == b->since);
    assert_true(a->creep.size.value == b->creep.size.value &&
                a->creep.size.low == b->creep.size.low);
    history_free(&set);
    history_free(&fresh);
}

// The report of a run marks the changes that history and the site found, and none of another
// detector's.
static void reports_mark_the_changes_that_are_kept(void **state)
{
    struct history_set set;
    struct arena arena = {0};
    struct report_change *marks;
    struct stored_points stored;
    size_t count;
    load(&set, true);
    const struct series_entry *e = set.series[0].series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    const struct history_query newest = {.limit = 400};
    ok(store_points(&stored, store, &series, &newest, &arena, &err));
    struct history_point *points = arena_alloc(&arena, stored.count * sizeof(*points));
    for (size_t i = 0; i < stored.count; i++)
        memcpy(points[i].commit, stored.points[i].commit, sizeof(points[i].commit));
    const struct history shown = {.points = points, .count = stored.count};
    ok(history_marks(&marks, &count, store, &series, &shown, &arena, &err));
    const struct history_change *last = &set.series[0].changes[set.series[0].change_count - 1];
    assert_int_equal(count, 1); // of three, two lie before the points shown
    assert_string_equal(points[marks[0].index].commit, last->at.id);
    assert_true(marks[0].log_ratio == last->change.size.value);
    struct judgement old = set.judgements[0];
    memcpy(old.maker, "1.1/", 5);
    old.change_count = old.break_count = 0;
    ok(store_save_judgement(store, &series, &old, NULL, 0, &err));
    ok(history_marks(&marks, &count, store, &series, &shown, &arena, &err));
    assert_int_equal(count, 0);
    history_free(&set);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_or_not_the_answer_is_one),
        cmocka_unit_test(reports_mark_the_changes_that_are_kept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
