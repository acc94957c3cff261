// SPDX-License-Identifier: Apache-2.0
//
// Events of stored histories: what has one cause is one event, and what was reported stays.
#include "baselines/statement.h"
#include "baselines/store.h"
#include "ci/history/events.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error err;
static struct history_set set;
static struct events events;

static int tear_down(void **state)
{
    history_free(&set);
    return scratch_tear_down(state);
}

AROUND_ALL(scratch_set_up, tear_down);

// The events of all series; now_s 0: nothing is kept.
static void look(struct store *store, int64_t now_s, const char *epochs)
{
    const struct history_wanted wanted = {.keeps = now_s != 0};
    const struct events_asked asked = {.now_s = now_s};
    history_free(&set);
    assert_int_equal(history_load(&set, store, &wanted, epochs, &err), 0);
    assert_int_equal(events_load(&events, &set, store, &asked, &scratch.arena, &err), 0);
}

static const struct event *only(void)
{
    assert_int_equal(events.list.count, 1);
    return &events.list.events[0];
}

static void look_at(const char *name, const struct scene *scene)
{
    struct store *store = scene_store(name, scene);
    look(store, 0, NULL);
    store_close(store);
}

TEST(a_machine_wide_shift_is_one_event_of_the_environment)
{
    look_at("shift.db", &(struct scene){.common = 0.02, .keep_code = true});
    const struct event *e = only();
    assert_int_equal(e->cause, ATTRIBUTION_ENVIRONMENT);
    assert_int_equal(e->count, KERNELS);
    assert_int_equal(e->state, EVENT_CONFIRMED);
    assert_true(fabs(event_largest(e)->size.value - 0.02) < 0.004);
    assert_non_null(strstr(e->what, "its controls moved by +"));
    assert_non_null(strstr(e->name, "-environment"));
}

TEST(it_is_one_without_controls_too)
{
    look_at("bare.db", &(struct scene){.common = 0.02, .keep_code = true, .no_controls = true});
    assert_int_equal(only()->cause, ATTRIBUTION_ENVIRONMENT);
    assert_int_equal(only()->count, KERNELS);
}

TEST(a_new_driver_that_moves_everything_is_named)
{
    look_at("driver.db", &(struct scene){.common = 0.02, .keep_code = true, .driver = true});
    assert_int_equal(only()->cause, ATTRIBUTION_BREAK);
    assert_string_equal(only()->what, "driver 570.1 -> 580.2");
    assert_int_equal(only()->count, KERNELS);
}

TEST(a_kernels_step_is_its_commits)
{
    char id[OBJECT_ID_TEXT];
    snprintf(id, sizeof(id), "aaaa%036d", STEP);
    look_at("step.db", &(struct scene){.step = 0.03, .parents = true});
    assert_int_equal(only()->cause, ATTRIBUTION_KERNEL);
    assert_int_equal(only()->count, 1);
    assert_in_range(only()->culprit_count, 1, 3); // as far as absolute times can tell
    assert_string_equal(only()->commits[0].id, id);
}

TEST(a_quiet_history_has_no_event)
{
    look_at("quiet.db", &(struct scene){.keep_code = true});
    assert_int_equal(events.list.count, 0);
}

// ---- links ----

