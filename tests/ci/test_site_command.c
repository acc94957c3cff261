// SPDX-License-Identifier: Apache-2.0
//
// plumb site, plumb history and ci/nightly, as a user runs them.
// Label: unsanitized
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static struct arena strings;

static const char *in_repo(const char *name)
{
    return scratch_path(&strings, repo.directory, name);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    struct store *store = scratch_store(in_repo("made.db"), STORE_WRITE);
    for (unsigned i = 0; i < 8; i++) {
        struct run run;
        make_run(&run, i % 4 == 3 ? RUN_GATE : RUN_MEASURE, i, 6, i);
        save_whole_run(store, &run);
        run_free(&run);
    }
    store_close(store);
    return 0;
}

AROUND_ALL(set_up, NULL);

#define EXPECT(code, part, ...) PLUMB_EXPECT(&outcome, repo.directory, code, part, __VA_ARGS__)

static bool is_there(const char *name)
{
    struct stat info;
    return stat(in_repo(name), &info) == 0 && info.st_size > 0;
}

TEST(site_is_written_once)
{
    static const char *const files[] = {
        "site/index.html", "site/index.json", "site/accuracy.html", "site/accuracy.json",
        "site/runs.html",  "site/runs.json",  "site/compare.html",  "site/feed.xml"};
    EXPECT(0, "files written, 0 unchanged", "site", "--store=made.db");
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        if (!is_there(files[i]))
            fail_msg("no %s", files[i]);
    }
    EXPECT(0, " 0 files written", "site", "--store=made.db");
    EXPECT(0, "0 unchanged", "site", "--store=made.db", "--points=10", "--out=few");
    EXPECT(0, "files written, 0 unchanged", "site", "--store=made.db", "--out=other",
           "--commit-url=https://example.org/commit/", "--site-url=https://example.org/");
}

