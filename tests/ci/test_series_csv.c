// SPDX-License-Identifier: Apache-2.0
//
// A column of numbers found in files from anywhere, and files refused by line.
#include "ci/history/series_csv.h"
#include "ci/settings/text_file.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void reads(const char *text, const char *column, const char *name, size_t count,
                  const double *wanted)
{
    struct series_csv series;
    struct error err = {""};
    if (series_csv_parse(&series, text, strlen(text), "f", column, NULL, &err))
        print_message("%s\n", err.text);
    assert_string_equal(err.text, "");
    assert_string_equal(series.column, name);
    assert_int_equal(series.count, count);
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(isnan(wanted[i]) ? isnan(series.values[i]) : series.values[i] == wanted[i]);
        missing += isnan(wanted[i]) != 0;
    }
    assert_int_equal(series.missing, missing);
    series_csv_free(&series);
}

static void refuses(const char *text, const char *column, const char *message)
{
    struct series_csv series;
    struct error err = {""};
    assert_int_equal(series_csv_parse(&series, text, strlen(text), "f", column, NULL, &err), -1);
    if (!strstr(err.text, message))
        print_message("'%s' is not in '%s'\n", message, err.text);
    assert_non_null(strstr(err.text, message));
}

TEST(one_column_needs_no_header)
{
    const double wanted[] = {1, -2.5, 3e3};
    reads("1\n-2.5\n3e3\n", NULL, "1", 3, wanted);
    reads("1\n-2.5\n3e3", NULL, "1", 3, wanted);
    reads("1\r\n-2.5\r\n3e3\r\n\r\n", NULL, "1", 3, wanted);
    reads("time_ns\n1\n-2.5\n3e3\n", NULL, "time_ns", 3, wanted);
    reads("\xEF\xBB\xBFx\n 1\n-2.5 \n3e3\n", NULL, "x", 3, wanted);
    reads("# by hand\n\nx\n1\n-2.5\n3e3\n", "x", "x", 3, wanted);
    reads("\"x\"\n\"1\"\n\"-2.5\"\n3e3\n", NULL, "x", 3, wanted);
}

TEST(missing_values_keep_their_place)
{
    const double wanted[] = {1, NAN, NAN, 4};
    reads("1\n\n\n4\n\n\n", NULL, "1", 4, wanted);
    reads("x\n1\nNA\nnan\n4\n", NULL, "x", 4, wanted);
    reads("a,x\nc1,1\nc2,\nc3,NULL\nc4,4\n", NULL, "x", 4, wanted);
    reads("x\n1\n-\n-nan\n4\n", NULL, "x", 4, wanted); // a table's, and what printf writes
    reads("x\n1\n#N/A\n<NA>\n4\n", NULL, "x", 4, wanted);
}

TEST(blanks_around_names_and_labels_are_none_of_them)
{
    const double wanted[] = {5, 4};
    struct series_csv series;
    struct error err;
    const char text[] = " commit , time \n c1 , 5\n c2 ,4 \n";
    reads(text, "time", "time", 2, wanted);
    reads(text, " time ", "time", 2, wanted);
    assert_int_equal(series_csv_parse(&series, text, strlen(text), "f", NULL, NULL, &err), 0);
    assert_string_equal(series.labels[1], "c2");
    series_csv_free(&series);
}

TEST(dates_that_do_not_ascend_are_noticed)
{
    static const struct {
        const char *text;
        size_t line;
    } cases[] = {{"d,v\n2026-01-01,1\n2026-01-02,2\n", 0},
                 {"d,v\n2026-01-02,1\n2026-01-01,2\n2025-01-01,3\n", 3},
                 {"d,v\n2026-01-02T10:00:00Z,1\n2026-01-02T09:00:00Z,2\n", 3},
                 {"d,v\n9,1\n10,2\n7,2\n", 4},
                 {"d,v\n31.12.2025,1\n01.01.2026,2\n02.01.2026,2\n", 0},
                 {"d,v\n02.01.2026,1\n31.12.2025,2\n", 3},
                 {"d,v\n12/31/2025,1\n1/2/2026,2\n", 0},
                 {"d,v\n1/2/2026,1\n12/31/2025,2\n", 3},
                 {"d,v\n31/1/2026,1\n2/2/2026,2\n1/2/2026,3\n", 4},
                 {"d,v\n2026/01/02 10:00,1\n2026/01/02 09:59:59.5,2\n", 3},
                 {"d,v\n99.99.2026,1\n1.1.1,2\n", 0},
                 {"d,v\nb,1\na,2\n", 0}};
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct series_csv series;
        struct error err = {""};
        if (series_csv_parse(&series, cases[i].text, strlen(cases[i].text), "f", "v", NULL, &err))
            fail_msg("%s", err.text);
        assert_int_equal(series.unsorted, cases[i].line);
        series_csv_free(&series);
    }
}

