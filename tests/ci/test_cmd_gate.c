// SPDX-License-Identifier: Apache-2.0
//
// What the command says beside its verdict: of commits that do not follow each other, and of the
// head's own policy. One head renames the kernel, and its policy knows that; the base's, which
// builds both, does not. Another's policy has a key that is none, and one more has no policy.
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE, RENAMED, WRONG, MISSPELT, BARE, COMMENT, COMMITS };

static char *directory, *bench;
static char ids[COMMITS][OBJECT_ID_TEXT];
static struct plumb_outcome outcome;

static char *policy_of(const char *name)
{
    return xprintf("[build]\n\tsandbox = off\n\tinput = %s\n"
                   "\tcommand = \"cc -shared -fPIC -o \\\"$PLUMB_OUT/simple.so\\\" %s\"\n"
                   "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                   "[kernel \"*\"]\n\tproblems = p\n",
                   name, name);
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    static const char code[] = "const char takes[] = \"fake-time=1\";\n";
    char *before = policy_of("old.c"), *after = policy_of("new.c");
    const struct helper_file first[] = {{"old.c", code, 0}, {"ci/plumb.cfg", before, 0}};
    const struct helper_file second[] = {
        {"old.c", NULL, 0}, {"new.c", code, 0}, {"ci/plumb.cfg", after, 0}};
    const struct helper_file third[] = {{"old.c", "no C\n", 0}};
    const char *parent = ids[BASE];
    helper_repo_commit(ids[BASE], directory, "main", NULL, 0, 0, "one\n", first, 2);
    helper_repo_commit(ids[RENAMED], directory, "renamed", &parent, 1, 1, "two\n", second, 3);
    helper_repo_commit(ids[WRONG], directory, "wrong", &parent, 1, 2, "three\n", third, 1);
    char *misspelt = xprintf("%s\tproblms = p\n", before), *comment = xprintf("# p\n%s", before);
    const struct helper_file policies[] = {
        {"ci/plumb.cfg", misspelt, 0}, {"ci/plumb.cfg", NULL, 0}, {"ci/plumb.cfg", comment, 0}};
    for (int i = MISSPELT; i <= COMMENT; i++)
        helper_repo_commit(ids[i], directory,
                           i == MISSPELT ? "a"
                           : i == BARE   ? "b"
                                         : "c",
                           &parent, 1, i, "policy\n", &policies[i - MISSPELT], 1);
    free(misspelt);
    free(comment);
    free(before);
    free(after);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void gate_of(int base, int head, const char *option)
{
    const char *argv[] = {"gate",    "--base", ids[base],       "--head", ids[head],
                          "--bench", bench,    "--sandbox=off", option,   NULL};
    plumb_run(&outcome, directory, argv, 0);
}

static void gate(int head)
{
    gate_of(BASE, head, NULL);
}

TEST(a_head_that_the_bases_policy_cannot_build_is_told_whose_it_was)
{
    char *note = xprintf("plumb: %.10s changes ci/plumb.cfg, and was built by that of the base "
                         "%.10s: change the policy in a commit before",
                         ids[RENAMED], ids[BASE]);
    gate(RENAMED);
    plumb_said(&outcome, 3, note);
    plumb_said(&outcome, 3, "BROKEN: commit");
    free(note);
}

TEST(one_that_does_not_build_by_itself_is_not)
{
    gate(WRONG);
    plumb_said(&outcome, 3, "BROKEN: commit");
    assert_null(strstr(outcome.output, "changes ci/plumb.cfg"));
}

// It would end every gate after it.
TEST(a_head_whose_own_policy_cannot_be_read_is_told)
{
    char *note = xprintf("plumb: ci/plumb.cfg at %.10s:11: unknown key problms in [kernel]; "
                         "`plumb init --print` shows all keys; gates after it end with 4",
                         ids[MISSPELT]);
    gate(MISSPELT);
    plumb_said(&outcome, 0, note);
    gate(BARE);
    plumb_said(&outcome, 0, "removes ci/plumb.cfg: gates after it have no policy");
    free(note);
}

TEST(a_head_that_changes_the_policy_is_told_that_the_bases_counts)
{
    gate(COMMENT);
    plumb_said(&outcome, 0, "changes ci/plumb.cfg: this gate goes by that of the base");
    gate(BASE);
    assert_null(strstr(outcome.output, "ci/plumb.cfg"));
}

TEST(a_base_that_the_head_does_not_follow_is_told)
{
    char *note =
        xprintf("plumb: the base %.10s has commits that the head %.10s lacks, and what they "
                "made faster is called slower; --merge-base compares with %.10s",
                ids[COMMENT], ids[BARE], ids[BASE]);
    gate_of(COMMENT, BARE, NULL);
    plumb_said(&outcome, 0, note);
    gate_of(COMMENT, BARE, "--merge-base");
    assert_null(strstr(outcome.output, "lacks"));
    gate_of(COMMENT, BASE, NULL);
    plumb_said(&outcome, 0, "comes after the head");
    gate(COMMENT);
    assert_null(strstr(outcome.output, "comes after"));
    free(note);
}
