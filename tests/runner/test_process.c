// SPDX-License-Identifier: Apache-2.0
//
// Children run to their end: how it is told, what they inherit, which limits hold, and that nothing
// outlives them.
#include "runner/child/files.h"
#include "runner/child/process.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_process.h"
#include "tests/helpers/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static bool alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

// Waits up to ten seconds for a process to be gone.
static bool gone(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    for (int i = 0; i < 1000 && alive(pid); i++)
        nanosleep(&pause, NULL);
    return !alive(pid);
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

TEST(process_exit_status_is_told)
{
    struct process_result result = process_script("exit 7", (struct process_plan){0});
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 7);
    char text[64];
    process_describe(text, sizeof(text), &result);
    assert_string_equal(text, "exit status 7");
    // What a shell says of a command that a signal ended.
    result = process_script("sh -c 'kill -SEGV $$'; exit $?", (struct process_plan){0});
    process_describe(text, sizeof(text), &result);
    assert_string_equal(text, "exit status 139 (SIGSEGV, Segmentation fault)");
    result = process_script("exit 255", (struct process_plan){0});
    process_describe(text, sizeof(text), &result);
    assert_string_equal(text, "exit status 255");
}

// A file that is open here at the numbers which a child gets must stay whole, however few
// descriptors there may be.
TEST(few_descriptors_spoil_no_file)
{
    char *directory = helper_directory(), *path = xprintf("%s/store", directory);
    helper_write_text(path, "kept\n");
    for (rlim_t most = 6; most < 40; most++) {
        const pid_t child = fork();
        if (child == 0) {
            static const char *const argv[] = {"/bin/sh", "-c", "echo spoilt; echo spoilt >&2",
                                               NULL};
            const struct process_plan plan = {.argv = argv};
            const struct rlimit limit = {most, most};
            struct process_result result;
            struct error err;
            for (int fd = 3; fd < 6; fd++) {
                if (dup2(open(path, O_RDWR | O_CLOEXEC), fd) < 0)
                    _exit(9);
            }
            if (setrlimit(RLIMIT_NOFILE, &limit))
                _exit(9);
            const int status = process_run(&result, &plan, &err);
            _exit(status ? 4 : result.end == PROCESS_EXITED ? result.code : 5);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 4);
        if (most >= 24)
            assert_int_equal(WEXITSTATUS(status), 0);
        char *text = helper_read(path, NULL);
        assert_string_equal(text, "kept\n");
        free(text);
    }
    helper_discard(directory);
    free(path);
    free(directory);
}

static void end_of_time(int number)
{
    _exit(number == SIGXCPU ? 7 : 8);
}

// The handler runs though both limits are one, where the kernel alone would kill.
TEST(processor_time_is_told_before_it_ends)
{
    const pid_t child = fork();
    if (child == 0) {
        const struct rlimit second = {1, 1}, small = {1 << 19, 1 << 19}, usual = {1 << 22, 1 << 22};
        struct rlimit stack;
        if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_max < usual.rlim_max)
            _exit(7); // its hard limit cannot be raised again
        stack.rlim_cur = small.rlim_cur;
        close(STDERR_FILENO);
        if (setrlimit(RLIMIT_STACK, &stack) || process_limits_suffice(end_of_time))
            _exit(9);
        stack.rlim_cur = usual.rlim_cur;
        if (setrlimit(RLIMIT_STACK, &stack) || setrlimit(RLIMIT_CPU, &second) ||
            !process_limits_suffice(end_of_time))
            _exit(10);
        for (;;) {
        }
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

TEST(process_signal_is_told)
{
    struct process_result result = process_script("kill -SEGV $$", (struct process_plan){0});
    assert_int_equal(result.end, PROCESS_SIGNALLED);
    assert_int_equal(result.code, SIGSEGV);
}

TEST(process_says_its_end_without_a_file)
{
    const char *argv[] = {"sh", "-c", "yes first | head -c 9000; echo last >&2; exit 3", NULL};
    const struct process_plan plan = {.argv = argv, .log_bytes = 400};
    struct process_result result;
    struct error err;
    char *said = NULL;
    assert_int_equal(process_capture(&result, &said, &plan, &err), 0);
    assert_int_equal(result.code, 3);
    assert_true(strlen(said) <= 400);
    assert_string_equal(said + strlen(said) - 5, "last\n");
    free(said);
}

TEST(process_missing_program_is_an_error)
{
    const char *argv[] = {"no-such-program-here", NULL};
    struct process_plan plan = {.argv = argv};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "no-such-program-here: program not found"));
}

