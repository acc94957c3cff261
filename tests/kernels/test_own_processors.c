// SPDX-License-Identifier: Apache-2.0
//
// Which processor a host's kernel of one thread is pinned to: this bench's own, and none that
// somebody else may be pinned to.
#include "kernels/bench/bench.h"
#include "kernels/device/device.h"
#include "kernels/device/host.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/test.h"

#include <string.h>

AROUND_ALL(host_set_up, host_tear_down);

static cpu_set_t only(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return set;
}

static void assert_alone(const cpu_set_t *wanted)
{
    cpu_set_t alone, all;
    host_processors(&alone, &all);
    assert_true(CPU_EQUAL(&alone, wanted));
}

TEST(a_bench_by_hand_has_the_last_one)
{
    cpu_set_t alone, all;
    host_processors(&alone, &all);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all))
        last--;
    const cpu_set_t wanted = only(last);
    assert_alone(&wanted);
}

TEST(one_that_is_told_has_its_own)
{
    cpu_set_t alone, all;
    host_processors(&alone, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const cpu_set_t wanted = only(cpu);
        if (!CPU_ISSET(cpu, &all))
            continue;
        host->own(device, &wanted);
        assert_alone(&wanted);
    }
}

TEST(one_that_has_none_is_not_pinned)
{
    cpu_set_t alone, all, none;
    CPU_ZERO(&none);
    host_processors(&alone, &all);
    host->own(device, &none);
    assert_alone(&all);
}

TEST(texts_are_numbers_or_none)
{
    static const char *const wrong[] = {"",   ",",    "1,", ",1",  "1-2",
                                        "-1", "1024", "a",  "1 2", "nones"};
    struct error err;
    cpu_set_t set;
    assert_int_equal(own_processors_parse(&set, "7,23", &err), 0);
    assert_true(CPU_COUNT(&set) == 2 && CPU_ISSET(7, &set) && CPU_ISSET(23, &set));
    assert_int_equal(own_processors_parse(&set, "none", &err), 0);
    assert_int_equal(CPU_COUNT(&set), 0);
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        if (own_processors_parse(&set, wrong[i], &err) == 0)
            fail_msg("'%s' was read", wrong[i]);
        assert_non_null(strstr(err.text, "are not numbers"));
    }
}
