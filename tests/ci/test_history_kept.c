// SPDX-License-Identifier: Apache-2.0
//
// What is kept of a series' judgement: the same whoever asked for it and when, and never more than
// what it was made of.
#include "ci/history/load.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

static struct error err;

static void ok(int status)
{
    if (status)
        fail_msg("%s", err.text);
}

// Everything judged and kept, as by one run of `plumb site`. The caller frees the set.
static struct judgement judge(struct history_set *set, struct store *store, const char *epochs)
{
    const struct history_wanted wanted = {.keeps = true};
    ok(history_load(set, store, &wanted, epochs, &err));
    assert_int_equal(set->count, 1);
    return set->judgements[0];
}

static struct judgement run(struct store *store)
{
    struct history_set set;
    struct judgement j = judge(&set, store, NULL);
    history_free(&set);
    j.changes = NULL;
    return j;
}

static void same(struct store *a, struct store *b)
{
    struct history_set x, y;
    struct judgement p = judge(&x, a, NULL), q = judge(&y, b, NULL);
    struct arena arena = {0};
    struct chart_point *c, *d;
    size_t m, n;
    assert_int_equal(p.points, q.points);
    assert_int_equal(p.settled, q.settled);
    assert_int_equal(p.change_count, q.change_count);
    for (size_t i = 0; i < p.change_count; i++) {
        assert_memory_equal(&p.changes[i].change, &q.changes[i].change, sizeof(struct change));
        assert_string_equal(p.changes[i].at.id, q.changes[i].at.id);
        assert_int_equal(p.changes[i].commits, q.changes[i].commits);
    }
    assert_int_equal(p.break_count, q.break_count);
    for (size_t i = 0; i < p.break_count; i++)
        assert_true(p.breaks[i].index == q.breaks[i].index &&
                    strcmp(p.breaks[i].what, q.breaks[i].what) == 0 &&
                    strcmp(p.breaks[i].at.id, q.breaks[i].at.id) == 0);
    assert_int_equal(p.since, q.since);
    assert_true(p.level == q.level && p.level_se == q.level_se && p.sigma == q.sigma);
    assert_true(p.creep.size.value == q.creep.size.value && p.creep.size.low == q.creep.size.low);
    assert_int_equal(x.series[0].recent_count, y.series[0].recent_count);
    assert_memory_equal(x.series[0].recent, y.series[0].recent, sizeof(x.series[0].recent));
    ok(history_kept_chart(&c, &m, a, x.series[0].series, NULL, &p, &arena, &err));
    ok(history_kept_chart(&d, &n, b, y.series[0].series, NULL, &q, &arena, &err));
    assert_int_equal(m, n);
    for (size_t i = 0; i < m; i++)
        assert_true(c[i].index == d[i].index && c[i].time_ns == d[i].time_ns &&
                    c[i].half_ns == d[i].half_ns && strcmp(c[i].commit, d[i].commit) == 0);
    arena_free(&arena);
    history_free(&x);
    history_free(&y);
}

// ---- tests ----

AROUND_ALL(scratch_set_up, scratch_tear_down);

TEST(looks_do_not_matter_only_points_do)
{
    static const unsigned looks[] = {0,   5,   419, 425, 700,  749,  750,  751,  800,
                                     899, 905, 906, 960, 1000, 1099, 1101, 1130, 1300};
    struct store *once = stepped_store(scratch_in("once.db"), 0, 1300);
    struct store *often = stepped_store(scratch_in("often.db"), 0, 0);
    for (size_t i = 1; i < ARRAY_COUNT(looks); i++) {
        stepped_commits(often, looks[i - 1], looks[i]);
        (void)run(often);
    }
    same(once, often);
    struct judgement j = run(once);
    assert_int_equal(j.points, 1300);
    assert_true(j.settled > 1000 && j.settled <= 1300 && !j.changed);
    store_close(once);
    store_close(often);
}