TEST(process_missing_directory_is_an_error)
{
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv, .directory = "/no/such/place"};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/place: No such file or directory"));
}

TEST(process_unwritable_log_is_an_error)
{
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv, .log_path = "/no/such/place/log"};
    struct process_result result;
    struct error err;
    assert_int_equal(process_run(&result, &plan, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/place/log"));
}

TEST(process_environment_is_only_what_was_given)
{
    char *directory = helper_directory(), *log = xprintf("%s/log", directory);
    const char *env[] = {"COLOUR=green", NULL};
    setenv("PLUMB_TEST_SECRET", "1", 1);
    process_script("echo $COLOUR-$PLUMB_TEST_SECRET-",
                   (struct process_plan){.env = env, .log_path = log});
    char *text = log_tail(log, 100);
    assert_string_equal(text, "green--\n");
    free(text);
    free(log);
    helper_discard(directory);
    free(directory);
}

TEST(process_timeout_ends_descendants_that_left_the_session)
{
    char *directory = helper_directory();
    struct process_plan plan = {.directory = directory, .limits = {.time_s = 3}};
    struct process_result result =
        process_script("setsid sh -c 'echo $$ > escaped; trap \"\" TERM HUP; sleep 60' & "
                       "(sleep 61 & echo $! > orphan); sleep 62",
                       plan);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
    assert_true(result.wall_s < 40);
    pid_t escaped = read_pid(directory, "escaped"), orphan = read_pid(directory, "orphan");
    assert_true(escaped > 0 && orphan > 0);
    assert_true(gone(escaped));
    assert_true(gone(orphan));
    helper_discard(directory);
    free(directory);
}

TEST(process_end_of_the_child_ends_what_it_left_behind)
{
    char *directory = helper_directory();
    struct process_result result = process_script("setsid sleep 60 & echo $! > left; exit 3",
                                                  (struct process_plan){.directory = directory});
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 3);
    assert_true(result.wall_s < 40);
    assert_true(gone(read_pid(directory, "left")));
    helper_discard(directory);
    free(directory);
}

TEST(process_children_die_with_a_killed_parent)
{
    char *directory = helper_directory();
    pid_t parent = fork();
    if (parent == 0) {
        process_script("setsid sleep 60 & echo $! > far; echo $$ > near; sleep 60",
                       (struct process_plan){.directory = directory});
        _exit(0);
    }
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < 3000 && read_pid(directory, "near") <= 0; i++)
        nanosleep(&pause, NULL);
    pid_t near = read_pid(directory, "near"), far = read_pid(directory, "far");
    assert_true(near > 0 && far > 0 && alive(near) && alive(far));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    assert_true(gone(near));
    assert_true(gone(far));
    helper_discard(directory);
    free(directory);
}

TEST(process_inherits_no_descriptors)
{
    char *directory = helper_directory(), *log = xprintf("%s/log", directory);
    int leak = open("/dev/null", O_RDONLY); // without O_CLOEXEC, on purpose
    assert_true(leak >= 0);
    process_script("ls /proc/self/fd | tr '\\n' ' '", (struct process_plan){.log_path = log});
    char *text = log_tail(log, 100);
    assert_string_equal(text, "0 1 2 3 "); // 3 is ls reading the folder
    close(leak);
    free(text);
    free(log);
    helper_discard(directory);
    free(directory);
}

TEST(process_works_with_ignored_sigchld)
{
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    struct process_result result = process_script("true; exit 5", (struct process_plan){0});
    signal(SIGCHLD, before);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 5);
}

