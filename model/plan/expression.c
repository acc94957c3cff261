// SPDX-License-Identifier: Apache-2.0
//
// A formula is read by recursive descent, one function for each strength of binding, into a tree of
// terms, and worked out from it. Both are bounded: the descent by LEVELS, the tree by TERMS, which
// is also how deep working out can go.
#include "model/plan/expression.h"

#include "model/base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// What a formula is once it was read.
enum formula_operation {
    NUMBER,
    VALUE,
    CHOOSE,
    OR,
    AND,
    EQUAL,
    UNEQUAL,
    LESS,
    AT_MOST,
    MORE,
    AT_LEAST,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    NEGATE,
    NOT,
    CEIL_DIV,
    ROUND_UP,
    LEAST,
    GREATEST
};

struct term {
    enum formula_operation operation;
    int64_t number; // of a NUMBER; of a VALUE its name's index
    uint32_t of[3]; // terms that it works on
};

struct expression {
    const char *text;
    struct term *terms; // those that a term works on stand before it; the last is the whole
    uint32_t count;
    bool constant;
};

// ---- values ----
//
// Works a formula out. What does not count (the other side of a choice, what && and || need not
// ask) is not looked at, so that a formula can guard a division.

struct working {
    const struct expression *expression;
    const int64_t *values;
    struct error *err;
};

static int fail(const struct working *w, const char *what)
{
    return error_set(w->err, "'%.100s': %s", w->expression->text, what);
}

static int divide(int64_t *out, const struct working *w, enum formula_operation operation,
                  int64_t a, int64_t b)
{
    const bool up = operation == CEIL_DIV || operation == ROUND_UP;
    if (b == 0 || (up && b < 1))
        return fail(w, b ? "rounds up to less than 1" : "a division by zero");
    if (a == INT64_MIN && b == -1)
        return fail(w, "a number beyond 64 bits");
    const int64_t quotient = a / b, rest = a % b;
    *out = operation == REMAINDER ? rest : quotient + (up && rest > 0);
    if (operation == ROUND_UP && __builtin_mul_overflow(*out, b, out))
        return fail(w, "a number beyond 64 bits");
    return 0;
}

static int work_out_two(int64_t *out, const struct working *w, enum formula_operation operation,
                        int64_t a, int64_t b)
{
    bool overflow = false;
    switch (operation) {
    case ADD:
        overflow = __builtin_add_overflow(a, b, out);
        break;
    case SUBTRACT:
        overflow = __builtin_sub_overflow(a, b, out);
        break;
    case MULTIPLY:
        overflow = __builtin_mul_overflow(a, b, out);
        break;
    case EQUAL:
        *out = a == b;
        break;
    case UNEQUAL:
        *out = a != b;
        break;
    case LESS:
        *out = a < b;
        break;
    case AT_MOST:
        *out = a <= b;
        break;
    case MORE:
        *out = a > b;
        break;
    case AT_LEAST:
        *out = a >= b;
        break;
    case LEAST:
        *out = a < b ? a : b;
        break;
    case GREATEST:
        *out = a > b ? a : b;
        break;
    default:
        return divide(out, w, operation, a, b);
    }
    return overflow ? fail(w, "a number beyond 64 bits") : 0;
}

static int work_out(int64_t *out, const struct working *w, uint32_t index)
{
    const struct term *term = &w->expression->terms[index];
    int64_t first, second;
    if (term->operation == NUMBER || term->operation == VALUE) {
        *out = term->operation == NUMBER ? term->number : w->values[term->number];
        return 0;
    }
    if (work_out(&first, w, term->of[0]))
        return -1;
    switch (term->operation) {
    case NOT:
        *out = !first;
        return 0;
    case NEGATE:
        return __builtin_sub_overflow((int64_t)0, first, out) ? fail(w, "a number beyond 64 bits")
                                                              : 0;
    case CHOOSE:
        return work_out(out, w, term->of[first ? 1 : 2]);
    case AND:
    case OR:
        *out = first != 0;
        if (*out == (term->operation == OR))
            return 0;
        if (work_out(&second, w, term->of[1]))
            return -1;
        *out = second != 0;
        return 0;
    default:
        return work_out(&second, w, term->of[1])
                   ? -1
                   : work_out_two(out, w, term->operation, first, second);
    }
}