TEST(steps_are_found_where_they_are)
{
    static const size_t at[] = {FIRST_STEP, SECOND_STEP, THIRD_STEP};
    struct history_set set;
    struct store *store = scratch_store(scratch_in("often.db"), STORE_WRITE);
    struct judgement j = judge(&set, store, NULL);
    assert_int_equal(j.change_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_in_range(j.changes[i].change.index, at[i] - 1, at[i] + 1);
    assert_true(fabs(j.creep.size.value - 0.015) < 0.005 && j.creep.moved);
    assert_int_equal(j.break_count, 2);
    assert_int_equal(j.breaks[0].index, 300);
    assert_int_equal(j.breaks[1].index, 1050);
    assert_string_equal(j.breaks[1].what, "driver 2 -> 3");
    assert_int_equal(set.series[0].stored.count, 1300);
    history_free(&set);
    store_close(store);
}

TEST(nothing_new_is_not_judged_again)
{
    struct store *store = scratch_store(scratch_in("often.db"), STORE_WRITE);
    struct judgement a = run(store), b = run(store);
    assert_int_equal(a.marks, b.marks);
    assert_int_equal(a.newest_key, b.newest_key);
    stepped_commit(store, 1300, 0);
    struct judgement c = run(store);
    assert_true(c.marks > b.marks && c.points == 1301 && c.newest_key > b.newest_key);
    store_close(store);
}

TEST(a_point_among_the_settled_ones_is_noticed)
{
    struct store *filled = stepped_store(scratch_in("filled.db"), 0, 300),
                 *whole = stepped_store(scratch_in("whole.db"), 0, 1200);
    stepped_commits(filled, 301, 1200);
    assert_int_equal(run(filled).points, 1199);
    stepped_commits(filled, 300, 301); // a gap that is filled
    same(filled, whole);
    assert_int_equal(run(filled).points, 1200);
    stepped_commit(filled, 100, 0.2); // measured twice
    stepped_commit(whole, 100, 0.2);
    same(filled, whole);
    store_close(filled);
    store_close(whole);
}

TEST(times_that_repeat_or_go_back_change_nothing)
{
    stepped_unsteady = true;
    struct store *once = stepped_store(scratch_in("unsteady.db"), 0, 1210);
    struct store *often = stepped_store(scratch_in("unsteady-often.db"), 0, 0);
    for (unsigned i = 0; i < 1210; i += i < 1000 ? 100 : 7) {
        stepped_commits(often, i, i < 1000 ? i + 100 : i + 7);
        (void)run(often);
    }
    stepped_unsteady = false;
    same(once, often);
    store_close(once);
    store_close(often);
}

// Each look sees whole commits, never fewer than the one before, and the last sees all.
TEST(a_look_while_another_process_writes_sees_whole_commits)
{
    enum { BEFORE = 800, MORE = 120 };
    int status;
    store_close(stepped_store(scratch_in("shared.db"), 0, BEFORE));
    pid_t writer = fork();
    if (writer == 0) {
        struct store *own = scratch_store(scratch_in("shared.db"), STORE_WRITE);
        for (unsigned i = BEFORE; i < BEFORE + MORE; i++)
            stepped_commit(own, i, 0);
        store_close(own);
        _exit(0);
    }
    assert_true(writer > 0);
    struct store *store = scratch_store(scratch_in("shared.db"), STORE_WRITE);
    size_t points = 0;
    bool ended = false;
    while (!ended) {
        ended = waitpid(writer, &status, WNOHANG) == writer;
        struct judgement j = run(store);
        assert_true(j.points >= points && j.points <= BEFORE + MORE);
        points = j.points;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(points, BEFORE + MORE);
    struct store *whole = stepped_store(scratch_in("shared-whole.db"), 0, BEFORE + MORE);
    same(store, whole);
    store_close(whole);
    store_close(store);
}

static void write_epoch(const char *path, const char *commit)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "series = kernel * *\ncommit = %s\nlevel = 0.02\nreason = r\nwho = A. Author\n"
            "when = 2023-11-14\n",
            commit);
    assert_int_equal(fclose(file), 0);
}

TEST(an_accepted_change_is_judged_against)
{
    struct history_set set;
    struct store *store = scratch_store(scratch_in("whole.db"), STORE_WRITE);
    assert_true(run(store).creep.size.value > 0.01); // 1.5 % above the beginning
    const char *epochs = scratch_in("epochs.txt");
    write_epoch(epochs, "0000000000000000000000000000000000001150");
    struct judgement j = judge(&set, store, epochs);
    assert_true(fabs(j.creep.size.value) < 0.005);
    assert_in_range(j.since, 1150, 1151); // one commit before it was measured twice
    history_free(&set);
    j = judge(&set, store, epochs);
    assert_true(!j.changed && fabs(j.creep.size.value) < 0.005);
    history_free(&set);
    store_close(store);
}

TEST(merged_and_pruned_points_are_noticed)
{
    struct store *all = stepped_store(scratch_in("all.db"), 0, 1000),
                 *some = stepped_store(scratch_in("some.db"), 0, 900);
    store_close(stepped_store(scratch_in("shard.db"), 900, 1000));
    assert_int_equal(run(some).points, 900);
    ok(store_merge(some, scratch_in("shard.db"), NULL, &err));
    same(some, all);
    struct store_counts removed;
    const struct prune_rule rule = {.before_s = 1700000000 + 60 * 50, .runs = true};
    ok(store_prune(some, &rule, &removed, &err));
    assert_int_equal(run(some).points, 950);
    store_close(all);
    store_close(some);
}

// A run that saves while the site reads: what it brought stays marked.
TEST(what_came_meanwhile_stays_marked)
{
    struct store *store = scratch_store(scratch_in("all.db"), STORE_WRITE);
    const struct problem problem = {.m = 64, .n = 64, .k = 64, .batch = 1};
    const struct series series = {"kernel", &problem, "GPU-0"};
    struct arena arena = {0};
    struct judgement before, after;
    (void)run(store);
    ok(store_load_judgement(&before, store, &series, &arena, &err));
    stepped_commit(store, 1000, 0);
    ok(store_save_judgement(store, &series, &before, NULL, 0, &err)); // it knew nothing of it
    ok(store_load_judgement(&after, store, &series, &arena, &err));
    assert_true(after.changed && after.points == 1000);
    assert_int_equal(run(store).points, 1001);
    arena_free(&arena);
    store_close(store);
}

