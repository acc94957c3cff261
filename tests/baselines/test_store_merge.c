// SPDX-License-Identifier: Apache-2.0
//
// Joining shards of many machines, and making a store smaller.
#include "baselines/statement.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <string.h>

static void save_runs(struct store *store, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        struct run run;
        make_run(&run, i % 3 == 2 ? RUN_GATE : RUN_MEASURE, i, 5, i);
        save_whole_run(store, &run);
        run_free(&run);
    }
}

// Runs 0..n-1 are all there, exactly as made.
static void expect_runs(struct store *store, size_t n)
{
    struct arena arena = {0};
    struct run_entry *entries;
    struct error err = {0};
    size_t count;
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, &err), &err);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        struct run made, loaded;
        unsigned number = (unsigned)(n - 1 - i);
        make_run(&made, number % 3 == 2 ? RUN_GATE : RUN_MEASURE, number, 5, number);
        assert_ok(store_load_run(&loaded, store, entries[i].id, &err), &err);
        assert_true(same_run(&made, &loaded));
        run_free(&made);
        run_free(&loaded);
    }
    arena_free(&arena);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(shards_join_to_the_same_as_one_store)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts added;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    save_runs(f->store, 0, 3);
    save_runs(shard, 3, 7);
    const struct device device = {"host", "host-1", "CPU", "6.1", "glibc", "host"};
    struct gpu gpu = {.name = "host"};
    gpu.dram_bytes_s = (struct figure){21.5e9, ORIGIN_CALIBRATED, "measured"};
    assert_ok(store_save_profile(shard, &device, &gpu, &err), &err);
    struct epoch epoch = {"tile-* * *", "abcdef0", 0.03, false, "on purpose", "A. Author", 0};
    assert_ok(store_save_epochs(shard, &(struct epoch_list){.epochs = &epoch, .count = 1}, &err),
              &err);
    store_close(shard);
    assert_ok(store_merge(f->store, f->other_path, &added, &err), &err);
    assert_int_equal(added.runs, 4);
    assert_int_equal(added.measurements, 25); // three plain runs, one gate with two sides
    assert_int_equal(added.epochs, 1);
    expect_runs(f->store, 7);
    struct gpu loaded;
    bool found;
    assert_ok(store_load_profile(&loaded, &found, f->store, "host-1", &f->arena, &err), &err);
    assert_true(found && loaded.dram_bytes_s.value == 21.5e9);
}

TEST(merging_again_changes_nothing)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts added;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    save_runs(shard, 0, 4);
    store_close(shard);
    assert_ok(store_merge(f->store, f->other_path, &added, &err), &err);
    struct store_counts before = sound_counts(f->store);
    for (int i = 0; i < 3; i++) {
        assert_ok(store_merge(f->store, f->other_path, &added, &err), &err);
        const struct store_counts none = {0};
        assert_memory_equal(&added, &none, sizeof(none));
    }
    struct store_counts after = sound_counts(f->store);
    assert_memory_equal(&before, &after, sizeof(before));
    expect_runs(f->store, 4);
}

TEST(order_of_merging_does_not_matter)
{
    struct open_store *f = *state;
    struct error err = {0};
    const char *paths[3];
    for (unsigned i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof(name), "part-%u.db", i);
        paths[i] = scratch_path(&f->arena, f->folder, name);
        struct store *shard = scratch_store(paths[i], STORE_WRITE);
        save_runs(shard, 2 * i, 2 * i + 2);
        store_close(shard);
    }
    for (int i = 0; i < 3; i++)
        assert_ok(store_merge(f->store, paths[i], NULL, &err), &err);
    expect_runs(f->store, 6);
    struct store *reverse = scratch_store(f->other_path, STORE_WRITE);
    for (int i = 2; i >= 0; i--)
        assert_ok(store_merge(reverse, paths[i], NULL, &err), &err);
    expect_runs(reverse, 6);
    struct store_counts a = sound_counts(f->store), b = sound_counts(reverse);
    assert_memory_equal(&a, &b, sizeof(a));
    store_close(reverse);
}

