// SPDX-License-Identifier: Apache-2.0
//
// What a person sees while work goes on: the line at any width, the share that is done, how long
// the rest takes when some series are long, and a real run on a terminal of 40 columns.
#include "ci/settings/progress.h"
#include "model/result.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(line_is_cut_to_the_width_between_characters)
{
    static const struct {
        size_t columns;
        const char *what, *expected;
    } lines[] = {
        {0, "simple 64x64x64:fp32", "plumb: 40 %, 12 s left: simple 64x64x64:fp32"},
        {44, "simple 64x64x64:fp32", "plumb: 40 %, 12 s left: simple 64x64x64:fp32"},
        {30, "simple 64x64x64:fp32", "plumb: 40 %, 12 s left: simple"},
        {26, "\xc3\xa4\xc3\xb6\xc3\xbc", "plumb: 40 %, 12 s left: \xc3\xa4\xc3\xb6"},
        {3, "simple", "plu"},
        {0, "evil\x1b[2J\r\nname", "plumb: 40 %, 12 s left: evil name"},
    };
    const struct progress progress = {.left_s = 12, .share = 0.4};
    for (size_t i = 0; i < ARRAY_COUNT(lines); i++) {
        char line[256];
        const size_t columns =
            progress_line(line, sizeof(line), &progress, lines[i].columns, lines[i].what);
        assert_string_equal(line, lines[i].expected);
        assert_true(lines[i].columns == 0 || columns <= lines[i].columns);
    }
}

TEST(time_left_is_in_the_unit_that_suits_it)
{
    static const struct {
        double left_s;
        const char *says;
    } times[] = {{NAN, "plumb: x"},
                 {0.2, "plumb: 50 %, 1 s left: x"},
                 {99, "plumb: 50 %, 99 s left: x"},
                 {601, "plumb: 50 %, 11 min left: x"},
                 {9000, "plumb: 50 %, 2.5 h left: x"}};
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        char line[128];
        const struct progress progress = {.left_s = times[i].left_s, .share = 0.5};
        progress_line(line, sizeof(line), &progress, 0, "x");
        assert_string_equal(line, times[i].says);
    }
}

TEST(share_is_of_expected_time)
{
    struct progress progress;
    progress_init(&progress, true);
    progress.started_s -= 30;
    progress_left(&progress, 10);
    assert_true(fabs(progress.share - 0.75) < 0.01);
    progress_left(&progress, 90); // it takes longer than was thought: the time left says so
    assert_true(fabs(progress.share - 0.75) < 0.01 && progress.left_s == 90);
    progress_begin(&progress); // of other work
    assert_true(progress.share < 0.01);
    progress_left(&progress, NAN);
    assert_true(isnan(progress.left_s));
}

// What a step says may be dear to work out, so it is asked first whether the step would be shown.
TEST(a_step_is_due_once_a_second_and_never_where_nobody_looks)
{
    struct progress progress;
    progress_init(&progress, true);
    assert_false(progress_due(&progress));
    progress_init(&progress, false); // the first is due at once
    assert_true(progress_due(&progress));
    progress_step(&progress, "step");
    assert_false(progress_due(&progress));
    progress.shown_s -= 2;
    assert_true(progress_due(&progress));
}

// After four short series and a middle one, what a long one takes is known within a tenth. The mean
// of the series done says 0.3 s of its 10.2.
TEST(rest_is_known_when_some_series_are_long)
{
    struct pace pace = {0};
    assert_true(isnan(pace_expect(&pace, 1)));
    const double fixed_s = 0.2, launches = 50;
    static const double done[] = {1e-4, 2e-4, 1e-4, 3e-4, 1e-2};
    for (size_t i = 0; i < ARRAY_COUNT(done); i++)
        pace_add(&pace, done[i], fixed_s + launches * done[i]);
    assert_true(fabs(pace_expect(&pace, 0.2) - 10.2) < 1);
    assert_true(fabs(pace_expect(&pace, 1e-4) - 0.205) < 0.02);
}

TEST(one_series_says_what_longer_ones_take_at_least)
{
    struct pace pace = {0};
    pace_add(&pace, 1e-3, 0.5);
    assert_true(pace_expect(&pace, 1e-3) == 0.5);
    assert_true(pace_expect(&pace, 4e-3) == 2);
    assert_true(pace_expect(&pace, 1e-6) == 0.5);
}

// Everything that the program writes on a terminal of so many columns.
static char *on_terminal(const char *directory, const char *const *argv, unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    char *text = NULL;
    size_t used = 0, room = 0;
    int terminal, status;
    pid_t pid = forkpty(&terminal, NULL, NULL, &size);
    assert_true(pid >= 0);
    if (pid == 0) {
        if (chdir(directory) == 0)
            execv(TEST_BIN "/plumb", (char *const *)(uintptr_t)argv);
        _exit(99);
    }
    for (char c; read(terminal, &c, 1) == 1;) {
        text = xgrow(text, used, &room, 1);
        text[used++] = c;
    }
    close(terminal);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    // A loaded machine may leave a series undecided.
    assert_true(WIFEXITED(status) &&
                (WEXITSTATUS(status) == CONCLUDE_OK || WEXITSTATUS(status) == CONCLUDE_UNDECIDED));
    text = xrealloc(text, used + 1, 1);
    text[used] = '\0';
    return text;
}

TEST(gate_keeps_to_one_line_of_40_columns)
{
    struct helper_repo repo;
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    char *policy = xprintf("%s/policy.cfg", repo.directory);
    helper_repo_policy(policy, "\tproblem = 96x64x128:fp32\n\tproblem = 65x33x257:fp32\n",
                       "\tmargin = 50%\n[gate]\n\tself-test = 1\n");
    const char *argv[] = {
        "plumb",    "gate", "--base", repo.ids[REPO_START], "--head", repo.ids[REPO_COMMENT],
        "--policy", policy, NULL};
    for (int round = 0; round < 2; round++) {
        char *text = on_terminal(repo.directory, argv, 40);
        size_t steps = 0;
        // What is rewritten ends with a carriage return, what stays with one and a line's end.
        for (char *part = text, *end; (end = strchr(part, '\r')); part = end + 1) {
            *end = '\0';
            if (strncmp(part, "plumb: ", 7) || end[1] == '\n')
                continue;
            steps++;
            if (strlen(part) > 39)
                fail_msg("%zu columns: %s", strlen(part), part);
            assert_true(round == 0 || !strstr(part, "building"));
        }
        assert_true(steps > 0);
        free(text);
    }
    free(policy);
    helper_repo_remove(&repo);
}
