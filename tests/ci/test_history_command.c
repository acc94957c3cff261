// SPDX-License-Identifier: Apache-2.0
//
// plumb history --csv, as a user runs it: one known step in a file of numbers, in every format.
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_json.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *directory;
static struct plumb_outcome outcome;

// 80 nights; 4 ms more (or less) from night 40 on, night 7 missing.
static void write_step(const char *name, int before, int after)
{
    char text[4096] = "\xef\xbb\xbf" // a byte order mark, as spreadsheets write
                      "night,ms\r\n";
    for (int i = 0; i < 80; i++) {
        size_t at = strlen(text);
        if (i == 7)
            snprintf(text + at, sizeof(text) - at, "n7,NA\r\n");
        else if (i == 40)
            snprintf(text + at, sizeof(text) - at, "\"n40, \"\"new\x1b\"\"\",%d.0\r\n", after);
        else
            snprintf(text + at, sizeof(text) - at, "n%d,%d.%d\r\n", i, i < 40 ? before : after,
                     i * 7 % 10);
    }
    helper_put(directory, name, text);
}

static int set_up(void **state)
{
    directory = helper_directory();
    write_step("step.csv", 100, 104);
    write_step("fall.csv", 104, 100);
    return 0;
}

AROUND_ALL(set_up, NULL);

#define EXPECT(code, part, ...)                                                                    \
    PLUMB_EXPECT(&outcome, directory, code, part, "history", __VA_ARGS__)

TEST(table_names_the_step_and_what_is_missing)
{
    EXPECT(0, "step.csv, column ms: 80 values (1 missing), noise ", "--csv=step.csv");
    assert_non_null(strstr(outcome.output, ": 1 change\n"));
    assert_non_null(strstr(outcome.output, "     40           40..40 "));
    assert_non_null(strstr(outcome.output, " +3.9")); // % of the level before
    assert_non_null(strstr(outcome.output, "  n40, \"new"));
    assert_null(strchr(outcome.output, '\x1b'));
    EXPECT(0, ": 1 change", "--csv=fall.csv", "--column=ms");
    assert_non_null(strstr(outcome.output, " -3.8"));
}

TEST(one_value_has_no_noise)
{
    helper_put(directory, "one.csv", "ms\n100\n");
    EXPECT(0, "one.csv, column ms: 1 value (0 missing): 0 changes\n", "--csv=one.csv");
    EXPECT(0, "\"noise\":null,\"correlation\":null,", "--csv=one.csv", "--format=json");
    helper_put(directory, "two.csv", "ms\n100\n101\n");
    EXPECT(0, "two.csv, column ms: 2 values (0 missing), noise ", "--csv=two.csv");
}

TEST(csv_has_the_step_in_numbers)
{
    double before, after, size, low, high, evidence;
    EXPECT(0,
           "index,earliest,latest,before,after,size,size_low,size_high,evidence,label\n"
           "40,40,40,",
           "--csv=step.csv", "--format=csv");
    const char *row = strstr(outcome.output, "\n40,40,40,") + 10;
    assert_int_equal(
        sscanf(row, "%lf,%lf,%lf,%lf,%lf,%lf,", &before, &after, &size, &low, &high, &evidence), 6);
    assert_true(fabs(before - 100.45) < 0.05 && fabs(after - 104.45) < 0.05);
    assert_true(fabs(size - (after - before)) < 1e-9 && low < size && size < high);
    assert_true(high - low > 0.1 && high - low < 2 && evidence > 50);
    assert_non_null(strstr(row, ",\"n40, \"\"new"));
    assert_non_null(strstr(row, "\"\n"));
}

TEST(json_is_valid_and_says_the_same)
{
    EXPECT(0, "\"series\":\"step.csv\",\"column\":\"ms\",\"values\":80,\"missing\":1,",
           "--csv=step.csv", "--format=json");
    assert_true(helper_json_is_valid(outcome.output));
    assert_non_null(strstr(outcome.output, "\"drift\":false"));
    assert_non_null(strstr(outcome.output, "{\"index\":40,\"earliest\":40,\"latest\":40,\""));
    assert_non_null(strstr(outcome.output, "\"label\":\"n40, \\\"new"));
}

static char *series_text(double (*value)(int i, struct random *random), int count)
{
    struct random random = {7};
    char *text = xcalloc(1, 16 * (size_t)count + 16);
    size_t at = (size_t)sprintf(text, "ms\n");
    for (int i = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "%.3f\n", value(i, &random));
    return text;
}

static double creeping(int i, struct random *random)
{
    return 100 + 0.02 * i + 0.1 * random_normal(random);
}

static double from_nothing(int i, struct random *random)
{
    (void)random;
    return i < 50 ? 0 : 1;
}

