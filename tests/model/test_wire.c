// SPDX-License-Identifier: Apache-2.0
//
// The line protocol: what is written comes back, and what is damaged is refused.
#include "model/wire.h"
#include "tests/helpers/test.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// A parsed record whose texts live in `line`.
static struct wire_record parse(struct wire_line *line)
{
    struct wire_record record;
    struct error err;
    if (wire_parse(&record, line->text, &err))
        fail_msg("%s", err.text);
    return record;
}

TEST(wire_texts_of_any_bytes_come_back)
{
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        size_t size = random_next(&random) % sizeof(text);
        for (size_t k = 0; k < size; k++)
            text[k] = (char)(1 + random_next(&random) % 255);
        text[size ? size - 1 : 0] = '\0';
        struct wire_line line;
        wire_begin(&line, "note");
        wire_add_text(&line, "text", text);
        wire_add_text(&line, "after", "x");
        const char *whole = wire_end(&line);
        assert_int_equal(strcspn(whole, "\n"), strlen(whole) - 1); // one line
        struct wire_record record = parse(&line);
        assert_int_equal(record.count, 2);
        assert_string_equal(wire_text(&record, "text"), text);
        assert_string_equal(wire_text(&record, "after"), "x");
    }
}

TEST(wire_numbers_come_back_exactly)
{
    uint64_t random = 2;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof(value));
        // Subnormal numbers are refused by the parser (ERANGE); no measured quantity is one.
        if (!isnormal(value))
            continue;
        struct wire_line line;
        struct wire_record record;
        struct error err;
        double back;
        int64_t whole, number = (int64_t)random_next(&random);
        wire_begin(&line, "figure");
        wire_add_double(&line, "value", value);
        wire_add_int(&line, "number", number);
        wire_end(&line);
        record = parse(&line);
        assert_int_equal(wire_double(&back, &record, "value", -DBL_MAX, DBL_MAX, &err), 0);
        assert_memory_equal(&back, &value, sizeof(value));
        assert_int_equal(wire_int(&whole, &record, "number", INT64_MIN, INT64_MAX, &err), 0);
        assert_true(whole == number);
    }
}

TEST(wire_numbers_out_of_range_are_named)
{
    static const char *const bad[] = {"",     "x",   "1x",   " 1",    "1 ",
                                      "nan",  "inf", "-inf", "1e999", "99999999999999999999",
                                      "0x10", "+1",  "11",   "-1"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char text[64];
        snprintf(text, sizeof(text), "figure\tvalue=%s", bad[i]);
        struct wire_record record;
        struct error err;
        int64_t whole = 5;
        assert_int_equal(wire_parse(&record, text, &err), 0);
        assert_int_equal(wire_int(&whole, &record, "value", 0, 10, &err), -1);
        assert_int_equal(whole, 5);
        assert_memory_equal(err.text, "bench: figure: value=", 21);
    }
    static const char *const none[] = {"",    "x",    "1x",    " 1",   "nan",
                                       "inf", "-inf", "1e999", "10.5", "-0.1"};
    for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
        char text[64];
        snprintf(text, sizeof(text), "figure\tvalue=%s", none[i]);
        struct wire_record record;
        struct error err;
        double value = 5;
        assert_int_equal(wire_parse(&record, text, &err), 0);
        assert_int_equal(wire_double(&value, &record, "value", 0, 10, &err), -1);
        assert_true(value == 5);
    }
}

TEST(wire_bad_lines_are_refused)
{
    static const char *const bad[] = {"",         "\n",       "Sample\ta=1", "sam ple",
                                      "x\ta",     "x\t=1",    "x\ta=%",      "x\ta=%4",
                                      "x\ta=%zz", "x\ta=%00", "x\t\ta=1",    "x\ta=1\t",
                                      "\ta=1",    "x1\ta=1",  "x\ta=%0",     "x\ta=%A0"};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        char text[64];
        struct wire_record record = {.name = "untouched"};
        struct error err;
        text_copy(text, sizeof(text), bad[i]);
        if (wire_parse(&record, text, &err) == 0)
            fail_msg("'%s' is read", bad[i]);
        assert_string_equal(record.name, "untouched");
        assert_memory_equal(err.text, "bench: ", 7);
        assert_null(strchr(err.text, '\n'));
    }
}

