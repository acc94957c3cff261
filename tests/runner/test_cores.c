// SPDX-License-Identifier: Apache-2.0
//
// Shares of the processor cores: disjoint, as large as each other, and given back.
#include "runner/cores.h"
#include "tests/helpers/test.h"

static cpu_set_t now(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
    return set;
}

static void shares_are_disjoint_and_equal(void **state)
{
    const cpu_set_t all = now();
    const size_t shares = (size_t)CPU_COUNT(&all);
    cpu_set_t seen;
    CPU_ZERO(&seen);
    if (shares < 2)
        skip();
    for (size_t i = 0; i < shares; i++) {
        struct cores before;
        assert_true(cores_take(&before, i, shares));
        const cpu_set_t own = now();
        cpu_set_t both;
        assert_int_equal(CPU_COUNT(&own), 1);
        CPU_AND(&both, &own, &seen);
        assert_int_equal(CPU_COUNT(&both), 0);
        CPU_OR(&seen, &seen, &own);
        cores_give_back(&before);
        const cpu_set_t after = now();
        assert_true(CPU_EQUAL(&after, &all));
    }
    assert_true(CPU_EQUAL(&seen, &all));
}

static void one_share_and_too_many_change_nothing(void **state)
{
    struct cores before;
    const cpu_set_t all = now();
    assert_false(cores_take(&before, 0, 1));
    assert_false(cores_take(&before, 0, (size_t)CPU_COUNT(&all) + 1));
    const cpu_set_t after = now();
    assert_true(CPU_EQUAL(&after, &all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_disjoint_and_equal),
        cmocka_unit_test(one_share_and_too_many_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
