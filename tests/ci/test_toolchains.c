// SPDX-License-Identifier: Apache-2.0
//
// Toolchains of a policy, as a user names them: one source under two of them, a matrix of runs, a
// bisection over a list. No verdict of a comparison is asked for: that would ask how quiet the
// machine is.
// Label: unsanitized
#include "baselines/store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct helper_repo repo;
static struct plumb_outcome outcome;
static char policy_path[320];

static void write_compiler(const char *folder)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/bin", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    snprintf(path, sizeof(path), "%s/bin/cc", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("#!/bin/sh\nPATH=\"${PATH#*:}\" exec cc \"$@\" -O0\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

// "again" changes nothing that reaches a library, "plain" compiles with -O0.
static int set_up(void **state)
{
    char folder[320], rest[1000];
    helper_repo_create(&repo);
    helper_repo_know_host(&repo, NULL);
    snprintf(policy_path, sizeof(policy_path), "%s/plumb-policy.cfg", repo.directory);
    snprintf(folder, sizeof(folder), "%s/compiler", repo.directory);
    write_compiler(folder);
    snprintf(rest, sizeof(rest),
             "[gate]\n\tseconds = 2\n\tself-test = 0\n[measure]\n\tsamples = 3\n"
             "[toolchain \"again\"]\n\tset = UNUSED=1\n"
             "[toolchain \"plain\"]\n\tprefix = %s\n",
             folder);
    helper_repo_policy(policy_path, "\tproblem = 32x32x32:fp32\n", rest);
    return 0;
}

AROUND_ALL(set_up, NULL);

static void plumb(const char *const *argv, int code, const char *part)
{
    plumb_run(&outcome, repo.directory, argv, 0);
    plumb_said(&outcome, code, part);
}

static struct store *open_store(void)
{
    char path[320];
    struct store *store;
    struct error err;
    snprintf(path, sizeof(path), "%s/.plumb/store.db", repo.directory);
    assert_int_equal(store_open(&store, path, STORE_READ, &err), 0);
    return store;
}

static void last_run(struct run *out, int kind)
{
    struct store *store = open_store();
    struct error err;
    int64_t id;
    assert_int_equal(store_last_run(&id, store, kind, &err), 0);
    assert_int_equal(store_load_run(out, store, id, &err), 0);
    store_close(store);
}

TEST(same_bytes_by_two_toolchains_are_not_measured)
{
    const char *argv[] = {"gate",  "--head",   repo.ids[REPO_MERGE], "--head-toolchain",
                          "again", "--policy", policy_path,          "--out",
                          "none",  NULL};
    struct run run;
    plumb(argv, 0, "toolchain default -> again, 2 of 2 the same bytes");
    last_run(&run, RUN_GATE);
    assert_string_equal(run.base.id, run.head.id);
    assert_null(run.toolchain[ROLE_BASE]);
    assert_string_equal(run.toolchain[ROLE_HEAD], "again");
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = &run.results[i];
        assert_int_equal(r->verdict.kind, VERDICT_SAME);
        assert_int_equal(r->verdict.pairs, 0);
        assert_non_null(strstr(r->verdict.sentence, "is the same bytes by both toolchains"));
    }
    run_free(&run);
}

TEST(one_source_by_two_compilers_is_compared)
{
    const char *argv[] = {"gate",     "--head",   repo.ids[REPO_MERGE], "--head-toolchain",
                          "plain",    "--policy", policy_path,          "--out",
                          "compared", NULL};
    struct run run;
    plumb_run(&outcome, repo.directory, argv, 0); // whatever it says of the time
    last_run(&run, RUN_GATE);
    assert_string_equal(run.toolchain[ROLE_HEAD], "plain");
    assert_int_equal(run.count, 2);
    for (size_t i = 0; i < run.count; i++)
        assert_string_not_equal(run.results[i].base_code, run.results[i].head_code);
    run_free(&run);
    char path[400], text[4096] = "";
    snprintf(path, sizeof(path), "%s/compared/junit.xml", repo.directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "name=\"head-toolchain\" value=\"plain\""));
}

static size_t points(const char *toolchain)
{
    struct store *store = open_store();
    struct arena arena = {0};
    struct series_entry *series;
    struct stored_points found;
    struct error err;
    size_t count, total = 0;
    const struct history_query query = {.toolchain = toolchain};
    assert_int_equal(store_list_series(&series, &count, store, &arena, &err), 0);
    for (size_t i = 0; i < count; i++) {
        const struct series one = {series[i].kernel, &series[i].problem, series[i].device_uuid};
        assert_int_equal(store_points(&found, store, &one, &query, &arena, &err), 0);
        total += found.count;
    }
    store_close(store);
    arena_free(&arena);
    return total;
}

