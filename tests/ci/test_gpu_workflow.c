// SPDX-License-Identifier: Apache-2.0
//
// .github/workflows/gpu.yml, which gates pull requests of strangers on somebody's GPU: whose file
// it is, what each half may, who approves, and both halves run as they are written, with a stand-in
// for `gh`. Not run: actions (`uses:`), ci/setup and the builds, which the tests' own stands for.
// Label: unsanitized
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_workflow.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum step {
    TAKE_LABEL,
    APPROVE,
    FETCH,
    SETUP,
    BUILD,
    GATE,
    EXPORT,
    SETUP_2,
    BUILD_2,
    COMMENT,
    SUMMARY
};

#define RECORD TEST_SOURCE "/baselines/recorded/h200/fp32-run-3.jsonl"
// Of that gate.
#define RECORDED_HEAD "a03b37ede9b90413e6f094e1f563995b76bdbe97"
#define ZEROS         "0000000000000000000000000000000000000000"

// Of asked.yml.
enum asked_step {
    ASKED_APPROVE,
    ASKED_FETCH,
    ASKED_SETUP,
    ASKED_BUILD,
    ASKED_GATE,
    ASKED_EXPORT,
    ASKED_SETUP_2,
    ASKED_BUILD_2,
    ASKED_COMMENT,
    ASKED_SUMMARY
};

static struct workflow flow, asked;
static struct helper_repo repo; // the repository; its commits are behind those of set_up()
static char *folder;            // with work/, the checkout, and what stands for GitHub
static char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];

// Answers what files in the folder say, and writes down what it was asked to change.
static const char gh[] =
    "#!/bin/sh\n"
    "cd \"$(dirname \"$0\")/..\"\n"
    "case \"$*\" in\n"
    "*/collaborators/*) who=${2%/permission}; who=permission.${who##*/}; [ -e \"$who\" ] || "
    "who=permission; [ -s \"$who\" ] && cat \"$who\" ;;\n"
    "*/reviews*) cat reviews 2>/dev/null || true ;;\n"
    "*/pulls/7*) cat now ;;\n"
    "'run download'*) [ -e artifact ] || exit 1; rm -rf work/result; cp -a artifact work/result "
    ";;\n"
    "*/comments' --paginate'*) cat old 2>/dev/null || true ;;\n"
    "*--method*) echo \"$*\" >>changed; cp work/comment.md posted 2>/dev/null || true ;;\n"
    "*) echo \"gh: $*\" >&2; exit 1 ;;\n"
    "esac\n";

