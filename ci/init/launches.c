// SPDX-License-Identifier: Apache-2.0
//
// How sources launch their kernels: NAME<NUMBERS><<<GRID, BLOCK, SHARED>>>(ARGUMENTS). Names in
// grid and block are followed to numbers and to the kernel's arguments, so that a shim can launch
// it in the same way. This is no compiler: an expression with anything else is not read, and then
// the shim tries every usual grid.
#include "ci/init/source_text.h"
#include "ci/init/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAUNCHES_MOST = 256,
    BETWEEN_MOST = 1000, // from <<< to >>>
    LOOKS_MOST = 1024,
    BEFORE_MOST = 1 << 14,
    CONSTANTS_MOST = 4000,
    DEPTH_MOST = 12,
    STEPS_MOST = 200,
    NUMBER_MOST = 1 << 28
};

// ---- numbers with names, of all sources ----

struct constant {
    size_t source;
    struct span name, value;
};

struct constants {
    struct constant items[CONSTANTS_MOST];
    size_t count;
};

static void add_constant(struct constants *all, size_t source, struct span name, struct span value)
{
    value = trimmed(value);
    if (all->count < CONSTANTS_MOST && name.at < name.end && value.at < value.end)
        all->items[all->count++] = (struct constant){source, name, value};
}

// "NAME = NUMBER" of the plain text, and "#define NAME VALUE", which stands in the text alone.
static void find_constants(struct constants *all, size_t source, const char *text,
                           const char *plain)
{
    for (const char *at = plain; (at = strchr(at, '=')); at++) {
        const char *end = at, *number = skip_blanks(at + 1);
        while (end > plain && isspace((unsigned char)end[-1]))
            end--;
        const char *begin = end;
        while (begin > plain && in_word(begin[-1]))
            begin--;
        const struct span digits = word_at(number);
        if (isdigit((unsigned char)*number) && strchr(";,}", *skip_blanks(digits.end)))
            add_constant(all, source, (struct span){begin, end}, digits);
    }
    for (const char *at = text; (at = strstr(at, "#define")); at += strlen("#define")) {
        const struct span name = word_at(at + strspn(at, "#define") + strspn(at + 7, " \t"));
        struct span value = {name.end, name.end};
        while (*value.end && *value.end != '\n' && strncmp(value.end, "//", 2) != 0)
            value.end++;
        if (*name.end == ' ' || *name.end == '\t')
            add_constant(all, source, name, value);
    }
}

static bool same(struct span a, struct span b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

static bool is_text(struct span a, const char *text)
{
    return same(a, (struct span){text, text + strlen(text)});
}

// The constant of this name: that of this source, if it has one, else another source's.
static const struct constant *constant_named(const struct constants *all, size_t source,
                                             struct span name)
{
    const struct constant *other = NULL;
    for (size_t i = 0; i < all->count; i++) {
        const struct constant *c = &all->items[i];
        if (!same(c->name, name))
            continue;
        if (c->source == source)
            return c;
        other = other ? other : c;
    }
    return other;
}

// ---- expressions ----

// One launch, and where its expressions are read.
struct reading {
    struct arena *arena;
    const struct constants *constants;
    size_t source;
    const char *plain;
    struct span given[PARAMETERS_MAX]; // what the kernel is called with
    size_t given_count;
    int depth;
    size_t steps;
    bool bad; // something in it is not read
};

struct value {
    bool constant, atom;
    long long number;
    const char *text;
};

struct cursor {
    const char *at, *end;
    const char *before; // names in it were given their values before here; NULL: not in a function
};

static struct value read_choice(struct reading *r, struct cursor *c);

static struct value bad(struct reading *r)
{
    r->bad = true;
    return (struct value){.constant = true, .atom = true, .text = "0"};
}

static struct value number(struct reading *r, long long n)
{
    if (n < -NUMBER_MOST || n > NUMBER_MOST)
        return bad(r);
    return (struct value){true, n >= 0, n, arena_printf(r->arena, "%lld", n)};
}

static struct value text(struct reading *r, const char *words, bool atom)
{
    enum { TEXT_MOST = 240 };
    if (strlen(words) > TEXT_MOST)
        return bad(r);
    return (struct value){.atom = atom, .text = words};
}

// The next part of a list of expressions, in which < and > compare or shift.
static bool next_part(struct span *out, struct span *list)
{
    return next_between(out, list, "({[", ")}]");
}

static void skip(struct cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at))
        c->at++;
}

static bool take(struct cursor *c, const char *sign)
{
    const size_t length = strlen(sign);
    skip(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, sign, length) != 0)
        return false;
    c->at += length;
    return true;
}

