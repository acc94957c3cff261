// SPDX-License-Identifier: Apache-2.0
//
// The past of stored series: what is found in it, whose it was, and what bad input does to it.
#include "ci/history/load.h"
#include "tests/helpers/helper_history.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct error err;

// The past of every series, attributed together.
static struct series_history *look(struct store *store, const struct epoch_list *epochs)
{
    size_t count;
    struct series_entry *entries;
    struct control_shifts around;
    struct history_options options = history_defaults;
    const struct history_query all_points = {0};
    options.epochs = epochs;
    assert_int_equal(store_list_series(&entries, &count, store, &scratch.arena, &err), 0);
    assert_int_equal(history_common_mode(&around, store, entries, count, "GPU-1", &all_points,
                                         &scratch.arena, &err),
                     0);
    assert_int_equal(count, KERNELS);
    struct series_history *all = arena_alloc(&scratch.arena, count * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        struct history_kept kept = {0};
        assert_int_equal(history_kept_judge(&all[i], &kept, store, &entries[i], &around, &options,
                                            INT64_MAX, &scratch.arena, &scratch.arena, &err),
                         0);
    }
    history_attribute(all, count);
    return all;
}

static const struct series_history *kernel_of(const struct series_history *all)
{
    for (size_t i = 0; i < KERNELS; i++) {
        if (strcmp(all[i].series->kernel, "kernel") == 0)
            return &all[i];
    }
    fail_msg("no series of kernel");
    return NULL;
}

static const struct series_history *kernel_in(const char *name, const struct scene *scene)
{
    struct store *store = scene_store(name, scene);
    const struct series_history *s = kernel_of(look(store, NULL));
    store_close(store);
    return s;
}

static void expect_step(const struct series_history *s, const char *commit, double size)
{
    assert_int_equal(s->change_count, 1);
    const struct history_change *c = &s->changes[0];
    assert_true(strcmp(c->earliest.id, commit) <= 0 && strcmp(commit, c->latest.id) <= 0);
    assert_true(fabs(c->change.size.value - size) < 0.004);
    assert_true(c->change.size.low < size && size < c->change.size.high);
    assert_true(c->change.evidence > 7);
}

static const char *step_id = "aaaa000000000000000000000000000000000040";

AROUND_ALL(scratch_set_up, scratch_tear_down);

TEST(step_of_a_kernel_is_its_own)
{
    const struct series_history *s = kernel_in("step.db", &(struct scene){.step = 0.03});
    expect_step(s, step_id, 0.03);
    assert_true(s->against_model && s->common_mode && s->creep.moved);
    assert_true(fabs(s->creep.size.value - 0.03) < 0.005);
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_KERNEL);
    assert_string_equal(s->changes[0].at.id, step_id);
    // Commits are numbered at the end of their ids.
    const long first = strtol(s->changes[0].earliest.id + 4, NULL, 10);
    assert_int_equal(s->changes[0].commits,
                     strtol(s->changes[0].latest.id + 4, NULL, 10) - first + 1);
}

TEST(what_the_controls_show_is_taken_off)
{
    const struct scene scene = {.common = 0.05};
    assert_int_equal(kernel_in("common.db", &scene)->change_count, 0);
    const struct scene both = {.common = 0.05, .step = -0.03};
    expect_step(kernel_in("both.db", &both), step_id, -0.03);
}

// All series of a store, devices included; the caller frees and closes.
static struct series_history *with_devices(struct history_set *set, const char *name,
                                           const struct scene *scene, const char *uuid)
{
    struct store *store = scene_store(name, scene);
    const struct history_wanted all = {0};
    assert_int_equal(history_load(set, store, &all, NULL, &err), 0);
    store_close(store);
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->series[i].series->kernel, "kernel") == 0 &&
            strcmp(set->series[i].series->device_uuid, uuid) == 0)
            return &set->series[i];
    }
    fail_msg("no series of kernel on %s", uuid);
    return NULL;
}

