// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over one value. The text need not end with NUL: `end` is where it stops.
#include "baselines/jsonl.h"

#include "model/text.h"

#include <math.h>
#include <string.h>

struct reader {
    const char *begin, *at, *end;
    const char *where;
    struct arena *arena;
    struct error *err;
    int depth;
};

static int refuse(struct reader *r, const char *what)
{
    return error_set(r->err, "%s: not JSON at byte %zu: %s", r->where, (size_t)(r->at - r->begin),
                     what);
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(struct reader *r, char expected)
{
    if (r->at == r->end || *r->at != expected)
        return false;
    r->at++;
    return true;
}

static int read_hex(struct reader *r, unsigned *out)
{
    unsigned value = 0;
    if (r->end - r->at < 4)
        return refuse(r, "a \\u needs four digits");
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF";
        const char *found = *r->at ? strchr(digits, *r->at) : NULL;
        if (!found)
            return refuse(r, "a \\u needs four digits");
        value = value * 16 + (unsigned)(found - digits) % 16;
        r->at++;
    }
    *out = value;
    return 0;
}

static char *put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

static int read_unicode(struct reader *r, char **out)
{
    unsigned code, low;
    if (read_hex(r, &code))
        return -1;
    if (code == 0)
        return refuse(r, "a NUL in a string");
    if (code >= 0xdc00 && code <= 0xdfff)
        return refuse(r, "half a surrogate pair");
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!take(r, '\\') || !take(r, 'u'))
            return refuse(r, "half a surrogate pair");
        if (read_hex(r, &low))
            return -1;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(r, "half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    *out = put_utf8(*out, code);
    return 0;
}

static int read_escape(struct reader *r, char **out)
{
    static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    if (take(r, 'u'))
        return read_unicode(r, out);
    const char *found = r->at < r->end && *r->at ? strchr(names, *r->at) : NULL;
    if (!found)
        return refuse(r, "an unknown escape");
    *(*out)++ = bytes[found - names];
    r->at++;
    return 0;
}

static int read_string(struct reader *r, const char **out)
{
    // No string is longer decoded than written.
    size_t room = 0;
    while (r->at + room < r->end && r->at[room] != '"')
        room += r->at[room] == '\\' ? 2 : 1;
    char *text = arena_alloc(r->arena, room + 1), *to = text;
    while (r->at < r->end && *r->at != '"') {
        size_t length = utf8_length(NULL, r->at, (size_t)(r->end - r->at));
        if (take(r, '\\')) {
            if (read_escape(r, &to))
                return -1;
        } else if (length == 0 || (unsigned char)*r->at < 0x20) {
            return refuse(r, "a control byte or invalid UTF-8 in a string");
        } else {
            memcpy(to, r->at, length);
            to += length;
            r->at += length;
        }
    }
    if (!take(r, '"'))
        return refuse(r, "a string that does not end");
    *to = '\0';
    *out = text;
    return 0;
}

static size_t skip_digits(struct reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
        r->at++;
    return (size_t)(r->at - from);
}

static int read_number(struct reader *r, struct node *node)
{
    const char *from = r->at;
    take(r, '-');
    if (!take(r, '0') && skip_digits(r) == 0)
        return refuse(r, "an unknown value");
    if (take(r, '.') && skip_digits(r) == 0)
        return refuse(r, "a number without digits after its point");
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+'))
            take(r, '-');
        if (skip_digits(r) == 0)
            return refuse(r, "a number without an exponent");
    }
    node->type = NODE_NUMBER;
    node->text = arena_strndup(r->arena, from, (size_t)(r->at - from));
    return 0;
}

static int read_value(struct reader *r, struct node *node);

static int read_children(struct reader *r, struct node *node, char close)
{
    struct node **link = &node->children;
    skip_space(r);
    if (take(r, close))
        return 0;
    do {
        struct node *child = arena_alloc(r->arena, sizeof(*child));
        skip_space(r);
        if (node->type == NODE_OBJECT) {
            if (!take(r, '"'))
                return refuse(r, "a member without a name");
            if (read_string(r, &child->name))
                return -1;
            skip_space(r);
            if (!take(r, ':'))
                return refuse(r, "a name without ':'");
        }
        if (read_value(r, child))
            return -1;
        *link = child;
        link = &child->next;
        node->count++;
        skip_space(r);
    } while (take(r, ','));
    return take(r, close) ? 0 : refuse(r, "a list that does not end");
}

static bool take_word(struct reader *r, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

static int read_value(struct reader *r, struct node *node)
{
    skip_space(r);
    if (r->depth == NODE_DEPTH)
        return refuse(r, "nested too deep");
    if (take(r, '"')) {
        node->type = NODE_TEXT;
        return read_string(r, &node->text);
    }
    bool array = take(r, '[');
    if (array || take(r, '{')) {
        node->type = array ? NODE_ARRAY : NODE_OBJECT;
        r->depth++;
        int status = read_children(r, node, array ? ']' : '}');
        r->depth--;
        return status;
    }
    if (take_word(r, "null"))
        node->type = NODE_NULL;
    else if (take_word(r, "true"))
        node->type = NODE_TRUE;
    else if (take_word(r, "false"))
        node->type = NODE_FALSE;
    else
        return read_number(r, node);
    return 0;
}

int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err)
{
    struct reader r = {text, text, text + length, where, arena, err, 0};
    struct node *node = arena_alloc(arena, sizeof(*node));
    if (read_value(&r, node))
        return -1;
    skip_space(&r);
    if (r.at != r.end)
        return refuse(&r, "more than one value");
    *out = node;
    return 0;
}

const struct node *node_member(const struct node *object, const char *name)
{
    if (!object || object->type != NODE_OBJECT)
        return NULL;
    for (const struct node *child = object->children; child; child = child->next) {
        if (strcmp(child->name, name) == 0)
            return child;
    }
    return NULL;
}

const char *node_text(const struct node *object, const char *name, const char *missing)
{
    const struct node *node = node_member(object, name);
    return node && node->type == NODE_TEXT ? node->text : missing;
}

double node_value(const struct node *node)
{
    double value;
    bool number = node && node->type == NODE_NUMBER && parse_double(&value, node->text) == 0;
    return number ? value : NAN;
}

double node_real(const struct node *object, const char *name, double missing)
{
    double value = node_value(node_member(object, name));
    return isnan(value) ? missing : value;
}

bool node_bool(const struct node *object, const char *name, bool missing)
{
    const struct node *node = node_member(object, name);
    if (!node || (node->type != NODE_TRUE && node->type != NODE_FALSE))
        return missing;
    return node->type == NODE_TRUE;
}

int64_t node_int(const struct node *object, const char *name, int64_t missing)
{
    int64_t value;
    const struct node *node = node_member(object, name);
    bool number = node && node->type == NODE_NUMBER && parse_int64(&value, node->text) == 0;
    return number ? value : missing;
}
