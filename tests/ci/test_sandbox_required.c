// SPDX-License-Identifier: Apache-2.0
//
// A gate of what may be a stranger's pull request needs a sandbox, unless somebody who may says
// otherwise. Where bubblewrap makes no namespaces; a dry run, which stops at the same place.
// Label: unsanitized
#include "ci/settings/context.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char *policy, *tools;

static const char refusal[] = " may be a stranger's pull request: bubblewrap does not work here";

static void write_policy(const char *sandbox)
{
    char *text = xprintf("[build]\n\tinput = kernels\n\tcommand = true\n%s[device \"host\"]\n"
                         "\tkind = host\n[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                         "[kernel \"*\"]\n\tproblems = p\n",
                         sandbox);
    helper_write_text(policy, text);
    free(text);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    tools = helper_directory();
    policy = xprintf("%s/p.cfg", tools);
    char *program = xprintf("%s/bwrap", tools);
    helper_write_text(program, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n");
    chmod(program, 0755);
    free(program);
    char *path = xprintf("%s:%s", tools, getenv("PATH"));
    setenv("PATH", path, 1);
    free(path);
    return 0;
}

AROUND_ALL(set_up, NULL);

// mode NULL: without --sandbox.
static void gate(enum helper_commit base, enum helper_commit head, const char *mode)
{
    const char *argv[] = {"gate",
                          "--dry-run",
                          "--policy",
                          policy,
                          "--base",
                          repo.ids[base],
                          "--head",
                          repo.ids[head],
                          mode ? "--sandbox" : NULL,
                          mode,
                          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

static void assert_refused(void)
{
    plumb_said(&outcome, 4, refusal);
    plumb_said(&outcome, 4, "bwrap: No permissions; install bubblewrap");
    plumb_said(&outcome, 4, "--sandbox=auto");
}

static void assert_goes_on(void)
{
    assert_null(strstr(outcome.output, refusal));
    plumb_said(&outcome, 0, "");
}

TEST(what_the_main_branch_does_not_have_needs_one)
{
    write_policy("");
    helper_remote(repo.directory, repo.ids[REPO_MERGE]);
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_refused();
}

// What is built decides, not the command.
TEST(other_commands_need_one_too)
{
    const char *slower = repo.ids[REPO_SLOWER], *base = repo.ids[REPO_MERGE];
    write_policy("");
    helper_remote(repo.directory, base);
    PLUMB_EXPECT(&outcome, repo.directory, 4, refusal, "run", "--policy", policy, slower);
    PLUMB_EXPECT(&outcome, repo.directory, 4, refusal, "run", "--dry-run", "--policy", policy,
                 slower);
    PLUMB_EXPECT(&outcome, repo.directory, 4, refusal, "list", "kernels", slower, "--policy",
                 policy);
    PLUMB_EXPECT(&outcome, repo.directory, 4, refusal, "study", "--policy", policy, "--base",
                 slower);
    helper_remote(repo.directory, repo.ids[REPO_START]); // the good commit comes first
    PLUMB_EXPECT(&outcome, repo.directory, 4, refusal, "bisect", "--policy", policy, "--series",
                 "k/8x8x8:fp32", "--good", base, "--bad", slower);
}

// What lies in a stranger's checkout may have been built of it, or came with it.
TEST(libraries_in_a_strangers_checkout_need_one_too)
{
    char *make = xprintf("cd '%s' && git checkout -q --detach %s && mkdir built", repo.directory,
                         repo.ids[REPO_SLOWER]);
    assert_int_equal(system(make), 0);
    free(make);
    char *built = xprintf("%s/built", repo.directory), *own = helper_directory();
    helper_remote(repo.directory, repo.ids[REPO_MERGE]);
    PLUMB_EXPECT(&outcome, tools, 4, refusal, "study", "--base", built, "--problem", "8x8x8:fp32");
    PLUMB_EXPECT(&outcome, tools, 4, refusal, "study", "--base", own, "--head", built, "--problem",
                 "8x8x8:fp32");
    PLUMB_EXPECT(&outcome, tools, 4, "no library there has a kernel", "study", "--base", built,
                 "--problem", "8x8x8:fp32", "--sandbox=auto");
    PLUMB_EXPECT(&outcome, tools, 4, "no library there has a kernel", "study", "--base", own,
                 "--problem", "8x8x8:fp32");
    make = xprintf("rmdir '%s' && cd '%s' && git checkout -q -f main", built, repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
    free(own);
    free(built);
}

// init tries what it finds; where it may not, it writes what it found and says what was not tried.
TEST(init_builds_nothing_of_a_strangers)
{
    static const char kernel[] = "void gemm(const float *a, const float *b, float *c, int m, int "
                                 "n, int k) { for (int i = 0; i < m * n * k; i++) c[0] += a[0] * "
                                 "b[0]; }\n";
    char *path = xprintf("%s/gemm.c", repo.directory);
    char *make =
        xprintf("cd '%s' && git checkout -q --detach %s", repo.directory, repo.ids[REPO_SLOWER]);
    char *commit = xprintf("cd '%s' && git add gemm.c && git -c user.name=A -c user.email=a@b "
                           "commit -q -m more",
                           repo.directory);
    assert_int_equal(system(make), 0);
    helper_write_text(path, kernel);
    assert_int_equal(system(commit), 0);
    helper_remote(repo.directory, repo.ids[REPO_SLOWER]);
    PLUMB_EXPECT(&outcome, repo.directory, 0, refusal, "init");
    plumb_said(&outcome, 0, "Not all was tried");
    free(commit);
    free(make);
    make = xprintf("cd '%s' && rm -rf ci && git checkout -q -f main", repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
    free(path);
}

// A commit that the main branch has, built by the command of a policy that it does not have.
TEST(policy_that_the_main_branch_does_not_have_needs_one)
{
    static const char said[] = ", which says what is run, may be a stranger's pull request";
    const char *slower = repo.ids[REPO_SLOWER], *base = repo.ids[REPO_MERGE];
    char *path = xprintf("%s/ci/plumb.cfg", repo.directory), *kept = policy;
    char *make =
        xprintf("cd '%s' && mkdir -p ci && git checkout -q --detach %s", repo.directory, base);
    assert_int_equal(system(make), 0);
    free(make);
    policy = path;
    write_policy("");
    helper_remote(repo.directory, slower);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "run", "--dry-run", base);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "list", "kernels", base);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "bisect", "--series", "k/8x8x8:fp32", "--good",
                 base, "--bad", slower);
    PLUMB_EXPECT(&outcome, repo.directory, 0, "", "run", "--dry-run", "--policy", path, base);
    policy = kept;
    free(path);
    make = xprintf("cd '%s' && rm -r ci && git checkout -q main", repo.directory);
    assert_int_equal(system(make), 0);
    free(make);
}

// A library, or a program, of a checkout: no commit says what was built there.
TEST(what_was_built_in_a_checkout_needs_one)
{
    need_capture();
    static const char said[] = "may be a stranger's pull request: bubblewrap does not work here";
    char *library = xprintf("%s/theirs.so", repo.directory);
    char *leave =
        xprintf("cd '%s' && git checkout -q --detach %s", repo.directory, repo.ids[REPO_SLOWER]);
    assert_int_equal(system(leave), 0);
    free(leave);
    helper_write_text(library, "x");
    helper_remote(repo.directory, repo.ids[REPO_MERGE]); // which is not what is checked out
    PLUMB_EXPECT(&outcome, tools, 4, said, "record", "make", library, "--kernel", "k", "--problem",
                 "8x8x8:bf16", "--output", "k.record");
    PLUMB_EXPECT(&outcome, tools, 4, said, "select", "8x8x8:fp32", "--trial", library);
    PLUMB_EXPECT(&outcome, tools, 4, said, "capture", "--", "sh", library);
    PLUMB_EXPECT(&outcome, repo.directory, 4, said, "capture", "--", "true");
    PLUMB_EXPECT(&outcome, tools, 0, "exit code 0", "capture", "--", "true");
    PLUMB_EXPECT(&outcome, repo.directory, 0, "exit code 0", "capture", "--sandbox", "auto", "--",
                 "true");
    helper_remote(repo.directory, repo.ids[REPO_SLOWER]);
    PLUMB_EXPECT(&outcome, repo.directory, 0, "exit code 0", "capture", "--", "true");
    remove(library);
    free(library);
}

TEST(checkout_of_what_is_run_is_said)
{
    struct sandbox sandbox;
    struct error err;
    char *checkout, *file = xprintf("%s/kernels", repo.directory);
    helper_remote(repo.directory, repo.ids[REPO_START]);
    assert_int_equal(context_sandbox_of(&sandbox, &checkout, file, "auto", &err), 0);
    assert_string_equal(checkout, repo.directory);
    assert_false(sandbox.active);
    free(checkout);
    assert_int_equal(context_sandbox_of(&sandbox, &checkout, file, NULL, &err), -1);
    assert_null(checkout);
    assert_int_equal(context_sandbox_of(&sandbox, &checkout, tools, NULL, &err), 0);
    assert_null(checkout);
    assert_int_equal(context_sandbox_of(&sandbox, &checkout, tools, "sometimes", &err), -1);
    assert_string_equal(err.text, "--sandbox=sometimes: is auto, require or off");
    free(file);
}

TEST(what_it_has_needs_none)
{
    write_policy("");
    helper_remote(repo.directory, repo.ids[REPO_SLOWER]);
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_goes_on();
    gate(REPO_START, REPO_TUNE, NULL);
    assert_goes_on();
}

TEST(its_owner_may_say_so)
{
    write_policy("");
    helper_remote(repo.directory, repo.ids[REPO_MERGE]);
    gate(REPO_MERGE, REPO_SLOWER, "auto");
    assert_goes_on();
    helper_configure(repo.directory, "plumb.trustCheckout", "true");
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_goes_on();
    helper_configure(repo.directory, "plumb.trustCheckout", "false");
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_refused();
    write_policy("\tsandbox = auto\n");
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_goes_on();
}

TEST(required_is_required_of_everyone)
{
    write_policy("\tsandbox = require\n");
    helper_remote(repo.directory, repo.ids[REPO_SLOWER]);
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    plumb_said(&outcome, 4, "no sandbox, but it is required: bubblewrap does not work here");
}

TEST(repository_without_a_remote_needs_none)
{
    write_policy("");
    gate(REPO_MERGE, REPO_SLOWER, NULL);
    assert_goes_on();
}

// The same three answers, without a command: whose commit, whose policy, and who says so.
TEST(commits_of_the_main_branch_are_no_strangers)
{
    const struct options options = {.sandbox = "sometimes"};
    struct context context = {.options = &options, .asked = SANDBOX_UNSAID};
    struct commit merge, slower;
    struct error err;
    helper_configure(repo.directory, "plumb.trustCheckout", "false");
    helper_remote(repo.directory, repo.ids[REPO_MERGE]);
    assert_int_equal(repository_open(&context.repository, repo.directory, &err), 0);
    assert_int_equal(
        repository_commit(&merge, context.repository, repo.ids[REPO_MERGE], &context.arena, &err),
        0);
    assert_int_equal(
        repository_commit(&slower, context.repository, repo.ids[REPO_SLOWER], &context.arena, &err),
        0);
    assert_false(context_strangers(&context, merge.id));
    assert_true(context_strangers(&context, slower.id));
    assert_int_equal(context_may_build(&context, &merge, &err), 0);
    assert_int_equal(context_may_build(&context, &slower, &err), -1);
    assert_memory_equal(err.text + strlen("no sandbox, and "), slower.id, 10);
    context.foreign = true; // the policy says what is run, also of a commit that is not theirs
    context.policy.label = "p.cfg";
    assert_int_equal(context_may_build(&context, &merge, &err), -1);
    assert_non_null(strstr(err.text, "p.cfg, which says what is run"));
    context.asked = SANDBOX_AUTO;
    assert_int_equal(context_may_build(&context, &slower, &err), 0);
    assert_int_equal(context_sandbox_probe(&context, &err), -1);
    assert_string_equal(err.text, "--sandbox=sometimes: is auto, require or off");
    const struct options off = {.sandbox = "off"};
    context.options = &off;
    context.policy.sandbox = SANDBOX_REQUIRE; // the option comes before it
    assert_int_equal(context_sandbox_probe(&context, &err), 0);
    assert_true(context.asked == SANDBOX_OFF && !context.sandbox.active);
    repository_close(context.repository);
    arena_free(&context.arena);
}
