// SPDX-License-Identifier: Apache-2.0
//
// What users get wrong, and what machines do to them: each gives one clear line and exit code 4
// (or the verdict that fits), and loses nothing.
#include "baselines/store.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char *outside; // a directory that is no repository

static char *in_repo(const char *name)
{
    return xprintf("%s/%s", repo.directory, name);
}

static const char policy_head[] =
    "[build]\n\tinput = kernels\n\tinput = include\n"
    "\tcommand = \"for f in kernels/*.c; do cc -O2 -std=gnu17 -shared -fPIC -Iinclude "
    "-o \\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; done\"\n"
    "[problems \"p\"]\n\tproblem = 32x32x32:fp32\n"
    "[kernel \"*\"]\n\tproblems = p\n"
    "[gate]\n\tself-test = 0\n[measure]\n\tsamples = 4\n\ttimeout = 5\n";

static char *policy(const char *name, const char *more)
{
    char *path = in_repo(name), *text = xprintf("%s%s", policy_head, more);
    helper_write_text(path, text);
    free(text);
    return path;
}

// What is asked here is not asked of a profile, and each new store would have one measured.
static void know_host(const char *folder, const char *name)
{
    char *path = xprintf("%s/%s", folder, name);
    helper_repo_know_host(&repo, path);
    free(path);
}

static int set_up(void **state)
{
    helper_repo_create(&repo);
    outside = helper_directory();
    free(policy("good.cfg", "[device \"host\"]\n\tkind = host\n"));
    helper_repo_know_host(&repo, NULL);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void run_in(const char *directory, const char *a, const char *b, const char *c,
                   const char *d, const char *e, const char *f)
{
    const char *argv[] = {a, b, c, d, e, f, NULL};
    plumb_run(&outcome, directory, argv, 0);
}

TEST(no_repository_is_said)
{
    run_in(outside, "gate", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "repository");
    run_in(outside, "run", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "repository");
}

// Where no base is known to build in less, the machine may have been busy.
TEST(a_build_that_runs_out_of_time_is_tried_again_and_is_no_verdict)
{
    char *file = in_repo("slow.cfg");
    helper_write_text(file, "[build]\n\tcommand = sleep 30\n\ttimeout = 1\n[problems \"p\"]\n"
                            "\tproblem = 32x32x32:fp32\n[kernel \"*\"]\n\tproblems = p\n"
                            "[device \"host\"]\n\tkind = host\n");
    run_in(repo.directory, "run", "HEAD", "--policy", file, NULL, NULL);
    plumb_said(&outcome, 4, "its build was not done: killed after");
    plumb_said(&outcome, 4, "(twice)");
    free(file);
}

TEST(bare_repository_works)
{
    char *command = xprintf("git -c safe.directory='*' clone -q --bare '%s' '%s/bare.git'",
                            repo.directory, outside);
    char *bare = xprintf("%s/bare.git", outside), *file = in_repo("good.cfg");
    assert_int_equal(system(command), 0);
    know_host(bare, "plumb/store.db");
    run_in(bare, "run", "HEAD", "--policy", file, NULL, NULL);
    plumb_said(&outcome, 0, "OK");
    free(command);
    free(bare);
    free(file);
}

// gate takes it from the base; what has no base takes it from where HEAD points.
TEST(bare_repository_holds_the_policy)
{
    char *bare = xprintf("%s/holds.git", outside), *hit = in_repo("good.cfg");
    char *command =
        xprintf("git -c safe.directory='*' clone -q --bare '%s' '%s'", repo.directory, bare);
    char *text = helper_read(hit, NULL), id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"ci/plumb.cfg", text, 0};
    assert_int_equal(system(command), 0);
    know_host(bare, "plumb/store.db");
    helper_repo_commit(id, bare, "main", &parent, 1, 40, "policy", &file, 1);
    run_in(bare, "calibrate", "--only", "no_such_figure", NULL, NULL, NULL);
    assert_null(strstr(outcome.output, "not there"));
    run_in(bare, "list", "devices", NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 0, "host: ");
    run_in(bare, "run", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 0, "OK");
    run_in(bare, "gate", "--base", "main", "--head", "main", NULL);
    plumb_said(&outcome, 0, "OK");
    // A sparse checkout has the files of its root alone; HEAD has the policy.
    char *sparse = xprintf("%s/sparse", outside);
    char *clone = xprintf("git -c safe.directory='*' clone -q --sparse '%s' '%s' 2>/dev/null && "
                          "git -C '%s' sparse-checkout set nothing && test ! -e '%s/ci'",
                          bare, sparse, sparse, sparse);
    assert_int_equal(system(clone), 0);
    run_in(sparse, "list", "devices", NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 0, "host: ");
    plumb_said(&outcome, 0, "ci/plumb.cfg is not checked out, so HEAD's is read");
    free(clone);
    free(sparse);
    free(command);
    free(bare);
    free(hit);
    free(text);
}