static int shell(const char *where, const char *command)
{
    char *text = xprintf("cd '%s' && { %s\n} >>'%s/log' 2>&1", where, command, folder);
    const int status = system(text);
    free(text);
    assert_true(status != -1 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool says(const char *name, const char *part)
{
    char *path = xprintf("%s/%s", folder, name), *text = helper_read(path, NULL);
    const bool found = strstr(text, part) != NULL;
    free(text);
    free(path);
    return found;
}

// A script of the workflow as the runner runs it, with these variables beside those of every job.
static int run_script(const char *script, const char *variables)
{
    helper_put(folder, "step.sh", script);
    char *work = xprintf("%s/work", folder);
    char *command =
        xprintf("rm -f ../changed ../posted; PATH=%s/bin:$PATH REPOSITORY=us/kernels NUMBER=7 "
                "BASE=%s HEAD=%s RUN=1 RUN_URL=https://example.org/run DEVICE=host DEFAULT=main "
                "GITHUB_STEP_SUMMARY=summary %s bash -e ../step.sh",
                folder, base, head, variables);
    const int code = shell(work, command);
    free(command);
    free(work);
    return code;
}

static int step(enum step number, const char *variables)
{
    return run_script(flow.runs[number], variables);
}

static void make_commits(void)
{
    char *policy = xprintf("%s/ci/plumb.cfg", repo.directory);
    char *reset = xprintf("git reset -q --hard %s && mkdir -p ci", repo.ids[REPO_MERGE]);
    assert_int_equal(shell(repo.directory, reset), 0);
    helper_repo_policy(policy, "\tproblem = 96x64x128:fp32\n",
                       "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n");
    assert_int_equal(
        shell(
            repo.directory,
            "git config user.name t && git config user.email t@example.org && "
            "git config uploadpack.allowAnySHA1InWant true && git add ci && "
            "git commit -qm policy && git checkout -q --detach && "
            "echo '// a comment' >>kernels/plain.c && git commit -qam 'of a stranger' && "
            "git rev-parse HEAD >ids && git checkout -q main && "
            "sed 's/\"simple\"/\"since\"/' kernels/plain.c >kernels/since.c && git add kernels && "
            "git commit -qm 'since then' && "
            "git rev-parse HEAD >>ids"),
        0);
    char *path = xprintf("%s/ids", repo.directory), *ids = helper_read(path, NULL);
    assert_int_equal(sscanf(ids, "%64s %64s", head, base), 2);
    free(ids);
    free(path);
    free(reset);
    free(policy);
}

static int set_up(void **state)
{
    workflow_read(&flow, "gpu.yml");
    workflow_read(&asked, "asked.yml");
    folder = helper_directory();
    helper_repo_create(&repo);
    make_commits();
    char *clone = xprintf("git clone -q '%s' work && mkdir -p bin work/build/gpu work/build/dev && "
                          "ln -s '%s' work/build/gpu/bin && ln -s '%s' work/build/dev/bin && "
                          "cp '%s/ci/approve' '%s/ci/comment' work/ci/",
                          repo.directory, TEST_BIN, TEST_BIN, TEST_SOURCE, TEST_SOURCE);
    const int status = shell(folder, clone);
    free(clone);
    helper_put(folder, "bin/gh", gh);
    return status || shell(folder, "chmod +x bin/gh");
}

AROUND_ALL(set_up, NULL);

// ---- what stands in the files

TEST(steps_are_the_ones_that_are_known)
{
    static const char *const runs[] = {"gh api --method DELETE",
                                       "sh ci/approve",
                                       "git fetch --no-tags",
                                       "sh ci/setup",
                                       "cmake --preset gpu",
                                       "build/gpu/bin",
                                       "build/gpu/bin",
                                       "sh ci/setup",
                                       "cmake --",
                                       "gh run download",
                                       "if [ \"$(wc -c < report/summary.md)\""};
    workflow_steps(&flow, runs, ARRAY_COUNT(runs));
    assert_int_equal(ARRAY_COUNT(runs), SUMMARY + 1);
    assert_non_null(strstr(flow.runs[GATE], " gate --sandbox require "));
}

// The file is the default branch's, what it checks out too, and what it builds.
TEST(nothing_of_a_pull_request_decides)
{
    assert_true(workflow_grep("^  pull_request_target:", "gpu.yml"));
    assert_true(workflow_grep("^    branches: \\[main\\]", "gpu.yml"));
    assert_false(workflow_grep("^  (pull_request|workflow_run|issue_comment|push):", "gpu.yml"));
    assert_false(workflow_grep("ref: ", "gpu.yml label.yml"));
    assert_false(workflow_grep("git (checkout|switch|merge|pull|worktree)", "gpu.yml label.yml"));
    assert_false(
        workflow_grep("group: gpu$", "gpu.yml")); // a waiting job of another one is not lost
    assert_false(workflow_grep("cache|secrets\\.|environment:", "gpu.yml"));
    for (size_t i = 0; i < flow.run_count; i++)
        assert_null(strstr(flow.runs[i], "${{"));
    // The rights of each job are listed; the one that runs strangers' code may only read.
    assert_true(workflow_grep("^permissions: \\{\\}", "gpu.yml"));
    assert_true(workflow_grep("runs-on: \\[self-hosted", "gpu.yml"));
    assert_false(workflow_grep("contents: write|write-all|id-token|actions: write", "gpu.yml"));
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text++)
        count++;
    return count;
}

// What people read is written by the half that runs nothing of the pull request.
TEST(one_file_leaves_the_machine)
{
    char *text = helper_read(TEST_SOURCE "/.github/workflows/gpu.yml", NULL);
    char *gate = strstr(text, "\n  gate:"), *comment = strstr(text, "\n  comment:");
    assert_true(gate && comment && gate < comment);
    *comment = '\0';
    assert_int_equal(count_of(gate, "upload-artifact"), 1);
    assert_int_equal(count_of(gate, "with: { name: plumb-result, path: result.jsonl }"), 1);
    assert_null(strstr(gate, "GITHUB_STEP_SUMMARY"));
    assert_null(strstr(gate, "write"));
    free(text);
}

TEST(a_label_falls_with_every_push_and_when_it_was_used)
{
    assert_true(workflow_grep("types: \\[synchronize, reopened\\]", "label.yml"));
    assert_false(workflow_grep("uses:", "label.yml"));
    assert_int_equal(step(TAKE_LABEL, ""), 0);
    assert_true(says("changed", "--method DELETE repos/us/kernels/issues/7/labels/measure"));
}

// ---- who approves

static void assert_refused(const char *variables, const char *why)
{
    helper_put(folder, "log", "");
    assert_int_equal(step(APPROVE, variables), 1);
    assert_true(says("log", why));
}

// A quote may stand in a list or in tags, and goes on to the end of its paragraph.
static void assert_no_quote_approves(const char *id, const char *stranger)
{
    static const char *const quotes[][2] = {{"- > ", ""},
                                            {"1. > ", "\\nfine"},
                                            {"> see\\n", ""},
                                            {"> see\\r\\n", "\\n"},
                                            {"<blockquote>", "</blockquote>"},
                                            {"<blockquote>\\n\\n", "\\n\\n</blockquote>"}};
    static const char behind[] = "\\n\\nI have read all of it.";
    for (size_t i = 0; i < ARRAY_COUNT(quotes); i++) {
        char *review = xprintf("COMMENTED\tmaintainer\tMEMBER\t%s%s%s%s\n", quotes[i][0], id,
                               quotes[i][1], behind);
        helper_put(folder, "reviews", review);
        assert_refused(stranger, "no review of maintainer names the commit");
        free(review);
        review = xprintf("COMMENTED\tmaintainer\tMEMBER\t%sx%s%s I mean %s\n", quotes[i][0],
                         quotes[i][1], behind, id);
        helper_put(folder, "reviews", review);
        assert_int_equal(step(APPROVE, stranger), 0);
        free(review);
    }
}

TEST(a_commit_is_approved_by_who_reviewed_it)
{
    static const char stranger[] = "FROM=them/kernels BY=maintainer";
    char *now = xprintf("%s\n", head),
         *named = xprintf("COMMENTED\tmaintainer\tMEMBER\t read %s \n", head);
    char *few = xprintf("COMMENTED\tmaintainer\tMEMBER\t read %.39s\n", head);
    char *again = xprintf("%sCHANGES_REQUESTED\tother\tMEMBER\t\n%s", named, named);
    char *withdrawn = xprintf("%sCHANGES_REQUESTED\tother\tMEMBER\t\n", named);
    char *others = xprintf("%sCHANGES_REQUESTED\tthem\tNONE\t\n", named);
    char *quoted = xprintf("COMMENTED\tmaintainer\tMEMBER\t> please see %s\\n\\n  > and %s"
                           "\\r\\nof " ZEROS " I have read all\n",
                           head, head);
    char *disguised = xprintf("COMMENTED\tmaintainer\tMEMBER\t> see\\\\n%s\\nfine\n", head);
    char *elsewhere = xprintf("APPROVED\tsomebody\tNONE\t %s\n", head);
    helper_put(folder, "permission", "write\n");
    helper_put(folder, "now", now);
    assert_refused(stranger, "no review of maintainer names the commit");
    helper_put(folder, "reviews",
               "APPROVED\tmaintainer\tMEMBER\t " ZEROS "\n"); // of another commit
    assert_refused(stranger, "no review of maintainer names the commit");
    helper_put(folder, "reviews", "APPROVED\tmaintainer\tMEMBER\t\n"); // of whatever was the newest
    assert_refused(stranger, "no review of maintainer names the commit");
    helper_put(folder, "reviews", few); // two commits of one prefix are made in seconds
    assert_refused(stranger, "no review of maintainer names the commit");
    helper_put(folder, "reviews", elsewhere);
    assert_refused(stranger, "no review of maintainer names the commit");
    assert_int_equal(step(APPROVE, "FROM=us/kernels BY=maintainer"), 0);
    helper_put(folder, "reviews", withdrawn);
    assert_refused(stranger, "changes were requested after");
    helper_put(folder, "reviews", again);
    assert_int_equal(step(APPROVE, stranger), 0);
    helper_put(folder, "reviews", others); // whoever may not write
    helper_put(folder, "permission.them", "read\n");
    assert_int_equal(step(APPROVE, stranger), 0);
    helper_put(folder, "permission.them", "write\n"); // whatever GitHub calls them
    assert_refused(stranger, "changes were requested after");
    helper_put(folder, "reviews", quoted); // a commit that a stranger named before it was pushed
    assert_refused(stranger, "no review of maintainer names the commit");
    helper_put(folder, "reviews", disguised);
    assert_refused(stranger, "no review of maintainer names the commit");
    assert_no_quote_approves(head, stranger);
    helper_put(folder, "reviews", named);
    assert_int_equal(step(APPROVE, stranger), 0);
    helper_put(folder, "permission", "triage\n");
    assert_refused(stranger, "maintainer may not write to this repository");
    helper_put(folder, "permission", "admin\n");
    helper_put(folder, "now", ZEROS "\n");
    assert_refused(stranger, "something was pushed since");
    helper_put(folder, "now", now);
    assert_int_equal(step(APPROVE, stranger), 0);
    free(now);
    free(named);
    free(few);
    free(again);
    free(withdrawn);
    free(others);
    free(elsewhere);
    free(quoted);
    free(disguised);
}

// Numbers of one value, which are different commits and different people.
TEST(an_id_or_a_name_is_no_number)
{
    static const char *const ids[][2] = {
        {"0e12345678901234567890123456789012345678", "0e98765432109876543210987654321098765432"},
        {"1234567890123456789012345678901234567890", "1234567890123456789012345678909999999999"},
        {"0000e2345678901234567890123456789012345a", "0000e2345678901234567890123456789012345a"}};
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        const bool same = strcmp(ids[i][0], ids[i][1]) == 0;
        char *now = xprintf("%s\n", ids[i][1]);
        char *variables = xprintf("FROM=them/kernels BY=1000 HEAD=%s", ids[i][1]);
        char *review = xprintf("COMMENTED\t1000\tMEMBER\t read %s \n", ids[i][0]);
        char *others = xprintf("COMMENTED\t1e3\tNONE\t read %s \n", ids[i][1]);
        helper_put(folder, "permission", "write\n");
        helper_put(folder, "now", now);
        helper_put(folder, "reviews", review);
        if (same)
            assert_int_equal(step(APPROVE, variables), 0);
        else
            assert_refused(variables, "no review of 1000 names the commit");
        helper_put(folder, "reviews", others);
        assert_refused(variables, "no review of 1000 names the commit");
        free(others);
        free(review);
        free(variables);
        free(now);
    }
}

