// SPDX-License-Identifier: Apache-2.0
//
// CSV is read and written by RFC 4180; numbers, markup and JSON text are written as their readers
// want them.
#include "model/buffer.h"
#include "model/csv.h"
#include "tests/helpers/test.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse(struct csv *out, const char *text, struct error *err)
{
    return csv_parse(out, text, strlen(text), "t.csv", err);
}

TEST(fields_follow_rfc_4180)
{
    struct csv csv;
    struct error err;
    assert_int_equal(parse(&csv, "# why\n\na,b,c\r\n1,\"x, \"\"y\"\"\nz\",\r\n\n4,5,6", &err), 0);
    assert_int_equal(csv.columns, 3);
    assert_int_equal(csv.count, 2);
    assert_string_equal(csv.rows[0].fields[1], "x, \"y\"\nz");
    assert_string_equal(csv.rows[0].fields[2], "");
    assert_string_equal(csv.rows[1].fields[2], "6");
    assert_int_equal(csv.rows[0].line, 4);
    assert_int_equal(csv.rows[1].line, 7);
    assert_int_equal(csv_column(&csv, "c"), 2);
    assert_int_equal(csv_column(&csv, "d"), -1);
    csv_free(&csv);
}

TEST(a_byte_order_mark_is_no_part_of_the_header)
{
    struct csv csv;
    struct error err;
    assert_int_equal(parse(&csv, "\xEF\xBB\xBFm,n\n1,2\n", &err), 0);
    assert_int_equal(csv_column(&csv, "m"), 0);
    csv_free(&csv);
}

TEST(lines_may_end_as_old_machines_ended_them)
{
    struct csv csv;
    struct error err;
    assert_int_equal(parse(&csv, "a,b\r1,2\r\r3,4", &err), 0);
    assert_int_equal(csv.count, 2);
    assert_string_equal(csv.rows[1].fields[1], "4");
    assert_int_equal(csv.rows[1].line, 4);
    csv_free(&csv);
}

// Where nobody knows what the columns are, nor what stands between them.
TEST(tabs_and_semicolons_separate_where_commas_do_not)
{
    static const struct {
        const char *text;
        size_t columns;
        const char *second; // field of the last row
    } cases[] = {{"a\tb\n1\t2\n", 2, "2"},
                 {"a;b;c\n1;2,5;3\n", 3, "2,5"},
                 {"\"a;b\",c\n\"1;2\",3\n", 2, "3"},
                 {"a,b;c\n1,2;3\n", 2, "2;3"},
                 {"\"a\tb\"\tc\n1\t2\n", 2, "2"}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct csv csv;
        struct error err;
        if (csv_parse_bare(&csv, cases[i].text, strlen(cases[i].text), "t", &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(csv.columns, cases[i].columns);
        assert_string_equal(csv.rows[csv.count - 1].fields[1], cases[i].second);
        csv_free(&csv);
    }
}

TEST(utf_16_is_named)
{
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv,
                               "\xFF\xFE"
                               "a\0\n\0",
                               6, "t.csv", &err),
                     -1);
    assert_string_equal(err.text, "t.csv: it is UTF-16; save it as UTF-8");
}

TEST(malformed_text_is_refused_with_its_line)
{
    static const struct {
        const char *text, *expected;
    } bad[] = {
        {"", "t.csv: no header line"},
        {"# only a comment\n", "t.csv: no header line"},
        {"a,b\n1\n", "t.csv:2: 1 fields, but the first line has 2"},
        {"a,b\n1,2,3\n", "t.csv:2: 3 fields"},
        {"a,b\n1,\"2\n\n", "t.csv:2: a quoted field is never closed"},
        {"a,b\n1,\"2\"x\n", "t.csv:2: text after a closing quote"},
        {"a,b\n\n1,2\"\n", "t.csv:3: a quote inside an unquoted field"},
        {"a,,b\n", "t.csv:1: column 2 has no name"},
        {"a,a\n", "t.csv:1: two columns are named a"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct csv csv;
        struct error err;
        assert_int_equal(parse(&csv, bad[i].text, &err), -1);
        assert_true(strncmp(err.text, bad[i].expected, strlen(bad[i].expected)) == 0);
    }
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, "a\0b\n", 4, "t.csv", &err), -1);
}

