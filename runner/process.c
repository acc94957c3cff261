// SPDX-License-Identifier: Apache-2.0
#include "runner/keeper.h"
#include "runner/log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_ROOM = 65536 };

// Longer than the keeper itself waits for processes that do not die.
static const double KEEPER_PATIENCE_S = 15;

struct process {
    pid_t keeper;
    int input;  // socket to the child's 0; -1 when closed
    int output; // pipe from its 1; -1 at the end
    int errors; // pipe from its 2 (and 1 in process_run); -1 at the end
    int status; // from the keeper; -1 once the report is in
    double started_s;
    double deadline_s; // of the whole life; INFINITY without one
    bool timed_out, stopped;
    struct keeper_report report;
    struct log log;
    size_t used;   // bytes in `line`
    bool skipping; // inside an overlong line
    char line[LINE_ROOM];
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void close_fd(int *fd)
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
        close_fd(&p->input[i]);
        close_fd(&p->output[i]);
        close_fd(&p->errors[i]);
        close_fd(&p->status[i]);
        close_fd(&p->start[i]);
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
    close_fd(&pipes.start[1]);
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

static int process_open(struct process **out, const struct process_plan *plan, bool talks,
                        struct error *err)
{
    assert(plan->argv && plan->argv[0]);
    struct process *process = xcalloc(1, sizeof(*process));
    process->input = process->output = process->errors = process->status = -1;
    process->started_s = now_s();
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

int process_start(struct process **out, const struct process_plan *plan, struct error *err)
{
    return process_open(out, plan, true, err);
}

static void read_log(struct process *process)
{
    char bytes[16384];
    for (;;) {
        ssize_t size = read(process->errors, bytes, sizeof(bytes));
        if (size > 0) {
            log_write(&process->log, bytes, (size_t)size);
        } else if (size == 0) {
            close_fd(&process->errors);
            return;
        } else if (errno != EINTR) {
            return; // EAGAIN: nothing there now
        }
    }
}

static void read_status(struct process *process)
{
    struct keeper_report report;
    ssize_t size = read(process->status, &report, sizeof(report));
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size == sizeof(report))
        process->report = report;
    close_fd(&process->status);
}

static void order_end(struct process *process)
{
    if (process->status >= 0)
        kill(process->keeper, SIGTERM); // not reaped yet, so the number is still its own
}

// Waits until something happens or until_s, and keeps the log and the status moving. Returns the
// events of `fd` (the output or the input, or -1).
static short wait_events(struct process *process, int fd, short events, double until_s)
{
    double now = now_s();
    if (now >= process->deadline_s && !process->timed_out && process->status >= 0) {
        process->timed_out = true;
        order_end(process);
    }
    double until = process->timed_out ? until_s : fmin(until_s, process->deadline_s);
    double wait_ms = ceil(fmax(0, until - now) * 1e3);
    struct pollfd polled[] = {
        {.fd = fd, .events = events},
        {.fd = process->errors, .events = POLLIN},
        {.fd = process->status, .events = POLLIN},
    };
    if (poll(polled, ARRAY_COUNT(polled), (int)fmin(wait_ms, 3600e3)) <= 0)
        return 0;
    if (polled[1].revents)
        read_log(process);
    if (polled[2].revents)
        read_status(process);
    return polled[0].revents;
}

// Until the keeper reports, at most until_s. True when it did.
static bool wait_report(struct process *process, double until_s)
{
    while (process->status >= 0 && now_s() < until_s)
        wait_events(process, -1, 0, until_s);
    return process->status < 0;
}

static void finish(struct process_result *out, struct process *process)
{
    if (!wait_report(process, now_s() + KEEPER_PATIENCE_S))
        kill(process->keeper, SIGKILL);
    if (process->errors >= 0)
        read_log(process);
    while (waitpid(process->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    int status = process->report.status;
    struct process_result result = {
        .end = WIFEXITED(status) ? PROCESS_EXITED : PROCESS_SIGNALLED,
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
        .wall_s = now_s() - process->started_s,
        .cpu_s = process->report.cpu_s,
        .memory_bytes = process->report.memory_bytes,
    };
    if (process->timed_out)
        result.end = PROCESS_TIMED_OUT;
    else if (process->stopped)
        result.end = PROCESS_STOPPED;
    if (out)
        *out = result;
    close_fd(&process->input);
    close_fd(&process->output);
    close_fd(&process->errors);
    close_fd(&process->status);
    log_close(&process->log);
    free(process);
}

int process_run(struct process_result *out, const struct process_plan *plan, struct error *err)
{
    struct process *process;
    if (process_open(&process, plan, false, err))
        return -1;
    // The keeper needs some time for its report after the deadline.
    wait_report(process, process->deadline_s + KEEPER_PATIENCE_S);
    finish(out, process);
    return 0;
}

int process_write(struct process *process, const char *text, double timeout_s)
{
    double until_s = now_s() + timeout_s;
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t sent = send(process->input, text, left, MSG_NOSIGNAL);
        if (sent > 0) {
            text += sent;
            left -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (now_s() >= until_s || process->timed_out)
            return -1;
        wait_events(process, process->input, POLLOUT, until_s);
    }
    return 0;
}

// Takes the first line out of the buffer. False when there is no whole line yet.
static bool take_line(enum process_line *kind, struct process *process, char *out, size_t size)
{
    char *end = memchr(process->line, '\n', process->used);
    if (!end) {
        if (process->used == sizeof(process->line)) {
            process->skipping = true; // and its rest, when it comes
            process->used = 0;
        }
        return false;
    }
    size_t length = (size_t)(end - process->line);
    bool whole = !process->skipping && length < size && !memchr(process->line, '\0', length);
    if (whole) {
        memcpy(out, process->line, length);
        out[length] = '\0';
    }
    process->skipping = false;
    process->used -= length + 1;
    memmove(process->line, end + 1, process->used);
    *kind = whole ? PROCESS_LINE : PROCESS_LINE_LONG;
    return true;
}

enum process_line process_read(struct process *process, char *out, size_t size, double timeout_s)
{
    double until_s = now_s() + timeout_s;
    enum process_line kind;
    for (;;) {
        if (take_line(&kind, process, out, size))
            return kind;
        if (process->output < 0)
            return PROCESS_LINE_END;
        ssize_t got = read(process->output, process->line + process->used,
                           sizeof(process->line) - process->used);
        if (got > 0)
            process->used += (size_t)got;
        else if (got == 0)
            close_fd(&process->output);
        else if (errno != EAGAIN && errno != EINTR)
            close_fd(&process->output);
        if (got > 0 || process->output < 0)
            continue;
        if (now_s() >= until_s || process->timed_out)
            return PROCESS_LINE_TIMEOUT;
        wait_events(process, process->output, POLLIN, until_s);
    }
}

void process_stop(struct process_result *out, struct process *process, double grace_s)
{
    if (!process)
        return;
    close_fd(&process->input);
    close_fd(&process->output);
    if (!wait_report(process, now_s() + grace_s) && !process->timed_out) {
        process->stopped = true;
        order_end(process);
    }
    finish(out, process);
}

void process_describe(char *out, size_t size, const struct process_result *result)
{
    switch (result->end) {
    case PROCESS_EXITED:
        snprintf(out, size, "exit status %d", result->code);
        break;
    case PROCESS_SIGNALLED:
        snprintf(out, size, "signal %d (%s)", result->code, strsignal(result->code));
        break;
    case PROCESS_TIMED_OUT:
        snprintf(out, size, "killed after %.3g s", result->wall_s);
        break;
    case PROCESS_STOPPED:
        snprintf(out, size, "stopped after %.3g s", result->wall_s);
        break;
    }
}
