// SPDX-License-Identifier: Apache-2.0
//
// Shards of strangers: what they may not say, of runs that are known and of anything.
#include "baselines/statement.h"
#include "baselines/store.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void save_one(struct store *store, unsigned number)
{
    struct run run;
    make_run(&run, number % 3 == 2 ? RUN_GATE : RUN_MEASURE, number, 5, number);
    save_whole_run(store, &run);
    run_free(&run);
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

// What a shard may be made to say of a run that is here and finished.
TEST(known_run_is_neither_added_to_nor_changed)
{
    struct open_store *f = *state;
    static const struct {
        const char *sql, *expected; // NULL: it merges, and changes nothing
    } cases[] = {
        {"INSERT INTO kernels (name) VALUES ('added'); INSERT INTO series (kernel_key, "
         "problem_key, device_key) SELECT max(kernel_key), 1, 1 FROM kernels; "
         "INSERT INTO measurements (run_key, series_key, role, plain, commit_key, commit_s, state, "
         "time_ns, samples, seed, regime_key, detail_key) SELECT run_key, (SELECT max(series_key) "
         "FROM series), role, plain, commit_key, commit_s, state, time_ns, samples, seed, "
         "regime_key, detail_key FROM measurements LIMIT 1",
         "adds measurements to a run that is here"},
        {"UPDATE measurements SET time_ns = time_ns * 2", "or has others than are here"},
        {"UPDATE runs SET started_s = started_s + 1", "with another beginning"},
        {"INSERT INTO texts (text) VALUES ('other'); UPDATE runs SET policy_key = (SELECT "
         "max(text_key) FROM texts)",
         "with another beginning"},
        {"UPDATE verdicts SET made_s = made_s + 9, kind = 'same', sentence = 'fine'", NULL},
        {"UPDATE runs SET conclusion = 0, headline = 'fine'", NULL},
        {"DELETE FROM predictions; DELETE FROM verdicts; DELETE FROM results; DELETE FROM samples; "
         "DELETE FROM measurements",
         NULL},
    };
    save_one(f->store, 2);
    const struct store_counts before = sound_counts(f->store);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {0};
        char *copy = xprintf("rm -f '%s'*; cp '%s' '%s'", f->other_path, f->path, f->other_path);
        run_sql(f->path, "PRAGMA wal_checkpoint(TRUNCATE)");
        assert_int_equal(system(copy), 0);
        free(copy);
        run_sql(f->other_path, cases[i].sql);
        const int status = store_merge(f->store, f->other_path, NULL, &err);
        if (cases[i].expected && (status == 0 || !strstr(err.text, cases[i].expected)))
            fail_msg("case %zu: \"%s\"", i, err.text);
        if (!cases[i].expected)
            assert_ok(status, &err);
        const struct store_counts after = sound_counts(f->store);
        assert_memory_equal(&before, &after, sizeof(before));
        struct run made, loaded;
        int64_t id;
        make_run(&made, RUN_GATE, 2, 5, 2);
        assert_ok(store_last_run(&id, f->store, STORE_ALL_RUNS, &err), &err);
        assert_ok(store_load_run(&loaded, f->store, id, &err), &err);
        assert_true(same_run(&made, &loaded));
        assert_string_equal(made.headline, loaded.headline);
        run_free(&made);
        run_free(&loaded);
    }
}

