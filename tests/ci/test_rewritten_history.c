// SPDX-License-Identifier: Apache-2.0
//
// A branch that was written anew after its commits were measured: the same codes come with other
// commits, and some of them with a tree that is known, which nobody measures again. What history
// says then is of the code that is there now, and of no commit that the new branch does not have.
//
// Builds, links, store and program are real. The times are told (tests/helpers/told_time.h), so
// that the machine that runs the test has no part in them.
#include "model/buffer.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST, SLOWER, OTHER, REVERT, SLOWER_ANEW, OTHER_ANEW, REVERT_ANEW, LAST_ANEW, COMMITS };

// Of each: its parent, how long the two kernels take, and what is written beside them.
static const struct {
    int parent;
    const char *simple, *other, *notes;
} made[COMMITS] = {
    [FIRST] = {-1, "1", "1", "one"},
    [SLOWER] = {FIRST, "1.2", "1", "one"},
    [OTHER] = {SLOWER, "1.2", "0.8", "one"},
    [REVERT] = {OTHER, "1", "0.8", "one"},
    [SLOWER_ANEW] = {FIRST, "1.20", "1", "two"},       // amended: another code
    [OTHER_ANEW] = {SLOWER_ANEW, "1.2", "0.8", "one"}, // trees of OTHER and REVERT
    [REVERT_ANEW] = {OTHER_ANEW, "1", "0.8", "one"},
    [LAST_ANEW] = {REVERT_ANEW, "1", "0.80", "one"}, // the same time by another code
};

static char *directory, *bench;
static char ids[COMMITS][OBJECT_ID_TEXT];
static struct plumb_outcome outcome;

static void commit(int i)
{
    char *simple = xprintf("const char takes[] = \"fake-time=%s\";\n", made[i].simple);
    char *other = xprintf("const char takes[] = \"other fake-time=%s\";\n", made[i].other);
    const struct helper_file files[] = {{"kernels/simple.c", simple, 0},
                                        {"kernels/other.c", other, 0},
                                        {"notes", made[i].notes, 0}};
    const char *parent = i ? ids[made[i].parent] : NULL;
    helper_repo_commit(ids[i], directory, "main", &parent, i > 0, i, "step\n", files,
                       ARRAY_COUNT(files));
    free(simple);
    free(other);
}

// Every process finds the machine a little faster or slower than the last.
static void write_load(void)
{
    struct buffer text = {0};
    char *path = xprintf("%s.load", bench);
    for (int i = 0; i < 400; i++)
        buffer_puts(&text, i % 3 == 0 ? "0.01\n" : i % 3 == 1 ? "-0.01\n" : "0\n");
    helper_write_text(path, text.bytes);
    buffer_free(&text);
    free(path);
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    char *policy = xprintf("%s/linked.cfg", directory);
    helper_write_text(
        policy, "[build]\n\tsandbox = off\n\tinput = kernels\n"
                "\tcommand = \"for f in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do cc -shared -fPIC -o "
                "\\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; done\"\n"
                "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                "[kernel \"*\"]\n\tproblems = p\n\tmargin = 4%\n[gate]\n\tprocesses = 2\n"
                "[measure]\n\tsamples = 8\n[history]\n\tlink = on\n");
    free(policy);
    write_load();
    return 0;
}

AROUND_ALL(set_up, NULL);

static void plumb(const char *const *words)
{
    const char *argv[16] = {NULL};
    size_t count = 0;
    for (; words[count]; count++)
        argv[count] = words[count];
    argv[count++] = "--store";
    argv[count] = "s.db";
    plumb_run(&outcome, directory, argv, 0);
    print_message("%s\n", outcome.output);
}

static void measure(int from, int to)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", ids[from], ids[to]);
    plumb((const char *[]){"run", range, "--first-parent", "--quiet", "--policy", "linked.cfg",
                           "--bench", bench, NULL});
    plumb((const char *[]){"run", "--controls", ids[to], "--quiet", "--policy", "linked.cfg",
                           "--bench", bench, NULL});
}

static void expect_event(int commit, const char *state, const char *what)
{
    char *line = xprintf("%-9s %.10s ", state, ids[commit]);
    const char *at = strstr(outcome.output, line);
    const char *end = at ? strchr(at, '\n') : NULL, *there = at ? strstr(at, what) : NULL;
    if (!end || !there || there > end)
        fail_msg("no '%s' with '%s':\n%s", line, what, outcome.output);
    free(line);
}