TEST(wire_too_many_fields_are_refused)
{
    struct wire_line line;
    struct wire_record record;
    struct error err;
    wire_begin(&line, "x");
    for (int i = 0; i < WIRE_FIELDS; i++)
        wire_add_int(&line, "a", i);
    struct wire_line more = line;
    wire_end(&line);
    assert_int_equal(wire_parse(&record, line.text, &err), 0);
    wire_add_int(&more, "a", 0);
    wire_end(&more);
    assert_int_equal(wire_parse(&record, more.text, &err), -1);
    assert_non_null(strstr(err.text, "more than 64 fields"));
}

TEST(wire_overflow_keeps_whole_fields_and_says_so)
{
    char text[1001];
    memset(text, '\n', 1000); // each becomes three bytes
    text[1000] = '\0';
    struct wire_line line;
    wire_begin(&line, "note");
    int added = 0;
    while (!line.overflow) {
        wire_add_text(&line, "text", text);
        added++;
        assert_true(added < 100);
    }
    wire_add_text(&line, "small", "x"); // what comes later does not slip in
    wire_end(&line);
    assert_true(strlen(line.text) < WIRE_LINE);
    struct wire_record record = parse(&line);
    assert_int_equal(record.count, added - 1);
    assert_null(wire_text(&record, "small"));
    for (size_t i = 0; i < record.count; i++)
        assert_string_equal(record.fields[i].value, text);
}

// Lines of every length around the limit, under a sanitizer.
TEST(wire_line_of_any_length_stays_inside)
{
    char *text = xcalloc(WIRE_LINE + 100, 1);
    for (size_t length = WIRE_LINE - 60; length < WIRE_LINE + 40; length++) {
        for (int kind = 0; kind < 3; kind++) {
            struct wire_line line;
            memset(text, kind == 1 ? '%' : 'x', length);
            text[kind == 1 ? length / 3 : length] = '\0';
            wire_begin(&line, "note");
            wire_add_text(&line, kind == 2 ? text : "text", text);
            const char *whole = wire_end(&line);
            size_t size = strlen(whole);
            assert_true(size < WIRE_LINE && whole[size - 1] == '\n');
            memset(text, 0, length + 1);
        }
    }
    free(text);
}

static struct sample some_sample(uint64_t *random)
{
    return (struct sample){
        .time_ns = 1 + (double)(random_next(random) % 1000000) / 7,
        .clock_hz = (double)(random_next(random) % 2000000000),
        .launches = 1 + (uint32_t)(random_next(random) % 1000),
        .pair = (uint32_t)random_next(random),
        .block = (uint16_t)random_next(random),
        .role = (uint8_t)(random_next(random) % 2),
        .order = (uint8_t)(random_next(random) % 2),
        .throttle = (uint8_t)(random_next(random) % 16),
        .temperature_c = (int16_t)random_next(random),
        .power_mw = (int32_t)(random_next(random) % 700000) - 1,
    };
}

