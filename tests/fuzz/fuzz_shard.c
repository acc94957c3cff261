// SPDX-License-Identifier: Apache-2.0
//
// A shard, as anyone may hand it in: a database file that is merged into a store. Whatever it says,
// the store is whole afterwards and all of it can be read; a shard that is refused leaves nothing.
//
// An input is a list of changes to a sound shard, see change(). Where they leave the first page and
// the pages of the schema as they are, verifying and attaching it would say what it said before,
// and those take most of a merge: such a shard is attached already, its pages are exchanged, and
// each statement is parsed once in the program's life (kept_statements.c). All others are files.
#include "baselines/statement.h"
#include "model/buffer.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/kept_statements.h"
#include "tests/fuzz/one_store.h"
#include "tests/fuzz/read_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 512, PAGES = 400, CHANGES = 12 };

// Has a row of each table.
__asm__(".section .rodata\nseed_begin: .incbin \"" SEED "\"\nseed_end: .previous");
extern unsigned char seed_begin[], seed_end[];

static struct store *store;
static uint8_t image[PAGE * PAGES];
static size_t image_size;
static bool of_schema[PAGES];
static size_t other_pages[PAGES], other_count;
static struct buffer empty; // a store's file

static void discard(void)
{
    buffer_free(&empty);
}

static void run(const char *sql)
{
    sqlite3_stmt *statement = kept_statement(store->db, sql);
    must(sqlite3_step(statement) == SQLITE_DONE, sqlite3_errmsg(store->db));
    kept_reset(statement);
}

static void put(const char *path, const void *bytes, size_t size)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, path);
}

// To make a store takes as long as ten merges.
static void keep_empty(void)
{
    char bytes[1 << 16];
    FILE *file = fopen(store_path(store), "rb");
    must(file, store_path(store));
    for (size_t count; (count = fread(bytes, 1, sizeof(bytes), file)) > 0;)
        buffer_add(&empty, bytes, count);
    must(fclose(file) == 0 && empty.length > PAGE && atexit(discard) == 0, "no empty store");
}

static void find_schema(void)
{
    sqlite3_stmt *row = kept_statement(
        store->db, "SELECT pageno - 1 FROM dbstat('shard') WHERE name = 'sqlite_schema'");
    while (sqlite3_step(row) == SQLITE_ROW)
        of_schema[sqlite3_column_int(row, 0)] = true;
    kept_reset(row);
    must(of_schema[0], "the schema is not found");
    for (size_t page = 0; page < image_size / PAGE; page++) {
        if (!of_schema[page])
            other_pages[other_count++] = page;
    }
}

// ---- what is changed

struct input {
    const uint8_t *at, *end;
};

static unsigned take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

// Behind the schema, unless it is said that it may be `anywhere`.
static size_t take_place(bool anywhere, struct input *in)
{
    const unsigned low = take(in), middle = take(in), high = take(in);
    const size_t at = (low | middle << 8 | high << 16) % image_size;
    return anywhere ? at : other_pages[at / PAGE % other_count] * PAGE + at % PAGE;
}

static void touch(bool *begins, size_t at, size_t size)
{
    for (size_t page = at / PAGE; page <= (at + size - 1) / PAGE; page++)
        *begins = *begins && !of_schema[page];
}

// HOW PLACE, a byte and 3, and other bytes; or a place that bytes come from and how many; or the
// file ends there. Whether it still begins as it did, in its size too.
static void change(bool *begins, size_t *size, struct input *in)
{
    const unsigned how = take(in);
    const bool anywhere = how >= 240;
    const size_t at = take_place(anywhere, in), left = image_size - at;
    if (how == 255) {
        *size = at;
        *begins = false;
    } else if (how % 4 == 0) {
        const size_t from = take_place(true, in), most = image_size - (from > at ? from : at);
        const size_t wanted = (take(in) + 1) * (how & 4 ? 2 : 1);
        memmove(image + at, image + from, wanted < most ? wanted : most);
        touch(begins, at, wanted < most ? wanted : most);
    } else {
        const size_t wanted = how / 4 % 16 + 1, count = wanted < left ? wanted : left;
        for (size_t i = 0; i < count; i++)
            image[at + i] = (uint8_t)take(in);
        touch(begins, at, count);
    }
}