TEST(toolchains_of_a_matrix_have_histories_of_their_own)
{
    const char *argv[] = {"run",   repo.ids[REPO_MERGE], "--toolchain", "default",  "--toolchain",
                          "plain", "--toolchain",        "again",       "--policy", policy_path,
                          NULL};
    plumb(argv, 0, "by plain");
    assert_int_equal(points(NULL), 2);
    assert_int_equal(points("plain"), 2);
    assert_int_equal(points("again"), 0); // the same bytes as the default's: measured already
    assert_int_equal(points("another"), 0);
    plumb(argv, 0, "nothing to do: 1 commit is measured already");
    assert_int_equal(points("plain"), 2);
    const char *plain[] = {"history", "--toolchain", "plain", NULL};
    plumb(plain, 0, "2 of 2 series: too few points");
    const char *json[] = {"history", "--toolchain", "plain", "--format", "json", NULL};
    plumb(json, 0, "\"points\":1");
    const char *again[] = {"history", "--toolchain", "again", NULL};
    plumb(again, 4, "has times by toolchain 'again'");
    const char *both[] = {"history", "--toolchain", "plain", "--comparisons", NULL};
    plumb(both, 4, "leave --toolchain out");
}

TEST(bisection_walks_toolchains)
{
    const char *same[] = {"bisect",
                          "--toolchain",
                          "default",
                          "--toolchain",
                          "again",
                          "--bad",
                          repo.ids[REPO_MERGE],
                          "--series",
                          "simple/32x32x32:fp32",
                          "--policy",
                          policy_path,
                          NULL};
    plumb(same, 2, "runs the same machine code at both ends");
    const char *dry[] = {"bisect",
                         "--toolchain",
                         "default",
                         "--toolchain",
                         "again",
                         "--toolchain",
                         "plain",
                         "--bad",
                         repo.ids[REPO_MERGE],
                         "--series",
                         "simple/32x32x32:fp32",
                         "--policy",
                         policy_path,
                         "--dry-run",
                         NULL};
    plumb(dry, 0, "one of 2 toolchains is searched for; at most 0 of them would be built");
    const char *few[] = {"bisect",   "--toolchain",          "again",
                         "--series", "simple/32x32x32:fp32", NULL};
    plumb(few, 4, "give at least two, the good one first");
    const char *twice[] = {"bisect",   "--toolchain",          "again", "--toolchain", "again",
                           "--series", "simple/32x32x32:fp32", NULL};
    plumb(twice, 4, "each once");
}

TEST(parts_are_joined_by_their_toolchains)
{
    static const char *const parts[] = {"1/2", "2/2"};
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        const char *argv[] = {"gate",   "--head",   repo.ids[REPO_MERGE], "--head-toolchain",
                              "again",  "--policy", policy_path,          "--part",
                              parts[i], "--store",  "parts.db",           NULL};
        plumb(argv, 0, "to be judged with the others");
    }
    const char *joined[] = {"gate",     "--head",   repo.ids[REPO_MERGE], "--head-toolchain",
                            "again",    "--policy", policy_path,          "--join",
                            "parts.db", NULL};
    plumb(joined, 0, "toolchain default -> again, 2 of 2 the same bytes");
    const char *others[] = {"gate",     "--head",   repo.ids[REPO_MERGE], "--head-toolchain",
                            "plain",    "--policy", policy_path,          "--join",
                            "parts.db", NULL};
    plumb(others, 4, "has no part of this gate");
}

TEST(unknown_toolchain_is_named_with_those_there_are)
{
    const char *argv[] = {"gate", "--head-toolchain", "gcc-99", "--policy", policy_path, NULL};
    plumb(argv, 4, "there is no [toolchain \"gcc-99\"]; there are: default, again, plain");
}

// A base's policy is trusted to say how to build; it names no folder of this machine that a build
// would not see anyway.
TEST(committed_policy_cannot_name_folders_of_the_machine)
{
    char id[OBJECT_ID_TEXT];
    struct helper_file policy = {"ci/plumb.cfg", NULL, 0};
    const char *parents[] = {repo.ids[REPO_MERGE]};
    FILE *file = fopen(policy_path, "re");
    char *text = xcalloc(1, 8192);
    assert_non_null(file);
    assert_true(fread(text, 1, 8191, file) > 0);
    fclose(file);
    policy.contents = text;
    helper_repo_commit(id, repo.directory, "policies", parents, 1, 50, "policy\n", &policy, 1);
    free(text);
    const char *argv[] = {"gate", "--head", id, "--head-toolchain", "plain", NULL};
    plumb(argv, 4, "a committed policy may name folders in /usr, /opt");
    const char *fine[] = {"gate", "--head", id, "--head-toolchain", "again", NULL};
    plumb(fine, 0, "same bytes");
}
