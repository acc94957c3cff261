// SPDX-License-Identifier: Apache-2.0
//
// A backfill of a real history on the host device, one point per code: links name the commit of
// each step, though the points are too few for anything else to say so, and stay when more comes.
#include "baselines/link.h"
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

static int tear_down(void **state)
{
    helper_repo_remove(&repo);
    return 0;
}

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

// Links of a kernel; those of the last call stay until the next.
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
    return found;
}

static void history_names_the_commit_of_each_step_after_one_point_per_code(void **state)
{
    const struct link *links;
    char line[128];
    // COMMENT and RENAME have one code, and MERGE changes nothing that the build reads.
    run(linked_policy, "a.db", REPO_COMMENT, REPO_SLOWER);
    assert_int_equal(links_of(&links, "a.db", "simple"), 1);
    assert_int_equal(links_of(&links, "a.db", "blocked"), 0);
    history("a.db", "table");
    snprintf(line, sizeof(line), "%.10s", repo.ids[REPO_SLOWER]);
    plumb_said(&outcome, 0, line);
    snprintf(line, sizeof(line), "side by side with %.10s", repo.ids[REPO_RENAME]);
    plumb_said(&outcome, 0, line);
    plumb_said(&outcome, 0, ": 1 change");
}

static void what_was_found_stays_when_more_comes(void **state)
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

static void what_is_linked_is_not_linked_again(void **state)
{
    const struct link *links;
    run(linked_policy, "a.db", REPO_COMMENT, REPO_REVERT);
    plumb_said(&outcome, outcome.code, "nothing to do");
    assert_int_equal(links_of(&links, "a.db", "simple"), 2);
}

static void links_of_a_run_that_is_killed_come_when_it_goes_on(void **state)
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

static void hosts_link_only_when_the_policy_says_so(void **state)
{
    const struct link *links;
    run(plain_policy, "b.db", REPO_COMMENT, REPO_SLOWER);
    assert_int_equal(links_of(&links, "b.db", "simple"), 0);
    history("b.db", "table");
    plumb_said(&outcome, 0, ": 0 changes");
}

// Ten codes that take the same time: eight codes back is a mark.
static void codes_are_linked_with_those_eight_before_them_too(void **state)
{
    char ids[10][OBJECT_ID_TEXT], range[2 * OBJECT_ID_TEXT + 2];
    const struct link *links;
    struct repository *repository;
    struct error err;
    char *text;
    size_t size, far = 0;
    const char *parent = repo.ids[REPO_REVERT];
    static const char end[] = "    return 0;\n";
    assert_int_equal(repository_open(&repository, repo.directory, &err), 0);
    assert_int_equal(repository_read(&text, &size, repository, parent, "kernels/plain.c", &err), 0);
    repository_close(repository);
    char *at = strstr(text, end);
    assert_non_null(at);
    for (int i = 0; i < 10; i++) {
        char *changed = xprintf("%.*s    return args->problem.m == %d ? 1 : 0;\n%s",
                                (int)(at - text), text, 1000000 + i, at + strlen(end));
        const struct helper_file file = {"kernels/plain.c", changed, 0};
        helper_repo_commit(ids[i], repo.directory, "codes", &parent, 1, 50 + i, "code\n", &file, 1);
        parent = ids[i];
        free(changed);
    }
    free(text);
    snprintf(range, sizeof(range), "%s..%s", repo.ids[REPO_REVERT], ids[9]);
    const char *argv[] = {"run", range, "--policy", linked_policy, "--store", "c.db", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    print_message("%d in %.1f s\n", outcome.code, outcome.wall_s);
    assert_int_equal(links_of(&links, "c.db", "simple"), 11);
    for (size_t i = 0; i < 11; i++) {
        if (links[i].back != 8)
            continue;
        assert_string_equal(links[i].base.id, ids[far]);
        assert_string_equal(links[i].head.id, ids[8 + far++]);
    }
    assert_int_equal(far, 2);
    history("c.db", "json");
    plumb_said(&outcome, 0, "\"links\":11,\"loops\":2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_names_the_commit_of_each_step_after_one_point_per_code),
        cmocka_unit_test(what_was_found_stays_when_more_comes),
        cmocka_unit_test(what_is_linked_is_not_linked_again),
        cmocka_unit_test(codes_are_linked_with_those_eight_before_them_too),
        cmocka_unit_test(links_of_a_run_that_is_killed_come_when_it_goes_on),
        cmocka_unit_test(hosts_link_only_when_the_policy_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
