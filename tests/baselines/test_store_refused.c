// SPDX-License-Identifier: Apache-2.0
//
// Files that are no store, or not one as it should be: refused with a reason, never believed.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void expect_refused(const char *path, enum store_mode mode, const char *part)
{
    struct error err = {0};
    struct store *store = NULL;
    assert_int_equal(store_open(&store, path, mode, &err), -1);
    assert_null(store);
    if (!strstr(err.text, part) || !strstr(err.text, path) || strchr(err.text, '\n'))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

AROUND_EACH(open_store_set_up_none, open_store_tear_down);

TEST(what_is_no_store_is_refused_with_a_reason)
{
    struct open_store *f = *state;
    char junk[8192];
    memset(junk, 'x', sizeof(junk));
    expect_refused(f->path, STORE_READ, "there is none yet");
    expect_refused(f->folder, STORE_READ, "is a directory");
    expect_refused(f->folder, STORE_WRITE, "is a directory");
    expect_refused("/dev/null", STORE_WRITE, "not a plain file");
    expect_refused("/proc/none/such/store.db", STORE_WRITE, "cannot make its folder");
    helper_write(f->path, junk, sizeof(junk));
    expect_refused(f->path, STORE_READ, "is no store");
    expect_refused(f->path, STORE_WRITE, "is no store");
    helper_write(f->path, "short", 5);
    expect_refused(f->path, STORE_WRITE, "is no store");
    size_t size;
    char *after = helper_read(f->path, &size);
    assert_int_equal(size, 5); // someone's file is left alone
    assert_memory_equal(after, "short", 5);
    free(after);
}

// A rollback journal whose end names a file above it, which SQLite deletes after undoing it.
static void write_journal(const char *store, const char *leader)
{
    static const unsigned char mark[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    // No pages, of a file of one sector of 512 bytes a header and 8192 bytes a page.
    unsigned char head[512] = {0}, number[12] = {0};
    const size_t length = strlen(leader);
    uint32_t sum = 0;
    memcpy(head, mark, sizeof(mark));
    head[22] = 2;
    head[26] = 0x20;
    for (size_t i = 0; i < length; i++)
        sum += (unsigned char)leader[i];
    // The page of the locks, then the name, its length and its sum.
    const uint32_t lock_page = 0x40000000 / 8192 + 1;
    for (int i = 0; i < 4; i++) {
        number[i] = (unsigned char)(lock_page >> (24 - 8 * i));
        number[4 + i] = (unsigned char)(length >> (24 - 8 * i));
        number[8 + i] = (unsigned char)(sum >> (24 - 8 * i));
    }
    char *path = xprintf("%s-journal", store);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(head, 1, sizeof(head), file);
    fwrite(number, 1, 4, file);
    fwrite(leader, 1, length, file);
    fwrite(number + 4, 1, 8, file);
    fwrite(mark, 1, sizeof(mark), file);
    fclose(file);
    free(path);
}

TEST(journal_that_names_another_file_is_refused)
{
    struct open_store *f = *state;
    char *other = xprintf("%s/precious", f->folder), *journal = xprintf("%s-journal", f->path);
    save_runs_at(f->path, 0);
    helper_write(other, "precious", 8);
    write_journal(f->path, other);
    expect_refused(f->path, STORE_WRITE, "is no journal of plumb's");
    expect_refused(f->path, STORE_READ, "is no journal of plumb's");
    assert_int_equal(access(other, F_OK), 0);
    // A journal of a file of our own is undone.
    helper_write(journal, "", 0);
    store_close(scratch_store(f->path, STORE_WRITE));
    assert_int_equal(unlink(other), 0);
    free(journal);
    free(other);
}

TEST(database_of_another_program_is_refused)
{
    struct open_store *f = *state;
    run_sql(f->path, "CREATE TABLE theirs (x)");
    expect_refused(f->path, STORE_WRITE, "another program");
    run_sql(f->path, "PRAGMA application_id = 77; DROP TABLE theirs");
    expect_refused(f->path, STORE_WRITE, "another program");
}

TEST(newer_version_is_refused_with_both_numbers)
{
    struct open_store *f = *state;
    struct store_report report;
    struct error err;
    save_runs_at(f->path, 0);
    struct store *store = scratch_store(f->path, STORE_READ);
    assert_int_equal(store_info(&report, store, &err), 0);
    store_close(store);
    run_sql(f->path, arena_printf(&f->arena, "PRAGMA user_version = %d", report.version + 1));
    const char *said = arena_printf(&f->arena, "is version %d, this plumb knows %d",
                                    report.version + 1, report.version);
    expect_refused(f->path, STORE_READ, said);
    expect_refused(f->path, STORE_WRITE, said);
}

TEST(older_version_is_brought_up_by_a_writer_only)
{
    struct open_store *f = *state;
    run_sql(f->path, "PRAGMA application_id = 1886156141"); // ours, no migration applied yet
    expect_refused(f->path, STORE_READ, "is version 0");
    save_runs_at(f->path, 2);
    struct store *store = scratch_store(f->path, STORE_READ);
    store_close(store);
}

TEST(foreign_schema_is_never_run)
{
    struct open_store *f = *state;
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE extra (x)",
        "DROP TABLE epochs",
        ("DROP TABLE epochs; CREATE VIEW epochs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL "
         "SELECT x + 1 FROM c) SELECT x FROM c"),
        "DROP INDEX measurements_history",
        "ALTER TABLE texts ADD COLUMN more TEXT",
    };
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        save_runs_at(f->path, 1);
        run_sql(f->path, changes[i]);
        expect_refused(f->path, STORE_READ, "its tables are not those");
        expect_refused(f->path, STORE_WRITE, "its tables are not those");
        unlink(f->path);
    }
    save_runs_at(f->path, 1);
    run_sql(f->path, "ANALYZE"); // harmless, and a thing people do
    store_close(scratch_store(f->path, STORE_WRITE));
}