static void save_link(struct store *store, const char *kernel, int number, int commit, double size,
                      double evidence)
{
    struct problem problem = {
        .m = 64, .n = 64, .k = 64, .in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    const struct series series = {kernel, &problem, "GPU-1"};
    struct link l = {.tool_version = "1",
                     .made_s = 1700000000 + number,
                     .back = 1,
                     .kind = size > 0   ? VERDICT_SLOWER
                             : size < 0 ? VERDICT_FASTER
                                        : VERDICT_SAME,
                     .log_ratio = size,
                     .error = 0.0005,
                     .log_evidence = evidence,
                     .pairs = 64,
                     .processes = 2};
    snprintf(l.uid, sizeof(l.uid), "%032x", number);
    snprintf(l.base_code, sizeof(l.base_code), "%s%036d", "ba5e", commit);
    snprintf(l.head_code, sizeof(l.head_code), "%s%036d", "ba5e", commit + 1);
    l.base = l.head = (struct commit){.summary = "", .author = "", .time_s = 1700000000};
    snprintf(l.base.id, sizeof(l.base.id), "aaaa%036d", commit - 1);
    snprintf(l.head.id, sizeof(l.head.id), "aaaa%036d", commit);
    assert_int_equal(store_save_link(store, &series, &l, &err), 0);
}

static int64_t one_second(int commit)
{
    (void)commit;
    return 1700000000;
}

TEST(five_commits_of_one_second_are_five_events)
{
    const struct scene scene = {.keep_code = true, .time = one_second, .parents = true};
    struct store *store = scene_store("second.db", &scene);
    for (int i = 1; i <= 5; i++) {
        char kernel[32];
        snprintf(kernel, sizeof(kernel), "control-%d", i);
        save_link(store, kernel, i, 10 + i, 0.02, 30);
    }
    look(store, 0, NULL);
    store_close(store);
    assert_int_equal(events.list.count, 5);
    for (int i = 0; i < 5; i++) {
        const struct event *e = &events.list.events[i];
        char id[OBJECT_ID_TEXT], name[16] = "aaaa000000"; // all begin so
        snprintf(id, sizeof(id), "aaaa%036d", 15 - i);
        if (i > 0)
            snprintf(name, sizeof(name), "aaaa000000-%d", i + 1);
        assert_string_equal(e->name, name);
        assert_int_equal(e->cause, ATTRIBUTION_KERNEL);
        assert_int_equal(e->culprit_count, 1);
        assert_string_equal(e->commits[0].id, id);
    }
}

// As builds of a rebased branch are kept, several at once and the newest first.
TEST(children_that_came_first_stand_behind_their_parents)
{
    const struct scene scene = {.keep_code = true, .time = one_second, .parents = true};
    struct store *store = scratch_store(scratch_in("first.db"), STORE_WRITE);
    struct commit *commits;
    size_t count;
    for (int c = COMMITS; c-- > 0;)
        scene_save(store, &scene, c, c + 1, 7);
    assert_int_equal(store_commits(&commits, &count, store, &scratch.arena, &err), 0);
    assert_int_equal(count, COMMITS);
    for (size_t i = 1; i < count; i++)
        assert_string_equal(commits[i].parent, commits[i - 1].id);
    store_close(store);
}

TEST(one_commit_is_one_event_and_a_later_one_that_undoes_it_fixes_it)
{
    struct store *store =
        scene_store("fixed.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 1, 10, 0.05, 30);
    save_link(store, "control-2", 2, 10, 0.03, 30);
    look(store, 0, NULL);
    assert_int_equal(only()->count, 2);
    assert_int_equal(only()->state, EVENT_CONFIRMED);
    save_link(store, "control-1", 3, 20, -0.05, 30);
    look(store, 0, NULL);
    assert_int_equal(events.list.events[1].state, EVENT_CONFIRMED); // one of two is not back yet
    save_link(store, "control-2", 4, 21, -0.03, 30);
    look(store, 0, NULL);
    store_close(store);
    assert_int_equal(events.list.count, 3);
    assert_int_equal(events.list.events[2].state, EVENT_FIXED);
}

TEST(a_look_without_news_writes_nothing_and_one_with_news_does)
{
    struct stored_event *stored;
    size_t count;
    struct store *store =
        scene_store("unwritten.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 1, 10, 0.05, 30);
    save_link(store, "control-2", 2, 10, 0.03, 30);
    look(store, 1700500000, NULL);
    const int written = sqlite3_total_changes(store->db);
    look(store, 1700600000, NULL);
    assert_int_equal(sqlite3_total_changes(store->db), written);
    save_link(store, "control-3", 3, 10, 0.04, 30);
    look(store, 1700700000, NULL);
    assert_int_equal(store_load_events(&stored, &count, store, &scratch.arena, &err), 0);
    store_close(store);
    assert_int_equal(count, 1);
    assert_int_equal(stored[0].change_count, 3);
}

// A link that the gate calls slower is reported at once, but stands only when its interval, with
// what pairs cannot see, is sure. One sure series of the commit confirms its event.
TEST(a_new_event_is_confirmed_by_another_series_and_keeps_its_first_day)
{
    struct store *store =
        scene_store("new.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 60, 10, 0.0035, 40);
    look(store, 1700500000, NULL);
    assert_int_equal(only()->state, EVENT_NEW);
    save_link(store, "control-2", 61, 10, 0.02, 7);
    look(store, 1700600000, NULL);
    assert_int_equal(only()->state, EVENT_CONFIRMED);
    assert_int_equal(only()->entry_count, 2);
    assert_int_equal(only()->entries[0].state, EVENT_NEW);
    assert_int_equal(only()->entries[0].when_s, 1700500000);
    store_close(store);
}

// However many pairs say so: identical kernels in other places are apart by as much.
TEST(what_pairs_cannot_see_confirms_no_event)
{
    struct store *store =
        scene_store("place.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 1, 10, 0.0035, 40);
    save_link(store, "control-2", 2, 20, 0.0200, 40);
    look(store, 0, NULL);
    store_close(store);
    assert_int_equal(events.list.count, 2);
    assert_int_equal(events.list.events[0].state, EVENT_CONFIRMED);
    assert_int_equal(events.list.events[1].state, EVENT_NEW);
}

// ---- what was reported ----

TEST(what_is_found_no_more_is_withdrawn_once_with_day_and_reason)
{
    struct store *store =
        scene_store("withdrawn.db", &(struct scene){.keep_code = true, .parents = true});
    char name[EVENT_NAME_TEXT];
    save_link(store, "control-1", 1, 10, 0.02, 30);
    look(store, 1700500000, NULL);
    memcpy(name, only()->name, sizeof(name));
    save_link(store, "control-1", 2, 10, 0, -3); // measured again: the same
    for (int again = 0; again < 2; again++) {
        look(store, 1700600000 + 86400 * again, NULL);
        assert_string_equal(only()->name, name);
        assert_int_equal(only()->state, EVENT_WITHDRAWN);
        assert_int_equal(only()->entry_count, 2);
        assert_int_equal(only()->entries[1].when_s, 1700600000);
        assert_true(strlen(only()->entries[1].why) > 10);
    }
    store_close(store);
}

TEST(a_name_stays_when_more_series_and_commits_come)
{
    struct store *store =
        scene_store("name.db", &(struct scene){.keep_code = true, .parents = true});
    char name[EVENT_NAME_TEXT];
    save_link(store, "control-1", 1, 10, 0.02, 30);
    look(store, 1700500000, NULL);
    memcpy(name, only()->name, sizeof(name));
    save_link(store, "control-2", 2, 10, 0.04, 30);
    save_link(store, "control-2", 3, 30, 0.04, 30);
    look(store, 1700600000, NULL);
    assert_int_equal(events.list.count, 2);
    assert_string_equal(events.list.events[1].name, name);
    assert_int_equal(events.list.events[1].count, 2);
    assert_ptr_equal(events_named(&events, name, &err), &events.list.events[1]);
    assert_null(events_named(&events, "no-such", &err));
    store_close(store);
}

TEST(a_persons_word_counts_and_both_are_told)
{
    struct store *store =
        scene_store("decided.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 1, 10, 0.02, 30);
    look(store, 1700500000, NULL);
    const char *path = scratch_in("epochs.txt");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "event = %s\nstate = dismissed\nreason = the fan had failed\nwho = A\n"
            "when = 2026-11-21\n",
            only()->name);
    fclose(file);
    look(store, 1700600000, path);
    store_close(store);
    assert_int_equal(only()->state, EVENT_DISMISSED);
    assert_int_equal(only()->entry_count, 2);
    assert_string_equal(only()->entries[1].why, "the fan had failed");
}

static void write_decision(const char *path, const char *state)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file, "event = %s\nstate = %s\nreason = looks\nwho = A <a@b>\nwhen = 2026-11-21\n\n",
            only()->name, state);
    fclose(file);
}

// Who is on an event stands beside it: its state and what counts as open stay as they were.
TEST(who_takes_an_event_changes_nothing_of_it_until_it_is_closed)
{
    struct store *store =
        scene_store("taken.db", &(struct scene){.keep_code = true, .parents = true});
    const char *path = scratch_in("taken.txt");
    save_link(store, "control-1", 1, 10, 0.05, 30);
    look(store, 1700500000, NULL);
    assert_null(only()->taken.who);
    assert_true(event_is_slowdown(only()));
    const size_t entries = only()->entry_count;
    write_decision(path, "taken");
    look(store, 1700600000, path);
    assert_int_equal(only()->state, EVENT_CONFIRMED);
    assert_true(event_is_slowdown(only()));
    assert_int_equal(only()->entry_count, entries);
    assert_string_equal(only()->taken.who, "A <a@b>");
    assert_int_equal(only()->taken.when_s, 1795219200); // 2026-11-21
    write_decision(path, "dismissed");
    write_decision(path, "taken"); // opens nothing again
    look(store, 1700700000, path);
    store_close(store);
    assert_int_equal(only()->state, EVENT_DISMISSED);
    assert_null(only()->taken.who);
}

static void write_epoch(const char *path, const char *series, int commit, const char *reason)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file,
            "series = %s\ncommit = aaaa%036d\nlevel = 0.02\nreason = %s\nwho = A\n"
            "when = 2026-11-21\n\n",
            series, commit, reason);
    fclose(file);
}

static enum event_state state_by(struct store *store, const char *path)
{
    look(store, 1700600000, path);
    return only()->state;
}

// `plumb accept` names series and a commit, no event.
TEST(an_accepted_baseline_accepts_the_events_that_led_to_it)
{
    struct store *store =
        scene_store("accepted.db", &(struct scene){.keep_code = true, .parents = true});
    const char *path = scratch_in("accepted.txt");
    save_link(store, "control-1", 1, 10, 0.05, 30);
    save_link(store, "control-2", 2, 10, 0.03, 30);
    save_link(store, "control-3", 3, 10, -0.03, 30); // nobody need accept that
    look(store, 1700500000, NULL);
    assert_int_equal(only()->state, EVENT_CONFIRMED);
    write_epoch(path, "control-1 * no-such-device", 10, "another device");
    write_epoch(path, "control-* * *", 9, "the commit before");
    assert_int_equal(state_by(store, path), EVENT_CONFIRMED);
    write_epoch(path, "control-1 * *", 12, "wider tiles");
    assert_int_equal(state_by(store, path), EVENT_CONFIRMED); // one of two
    write_epoch(path, "control-2 * *", 10, "and this one");
    write_epoch(path, "control-* * *", 20, "something later");
    assert_int_equal(state_by(store, path), EVENT_ACCEPTED);
    const struct event_entry *last = &only()->entries[only()->entry_count - 1];
    assert_int_equal(only()->entry_count, 2);
    assert_int_equal(last->state, EVENT_ACCEPTED);
    assert_string_equal(last->why, "wider tiles");
    assert_string_equal(last->who, "A");
    assert_int_equal(last->when_s, 1795219200); // 2026-11-21
    // The file alone says so, the store does not.
    look(store, 1700700000, NULL);
    assert_int_equal(only()->state, EVENT_CONFIRMED);
    store_close(store);
}

TEST(merged_stores_keep_what_was_reported)
{
    struct store *store =
        scene_store("shard.db", &(struct scene){.keep_code = true, .parents = true});
    save_link(store, "control-1", 1, 10, 0.02, 30);
    look(store, 1700500000, NULL);
    store_close(store);
    struct store *whole = scratch_store(scratch_in("whole.db"), STORE_WRITE);
    for (int again = 0; again < 2; again++)
        assert_int_equal(store_merge(whole, scratch_in("shard.db"), NULL, &err), 0);
    look(whole, 1700600000, NULL);
    store_close(whole);
    assert_int_equal(only()->entry_count, 1);
    assert_int_equal(only()->entries[0].when_s, 1700500000);
}
