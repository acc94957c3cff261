// SPDX-License-Identifier: Apache-2.0
//
// An open store for each test, and shorthand for what is often asked of one.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int open_store_set_up_none(void **state)
{
    struct open_store *f = xcalloc(1, sizeof(*f));
    f->folder = helper_directory();
    f->path = scratch_path(&f->arena, f->folder, "store.db");
    f->other_path = scratch_path(&f->arena, f->folder, "other.db");
    *state = f;
    return 0;
}

bool pauses_are_over;

// What this program and SQLite pause by.
int nanosleep(const struct timespec *pause, struct timespec *left)
{
    errno = pauses_are_over ? 0 : clock_nanosleep(CLOCK_REALTIME, 0, pause, left);
    return errno ? -1 : 0;
}

int usleep(useconds_t us)
{
    const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
    return nanosleep(&pause, NULL);
}

int open_store_set_up(void **state)
{
    open_store_set_up_none(state);
    struct open_store *f = *state;
    f->path = scratch_path(&f->arena, f->folder, "new/store.db");
    f->store = scratch_store(f->path, STORE_WRITE);
    return 0;
}

int open_store_set_up_two(void **state)
{
    open_store_set_up(state);
    struct open_store *f = *state;
    f->other = scratch_store(f->other_path, STORE_WRITE);
    return 0;
}

int open_store_tear_down(void **state)
{
    struct open_store *f = *state;
    store_close(f->store);
    store_close(f->other);
    helper_discard(f->folder);
    free(f->folder);
    arena_free(&f->arena);
    free(f);
    return 0;
}

void assert_ok(int status, const struct error *err)
{
    if (status)
        fail_msg("%s", err->text);
}

void save_runs_at(const char *path, unsigned runs)
{
    struct error err;
    struct store *store = scratch_store(path, STORE_WRITE);
    assert_int_equal(store_begin_batch(store, &err), 0);
    for (unsigned i = 0; i < runs; i++) {
        struct run run;
        make_run(&run, i % 2 ? RUN_GATE : RUN_MEASURE, i, 4, i);
        save_whole_run(store, &run);
        run_free(&run);
    }
    assert_int_equal(store_commit_batch(store, &err), 0);
    store_close(store);
}

int load_everything(struct store *store, struct error *err)
{
    struct run_entry *entries;
    struct arena arena = {0};
    size_t count;
    int status = store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, err);
    for (size_t i = 0; status == 0 && i < count; i++) {
        struct run run;
        status = store_load_run(&run, store, entries[i].id, err);
        const bool loaded = status == 0;
        for (size_t k = 0; status == 0 && k < run.count; k++) {
            const struct series s = {run.results[k].kernel, &run.results[k].problem,
                                     run.devices[run.results[k].device].uuid};
            const struct history_query query = {.comparisons = true};
            struct stored_points stored;
            status = store_points(&stored, store, &s, &query, &run.arena, err);
        }
        if (loaded)
            run_free(&run);
    }
    arena_free(&arena);
    return status;
}

struct store_counts sound_counts(struct store *store)
{
    struct store_report report;
    struct error err;
    assert_ok(store_check(&report, store, &err), &err);
    if (report.problems)
        fail_msg("%s", report.first);
    return report.counts;
}

void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%.200s: %s", sql, why);
    sqlite3_close(db);
}

static int one_commit(struct commit *out, const char *named, void *context, struct error *err)
{
    (void)context, (void)err;
    *out = (struct commit){.id = "0123456789abcdef", .summary = "", .author = ""};
    out->time_s = 1700000000;
    if (named)
        text_copy(out->id, sizeof(out->id), named);
    return 0;
}

int import_text(struct store *store, const char *text, size_t size, const char *format,
                struct store_counts *added, struct error *err)
{
    const struct import_source source = {
        .name = "file", .format = format, .find_commit = one_commit, .strict = true};
    return import_from(store, text, size, &source, added, err);
}

int import_from(struct store *store, const char *text, size_t size,
                const struct import_source *source, struct store_counts *added, struct error *err)
{
    char *copy = xcalloc(size ? size : 1, 1);
    memcpy(copy, text, size);
    FILE *file = fmemopen(copy, size ? size : 1, "r");
    assert_non_null(file);
    int status = store_import(store, file, source, added, NULL, err);
    fclose(file);
    free(copy);
    return status;
}
