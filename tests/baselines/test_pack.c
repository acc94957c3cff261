// SPDX-License-Identifier: Apache-2.0
//
// Samples packed for the store come back bit by bit, and bytes that are damaged are refused.
#include "baselines/pack.h"
#include "tests/helpers/helper_store.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_round_trip(const struct sample *samples, size_t count)
{
    unsigned char *bytes;
    size_t size, back = SIZE_MAX;
    struct sample *unpacked = NULL;
    struct arena arena = {0};
    struct error err = {0};
    pack_samples(&bytes, &size, samples, count);
    if (unpack_samples(&unpacked, &back, bytes, size, &arena, &err))
        fail_msg("%s", err.text);
    assert_int_equal(back, count);
    const struct measurement a = {.samples = unpacked, .count = count};
    struct sample *copy = xcalloc(count, sizeof(*copy));
    for (size_t i = 0; i < count; i++)
        copy[i] = samples[i];
    const struct measurement b = {.samples = copy, .count = count};
    assert_true(same_measurement(&a, &b));
    free(copy);
    free(bytes);
    arena_free(&arena);
}

TEST(empty_and_single_round_trip)
{
    const struct sample one = {.time_ns = 1234.567, .temperature_c = INT16_MIN, .power_mw = -1};
    assert_round_trip(NULL, 0);
    assert_round_trip(&one, 1);
}

TEST(extremes_round_trip)
{
    const struct sample samples[] = {
        {0x1p-1074, 0, 0, 0, 0, 0, 0, 0, 0, 0, INT16_MIN, INT32_MIN},
        {0x1.fffffffffffffp+1023, 1e300, UINT32_MAX, UINT32_MAX, UINT16_MAX, UINT16_MAX, ROLE_HEAD,
         UINT8_MAX, UINT8_MAX, 1, INT16_MAX, INT32_MAX},
        {-0.0, 1.0 / 3, 0, UINT32_MAX, 0, UINT16_MAX, 0, 0, 7, 0, 0, 0},
        {9007199254740992.0, 0.1, 1, 2, 3, 4, 1, 1, 1, 1, -1, -1},
    };
    for (size_t count = 1; count <= ARRAY_COUNT(samples); count++)
        assert_round_trip(samples, count);
    assert_round_trip(samples + 3, 1);
}

// Any bits at all in the fields, over many sizes.
TEST(random_samples_round_trip)
{
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        size_t count = draw_bits(&seed) % 40;
        struct sample *samples = xcalloc(count, sizeof(*samples));
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = draw_bits(&seed);
            struct sample *s = &samples[i];
            memcpy(&s->time_ns, &bits, sizeof(bits));
            if (isnan(s->time_ns) || round % 3 == 0)
                s->time_ns = (double)(bits % 100000000) / 1000;
            s->clock_hz = round % 2 ? (double)(bits >> 33) : draw_unit(&seed);
            s->launches = (uint32_t)draw_bits(&seed);
            s->pair = (uint32_t)draw_bits(&seed);
            s->block = (uint16_t)draw_bits(&seed);
            s->process = (uint16_t)draw_bits(&seed);
            s->role = (uint8_t)(bits & 1);
            s->order = (uint8_t)draw_bits(&seed);
            s->throttle = (uint8_t)draw_bits(&seed);
            s->excluded = (uint8_t)(bits >> 1 & 1);
            s->temperature_c = (int16_t)draw_bits(&seed);
            s->power_mw = (int32_t)draw_bits(&seed);
        }
        assert_round_trip(samples, count);
        free(samples);
    }
}