// STRICT tables and CHECKs let these through.
TEST(values_out_of_range_are_refused)
{
    struct open_store *f = *state;
    static const char *const changes[][2] = {
        {"UPDATE measurements SET time_ns = 9e999", "measurements.time_ns = Inf"},
        {"UPDATE measurements SET clock_hz = -1", "measurements.clock_hz = -1"},
        {"UPDATE measurements SET samples = samples + 1", "samples.packed"},
        {"UPDATE kernels SET name = 'a' || char(10) || 'b' || kernel_key", "kernels.name"},
        {"UPDATE kernels SET name = char(27) || '[2J' || kernel_key", "kernels.name"},
        {"UPDATE commits SET commit_id = 'a b' || commit_key", "commits.commit_id"},
        {"UPDATE commits SET time_s = 9223372036854775807", "commits.time_s"},
        {"UPDATE runs SET started_s = -99999999999999", "runs.started_s"},
        {"UPDATE runs SET uid = replace(uid, substr(uid, 1, 1), 'Z')", "runs.uid"},
        {"UPDATE problems SET problem = 'no problem' || problem_key", "problems.problem"},
        {"UPDATE verdicts SET made_s = 1e17", "verdicts.made_s"},
        {"UPDATE verdicts SET pairs = -1", "verdicts.pairs"},
        {"UPDATE devices SET uuid = char(9) || device_key", "devices.uuid"},
        {"UPDATE samples SET packed = x'0100'", "packed samples: damaged"},
    };
    save_one(f->store, 0);
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        struct error err = {0};
        struct store *shard = scratch_store(f->other_path, STORE_WRITE);
        save_one(shard, 2);
        store_close(shard);
        run_sql(f->other_path, changes[i][0]);
        if (store_merge(f->store, f->other_path, NULL, &err) == 0)
            fail_msg("accepted: %s", changes[i][0]);
        if (!strstr(err.text, changes[i][1]) && !strstr(err.text, "out of range"))
            fail_msg("%s: %s", changes[i][0], err.text);
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(sound_counts(f->store).runs, 1);
        remove(f->other_path);
    }
}

// Each value is one that a store may have, and no reader takes the whole: merged, it would stay,
// and nobody could read its run or any event again.
TEST(what_could_not_be_read_again_is_refused)
{
    struct open_store *f = *state;
    static const char event[] =
        "INSERT INTO events (name, cause, what, culprit) VALUES ('e1', 'kernel', '', ''); "
        "INSERT INTO event_changes VALUES (1, 1, printf('%.99c', 'a'), 'b', 0.1, 9)";
    static const char link[] =
        "INSERT INTO codes (kernel_key, code_id, traits) SELECT max(kernel_key), (SELECT code_id "
        "FROM "
        "codes WHERE code_key = 1), '{}' FROM kernels; "
        "INSERT INTO links (uid, series_key, base_code_key, head_code_key, base_commit_key, "
        "head_commit_key, tool_key, made_s, back, kind, log_ratio, error, log_evidence, pairs, "
        "processes) SELECT '0123456789abcdef0123456789abcdef', 1, 1, max(code_key), 1, 2, 1, 9, 1, "
        "'same', 0, 0.1, 0, 1, 1 FROM codes";
    static const char *const changes[][2] = {
        {link, "a link"},
        {"INSERT OR REPLACE INTO unbuilt VALUES (1, 0, 'r', '', 'no tabs')",
         "why a commit does not build"},
        {"UPDATE run_devices SET position = position + 7", "device"},
        {"UPDATE predictions SET bound = 'none of ours'", "predictions.bound"},
        {"UPDATE verdicts SET cause = 'none of ours'", "verdicts.cause"},
        {event, "event_changes.first_id"},
    };
    save_one(f->store, 0);
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        struct error err = {0};
        struct stored_event *events;
        size_t count;
        struct store *shard = scratch_store(f->other_path, STORE_WRITE);
        save_one(shard, 2);
        store_close(shard);
        run_sql(f->other_path, changes[i][0]);
        if (store_merge(f->store, f->other_path, NULL, &err) == 0)
            fail_msg("accepted: %s", changes[i][0]);
        if (!strstr(err.text, changes[i][1]) || !strstr(err.text, "nothing was merged"))
            fail_msg("%s: %s", changes[i][0], err.text);
        assert_null(strchr(err.text, '\n'));
        assert_int_equal(sound_counts(f->store).runs, 1);
        assert_ok(load_everything(f->store, &err), &err);
        assert_ok(store_load_events(&events, &count, f->store, &f->arena, &err), &err);
        remove(f->other_path);
    }
}

