// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong with a store: files that are not one, locks, full disks, kills, hostile files.
#include "tests/helper_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    char *folder;
    struct arena arena;
    const char *path;
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->folder = scratch_make();
    f->path = scratch_path(&f->arena, f->folder, "store.db");
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    scratch_remove(f->folder);
    arena_free(&f->arena);
    free(f);
    return 0;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const char *path, size_t *size)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    *size = (size_t)info.st_size;
    char *bytes = xcalloc(*size, 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void expect_refused(const char *path, enum store_mode mode, const char *part)
{
    struct error err = {0};
    struct store *store = NULL;
    assert_int_equal(store_open(&store, path, mode, &err), -1);
    assert_null(store);
    if (!strstr(err.text, part) || !strstr(err.text, path) || strchr(err.text, '\n'))
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s: %s", sql, why);
    sqlite3_close(db);
}

static void make_store(struct fixture *f, unsigned runs)
{
    struct error err;
    struct store *store = scratch_store(f->path, STORE_WRITE);
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

static void what_is_no_store_is_refused_with_a_reason(void **state)
{
    struct fixture *f = *state;
    char junk[8192];
    memset(junk, 'x', sizeof(junk));
    expect_refused(f->path, STORE_READ, "there is none yet");
    expect_refused(f->folder, STORE_READ, "is a directory");
    expect_refused(f->folder, STORE_WRITE, "is a directory");
    expect_refused("/dev/null", STORE_WRITE, "not a plain file");
    expect_refused("/proc/none/such/store.db", STORE_WRITE, "cannot make its folder");
    write_file(f->path, junk, sizeof(junk));
    expect_refused(f->path, STORE_READ, "damaged");
    expect_refused(f->path, STORE_WRITE, "damaged");
    write_file(f->path, "short", 5);
    expect_refused(f->path, STORE_WRITE, "damaged");
    size_t size;
    char *after = read_file(f->path, &size);
    assert_int_equal(size, 5); // someone's file is left alone
    assert_memory_equal(after, "short", 5);
    free(after);
}

static void database_of_another_program_is_refused(void **state)
{
    struct fixture *f = *state;
    run_sql(f->path, "CREATE TABLE theirs (x)");
    expect_refused(f->path, STORE_WRITE, "another program");
    run_sql(f->path, "PRAGMA application_id = 77; DROP TABLE theirs");
    expect_refused(f->path, STORE_WRITE, "another program");
}

static void newer_version_is_refused_with_both_numbers(void **state)
{
    struct fixture *f = *state;
    struct store_report report;
    struct error err;
    make_store(f, 0);
    struct store *store = scratch_store(f->path, STORE_READ);
    assert_int_equal(store_info(&report, store, &err), 0);
    store_close(store);
    run_sql(f->path, arena_printf(&f->arena, "PRAGMA user_version = %d", report.version + 1));
    const char *said = arena_printf(&f->arena, "is version %d, this plumb knows %d",
                                    report.version + 1, report.version);
    expect_refused(f->path, STORE_READ, said);
    expect_refused(f->path, STORE_WRITE, said);
}

static void older_version_is_brought_up_by_a_writer_only(void **state)
{
    struct fixture *f = *state;
    run_sql(f->path, "PRAGMA application_id = 1886156141"); // ours, no migration applied yet
    expect_refused(f->path, STORE_READ, "is version 0");
    make_store(f, 2);
    struct store *store = scratch_store(f->path, STORE_READ);
    store_close(store);
}

static void foreign_schema_is_never_run(void **state)
{
    struct fixture *f = *state;
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
        make_store(f, 1);
        run_sql(f->path, changes[i]);
        expect_refused(f->path, STORE_READ, "its tables are not those");
        expect_refused(f->path, STORE_WRITE, "its tables are not those");
        unlink(f->path);
    }
    make_store(f, 1);
    run_sql(f->path, "ANALYZE"); // harmless, and a thing people do
    store_close(scratch_store(f->path, STORE_WRITE));
}

static int load_everything(struct store *store, struct error *err)
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
            struct history history;
            status = store_history(&history, store, &s, &query, &run.arena, err);
        }
        if (loaded)
            run_free(&run);
    }
    arena_free(&arena);
    return status;
}