// GitHub knows no permission of a program that reviews.
TEST(who_cannot_be_judged_stops_an_approval_and_is_named)
{
    char *now = xprintf("%s\n", head);
    char *reviews = xprintf("COMMENTED\tmaintainer\tMEMBER\t read %s \n"
                            "CHANGES_REQUESTED\tlint[bot]\tNONE\t\n",
                            head);
    helper_put(folder, "permission", "write\n");
    helper_put(folder, "permission.lint[bot]", "");
    helper_put(folder, "now", now);
    helper_put(folder, "reviews", reviews);
    assert_refused("FROM=them/kernels BY=maintainer", "lint[bot] requested changes, and GitHub");
    free(reviews);
    free(now);
}

TEST(who_forgets_a_variable_is_told_which)
{
    static const char *const names[] = {"REPOSITORY", "NUMBER", "BY", "HEAD", "FROM"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        for (int empty = 0; empty < 2; empty++) {
            char *said = xprintf("ci/approve was not told %s;", names[i]);
            char *without = xprintf("export FROM=a BY=b\n%s %s%s\n%s", empty ? "export" : "unset",
                                    names[i], empty ? "=" : "", flow.runs[APPROVE]);
            helper_put(folder, "log", "");
            assert_int_equal(run_script(without, ""), 1);
            assert_true(says("log", said));
            free(without);
            free(said);
        }
    }
}

