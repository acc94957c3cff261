// SPDX-License-Identifier: Apache-2.0
//
// Whole gates by the real program on a device of two units (the fake bench): one verdict, series of
// both, a unit that is lost, one that is slow, and a run that was killed.
#include "baselines/store.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/helper_repo.h"
#include "tests/helpers/test.h"

#include <git2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *directory, *bench, *store;
static char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
static struct plumb_outcome outcome;

static void beside(const char *ending, const char *text)
{
    char *path = xprintf("%s.%s", bench, ending);
    if (text)
        helper_write_text(path, text);
    else
        unlink(path);
    free(path);
}

static void commit(char id[OBJECT_ID_TEXT], const char *branch, const char *parent, int value)
{
    static const char *const names[] = {"good-1",   "good-2",   "good-3",  "good-4",
                                        "slower-1", "slower-2", "slower-3"};
    struct helper_file files[ARRAY_COUNT(names)];
    char *text = xprintf("int value = %d;\n", value);
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        files[i] = (struct helper_file){xprintf("kernels/%s.c", names[i]), text, 0};
    helper_repo_commit(id, directory, branch, &parent, parent ? 1 : 0, value, "x\n", files,
                       ARRAY_COUNT(names));
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        free((char *)(uintptr_t)files[i].path);
    free(text);
}

static void write_policy(const char *device)
{
    char *path = xprintf("%s/policy.cfg", directory);
    char *text = xprintf(
        "[build]\n\tinput = kernels\n\tcommand = \"for f in \\\"$PLUMB_SOURCE\\\"/kernels/*.c; do "
        "cc -shared -fPIC -o \\\"$PLUMB_OUT/$(basename \\\"$f\\\" .c).so\\\" \\\"$f\\\" || exit 1; "
        "done\"\n[device \"pair\"]\n\tkind = host\n%s[problems \"p\"]\n\tproblem = 4x4x4:fp32\n"
        "[kernel \"*\"]\n\tproblems = p\n[gate]\n\tself-test = 3\n",
        device);
    helper_write_text(path, text);
    free(text);
    free(path);
}

static int set_up(void **state)
{
    git_repository *git = NULL;
    directory = helper_directory();
    bench = xprintf("%s/bench", directory);
    store = xprintf("%s/store.db", directory);
    char *copy = xprintf("cp '%s/fake_bench' '%s'", TEST_BIN, bench);
    if (system(copy) || git_libgit2_init() < 1 || git_repository_init(&git, directory, 0))
        return -1;
    free(copy);
    git_repository_free(git);
    commit(base, "base", NULL, 1);
    commit(head, "head", base, 2);
    write_policy("\tunits = 2\n");
    beside("units", "2");
    return 0;
}

static int tear_down(void **state)
{
    helper_discard(directory);
    free(directory);
    free(bench);
    free(store);
    return 0;
}

static void gate(void)
{
    char *policy = xprintf("%s/policy.cfg", directory);
    const char *argv[] = {"gate",    "--base", base,      "--head", head,        "--policy", policy,
                          "--bench", bench,    "--store", store,    "--sandbox", "off",      NULL};
    plumb_run(&outcome, directory, argv, 0);
    free(policy);
}

static void load_newest(struct run *run)
{
    struct store *stored;
    struct error err;
    int64_t newest;
    assert_int_equal(store_open(&stored, store, STORE_READ, &err), 0);
    assert_int_equal(store_last_run(&newest, stored, RUN_GATE, &err), 0);
    assert_int_equal(store_load_run(run, stored, newest, &err), 0);
    store_close(stored);
}

static void one_gate_on_two_units_has_the_verdict_of_one(void **state)
{
    struct run run;
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(outcome.output, "7 series side by side in "));
    assert_null(strstr(outcome.output, "not equal"));
    load_newest(&run);
    assert_int_equal(run.device_count, 2);
    assert_string_equal(run.devices[0].uuid, "fake-0001");
    assert_string_equal(run.devices[1].uuid, "fake-0002");
    assert_int_equal(run.self_test.series, 6); // three on each
    for (size_t i = 0; i < run.count; i++) {
        const struct result *r = &run.results[i];
        assert_in_range(r->device, 0, 1);
        if (strncmp(r->kernel, "slower", 6) == 0)
            assert_int_equal(r->verdict.processes, 4);
    }
    run_free(&run);
}

