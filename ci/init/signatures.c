// SPDX-License-Identifier: Apache-2.0
//
// Reads sources as text: comments, strings and preprocessor lines become blanks, then every
// `void NAME(...) {` is looked at.
#include "ci/init/signatures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// No source that people write has more, and hostile ones then cost little: a file has at most so
// many functions that are looked at, and what one reads, before it and in it, is bounded.
enum { LOOKS_MOST = 1000, REACH_MOST = 1 << 18 };

// A text between two places, not ended by NUL.
struct span {
    const char *at, *end;
};

static bool in_word(int c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Where the thing that begins at `at` (a comment, string or directive) ends; `at`: it is none.
static const char *end_of_other(const char *at, bool line_begins)
{
    const char *end = at;
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at == '"' || *at == '\'') {
        for (end = at + 1; *end && *end != *at && *end != '\n'; end++)
            end += end[0] == '\\' && end[1];
        return *end ? end + 1 : end;
    }
    if (*at == '#' && line_begins) {
        do
            end += strcspn(end + 1, "\n") + 1;
        while (*end && end[-1] == '\\');
    }
    return end;
}

char *signatures_plain(const char *text)
{
    char *copy = xstrdup(text);
    bool line_begins = true;
    for (char *at = copy; *at;) {
        const size_t length = (size_t)(end_of_other(at, line_begins) - at);
        for (size_t i = 0; i < length; i++)
            at[i] = at[i] == '\n' ? '\n' : ' ';
        line_begins = *at == '\n' || (line_begins && isspace((unsigned char)*at));
        at += length ? length : 1;
    }
    return copy;
}

static bool span_has(struct span span, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = span.at; at + length <= span.end; at++) {
        if (memcmp(at, word, length) == 0)
            return true;
    }
    return false;
}

// The matching bracket of the one at `at`, or NULL: none, or too far away.
static const char *match(const char *at, char open, char close)
{
    const char *begin = at;
    for (int depth = 0; *at && at - begin < REACH_MOST; at++) {
        depth += (*at == open) - (*at == close);
        if (depth == 0)
            return at;
    }
    return NULL;
}

// ---- parameters ----

static const struct {
    const char *name;
    bool pointer;
} known[ARGUMENT_KINDS] = {
    [ARG_M] = {"m", false},         [ARG_N] = {"n", false},       [ARG_K] = {"k", false},
    [ARG_A] = {"a", true},          [ARG_B] = {"b", true},        [ARG_C] = {"c", true},
    [ARG_ALPHA] = {"alpha", false}, [ARG_BETA] = {"beta", false}, [ARG_LDA] = {"lda", false},
    [ARG_LDB] = {"ldb", false},     [ARG_LDC] = {"ldc", false},   [ARG_STREAM] = {"stream", false},
};

// Type and name of one parameter, without const and its like.
struct parameter {
    char type[40], name[40];
    bool pointer;
};

