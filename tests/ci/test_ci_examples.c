// SPDX-License-Identifier: Apache-2.0
//
// The jobs of ci/examples and the step of .github/actions/gate: the commands of each are cut out of
// the file and run, in a repository of their own, with the variables that the CI system sets. The
// main branch has gone on since the change left it: it has a kernel more. Not tested: the
// systems themselves.
// Label: unsanitized
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static struct helper_repo repo;

// In the repository; the exit code.
static int shell(const char *command)
{
    char *text = xprintf("cd '%s' && { %s\n} >>test.log 2>&1", repo.directory, command);
    int status = system(text);
    free(text);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    char *policy = xprintf("%s/ci/plumb.cfg", repo.directory);
    char *reset = xprintf("git reset -q --hard %s && mkdir -p ci tools/plumb && "
                          "ln -s '%s' tools/plumb/bin",
                          repo.ids[REPO_MERGE], TEST_BIN);
    assert_int_equal(shell(reset), 0);
    helper_repo_policy(policy, "\tproblem = 96x64x128:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    int status = shell(
        "git config user.name t && git config user.email t@example.org && "
        "git add ci && git commit -qm policy && git branch -f base && "
        "sed 's/\"simple\"/\"since\"/' kernels/plain.c >kernels/since.c && git add kernels && "
        "git commit -qm 'on main, since' && "
        "git update-ref refs/remotes/origin/main HEAD && git reset -q --hard base && "
        "echo '// a comment' >> kernels/plain.c && git commit -qam comment");
    free(reset);
    free(policy);
    return status;
}

AROUND_ALL(set_up, NULL);

// `cut` is an awk program that prints the commands of the file; they run with these variables set.
static void assert_gates(const char *file, const char *cut, const char *variables)
{
    char *command = xprintf("rm -rf plumb-report summary; awk '%s' '%s/%s' >job.sh && "
                            "grep -q 'plumb' job.sh && "
                            "PATH=%s:$PATH RUNNER_TEMP=$PWD/tools %s sh -e job.sh",
                            cut, TEST_SOURCE, file, TEST_BIN, variables);
    const int code = shell(command);
    free(command);
    if (code || shell("grep -q '^OK: ' test.log && test -s plumb-report/junit.xml"))
        fail_msg("%s: exit %d; see %s/test.log", file, code, repo.directory);
}

// As GitLab's clone of a merge request, which has no branch, until the job fetches one.
TEST(gitlab_gates)
{
    assert_int_equal(shell("git branch -f trunk origin/main && git remote add origin \"$PWD\" && "
                           "git update-ref -d refs/remotes/origin/main"),
                     0);
    assert_gates("ci/examples/gitlab.yml",
                 "/^  [a-z]/ { on = /^  script:/ } on && sub(/^    - /, \"\")",
                 "CI_DEFAULT_BRANCH=trunk CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse base) "
                 "CI_COMMIT_SHA=$(git rev-parse HEAD)");
    assert_int_equal(shell("git remote remove origin && "
                           "git update-ref refs/remotes/origin/main trunk"),
                     0);
}

TEST(buildkite_gates)
{
    assert_gates(
        "ci/examples/buildkite.yml",
        "on && !/^      / { on = 0 } on { sub(/^ +/, \"\"); print } /command: [|]/ { on = 1 }",
        "BUILDKITE_PULL_REQUEST_BASE_BRANCH=main BUILDKITE_COMMIT=$(git rev-parse HEAD)");
}

TEST(jenkins_gates)
{
    // A quote in awk's program would end the shell's.
    assert_gates("ci/examples/Jenkinsfile", "/\\047\\047\\047/ { on = !on; next } on",
                 "CHANGE_TARGET=main");
}

TEST(the_action_gates_and_fills_the_summary)
{
    assert_gates(".github/actions/gate/action.yml",
                 "on { sub(/^ +/, \"\"); print } /run: [|]/ { blocks++; on = blocks == 2 }",
                 "GITHUB_STEP_SUMMARY=summary DEFAULT=main BASE=$(git rev-parse origin/main) "
                 "HEAD=HEAD OUT=plumb-report "
                 "OPTIONS=--quiet");
    assert_int_equal(shell("grep -q 'plumb: ' summary"), 0);
    // What a pull request is called must not become a command.
    assert_int_equal(
        shell("! awk '/run: [|]/ { on = 1; next } !/^        / { on = 0 } on' '" TEST_SOURCE
              "/.github/actions/gate/action.yml' | grep -F '${{'"),
        0);
}

// A change may bring files that a pattern among the options would become, and reports of its own.
TEST(nothing_that_a_change_brings_is_an_option_or_a_report)
{
    assert_int_equal(
        shell("git checkout -q -b brings && echo x >--quiet=x && echo x >--kernel=plain && "
              "rm -rf plumb-report && mkdir plumb-report && ln -s /etc/passwd "
              "plumb-report/summary.md && "
              "ln -s /etc/passwd plumb-report/more && git add . && git commit -qm brings && "
              "git config remote.origin.url \"$PWD\" && rm -f summary test.log"),
        0);
    char *command =
        xprintf("awk 'on { sub(/^ +/, \"\"); print } /run: [|]/ { blocks++; on = blocks "
                "== 2 }' '" TEST_SOURCE "/.github/actions/gate/action.yml' >job.sh && "
                "export GITHUB_STEP_SUMMARY=summary DEFAULT=main HEAD=HEAD "
                "OUT=plumb-report RUNNER_TEMP=$PWD/tools && "
                "BASE=$(git rev-parse origin/main) sh -e job.sh");
    assert_int_equal(setenv("OPTIONS", "--k*", 1), 0);
    assert_int_equal(shell(command), 4);
    assert_int_equal(shell("grep -q -e '--k[*] is no option' test.log"), 0);
    unsetenv("OPTIONS");
    assert_int_equal(shell(command), 4);
    assert_int_equal(
        shell("grep -q 'plumb-report: came with the commit' test.log && test ! -e summary "
              "&& test ! -e plumb-report"),
        0);
    assert_int_equal(shell("git reset -q --hard base && git checkout -q - && git branch -D brings "
                           "&& git config --unset remote.origin.url"),
                     0);
    free(command);
}