// The bytes of version 1 as pack.h describes them, written by hand: stores outlive machines.
TEST(layout_is_as_documented)
{
    const struct sample samples[] = {
        {.time_ns = 100.5, .clock_hz = 0, .launches = 4, .pair = 0, .power_mw = -1},
        {.time_ns = 100.25, .clock_hz = 0, .launches = 4, .pair = 1, .power_mw = -1},
    };
    const unsigned char expected[] = {
        1, 2,                       // version, count
        1, 2, 0x84, 0x9d, 0x01, 49, // 10050 -> zigzag 20100; -25 -> 49, two decimals
        0, 0, 0,                    // clock: constant 0
        0, 8,                       // launches: constant 4
        1, 0, 2,                    // pair: 0, +1
        0, 0, 0,    0,    0,    0,  0, 0, 0, 0, 0, 0, // block to excluded: constant 0
        0, 0,                                         // temperature
        0, 1,                                         // power: constant -1
    };
    unsigned char *bytes;
    size_t size;
    pack_samples(&bytes, &size, samples, 2);
    assert_int_equal(size, sizeof(expected));
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

// A pack of so many samples whose times are all `time`, two varints without a zero byte; everything
// else is constant 0.
static int unpack_times(struct sample **samples, const char *count, const char *time)
{
    unsigned char bytes[64] = {1};
    size_t size = 1, unpacked = 0;
    static struct arena arena;
    struct error err;
    arena_free(&arena);
    for (; *count; count++)
        bytes[size++] = (unsigned char)*count;
    bytes[size++] = 0; // constant
    bytes[size++] = 0; // no decimals
    for (; *time; time++)
        bytes[size++] = (unsigned char)*time;
    size += 3 + 2 * 10; // clock and the integers
    return unpack_samples(samples, &unpacked, bytes, size, &arena, &err);
}

// A time that no double holds beside its neighbours was written by nobody, and damage in the first
// column is not hidden by the soundness of those behind it.
TEST(a_value_out_of_its_range_is_refused)
{
    static const char two[] = "\x02", most[] = "\x80\x80\x80\x80\x80\x80\x80\x20";
    static const char more[] = "\x82\x80\x80\x80\x80\x80\x80\x20";
    struct sample *samples;
    assert_int_equal(unpack_times(&samples, two, most), 0);
    assert_true(samples[1].time_ns >= 0x1p53 && samples[1].time_ns <= 0x1p53);
    assert_int_equal(unpack_times(&samples, two, more), -1);
    assert_int_equal(unpack_times(&samples, two, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), -1);
}

TEST(a_pack_is_as_large_as_it_may_be_and_no_larger)
{
    struct sample *samples = xcalloc(PACK_SAMPLES, sizeof(*samples));
    for (size_t i = 0; i < PACK_SAMPLES; i++) {
        // Each field takes the most bytes that it may.
        samples[i] = (struct sample){.time_ns = i % 2 ? 0x1.fffffffffffffp+1023 : -1e-300,
                                     .clock_hz = i % 2 ? 9007199254740991.0 : -9007199254740991.0,
                                     .launches = i % 2 ? UINT32_MAX : 0,
                                     .pair = i % 2 ? 0 : UINT32_MAX,
                                     .block = i % 2 ? UINT16_MAX : 0,
                                     .power_mw = i % 2 ? INT32_MAX : INT32_MIN};
    }
    assert_round_trip(samples, PACK_SAMPLES);
    free(samples);
    assert_int_equal(unpack_times(&samples, "\x80\x80\x08", "\x02"), 0);
    assert_true(samples[PACK_SAMPLES - 1].time_ns >= 1 && samples[PACK_SAMPLES - 1].time_ns <= 1);
    assert_int_equal(unpack_times(&samples, "\x81\x80\x08", "\x02"), -1);
}

TEST(realistic_samples_are_small)
{
    struct run run;
    unsigned char *bytes;
    size_t size;
    make_run(&run, RUN_MEASURE, 1, 1, 3);
    const struct measurement *m = &run.results[0].head;
    pack_samples(&bytes, &size, m->samples, m->count);
    // time 4, clock 5, pair 1, order 1, power 1 bytes and a few; raw structs are 56.
    assert_true(size < m->count * 16);
    free(bytes);
    run_free(&run);
}

TEST(truncated_or_longer_bytes_are_refused)
{
    struct run run;
    unsigned char *bytes;
    size_t size, count;
    struct sample *samples;
    struct error err;
    make_run(&run, RUN_MEASURE, 1, 1, 3);
    pack_samples(&bytes, &size, run.results[0].head.samples, 20);
    for (size_t length = 0; length < size; length++) {
        unsigned char *exact = xcalloc(length, 1); // so that a sanitizer sees any overrun
        memcpy(exact, bytes, length);
        assert_int_equal(unpack_samples(&samples, &count, exact, length, &run.arena, &err), -1);
        free(exact);
    }
    unsigned char *longer = xcalloc(size + 1, 1);
    memcpy(longer, bytes, size);
    assert_int_equal(unpack_samples(&samples, &count, longer, size + 1, &run.arena, &err), -1);
    longer[0] = 2;
    assert_int_equal(unpack_samples(&samples, &count, longer, size, &run.arena, &err), -1);
    free(longer);
    free(bytes);
    run_free(&run);
}

// Whatever is accepted has sound fields and packs again; nothing crashes.
TEST(mutated_bytes_are_refused_or_sound)
{
    struct run run;
    unsigned char *bytes;
    size_t size, accepted = 0;
    uint64_t seed = 99;
    make_run(&run, RUN_MEASURE, 1, 1, 3);
    pack_samples(&bytes, &size, run.results[0].head.samples, 20);
    for (int round = 0; round < 20000; round++) {
        struct arena arena = {0};
        struct error err;
        struct sample *samples;
        size_t count, length = size - (draw_bits(&seed) % 4 == 0 ? draw_bits(&seed) % size : 0);
        unsigned char *mutated = xcalloc(length, 1);
        memcpy(mutated, bytes, length);
        for (uint64_t flips = 1 + draw_bits(&seed) % 4; flips > 0 && length; flips--)
            mutated[draw_bits(&seed) % length] = (unsigned char)draw_bits(&seed);
        if (unpack_samples(&samples, &count, mutated, length, &arena, &err) == 0) {
            accepted++;
            assert_true(count <= PACK_SAMPLES);
            for (size_t i = 0; i < count; i++)
                assert_true(samples[i].role <= ROLE_HEAD && samples[i].excluded <= 1);
            unsigned char *again;
            size_t again_size;
            pack_samples(&again, &again_size, samples, count);
            free(again);
        }
        free(mutated);
        arena_free(&arena);
    }
    assert_true(accepted > 100 && accepted < 19000);
    free(bytes);
    run_free(&run);
}
