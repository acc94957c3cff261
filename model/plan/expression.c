// SPDX-License-Identifier: Apache-2.0
//
// A formula is worked out while it is read, by recursive descent, one function for each strength of
// binding. The descent is bounded by LEVELS.
#include "model/plan/expression.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LEVELS = 64, NAME = 64 };

struct formula_reader {
    const char *text, *at;
    const struct expression_names *names;
    uint32_t level;
    bool constant;
    struct error *err;
};

static int refuse(const struct formula_reader *r, const char *what)
{
    if (*r->at)
        return error_set(r->err, "'%.100s': %s at '%.20s'", r->text, what, r->at);
    return error_set(r->err, "'%.100s': %s at its end", r->text, what);
}

static int fail(const struct formula_reader *r, const char *what)
{
    return error_set(r->err, "'%.100s': %s", r->text, what);
}

// Goes past the symbol if it stands here, behind blanks.
static bool take(struct formula_reader *r, const char *symbol)
{
    const size_t length = strlen(symbol);
    r->at += strspn(r->at, " \t");
    if (strncmp(r->at, symbol, length) != 0)
        return false;
    r->at += length;
    return true;
}

// ---- what is done with two values ----

enum formula_operation {
    AND,
    EQUAL,
    UNEQUAL,
    AT_MOST,
    AT_LEAST,
    LESS,
    MORE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    CEIL_DIV,
    LEAST
};

static int divide(int64_t *out, const struct formula_reader *r, enum formula_operation operation,
                  int64_t a, int64_t b)
{
    if (b == 0 || (operation == CEIL_DIV && b < 1))
        return fail(r, b ? "rounds up to less than 1" : "a division by zero");
    if (a == INT64_MIN && b == -1)
        return fail(r, "a number beyond 64 bits");
    *out = operation == REMAINDER ? a % b : a / b + (operation == CEIL_DIV && a % b > 0);
    return 0;
}

static int work_out(int64_t *out, const struct formula_reader *r, enum formula_operation operation,
                    int64_t a, int64_t b)
{
    bool overflow = false;
    if (!r->names->values)
        return 0;
    switch (operation) {
    case AND:
        *out = a && b;
        break;
    case EQUAL:
    case UNEQUAL:
        *out = (a == b) == (operation == EQUAL);
        break;
    case LESS:
    case AT_LEAST:
        *out = (a < b) == (operation == LESS);
        break;
    case MORE:
    case AT_MOST:
        *out = (a > b) == (operation == MORE);
        break;
    case ADD:
        overflow = __builtin_add_overflow(a, b, out);
        break;
    case SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, out);
        break;
    case MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, out);
        break;
    case LEAST:
        *out = a < b ? a : b;
        break;
    default:
        return divide(out, r, operation, a, b);
    }
    return overflow ? fail(r, "a number beyond 64 bits") : 0;
}

// ---- how it is read ----

static int read_whole(struct formula_reader *r, int64_t *out);

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int read_number(struct formula_reader *r, int64_t *out)
{
    int64_t number = 0;
    for (; is_digit(*r->at); r->at++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *r->at - '0', &number))
            return refuse(r, "a number beyond 64 bits");
    }
    *out = r->names->values ? number : 0;
    return 0;
}

// After a function's name.
static int read_call(struct formula_reader *r, int64_t *out, enum formula_operation operation)
{
    int64_t first, second;
    if (!take(r, "("))
        return refuse(r, "a ( is missing");
    if (read_whole(r, &first))
        return -1;
    if (!take(r, ","))
        return refuse(r, "a second value is missing");
    if (read_whole(r, &second))
        return -1;
    *out = 0;
    return take(r, ")") ? work_out(out, r, operation, first, second) : refuse(r, "a ) is missing");
}

static int read_name(struct formula_reader *r, int64_t *out)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    static const struct {
        const char *name;
        enum formula_operation operation;
    } functions[] = {{"ceil_div", CEIL_DIV}, {"min", LEAST}};
    char name[NAME] = "";
    const size_t length = strspn(r->at, letters);
    if (!length || length >= sizeof(name))
        return refuse(r, "a value is missing");
    memcpy(name, r->at, length);
    r->at += length;
    for (size_t i = 0; i < r->names->count; i++) {
        if (strcasecmp(name, r->names->names[i]) == 0) {
            *out = r->names->values ? r->names->values[i] : 0;
            r->constant = false;
            return 0;
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (strcasecmp(name, functions[i].name) == 0)
            return read_call(r, out, functions[i].operation);
    }
    return error_set(r->err, "'%.100s': nothing is called %s", r->text, name);
}

static int read_signed(struct formula_reader *r, int64_t *out)
{
    int status;
    if (++r->level > LEVELS)
        return refuse(r, "more than 64 levels");
    if (take(r, "-"))
        status = read_signed(r, out) || work_out(out, r, SUBTRACT, 0, *out) ? -1 : 0;
    else if (take(r, "("))
        status = read_whole(r, out) ? -1 : take(r, ")") ? 0 : refuse(r, "a ) is missing");
    else
        status = is_digit(*r->at) ? read_number(r, out) : read_name(r, out);
    r->level--;
    return status;
}

// The operators of one strength, longer ones first where one begins with another.
struct symbol {
    const char *text;
    enum formula_operation operation;
};

static const struct symbol products[] = {{"*", MULTIPLY}, {"/", DIVIDE}, {"%", REMAINDER}, {0}},
                           sums[] = {{"+", ADD}, {"-", SUBTRACT}, {0}},
                           comparisons[] = {{"==", EQUAL},
                                            {"!=", UNEQUAL},
                                            {"<=", AT_MOST},
                                            {">=", AT_LEAST},
                                            {"<", LESS},
                                            {">", MORE},
                                            {0}},
                           ands[] = {{"&&", AND}, {0}};

static const struct symbol *const strengths[] = {ands, comparisons, sums, products};

// Operators of this strength and those that bind more tightly, from left to right.
static int read_operators(struct formula_reader *r, int64_t *out, size_t strength)
{
    if (strength == ARRAY_COUNT(strengths))
        return read_signed(r, out);
    if (read_operators(r, out, strength + 1))
        return -1;
    for (;;) {
        const struct symbol *symbol = strengths[strength];
        int64_t second;
        while (symbol->text && !take(r, symbol->text))
            symbol++;
        if (!symbol->text)
            return 0;
        if (read_operators(r, &second, strength + 1) ||
            work_out(out, r, symbol->operation, *out, second))
            return -1;
        if (strengths[strength] == comparisons)
            return 0; // a < b < c means nothing here
    }
}

static int read_whole(struct formula_reader *r, int64_t *out)
{
    if (++r->level > LEVELS)
        return refuse(r, "more than 64 levels");
    const int status = read_operators(r, out, 0);
    r->level--;
    return status;
}

int expression_values(int64_t *out, bool *constants, size_t *count, size_t most, const char *text,
                      const struct expression_names *names, struct error *err)
{
    struct formula_reader r = {.text = text, .at = text, .names = names, .err = err};
    size_t found = 0;
    do {
        if (found == most)
            return error_set(err, "'%.100s': %zu %s at most", text, most,
                             plural(most, "value", "values"));
        r.constant = true;
        if (read_whole(&r, &out[found]))
            return -1;
        if (constants)
            constants[found] = r.constant;
        found++;
    } while (take(&r, ","));
    if (*r.at)
        return refuse(&r, "an operator is missing");
    *count = found;
    return 0;
}