static void values_of_another_origin_are_refused_when_read(void **state)
{
    struct fixture *f = *state;
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
        make_store(f, 2);
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
static void flipped_bytes_never_crash(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = 11;
    size_t size, refused = 0, failed = 0, found = 0;
    make_store(f, 3);
    char *good = read_file(f->path, &size);
    for (int round = 0; round < 150; round++) {
        struct error err = {0};
        struct store *store = NULL;
        struct store_report report = {0};
        char *bad = xcalloc(size, 1);
        memcpy(bad, good, size);
        for (uint64_t flips = 1 + draw_bits(&seed) % 64; flips > 0; flips--)
            bad[draw_bits(&seed) % size] = (char)draw_bits(&seed);
        size_t kept = round % 5 ? size : draw_bits(&seed) % size;
        write_file(f->path, bad, kept);
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

static void check_finds_damage_and_passes_a_sound_store(void **state)
{
    struct fixture *f = *state;
    struct store_report report;
    struct error err;
    static const char *const damage[] = {
        "UPDATE samples SET packed = x'01' WHERE measurement_key = 2",
        "PRAGMA foreign_keys = OFF; DELETE FROM kernels WHERE kernel_key = 1",
        "PRAGMA foreign_keys = OFF; DELETE FROM measurements WHERE measurement_key = 3",
        ("PRAGMA ignore_check_constraints = ON; UPDATE measurements SET role = 5 "
         "WHERE measurement_key = 1"),
    };
    make_store(f, 3);
    struct store *store = scratch_store(f->path, STORE_READ);
    assert_int_equal(store_check(&report, store, &err), 0);
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.counts.runs, 3);
    store_close(store);
    for (size_t i = 0; i < ARRAY_COUNT(damage); i++) {
        unlink(f->path);
        make_store(f, 3);
        run_sql(f->path, damage[i]);
        store = scratch_store(f->path, STORE_READ);
        assert_int_equal(store_check(&report, store, &err), 0);
        if (report.problems == 0 || !report.first[0])
            fail_msg("not found: %s", damage[i]);
        store_close(store);
    }
}

static void locked_store_says_so(void **state)
{
    struct fixture *f = *state;
    struct error err = {0};
    struct run run;
    sqlite3 *other = NULL;
    make_store(f, 1);
    struct store *store = scratch_store(f->path, STORE_WRITE);
    store_set_wait(store, 50);
    make_run(&run, RUN_MEASURE, 9, 1, 1);
    assert_int_equal(sqlite3_open(f->path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_begin_run(store, &run, &err), -1);
    assert_non_null(strstr(err.text, "locked by another process; wait for it or stop it"));
    assert_int_equal(run.id, 0);
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    assert_int_equal(store_begin_run(store, &run, &err), 0);
    run_free(&run);
    store_close(store);
}

// A child that saves runs until it is killed, telling through a pipe what was committed.
static void write_until_killed(const char *path, int told)
{
    struct store *store = scratch_store(path, STORE_WRITE);
    struct store_report report;
    struct error err;
    if (store_info(&report, store, &err))
        _exit(1);
    for (unsigned i = (unsigned)(report.counts.runs - report.counts.unfinished);; i++) {
        struct run run;
        make_run(&run, RUN_MEASURE, i, 4, i);
        bool found;
        if (store_find_unfinished(&run.id, &found, store, &run, &err))
            _exit(1);
        if (!found && store_begin_run(store, &run, &err))
            _exit(1);
        for (uint32_t k = 0; k < run.count; k++) {
            uint32_t committed[2] = {i, k};
            if (store_save_result(store, &run, &run.results[k], &err) ||
                write(told, committed, sizeof(committed)) != sizeof(committed))
                _exit(1);
        }
        if (store_finish_run(store, &run, &err))
            _exit(1);
        run_free(&run);
    }
}

// Waits, kills, and gives the commit that the child was told last was saved, and how much of it.
static void kill_a_writer(struct fixture *f, unsigned *commit, unsigned *saved, long wait_us)
{
    int fds[2], status;
    uint32_t last[2];
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(fds[0]);
        write_until_killed(f->path, fds[1]);
        _exit(1);
    }
    close(fds[1]);
    const struct timespec wait = {.tv_nsec = wait_us * 1000};
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(fds[0], last, sizeof(last)) == (ssize_t)sizeof(last)) {
        *commit = last[0];
        *saved = last[1] + 1;
    }
    close(fds[0]);
}

static void killed_writer_loses_nothing_committed(void **state)
{
    struct fixture *f = *state;
    uint64_t seed = (uint64_t)getpid();
    unsigned commit = 0, saved = 0;
    for (int round = 0; round < 20 || (commit < 3 && round < 200); round++) {
        struct error err = {0};
        struct store_report report;
        struct run_entry *entries;
        size_t count = 0;
        kill_a_writer(f, &commit, &saved, 3000 + (long)(draw_bits(&seed) % 60000));
        struct stat info;
        if (stat(f->path, &info) != 0)
            continue;
        struct store *store = scratch_store(f->path, STORE_WRITE);
        assert_int_equal(store_check(&report, store, &err), 0);
        if (report.problems)
            fail_msg("round %d: %s", round, report.first);
        if (store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &f->arena, &err))
            fail_msg("%s", err.text);
        // Runs 0..commit are there, each once (a killed one is gone on with), with all results.
        assert_true(count >= (report.counts.measurements ? commit + 1 : 0));
        for (size_t i = 0; i < count; i++) {
            unsigned number = (unsigned)(count - 1 - i);
            struct run made, loaded;
            make_run(&made, RUN_MEASURE, number, 4, number);
            if (store_load_run(&loaded, store, entries[i].id, &err))
                fail_msg("%s", err.text);
            assert_string_equal(loaded.head.id, made.head.id);
            assert_true(number > commit || loaded.count >= (number < commit ? 4 : saved));
            for (size_t k = 0; k < loaded.count; k++)
                assert_true(same_result(&loaded.results[k], &made.results[k]));
            run_free(&made);
            run_free(&loaded);
        }
        store_close(store);
    }
    assert_true(commit > 2);
}

