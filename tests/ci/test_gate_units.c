// SPDX-License-Identifier: Apache-2.0
//
// Whole gates by the real program on a device of two units (the fake bench): one verdict, series of
// both, a unit that is lost, one that is slow, and a run that was killed.
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

static struct fake_gate fake;
static char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];

static void beside(const char *ending, const char *text)
{
    fake_bench_write(&fake.bench, ending, text);
}

static void write_policy(const char *device)
{
    fake_gate_policy(&fake, device, "[gate]\n\tself-test = 3\n");
}

static int set_up(void **state)
{
    static const char *const names[] = {"good-1",   "good-2",   "good-3",   "good-4",
                                        "slower-1", "slower-2", "slower-3", NULL};
    fake_gate_make(&fake);
    fake_gate_commit(base, &fake, "base", NULL, names, "", 1);
    fake_gate_commit(head, &fake, "head", base, names, "", 2);
    write_policy("\tunits = 2\n");
    beside("units", "2");
    return 0;
}

static int tear_down(void **state)
{
    fake_gate_remove(&fake);
    return 0;
}

AROUND_ALL(set_up, tear_down);

static void gate(void)
{
    fake_gate_run(&fake, base, head, 0);
}

static void load_newest(struct run *run)
{
    fake_gate_newest(run, &fake, RUN_GATE);
}

TEST(one_gate_on_two_units_has_the_verdict_of_one)
{
    struct run run;
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "7 series side by side in "));
    assert_null(strstr(fake.outcome.output, "not equal"));
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

// Those that only said what the units are.
TEST(nobody_waits_for_the_end_of_who_was_asked)
{
    int living = 0, most = 0;
    beside("ends", "1500");
    beside("journal", "");
    fake_gate_run(&fake, base, base, 0); // all is built, and nothing is measured
    beside("ends", NULL);
    char *path = xprintf("%s.journal", fake.bench.program), *journal = helper_read(path, NULL);
    for (const char *at = journal; *at; at = strchr(at, '\n') + 1) {
        living += (strncmp(at, "start\n", 6) == 0) - (strncmp(at, "end\n", 4) == 0);
        most = living > most ? living : most;
    }
    beside("journal", NULL);
    // Only these, and without what measuring takes.
    assert_int_equal(helper_occurrences(journal, "ask\n"), 2);
    assert_int_equal(helper_occurrences(journal, "start\n"), 4);
    free(journal);
    free(path);
    assert_int_equal(living, 0);
    assert_int_equal(most, 3); // beside both the libraries are listed
}

// A second in all for each kernel: two units take half as long for them, not twice as many. Each
// look takes half a second here, so the third would begin behind the second.
TEST(looks_of_two_units_take_what_those_of_one_take)
{
    static const char *const one[] = {"slower-1", NULL};
    char *path = xprintf("%s.journal", fake.bench.program);
    char first[OBJECT_ID_TEXT], second[OBJECT_ID_TEXT];
    fake_gate_commit(first, &fake, "alone", NULL, one, "", 5);
    fake_gate_commit(second, &fake, "alone-slower", first, one, "", 6);
    fake_gate_policy(&fake, "\tunits = 2\n", "[gate]\n\tself-test = 0\n");
    beside("opens", "520");
    beside("journal", "");
    fake_gate_run(&fake, first, second, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 1 slower");
    char *journal = helper_read(path, NULL);
    beside("journal", NULL);
    beside("opens", NULL);
    assert_int_equal(helper_occurrences(journal, "open slower-1\n"), 4);
    assert_in_range(helper_occurrences(journal, "look slower-1\n"), 1, 2);
    write_policy("\tunits = 2\n");
    free(journal);
    free(path);
}

TEST(unit_that_is_one_percent_slow_is_told_apart)
{
    beside("slow", "1 1.01");
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(
        strstr(fake.outcome.output, "device pair: fake-0002 is 1.00 % slower than fake-0001"));
    assert_non_null(strstr(fake.outcome.output, "they are not equal"));
    beside("slow", NULL);
}

TEST(unit_that_is_lost_leaves_its_series_to_the_other)
{
    struct run run;
    beside("breaks", "1 1"); // in its first block: on a busy machine it may take no other
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(
        strstr(fake.outcome.output, "fake-0002 was lost, its series go to the others: device"));
    load_newest(&run);
    for (size_t i = 0; i < run.count; i++)
        assert_int_equal(run.results[i].verdict.kind, strncmp(run.results[i].kernel, "slower", 6)
                                                          ? VERDICT_SAME
                                                          : VERDICT_SLOWER);
    run_free(&run);
    // The next gate finds it gone, and says so.
    beside("breaks", NULL);
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "device pair: unit 1 is not here"));
    beside("gone.1", NULL);
}

TEST(first_unit_may_be_the_one_that_is_gone)
{
    struct run run;
    beside("gone.0", "");
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    assert_non_null(strstr(fake.outcome.output, "device pair: unit 0 is not here"));
    load_newest(&run);
    assert_int_equal(run.device_count, 1);
    assert_string_equal(run.devices[0].uuid, "fake-0002");
    run_free(&run);
    beside("gone.0", NULL);
}

// Both parts were on both units.
TEST(parts_of_such_gates_are_joined)
{
    const char *const parts[] = {"1/2", "2/2"}, *const stores[] = {"part-1.db", "part-2.db"};
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {"gate",     "--base",    base,      "--head",           head,
                              "--policy", fake.policy, "--bench", fake.bench.program, "--store",
                              stores[i],  "--sandbox", "off",     "--part",           parts[i],
                              NULL};
        plumb_run(&fake.outcome, fake.bench.directory, argv, 0);
        plumb_said(&fake.outcome, 0, "");
    }
    const char *merge[] = {"store", "merge", "--store", "parts.db", stores[0], stores[1], NULL};
    plumb_run(&fake.outcome, fake.bench.directory, merge, 0);
    plumb_said(&fake.outcome, 0, "");
    const char *join[] = {"gate",      "--base",  base,       "--head", head,       "--policy",
                          fake.policy, "--store", fake.store, "--join", "parts.db", NULL};
    plumb_run(&fake.outcome, fake.bench.directory, join, 0);
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
}

TEST(other_commands_use_the_first_alone)
{
    struct run run;
    const char *argv[] = {
        "run",     head,       "--policy",  fake.policy, "--bench", fake.bench.program,
        "--store", fake.store, "--sandbox", "off",       NULL};
    plumb_run(&fake.outcome, fake.bench.directory, argv, 0);
    plumb_said(&fake.outcome, 0, "OK");
    fake_gate_newest(&run, &fake, RUN_MEASURE);
    assert_int_equal(run.device_count, 1);
    run_free(&run);
}

TEST(policy_without_units_is_one)
{
    struct run run;
    write_policy("");
    gate();
    plumb_said(&fake.outcome, 1, "SLOWER: 3 slower, 4 same");
    load_newest(&run);
    assert_int_equal(run.device_count, 1);
    run_free(&run);
    write_policy("\tunits = 17\n");
    gate();
    plumb_said(&fake.outcome, 4, "device.units = 17: needs a whole number from 1 to 16");
}
