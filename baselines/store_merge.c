// SPDX-License-Identifier: Apache-2.0
//
// Joining shards. The steps are in merge.inc; here is what surrounds them: the shard is checked
// like any store before its rows are read, and each value of it; what it says of runs that are
// known must be what is known; what was merged must be readable; all steps are one transaction, and
// what merging made for itself is gone afterwards.
#include "baselines/event.h"
#include "baselines/fields.h"
#include "baselines/link.h"
#include "baselines/statement.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const merge_steps[] = {
#define S(sql) sql,
#include "baselines/merge.inc"
#undef S
};

static const char *const merge_maps[] = {"text",  "commit", "device",     "kernel",
                                         "model", "code",   "series",     "build",
                                         "known", "run",    "measurement"};

static int run_sql(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

static int check_shard(const struct store *store, const char *path, struct error *err)
{
    struct stat ours, theirs;
    if (store_verify(path, err))
        return -1;
    if (stat(store->path, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
        ours.st_ino == theirs.st_ino)
        return error_set(err, "store %s: is the store it shall be merged into", path);
    return 0;
}

static int attach(struct store *store, const char *path, struct error *err)
{
    char *uri = store_uri(path, "?mode=ro");
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(store->db, "ATTACH ? AS shard", -1, &statement, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, uri, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    free(uri);
    if (code == SQLITE_DONE)
        return 0;
    if (store_limit(store->db))
        return error_set(err, "store %s: %s", path, store_limit(store->db));
    return error_set(err,
                     "store %s: cannot be attached (%s); copy it to a folder that can be written",
                     path, sqlite3_errmsg(store->db));
}

// The member that counts the rows of a step; NULL: they are not counted.
static int64_t *counter_of(struct store_counts *counts, const char *step)
{
    const struct {
        const char *table;
        int64_t *counter;
    } counters[] = {
        {"runs ", &counts->runs},
        {"commits ", &counts->commits},
        {"builds ", &counts->builds},
        {"series ", &counts->series},
        {"measurements ", &counts->measurements},
        {"predictions ", &counts->predictions},
        {"verdicts ", &counts->verdicts},
        {"profiles ", &counts->profiles},
        {"epochs ", &counts->epochs},
    };
    static const char insert[] = "INSERT INTO main.";
    if (strncmp(step, insert, strlen(insert)) != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++) {
        if (strncmp(step + strlen(insert), counters[i].table, strlen(counters[i].table)) == 0)
            return counters[i].counter;
    }
    return NULL;
}

// Conditions that must not hold after a merge. A query says by EXISTS that one does.
static const struct {
    const char *sql, *what;
} refusals[] = {
    // A uid is drawn at random: who knows it has seen the run, and may say other things of it.
    {"SELECT EXISTS (SELECT 1 FROM map_known k JOIN shard.runs s ON s.run_key = k.theirs "
     "JOIN main.runs m ON m.run_key = k.ours LEFT JOIN map_text t ON t.theirs = s.tool_key "
     "LEFT JOIN map_text o ON o.theirs = s.repository_key "
     "LEFT JOIN map_text p ON p.theirs = s.policy_key "
     "LEFT JOIN map_commit b ON b.theirs = s.base_commit_key "
     "LEFT JOIN map_commit h ON h.theirs = s.head_commit_key "
     "WHERE s.kind <> m.kind OR s.started_s <> m.started_s OR t.ours IS NOT m.tool_key "
     "OR o.ours IS NOT m.repository_key OR p.ours IS NOT m.policy_key "
     "OR b.ours IS NOT m.base_commit_key OR h.ours IS NOT m.head_commit_key "
     "OR (SELECT ours FROM map_text WHERE theirs = s.base_toolchain_key) "
     "IS NOT m.base_toolchain_key OR (SELECT ours FROM map_text "
     "WHERE theirs = s.head_toolchain_key) IS NOT m.head_toolchain_key)",
     "it has a run that is here with another beginning"},
    {"SELECT EXISTS (SELECT 1 FROM map_known k JOIN shard.measurements x ON x.run_key = k.theirs "
     "JOIN map_series s ON s.theirs = x.series_key JOIN map_commit c ON c.theirs = x.commit_key "
     "LEFT JOIN map_code d ON d.theirs = x.code_key "
     "LEFT JOIN main.measurements m ON m.run_key = k.ours AND m.series_key = s.ours "
     "AND m.role = x.role WHERE CASE WHEN m.run_key IS NULL THEN k.finished ELSE "
     "m.state <> x.state OR m.time_ns IS NOT x.time_ns OR m.samples <> x.samples "
     "OR m.seed <> x.seed OR m.commit_key <> c.ours OR m.code_key IS NOT d.ours END)",
     "it adds measurements to a run that is here and finished, or has others than are here"},
    // Two runs of one uid would be one, with results of devices that it was not on. CROSS JOIN
    // goes from the shard's runs to their results, and not through all results of the store.
    {"SELECT EXISTS (SELECT 1 FROM map_run r CROSS JOIN main.results x ON x.run_key = r.ours "
     "CROSS JOIN main.series s ON s.series_key = x.series_key WHERE NOT EXISTS (SELECT 1 "
     "FROM run_devices v WHERE v.run_key = x.run_key AND v.device_key = s.device_key))",
     "it has results of a device that their run was not on"},
};

static int check_known(struct store *store, const char *path, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < ARRAY_COUNT(refusals); i++) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(store->db, refusals[i].sql, -1, &statement, NULL);
        if (code == SQLITE_OK)
            code = sqlite3_step(statement);
        status = code == SQLITE_ROW ? 0 : store_fail(store, err);
        if (status == 0 && sqlite3_column_int(statement, 0))
            status = error_set(err, "merging %s: %s; nothing was merged", path, refusals[i].what);
        sqlite3_finalize(statement);
    }
    return status;
}

static int check_run(struct store *store, int64_t run_id, struct error *err)
{
    struct run run;
    if (store_load_run(&run, store, run_id, err))
        return -1;
    run_free(&run);
    return 0;
}

static int read_runs(struct store *store, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, "SELECT ours FROM map_run", -1, &row, NULL);
    int status = code == SQLITE_OK ? 0 : store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        status = check_run(store, sqlite3_column_int64(row, 0), err);
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    return status;
}