TEST(wire_samples_and_traits_come_back)
{
    uint64_t random = 3;
    for (int i = 0; i < 5000; i++) {
        struct sample sample = some_sample(&random), back;
        struct wire_line line;
        struct error err;
        wire_begin(&line, "sample");
        wire_add_sample(&line, &sample);
        wire_end(&line);
        struct wire_record record = parse(&line);
        assert_int_equal(wire_sample(&back, &record, &err), 0);
        assert_true(back.time_ns == sample.time_ns && back.clock_hz == sample.clock_hz);
        assert_int_equal(back.launches, sample.launches);
        assert_int_equal(back.pair, sample.pair);
        assert_int_equal(back.block, sample.block);
        assert_int_equal(back.role, sample.role);
        assert_int_equal(back.order, sample.order);
        assert_int_equal(back.throttle, sample.throttle);
        assert_int_equal(back.temperature_c, sample.temperature_c);
        assert_int_equal(back.power_mw, sample.power_mw);
    }
    struct traits traits = {.in = DTYPE_E4M3, .out = DTYPE_BF16, .acc = DTYPE_FP32}, back;
    int32_t value = -1;
#define X(name) traits.name = value++;
    TRAITS(X)
#undef X
    traits.split_k = SPLIT_SPREAD; // the least that a trait can be
    struct wire_line line;
    struct error err;
    wire_begin(&line, "kernel");
    wire_add_traits(&line, &traits);
    wire_end(&line);
    struct wire_record record = parse(&line);
    assert_int_equal(wire_traits(&back, &record, &err), 0);
    assert_memory_equal(&back, &traits, sizeof(traits));
}

// A sample with one field replaced or left out is refused, and the error names the field.
TEST(wire_samples_with_a_bad_field_are_refused)
{
    static const char *const fields[][2] = {
        {"role", "both"},       {"role", NULL},      {"pair", "-1"},
        {"pair", "4294967296"}, {"block", "65536"},  {"order", "2"},
        {"launches", "0"},      {"time_ns", "0"},    {"time_ns", "-5"},
        {"time_ns", "nan"},     {"time_ns", "1e15"}, {"clock_hz", "3e10"},
        {"clock_hz", "inf"},    {"throttle", "16"},  {"temperature_c", "40000"},
        {"power_mw", "-2"},     {"power_mw", NULL},  {"time_ns", NULL}};
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        uint64_t random = 4;
        struct sample sample = some_sample(&random), back = {0};
        struct wire_line line;
        struct error err;
        wire_begin(&line, "sample");
        wire_add_sample(&line, &sample);
        wire_end(&line);
        struct wire_record record = parse(&line);
        for (size_t k = 0; k < record.count; k++) {
            if (strcmp(record.fields[k].key, fields[i][0]) != 0)
                continue;
            if (fields[i][1])
                record.fields[k].value = fields[i][1];
            else
                record.fields[k].key = "absent";
        }
        assert_int_equal(wire_sample(&back, &record, &err), -1);
        assert_non_null(strstr(err.text, fields[i][0]));
        assert_true(back.time_ns == 0);
    }
}

// Mutated lines: whatever is accepted has sound values, and nothing reads or writes outside.
TEST(wire_mutated_lines_do_no_harm)
{
    uint64_t random = 5;
    size_t accepted = 0;
    for (int i = 0; i < 100000; i++) {
        struct sample sample = some_sample(&random), back;
        struct wire_line line;
        wire_begin(&line, "sample");
        wire_add_sample(&line, &sample);
        wire_end(&line);
        size_t size = strlen(line.text);
        char *exact = xcalloc(size + 1, 1); // so that a sanitizer sees a step outside
        memcpy(exact, line.text, size);
        for (uint64_t k = random_next(&random) % 4; k > 0; k--) {
            static const char spice[] = "\t=%\n\r0123456789.-e naif\x01\x7f\xff";
            exact[random_next(&random) % size] = spice[random_next(&random) % sizeof(spice)];
        }
        struct wire_record record;
        struct error err;
        if (wire_parse(&record, exact, &err) == 0 && wire_sample(&back, &record, &err) == 0) {
            accepted++;
            assert_true(back.time_ns > 0 && back.time_ns <= 86400e9);
            assert_true(back.clock_hz >= 0 && back.clock_hz <= 20e9);
            assert_true(back.role <= 1 && back.order <= 1 && back.launches >= 1);
        }
        free(exact);
    }
    assert_true(accepted > 10000);
}