// ---- the runner's own word

static int hook(const char *event, const char *reference)
{
    char *command =
        xprintf("sed 's|OWNER/REPOSITORY|us/kernels|' '%s/.github/job-started.sh' >hook.sh"
                " && GITHUB_EVENT_NAME=%s GITHUB_WORKFLOW_REF=us/%s sh hook.sh",
                TEST_SOURCE, event, reference);
    const int code = shell(folder, command);
    free(command);
    return code;
}

TEST(a_runner_takes_no_workflow_of_a_pull_request)
{
#define FILES "kernels/.github/workflows/"
    assert_int_equal(hook("pull_request_target", FILES "gpu.yml@refs/heads/main"), 0);
    assert_int_equal(hook("schedule", FILES "nightly.yml@refs/heads/main"), 0);
    assert_int_equal(hook("issue_comment", FILES "asked.yml@refs/heads/main"), 0);
    assert_int_equal(hook("issue_comment", FILES "gpu.yml@refs/heads/main"), 1);
    assert_int_equal(hook("pull_request", FILES "gpu.yml@refs/pull/7/merge"), 1);
    assert_int_equal(hook("pull_request", FILES "gpu.yml@refs/heads/main"), 1);
    assert_int_equal(hook("pull_request_target", FILES "other.yml@refs/heads/main"), 1);
    assert_int_equal(hook("pull_request_target", FILES "gpu.yml@refs/heads/main2"), 1);
    assert_int_equal(hook("pull_request_target", FILES "gpu.yml@refs/tags/refs/heads/main"), 1);
    assert_int_equal(hook("schedule", FILES "gpu.yml@refs/heads/main"), 1);
    assert_int_equal(hook("push", FILES "gpu.yml@refs/heads/topic"), 1);
    assert_int_equal(hook("pull_request_target", "other/gpu.yml@refs/heads/main"), 1);
#undef FILES
}