TEST(too_many_columns_are_refused)
{
    struct buffer text = {0};
    for (int i = 0; i <= CSV_COLUMNS; i++)
        buffer_printf(&text, "%sc%d", i ? "," : "", i);
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text.bytes, text.length, "t.csv", &err), -1);
    free(text.bytes);
}

// What buffer_csv() writes, csv_parse() reads back.
TEST(written_fields_read_back)
{
    static const char *const fields[] = {"plain",      "",      "a,b",    "\"q\"",
                                         "two\nlines", "#hash", " edge ", "cr\rin"};
    struct buffer text = {0};
    buffer_puts(&text, "x,y\n");
    for (size_t i = 0; i < ARRAY_COUNT(fields); i++) {
        buffer_csv(&text, fields[i]);
        buffer_puts(&text, ",end\n");
    }
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text.bytes, text.length, "t.csv", &err), 0);
    assert_int_equal(csv.count, ARRAY_COUNT(fields));
    for (size_t i = 0; i < csv.count; i++)
        assert_string_equal(csv.rows[i].fields[0], fields[i]);
    csv_free(&csv);
    free(text.bytes);
}

// Mutations of valid text: the reader accepts or refuses, and what it accepts is rectangular.
TEST(no_field_is_a_formula_and_the_guard_comes_off)
{
    static const char *const formulas[] = {"=1+1",   "+cmd|' /C calc'!A0",
                                           "-2+3",   "@SUM(A1)",
                                           "\t=1+1", "'quoted",
                                           "-"},
                             *const plain[] = {"-1.5", "+3e-7", "tiled", "4096x4096x4096:bf16", ""};
    for (size_t i = 0; i < ARRAY_COUNT(formulas); i++) {
        struct buffer text = {0};
        buffer_puts(&text, "a\n");
        buffer_csv(&text, formulas[i]);
        struct csv csv;
        struct error err;
        assert_int_equal(csv_parse(&csv, text.bytes, text.length, "t.csv", &err), 0);
        assert_int_equal(csv.rows[0].fields[0][0], '\'');
        assert_string_equal(csv_plain(csv.rows[0].fields[0]), formulas[i]);
        csv_free(&csv);
        buffer_free(&text);
    }
    for (size_t i = 0; i < ARRAY_COUNT(plain); i++) {
        struct buffer text = {0};
        buffer_csv(&text, plain[i]);
        assert_string_equal(text.bytes ? text.bytes : "", plain[i]);
        assert_string_equal(csv_plain(plain[i]), plain[i]);
        buffer_free(&text);
    }
}

TEST(fuzzed_text_is_accepted_or_refused_cleanly)
{
    static const char valid[] = "# c\nm,n,\"k,2\"\r\n1,2,3\n\"a\"\"b\",,\"line\nend\"\n\n7,8,9\n";
    static const char alphabet[] = "\",\n\r#a\x80\xEF\0 ";
    uint32_t seed = 12345;
    size_t accepted = 0;
    for (int i = 0; i < 40000; i++) {
        char text[sizeof(valid) + 8];
        size_t length = sizeof(valid) - 1;
        memcpy(text, valid, length);
        for (int edits = 1 + i % 4; edits > 0 && length > 0; edits--) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % length;
            char byte = alphabet[(seed >> 24) % (sizeof(alphabet) - 1)];
            if (seed & 1)
                text[at] = byte;
            else if (seed & 2)
                length = at + 1; // cut
            else
                memmove(text + at, text + at + 1, --length - at); // drop one
        }
        char *exact = malloc(length ? length : 1); // so that the sanitizer sees its end
        memcpy(exact, text, length);
        struct csv csv;
        struct error err;
        if (csv_parse(&csv, exact, length, "fuzz", &err) == 0) {
            accepted++;
            for (size_t row = 0; row < csv.count; row++) {
                for (size_t c = 0; c < csv.columns; c++)
                    assert_non_null(csv.rows[row].fields[c]);
            }
            csv_free(&csv);
        } else {
            assert_true(strlen(err.text) > 0 && !strchr(err.text, '\n'));
        }
        free(exact);
    }
    assert_in_range(accepted, 1000, 39000); // both ways are exercised
}