TEST(values_of_another_origin_are_refused_when_read)
{
    struct open_store *f = *state;
    static const char *const changes[] = {
        "UPDATE samples SET packed = x'02'",
        "UPDATE samples SET packed = zeroblob(1000000)",
        "UPDATE measurements SET samples = 3",
        "UPDATE problems SET problem = '0x0x0' WHERE problem_key = 2",
        "UPDATE predictions SET bound = 'gravity'",
        "UPDATE predictions SET parts = '{'",
        "UPDATE codes SET traits = '[['",
        "UPDATE verdicts SET cause = 'fate'",
        "UPDATE commits SET commit_id = printf('%.64c', 'a') || commit_id",
        "UPDATE run_devices SET position = position + 70",
        "UPDATE run_devices SET position = -1",
        "DELETE FROM run_devices",
    };
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        struct error err = {0};
        save_runs_at(f->path, 2);
        const char *sql = arena_printf(
            &f->arena, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF; %s",
            changes[i]);
        run_sql(f->path, sql);
        struct store *store = scratch_store(f->path, STORE_READ);
        if (load_everything(store, &err) == 0)
            fail_msg("accepted after %s", changes[i]);
        assert_null(strchr(err.text, '\n'));
        store_close(store);
        unlink(f->path);
    }
}

// Whatever bytes of the file are changed: an answer or one line, never a crash.
TEST(flipped_bytes_never_crash)
{
    struct open_store *f = *state;
    uint64_t seed = 11;
    size_t size, refused = 0, failed = 0, found = 0;
    save_runs_at(f->path, 12);
    char *good = helper_read(f->path, &size);
    for (int round = 0; round < 150; round++) {
        struct error err = {0};
        struct store *store = NULL;
        struct store_report report = {0};
        char *bad = xcalloc(size, 1);
        memcpy(bad, good, size);
        for (uint64_t flips = 1 + draw_bits(&seed) % 64; flips > 0; flips--)
            bad[draw_bits(&seed) % size] = (char)draw_bits(&seed);
        size_t kept = round % 5 ? size : draw_bits(&seed) % size;
        helper_write(f->path, bad, kept);
        if (store_open(&store, f->path, STORE_READ, &err)) {
            refused++;
        } else {
            failed += load_everything(store, &err) != 0;
            if (store_check(&report, store, &err) == 0)
                found += report.problems > 0;
            store_close(store);
        }
        assert_null(strchr(err.text, '\n'));
        free(bad);
    }
    free(good);
    assert_true(refused > 5 && failed > 5 && found > 5);
}

TEST(check_finds_damage_and_passes_a_sound_store)
{
    struct open_store *f = *state;
    struct store_report report;
    struct error err;
    static const char *const damage[] = {
        "UPDATE samples SET packed = x'01' WHERE measurement_key = 2",
        "PRAGMA foreign_keys = OFF; DELETE FROM kernels WHERE kernel_key = 1",
        "PRAGMA foreign_keys = OFF; DELETE FROM measurements WHERE measurement_key = 3",
        ("PRAGMA ignore_check_constraints = ON; UPDATE measurements SET role = 5 "
         "WHERE measurement_key = 1"),
    };
    save_runs_at(f->path, 3);
    struct store *store = scratch_store(f->path, STORE_READ);
    assert_int_equal(store_check(&report, store, &err), 0);
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.counts.runs, 3);
    store_close(store);
    for (size_t i = 0; i < ARRAY_COUNT(damage); i++) {
        unlink(f->path);
        save_runs_at(f->path, 3);
        run_sql(f->path, damage[i]);
        store = scratch_store(f->path, STORE_READ);
        assert_int_equal(store_check(&report, store, &err), 0);
        if (report.problems == 0 || !report.first[0])
            fail_msg("not found: %s", damage[i]);
        store_close(store);
    }
}

TEST(odd_names_are_only_names)
{
    struct open_store *f = *state;
    static const char *const names[] = {"a?mode=memory", "b%41#c", "d e'f\"g", "\xc3\xa4.db"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct stat info;
        const char *path = scratch_path(&f->arena, f->folder, names[i]);
        store_close(scratch_store(path, STORE_WRITE));
        assert_int_equal(stat(path, &info), 0);
        store_close(scratch_store(path, STORE_READ));
    }
}
