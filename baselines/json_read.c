// SPDX-License-Identifier: Apache-2.0
//
// Parses JSON from outside (RFC 8259). The text is copied once. Strings are unescaped and ended in
// that copy, so a value costs one node and no other memory; this bounds the memory of a document.
// The nodes of elements that nobody needs (struct node_sieve) are reused at once.
#include "baselines/fields.h"

#include "model/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 128, NODES_MOST = 2000000, SORTED_FROM = 16 };

// With these limits a file of 64 MiB takes at most 256 MiB: twice its text, and the nodes with the
// memory to sort their names.
enum { TEXT_USUAL = 64 << 20, NODES_BYTES = 72 << 20, NODE_BYTES = sizeof(struct node) + 16 };

// Nodes, in blocks that are reused.
struct pool {
    struct node **chunks;
    size_t made, room;
    size_t used, most; // numbers of nodes
};

struct json_reader {
    char *begin, *at, *end; // pointers into the copy; a NUL stands at its end
    char *number_end;       // where the last number ends, once the byte there has been read; else
                            // NULL
    const char *wrong;      // what is wrong; NULL: nothing so far
    struct arena *arena;
    struct pool pool;
    const struct node_sieve *sieve;
    bool lenient; // a fault in one value costs only that value
};

static int wrong(struct json_reader *r, const char *what)
{
    r->wrong = r->wrong ? r->wrong : what;
    return -1;
}

static struct node *new_node(struct json_reader *r)
{
    struct pool *pool = &r->pool;
    if (pool->used >= pool->most)
        return NULL;
    if (pool->used == pool->made * CHUNK) {
        pool->chunks = xgrow(pool->chunks, pool->made, &pool->room, sizeof(struct node *));
        pool->chunks[pool->made++] = arena_alloc(r->arena, CHUNK * sizeof(struct node));
    }
    struct node *node = &pool->chunks[pool->used / CHUNK][pool->used % CHUNK];
    pool->used++;
    *node = (struct node){.type = NODE_NULL};
    return node;
}

// Moves past a byte. The NUL that ends a number replaces the byte after it, once that byte was
// read.
static void step(struct json_reader *r)
{
    r->at++;
    if (r->number_end)
        *r->number_end = '\0';
    r->number_end = NULL;
}

static void skip_blanks(struct json_reader *r)
{
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')
        step(r);
}

static bool take(struct json_reader *r, char c)
{
    skip_blanks(r);
    if (*r->at != c)
        return false;
    step(r);
    return true;
}

// ---- strings ----

static int read_hex(uint32_t *out, const char *at)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = at[i] ? strchr(digits, at[i]) : NULL;
        if (!digit)
            return -1;
        *out = *out << 4 | (uint32_t)((digit - digits) & 15);
    }
    return 0;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | c >> (6 * more));
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | ((c >> (6 * i)) & 0x3f));
    return to;
}

// Puts '?' in place of a byte that a string cannot hold, if faults are allowed.
static int spoil(struct json_reader *r, char **to, const char *what)
{
    if (!r->lenient)
        return wrong(r, what);
    *(*to)++ = '?';
    return 0;
}

// Reads the four digits after "\u", and for a surrogate also those of the second one.
static int read_unicode(struct json_reader *r, char **to)
{
    uint32_t c, low;
    if (read_hex(&c, r->at))
        return wrong(r, "an escape of no four digits");
    r->at += 4;
    if (c == 0)
        return spoil(r, to, "a NUL in a string");
    if (c >= 0xdc00 && c < 0xe000)
        return spoil(r, to, "half a surrogate pair");
    if (c >= 0xd800 && c < 0xdc00) {
        if (r->at[0] != '\\' || r->at[1] != 'u' || read_hex(&low, r->at + 2) || low < 0xdc00 ||
            low >= 0xe000)
            return spoil(r, to, "half a surrogate pair");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        r->at += 6;
    }
    *to = put_utf8(*to, c);
    return 0;
}

static int read_escape(struct json_reader *r, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char name = *r->at, *at = name ? strchr(names, name) : NULL;
    if (!at && name != 'u')
        return wrong(r, "an escape that there is not");
    r->at++;
    if (name == 'u')
        return read_unicode(r, to);
    *(*to)++ = values[at - names];
    return 0;
}

// Reads a string and unescapes it in place: the result is never longer than the source.
static int read_string(const char **out, struct json_reader *r)
{
    if (!take(r, '"'))
        return wrong(r, "a string is expected");
    char *to = r->at;
    *out = to;
    while (*r->at != '"') {
        const unsigned char c = (unsigned char)*r->at;
        if (r->at == r->end)
            return wrong(r, "a string that does not end");
        if (c < ' ' && spoil(r, &to, "a control byte in a string"))
            return -1;
        if (c < ' ') {
            r->at++;
            continue;
        }
        if (c == '\\') {
            r->at++;
            if (read_escape(r, &to))
                return -1;
            continue;
        }
        size_t length = c < 0x80 ? 1 : utf8_length(NULL, r->at, (size_t)(r->end - r->at));
        if (length == 0) {
            if (spoil(r, &to, "no UTF-8"))
                return -1;
            r->at++;
            continue;
        }
        while (length--)
            *to++ = *r->at++;
    }
    r->at++;
    *to = '\0';
    return 0;
}