// Another process holds the store longer than we wait: the site is written, only nothing is kept.
TEST(busy_store_is_read_and_complained_of)
{
    sqlite3 *db = NULL;
    char *copy = xprintf("cp '%s' '%s'", in_repo("made.db"), in_repo("busy.db"));
    assert_int_equal(system(copy), 0);
    free(copy);
    assert_int_equal(sqlite3_open(in_repo("busy.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DELETE FROM run_accuracy_known; DELETE FROM judgement_changes; "
                                  "DELETE FROM chart_points; DELETE FROM judgements",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    EXPECT(0, "not kept", "site", "--store=busy.db", "--out=busy");
    sqlite3_close(db);
    assert_true(is_there("busy/index.html") && is_there("busy/accuracy.json"));
}

TEST(bad_use_of_site_and_history_ends_with_4)
{
    EXPECT(4, "there is none", "site", "--store=nothing.db");
    EXPECT(4, "takes no 'x'", "site", "x");
    EXPECT(4, "cannot be created", "site", "--store=made.db", "--out=no/such/folder");
    char *link = xprintf("mkdir '%s' && ln -s .. '%s'", in_repo("linked"), in_repo("linked/run"));
    assert_int_equal(system(link), 0);
    free(link);
    EXPECT(4, "a link leads out of the site", "site", "--store=made.db", "--out=linked");
    EXPECT(4, "none of its", "history", "--store=made.db", "--kernel=none*");
    EXPECT(4, "table, csv or json", "history", "--store=made.db", "--format=xml");
    EXPECT(4, "--column is for --csv", "history", "--store=made.db", "--column=x");
    EXPECT(4, "--kernel and --problem", "history", "--store=made.db", "x");
}

TEST(history_prints_its_formats)
{
    EXPECT(0, "4 of them without a change", "history", "--store=made.db", "--kernel=tile-00");
    EXPECT(0, "kernel,problem,device,kind,commit", "history", "--store=made.db", "--format=csv");
    EXPECT(0, "{\"series\":[", "history", "--store=made.db", "--format=json");
    EXPECT(0, "bias %", "history", "--store=made.db", "--accuracy");
    EXPECT(0, "model,kernel,dtype,device", "history", "--store=made.db", "--accuracy",
           "--format=csv");
    EXPECT(0, "{\"accuracy\":[", "history", "--store=made.db", "--accuracy", "--format=json");
}

static void night(int64_t runs)
{
    char *command = xprintf("sh '%s/ci/nightly' --repo '%s' --plumb '%s/plumb' --back 2 "
                            "--policy nightly.cfg > '%s/night.log' 2>&1",
                            TEST_SOURCE, repo.directory, TEST_BIN, repo.directory);
    struct store_report report;
    struct error err;
    int status = system(command);
    free(command);
    if (status == -1 || !WIFEXITED(status) || WEXITSTATUS(status) == 4)
        fail_msg("the night ended with %d, see night.log", status);
    struct store *store = scratch_store(in_repo(".plumb/store.db"), STORE_READ);
    assert_int_equal(store_info(&report, store, &err), 0);
    assert_int_equal(report.counts.runs, runs);
    assert_int_equal(report.counts.unfinished, 0);
    store_close(store);
}

TEST(night_measures_what_is_new_and_writes_the_site)
{
    helper_repo_policy(in_repo("nightly.cfg"), "\tproblem = 96x64x128:fp32\n",
                       "[measure]\n\tsamples = 6\n\ttimeout = 3\n[history]\n\tlink = off\n");
    night(3); // the last two commits, and the newest once more
    assert_true(is_there("nightly/site/index.html") && is_there("nightly/changes.json") &&
                is_there("nightly/accuracy.csv") && is_there("nightly/site/feed.xml"));
    night(4); // nothing is new
}

// Killed with all that it started, then started again: what was measured stays, the rest follows.
TEST(night_that_was_killed_goes_on)
{
    char *command = xprintf("timeout -s KILL 2 sh '%s/ci/nightly' --repo '%s' --plumb '%s/plumb' "
                            "--back 6 --policy nightly.cfg > '%s/killed.log' 2>&1",
                            TEST_SOURCE, repo.directory, TEST_BIN, repo.directory);
    int status = system(command);
    free(command);
    assert_true(status != -1);
    command = xprintf("sh '%s/ci/nightly' --repo '%s' --plumb '%s/plumb' --back 6 "
                      "--policy nightly.cfg > '%s/night.log' 2>&1",
                      TEST_SOURCE, repo.directory, TEST_BIN, repo.directory);
    status = system(command);
    free(command);
    assert_true(status != -1 && WIFEXITED(status) && WEXITSTATUS(status) < 4);
    struct store_report report;
    struct error err;
    struct store *store = scratch_store(in_repo(".plumb/store.db"), STORE_READ);
    assert_int_equal(store_check(&report, store, &err), 0);
    assert_int_equal(report.problems, 0);
    assert_int_equal(report.counts.unfinished, 0);
    assert_true(report.counts.commits > 2); // some share the tree of one that is known
    store_close(store);
    struct stat info;
    assert_int_equal(stat(in_repo("nightly/site/index.html"), &info), 0);
}

static bool file_has(const char *name, const char *text)
{
    FILE *file = fopen(in_repo(name), "r");
    static char bytes[1 << 20];
    size_t length = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
    bytes[length] = '\0';
    if (file)
        fclose(file);
    return strstr(bytes, text) != NULL;
}

// The checkout's policy, or the one that is named; never the one that a run brought along.
TEST(policy_says_where_commits_are)
{
    assert_true(mkdir(in_repo("ci"), 0777) == 0);
    helper_repo_policy(in_repo("ci/plumb.cfg"), "\tproblem = 96x64x128:fp32\n",
                       "[measure]\n\tsamples = 6\n\ttimeout = 3\n");
    EXPECT(0, "reports", "report", "--out=plain");
    assert_false(file_has("plain/index.html", "policy.example"));
    FILE *file = fopen(in_repo("ci/plumb.cfg"), "a");
    assert_non_null(file);
    fputs("[report]\n\tcommit-url = https://policy.example/c/%s/view\n"
          "\tsite-url = https://policy.example/nightly/\n",
          file);
    assert_int_equal(fclose(file), 0);
    EXPECT(0, "reports", "report", "--out=linked");
    char *link = xprintf("https://policy.example/c/%s/view", repo.ids[REPO_FASTER]);
    assert_true(file_has("linked/index.html", link));
    assert_true(file_has("linked/index.html", "https://policy.example/nightly/"));
    assert_true(file_has("linked/summary.md", link));
    EXPECT(0, "series", "site", "--out=linked/site");
    char *page = xprintf("linked/site/commit/%.10s.html", repo.ids[REPO_FASTER]);
    assert_true(file_has(page, link));
    assert_true(file_has("linked/site/feed.xml", "https://policy.example/nightly/feed.xml"));
    EXPECT(0, "series", "site", "--out=linked/site", "--commit-url=https://option.example/");
    assert_true(file_has(page, "https://option.example/"));
    free(page);
    free(link);
}