int expression_value(int64_t *out, const struct expression *expression, const int64_t *values,
                     struct error *err)
{
    const struct working w = {.expression = expression, .values = values, .err = err};
    int64_t value;
    if (work_out(&value, &w, expression->count - 1))
        return -1;
    *out = value;
    return 0;
}

enum { LEVELS = 64, TERMS = 256, NAME = 64 };

struct formula_parser {
    const char *text, *at;
    const struct expression_names *names;
    struct term terms[TERMS];
    uint32_t count, level;
    bool constant;
    struct error *err;
};

static int refuse(const struct formula_parser *p, const char *what)
{
    if (*p->at)
        return error_set(p->err, "'%.100s': %s at '%.20s'", p->text, what, p->at);
    return error_set(p->err, "'%.100s': %s at its end", p->text, what);
}

static void skip_blanks(struct formula_parser *p)
{
    p->at += strspn(p->at, " \t");
}

// Goes past the symbol if it stands here.
static bool take(struct formula_parser *p, const char *symbol)
{
    skip_blanks(p);
    const size_t length = strlen(symbol);
    if (strncmp(p->at, symbol, length) != 0)
        return false;
    p->at += length;
    return true;
}

static int add(struct formula_parser *p, uint32_t *out, struct term term)
{
    if (p->count == TERMS)
        return refuse(p, "more than 256 parts");
    p->terms[p->count] = term;
    *out = p->count++;
    return 0;
}

static int read_choice(struct formula_parser *p, uint32_t *out);

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

static int read_number(struct formula_parser *p, uint32_t *out)
{
    const bool hexadecimal = p->at[0] == '0' && (p->at[1] == 'x' || p->at[1] == 'X');
    const int base = hexadecimal ? 16 : 10;
    int64_t number = 0;
    p->at += hexadecimal ? 2 : 0;
    if (digit_of(*p->at) >= base)
        return refuse(p, "digits are missing");
    for (; digit_of(*p->at) < base; p->at++) {
        if (__builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, digit_of(*p->at), &number))
            return refuse(p, "a number beyond 64 bits");
    }
    return add(p, out, (struct term){.operation = NUMBER, .number = number});
}

static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return digit_of(*text) < 10 ? 0 : strspn(text, letters);
}

