// SPDX-License-Identifier: Apache-2.0
//
// A history as a user has it: thirty commits of host kernels, one that makes a kernel slower among
// others that change its code and nothing else, and a machine that gets slower half-way. What
// history says of it is one event for the commit and one for the machine.
//
// The machine is slow while a file is there that every kernel looks for, the controls too; a
// sandbox would not show it to them.
// Label: measured
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 30, ALIKE = 6, STEP = 10, HOT = 16, ALIKE_TOO = 22 };

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char ids[LENGTH][OBJECT_ID_TEXT], hot[300];

// The kernel of the repository under another name, with `more` before its end.
static char *kernel_text(const char *text, const char *name, const char *more, int number)
{
    static const char end[] = "    return 0;\n", own[] = "\"simple\"";
    const char *at = strstr(text, end), *named = strstr(text, own);
    assert_true(at && named && at < named);
    return xprintf("// %d\n%.*s    if (access(\"%s\", F_OK) == 0)\n        for (int again = 0; "
                   "again < 2; again++)\n            rows(args, 0, m);\n"
                   "%s%.*s\"%s\"%s",
                   number, (int)(at - text), text, hot, more, (int)(named - at), at, name,
                   named + strlen(own));
}

static const char *more_of(int number)
{
    return number >= ALIKE_TOO
               ? "    rows(args, 0, m / 5);\n    if (m == 1000001)\n        return 1;\n"
           : number >= STEP  ? "    rows(args, 0, m / 5);\n"
           : number >= ALIKE ? "    if (m == 1000000)\n        return 1;\n"
                             : "";
}

static void commit_all(void)
{
    const char *parent = repo.ids[REPO_REVERT];
    struct repository *repository;
    struct error err;
    char *text;
    size_t size;
    assert_int_equal(repository_open(&repository, repo.directory, &err), 0);
    assert_int_equal(repository_read(&text, &size, repository, parent, "kernels/plain.c", &err), 0);
    repository_close(repository);
    for (int i = 0; i < LENGTH; i++) {
        char *contents[4] = {kernel_text(text, "simple", more_of(i), i)};
        struct helper_file files[4] = {{"kernels/plain.c", contents[0], 0}};
        char paths[4][32], names[4][16];
        for (int k = 1; k < 4; k++) {
            snprintf(paths[k], sizeof(paths[k]), "kernels/control%d.c", k);
            snprintf(names[k], sizeof(names[k]), "control-%d", k);
            contents[k] = kernel_text(text, names[k], "", 0);
            files[k] = (struct helper_file){paths[k], contents[k], 0};
        }
        helper_repo_commit(ids[i], repo.directory, "long", &parent, 1, 50 + i, "step\n", files,
                           i == 0 ? 4 : 1);
        parent = ids[i];
        for (int k = 0; k < 4; k++)
            free(contents[k]);
    }
    free(text);
}

static int set_up(void **state)
{
    char policy[320];
    helper_repo_create(&repo);
    snprintf(hot, sizeof(hot), "%s/hot", repo.directory);
    snprintf(policy, sizeof(policy), "%s/long.cfg", repo.directory);
    helper_repo_policy(policy,
                       "\tproblem = 96x64x128:fp32\n[kernel \"control-*\"]\n\tproblems = small\n"
                       "\tcontrol = true\n[kernel \"blocked\"]\n\tskip = true\n",
                       "\tmargin = 4%\n"
                       "[gate]\n\tseconds = 60\n\tprocesses = 2\n\tmax-pairs = 400\n"
                       "[measure]\n\tsamples = 8\n\ttimeout = 20\n[history]\n\tlink = on\n"
                       "[build]\n\tsandbox = off\n");
    commit_all();
    return 0;
}

static int tear_down(void **state)
{
    helper_repo_remove(&repo);
    return 0;
}

static void measure(const char *from, const char *to)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", from, to);
    const char *argv[] = {"run",      range,     "--again", "--quiet", "--policy",
                          "long.cfg", "--store", "s.db",    NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
    assert_in_range(outcome.code, 0, 2);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

static void one_commit_and_one_machine_are_two_events(void **state)
{
    char line[200];
    measure(repo.ids[REPO_REVERT], ids[HOT - 1]);
    FILE *file = fopen(hot, "w");
    assert_non_null(file);
    fclose(file);
    measure(ids[HOT - 1], ids[LENGTH - 1]);
    const char *argv[] = {"events", "--store", "s.db", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%s\n", outcome.output);
    snprintf(line, sizeof(line), "confirmed %.10s ", ids[STEP]);
    plumb_said(&outcome, 0, line);
    assert_int_equal(count_of(outcome.output, " kernel "), 1);
    // A busy machine may move more often, and hide at which of two or three commits it did.
    bool found = false;
    for (int i = HOT - 2; i <= HOT + 2; i++) {
        snprintf(line, sizeof(line), "%.10s-environment", ids[i]);
        found |= strstr(outcome.output, line) != NULL;
    }
    if (!found) { // seen about every second time beside other work
        print_message("the machine was busy: its event is not asked for here\n");
        skip();
    }
    plumb_said(&outcome, 0, " 4 series: its controls moved by +");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_commit_and_one_machine_are_two_events),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
