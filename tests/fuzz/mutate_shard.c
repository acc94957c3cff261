// SPDX-License-Identifier: Apache-2.0
//
// Changes a few values and rows of a shard by SQL, past its CHECKs and foreign keys, so that it is
// still a store of ours and says something that no store of ours says.
#include "model/base.h"
#include "tests/fuzz/fuzz.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static size_t draw(size_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? (size_t)(state >> 33) % below : 0;
}

// The first column of one row, drawn, of what is selected; false: there is none.
static bool draw_text(char out[64], sqlite3 *db, const char *from)
{
    sqlite3_stmt *row = NULL;
    char sql[400];
    bool found = false;
    snprintf(sql, sizeof(sql),
             "SELECT name FROM %s LIMIT 1 OFFSET %zu %% max(1, (SELECT count(*) FROM %s))", from,
             draw(1 << 20), from);
    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK &&
        sqlite3_step(row) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(row, 0);
        found = text && strlen(text) < 64;
        if (found)
            strcpy(out, text);
    }
    sqlite3_finalize(row);
    return found;
}

// Of a column c and a table t.
static const char *const values[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "253402300800",
    "9e999",
    "-9e999",
    "1e308",
    "1e-308",
    "-0.5",
    "''",
    "' '",
    "char(27) || '[31m'",
    "'a' || char(10) || 'b'",
    "CAST(x'ff41' AS TEXT)",
    "CAST(x'410042' AS TEXT)",
    "'<script>&\"'",
    "printf('%.300c', 'x')",
    "printf('%.70000c', '1')",
    "'same'",
    "'ok'",
    "'4x4x4:fp32'",
    "'99999999999x1x1:fp32'",
    "x''",
    "x'01'",
    "zeroblob(70000)",
    "%1$s + 1",
    "%1$s * -1",
    "%1$s * 2",
    "%1$s || 'x'",
    "%1$s || %1$s",
    "substr(%1$s, 2)",
    "substr(%1$s, 1, length(%1$s) - 1)",
    "(SELECT max(%1$s) FROM %2$s)",
    "(SELECT min(%1$s) FROM %2$s)",
    "CAST(substr(%1$s, 1, %3$zu) || x'%4$02zx' || substr(%1$s, %3$zu + 2) AS BLOB)",
    "CAST(CAST(substr(%1$s, 1, %3$zu) || x'%4$02zx' || substr(%1$s, %3$zu + 2) AS BLOB) AS TEXT)",
};

// A statement of a table and one of its columns. Some fail, as a table's types or keys have it.
static void edit(sqlite3 *db)
{
    char table[64], column[64], columns[100], sql[1200], value[500];
    if (!draw_text(table, db, "sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"))
        return;
    snprintf(columns, sizeof(columns), "pragma_table_info('%s')", table);
    if (!draw_text(column, db, columns))
        return;
    const size_t which = draw(ARRAY_COUNT(values)), kind = draw(8), at = draw(60), byte = draw(256);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(value, sizeof(value), values[which], column, table, at, byte);
#pragma GCC diagnostic pop
    if (kind == 0)
        snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s = (SELECT max(%s) FROM %s)", table,
                 column, column, table);
    else if (kind == 1)
        snprintf(sql, sizeof(sql), "DELETE FROM %s", table);
    else if (kind < 5)
        snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET %s = %s", table, column, value);
    else
        snprintf(sql, sizeof(sql),
                 "UPDATE OR REPLACE %s SET %s = %s WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET "
                 "%zu %% max(1, (SELECT count(*) FROM %s)))",
                 table, column, value, column, column, table, at, table);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
}

size_t fuzz_mutate(uint8_t *bytes, size_t size, size_t room, uint64_t seed)
{
    sqlite3 *db = NULL;
    sqlite3_int64 made = 0;
    state = seed;
    unsigned char *own = sqlite3_malloc64(size + 1);
    if (!own || sqlite3_open(":memory:", &db) != SQLITE_OK) {
        sqlite3_free(own);
        goto done;
    }
    memcpy(own, bytes, size);
    if (sqlite3_deserialize(db, "main", own, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE))
        goto done;
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON; BEGIN", NULL, NULL, NULL);
    for (size_t n = 1 + draw(3); n > 0; n--)
        edit(db);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto done;
    const unsigned char *changed = sqlite3_serialize(db, "main", &made, SQLITE_SERIALIZE_NOCOPY);
    if (changed && made > 0 && (size_t)made <= room)
        memcpy(bytes, changed, (size_t)made);
    else
        made = 0;
done:
    sqlite3_close(db);
    return (size_t)made;
}