static bool is_called(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

// After a function's name.
static int read_call(struct formula_parser *p, uint32_t *out, enum formula_operation operation)
{
    struct term term = {.operation = operation};
    if (!take(p, "("))
        return refuse(p, "a ( is missing");
    if (read_choice(p, &term.of[0]))
        return -1;
    if (!take(p, ","))
        return refuse(p, "a second value is missing");
    if (read_choice(p, &term.of[1]))
        return -1;
    return take(p, ")") ? add(p, out, term) : refuse(p, "a ) is missing");
}

static int read_name(struct formula_parser *p, uint32_t *out)
{
    static const struct {
        const char *name;
        enum formula_operation operation;
    } functions[] = {
        {"ceil_div", CEIL_DIV}, {"round_up", ROUND_UP}, {"min", LEAST}, {"max", GREATEST}};
    const char *name = p->at;
    const size_t length = name_length(name);
    for (size_t i = 0; i < p->names->count; i++) {
        if (is_called(name, length, p->names->names[i])) {
            p->at += length;
            p->constant = false;
            return add(p, out, (struct term){.operation = VALUE, .number = (int64_t)i});
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(functions); i++) {
        if (is_called(name, length, functions[i].name)) {
            p->at += length;
            return read_call(p, out, functions[i].operation);
        }
    }
    return length > 0 && length < NAME
               ? error_set(p->err, "'%.100s': nothing is called %.*s", p->text, (int)length, name)
               : refuse(p, "a value is missing");
}

static int read_operand(struct formula_parser *p, uint32_t *out)
{
    if (digit_of(*p->at) < 10)
        return read_number(p, out);
    if (!take(p, "("))
        return read_name(p, out);
    if (read_choice(p, out))
        return -1;
    return take(p, ")") ? 0 : refuse(p, "a ) is missing");
}

static int read_signed(struct formula_parser *p, uint32_t *out)
{
    struct term term = {.operation = NEGATE};
    if (++p->level > LEVELS)
        return refuse(p, "more than 64 levels");
    skip_blanks(p);
    int status;
    if (*p->at == '-' || *p->at == '!') {
        term.operation = *p->at++ == '-' ? NEGATE : NOT;
        status = read_signed(p, &term.of[0]) ? -1 : add(p, out, term);
    } else {
        status = read_operand(p, out);
    }
    p->level--;
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
                           ands[] = {{"&&", AND}, {0}}, ors[] = {{"||", OR}, {0}};

static const struct symbol *const strengths[] = {ors, ands, comparisons, sums, products};

static const struct symbol *take_symbol(struct formula_parser *p, const struct symbol *symbols)
{
    while (symbols->text && !take(p, symbols->text))
        symbols++;
    return symbols->text ? symbols : NULL;
}

// Operators of this strength and those that bind more tightly, from left to right.
static int read_operators(struct formula_parser *p, uint32_t *out, size_t strength)
{
    if (strength == ARRAY_COUNT(strengths))
        return read_signed(p, out);
    if (read_operators(p, out, strength + 1))
        return -1;
    for (;;) {
        const struct symbol *symbol = take_symbol(p, strengths[strength]);
        if (!symbol)
            return 0;
        struct term term = {.operation = symbol->operation, .of = {*out}};
        if (read_operators(p, &term.of[1], strength + 1) || add(p, out, term))
            return -1;
        if (strengths[strength] == comparisons)
            return 0; // a < b < c means nothing here
    }
}

static int read_choice(struct formula_parser *p, uint32_t *out)
{
    struct term term = {.operation = CHOOSE};
    if (++p->level > LEVELS)
        return refuse(p, "more than 64 levels");
    int status = read_operators(p, out, 0);
    if (status == 0 && take(p, "?")) {
        term.of[0] = *out;
        if (read_choice(p, &term.of[1]))
            return -1;
        if (!take(p, ":"))
            return refuse(p, "a : is missing");
        status = read_choice(p, &term.of[2]) ? -1 : add(p, out, term);
    }
    p->level--;
    return status;
}

static const struct expression *finish(const struct formula_parser *p, struct arena *arena)
{
    struct expression *expression = arena_alloc(arena, sizeof(*expression));
    *expression = (struct expression){
        .text = arena_strdup(arena, p->text),
        .terms = arena_copy(arena, p->terms, p->count * sizeof(*p->terms)),
        .count = p->count,
        .constant = p->constant,
    };
    return expression;
}

int expression_parse_list(const struct expression **out, size_t *count, size_t most,
                          const char *text, const struct expression_names *names,
                          struct arena *arena, struct error *err)
{
    struct formula_parser p = {.text = text, .at = text, .names = names, .err = err};
    size_t found = 0;
    do {
        uint32_t whole;
        if (found == most)
            return error_set(err, "'%.100s': %zu %s at most", text, most,
                             plural(most, "value", "values"));
        p.count = p.level = 0;
        p.constant = true;
        if (read_choice(&p, &whole))
            return -1;
        out[found++] = finish(&p, arena);
    } while (take(&p, ","));
    skip_blanks(&p);
    if (*p.at)
        return refuse(&p, "an operator is missing");
    *count = found;
    return 0;
}

int expression_parse(const struct expression **out, const char *text,
                     const struct expression_names *names, struct arena *arena, struct error *err)
{
    size_t count;
    return expression_parse_list(out, &count, 1, text, names, arena, err);
}

bool expression_constant(const struct expression *expression)
{
    return expression->constant;
}
