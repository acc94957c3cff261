// SPDX-License-Identifier: Apache-2.0
//
// What a history was told of stays as it grows: counted over seeded games, and in a store that was
// looked at on the way, beside one that is looked at once.
#include "model/history/changepoint.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NIGHTS = 150, GAMES = 40, FIRST = 40, GROWN = 10, NEAR = 5 };

// Noise that remembers, in per cent; slower after 50 nights, and half of that is mended after 100.
static void draw(double *values, uint64_t seed)
{
    struct random random = {seed};
    double noise = 0;
    for (size_t i = 0; i < NIGHTS; i++) {
        noise = 0.5 * noise + random_normal(&random);
        values[i] = (noise + (i >= 50 ? 2.5 : 0) - (i >= 100 ? 1.5 : 0)) / 100;
    }
}

static bool is_there(const struct changepoints *found, const struct change *c)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct change *other = &found->changes[i];
        if (other->earliest <= c->latest + NEAR && other->latest + NEAR >= c->earliest)
            return true;
    }
    return false;
}

// Of all that one look told, the share that the next does not.
static double gone(bool keeps)
{
    size_t told = 0, lost = 0;
    for (uint64_t seed = 1; seed <= GAMES; seed++) {
        struct changepoints before = {0}, now;
        double values[NIGHTS];
        draw(values, seed);
        for (size_t n = FIRST; n <= NIGHTS; n += GROWN) {
            changepoints_more(&now, values, n, before.changes, keeps ? before.count : 0);
            told += before.count;
            for (size_t i = 0; i < before.count; i++)
                lost += !is_there(&now, &before.changes[i]);
            changepoints_free(&before);
            before = now;
        }
        changepoints_free(&before);
    }
    print_message("%zu of %zu gone\n", lost, told);
    return (double)lost / (double)told;
}

TEST(what_was_told_stays_as_a_series_grows)
{
    assert_true(gone(false) > 0.05);
    assert_true(gone(true) <= 0.02);
}

// ---- a store ----

static struct plumb_outcome outcome;

// Told of the first `part` of its nights, and not of all of them.
static size_t draw_forgetful(double *values)
{
    for (uint64_t seed = 1;; seed++) {
        draw(values, seed);
        for (size_t part = 60; part < 100; part += GROWN) {
            struct changepoints first, all;
            changepoints_find(&first, values, part, NULL);
            changepoints_find(&all, values, NIGHTS, NULL);
            const bool forgets = first.count == 1 && all.count == 0;
            changepoints_free(&first);
            changepoints_free(&all);
            if (forgets)
                return part;
        }
        assert_true(seed < 200);
    }
}

static void write_nights(const char *directory, const double *values, size_t first, size_t end)
{
    char *path = xprintf("%s/%zu.csv", directory, end);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("commit,commit_s,kernel,problem,device,code,time_ns\n", file);
    for (size_t i = first; i < end; i++)
        fprintf(file, "%040zx,%zu,gemm,4x4x4:fp32,gpu,%08zx,%.12g\n", i + 1, 1700000000 + 86400 * i,
                i + 1, 1e5 * exp(values[i]));
    fclose(file);
    free(path);
}

TEST(a_store_keeps_what_it_told)
{
    double values[NIGHTS];
    char *directory = helper_directory(), part[32];
    const size_t told = draw_forgetful(values);
    snprintf(part, sizeof(part), "%zu.csv", told);
    write_nights(directory, values, 0, told);
    write_nights(directory, values, told, NIGHTS);
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", part, "150.csv", "--store", "once.db");
    PLUMB_EXPECT(&outcome, directory, 0, ": 0 changes", "history", "--store", "once.db");
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", part, "--store", "kept.db");
    PLUMB_EXPECT(&outcome, directory, 0, ": 1 change\n", "history", "--store", "kept.db");
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "150.csv", "--store", "kept.db");
    PLUMB_EXPECT(&outcome, directory, 0, ": 1 change", "history", "--store", "kept.db");
    helper_discard(directory);
    free(directory);
}

// ---- what is no change of level ----

// By so much from the first night to the last, and slower by so much on two days in seven.
static void draw_slowly(double *values, size_t n, double creep, double weekend, uint64_t seed)
{
    struct random random = {seed};
    for (size_t i = 0; i < n; i++)
        values[i] = 0.004 * random_normal(&random) + creep * (double)i / (double)(n - 1) +
                    (i % 7 >= 5 ? weekend : 0);
}

enum { LONG = 600, GROWN_TO = 610 };

TEST(a_creep_is_told_wherever_levels_are)
{
    double values[GROWN_TO];
    char *directory = helper_directory();
    draw_slowly(values, GROWN_TO, 0.02, 0, 7);
    write_nights(directory, values, 0, LONG);
    write_nights(directory, values, LONG, GROWN_TO);
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "600.csv", "--store", "a.db");
    PLUMB_EXPECT(&outcome, directory, 0, "it creeps: +2.", "history", "--store", "a.db");
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "610.csv", "--store", "a.db");
    PLUMB_EXPECT(&outcome, directory, 0, "it creeps: +2.", "history", "--store", "a.db");
    PLUMB_EXPECT(&outcome, directory, 0, "it creeps: +2.", "history", "--store", "a.db");
    PLUMB_EXPECT(&outcome, directory, 0, "\"creep\":{\"log_ratio\":0.0", "history", "--store",
                 "a.db", "--format", "json");
    PLUMB_EXPECT(&outcome, directory, 0, ",creep,", "history", "--store", "a.db", "--format",
                 "csv");
    PLUMB_EXPECT(&outcome, directory, 0, "", "site", "--store", "a.db", "-o", "site");
    char *page = xprintf("%s/site/kernel/gemm.html", directory), *html = helper_read(page, NULL);
    assert_non_null(strstr(html, "it creeps: +2."));
    free(html);
    free(page);
    helper_discard(directory);
    free(directory);
}

TEST(a_week_is_told_wherever_levels_are)
{
    double values[NIGHTS];
    char *directory = helper_directory();
    draw_slowly(values, NIGHTS, 0, 0.03, 11);
    write_nights(directory, values, 0, NIGHTS);
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "150.csv", "--store", "a.db");
    for (int look = 0; look < 2; look++) {
        PLUMB_EXPECT(&outcome, directory, 0, "a pattern comes again every 7 points", "history",
                     "--store", "a.db");
        assert_null(strstr(outcome.output, "drifts"));
    }
    PLUMB_EXPECT(&outcome, directory, 0, "\"period\":7", "history", "--store", "a.db", "--format",
                 "json");
    helper_discard(directory);
    free(directory);
}
