// SPDX-License-Identifier: Apache-2.0
//
// A control divides out the machine: what is found beside it and without it, counted over seeded
// games; of a column of a file, and of an import that names it.
#include "model/history/device.h"

#include "model/csv.h"
#include "model/history/changepoint.h"
#include "model/robust.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NIGHTS = 100, DRAWS = 40, PUBLISHED = 200 };

// In per cent: one night's noise of the machine, of the series and of the control; a step of the
// series after two thirds, and of the machine after one.
struct game {
    double machine, own, control, step, machine_step;
};

struct counted {
    size_t found, false_ones; // changes at the step, and elsewhere
    double sigma, share;
};

static void draw(double *series, double *control, const struct game *g, uint64_t seed)
{
    struct random random = {seed};
    double machine = 0;
    for (size_t i = 0; i < NIGHTS; i++) {
        machine = 0.6 * machine + 0.8 * g->machine * random_normal(&random);
        const double all = machine + (i >= NIGHTS / 3 ? g->machine_step : 0);
        const double step = i >= 2 * NIGHTS / 3 ? g->step : 0;
        series[i] = (all + step + g->own * random_normal(&random)) / 100;
        control[i] = (all + g->control * random_normal(&random)) / 100;
    }
}

// A control that begins anywhere says how far it has moved since, and so does its step.
TEST(levels_of_a_control_are_against_its_beginning)
{
    double control[NIGHTS], levels[NIGHTS];
    for (size_t i = 0; i < NIGHTS; i++)
        control[i] = 5 + (i >= NIGHTS / 2 ? 0.2 : 0) + (i % 2 ? 0.001 : -0.001);
    control_levels(levels, control, NIGHTS);
    assert_true(fabs(levels[0]) < 1e-9 && fabs(levels[NIGHTS - 1] - 0.2) < 0.002);
    assert_true(fabs(control[0]) < 0.002 && fabs(control[NIGHTS - 1] - 0.2) < 0.003);
}

static struct counted play(const struct game *g, bool beside)
{
    struct counted out = {0};
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        double series[NIGHTS], control[NIGHTS], levels[NIGHTS];
        struct changepoints found;
        draw(series, control, g, seed);
        control_levels(levels, control, NIGHTS);
        if (beside)
            out.share += control_take_off(series, levels, control, NIGHTS) / DRAWS;
        changepoints_find(&found, series, NIGHTS, NULL);
        out.sigma += found.sigma / DRAWS;
        for (size_t i = 0; i < found.count; i++) {
            const double off = (double)found.changes[i].index - 2 * NIGHTS / 3;
            const bool there = g->step != 0 && fabs(off) <= 5;
            out.found += there;
            out.false_ones += !there;
        }
        changepoints_free(&found);
    }
    return out;
}

// What was counted: 59 of 400 without the control and 382 with it, at a noise of .24 and .14 %.
TEST(what_the_machine_hides_is_found_beside_a_control)
{
    const struct game g = {.machine = 0.2, .own = 0.1, .control = 0.1, .step = 0.3};
    const struct counted alone = play(&g, false), beside = play(&g, true);
    assert_true(alone.found <= DRAWS / 2);
    assert_true(beside.found >= DRAWS * 9 / 10);
    assert_true(beside.false_ones <= 1);
    assert_true(beside.sigma < 0.65 * alone.sigma);
}

TEST(a_step_of_the_machine_is_none_of_the_series)
{
    const struct game g = {.machine = 0.2, .own = 0.1, .control = 0.1, .machine_step = 3};
    assert_true(play(&g, false).false_ones >= DRAWS - 2);
    assert_true(play(&g, true).false_ones <= 1);
}

// The rows of one benchmark; returns how many.
static size_t nights_of(double *series, double *control, const struct csv *csv, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < csv->count; i++) {
        if (strcmp(csv->rows[i].fields[0], name) != 0)
            continue;
        assert_true(n < PUBLISHED);
        assert_int_equal(parse_double(&control[n], csv->rows[i].fields[2]), 0);
        assert_int_equal(parse_double(&series[n], csv->rows[i].fields[3]), 0);
        control[n] = log(control[n]);
        series[n] = log(series[n]);
        n++;
    }
    return n;
}

