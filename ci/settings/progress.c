// SPDX-License-Identifier: Apache-2.0
//
// The progress line: its content, its length on the terminal, and when it is drawn.
#include "ci/settings/progress.h"

#include "reports/text/clean.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

// ==== untrusted text ====
//
// Text from elsewhere must not become a command to GitHub's runner. The runner takes a line as one
// if it begins with "::" (blanks before that do not matter), or has "##[" anywhere.

enum { LINE_MOST = 2048 };

char *plain_line(const char *text)
{
    struct buffer line = {0};
    buffer_puts(&line, "");
    clean_line(&line, text, LINE_MOST);
    char *begin = line.bytes + strspn(line.bytes, " ");
    if (strncmp(begin, "::", 2) == 0)
        memset(begin, ' ', strspn(begin, " :"));
    for (char *at = line.bytes; (at = strstr(at, "##")); at++)
        at[1] = ' ';
    return line.bytes;
}

// ==== progress ====

enum { TEXT_MOST = 1024 };

// Several threads may print, but there is only one terminal.
static pthread_mutex_t speaking = PTHREAD_MUTEX_INITIALIZER;

double monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_init(struct progress *progress, bool quiet)
{
    *progress = (struct progress){.terminal = isatty(STDERR_FILENO) == 1, .quiet = quiet};
    progress_begin(progress);
}

void progress_begin(struct progress *progress)
{
    progress->started_s = monotonic_s();
    progress->left_s = NAN;
    progress->share = 0;
}

void progress_left(struct progress *progress, double left_s)
{
    const double spent_s = monotonic_s() - progress->started_s;
    progress->left_s = left_s >= 0 ? left_s : NAN;
    if (left_s >= 0 && spent_s + left_s > 0)
        progress->share = fmax(progress->share, spent_s / (spent_s + left_s));
}

static size_t terminal_columns(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
        return size.ws_col - 1u; // a full line would begin the next one
    return 79;
}

static void clear_line(struct progress *progress)
{
    if (progress->width)
        fprintf(stderr, "\r%*s\r", (int)progress->width, "");
    progress->width = 0;
}

// Writes "62 %, 14 s left: "; nothing as long as the end is not known.
static void describe(char *out, size_t size, const struct progress *progress)
{
    const double left_s = progress->left_s;
    out[0] = '\0';
    if (isnan(left_s))
        return;
    const int percent = (int)fmin(99, 100 * progress->share);
    if (left_s < 100)
        snprintf(out, size, "%d %%, %.0f s left: ", percent, ceil(left_s));
    else if (left_s < 100 * 60)
        snprintf(out, size, "%d %%, %.0f min left: ", percent, ceil(left_s / 60));
    else
        snprintf(out, size, "%d %%, %.1f h left: ", percent, left_s / 3600);
}

// Counts UTF-8 characters up to `columns` (0: all), and their bytes.
static size_t count_columns(const char *text, size_t columns, size_t *bytes)
{
    size_t count = 0, at = 0;
    for (; text[at]; at++) {
        const bool begins = ((unsigned char)text[at] & 0xc0) != 0x80;
        if (begins && columns && count == columns)
            break;
        count += begins;
    }
    *bytes = at;
    return count;
}

size_t progress_line(char *out, size_t size, const struct progress *progress, size_t columns,
                     const char *what)
{
    char left[64], line[TEXT_MOST];
    size_t bytes;
    describe(left, sizeof(left), progress);
    char *plain = plain_line(what);
    snprintf(line, sizeof(line), "plumb: %s%s", left, plain);
    free(plain);
    const size_t count = count_columns(line, columns, &bytes);
    snprintf(out, size, "%.*s", (int)bytes, line);
    return count;
}

bool progress_due(const struct progress *progress)
{
    const double pause_s = progress->terminal ? 0.05 : 1;
    return !progress->quiet && monotonic_s() - progress->shown_s >= pause_s;
}

void progress_step(struct progress *progress, const char *format, ...)
{
    if (!progress_due(progress))
        return;
    char what[512], line[TEXT_MOST];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    pthread_mutex_lock(&speaking);
    progress->shown_s = monotonic_s();
    clear_line(progress);
    const size_t width = progress_line(line, sizeof(line), progress,
                                       progress->terminal ? terminal_columns() : 0, what);
    fprintf(stderr, "%s%s", line, progress->terminal ? "" : "\n");
    progress->width = progress->terminal ? width : 0;
    fflush(stderr);
    pthread_mutex_unlock(&speaking);
}

void progress_note(struct progress *progress, const char *format, ...)
{
    char text[TEXT_MOST];
    if (progress->quiet)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    char *line = plain_line(text);
    pthread_mutex_lock(&speaking);
    clear_line(progress);
    fprintf(stderr, "plumb: %s\n", line);
    pthread_mutex_unlock(&speaking);
    free(line);
}

void progress_end(struct progress *progress)
{
    clear_line(progress);
}

// ==== pace ====
//
// Expected times, by least squares over running sums.

void pace_add(struct pace *pace, double size, double seconds)
{
    pace->count += 1;
    pace->size += size;
    pace->size2 += size * size;
    pace->seconds += seconds;
    pace->product += size * seconds;
}

double pace_expect(const struct pace *p, double size)
{
    if (p->count == 0)
        return NAN;
    const double mean = p->seconds / p->count, middle = p->size / p->count;
    const double spread = p->size2 - p->size * middle;
    double slope = (p->product - p->seconds * middle) / spread, fixed = mean - slope * middle;
    // If all sizes are alike, a larger one is expected to take longer, and a smaller one as long.
    if (!(spread > 1e-9 * p->size2))
        return middle > 0 ? mean * fmax(1, size / middle) : mean;
    if (slope < 0)
        slope = 0, fixed = mean;
    if (fixed < 0)
        fixed = 0, slope = p->product / p->size2;
    return fixed + slope * size;
}
