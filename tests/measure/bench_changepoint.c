// SPDX-License-Identifier: Apache-2.0
//
// Detection on recorded backgrounds with injected steps, against the rules of other tools at the
// same rate of false changes; false changes on pure noise; time per series. Words choose parts of
// it: detection (or plumb: the same without the other tools), noise, speed. seed=N draws
// other histories than those the detectors were chosen on. bench_changepoint_cases.c has more.
#include "model/history/changepoint.h"
#include "tests/helpers/helper_changepoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LENGTH = 150, AT = 90, NULLS = 300, GAMES = 200, WATCHED = 80, BLOCK = 10, NEAR = 5 };
static uint64_t other_histories; // added to each seed
static const size_t looks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 35, 40, 45};

// A history of the recorded noise: blocks of neighbours drawn at random.
static void history(double *values, const struct cp_background *b, struct random *random)
{
    size_t at = 0;
    for (size_t i = 0; i < LENGTH; i++) {
        if (i % BLOCK == 0)
            at = (size_t)(random_uniform(random) * (double)b->count);
        values[i] = b->values[at++ % b->count];
    }
}

static double null_rate(const struct cp_method *m, double knob, const struct cp_background *b)
{
    struct random random = {41 + other_histories};
    double values[LENGTH];
    size_t out[LENGTH], found = 0;
    for (int i = 0; i < NULLS; i++) {
        history(values, b, &random);
        found += m->find(out, values, LENGTH, knob);
    }
    return (double)found * 1000 / (NULLS * LENGTH);
}

// The mildest knob whose false changes are at most one in 1000 values on this background, by
// bisection of its logarithm.
static double calibrate(const struct cp_method *m, const struct cp_background *b)
{
    double loose = log(m->loose), strict = log(m->strict);
    if (null_rate(m, m->loose, b) <= 1)
        return m->loose;
    for (int i = 0; i < 10; i++) {
        double middle = 0.5 * (loose + strict);
        *(null_rate(m, exp(middle), b) > 1 ? &loose : &strict) = middle;
    }
    return exp(strict);
}

static void game(double *values, const struct cp_background *b, double size, int number,
                 struct random *random)
{
    history(values, b, random);
    cp_add_step(values, LENGTH, AT, number % 2 ? size : -size);
}

// F1 over whole histories with one step.
static double f1(const struct cp_method *m, double knob, const struct cp_background *b, double size)
{
    struct random random = {43 + other_histories};
    double values[LENGTH], right = 0, reported = 0;
    size_t out[LENGTH];
    for (int i = 0; i < GAMES; i++) {
        game(values, b, size, i, &random);
        size_t count = m->find(out, values, LENGTH, knob);
        reported += (double)count;
        right += cp_one_near(out, count, AT, NEAR);
    }
    return 2 * right / (reported + GAMES);
}

// Commits from the step until it is first reported, the rule run after each of `looks`.
static size_t first_seen(const struct cp_method *m, double knob, const double *values)
{
    size_t out[LENGTH];
    for (size_t i = 0; i < ARRAY_COUNT(looks); i++) {
        if (cp_one_near(out, m->find(out, values, AT + looks[i], knob), AT, NEAR))
            return looks[i];
    }
    return LENGTH;
}

