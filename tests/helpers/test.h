// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the headers that it wants before itself, and what this suite adds to it: a test
// registers itself, and a skipped one names what it needs and why it is not there. Every test
// begins with this.
//
// A failed assertion leaves a test where it stands, and what it holds is freed by nobody. So where
// a test has failed, leaks are not looked for (helper_main.c): their page would hide the reason.
#ifndef PLUMB_TESTS_TEST_H
#define PLUMB_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// One test, with cmocka's `void **state`: TEST(a_name_that_says_what_it_proves) { ... }. Those of a
// program run in the order of its file; nothing lists them.
#define TEST(name) TEST_WITH(name, NULL, NULL)

// The same with a set-up and a tear-down of its own.
#define TEST_WITH(name, set_up, tear_down)                                                         \
    static void name(void **);                                                                     \
    __attribute__((constructor)) static void add_##name(void)                                      \
    {                                                                                              \
        static struct test self = {{#name, name, set_up, tear_down, NULL}, __LINE__, NULL};        \
        add_test(&self);                                                                           \
    }                                                                                              \
    static void name(void **state)

// Once a program: what runs before the first of its tests and after the last, and what runs around
// each that has none of its own.
#define AROUND_ALL(set_up, tear_down)  const struct around around_all = {set_up, tear_down}
#define AROUND_EACH(set_up, tear_down) const struct around around_each = {set_up, tear_down}

struct around {
    CMFixtureFunction set_up, tear_down;
};
extern const struct around around_all, around_each;

struct test {
    struct CMUnitTest unit;
    int line; // where it stands in its file
    struct test *next;
};
void add_test(struct test *test); // keeps it

// What main() returns, of which a program has one only where it does something besides: 77 where
// every test was skipped, so that CTest does not call it passed.
int test_main(void);

// Ends the running test as skipped. `needs` is one word: what is missing here, such as "sandbox",
// "nvcc" or "browser"; `why` is a sentence. Where the environment's PLUMB_TEST_REQUIRE (words
// between commas) has that word, the test fails instead. A line is added to the file that
// PLUMB_TEST_NOTES names, for the table at the end of ci/test.
#define skip_without(needs, why) skip_test(needs, why, __func__, __FILE__, __LINE__)
void skip_test(const char *needs, const char *why, const char *test, const char *file, int line);
#undef skip // a skip without a reason

// The same for a program that has nothing to test here: returns what its main() returns.
int program_skipped(const char *needs, const char *why);

// How many games are played of the `whole` that a count needs: all, or under sanitizers, which look
// at memory only, a tenth. A count of few says little, so what it must be is asked of all alone.
static inline size_t draws(size_t whole)
{
#ifdef __SANITIZE_ADDRESS__
    return (whole + 9) / 10;
#else
    return whole;
#endif
}
#define assert_counted(condition) assert_true(draws(10) < 10 || (condition))

#endif
