// SPDX-License-Identifier: Apache-2.0
//
// The ground every room stands on: errors are one line, memory is what was asked for, and numbers
// are whole strings.
#include "model/base.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

TEST(an_error_is_one_line_whatever_it_quotes)
{
    struct error err;
    assert_int_equal(error_set(&err, "%s: \x1b[31mred\n\tand\x7f so on", "a\r\nb"), -1);
    assert_string_equal(err.text, "a  b:  [31mred  and  so on");
    char *long_text = xcalloc(5000, 1);
    memset(long_text, 'x', 4999);
    error_set(&err, "%s", long_text);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    free(long_text);
}

TEST(a_noun_agrees_with_its_number)
{
    assert_string_equal(plural(1, "process", "processes"), "process");
    assert_string_equal(plural(0, "process", "processes"), "processes");
    assert_string_equal(plural(2, "process", "processes"), "processes");
    assert_string_equal(plural(UINT64_MAX, "is", "are"), "are");
}

TEST(a_list_keeps_what_is_in_it_while_it_grows)
{
    uint32_t *list = NULL;
    size_t room = 0, moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        const size_t before = room;
        list = xgrow(list, i, &room, sizeof(*list));
        assert_true(room > i);
        moves += room != before;
        list[i] = i * i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(list[i], i * i);
    assert_true(moves < 12); // it doubles
    free(list);
}

TEST(arena_memory_is_zeroed_aligned_and_apart)
{
    struct arena arena = {0};
    static const size_t sizes[] = {1, 0, 7, 8191, 8192, 100000, 16, 3};
    char *all[ARRAY_COUNT(sizes)];
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        all[i] = arena_alloc(&arena, sizes[i]);
        assert_int_equal((uintptr_t)all[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(all[i][k], 0);
        memset(all[i], (int)(i + 1), sizes[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        for (size_t k = 0; k < sizes[i]; k++)
            assert_int_equal(all[i][k], i + 1);
    }
    arena_free(&arena);
    assert_null(arena.blocks);
    arena_free(&arena); // an empty one too
}

TEST(arena_texts_are_copies)
{
    struct arena arena = {0};
    char text[] = "kernel";
    char *copy = arena_strdup(&arena, text), *part = arena_strndup(&arena, text, 3);
    char *bytes = arena_copy(&arena, text, sizeof(text));
    text[0] = 'x';
    assert_string_equal(copy, "kernel");
    assert_string_equal(part, "ker");
    assert_string_equal(bytes, "kernel");
    assert_null(arena_strdup(&arena, NULL));
    assert_non_null(arena_copy(&arena, NULL, 0));
    assert_string_equal(arena_printf(&arena, "%s %d", copy, 7), "kernel 7");
    arena_free(&arena);
}

TEST(bounded_copies_end_and_tell_what_they_lost)
{
    char out[5];
    assert_true(text_copy(out, sizeof(out), "four"));
    assert_string_equal(out, "four");
    assert_false(text_copy(out, sizeof(out), "fives"));
    assert_string_equal(out, "five");
}

TEST(numbers_are_whole_strings)
{
    static const char *const no_integers[] = {
        "", " 1", "+1", "1 ", "1.5", "x", "-", "\t1", "9223372036854775808"};
    static const char *const no_numbers[] = {"",  " 1",  "\t1", "\n1",  "1 ",
                                             "x", "nan", "inf", "-inf", "1e999"};
    int64_t integer = 5;
    double number = 5;
    for (size_t i = 0; i < ARRAY_COUNT(no_integers); i++) {
        if (parse_int64(&integer, no_integers[i]) == 0)
            fail_msg("\"%s\" is an integer", no_integers[i]);
    }
    for (size_t i = 0; i < ARRAY_COUNT(no_numbers); i++) {
        if (parse_double(&number, no_numbers[i]) == 0)
            fail_msg("\"%s\" is a number", no_numbers[i]);
    }
    assert_true(integer == 5 && number == 5); // untouched
    assert_int_equal(parse_int64(&integer, "-9223372036854775808"), 0);
    assert_true(integer == INT64_MIN);
    assert_int_equal(parse_double(&number, "-1.5e3"), 0);
    assert_true(number == -1500);
}

TEST(a_time_has_four_digits_and_no_exponent)
{
    static const struct {
        double time_ns;
        const char *text;
    } times[] = {
        {31350, "31.35 us"}, {2.058e6, "2058 us"}, {3.135e7, "31350 us"}, {12, "0.012 us"}};
    for (size_t i = 0; i < ARRAY_COUNT(times); i++) {
        char text[NUMBER_TEXT];
        time_text(text, times[i].time_ns);
        assert_string_equal(text, times[i].text);
    }
}