// PHP, every night for half a year, beside one commit that stays: the noise of the main branch is
// .51 % and .26 % beside it, on average; and of what stays alone seven changes would be told.
TEST(published_nights_have_half_the_noise_beside_a_commit_that_stays)
{
    static const char *const names[] = {"Laravel", "Symfony", "Wordpress", "bench"};
    size_t length;
    char *text = helper_read(TEST_DATA "/nightly-control.csv", &length);
    double alone = 0, beside = 0;
    size_t before = 0, after = 0, unchanged = 0;
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text, length, "nightly-control.csv", &err), 0);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        double series[PUBLISHED], control[PUBLISHED], levels[PUBLISHED];
        struct changepoints found;
        const size_t n = nights_of(series, control, &csv, names[i]);
        assert_int_equal(n, 170);
        changepoints_find(&found, series, n, NULL);
        alone += found.sigma / ARRAY_COUNT(names);
        before += found.count;
        changepoints_free(&found);
        changepoints_find(&found, control, n, NULL);
        unchanged += found.count;
        changepoints_free(&found);
        control_levels(levels, control, n);
        control_take_off(series, levels, control, n);
        changepoints_find(&found, series, n, NULL);
        beside += found.sigma / ARRAY_COUNT(names);
        after += found.count;
        changepoints_free(&found);
    }
    csv_free(&csv);
    free(text);
    print_message("noise %.3f and %.3f %%, changes %zu and %zu, of what stays %zu\n", 100 * alone,
                  100 * beside, before, after, unchanged);
    assert_true(alone > 0.0045 && beside < 0.003);
    assert_true(unchanged >= 5 && after <= before);
}

// Divided as it is, such a control would nearly double the noise.
TEST(a_control_that_shares_nothing_takes_nothing_off)
{
    const struct game g = {.own = 0.2, .control = 0.3, .step = 0.3};
    const struct counted alone = play(&g, false), beside = play(&g, true);
    assert_true(beside.share < 0.1);
    assert_true(beside.sigma < 1.05 * alone.sigma);
    assert_true(beside.found + 4 >= alone.found);
}

// How far the share that is taken off lies from that of the same noise without a step; while a step
// spoiled its block: .07 and .08.
static double share_is_off(double step)
{
    const struct game with = {.machine = 0.4, .own = 0.3, .control = 0.1, .step = step},
                      without = {.machine = 0.4, .own = 0.3, .control = 0.1};
    double squares = 0;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        double series[NIGHTS], control[NIGHTS], levels[NIGHTS], share[2];
        for (int i = 0; i < 2; i++) {
            draw(series, control, i ? &with : &without, seed);
            control_levels(levels, control, NIGHTS);
            share[i] = control_take_off(series, levels, control, NIGHTS);
        }
        squares += (share[1] - share[0]) * (share[1] - share[0]) / DRAWS;
    }
    print_message("a step of %g %% moves the share by %.3f\n", step, sqrt(squares));
    return sqrt(squares);
}

TEST(a_step_of_the_series_leaves_what_is_taken_off)
{
    assert_true(share_is_off(2) < 0.04);
    assert_true(share_is_off(8) < 0.04);
}

// One night says nothing of the control's level yet; what stands out is taken off all the same.
TEST(the_first_night_of_a_slower_machine_is_the_machines)
{
    const struct game g = {.machine = 0.2, .own = 0.1, .control = 0.1};
    double series[NIGHTS], control[NIGHTS], levels[NIGHTS];
    draw(series, control, &g, 7);
    series[NIGHTS - 1] += 0.05;
    control[NIGHTS - 1] += 0.05;
    control_levels(levels, control, NIGHTS);
    control_take_off(series, levels, control, NIGHTS);
    assert_true(fabs(series[NIGHTS - 1]) < 0.006);
}

