// SPDX-License-Identifier: Apache-2.0
//
// The past of a series has one answer: whether it is kept or not, and in the report of a run.
#include "ci/history/load.h"
#include "tests/helpers/helper_grown.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <sched.h>
#include <stdatomic.h>
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

AROUND_ALL(set_up, tear_down);

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
TEST(kept_or_not_the_answer_is_one)
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
TEST(reports_mark_the_changes_that_are_kept)
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

// ---- threads ----

enum { LOADED = 6 };

static void load_many(struct history_set *set, struct store *from)
{
    const struct history_wanted wanted = {0};
    ok(history_load(set, from, &wanted, NULL, &err));
    assert_int_equal(set->count, GROWN_SERIES);
}

// On one processor one thread does all.
TEST(more_threads_say_what_one_says)
{
    struct grown walks[GROWN_SERIES] = {{0}};
    struct history_set several, alone;
    struct store *many = scratch_store(scratch_in("many.db"), STORE_WRITE);
    uint64_t seed = 7;
    cpu_set_t all, one;
    ok(store_begin_batch(many, &err));
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s] = (struct grown){.log_level = 10 + 0.01 * s, .predicted_ns = 2e4};
    for (unsigned c = 0; c < LOADED; c++)
        grown_save(many, walks, c, &seed);
    struct store *beside;
    assert_int_equal(store_open_beside(&beside, many, &err), -1); // it would not see the batch
    ok(store_commit_batch(many, &err));
    load_many(&several, many);
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE; cpu-- > 0 && CPU_COUNT(&one) == 0;) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(together_threads(GROWN_SERIES, 1), 1);
    load_many(&alone, many);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
    for (size_t i = 0; i < several.count; i++) {
        const struct series_history *a = &several.series[i], *b = &alone.series[i];
        assert_int_equal(a->series->key, b->series->key);
        assert_int_equal(a->newest.measurement, b->newest.measurement);
        assert_memory_equal(a->recent, b->recent, sizeof(a->recent));
        assert_true(a->sigma == b->sigma && a->level == b->level);
    }
    history_free(&several);
    history_free(&alone);
    store_close(many);
}

// ---- what is not measured again ----

static struct judgement judgement_of(struct store *from, struct arena *arena)
{
    struct result r;
    struct judgement found;
    grown_result(&r, 0, &(struct grown){.predicted_ns = 1}, NULL);
    const struct series series = {r.kernel, &r.problem, "GPU-0"};
    ok(store_load_judgement(&found, from, &series, arena, &err));
    return found;
}

// Most results of most runs are reused: the past of their series has nothing that it had not.
TEST(a_reused_result_leaves_its_series_judged)
{
    struct grown walks[GROWN_SERIES] = {{0}};
    struct store *many = scratch_store(scratch_in("reused.db"), STORE_WRITE);
    const struct history_wanted wanted = {.keeps = true};
    struct history_set set;
    struct arena arena = {0};
    uint64_t seed = 7;
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s] = (struct grown){.log_level = 10, .predicted_ns = 2e4, .pinned = true};
    grown_save(many, walks, 0, &seed);
    ok(history_load(&set, many, &wanted, NULL, &err));
    history_free(&set);
    const struct judgement before = judgement_of(many, &arena);
    assert_false(before.changed);
    for (unsigned s = 0; s < GROWN_SERIES; s++)
        walks[s].reused = true;
    grown_save(many, walks, 1, &seed);
    const struct judgement reused = judgement_of(many, &arena);
    assert_false(reused.changed);
    assert_int_equal(reused.marks, before.marks);
    walks[0].reused = false;
    grown_save(many, walks, 2, &seed);
    assert_true(judgement_of(many, &arena).changed);
    arena_free(&arena);
    store_close(many);
}

struct counting {
    atomic_size_t *next;
    atomic_int *done; // of each job
};

static void count(void *context)
{
    struct counting *c = context;
    size_t i;
    while ((i = atomic_fetch_add(c->next, 1)) < 1000)
        atomic_fetch_add(&c->done[i], 1);
}

TEST(every_job_is_done_once)
{
    atomic_int done[1000] = {0};
    atomic_size_t next = 0;
    struct counting counting = {&next, done};
    void *contexts[TOGETHER_MOST];
    for (size_t i = 0; i < TOGETHER_MOST; i++)
        contexts[i] = &counting;
    together(count, contexts, TOGETHER_MOST);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(atomic_load(&done[i]), 1);
    assert_int_equal(together_threads(15, 16), 1);
    assert_true(together_threads(1000, 1) <= TOGETHER_MOST);
}
