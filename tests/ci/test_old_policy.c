// SPDX-License-Identifier: Apache-2.0
//
// A change chooses where it leaves the main branch, and so among all policies that this branch ever
// had. What is trusted is what its tip says: each of these policies was lax once and is strict now,
// and the change that leaves before that is 5 % slower, or has lost a kernel.
// Label: unsanitized
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_gate gate;
static char old[OBJECT_ID_TEXT], tip[OBJECT_ID_TEXT], change[OBJECT_ID_TEXT];

// `kernels` is what follows the problems and the device; `rest` the end.
static char *policy(const char *build, const char *kernels, const char *rest)
{
    return xprintf(
        "[build]\n\tinput = kernels\n\tcommand = \"echo given: $SECRET_OF_CI.; for f in "
        "\\\"$PLUMB_SOURCE\\\"/kernels/*.c; do cc -shared -fPIC -o \\\"$PLUMB_OUT/$(basename "
        "\\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; done; ! grep -q fails "
        "\\\"$PLUMB_SOURCE\\\"/kernels/*.c\"\n%s[device \"pair\"]\n\tkind = host\n"
        "[problems \"p\"]\n\tproblem = 4x4x4:fp32\n%s%s",
        build, kernels, rest);
}

static const char all[] = "[kernel \"*\"]\n\tproblems = p\n";

static void commit(char id[OBJECT_ID_TEXT], const char *parent, int time, const char *text,
                   const char *code, bool second)
{
    static const char other[] = "const char name[] = \"fake library other\";\n";
    char *slower = xprintf("%sconst char name[] = \"fake library slower\";\n", code);
    const struct helper_file files[] = {{"ci/plumb.cfg", text, 0},
                                        {"kernels/slower.c", slower, 0},
                                        {"kernels/other.c", second ? other : NULL, 0}};
    helper_repo_commit(id, gate.bench.directory, "work", &parent, parent ? 1 : 0, time, "x\n",
                       files, ARRAY_COUNT(files));
    free(slower);
}

// The remote's main branch has the old policy and then the new one; the change leaves after the
// old. Takes the texts.
static void history(char *before, char *now, const char *code, bool second)
{
    commit(old, NULL, 1, before, "int value = 1;\n", true);
    commit(tip, old, 2, now, "int value = 1;\n", true);
    commit(change, old, 3, before, code, second);
    helper_remote(gate.bench.directory, tip);
    free(before);
    free(now);
}

static void judge(int code, const char *said)
{
    PLUMB_EXPECT(&gate.outcome, gate.bench.directory, code, said, "gate", "--base", "origin/main",
                 "--head", change, "--merge-base", "--bench", gate.bench.program, "--store",
                 gate.store, "--sandbox", "auto");
}

static void set_up(void)
{
    fake_gate_make(&gate);
}

static void tear_down(void)
{
    fake_gate_remove(&gate);
}

TEST(lax_policy_of_then_passes_nothing)
{
    static const struct {
        const char *kernels, *rest;
    } lax[] = {
        {all, "[gate]\n\tmargin = 30%\n"},
        {"[kernel \"*\"]\n\tproblems = p\n\tmargin = 30%\n", ""},
        {"[kernel \"slower\"]\n\tskip = true\n[kernel \"*\"]\n\tproblems = p\n", ""},
        {"[kernel \"other\"]\n\tproblems = p\n", ""},
        {all, "[library \"slower*\"]\n\tskip = true\n"},
        {"[device \"away\"]\n\tkind = cuda\n\trequired = false\n"
         "[kernel \"*\"]\n\tproblems = p\n\tdevice = away\n",
         ""},
    };
    for (size_t i = 0; i < ARRAY_COUNT(lax); i++) {
        set_up();
        history(policy("", lax[i].kernels, lax[i].rest), policy("", all, ""), "int value = 2;\n",
                true);
        judge(1, "SLOWER: 1 slower");
        assert_non_null(strstr(gate.outcome.output, "and that of origin/main at"));
        assert_non_null(strstr(gate.outcome.output, "whichever is stricter"));
        tear_down();
    }
}

TEST(lax_removal_of_then_removes_nothing)
{
    set_up();
    history(policy("", all, "[gate]\n\tremoved = allow\n"), policy("", all, ""), "int value = 1;\n",
            false);
    judge(3, "other 4x4x4");
    tear_down();
}

