// SPDX-License-Identifier: Apache-2.0
//
// .github/workflows/nightly.yml, as far as it can be held to something without GitHub: its steps
// are the ones known here, no event text reaches a shell, and the step that makes the night runs as
// it is written, in a repository of its own. Not run: actions (`uses:`), ci/setup (it installs
// packages) and the build, which the tests' own build stands for.
// Label: unsanitized
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_workflow.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct workflow flow;
static struct helper_repo repo;

static int set_up(void **state)
{
    workflow_read(&flow, "nightly.yml");
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    char *command = xprintf("cd '%s' && git reset -q --hard %s && mkdir -p ci build/dev && "
                            "cp '%s/ci/nightly' ci/ && ln -s '%s' build/dev/bin",
                            repo.directory, repo.ids[REPO_MERGE], TEST_SOURCE, TEST_BIN);
    int status = system(command);
    free(command);
    char *policy = xprintf("%s/ci/plumb.cfg", repo.directory);
    helper_repo_policy(policy, "\tproblem = 96x64x128:fp32\n",
                       "[measure]\n\tsamples = 6\n\ttimeout = 3\n");
    free(policy);
    return status;
}

AROUND_ALL(set_up, NULL);

// ---- tests ----

TEST(steps_are_the_ones_that_are_known)
{
    static const char *const runs[] = {"sh ci/setup", "cmake --preset dev", "code=0\n", "exit ${{"};
    workflow_steps(&flow, runs, ARRAY_COUNT(runs));
}

TEST(actions_are_githubs_own_pinned_by_their_hash)
{
    assert_true(flow.use_count >= 5);
    assert_true(workflow_grep("uses: actions/[a-z/-]+@[0-9a-f]{40} # v", "*.yml"));
    char *command = xprintf("cd '%s/.github/workflows' && grep -hE 'uses:' *.yml | "
                            "grep -vE 'uses: actions/[a-z/-]+@[0-9a-f]{40} # v[0-9.]+$'",
                            TEST_SOURCE);
    assert_int_not_equal(system(command), 0);
    free(command);
}

// What a commit, a branch or a pull request is called must not become a command.
TEST(no_text_from_outside_reaches_a_shell)
{
    for (size_t i = 0; i < flow.run_count; i++) {
        for (const char *at = flow.runs[i]; (at = strstr(at, "${{")); at += 3)
            assert_int_equal(strncmp(at, "${{ steps.night.outputs.code }}", 31), 0);
    }
}

// As the runner does: bash -e, the step's environment, files for output and summary.
static int run_accuracy_one(void)
{
    char *script = xprintf("%s/step.sh", repo.directory);
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fputs(flow.runs[2], file);
    assert_int_equal(fclose(file), 0);
    char *command = xprintf(
        "cd '%s' && DEVICE=host COMMIT_URL=https://example.org/commit/ "
        "SITE_URL=https://example.org/ GITHUB_OUTPUT=output.txt GITHUB_STEP_SUMMARY=summary.txt "
        "bash -e step.sh > step.log 2>&1",
        repo.directory);
    int status = system(command);
    free(command);
    free(script);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool has(const char *name, const char *text)
{
    char *path = xprintf("%s/%s", repo.directory, name), bytes[65536];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
    bytes[length] = '\0';
    if (file)
        fclose(file);
    free(path);
    return length > 0 && strstr(bytes, text);
}

TEST(the_nights_step_makes_site_output_and_summary)
{
    assert_int_equal(run_accuracy_one(), 0);
    assert_true(has("output.txt", "code="));
    assert_true(has("summary.txt", "series") && has("summary.txt", " open\n"));
    assert_true(has("nightly/report/junit.xml", "<testsuite name=\"events\""));
    // The page of a commit leads to where it can be seen.
    char *search =
        xprintf("grep -rqF https://example.org/commit/ '%s/nightly/site/commit'", repo.directory);
    assert_int_equal(system(search), 0);
    free(search);
    assert_true(has("nightly/site/feed.xml", "https://example.org/feed.xml"));
    assert_true(has("nightly/site/accuracy.json", "\"format\":1"));
    assert_true(has(".plumb/store.db", "SQLite format 3"));
}

TEST(the_next_night_goes_on_from_the_store_it_is_given)
{
    char *command = xprintf("cd '%s' && rm -rf nightly output.txt .plumb/cache", repo.directory);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_equal(run_accuracy_one(), 0);
    assert_true(has("step.log", "nothing to do"));
    assert_true(has("nightly/site/index.html", "series"));
}

TEST(a_night_that_cannot_work_fails_the_step)
{
    char *command = xprintf("cd '%s' && rm ci/plumb.cfg", repo.directory);
    assert_int_equal(system(command), 0);
    free(command);
    assert_int_not_equal(run_accuracy_one(), 0);
    assert_true(has("output.txt", "code=4"));
}