TEST(what_is_there_now_counts_after_a_branch_was_written_anew)
{
    for (int i = FIRST; i <= REVERT; i++)
        commit(i);
    plumb((const char *[]){"run", ids[FIRST], "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    measure(FIRST, REVERT);
    plumb((const char *[]){"events", NULL});
    expect_event(SLOWER, "fixed", "simple 4x4x4:fp32-fp32:tn:cold on");
    expect_event(OTHER, "confirmed", "other 4x4x4:fp32-fp32:tn:cold on");
    plumb((const char *[]){"events", "accept", ids[OTHER], "--who", "A", "-m", "meant", NULL});
    for (int i = SLOWER_ANEW; i < COMMITS; i++)
        commit(i);
    measure(FIRST, LAST_ANEW);
    plumb((const char *[]){"events", NULL});
    expect_event(SLOWER, "fixed", "simple");
    expect_event(SLOWER_ANEW, "fixed", "simple");
    expect_event(OTHER, "accepted", "other"); // and not what came to lie between by its date
    assert_null(strstr(outcome.output, " and 1 more"));
    plumb((const char *[]){"history", "--kernel", "simple", NULL});
    plumb_said(&outcome, 0, "  level +0.00 % (+0.00 .. +0.00) since ");
}

static int begin_anew(void **state)
{
    char *command = xprintf("cd '%s' && rm -rf s.db s.db-* baselines", directory);
    const int status = system(command);
    free(command);
    return status;
}

// A revert that is exact has a tree that was measured before.
TEST_WITH(an_exact_revert_is_told_by_the_run_that_ends_with_it, begin_anew, NULL)
{
    static const char *const show[] = {"events", NULL};
    char id[OBJECT_ID_TEXT];
    const char *parent = ids[FIRST];
    const struct helper_file back[] = {
        {"kernels/simple.c", "const char takes[] = \"fake-time=1\";\n", 0}};
    const char *run[] = {"run", id, "--quiet", "--policy", "linked.cfg", "--bench", bench, NULL};
    commit(FIRST);
    memcpy(id, ids[FIRST], sizeof(id));
    plumb(run);
    commit(SLOWER);
    memcpy(id, ids[SLOWER], sizeof(id));
    plumb(run);
    plumb(show);
    expect_event(SLOWER, "confirmed", "simple");
    parent = ids[SLOWER];
    helper_repo_commit(id, directory, "main", &parent, 1, REVERT, "back\n", back, 1);
    plumb(run);
    plumb(show);
    expect_event(SLOWER, "fixed", "simple");
    plumb(run);
    plumb_said(&outcome, 0, "nothing to do: 1 commit is measured already");
}

// Of four commits the third makes a kernel slower and the last another one faster; the last is
// measured first, and the night fills the gap. What was one change stays one, and what no commit
// between did is the last one's.
TEST_WITH(a_gap_that_is_filled_has_one_change, begin_anew, NULL)
{
    static const char *const codes[] = {"1", "1.0", "1.2", "1.2"},
                             *others[] = {"1", "1", "1", "0.8"};
    char gap[4][OBJECT_ID_TEXT], range[2 * OBJECT_ID_TEXT + 2];
    for (int i = 0; i < 4; i++) {
        char *simple = xprintf("const char takes[] = \"fake-time=%s\";\n", codes[i]);
        char *other = xprintf("const char takes[] = \"other fake-time=%s\";\n", others[i]);
        const struct helper_file files[] = {{"kernels/simple.c", simple, 0},
                                            {"kernels/other.c", other, 0}};
        const char *parent = i ? gap[i - 1] : NULL;
        helper_repo_commit(gap[i], directory, "main", &parent, i > 0, i, "gap\n", files, 2);
        free(simple);
        free(other);
    }
    for (int i = 0; i < 4; i += 3)
        plumb((const char *[]){"run", gap[i], "--quiet", "--policy", "linked.cfg", "--bench", bench,
                               NULL});
    plumb((const char *[]){"events", NULL});
    plumb_said(&outcome, 0, "; one of 3 commits");
    snprintf(range, sizeof(range), "%s..%s", gap[0], gap[3]);
    plumb((const char *[]){"run", range, "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    plumb((const char *[]){"history", "--kernel", "simple", NULL});
    plumb_said(&outcome, 0, ": 1 change\n");
    snprintf(range, sizeof(range), "  %.10s  ", gap[2]);
    plumb_said(&outcome, 0, range);
    plumb((const char *[]){"events", NULL});
    assert_null(strstr(outcome.output, "one of "));
    plumb_said(&outcome, 0, " simple 4x4x4:fp32-fp32:tn:cold on Fake device; ");
    snprintf(range, sizeof(range), "%.10s", gap[3]);
    plumb_said(&outcome, 0, range);
    plumb_said(&outcome, 0, " other 4x4x4:fp32-fp32:tn:cold on Fake device; ");
    plumb_said(&outcome, 0, "\n2 events: 2 confirmed\n");
}

// Measured commit by commit on a branch, of which the last but one made it slower. The line has
// none of those codes but the last, and compared it with its own: that is its change, whichever way
// the branch came there.
static void take_in(bool merged)
{
    static const char *const codes[] = {"1", "1.001", "1.2", "1.201"};
    char branch[4][OBJECT_ID_TEXT], taken[OBJECT_ID_TEXT], range[2 * OBJECT_ID_TEXT + 2];
    helper_put(directory, ".git/HEAD", "ref: refs/heads/main\n");
    for (int i = 0; i < 4; i++) {
        char *simple = xprintf("const char takes[] = \"fake-time=%s\";\n", codes[i]);
        const struct helper_file files[] = {{"kernels/simple.c", simple, 0}};
        const char *parents[] = {branch[i ? i - 1 : 0], NULL};
        helper_repo_commit(branch[i], directory, i ? "topic" : "main", parents, i > 0, i, "step\n",
                           files, 1);
        if (i == 3) {
            parents[0] = branch[0], parents[1] = branch[3];
            helper_repo_commit(taken, directory, "main", parents, merged ? 2 : 1, i + 1,
                               "taken in\n", files, 1);
        }
        free(simple);
    }
    plumb((const char *[]){"run", branch[0], "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    snprintf(range, sizeof(range), "%s..%s", branch[0], branch[3]);
    plumb((const char *[]){"run", range, "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    plumb((const char *[]){"run", taken, "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    plumb((const char *[]){"events", "--check", "--repo", directory, NULL});
    snprintf(range, sizeof(range), "confirmed %.10s ", taken);
    plumb_said(&outcome, 1, range);
    plumb_said(&outcome, 1, "taken in");
}

TEST_WITH(what_a_branch_made_slower_is_told_where_it_is_merged, begin_anew, NULL)
{
    take_in(true);
}

TEST_WITH(what_a_branch_made_slower_is_told_where_it_is_squashed, begin_anew, NULL)
{
    take_in(false);
}

// Slower, mended, and slower again by another commit: only that one is open.
TEST_WITH(what_was_mended_is_not_open_again_with_the_next_slowdown, begin_anew, NULL)
{
    static const char *const codes[] = {"1", "1.3", "1.0", "1.2"};
    char at[5][OBJECT_ID_TEXT], line[64], *head = xprintf("%s/.git/HEAD", directory);
    helper_write_text(head, "ref: refs/heads/main\n");
    free(head);
    for (int i = 0; i < 4; i++) {
        char *simple = xprintf("const char takes[] = \"fake-time=%s\";\n", codes[i]);
        const struct helper_file files[] = {{"kernels/simple.c", simple, 0}};
        const char *parent = i ? at[i - 1] : NULL;
        helper_repo_commit(at[i], directory, "main", &parent, i > 0, i, "step\n", files, 1);
        plumb((const char *[]){"run", at[i], "--quiet", "--policy", "linked.cfg", "--bench", bench,
                               NULL});
        free(simple);
    }
    plumb((const char *[]){"events", "--check", NULL});
    snprintf(line, sizeof(line), "fixed     %.10s ", at[1]);
    plumb_said(&outcome, 1, line);
    snprintf(line, sizeof(line), "1 slowdown is open: %.10s;", at[3]);
    plumb_said(&outcome, 1, line);
    // Accepted, and then the commit gets another message: it is the same code.
    plumb((const char *[]){"events", "accept", at[3], "--who", "A", "-m", "meant", NULL});
    const struct helper_file same[] = {
        {"kernels/simple.c", "const char takes[] = \"fake-time=1.2\";\n", 0}};
    const char *parent = at[2];
    helper_repo_commit(at[4], directory, "main", &parent, 1, 4, "other words\n", same, 1);
    plumb((const char *[]){"run", at[4], "--quiet", "--policy", "linked.cfg", "--bench", bench,
                           NULL});
    plumb((const char *[]){"events", "--check", NULL});
    snprintf(line, sizeof(line), "accepted  %.10s ", at[3]);
    plumb_said(&outcome, 0, line);
    assert_null(strstr(outcome.output, "withdrawn"));
}
