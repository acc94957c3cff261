// SPDX-License-Identifier: Apache-2.0
//
// Series that move together are put down to what they share.
#include "model/history/event.h"
#include "tests/helpers/test.h"

#include <string.h>

enum { MEMORY = 5, COMPUTE = 6, ELSEWHERE = 4, ALL = MEMORY + COMPUTE + ELSEWHERE };

// Five memory-bound and six compute-bound series of device 0, four of device 1; none changed.
static void fleet(struct attribution_series *series)
{
    memset(series, 0, ALL * sizeof(*series));
    for (size_t i = 0; i < ALL; i++) {
        series[i].device = i >= MEMORY + COMPUTE;
        series[i].bound = i < MEMORY ? BOUND_MEMORY : BOUND_COMPUTE;
    }
}

static void move(struct attribution_series *series, size_t first, size_t end, double size)
{
    for (size_t i = first; i < end; i++) {
        series[i].changed = true;
        series[i].size = size;
    }
}

static void expect(const struct attribution_series *series, size_t first, size_t end,
                   enum attribution wanted)
{
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(out[i], i >= first && i < end ? wanted : ATTRIBUTION_NONE);
}

TEST(attribution_of_one_series_is_its_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 3, 4, 0.02);
    expect(series, 3, 4, ATTRIBUTION_KERNEL);
    move(series, 7, 8, 0.02); // two that have nothing in common
    series[7].changed = true;
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    assert_int_equal(out[3], ATTRIBUTION_KERNEL);
    assert_int_equal(out[7], ATTRIBUTION_KERNEL);
}

TEST(attribution_of_a_class_is_memory_or_power)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY, 0.02);
    expect(series, 0, MEMORY, ATTRIBUTION_MEMORY);
    fleet(series);
    move(series, MEMORY, MEMORY + COMPUTE, -0.02);
    expect(series, MEMORY, MEMORY + COMPUTE, ATTRIBUTION_POWER);
}

TEST(attribution_of_a_class_that_scatters_is_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, 3, 0.02);
    move(series, 3, MEMORY, -0.02);
    expect(series, 0, MEMORY, ATTRIBUTION_KERNEL);
}

TEST(attribution_of_a_whole_device_is_environment)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY + COMPUTE, 0.02);
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT);
}

// A shared header, a compiler's flag: the commit gave all of them other code. One that kept its
// code and moved with them says that it was the device.
TEST(attribution_of_a_commit_that_changed_all_code_is_kernel)
{
    struct attribution_series series[ALL];
    fleet(series);
    move(series, 0, MEMORY + COMPUTE, 0.05);
    for (size_t i = 0; i < MEMORY + COMPUTE; i++)
        series[i].code_changed = true;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT); // nobody knows
    for (size_t i = 0; i < MEMORY + COMPUTE; i++)
        series[i].code_known = true;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_KERNEL);
    series[2].code_changed = false;
    expect(series, 0, MEMORY + COMPUTE, ATTRIBUTION_ENVIRONMENT);
}

TEST(attribution_of_a_new_model_is_the_model)
{
    struct attribution_series series[ALL];
    fleet(series);
    for (size_t i = 0; i < ALL; i++)
        series[i].model_changed = i % 2 == 0;
    for (size_t i = 0; i < ALL; i += 2)
        move(series, i, i + 1, i % 4 ? 0.03 : -0.01);
    move(series, 1, 2, 0.02); // at the same commit, for its own reasons
    enum attribution out[ALL];
    attribution_find(out, series, ALL);
    for (size_t i = 0; i < ALL; i += 2)
        assert_int_equal(out[i], ATTRIBUTION_MODEL);
    assert_int_equal(out[1], ATTRIBUTION_KERNEL);
    series[0].code_changed = true; // a new model excuses no new code
    attribution_find(out, series, ALL);
    assert_int_equal(out[0], ATTRIBUTION_KERNEL);
    assert_int_equal(out[2], ATTRIBUTION_MODEL);
}

// Who is listed first must not matter.
TEST(attribution_ignores_the_order_of_series)
{
    struct attribution_series series[ALL], turned[ALL];
    enum attribution out[ALL], other[ALL];
    fleet(series);
    move(series, 0, MEMORY, 0.02);
    move(series, ALL - 1, ALL, -0.05);
    for (size_t i = 0; i < ALL; i++)
        turned[i] = series[ALL - 1 - i];
    attribution_find(out, series, ALL);
    attribution_find(other, turned, ALL);
    for (size_t i = 0; i < ALL; i++)
        assert_int_equal(out[i], other[ALL - 1 - i]);
}