TEST(card_that_took_anothers_place_is_a_break)
{
    struct history_set set;
    const struct scene scene = {.common = 0.02, .step = 0.01, .card = "GPU-2", .driver = true};
    const struct series_history *s = with_devices(&set, "card.db", &scene, "GPU-2");
    assert_int_equal(s->stored.count, COMMITS - STEP);
    assert_int_equal(s->change_count, 0);
    assert_int_equal(s->break_count, 1);
    assert_true(s->breaks[0].device && s->breaks[0].index == 0);
    assert_string_equal(s->breaks[0].what, "device H GPU-1 -> GPU-2, driver 570.1 -> 580.2");
    assert_string_equal(s->breaks[0].at.id, step_id);
    assert_true(fabs(s->breaks[0].size.value - 0.03) < 0.004); // in time: the controls moved too
    assert_true(s->breaks[0].size.low < 0.03 && 0.03 < s->breaks[0].size.high &&
                s->breaks[0].size.low > 0.02);
    assert_null(s->replaced_by);
    for (size_t i = 0; i < set.count; i++) {
        if (strcmp(set.series[i].series->device_uuid, "GPU-1") == 0)
            assert_string_equal(set.series[i].replaced_by, "GPU-2");
    }
    history_free(&set);
}

// A step on the old card a few commits before its end is not the new card's.
TEST(what_the_old_card_did_before_is_not_the_new_ones)
{
    struct history_set set;
    struct store *store = scratch_store(scratch_in("late.db"), STORE_WRITE);
    const struct scene late = {.step = 0.05}, swapped = {.step = 0.05, .card = "GPU-2"};
    const struct history_wanted all = {0};
    scene_save(store, &late, 0, STEP + 8, 7);
    scene_save(store, &swapped, STEP + 8, COMMITS, 8);
    assert_int_equal(history_load(&set, store, &all, NULL, &err), 0);
    store_close(store);
    size_t found = 0;
    for (size_t i = 0; i < set.count; i++) {
        const struct series_history *s = &set.series[i];
        if (strcmp(s->series->device_uuid, "GPU-2") != 0)
            continue;
        assert_int_equal(s->break_count, 1);
        assert_true(fabs(s->breaks[0].size.value) < 0.004 && s->breaks[0].size.low < 0);
        found++;
    }
    assert_int_equal(found, KERNELS);
    history_free(&set);
}

// Two cards that take turns, and another model, are series of their own.
TEST(cards_that_take_turns_replace_nobody)
{
    struct history_set set;
    const struct scene turns = {.card = "GPU-2", .turns = true};
    const struct series_history *s = with_devices(&set, "turns.db", &turns, "GPU-2");
    assert_int_equal(s->break_count, 0);
    assert_null(s->replaced_by);
    history_free(&set);
    const struct scene other = {.card = "GPU-2", .model = "H2"};
    s = with_devices(&set, "other.db", &other, "GPU-2");
    assert_int_equal(s->break_count, 0);
    history_free(&set);
}

// One left, and two came after it, the second while the first was at work.
TEST(only_the_first_that_came_took_the_place)
{
    struct history_set set;
    struct store *store = scratch_store(scratch_in("two.db"), STORE_WRITE);
    const struct scene first = {0}, second = {.card = "GPU-2"}, third = {.card = "GPU-3"};
    const struct history_wanted all = {0};
    scene_save(store, &first, 0, STEP, 7);
    scene_save(store, &second, STEP, COMMITS - 6, 8);
    scene_save(store, &third, COMMITS - 12, COMMITS, 9);
    assert_int_equal(history_load(&set, store, &all, NULL, &err), 0);
    store_close(store);
    for (size_t i = 0; i < set.count; i++) {
        const struct series_history *s = &set.series[i];
        const bool second_one = strcmp(s->series->device_uuid, "GPU-2") == 0;
        assert_int_equal(s->break_count, second_one);
        if (strcmp(s->series->device_uuid, "GPU-1") == 0)
            assert_string_equal(s->replaced_by, "GPU-2");
        else
            assert_null(s->replaced_by);
    }
    assert_int_equal(set.count, 3 * KERNELS);
    history_free(&set);
}

// Without controls nothing is taken off; but six kernels do not change at one commit by themselves.
TEST(a_step_of_all_kernels_is_the_devices)
{
    const struct scene scene = {.common = 0.05, .no_controls = true};
    const struct series_history *s = kernel_in("all.db", &scene);
    expect_step(s, step_id, 0.05);
    assert_false(s->common_mode);
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_ENVIRONMENT);
}

