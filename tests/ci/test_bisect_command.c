// SPDX-License-Identifier: Apache-2.0
//
// plumb bisect on a real history with the real bench: commits that do not build, compute wrong
// results or hang lie between good and bad.
// Label: measured
// Label: unsanitized
#include "baselines/store.h"
#include "runner/git/repository.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320];

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    helper_repo_policy(policy_path, "\tproblem = 96x64x128:fp32\n",
                       "\tmargin = 4%\n[gate]\n\tseconds = 60\n\tself-test = 1\n\tprocesses = 2\n"
                       "\tmax-pairs = 400\n[measure]\n\tsamples = 12\n\ttimeout = 3\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void bisect(const char *good, const char *bad, const char *series)
{
    const char *argv[] = {"bisect",   "--good", good,       "--bad",     bad,
                          "--series", series,   "--policy", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
}

static size_t stored_duets(void)
{
    char path[320];
    struct arena arena = {0};
    struct error err;
    struct store *store;
    struct run_entry *runs;
    size_t count;
    snprintf(path, sizeof(path), "%s/.plumb/store.db", repo.directory);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    assert_int_equal(store_list_runs(&runs, &count, store, RUN_BISECT, 0, &arena, &err), 0);
    store_close(store);
    arena_free(&arena);
    return count;
}

static const char *series = "simple/96x64x128:fp32";

TEST(culprit_is_found_past_commits_that_cannot_be_measured)
{
    char line[128];
    bisect(repo.ids[REPO_REVERT], repo.ids[REPO_FASTER], series);
    snprintf(line, sizeof(line), "FOUND: %.10s made simple", repo.ids[REPO_FASTER]);
    plumb_said(&outcome, 0, line);
    plumb_said(&outcome, 0, " made simple 96x64x128:fp32-fp32:tn:cold ");
    plumb_said(&outcome, 0, "  M kernels/plain.c (+");
    assert_null(strstr(outcome.output, "+-")); // an interval, as the gate has it
    assert_non_null(strstr(outcome.output, " to -"));
}

TEST(bisection_asked_again_measures_nothing)
{
    size_t before = stored_duets();
    bisect(repo.ids[REPO_REVERT], repo.ids[REPO_FASTER], series);
    plumb_said(&outcome, 0, "FOUND: ");
    assert_true(before > 0);
    assert_int_equal(stored_duets(), before);
}

// FASTER, then a commit that does not build, then one that builds and is slow as SLOWER.
TEST(commit_that_does_not_build_is_neither_blamed_nor_cleared)
{
    static const char broken[] = "int broken(void)\n{\n    return no_such_name;\n}\n";
    char first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT], line[160];
    const char *parents[] = {repo.ids[REPO_FASTER], first};
    struct repository *repository;
    struct error err;
    char *slow;
    size_t size;
    assert_int_equal(repository_open(&repository, repo.directory, &err), 0);
    assert_int_equal(
        repository_read(&slow, &size, repository, repo.ids[REPO_SLOWER], "kernels/plain.c", &err),
        0);
    repository_close(repository);
    const struct helper_file breaks = {"kernels/broken.c", broken, 0};
    helper_repo_commit(first, repo.directory, "extra", parents, 1, 40, "breaks\n", &breaks, 1);
    const struct helper_file mends[] = {{"kernels/broken.c", NULL, 0},
                                        {"kernels/plain.c", slow, 0}};
    helper_repo_commit(second, repo.directory, "extra", parents + 1, 1, 41, "mends\n", mends, 2);
    free(slow);
    bisect(repo.ids[REPO_FASTER], second, series);
    snprintf(line, sizeof(line), "BETWEEN: %.10s..%.10s, 2 commits that cannot be told apart",
             first, second);
    plumb_said(&outcome, 2, line);
    plumb_said(&outcome, 2, "does not build, passed over");
}

TEST(same_machine_code_has_no_culprit)
{
    bisect(repo.ids[REPO_MERGE], repo.ids[REPO_FIXED], series);
    plumb_said(&outcome, 2, "NONE: simple");
}

TEST(what_cannot_be_searched_is_said)
{
    bisect(repo.ids[REPO_FASTER], repo.ids[REPO_MERGE], series);
    plumb_said(&outcome, 4, "is --good older than --bad?");
    bisect(repo.ids[REPO_UNBUILDABLE], repo.ids[REPO_FASTER], series);
    plumb_said(&outcome, 4, "does not build");
    bisect(repo.ids[REPO_MERGE], repo.ids[REPO_FASTER], "simple");
    plumb_said(&outcome, 4, "KERNEL/PROBLEM");
    bisect(repo.ids[REPO_MERGE], repo.ids[REPO_FASTER], "none/96x64x128:fp32");
    plumb_said(&outcome, 4, "no kernel none");
}

// Whoever names no regime gets the one that the policy measures in, and is asked where it has two.
TEST(a_series_is_searched_in_the_regime_of_the_policy)
{
    static const char *const regimes[] = {"warm", "isolated warm"};
    for (size_t i = 0; i < 2; i++) {
        char *rest = xprintf("\tmargin = 4%%\n[gate]\n\tregime = %s\n", regimes[i]);
        helper_repo_policy(policy_path, "\tproblem = 96x64x128:fp32\n", rest);
        bisect(repo.ids[REPO_MERGE], repo.ids[REPO_FIXED], series);
        if (i == 0)
            plumb_said(&outcome, 2, "NONE: simple 96x64x128:fp32-fp32:tn:warm runs the same");
        else
            plumb_said(&outcome, 4,
                       "in several regimes: name one, as in KERNEL/PROBLEM:warm (isolated, warm)");
        free(rest);
    }
    bisect(repo.ids[REPO_MERGE], repo.ids[REPO_FIXED], "simple/96x64x128:fp32:isolated");
    plumb_said(&outcome, 2, "NONE: simple 96x64x128:fp32-fp32:tn:isolated runs the same");
}