static void unit_that_is_one_percent_slow_is_told_apart(void **state)
{
    beside("slow", "1 1.01");
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(
        strstr(outcome.output, "device pair: fake-0002 is 1.00 % slower than fake-0001"));
    assert_non_null(strstr(outcome.output, "they are not equal"));
    beside("slow", NULL);
}

static void unit_that_is_lost_leaves_its_series_to_the_other(void **state)
{
    struct run run;
    beside("breaks", "1 4");
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(
        strstr(outcome.output, "fake-0002 was lost, its series go to the others: device"));
    load_newest(&run);
    for (size_t i = 0; i < run.count; i++)
        assert_int_equal(run.results[i].verdict.kind, strncmp(run.results[i].kernel, "slower", 6)
                                                          ? VERDICT_SAME
                                                          : VERDICT_SLOWER);
    run_free(&run);
    // The next gate finds it gone, and says so.
    beside("breaks", NULL);
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(outcome.output, "device pair: unit 1 is not here"));
    beside("gone.1", NULL);
}

static void first_unit_may_be_the_one_that_is_gone(void **state)
{
    struct run run;
    beside("gone.0", "");
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(outcome.output, "device pair: unit 0 is not here"));
    load_newest(&run);
    assert_int_equal(run.device_count, 1);
    assert_string_equal(run.devices[0].uuid, "fake-0002");
    run_free(&run);
    beside("gone.0", NULL);
}

// Both parts were on both units.
static void parts_of_such_gates_are_joined(void **state)
{
    char *policy = xprintf("%s/policy.cfg", directory);
    const char *const parts[] = {"1/2", "2/2"}, *const stores[] = {"part-1.db", "part-2.db"};
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {"gate", "--base",  base,     "--head",  head,      "--policy",
                              policy, "--bench", bench,    "--store", stores[i], "--sandbox",
                              "off",  "--part",  parts[i], NULL};
        plumb_run(&outcome, directory, argv, 0);
        plumb_said(&outcome, 0, "");
    }
    const char *merge[] = {"store", "merge", "--store", "parts.db", stores[0], stores[1], NULL};
    plumb_run(&outcome, directory, merge, 0);
    plumb_said(&outcome, 0, "");
    const char *join[] = {"gate", "--base",  base,  "--head", head,       "--policy",
                          policy, "--store", store, "--join", "parts.db", NULL};
    plumb_run(&outcome, directory, join, 0);
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    free(policy);
}

static void other_commands_use_the_first_alone(void **state)
{
    char *policy = xprintf("%s/policy.cfg", directory);
    struct store *stored;
    struct run run;
    struct error err;
    int64_t newest;
    const char *argv[] = {"run",     head,  "--policy",  policy, "--bench", bench,
                          "--store", store, "--sandbox", "off",  NULL};
    plumb_run(&outcome, directory, argv, 0);
    plumb_said(&outcome, 0, "OK");
    assert_int_equal(store_open(&stored, store, STORE_READ, &err), 0);
    assert_int_equal(store_last_run(&newest, stored, RUN_MEASURE, &err), 0);
    assert_int_equal(store_load_run(&run, stored, newest, &err), 0);
    assert_int_equal(run.device_count, 1);
    run_free(&run);
    store_close(stored);
    free(policy);
}

static void policy_without_units_is_one(void **state)
{
    struct run run;
    write_policy("");
    gate();
    plumb_said(&outcome, 1, "SLOWER: 3 slower, 4 same");
    load_newest(&run);
    assert_int_equal(run.device_count, 1);
    run_free(&run);
    write_policy("\tunits = 17\n");
    gate();
    plumb_said(&outcome, 4, "device.units = 17: needs a whole number from 1 to 16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_gate_on_two_units_has_the_verdict_of_one),
        cmocka_unit_test(unit_that_is_one_percent_slow_is_told_apart),
        cmocka_unit_test(unit_that_is_lost_leaves_its_series_to_the_other),
        cmocka_unit_test(first_unit_may_be_the_one_that_is_gone),
        cmocka_unit_test(parts_of_such_gates_are_joined),
        cmocka_unit_test(other_commands_use_the_first_alone),
        cmocka_unit_test(policy_without_units_is_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
