// SPDX-License-Identifier: Apache-2.0
//
// The keeper never touches what the child made: it waits, and at the end kills every process that
// descends from it. A process that leaves its group, its session or its parent still lands here,
// because orphans go to the nearest subreaper. Its signals stay blocked and are waited for.
#include "runner/child/keeper.h"

#include "runner/child/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FD_STATUS = 3, FD_START = 4, FD_FIRST_FREE = 5, FD_ASIDE = 10 };

// Longest wait for processes that SIGKILL does not end (stuck in a driver).
enum { UNKILLABLE_S = 10 };

_Noreturn static void fail(const char *step)
{
    struct keeper_failure failure = {.code = errno};
    text_copy(failure.step, sizeof(failure.step), step);
    ssize_t written = write(FD_START, &failure, sizeof(failure));
    (void)written; // nobody is left to be told
    _exit(127);
}

// Puts the five descriptors at 0..4 and closes all others, also those other children were given.
static void arrange_descriptors(const struct keeper_job *job)
{
    const int from[] = {job->in, job->out, job->err, job->status, job->start};
    int aside[ARRAY_COUNT(from)];
    for (size_t i = 0; i < ARRAY_COUNT(from); i++)
        aside[i] = fcntl(from[i], F_DUPFD, FD_ASIDE);
    for (size_t i = 0; i < ARRAY_COUNT(from); i++)
        dup2(aside[i], (int)i);
    if (close_range(FD_FIRST_FREE, ~0U, 0)) {
        for (int fd = FD_FIRST_FREE; fd < 4096; fd++)
            close(fd);
    }
    fcntl(FD_STATUS, F_SETFD, FD_CLOEXEC);
    fcntl(FD_START, F_SETFD, FD_CLOEXEC);
}

static void limit(int resource, uint64_t value, const char *step)
{
    struct rlimit old;
    if (getrlimit(resource, &old))
        fail(step);
    rlim_t most = old.rlim_max < value ? old.rlim_max : (rlim_t)value;
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    if (setrlimit(resource, &limit))
        fail(step);
}

static void apply_limits(const struct keeper_job *job)
{
    const struct process_limits *limits = &job->plan->limits;
    limit(RLIMIT_CORE, 0, "core limit");
    if (limits->memory_bytes)
        limit(RLIMIT_DATA, limits->memory_bytes, "memory limit");
    if (limits->address_bytes)
        limit(RLIMIT_AS, limits->address_bytes, "address space limit");
    if (limits->file_bytes)
        limit(RLIMIT_FSIZE, limits->file_bytes, "file size limit");
    if (job->process_limit)
        limit(RLIMIT_NPROC, job->process_limit, "process limit");
}

static void reset_signals(void)
{
    for (int signal_number = 1; signal_number < NSIG; signal_number++) {
        if (signal_number != SIGKILL && signal_number != SIGSTOP)
            signal(signal_number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void become_child(const struct keeper_job *job, pid_t keeper)
{
    extern char **environ;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != keeper)
        fail("death signal");
    if (job->plan->directory && chdir(job->plan->directory))
        fail("directory");
    apply_limits(job);
    setpgid(0, 0);
    reset_signals();
    // POSIX keeps execve's arguments unchanged; its type says otherwise for old programs' sake.
    char *const *argv = (char *const *)(uintptr_t)job->plan->argv;
    char *const *env = job->plan->env ? (char *const *)(uintptr_t)job->plan->env : environ;
    execve(job->program, argv, env);
    fail("exec");
}

// Parent of a process, read from /proc; -1 when it is gone.
static pid_t parent_of(const char *pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0)
        return -1;
    text[size] = '\0';
    // The name stands in parentheses and may hold any byte, so look for the last one.
    const char *after = strrchr(text, ')');
    return after && strlen(after) > 4 ? (pid_t)strtol(after + 4, NULL, 10) : -1;
}

static void kill_children(void)
{
    pid_t self = getpid();
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (struct dirent *entry; (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        if (parent_of(entry->d_name) == self)
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    }
    closedir(proc);
}

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

// Kills generation after generation: whoever loses its parent becomes ours and is next.
static void end_descendants(pid_t child, const sigset_t *waited)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    time_t until = now_s() + UNKILLABLE_S;
    kill(-child, SIGKILL);
    while (now_s() < until) {
        kill_children();
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0 && errno == ECHILD)
            return;
        sigtimedwait(waited, NULL, &pause);
    }
}

// Waits for the child, an order to stop, or what it uses. True when `status` is the child's.
static bool wait_child(int *status, enum process_excess *excess, pid_t child, struct watch *watch,
                       const sigset_t *waited)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    const bool wanted = watch_wanted(watch);
    for (;;) {
        pid_t ended;
        while ((ended = waitpid(-1, status, WNOHANG)) > 0) {
            if (ended != child)
                continue;
            *excess = watch_last(watch);
            return true;
        }
        siginfo_t info;
        int signal_number = sigtimedwait(waited, &info, wanted ? &moment : NULL);
        if (signal_number > 0 && signal_number != SIGCHLD)
            return false;
        *excess = wanted ? watch_look(watch) : PROCESS_WITHIN;
        if (*excess != PROCESS_WITHIN)
            return false;
    }
}

static void report(int status, enum process_excess excess)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    const struct keeper_report report = {
        .status = status,
        .excess = excess,
        .cpu_s = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
        .memory_bytes = (uint64_t)usage.ru_maxrss * 1024,
    };
    ssize_t written = write(FD_STATUS, &report, sizeof(report));
    (void)written; // the parent may be dead
}

_Noreturn void keeper_run(const struct keeper_job *job)
{
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    sigaddset(&waited, SIGTERM);
    signal(SIGCHLD, SIG_DFL); // an ignored SIGCHLD would reap the child behind our back
    signal(SIGPIPE, SIG_IGN);
    arrange_descriptors(job);
    setsid();
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) || prctl(PR_SET_CHILD_SUBREAPER, 1))
        fail("keeper");
    if (getppid() != job->parent)
        _exit(127); // plumb died before it could be watched
    struct watch watch;
    watch_begin(&watch, job->plan);
    pid_t keeper = getpid(), child = fork();
    if (child == 0)
        become_child(job, keeper);
    if (child < 0)
        fail("fork");
    setpgid(child, child);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    close(FD_START);
    int status = SIGKILL; // as waitpid() writes "killed by SIGKILL"
    enum process_excess excess = PROCESS_WITHIN;
    bool ended = wait_child(&status, &excess, child, &watch, &waited);
    end_descendants(child, &waited);
    report(ended ? status : SIGKILL, excess);
    _exit(0);
}
