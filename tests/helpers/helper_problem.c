// SPDX-License-Identifier: Apache-2.0
//
// A text that is no problem ends the test with what the parser says of it.
#include "tests/helpers/helper_problem.h"

#include "tests/helpers/test.h"

struct problem helper_problem(const char *text)
{
    struct problem problem;
    struct error err;
    if (problem_parse(&problem, text, &err))
        fail_msg("%s", err.text);
    return problem;
}
