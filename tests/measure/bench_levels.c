// SPDX-License-Identifier: Apache-2.0
//
// bench_levels [CODES]: what levelling costs. Codes (10,000 when not said) with links to the code
// before and to those 8 and 64 codes back: processor time of the levels from nothing, of one code
// more, of every interval, of closing the loops, and of all that a series needs when it is
// levelled: its loops closed, from links to every interval. Memory is the program's from the first
// turn on, as it is for plumb from its first series on.
#include "model/history/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void add_code(struct levels *levels, size_t code)
{
    static const size_t back[] = {1, 8, 64};
    for (size_t i = 0; i < ARRAY_COUNT(back); i++) {
        const double noise = 0.002 * ((double)rand() / RAND_MAX - 0.5);
        if (code >= back[i])
            levels_add(levels, &(struct level_link){code - back[i], code, noise, 0.0005});
    }
}

static double best(double best_ms, double begun_ms)
{
    return fmin(best_ms, now_ms() - begun_ms);
}

int main(int argc, char **argv)
{
    int64_t codes = 10000;
    struct error err;
    memory_stays();
    if (argc > 2 || (argc == 2 && (parse_int64(&codes, argv[1]) || codes < 2 || codes > 100000))) {
        fputs("bench_levels [CODES]: a number from 2 to 100000\n", stderr);
        return 1;
    }
    double solve_ms = INFINITY, more_ms = INFINITY, all_ms = INFINITY, close_ms = INFINITY;
    double whole_ms = INFINITY;
    for (int turn = 0; turn < 10; turn++) {
        struct levels *levels = levels_new();
        for (size_t i = 1; i < (size_t)codes; i++)
            add_code(levels, i);
        double *errors = xcalloc((size_t)codes, sizeof(*errors));
        double begun_ms = now_ms();
        int failed = levels_solve(levels, &err);
        solve_ms = best(solve_ms, begun_ms);
        begun_ms = now_ms();
        levels_errors(errors, levels);
        all_ms = best(all_ms, begun_ms);
        begun_ms = now_ms();
        add_code(levels, (size_t)codes);
        failed = failed || levels_solve(levels, &err);
        more_ms = best(more_ms, begun_ms);
        begun_ms = now_ms();
        failed = failed || levels_close(levels, &levels_prior, &err);
        close_ms = best(close_ms, begun_ms);
        levels_free(levels);
        levels = levels_new();
        for (size_t i = 1; i < (size_t)codes; i++)
            add_code(levels, i);
        begun_ms = now_ms();
        failed = failed || levels_close(levels, &levels_prior, &err);
        levels_errors(errors, levels);
        whole_ms = best(whole_ms, begun_ms);
        free(errors);
        levels_free(levels);
        if (failed) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    printf("%lld codes, processor time, best of 10: levels %.2f ms, one code more %.2f ms, every "
           "interval %.2f ms, closing the loops %.2f ms; closed with every interval %.2f ms\n",
           (long long)codes, solve_ms, more_ms, all_ms, close_ms, whole_ms);
    return 0;
}
