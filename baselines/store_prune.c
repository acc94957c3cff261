// SPDX-License-Identifier: Apache-2.0
//
// Making a store smaller. Deleting a row makes SQLite look for rows that refer to it, a whole scan
// where there is no index; so references are switched off, the order of the steps keeps them right,
// and they are checked before the end.
#include "baselines/store_open.h"

#include <assert.h>
#include <string.h>

static const char *const prune_steps[] = {
#define S(sql) sql,
#include "baselines/prune.inc"
#undef S
};
enum { SAMPLES_STEP = 3 }; // the step that is all of it when only samples go

static int run_sql(struct store *store, const char *sql, struct error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) ? store_fail(store, err) : 0;
}

static int choose(struct store *store, const struct prune_rule *rule, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    if (run_sql(store, "CREATE TEMP TABLE doomed (run_key INTEGER PRIMARY KEY)", err))
        return -1;
    int code = sqlite3_prepare_v2(store->db,
                                  "INSERT INTO doomed SELECT run_key FROM runs "
                                  "WHERE started_s < ? AND finished_s > 0",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, rule->before_s);
        code = sqlite3_step(statement);
    }
    int status = code == SQLITE_DONE ? 0 : store_fail(store, err);
    sqlite3_finalize(statement);
    return status;
}

// A kept run may show measurements of an older one: that one stays, and so do those it shows. Each
// run that stays is looked at once, however long the chain.
static int spare_referred(struct store *store, struct error *err)
{
    return run_sql(store,
                   "WITH RECURSIVE kept (run_key) AS (SELECT run_key FROM runs "
                   "WHERE run_key NOT IN (SELECT run_key FROM doomed) UNION "
                   "SELECT m.run_key FROM kept k CROSS JOIN results x ON x.run_key = k.run_key "
                   "AND x.reused = 1 CROSS JOIN measurements m "
                   "ON m.measurement_key IN (x.base_key, x.head_key)) "
                   "DELETE FROM doomed WHERE run_key IN (SELECT run_key FROM kept)",
                   err);
}

// The member that counts the rows of a step; NULL: they are not counted.
static int64_t *counter_of(struct store_counts *removed, const char *step)
{
    const struct {
        const char *begin;
        int64_t *counter;
    } counters[] = {
        {"DELETE FROM verdicts ", &removed->verdicts},
        {"DELETE FROM predictions ", &removed->predictions},
        {"DELETE FROM measurements ", &removed->measurements},
        {"DELETE FROM runs ", &removed->runs},
    };
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++) {
        if (strncmp(step, counters[i].begin, strlen(counters[i].begin)) == 0)
            return counters[i].counter;
    }
    return NULL;
}

static int delete_runs(struct store *store, struct store_counts *removed, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(prune_steps); i++) {
        int64_t *counter = counter_of(removed, prune_steps[i]);
        if (run_sql(store, prune_steps[i], err))
            return -1;
        if (counter)
            *counter = sqlite3_changes64(store->db);
    }
    sqlite3_stmt *row = statement_bind(store, SQL_FOREIGN_KEY_CHECK, NULL, 0);
    int status = statement_step(store, row, err);
    sqlite3_reset(row);
    return status > 0 ? store_damaged(store, "rows that refer to nothing", err) : status;
}

static int count_bytes(int64_t *out, struct store *store, struct error *err)
{
    return migration_pragma(out, store,
                            "SELECT ifnull(sum(length(s.packed)), 0) FROM samples s "
                            "CROSS JOIN measurements m ON m.measurement_key = s.measurement_key "
                            "WHERE m.run_key IN (SELECT run_key FROM doomed)",
                            err);
}

static int prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                 struct error *err)
{
    if (choose(store, rule, err) || (rule->runs && spare_referred(store, err)) ||
        count_bytes(&removed->samples_bytes, store, err))
        return -1;
    if (rule->runs)
        return delete_runs(store, removed, err);
    return run_sql(store, prune_steps[SAMPLES_STEP], err);
}

// Pages that are free are what the next runs are written to. Giving them back to the disk copies
// the whole file, and takes as much room again: only where much is free.
static int give_back(struct store *store, struct error *err)
{
    int64_t unused, pages;
    if (migration_pragma(&unused, store, "PRAGMA freelist_count", err) ||
        migration_pragma(&pages, store, "PRAGMA page_count", err) ||
        (unused > pages / 4 && run_sql(store, "VACUUM", err)))
        return -1;
    return run_sql(store, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

int store_prune(struct store *store, const struct prune_rule *rule, struct store_counts *removed,
                struct error *err)
{
    struct store_counts counts = {0};
    struct error ignored;
    assert(store->mode == STORE_WRITE && !store->batch);
    if (run_sql(store, "PRAGMA foreign_keys = OFF", err))
        return -1;
    int status = transaction_begin(store, err);
    if (status == 0) {
        status = prune(store, rule, &counts, err);
        bool keep = status == 0 && !rule->dry_run;
        int ended = transaction_end(store, keep ? 0 : -1, keep ? err : &ignored);
        status = keep ? ended : status;
    }
    sqlite3_exec(store->db, "DROP TABLE IF EXISTS temp.doomed; PRAGMA foreign_keys = ON", NULL,
                 NULL, NULL);
    if (status == 0 && !rule->dry_run)
        status = give_back(store, err);
    if (status == 0)
        *removed = counts;
    return status;
}
