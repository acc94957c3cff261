// SPDX-License-Identifier: Apache-2.0
#include "runner/log.h"
#include "runner/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct process_result run(const char *script, struct process_plan plan)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process_result result;
    struct error err;
    plan.argv = argv;
    if (process_run(&result, &plan, &err))
        fail_msg("%s", err.text);
    return result;
}

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

// Waits up to a second for a process to be gone.
static bool gone(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < 100 && alive(pid); i++)
        nanosleep(&pause, NULL);
    return !alive(pid);
}

static char *scratch(void)
{
    static char directory[64];
    snprintf(directory, sizeof(directory), "/tmp/plumb-process-XXXXXX");
    assert_non_null(mkdtemp(directory));
    return directory;
}

static void discard(const char *directory)
{
    char *command = xprintf("rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
    free(command);
}

static pid_t read_pid(const char *directory, const char *name)
{
    char *path = xprintf("%s/%s", directory, name);
    char *text = log_tail(path, 100);
    free(path);
    pid_t pid = (pid_t)strtol(text, NULL, 10);
    free(text);
    return pid;
}

static void process_exit_status_is_told(void **state)
{
    (void)state;
    struct process_result result = run("exit 7", (struct process_plan){0});
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 7);
    char text[64];
    process_describe(text, sizeof(text), &result);
    assert_string_equal(text, "exit status 7");
}

static void process_signal_is_told(void **state)
{
    (void)state;
    struct process_result result = run("kill -SEGV $$", (struct process_plan){0});
    assert_int_equal(result.end, PROCESS_SIGNALLED);
    assert_int_equal(result.code, SIGSEGV);
}

static void process_missing_program_is_an_error(void **state)
{
    (void)state;
    const char *argv[] = {"no-such-program-here", NULL};
    struct process_plan plan = {.argv = argv};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "no-such-program-here: program not found"));
}

static void process_missing_directory_is_an_error(void **state)
{
    (void)state;
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv, .directory = "/no/such/place"};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/place: No such file or directory"));
}

static void process_unwritable_log_is_an_error(void **state)
{
    (void)state;
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv, .log_path = "/no/such/place/log"};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/place/log"));
}

static void process_environment_is_only_what_was_given(void **state)
{
    (void)state;
    char *directory = scratch(), *log = xprintf("%s/log", directory);
    const char *env[] = {"COLOUR=green", NULL};
    setenv("PLUMB_TEST_SECRET", "1", 1);
    run("echo $COLOUR-$PLUMB_TEST_SECRET-", (struct process_plan){.env = env, .log_path = log});
    char *text = log_tail(log, 100);
    assert_string_equal(text, "green--\n");
    free(text);
    free(log);
    discard(directory);
}

static void process_timeout_ends_descendants_that_left_the_session(void **state)
{
    (void)state;
    char *directory = scratch();
    struct process_plan plan = {.directory = directory, .limits = {.wall_s = 1.5}};
    struct process_result result =
        run("setsid sh -c 'echo $$ > escaped; trap \"\" TERM HUP; sleep 60' & "
            "(sleep 61 & echo $! > orphan); sleep 62",
            plan);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(result.wall_s < 5);
    pid_t escaped = read_pid(directory, "escaped"), orphan = read_pid(directory, "orphan");
    assert_true(escaped > 0 && orphan > 0);
    assert_true(gone(escaped));
    assert_true(gone(orphan));
    discard(directory);
}

static void process_end_of_the_child_ends_what_it_left_behind(void **state)
{
    (void)state;
    char *directory = scratch();
    struct process_result result = run("setsid sleep 60 & echo $! > left; exit 3",
                                       (struct process_plan){.directory = directory});
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 3);
    assert_true(result.wall_s < 5);
    assert_true(gone(read_pid(directory, "left")));
    discard(directory);
}

static void process_children_die_with_a_killed_parent(void **state)
{
    (void)state;
    char *directory = scratch();
    pid_t parent = fork();
    if (parent == 0) {
        run("setsid sleep 60 & echo $! > far; echo $$ > near; sleep 60",
            (struct process_plan){.directory = directory});
        _exit(0);
    }
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < 250 && read_pid(directory, "near") <= 0; i++)
        nanosleep(&pause, NULL);
    pid_t near = read_pid(directory, "near"), far = read_pid(directory, "far");
    assert_true(near > 0 && far > 0 && alive(near) && alive(far));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    assert_true(gone(near));
    assert_true(gone(far));
    discard(directory);
}

