// SPDX-License-Identifier: Apache-2.0
//
// Changes that are meant: what an epoch covers, which epochs came with a change, and the whole way
// from a slower gate over `plumb accept` to a green one.
// Label: measured
// Label: alone
// Label: unsanitized
#include "ci/gate/linking.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- what an epoch covers

static enum verdict_kind accepted_as(struct verdict verdict, enum measurement_state head,
                                     const struct epoch *epoch, bool removed_allowed)
{
    struct result r = {.kernel = "k",
                       .problem = {.m = 8, .n = 8, .k = 8, .batch = 1},
                       .head = {.state = head},
                       .verdict = verdict};
    struct device device = {.uuid = "host-1"};
    struct run run = {.results = &r, .count = 1, .devices = &device, .device_count = 1};
    struct epoch epochs[] = {*epoch};
    const struct epoch_list list = {.epochs = epochs, .count = 1};
    const struct policy_gate gate = {.removed_allowed = removed_allowed};
    r.verdict.sentence = "k 8x8x8 slower";
    accepting_apply(&run, &list, &gate);
    if (r.verdict.kind == VERDICT_ACCEPTED && !removed_allowed)
        assert_non_null(strstr(r.verdict.sentence, "accepted in this change"));
    run_free(&run);
    return r.verdict.kind;
}

TEST(a_slowdown_is_accepted_up_to_the_epochs_size)
{
    struct epoch e = {.series = "k * *", .level = 0.03, .reason = "wider tiles", .who = "A"};
    const struct verdict slower = {.kind = VERDICT_SLOWER,
                                   .cause = CAUSE_KERNEL,
                                   .log_ratio = {0.0305, 0.0295, 0.0315},
                                   .margin = 0.003,
                                   .pairs = 64};
    assert_int_equal(accepted_as(slower, MEASURED_OK, &e, false), VERDICT_ACCEPTED);
    e.level = 0.027; // and 0.0015 of floor: below the interval
    assert_int_equal(accepted_as(slower, MEASURED_OK, &e, false), VERDICT_SLOWER);
    e.level = -0.03;
    assert_int_equal(accepted_as(slower, MEASURED_OK, &e, false), VERDICT_SLOWER);
    e = (struct epoch){.series = "other * *", .level = 1};
    assert_int_equal(accepted_as(slower, MEASURED_OK, &e, false), VERDICT_SLOWER);
    e = (struct epoch){.series = "k * GPU-1", .level = 1};
    assert_int_equal(accepted_as(slower, MEASURED_OK, &e, false), VERDICT_SLOWER);
}

TEST(undecided_is_accepted_when_all_that_it_may_be_is)
{
    struct epoch e = {.series = "k * *", .level = 0.03, .reason = "r", .who = "A"};
    struct verdict open = {
        .kind = VERDICT_UNDECIDED, .log_ratio = {0.01, -0.01, 0.029}, .margin = 0.003, .pairs = 64};
    assert_int_equal(accepted_as(open, MEASURED_OK, &e, false), VERDICT_ACCEPTED);
    open.log_ratio.high = 0.05;
    assert_int_equal(accepted_as(open, MEASURED_OK, &e, false), VERDICT_UNDECIDED);
    open = (struct verdict){.kind = VERDICT_UNDECIDED}; // had no time
    assert_int_equal(accepted_as(open, MEASURED_NOT_TAKEN, &e, false), VERDICT_UNDECIDED);
}

TEST(a_removal_is_accepted_as_such_and_wrong_results_never)
{
    const struct verdict broken = {.kind = VERDICT_BROKEN, .cause = CAUSE_KERNEL};
    struct epoch e = {.series = "k * *", .removed = true, .reason = "r", .who = "A"};
    assert_int_equal(accepted_as(broken, MEASURED_MISSING, &e, false), VERDICT_ACCEPTED);
    assert_int_equal(accepted_as(broken, MEASURED_WRONG, &e, false), VERDICT_BROKEN);
    assert_int_equal(accepted_as(broken, MEASURED_WRONG, &e, true), VERDICT_BROKEN);
    e = (struct epoch){.series = "* * *", .level = 10, .reason = "r", .who = "A"};
    assert_int_equal(accepted_as(broken, MEASURED_MISSING, &e, false), VERDICT_BROKEN);
    assert_int_equal(accepted_as(broken, MEASURED_MISSING, &e, true), VERDICT_ACCEPTED);
}

