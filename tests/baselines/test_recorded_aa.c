// SPDX-License-Identifier: Apache-2.0
//
// Gates of identical code by records on an H200 (baselines/recorded/h200/study/records): none
// alarmed, as the pages say, and so few of so many that fewer than one in a thousand do.
#include "model/gate/study.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_gates.h"
#include "tests/helpers/test.h"

#include <stdlib.h>
#include <string.h>

#define RECORDED TEST_SOURCE "/baselines/recorded/h200/"

struct counts {
    uint64_t gates, alarms, same, undecided;
};

static struct counts count(const char *path)
{
    struct counts c = {0};
    struct csv csv;
    csv_open(&csv, path);
    for (size_t row = 0; row < csv.count; row++) {
        const char *verdict = csv_field(&csv, row, "verdict");
        c.gates++;
        c.alarms += strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0;
        c.same += strcmp(verdict, "same") == 0;
        c.undecided += strcmp(verdict, "undecided") == 0;
    }
    csv_free(&csv);
    return c;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_thousand_gates_raised_no_alarm),
        cmocka_unit_test(none_of_the_other_kinds_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
