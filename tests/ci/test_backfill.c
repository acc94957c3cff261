// SPDX-License-Identifier: Apache-2.0
//
// A backfill by the real program, with a bench that keeps a journal: how many processes its links
// take, that sharing them changes none, and that no process ends between two commits for nothing.
#include "baselines/store.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODES = 10, JOURNAL = 1 << 18 };

static const char *const names[] = {"good-1", "good-2", "slower-1"};
static char *directory, *bench, *policy, *journal_path;
static char ids[CODES][OBJECT_ID_TEXT], journal[JOURNAL];
static struct plumb_outcome outcome;
static struct arena arena;

static const char policy_text[] =
    "[build]\n\tinput = kernels\n\tcommand = \"for f in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do "
    "cc -shared -fPIC -o \\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; "
    "done\"\n[device \"host\"]\n\tkind = host\n[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
    "[kernel \"*\"]\n\tproblems = p\n[gate]\n\tprocesses = 3\n[measure]\n\ttimeout = 20\n"
    "[history]\n\tlink = on\n";

// Ten commits, and in each every kernel has another code.
static void commit_codes(void)
{
    const char *parent = NULL;
    for (int i = 0; i < CODES; i++) {
        struct helper_file files[ARRAY_COUNT(names)];
        for (size_t k = 0; k < ARRAY_COUNT(names); k++)
            files[k] = (struct helper_file){
                arena_printf(&arena, "kernels/%s.c", names[k]),
                arena_printf(&arena, "int value = %d;\nconst char name[] = \"fake library %s\";\n",
                             i + 1, names[k]),
                0};
        helper_repo_commit(ids[i], directory, "main", &parent, parent ? 1 : 0, i + 1, "x\n", files,
                           ARRAY_COUNT(names));
        parent = ids[i];
    }
}

static int set_up(void **state)
{
    directory = fake_bench_repository(&bench);
    policy = xprintf("%s/policy.cfg", directory);
    journal_path = xprintf("%s.journal", bench);
    helper_write_text(policy, policy_text);
    commit_codes();
    return 0;
}

AROUND_ALL(set_up, NULL);

// A commit, or a range.
static void backfill(const char *store, const char *range)
{
    const char *argv[] = {"run",     range, "--policy",  policy, "--bench", bench,
                          "--store", store, "--sandbox", "off",  NULL};
    helper_write_text(journal_path, "");
    plumb_run(&outcome, directory, argv, 0);
    FILE *file = fopen(journal_path, "r");
    assert_non_null(file);
    journal[fread(journal, 1, JOURNAL - 1, file)] = '\0';
    fclose(file);
}

static size_t times(const char *what)
{
    return helper_occurrences(journal, what);
}

static size_t links_of(struct link **out, const char *store_name, const char *kernel)
{
    struct store *store =
        scratch_store(arena_printf(&arena, "%s/%s", directory, store_name), STORE_READ);
    struct series_entry *series;
    struct error err;
    size_t count, found = 0;
    assert_int_equal(store_list_series(&series, &count, store, &arena, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const struct series one = {series[i].kernel, &series[i].problem, series[i].device_uuid};
        if (strcmp(series[i].kernel, kernel) == 0)
            assert_int_equal(store_links(out, &found, store, &one, &arena, &err), 0);
    }
    store_close(store);
    return found;
}

// Each series has 9 links with the code before and 2 with that eight before it, 33 in 11
// comparisons. With processes of its own each comparison took three, and one that lists the base.
// An alarm of a link with the code before is confirmed in two more, one with eight before is not.
TEST(links_of_all_commits_and_series_share_their_processes)
{
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", ids[0], ids[CODES - 1]);
    backfill("a.db", ids[0]);
    backfill("a.db", range);
    plumb_said(&outcome, outcome.code, "33 pairs of codes side by side in 3 processes");
    // One tells what device there is; each build is listed by one and measured alone by one.
    assert_int_equal(times("start\n"), 1 + 2 * (CODES - 1) + 1 + 3);
    assert_int_equal(times("open good-"), 2 * (CODES - 1) + 2 * 11);
    assert_int_equal(times("open slower-"), CODES - 1 + 9 * 3 + 2);
}

// To end a bench and start the next takes a third of a second on a GPU, one after the other. All is
// built by now; while something is built no bench waits.
TEST(a_commits_bench_ends_while_the_next_one_starts)
{
    int living = 0, handed = 0, together = 0;
    char range[2 * OBJECT_ID_TEXT + 2];
    snprintf(range, sizeof(range), "%s..%s", ids[0], ids[CODES - 1]);
    backfill("c.db", ids[0]);
    char *ends = xprintf("%s.ends", bench);
    helper_write_text(ends, "1500");
    backfill("c.db", range);
    assert_int_equal(remove(ends), 0);
    free(ends);
    for (const char *at = journal; at && *at; at = strchr(at, '\n'), at += at != NULL) {
        together += living == 1 && strncmp(at, "start\n", 6) == 0;
        handed += living == 2 && strncmp(at, "end\n", 4) == 0;
        living += (strncmp(at, "start\n", 6) == 0) - (strncmp(at, "end\n", 4) == 0);
        // Nothing is opened or timed beside another process.
        if (strncmp(at, "open ", 5) == 0 || strncmp(at, "pairs ", 6) == 0)
            assert_int_equal(living, 1);
    }
    assert_int_equal(living, 0);
    // Beside what measured a commit the next one's libraries are listed, and the next one starts,
    // unless the one before is quicker to end; the last one ends while the links' base is listed.
    // Before the first one another has said what the device is.
    assert_in_range(together, CODES - 2 + 1, 3 * CODES);
    assert_int_equal(handed, together);
}

// The one of the same commits.
static const struct link *find(const struct link *links, size_t count, const struct link *like)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(links[i].base.id, like->base.id) && !strcmp(links[i].head.id, like->head.id))
            return &links[i];
    }
    fail_msg("%.10s is not linked with %.10s", like->head.id, like->base.id);
    return NULL;
}