TEST(shallow_clone_says_how_to_fetch_the_rest)
{
    char *command = xprintf("git -c safe.directory='*' clone -q --depth 1 'file://%s' '%s/shallow'",
                            repo.directory, outside);
    char *clone = xprintf("%s/shallow", outside), *file = in_repo("good.cfg");
    assert_int_equal(system(command), 0);
    run_in(clone, "gate", "--policy", file, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "unshallow");
    free(command);
    free(clone);
    free(file);
}

TEST(partial_clone_says_how_to_fetch_what_it_lacks)
{
    char *whole = xprintf("%s/whole.git", outside), *clone = xprintf("%s/partial.git", outside);
    char *command = xprintf("git -c safe.directory='*' clone -q --bare '%s' '%s' && "
                            "git -C '%s' config uploadpack.allowFilter true",
                            repo.directory, whole, whole);
    char *filtered =
        xprintf("git clone -q --bare --filter=blob:none 'file://%s' '%s'", whole, clone);
    char id[OBJECT_ID_TEXT];
    const char *parent = repo.ids[REPO_FASTER];
    const struct helper_file file = {"ci/plumb.cfg", "[build]\n", 0};
    assert_int_equal(system(command), 0);
    helper_repo_commit(id, whole, "main", &parent, 1, 40, "policy", &file, 1);
    assert_int_equal(system(filtered), 0);
    // libgit2 1.5 keeps what it matched names of a configuration with that has extensions.
    char *kept = xprintf("%s/kept.txt", outside), *options = xprintf("suppressions=%s", kept);
    helper_write_text(kept, "leak:libpcre2\n");
    setenv("LSAN_OPTIONS", options, 1);
    run_in(clone, "gate", "--base", "main", "--head", "main", NULL);
    unsetenv("LSAN_OPTIONS");
    plumb_said(&outcome, 4, ":ci/plumb.cfg: object not found");
    plumb_said(&outcome, 4, "git fetch --refetch --no-filter");
    free(kept);
    free(options);
    free(whole);
    free(clone);
    free(command);
    free(filtered);
}

TEST(unknown_revision_is_named)
{
    run_in(repo.directory, "gate", "--head", "no-such-branch", NULL, NULL, NULL);
    plumb_said(&outcome, 4, "no-such-branch");
}

TEST(policy_with_an_unknown_key_names_its_line)
{
    char *file = policy("bad.cfg", "[device \"host\"]\n\tkind = host\n\tcolour = blue\n");
    run_in(repo.directory, "gate", "--policy", file, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "bad.cfg:16: unknown key colour");
    free(file);
}

TEST(policy_that_is_a_directory_or_missing_is_said)
{
    run_in(repo.directory, "gate", "--policy", outside, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "not a regular file");
    char *pipe = in_repo("pipe"); // that nobody writes to
    assert_int_equal(mkfifo(pipe, 0600), 0);
    run_in(repo.directory, "gate", "--policy", pipe, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "not a regular file");
    unlink(pipe);
    free(pipe);
    run_in(repo.directory, "gate", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "plumb init");
}

TEST(no_device_is_said)
{
    char *file = policy("cuda.cfg", "[device \"gpu\"]\n\tkind = cuda\n\tindex = 99\n");
    run_in(repo.directory, "gate", "--policy", file, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "device gpu");
    free(file);
    file = in_repo("good.cfg");
    run_in(repo.directory, "gate", "--policy", file, "--device", "tpu", NULL);
    plumb_said(&outcome, 4, "there is no [device \"tpu\"]");
    free(file);
}

TEST(unwritable_store_is_said)
{
    char *file = in_repo("good.cfg");
    run_in(repo.directory, "gate", "--policy", file, "--store", "/proc/plumb.db", NULL);
    plumb_said(&outcome, 4, "/proc/plumb.db");
    run_in(repo.directory, "gate", "--policy", file, "--store", repo.directory, NULL);
    plumb_said(&outcome, 4, repo.directory);
    char *text = helper_file("this is not a database, it is a text of some length\n");
    run_in(repo.directory, "gate", "--policy", file, "--store", text, NULL);
    plumb_said(&outcome, 4, text);
    free(file);
}

