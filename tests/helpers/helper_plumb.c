// SPDX-License-Identifier: Apache-2.0
//
// Runs the built program as a user would, and keeps what it said.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t plumb_file_limit;
struct plumb_mark plumb_mark;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void become(const char *directory, const char *const *argv, const char *log)
{
    enum { ARGUMENTS = 64 };
    const char *full[ARGUMENTS] = {TEST_BIN "/plumb"};
    for (size_t i = 0; argv[i] && i + 2 < ARGUMENTS; i++)
        full[i + 1] = argv[i];
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (chdir(directory) || fd < 0)
        _exit(99);
    dup2(fd, 1);
    dup2(fd, 2);
    unsetenv("GITHUB_ACTIONS");
    const struct rlimit limit = {plumb_file_limit, plumb_file_limit};
    if (plumb_file_limit)
        setrlimit(RLIMIT_FSIZE, &limit);
    execv(full[0], (char *const *)(uintptr_t)full);
    _exit(99);
}

static void read_end(struct plumb_outcome *out, const char *log)
{
    FILE *file = fopen(log, "rb");
    out->output[0] = '\0';
    if (!file)
        return;
    if (fseek(file, -(long)(PLUMB_OUTPUT - 1), SEEK_END))
        rewind(file);
    out->output[fread(out->output, 1, PLUMB_OUTPUT - 1, file)] = '\0';
    fclose(file);
}

static bool is_marked(void)
{
    char *text = helper_read(plumb_mark.path, NULL);
    const bool marked = strstr(text, plumb_mark.text);
    free(text);
    return marked;
}

void plumb_run(struct plumb_outcome *out, const char *directory, const char *const *argv,
               double kill_after_s)
{
    char *log = helper_file("");
    int status = 0;
    const double start = now_s();
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        become(directory, argv, log);
    bool killed = false;
    double since = plumb_mark.path ? INFINITY : start;
    while (waitpid(pid, &status, kill_after_s > 0 ? WNOHANG : 0) == 0) {
        const struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        if (isinf(since) && is_marked())
            since = now_s();
        if (!killed && now_s() - since > kill_after_s) {
            kill(pid, SIGKILL);
            killed = true;
        }
    }
    out->wall_s = now_s() - start;
    out->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_end(out, log);
    unlink(log);
}

void plumb_said(const struct plumb_outcome *outcome, int code, const char *part)
{
    if (outcome->code != code || !strstr(outcome->output, part))
        fail_msg("expected exit %d with '%s', got %d:\n%s", code, part, outcome->code,
                 outcome->output);
}
