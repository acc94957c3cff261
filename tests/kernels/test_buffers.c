// SPDX-License-Identifier: Apache-2.0
//
// The memory of a series: guards around each part, outputs that are poisoned, a workspace that is
// soiled, signs that the product of a set has, and as much of it as was said before.
#include "kernels/bench/buffers.h"
#include "kernels/bench/series.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

enum { WORKSPACE = 4096 };

static struct device_ops ops;
static double allocated; // bytes

static int counted_alloc(void **out, struct device_base *base, size_t bytes, struct error *err)
{
    allocated += (double)bytes;
    return host->alloc(out, base, bytes, err);
}

static int counted_inputs(void **out, struct device_base *base, size_t bytes, struct error *err)
{
    allocated += (double)bytes;
    return host->alloc_inputs(out, base, bytes, err);
}

static int set_up(void **state)
{
    if (host_set_up(state))
        return -1;
    ops = *host;
    ops.alloc = counted_alloc;
    ops.alloc_inputs = counted_inputs;
    return 0;
}

AROUND_ALL(set_up, host_tear_down);

static struct buffers buffers_of(const char *text, uint32_t sets)
{
    const struct problem p = helper_problem(text);
    struct buffers b;
    struct parts parts;
    struct error err;
    parts_of(&parts, &p);
    if (buffers_open(&b, &ops, device, &p, &parts, 1, WORKSPACE, &err) ||
        (sets > 1 && buffers_grow(&b, sets, &err)) || buffers_known(&b, 0, &err))
        fail_msg("%s: %s", text, err.text);
    return b;
}

static void assert_broken(struct buffers *b, void *at, const char *name)
{
    unsigned char *byte = at;
    struct error err;
    bool intact = true;
    char what[64];
    *byte ^= 1;
    assert_int_equal(buffers_guards(&intact, what, b, &err), 0);
    if (intact || strcmp(what, name) != 0)
        fail_msg("%s, not %s", intact ? "intact" : what, name);
    *byte ^= 1;
    assert_int_equal(buffers_guards(&intact, what, b, &err), 0);
    assert_true(intact);
}

TEST(a_byte_written_beside_any_part_is_named)
{
    struct buffers b = buffers_of("33x17x31:fp32", 2);
    const struct parts *p = &b.parts;
    assert_int_equal(b.sets, 2);
    assert_broken(&b, (char *)b.inputs[0][0] + p->inputs[0].bytes, "byte 0 behind A");
    assert_broken(&b, (char *)b.inputs[1][1] + p->inputs[1].bytes + 2, "byte 2 behind B");
    assert_broken(&b, (char *)b.outputs[1] - 1, "byte 4095 before C");
    assert_broken(&b, (char *)b.outputs[1] + p->output.bytes, "byte 0 behind C");
    assert_broken(&b, (char *)b.workspace + WORKSPACE + 9, "byte 9 behind the workspace");
    buffers_free(&b);
}

TEST(outputs_are_poisoned_and_the_workspace_is_soiled)
{
    struct buffers b = buffers_of("33x17x31:fp32", 2);
    unsigned char before[WORKSPACE];
    struct error err;
    memset(b.outputs[0], 0, b.parts.output.bytes);
    memset(b.outputs[1], 0, b.parts.output.bytes);
    assert_int_equal(buffers_poison(&b, &err), 0);
    for (uint32_t set = 0; set < 2; set++) {
        for (uint64_t i = 0; i < b.parts.output.count; i++)
            assert_true(isnan(((float *)b.outputs[set])[i]));
    }
    assert_int_equal(buffers_soil(&b, 1, &err), 0);
    memcpy(before, b.workspace, WORKSPACE);
    assert_int_equal(buffers_soil(&b, 2, &err), 0);
    for (size_t at = 0; at < WORKSPACE; at += 64)
        assert_true(memcmp(before + at, (char *)b.workspace + at, 64) != 0);
    buffers_free(&b);
}

// With beta, C is an input, too: a launch finds it, and the reference is computed from a copy.
TEST(an_output_that_is_an_input_is_what_the_reference_is_given)
{
    struct buffers b = buffers_of("33x17x31:fp32:beta=2", 1),
                   plain = buffers_of("33x17x31:fp32", 1);
    const void *given;
    struct error err;
    assert_int_equal(buffers_poison(&b, &err), 0);
    assert_int_equal(buffers_given(&given, &b, 0, &err), 0);
    assert_ptr_not_equal(given, b.outputs[0]);
    assert_memory_equal(given, b.outputs[0], b.parts.output.bytes);
    assert_int_equal(buffers_given(&given, &plain, 0, &err), 0);
    assert_null(given);
    buffers_free(&b);
    buffers_free(&plain);
}

static double product(const struct buffers *b, int64_t i, int64_t j)
{
    const float *a = b->inputs[0][0], *of_b = b->inputs[1][0];
    const int64_t k = b->problem.k;
    double sum = 0;
    for (int64_t l = 0; l < k; l++)
        sum += (double)a[i * k + l] * (double)of_b[j * k + l];
    return sum;
}

// One reference serves all keys: with other signs each element is the same or its negative.
TEST(signs_of_a_key_are_those_of_its_product)
{
    struct buffers b = buffers_of("5x7x64:fp32", 1);
    double without[5][7];
    struct error err;
    int negative = 0;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 7; j++)
            without[i][j] = product(&b, i, j);
    }
    assert_int_equal(buffers_known(&b, 77, &err), 0);
    const struct inputs_signs signs = buffers_signs(&b, 0);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 7; j++) {
            const double sign = inputs_sign(&signs, (uint64_t)i, (uint64_t)j);
            negative += sign < 0;
            assert_true(fabs(product(&b, i, j) - sign * without[i][j]) < 1e-9);
        }
    }
    assert_true(negative > 0 && negative < 35);
    buffers_free(&b);
}

TEST(buffers_take_no_more_than_was_said)
{
    enum { LAUNCHES = 16 };
    static const char *const texts[] = {"300x170x310:fp32", "64x64x64:bf16",
                                        "300x170x310:fp32:beta=2"};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const struct problem p = helper_problem(texts[i]);
        struct series_spec spec = {.problem = p};
        struct parts parts;
        parts_of(&parts, &p);
        const double said = buffers_need_bytes(&parts, &ops, device);
        allocated = 0;
        struct buffers b = buffers_of(texts[i], LAUNCHES);
        if (allocated - WORKSPACE - 2 * 4096 > said)
            fail_msg("%s: %.0f, not %.0f", texts[i], allocated, said);
        buffers_free(&b);
        // A series has a reference, too, and with `apart` both sides have memory of their own.
        const double reference = (double)parts.output.count * sizeof(double);
        assert_true(series_need_bytes(&spec, &ops, device) == said + reference);
        spec.apart = true;
        assert_true(series_need_bytes(&spec, &ops, device) == 2 * said + reference);
    }
}
