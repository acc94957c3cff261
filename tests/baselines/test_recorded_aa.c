// SPDX-License-Identifier: Apache-2.0
//
// Gates of identical code by records on an H200 (baselines/recorded/h200/study/records): none
// alarmed, as the pages say, and so few of so many that fewer than one in a thousand do. And gates
// of code that really changed.
#include "model/gate/study.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"

struct counts {
    uint64_t gates, alarms, same, undecided;
};

// NULL: every kind.
static struct counts count_of(const char *path, const char *kind)
{
    struct counts c = {0};
    struct csv csv;
    csv_open(&csv, path);
    for (size_t row = 0; row < csv.count; row++) {
        const char *verdict = csv_field(&csv, row, "verdict");
        if (kind && strcmp(csv_field(&csv, row, "kind"), kind) != 0)
            continue;
        c.gates++;
        c.alarms += strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0;
        c.same += strcmp(verdict, "same") == 0;
        c.undecided += strcmp(verdict, "undecided") == 0;
    }
    csv_free(&csv);
    return c;
}

static struct counts count(const char *path)
{
    return count_of(path, NULL);
}

static void three_thousand_gates_raised_no_alarm(void **state)
{
    const struct counts c = count(RECORDED "study/records/aa.csv");
    char *page = helper_read(RECORDED "replay/README.md", NULL);
    assert_int_equal(c.gates, 3860);
    assert_int_equal(c.same, 3860);
    assert_int_equal(c.alarms, 0);
    const double most = 100 * study_rate_upper(c.alarms, c.gates, 0.95);
    assert_true(most > 0.0775 && most < 0.0785);
    assert_non_null(
        strstr(page, "0 of 3,860 gates, none even before confirmation: at most 0.078 %"));
    free(page);
}

static void none_of_the_other_kinds_did(void **state)
{
    const struct counts c = count(RECORDED "study/records/kinds.csv");
    assert_int_equal(c.gates, 44);
    assert_int_equal(c.alarms, 0);
    assert_int_equal(c.same, 41);
    assert_int_equal(c.undecided, 3);
}

// Changes of 0.27 to 4 % are found the right way in every gate; those of half a percent above 100
// us are as many as the README says.
static void what_really_changed_was_found_in_every_gate(void **state)
{
    const char *const files[] = {RECORDED "study/records/half-158594d.csv",
                                 RECORDED "study/records/gemm-158594d.csv"};
    size_t found = 0, halves = 0, same = 0, undecided = 0;
    for (size_t f = 0; f < ARRAY_COUNT(files); f++) {
        const struct counts alike = count_of(files[f], "aa");
        struct csv csv;
        assert_int_equal(alike.alarms, 0);
        same += alike.same;
        undecided += alike.undecided;
        csv_open(&csv, files[f]);
        for (size_t row = 0; row < csv.count; row++) {
            const char *kind = csv_field(&csv, row, "kind");
            if (strcmp(kind, "aa") == 0)
                continue;
            assert_string_equal(csv_field(&csv, row, "verdict"), kind);
            found++;
            halves += csv_number(&csv, row, "base_us") > 100 &&
                      strstr(csv_field(&csv, row, "kernel"), "_0050") &&
                      !strstr(csv_field(&csv, row, "problem"), "4096x4096x4096");
        }
        csv_free(&csv);
    }
    assert_int_equal(found, 290);
    assert_int_equal(same, 140);
    assert_int_equal(undecided, 5);
    char text[64];
    snprintf(text, sizeof(text), "found in %zu of %zu gates", halves, halves);
    assert_true(helper_says(TEST_SOURCE "/README.md", text));
    assert_int_equal(halves, 116);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_thousand_gates_raised_no_alarm),
        cmocka_unit_test(none_of_the_other_kinds_did),
        cmocka_unit_test(what_really_changed_was_found_in_every_gate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