// ---- both halves

static bool there_is_a_sandbox(void)
{
    return shell(folder, "bwrap --unshare-all --ro-bind / / --proc /proc true") == 0;
}

TEST(a_strangers_commit_goes_through_both_halves)
{
    const bool sandbox = there_is_a_sandbox();
    assert_int_equal(step(FETCH, ""), 0);
    assert_int_equal(step(GATE, ""), sandbox ? 0 : 4);
    assert_int_equal(shell(folder, "cd work && test \"$(git rev-parse HEAD)\" = "
                                   "\"$(git rev-parse origin/main)\""),
                     0); // nothing was checked out
    step(EXPORT, "");
    shell(folder, "rm -rf artifact; mkdir artifact; cp work/result.jsonl artifact/");
    helper_put(folder, "old", "");
    assert_int_equal(step(COMMENT, ""), 0);
    assert_true(says("changed", "--method POST repos/us/kernels/issues/7/comments"));
    assert_true(says("posted", sandbox ? "plumb: no regression" : "plumb: no verdict"));
    assert_true(says("posted", "https://example.org/run"));
    char *of = xprintf("Of commit `%.10s`.", head);
    assert_true(says("posted", of));
    free(of);
    assert_false(says("posted", "is not measured"));
    helper_put(folder, "now", ZEROS "\n"); // pushed while it was measured
    assert_int_equal(step(COMMENT, ""), 0);
    assert_true(says("posted", "**The newest commit, `0000000000`, is not measured.**"));
    assert_int_equal(shell(folder, "[ -e work/report/index.html ]") == 0, sandbox);
    assert_int_equal(step(SUMMARY, ""), 0);
    if (sandbox)
        assert_true(says("work/summary", "no regression"));
}

