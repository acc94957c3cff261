// SPDX-License-Identifier: Apache-2.0
//
// -n says what would be done, and does none of it: every command that takes it, before anything is
// built and after. What the child that times kernels is asked is written down by a wrapper of it.
#include "baselines/store.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fake_gate gate;
static char *wrapper, *asked;

static int set_up(void **state)
{
    static const char *const names[] = {"simple", "blocked", NULL};
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    fake_gate_make(&gate);
    fake_gate_policy(&gate, "", "[gate]\n\tself-test = 0\n");
    fake_gate_commit(base, &gate, "main", NULL, names, "simple", 1);
    fake_gate_commit(head, &gate, "main", base, names, "simple", 2);
    wrapper = xprintf("%s/wrapper", gate.bench.directory);
    asked = xprintf("%s/asked", gate.bench.directory);
    char *text = xprintf("#!/bin/sh\ntee -a '%s' | '%s' \"$@\"\n", asked, gate.bench.program);
    helper_write_text(wrapper, text);
    free(text);
    return chmod(wrapper, 0755);
}

static int tear_down(void **state)
{
    free(wrapper);
    free(asked);
    fake_gate_remove(&gate);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static struct store_counts counts(void)
{
    struct store *store = NULL;
    struct store_report report;
    struct error err = {""};
    char *path = xprintf("%s/.plumb/store.db", gate.bench.directory);
    if (store_open(&store, path, STORE_READ, &err) || store_info(&report, store, &err))
        fail_msg("%s", err.text);
    store_close(store);
    free(path);
    return report.counts;
}

static size_t builds_kept(void)
{
    char *command =
        xprintf("exit $(find '%s/.plumb/cache' -name state | wc -l)", gate.bench.directory);
    int status = system(command);
    free(command);
    return (size_t)WEXITSTATUS(status);
}

struct printed_line {
    const char *words[8];
    const char *unbuilt, *built; // what it says before anything is built, and after
};

static const struct printed_line lines[] = {
    {{"gate", "--base", "HEAD~1", NULL}, "2 commits would be built", "series would be measured"},
    {{"run", "HEAD~1..HEAD", NULL}, "1 commit would be built", "nothing to do"},
    {{"run", "HEAD", "--again", NULL}, "1 commit would be built", "2 of 2 series"},
    {{"bisect", "--good", "HEAD~1", "--series", "simple/4x4x4:fp32", NULL},
     "at most 2 of them would be built",
     "at most 0 of them would be built"},
    {{"calibrate", NULL}, "would be calibrated", "would be calibrated"},
    {{"list", "kernels", NULL}, "would be built first", "simple"},
    {{"list", "devices", NULL}, "host: ", "host: "},
    {{"report", NULL}, "no finished run", "would be written to plumb-report"},
};

static void ask(const struct printed_line *line, bool built)
{
    const char *argv[24];
    size_t used = 0;
    for (size_t i = 0; line->words[i]; i++)
        argv[used++] = line->words[i];
    const char *const more[] = {"-n",    "--policy",  gate.policy, "--bench",
                                wrapper, "--sandbox", "off"};
    const size_t most = strcmp(line->words[0], "report") == 0 ? 3 : ARRAY_COUNT(more);
    for (size_t i = 0; i < most; i++)
        argv[used++] = more[i];
    argv[used] = NULL;
    unlink(asked);
    plumb_run(&gate.outcome, gate.bench.directory, argv, 0);
    const char *expected = built ? line->built : line->unbuilt;
    plumb_said(&gate.outcome, strstr(expected, "no finished run") ? 4 : 0, expected);
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
    char *report = xprintf("%s/plumb-report", gate.bench.directory);
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
                          gate.policy, "--bench",      gate.bench.program,
                          "--sandbox", "off",          NULL};
    plumb_run(&gate.outcome, gate.bench.directory, argv, 0);
    plumb_said(&gate.outcome, 0, "OK");
    argv[1] = "HEAD~1";
    plumb_run(&gate.outcome, gate.bench.directory, argv, 0);
    plumb_said(&gate.outcome, 0, "OK");
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
        plumb_run(&gate.outcome, gate.bench.directory, argv, 0);
        plumb_said(&gate.outcome, 4,
                   strcmp(taken[i][0], "history") ? "is no option" : "is for the store's series");
    }
}