static struct value read_span(struct reading *r, struct span expression, const char *before)
{
    struct cursor c = {expression.at, expression.end, before};
    if (r->depth == DEPTH_MOST)
        return bad(r);
    r->depth++;
    const struct value value = read_choice(r, &c);
    r->depth--;
    skip(&c);
    return c.at < c.end ? bad(r) : value;
}

// The value that `name` is given nearest before `before`: behind "NAME =", or in the brackets of
// "TYPE NAME(...)", where `list` says so.
struct initial {
    struct span value;
    const char *at;
    bool list;
};

static bool find_initial(struct initial *out, const char *plain, const char *before,
                         struct span name)
{
    const size_t length = (size_t)(name.end - name.at);
    for (const char *at = before; at && at > plain && before - at < BEFORE_MOST; at--) {
        if (*at != *name.at || memcmp(at, name.at, length) != 0 || in_word(at[-1]) ||
            in_word(at[length]) || at + length > before)
            continue;
        const char *sign = skip_blanks(at + length), *last = at;
        while (last > plain && isspace((unsigned char)last[-1]))
            last--;
        const bool declared = last > plain && (in_word(last[-1]) || last[-1] == ',');
        const char *close = *sign == '('   ? match(sign, '(', ')')
                            : *sign == '{' ? match(sign, '{', '}')
                                           : NULL;
        if (close && declared && close < before) {
            *out = (struct initial){{sign + 1, close}, at, true};
            return true;
        }
        if (*sign == ';' && declared)
            return false; // declared here, and given nothing as a whole
        if (*sign == '=' && sign[1] != '=') {
            struct span rest = {sign + 1, sign + 1 + strcspn(sign + 1, ";")}, one;
            if (!next_part(&one, &rest) || one.end > before)
                continue;
            *out = (struct initial){one, at, false};
            return true;
        }
    }
    return false;
}

static bool is_name(struct span one)
{
    bool word = one.at < one.end && !isdigit((unsigned char)*one.at);
    for (const char *at = one.at; at < one.end; at++)
        word = word && in_word(*at);
    return word;
}

static bool begins(struct span one, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(one.end - one.at) > length && memcmp(one.at, word, length) == 0;
}

static size_t given_as(const struct reading *r, struct span name)
{
    size_t i = 0;
    while (i < r->given_count && !same(r->given[i], name))
        i++;
    return i;
}

// "NAME.x = ...", nearer than what NAME was given as a whole.
static size_t read_members(struct span out[3], struct reading *r, struct span name,
                           const char *before, const char *whole)
{
    static const char one[] = "1";
    struct initial initial;
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *member =
            arena_printf(r->arena, "%.*s.%c", (int)(name.end - name.at), name.at, (int)('x' + i));
        out[i] = (struct span){one, one + 1};
        if (find_initial(&initial, r->plain, before,
                         (struct span){member, member + strlen(member)}) &&
            !initial.list && (!whole || initial.at > whole)) {
            out[i] = initial.value;
            count = i + 1;
        }
    }
    return count;
}

// The parts of "dim3(x, y)", of "{x, y}", or of a variable that holds one; else the expression as
// it is.
static size_t read_dims(struct span out[3], struct reading *r, struct span one, const char **before)
{
    struct initial initial;
    bool list = false;
    for (int depth = 0; depth < DEPTH_MOST; depth++) {
        one = trimmed(one);
        if (!list && begins(one, "dim3"))
            one.at = skip_blanks(one.at + strlen("dim3"));
        if (!list && one.at < one.end && (*one.at == '{' || *one.at == '(')) {
            const char *close = match(one.at, *one.at, *one.at == '{' ? '}' : ')');
            if (close && close + 1 == one.end) {
                one = (struct span){one.at + 1, close};
                list = true;
            }
        }
        if (list || !is_name(one) || given_as(r, one) < r->given_count)
            break;
        const bool known = find_initial(&initial, r->plain, *before, one);
        const size_t members = read_members(out, r, one, *before, known ? initial.at : NULL);
        if (members)
            return members;
        if (!known)
            break;
        one = initial.value;
        *before = initial.at;
        list = initial.list;
    }
    size_t count = 0;
    while (count < 3 && next_part(&out[count], &one))
        count++;
    return count;
}

static struct value read_member(struct reading *r, struct span whole, const char *dot,
                                const char *before)
{
    struct span dims[3];
    const size_t which = (size_t)(dot[1] - 'x');
    const size_t count = read_dims(dims, r, (struct span){whole.at, dot}, &before);
    if (count == 1 && same(trimmed(dims[0]), (struct span){whole.at, dot}))
        return bad(r); // it is no variable that is known
    return which < count ? read_span(r, dims[which], before) : number(r, 1);
}