// ---- the whole way

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320];

static void write_policy(const char *more)
{
    char *rest =
        xprintf("\tmargin = 4%%\n[gate]\n\tseconds = 60\n\tself-test = 1\n\tprocesses = 2\n"
                "\tmax-pairs = 400\n%s[measure]\n\tsamples = 6\n\ttimeout = 20\n",
                more);
    helper_repo_policy(policy_path, "\tproblem = 96x64x128:fp32\n", rest);
    free(rest);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    write_policy("");
    return 0;
}

AROUND_ALL(set_up, NULL);

static void gate(const char *base, const char *head)
{
    const char *argv[] = {"gate", "--base", base, "--head", head, "-p", policy_path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

// Commits the checkout's epochs file, or this text, on top of a commit.
static void commit_epochs(char out[OBJECT_ID_TEXT], const char *parent, int number,
                          const char *text)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/baselines/epochs.txt", repo.directory);
    char *read = text ? xstrdup(text) : helper_read(path, NULL);
    const struct helper_file files[] = {{"baselines/epochs.txt", read, 0}};
    helper_repo_commit(out, repo.directory, "accepted", &parent, 1, number, "accept", files, 1);
    free(read);
}

TEST(an_epoch_that_comes_with_the_change_turns_slower_into_accepted)
{
    char accepted[OBJECT_ID_TEXT];
    gate(repo.ids[REPO_MERGE], repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "SLOWER: 1 slower, 1 same");
    const char *accept[] = {"accept", "--who", "A <a@b>", "-m", "more rows are safer", NULL};
    plumb_run(&outcome, repo.directory, accept, 0);
    plumb_said(&outcome, 0, "1 epoch added");
    commit_epochs(accepted, repo.ids[REPO_SLOWER], 60, NULL);
    gate(repo.ids[REPO_MERGE], accepted);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 accepted, 1 same: simple");
    plumb_said(&outcome, CONCLUDE_OK, "accepted in this change");
    plumb_said(&outcome, CONCLUDE_OK, "more rows are safer (A <a@b>)");
    // All reports tell it, the summary first.
    static const char *const formats[] = {"junit", "html", "markdown",
                                          "csv",   "json", "annotations"};
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        const char *report[] = {"report", "--format", formats[i], NULL};
        plumb_run(&outcome, repo.directory, report, 0);
        plumb_said(&outcome, 0, "accepted in this change");
    }
    // Once it is in the base, it accepts nothing more.
    char back[OBJECT_ID_TEXT];
    commit_epochs(back, repo.ids[REPO_MERGE], 61, NULL);
    gate(back, accepted);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "SLOWER: 1 slower, 1 same");
    // Where only the base's file counts, it must be there, and name a commit of the change.
    write_policy("\taccept = base\n");
    gate(repo.ids[REPO_MERGE], accepted);
    plumb_said(&outcome, CONCLUDE_REGRESSION, "SLOWER: 1 slower, 1 same");
    gate(back, accepted);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 accepted, 1 same");
    write_policy("");
}

TEST(a_removal_is_accepted_by_its_epoch)
{
    char gone[OBJECT_ID_TEXT], accepted[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_MERGE];
    const struct helper_file files[] = {{"kernels/blocked.c", NULL, 0}};
    helper_repo_commit(gone, repo.directory, "gone", &parent, 1, 70, "remove", files, 1);
    gate(parent, gone);
    plumb_said(&outcome, CONCLUDE_BROKEN, "is gone from this commit");
    const char *accept[] = {"accept", "--who", "A", "-m", "nobody calls it", "blocked*", NULL};
    plumb_run(&outcome, repo.directory, accept, 0);
    plumb_said(&outcome, 0, "level  = removed");
    commit_epochs(accepted, gone, 71, NULL);
    gate(parent, accepted);
    plumb_said(&outcome, CONCLUDE_OK, "OK: 1 accepted, 1 same: blocked");
}