TEST(the_only_column_of_numbers_is_found)
{
    const double wanted[] = {5, 4, 6};
    reads("commit,time\nabc,5\ndef,4\n0fe,6\n", NULL, "time", 3, wanted);
    reads("abc,5\ndef,4\n0fe,6\n", NULL, "2", 3, wanted);
    reads("year,time\n2001,5\n2002,4\n2003,6\n", NULL, "time", 3, wanted);
    reads(",time\n0,5\n1,4\n2,6\n", NULL, "time", 3, wanted);
    reads("0,5\n1,4\n2,6\n", NULL, "2", 3, wanted);
    reads("a,b\n5,1\n4,0\n6,3\n", "a", "a", 3, wanted);
    reads("a,b\n1,5\n0,4\n3,6\n", "2", "b", 3, wanted);
}

TEST(bad_input_is_refused_by_line)
{
    refuses("", NULL, "f: empty");
    refuses("\n\n\n", NULL, "f: empty");
    refuses("x\n1\nfast\n", NULL, "f:3: 'fast' is not a finite number; a missing one is");
    refuses("n,ms\n1,5\n2,fast\n3,4\n", NULL, "f:3: 'fast'");       // and n is not taken instead
    refuses("d;x\n1;2,5\n2;3.5\n", NULL, "is not a finite number"); // one language or the other
    refuses("x\nfast\n1\n2\n", NULL, "f:2: 'fast'");                // no unit
    refuses("1\ninf\n", NULL, "f:2: 'inf'");
    refuses("1\n1e999\n", NULL, "f:2: '1e999'");
    refuses("1\n2 3\n", NULL, "f:2: '2 3'");
    refuses("a,b\n1,2\n3\n", NULL, "f:3: 1 fields, but the first line has 2");
    refuses("a,b\n5,2\n3,2\n", NULL, "2 columns of numbers ('a', 'b'");
    refuses("a,b\n5,2\n3,2\n", "c", "f:1: no column 'c'");
    refuses("a,b\n5,2\n3,x\n", "b", "f:3: 'x'");
    refuses("\"1\n2\n", NULL, "never closed");
    refuses("a,b,c\nx,y,z\n", NULL, "no column of numbers");
}

// 1,201.5 and 1.201,5: a column says which it is, or another one of the file does.
TEST(numbers_of_other_languages_are_read)
{
    const double wanted[] = {1201.5, 1201.5, 1410}, halves[] = {2.5, 3, 1201.5};
    const double whole[] = {1201, 1202, 1203};
    reads("build,latency_us\n1,\"1,201.5\"\n2,\"1,201.5\"\n3,1410\n", NULL, "latency_us", 3,
          wanted);
    reads("build;latency_us\n1;1.201,5\n2;1.201,5\n3;1410\n", NULL, "latency_us", 3, wanted);
    reads("d;x\n1;2,5\n2;3\n3;1.201,5\n", NULL, "x", 3, halves);
    reads("x,y\n\"1,201\",\"9,999.5\"\n\"1,202\",8.5\n\"1,203\",7.5\n", "x", "x", 3, whole);
    refuses("d;x\n1;1,201\n2;1,202\n", NULL, "f:1: nothing in the file says whether the commas");
    refuses("d;x\n1;1,201\n2;1,202\n", "x", "f:1: nothing in the file says whether the commas");
    // Dates and versions are no such numbers.
    reads("day,x\n22.11.2026,1201\n23.11.2026,1202\n24.11.2026,1203\n", NULL, "x", 3, whole);
}

TEST(units_and_axes_are_no_values)
{
    const double wanted[] = {5, 4, 6};
    reads("build,latency (us)\n1,5\n2,4\n3,6\n", "latency", "latency (us)", 3, wanted);
    reads("build,latency [us]\n1,5\n2,4\n3,6\n", NULL, "latency [us]", 3, wanted);
    reads("build,latency\n,us\n1,5\n2,4\n3,6\n", NULL, "latency (us)", 3, wanted);
    reads("commit,time_us,date\na,5,20261122\nb,4,20261123\nc,6,20261124\n", NULL, "time_us", 3,
          wanted);
    refuses("commit,a,b\nx,5,1\ny,4,2\nz,6,3\n", NULL, "2 columns of numbers ('a', 'b'");
}

