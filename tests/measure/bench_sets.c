// SPDX-License-Identifier: Apache-2.0
//
// How often what is said with 95 % holds, and what is seen among the newest values:
//     bench_sets sets [DRAWS [SEED [CELL FINDS]]]
//                                      steps in the middle: how many were found, and of these how
//                                      many sets and sizes hold the truth, with the 95 % interval
//                                      of that share; with CELL only that row of the table, until
//                                      FINDS were found
//     bench_sets power SD [DRAWS]      steps among the newest values, by the values before and
//     after
#include "model/history/changepoint.h"
#include "tests/helpers/helper_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NORMAL, AR4, AR6, T3, UNEQUAL, KINDS, MOST = 1024 };
static const char *const kinds[KINDS] = {"normal", "AR(1) 0.4", "AR(1) 0.6", "t3", "SD 1, then 3"};

static double student(struct random *random)
{
    double squares = 0;
    for (int i = 0; i < 3; i++)
        squares += pow(random_normal(random), 2);
    return random_normal(random) / sqrt(squares);
}

static void make(double *values, size_t n, int kind, size_t at, struct random *random)
{
    const double r = kind == AR4 ? 0.4 : kind == AR6 ? 0.6 : 0;
    double x = random_normal(random);
    for (size_t i = 0; i < n; i++) {
        values[i] = kind == T3 ? student(random) : kind == UNEQUAL && i >= at ? 3 * x : x;
        x = r * x + sqrt(1 - r * r) * random_normal(random);
    }
}

// A share of `count` as Wilson's interval has it.
static void print_share(double held, double count)
{
    const double z = 1.96, share = held / count, middle = share + z * z / (2 * count);
    const double reach = z * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
    const double whole = 1 + z * z / count;
    printf(" %5.0f %.3f (%.3f..%.3f)", held, share, (middle - reach) / whole,
           (middle + reach) / whole);
}

static void sets(int draws, uint64_t seed, size_t only, double finds)
{
    static const size_t lengths[] = {10, 20, 40, 60, 100, 300};
    static const double steps[] = {1.5, 2, 3, 5};
    double values[MOST];
    printf("noise          values step  found width   sets that hold              sizes\n");
    for (size_t cell = 0; cell < KINDS * ARRAY_COUNT(lengths) * ARRAY_COUNT(steps); cell++) {
        if (only && cell + 1 != only)
            continue;
        const int kind = (int)(cell / (ARRAY_COUNT(lengths) * ARRAY_COUNT(steps)));
        const size_t n = lengths[cell / ARRAY_COUNT(steps) % ARRAY_COUNT(lengths)], at = n / 2;
        const double step = steps[cell % ARRAY_COUNT(steps)] * (kind == UNEQUAL ? 3 : 1);
        struct random random = {cell + 1 + 1000 * seed};
        double found = 0, held = 0, sized = 0, width = 0;
        for (int d = 0; d < draws && !(only && found >= finds); d++) {
            make(values, n, kind, at, &random);
            for (size_t i = at; i < n; i++)
                values[i] += step;
            struct changepoints c;
            changepoints_find(&c, values, n, NULL);
            if (c.count == 1) {
                const struct change *change = &c.changes[0];
                found++;
                held += change->earliest <= at && at <= change->latest;
                sized += change->size.low <= step && step <= change->size.high;
                width += (double)(change->latest - change->earliest + 1);
            }
            changepoints_free(&c);
        }
        printf("%-14s %6zu %4.1f %6.0f", kinds[kind], n, step, found);
        if (found > 0) {
            printf(" %5.1f", width / found);
            print_share(held, found);
            print_share(sized, found);
        }
        putchar('\n');
    }
}

static void power(double step, int draws)
{
    static const size_t before[] = {5, 8, 10, 18, 20, 30, 40, 50, 60, 80, 100, 200, 500, 1000};
    static const size_t after[] = {2, 3, 5, 12};
    double values[MOST];
    printf("values before: found with 2, 3, 5 and 12 values after a step of %g SD\n", step);
    for (size_t b = 0; b < ARRAY_COUNT(before); b++) {
        printf("%4zu:", before[b]);
        for (size_t a = 0; a < ARRAY_COUNT(after); a++) {
            const size_t at = before[b], n = at + after[a];
            struct random random = {b * ARRAY_COUNT(after) + a + 1};
            int found = 0;
            for (int d = 0; d < draws; d++) {
                struct changepoints c;
                make(values, n, NORMAL, n, &random);
                for (size_t i = at; i < n; i++)
                    values[i] += step;
                changepoints_find(&c, values, n, NULL);
                bool seen = false;
                for (size_t i = 0; i < c.count; i++)
                    seen |= c.changes[i].index + 1 >= at && c.changes[i].index <= at + 1;
                found += seen;
                changepoints_free(&c);
            }
            printf(" %.2f", found / (double)draws);
        }
        putchar('\n');
    }
}

int main(int count, char **words)
{
    if (count >= 2 && strcmp(words[1], "sets") == 0)
        sets(count > 2 ? atoi(words[2]) : 200, count > 3 ? (uint64_t)atoi(words[3]) : 0,
             count > 5 ? (size_t)atoi(words[4]) : 0, count > 5 ? atof(words[5]) : 0);
    else if (count >= 3 && strcmp(words[1], "power") == 0)
        power(atof(words[2]), count > 3 ? atoi(words[3]) : 100);
    else
        return fprintf(stderr, "bench_sets sets [DRAWS], or bench_sets power SD [DRAWS]\n"), 2;
    return 0;
}
