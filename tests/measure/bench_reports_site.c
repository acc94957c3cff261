// SPDX-License-Identifier: Apache-2.0
//
// How the site grows: bench_reports_site [FOLDER [keep]] writes sites of 500 series over 1,000,
// 2,000 and 10,000 commits with a run each (0.5, 1 and 5 million points), each from nothing, again
// unchanged, and after one night that touched one kernel, and prints seconds, memory and the size
// of the overview. `keep`: only the largest, which stays, for bench_site_load.js.
#include "tests/helpers/helper_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double timed(struct helper_site *h, const char *folder)
{
    struct error err;
    double start = now_s();
    if (site_write(&h->site, folder, NULL, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return now_s() - start;
}

// A night in which the series of one kernel got a new point.
static void touch_one_kernel(struct helper_site *h)
{
    struct site_series *series = arena_alloc(&h->arena, h->site.series_count * sizeof(*series));
    memcpy(series, h->site.series, h->site.series_count * sizeof(*series));
    for (size_t i = 0; i < h->site.series_count; i++)
        series[i].revision += strcmp(series[i].kernel, series[0].kernel) == 0;
    h->site.series = series;
}

int main(int argc, char **argv)
{
    static const size_t commits[] = {1000, 2000, 10000};
    const char *parent = argc > 1 ? argv[1] : "/tmp";
    printf("%10s %10s %10s %10s %12s %14s\n", "points", "full s", "again s", "night s", "memory MB",
           "overview kB");
    const bool keep = argc > 2;
    for (size_t i = keep ? ARRAY_COUNT(commits) - 1 : 0; i < ARRAY_COUNT(commits); i++) {
        struct helper_site h;
        struct rusage usage;
        struct stat st = {0};
        char *folder = xprintf("%s/plumb-bench-site-XXXXXX", parent);
        if (!mkdtemp(folder)) {
            perror(folder);
            return 1;
        }
        helper_site_of(&h, 500, commits[i], commits[i], false);
        double full = timed(&h, folder), again = timed(&h, folder);
        touch_one_kernel(&h);
        double night = timed(&h, folder);
        char *index = xprintf("%s/index.html", folder);
        (void)stat(index, &st);
        getrusage(RUSAGE_SELF, &usage);
        printf("%10zu %10.2f %10.2f %10.2f %12ld %14lld\n", 500 * commits[i], full, again, night,
               usage.ru_maxrss / 1024, (long long)st.st_size / 1024);
        fflush(stdout);
        char *command = xprintf("rm -rf '%s'", folder);
        if (keep)
            printf("%s\n", folder);
        else if (system(command) != 0)
            fprintf(stderr, "%s: not removed\n", folder);
        free(command);
        free(index);
        free(folder);
        helper_site_free(&h);
    }
    return 0;
}
