// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the headers that it wants before itself. Every test begins with this.
//
// A failed assertion leaves a test where it stands, and what it holds is freed by nobody. So where
// a test has failed, leaks are not looked for (helper_failed.c): their page would hide the reason.
#ifndef PLUMB_TESTS_TEST_H
#define PLUMB_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

extern int tests_failed;
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    (tests_failed = _cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]),     \
                                            setup, teardown))

#endif