// What a run may well hold: no time that a model could give, and an error beyond all bounds.
TEST(odd_but_true_values_are_merged)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    struct run run;
    make_run(&run, RUN_GATE, 2, 3, 2);
    run.results[0].prediction =
        (struct prediction){.model = "m", .version = "1", .why = "no room", .bound = BOUND_UNKNOWN};
    run.results[1].head = (struct measurement){
        .state = MEASURED_WRONG, .max_error = INFINITY, .tolerance = 1, .regime = "", .detail = ""};
    run.results[2].verdict.log_evidence = INFINITY;
    run.results[2].verdict.log_ratio.low = -INFINITY;
    run.results[2].verdict.log_ratio.high = INFINITY;
    save_whole_run(shard, &run);
    run_free(&run);
    store_close(shard);
    assert_ok(store_merge(f->store, f->other_path, NULL, &err), &err);
    assert_int_equal(sound_counts(f->store).runs, 1);
}

// A shard of a run whose series are said to be of another device.
TEST(run_of_another_device_is_refused_whole)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store_report report;
    struct run run;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    make_run(&run, RUN_MEASURE, 1, 4, 9);
    save_whole_run(shard, &run);
    store_close(shard);
    run_sql(f->other_path,
            "INSERT INTO devices (uuid, kind, name) VALUES ('GPU-else', 'cuda', 'else');"
            "UPDATE series SET device_key = (SELECT max(device_key) FROM devices)");
    const struct store_counts before = sound_counts(f->store);
    assert_int_equal(store_merge(f->store, f->other_path, NULL, &err), -1);
    assert_non_null(strstr(err.text, "that their run was not on"));
    const struct store_counts after = sound_counts(f->store);
    assert_memory_equal(&before, &after, sizeof(before));
    shard = scratch_store(f->other_path, STORE_READ);
    assert_ok(store_check(&report, shard, &err), &err);
    assert_int_equal(report.problems, 1);
    assert_non_null(strstr(report.first, "that the run was not on"));
    store_close(shard);
    run_free(&run);
}

// The page where a table begins, from 0.
static size_t root_page(const char *path, const char *table)
{
    struct store *store = scratch_store(path, STORE_READ);
    sqlite3_stmt *row = NULL;
    sqlite3_prepare_v2(store->db, "SELECT rootpage - 1 FROM sqlite_schema WHERE name = ?", -1, &row,
                       NULL);
    sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const size_t page = (size_t)sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    store_close(store);
    return page;
}

// SQLite names no file, and calls a record that claims gigabytes want of memory.
TEST(damaged_shard_is_named_and_not_the_store)
{
    enum { PAGE = 8192, FIRST_CELL = 8, LEAF = 0x0d };
    static const char *const tables[] = {"commits", "kernels", "texts", "runs", "series"};
    static const uint8_t four_gib[] = {0x8f, 0xff, 0xff, 0xff, 0x7f};
    struct open_store *f = *state;
    struct store *shard = scratch_store(f->other_path, STORE_WRITE);
    size_t size;
    save_one(shard, 1);
    store_close(shard);
    save_one(f->store, 0);
    char *good = helper_read(f->other_path, &size);
    for (size_t i = 0; i < 2 * ARRAY_COUNT(tables); i++) {
        struct error err = {0};
        helper_write(f->other_path, good, size);
        const size_t at = root_page(f->other_path, tables[i / 2]) * PAGE;
        uint8_t *bad = xcalloc(size, 1), *page = bad + at;
        memcpy(bad, good, size);
        assert_int_equal(page[0], LEAF);
        if (i % 2)
            memset(page, 0xff, PAGE);
        else
            memcpy(page + page[FIRST_CELL] * 256 + page[FIRST_CELL + 1], four_gib,
                   sizeof(four_gib));
        helper_write(f->other_path, (const char *)bad, size);
        free(bad);
        if (store_merge(f->store, f->other_path, NULL, &err) == 0)
            fail_msg("%s, %zu: merged", tables[i / 2], i % 2);
        if (!strstr(err.text, "other.db: it cannot be read whole (") || strchr(err.text, '\n') ||
            strstr(err.text, "out of memory"))
            fail_msg("%s, %zu: %s", tables[i / 2], i % 2, err.text);
        assert_int_equal(sound_counts(f->store).runs, 1);
    }
    free(good);
}
