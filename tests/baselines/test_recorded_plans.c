// SPDX-License-Identifier: Apache-2.0
//
// What is said of Triton's kernels in baselines/recorded/h200/plans is what its files hold.
#include "model/base.h"
#include "tests/helpers/helper_files.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER TEST_SOURCE "/baselines/recorded/h200/plans/"

// A record's launch and Triton's own, in turn in one process.
static void the_same_launches_take_the_same_time(void **state)
{
    char *text = helper_read(FOLDER "launches.csv", NULL),
         *readme = helper_read(FOLDER "README.md", NULL);
    size_t count = 0;
    for (char *rest = text, *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char kernel[64], problem[64];
        double us, percent, error;
        int same;
        if (sscanf(line, "%63[^,],%63[^,],%d,%lf,%lf,%lf", kernel, problem, &same, &us, &percent,
                   &error) != 6)
            continue;
        count++;
        assert_int_equal(same, 1);
        assert_true(fabs(percent) <= 0.25);
        assert_true(error < 0.3);
        char *row = xprintf("%.2f | %+.3f +- %.3f %%", us, percent, error);
        assert_non_null(strstr(readme, row));
        free(row);
    }
    assert_int_equal(count, 8);
    free(text);
    free(readme);
}

static void one_stage_fewer_is_slower_and_a_comment_is_the_same(void **state)
{
    char *text = helper_read(FOLDER "results.csv", NULL);
    size_t slower = 0;
    for (const char *at = text; (at = strstr(at, ",\"slower\",\"kernel\",")); at++)
        slower++;
    assert_int_equal(slower, 8);
    assert_true(helper_says(FOLDER "gate.txt", "OK: 8 same"));
    assert_true(helper_says(FOLDER "gate.txt", "SLOWER: 8 slower"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_launches_take_the_same_time),
        cmocka_unit_test(one_stage_fewer_is_slower_and_a_comment_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