TEST(links_say_the_same_as_one_by_one)
{
    for (int i = 0; i < CODES; i++) {
        backfill("b.db", ids[i]);
        assert_true(i == 0 || strstr(outcome.output, "commit 1 of 1"));
    }
    for (size_t k = 0; k < ARRAY_COUNT(names); k++) {
        struct link *together, *alone;
        const size_t count = links_of(&together, "a.db", names[k]);
        assert_int_equal(count, 11);
        assert_int_equal(links_of(&alone, "b.db", names[k]), count);
        for (size_t i = 0; i < count; i++) {
            const struct link *one = find(alone, count, &together[i]);
            assert_int_equal(together[i].back, one->back);
            assert_int_equal(together[i].kind, one->kind);
            assert_int_equal(together[i].pairs, one->pairs);
            assert_int_equal(together[i].processes, one->processes);
            assert_true(together[i].log_ratio == one->log_ratio);
        }
    }
}

// The loop from the first code to the ninth one is closed by one link with the eighth code before;
// that one is made to say +30 %.
TEST(a_link_that_does_not_fit_is_measured_again_and_stays)
{
    struct link *links;
    sqlite3 *file;
    char *path = xprintf("%s/a.db", directory);
    const char *history[] = {"history", "--store", "a.db", "--kernel", "good-1", NULL};
    const char *search[] = {"bisect",  "--events", "--policy",  policy, "--bench", bench,
                            "--store", "a.db",     "--sandbox", "off",  NULL};
    char line[128];
    assert_int_equal(sqlite3_open(path, &file), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(file,
                     "UPDATE links SET log_ratio = 0.2624, kind = 'slower', log_evidence = 50 "
                     "WHERE link_key = (SELECT min(link_key) FROM links JOIN series USING "
                     "(series_key) JOIN kernels USING (kernel_key) WHERE back = 8 AND name = "
                     "'good-1')",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_exec(file, "DELETE FROM kept_links", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(file), SQLITE_OK);
    free(path);
    snprintf(line, sizeof(line), "%.10s with %.10s does not fit its loops", ids[8], ids[0]);
    plumb_run(&outcome, directory, history, 0);
    plumb_said(&outcome, 0, line);
    snprintf(line, sizeof(line), "%.10s with %.10s did not fit its loops; measured again: same",
             ids[8], ids[0]);
    plumb_run(&outcome, directory, search, 0);
    plumb_said(&outcome, outcome.code, line);
    const size_t count = links_of(&links, "a.db", "good-1");
    size_t wrong = 0, again = 0;
    for (size_t i = 0; i < count; i++) {
        const bool same = !strcmp(links[i].base.id, ids[0]) && !strcmp(links[i].head.id, ids[8]);
        wrong += same && links[i].kind == VERDICT_SLOWER;
        again += same && links[i].kind == VERDICT_SAME && links[i].back == 8;
    }
    assert_int_equal(wrong, 1);
    assert_int_equal(again, 1);
    // It was asked twice now: nothing is left to do.
    plumb_run(&outcome, directory, search, 0);
    assert_null(strstr(outcome.output, line + 26));
    plumb_run(&outcome, directory, history, 0);
    assert_null(strstr(outcome.output, "measures it again"));
}