TEST(what_is_kept_is_checked)
{
    struct arena arena = {0};
    struct judgement j;
    const struct problem problem = {.m = 64, .n = 64, .k = 64, .batch = 1};
    const struct series series = {"kernel", &problem, "GPU-0"};
    store_close(stepped_store(scratch_in("bad.db"), 0, 800));
    struct store *store = scratch_store(scratch_in("bad.db"), STORE_WRITE);
    (void)run(store);
    store_close(store);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(scratch_in("bad.db"), &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE judgement_changes SET latest = 800", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    store = scratch_store(scratch_in("bad.db"), STORE_READ);
    assert_int_equal(store_load_judgement(&j, store, &series, &arena, &err), -1);
    assert_non_null(strstr(err.text, "a judgement that was kept"));
    store_close(store);
    arena_free(&arena);
}

TEST(half_widths_are_of_the_samples)
{
    struct store *store = scratch_store(scratch_in("all.db"), STORE_READ);
    double half;
    int64_t key;
    ok(store_newest_key(&key, store, &err));
    ok(store_half_width(&half, store, key, &err));
    assert_true(half > 0 && half < 0.001 * exp(10.1)); // samples differ by 0.03 %
    ok(store_half_width(&half, store, key + 1, &err));
    assert_true(isnan(half));
    store_close(store);
}

// The settled points alone end high, which is a step; with what came after it is a burst.
TEST(burst_before_the_seam_is_no_step)
{
    enum { COUNT = FIRST_STEP - 1, MOST = 8 };
    struct store *calm = stepped_store(scratch_in("calm.db"), 0, COUNT);
    const size_t settled = run(calm).settled;
    store_close(calm);
    assert_in_range(settled, HISTORY_CONTEXT, COUNT - 10);
    for (size_t length = 2; length <= MOST; length++) {
        char name[16];
        snprintf(name, sizeof(name), "burst%zu.db", length);
        struct store *store = stepped_store(scratch_in(name), 0, (unsigned)(settled - length));
        ok(store_begin_batch(store, &err));
        for (size_t i = settled - length; i < COUNT; i++)
            stepped_commit(store, (unsigned)i, i < settled ? 0.02 : 0);
        ok(store_commit_batch(store, &err));
        struct history_set set;
        struct judgement j = judge(&set, store, NULL);
        double moved = 0;
        for (size_t i = 0; i < j.change_count; i++)
            moved += j.changes[i].change.size.value;
        if (!(fabs(moved) < 0.005))
            fail_msg("%zu high values: the level moved by %g", length, moved);
        history_free(&set);
        store_close(store);
    }
}

TEST(a_judgement_of_another_detector_is_not_believed)
{
    struct store *store = scratch_store(scratch_in("once.db"), STORE_WRITE);
    struct judgement j = run(store);
    assert_true(history_kept_believed(&j));
    j.maker[0] = j.maker[0] == '9' ? '8' : '9'; // the detector's version
    assert_false(history_kept_believed(&j));
    memset(j.maker, 0, sizeof(j.maker)); // it was made before there were versions
    assert_false(history_kept_believed(&j));
    store_close(store);
}

// What was kept is taken again until a point comes, or somebody accepts another state.
TEST(a_kept_judgement_is_found_while_it_holds)
{
    struct store *store = scratch_store(scratch_in("once.db"), STORE_WRITE);
    struct history_options options = history_defaults;
    struct history_set set;
    struct arena arena = {0};
    const struct judgement j = judge(&set, store, NULL);
    struct series_history found_again;
    struct history_kept kept;
    bool found;
    options.keeps = true;
    options.query.places = &set.points;
    ok(history_kept_find(&found_again, &kept, &found, store, set.series[0].series, &options, &arena,
                         &arena, &err));
    assert_true(found && !kept.fresh);
    assert_int_equal(found_again.stored.count, j.points);
    assert_int_equal(found_again.change_count, set.series[0].change_count);
    assert_string_equal(kept.judgement.maker, j.maker);
    struct epoch epoch = {.series = "* * *", .level = 0.1, .reason = "r", .who = "A"};
    const struct epoch_list epochs = {.epochs = &epoch, .count = 1};
    text_copy(epoch.commit, sizeof(epoch.commit), j.changes[0].at.id);
    options.epochs = &epochs;
    ok(history_kept_find(&found_again, &kept, &found, store, set.series[0].series, &options, &arena,
                         &arena, &err));
    assert_false(found);
    options.epochs = NULL;
    stepped_commit(store, (unsigned)j.points + 5, 0);
    ok(history_kept_find(&found_again, &kept, &found, store, set.series[0].series, &options, &arena,
                         &arena, &err));
    assert_false(found);
    arena_free(&arena);
    history_free(&set);
    store_close(store);
}