TEST(unfinished_run_is_brought_up_later)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run, loaded;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    make_run(&run, RUN_MEASURE, 1, 4, 9);
    assert_ok(store_begin_run(shard, &run, &err), &err);
    assert_ok(store_save_result(shard, &run, &run.results[0], &err), &err);
    assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    struct store_counts first = sound_counts(f->store);
    assert_int_equal(first.unfinished, 1);
    assert_int_equal(first.measurements, 1);
    for (size_t i = 1; i < 4; i++)
        assert_ok(store_save_result(shard, &run, &run.results[i], &err), &err);
    assert_ok(store_finish_run(shard, &run, &err), &err);
    store_close(shard);
    assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    int64_t id;
    assert_ok(store_last_run(&id, f->store, STORE_ALL_RUNS, &err), &err);
    assert_ok(store_load_run(&loaded, f->store, id, &err), &err);
    assert_true(same_run(&run, &loaded));
    assert_int_equal(sound_counts(f->store).runs, 1);
    run_free(&run);
    run_free(&loaded);
}

TEST(reused_measurement_keeps_its_origin)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run first, second, loaded;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    save_runs(f->store, 5, 6); // so that keys differ
    make_run(&first, RUN_MEASURE, 1, 1, 9);
    save_whole_run(shard, &first);
    make_run(&second, RUN_MEASURE, 2, 1, 10);
    strcpy(second.results[0].head_code, first.results[0].head_code);
    second.results[0].reused = true;
    second.results[0].head = (struct measurement){0};
    save_whole_run(shard, &second);
    store_close(shard);
    assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    struct run_entry *entries;
    size_t count;
    assert_ok(store_list_runs(&entries, &count, f->store, RUN_MEASURE, 0, &f->arena, &err), &err);
    assert_ok(store_load_run(&loaded, f->store, entries[0].id, &err), &err);
    assert_string_equal(loaded.head.id, second.head.id);
    assert_true(same_measurement(&loaded.results[0].head, &first.results[0].head));
    run_free(&first);
    run_free(&second);
    run_free(&loaded);
}

TEST(builds_merge_with_their_kernels)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    struct build_kernel kernels[1] = {{.name = "tiled", .code = "c0de", .traits = {.tile_m = 64}}};
    const struct build_record build = {"content", "cuda", MEASURED_OK, "", kernels, 1};
    struct build_record loaded;
    bool found;
    make_run(&run, RUN_MEASURE, 1, 1, 9);
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    assert_ok(store_record_build(shard, &run.head, &build, &err), &err);
    store_close(shard);
    for (int i = 0; i < 2; i++)
        assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    assert_ok(
        store_find_commit_build(&loaded, &found, f->store, &run.head, "cuda", &f->arena, &err),
        &err);
    assert_true(found);
    assert_int_equal(loaded.count, 1);
    assert_string_equal(loaded.kernels[0].code, "c0de");
    assert_int_equal(loaded.kernels[0].traits.tile_m, 64);
    run_free(&run);
}

TEST(bad_shard_is_refused_and_nothing_is_added)
{
    struct open_store *f = *state;
    static const char *const changes[] = {
        "PRAGMA user_version = 99",
        "CREATE VIEW v AS SELECT 1",
        "PRAGMA ignore_check_constraints = ON; UPDATE measurements SET state = 'odd'",
        "PRAGMA ignore_check_constraints = ON; UPDATE measurements SET time_ns = -5",
        "PRAGMA ignore_check_constraints = ON; UPDATE runs SET conclusion = 77",
    };
    save_runs(f->store, 0, 1);
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        struct error err = {0};
        struct store *shard = scratch_store(f->other_path, STORE_WRITE);
        save_runs(shard, 1, 2);
        store_close(shard);
        run_sql(f->other_path, changes[i]);
        if (store_merge(f->store, f->other_path, NULL, &err) == 0)
            fail_msg("accepted: %s", changes[i]);
        assert_non_null(strstr(err.text, "other.db"));
        assert_null(strchr(err.text, '\n'));
        expect_runs(f->store, 1);
        remove(f->other_path);
    }
    struct error err = {0};
    assert_int_equal(store_merge(f->store, f->other_path, NULL, &err), -1);
    assert_int_equal(store_merge(f->store, store_path(f->store), NULL, &err), -1);
    assert_non_null(strstr(err.text, "is the store it shall be merged into"));
    save_runs(f->store, 1, 2); // it still works
    expect_runs(f->store, 2);
}

static int count_steps(void *steps)
{
    ++*(uint64_t *)steps;
    return 0;
}

