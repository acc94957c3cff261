// SPDX-License-Identifier: Apache-2.0
//
// Stores on file systems that several machines share: no log there, and several writers at once
// lose nothing. What the file system is, this program says itself.
#include "tests/helpers/helper_open_store.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long file_system; // 0: as it is

int statfs(const char *path, struct statfs *out)
{
    memset(out, 0, sizeof(*out));
    out->f_type = (__typeof__(out->f_type))(file_system ? file_system : 0xef53);
    return 0;
}

static int log_mark(const char *path)
{
    unsigned char header[20] = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof(header), file), sizeof(header));
    fclose(file);
    return header[18];
}

AROUND_EACH(open_store_set_up, open_store_tear_down);

TEST(no_log_where_machines_share_a_disk)
{
    static const unsigned long shared[] = {0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997};
    struct open_store *f = *state;
    struct store *store;
    struct error err;
    file_system = 0;
    assert_int_equal(log_mark(store_path(f->store)), 2);
    for (size_t i = 0; i < ARRAY_COUNT(shared); i++) {
        char *path = xprintf("%s/%zu.db", f->folder, i), *log = xprintf("%s-wal", path);
        file_system = shared[i];
        assert_ok(store_open(&store, path, STORE_WRITE, &err), &err);
        assert_int_equal(access(log, F_OK), -1);
        store_close(store);
        assert_int_equal(log_mark(path), 1);
        assert_ok(store_open(&store, path, STORE_READ, &err), &err);
        store_close(store);
        free(log);
        free(path);
    }
    file_system = 0;
}

// One that was made on a disk of one machine and moved.
TEST(a_store_that_came_with_a_log_loses_it_or_is_refused)
{
    struct open_store *f = *state;
    struct store *store, *other;
    struct error err;
    char *path = xprintf("%s/moved.db", f->folder);
    file_system = 0;
    assert_ok(store_open(&store, path, STORE_WRITE, &err), &err);
    // While somebody has it open it cannot.
    file_system = 0x6969;
    assert_int_equal(store_open(&other, path, STORE_WRITE, &err), -1);
    assert_non_null(strstr(err.text, "lies on NFS and has a log, which several machines cannot"));
    assert_int_equal(store_open(&other, path, STORE_READ, &err), -1);
    assert_non_null(strstr(err.text, "lies on NFS and has a log, which is not safe to read there"));
    store_close(store);
    assert_ok(store_open(&store, path, STORE_WRITE, &err), &err);
    store_close(store);
    assert_int_equal(log_mark(path), 1);
    file_system = 0;
    free(path);
}

enum { WRITERS = 4, RUNS = 4 };