// Each value may be in range and the whole still be what no reader takes. It would stay for good
// and everything that reads its run, a series' links or the events would fail, so it is read before
// it is ours. Links beyond `link` are the shard's.
static int check_readable(struct store *store, const char *path, int64_t link, struct error *err)
{
    struct arena arena = {0};
    struct link *links;
    struct error why;
    size_t count;
    const bool readable = read_runs(store, &why) == 0 &&
                          store_links_beyond(&links, &count, store, link, &arena, &why) == 0;
    arena_free(&arena);
    if (readable)
        return 0;
    return error_set(err, "merging %s: nothing was merged, for with it one would read: %s", path,
                     why.text);
}

static int check_values(struct store *store, const char *path, struct error *err)
{
    struct error why;
    return range_check(store, "shard", &why)
               ? error_set(err, "merging %s: %s; nothing was merged", path, why.text)
               : 0;
}

static int run_steps(struct store *store, const char *path, struct store_counts *added,
                     struct error *err)
{
    struct error why;
    int64_t link, code;
    if (check_values(store, path, err) || store_newest_of_links(&link, &code, store, err))
        return -1;
    for (size_t i = 0; i < ARRAY_COUNT(merge_steps); i++) {
        int64_t *counter = counter_of(added, merge_steps[i]);
        if (run_sql(store, merge_steps[i], &why))
            return error_set(err, "merging %s: %s", path, why.text);
        if (counter)
            *counter += sqlite3_changes64(store->db);
    }
    return check_known(store, path, err) || check_readable(store, path, link, err) ? -1 : 0;
}

// SQLite does not say in which file it met a fault, and a record of the shard that claims gigabytes
// is want of memory to it. So the shard is asked before anything is said of the store.
static int blame(struct store *store, const char *path, struct error *err)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(store->db, "PRAGMA shard.integrity_check(1)", -1, &row, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(row);
    const char *said =
        code == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : sqlite3_errmsg(store->db);
    const char *line = said ? strrchr(said, '\n') : NULL; // below its title
    if (code == SQLITE_ROW ? said && strcmp(said, "ok") != 0
                           : code == SQLITE_CORRUPT || code == SQLITE_IOERR)
        error_set(err,
                  "merging %s: it cannot be read whole (%s); make it again or restore a copy; "
                  "nothing was merged",
                  path, line ? line + 1 : said);
    sqlite3_finalize(row);
    return -1;
}

static bool met_fault(struct store *store)
{
    switch (sqlite3_errcode(store->db)) {
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
        return true;
    default:
        return false;
    }
}

static void drop_maps(struct store *store)
{
    for (size_t i = 0; i < ARRAY_COUNT(merge_maps); i++) {
        char *sql = xprintf("DROP TABLE IF EXISTS temp.map_%s", merge_maps[i]);
        sqlite3_exec(store->db, sql, NULL, NULL, NULL);
        free(sql);
    }
}

int store_merge(struct store *store, const char *shard, struct store_counts *added,
                struct error *err)
{
    struct store_counts counts = {0};
    assert(store->mode == STORE_WRITE && !store->batch);
    if (check_shard(store, shard, err) || attach(store, shard, err))
        return -1;
    int status = transaction_begin(store, err);
    if (status == 0) {
        status = run_steps(store, shard, &counts, err);
        const bool fault = status && met_fault(store);
        status = transaction_end(store, status, err);
        if (fault)
            status = blame(store, shard, err);
    }
    drop_maps(store);
    sqlite3_exec(store->db, "DETACH shard", NULL, NULL, NULL);
    if (status == 0 && added)
        *added = counts;
    return status;
}