TEST(process_signals_are_default_in_the_child)
{
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    char *directory = helper_directory(), *log = xprintf("%s/log", directory);
    process_script("grep -E 'Sig(Ign|Blk)' /proc/self/status",
                   (struct process_plan){.log_path = log});
    signal(SIGPIPE, before);
    char *text = log_tail(log, 200);
    assert_string_equal(text, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    free(text);
    free(log);
    helper_discard(directory);
    free(directory);
}

TEST(process_memory_limit_holds)
{
    struct process_plan plan = {.limits = {.memory_bytes = 64 << 20}};
    struct process_result result =
        process_script("x=$(head -c 200000000 /dev/zero | tr '\\0' x); exit 0", plan);
    assert_false(result.end == PROCESS_EXITED && result.code == 0);
}

// Whoever runs it, root too, and however many processes share it.
TEST(process_limits_of_all_together_hold)
{
    char *directory = helper_directory();
    const struct {
        const char *script;
        struct process_limits limits;
        enum process_excess expected;
    } cases[] = {
        {"for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait",
         {.time_s = 50, .processes = 5},
         PROCESS_TOO_MANY},
        {"for i in 1 2 3; do (x=$(head -c 30M /dev/zero | tr '\\0' x); sleep 60; :) & done; wait",
         {.time_s = 50, .together_bytes = 60 << 20},
         PROCESS_TOO_LARGE},
        {"for i in 1 2 3; do head -c 3000000 /dev/zero >$i; done; sleep 60",
         {.time_s = 50, .disk_bytes = 8 << 20, .folders = {directory}},
         PROCESS_TOO_MUCH_DISK},
        // Deeper than is looked into.
        {"rm -f ?; for i in $(seq 150); do mkdir d; cd d; done; sleep 60",
         {.time_s = 50, .disk_bytes = 8 << 20, .folders = {directory}},
         PROCESS_TOO_MUCH_DISK},
        // Without a name.
        {"rm -rf d; for i in 1 2 3; do exec 7<&- 7>n 8<&7; rm n; head -c 3000000 /dev/zero >&7; "
         "sh -c 'sleep 60' & done; wait",
         {.time_s = 50, .disk_bytes = 8 << 20, .folders = {directory}},
         PROCESS_TOO_MUCH_DISK},
        // Empty, but many.
        {"mkdir e; cd e; seq 3000 | xargs touch; sleep 60",
         {.time_s = 50, .disk_bytes = 8 << 20, .folders = {directory}},
         PROCESS_TOO_MUCH_DISK},
        // Ended before anybody looks again.
        {"rm -rf e n; sleep 0.2; fallocate -l 9000000 n",
         {.time_s = 50, .disk_bytes = 8 << 20, .folders = {directory}},
         PROCESS_TOO_MUCH_DISK},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        const char *argv[] = {"sh", "-c", cases[i].script, NULL};
        const struct process_plan plan = {
            .argv = argv, .directory = directory, .limits = cases[i].limits};
        struct process_result result;
        struct error err;
        char text[80];
        if (process_run(&result, &plan, &err))
            fail_msg("%s", err.text);
        process_describe(text, sizeof(text), &result);
        // Who is not root has a limit of the kernel's besides, and cannot start that many.
        if (cases[i].limits.processes && geteuid() != 0 && result.end == PROCESS_EXITED &&
            result.code != 0)
            continue;
        if (result.end != PROCESS_EXCEEDED || result.code != (int)cases[i].expected)
            fail_msg("case %zu: %s", i, text);
        assert_non_null(strstr(text, "than allowed"));
    }
    helper_discard(directory);
    free(directory);
}

// ---- who cannot be watched does not run

static const struct process_limits watched = {
    .time_s = 30, .processes = 100, .disk_bytes = 8 << 20, .folders = {"."}};

// Runs `body` in a process of its own in this folder; true where it could be tried.
static bool in_a_process(int (*body)(void), const char *folder)
{
    enum { SKIPPED = 77 };
    int status = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(chdir(folder) ? 1 : body());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != SKIPPED)
        assert_int_equal(WEXITSTATUS(status), 0);
    return WEXITSTATUS(status) != SKIPPED;
}

