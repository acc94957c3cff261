// SPDX-License-Identifier: Apache-2.0
//
// plumb study with the real bench on the host: kernels that differ by a factor are found, kernels
// compared with themselves are not, and the table of the gates is whole.
// Label: measured
// Label: alone
// Label: unsanitized
#include "tests/helpers/helper_loop.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *directory;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    directory = helper_directory();
    assert_int_equal(helper_loop_build(directory), 0);
    return 0;
}

AROUND_ALL(set_up, NULL);

TEST(study_finds_what_was_put_in_and_nothing_else)
{
    const char *argv[] = {"study",     "--base",        "base",     "--head", "head",
                          "--problem", "32x32x64:fp32", "--rounds", "2",      "--csv",
                          "gates.csv", "--faster",      NULL};
    plumb_run(&outcome, directory, argv, 0);
    if (outcome.code != 0 || !strstr(outcome.output, "A/A: 0 false alarms in 2 gates") ||
        !strstr(outcome.output, "slower 2 faster 0") ||
        !strstr(outcome.output, "slower 0 faster 2"))
        fail_msg("exit %d:\n%s", outcome.code, outcome.output);
    char *path = xprintf("%s/gates.csv", directory), line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t rows = 0;
    while (fgets(line, sizeof(line), file)) {
        size_t commas = 0;
        for (const char *c = line; *c; c++)
            commas += *c == ',';
        assert_int_equal(commas, 15);
        rows++;
    }
    fclose(file);
    free(path);
    assert_int_equal(rows, 1 + 2 * 3);
}

// How many different values of a key the commands have that open a series; *opens: how many such
// commands there are.
static size_t count_values(size_t *opens, const char *key)
{
    char *path = xprintf("%s/asked", directory), line[4096], seen[256][32];
    char *field = xprintf("\t%s=", key);
    FILE *file = fopen(path, "r");
    size_t count = 0;
    assert_non_null(file);
    for (*opens = 0; fgets(line, sizeof(line), file);) {
        const char *at = strstr(line, field);
        char value[32];
        size_t i = 0;
        if (strncmp(line, "open\t", 5) != 0)
            continue;
        ++*opens;
        assert_non_null(at);
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(at + strlen(field), "\t\n"),
                 at + strlen(field));
        while (i < count && strcmp(seen[i], value) != 0)
            i++;
        assert_true(i < ARRAY_COUNT(seen));
        snprintf(seen[i], sizeof(seen[i]), "%s", value);
        count += i == count;
    }
    fclose(file);
    free(path);
    free(field);
    return count;
}

static size_t count_rows(const char *name, const char *with)
{
    char *path = xprintf("%s/%s", directory, name), line[4096];
    FILE *file = fopen(path, "r");
    size_t count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, with) != NULL;
    fclose(file);
    free(path);
    return count;
}

// Two processes for the first stage of ten gates, and at most three each to confirm what was found.
// Each gate has an order and contents of its own, and a number of its own in the tables.
TEST(gates_of_a_round_share_processes_and_are_drawn_apart)
{
    char *bench = xprintf("%s/heard", directory);
    FILE *file = fopen(bench, "w");
    assert_true(file &&
                fprintf(file, "#!/bin/sh\ntee -a '%s/asked' | exec '" TEST_BIN "/bench' \"$@\"\n",
                        directory) > 0 &&
                fclose(file) == 0 && chmod(bench, 0755) == 0);
    const char *argv[] = {"study",         "--base",   "base", "--head",  "head", "--problem",
                          "32x32x64:fp32", "--rounds", "2",    "--gates", "5",    "--csv",
                          "many.csv",      "--bench",  bench,  NULL};
    size_t opens;
    plumb_run(&outcome, directory, argv, 0);
    const char *processes = strstr(outcome.output, "2 rounds, ");
    if (outcome.code != 0 || !processes || atoi(processes + 10) > 2 + 2 * 3 ||
        !strstr(outcome.output, "slower 10 faster 0") ||
        !strstr(outcome.output, "aa      cold              10       0") ||
        !strstr(outcome.output, "found: 100.0 %"))
        fail_msg("exit %d:\n%s", outcome.code, outcome.output);
    // A series of each gate has the seed of its gate and the number of its process together.
    assert_true(count_values(&opens, "seed") >= 10);
    assert_true(opens >= 20);
    for (int gate = 0; gate < 10; gate++) {
        char of[64];
        snprintf(of, sizeof(of), "slower,loop,32x32x64:fp32-fp32:tn,%d,slower", gate);
        assert_int_equal(count_rows("many.csv", of), 1);
    }
    free(bench);
}

