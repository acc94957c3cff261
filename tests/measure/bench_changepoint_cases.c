// SPDX-License-Identifier: Apache-2.0
//
// Clear steps that detectors have missed, what is no step and is said as such, and how many changes
// vanish as a series grows, with our rule and those of other tools. seed=N draws other series.
#include "tests/helpers/helper_changepoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_GAMES = 100, GROWING = 10, KEPT = 120, NOISES = 400, NEAR = 5 };
static uint64_t other_histories; // added to each seed

static size_t ask(size_t *out, const struct cp_method *m, const double *values, size_t n)
{
    return m->find(out, values, n, cp_default_knob(m));
}

// Share of the steps that are found, and other reports per series.
static void print_case(const struct cp_case *c, const struct cp_method *m)
{
    struct random random = {59 + other_histories};
    double values[CP_CASE_MOST], steps = 0, hit = 0, reports = 0;
    size_t out[CP_CASE_MOST + 1];
    for (int g = 0; g < CASE_GAMES; g++) {
        c->make(values, c->n, c->steps[0], &random);
        const size_t count = ask(out, m, values, c->n);
        reports += (double)count;
        for (size_t s = 0; s < CP_CASE_STEPS && c->steps[s]; s++, steps++)
            hit += cp_one_near(out, count, c->steps[s], c->near);
    }
    printf("  %5.3f %4.2f", hit / steps, fmax(reports - hit, 0) / CASE_GAMES);
}

// How often what is no step is said as such, and how many changes are reported of it.
static void print_shape(const struct cp_shape_case *c)
{
    struct random random = {67 + other_histories};
    double values[CP_CASE_MOST], reports[CP_METHODS] = {0};
    size_t out[CP_CASE_MOST + 1], said = 0;
    for (int g = 0; g < CASE_GAMES; g++) {
        struct changepoints found;
        struct shape shape;
        c->make(values, c->n, &random);
        changepoints_find(&found, values, c->n, NULL);
        shape_find(&shape, values, c->n, &found, 0.95);
        said += c->said(&shape);
        changepoints_free(&found);
        for (size_t m = 0; m < CP_METHODS; m++)
            reports[m] += (double)ask(out, &cp_methods[m], values, c->n) / CASE_GAMES;
    }
    printf("\n%-30s  %5.3f %4.2f", c->name, (double)said / CASE_GAMES, reports[0]);
    for (size_t m = 1; m < CP_METHODS; m++)
        printf("  %10.2f", reports[m]);
}

// Per cent of the changes of one length that no report of the next is within NEAR of.
static void print_gone(const struct cp_method *m, int kind)
{
    struct random random = {61 + other_histories};
    double values[CP_CASE_MOST], gone = 0, all = 0;
    size_t before[CP_CASE_MOST], now[CP_CASE_MOST];
    for (int g = 0; g < GROWING; g++) {
        size_t known = 0;
        cp_growing(values, CP_CASE_MOST, kind, &random);
        for (size_t n = 20; n <= CP_CASE_MOST; n += 1 + (size_t)(40 * random_uniform(&random))) {
            const size_t count = m->find(now, values, n, cp_default_knob(m));
            for (size_t i = 0; i < known; i++)
                gone += !cp_one_near(now, count, before[i], NEAR);
            all += (double)known;
            memcpy(before, now, sizeof(now));
            known = count;
        }
    }
    printf("  %10.2f", 100 * gone / fmax(all, 1));
}

// A change may move within where it may have begun.
static bool is_there(const struct changepoints *now, const struct change *old)
{
    bool met = false;
    for (size_t i = 0; i < now->count; i++)
        met |= now->changes[i].earliest <= old->latest + NEAR &&
               old->earliest <= now->changes[i].latest + NEAR;
    return met;
}

// As a store does: each look is told what the one before it found. Per cent of these that are gone
// at the next, or what is reported in the end of noise alone.
static void print_kept(int kind, bool steps, int games)
{
    struct random random = {61 + other_histories};
    double values[CP_CASE_MOST], gone = 0, all = 0, reported = 0;
    for (int g = 0; g < games; g++) {
        struct changepoints before = {0}, now;
        if (steps)
            cp_growing(values, CP_CASE_MOST, kind, &random);
        else
            cp_series(values, CP_CASE_MOST, (enum cp_kind)kind, &random);
        for (size_t n = 20; n <= CP_CASE_MOST; n += 1 + (size_t)(40 * random_uniform(&random))) {
            changepoints_again(&now, values, n, before.changes, before.count);
            for (size_t i = 0; i < before.count; i++)
                gone += !is_there(&now, &before.changes[i]);
            all += (double)before.count;
            changepoints_free(&before);
            before = now;
        }
        reported += (double)before.count;
        changepoints_free(&before);
    }
    printf("  %10.2f", steps ? 100 * gone / fmax(all, 1) : reported * 1e4 / games / CP_CASE_MOST);
}

static void print_names(const char *first)
{
    printf("%-30s%s", "", first);
    for (size_t m = 0; m < CP_METHODS; m++)
        printf("  %10s", cp_methods[m].name);
}

static void print_all(void)
{
    printf("\nClear steps, %d series each, every rule as its tool sets it (plumb with its alarm):\n"
           "share found, other reports per series\n",
           CASE_GAMES);
    print_names("");
    for (size_t c = 0; c < cp_case_count; c++) {
        printf("\n%-30s", cp_cases[c].name);
        for (size_t m = 0; m < CP_METHODS; m++)
            print_case(&cp_cases[c], &cp_methods[m]);
    }
    puts("\n\nWhat is no step: share that plumb says as such, changes reported per series");
    print_names("");
    for (size_t c = 0; c < cp_shape_case_count; c++)
        print_shape(&cp_shape_cases[c]);
    printf("\n\nPer cent of changes that are gone at the next of growing lengths, 20 to %d; kept: "
           "as a "
           "store does,\nand what it then reports of 10,000 values of that noise alone\n",
           CP_CASE_MOST);
    print_names("        kept  noise kept");
    for (int kind = 0; kind < CP_KINDS; kind++) {
        printf("\n%-30s", cp_kind_names[kind]);
        print_kept(kind, true, KEPT);
        print_kept(kind, false, NOISES);
        for (size_t m = 0; m < CP_METHODS; m++)
            print_gone(&cp_methods[m], kind);
        fflush(stdout);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    if (argc > 1 && strncmp(argv[1], "seed=", 5) == 0)
        other_histories = strtoull(argv[1] + 5, NULL, 10);
    print_all();
    return 0;
}