static int without_proc(void)
{
    const char *const fine[] = {"true", NULL};
    struct process_plan plan = {.argv = fine};
    struct process_result result;
    struct error err = {""};
    if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", "/proc", "tmpfs", 0, NULL))
        return 77;
    if (process_run(&result, &plan, &err) || result.code != 0)
        return 1; // nothing has to be watched
    plan.limits = watched;
    if (process_run(&result, &plan, &err) == 0 || !strstr(err.text, "cannot be watched"))
        return 2;
    if (umount("/proc") || mount("none", "/mnt", "tmpfs", 0, NULL))
        return 77;
    const char *const hides[] = {"sh", "-c", "mount --move /mnt /proc; exec sleep 60", NULL};
    plan.argv = hides;
    if (geteuid() == 0 && (process_run(&result, &plan, &err) || result.end != PROCESS_EXCEEDED ||
                           result.code != PROCESS_UNWATCHED))
        return 3;
    return 0;
}

TEST(without_a_proc_nothing_runs_that_must_be_watched)
{
    char *directory = helper_directory();
    const bool tried = in_a_process(without_proc, directory);
    helper_discard(directory);
    free(directory);
    if (!tried)
        skip_without("namespaces", "no namespace of mounts can be made here");
}

static char *hidden_program;

static bool become_a_user(void)
{
    return geteuid() != 0 || setresuid(4321, 4321, 4321) == 0;
}

// Processes that begin and end are seen at moments in which the kernel shows nothing of them.
static int come_and_go(void)
{
    const char *const argv[] = {
        "sh", "-c", "for i in $(seq 400); do sleep 0.001 & sleep 0.001; done; wait", NULL};
    struct process_plan plan = {.argv = argv, .limits = watched};
    struct process_result result;
    struct error err;
    plan.limits.watch_s = 0.001;
    if (!become_a_user())
        return 77;
    if (process_run(&result, &plan, &err))
        return 1;
    return result.end == PROCESS_EXITED && result.code == 0 ? 0 : 2;
}

TEST(who_begins_and_ends_hides_nothing)
{
    char *directory = helper_directory();
    assert_int_equal(chmod(directory, 0755), 0);
    const bool tried = in_a_process(come_and_go, directory);
    helper_discard(directory);
    free(directory);
    if (!tried)
        skip_without("root", "this user's number cannot be changed");
}

// The kernel does not show the files of a program that its user cannot read.
static int hidden(void)
{
    const char *const argv[] = {hidden_program, "60", NULL};
    const struct process_plan plan = {.argv = argv, .limits = watched};
    struct process_result result;
    struct error err;
    if (!become_a_user())
        return 77;
    if (process_run(&result, &plan, &err))
        return 1;
    return result.end == PROCESS_EXCEEDED && result.code == PROCESS_HIDDEN ? 0 : 2;
}

TEST(who_hides_its_files_is_ended)
{
    char *directory = helper_directory(), *copy = xprintf("cp /bin/sleep %s/hidden", directory);
    hidden_program = xprintf("%s/hidden", directory);
    assert_int_equal(system(copy), 0);
    assert_int_equal(chmod(hidden_program, 0111), 0);
    assert_int_equal(chmod(directory, 0755), 0);
    const bool tried = in_a_process(hidden, directory);
    helper_discard(directory);
    free(directory);
    free(copy);
    free(hidden_program);
    if (!tried)
        skip_without("root", "this user's number cannot be changed");
}

// The machine's others are none of it: not this program's children either.
TEST(processes_of_others_count_for_nothing)
{
    enum { OTHERS = 12 };
    pid_t others[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
        others[i] = fork();
        if (others[i] == 0)
            for (;;)
                pause();
        assert_true(others[i] > 0);
    }
    // It lives while it is looked at some times.
    const struct process_plan plan = {.limits = {.time_s = 50, .processes = 8}};
    struct process_result result = process_script("exec sleep 1.2", plan);
    for (int i = 0; i < OTHERS; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 0);
}

TEST(process_file_limit_holds)
{
    char *directory = helper_directory();
    struct process_plan plan = {.directory = directory, .limits = {.file_bytes = 100000}};
    struct process_result result = process_script("head -c 200000 /dev/zero > big", plan);
    assert_false(result.end == PROCESS_EXITED && result.code == 0);
    helper_discard(directory);
    free(directory);
}

