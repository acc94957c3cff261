// SPDX-License-Identifier: Apache-2.0
//
// A host that other programs load while one of two commits is measured: what its times alone call
// slower or faster is paired with the commit before, and only what the pairs say counts. Builds,
// store and program are real; the times are told (tests/helpers/told_time.h).
#include "baselines/store.h"
#include "model/buffer.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASE, FASTER, SLOWER, COMMITS };

static const char *const takes[COMMITS] = {"1", "0.5", "2"};
static char *directory, *bench;
static char ids[COMMITS][OBJECT_ID_TEXT];
static struct plumb_outcome outcome;
static bool again;

static void write_policy(const char *name, const char *end)
{
    char *path = xprintf("%s/%s", directory, name);
    char *text =
        xprintf("[build]\n\tsandbox = off\n\tinput = kernels\n"
                "\tcommand = \"cc -shared -fPIC -o \\\"$PLUMB_OUT/simple.so\\\" "
                "\\\"$PLUMB_SOURCE\\\"/kernels/simple.c\"\n"
                "[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
                "[kernel \"*\"]\n\tproblems = p\n\tmargin = 4%%\n[gate]\n\tprocesses = 2\n%s",
                end);
    helper_write_text(path, text);
    free(text);
    free(path);
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    write_policy("silent.cfg", "");
    write_policy("on.cfg", "[history]\n\tlink = on\n");
    write_policy("off.cfg", "[history]\n\tlink = off\n");
    for (int i = 0; i < COMMITS; i++) {
        char *text = xprintf("const char takes[] = \"fake-time=%s\";\n", takes[i]);
        const struct helper_file file = {"kernels/simple.c", text, 0};
        const char *parent = i ? ids[BASE] : NULL;
        helper_repo_commit(ids[i], directory, i == SLOWER ? "slower" : "main", &parent, i > 0, i,
                           "step\n", &file, 1);
        free(text);
    }
    return 0;
}

AROUND_ALL(set_up, NULL);

// Every process of the run finds all times e to the power of `level` as long.
static void measure(int commit, double level, const char *policy, const char *store)
{
    struct buffer text = {0};
    char *path = xprintf("%s.load", bench), *line = xprintf("%.3f\n", level);
    for (int i = 0; i < 100; i++)
        buffer_puts(&text, line);
    helper_write_text(path, text.bytes);
    const char *argv[] = {"run",     ids[commit], "--policy",
                          policy,    "--bench",   bench,
                          "--store", store,       again ? "--again" : NULL,
                          NULL};
    plumb_run(&outcome, directory, argv, 0);
    buffer_free(&text);
    free(line);
    free(path);
}

static size_t links_of(const char *name)
{
    struct store *store;
    struct error err;
    struct arena arena = {0};
    struct series_entry *series;
    struct link *links;
    size_t count, found = 0;
    char *path = xprintf("%s/%s", directory, name);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    assert_int_equal(store_list_series(&series, &count, store, &arena, &err), 0);
    assert_int_equal(count, 1);
    const struct series one = {series->kernel, &series->problem, series->device_uuid};
    assert_int_equal(store_links(&links, &found, store, &one, &arena, &err), 0);
    store_close(store);
    arena_free(&arena);
    free(path);
    return found;
}

TEST(a_busy_host_makes_no_faster_code_slower)
{
    measure(BASE, 0, "silent.cfg", "a.db");
    measure(FASTER, 1.1, "silent.cfg", "a.db"); // 1.5 times as long
    char *line = xprintf(
        "faster with cold caches: -50.00 %% (-50.10 to -49.90 %%) side by side with %.10s; it took",
        ids[BASE]);
    plumb_said(&outcome, 0, line);
    plumb_said(&outcome, 0, "OK: 1 faster");
    assert_int_equal(links_of("a.db"), 1);
    measure(FASTER, 1.1, "silent.cfg", "a.db");
    plumb_said(&outcome, 0, "nothing to do");
    assert_int_equal(links_of("a.db"), 1);
    free(line);
}

