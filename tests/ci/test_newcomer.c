// SPDX-License-Identifier: Apache-2.0
//
// What a newcomer types wrong, or too early, is told in one line with the exit code that README's
// table gives it, and leaves nothing behind.
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_policy(repo.policy, "\tproblem = 8x8x8:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    helper_repo_know_host(&repo, NULL);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void type(const char *const *argv)
{
    plumb_run(&outcome, repo.directory, argv, 0);
}

#define TYPE(...) type((const char *const[]){__VA_ARGS__, NULL})

// The commit is broken, and that is what was asked: 3, as gate and run say it.
TEST(kernels_of_a_commit_that_does_not_build_are_broken)
{
    const char *commit = repo.ids[REPO_UNBUILDABLE];
    TYPE("list", "kernels", commit, "--policy", repo.policy);
    plumb_said(&outcome, 3, "BROKEN: commit ");
    plumb_said(&outcome, 3, "does not build: ");
    TYPE("list", "series", commit, "--policy", repo.policy);
    plumb_said(&outcome, 3, "does not build: ");
    TYPE("list", "kernels", commit, "--policy", repo.policy, "--format", "json");
    plumb_said(&outcome, 3, "{\"kernels\":[");
    TYPE("list", "kernels", "no-such-commit", "--policy", repo.policy);
    plumb_said(&outcome, 4, "no such revision");
}

TEST(text_is_no_store_and_not_a_damaged_one)
{
    char *path = xprintf("%s/notes.txt", repo.directory);
    helper_write_text(path, "these are notes, of more than one line of a file's beginning\n");
    TYPE("history", "--store", path);
    plumb_said(&outcome, 4, "notes.txt: is no store");
    assert_null(strstr(outcome.output, "damaged"));
    free(path);
}

TEST(shard_that_is_not_there_makes_no_store)
{
    char *path = xprintf("%s/new.db", repo.directory);
    TYPE("store", "merge", "nosuch.db", "--store", path);
    plumb_said(&outcome, 4, "store merge: nosuch.db: No such file or directory");
    assert_null(strstr(outcome.output, "plumb run"));
    assert_int_equal(access(path, F_OK), -1);
    TYPE("store", "merge", "--store", path);
    plumb_said(&outcome, 4, "name the stores to add");
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

TEST(store_without_runs_says_so)
{
    char *path = xprintf("%s/none.db", repo.directory);
    TYPE("store", "upgrade", "--store", path);
    plumb_said(&outcome, 0, "0 runs");
    TYPE("report", "--list", "--store", path);
    plumb_said(&outcome, 0, "no runs yet; `plumb gate` or `plumb run` makes one");
    free(path);
}

TEST(missing_gpu_is_told_with_what_goes_without)
{
    char *path = xprintf("%s/gpu.cfg", repo.directory);
    helper_write_text(path, "[build]\n\tcommand = \"true\"\n[device \"gpu\"]\n\tkind = cuda\n"
                            "\tindex = 63\n[problems \"few\"]\n\tproblem = 64x64x64:fp32\n"
                            "[kernel \"*\"]\n\tproblems = few\n");
    TYPE("gate", "--policy", path);
    plumb_said(&outcome, 4, "there is no cuda device 63 here; `required = false`");
    plumb_said(&outcome, 4, "`plumb gate --static` compares machine code");
    assert_null(strstr(outcome.output, "exit status"));
    // Of what is captured there is no machine code where nothing has run.
    helper_write_text(path, "[device \"gpu\"]\n\tkind = cuda\n\tindex = 63\n"
                            "[capture \"one\"]\n\tcommand = true\n\tkernel = one\n");
    TYPE("gate", "--policy", path);
    plumb_said(&outcome, 4, "captures are taken, and judged, where the GPU is");
    assert_null(strstr(outcome.output, "--static"));
    TYPE("status", "--policy", path);
    plumb_said(&outcome, 0, "`plumb gate` where a GPU of the policy is");
    assert_null(strstr(outcome.output, "--static"));
    free(path);
}

TEST(mistakes_in_a_section_of_a_capture_are_told)
{
    static const struct {
        const char *line, *said;
    } cases[] = {
        {"tolerance = lots", "tolerance = lots: is type, or a number from 0% to 100%, such as"},
        {"limit = 2GB", "limit = 2GB: needs a whole number from 1 to 1000000000000; k, m and g"},
        {"problem = 128x128:fp16", "[capture \"one\"]: 128x128: a shape is MxNxK"},
        {"range = x", "[capture \"one\"]: name its kernel or its range, one of both"},
        {"kernels = x", ":5: unknown key kernels in [capture]"},
    };
    char *path = xprintf("%s/capture.cfg", repo.directory);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *text =
            xprintf("[device \"gpu\"]\n\tkind = cuda\n[capture \"one\"]\n\tcommand = true\n"
                    "\t%s\n\tkernel = one\n",
                    cases[i].line);
        helper_write_text(path, text);
        TYPE("gate", "--policy", path);
        plumb_said(&outcome, 4, cases[i].said);
        free(text);
    }
    free(path);
}

TEST(folder_is_no_record)
{
    TYPE("capture", "--show", ".");
    plumb_said(&outcome, 4, ".: is a folder; name a record in it, ./record.PID");
}

// Its parent has none to be compared by.
TEST(commit_with_the_first_policy_is_told_its_gate)
{
    const struct helper_file files[] = {{"README", "a\n", 0}, {"ci/plumb.cfg", "[gate]\n", 0}};
    char *folder = helper_directory(), first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    const char *parents[] = {first};
    git_repository *git = NULL;
    git_libgit2_init();
    assert_int_equal(git_repository_init(&git, folder, 0), 0);
    git_repository_free(git);
    helper_repo_commit(first, folder, "main", NULL, 0, 1, "one", files, 1);
    helper_repo_commit(second, folder, "main", parents, 1, 2, "two", files, 2);
    helper_put(folder, ".git/HEAD", "ref: refs/heads/main\n");
    PLUMB_EXPECT(&outcome, folder, 4,
                 "not there, but at HEAD: until the next commit its gate is "
                 "`plumb gate --base HEAD`",
                 "gate");
    free(folder);
}

TEST(plan_that_is_not_there_is_not_a_broken_one)
{
    TYPE("plan", "check", "nosuch.plan", "8x8x8:fp32");
    plumb_said(&outcome, 4, "nosuch.plan: No such file or directory");
}

TEST(range_without_commits_is_told)
{
    TYPE("run", "HEAD..HEAD", "--policy", repo.policy);
    plumb_said(&outcome, 0, "nothing to do: the range holds no commits; A..B are");
    plumb_said(&outcome, 0, ", TAGS those with a tag, NEW those that no run measured\n");
}

// Known or not, a selection that leaves nothing is no commit that is measured already.
TEST(selection_that_leaves_nothing_is_told)
{
    TYPE("run", "HEAD", "--policy", repo.policy, "--quiet");
    TYPE("run", "HEAD", "--policy", repo.policy);
    plumb_said(&outcome, outcome.code, "nothing to do: 1 commit is measured already");
    TYPE("run", "HEAD", "--policy", repo.policy, "--kernel", "nope");
    plumb_said(&outcome, 4, "(only kernels 'nope'); `plumb list kernels` says which there are");
    TYPE("run", "HEAD", "--policy", repo.policy, "--problem", "nope");
    plumb_said(&outcome, 4, "nothing to measure");
    TYPE("history");
    plumb_said(&outcome, 0, "2 of 2 series: too few points to tell a change yet");
    TYPE("status", "--policy", repo.policy);
    plumb_said(&outcome, 0, ", 2 measurements of 2 series");
    helper_repo_know_host(&repo, "one.db");
    TYPE("run", "HEAD", "--policy", repo.policy, "--quiet", "--kernel", "simple", "--store",
         "one.db");
    TYPE("status", "--policy", repo.policy, "--store", "one.db");
    plumb_said(&outcome, 0, ", 1 measurement of 1 series");
}

TEST(static_gate_of_a_host_says_why_not)
{
    TYPE("gate", "--static", "--policy", repo.policy);
    plumb_said(&outcome, 4, "--static compares the machine code of CUDA kernels");
}

TEST(choice_says_which_type_it_is_for)
{
    TYPE("select", "--model", "origami", "--gpu", "h200-sxm", "512x512x512");
    plumb_said(&outcome, 0, "512x512x512:fp32-fp32:tn tile ");
}

TEST(failure_of_both_sides_is_told_once)
{
    const char *commit = repo.ids[REPO_UNBUILDABLE];
    TYPE("gate", "--base", commit, "--head", commit, "--policy", repo.policy);
    plumb_said(&outcome, 3, "BROKEN: commit ");
    assert_int_equal(helper_occurrences(outcome.output, "unbuilt  "), 1);
    assert_null(strstr(outcome.output, "nor does its base"));
}

// What one command could not build another may, and whoever asks says so: only run has measured it.
TEST(commit_that_did_not_build_is_tried_by_another_command)
{
    const char *commit = repo.ids[REPO_RENAME];
    char *path = xprintf("%s/other.cfg", repo.directory);
    helper_write_text(path, "[build]\n\tcommand = exit 7\n[device \"host\"]\n\tkind = host\n"
                            "[problems \"few\"]\n\tproblem = 8x8x8:fp32\n"
                            "[kernel \"*\"]\n\tproblems = few\n");
    TYPE("run", commit, "--policy", path);
    plumb_said(&outcome, 3, "does not build: exit status 7");
    TYPE("run", commit, "--policy", path);
    plumb_said(&outcome, 3, "nothing to do: 1 commit is measured already");
    TYPE("run", "-n", commit, "--policy", path);
    plumb_said(&outcome, 0, "nothing to do");
    TYPE("run", "-n", commit, "--policy", repo.policy);
    plumb_said(&outcome, 0, "would");
    TYPE("gate", "--base", repo.ids[REPO_COMMENT], "--head", commit, "--policy", path);
    plumb_said(&outcome, 4, "NOT BUILT: commit ");
    TYPE("gate", "--base", repo.ids[REPO_COMMENT], "--head", commit, "--policy", repo.policy);
    plumb_said(&outcome, 0, "OK: ");
    TYPE("bisect", "--good", repo.ids[REPO_COMMENT], "--bad", commit, "--series",
         "simple/8x8x8:fp32", "--policy", path);
    plumb_said(&outcome, 4, "does not build, so has no simple");
    TYPE("bisect", "--good", repo.ids[REPO_COMMENT], "--bad", commit, "--series",
         "simple/8x8x8:fp32", "--policy", repo.policy);
    assert_null(strstr(outcome.output, "does not build"));
    TYPE("history", "--policy", repo.policy);
    assert_null(strstr(outcome.output, "exit status 7"));
    TYPE("run", commit, "--policy", repo.policy);
    plumb_said(&outcome, 0, "OK: ");
    TYPE("run", commit, "--policy", repo.policy);
    plumb_said(&outcome, 0, "nothing to do: 1 commit is measured already");
    free(path);
}

// status asks no compiler, so it does not know either.
TEST(status_does_not_take_what_failed_for_measured)
{
    TYPE("run", "HEAD", "--policy", repo.policy);
    TYPE("status", "--policy", repo.policy);
    plumb_said(&outcome, 0, "its own times are measured");
    char *path = xprintf("%s/other.cfg", repo.directory);
    helper_write_text(path, "[build]\n\tcommand = exit 7\n[device \"host\"]\n\tkind = host\n"
                            "[problems \"few\"]\n\tproblem = 8x8x8:fp32\n"
                            "[kernel \"*\"]\n\tproblems = few\n");
    TYPE("run", "HEAD", "--again", "--policy", path);
    plumb_said(&outcome, 3, "exit status 7");
    TYPE("status", "--policy", repo.policy);
    plumb_said(&outcome, 0, "its own times are not all measured");
    free(path);
}

TEST(edits_that_nobody_committed_are_told)
{
    char *command = xprintf("cd %s && cp kernels/blocked.c kept && echo >>kernels/blocked.c && "
                            "echo >>README.md",
                            repo.directory);
    assert_int_equal(system(command), 0);
    free(command);
    TYPE("gate", "-n", "--policy", repo.policy);
    plumb_said(&outcome, 0, "kernels/blocked.c of the checkout is edited and not committed: ");
    TYPE("run", "-n", "--policy", repo.policy);
    plumb_said(&outcome, 0, "kernels/blocked.c of the checkout is edited and not committed: ");
    TYPE("gate", "-n", "--head", "HEAD~1", "--policy", repo.policy);
    assert_null(strstr(outcome.output, "not committed"));
    command = xprintf("cd %s && mv kept kernels/blocked.c", repo.directory);
    assert_int_equal(system(command), 0);
    free(command);
    TYPE("gate", "-n", "--policy", repo.policy);
    assert_null(strstr(outcome.output, "not committed"));
}

// Most of a history is older than the policy, and than shims.
TEST(commits_before_the_policy_are_told_of_overlays)
{
    TYPE("run", repo.ids[REPO_UNBUILDABLE], "--policy", repo.policy);
    plumb_said(&outcome, 3, "1 commit does not build and has no ci/plumb.cfg; what such commits");
    plumb_said(&outcome, 3, "`plumb init --outside DIR`, --overlay DIR");
}

TEST(accepted_level_of_an_unknown_series_is_told)
{
    TYPE("run", "HEAD", "--policy", repo.policy, "--quiet");
    TYPE("accept", "--level", "3%", "--who", "T", "-m", "why", "-n", "simpel*");
    plumb_said(&outcome, 0, "no series that is measured here matches 'simpel*'");
    TYPE("accept", "--level", "3%", "--who", "T", "-m", "why", "-n", "simple*");
    plumb_said(&outcome, 0, "would be added");
    assert_null(strstr(outcome.output, "no series that"));
}

// A store where plumb puts it is its repository's, from wherever it is asked.
TEST(store_knows_what_its_repository_accepted)
{
    char *copy = xprintf("%s/copy.db", repo.directory), *command;
    char *folder = xprintf("%s/baselines", repo.directory);
    TYPE("run", "HEAD", "--policy", repo.policy, "--quiet");
    command = xprintf("mkdir -p '%s' && echo nonsense >'%s/epochs.txt' && cp '%s/.plumb/store.db' "
                      "'%s'",
                      folder, folder, repo.directory, copy);
    assert_int_equal(system(command), 0);
    char *own = xprintf("%s/.plumb/store.db", repo.directory);
    plumb_run(&outcome, "/", (const char *const[]){"history", "--store", own, NULL}, 0);
    plumb_said(&outcome, 4, "epochs.txt"); // read, and refused
    plumb_run(&outcome, "/", (const char *const[]){"history", "--store", copy, NULL}, 0);
    plumb_said(&outcome, 0, "give -C DIR, or --epochs FILE");
    helper_discard(folder);
    free(folder);
    free(command);
    free(own);
    free(copy);
}

TEST(policy_has_to_be_committed_before_a_gate)
{
    char *folder = xprintf("%s/ci", repo.directory), *path = xprintf("%s/plumb.cfg", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    helper_repo_policy(path, "\tproblem = 8x8x8:fp32\n", "");
    TYPE("status");
    plumb_said(&outcome, 0, "commit what `plumb init` wrote: git add ci && git commit");
    FILE *file = fopen(path, "r");
    char text[8192], id[OBJECT_ID_TEXT];
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *parent = repo.ids[REPO_FASTER];
    helper_repo_commit(id, repo.directory, "main", &parent, 1, 100, "a policy",
                       &(struct helper_file){"ci/plumb.cfg", text, 0}, 1);
    TYPE("status");
    plumb_said(&outcome, 0, "HEAD is the first with a policy");
    // Where nothing can be measured no run is named.
    char *away = strstr(text, "kind = host");
    assert_non_null(away);
    memcpy(away, "kind = cuda", strlen("kind = cuda"));
    helper_write_text(path, text);
    TYPE("status");
    plumb_said(&outcome, 0, "next        `plumb list kernels` builds HEAD; `plumb gate --static`");
    free(path);
    free(folder);
}
