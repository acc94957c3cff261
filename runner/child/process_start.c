// SPDX-License-Identifier: Apache-2.0
//
// Starts a child process behind its keeper, with its pipes, limits and environment. Its life and
// end are process.c.
#include "runner/child/process_handle.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

double process_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t process_fair_memory(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * (uint64_t)sysconf(_SC_PAGESIZE);
}

void process_close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

// Absolute or relative path of a program, looked up as the shell does. Caller frees; NULL if none.
static char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) ? NULL : xstrdup(name);
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
        const char *end = strchrnul(at, ':');
        char *file = xprintf("%.*s/%s", (int)(end - at), at, name);
        struct stat status;
        if (end > at && access(file, X_OK) == 0 && stat(file, &status) == 0 &&
            S_ISREG(status.st_mode))
            return file;
        free(file);
        at = *end ? end + 1 : NULL;
    }
    return NULL;
}

// Threads this user runs: RLIMIT_NPROC counts all of them, not only the child's.
static uint64_t count_threads(void)
{
    uint64_t threads = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof(path), "/proc/%.20s/task", entry->d_name);
        // A directory has one link for itself, one for ".", and one for each folder in it.
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && stat(path, &status) == 0 &&
            status.st_uid == getuid() && status.st_nlink > 2)
            threads += status.st_nlink - 2;
    }
    closedir(proc);
    return threads;
}

// All signals are blocked over the fork, so that none can hit the keeper before it is ready.
static pid_t fork_keeper(const struct keeper_job *job)
{
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t keeper = fork();
    if (keeper == 0)
        keeper_run(job);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return keeper;
}

// Waits for the exec: the start pipe closes when it worked and holds a failure when it did not.
static int check_start(int start, const char *program, const char *directory, struct error *err)
{
    struct keeper_failure failure;
    ssize_t size;
    do
        size = read(start, &failure, sizeof(failure));
    while (size < 0 && errno == EINTR);
    if (size == 0)
        return 0;
    if (size != sizeof(failure))
        return error_set(err, "%s: could not be started", program);
    if (strcmp(failure.step, "directory") == 0)
        return error_set(err, "%s: cannot start in %s: %s", program, directory,
                         strerror(failure.code));
    return error_set(err, "%s: cannot be started (%s): %s", program, failure.step,
                     strerror(failure.code));
}

struct plumbing {
    int input[2], output[2], errors[2], status[2], start[2]; // [0] ours, [1] the child's
};

static void close_plumbing(struct plumbing *p)
{
    for (int i = 0; i < 2; i++) {
        process_close_fd(&p->input[i]);
        process_close_fd(&p->output[i]);
        process_close_fd(&p->errors[i]);
        process_close_fd(&p->status[i]);
        process_close_fd(&p->start[i]);
    }
}

// The input is a socket, so that writing to a dead child is an error code and not SIGPIPE.
static int open_plumbing(struct plumbing *p, bool talks, struct error *err)
{
    bool ok = pipe2(p->errors, O_CLOEXEC) == 0 && pipe2(p->status, O_CLOEXEC) == 0 &&
              pipe2(p->start, O_CLOEXEC) == 0;
    if (ok && talks)
        ok = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->input) == 0 &&
             shutdown(p->input[1], SHUT_WR) == 0 && pipe2(p->output, O_CLOEXEC) == 0;
    else if (ok)
        ok = (p->input[1] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 &&
             (p->output[1] = fcntl(p->errors[1], F_DUPFD_CLOEXEC, 0)) >= 0;
    const int ours[] = {p->input[0], p->output[0], p->errors[0], p->status[0]};
    for (size_t i = 0; ok && i < ARRAY_COUNT(ours); i++) {
        if (ours[i] >= 0)
            ok = fcntl(ours[i], F_SETFL, O_NONBLOCK) == 0;
    }
    return ok ? 0 : error_set(err, "cannot open pipes to a child: %s", strerror(errno));
}

static int start(struct process *process, const struct process_plan *plan, bool talks,
                 struct error *err)
{
    struct plumbing pipes = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int result = -1;
    char *program = find_program(plan->argv[0]);
    if (!program) {
        error_set(err, "%s: program not found; is it installed and in PATH?", plan->argv[0]);
        goto done;
    }
    if (open_plumbing(&pipes, talks, err))
        goto done;
    uint32_t processes = plan->limits.processes;
    const struct keeper_job job = {
        .program = program,
        .plan = plan,
        .process_limit = processes ? count_threads() + processes : 0,
        .in = pipes.input[1],
        .out = pipes.output[1],
        .err = pipes.errors[1],
        .status = pipes.status[1],
        .start = pipes.start[1],
        .parent = getpid(),
    };
    process->keeper = fork_keeper(&job);
    if (process->keeper < 0) {
        error_set(err, "%s: cannot fork: %s", program, strerror(errno));
        goto done;
    }
    process_close_fd(&pipes.start[1]);
    if (check_start(pipes.start[0], program, plan->directory, err)) {
        waitpid(process->keeper, NULL, 0);
        goto done;
    }
    process->input = pipes.input[0];
    process->output = pipes.output[0];
    process->errors = pipes.errors[0];
    process->status = pipes.status[0];
    pipes.input[0] = pipes.output[0] = pipes.errors[0] = pipes.status[0] = -1;
    result = 0;
done:
    close_plumbing(&pipes);
    free(program);
    return result;
}

int process_open(struct process **out, const struct process_plan *plan, bool talks,
                 struct error *err)
{
    assert(plan->argv && plan->argv[0]);
    struct process *process = xcalloc(1, sizeof(*process));
    process->input = process->output = process->errors = process->status = -1;
    process->started_s = process_now_s();
    process->deadline_s =
        plan->limits.wall_s > 0 ? process->started_s + plan->limits.wall_s : INFINITY;
    // The report of a child that could not even be ended.
    process->report.status = SIGKILL;
    if (log_open(&process->log, plan->log_path, plan->log_bytes, err))
        goto fail;
    if (start(process, plan, talks, err))
        goto fail;
    *out = process;
    return 0;
fail:
    log_close(&process->log);
    free(process);
    return -1;
}