static void process_inherits_no_descriptors(void **state)
{
    (void)state;
    char *directory = scratch(), *log = xprintf("%s/log", directory);
    int leak = open("/dev/null", O_RDONLY); // without O_CLOEXEC, on purpose
    assert_true(leak >= 0);
    run("ls /proc/self/fd | tr '\\n' ' '", (struct process_plan){.log_path = log});
    char *text = log_tail(log, 100);
    assert_string_equal(text, "0 1 2 3 "); // 3 is ls reading the folder
    close(leak);
    free(text);
    free(log);
    discard(directory);
}

static void process_works_with_ignored_sigchld(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    struct process_result result = run("true; exit 5", (struct process_plan){0});
    signal(SIGCHLD, before);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 5);
}

static void process_signals_are_default_in_the_child(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    char *directory = scratch(), *log = xprintf("%s/log", directory);
    run("grep -E 'Sig(Ign|Blk)' /proc/self/status", (struct process_plan){.log_path = log});
    signal(SIGPIPE, before);
    char *text = log_tail(log, 200);
    assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    free(text);
    free(log);
    discard(directory);
}

static void process_memory_limit_holds(void **state)
{
    (void)state;
    struct process_plan plan = {.limits = {.memory_bytes = 64 << 20}};
    struct process_result result =
        run("x=$(head -c 200000000 /dev/zero | tr '\\0' x); exit 0", plan);
    assert_false(result.end == PROCESS_EXITED && result.code == 0);
}

static void process_file_limit_holds(void **state)
{
    (void)state;
    char *directory = scratch();
    struct process_plan plan = {.directory = directory, .limits = {.file_bytes = 100000}};
    struct process_result result = run("head -c 200000 /dev/zero > big", plan);
    assert_false(result.end == PROCESS_EXITED && result.code == 0);
    discard(directory);
}

static void process_log_keeps_beginning_and_end(void **state)
{
    (void)state;
    char *directory = scratch(), *log = xprintf("%s/log", directory);
    run("echo first; seq 1 20000; echo last >&2",
        (struct process_plan){.log_path = log, .log_bytes = 4000});
    char *text = log_tail(log, 100000);
    assert_true(strlen(text) < 4100);
    assert_memory_equal(text, "first\n1\n2\n", 10);
    assert_non_null(strstr(text, "bytes dropped ...]\n"));
    assert_string_equal(text + strlen(text) - 11, "20000\nlast\n");
    free(text);
    free(log);
    discard(directory);
}

static void log_of_exactly_its_size_is_whole(void **state)
{
    (void)state;
    char *directory = scratch(), *path = xprintf("%s/log", directory);
    for (size_t size = 70; size <= 130; size++) {
        struct log log;
        struct error err;
        assert_int_equal(log_open(&log, path, 100, &err), 0);
        for (size_t i = 0; i < size; i++) {
            char byte = (char)('!' + i % 90);
            log_write(&log, &byte, 1);
        }
        log_close(&log);
        char *text = log_tail(path, 1000);
        if (size <= 100)
            assert_int_equal(strlen(text), size);
        assert_int_equal(text[strlen(text) - 1], (char)('!' + (size - 1) % 90));
        free(text);
    }
    free(path);
    discard(directory);
}

static struct process *talk(const char *script, double wall_s)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct process_plan plan = {.argv = argv, .limits = {.wall_s = wall_s}};
    struct process *process;
    struct error err;
    if (process_start(&process, &plan, &err))
        fail_msg("%s", err.text);
    return process;
}

static void process_talks_in_lines(void **state)
{
    (void)state;
    struct process *process = talk("while read line; do echo \"<$line>\"; done; exit 4", 0);
    char line[100];
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof(text), "line %d\n", i);
        assert_int_equal(process_write(process, text, 5), 0);
        assert_int_equal(process_read(process, line, sizeof(line), 5), PROCESS_LINE);
        snprintf(text, sizeof(text), "<line %d>", i);
        assert_string_equal(line, text);
    }
    struct process_result result;
    process_stop(&result, process, 5);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 4);
}

