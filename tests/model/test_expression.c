// SPDX-License-Identifier: Apache-2.0
//
// Formulas: how operators bind, what is worked out, and what is refused. Random formulas are held
// against a second way of working them out, in 128 bits.
#include "model/plan/plan.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PLAN_INPUTS] = {"m", "n", "k", "batch", "sms"};
static const int64_t values[PLAN_INPUTS] = {4096, 7168, 100, 3, 132};

static int work_out(int64_t *out, const char *text, struct error *err)
{
    int64_t found;
    size_t count;
    const int status = plan_formulas(&found, &count, 1, text, values, err);
    if (status == 0)
        *out = found;
    return status;
}

TEST(operators_bind_as_in_c)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"7", 7},
        {" m ", 4096},
        {"batch", 3},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"100 / 7 % 4", 2},
        {"-7 / 2", -3},
        {"-7 % 2", -1},
        {"- -3", 3},
        {"1 + 1 == 2 && 3 >= 2", 1},
        {"n - k * 2", 6968},
        {"-m + n", 3072},
        {"1 <= 2 == 1", 1},
        {"1 == 2 <= 2", 1},
        {"ceil_div(n, 256) * ceil_div(k, 128)", 28},
        {"ceil_div(-7, 2)", -3},
        {"min(sms, ceil_div(m, 128))", 32},
        {"min(2, min(9, 3))", 2},
        {"(1 <= 2) + (2 <= 1) + (2 <= 2) + (2 >= 3) + (3 >= 2) + (1 == 2)", 3},
        {"0 && 5", 0},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {""};
        int64_t value = 0;
        const int status = work_out(&value, cases[i].text, &err);
        if (status || value != cases[i].value)
            fail_msg("%s is %lld, not %lld: %s", cases[i].text, (long long)value,
                     (long long)cases[i].value, err.text);
    }
}

TEST(what_is_no_number_is_refused_and_says_so)
{
    static const char *const cases[][2] = {
        {"", "a value is missing"},
        {"1 +", "a value is missing"},
        {"m * / 2", "a value is missing"},
        {"(1", "a ) is missing"},
        {"1)", "an operator is missing"},
        {"2 3", "an operator is missing"},
        {"tiles", "nothing is called tiles"},
        {"ceil_div(1)", "a second value is missing"},
        {"min 1, 2", "a ( is missing"},
        {"1, 2", "1 value at most"},
        {"1 < 2", "an operator is missing"},
        {"1 != 2", "an operator is missing"},
        {"M", "a value is missing"},
        {"1 & 2", "an operator is missing"},
        {"9223372036854775808", "no whole number of 64 bits at '9223"},
        {"12m", "no whole number of 64 bits at '12m'"},
        {"a_name_that_is_much_too_long", "a word that is too long"},
        {"9223372036854775807 + 1", "beyond 64 bits"},
        {"-9223372036854775807 - 2", "beyond 64 bits"},
        {"3037000500 * 3037000500", "beyond 64 bits"},
        {"-(-9223372036854775807 - 1)", "beyond 64 bits"},
        {"(-9223372036854775807 - 1) / -1", "a division by less than 1"},
        {"1 / 0", "a division by less than 1"},
        {"m % (k - 100)", "a division by less than 1"},
        {"ceil_div(1, 0)", "a division by less than 1"},
        {"ceil_div(1, -2)", "a division by less than 1"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = {""};
        int64_t value = 17;
        if (work_out(&value, cases[i][0], &err) != -1 || value != 17 ||
            !strstr(err.text, cases[i][1]))
            fail_msg("'%s': %s, not %s", cases[i][0], err.text, cases[i][1]);
    }
}

TEST(depth_and_length_have_an_end)
{
    struct error err;
    int64_t value;
    char *deep = xcalloc(200001, 1);
    memset(deep, '(', 100000);
    assert_int_equal(work_out(&value, deep, &err), -1);
    assert_non_null(strstr(err.text, "64 levels"));
    memset(deep, '-', 200000);
    assert_int_equal(work_out(&value, deep, &err), -1);
    memset(deep, 0, 200000);
    for (int i = 0; i < 50000; i++)
        memcpy(deep + 2 * i, "1+", 2);
    memcpy(deep + 100000, "1", 2); // what is long is not deep
    assert_int_equal(work_out(&value, deep, &err), 0);
    assert_int_equal(value, 50001);
    free(deep);
}

TEST(a_list_has_what_stands_between_its_commas)
{
    int64_t found[3];
    struct error err;
    size_t count;
    assert_int_equal(plan_formulas(found, &count, 3, "m, min(n, k) , 1", values, &err), 0);
    assert_int_equal(count, 3);
    assert_int_equal(found[1], 100);
    assert_int_equal(plan_formulas(found, &count, 3, "1, 2, 3, 4", values, &err), -1);
    assert_int_equal(plan_formulas(found, &count, 3, "1,", values, &err), -1);
    // Without values it is only read.
    assert_int_equal(plan_formulas(found, &count, 3, "1 / (m - 7), 8", NULL, &err), 0);
    assert_int_equal(count, 2);
    assert_int_equal(plan_formulas(found, &count, 3, "1 / (m - ", NULL, &err), -1);
}

// ---- random formulas ----

struct grown {
    char text[8192];
    size_t used;
    struct random random;
};

__extension__ typedef __int128 wide;

struct outcome {
    bool fails;
    wide value;
};

static void put(struct grown *g, const char *text)
{
    g->used += (size_t)snprintf(g->text + g->used, sizeof(g->text) - g->used, "%s", text);
}

static int below(struct grown *g, int most)
{
    return (int)(random_uniform(&g->random) * most);
}

static struct outcome checked(wide value)
{
    return (struct outcome){value > INT64_MAX || value < INT64_MIN, value};
}

static struct outcome grow_leaf(struct grown *g)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 7, 64, 4294967296, INT64_MAX};
    char text[32];
    if (below(g, 2)) {
        const int i = below(g, (int)ARRAY_COUNT(names));
        put(g, names[i]);
        return (struct outcome){false, values[i]};
    }
    const int64_t number = numbers[below(g, (int)ARRAY_COUNT(numbers))];
    snprintf(text, sizeof(text), "%lld", (long long)number);
    put(g, text);
    return (struct outcome){false, number};
}

