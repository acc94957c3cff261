// SPDX-License-Identifier: Apache-2.0
//
// What pruning costs grows with what it removes and what stays, not with how runs hang together,
// and a night's pruning does not copy the whole file.
#include "baselines/statement.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct prune_rule before(int runs, bool whole)
{
    return (struct prune_rule){.before_s = 1700000000 + 3600 * (int64_t)runs, .runs = whole};
}

AROUND_EACH(open_store_set_up_none, open_store_tear_down);

TEST_WITH(removed_runs_are_counted_and_not_their_devices, open_store_set_up, open_store_tear_down)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts removed;
    for (unsigned i = 0; i < 3; i++) {
        struct run run;
        make_run(&run, RUN_MEASURE, i, 2, i + 1);
        struct device *devices = arena_alloc(&run.arena, (run.device_count + 2) * sizeof(*devices));
        memcpy(devices, run.devices, run.device_count * sizeof(*devices));
        for (int d = 0; d < 2; d++) {
            devices[run.device_count] = run.devices[0];
            devices[run.device_count++].uuid = d ? "GPU-more-1" : "GPU-more-2";
        }
        run.devices = devices;
        save_whole_run(f->store, &run);
        run_free(&run);
    }
    const struct prune_rule rule = before(2, true);
    assert_ok(store_prune(f->store, &rule, &removed, &err), &err);
    assert_int_equal(removed.runs, 2);
    assert_int_equal(removed.measurements, 4);
}

static int count_steps(void *steps)
{
    ++*(uint64_t *)steps;
    return 0;
}

static void save_runs(struct store *store, unsigned runs, size_t results)
{
    struct error err = {0};
    assert_ok(store_begin_batch(store, &err), &err);
    for (unsigned i = 0; i < runs; i++) {
        struct run run;
        make_run(&run, RUN_MEASURE, i, results, i + 1);
        save_whole_run(store, &run);
        run_free(&run);
    }
    assert_ok(store_commit_batch(store, &err), &err);
}

// Hundreds of SQLite's steps that pruning all but the newest run takes.
static uint64_t steps_of(const char *path, unsigned runs)
{
    struct error err = {0};
    struct store_counts removed;
    uint64_t steps = 0;
    struct store *store = scratch_store(path, STORE_WRITE);
    save_runs(store, runs, 1);
    // Each shows what the run before measured.
    run_sql(path, "UPDATE results SET reused = 1, head_key = (SELECT max(m.measurement_key) "
                  "FROM measurements m WHERE m.run_key < results.run_key) WHERE run_key > 1");
    sqlite3_progress_handler(store->db, 100, count_steps, &steps);
    const struct prune_rule rule = before((int)runs - 1, true);
    assert_ok(store_prune(store, &rule, &removed, &err), &err);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    store_close(store);
    return steps;
}

TEST(a_chain_of_runs_that_show_each_other_is_followed_once)
{
    struct open_store *f = *state;
    const uint64_t steps = steps_of(f->path, 100), twice = steps_of(f->other_path, 200);
    if (twice > 3 * steps)
        fail_msg("%llu hundreds of steps for 100 runs, %llu for 200", (unsigned long long)steps,
                 (unsigned long long)twice);
}

static int64_t file_bytes(const char *path)
{
    struct error err = {0};
    struct store_report report;
    struct store *store = scratch_store(path, STORE_READ);
    assert_ok(store_info(&report, store, &err), &err);
    store_close(store);
    return report.bytes;
}

TEST(a_night_does_not_copy_the_file_and_a_clearance_shrinks_it)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts removed;
    struct store *store = scratch_store(f->path, STORE_WRITE);
    save_runs(store, 60, 40);
    store_close(store);
    const int64_t whole = file_bytes(f->path);
    store = scratch_store(f->path, STORE_WRITE);
    struct prune_rule rule = before(10, false);
    assert_ok(store_prune(store, &rule, &removed, &err), &err);
    assert_true(removed.samples_bytes > 0);
    assert_int_equal(file_bytes(f->path), whole);
    rule = before(50, true);
    assert_ok(store_prune(store, &rule, &removed, &err), &err);
    assert_true(file_bytes(f->path) < whole / 2);
    assert_int_equal(sound_counts(store).runs, 10);
    store_close(store);
}

// Cold storage is a copy of the file: what was pruned here is there, and comes back from it.
TEST(pruned_runs_come_back_from_a_copy_that_was_put_away)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_counts removed;
    save_runs_at(f->path, 12);
    size_t size;
    char *copy = helper_read(f->path, &size);
    helper_write(f->other_path, copy, size);
    free(copy);
    struct store *store = scratch_store(f->path, STORE_WRITE);
    const struct store_counts whole = sound_counts(store);
    const struct prune_rule rule = before(8, true);
    assert_ok(store_prune(store, &rule, &removed, &err), &err);
    assert_int_equal(sound_counts(store).runs, 4);
    assert_ok(store_merge(store, f->other_path, NULL, &err), &err);
    const struct store_counts again = sound_counts(store);
    assert_memory_equal(&whole, &again, sizeof(whole));
    store_close(store);
}
