// SPDX-License-Identifier: Apache-2.0
//
// Stores and exports that older versions made open here and say what they said. The seeds are what
// `plumb` of a commit stored and exported while it followed the tutorial on the host device: the
// store as SQL text, with its version, and the export as it was written. A migration that fails, by
// a full disk, a kill or a lock, leaves a store that opens later.
#include "baselines/statement.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct seed {
    const char *commit;
    size_t runs, links; // d4c778d: one of the runs was interrupted, and is not exported
} seeds[] = {{"d4c778d", 3, 0}, {"fe33bcb", 4, 2}};

static char *seed_text(const struct seed *seed, const char *ending)
{
    char *path = xprintf("%s/stores/%s.%s", TEST_DATA, seed->commit, ending);
    char *text = helper_read(path, NULL);
    assert_non_null(text);
    free(path);
    return text;
}

// The store as it was then, in a file of its own: its path.
static const char *old_store(struct open_store *f, const struct seed *seed)
{
    char *sql = seed_text(seed, "sql"), *name = xprintf("%s.db", seed->commit);
    const char *path = scratch_path(&f->arena, f->folder, name);
    static const char *const files[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        char *file = xprintf("%s%s", path, files[i]);
        unlink(file);
        free(file);
    }
    run_sql(path, sql);
    free(sql);
    free(name);
    return path;
}

static struct store *store_of(struct open_store *f, const struct seed *seed)
{
    return scratch_store(old_store(f, seed), STORE_WRITE);
}

// The finished runs.
static size_t load_all(struct run **out, struct store *store, struct arena *arena)
{
    struct error err;
    struct run_entry *entries;
    size_t count, finished = 0;
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, arena, &err), &err);
    *out = arena_alloc(arena, count * sizeof(**out));
    for (size_t i = 0; i < count; i++) {
        if (entries[i].finished_s)
            assert_ok(store_load_run(&(*out)[finished++], store, entries[i].id, &err), &err);
    }
    return finished;
}

// JSON has no infinity: an end of an interval that is infinite is not known there.
static void forget_infinite_ends(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct interval *ratio = &run->results[i].verdict.log_ratio;
        ratio->low = isfinite(ratio->low) ? ratio->low : NAN;
        ratio->high = isfinite(ratio->high) ? ratio->high : NAN;
    }
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(an_older_store_opens_and_its_export_says_the_same)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        struct error err;
        struct store_counts added;
        struct run *stored, *imported;
        struct store *store = store_of(f, &seeds[i]);
        assert_ok(load_everything(store, &err), &err);
        assert_int_equal(sound_counts(store).runs, seeds[i].runs);

        char *name = xprintf("%s-export.db", seeds[i].commit);
        struct store *other = scratch_store(scratch_path(&f->arena, f->folder, name), STORE_WRITE);
        char *text = seed_text(&seeds[i], "jsonl");
        assert_ok(import_text(other, text, strlen(text), "json", &added, &err), &err);
        assert_int_equal(added.links, seeds[i].links);
        const size_t count = load_all(&stored, store, &f->arena);
        assert_true(count >= 2);
        assert_int_equal(load_all(&imported, other, &f->arena), count);
        for (size_t k = 0; k < count; k++) {
            forget_infinite_ends(&stored[k]);
            if (!same_run(&stored[k], &imported[k]))
                fail_msg("%s: run %zu is not what its export says", seeds[i].commit, k);
            run_free(&stored[k]);
            run_free(&imported[k]);
        }
        store_close(store);
        store_close(other);
        free(name);
        free(text);
    }
}

// A machine that was not brought up to date sends what it measured to one that was.
TEST(an_older_store_is_merged_once_it_was_opened)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        struct error err;
        struct store *store = store_of(f, &seeds[i]);
        char *path = xstrdup(store_path(store));
        store_close(store);
        assert_ok(store_merge(f->store, path, NULL, &err), &err);
        free(path);
    }
    assert_int_equal(sound_counts(f->store).runs, seeds[0].runs + seeds[1].runs);
}

// ---- migrations that fail

static int64_t version_of(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    const int64_t version = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return version;
}

// Opens it for writing in a process of its own, which may write files of so many bytes and lives so
// long (us; 0: until it has opened it). 0 opened, 1 refused, 2 killed.
static int open_elsewhere(const char *path, rlim_t bytes, useconds_t killed_after)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {bytes, bytes};
        struct store *store = NULL;
        struct error err;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(store_open(&store, path, STORE_WRITE, &err) ? 1 : 0);
    }
    assert_true(child > 0);
    if (killed_after) {
        usleep(killed_after);
        kill(child, SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void assert_opens(const char *path, const struct seed *seed)
{
    struct error err;
    struct store *store = scratch_store(path, STORE_WRITE);
    assert_ok(load_everything(store, &err), &err);
    assert_int_equal(sound_counts(store).runs, seed->runs);
    store_close(store);
    assert_int_equal(version_of(path), migration_count());
}

// Wherever the disk is full, it is not called done: a migration is whole or as if it never was.
TEST(a_migration_on_a_full_disk_is_refused_and_comes_later)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        struct stat whole;
        const char *path = old_store(f, &seeds[i]);
        const int64_t before = version_of(path);
        assert_true(before < migration_count());
        size_t refused = 0;
        assert_int_equal(stat(path, &whole), 0);
        for (rlim_t bytes = 0; open_elsewhere(path, bytes, 0) != 0; bytes += 16384) {
            const int64_t now = version_of(path);
            refused++;
            assert_true(before <= now && now < migration_count());
            assert_true(bytes < 64u * (rlim_t)whole.st_size);
        }
        assert_true(refused > 1);
        assert_opens(path, &seeds[i]);
    }
}

TEST(a_migration_that_is_killed_goes_on)
{
    struct open_store *f = *state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        size_t killed = 0;
        for (useconds_t us = 200; us < 20000; us += 1100) {
            const char *path = old_store(f, &seeds[i]);
            killed += open_elsewhere(path, RLIM_INFINITY, us) == 2;
            assert_opens(path, &seeds[i]);
        }
        assert_true(killed > 0);
    }
}

// Another process writes for longer than anyone waits.
TEST(a_store_that_is_locked_is_not_migrated)
{
    struct open_store *f = *state;
    sqlite3 *db = NULL;
    const char *path = old_store(f, &seeds[1]);
    const int64_t before = version_of(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    pauses_are_over = true;
    assert_int_equal(open_elsewhere(path, RLIM_INFINITY, 0), 1);
    pauses_are_over = false;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(version_of(path), before);
    assert_opens(path, &seeds[1]);
}