TEST(full_disk_loses_nothing)
{
    char *file = in_repo("good.cfg"), *path = xprintf("%s/full.db", outside);
    know_host(outside, "full.db");
    run_in(repo.directory, "run", "HEAD", "--policy", file, "--store", path);
    plumb_said(&outcome, 0, "OK");
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    plumb_file_limit = (uint64_t)before.st_size + 4096;
    const char *argv[] = {"run", "ALL", "--policy", file, "--store", path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_file_limit = 0;
    plumb_said(&outcome, 4, "full.db");
    struct store *store = NULL;
    struct store_report report;
    struct error err = {""};
    if (store_open(&store, path, STORE_WRITE, &err) || store_check(&report, store, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.problems, 0);
    assert_true(report.counts.measurements >= 2);
    store_close(store);
    free(file);
    free(path);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(newer_store_is_refused)
{
    char *file = in_repo("good.cfg"), *path = xprintf("%s/newer.db", outside);
    know_host(outside, "newer.db");
    run_in(repo.directory, "run", "HEAD", "--policy", file, "--store", path);
    plumb_said(&outcome, 0, "OK");
    sql(path, "PRAGMA user_version = 999");
    const char *argv[] = {"run", "HEAD", "--policy", file, "--store", path, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, "newer");
    free(file);
    free(path);
}

TEST(store_locked_by_another_process_is_waited_for_then_said)
{
    char *file = in_repo("good.cfg"), *path = xprintf("%s/locked.db", outside);
    know_host(outside, "locked.db");
    const char *argv[] = {"run", "HEAD~1", "--policy", file, "--store", path, NULL};
    run_in(repo.directory, "run", "HEAD", "--policy", file, "--store", path);
    plumb_said(&outcome, 0, "OK");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    plumb_run(&outcome, repo.directory, argv, 0);
    sqlite3_close(db);
    plumb_said(&outcome, 4, "locked");
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 0, "OK");
    free(file);
    free(path);
}

// That is not "no regression": neither the first time nor later, when the build is kept.
TEST(commit_that_does_not_build_is_broken_and_says_where)
{
    char *file = in_repo("good.cfg"), id[OBJECT_ID_TEXT];
    const char *bad = repo.ids[REPO_UNBUILDABLE], *parents[] = {bad};
    const struct helper_file readme = {"README", "the build does not read it\n", 0};
    helper_repo_commit(id, repo.directory, "later", parents, 1, REPO_COMMITS, "docs\n", &readme, 1);
    char *later = xprintf("BROKEN: commit %.12s does not build", id);
    char *both = xprintf("NOT BUILT: commit %.12s does not build, nor does its base %.12s: "
                         "kernels/plain.c:34: error",
                         id, bad);
    for (int i = 0; i < 2; i++) {
        run_in(repo.directory, "run", bad, "--policy", file, NULL, NULL);
        plumb_said(&outcome, 3, "does not build: kernels/plain.c:34: error: ");
        run_in(repo.directory, "run", id, "--policy", file, NULL, NULL);
        plumb_said(&outcome, 3, later);
    }
    plumb_said(&outcome, 3, "nothing to do");
    const char *argv[] = {"gate", "--head", id, "--policy", file, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, both); // not the change's doing
    plumb_said(&outcome, 4, "log: ");
    plumb_said(&outcome, 4, "the libraries that were built all the same are judged"); // blocked
    free(later);
    free(both);
    free(file);
}

TEST(another_abi_version_is_a_broken_build)
{
    static const char source[] =
        "#include \"kernel.h\"\n"
        "const struct plumb_library *plumb_library(void)\n"
        "{\n"
        "    static const struct plumb_library l = {99, 8, \"host\", 0, 0};\n"
        "    return &l;\n"
        "}\n";
    char id[OBJECT_ID_TEXT], *file = in_repo("good.cfg");
    const char *parents[] = {repo.ids[REPO_FASTER]};
    const struct helper_file files[] = {{"kernels/plain.c", source, 0}};
    helper_repo_commit(id, repo.directory, "abi", parents, 1, REPO_COMMITS, "other ABI\n", files,
                       1);
    const char *argv[] = {"gate", "--head", id, "--policy", file, NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 3, "ABI");
    free(file);
}

TEST(device_that_disappears_ends_the_run_and_keeps_what_was_measured)
{
    char id[OBJECT_ID_TEXT], *file = in_repo("good.cfg");
    char *bench = xprintf("%s/fake_bench", outside), *path = xprintf("%s/lost.db", outside);
    char *copy = xprintf("cp '" TEST_BIN "/fake_bench' '%s'", bench);
    assert_int_equal(system(copy), 0);
    const char *parents[] = {repo.ids[REPO_FASTER]};
    const struct helper_file files[] = {{"kernels/lost-pairs.c", "int nothing;\n", 0}};
    helper_repo_commit(id, repo.directory, "lost", parents, 1, REPO_COMMITS, "lost\n", files, 1);
    // Unconfined: the fake child leaves a file beside itself to say that its device is gone.
    const char *argv[] = {"run",     id,    "--policy",  file,  "--store", path,
                          "--bench", bench, "--sandbox", "off", NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, 4, "device");
    struct store *store = NULL;
    struct store_report report;
    struct error err = {""};
    if (store_open(&store, path, STORE_READ, &err) || store_info(&report, store, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.counts.unfinished, 1);
    assert_true(report.counts.measurements >= 1); // `blocked`, which came before
    store_close(store);
    free(file);
    free(bench);
    free(path);
    free(copy);
}

TEST(bad_usage_is_refused)
{
    run_in(repo.directory, "gate", "--bogus", NULL, NULL, NULL, NULL);
    assert_int_equal(outcome.code, 4);
    run_in(repo.directory, "nonsense", NULL, NULL, NULL, NULL, NULL);
    plumb_said(&outcome, 4, "not a command");
    run_in(repo.directory, "report", "--run", "77", NULL, NULL, NULL);
    assert_int_equal(outcome.code, 4);
}