TEST(steps_at_a_new_driver_are_the_drivers)
{
    const struct series_history *s =
        kernel_in("driver.db", &(struct scene){.step = 0.03, .driver = true});
    expect_step(s, step_id, 0.03);
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_BREAK);
    assert_string_equal(s->changes[0].what, "driver 570.1 -> 580.2");
    assert_int_equal(s->break_count, 1);
    assert_int_equal(s->breaks[0].index, STEP);
}

TEST(step_at_a_new_version_of_the_model_is_the_models)
{
    const struct scene scene = {.remodel = true, .keep_code = true};
    const struct series_history *s = kernel_in("model.db", &scene);
    expect_step(s, step_id, log(1.2 / 1.25));
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_MODEL);
    assert_true(s->changes[0].model_changed && !s->changes[0].code_changed);
    assert_string_equal(s->changes[0].what, "model sol 1 -> sol 2");
}

TEST(the_same_code_cannot_be_the_cause)
{
    const struct series_history *s =
        kernel_in("code.db", &(struct scene){.step = 0.03, .keep_code = true});
    assert_int_equal(s->changes[0].attribution, ATTRIBUTION_ENVIRONMENT);
}

TEST(gaps_and_repeated_measurements_hide_no_step)
{
    const struct scene gaps = {.step = 0.03, .gaps = true};
    const struct series_history *s = kernel_in("gaps.db", &gaps); // 40 % 3 == 1: it is not measured
    assert_int_equal(s->change_count, 1);
    assert_string_equal(s->changes[0].at.id, "aaaa000000000000000000000000000000000041");
    const struct scene repeated = {.step = 0.03, .repeat = 2};
    s = kernel_in("repeated.db", &repeated);
    assert_int_equal(s->stored.count, 3 * COMMITS);
    expect_step(s, step_id, 0.03);
    assert_true(s->changes[0].commits <= 2); // commits, not measurements
}

static int64_t no_clock(int commit)
{
    (void)commit;
    return 1700000000;
}

static int64_t clock_that_goes_back(int commit)
{
    return 1700000000 + 3600 * (int64_t)commit - (commit % 10 == 5 ? 3 * 3600 : 0);
}

TEST(clocks_that_stand_or_go_back_hide_no_step)
{
    expect_step(kernel_in("stand.db", &(struct scene){.step = 0.03, .time = no_clock}), step_id,
                0.03);
    const struct series_history *s =
        kernel_in("back.db", &(struct scene){.step = 0.03, .time = clock_that_goes_back});
    expect_step(s, step_id, 0.03);
    assert_string_equal(s->changes[0].at.id, step_id);
}

// Hours before its parent by the clock, but after it in the history.
TEST(history_follows_ancestry_not_clocks)
{
    const struct series_history *s = kernel_in(
        "parents.db", &(struct scene){.step = 0.03, .time = clock_that_goes_back, .parents = true});
    assert_int_equal(s->stored.count, COMMITS);
    for (int i = 1; i < COMMITS; i++)
        assert_true(strcmp(s->stored.points[i - 1].commit, s->stored.points[i].commit) < 0);
    assert_string_equal(s->changes[0].at.id, step_id);
}

// A run reads the history up to its head's place: the clock of commit 45 is hours before those of
// its parents, which are its past all the same.
TEST(the_past_of_a_commit_is_its_ancestors)
{
    const struct scene scene = {.step = 0.03, .time = clock_that_goes_back, .parents = true};
    struct store *store = scene_store("until.db", &scene);
    const struct series_history *s = kernel_of(look(store, NULL));
    const struct series series = {s->series->kernel, &s->series->problem, s->series->device_uuid};
    const struct history_query query = {.until = s->stored.points[45].commit};
    struct stored_points stored;
    assert_int_equal(store_points(&stored, store, &series, &query, &scratch.arena, &err), 0);
    assert_int_equal(stored.count, 46);
    const struct history_query unknown = {.until = "ffff"};
    assert_int_equal(store_points(&stored, store, &series, &unknown, &scratch.arena, &err), 0);
    assert_int_equal(stored.count, COMMITS);
    store_close(store);
}