// Whatever the first half left: one comment, on the pull request that GitHub named, updated in
// place.
TEST(hostile_results_become_one_comment)
{
    static const char *const makes[] = {
        "true",
        "mkdir artifact && ln -s /etc/passwd artifact/result.jsonl",
        "mkdir artifact && mkfifo artifact/result.jsonl",
        "mkdir -p artifact/result.jsonl/x",
        "mkdir artifact && head -c 70000000 /dev/zero >artifact/result.jsonl",
        "mkdir artifact && cp '" RECORD "' artifact/result.jsonl"}; // of another commit
    helper_put(folder, "old", "123\n");
    for (size_t i = 0; i < ARRAY_COUNT(makes); i++) {
        assert_int_equal(shell(folder, "rm -rf artifact work/result work/comment.md work/report"),
                         0);
        assert_int_equal(shell(folder, makes[i]), 0);
        assert_int_equal(step(COMMENT, ""), 0);
        assert_true(says("changed", "--method PATCH repos/us/kernels/issues/comments/123"));
        if (!says("posted", "plumb: no verdict"))
            fail_msg("%s: a verdict", makes[i]);
        assert_int_equal(shell(folder, "[ ! -e work/report ]"), 0);
    }
    assert_int_equal(step(COMMENT, "HEAD=" RECORDED_HEAD), 0);
    assert_true(says("posted", "plumb: regression"));
    assert_true(says("work/report/summary.md", "plumb: regression"));
}

TEST(names_of_a_stranger_are_no_markup)
{
    helper_put(folder, "old", "");
    assert_int_equal(shell(folder, "rm -rf artifact work/result work/report && mkdir artifact && "
                                   "sed 's|tiled_fp32|</title><script>alert(1)</script>@all <!--|g'"
                                   " '" RECORD "' >artifact/result.jsonl"),
                     0);
    assert_int_equal(step(COMMENT, "HEAD=" RECORDED_HEAD), 0);
    assert_true(says("posted", "plumb: regression"));
    static const char *const files[] = {"posted", "work/report/index.html", "work/report/junit.xml",
                                        "work/report/summary.md", "work/report/comment.md"};
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        assert_false(says(files[i], "<script>alert"));
        assert_false(says(files[i], "@all <!--"));
    }
}

// ---- a comment that asks

static int ask(enum asked_step number, const char *comment, const char *by)
{
    char *variables = xprintf("ASKED='%s' BY=%s GITHUB_OUTPUT=output", comment, by);
    const int code = run_script(asked.runs[number], variables);
    free(variables);
    return code;
}

TEST(a_comment_is_held_as_the_label_is)
{
    static const char *const runs[] = {
        "sh ci/approve", "git fetch --no-tags", "sh ci/setup", "cmake --preset gpu",
        "printf",        "build/gpu/bin",       "sh ci/setup", "cmake --",
        "gh run",        "if [ \"$(wc"};
    workflow_steps(&asked, runs, ARRAY_COUNT(runs));
    assert_int_equal(ARRAY_COUNT(runs), ASKED_SUMMARY + 1);
    assert_true(workflow_grep("^  issue_comment:", "asked.yml"));
    assert_true(workflow_grep("types: \\[created\\]", "asked.yml")); // not what was edited since
    assert_true(workflow_grep("^permissions: \\{\\}", "asked.yml"));
    assert_false(workflow_grep("ref: |cache|secrets\\.|environment:", "asked.yml"));
    assert_false(workflow_grep("contents: write|write-all|id-token|actions: write", "asked.yml"));
    assert_false(workflow_grep("git (checkout|switch|merge|pull|worktree)", "asked.yml"));
    for (size_t i = 0; i < asked.run_count; i++)
        assert_null(strstr(asked.runs[i], "${{"));
}