// Saves until it fails, and exits with 10 + the failing result's number if the line is as it should
// be and all saved before is still there.
static void fill_until_full(struct store *store)
{
    struct error err = {0};
    struct run run;
    make_run(&run, RUN_MEASURE, 1, 4000, 1);
    if (store_begin_run(store, &run, &err))
        _exit(2);
    size_t saved = 0;
    while (saved < run.count && store_save_result(store, &run, &run.results[saved], &err) == 0)
        saved++;
    if (saved == run.count || !strstr(err.text, "make room") || strchr(err.text, '\n')) {
        fprintf(stderr, "after %zu: %s\n", saved, err.text);
        _exit(3);
    }
    struct run loaded;
    if (store_load_run(&loaded, store, run.id, &err) || loaded.count != saved || saved < 20) {
        fprintf(stderr, "saved %zu, then: %s\n", saved, err.text);
        _exit(4);
    }
    _exit(0);
}

static int exit_of(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void file_size_limit_fails_cleanly(void **state)
{
    struct fixture *f = *state;
    struct store_report report;
    struct error err;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {3000000, 3000000};
        struct store *store = scratch_store(f->path, STORE_WRITE);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        fill_until_full(store);
    }
    assert_int_equal(exit_of(child), 0);
    struct store *store = scratch_store(f->path, STORE_WRITE);
    assert_int_equal(store_check(&report, store, &err), 0);
    assert_int_equal(report.problems, 0);
    assert_true(report.counts.measurements >= 20);
    store_close(store);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

// A small disk of our own: a tmpfs, as root or in a namespace of our own. false: not allowed here.
static bool mount_small_disk(const char *folder)
{
    char user[64], group[64];
    snprintf(user, sizeof(user), "0 %u 1", (unsigned)getuid());
    snprintf(group, sizeof(group), "0 %u 1", (unsigned)getgid());
    bool root = getuid() == 0;
    if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)))
        return false;
    // Without its group a process can make no file on a disk of its namespace.
    if (!root &&
        !(write_text("/proc/self/uid_map", user) && write_text("/proc/self/setgroups", "deny") &&
          write_text("/proc/self/gid_map", group)))
        return false;
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    return mount("tmpfs", folder, "tmpfs", 0, "size=3m") == 0;
}

static void full_disk_fails_cleanly(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();
    if (child == 0) {
        if (!mount_small_disk(f->folder))
            _exit(77);
        struct store *store = scratch_store(f->path, STORE_WRITE);
        fill_until_full(store);
    }
    int code = exit_of(child);
    if (code == 77) {
        print_message("no tmpfs can be mounted here: only the file size limit was tested\n");
        skip();
    }
    assert_int_equal(code, 0);
}

// Root may write anywhere: become nobody first.
static void become_nobody(void)
{
    if (getuid() == 0 && (setgid(65534) || setuid(65534)))
        _exit(5);
}

static int open_as_nobody(const char *path, enum store_mode mode, const char *expected)
{
    pid_t child = fork();
    if (child == 0) {
        struct error err = {0};
        struct store *store = NULL;
        struct run run;
        become_nobody();
        make_run(&run, RUN_MEASURE, 1, 1, 1);
        int status = store_open(&store, path, mode, &err);
        if (status == 0 && mode == STORE_WRITE)
            status = store_begin_run(store, &run, &err);
        if (status == 0 && mode == STORE_READ)
            status = load_everything(store, &err);
        if (expected ? status == 0 || !strstr(err.text, expected) : status != 0) {
            fprintf(stderr, "%s: %s\n", path, err.text);
            _exit(6);
        }
        _exit(0);
    }
    return exit_of(child);
}