static struct value read_name(struct reading *r, struct span name, const char *before)
{
    struct initial initial;
    const size_t given = given_as(r, name);
    if (given < r->given_count)
        return text(r, arena_printf(r->arena, "$%c", (int)('a' + given)), true);
    const char *last = name.end - 1;
    if (name.end - name.at > 2 && last[-1] == '.' && *last >= 'x' && *last <= 'z')
        return read_member(r, name, last - 1, before);
    while (name.end - name.at > 2 && last > name.at && in_word(*last))
        last--;
    if (*last == ':')
        name.at = last + 1;
    if (!is_name(name))
        return bad(r);
    if (find_initial(&initial, r->plain, before, name))
        return read_span(r, initial.value, initial.at);
    const struct constant *constant = constant_named(r->constants, r->source, name);
    return constant ? read_span(r, constant->value, NULL) : bad(r);
}

// ---- what an expression is made of ----

static const char *const type_words[] = {"int",    "unsigned", "long",     "float",   "double",
                                         "size_t", "uint",     "uint32_t", "int64_t", "int32_t",
                                         "half",   "__half",   "uint64_t"};

static bool is_type_word(struct span word)
{
    for (size_t i = 0; i < ARRAY_COUNT(type_words); i++) {
        if (is_text(word, type_words[i]))
            return true;
    }
    return false;
}

// "float" or "unsigned int" up to the closing bracket, which is taken. False: no type is there.
static bool take_type(struct span *out, struct cursor *c, const char *close)
{
    struct cursor ahead = *c;
    skip(&ahead);
    *out = (struct span){ahead.at, ahead.at};
    for (struct span word; word = word_at(ahead.at), is_type_word(word) && word.end <= c->end;) {
        out->end = ahead.at = word.end;
        skip(&ahead);
    }
    if (out->at == out->end || !take(&ahead, close))
        return false;
    *c = ahead;
    return true;
}

static struct value wrapped(struct reading *r, struct value v)
{
    return v.atom ? v : text(r, arena_printf(r->arena, "(%s)", v.text), true);
}

static struct value cast(struct reading *r, struct span type, struct value v)
{
    const bool whole = *type.at != 'f' && *type.at != 'd' && *type.at != 'h' && *type.at != '_';
    if (v.constant && whole)
        return v;
    const char *inner = wrapped(r, v).text;
    return text(r, arena_printf(r->arena, "(%.*s)%s", (int)(type.end - type.at), type.at, inner),
                false);
}

// Rounded up, as every project has a function or a macro for it.
static bool is_ceil_div(struct span name)
{
    static const char *const names[] = {"ceil_div",    "ceildiv", "div_ceil",     "divceil",
                                        "cdiv",        "div_up",  "divup",        "round_up_div",
                                        "ceiling_div", "updiv",   "div_round_up", "ceil_divide"};
    char lower[40];
    const char *colon = name.end;
    while (colon > name.at && colon[-1] != ':')
        colon--;
    const size_t length = (size_t)(name.end - colon);
    if (length >= sizeof(lower))
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)colon[i]);
    lower[length] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(lower, names[i]) == 0)
            return true;
    }
    return false;
}

static struct value ceil_div(struct reading *r, struct value a, struct value b)
{
    if (a.constant && b.constant)
        return b.number > 0 ? number(r, (a.number + b.number - 1) / b.number) : bad(r);
    const char *over = wrapped(r, a).text, *under = wrapped(r, b).text;
    if (b.constant)
        return text(r, arena_printf(r->arena, "(%s + %lld) / %s", over, b.number - 1, under),
                    false);
    return text(r, arena_printf(r->arena, "(%s + %s - 1) / %s", over, under, under), false);
}

static struct value read_call(struct reading *r, struct span name, struct cursor *c)
{
    struct span list = {c->at, c->end}, one, type;
    struct value arguments[2];
    size_t count = 0;
    const char *close = match(c->at - 1, '(', ')');
    if (!close || close >= c->end)
        return bad(r);
    if (is_text(name, "sizeof"))
        return take_type(&type, c, ")") ? text(r,
                                               arena_printf(r->arena, "sizeof(%.*s)",
                                                            (int)(type.end - type.at), type.at),
                                               true)
                                        : bad(r);
    list.end = close;
    c->at = close + 1;
    while (next_part(&one, &list)) {
        if (count == 2)
            return bad(r);
        arguments[count++] = read_span(r, one, c->before);
    }
    if (count == 2 && is_ceil_div(name))
        return ceil_div(r, arguments[0], arguments[1]);
    if (count == 1 && is_type_word(name))
        return cast(r, name, arguments[0]);
    if (count == 1 &&
        (is_text(name, "ceil") || is_text(name, "ceilf") || is_text(name, "std::ceil")))
        return text(r, arena_printf(r->arena, "ceil(%s)", arguments[0].text), true);
    return bad(r);
}