// ---- numbers ----

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

// Completes a number. Without an exponent its text stays, except for zeros that end a fraction.
// `text` ends in a NUL during this call.
static int settle_number(struct node *out, struct json_reader *r, char *text, bool real,
                         bool exponent)
{
    size_t length = strlen(text);
    double value;
    int64_t whole;
    out->text = text;
    if (!real && length > 18 && !r->lenient && parse_int64(&whole, text))
        return wrong(r, "a number of more than 64 bits");
    if ((exponent || length > 300) && parse_double(&value, text)) {
        out->type = NODE_NULL;
        return r->lenient ? 0 : wrong(r, "a number that is too large");
    }
    if (exponent) {
        char shortest[NUMBER_TEXT];
        number_text(shortest, value);
        const size_t size = strlen(shortest) + 1;
        if (size <= length + 1) {
            memcpy(text, shortest, size);
        } else { // it needs a node's memory
            out->text = arena_strdup(r->arena, shortest);
            r->pool.most--;
        }
    } else if (real) {
        while (text[length - 1] == '0')
            text[--length] = '\0';
        if (text[length - 1] == '.')
            text[length - 1] = '\0';
    }
    if (strcmp(out->text, "-0") == 0)
        out->text = "0";
    return 0;
}

static int read_number(struct node *out, struct json_reader *r)
{
    char *from = r->at, *at = from + (*from == '-');
    const size_t whole = digits(at);
    bool real = false, exponent = false;
    if (whole == 0 || (whole > 1 && *at == '0'))
        return wrong(r, "no value");
    at += whole;
    if (*at == '.') {
        const size_t fraction = digits(at + 1);
        if (fraction == 0)
            return wrong(r, "a fraction without digits");
        at += 1 + fraction;
        real = true;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        const size_t power = digits(at);
        if (power == 0)
            return wrong(r, "an exponent without digits");
        at += power;
        real = exponent = true;
    }
    out->type = NODE_NUMBER;
    r->at = r->number_end = at;
    const char behind = *at;
    *at = '\0';
    const int status = settle_number(out, r, from, real, exponent);
    *at = behind;
    return status;
}

// ---- values ----