static void process_silent_child_times_out_and_is_stopped(void **state)
{
    (void)state;
    struct process *process = talk("trap '' TERM; sleep 60", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 0.1), PROCESS_LINE_TIMEOUT);
    struct process_result result;
    process_stop(&result, process, 0.05);
    assert_int_equal(result.end, PROCESS_STOPPED);
    assert_true(result.wall_s < 5);
}

static void process_wall_limit_ends_a_talking_child(void **state)
{
    (void)state;
    struct process *process = talk("while :; do echo again; sleep 0.01; done", 0.3);
    char line[100];
    enum process_line kind;
    while ((kind = process_read(process, line, sizeof(line), 5)) == PROCESS_LINE)
        ;
    assert_true(kind == PROCESS_LINE_TIMEOUT || kind == PROCESS_LINE_END);
    struct process_result result;
    process_stop(&result, process, 1);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
}

static void process_dead_child_is_the_end_not_a_signal(void **state)
{
    (void)state;
    struct process *process = talk("echo bye; printf cut; exit 2", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 5), PROCESS_LINE);
    assert_int_equal(process_read(process, line, sizeof(line), 5), PROCESS_LINE_END);
    int sent = 0;
    for (int i = 0; i < 500 && sent == 0; i++) { // until its keeper has closed the pipe too
        sent = process_write(process, "hello?\n", 0.2);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(sent, -1);
    struct process_result result;
    process_stop(&result, process, 5);
    assert_int_equal(result.code, 2);
}

static void process_deaf_child_does_not_block_a_write(void **state)
{
    (void)state;
    struct process *process = talk("sleep 60", 0);
    char *much = xcalloc(4000001, 1);
    memset(much, 'x', 4000000);
    assert_int_equal(process_write(process, much, 0.2), -1);
    free(much);
    process_stop(NULL, process, 0);
}

static void process_overlong_and_binary_lines_are_dropped_whole(void **state)
{
    (void)state;
    struct process *process = talk("head -c 300000 /dev/zero | tr '\\0' x; echo; echo 0123456789;"
                                   "printf 'a\\0b\\n'; echo 123456789; echo end",
                                   0);
    char line[11];
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_LONG);
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE);
    assert_string_equal(line, "123456789");
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE);
    assert_string_equal(line, "end");
    assert_int_equal(process_read(process, line, 10, 5), PROCESS_LINE_END);
    process_stop(NULL, process, 1);
}

static void process_many_do_not_leak_descriptors(void **state)
{
    (void)state;
    int before = dup(0);
    close(before);
    for (int i = 0; i < 30; i++) {
        run("true", (struct process_plan){0});
        process_stop(NULL, talk("cat", 0), 1);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // and no zombies
    assert_int_equal(errno, ECHILD);
}

static void process_stop_accepts_null(void **state)
{
    (void)state;
    process_stop(NULL, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_exit_status_is_told),
        cmocka_unit_test(process_signal_is_told),
        cmocka_unit_test(process_missing_program_is_an_error),
        cmocka_unit_test(process_missing_directory_is_an_error),
        cmocka_unit_test(process_unwritable_log_is_an_error),
        cmocka_unit_test(process_environment_is_only_what_was_given),
        cmocka_unit_test(process_timeout_ends_descendants_that_left_the_session),
        cmocka_unit_test(process_end_of_the_child_ends_what_it_left_behind),
        cmocka_unit_test(process_children_die_with_a_killed_parent),
        cmocka_unit_test(process_inherits_no_descriptors),
        cmocka_unit_test(process_works_with_ignored_sigchld),
        cmocka_unit_test(process_signals_are_default_in_the_child),
        cmocka_unit_test(process_memory_limit_holds),
        cmocka_unit_test(process_file_limit_holds),
        cmocka_unit_test(process_log_keeps_beginning_and_end),
        cmocka_unit_test(log_of_exactly_its_size_is_whole),
        cmocka_unit_test(process_talks_in_lines),
        cmocka_unit_test(process_silent_child_times_out_and_is_stopped),
        cmocka_unit_test(process_wall_limit_ends_a_talking_child),
        cmocka_unit_test(process_dead_child_is_the_end_not_a_signal),
        cmocka_unit_test(process_deaf_child_does_not_block_a_write),
        cmocka_unit_test(process_overlong_and_binary_lines_are_dropped_whole),
        cmocka_unit_test(process_many_do_not_leak_descriptors),
        cmocka_unit_test(process_stop_accepts_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
