// SPDX-License-Identifier: Apache-2.0
//
// Progress on stderr, for a terminal or a log. Results never pass here.
#include "ci/settings/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_init(struct progress *progress, bool quiet)
{
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) == 1, .quiet = quiet};
    progress->started_s = monotonic_s();
}

void progress_begin(struct progress *progress, size_t total)
{
    progress->done = 0;
    progress->total = total;
    progress->started_s = monotonic_s();
}

static void clear_line(struct progress *progress)
{
    if (progress->width)
        fprintf(stderr, "\r%*s\r", (int)progress->width, "");
    progress->width = 0;
}

// "12/40, 35 s left"; no estimate before two steps are done.
static void counts(char *out, size_t size, const struct progress *progress)
{
    double spent = monotonic_s() - progress->started_s;
    if (progress->done >= 2 && progress->total > progress->done) {
        double left = spent / (double)progress->done * (double)(progress->total - progress->done);
        snprintf(out, size, "%zu/%zu, %.0f s left", progress->done, progress->total, left + 0.5);
    } else {
        snprintf(out, size, "%zu/%zu", progress->done, progress->total);
    }
}

void progress_step(struct progress *progress, const char *format, ...)
{
    double now = monotonic_s();
    if (progress->quiet || (!progress->terminal && now - progress->shown_s < 1))
        return;
    progress->shown_s = now;
    char what[160], where[64] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (progress->total)
        counts(where, sizeof(where), progress);
    clear_line(progress);
    int width = fprintf(stderr, "plumb: %s%s%s", where, *where ? ": " : "", what);
    progress->width = width > 0 ? (size_t)width : 0;
    if (!progress->terminal) {
        fputc('\n', stderr);
        progress->width = 0;
    }
    fflush(stderr);
}

void progress_advance(struct progress *progress)
{
    progress->done++;
}

void progress_note(struct progress *progress, const char *format, ...)
{
    if (progress->quiet)
        return;
    clear_line(progress);
    va_list args;
    va_start(args, format);
    fputs("plumb: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

void progress_end(struct progress *progress)
{
    clear_line(progress);
}