static void read_only_file_can_be_read_and_says_it_cannot_be_written(void **state)
{
    struct fixture *f = *state;
    make_store(f, 2);
    assert_int_equal(chmod(f->path, 0444), 0);
    assert_int_equal(chmod(f->folder, 0555), 0);
    assert_int_equal(open_as_nobody(f->path, STORE_READ, NULL), 0);
    assert_int_equal(open_as_nobody(f->path, STORE_WRITE, "check its permissions"), 0);
    assert_int_equal(chmod(f->path, 0), 0);
    assert_int_equal(open_as_nobody(f->path, STORE_READ, "check its permissions"), 0);
    assert_int_equal(chmod(f->folder, 0755), 0);
    unlink(f->path);
    assert_int_equal(chmod(f->folder, 0555), 0);
    assert_int_equal(open_as_nobody(f->path, STORE_WRITE, "check its permissions"), 0);
    assert_int_equal(chmod(f->folder, 0755), 0);
}

static void two_writers_both_get_all_saved(void **state)
{
    struct fixture *f = *state;
    enum { WRITERS = 3, RUNS = 6 };
    pid_t children[WRITERS];
    for (unsigned w = 0; w < WRITERS; w++) {
        children[w] = fork();
        if (children[w] == 0) {
            // The file does not exist yet: they race to make it, too.
            struct store *store = scratch_store(f->path, STORE_WRITE);
            for (unsigned i = 0; i < RUNS; i++) {
                struct run run;
                make_run(&run, RUN_MEASURE, 100 * w + i, 4, i);
                save_whole_run(store, &run);
                run_free(&run);
            }
            store_close(store);
            _exit(0);
        }
    }
    for (unsigned w = 0; w < WRITERS; w++)
        assert_int_equal(exit_of(children[w]), 0);
    struct store_report report;
    struct error err;
    struct store *store = scratch_store(f->path, STORE_READ);
    assert_int_equal(store_check(&report, store, &err), 0);
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.counts.runs, WRITERS * RUNS);
    assert_int_equal(report.counts.measurements, WRITERS * RUNS * 4);
    store_close(store);
}

static void first_opening_can_be_raced(void **state)
{
    struct fixture *f = *state;
    enum { RACERS = 4, ROUNDS = 40 };
    for (unsigned round = 0; round < ROUNDS; round++) {
        char name[32];
        snprintf(name, sizeof(name), "race%u.db", round);
        const char *path = scratch_path(&f->arena, f->folder, name);
        int gate[2];
        pid_t racers[RACERS];
        assert_int_equal(pipe(gate), 0);
        for (unsigned r = 0; r < RACERS; r++) {
            racers[r] = fork();
            if (racers[r] == 0) {
                char byte;
                close(gate[1]);
                // Ends when the parent closes its side: all start at once.
                if (read(gate[0], &byte, 1) != 0)
                    _exit(1);
                store_close(scratch_store(path, STORE_WRITE));
                _exit(0);
            }
        }
        close(gate[0]);
        close(gate[1]);
        for (unsigned r = 0; r < RACERS; r++)
            assert_int_equal(exit_of(racers[r]), 0);
    }
}

static void odd_names_are_only_names(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"a?mode=memory", "b%41#c", "d e'f\"g", "\xc3\xa4.db"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        struct stat info;
        const char *path = scratch_path(&f->arena, f->folder, names[i]);
        store_close(scratch_store(path, STORE_WRITE));
        assert_int_equal(stat(path, &info), 0);
        store_close(scratch_store(path, STORE_READ));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_store_is_refused_with_a_reason),
        TEST(database_of_another_program_is_refused),
        TEST(newer_version_is_refused_with_both_numbers),
        TEST(older_version_is_brought_up_by_a_writer_only),
        TEST(foreign_schema_is_never_run),
        TEST(values_of_another_origin_are_refused_when_read),
        TEST(flipped_bytes_never_crash),
        TEST(check_finds_damage_and_passes_a_sound_store),
        TEST(locked_store_says_so),
        TEST(killed_writer_loses_nothing_committed),
        TEST(file_size_limit_fails_cleanly),
        TEST(full_disk_fails_cleanly),
        TEST(read_only_file_can_be_read_and_says_it_cannot_be_written),
        TEST(two_writers_both_get_all_saved),
        TEST(first_opening_can_be_raced),
        TEST(odd_names_are_only_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