TEST(who_may_write_may_ask_for_what_they_have_read)
{
    char *own = xprintf("%s\tus/kernels\t%s\n", head, base);
    char *fork = xprintf("%s\tthem/kernels\t%s\n", head, base);
    char *named = xprintf("/plumb gate kernel=simple head=%s", head);
    char *begun = xprintf("/plumb gate head=%.12s", head);
    char *few = xprintf("/plumb gate head=%.39s", head);
    char *twice = xprintf("/plumb gate head=%s head=0123456", head);
    char *halves = xprintf("/plumb gate head=%.20s head=%s", head, head + 20);
    char *said = xprintf("head=%s\nbase=%s\n", head, base);
    const struct {
        const char *permission, *pull, *comment, *why; // NULL: allowed
    } cases[] = {
        {"write\n", own, "/plumb gate", NULL},
        {"admin\n", own, named, NULL},
        {"admin\n", own, begun, NULL},
        {"write\n", fork, named, NULL},
        {"write\n", fork, "/plumb gate", "of a fork the comment must name the commit"},
        {"write\n", fork, few, "of a fork the comment must name"},
        {"write\n", fork, halves, "the newest commit is another one"},
        {"write\n", fork, twice, "the newest commit is another one"},
        {"write\n", own, "/plumb gate head=0123456", "the newest commit is another one"},
        {"write\n", own, "/plumb gate HEAD=0123456", "the newest commit is another one"},
        {"write\n", own, "/plumb gate head=*", "the newest commit is another one"},
        {"write\n", fork, "/plumb gate head=0123456789ab", "the newest commit is another one"},
        {"write\n", own, "/plumb gate head=0123456789ab", "the newest commit is another one"},
        {"read\n", own, "/plumb gate", "somebody may not write to this repository"},
        {"triage\n", fork, named, "somebody may not write to this repository"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        helper_put(folder, "permission", cases[i].permission);
        helper_put(folder, "now", cases[i].pull);
        helper_put(folder, "log", "");
        helper_put(folder, "work/output", "");
        const int code = ask(ASKED_APPROVE, cases[i].comment, "somebody");
        if (code != (cases[i].why != NULL) || (cases[i].why && !says("log", cases[i].why)))
            fail_msg("case %zu: %d", i, code);
        assert_int_equal(says("work/output", said), cases[i].why == NULL);
    }
    free(said);
    free(named);
    free(begun);
    free(few);
    free(twice);
    free(halves);
    free(fork);
    free(own);
}

TEST(what_is_asked_for_is_measured_and_answered)
{
    const bool sandbox = there_is_a_sandbox();
    char *now = xprintf("%s\n", head);
    helper_put(folder, "now", now);
    helper_put(folder, "old", "123\n");
    assert_int_equal(step(FETCH, ""), 0);
    assert_int_equal(ask(ASKED_GATE, "/plumb gate kernel=simple problem=96*", "somebody"),
                     sandbox ? 0 : 4);
    ask(ASKED_EXPORT, "/plumb gate", "somebody");
    shell(folder, "rm -rf artifact; mkdir artifact; cp work/result.jsonl artifact/");
    assert_int_equal(ask(ASKED_COMMENT, "/plumb gate kernel=simple problem=96*", "somebody"), 0);
    assert_true(says("changed", "--method PATCH repos/us/kernels/issues/comments/123"));
    assert_true(says("posted", sandbox ? "plumb: no regression" : "plumb: no verdict"));
    assert_true(says("posted", "Asked for: `/plumb gate kernel=simple problem=96*`."));
    // What cannot be asked for is answered too, and nothing of it is run or repeated.
    static const char hostile[] = "/plumb gate kernel=$(touch pwned)`touch pwned`@all";
    assert_int_equal(ask(ASKED_GATE, hostile, "somebody"), 4);
    assert_int_equal(ask(ASKED_COMMENT, hostile, "somebody"), 0);
    assert_true(says("posted", "What was asked for cannot be: word 3: kernel= is a pattern"));
    assert_false(says("posted", "pwned"));
    assert_int_equal(shell(folder, "[ ! -e work/pwned ]"), 0);
    free(now);
}