TEST(rewritten_history_counts_as_measured_again)
{
    const struct scene scene = {.step = 0.03}, rewritten = {.step = 0.03, .ids = "bbbb"};
    struct store *store = scene_store("rewritten.db", &scene);
    scene_save(store, &rewritten, 30, COMMITS, 9); // the newest half under other ids, same times
    const struct series_history *s = kernel_of(look(store, NULL));
    store_close(store);
    assert_int_equal(s->stored.count, COMMITS + 30);
    assert_int_equal(s->change_count, 1);
    assert_string_equal(s->changes[0].at.id + 4, step_id + 4);
}

// Where a series is now is told of other points than where it began.
TEST(few_points_are_not_held_against_themselves)
{
    double values[] = {0, 1.5, 1.5, 1.5, 0, 0, 0, 0, 0.02, 0.02, 0.02, 0.02};
    struct series_history three = {.values = values, .stored = {.count = 3}, .sigma = 0.001};
    struct series_history eight = {.values = values + 4, .stored = {.count = 8}, .sigma = 0.001};
    history_accepted(&three);
    history_recent(&three, three.values, 0, 3, &history_defaults);
    assert_false(isfinite(three.creep.size.low));
    history_accepted(&eight);
    history_recent(&eight, eight.values, 0, 8, &history_defaults);
    assert_true(fabs(eight.level) < 1e-9 && fabs(eight.creep.size.value - 0.02) < 1e-9);
    assert_true(eight.creep.moved);
}

TEST(accepted_step_is_no_creep)
{
    struct epoch epoch = {.series = "kernel * *", .reason = "meant", .who = "A", .level = 0.03};
    struct epoch_list epochs = {.epochs = &epoch, .count = 1};
    text_copy(epoch.commit, sizeof(epoch.commit), step_id);
    struct store *store = scene_store("epoch.db", &(struct scene){.step = 0.03});
    const struct series_history *s = kernel_of(look(store, &epochs));
    store_close(store);
    assert_ptr_equal(s->epoch, &epoch);
    assert_int_equal(s->since, STEP);
    assert_false(s->creep.moved);
    assert_true(fabs(s->creep.size.value) < 0.005);
    assert_int_equal(s->change_count, 1); // it stays a change
}

// Accepted at a commit that no run is of: from that time on.
TEST(epoch_of_a_commit_that_was_not_measured_begins_when_it_was_accepted)
{
    struct epoch epoch = {.series = "kernel * *", .reason = "meant", .who = "A", .level = 0.03};
    struct epoch_list epochs = {.epochs = &epoch, .count = 1};
    text_copy(epoch.commit, sizeof(epoch.commit), "0123456789abcdef");
    epoch.when_s = 1700000000 + 3600 * STEP - 60;
    struct store *store = scene_store("unmeasured.db", &(struct scene){.step = 0.03});
    const struct series_history *s = kernel_of(look(store, &epochs));
    assert_int_equal(s->since, STEP);
    assert_true(s->since_known && !s->creep.moved);
    // A file says the day, on which others came before.
    epoch.when_s -= epoch.when_s % EPOCH_DAY_S;
    assert_true(epoch.when_s < 1700000000 + 3600 * (STEP - 1));
    assert_int_equal(kernel_of(look(store, &epochs))->since, STEP);
    epoch.when_s += 3600 * COMMITS;
    assert_false(kernel_of(look(store, &epochs))->since_known); // still to come
    store_close(store);
}

TEST(reading_while_another_writes_gives_whole_runs)
{
    const struct scene scene = {.step = 0.03};
    struct store *writer = scene_store("shared.db", &scene);
    struct store *reader = scratch_store(scratch_in("shared.db"), STORE_READ);
    assert_int_equal(store_begin_batch(writer, &err), 0);
    scene_save(writer, &scene, COMMITS, COMMITS + 1, 3);
    assert_int_equal(kernel_of(look(reader, NULL))->stored.count, COMMITS);
    assert_int_equal(store_commit_batch(writer, &err), 0);
    assert_int_equal(kernel_of(look(reader, NULL))->stored.count, COMMITS + 1);
    store_close(reader);
    store_close(writer);
}