TEST(numbers_are_short_and_read_back)
{
    const double values[] = {376.1631394230768, 0.1, 1e-300, 4096, 1.0 / 3, 6.153846153846154};
    for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
        struct buffer text = {0};
        buffer_number(&text, values[i]);
        assert_true(strtod(text.bytes, NULL) == values[i]);
        assert_true(text.length <= 24);
        free(text.bytes);
    }
}

// The fewest digits, from 15 on, by trial of each; around powers of two values are spaced unevenly.
TEST(numbers_have_the_fewest_digits_that_read_back)
{
    uint64_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        char text[NUMBER_TEXT], tried[NUMBER_TEXT];
        double value;
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        memcpy(&value, &seed, sizeof(value));
        if (i % 4 == 1)
            value = (double)(seed % 100000000) / 7000;
        if (i % 4 == 2)
            value = nextafter((double)(seed % 100000) / 100, INFINITY);
        if (i % 4 == 3)
            value = ldexp(1, (int)(seed % 2000) - 1000);
        if (!isfinite(value))
            continue;
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(tried, sizeof(tried), "%.*g", digits, value);
            if (strtod(tried, NULL) == value)
                break;
        }
        number_text(text, value);
        assert_string_equal(text, tried);
    }
}

TEST(json_text_is_escaped)
{
    struct buffer text = {0};
    buffer_json(&text, "a\"b\\c\nd", "");
    assert_string_equal(text.bytes, "a\\\"b\\\\c\\u000ad");
    free(text.bytes);
}

// A million rows of a sweep hold their repeated columns once.
TEST(what_a_row_repeats_is_kept_once)
{
    static const char text[] = "a,b,c\n1,x,\n2,x,\n\n3,xx,\n";
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse(&csv, text, strlen(text), "t", &err), 0);
    assert_int_equal(csv.count, 3);
    assert_ptr_equal(csv.rows[0].fields[1], csv.rows[1].fields[1]);
    assert_ptr_not_equal(csv.rows[1].fields[1], csv.rows[2].fields[1]);
    static const char *const said[3][3] = {{"1", "x", ""}, {"2", "x", ""}, {"3", "xx", ""}};
    for (size_t i = 0; i < 9; i++)
        assert_string_equal(csv.rows[i / 3].fields[i % 3], said[i / 3][i % 3]);
    assert_int_equal(csv.rows[2].line, 5);
    csv_free(&csv);
}

// What rows hold in memory, for a list of problems: a pointer a field, beside what they say once.
TEST(a_row_takes_few_bytes_of_memory)
{
    enum { ROWS = 100000 };
    struct buffer text = {0};
    struct csv csv;
    struct error err;
    buffer_puts(&text, "m,n,k,in_dtype\n");
    for (int i = 0; i < ROWS; i++)
        buffer_printf(&text, "%d,%d,4096,bf16\n", 1 + i % 8192, 1 + i % 4093);
    const struct mallinfo2 before = mallinfo2();
    assert_int_equal(csv_parse(&csv, text.bytes, text.length, "t", &err), 0);
    const struct mallinfo2 after = mallinfo2();
    const size_t bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
    if (bytes > 100 * (size_t)ROWS)
        fail_msg("%zu bytes a row", bytes / ROWS);
    csv_free(&csv);
    free(text.bytes);
}

struct left {
    size_t count;
    char first[1024];
    int answer;
};

static int leave(void *context, struct error *err)
{
    struct left *left = context;
    if (left->count++ == 0)
        text_copy(left->first, sizeof(left->first), err->text);
    return left->answer;
}

