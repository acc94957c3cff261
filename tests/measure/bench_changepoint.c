// SPDX-License-Identifier: Apache-2.0
//
// Detection on recorded backgrounds with injected steps, against the rules of other tools at the
// same rate of false changes; false changes on pure noise; time per series. Words choose parts of
// it: detection (or plumb: the same without the other tools), noise, speed, cases (clear steps that
// detectors have missed, and how many changes vanish as a series grows). seed=N draws other
// histories than those the detectors were chosen on.
#include "model/history/changepoint.h"
#include "model/history/focus.h"
#include "tests/helpers/helper_cp_cases.h"
#include "tests/helpers/helper_cp_peers.h"
#include "tests/helpers/helper_cp_series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CASE_GAMES = 100,
    GROWING = 10,
    LENGTH = 150,
    AT = 90,
    NULLS = 300,
    GAMES = 200,
    WATCHED = 80,
    BLOCK = 10,
    NEAR = 5
};
static uint64_t other_histories; // added to each seed
static const size_t looks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 35, 40, 45};

static size_t take_places(size_t *out, const struct changepoints *found)
{
    for (size_t i = 0; i < found->count; i++)
        out[i] = found->changes[i].index;
    return found->count;
}

static size_t ours(size_t *out, const double *values, size_t n, double knob)
{
    struct changepoint_options options = changepoint_defaults;
    options.penalty = knob;
    struct changepoints found;
    changepoints_find(&found, values, n, &options);
    const size_t count = take_places(out, &found);
    changepoints_free(&found);
    return count;
}

static const struct method {
    const char *name;
    size_t (*find)(size_t *out, const double *values, size_t n, double knob);
    double usual;         // the tool's default
    double loose, strict; // where calibration starts and ends
} methods[] = {
    {"plumb", ours, 0, 2, 80},
    {"otava", cp_otava, 1e-3, 2e-2, 1e-13},
    {"asv", cp_asv, 4, 0.5, 60},
    {"perfherder", cp_perfherder, 7, 2, 60},
};

static double default_knob(const struct method *m)
{
    return m->find == ours ? changepoint_defaults.penalty : m->usual;
}

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

static double null_rate(const struct method *m, double knob, const struct cp_background *b)
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
static double calibrate(const struct method *m, const struct cp_background *b)
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

static bool one_near(const size_t *found, size_t count, size_t at, size_t reach)
{
    bool hit = false;
    for (size_t i = 0; i < count; i++)
        hit |= found[i] + reach >= at && found[i] <= at + reach;
    return hit;
}

static void game(double *values, const struct cp_background *b, double size, int number,
                 struct random *random)
{
    history(values, b, random);
    cp_add_step(values, LENGTH, AT, number % 2 ? size : -size);
}

// F1 over whole histories with one step.
static double f1(const struct method *m, double knob, const struct cp_background *b, double size)
{
    struct random random = {43 + other_histories};
    double values[LENGTH], right = 0, reported = 0;
    size_t out[LENGTH];
    for (int i = 0; i < GAMES; i++) {
        game(values, b, size, i, &random);
        size_t count = m->find(out, values, LENGTH, knob);
        reported += (double)count;
        right += one_near(out, count, AT, NEAR);
    }
    return 2 * right / (reported + GAMES);
}

// Commits from the step until it is first reported, the rule run after each of `looks`.
static size_t first_seen(const struct method *m, double knob, const double *values)
{
    size_t out[LENGTH];
    for (size_t i = 0; i < ARRAY_COUNT(looks); i++) {
        if (one_near(out, m->find(out, values, AT + looks[i], knob), AT, NEAR))
            return looks[i];
    }
    return LENGTH;
}

static int ascending(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void print_delay(const struct method *m, double knob, const struct cp_background *b,
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

static void print_rule(const struct method *m, double knob, const struct cp_background *b,
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
            double knob =
                equal ? calibrate(&methods[m], &backgrounds[i]) : default_knob(&methods[m]);
            print_rule(&methods[m], knob, &backgrounds[i], equal);
        }
    }
    putchar('\n');
}

