// SPDX-License-Identifier: Apache-2.0
//
// A store that has links and no times, as a user meets it: importing says what came, history says
// what each series has, and the table of links goes through export and import.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/history/own.jsonl"

static char *directory;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    directory = helper_directory();
    return 0;
}

AROUND_ALL(set_up, NULL);

#define EXPECT(part, ...) PLUMB_EXPECT(&outcome, directory, 0, part, __VA_ARGS__)

TEST(importing_says_how_many_links_came)
{
    EXPECT(": 0 runs, 0 results, 251 links added", "import", "--store=a.db", RECORDED);
    EXPECT(": 0 runs, 0 results added", "import", "--store=a.db", RECORDED);
}

TEST(history_says_what_a_series_of_links_has)
{
    EXPECT("bf16-persistent 128x7168x2048:bf16-bf16:tn:cold on NVIDIA H200: 13 codes in 19 links, "
           "no times: 2 changes\n",
           "history", "--store=a.db");
    EXPECT("  level ", "history", "--store=a.db", "--kernel=bf16-persistent");
    assert_null(strstr(outcome.output, "0 points"));
    assert_null(strstr(outcome.output, "noise"));
}

TEST(the_table_of_links_goes_through_export_and_import)
{
    char *before = NULL;
    EXPECT("", "export", "--store=a.db", "--format=links", "--output=links.csv");
    EXPECT("links.csv: 0 runs, 0 results, 251 links added", "import", "--store=b.db", "links.csv");
    EXPECT("9 events: 5 confirmed, 4 fixed", "events", "--store=a.db");
    before = xstrdup(outcome.output);
    EXPECT(before, "events", "--store=b.db");
    free(before);
}

// The chart's commits are those of the codes; times are neither drawn nor said to be 0 points.
TEST(the_site_draws_their_levels)
{
    char *said;
    EXPECT("14 series", "site", "--store=a.db", "--out=site");
    char *command = xprintf("cat '%s'/site/kernel/e4m3-promoted-*.html", directory);
    FILE *file = popen(command, "r");
    said = xcalloc(1 << 20, 1);
    assert_true(fread(said, 1, (1 << 20) - 1, file) > 0);
    assert_int_equal(pclose(file), 0);
    assert_non_null(strstr(said, "no times of runs: its codes were compared by links alone"));
    assert_non_null(strstr(said, "against the beginning"));
    assert_null(strstr(said, "against the last accepted state<")); // none was accepted
    assert_null(strstr(said, "up to -"));                          // nor is there a newest run
    assert_non_null(strstr(said, "Level of each code over commits"));
    assert_null(strstr(said, "Time per launch over commits"));
    assert_non_null(strstr(said, "\xe2\x88\x92"
                                 "18.9 %</td>")); // the change, by its links
    free(command);
    free(said);
}