// SQLite reads a file again whose count of changes is another, and believes the number of pages
// that was written with the same count.
static void count_change(void)
{
    static uint32_t count = 1000;
    count++;
    for (int i = 0; i < 4; i++)
        image[24 + i] = image[92 + i] = (uint8_t)(count >> (24 - 8 * i));
}

// ---- what is merged

static void check(struct store *merged)
{
    struct store_report report;
    struct error err;
    must(store_check(&report, merged, &err) == 0, err.text);
    must(report.problems == 0, report.first);
    read_store(merged);
}

static void stay_empty(struct store *merged)
{
    static const struct store_counts none;
    struct store_report report;
    struct error err;
    must(store_info(&report, merged, &err) == 0, err.text);
    must(memcmp(&report.counts, &none, sizeof(none)) == 0, "a shard left something");
}

// A pragma is parsed each time: as long as a merge takes, so one merge in 64 has it.
static void check_kept(void)
{
    static unsigned merged;
    int left, highest;
    must(sqlite3_db_status(store->db, SQLITE_DBSTATUS_DEFERRED_FKS, &left, &highest, 0) ==
                 SQLITE_OK &&
             left == 0,
         "a row refers to one that is not there");
    if (merged++ % 64 == 0) {
        sqlite3_stmt *row = kept_statement(store->db, "PRAGMA main.integrity_check");
        must(sqlite3_step(row) == SQLITE_ROW, sqlite3_errmsg(store->db));
        const char *said = (const char *)sqlite3_column_text(row, 0);
        must(strcmp(said, "ok") == 0, said);
        kept_reset(row);
    }
    read_store(store);
}

// A refusal may quote what a shard says, so it is read from its beginning.
static bool blames_shard(const char *text)
{
    static const char of_store[] = "merging shard: store ";
    return strncmp(text, of_store, strlen(of_store)) != 0 ||
           (!strstr(text, ": damaged (") && !strstr(text, ": out of memory"));
}

static bool merge_pages(void)
{
    struct error err;
    count_change();
    run("BEGIN");
    const bool merged = kept_merge(store, &err) == 0;
    if (merged)
        check_kept();
    else
        stay_empty(store);
    must(merged || blames_shard(err.text), err.text);
    // SQLite ends a transaction by itself after some faults.
    if (!sqlite3_get_autocommit(store->db))
        run("ROLLBACK");
    return merged;
}

static void merge_file(size_t size)
{
    const char *theirs = fuzz_path("theirs.db"), *ours = fuzz_path("ours.db");
    struct store *merged;
    struct error err;
    put(theirs, image, size);
    if (store_verify(theirs, &err))
        return; // as a merge does before all else
    put(ours, empty.bytes, empty.length);
    must(store_open(&merged, ours, STORE_WRITE, &err) == 0, err.text);
    if (store_merge(merged, theirs, NULL, &err) == 0)
        check(merged);
    else
        stay_empty(merged);
    store_close(merged);
}

static void begin(void)
{
    struct error err;
    image_size = (size_t)(seed_end - seed_begin);
    must(image_size <= sizeof(image), "a larger seed than there is room for");
    memcpy(image, seed_begin, image_size);
    store = one_store();
    keep_empty();
    run("ATTACH ':memory:' AS shard");
    must(sqlite3_deserialize(store->db, "shard", image, (sqlite3_int64)image_size,
                             (sqlite3_int64)image_size, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK,
         "the seed is no database");
    find_schema();
    must(kept_merge(store, &err) == 0, err.text);
    one_store_empty();
    // What is written into a page is what SQLite reads of it.
    for (size_t i = 0; i < other_count; i++)
        memset(image + other_pages[i] * PAGE, 0xff, PAGE);
    must(!merge_pages(), "a merge reads other pages than these");
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct input in = {bytes, bytes + size};
    bool begins = true;
    if (!store)
        begin();
    memcpy(image, seed_begin, image_size);
    size_t left = image_size;
    for (int i = 0; i < CHANGES && in.at < in.end; i++)
        change(&begins, &left, &in);
    if (begins)
        merge_pages();
    else
        merge_file(left);
}
