// SPDX-License-Identifier: Apache-2.0
//
// What can go wrong with a sound store: locks, races, full disks, kills, permissions.
#include "baselines/statement.h"
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

AROUND_EACH(open_store_set_up_none, open_store_tear_down);

TEST(locked_store_says_so)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct run run;
    sqlite3 *other = NULL;
    save_runs_at(f->path, 1);
    struct store *store = scratch_store(f->path, STORE_WRITE);
    sqlite3_busy_timeout(store->db, 50);
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

static bool read_told(int told, unsigned *commit, unsigned *saved)
{
    uint32_t last[2];
    if (read(told, last, sizeof(last)) != (ssize_t)sizeof(last))
        return false;
    *commit = last[0];
    *saved = last[1] + 1;
    return true;
}

// Waits, first until `results` are saved (a busy machine takes long to come to any), kills, and
// gives the commit that the child was told last was saved, and how much of it.
static void kill_a_writer(struct open_store *f, unsigned *commit, unsigned *saved, int results,
                          long wait_us)
{
    int fds[2], status;
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
    for (int i = 0; i < results; i++)
        assert_true(read_told(fds[0], commit, saved));
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read_told(fds[0], commit, saved))
        ;
    close(fds[0]);
}

TEST(killed_writer_loses_nothing_committed)
{
    struct open_store *f = *state;
    uint64_t seed = (uint64_t)getpid();
    unsigned commit = 0, saved = 0;
    for (int round = 0; round < 20; round++) {
        struct error err = {0};
        struct store_report report;
        struct run_entry *entries;
        size_t count = 0;
        // One run and a part of the next in every fourth round; in the others wherever it is.
        kill_a_writer(f, &commit, &saved, round % 4 ? 0 : 5,
                      3000 + (long)(draw_bits(&seed) % 60000));
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
// What stops it is said with `way`, what to do.
static void fill_until_full(struct store *store, const char *way)
{
    struct error err = {0};
    struct run run;
    make_run(&run, RUN_MEASURE, 1, 4000, 1);
    if (store_begin_run(store, &run, &err))
        _exit(2);
    size_t saved = 0;
    while (saved < run.count && store_save_result(store, &run, &run.results[saved], &err) == 0)
        saved++;
    if (saved == run.count || !strstr(err.text, way) || strchr(err.text, '\n')) {
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

TEST(file_size_limit_fails_cleanly)
{
    struct open_store *f = *state;
    struct store_report report;
    struct error err;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {4000000, 4000000};
        struct store *store = scratch_store(f->path, STORE_WRITE);
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        fill_until_full(store, "`ulimit -f`");
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
    return mount("tmpfs", folder, "tmpfs", 0, "size=4m") == 0;
}

TEST(full_disk_fails_cleanly)
{
    struct open_store *f = *state;
    pid_t child = fork();
    if (child == 0) {
        if (!mount_small_disk(f->folder))
            _exit(77);
        struct store *store = scratch_store(f->path, STORE_WRITE);
        fill_until_full(store, "make room");
    }
    int code = exit_of(child);
    if (code == 77) {
        skip_without("tmpfs", "no tmpfs can be mounted here: only the file size limit was tested");
    }
    assert_int_equal(code, 0);
}

// What came after it would be kept without what came before.
TEST(batch_that_a_fault_ended_takes_nothing_more)
{
    struct open_store *f = *state;
    struct error err = {0};
    struct store *store = scratch_store(f->path, STORE_WRITE);
    struct store_report report;
    struct run run;
    int status = 0;
    make_run(&run, RUN_MEASURE, 3, 2, 5);
    assert_ok(store_begin_batch(store, &err), &err);
    sqlite3_exec(store->db, "PRAGMA max_page_count = 1", NULL, NULL, NULL); // no more
    for (int i = 0; status == 0 && i < 10000; i++) {
        run.id = 0;
        status = store_begin_run(store, &run, &err);
    }
    assert_int_equal(status, -1);
    assert_non_null(strstr(err.text, "no space left"));
    sqlite3_exec(store->db, "PRAGMA max_page_count = 100000", NULL, NULL, NULL);
    run.id = 0;
    assert_int_equal(store_begin_run(store, &run, &err), -1);
    assert_non_null(strstr(err.text, "a fault undid what was saved"));
    store_cancel_batch(store);
    assert_ok(store_info(&report, store, &err), &err);
    assert_int_equal(report.counts.runs, 0);
    save_whole_run(store, &run);
    store_close(store);
    run_free(&run);
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
        struct store_report report = {0};
        if (status == 0 && mode == STORE_READ)
            status = load_everything(store, &err) || store_check(&report, store, &err) ? -1 : 0;
        if (status == 0 && report.problems)
            status = error_set(&err, "%s", report.first);
        if (expected ? status == 0 || !strstr(err.text, expected) : status != 0) {
            fprintf(stderr, "%s: %s\n", path, err.text);
            _exit(6);
        }
        _exit(0);
    }
    return exit_of(child);
}

TEST(read_only_file_can_be_read_and_says_it_cannot_be_written)
{
    struct open_store *f = *state;
    save_runs_at(f->path, 2);
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

TEST(two_writers_both_get_all_saved)
{
    struct open_store *f = *state;
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

TEST(first_opening_can_be_raced)
{
    struct open_store *f = *state;
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
