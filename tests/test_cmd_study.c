// SPDX-License-Identifier: Apache-2.0
//
// plumb study with the real bench on the host: kernels that differ by a factor are found, kernels
// compared with themselves are not, and the table of the gates is whole.
#include "tests/helper_loop.h"
#include "tests/helper_plumb.h"
#include "tests/helper_repo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *directory;
static struct plumb_outcome outcome;

static int set_up(void **state)
{
    (void)state;
    directory = helper_directory();
    assert_int_equal(helper_loop_build(directory), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    helper_discard(directory);
    free(directory);
    return 0;
}

static void study_finds_what_was_put_in_and_nothing_else(void **state)
{
    (void)state;
    const char *argv[] = {"study",     "--base",        "base",     "--head", "head",
                          "--problem", "32x32x64:fp32", "--rounds", "2",      "--csv",
                          "gates.csv", "--faster",      NULL};
    plumb_run(&outcome, directory, argv, 0);
    if (outcome.code != 0 || !strstr(outcome.output, "A/A: 0 false alarms in 2 gates") ||
        !strstr(outcome.output, "slower 2 faster 0") ||
        !strstr(outcome.output, "slower 0 faster 2"))
        fail_msg("exit %d:\n%s", outcome.code, outcome.output);
    char *path = xprintf("%s/gates.csv", directory), line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t rows = 0;
    while (fgets(line, sizeof(line), file)) {
        size_t commas = 0;
        for (const char *c = line; *c; c++)
            commas += *c == ',';
        assert_int_equal(commas, 15);
        rows++;
    }
    fclose(file);
    free(path);
    assert_int_equal(rows, 1 + 2 * 3);
}

static void study_refuses_what_it_cannot_study(void **state)
{
    (void)state;
    const char *none[] = {"study", "--problem", "32x32x64:fp32", NULL};
    plumb_run(&outcome, directory, none, 0);
    assert_int_equal(outcome.code, 4);
    const char *missing[] = {"study", "--base", "nowhere", "--problem", "32x32x64:fp32", NULL};
    plumb_run(&outcome, directory, missing, 0);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.output, "nowhere"));
    const char *unfit[] = {"study", "--base", "base", "--problem", "32x32x64:bf16", NULL};
    plumb_run(&outcome, directory, unfit, 0);
    assert_int_equal(outcome.code, 4);
    assert_non_null(strstr(outcome.output, "no library there has a kernel"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(study_finds_what_was_put_in_and_nothing_else),
        cmocka_unit_test(study_refuses_what_it_cannot_study),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