static void pure_noise(void)
{
    static const size_t lengths[] = {20, 30, 50, 200, 1000, 10000};
    static double values[10000];
    static size_t out[10000];
    puts("\nFalse changes per 10,000 values of pure noise (defaults, 100,000 values each)");
    printf("%-18s", "noise");
    for (size_t l = 0; l < ARRAY_COUNT(lengths); l++)
        printf("  n=%-6zu", lengths[l]);
    putchar('\n');
    for (int kind = 0; kind < CP_KINDS; kind++) {
        printf("%-18s", cp_kind_names[kind]);
        for (size_t l = 0; l < ARRAY_COUNT(lengths); l++) {
            size_t n = lengths[l], found = 0;
            struct random random = {47 + other_histories};
            for (size_t total = 0; total < 100000; total += n) {
                cp_series(values, n, kind, &random);
                found += ours(out, values, n, changepoint_defaults.penalty);
            }
            printf("  %8.1f", (double)found / 10);
        }
        putchar('\n');
    }
}

// With the online detector's alarm, as `plumb history` says it.
static size_t with_alarm(size_t *out, const double *values, size_t n)
{
    struct changepoints found;
    struct change newest;
    changepoints_find(&found, values, n, NULL);
    size_t count = take_places(out, &found);
    if (focus_newest(&newest, values, n, &found, NULL) == FOCUS_ALARM)
        out[count++] = newest.index;
    changepoints_free(&found);
    return count;
}

static size_t ask(size_t *out, const struct method *m, const double *values, size_t n)
{
    return m->find == ours ? with_alarm(out, values, n) : m->find(out, values, n, m->usual);
}

// Share of the steps that are found, and other reports per series.
static void print_case(const struct cp_case *c, const struct method *m)
{
    struct random random = {59 + other_histories};
    double values[CP_CASE_MOST], steps = 0, hit = 0, reports = 0;
    size_t out[CP_CASE_MOST + 1];
    for (int g = 0; g < CASE_GAMES; g++) {
        c->make(values, c->n, c->steps[0], &random);
        const size_t count = ask(out, m, values, c->n);
        reports += (double)count;
        for (size_t s = 0; s < CP_CASE_STEPS && c->steps[s]; s++, steps++)
            hit += one_near(out, count, c->steps[s], c->near);
    }
    printf("  %5.3f %4.2f", hit / steps, fmax(reports - hit, 0) / CASE_GAMES);
}

// Per cent of the changes of one length that no report of the next is within NEAR of.
static void print_gone(const struct method *m, int kind)
{
    struct random random = {61 + other_histories};
    double values[CP_CASE_MOST], gone = 0, all = 0;
    size_t before[CP_CASE_MOST], now[CP_CASE_MOST];
    for (int g = 0; g < GROWING; g++) {
        size_t known = 0;
        cp_growing(values, CP_CASE_MOST, kind, &random);
        for (size_t n = 20; n <= CP_CASE_MOST; n += 1 + (size_t)(40 * random_uniform(&random))) {
            const size_t count = m->find(now, values, n, default_knob(m));
            for (size_t i = 0; i < known; i++)
                gone += !one_near(now, count, before[i], NEAR);
            all += (double)known;
            memcpy(before, now, sizeof(now));
            known = count;
        }
    }
    printf("  %10.2f", 100 * gone / fmax(all, 1));
}

static void print_names(void)
{
    for (size_t m = 0; m < ARRAY_COUNT(methods); m++)
        printf("  %10s", methods[m].name);
}

static void cases(void)
{
    printf("\nClear steps, %d series each, every rule as its tool sets it (plumb with its alarm):\n"
           "share found, other reports per series\n%-30s",
           CASE_GAMES, "");
    print_names();
    for (size_t c = 0; c < cp_case_count; c++) {
        printf("\n%-30s", cp_cases[c].name);
        for (size_t m = 0; m < ARRAY_COUNT(methods); m++)
            print_case(&cp_cases[c], &methods[m]);
    }
    printf("\n\nPer cent of changes that are gone at the next of growing lengths, 20 to %d\n%-30s",
           CP_CASE_MOST, "");
    print_names();
    for (int kind = 0; kind < CP_KINDS; kind++) {
        printf("\n%-30s", cp_kind_names[kind]);
        for (size_t m = 0; m < ARRAY_COUNT(methods); m++)
            print_gone(&methods[m], kind);
        fflush(stdout);
    }
    putchar('\n');
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
                ours(out, values, lengths[l], changepoint_defaults.penalty);
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
        size_t rules = wanted("plumb", argc, argv) ? 1 : ARRAY_COUNT(methods);
        detection(true, rules);
        detection(false, rules);
    }
    if (all || wanted("noise", argc, argv))
        pure_noise();
    if (all || wanted("cases", argc, argv))
        cases();
    if (all || wanted("speed", argc, argv))
        speed();
    return 0;
}
