// SPDX-License-Identifier: Apache-2.0
//
// Works a formula out. What does not count (the other side of a choice, what && and || need not
// ask) is not looked at, so that a formula can guard a division.
#include "model/plan/expression_parts.h"

struct worker {
    const struct expression *expression;
    const int64_t *values;
    struct error *err;
};

static int fail(const struct worker *w, const char *what)
{
    return error_set(w->err, "'%.100s': %s", w->expression->text, what);
}

static int divide(int64_t *out, const struct worker *w, enum operation operation, int64_t a,
                  int64_t b)
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

static int work_out_two(int64_t *out, const struct worker *w, enum operation operation, int64_t a,
                        int64_t b)
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

static int work_out(int64_t *out, const struct worker *w, uint32_t index)
{
    const struct part *part = &w->expression->parts[index];
    int64_t first, second;
    if (part->operation == NUMBER || part->operation == VALUE) {
        *out = part->operation == NUMBER ? part->number : w->values[part->number];
        return 0;
    }
    if (work_out(&first, w, part->of[0]))
        return -1;
    switch (part->operation) {
    case NOT:
        *out = !first;
        return 0;
    case NEGATE:
        return __builtin_sub_overflow((int64_t)0, first, out) ? fail(w, "a number beyond 64 bits")
                                                              : 0;
    case CHOOSE:
        return work_out(out, w, part->of[first ? 1 : 2]);
    case AND:
    case OR:
        *out = first != 0;
        if (*out == (part->operation == OR))
            return 0;
        if (work_out(&second, w, part->of[1]))
            return -1;
        *out = second != 0;
        return 0;
    default:
        return work_out(&second, w, part->of[1])
                   ? -1
                   : work_out_two(out, w, part->operation, first, second);
    }
}

int expression_value(int64_t *out, const struct expression *expression, const int64_t *values,
                     struct error *err)
{
    const struct worker w = {.expression = expression, .values = values, .err = err};
    int64_t value;
    if (work_out(&value, &w, expression->count - 1))
        return -1;
    *out = value;
    return 0;
}
