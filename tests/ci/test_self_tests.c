// SPDX-License-Identifier: Apache-2.0
//
// Which series a gate tests itself on: those that it compares, spread over them, and then what
// costs least on the same device.
#include "ci/gate/task_list.h"
#include "tests/helpers/test.h"

enum { TASKS = 8 };

static const struct policy_device policies[] = {{.name = "cuda", .kind = "cuda"},
                                                {.name = "host", .kind = "host"}};
static const struct context_device devices[] = {{.units = 1, .policy = &policies[0]},
                                                {.units = 1, .policy = &policies[1]}};
static const struct built_kernel old = {.code = "old"}, new = {.code = "new"};
static struct result results[TASKS];
static struct task tasks[TASKS], *order[TASKS], *compared[TASKS];
static const struct task_list list = {tasks, TASKS};

// All have the same code; the last one's device is the host. Those of higher numbers are smaller.
static int set_up(void **state)
{
    for (int i = 0; i < TASKS; i++) {
        results[i] =
            (struct result){.problem = {.m = 64 * (TASKS - i), .n = 64, .k = 64, .batch = 1}};
        tasks[i] = (struct task){
            .result = &results[i], .device = &devices[i == TASKS - 1], .base = &old, .head = &old};
    }
    return 0;
}

AROUND_EACH(set_up, NULL);

static size_t compare(const int *numbers, size_t count, size_t wanted)
{
    for (size_t i = 0; i < count; i++) {
        compared[i] = &tasks[numbers[i]];
        compared[i]->head = &new;
    }
    return self_tests_order(order, &list, compared, count, wanted);
}

static void assert_order(const int *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(order[i] - tasks, numbers[i]);
}

TEST(series_that_are_compared_come_first_spread_over_them)
{
    assert_int_equal(compare((const int[]){0, 1, 2, 4, 5, 6}, 6, 3), 7);
    assert_order((const int[]){0, 2, 5, 1, 4, 6, 3}, 7);
    for (int i = 0; i < 3; i++)
        assert_int_equal(self_tests_role(order[i]), ROLE_BASE);
}

TEST(others_are_the_cheapest_of_a_device_that_a_verdict_hangs_on)
{
    results[6].problem.scales = (struct block_scales){.vector = 32}; // 8 times as dear as it looks
    results[5].problem.number_count = 1;                             // nobody knows
    assert_int_equal(compare((const int[]){2}, 1, 3), 7);
    assert_order((const int[]){2, 4, 3, 1, 0, 6, 5}, 7);
}

// Their pairs failed before, or an interrupted run has them: better than none.
TEST(pairs_that_are_not_compared_now_come_last)
{
    tasks[6].head = tasks[5].head = &new;
    tasks[4].base = NULL;
    tasks[3].head = NULL; // removed
    assert_int_equal(compare(NULL, 0, 2), 6);
    assert_order((const int[]){4, 2, 1, 0, 6, 5}, 6);
    assert_int_equal(self_tests_role(&tasks[4]), ROLE_HEAD);
}

TEST(without_pairs_there_is_nothing_to_test)
{
    assert_int_equal(compare(NULL, 0, 3), 0);
    assert_int_equal(compare((const int[]){2}, 1, 0), 0);
}
