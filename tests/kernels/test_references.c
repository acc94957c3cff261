// SPDX-License-Identifier: Apache-2.0
//
// The references of a process, with a device that counts what it computes.
#include "kernels/bench/series.h"
#include "tests/helpers/test.h"

struct reference {
    int number;
};
static struct reference made[8];
static int computed, freed;

static int compute(struct reference **out, struct device_base *device,
                   const struct problem *problem, const struct plumb_args *args,
                   const uint64_t *seed, struct error *err)
{
    if (*seed == 13)
        return error_set(err, "no memory");
    *out = &made[computed];
    made[computed].number = computed;
    computed++;
    return 0;
}

static void discard(struct device_base *device, struct reference *reference)
{
    freed++;
}

static size_t room;
static size_t free_bytes(struct device_base *device)
{
    return room;
}

static const struct device_ops ops = {
    .reference = compute, .reference_free = discard, .free_bytes = free_bytes};
static struct device_base device;

static struct shared_reference *take(const char *text, uint64_t seed)
{
    struct shared_reference *out;
    struct problem problem;
    struct error err;
    assert_int_equal(problem_parse(&problem, text, &err), 0);
    assert_int_equal(references_take(&out, &ops, &device, &problem, NULL, seed, &err), 0);
    return out;
}

TEST(series_of_one_problem_share_one_reference)
{
    struct shared_reference *a = take("64x64x64:fp32", 1), *b = take("64x64x64:fp32", 1);
    struct shared_reference *other = take("64x64x32:fp32", 1), *seed = take("64x64x64:fp32", 2);
    assert_int_equal(computed, 3);
    assert_ptr_equal(a->exact, b->exact);
    assert_ptr_not_equal(a->exact, other->exact);
    assert_ptr_not_equal(a->exact, seed->exact);
    references_give(a, &ops);
    assert_int_equal(freed, 0); // the other series still has it
    references_give(other, &ops);
    references_give(b, &ops);
    references_give(seed, &ops);
    assert_int_equal(freed, 3);
    references_give(take("64x64x64:fp32", 1), &ops); // there was no room for it: computed anew
    assert_int_equal(computed, 4);
    assert_int_equal(freed, 4);
}

// Room for two of 64 x 64: series one after the other have those that were had last.
TEST(the_latest_stay_while_there_is_room)
{
    computed = freed = 0;
    room = 4 * 2 * 64 * 64 * sizeof(double);
    for (uint64_t round = 0; round < 3; round++) {
        references_give(take("64x64x64:fp32", 1), &ops);
        references_give(take("64x64x32:fp32", 1), &ops);
    }
    assert_int_equal(computed, 2);
    assert_int_equal(freed, 0);
    references_give(take("64x64x64:fp32", 2), &ops); // instead of the one that was had first
    assert_int_equal(freed, 1);
    references_give(take("64x64x32:fp32", 1), &ops);
    assert_int_equal(computed, 3);
    struct shared_reference *held = take("64x64x64:fp32", 2);
    references_drop(&ops); // room for others is wanted
    assert_int_equal(freed, 2);
    references_give(held, &ops);
    references_drop(&ops);
    assert_int_equal(freed, 3);
    computed = freed = 0;
    room = 0;
}

TEST(one_that_cannot_be_computed_is_not_kept)
{
    struct shared_reference *out;
    struct problem problem;
    struct error err;
    const int before = computed;
    assert_int_equal(problem_parse(&problem, "64x64x64:fp32", &err), 0);
    assert_int_equal(references_take(&out, &ops, &device, &problem, NULL, 13, &err), -1);
    assert_string_equal(err.text, "no memory");
    references_give(take("64x64x64:fp32", 1), &ops);
    assert_int_equal(computed, before + 1);
}