// Hundreds of SQLite's steps that a shard of one run takes.
static uint64_t merge_steps(struct store *store, const char *shard)
{
    struct error err = {0};
    uint64_t steps = 0;
    sqlite3_progress_handler(store->db, 100, count_steps, &steps);
    assert_ok(store_merge(store, shard, NULL, &err), &err);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    return steps;
}

// Or a thousand shards would take a million times as long as one.
TEST_WITH(a_shard_costs_the_same_however_large_the_store_is, open_store_set_up_two,
          open_store_tear_down)
{
    struct open_store *f = *state;
    struct error err = {0};
    save_runs(f->other, 1000, 1001);
    const uint64_t first = merge_steps(f->store, f->other_path);
    assert_ok(store_begin_batch(f->store, &err), &err);
    save_runs(f->store, 0, 300);
    assert_ok(store_commit_batch(f->store, &err), &err);
    save_runs(f->other, 1001, 1002);
    const uint64_t last = merge_steps(f->store, f->other_path);
    if (last > 2 * first + 20)
        fail_msg("%llu hundreds of steps into an empty store, %llu beside 300 runs",
                 (unsigned long long)first, (unsigned long long)last);
}

TEST(pruned_samples_leave_time_and_history)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts removed, before;
    struct run made, loaded;
    save_runs(f->store, 0, 4);
    before = sound_counts(f->store);
    const struct prune_rule dry = {.before_s = 1700000000 + 3600 * 2, .dry_run = true};
    assert_ok(store_prune(f->store, &dry, &removed, &err), &err);
    assert_true(removed.samples_bytes > 100);
    struct store_counts still = sound_counts(f->store);
    assert_memory_equal(&before, &still, sizeof(before));
    struct prune_rule rule = dry;
    rule.dry_run = false;
    assert_ok(store_prune(f->store, &rule, &removed, &err), &err);
    assert_int_equal(sound_counts(f->store).samples_bytes,
                     before.samples_bytes - removed.samples_bytes);
    assert_int_equal(sound_counts(f->store).measurements, before.measurements);
    make_run(&made, RUN_MEASURE, 1, 5, 1);
    struct run_entry *entries;
    size_t count;
    assert_ok(store_list_runs(&entries, &count, f->store, STORE_ALL_RUNS, 0, &f->arena, &err),
              &err);
    assert_ok(store_load_run(&loaded, f->store, entries[2].id, &err), &err);
    assert_string_equal(loaded.head.id, made.head.id);
    for (size_t i = 0; i < loaded.count; i++) {
        assert_int_equal(loaded.results[i].head.count, 1);
        assert_true(measurement_time_ns(&loaded.results[i].head) ==
                    measurement_time_ns(&made.results[i].head));
    }
    run_free(&made);
    run_free(&loaded);
}

TEST(pruned_runs_are_gone_but_not_what_others_show)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts removed;
    struct run first, second, loaded;
    make_run(&first, RUN_MEASURE, 0, 1, 9);
    save_whole_run(f->store, &first);
    save_runs(f->store, 1, 4);
    make_run(&second, RUN_MEASURE, 9, 1, 10);
    strcpy(second.results[0].head_code, first.results[0].head_code);
    second.results[0].reused = true;
    second.results[0].head = (struct measurement){0};
    save_whole_run(f->store, &second);
    const struct prune_rule rule = {.before_s = 1700000000 + 3600 * 3, .runs = true};
    assert_ok(store_prune(f->store, &rule, &removed, &err), &err);
    assert_int_equal(removed.runs, 2);          // 1 and 2; 0 is shown by 9
    assert_int_equal(removed.measurements, 15); // 5 and, a gate, 10
    assert_int_equal(sound_counts(f->store).runs, 3);
    assert_ok(store_load_run(&loaded, f->store, second.id, &err), &err);
    assert_true(same_measurement(&loaded.results[0].head, &first.results[0].head));
    run_free(&loaded);
    const struct prune_rule all = {.before_s = INT64_MAX, .runs = true};
    assert_ok(store_prune(f->store, &all, &removed, &err), &err);
    struct store_counts left = sound_counts(f->store);
    assert_int_equal(
        left.runs + left.measurements + left.samples_bytes + left.predictions + left.verdicts, 0);
    save_runs(f->store, 0, 2); // and it goes on
    expect_runs(f->store, 2);
    run_free(&first);
    run_free(&second);
}