// ---- What is kept of a long log: its beginning and its end.

TEST(process_log_keeps_beginning_and_end)
{
    char *directory = helper_directory(), *log = xprintf("%s/log", directory);
    process_script("echo first; seq 1 20000; echo last >&2",
                   (struct process_plan){.log_path = log, .log_bytes = 4000});
    char *text = log_tail(log, 100000);
    assert_true(strlen(text) < 4100);
    assert_memory_equal(text, "first\n1\n2\n", 10);
    assert_non_null(strstr(text, "bytes dropped ...]\n"));
    assert_string_equal(text + strlen(text) - 11, "20000\nlast\n");
    free(text);
    free(log);
    helper_discard(directory);
    free(directory);
}

TEST(log_of_exactly_its_size_is_whole)
{
    char *directory = helper_directory(), *path = xprintf("%s/log", directory);
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
    helper_discard(directory);
    free(directory);
}

// ---- Children that are talked with in lines, and every way in which they stop answering.

TEST(process_talks_in_lines)
{
    struct process *process = process_talk("while read line; do echo \"<$line>\"; done; exit 4", 0);
    char line[100];
    for (int i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof(text), "line %d\n", i);
        assert_int_equal(process_write(process, text, 5), 0);
        assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE);
        snprintf(text, sizeof(text), "<line %d>", i);
        assert_string_equal(line, text);
    }
    struct process_result result;
    process_stop(&result, process, 60);
    assert_int_equal(result.end, PROCESS_EXITED);
    assert_int_equal(result.code, 4);
}

TEST(process_silent_child_times_out_and_is_stopped)
{
    struct process *process = process_talk("trap '' TERM; sleep 60", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 0.1), PROCESS_LINE_TIMEOUT);
    struct process_result result;
    process_stop(&result, process, 0.05);
    assert_int_equal(result.end, PROCESS_STOPPED);
    assert_true(result.wall_s < 40);
}

TEST(process_wall_limit_ends_a_talking_child)
{
    struct process *process = process_talk("while :; do echo again; sleep 0.01; done", 0.3);
    char line[100];
    enum process_line kind;
    while ((kind = process_read(process, line, sizeof(line), 60)) == PROCESS_LINE)
        ;
    assert_true(kind == PROCESS_LINE_TIMEOUT || kind == PROCESS_LINE_END);
    struct process_result result;
    process_stop(&result, process, 1);
    assert_int_equal(result.end, PROCESS_TIMED_OUT);
}

TEST(process_dead_child_is_the_end_not_a_signal)
{
    struct process *process = process_talk("echo bye; printf cut; exit 2", 0);
    char line[100];
    assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE);
    assert_int_equal(process_read(process, line, sizeof(line), 60), PROCESS_LINE_END);
    int sent = 0;
    for (int i = 0; i < 500 && sent == 0; i++) { // until its keeper has closed the pipe too
        sent = process_write(process, "hello?\n", 0.2);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(sent, -1);
    struct process_result result;
    process_stop(&result, process, 60);
    assert_int_equal(result.code, 2);
}

TEST(process_deaf_child_does_not_block_a_write)
{
    struct process *process = process_talk("sleep 60", 0);
    char *much = xcalloc(4000001, 1);
    memset(much, 'x', 4000000);
    assert_int_equal(process_write(process, much, 0.2), -1);
    free(much);
    process_stop(NULL, process, 0);
}

TEST(process_overlong_and_binary_lines_are_dropped_whole)
{
    struct process *process =
        process_talk("head -c 300000 /dev/zero | tr '\\0' x; echo; echo 0123456789;"
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

TEST(process_many_do_not_leak_descriptors)
{
    int before = dup(0);
    close(before);
    for (int i = 0; i < 30; i++) {
        process_script("true", (struct process_plan){0});
        process_stop(NULL, process_talk("cat", 0), 1);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // and no zombies
    assert_int_equal(errno, ECHILD);
}

TEST(process_stop_accepts_null)
{
    process_stop(NULL, NULL, 1);
}
