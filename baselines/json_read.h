// SPDX-License-Identifier: Apache-2.0
//
// JSON from outside, one value at a time, as nodes in an arena. model/json.h is the writer.
#ifndef PLUMB_JSON_READ_H
#define PLUMB_JSON_READ_H

#include "model/base.h"

enum node_type {
    NODE_NULL,
    NODE_FALSE,
    NODE_TRUE,
    NODE_NUMBER,
    NODE_TEXT,
    NODE_ARRAY,
    NODE_OBJECT
};
enum { NODE_DEPTH = 32 }; // deeper nesting is refused

// A value. Children of arrays and objects are a list; a member of an object has a name.
struct node {
    enum node_type type;
    uint32_t count; // children
    const char *name;
    // NODE_TEXT: the text. NODE_NUMBER: the number's digits, without zeros that end a fraction; of
    // one with an exponent the shortest text that reads back the same. NODE_NULL: the word that
    // stood in place of a number (nan, inf). The outermost array or object: the whole text.
    const char *text;
    struct node *children, *next;
};

// Parses one whole JSON value (RFC 8259); `where` is shown in errors ("file:line"). Refused are
// trailing text, invalid UTF-8, unpaired surrogates, NUL in a string, a name twice in an object,
// numbers beyond int64 or double, deep nesting; and more than two million values, or than fit
// beside a long text in 256 MiB. Nodes live in the arena.
int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err);

// Says which elements of a long list are needed: of the member `list` of the outermost object, or
// of a file that is one list. The other elements are read and let go, as if the list did not hold
// them.
struct node_sieve {
    const char *list;
    bool (*needs)(const struct node *element);
};
// node_parse() for a file of many lines, where one bad value must not cost the others: errors name
// the line, behind `where`. A word in place of a number (NaN, Infinity, 1e400) is null, and so is a
// member whose name an object has twice; a byte that a string cannot hold is '?'; a whole number
// may be longer than 64 bits. `sieve` may be NULL.
int node_parse_lines(const struct node **out, const char *text, size_t length, const char *where,
                     const struct node_sieve *sieve, struct arena *arena, struct error *err);

// About where a value stands in the text that `root` was read from: the offset in bytes of the
// value's first string. 0: the value holds no string.
size_t node_offset(const struct node *root, const struct node *node);

// The member of that name; NULL: `object` is NULL, no object, or has no such member.
const struct node *node_member(const struct node *object, const char *name);
// Members as values: the default when missing, null or of another type.
const char *node_text(const struct node *object, const char *name, const char *missing);
double node_real(const struct node *object, const char *name, double missing);
bool node_bool(const struct node *object, const char *name, bool missing);
int64_t node_int(const struct node *object, const char *name, int64_t missing);
// The value of a number node, NaN for anything else.
double node_value(const struct node *node);

#endif