static struct value read_digits(struct reading *r, struct cursor *c)
{
    const char *begin = c->at;
    while (c->at < c->end && (in_word(*c->at) || *c->at == '.'))
        c->at++;
    char *end;
    const size_t length = (size_t)(c->at - begin);
    const char *digits = arena_strndup(r->arena, begin, length);
    const long long n = strtoll(digits, &end, 0);
    if (end[strspn(end, "uUlL")] == '\0')
        return number(r, n);
    return strspn(digits, "0123456789.fF") == length ? text(r, digits, true) : bad(r);
}

static struct value read_atom(struct reading *r, struct cursor *c)
{
    struct span type;
    if (r->bad || r->steps++ > STEPS_MOST)
        return bad(r);
    skip(c);
    if (c->at == c->end)
        return bad(r);
    if (isdigit((unsigned char)*c->at))
        return read_digits(r, c);
    if (take(c, "(")) {
        if (take_type(&type, c, ")"))
            return cast(r, type, read_atom(r, c));
        const struct value inner = read_choice(r, c);
        return take(c, ")") ? inner : bad(r);
    }
    if (take(c, "static_cast<")) {
        if (!take_type(&type, c, ">") || !take(c, "("))
            return bad(r);
        const struct value inner = read_choice(r, c);
        return take(c, ")") ? cast(r, type, inner) : bad(r);
    }
    struct span name = {c->at, c->at};
    while (c->at < c->end && (in_word(*c->at) || *c->at == '.' || *c->at == ':' ||
                              (*c->at == '-' && c->at + 1 < c->end && c->at[1] == '>') ||
                              (*c->at == '>' && c->at > name.at && c->at[-1] == '-')))
        c->at++;
    name.end = c->at;
    if (name.at == name.end)
        return bad(r);
    return take(c, "(") ? read_call(r, name, c) : read_name(r, name, c->before);
}

static long long combined(struct reading *r, const char *sign, long long a, long long b)
{
    if ((*sign == '/' || *sign == '%') && b == 0)
        return bad(r).number;
    switch (*sign) {
    case '*':
        return a * b;
    case '/':
        return a / b;
    case '%':
        return a % b;
    case '+':
        return a + b;
    case '-':
        return a - b;
    default:
        return bad(r).number;
    }
}

static struct value joined(struct reading *r, const char *sign, struct value a, struct value b)
{
    if (a.constant && b.constant && strchr("*/%+-", *sign))
        return number(r, combined(r, sign, a.number, b.number));
    const char *left = wrapped(r, a).text, *right = wrapped(r, b).text;
    return text(r, arena_printf(r->arena, "%s %s %s", left, sign, right), false);
}

// Operators of two sides, those that bind closest last.
enum { LEVELS = 4, SIGNS = 6 };
static const char *const signs[LEVELS][SIGNS + 1] = {
    {"==", "!=", "<=", ">=", NULL}, {">>", "<<", NULL}, {"+", "-", NULL}, {"*", "/", "%", NULL}};

static struct value read_level(struct reading *r, struct cursor *c, size_t level)
{
    if (level == LEVELS)
        return read_atom(r, c);
    struct value value = read_level(r, c, level + 1);
    for (size_t i = 0; signs[level][i] && !r->bad;) {
        if (take(c, signs[level][i])) {
            value = joined(r, signs[level][i], value, read_level(r, c, level + 1));
            i = 0;
        } else {
            i++;
        }
    }
    return value;
}

static struct value read_choice(struct reading *r, struct cursor *c)
{
    const struct value value = read_level(r, c, 0);
    if (!take(c, "?"))
        return value;
    const char *yes = wrapped(r, read_choice(r, c)).text;
    if (!take(c, ":"))
        return bad(r);
    const char *no = wrapped(r, read_choice(r, c)).text;
    return text(r, arena_printf(r->arena, "%s ? %s : %s", wrapped(r, value).text, yes, no), false);
}

// ---- launches ----