// Where the base's file counts, a stranger must not be able to make a commit that it names.
TEST(part_of_an_id_accepts_nothing)
{
    char gone[OBJECT_ID_TEXT], base[OBJECT_ID_TEXT];
    const struct helper_file files[] = {{"kernels/blocked.c", NULL, 0}};
    const char *parent = repo.ids[REPO_MERGE];
    write_policy("\taccept = base\n");
    helper_repo_commit(gone, repo.directory, "gone", &parent, 1, 72, "remove", files, 1);
    for (int digits = 7; digits <= 40; digits += 33) {
        char *epoch = xprintf("series = blocked * *\ncommit = %.*s\nlevel = removed\n"
                              "reason = nobody calls it\nwho = A\nwhen = 2026-01-01\n",
                              digits, gone);
        commit_epochs(base, repo.ids[REPO_MERGE], 73, epoch);
        gate(base, gone);
        plumb_said(&outcome, digits == 40 ? CONCLUDE_OK : CONCLUDE_BROKEN,
                   digits == 40 ? "OK: 1 accepted, 1 same: blocked" : "is gone from this commit");
        free(epoch);
    }
    write_policy("");
}

TEST(an_epochs_file_that_is_none_is_said_before_anything_is_measured)
{
    char bad[OBJECT_ID_TEXT];
    commit_epochs(bad, repo.ids[REPO_SLOWER], 80, "level = 3\n");
    gate(repo.ids[REPO_MERGE], bad);
    plumb_said(&outcome, CONCLUDE_FAILED, "baselines/epochs.txt at ");
    plumb_said(&outcome, CONCLUDE_FAILED, ":1: an epoch begins with its series");
}

// ---- who accepts

static void accepts_as(const char *directory, const char *who)
{
    const char *argv[] = {"accept", "--level", "+3%", "-m", "r", "-n", "simple*", NULL};
    plumb_run(&outcome, directory, argv, 0);
    plumb_said(&outcome, 0, who);
}

// git's own order and files: the user's, those of XDG, what they include, and a worktree's.
TEST(who_accepts_is_whom_git_knows)
{
    char *home = helper_directory(), *kept_home = getenv("HOME"),
         *kept_xdg = getenv("XDG_CONFIG_HOME");
    char *xdg = xprintf("%s/xdg", home), *git_folder = xprintf("%s/git", xdg);
    char *tree = xprintf("%s/tree", home);
    kept_home = kept_home ? xstrdup(kept_home) : NULL;
    kept_xdg = kept_xdg ? xstrdup(kept_xdg) : NULL;
    assert_int_equal(mkdir(xdg, 0700) || mkdir(git_folder, 0700), 0);
    setenv("HOME", home, 1);
    setenv("XDG_CONFIG_HOME", xdg, 1);
    const char *nobody[] = {"accept", "--level", "+3%", "-m", "r", "-n", "simple*", NULL};
    plumb_run(&outcome, repo.directory, nobody, 0);
    plumb_said(&outcome, CONCLUDE_FAILED, "has no user.name and user.email; give --who=");
    helper_put(git_folder, "config", "[user]\n\tname = From XDG\n\temail = x@example.org\n");
    accepts_as(repo.directory, "who    = From XDG <x@example.org>");
    helper_put(home, "more", "[user]\n\tname = Included\n\temail = i@example.org\n");
    helper_put(home, ".gitconfig", "[include]\n\tpath = more\n");
    accepts_as(repo.directory, "who    = Included <i@example.org>");
    git_repository *git = NULL;
    git_config *config = NULL;
    git_worktree *worktree = NULL;
    assert_int_equal(git_repository_open(&git, repo.directory), 0);
    assert_int_equal(git_repository_config(&config, git), 0);
    assert_int_equal(git_config_set_string(config, "user.name", "Of this repository"), 0);
    assert_int_equal(git_worktree_add(&worktree, git, "tree", tree, NULL), 0);
    git_worktree_free(worktree);
    git_config_free(config);
    git_repository_free(git);
    accepts_as(tree, "who    = Of this repository <i@example.org>");
    kept_home ? setenv("HOME", kept_home, 1) : unsetenv("HOME");
    kept_xdg ? setenv("XDG_CONFIG_HOME", kept_xdg, 1) : unsetenv("XDG_CONFIG_HOME");
    helper_discard(home);
    free(kept_home);
    free(kept_xdg);
    free(tree);
    free(git_folder);
    free(xdg);
    free(home);
}
