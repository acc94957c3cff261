// SPDX-License-Identifier: Apache-2.0
//
// A control group's freezer holds the process of a library between its turns, whoever wakes it.
// With the real bench in the sandbox, where version 2 of control groups lets us make groups.
#include "runner/bench/measure.h"
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct sandbox sandbox;

static int set_up(void **state)
{
    struct error err;
    return sandbox_probe(&sandbox, SANDBOX_AUTO, &err);
}

AROUND_ALL(set_up, NULL);

static void need_freezer(void)
{
    if (!sandbox.freezes) {
        skip_without("freezer", sandbox.active ? sandbox.no_freezer : sandbox.reason);
    }
}

// ---- what /proc says of processes

static char library_group[1024]; // folder of the last library's control group

static bool reads(char *out, size_t size, long pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/%s", pid, name);
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(out, 1, size - 1, file) : 0;
    if (file)
        fclose(file);
    out[got] = '\0';
    return got > 0;
}

static bool is_ours(long pid)
{
    while (pid > 1 && pid != getpid()) {
        char text[512];
        const char *after = reads(text, sizeof(text), pid, "stat") ? strrchr(text, ')') : NULL;
        pid = after ? strtol(after + 4, NULL, 10) : 0;
    }
    return pid == getpid();
}

// The process of a library that a bench of ours started; 0: there is none.
static pid_t find_library(void)
{
    DIR *proc = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; proc && !found && (entry = readdir(proc));) {
        const long pid = strtol(entry->d_name, NULL, 10);
        char words[64];
        if (pid > 0 && reads(words, sizeof(words), pid, "cmdline") &&
            strcmp(words + strlen(words) + 1, "keep") == 0 && is_ours(pid))
            found = (pid_t)pid;
    }
    if (proc)
        closedir(proc);
    return found;
}

static double worked_s(pid_t pid)
{
    clockid_t clock;
    struct timespec time = {0};
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// The folder of the control group of version 2 that a process is in.
static void find_group(char *out, size_t size, pid_t pid)
{
    char text[4096], *line;
    assert_true(reads(text, sizeof(text), pid, "cgroup"));
    line = strstr(text, "0::");
    assert_non_null(line);
    line[strcspn(line, "\n")] = '\0';
    snprintf(out, size, "%s%s", sandbox.groups, line + 3 + strlen(sandbox.groups_root));
}

// ---- woken between its turns

// A bench in this sandbox has loaded a library of which one thread never rests, and the library's
// process is woken between two turns. The seconds of CPU time that it then uses: it is watched
// until they are `enough_s`, for `most_s` seconds at most.
static double works_when_woken(const struct sandbox *inside, double enough_s, int most_s)
{
    char *module = test_module("apart"), *program = xprintf("%s/bench", TEST_BIN);
    char *folder = xprintf("%.*s", (int)(strrchr(module, '/') - module), module);
    const struct problem problem = {.m = 9, .n = 7, .k = 11, .batch = 1};
    const struct bench_series series = {
        .kernel = "goes_on", .problem = &problem, .head = module, .seed = 7, .launches = 1};
    const struct bench_plan plan = {.program = program,
                                    .kind = "host",
                                    .sandbox = inside,
                                    .read_only = (const char *const[]){folder},
                                    .read_only_count = 1,
                                    .build_count = 1};
    const struct timespec pause = {.tv_nsec = 10000000};
    struct bench_handle handle;
    struct bench_outcome outcome;
    struct bench *bench;
    struct error err;
    if (bench_start(&bench, &plan, &err) || bench_open(&outcome, &handle, bench, &series, &err))
        fail_msg("%s", err.text);
    assert_string_equal(outcome.detail, "");
    const pid_t library = find_library();
    assert_true(library > 0);
    find_group(library_group, sizeof(library_group), library);
    const double before_s = worked_s(library);
    double worked = 0;
    kill(library, SIGCONT);
    for (int i = 0; i < 100 * most_s && worked < enough_s; i++) {
        nanosleep(&pause, NULL);
        worked = worked_s(library) - before_s;
    }
    bench_stop(bench);
    free(folder);
    free(program);
    free(module);
    return worked;
}

TEST(a_signal_does_not_wake_it)
{
    static const double much_s = 0.1;
    struct sandbox without;
    need_freezer();
    without = sandbox;
    without.freezes = false;
    assert_true(works_when_woken(&without, much_s, 30) >= much_s);
    assert_true(works_when_woken(&sandbox, much_s, 1) < much_s / 10);
}

// ---- the groups

static char *own_group(void)
{
    char group[1024];
    find_group(group, sizeof(group), getpid());
    return xstrdup(group);
}

TEST(no_group_outlives_its_bench)
{
    need_freezer();
    works_when_woken(&sandbox, 0, 1);
    assert_non_null(strstr(library_group, "/library-"));
    assert_int_not_equal(access(library_group, F_OK), 0);
}

// Who could write there would thaw itself.
TEST(a_library_does_not_see_its_group)
{
    need_freezer();
    struct transcript t;
    char *own = own_group(), *group = xprintf("%s/test-%ld", own, (long)getpid());
    char *file = xprintf("%s/cgroup.freeze", group), *module = test_module("apart");
    char *script = xprintf("open\tid=1\tkernel=peeks\tproblem=9x7x11:fp32\thead=%s\tseed=7\n"
                           "close\tid=1\nquit\n",
                           module);
    assert_int_equal(mkdir(group, 0700), 0);
    setenv("PLUMB_TEST_OTHER", file, 1);
    bench_script(&t, "--device host", script);
    assert_string_equal(field(transcript_find(&t, "opened", 0), "state"), "crashed");
    transcript_free(&t);
    setenv("PLUMB_FREEZER", group, 1);
    bench_script(&t, "--device host", script);
    unsetenv("PLUMB_FREEZER");
    assert_string_equal(t.errors, "");
    assert_string_equal(field(transcript_find(&t, "closed", 0), "state"), "ok");
    transcript_free(&t);
    assert_int_equal(rmdir(group), 0);
    free(script);
    free(module);
    free(file);
    free(group);
    free(own);
}

// What is frozen counts for the limits of the scope that systemd made.
TEST(in_a_scope_of_systemd_its_group_lies_below_that)
{
    need_freezer();
    char *own = own_group(), *folder = helper_directory(),
         *file = xprintf("%s/systemd-run", folder);
    char *script = xprintf("#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\n"
                           "mkdir -p '%s/plumb-scope' && echo $$ >'%s/plumb-scope/cgroup.procs'\n"
                           "exec \"$@\"\n",
                           own, own);
    char *path = xprintf("%s:%s", folder, getenv("PATH")), *before = xstrdup(getenv("PATH"));
    struct sandbox scoped;
    struct error err;
    helper_write_text(file, script);
    assert_int_equal(chmod(file, 0700), 0);
    setenv("PATH", path, 1);
    assert_int_equal(sandbox_probe(&scoped, SANDBOX_REQUIRE, &err), 0);
    assert_non_null(scoped.scope);
    if (!scoped.freezes)
        fail_msg("%s", scoped.no_freezer);
    assert_true(works_when_woken(&scoped, 0.1, 1) < 0.01);
    setenv("PATH", before, 1);
    char *command = xprintf("rmdir '%s'/plumb-scope/plumb-* '%s/plumb-scope'", own, own);
    assert_int_equal(system(command), 0);
    helper_discard(folder);
    free(command);
    free(before);
    free(path);
    free(script);
    free(file);
    free(folder);
    free(own);
}