static void write_runs(const char *path, unsigned writer)
{
    struct store *store;
    struct error err;
    for (unsigned i = 0; i < RUNS; i++) {
        struct run run;
        if (store_open(&store, path, STORE_WRITE, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        make_run(&run, RUN_MEASURE, 1 + writer * RUNS + i, 1, 1);
        save_whole_run(store, &run);
        run_free(&run);
        store_close(store);
    }
    _exit(0);
}

TEST(writers_at_once_lose_nothing_there)
{
    struct open_store *f = *state;
    struct run_entry *entries;
    struct store *store;
    struct error err;
    size_t count;
    char *path = xprintf("%s/shared.db", f->folder);
    file_system = 0x6969;
    for (unsigned i = 0; i < WRITERS; i++) {
        if (fork() == 0)
            write_runs(path, i);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_ok(store_open(&store, path, STORE_READ, &err), &err);
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_int_equal(count, WRITERS * RUNS);
    store_close(store);
    file_system = 0;
    free(path);
}

// Where locks may be unseen by other machines: one machine at a time, whose processes may be many.
TEST(one_machine_writes_where_locks_are_unseen)
{
    static const unsigned long deaf[] = {0x65735546, 0x01021997};
    struct open_store *f = *state;
    struct store *store;
    struct error err;
    char *path = xprintf("%s/deaf.db", f->folder), *mark = xprintf("%s-machine", path);
    for (size_t i = 0; i < ARRAY_COUNT(deaf); i++) {
        file_system = deaf[i];
        for (unsigned k = 0; k < WRITERS; k++) {
            if (fork() == 0)
                write_runs(path, (unsigned)i * WRITERS + k);
        }
        for (unsigned k = 0; k < WRITERS; k++) {
            int status;
            assert_true(wait(&status) > 0);
            assert_int_equal(status, 0);
        }
        assert_int_equal(access(mark, F_OK), -1); // the last of them took it away
    }
    struct run_entry *entries;
    size_t count;
    assert_ok(store_open(&store, path, STORE_READ, &err), &err);
    assert_int_equal(access(mark, F_OK), -1); // who reads needs none
    assert_ok(store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &f->arena, &err), &err);
    assert_int_equal(count, ARRAY_COUNT(deaf) * WRITERS * RUNS);
    store_close(store);
    file_system = 0;
    free(mark);
    free(path);
}

static void put_mark(const char *mark, int age_s)
{
    const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s},
                                      {.tv_sec = time(NULL) - age_s}};
    FILE *file = fopen(mark, "w");
    assert_non_null(file);
    fputs("no\033de-7 0123:45\n", file);
    fclose(file);
    assert_int_equal(utimensat(AT_FDCWD, mark, times, 0), 0);
}

// Whoever joins says so: else another machine would take the store of one that only reads for long.
TEST(who_joins_its_machine_makes_its_mark_new)
{
    struct open_store *f = *state;
    struct store *first, *second;
    struct stat before, after;
    struct error err;
    char *path = xprintf("%s/joined.db", f->folder), *mark = xprintf("%s-machine", path);
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 600}, {.tv_sec = time(NULL) - 600}};
    file_system = 0x65735546;
    assert_ok(store_open(&first, path, STORE_WRITE, &err), &err);
    assert_int_equal(utimensat(AT_FDCWD, mark, old, 0), 0);
    assert_int_equal(stat(mark, &before), 0);
    assert_ok(store_open(&second, path, STORE_WRITE, &err), &err);
    assert_int_equal(stat(mark, &after), 0);
    assert_true(after.st_mtime > before.st_mtime + 300);
    store_close(second);
    store_close(first);
    file_system = 0;
    free(mark);
    free(path);
}

TEST(another_machine_is_waited_for_and_then_refused_or_followed)
{
    struct open_store *f = *state;
    struct store *store, *other;
    struct run run;
    struct error err;
    char *path = xprintf("%s/taken.db", f->folder), *mark = xprintf("%s-machine", path);
    file_system = 0x65735546;
    put_mark(mark, 0);
    pauses_are_over = true;
    assert_int_equal(store_open(&store, path, STORE_WRITE, &err), -1);
    pauses_are_over = false;
    assert_non_null(strstr(err.text, "lies on FUSE, where machines may not see each other's locks, "
                                     "and no?de-7 writes it"));
    assert_int_equal(access(path, F_OK), -1);
    // After a quarter of an hour without a write it has ended, however it did.
    put_mark(mark, 901);
    assert_ok(store_open(&store, path, STORE_WRITE, &err), &err);
    assert_ok(store_open(&other, path, STORE_WRITE, &err), &err);
    store_close(other);
    assert_int_equal(access(mark, F_OK), 0); // somebody of this machine is left
    // And so another one may have followed this one.
    put_mark(mark, 0);
    make_run(&run, RUN_MEASURE, 1, 1, 1);
    assert_int_equal(store_begin_run(store, &run, &err), -1);
    assert_non_null(strstr(err.text, "another machine writes it by now"));
    run_free(&run);
    store_close(store);
    assert_int_equal(access(mark, F_OK), 0); // it is not ours to take away
    file_system = 0;
    free(mark);
    free(path);
}
