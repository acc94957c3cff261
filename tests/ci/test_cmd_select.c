// SPDX-License-Identifier: Apache-2.0
//
// `plumb select --trial`: what the kernels of a library choose, beside what a model would take.
#include "tests/helpers/helper_bench.h"
#include "tests/helpers/helper_library.h"
#include "tests/helpers/helper_plumb.h"
#include "tests/helpers/test.h"

#include <stdlib.h>

static struct plumb_outcome outcome;
static char *library;

static int set_up(void **state)
{
    (void)state;
    library = test_module("broken");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(library);
    return 0;
}

static void the_choice_and_the_models_are_both_said(void **state)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0, "16x16x16:fp32 tries takes second, the model alone first\n",
                 "select", "--trial", library, "--device", "host", "--kernel", "tries",
                 "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 0, "\"choice\":\"second\",\"model_alone\":\"first\"", "select",
                 "--trial", library, "--device", "host", "--kernel", "tries", "--format", "json",
                 "16x16x16:fp32");
}

static void what_cannot_be_timed_says_why(void **state)
{
    PLUMB_EXPECT(&outcome, "/tmp", 0, "16x16x16:fp32 unprepared crashed: prepare() returned 5\n",
                 "select", "--trial", library, "--device", "host", "--kernel", "unprepared",
                 "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 4, "nobody: ", "select", "--trial", library, "--device", "host",
                 "--kernel", "nobody", "16x16x16:fp32");
    PLUMB_EXPECT(&outcome, "/tmp", 4, "crash on 16x16x16:fp32: the process died", "select",
                 "--trial", library, "--device", "host", "--kernel", "crash", "16x16x16:fp32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_choice_and_the_models_are_both_said),
        cmocka_unit_test(what_cannot_be_timed_says_why),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