// A row that cannot be read costs itself and no other; a caller who wants none left out refuses it.
TEST(a_row_that_cannot_be_read_is_left_out)
{
    static const char text[] = "a,b,c\n1,2,3\n4\n5,6\n7,8,9,10\n11,12,13\n";
    struct left left = {0};
    struct csv_lenience lenience = {leave, &left, "b"};
    struct csv csv;
    struct error err;
    assert_int_equal(csv_parse_leaving(&csv, text, strlen(text), "t.csv", &lenience, &err), 0);
    assert_int_equal(csv.count, 3);
    assert_string_equal(csv.rows[1].fields[1], "6");
    assert_string_equal(csv.rows[1].fields[2], ""); // the row ends behind b, as it may
    assert_string_equal(csv.rows[2].fields[2], "13");
    assert_int_equal(csv.rows[2].line, 6);
    assert_int_equal(left.count, 2);
    assert_non_null(strstr(left.first, "t.csv:3"));
    csv_free(&csv);

    left.answer = -1;
    assert_int_equal(csv_parse_leaving(&csv, text, strlen(text), "t.csv", &lenience, &err), -1);
}

// A table that is read in pieces: every piece has the rows that the whole table has there.
TEST(pieces_of_a_table_are_its_rows)
{
    enum { ROWS = 1000 };
    struct buffer text = {0};
    struct csv whole;
    struct csv_pieces pieces;
    struct error err;
    buffer_puts(&text, "\xEF\xBB\xBF# a comment\na,b\r\n");
    for (int i = 0; i < ROWS; i++)
        buffer_printf(&text, "%d,\"line %d\nof %d\"\n%s", i / 3, i, ROWS, i % 7 ? "" : "\n");
    assert_int_equal(csv_parse(&whole, text.bytes, text.length, "t.csv", &err), 0);
    assert_int_equal(csv_pieces_open(&pieces, text.bytes, text.length, "t.csv", &err), 0);
    for (int turn = 0; turn < 2; turn++) {
        size_t read = 0;
        do {
            assert_int_equal(csv_pieces_next(&pieces, 96, &err), 0);
            for (size_t i = 0; i < pieces.csv.count; i++, read++) {
                assert_string_equal(pieces.csv.rows[i].fields[0], whole.rows[read].fields[0]);
                assert_string_equal(pieces.csv.rows[i].fields[1], whole.rows[read].fields[1]);
                assert_int_equal(pieces.csv.rows[i].line, whole.rows[read].line);
            }
        } while (pieces.csv.count > 0);
        assert_int_equal(read, ROWS);
        csv_pieces_rewind(&pieces);
    }
    csv_pieces_free(&pieces);
    csv_free(&whole);
    buffer_free(&text);
}

TEST(a_piece_takes_memory_for_its_rows_alone)
{
    enum { ROWS = 100000, MOST = 1 << 20 };
    struct buffer text = {0};
    struct csv_pieces pieces;
    struct error err;
    buffer_puts(&text, "m,n,k,in_dtype\n");
    for (int i = 0; i < ROWS; i++)
        buffer_printf(&text, "%d,%d,4096,bf16\n", 1 + i % 8192, 1 + i % 4093);
    const struct mallinfo2 before = mallinfo2();
    assert_int_equal(csv_pieces_open(&pieces, text.bytes, text.length, "t", &err), 0);
    do {
        assert_int_equal(csv_pieces_next(&pieces, 4096, &err), 0);
        const struct mallinfo2 now = mallinfo2();
        const size_t bytes = now.uordblks + now.hblkhd - before.uordblks - before.hblkhd;
        if (bytes > MOST)
            fail_msg("%zu bytes", bytes);
    } while (pieces.csv.count > 0);
    csv_pieces_free(&pieces);
    buffer_free(&text);
}

TEST(a_faulty_row_of_a_later_piece_is_told_with_its_line)
{
    static const char text[] = "a,b\n1,2\n3,4\n5\n";
    struct csv_pieces pieces;
    struct error err;
    assert_int_equal(csv_pieces_open(&pieces, text, strlen(text), "t.csv", &err), 0);
    assert_int_equal(csv_pieces_next(&pieces, 2, &err), 0);
    assert_int_equal(csv_pieces_next(&pieces, 2, &err), -1);
    assert_string_equal(err.text, "t.csv:4: 1 fields, but the first line has 2");
    csv_pieces_free(&pieces);
    assert_int_equal(csv_pieces_open(&pieces, "a,a\n", 4, "t.csv", &err), -1);
}
