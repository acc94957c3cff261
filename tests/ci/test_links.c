// SPDX-License-Identifier: Apache-2.0
//
// A backfill of a real history on the host device, one point per code: links name the commit of
// each step, though the points are too few for anything else to say so, and stay when more comes.
// Label: measured
// Label: alone
// Label: unsanitized
#include "baselines/store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char linked_policy[320], plain_policy[320];

static int set_up(void **state)
{
    helper_repo_create(&repo);
    static const char *const stores[] = {"a.db", "b.db", "c.db", "d.db", "e.db", "g.db", "h.db"};
    for (size_t i = 0; i < ARRAY_COUNT(stores); i++)
        helper_repo_know_host(&repo, stores[i]);
    snprintf(linked_policy, sizeof(linked_policy), "%s/linked.cfg", repo.directory);
    snprintf(plain_policy, sizeof(plain_policy), "%s/plain.cfg", repo.directory);
    helper_repo_policy(linked_policy, "\tproblem = 96x64x128:fp32\n",
                       "\tmargin = 4%\n[gate]\n\tseconds = 60\n\tprocesses = 2\n"
                       "\tmax-pairs = 400\n[measure]\n\tsamples = 12\n\ttimeout = 20\n"
                       "[history]\n\tlink = on\n");
    helper_repo_policy(plain_policy, "\tproblem = 96x64x128:fp32\n",
                       "\tmargin = 4%\n[measure]\n\tsamples = 12\n\ttimeout = 20\n");
    return 0;
}

AROUND_ALL(set_up, NULL);

static double kill_after_s; // the next run; 0: it ends by itself

static void run(const char *policy, const char *store, enum helper_commit from,
                enum helper_commit to)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", repo.ids[from], repo.ids[to]);
    const char *argv[] = {"run", range, "--first-parent", "--policy", policy, "--store",
                          store, NULL};
    plumb_run(&outcome, repo.directory, argv, kill_after_s);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
}

static void history(const char *store, const char *format)
{
    const char *argv[] = {"history", "--store",  store,  "--kernel",
                          "simple",  "--format", format, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
}

static size_t measured; // of the last call, with those that were measured once more

// One with a mark that misses what the others say is measured once more, which chance asks for now
// and then, and a busy machine often (ci/gate/linking_doubts.c).
static size_t without_repeats(struct link *links, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool repeats = false;
        for (size_t k = 0; k < kept && links[i].back > 1; k++)
            repeats |= strcmp(links[k].base.id, links[i].base.id) == 0 &&
                       strcmp(links[k].head.id, links[i].head.id) == 0;
        if (!repeats)
            links[kept++] = links[i];
    }
    measured = count;
    return kept;
}