static bool take_word(struct json_reader *r, const char *word)
{
    const size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

// Reads NaN and similar words, which tools write although JSON does not have them.
static bool take_no_number(struct node *out, struct json_reader *r)
{
    static const char *const words[] = {"NaN", "-NaN", "Infinity", "-Infinity",
                                        "nan", "-nan", "inf",      "-inf"};
    for (size_t i = 0; r->lenient && i < ARRAY_COUNT(words); i++) {
        if (take_word(r, words[i])) {
            out->text = words[i];
            return true;
        }
    }
    return false;
}

static int read_scalar(struct node *out, struct json_reader *r)
{
    if (*r->at == '"') {
        out->type = NODE_TEXT;
        return read_string(&out->text, r);
    }
    if (take_word(r, "true"))
        out->type = NODE_TRUE;
    else if (take_word(r, "false"))
        out->type = NODE_FALSE;
    else if (!take_word(r, "null") && !take_no_number(out, r))
        return read_number(out, r);
    return 0;
}

static int by_name(const void *left, const void *right)
{
    const struct node *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

// If two members have the same name, makes both null, because nobody knows which one is meant.
// Returns whether they have.
static bool spoil_same(struct node *a, struct node *b)
{
    if (strcmp(a->name, b->name) != 0)
        return false;
    struct node *const both[] = {a, b};
    for (size_t i = 0; i < ARRAY_COUNT(both); i++) {
        both[i]->type = NODE_NULL;
        both[i]->count = 0;
        both[i]->children = NULL;
    }
    return true;
}

// Finds two members of an object with the same name.
static int check_names(struct json_reader *r, const struct node *object)
{
    bool twice = false;
    if (object->count < SORTED_FROM) {
        for (struct node *a = object->children; a; a = a->next) {
            for (struct node *b = a->next; b; b = b->next)
                twice |= spoil_same(a, b);
        }
        return twice && !r->lenient ? wrong(r, "a name twice in an object") : 0;
    }
    struct node **members = xcalloc(object->count, sizeof(struct node *));
    size_t count = 0;
    for (struct node *at = object->children; at; at = at->next)
        members[count++] = at;
    qsort(members, count, sizeof(struct node *), by_name);
    for (size_t i = 1; i < count; i++)
        twice |= spoil_same(members[i - 1], members[i]);
    free(members);
    return twice && !r->lenient ? wrong(r, "a name twice in an object") : 0;
}

static int read_value(struct node *out, struct json_reader *r, int depth);

// Whether the elements of this list go through the sieve: it is the named member of the outermost
// object, or the outermost list.
static bool is_sieved(const struct json_reader *r, const struct node *list, int depth)
{
    return r->sieve && (depth == 0 || (depth == 1 && list->name)) && list->type == NODE_ARRAY &&
           (depth == 0 || strcmp(list->name, r->sieve->list) == 0);
}

static int read_child(struct node ***link, struct node *out, struct json_reader *r, int depth)
{
    const size_t before = r->pool.used;
    struct node *child = new_node(r);
    if (!child)
        return wrong(r, "too many values to be read at once; split it");
    if (out->type == NODE_OBJECT) {
        if (read_string(&child->name, r))
            return -1;
        if (!take(r, ':'))
            return wrong(r, "a colon is expected");
    }
    if (read_value(child, r, depth + 1))
        return -1;
    if (is_sieved(r, out, depth) && !r->sieve->needs(child)) {
        r->pool.used = before;
        return 0;
    }
    **link = child;
    *link = &child->next;
    out->count++;
    return 0;
}

static int read_children(struct node *out, struct json_reader *r, int depth, char last)
{
    struct node **link = &out->children;
    r->at++;
    if (take(r, last))
        return 0;
    do {
        skip_blanks(r);
        if (read_child(&link, out, r, depth))
            return -1;
    } while (take(r, ','));
    if (!take(r, last))
        return wrong(r, "a comma or the end of a list is expected");
    return out->type == NODE_OBJECT ? check_names(r, out) : 0;
}

static int read_value(struct node *out, struct json_reader *r, int depth)
{
    if (depth == NODE_DEPTH)
        return wrong(r, "nested more than 32 deep");
    skip_blanks(r);
    if (*r->at != '{' && *r->at != '[')
        return read_scalar(out, r);
    out->type = *r->at == '{' ? NODE_OBJECT : NODE_ARRAY;
    return read_children(out, r, depth, *r->at == '{' ? '}' : ']');
}

static int blame(struct json_reader *r, const char *text, const char *where, bool lines,
                 struct error *err)
{
    const size_t at = (size_t)(r->at - r->begin);
    char line[24] = "";
    size_t number = 1;
    for (size_t i = 0; lines && i < at; i++)
        number += text[i] == '\n';
    if (lines)
        snprintf(line, sizeof(line), ":%zu", number);
    return error_set(err, "%s%s: not JSON at byte %zu: %s", where, line, at, r->wrong);
}

static size_t nodes_most(size_t length)
{
    const size_t left = length < TEXT_USUAL ? NODES_BYTES + 2 * (TEXT_USUAL - length) : NODES_BYTES;
    const size_t fit = length > TEXT_USUAL ? NODES_MOST : left / NODE_BYTES;
    return fit < NODES_MOST ? fit : NODES_MOST;
}

// Parses. `lines`: `where` does not name the line yet.
static int parse(const struct node **out, const char *text, size_t length, const char *where,
                 bool lines, const struct node_sieve *sieve, struct arena *arena, struct error *err)
{
    char *copy = arena_strndup(arena, text, length);
    struct json_reader r = {.begin = copy,
                            .at = copy,
                            .end = copy + length,
                            .arena = arena,
                            .sieve = sieve,
                            .lenient = lines,
                            .pool.most = nodes_most(length)};
    struct node *node = new_node(&r);
    int status = read_value(node, &r, 0);
    skip_blanks(&r);
    if (status == 0 && r.at != r.end)
        status = wrong(&r, "more behind the value");
    free(r.pool.chunks);
    if (status)
        return blame(&r, text, where, lines, err);
    if (node->type == NODE_ARRAY || node->type == NODE_OBJECT)
        node->text = copy;
    *out = node;
    return 0;
}

size_t node_offset(const struct node *root, const struct node *node)
{
    for (; node; node = node->children) {
        const char *at = node->name ? node->name : node->type == NODE_TEXT ? node->text : NULL;
        if (at && root->text)
            return (size_t)(at - root->text);
    }
    return 0;
}

int node_parse(const struct node **out, const char *text, size_t length, const char *where,
               struct arena *arena, struct error *err)
{
    return parse(out, text, length, where, false, NULL, arena, err);
}

int node_parse_lines(const struct node **out, const char *text, size_t length, const char *where,
                     const struct node_sieve *sieve, struct arena *arena, struct error *err)
{
    return parse(out, text, length, where, true, sieve, arena, err);
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