static bool is_qualifier(const char *word)
{
    static const char *const words[] = {"const", "restrict", "__restrict__", "__restrict",
                                        "struct"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static bool read_parameter(struct parameter *out, struct span span)
{
    *out = (struct parameter){.pointer = false};
    for (const char *at = span.at; at < span.end;) {
        char word[40];
        size_t length = 0;
        while (at + length < span.end && in_word(at[length]))
            length++;
        if (length >= sizeof(word) || (!length && !isspace((unsigned char)*at) && *at != '*'))
            return false; // templates, references, defaults, arrays
        out->pointer |= *at == '*';
        memcpy(word, at, length);
        word[length] = '\0';
        at += length ? length : 1;
        if (!length || is_qualifier(word))
            continue;
        if (out->name[0] && out->type[0]) // "unsigned long n": only one word of type is known
            return false;
        memcpy(out->name[0] ? out->type : out->name, word, length + 1);
        if (!out->type[0])
            continue;
        char type[40];
        memcpy(type, out->name, sizeof(type)); // the first word was the type
        memcpy(out->name, out->type, sizeof(type));
        memcpy(out->type, type, sizeof(type));
    }
    return out->type[0] != '\0';
}

// d_A and A are both a.
static enum argument argument_of(const struct parameter *p)
{
    if (strcmp(p->type, "cudaStream_t") == 0)
        return ARG_STREAM;
    const char *name = strncmp(p->name, "d_", 2) == 0 ? p->name + 2 : p->name;
    for (int i = 0; i < ARGUMENT_KINDS; i++) {
        if (strcasecmp(name, known[i].name) == 0 && known[i].pointer == p->pointer)
            return (enum argument)i;
    }
    return ARGUMENT_KINDS;
}

static const char *element_type(const char *spelled)
{
    static const char *const types[][2] = {
        {"float", "FP32"},         {"double", "FP64"},        {"half", "FP16"},
        {"__half", "FP16"},        {"__nv_bfloat16", "BF16"}, {"nv_bfloat16", "BF16"},
        {"__nv_fp8_e4m3", "E4M3"}, {"bf16", "BF16"},          {"bfloat16", "BF16"},
        {"fp16", "FP16"},          {"nv_half", "FP16"},       {"f16", "FP16"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(spelled, types[i][0]) == 0)
            return types[i][1];
    }
    return NULL;
}

static bool take_parameter(struct signature *s, const struct parameter *p, struct arena *arena)
{
    const enum argument argument = argument_of(p);
    const bool input = argument == ARG_A || argument == ARG_B;
    if (argument == ARGUMENT_KINDS || s->count == PARAMETERS_MAX)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (s->arguments[i] == argument)
            return false;
    }
    s->arguments[s->count++] = argument;
    if (!p->pointer)
        return true;
    const char *type = element_type(p->type);
    if (!type || (input && s->in_type && strcmp(s->in_type, type) != 0))
        return false;
    *(input ? &s->in_type : &s->out_type) = type;
    *(input ? &s->in_spelled : &s->out_spelled) = arena_strdup(arena, p->type);
    return true;
}

// The parameter as it is written, its blanks squeezed.
static const char *spelled(struct span one, struct arena *arena)
{
    enum { SPELLED_MOST = 60 };
    char text[SPELLED_MOST + 1];
    size_t length = 0;
    for (const char *at = one.at; at < one.end && length < SPELLED_MOST; at++) {
        const bool blank = isspace((unsigned char)*at);
        if (!blank)
            text[length++] = *at;
        else if (length && text[length - 1] != ' ')
            text[length++] = ' ';
    }
    text[length] = '\0';
    return arena_printf(arena, "parameter '%s'", text);
}

static bool understand(struct signature *s, struct span list, struct arena *arena)
{
    unsigned seen = 0;
    for (const char *at = list.at; at < list.end;) {
        struct parameter parameter;
        const char *comma = memchr(at, ',', (size_t)(list.end - at));
        const struct span one = {at, comma ? comma : list.end};
        if (!read_parameter(&parameter, one) || !take_parameter(s, &parameter, arena)) {
            s->why = spelled(one, arena);
            return false;
        }
        at = one.end + 1;
    }
    for (size_t i = 0; i < s->count; i++)
        seen |= 1u << s->arguments[i];
    const unsigned all =
        1u << ARG_M | 1u << ARG_N | 1u << ARG_K | 1u << ARG_A | 1u << ARG_B | 1u << ARG_C;
    if ((seen & all) != all)
        s->why = "not all of m, n, k, a, b, c";
    return (seen & all) == all;
}

// ---- functions ----

// A definition: what stands before `void`, its name, its parameters and its body.
struct definition {
    struct span before, name, parameters, body;
};

static bool read_definition(struct definition *out, const char *text, const char *at)
{
    static const char bounds[] = "__launch_bounds__";
    const char *before = at;
    while (before > text && at - before < REACH_MOST && !strchr(";{}", before[-1]))
        before--;
    out->before = (struct span){before, at};
    at = skip_blanks(at + strlen("void"));
    if (strncmp(at, bounds, strlen(bounds)) == 0) {
        at = match(skip_blanks(at + strlen(bounds)), '(', ')');
        at = at ? skip_blanks(at + 1) : "";
    }
    out->name = (struct span){at, at};
    while (in_word(*out->name.end))
        out->name.end++;
    at = skip_blanks(out->name.end);
    const char *close = *at == '(' && out->name.end > out->name.at ? match(at, '(', ')') : NULL;
    if (!close)
        return false;
    out->parameters = (struct span){at + 1, close};
    at = skip_blanks(close + 1);
    const char *end = *at == '{' ? match(at, '{', '}') : NULL;
    out->body = (struct span){at, end};
    return end != NULL;
}

static void add(struct signature_list *list, const struct definition *d, const char *file,
                bool cuda, struct arena *arena)
{
    struct signature s = {.file = file, .callee = CALLEE_HOST};
    if (span_has(d->before, "__device__"))
        return;
    if (span_has(d->before, "__global__"))
        s.callee = CALLEE_KERNEL;
    else if (cuda && span_has(d->body, "<<<"))
        s.callee = CALLEE_LAUNCHER;
    s.name = arena_strndup(arena, d->name.at, (size_t)(d->name.end - d->name.at));
    if (span_has(d->before, "template"))
        s.why = "a template";
    s.understood = !s.why && understand(&s, d->parameters, arena);
    if (s.callee == CALLEE_HOST && (cuda || !s.understood))
        return;
    signatures_add(list, &s, arena);
}

void signatures_add(struct signature_list *list, const struct signature *s, struct arena *arena)
{
    struct signature *items = arena_alloc(arena, (list->count + 1) * sizeof(*items));
    if (list->count)
        memcpy(items, list->items, list->count * sizeof(*items));
    items[list->count++] = *s;
    list->items = items;
}

void signatures_find(struct signature_list *list, const char *file, const char *text,
                     struct arena *arena)
{
    const bool cuda = ends_with(file, ".cu") || ends_with(file, ".cuh");
    char *plain = signatures_plain(text);
    size_t looks = 0;
    for (char *at = plain; looks < LOOKS_MOST && (at = strstr(at, "void")); at += strlen("void")) {
        struct definition definition;
        if ((at > plain && in_word(at[-1])) || !isspace((unsigned char)at[4]))
            continue;
        looks++;
        if (read_definition(&definition, plain, at))
            add(list, &definition, file, cuda, arena);
    }
    free(plain);
}
