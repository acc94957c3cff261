// SPDX-License-Identifier: Apache-2.0
//
// The main job on a real history with the real bench on the host device: every step of the scratch
// repository gets the right verdict and exit code, a range is measured once and survives kill -9.
// Label: measured
// Label: alone
// Label: unsanitized
#include "baselines/store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320], store_path_text[320];

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    snprintf(store_path_text, sizeof(store_path_text), "%s/.plumb/store.db", repo.directory);
    helper_repo_policy(policy_path, "\tproblem = 96x64x128:fp32\n\tproblem = 65x33x257:fp32\n",
                       "\tmargin = 4%\n[gate]\n\tseconds = 60\n\tself-test = 1\n\tprocesses = 2\n"
                       "\tmax-pairs = 400\n[measure]\n\tsamples = 12\n\ttimeout = 3\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

// The ranges come first: a commit that a gate knows not to build is visited by no range.
static void run_all(double kill_after_s)
{
    const char *argv[] = {"run", "ALL", "--all", "--policy", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, kill_after_s);
}

// (kernel, problem, code, state) of every result in every finished plain run.
static size_t count_results(void)
{
    struct store *store = NULL;
    struct error err = {""};
    struct arena arena = {0};
    struct run_entry *runs = NULL;
    size_t count = 0, results = 0;
    if (store_open(&store, store_path_text, STORE_READ, &err) ||
        store_list_runs(&runs, &count, store, RUN_MEASURE, 0, &arena, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        assert_true(runs[i].finished_s > 0);
        struct run run;
        if (store_load_run(&run, store, runs[i].id, &err))
            fail_msg("%s", err.text);
        results += run.count;
        run_free(&run);
    }
    arena_free(&arena);
    store_close(store);
    return results;
}

static void check_store(void)
{
    struct store *store = NULL;
    struct store_report report;
    struct error err = {""};
    if (store_open(&store, store_path_text, STORE_READ, &err) || store_check(&report, store, &err))
        fail_msg("%s", err.text);
    if (report.problems)
        fail_msg("%s", report.first);
    store_close(store);
}

TEST(run_of_a_range_survives_kill_9_at_ten_instants)
{
    unsigned random = 20261121;
    for (int i = 0; i < 10; i++) {
        random = random * 1103515245u + 12345u;
        run_all(0.05 + (random >> 16) % 1000 * 0.0015);
    }
    run_all(0);
    // Two kernels on two problems at each of the 10 trees that build: four commits come back to the
    // tree of MERGE, and of the unbuildable one the other kernel builds.
    assert_int_equal(count_results(), (REPO_COMMITS - 4 - 1) * 4 + 2);
    check_store();
}

// The range's verdict is said again: some of its commits are broken.
TEST(run_of_a_measured_range_does_nothing_and_says_so)
{
    run_all(0);
    plumb_said(&outcome, CONCLUDE_BROKEN, "nothing to do");
    plumb_said(&outcome, CONCLUDE_BROKEN, " broken, ");
    if (outcome.wall_s > 2)
        print_message("note: %.2f s; the machine is busy\n", outcome.wall_s);
    assert_true(outcome.wall_s < 60);
}

static void gate(enum helper_commit base, enum helper_commit head)
{
    const char *argv[] = {"gate",         "--base",   repo.ids[base], "--head",
                          repo.ids[head], "--policy", policy_path,    NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

TEST(gate_gives_each_step_of_a_history_its_verdict)
{
    static const struct {
        enum helper_commit base, head;
        int code;
        const char *word;
    } steps[] = {
        {REPO_START, REPO_TUNE, 0, "OK: 2 faster, 2 same"},
        {REPO_TUNE, REPO_COMMENT, 0, "OK: 4 same"},
        {REPO_COMMENT, REPO_RENAME, 0, "OK: 4 same"},
        {REPO_RENAME, REPO_MERGE, 0, "OK: 4 same"},
        {REPO_MERGE, REPO_SLOWER, 1, "SLOWER: 2 slower, 2 same"},
        {REPO_SLOWER, REPO_REVERT, 0, "OK: 2 faster, 2 same"},
        {REPO_REVERT, REPO_UNBUILDABLE, 3, "does not build: kernels/plain.c:34: error"},
        {REPO_UNBUILDABLE, REPO_FIXED, 0, "OK: 2 new, 2 same"},
        {REPO_FIXED, REPO_WRONG, 3, "BROKEN: 2 broken, 2 same"},
        {REPO_WRONG, REPO_RIGHT, 0, "OK: 2 new, 2 same"},
        {REPO_RIGHT, REPO_HANG, 3, "BROKEN: 2 broken, 2 same"},
        {REPO_HANG, REPO_AWAKE, 0, "OK: 2 new, 2 same"},
        {REPO_AWAKE, REPO_FASTER, 0, "OK: 2 faster, 2 same"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++) {
        gate(steps[i].base, steps[i].head);
        print_message("step %zu: %d in %.1f s\n", i, outcome.code, outcome.wall_s);
        plumb_said(&outcome, steps[i].code, steps[i].word);
    }
}

TEST(gate_of_an_identical_pair_stays_green_eight_times)
{
    for (int i = 0; i < 8; i++) {
        gate(REPO_MERGE, REPO_FIXED);
        plumb_said(&outcome, 0, "OK: 4 same");
    }
}

TEST(gate_reports_are_there_and_the_checkout_is_untouched)
{
    static const char *const files[] = {"plumb-report/index.html", "plumb-report/junit.xml",
                                        "plumb-report/summary.md"};
    gate(REPO_MERGE, REPO_SLOWER);
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", repo.directory, files[i]);
        FILE *file = fopen(path, "r");
        if (!file)
            fail_msg("%s is not there", path);
        fclose(file);
    }
    const char *status[] = {"list", "models", NULL};
    plumb_run(&outcome, repo.directory, status, 0);
    plumb_said(&outcome, 0, "sol");
}