static struct outcome combine(int operation, struct outcome a, struct outcome b)
{
    const struct outcome failed = {true, 0};
    if (operation == 4) // &&
        return a.fails || b.fails ? failed : (struct outcome){false, a.value && b.value};
    if (a.fails || b.fails)
        return failed;
    switch (operation) {
    case 0:
        return checked(a.value + b.value);
    case 1:
        return checked(a.value - b.value);
    case 2:
        return checked(a.value * b.value);
    case 3:
        return b.value < 1 ? failed : checked(a.value / b.value);
    case 5:
        return checked(a.value <= b.value);
    default:
        return b.value < 1 ? failed : checked(a.value % b.value);
    }
}

static struct outcome grow(struct grown *g, int depth)
{
    static const char *const signs[] = {" + ", "-", "*", " / ", " && ", "<=", "%"};
    if (depth == 0 || below(g, 5) == 0)
        return grow_leaf(g);
    const int operation = below(g, (int)ARRAY_COUNT(signs));
    put(g, "(");
    const struct outcome a = grow(g, depth - 1);
    put(g, signs[operation]);
    const struct outcome b = grow(g, depth - 1);
    put(g, ")");
    return combine(operation, a, b);
}

TEST(random_formulas_are_what_128_bits_say)
{
    struct grown g = {.random = {20261122}};
    int worked = 0, failed = 0;
    for (int i = 0; i < 20000; i++) {
        g.used = 0;
        const struct outcome wanted = grow(&g, 5);
        struct error err;
        int64_t value = 0;
        const int status = work_out(&value, g.text, &err);
        if (status != (wanted.fails ? -1 : 0) || (status == 0 && value != (int64_t)wanted.value))
            fail_msg("%s is %lld: %s", g.text, (long long)value, status ? err.text : "");
        worked += status == 0;
        failed += status != 0;
    }
    assert_true(worked > 5000 && failed > 1000);
}