// Links of a kernel, each once; those of the last call stay until the next.
static size_t links_of(const struct link **out, const char *path, const char *kernel)
{
    static struct arena arena;
    char file[400];
    struct store *store;
    struct error err;
    struct series_entry *series;
    struct link *links = NULL;
    size_t count, found = 0;
    arena_free(&arena);
    snprintf(file, sizeof(file), "%s/%s", repo.directory, path);
    assert_int_equal(store_open(&store, file, STORE_READ, &err), 0);
    assert_int_equal(store_list_series(&series, &count, store, &arena, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const struct series one = {series[i].kernel, &series[i].problem, series[i].device_uuid};
        if (strcmp(series[i].kernel, kernel) == 0)
            assert_int_equal(store_links(&links, &found, store, &one, &arena, &err), 0);
    }
    store_close(store);
    *out = links;
    return without_repeats(links, found);
}

TEST(history_names_the_commit_of_each_step_after_one_point_per_code)
{
    const struct link *links;
    char line[128];
    // COMMENT and RENAME have one code, and MERGE changes nothing that the build reads.
    run(linked_policy, "a.db", REPO_COMMENT, REPO_SLOWER);
    snprintf(line, sizeof(line), "side by side with %.10s; it took", repo.ids[REPO_RENAME]);
    plumb_said(&outcome, 1, line); // the run's own verdict goes by the link, too
    assert_int_equal(links_of(&links, "a.db", "simple"), 1);
    assert_int_equal(links_of(&links, "a.db", "blocked"), 0);
    history("a.db", "table");
    snprintf(line, sizeof(line), "%.10s", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    snprintf(line, sizeof(line), "side by side with %.10s", repo.ids[REPO_RENAME]);
    plumb_said(&outcome, 0, line);
    plumb_said(&outcome, 0, ": 1 change");
}

TEST(a_slowdown_is_open_until_it_is_undone)
{
    const char *events[] = {"events", "--check", "--store", "h.db", NULL};
    char line[64];
    run(linked_policy, "h.db", REPO_COMMENT, REPO_SLOWER);
    plumb_run(&outcome, repo.directory, events, 0);
    snprintf(line, sizeof(line), "SLOWER: 1 slowdown is open: %.10s;", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 1, line);
    run(linked_policy, "h.db", REPO_COMMENT, REPO_REVERT);
    plumb_run(&outcome, repo.directory, events, 0);
    assert_int_equal(outcome.code, 0);
}

TEST(what_was_found_stays_when_more_comes)
{
    const struct link *links;
    char line[128];
    run(linked_policy, "a.db", REPO_COMMENT, REPO_REVERT);
    assert_int_equal(links_of(&links, "a.db", "simple"), 2);
    assert_int_equal(links[0].kind, VERDICT_SLOWER);
    assert_int_equal(links[1].kind, VERDICT_FASTER);
    assert_string_equal(links[0].head.id, repo.ids[REPO_SLOWER]);
    assert_string_equal(links[1].head.id, repo.ids[REPO_REVERT]);
    assert_true(links[0].error > 0 && links[0].pairs > 0 && links[0].log_ratio > 0.04);
    history("a.db", "table");
    snprintf(line, sizeof(line), "since %.10s, by 2 links with 1 loop, misclosure",
             repo.ids[REPO_RENAME]);
    plumb_said(&outcome, 0, line);
    history("a.db", "csv");
    snprintf(line, sizeof(line), "linked,%s", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    snprintf(line, sizeof(line), "linked,%s", repo.ids[REPO_REVERT]);
    plumb_said(&outcome, 0, line);
    history("a.db", "json");
    plumb_said(&outcome, 0, "\"links\":2");
}

TEST(what_is_linked_is_not_linked_again)
{
    const struct link *links;
    run(linked_policy, "a.db", REPO_COMMENT, REPO_REVERT);
    plumb_said(&outcome, outcome.code, "nothing to do");
    assert_int_equal(links_of(&links, "a.db", "simple"), 2);
}

TEST(links_of_a_run_that_is_killed_come_when_it_goes_on)
{
    const struct link *links;
    for (kill_after_s = 0.4; kill_after_s < 4; kill_after_s += 0.45)
        run(linked_policy, "d.db", REPO_COMMENT, REPO_REVERT);
    kill_after_s = 0;
    run(linked_policy, "d.db", REPO_COMMENT, REPO_REVERT);
    assert_int_equal(links_of(&links, "d.db", "simple"), 2);
    assert_string_equal(links[0].head.id, repo.ids[REPO_SLOWER]);
    assert_string_equal(links[1].head.id, repo.ids[REPO_REVERT]);
}

TEST(hosts_link_only_when_the_policy_says_so)
{
    const struct link *links;
    run(plain_policy, "b.db", REPO_COMMENT, REPO_SLOWER);
    assert_int_equal(links_of(&links, "b.db", "simple"), 0);
    history("b.db", "table");
    plumb_said(&outcome, 0, ": 0 changes");
}

// `count` commits on a branch of its own, each a code that takes the same time; the last one
// accepts the level of the code numbered `accepted` too, if that is not negative.
static void commit_codes(char (*ids)[OBJECT_ID_TEXT], int count, const char *branch, int accepted)
{
    static const char end[] = "    return 0;\n";
    const char *parent = repo.ids[REPO_REVERT];
    struct repository *repository;
    struct error err;
    char *text;
    size_t size;
    assert_int_equal(repository_open(&repository, repo.directory, &err), 0);
    assert_int_equal(repository_read(&text, &size, repository, parent, "kernels/plain.c", &err), 0);
    repository_close(repository);
    char *at = strstr(text, end);
    assert_non_null(at);
    for (int i = 0; i < count; i++) {
        char *changed = xprintf("%.*s    return args->problem.m == %d ? 1 : 0;\n%s",
                                (int)(at - text), text, 1000000 + i, at + strlen(end));
        char *block = xprintf("series = simple * *\ncommit = %s\nlevel = 0.1\nreason = meant\n"
                              "who = A\nwhen = 2026-11-21\n",
                              accepted < 0 ? "" : ids[accepted]);
        const struct helper_file files[] = {{"kernels/plain.c", changed, 0},
                                            {"baselines/epochs.txt", block, 0}};
        helper_repo_commit(ids[i], repo.directory, branch, &parent, 1, 50 + i, "code\n", files,
                           accepted >= 0 && i == count - 1 ? 2 : 1);
        parent = ids[i];
        free(changed);
        free(block);
    }
    free(text);
}

static void run_range(const char *store, const char *from, const char *to)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", from, to);
    const char *argv[] = {"run", range, "--policy", linked_policy, "--store", store, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
}

// Ten codes that take the same time: eight codes back is a mark.
TEST(codes_are_linked_with_those_eight_before_them_too)
{
    char ids[10][OBJECT_ID_TEXT];
    const struct link *links;
    size_t far = 0;
    commit_codes(ids, 10, "codes", -1);
    run_range("c.db", repo.ids[REPO_REVERT], ids[9]);
    assert_int_equal(links_of(&links, "c.db", "simple"), 11);
    for (size_t i = 0; i < 11; i++) {
        if (links[i].back != 8)
            continue;
        assert_string_equal(links[i].base.id, ids[far]);
        assert_string_equal(links[i].head.id, ids[8 + far++]);
    }
    assert_int_equal(far, 2);
    history("c.db", "json");
    char text[64];
    // A link that was measured again may be set aside, and its loop with it.
    snprintf(text, sizeof(text), "\"links\":%zu,\"loops\":%s", measured, measured > 11 ? "" : "2");
    plumb_said(&outcome, 0, text);
}

TEST(a_code_is_linked_with_the_accepted_one_too)
{
    char ids[5][OBJECT_ID_TEXT];
    const struct link *links;
    commit_codes(ids, 5, "accepted", 1);
    run_range("e.db", repo.ids[REPO_REVERT], ids[4]);
    assert_int_equal(links_of(&links, "e.db", "simple"), 5); // four neighbours and the mark
    for (size_t i = 0, found = 0; i < 5; i++) {
        if (links[i].back == 1)
            continue;
        assert_int_equal(found++, 0);
        assert_int_equal(links[i].back, 3);
        assert_string_equal(links[i].base.id, ids[1]);
        assert_string_equal(links[i].head.id, ids[4]);
    }
    const char *argv[] = {"history", "--kernel", "simple", "--store",
                          "e.db",    "--epochs", "e.txt",  NULL};
    char *block = xprintf("series = simple * *\ncommit = %s\nlevel = 0.1\nreason = meant\n"
                          "who = A\nwhen = 2026-11-21\n",
                          ids[1]);
    helper_put(repo.directory, "e.txt", block);
    free(block);
    char line[128];
    snprintf(line, sizeof(line), "against the state accepted at %.10s: meant, by links", ids[1]);
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, line);
}

// The facts of a gate are kept, but its head may never be merged: it is no change of the history.
TEST(a_gates_pairs_are_a_link_and_no_change)
{
    const struct link *links;
    const char *argv[] = {"gate",
                          "--base",
                          repo.ids[REPO_RENAME],
                          "--head",
                          repo.ids[REPO_SLOWER],
                          "--policy",
                          linked_policy,
                          "--store",
                          "g.db",
                          "--out",
                          "report",
                          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    assert_int_equal(outcome.code, 1);
    assert_int_equal(links_of(&links, "g.db", "simple"), 1);
    assert_int_equal(links[0].back, 0);
    assert_int_equal(links[0].kind, VERDICT_SLOWER);
    const char *events[] = {"events", "--store", "g.db", NULL};
    plumb_run(&outcome, repo.directory, events, 0);
    plumb_said(&outcome, 0, "0 events");
}

// As a user sees it: one line for the commit, and a word that stays.
TEST(events_name_the_commits_and_keep_what_was_decided)
{
    char name[16], line[64];
    run(linked_policy, "a.db", REPO_COMMENT, REPO_REVERT);
    snprintf(name, sizeof(name), "%.10s", repo.ids[REPO_SLOWER]);
    const char *list[] = {"events", "--store", "a.db", NULL};
    plumb_run(&outcome, repo.directory, list, 0);
    plumb_said(&outcome, 0, name);
    plumb_said(&outcome, 0, "2 events: 2 fixed"); // the revert brings it back, and is its end
    snprintf(line, sizeof(line), "fixed     %.10s", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    const char *dismiss[] = {"events",  "dismiss", name,    "--reason", "a test of the tool",
                             "--store", "a.db",    "--who", "A <a@b>",  NULL};
    plumb_run(&outcome, repo.directory, dismiss, 0);
    plumb_said(&outcome, 0, "commit the file");
    const char *show[] = {"events", "show", name, "--store", "a.db", NULL};
    plumb_run(&outcome, repo.directory, show, 0);
    plumb_said(&outcome, 0, "A <a@b>: a test of the tool");
    plumb_said(&outcome, 0, ": dismissed, cause kernel");
    plumb_said(&outcome, 0, "side by side");
    char revert[16];
    snprintf(revert, sizeof(revert), "%.10s", repo.ids[REPO_REVERT]);
    const char *accept[] = {"events",  "accept", revert,  "--reason", "it is meant",
                            "--store", "a.db",   "--who", "A <a@b>",  NULL};
    plumb_run(&outcome, repo.directory, accept, 0);
    plumb_said(&outcome, 0, "series = simple 96x64x128:fp32-fp32:tn ");
    plumb_run(&outcome, repo.directory, list, 0);
    plumb_said(&outcome, 0, "2 events: 1 accepted, 1 dismissed");
    const char *take[] = {"events",  "take", name,    "--reason", "looks into it",
                          "--store", "a.db", "--who", "A <a@b>",  NULL};
    plumb_run(&outcome, repo.directory, take, 0);
    plumb_said(&outcome, 4, " is dismissed: there is nothing to be on");
    const char *unknown[] = {"events", "show", "nothing", "--store", "a.db", NULL};
    plumb_run(&outcome, repo.directory, unknown, 0);
    plumb_said(&outcome, 4, "nothing: no such event");
}