static double of_two_modes(int i, struct random *random)
{
    const bool high = random_uniform(random) < (i < 200 ? 0.1 : 0.5);
    return 100 + 0.1 * random_normal(random) + (high ? 10 : 0);
}

// The middle of a series that creeps was its level long ago.
TEST(now_is_the_newest_values_where_the_level_creeps)
{
    double now = 0, first = 0;
    char *text = series_text(creeping, 300);
    helper_put(directory, "creeping.csv", text);
    free(text);
    EXPECT(0, "the median of the newest 10 values; +5.", "--csv=creeping.csv");
    const char *line = strstr(outcome.output, "now: ");
    assert_int_equal(sscanf(line, "now: %lf,", &now), 1);
    assert_true(fabs(now - 105.9) < 0.2);
    EXPECT(0, "\"now\":{\"level\":", "--csv=creeping.csv", "--format=json");
    assert_true(helper_json_is_valid(outcome.output));
    line = strstr(outcome.output, "\"first_level\":");
    assert_int_equal(sscanf(line, "\"first_level\":%lf,", &first), 1);
    assert_true(fabs(first - 100.1) < 0.2);
}

TEST(a_share_of_nothing_is_not_said)
{
    char *text = series_text(from_nothing, 100);
    helper_put(directory, "nothing.csv", text);
    free(text);
    EXPECT(0, "; +1 against the first level, 0\n", "--csv=nothing.csv");
    assert_null(strstr(outcome.output, "nan"));
}

TEST(a_change_that_is_one_of_modes_is_said_to_be)
{
    char *text = series_text(of_two_modes, 400);
    helper_put(directory, "modes.csv", text);
    free(text);
    EXPECT(0, "its modes change: ", "--csv=modes.csv");
    assert_int_equal(strstr(outcome.output, "credible") != NULL,
                     strstr(outcome.output, "; the change there is that\n") != NULL);
    EXPECT(0, "\"share\":0.", "--csv=modes.csv", "--format=json");
}

// Six kernels over 60 commits whose times nobody told: three slow by 10 % in the 31st commit, two
// in the 41st. All commits are of one second then, the one that is not known.
static void write_undated(void)
{
    enum { ROOM = 1 << 16 };
    char *text = xcalloc(ROOM, 1);
    struct random random = {3};
    size_t at = (size_t)snprintf(text, ROOM, "commit,kernel,problem,time_ns\n");
    for (int c = 0; c < 60; c++) {
        for (int k = 0; k < 6; k++) {
            const bool slow = c >= (k < 3 ? 30 : k < 5 ? 40 : 60);
            at +=
                (size_t)snprintf(text + at, ROOM - at, "c0ffee%02x,k%d,64x64x64:fp32,%.1f\n", c, k,
                                 (slow ? 110000 : 100000) * exp(0.001 * random_normal(&random)));
        }
    }
    helper_put(directory, "undated.csv", text);
    free(text);
}

static size_t times(const char *what)
{
    return helper_occurrences(outcome.output, what);
}

TEST(commits_of_one_second_are_told_apart)
{
    write_undated();
    plumb_run(&outcome, directory,
              (const char *const[]){"import", "--store=undated.db", "undated.csv", NULL}, 0);
    plumb_said(&outcome, 0, "60 runs, 360 results added");
    EXPECT(0, "6 series, 1 of them without a change", "--store=undated.db");
    assert_int_equal(times("  kernel  ["), 5);
    assert_true(times("  c0ffee1e ") >= 3 && times("  c0ffee28 ") >= 2);
    assert_int_equal(times("environment"), 0);
    assert_int_equal(times("1970"), 0);
    EXPECT(0, "c0ffee28,,", "--store=undated.db", "--format=csv");
    EXPECT(0, "\"time_s\":null", "--store=undated.db", "--format=json");
    plumb_run(&outcome, directory,
              (const char *const[]){"site", "--store=undated.db", "-o", "site", NULL}, 0);
    plumb_said(&outcome, 0, "6 series");
    char *path = xprintf("%s/site/feed.xml", directory), *feed = helper_read(path, NULL);
    assert_non_null(strstr(feed, "<updated>20"));
    assert_null(strstr(feed, "1970"));
    free(feed);
    free(path);
}

TEST(files_without_numbers_are_refused)
{
    helper_put(directory, "header.csv", "night,ms\n");
    helper_put(directory, "missing.csv", "ms\nNaN\nNA\n");
    helper_put(directory, "none.csv", "");
    EXPECT(4, "header.csv, column ms: no numbers", "--csv=header.csv", "--column=ms");
    EXPECT(4, "missing.csv, column ms: no numbers", "--csv=missing.csv");
    EXPECT(4, "none.csv: empty", "--csv=none.csv");
    EXPECT(4, "no column 'us'", "--csv=step.csv", "--column=us");
    EXPECT(4, "table, csv or json", "--csv=step.csv", "--format=xml");
}