TEST(where_there_is_no_control_the_value_stays)
{
    double series[] = {1, 2, 3, 4}, control[] = {NAN, 1, NAN, NAN}, levels[4];
    control_levels(levels, control, 4);
    control_take_off(series, levels, control, 4);
    assert_float_equal(series[0], 1, 0);
    assert_float_equal(series[2], 3, 0);
    control_levels(levels, control, 0);
    control_take_off(series, levels, control, 0);
}

// ---- the commands ----

static struct plumb_outcome outcome;

static void write_nights(char *directory, bool table)
{
    const struct game g = {.machine = 0.2, .own = 0.1, .control = 0.1, .step = 0.3};
    double series[NIGHTS], control[NIGHTS];
    char *path = xprintf("%s/nights.csv", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    draw(series, control, &g, 3);
    fputs(table ? "commit,commit_s,kernel,problem,device,code,time_ns\n" : "night,main,fixed\n",
          file);
    for (int i = 0; i < NIGHTS; i++) {
        const double a = 1e5 * exp(series[i]), b = 2e5 * exp(control[i]);
        if (!table)
            fprintf(file, "%d,%.9g,%.9g\n", i, a, b);
        else
            fprintf(file,
                    "%040x,%d,gemm,4x4x4:fp32,gpu,%08x,%.9g\n"
                    "%040x,%d,fixed,4x4x4:fp32,gpu,1,%.9g\n",
                    i + 1, 1700000000 + 86400 * i, i + 1, a, i + 1, 1700000000 + 86400 * i, b);
    }
    fclose(file);
    free(path);
}

TEST(a_column_of_a_file_is_divided_by_that_of_a_control)
{
    char *directory = helper_directory();
    write_nights(directory, false);
    PLUMB_EXPECT(&outcome, directory, 0, ": 0 changes", "history", "--csv", "nights.csv",
                 "--column", "main");
    PLUMB_EXPECT(&outcome, directory, 0, ": 1 change\n", "history", "--csv", "nights.csv",
                 "--column", "main", "--control", "fixed");
    plumb_said(&outcome, 0, "the machine is divided out by column fixed");
    PLUMB_EXPECT(&outcome, directory, 4, "is the series itself", "history", "--csv", "nights.csv",
                 "--column", "main", "--control", "main");
    PLUMB_EXPECT(&outcome, directory, 4, "values above 0", "history", "--csv", "nights.csv",
                 "--column", "main", "--control", "night");
    PLUMB_EXPECT(&outcome, directory, 4, "--control is for --csv", "history", "--control", "fixed");
    helper_discard(directory);
    free(directory);
}

TEST(an_import_names_its_control)
{
    char *directory = helper_directory();
    write_nights(directory, true);
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "nights.csv", "--store", "alone.db");
    PLUMB_EXPECT(&outcome, directory, 0, ": 0 changes", "history", "--kernel", "gemm", "--store",
                 "alone.db");
    PLUMB_EXPECT(&outcome, directory, 0, "", "import", "nights.csv", "--control", "fix*", "--store",
                 "beside.db");
    PLUMB_EXPECT(&outcome, directory, 0, ": 1 change\n", "history", "--kernel", "gemm", "--store",
                 "beside.db");
    plumb_said(&outcome, 0, "less the controls");
    plumb_said(&outcome, 0, " on gpu: "); // the uuid, where a table names no device
    PLUMB_EXPECT(&outcome, directory, 1, "SLOWER: 1 slowdown is open", "events", "--check",
                 "--store", "beside.db");
    plumb_said(&outcome, 1, ":cold on gpu");
    PLUMB_EXPECT(&outcome, directory, 0, "\"regime\":\"cold\",", "events", "--format=json",
                 "--store", "beside.db");
    PLUMB_EXPECT(&outcome, directory, 0, "\"regime\":\"cold\",", "history", "--format=json",
                 "--store", "beside.db");
    helper_discard(directory);
    free(directory);
}
