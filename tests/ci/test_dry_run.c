// SPDX-License-Identifier: Apache-2.0
//
// -n says what would be done, and does none of it: every command that takes it, before anything is
// built and after. What the child that times kernels is asked is written down by a wrapper of it.
#include "baselines/store.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char *wrapper, *asked;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    wrapper = xprintf("%s/bench", repo.directory);
    asked = xprintf("%s/asked", repo.directory);
    helper_repo_policy(repo.policy, "\tproblem = 8x8x8:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    char *text = xprintf("#!/bin/sh\ntee -a '%s' | '" TEST_BIN "/bench' \"$@\"\n", asked);
    helper_write_text(wrapper, text);
    free(text);
    return chmod(wrapper, 0755);
}

AROUND_ALL(set_up, NULL);

static struct store_counts counts(void)
{
    struct store *store = NULL;
    struct store_report report;
    struct error err = {""};
    char *path = xprintf("%s/.plumb/store.db", repo.directory);
    if (store_open(&store, path, STORE_READ, &err) || store_info(&report, store, &err))
        fail_msg("%s", err.text);
    store_close(store);
    free(path);
    return report.counts;
}

static size_t builds_kept(void)
{
    char *command = xprintf("exit $(find '%s/.plumb/cache' -name state | wc -l)", repo.directory);
    int status = system(command);
    free(command);
    return (size_t)WEXITSTATUS(status);
}

struct line {
    const char *words[8];
    const char *unbuilt, *built; // what it says before anything is built, and after
};

static const struct line lines[] = {
    {{"gate", "--base", "HEAD~1", NULL}, "2 commits would be built", "series would be measured"},
    {{"run", "HEAD~1..HEAD", NULL}, "1 commit would be built", "nothing to do"},
    {{"run", "HEAD", "--again", NULL}, "1 commit would be built", "2 of 2 series"},
    {{"bisect", "--good", "HEAD~1", "--series", "simple/8x8x8:fp32", NULL},
     "at most 2 of them would be built",
     "at most 0 of them would be built"},
    {{"calibrate", NULL}, "would be calibrated", "would be calibrated"},
    {{"list", "kernels", NULL}, "would be built first", "simple"},
    {{"list", "devices", NULL}, "host: ", "host: "},
    {{"report", NULL}, "no finished run", "would be written to plumb-report"},
};

static void ask(const struct line *line, bool built)
{
    const char *argv[24];
    size_t used = 0;
    for (size_t i = 0; line->words[i]; i++)
        argv[used++] = line->words[i];
    const char *const more[] = {"-n",    "--policy",  repo.policy, "--bench",
                                wrapper, "--sandbox", "off"};
    const size_t most = strcmp(line->words[0], "report") == 0 ? 3 : ARRAY_COUNT(more);
    for (size_t i = 0; i < most; i++)
        argv[used++] = more[i];
    argv[used] = NULL;
    unlink(asked);
    plumb_run(&outcome, repo.directory, argv, 0);
    const char *expected = built ? line->built : line->unbuilt;
    plumb_said(&outcome, strstr(expected, "no finished run") ? 4 : 0, expected);
    char *text = access(asked, R_OK) ? NULL : helper_read(asked, NULL);
    static const char *const work[] = {"pairs", "solo", "calibrate", "open"};
    for (size_t i = 0; text && i < ARRAY_COUNT(work); i++) {
        if (strstr(text, work[i]))
            fail_msg("%s -n asked bench for %s:\n%s", line->words[0], work[i], text);
    }
    free(text);
}

static void ask_all(bool built)
{
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++)
        ask(&lines[i], built);
    char *report = xprintf("%s/plumb-report", repo.directory);
    assert_int_not_equal(access(report, F_OK), 0);
    free(report);
}

TEST(dry_runs_build_measure_and_calibrate_nothing)
{
    ask_all(false);
    struct store_counts none = counts();
    assert_int_equal(none.runs + none.builds + none.profiles + none.measurements, 0);
    assert_int_equal(builds_kept(), 0);
}

TEST(dry_runs_after_real_ones_change_nothing)
{
    const char *argv[] = {"run",       "HEAD~1..HEAD", "--policy",
                          repo.policy, "--bench",      TEST_BIN "/bench",
                          "--sandbox", "off",          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "OK");
    argv[1] = "HEAD~1";
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "OK");
    const struct store_counts before = counts();
    const size_t kept = builds_kept();
    ask_all(true);
    const struct store_counts after = counts();
    assert_int_equal(kept, 2);
    assert_int_equal(builds_kept(), kept);
    assert_memory_equal(&before, &after, sizeof(before));
}

// An option that a command does not use would promise something.
TEST(options_without_a_use_are_refused)
{
    static const char *const taken[][5] = {
        {"report", "--sandbox", "require"},  {"report", "--bench", "/nonexistent"},
        {"report", "--device", "nonsense"},  {"bisect", "--out", "reports"},
        {"list", "kernels", "--out", "x"},   {"status", "--quiet"},
        {"history", "--csv", "-", "-k", "k"}};
    for (size_t i = 0; i < ARRAY_COUNT(taken); i++) {
        const char *argv[] = {taken[i][0], taken[i][1], taken[i][2],
                              taken[i][3], taken[i][4], NULL};
        plumb_run(&outcome, repo.directory, argv, 0);
        plumb_said(&outcome, 4,
                   strcmp(taken[i][0], "history") ? "is no option" : "is for the store's series");
    }
}
