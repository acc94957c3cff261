// SPDX-License-Identifier: Apache-2.0
//
// What a formula is once it was read; internal to model/plan/expression*.c.
#ifndef PLUMB_EXPRESSION_PARTS_H
#define PLUMB_EXPRESSION_PARTS_H

#include "model/plan/expression.h"

enum operation {
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

struct part {
    enum operation operation;
    int64_t number; // of a NUMBER; of a VALUE its name's index
    uint32_t of[3]; // parts that it works on
};

struct expression {
    const char *text;
    struct part *parts; // those that a part works on stand before it; the last is the whole
    uint32_t count;
    bool constant;
};

#endif
