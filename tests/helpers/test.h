// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the headers that it wants before itself, and what this suite adds to it: a skipped
// test names what it needs and why it is not there. Every test begins with this.
//
// A failed assertion leaves a test where it stands, and what it holds is freed by nobody. So where
// a test has failed, leaks are not looked for (helper_skip.c): their page would hide the reason.
#ifndef PLUMB_TESTS_TEST_H
#define PLUMB_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Ends the running test as skipped. `needs` is one word: what is missing here, such as "sandbox",
// "nvcc" or "browser"; `why` is a sentence. Where the environment's PLUMB_TEST_REQUIRE (words
// between commas) has that word, the test fails instead. A line is added to the file that
// PLUMB_TEST_NOTES names, for the table at the end of ci/test.
#define skip_without(needs, why) skip_test(needs, why, __func__, __FILE__, __LINE__)
void skip_test(const char *needs, const char *why, const char *test, const char *file, int line);
#undef skip // a skip without a reason

// The same for a program that has nothing to test here: returns what its main() returns.
int program_skipped(const char *needs, const char *why);

// What main() returns: 77 where every test was skipped, so that CTest does not call it passed.
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                           \
    tests_ended(_cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof((tests)[0]), set_up, \
                                        tear_down),                                                \
                sizeof(tests) / sizeof((tests)[0]))
int tests_ended(int failed, size_t count);

#endif