TEST(a_slower_code_is_slower_side_by_side)
{
    measure(BASE, 0, "silent.cfg", "b.db");
    measure(SLOWER, 0, "silent.cfg", "b.db");
    plumb_said(&outcome, 1, "slower with cold caches: +100.00 %");
    plumb_said(&outcome, 1, "SLOWER: 1 slower");
}

TEST(what_times_leave_open_costs_no_pairs)
{
    measure(BASE, 0, "silent.cfg", "c.db");
    measure(FASTER, 0.69, "silent.cfg", "c.db"); // as long as the base
    plumb_said(&outcome, 2, "UNDECIDED: 1 undecided");
    assert_int_equal(links_of("c.db"), 0);
}

TEST(a_policy_without_links_goes_by_times_alone)
{
    measure(BASE, 0, "off.cfg", "d.db");
    measure(FASTER, 1.1, "off.cfg", "d.db");
    plumb_said(&outcome, 1, "against its history");
    plumb_said(&outcome, 1, "SLOWER: 1 slower");
    assert_int_equal(links_of("d.db"), 0);
}

// A commit that is measured again, or by two programs at once, still is what it was.
TEST(a_slower_commit_stays_slower_when_it_is_measured_again)
{
    measure(BASE, 0, "silent.cfg", "h.db");
    measure(SLOWER, 0, "silent.cfg", "h.db");
    again = true;
    measure(SLOWER, 0, "silent.cfg", "h.db");
    plumb_said(&outcome, 1, "slower with cold caches: +100.00 %");
    measure(SLOWER, 0.3, "silent.cfg", "h.db");
    plumb_said(&outcome, 1, "slower with cold caches: +100.00 %");
    measure(BASE, 0.3, "silent.cfg", "h.db"); // it is new code to nobody
    plumb_said(&outcome, 0, "on the same machine code: the environment");
    again = false;
    assert_int_equal(links_of("h.db"), 1);
}

// Slower, reverted, and slower again: each time the code is known, and is another than before.
TEST(what_was_reverted_is_slower_when_it_comes_back)
{
    static const int changes[] = {SLOWER, BASE, SLOWER};
    char head[OBJECT_ID_TEXT], kept[OBJECT_ID_TEXT];
    again = false;
    memcpy(kept, ids[SLOWER], sizeof(kept));
    memcpy(head, ids[BASE], sizeof(head));
    measure(BASE, 0, "silent.cfg", "i.db");
    for (int i = 0; i < 3; i++) {
        char *text = xprintf("const char takes[] = \"fake-time=%s\";\n", takes[changes[i]]);
        char *page = xprintf("%d\n", i); // so that no tree is known
        const struct helper_file files[] = {{"kernels/simple.c", text, 0},
                                            {"kernels/page", page, 0}};
        const char *parent = head;
        helper_repo_commit(ids[SLOWER], directory, "back", &parent, 1, COMMITS + 1 + i, "back\n",
                           files, 2);
        memcpy(head, ids[SLOWER], sizeof(head));
        measure(SLOWER, 0, "silent.cfg", "i.db");
        plumb_said(&outcome, changes[i] == SLOWER,
                   i == 1 ? "faster with cold caches: -50.00 %"
                          : "slower with cold caches: +100.00 %");
        free(text);
        free(page);
    }
    memcpy(ids[SLOWER], kept, sizeof(kept));
}

// The base's build is gone, and nothing is built again for it.
TEST(what_cannot_be_confirmed_is_open)
{
    measure(BASE, 0, "silent.cfg", "e.db");
    char *gone = xprintf("rm -rf '%s/.plumb/cache'", directory);
    assert_int_equal(system(gone), 0);
    measure(FASTER, 1.1, "silent.cfg", "e.db");
    plumb_said(&outcome, 2, "; nothing confirmed it side by side");
    plumb_said(&outcome, 2, "its build is not kept");
    plumb_said(&outcome, 2, "UNDECIDED: 1 undecided");
    free(gone);
}

