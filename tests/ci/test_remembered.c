// SPDX-License-Identifier: Apache-2.0
//
// A kernel that hangs or crashes is remembered by its code: it costs its time limit once. What was
// had less time than it has now is not remembered.
// Label: measured
// Label: unsanitized
#include "model/base.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char hang[OBJECT_ID_TEXT], later[OBJECT_ID_TEXT]; // `simple` has one code in both

// Another version of the other kernel, whose code stays too.
static void commit_after(char out[OBJECT_ID_TEXT], const char *parent, const char *branch,
                         const struct helper_file *more, size_t count)
{
    char *path = xprintf("%s/kernels/blocked.c", repo.directory);
    char *source = helper_read(path, NULL), *text = xprintf("%s// another\n", source);
    struct helper_file files[2] = {{"kernels/blocked.c", text, 0}};
    assert_true(count < ARRAY_COUNT(files));
    for (size_t i = 0; i < count; i++)
        files[1 + i] = more[i];
    helper_repo_commit(out, repo.directory, branch, &parent, 1, 40, "later\n", files, 1 + count);
    free(path);
    free(source);
    free(text);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    memcpy(hang, repo.ids[REPO_HANG], sizeof(hang));
    commit_after(later, hang, "later", NULL, 0);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void plumb(const char *const *words, int timeout_s)
{
    char *policy = xprintf("%s/policy.cfg", repo.directory);
    char *rest =
        xprintf("[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n\ttimeout = %d\n", timeout_s);
    const char *argv[10] = {0};
    size_t count = 0;
    helper_repo_policy(policy, "\tproblem = 32x32x32:fp32\n", rest);
    for (; words[count]; count++)
        argv[count] = words[count];
    argv[count++] = "--policy";
    argv[count] = policy;
    plumb_run(&outcome, repo.directory, argv, 0);
    free(policy);
    free(rest);
}

#define PLUMB(timeout_s, ...) plumb((const char *const[]){__VA_ARGS__, NULL}, timeout_s)

// How many measurements ended so.
static int measured(const char *state)
{
    char *path = xprintf("%s/.plumb/store.db", repo.directory);
    char *sql = xprintf("SELECT count(*) FROM measurements WHERE state = '%s'", state);
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    free(path);
    free(sql);
    return count;
}

TEST(a_hang_costs_its_limit_once)
{
    PLUMB(3, "run", hang);
    plumb_said(&outcome, 3, "no answer within 3 s");
    PLUMB(3, "run", later);
    plumb_said(&outcome, 3, "no answer within 3 s; known from before and not tried");
    assert_int_equal(measured("timeout"), 1);
    // Nor does it cost anything in a gate, on either side.
    PLUMB(3, "gate", "--base", repo.ids[REPO_RIGHT], "--head", later);
    plumb_said(&outcome, 3, "no answer within 3 s");
    PLUMB(3, "gate", "--base", later, "--head", repo.ids[REPO_AWAKE]);
    plumb_said(&outcome, 0, "OK");
    assert_int_equal(measured("timeout"), 1 + 1); // the second is the gate's copy of its base's
    assert_null(strstr(outcome.output, "no answer within"));
}

TEST(asked_again_or_with_more_time_it_is_measured_anew)
{
    const int before = measured("timeout");
    PLUMB(3, "run", "--again", later);
    plumb_said(&outcome, 3, "no answer within 3 s");
    assert_int_equal(measured("timeout"), before + 1);
    PLUMB(4, "gate", "--base", repo.ids[REPO_RIGHT], "--head", later);
    plumb_said(&outcome, 3, "no answer within 4 s");
    assert_int_equal(measured("timeout"), before + 2);
}

// A kernel whose process ends by `signal` at its first launch, at two commits.
static void ends_twice(const char *branch, const char *signal)
{
    char *path = xprintf("%s/kernels/plain.c", repo.directory);
    char *source = helper_read(path, NULL), first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    char *at = strstr(source, "    (void)stream;\n");
    assert_non_null(at);
    char *text = xprintf("#include <signal.h>\n%.*s    raise(%s);\n%s", (int)(at - source), source,
                         signal, at);
    const struct helper_file file = {"kernels/plain.c", text, 0};
    const char *parent = repo.ids[REPO_FASTER];
    char *name = xprintf("%s-later", branch);
    helper_repo_commit(first, repo.directory, branch, &parent, 1, 41, "ends\n", &file, 1);
    commit_after(second, first, name, NULL, 0);
    PLUMB(30, "run", first);
    plumb_said(&outcome, 3, "the process died");
    PLUMB(30, "run", second);
    plumb_said(&outcome, 3, "the process died");
    free(name);
    free(path);
    free(source);
    free(text);
}

// A library cannot pose as somebody outside who ended its process (kernels/bench/arm_worker.c);
// what is not remembered, because it was not its own doing, is in
// tests/runner/test_measure_series.c.
TEST(a_crash_is_remembered_and_so_is_an_end_of_its_own)
{
    ends_twice("crashes", "SIGSEGV");
    assert_int_equal(measured("crashed"), 1);
    ends_twice("ended", "SIGTERM");
    assert_int_equal(measured("crashed"), 1 + 1);
}