// Each step is a runner of its own: what they share is what the job before uploads.
TEST(the_matrix_measures_parts_and_judges_them_together)
{
    const char *file = "ci/examples/github-fleet.yml";
    char *command =
        xprintf("rm -rf plumb-report *.db; cut() { awk -v job=\"$1\" '/^  [a-z]/ { here = $1 == "
                "job \":\" } "
                "on && !/^          / { on = 0 } on { sub(/^ +/, \"\"); print } "
                "here && /run: [|]/ { on = 1 }' '%s/%s'; }; cut measure >measure.sh && cut judge "
                ">judge.sh && "
                "PATH=%s:$PATH BASE=$(git rev-parse origin/main) HEAD=$(git rev-parse HEAD) && "
                "export PATH BASE HEAD DEFAULT=main RUNNER_TEMP=$PWD/temp && "
                "mkdir -p temp/shards && for PART in 1 2 3 4; do export PART; sh -e measure.sh || "
                "exit 9; done; rm shard-2.db; mv shard-?.db temp/shards && echo x >shard-9.db && "
                "sh -e judge.sh; test $? = 2 && rm parts.db shard-9.db && "
                "PART=2 sh -e measure.sh && mv shard-?.db temp/shards && sh -e judge.sh",
                TEST_SOURCE, file, TEST_BIN);
    const int code = shell(command);
    free(command);
    if (code || shell("grep -q '^INCOMPLETE: of 4 parts these are missing: 2;' test.log && "
                      "tail -n 1 test.log | grep -q '^OK: ' && test -s plumb-report/junit.xml"))
        fail_msg("%s: exit %d; see %s/test.log", file, code, repo.directory);
    // What a pull request is called must not become a command.
    assert_int_equal(shell("! grep -F '${{' measure.sh judge.sh"), 0);
}

TEST(the_night_measures_and_writes_a_site)
{
    char *command = xprintf("awk '/^[0-9]/ { sub(/^([^ ]+ ){5}/, \"\"); "
                            "sub(/git pull [^&]*/, \"true \"); print }' "
                            "'%s/ci/examples/nightly.crontab' >job.sh && "
                            "PATH=%s:$PATH REPOSITORY=$PWD SITE=$PWD/site sh job.sh",
                            TEST_SOURCE, TEST_BIN);
    const int code = shell(command);
    free(command);
    if (code || shell("test -s site/index.html"))
        fail_msg("exit %d; see %s/test.log", code, repo.directory);
}

// What a job may do, whatever it is a job of.
TEST(every_job_is_confined)
{
    static const char *const laws[] = {
        // a gate or a run says that it needs the sandbox, unless it only joins
        "! grep -rhE 'plumb\"? (gate|run) ' ci/examples .github/actions .github/workflows | "
        "grep -vE -- '--sandbox require|--join|^ *(#|description)' | grep .",
        // actions are those that somebody looked at
        "! grep -rhE '^ *(- )?uses: *[^. ]' ci/examples/*.yml .github | grep -vE "
        "'@([0-9a-f]{40}|COMMIT)' "
        "| grep .",
        // no checkout leaves a token behind
        "test $(grep -rh 'uses: actions/checkout@' ci/examples .github/workflows | wc -l) = "
        "$(grep -rh 'persist-credentials: false' ci/examples .github/workflows | wc -l)",
        "for f in .github/workflows/*.yml ci/examples/github-*.yml; do "
        "grep -q '^permissions:' $f || exit 1; done",
        // no job waits for one of another pull request, which a third would cancel
        "! grep -rhE '^ *group:' .github/workflows ci/examples | grep -vE 'group: (nightly$|"
        "[a-z]+-[$][{][{] github.event.(pull_request|issue).number [}][}])'",
        // a job that runs strangers' code has a token that may read, and an example has no other
        "! grep -rE ': *(write|write-all|admin)( |$)' ci/examples .github/actions",
        // what people read on a job's page is escaped by plumb, or indented, which is no markup
        "! grep -rh GITHUB_STEP_SUMMARY .github ci/examples | grep -vE "
        "'summary[.]md|s/\\^/    /'",
        // what is kept and published is of the main branch
        "grep -B1 'uses: actions/cache/save' .github/workflows/nightly.yml | grep -q "
        "default_branch",
        "grep -A2 '^  publish:' .github/workflows/nightly.yml | grep -q default_branch"};
    for (size_t i = 0; i < ARRAY_COUNT(laws); i++) {
        char *command = xprintf("cd '" TEST_SOURCE "' && { %s; }", laws[i]);
        if (shell(command))
            fail_msg("%s", laws[i]);
        free(command);
    }
}