// Rows of several things are said to be, and --where takes those of one.
TEST(cells_may_have_units)
{
    const double same[] = {1201.5, NAN, 1199.25}, times[] = {1.5, 0.5, 2000}, rate[] = {71, 68};
    reads("build,latency\n1,\"1,201.5 us\"\n2,n/a\n3,\"1,199.25us\"\n", NULL, "latency (us)", 3,
          same);
    reads("n;t\n1;1,5 ms\n2;500,0 \xc2\xb5s\n3;2 s\n", NULL, "t (ms)", 3, times);
    reads("1,71 %\n2,68 %\n", NULL, "2 (%)", 2, rate);
    // Units that are not of one kind are words, and what counts up is no measurement in their
    // place.
    refuses("n,mem\n1,5 MB\n2,6 GB\n", NULL, "f: 'n' counts up, and 'mem' has no numbers");
    refuses("build,note\n1,fast\n2,slow\n", NULL,
            "f: 'build' counts up, and 'note' has no numbers");
    refuses("n,t\n1,5 ms\n2,6 parsecs\n", NULL, "f: 'n' counts up, and 't' has no numbers");
}

TEST(tags_choose_rows)
{
    static const char text[] = "gpu,kernel,us\nA100,g,5\nH100,g,2\nA100,g,4\nH100,g,3\nA100,g,6\n"
                               "H100,h,9\n";
    const double wanted[] = {5, 4, 6}, both[] = {2, 3};
    struct series_csv series;
    struct error err = {0};
    assert_int_equal(series_csv_parse(&series, text, strlen(text), "f", NULL, NULL, &err), 0);
    assert_int_equal(series.count, 6);
    assert_string_equal(series.why, "the only one of numbers");
    assert_non_null(strstr(series.tags, "its rows are of gpu 'A100' and 'H100'"));
    series_csv_free(&series);
    assert_int_equal(series_csv_parse(&series, text, strlen(text), "f", "us", "gpu=A100", &err), 0);
    assert_int_equal(series.count, 3);
    assert_null(series.tags);
    assert_string_equal(series.why, "as --column says");
    assert_memory_equal(series.values, wanted, sizeof(wanted));
    series_csv_free(&series);
    assert_int_equal(
        series_csv_parse(&series, text, strlen(text), "f", NULL, "gpu=H100,kernel=g", &err), 0);
    assert_memory_equal(series.values, both, sizeof(both));
    series_csv_free(&series);
    static const char *const wrong[][2] = {{"gpu", "is no NAME=VALUE"},
                                           {"gpu=B200", "no row has gpu=B200"},
                                           {"cpu=x", "no column 'cpu'"}};
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        assert_int_equal(
            series_csv_parse(&series, text, strlen(text), "f", NULL, wrong[i][0], &err), -1);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.text);
    }
}

TEST(a_nul_byte_is_refused)
{
    struct series_csv series;
    struct error err;
    assert_int_equal(series_csv_parse(&series, "1\n\0\n", 4, "f", NULL, NULL, &err), -1);
}

TEST(a_missing_file_is_refused)
{
    char *text;
    size_t length;
    struct error err;
    assert_int_equal(text_file_read(&text, &length, TEST_DATA "/no/such.csv", &err), -1);
    assert_non_null(strstr(err.text, "No such file"));
}

TEST(mutated_files_never_crash_the_reader)
{
    static const char *const seeds[] = {"commit,time\nabc,5\ndef,4\n0fe,6\n", "1\n\n2\nNA\n3\n",
                                        "\"a\",\"b\"\"c\"\n\"1\",2\n"};
    static const char bytes[] = "\n\r,\"#-+.eEnaN0123456789xX \t\0\xff";
    struct random random = {31};
    for (int game = 0; game < 20000; game++) {
        char text[64];
        const char *seed = seeds[game % 3];
        size_t length = strlen(seed);
        memcpy(text, seed, length);
        for (int i = 0; i < 4; i++) {
            size_t at = (size_t)(random_uniform(&random) * (double)length);
            text[at] = bytes[(size_t)(random_uniform(&random) * (sizeof(bytes) - 1))];
        }
        length -= (size_t)(random_uniform(&random) * (double)length / 3);
        char *copy = xcalloc(length ? length : 1, 1); // exact, so that ASan sees a byte too far
        memcpy(copy, text, length);
        struct series_csv series;
        struct error err;
        const char *column = game % 4 ? NULL : "time";
        if (series_csv_parse(&series, copy, length, "f", column, NULL, &err) == 0) {
            for (size_t i = 0; i < series.count; i++)
                assert_false(isinf(series.values[i]));
            series_csv_free(&series);
        }
        free(copy);
    }
}