// What the tip builds by now and the base did not is not built, and so nobody knows of it.
TEST(kernel_that_was_not_built_then_does_not_pass_unseen)
{
    for (int touched = 0; touched < 2; touched++) {
        set_up();
        history(policy("\toutput = other.so\n", all, ""), policy("", all, ""),
                touched ? "int value = 2;\n" : "int value = 1;\n", true);
        judge(touched ? 2 : 0,
              touched ? "UNJUDGED: origin/main builds otherwise by now; merge it" : "OK");
        tear_down();
    }
}

TEST(variable_of_then_is_not_passed)
{
    set_up();
    history(policy("\tpass = SECRET_OF_CI\n", all, ""), policy("", all, ""), "int fails = 1;\n",
            true);
    judge(3, "given: .");
    assert_null(strstr(gate.outcome.output, "hunter2"));
    tear_down();
}

TEST(what_was_stricter_then_counts_too)
{
    set_up();
    history(policy("", all, ""), policy("", all, "[gate]\n\tmargin = 30%\n"), "int value = 2;\n",
            true);
    judge(0, "OK"); // margins are the tip's, unless the base's are smaller whatever is measured
    tear_down();
    set_up();
    history(policy("", all, "[gate]\n\tmargin = 0.1%\n"),
            policy("", all, "[gate]\n\tmargin = 30%\n"), "int value = 2;\n", true);
    judge(1, "SLOWER");
    tear_down();
    set_up();
    history(policy("", all, ""),
            policy("", "[kernel \"slower\"]\n\tskip = true\n[kernel \"*\"]\n\tproblems = p\n", ""),
            "int value = 2;\n", true);
    judge(1, "SLOWER");
    tear_down();
}

// The line that the change brings is its own word.
TEST(change_of_a_stranger_accepts_nothing_of_its_own)
{
    set_up();
    char *text = policy("", all, "");
    commit(old, NULL, 1, text, "int value = 1;\n", true);
    commit(change, old, 3, text, "int value = 2;\n", true);
    helper_remote(gate.bench.directory, old);
    free(text);
    char *line = xprintf("cd '%s' && git checkout -q -f work && '%s' accept slower --level +30%% "
                         "--reason meant --who me >/dev/null && git add -A baselines && "
                         "git -c user.name=t -c user.email=t@example.org commit -qm accepts",
                         gate.bench.directory, TEST_BIN "/plumb");
    const int made = system(line);
    free(line);
    assert_int_equal(made, 0);
    snprintf(change, sizeof(change), "work");
    judge(1, "SLOWER");
    helper_configure(gate.bench.directory, "plumb.trustCheckout", "true");
    judge(0, "accepted in this change");
    tear_down();
}

// Its branch has the slow commit on one side, and on the other, from which its head goes on, a line
// that names it.
TEST(merge_of_a_stranger_accepts_nothing_of_its_own)
{
    set_up();
    char *text = policy("", all, "");
    commit(old, NULL, 1, text, "int value = 1;\n", true);
    commit(change, old, 3, text, "int value = 2;\n", true);
    helper_remote(gate.bench.directory, old);
    free(text);
    char *line = xprintf("cd '%s' && git checkout -q -f --detach %s && '%s' accept slower --level "
                         "+30%% --reason meant --who me >/dev/null && sed -i 's/^commit.*/commit = "
                         "%s/' baselines/epochs.txt && git add -A baselines && export "
                         "GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=t "
                         "GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=t@example.org && "
                         "git commit -qm accepts && git merge -q --no-edit %s && git branch -f "
                         "merged",
                         gate.bench.directory, old, TEST_BIN "/plumb", change, change);
    const int made = system(line);
    free(line);
    assert_int_equal(made, 0);
    PLUMB_EXPECT(&gate.outcome, gate.bench.directory, 1, "SLOWER", "gate", "--base", "merged^1",
                 "--head", "merged", "--bench", gate.bench.program, "--store", gate.store,
                 "--sandbox", "auto");
    tear_down();
}

// Else a change could choose among those that it had before.
TEST(branch_whose_policy_cannot_be_read_judges_by_no_older_one)
{
    static const struct {
        const char *now, *said; // NULL: none
    } tips[] = {
        {"[gate]\n\tnewer = 1\n", "which says what is trusted: mend it there"},
        {NULL, "origin/main, which had it, has no policy any more"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(tips); i++) {
        set_up();
        char *now = tips[i].now ? policy("", all, tips[i].now) : NULL;
        history(policy("", all, "[gate]\n\tmargin = 30%\n"), now, "int value = 2;\n", true);
        judge(4, tips[i].said);
        tear_down();
    }
}

int main(void)
{
    setenv("SECRET_OF_CI", "hunter2", 1);
    return test_main();
}
