// SPDX-License-Identifier: Apache-2.0
//
// Reads the scheduler's accounts of two processes.
#include "kernels/bench/arm.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double part_that_counts = 0.01;

int turn_clock_open(struct turn_clock *out, pid_t process)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%ld/schedstat", (long)process);
    out->waits[0] = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    out->waits[1] = open(path, O_RDONLY | O_CLOEXEC);
    if (out->waits[0] < 0 || out->waits[1] < 0)
        turn_clock_close(out);
    return clock_getcpuclockid(process, &out->work) ? -1 : 0;
}

void turn_clock_close(struct turn_clock *clock)
{
    for (int i = 0; i < 2; i++) {
        if (clock->waits[i] >= 0)
            close(clock->waits[i]);
        clock->waits[i] = -1;
    }
}

// The second of three numbers: time on a processor, time in its queue, and how often it ran.
static double waited_ns(int file)
{
    char text[128], *at = text;
    const ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    strtoull(text, &at, 10);
    return (double)strtoull(at, NULL, 10);
}

double turn_worked_ns(const struct turn_clock *clock)
{
    struct timespec work = {0};
    clock_gettime(clock->work, &work);
    return (double)work.tv_sec * 1e9 + (double)work.tv_nsec;
}

struct turn_mark turn_mark_now(const struct turn_clock *clock)
{
    struct turn_mark mark = {0};
    if (clock->waits[0] < 0)
        return mark;
    for (int i = 0; i < 2; i++)
        mark.waited_ns += waited_ns(clock->waits[i]);
    mark.worked_ns = turn_worked_ns(clock);
    return mark;
}

double turn_time_ns(double took_ns, double empty_ns, uint32_t launches,
                    const struct turn_mark *begin, const struct turn_mark *end)
{
    const double whole_ns = fmax(took_ns - empty_ns, launches);
    const double waited = end->waited_ns - begin->waited_ns;
    if (!(waited > part_that_counts * took_ns))
        return whole_ns;
    const double worked_ns = end->worked_ns - begin->worked_ns;
    return fmin(whole_ns, fmax(fmax(whole_ns - waited, worked_ns), launches));
}
