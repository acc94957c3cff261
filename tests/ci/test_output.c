// SPDX-License-Identifier: Apache-2.0
//
// What a gate leaves behind: its reports where they were asked for, and its verdict in any case.
// Label: measured
// Label: unsanitized
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_policy(repo.policy, "\tproblem = 8x8x8:fp32\n", "[gate]\n\tself-test = 0\n");
    helper_repo_know_host(&repo, "made.db");
    return 0;
}

AROUND_ALL(set_up, NULL);

// Of identical code: no verdict depends on the machine's mood.
static void gate_to(const char *out, const char *store)
{
    const char *argv[] = {"gate", "--policy", repo.policy, "--base",  "HEAD", "--head",
                          "HEAD", "--out",    out,         "--store", store,  NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

TEST(folder_of_reports_is_made_or_refused_before_anything_is_measured)
{
    char *file = xprintf("%s/a/b/c/junit.xml", repo.directory);
    char *store = xprintf("%s/refused.db", repo.directory);
    gate_to("a/b/c/", "made.db");
    plumb_said(&outcome, 0, "OK");
    assert_int_equal(access(file, R_OK), 0);
    gate_to("a/b/c/junit.xml/reports", "refused.db");
    plumb_said(&outcome, 4, "choose another folder with --out");
    assert_int_not_equal(access(store, F_OK), 0);
    free(file);
    free(store);
}

// What a terminal gets, with this in the environment. Caller frees.
static char *on_a_terminal(const char *environment)
{
    char *command = xprintf("cd '%s' && %s script -qec \"'" TEST_BIN "/plumb' gate --policy '%s' "
                            "--base HEAD --head HEAD --out o --store made.db --quiet\" /dev/null "
                            "</dev/null >said 2>&1",
                            repo.directory, environment, repo.policy);
    char *path = xprintf("%s/said", repo.directory);
    assert_int_not_equal(system(command), -1);
    char *said = helper_read(path, NULL);
    free(command);
    free(path);
    return said;
}

TEST(a_terminal_has_colours_unless_it_asks_for_none)
{
    if (system("command -v script >/dev/null")) {
        skip_without("script", "there is no script(1)");
    }
    static const struct {
        const char *environment;
        bool colours;
    } cases[] = {{"TERM=xterm", true},
                 {"TERM=xterm NO_COLOR=1", false},
                 {"TERM=xterm NO_COLOR=", true},
                 {"TERM=dumb", false}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char *said = on_a_terminal(cases[i].environment);
        assert_non_null(strstr(said, "OK"));
        if ((strstr(said, "\033[1;32mOK\033[0m: ") != NULL) != cases[i].colours ||
            (strchr(said, '\033') != NULL) != cases[i].colours)
            fail_msg("%s: %s", cases[i].environment, said);
        free(said);
    }
    gate_to("o", "made.db"); // a pipe is no terminal
    assert_null(strchr(outcome.output, '\033'));
}

TEST(verdict_is_told_when_a_report_cannot_be_written)
{
    char *command = xprintf("mkdir -p '%s/taken/index.html/x'", repo.directory);
    assert_int_equal(system(command), 0);
    gate_to("taken", "made.db");
    plumb_said(&outcome, 4, "OK: ");
    plumb_said(&outcome, 4, "index.html: cannot be written");
    const char *verdict = strstr(outcome.output, "OK: "); // the last line is of what ended it
    assert_non_null(strstr(verdict, "\nFAILED: "));
    free(command);
}

// No tool has run, so there is no log to look at.
TEST(commit_without_an_input_names_no_log)
{
    char *path = xprintf("%s/missing.cfg", repo.directory);
    helper_write_text(path, "[build]\n\tinput = nowhere\n\tcommand = true\n"
                            "[device \"host\"]\n\tkind = host\n"
                            "[problems \"p\"]\n\tproblem = 8x8x8:fp32\n"
                            "[kernel \"*\"]\n\tproblems = p\n");
    const char *argv[] = {"gate", "--policy", path, "--base", "HEAD", "--head", "HEAD", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 3, "'nowhere' is not in it");
    assert_null(strstr(outcome.output, "log: "));
    free(path);
}
