// SPDX-License-Identifier: Apache-2.0
//
// What the rows of a shard may say: values of any type and size, rows that are missing or there
// twice, keys of nothing. fuzz_shard.c has the files; here no file is written, none is opened, and
// each statement is parsed once in the program's life (kept_statements.c), so that an input that is
// merged and read again takes a thirtieth of what it takes there. An input is a list of changes to
// a shard that has a row of each table, see change(). All of it, changes, merge and reading, is one
// transaction, which is rolled back.
#include "baselines/statement.h"
#include "model/base.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kept_statements.h"
#include "tests/fuzz/one_store.h"
#include "tests/fuzz/read_store.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { TABLES = 64, COLUMNS = 64, NAME = 40, CHANGES = 12, TEXT = 1 << 16 };

// The seed of fuzz_shard.c that has a row of each table.
__asm__(".section .rodata\nseed_begin: .incbin \"" SEED "\"\nseed_end: .previous");
extern unsigned char seed_begin[], seed_end[];

struct table {
    char name[NAME], columns[COLUMNS][NAME];
    size_t count;
};

static struct table tables[TABLES];
static size_t table_count;
static struct store *store;

static sqlite3_stmt *kept(const char *format, ...) __attribute__((format(printf, 1, 2)));

static sqlite3_stmt *kept(const char *format, ...)
{
    char sql[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sql, sizeof(sql), format, arguments);
    va_end(arguments);
    return kept_statement(store->db, sql);
}

static void run(const char *sql)
{
    sqlite3_stmt *statement = kept("%s", sql);
    must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(store->db));
    kept_reset(statement);
}

// ---- the shard

// The shard's own tables have its columns alone: a damaged file holds in them what no type, CHECK
// or key allows, but for a row's number.
static void add_table(const char *name)
{
    struct table *t = &tables[table_count++];
    char sql[4000];
    int used = snprintf(sql, sizeof(sql), "CREATE TABLE shard.%s (", name);
    must(table_count < TABLES && strlen(name) < NAME, "more tables than there is room for");
    strcpy(t->name, name);
    sqlite3_stmt *row = kept("SELECT name, pk = 1 AND type = 'INTEGER' AND (SELECT sum(pk) FROM "
                             "pragma_table_info('%s')) = 1 FROM pragma_table_info('%s')",
                             name, name);
    while (sqlite3_step(row) == SQLITE_ROW) {
        const char *column = (const char *)sqlite3_column_text(row, 0);
        must(t->count < COLUMNS && strlen(column) < NAME, "more columns than there is room for");
        strcpy(t->columns[t->count++], column);
        used += snprintf(sql + used, sizeof(sql) - (size_t)used, "%s%s%s", t->count > 1 ? ", " : "",
                         column, sqlite3_column_int(row, 1) ? " INTEGER PRIMARY KEY" : "");
    }
    kept_reset(row);
    snprintf(sql + used, sizeof(sql) - (size_t)used, ")");
    run(sql);
    snprintf(sql, sizeof(sql), "INSERT INTO shard.%s SELECT * FROM seed.%s", name, name);
    run(sql);
}

static void begin(void)
{
    char names[TABLES][NAME];
    size_t count = 0;
    struct error err;
    store = one_store();
    run("ATTACH ':memory:' AS seed");
    run("ATTACH ':memory:' AS shard");
    must(sqlite3_deserialize(store->db, "seed", seed_begin, seed_end - seed_begin,
                             seed_end - seed_begin, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK,
         "the seed is no database");
    sqlite3_stmt *row = kept("SELECT name FROM seed.sqlite_schema WHERE type = 'table' AND name "
                             "NOT LIKE 'sqlite%%'");
    while (sqlite3_step(row) == SQLITE_ROW && count < TABLES)
        snprintf(names[count++], NAME, "%s", (const char *)sqlite3_column_text(row, 0));
    kept_reset(row);
    for (size_t i = 0; i < count; i++)
        add_table(names[i]);
    run("DETACH seed");
    must(table_count > 0 && kept_merge(store, &err) == 0, err.text);
    one_store_empty();
}

// ---- what is changed

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static void take_bytes(void *out, size_t size, struct input *in)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)out)[i] = (uint8_t)take(in);
}

