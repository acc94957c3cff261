// SPDX-License-Identifier: Apache-2.0
//
// The program as a process: what stops it, and where its answers go.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, "s.db");
    helper_repo_know_host(&repo, "left.db");
    char *path = xprintf("%s/wait.cfg", repo.directory);
    // A build that says that it goes on, and does so for longer than any test.
    helper_write_text(path, "[build]\n\tinput = kernels\n\tsandbox = off\n"
                            "\tcommand = \"echo > started; sleep 600\"\n"
                            "[device \"host\"]\n\tkind = host\n"
                            "[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                            "[kernel \"*\"]\n\tproblems = p\n");
    free(path);
    return 0;
}

AROUND_ALL(set_up, NULL);

static pid_t start_with(const char *const *argv, int out, int err)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(repo.directory) || dup2(out, 1) < 0 || dup2(err, 2) < 0)
            _exit(99);
        signal(SIGINT, SIG_DFL); // whatever runs the tests may ignore it
        signal(SIGHUP, SIG_DFL);
        execv(TEST_BIN "/plumb", (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    return pid;
}

static pid_t start(const char *const *argv, int out)
{
    return start_with(argv, out, out);
}

// The build's folder of this process, once its command runs.
static bool building(pid_t pid)
{
    char *command = xprintf("ls '%s'/.plumb/cache/tmp-*-%ld/source/started >/dev/null 2>&1",
                            repo.directory, (long)pid);
    int status = system(command);
    free(command);
    return status == 0;
}

TEST(a_signal_ends_it_with_a_line_and_leaves_no_child)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    static const char *const argv[] = {"plumb", "run", "HEAD", "--policy", "wait.cfg", NULL};
    const struct timespec pause = {.tv_nsec = 20000000};
    for (size_t i = 0; i < ARRAY_COUNT(signals); i++) {
        int pipes[2], status = 0;
        char text[4096] = "";
        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        pid_t pid = start(argv, pipes[1]);
        close(pipes[1]);
        while (!building(pid) && waitpid(pid, &status, WNOHANG) == 0)
            nanosleep(&pause, NULL);
        assert_int_equal(status, 0);
        kill(pid, signals[i]);
        // The pipe ends when the last one that holds it has ended.
        for (size_t used = 0; used + 1 < sizeof(text);) {
            ssize_t got = read(pipes[0], text + used, sizeof(text) - 1 - used);
            if (got <= 0)
                break;
            used += (size_t)got;
        }
        close(pipes[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
        assert_non_null(strstr(text, "stopped by a signal"));
    }
}

TEST(an_ignored_signal_stays_ignored)
{
    static const char *const argv[] = {"plumb", "run", "HEAD", "--policy", "wait.cfg", NULL};
    const struct timespec pause = {.tv_nsec = 20000000};
    int null = open("/dev/null", O_WRONLY), status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGHUP, SIG_IGN);
        if (chdir(repo.directory) || dup2(null, 1) < 0 || dup2(null, 2) < 0)
            _exit(99);
        execv(TEST_BIN "/plumb", (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    while (!building(pid) && waitpid(pid, &status, WNOHANG) == 0)
        nanosleep(&pause, NULL);
    kill(pid, SIGHUP);
    nanosleep(&pause, NULL);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGTERM);
    close(null);
}

TEST(an_answer_that_cannot_be_written_is_a_failure)
{
    static const char *const lines[][6] = {{"plumb", "--help", NULL},
                                           {"plumb", "--version", NULL},
                                           {"plumb", "list", "models", NULL},
                                           {"plumb", "list", "gpus", NULL},
                                           {"plumb", "init", "--print", NULL}};
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip_without("full", "there is no /dev/full");
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        int status = 0;
        assert_true(waitpid(start(lines[i], full), &status, 0) > 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 4)
            fail_msg("plumb %s %s: status %x", lines[i][1], lines[i][2] ? lines[i][2] : "", status);
    }
    close(full);
}

// As `plumb export | head` does: it has what it wanted.
TEST(a_reader_that_leaves_is_no_fault)
{
    static const char *const lines[][6] = {
        {"plumb", "list", "models", NULL},
        {"plumb", "init", "--print", NULL},
        {"plumb", "export", "--store", "left.db", NULL},
        {"plumb", "export", "--store", "left.db", "--format=json", NULL}};
    const char *import[] = {"import", "--store", "left.db", "left.csv", NULL};
    char *in = xprintf("%s/left.csv", repo.directory), *said = xprintf("%s/said", repo.directory);
    helper_write_text(in, "commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,5\n");
    plumb_run(&outcome, repo.directory, import, 0);
    plumb_said(&outcome, 0, "added");
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        int ends[2], status = 0;
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        close(ends[0]);
        int err = open(said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(waitpid(start_with(lines[i], ends[1], err), &status, 0) > 0);
        close(ends[1]);
        close(err);
        char *text = helper_read(said, NULL);
        assert_string_equal(text, "");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        free(text);
    }
    free(in);
    free(said);
}

TEST(help_of_a_command_and_what_was_meant)
{
    static const struct {
        const char *argv[4];
        int code;
        const char *says;
    } lines[] = {
        {{"help", NULL}, 0, "Commands"},
        {{"help", "gate", NULL}, 0, "Measures the kernels of two commits side by side"},
        {{"help", "gaet", NULL}, 4, "'gaet' is not a command; did you mean 'gate'?"},
        {{"calibarte", NULL}, 4, "did you mean 'calibrate'?"},
        {{"histroy", NULL}, 4, "did you mean 'history'?"},
        {{"gate", "--bse", "x", NULL}, 4, "plumb gate: --bse is no option; did you mean --base?"},
        {{"gate", "--xyzzy=1", NULL}, 4, "--xyzzy is no option; `plumb gate --help` lists them"},
        {{"gate", "-Z", NULL}, 4, "-Z is no option"},
        {{"gate", "--base", NULL}, 4, "--base needs its REV"},
        {{"gate", "-qd", NULL}, 4, "-d needs its NAME"},
        {{"gate", "--merge-base=3", NULL}, 4, "--merge-base takes no value"},
        {{"gate", "--s", "1", NULL}, 4, "--s is the beginning of several options"},
        {{"gate", "word", NULL}, 4, "plumb gate: takes no 'word'"},
        {{"gate", "--seconds", "x", NULL}, 4, "--seconds=x: needs a whole number from 1"},
        {{"estimate", "1:2", NULL}, 4, "needs more words; see `plumb estimate --help`"},
        {{"bisect", NULL}, 4, "plumb bisect: give --good"},
        {{"xyzzy", NULL}, 4, "'xyzzy' is not a command; `plumb --help` lists them"},
        {{"", NULL}, 4, "`plumb --help` lists them"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        plumb_run(&outcome, repo.directory, lines[i].argv, 0);
        plumb_said(&outcome, lines[i].code, lines[i].says);
        // What is wrong is said in one line.
        assert_true(lines[i].code == 0 || strchr(outcome.output, '\n')[1] == '\0');
    }
}

// /dev/null, for one, which root can replace.
TEST(a_pipe_or_a_link_is_written_to_and_not_replaced)
{
    struct stat there;
    char *pipe = xprintf("%s/pipe", repo.directory), *link = xprintf("%s/link", repo.directory);
    char *file = xprintf("%s/file", repo.directory);
    const char *import[] = {"import", "--store", "s.db", "in.csv", NULL};
    const char *to_pipe[] = {"export", "--store", "s.db", "-o", "pipe", NULL};
    const char *to_link[] = {"export", "--store", "s.db", "-o", "link", NULL};
    helper_put(repo.directory, "in.csv", "commit,kernel,problem,time_ns\naaaaaaa,k,1x1x1,5\n");
    plumb_run(&outcome, repo.directory, import, 0);
    plumb_said(&outcome, 0, "added");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    int reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char text[4096] = "";
    plumb_run(&outcome, repo.directory, to_pipe, 0);
    plumb_said(&outcome, 0, "");
    assert_true(read(reader, text, sizeof(text) - 1) > 0);
    assert_non_null(strstr(text, "aaaaaaa"));
    assert_int_equal(lstat(pipe, &there), 0);
    assert_true(S_ISFIFO(there.st_mode));
    helper_write_text(file, "old");
    assert_int_equal(symlink("file", link), 0);
    plumb_run(&outcome, repo.directory, to_link, 0);
    plumb_said(&outcome, 0, "");
    assert_int_equal(lstat(link, &there), 0);
    assert_true(S_ISLNK(there.st_mode));
    char *written = helper_read(file, NULL);
    assert_non_null(strstr(written, "aaaaaaa"));
    close(reader);
    free(written);
    free(pipe);
    free(link);
    free(file);
}
