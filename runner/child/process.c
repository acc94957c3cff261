// SPDX-License-Identifier: Apache-2.0
//
// Reads, waits for and ends a child process. It is started in process_start.c, and its descendants
// are ended by keeper.c.
#include "runner/child/process_handle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Longer than the keeper itself waits for processes that do not die.
static const double KEEPER_PATIENCE_S = 15;

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
            process_close_fd(&process->errors);
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
    process_close_fd(&process->status);
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
    double now = process_now_s();
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
    while (process->status >= 0 && process_now_s() < until_s)
        wait_events(process, -1, 0, until_s);
    return process->status < 0;
}

static void finish(struct process_result *out, struct process *process)
{
    if (!wait_report(process, process_now_s() + KEEPER_PATIENCE_S))
        kill(process->keeper, SIGKILL);
    if (process->errors >= 0)
        read_log(process);
    while (waitpid(process->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    int status = process->report.status;
    struct process_result result = {
        .end = WIFEXITED(status) ? PROCESS_EXITED : PROCESS_SIGNALLED,
        .code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
        .wall_s = process_now_s() - process->started_s,
        .cpu_s = process->report.cpu_s,
        .memory_bytes = process->report.memory_bytes,
    };
    if (process->report.excess) {
        result.end = PROCESS_EXCEEDED;
        result.code = (int)process->report.excess;
    } else if (process->timed_out)
        result.end = PROCESS_TIMED_OUT;
    else if (process->stopped)
        result.end = PROCESS_STOPPED;
    if (out)
        *out = result;
    process_close_fd(&process->input);
    process_close_fd(&process->output);
    process_close_fd(&process->errors);
    process_close_fd(&process->status);
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

int process_capture(struct process_result *out, char **said, const struct process_plan *plan,
                    struct error *err)
{
    struct process *process;
    assert(!plan->log_path && plan->log_bytes > 0);
    int memory = memfd_create("plumb", MFD_CLOEXEC);
    int copy = memory < 0 ? -1 : fcntl(memory, F_DUPFD_CLOEXEC, 0), code = -1;
    if (copy < 0) {
        error_set(err, "%s: no memory for what it prints: %s", plan->argv[0], strerror(errno));
        goto done;
    }
    if (process_open(&process, plan, false, err))
        goto done;
    log_attach(&process->log, copy, plan->log_bytes);
    copy = -1;
    wait_report(process, process->deadline_s + KEEPER_PATIENCE_S);
    finish(out, process);
    *said = log_tail_of(memory, plan->log_bytes);
    code = 0;
done:
    process_close_fd(&copy);
    process_close_fd(&memory);
    return code;
}

int process_write(struct process *process, const char *text, double timeout_s)
{
    double until_s = process_now_s() + timeout_s;
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
        if (process_now_s() >= until_s || process->timed_out)
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
    double until_s = process_now_s() + timeout_s;
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
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            process_close_fd(&process->output);
        if (got > 0 || process->output < 0)
            continue;
        if (process_now_s() >= until_s || process->timed_out)
            return PROCESS_LINE_TIMEOUT;
        wait_events(process, process->output, POLLIN, until_s);
    }
}

void process_hang_up(struct process *process)
{
    process_close_fd(&process->input);
}

void process_stop(struct process_result *out, struct process *process, double grace_s)
{
    if (!process)
        return;
    process_close_fd(&process->input);
    process_close_fd(&process->output);
    if (!wait_report(process, process_now_s() + grace_s) && !process->timed_out) {
        process->stopped = true;
        order_end(process);
    }
    finish(out, process);
}

static const char *const excesses[] = {
    [PROCESS_TOO_MANY] = "more processes and threads than allowed",
    [PROCESS_TOO_LARGE] = "more memory together than allowed",
    [PROCESS_TOO_MUCH_DISK] = "more disk than allowed",
};

// A shell ends with 128 and the signal that ended its command.
static void describe_exit(char *out, size_t size, int code)
{
    enum { SHELL_SIGNALLED = 128 };
    const char *name = code > SHELL_SIGNALLED ? sigabbrev_np(code - SHELL_SIGNALLED) : NULL;
    if (name)
        snprintf(out, size, "exit status %d (SIG%s, %s)", code, name,
                 strsignal(code - SHELL_SIGNALLED));
    else
        snprintf(out, size, "exit status %d", code);
}

void process_describe(char *out, size_t size, const struct process_result *result)
{
    switch (result->end) {
    case PROCESS_EXITED:
        describe_exit(out, size, result->code);
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
    case PROCESS_EXCEEDED:
        snprintf(out, size, "ended: %s", excesses[result->code]);
        break;
    }
}
