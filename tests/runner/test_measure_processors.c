// SPDX-License-Identifier: Apache-2.0
//
// Each bench that measures is told a core that no other has, on a made machine of four cores: one
// socket of two with unit 0 of the device, one with unit 1.
#include "runner/bench/measure.h"
#include "tests/helpers/helper_fake_bench.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <unistd.h>

static char scope[64], noted[512];
static cpu_set_t ours;
static struct processors_site site = {.scope = scope, .ours = &ours};

static void note(void *context, const char *text)
{
    text_copy(noted, sizeof(noted), text);
}

static int set_up(void **state)
{
    if (fake_bench_set_up(state))
        return -1;
    struct fake_bench *f = *state;
    snprintf(scope, sizeof(scope), "plumb-test-%ld", (long)getpid());
    helper_put(f->directory, "/sys/bus/pci/devices/0000:1b:00.0/local_cpulist", "0-1\n");
    helper_put(f->directory, "/sys/bus/pci/devices/0000:2b:00.0/local_cpulist", "2-3\n");
    fake_bench_write(f, "units", "2");
    site.root = f->directory;
    f->plan.site = &site;
    f->plan.note = note;
    assert_int_equal(topology_parse(&ours, "0-3"), 0);
    return 0;
}

AROUND_ALL(set_up, fake_bench_tear_down);

static struct bench *start(struct fake_bench *f, int unit)
{
    f->plan.index = unit;
    return fake_bench_start(f);
}

static void assert_told(struct bench *bench, const char *wanted)
{
    struct bench_handle handle;
    const struct bench_outcome outcome = fake_bench_open(&handle, bench, "where");
    assert_string_equal(outcome.detail, wanted);
}

TEST(each_is_told_a_core_near_its_device)
{
    struct fake_bench *f = *state;
    struct bench *first = start(f, 0), *second = start(f, 1), *third = start(f, 1);
    assert_told(first, "1");
    assert_told(second, "3");
    assert_told(third, "2");
    assert_told(first, "1"); // and keeps it
    bench_stop(second);
    second = start(f, 0);
    assert_told(second, "0");
    bench_stop(first);
    bench_stop(second);
    bench_stop(third);
}

TEST(one_that_opens_nothing_has_none)
{
    struct fake_bench *f = *state;
    struct bench *idle = start(f, 0), *measures = start(f, 0);
    assert_told(measures, "1");
    bench_stop(idle);
    bench_stop(measures);
}

TEST(one_that_died_has_none_any_more)
{
    struct fake_bench *f = *state;
    struct bench *dead = start(f, 0), *next = start(f, 0);
    struct bench_handle handle;
    assert_true(fake_bench_open(&handle, dead, "crash").gone);
    assert_told(next, "1");
    bench_stop(dead);
    assert_told(next, "1");
    bench_stop(next);
}

TEST(too_few_cores_are_said_and_none_is_told)
{
    struct fake_bench *f = *state;
    assert_int_equal(topology_parse(&ours, "2-3"), 0);
    struct bench *first = start(f, 1), *second = start(f, 1);
    assert_told(first, "3");
    assert_string_equal(noted, "");
    assert_told(second, "none");
    assert_string_equal(noted, "no processor of its own, so times scatter more: of 2 cores others "
                               "measure on 1, and one is for all else");
    bench_stop(first);
    bench_stop(second);
}
