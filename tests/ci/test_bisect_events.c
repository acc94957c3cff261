// SPDX-License-Identifier: Apache-2.0
//
// The night that ends a search: a gap of commits that nobody measured, an event that may have begun
// with any of them, and `plumb bisect --events`, which names the one or says why not.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <string.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static void write_policy(const char *name, const char *history)
{
    char path[320], rest[400];
    snprintf(path, sizeof(path), "%s/%s", repo.directory, name);
    snprintf(rest, sizeof(rest),
             "\tmargin = 4%%\n[gate]\n\tseconds = 60\n\tprocesses = 2\n\tmax-pairs = 400\n"
             "[measure]\n\tsamples = 12\n\ttimeout = 20\n[history]\n\tlink = on\n%s",
             history);
    helper_repo_policy(path, "\tproblem = 96x64x128:fp32\n", rest);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, "s.db");
    write_policy("long.cfg", "");
    write_policy("none.cfg", "\tsearch = 0\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void run(enum helper_commit commit)
{
    const char *argv[] = {"run", repo.ids[commit], "--policy", "long.cfg", "--store", "s.db", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
}

static void search(const char *policy)
{
    const char *argv[] = {"bisect", "--events", "--quiet", "--policy",
                          policy,   "--store",  "s.db",    NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s: %s\n", outcome.code, outcome.wall_s, outcome.output);
}

static void list(void)
{
    const char *argv[] = {"events", "--store", "s.db", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

// SLOWER after COMMENT: nobody measured RENAME and MERGE between them, and MERGE changes nothing
// that a build reads.
TEST(an_event_over_a_gap_has_all_of_its_commits)
{
    run(REPO_COMMENT);
    run(REPO_SLOWER);
    list();
    plumb_said(&outcome, 0, "; one of 2 commits; ");
    plumb_said(&outcome, 0, "1 event: 1 "); // new or confirmed, as the machine's noise lets it
}

TEST(without_a_budget_it_says_so_and_stays_open)
{
    search("none.cfg");
    plumb_said(&outcome, 2, "not searched to the end: the budget ended before");
    plumb_said(&outcome, 2, "1 event of several commits, 0 found");
}

TEST(the_search_names_the_commit_and_is_kept)
{
    char line[128];
    search("long.cfg");
    snprintf(line, sizeof(line), "searched: it began with %.10s (", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    plumb_said(&outcome, 0, "1 event of several commits, 1 found");
    list();
    assert_null(strstr(outcome.output, "one of"));
    snprintf(line, sizeof(line), "%.10s", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    const char *argv[] = {"events", "show", line, "--store", "s.db", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "searched: it began with");
    search("long.cfg");
    plumb_said(&outcome, 0, "0 events of several commits, 0 found");
}