// "x, y" of a grid or a block, or NULL.
static const char *read_shape(struct reading *r, struct span one, const char *before,
                              const char *each)
{
    struct span dims[3];
    const size_t count = read_dims(dims, r, one, &before);
    const char *all = "";
    for (size_t i = 0; i < count; i++) {
        const struct value value = read_span(r, dims[i], before);
        const char *open = value.constant ? "" : each, *close = *open ? ")" : "";
        all = arena_printf(r->arena, "%s%s%s%s%s", all, i ? ", " : "", open, value.text, close);
    }
    const bool good = count && !r->bad;
    r->bad = false;
    r->steps = 0;
    return good ? all : NULL;
}

// The numbers and types between the kernel's < and >, or NULL.
static const char *read_numbers(struct reading *r, struct span list, const char *before)
{
    const char *all = "";
    struct span one;
    while (next_item(&one, &list)) {
        const char *item = arena_strndup(r->arena, one.at, (size_t)(one.end - one.at));
        if (!is_type_word(one) && strcmp(item, "true") != 0 && strcmp(item, "false") != 0) {
            const struct value value = read_span(r, one, before);
            item = value.text;
            if (r->bad || !value.constant)
                all = NULL;
            r->bad = false;
        }
        if (!all)
            return NULL;
        all = arena_printf(r->arena, "%s%s%s", all, *all ? ", " : "", item);
    }
    return all;
}

// Where the kernel's name before `<<<` lies, and what its template is given.
static bool read_kernel(struct span *name, struct span *numbers, const char *plain, const char *at)
{
    while (at > plain && isspace((unsigned char)at[-1]))
        at--;
    *numbers = (struct span){NULL, NULL};
    if (at > plain && at[-1] == '>') {
        int depth = 0;
        const char *end = at - 1;
        for (at = end; at > plain && end - at < BETWEEN_MOST; at--) {
            depth += (*at == '>') - (*at == '<');
            if (depth == 0)
                break;
        }
        if (depth)
            return false;
        *numbers = (struct span){at + 1, end};
        while (at > plain && isspace((unsigned char)at[-1]))
            at--;
    }
    *name = (struct span){at, at};
    while (name->at > plain && in_word(name->at[-1]))
        name->at--;
    return is_name(*name);
}

static const char *end_of_shape(const char *at)
{
    for (const char *begin = at; *at && at - begin < BETWEEN_MOST; at++) {
        if (strncmp(at, ">>>", 3) == 0)
            return at;
    }
    return NULL;
}

static bool read_launch(struct launch *out, struct reading *r, const char *at)
{
    struct span name, numbers, given, list, parts[4];
    size_t count = 0;
    const char *close = end_of_shape(at);
    if (!close || !read_kernel(&name, &numbers, r->plain, at))
        return false;
    const char *open = skip_blanks(close + strlen(">>>")), *end = match(open, '(', ')');
    if (*open != '(' || !end)
        return false;
    r->given_count = 0;
    for (given = (struct span){open + 1, end};
         r->given_count < PARAMETERS_MAX && next_part(&r->given[r->given_count], &given);)
        r->given_count++;
    for (list = (struct span){at + strlen("<<<"), close};
         count < 4 && next_part(&parts[count], &list);)
        count++;
    if (count < 2)
        return false;
    out->at = at;
    out->kernel = arena_strndup(r->arena, name.at, (size_t)(name.end - name.at));
    out->templated = numbers.at != NULL;
    out->numbers = numbers.at ? read_numbers(r, numbers, name.at) : NULL;
    out->given = r->given_count;
    out->grid = read_shape(r, parts[0], name.at, "(unsigned)(");
    out->block = read_shape(r, parts[1], name.at, "(unsigned)(");
    out->shared = count > 2 ? read_shape(r, parts[2], name.at, "(size_t)(") : "0";
    return true;
}

void launches_find(struct launch_list *out, const struct source_text *sources,
                   const char *const *plain, size_t count, struct arena *arena)
{
    struct constants *constants = xcalloc(1, sizeof(*constants));
    struct launch *items = arena_alloc(arena, LAUNCHES_MOST * sizeof(*items));
    size_t looks = 0;
    *out = (struct launch_list){.items = items};
    for (size_t i = 0; i < count; i++)
        find_constants(constants, i, sources[i].text, plain[i]);
    for (size_t i = 0; i < count; i++) {
        struct reading r = {.arena = arena, .constants = constants, .source = i, .plain = plain[i]};
        for (const char *at = plain[i];
             out->count < LAUNCHES_MOST && looks < LOOKS_MOST && (at = strstr(at, "<<<"));
             at++, looks++) {
            struct launch *launch = &items[out->count];
            *launch = (struct launch){.file = sources[i].file};
            out->count += read_launch(launch, &r, at);
        }
    }
    free(constants);
}