// A change is gated, merged as it is, and run.
TEST(what_a_gate_saw_is_a_change_of_the_history_too)
{
    char *line = xprintf("confirmed %.10s ", ids[FASTER]);
    const char *gate[] = {"gate",   "--base",  ids[BASE], "--head",  ids[FASTER], "--policy",
                          "on.cfg", "--bench", bench,     "--store", "f.db",      NULL};
    const char *events[] = {"events", "--store", "f.db", NULL};
    measure(BASE, 0, "on.cfg", "f.db");
    plumb_run(&outcome, directory, gate, 0);
    plumb_said(&outcome, 0, "OK: 1 faster");
    assert_int_equal(links_of("f.db"), 1);
    measure(FASTER, 0, "on.cfg", "f.db");
    plumb_said(&outcome, 0, "OK: 1 faster");
    assert_int_equal(links_of("f.db"), 2);
    plumb_run(&outcome, directory, events, 0);
    plumb_said(&outcome, 0, line);
    free(line);
}

// So it is where the policy links nothing, and then a told change is not too short to be told.
TEST(a_change_that_is_told_has_points_enough)
{
    const char *gate[] = {"gate",    "--base",  ids[BASE], "--head",  ids[FASTER], "--policy",
                          "off.cfg", "--bench", bench,     "--store", "t.db",      NULL};
    const char *history[] = {"history", "--store", "t.db", NULL};
    measure(BASE, 0, "off.cfg", "t.db");
    plumb_run(&outcome, directory, history, 0);
    plumb_said(&outcome, 0, "1 of 1 series: too few points to tell a change yet");
    plumb_run(&outcome, directory, gate, 0);
    plumb_said(&outcome, 0, "OK: 1 faster");
    measure(FASTER, 0, "off.cfg", "t.db");
    plumb_run(&outcome, directory, history, 0);
    plumb_said(&outcome, 0, ": 1 change\n");
    plumb_said(&outcome, 0, ":fp32-fp32:tn:cold on "); // the series' title names its regime
    assert_null(strstr(outcome.output, "too few points to tell a change"));
}

// A pull request was gated, accepted and squashed: the epoch names a commit that nobody has. So it
// is with a change of which times alone are known.
TEST(what_a_squashed_change_accepts_is_accepted)
{
    static char squashed[OBJECT_ID_TEXT];
    static const char *const ways[][3] = {
        {"on.cfg", "g.db", "it is slower with cold caches: +100.00 %"},
        {"off.cfg", "k.db", "; it took "}};
    const char *parent = ids[BASE];
    const struct helper_file files[] = {
        {"kernels/simple.c", "const char takes[] = \"fake-time=2\";\n", 0},
        {"baselines/epochs.txt",
         "series = simple * *\ncommit = 1234567890123456789012345678901234567890\nlevel = 0.7\n"
         "reason = exact sums\nwho = A\nwhen = 2026-11-21\n",
         0}};
    helper_repo_commit(squashed, directory, "squashed", &parent, 1, COMMITS, "squash\n", files, 2);
    char *checkout = xprintf("cd '%s' && git checkout -q squashed", directory);
    assert_int_equal(system(checkout), 0);
    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        const char *events[] = {"events", "--check", "--store", ways[i][1], NULL};
        char *line = xprintf("accepted  %.10s ", squashed);
        measure(BASE, 0, ways[i][0], ways[i][1]);
        text_copy(ids[SLOWER], sizeof(ids[SLOWER]), squashed);
        measure(SLOWER, 0, ways[i][0], ways[i][1]);
        plumb_said(&outcome, 0, "accepted in this change, up to +101.38 %: exact sums (A); ");
        plumb_said(&outcome, 0, ways[i][2]);
        plumb_said(&outcome, 0, "OK: 1 accepted");
        plumb_run(&outcome, directory, events, 0);
        plumb_said(&outcome, 0, line);
        free(line);
    }
    free(checkout);
}