// A number near one that something ends at.
static int64_t take_number(struct input *in)
{
    static const int64_t ends[] = {0,          1,         INT32_MAX, UINT32_MAX,
                                   INT64_MAX,  INT64_MIN, 1 << 16,   253402300800,
                                   1700000000, 64,        1 << 20,   1000000000000000};
    return (int64_t)((uint64_t)ends[take(in) % ARRAY_COUNT(ends)] +
                     (uint64_t)(int64_t)(int8_t)take(in));
}

static double take_real(struct input *in)
{
    static const double reals[] = {0, -1, 0.5, NAN, INFINITY, -INFINITY, 1e308, 1e-308, 1e18};
    double real;
    if (take(in) % 2)
        return reals[take(in) % ARRAY_COUNT(reals)];
    take_bytes(&real, sizeof(real), in);
    return real;
}

static void bind_bytes(sqlite3_stmt *statement, bool text, const char *bytes, size_t size)
{
    if (text)
        sqlite3_bind_text(statement, 1, bytes, (int)size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(statement, 1, bytes, (int)size, SQLITE_TRANSIENT);
}

// What is there already, with a part of it another.
static void bind_changed(sqlite3_stmt *statement, sqlite3_stmt *old, struct input *in)
{
    char bytes[TEXT];
    const bool text = sqlite3_column_type(old, 0) != SQLITE_BLOB;
    const void *is = text ? sqlite3_column_text(old, 0) : sqlite3_column_blob(old, 0);
    size_t size = (size_t)sqlite3_column_bytes(old, 0);
    size = size < TEXT / 2 ? size : TEXT / 2;
    if (size)
        memcpy(bytes, is, size);
    const unsigned how = take(in);
    const size_t at = size ? take(in) * (how & 1 ? 1 : 97) % size : 0;
    if (how & 2)
        size = at;
    else if (how & 4 && size)
        take_bytes(bytes + at, 1, in);
    else
        for (unsigned more = take(in) % 32; more > 0; more--)
            take_bytes(bytes + size++, 1, in);
    bind_bytes(statement, text == !(how & 8), bytes, size);
}

static void bind_word(sqlite3_stmt *statement, struct input *in)
{
    static const char *const words[] = {"",
                                        " ",
                                        "same",
                                        "slower",
                                        "ok",
                                        "4x4x4:fp32",
                                        "\033[31m",
                                        "a\nb",
                                        "<b>&\"'",
                                        "\xff\xfe",
                                        "aa",
                                        "kernel",
                                        "{}",
                                        "* * *",
                                        "dram_bps",
                                        "base",
                                        "head",
                                        "host",
                                        "0123456789abcdef0123456789abcdef"};
    const char *word = words[take(in) % ARRAY_COUNT(words)];
    bind_bytes(statement, true, word, strlen(word));
}

static void bind_long(sqlite3_stmt *statement, struct input *in)
{
    char bytes[TEXT];
    const size_t size = (take(in) + 1) * 255;
    memset(bytes, (int)take(in), size);
    bind_bytes(statement, take(in) % 2, bytes, size);
}

// `old`: a row with the value that is there.
static void bind_value(sqlite3_stmt *statement, sqlite3_stmt *old, struct input *in)
{
    switch (take(in) % 12) {
    case 0:
        sqlite3_bind_null(statement, 1);
        break;
    case 1:
        sqlite3_bind_int64(statement, 1, take_number(in));
        break;
    case 2:
        sqlite3_bind_double(statement, 1, take_real(in));
        break;
    case 3:
        bind_word(statement, in);
        break;
    case 4:
        bind_long(statement, in);
        break;
    case 5:
    case 6:
        bind_changed(statement, old, in);
        break;
    case 7:
        sqlite3_bind_double(statement, 1, sqlite3_column_double(old, 0) * (int8_t)take(in) / 8);
        break;
    default:
        sqlite3_bind_int64(statement, 1,
                           (int64_t)((uint64_t)sqlite3_column_int64(old, 0) +
                                     (uint64_t)(int64_t)(int8_t)take(in)));
    }
}

// One value of one row, or of all.
static void set(const struct table *t, const char *column, unsigned row, bool all, struct input *in)
{
    sqlite3_stmt *old = kept("SELECT %s FROM shard.%s LIMIT 1 OFFSET ?", column, t->name);
    sqlite3_bind_int(old, 1, (int)row);
    if (sqlite3_step(old) == SQLITE_ROW) {
        sqlite3_stmt *update =
            all ? kept("UPDATE OR REPLACE shard.%s SET %s = ?", t->name, column)
                : kept("UPDATE OR REPLACE shard.%s SET %s = ?1 WHERE rowid = (SELECT rowid FROM "
                       "shard.%s LIMIT 1 OFFSET ?2)",
                       t->name, column, t->name);
        bind_value(update, old, in);
        if (!all)
            sqlite3_bind_int(update, 2, (int)row);
        kept_reset(old);
        sqlite3_step(update); // a number of a row that is none is refused
        kept_reset(update);
    } else {
        kept_reset(old);
    }
}

// A row once more, with a number of its own.
static void twice(const struct table *t, unsigned row)
{
    sqlite3_stmt *insert = kept("INSERT OR IGNORE INTO shard.%s SELECT * FROM shard.%s LIMIT 1 "
                                "OFFSET ?",
                                t->name, t->name);
    sqlite3_bind_int(insert, 1, (int)row);
    sqlite3_step(insert);
    kept_reset(insert);
}

// TABLE COLUMN ROW HOW, a byte each, and a value where one is set.
static void change(struct input *in)
{
    const struct table *t = &tables[take(in) % table_count];
    const char *column = t->columns[take(in) % t->count];
    const unsigned row = take(in) % 4, how = take(in) % 16;
    if (how == 0) {
        twice(t, row);
    } else if (how < 3) {
        sqlite3_stmt *gone = kept("DELETE FROM shard.%s WHERE rowid = (SELECT rowid FROM shard.%s "
                                  "LIMIT 1 OFFSET ?)",
                                  t->name, t->name);
        sqlite3_bind_int(gone, 1, (int)row);
        must(sqlite3_step(gone) == SQLITE_DONE, sqlite3_errmsg(store->db));
        kept_reset(gone);
    } else {
        set(t, column, row, how == 3, in);
    }
}

// A pragma is parsed each time: as long as a merge takes, so one merge in 64 has it.
static void check(void)
{
    static unsigned merged;
    int left, highest;
    must(sqlite3_db_status(store->db, SQLITE_DBSTATUS_DEFERRED_FKS, &left, &highest, 0) ==
                 SQLITE_OK &&
             left == 0,
         "a row refers to one that is not there");
    if (merged++ % 64 == 0) {
        sqlite3_stmt *row = kept("PRAGMA main.foreign_key_check");
        must(sqlite3_step(row) == SQLITE_DONE, "a row refers to one that is not there");
        kept_reset(row);
    }
    read_store(store);
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    static const struct store_counts none;
    struct store_report report;
    struct input in = {bytes, bytes + size};
    struct error err;
    if (!store)
        begin();
    run("BEGIN");
    for (int i = 0; i < CHANGES && in.at < in.end; i++)
        change(&in);
    if (kept_merge(store, &err) == 0) {
        check();
    } else {
        must(store_info(&report, store, &err) == 0, err.text);
        must(memcmp(&report.counts, &none, sizeof(none)) == 0, "a shard left something");
    }
    run("ROLLBACK");
}
