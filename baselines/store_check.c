// SPDX-License-Identifier: Apache-2.0
//
// Is the file whole, and how much is in it?
#include "baselines/pack.h"
#include "baselines/store_open.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int count_all(struct store_counts *out, struct store *store, struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_COUNT_ALL, NULL, 0);
    int status = statement_step(store, row, err);
    if (status < 0)
        return -1;
    *out = (struct store_counts){.runs = row_int(row, 0),
                                 .unfinished = row_int(row, 1),
                                 .commits = row_int(row, 2),
                                 .builds = row_int(row, 3),
                                 .series = row_int(row, 4),
                                 .measurements = row_int(row, 5),
                                 .samples_bytes = row_int(row, 6),
                                 .predictions = row_int(row, 7),
                                 .verdicts = row_int(row, 8),
                                 .profiles = row_int(row, 9),
                                 .epochs = row_int(row, 10)};
    sqlite3_reset(row);
    return 0;
}

int store_info(struct store_report *out, struct store *store, struct error *err)
{
    struct store_report report = {.version = migration_count()};
    struct stat info;
    if (count_all(&report.counts, store, err))
        return -1;
    if (stat(store->path, &info) == 0)
        report.bytes = info.st_size;
    *out = report;
    return 0;
}

// Takes the text and frees it.
static void note(struct store_report *report, char *text)
{
    if (report->problems++ == 0)
        text_copy(report->first, sizeof(report->first), text);
    free(text);
}

static void note_failure(struct store_report *report, struct store *store)
{
    note(report, xstrdup(sqlite3_errmsg(store->db)));
}

static int note_page(void *report, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    if (values[0] && strcmp(values[0], "ok") != 0)
        note(report, xstrdup(values[0]));
    return 0;
}

// SQLite forgets a table's CHECKs on a connection that cannot write, so look through one that could
// but does not; where the file cannot be written, pages and indexes are still checked.
static void check_pages(struct store_report *report, struct store *store)
{
    sqlite3 *db = NULL;
    bool own = sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
               sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
               sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK &&
               sqlite3_busy_timeout(db, STORE_WAIT_MS) == SQLITE_OK &&
               sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL) == SQLITE_OK;
    int code = own ? sqlite3_exec(db, "PRAGMA quick_check(1)", note_page, report, NULL) : 0;
    // A file or folder that may not be written opens all the same, and fails only here.
    own = own && code != SQLITE_READONLY && code != SQLITE_CANTOPEN;
    if (!own)
        code = sqlite3_exec(store->db, "PRAGMA quick_check(1)", note_page, report, NULL);
    if (code != SQLITE_OK)
        note(report, xstrdup(sqlite3_errmsg(own ? db : store->db)));
    sqlite3_close(db);
}

static void check_references(struct store_report *report, struct store *store)
{
    struct error ignored;
    sqlite3_stmt *row = statement_bind(store, SQL_FOREIGN_KEY_CHECK, NULL, 0);
    int status;
    while ((status = statement_step(store, row, &ignored)) > 0) {
        const char *table = (const char *)sqlite3_column_text(row, 0);
        const char *parent = (const char *)sqlite3_column_text(row, 2);
        note(report, xprintf("a row of %s refers to a row of %s that is not there",
                             table ? table : "?", parent ? parent : "?"));
    }
    if (status < 0)
        note_failure(report, store);
}

static void check_devices(struct store_report *report, struct store *store)
{
    struct error ignored;
    int64_t strays;
    if (statement_get(&strays, store, &ignored, SQL_STRAY_RESULTS, NULL, 0))
        note_failure(report, store);
    else if (strays)
        note(report, xprintf("%lld result%s of a device that the run was not on", (long long)strays,
                             strays == 1 ? " is" : "s are"));
}

static void check_samples(struct store_report *report, struct store *store)
{
    struct error why;
    sqlite3_stmt *row = statement_bind(store, SQL_ALL_SAMPLES, NULL, 0);
    int status;
    while ((status = statement_step(store, row, &why)) > 0) {
        struct arena arena = {0};
        struct sample *samples;
        size_t count;
        const void *bytes = sqlite3_column_blob(row, 1);
        size_t size = (size_t)sqlite3_column_bytes(row, 1);
        if (unpack_samples(&samples, &count, bytes, size, &arena, &why))
            note(report, xprintf("measurement %lld: %s", (long long)row_int(row, 0), why.text));
        else if ((int64_t)count != row_int(row, 2))
            note(report, xprintf("measurement %lld: %zu samples, not %lld",
                                 (long long)row_int(row, 0), count, (long long)row_int(row, 2)));
        arena_free(&arena);
    }
    if (status < 0)
        note_failure(report, store);
}

int store_check(struct store_report *out, struct store *store, struct error *err)
{
    struct store_report report = {.version = migration_count()};
    struct error ignored;
    check_pages(&report, store);
    // On torn pages the other checks would only repeat that in other words.
    if (report.problems == 0) {
        check_references(&report, store);
        check_devices(&report, store);
        check_samples(&report, store);
    }
    if (report.problems == 0) {
        size_t problems = report.problems;
        if (store_info(&report, store, err))
            return -1;
        report.problems = problems;
    } else if (count_all(&report.counts, store, &ignored)) {
        memset(&report.counts, 0, sizeof(report.counts));
    }
    *out = report;
    return 0;
}