// Stored, it says so itself, and so does what comes later from the same device.
TEST(study_of_directories_is_stored_and_reported)
{
    const char *argv[] = {"study",     "--base",        "base",     "--head", "head",
                          "--problem", "32x32x64:fp32", "--rounds", "1",      "--store",
                          "s.db",      "--out",         "page",     NULL};
    plumb_run(&outcome, directory, argv, 0);
    if (outcome.code != 0 || !strstr(outcome.output, "OK: 0 false alarms in 1 gates"))
        fail_msg("exit %d:\n%s", outcome.code, outcome.output);
    const char *report[] = {"report", "--store", "s.db", "--format", "markdown", NULL};
    plumb_run(&outcome, directory, report, 0);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.output, "| aa | loop | 32x32x64:fp32"));
    assert_non_null(strstr(outcome.output, "| slower | loop | 32x32x64:fp32"));
    const char *html[] = {"report", "--store", "s.db", "--format", "html", NULL};
    plumb_run(&outcome, directory, html, 0);
    assert_non_null(strstr(outcome.output, "0 in 1 gate of identical code by studies"));
    assert_non_null(strstr(outcome.output, "What the study found"));
    // A recording decides nothing, so it is no part of that record.
    const char *recording[] = {
        "study",    "--base", "base",    "--problem", "32x32x64:fp32", "--exact-pairs", "24",
        "--rounds", "2",      "--store", "s.db",      "--samples",     "times.csv",     NULL};
    plumb_run(&outcome, directory, recording, 0);
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.output, "by pairs"));
    assert_non_null(strstr(outcome.output, "aa      loop                   32x32x64:fp32-fp32:tn"
                                           "                  2"));
    plumb_run(&outcome, directory, html, 0);
    assert_non_null(strstr(outcome.output, "0 in 1 gate of identical code by studies"));
    char *path = xprintf("%s/times.csv", directory), line[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t rows = 0;
    while (fgets(line, sizeof(line), file)) {
        size_t spaces = 0;
        for (const char *c = line; *c; c++)
            spaces += *c == ' ';
        if (rows++ > 0)
            assert_int_equal(spaces, 2 * (2 * 24 - 1)); // times, then clocks
    }
    fclose(file);
    free(path);
    assert_int_equal(rows, 1 + 2);
}

// Built as a gate builds them; the kernel that did not change is only compared with itself. A
// problem is meant in the policy's regime.
TEST(study_of_commits_builds_and_stores)
{
    struct helper_repo repo;
    helper_repo_create(&repo);
    char *policy = xprintf("%s/plumb-policy.cfg", repo.directory);
    helper_repo_policy(policy,
                       "\tproblem = 96x64x128:fp32\n\tproblem = 65x33x257:fp32\n"
                       "\tregime = warm\n",
                       "");
    const char *argv[] = {"study",
                          "--base",
                          repo.ids[REPO_MERGE],
                          "--head",
                          repo.ids[REPO_SLOWER],
                          "--policy",
                          policy,
                          "--problem",
                          "96x64x128:fp32",
                          "--rounds",
                          "1",
                          "--margin",
                          "4",
                          NULL};
    plumb_run(&outcome, repo.directory, argv, 0);
    if (outcome.code != 0 || !strstr(outcome.output, "false alarms in 2 gates"))
        fail_msg("exit %d:\n%s", outcome.code, outcome.output);
    const char *report[] = {"report", "--format", "markdown", NULL};
    plumb_run(&outcome, repo.directory, report, 0);
    assert_non_null(strstr(outcome.output, "| aa | blocked | 96x64x128:fp32-fp32:tn:warm"));
    assert_null(strstr(outcome.output, "| slower | blocked |"));
    assert_non_null(strstr(outcome.output, "| slower | simple | 96x64x128:fp32-fp32:tn:warm"));
    free(policy);
    helper_repo_remove(&repo);
}

// kill -9: the rounds that were played are there, but an interrupted study vouches for nothing.
TEST(killed_study_keeps_its_rounds)
{
    const char *argv[] = {"study",    "--base", "base",    "--problem", "32x32x64:fp32",
                          "--rounds", "1000",   "--store", "killed.db", NULL};
    const char *report[] = {"report", "--store",  "killed.db", "--run",
                            "1",      "--format", "markdown",  NULL};
    bool found = false;
    // The machine may be too busy for one round in the first of these.
    for (double after_s = 2; !found && after_s <= 32; after_s *= 2) {
        char *store = xprintf("%s/killed.db", directory);
        unlink(store);
        free(store);
        plumb_run(&outcome, directory, argv, after_s);
        assert_int_equal(outcome.code, -1);
        plumb_run(&outcome, directory, report, 0);
        found = strstr(outcome.output, "| aa | loop | 32x32x64:fp32") != NULL;
    }
    assert_true(found);
    const char *html[] = {"report", "--store", "killed.db", "--run", "1", "--format", "html", NULL};
    plumb_run(&outcome, directory, html, 0);
    assert_null(strstr(outcome.output, "gates of identical code by studies"));
}

TEST(study_refuses_what_it_cannot_study)
{
    const char *none[] = {"study", "--problem", "32x32x64:fp32", NULL};
    plumb_run(&outcome, directory, none, 0);
    assert_int_equal(outcome.code, 4);
    const char *missing[] = {"study", "--base", "nowhere", "--problem", "32x32x64:fp32", NULL};
    plumb_run(&outcome, directory, missing, 0);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.output, "nowhere"));
    const char *twice[] = {"study",         "--base",    "base",          "--problem",
                           "32x32x64:fp32", "--problem", "32x32x64:fp32", NULL};
    plumb_run(&outcome, directory, twice, 0);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.output, "each may be there once"));
    const char *unfit[] = {"study", "--base", "base", "--problem", "32x32x64:bf16", NULL};
    plumb_run(&outcome, directory, unfit, 0);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.output, "no library has a kernel for these problems"));
}