static int ascending(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void print_delay(const struct cp_method *m, double knob, const struct cp_background *b,
                        double size)
{
    struct random random = {43 + other_histories};
    double values[LENGTH];
    size_t delays[WATCHED];
    for (int i = 0; i < WATCHED; i++) {
        game(values, b, size, i, &random);
        delays[i] = first_seen(m, knob, values);
    }
    qsort(delays, WATCHED, sizeof(*delays), ascending);
    size_t median = delays[WATCHED / 2];
    if (median > looks[ARRAY_COUNT(looks) - 1])
        printf("   -");
    else
        printf(" %3zu", median);
}

static void print_rule(const struct cp_method *m, double knob, const struct cp_background *b,
                       bool delays)
{
    static const double sizes[] = {0.5, 1, 2, 5};
    printf("  %-14s %8.2g %7.2f ", m->name, knob, null_rate(m, knob, b));
    for (size_t s = 0; s < ARRAY_COUNT(sizes); s++)
        printf(" %4.2f", f1(m, knob, b, sizes[s]));
    for (size_t s = 0; delays && s < ARRAY_COUNT(sizes); s++)
        print_delay(m, knob, b, sizes[s]);
    putchar('\n');
    fflush(stdout);
}

static void detection(bool equal, size_t rules)
{
    static struct cp_background backgrounds[8];
    size_t count = cp_load_backgrounds(backgrounds, ARRAY_COUNT(backgrounds));
    printf("Recorded backgrounds, 150 commits, one step at 90, %s.\n"
           "F1 of a report within 5 commits%s, for steps of 0.5, 1, 2 and 5 %%.\n",
           equal ? "every rule at no more than one false change in 1000 values"
                 : "every rule as its tool sets it",
           equal ? "; median commits until the first report (-: more than 45)" : "");
    for (size_t i = 0; i < count; i++) {
        printf("%s\n  %-14s %8s %7s   0.5    1    2    5%s\n", backgrounds[i].name, "rule", "knob",
               "false", equal ? "  0.5   1   2   5" : "");
        for (size_t m = 0; m < rules; m++) {
            double knob = equal ? calibrate(&cp_methods[m], &backgrounds[i])
                                : cp_default_knob(&cp_methods[m]);
            print_rule(&cp_methods[m], knob, &backgrounds[i], equal);
        }
    }
    putchar('\n');
}

static void pure_noise(void)
{
    static const size_t lengths[] = {20, 30, 50, 200, 1000, 10000};
    static double values[10000];
    static size_t out[10000];
    puts("\nFalse changes per 10,000 values of pure noise (defaults; a million values each in "
         "series of "
         "up to 50, of which 0.7 is known to 0.1, else 100,000)");
    printf("%-18s", "noise");
    for (size_t l = 0; l < ARRAY_COUNT(lengths); l++)
        printf("  n=%-6zu", lengths[l]);
    putchar('\n');
    for (int kind = 0; kind < CP_KINDS; kind++) {
        printf("%-18s", cp_kind_names[kind]);
        for (size_t l = 0; l < ARRAY_COUNT(lengths); l++) {
            const size_t n = lengths[l], values_each = n <= 50 ? 1000000 : 100000;
            size_t found = 0;
            struct random random = {47 + other_histories};
            for (size_t total = 0; total < values_each; total += n) {
                cp_series(values, n, kind, &random);
                found += cp_ours(out, values, n, changepoint_defaults.penalty);
            }
            printf("  %8.2f", 1e4 * (double)found / (double)values_each);
            fflush(stdout);
        }
        putchar('\n');
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void speed(void)
{
    static const size_t lengths[] = {1000, 10000};
    static double values[10000];
    static size_t out[10000];
    puts("\nMilliseconds of CPU per series");
    printf("%-18s %14s %14s\n", "noise", "1k", "10k");
    for (int kind = 0; kind < CP_KINDS; kind++) {
        printf("%-18s", cp_kind_names[kind]);
        for (size_t l = 0; l < ARRAY_COUNT(lengths); l++) {
            struct random random = {53 + other_histories};
            cp_series(values, lengths[l], kind, &random);
            for (size_t at = 100; at < lengths[l]; at += 500)
                cp_add_step(values, lengths[l], at, at % 1000 == 100 ? 3 : -3);
            double start = seconds();
            for (int i = 0; i < 3; i++)
                cp_ours(out, values, lengths[l], changepoint_defaults.penalty);
            printf(" %14.1f", (seconds() - start) / 3 * 1000);
        }
        putchar('\n');
    }
}

static bool wanted(const char *part, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], part) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    bool all = argc < 2;
    if (!all && strncmp(argv[argc - 1], "seed=", 5) == 0) {
        other_histories = strtoull(argv[argc - 1] + 5, NULL, 10);
        all = --argc < 2;
    }
    if (all || wanted("detection", argc, argv) || wanted("plumb", argc, argv)) {
        size_t rules = wanted("plumb", argc, argv) ? 1 : CP_METHODS;
        detection(true, rules);
        detection(false, rules);
    }
    if (all || wanted("noise", argc, argv))
        pure_noise();
    if (all || wanted("speed", argc, argv))
        speed();
    return 0;
}
