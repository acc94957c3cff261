// SPDX-License-Identifier: Apache-2.0
//
// Reads the sources of HEAD; a file is a source by the ending of its name.
#include "ci/init/init.h"

#include "model/base.h"
#include "runner/git/repository.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ==== what sources launch ====
//
// Finds launches NAME<ARGUMENTS><<<...>>>(...): which kernels a launcher launches, and with which
// template arguments, if these are written out. The grid is not read: a launcher knows it, and
// launches in programs are captured.

// Finds the next item of a list after `list->at`, without blanks around it; false: there is none. A
// comma inside brackets ends no item; `opens` and `closes` are the characters that count as
// brackets.
static inline bool next_between(struct span *out, struct span *list, const char *opens,
                                const char *closes)
{
    int depth = 0;
    const char *at = list->at;
    if (at >= list->end)
        return false;
    for (; at < list->end && (depth || *at != ','); at++)
        depth += (*at && strchr(opens, *at)) - (*at && strchr(closes, *at));
    *out = trimmed((struct span){list->at, at});
    list->at = at + 1;
    return true;
}

// Finds the next item of a list of types or parameters, in which < and > are brackets.
static inline bool next_item(struct span *out, struct span *list)
{
    return next_between(out, list, "<({", ">)}");
}

enum {
    LAUNCHES_MOST = 256,
    BETWEEN_MOST = 1000, // characters from <<< to >>>
    LAUNCH_LOOKS_MOST = 1024
};

static bool is_name(struct span one)
{
    bool word = one.at < one.end && !isdigit((unsigned char)*one.at);
    for (const char *at = one.at; at < one.end; at++)
        word = word && in_word(*at);
    return word;
}

// Finds the kernel's name before `<<<`, and its template arguments.
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

void launches_find(struct launch_list *out, const struct source_text *sources,
                   const char *const *plain, size_t count, struct arena *arena)
{
    struct launch *items = arena_alloc(arena, LAUNCHES_MOST * sizeof(*items));
    size_t looks = 0;
    *out = (struct launch_list){.items = items};
    for (size_t i = 0; i < count; i++) {
        for (const char *at = plain[i];
             out->count < LAUNCHES_MOST && looks < LAUNCH_LOOKS_MOST && (at = strstr(at, "<<<"));
             at++, looks++) {
            struct span name, numbers;
            if (!end_of_shape(at) || !read_kernel(&name, &numbers, plain[i], at))
                continue;
            items[out->count++] = (struct launch){
                .file = sources[i].file,
                .kernel = arena_strndup(arena, name.at, (size_t)(name.end - name.at)),
                .arguments = numbers.at ? arena_strndup(arena, numbers.at,
                                                        (size_t)(numbers.end - numbers.at))
                                        : NULL,
                .at = at};
        }
    }
}

// ==== what a repository contains ====

static void signatures_add(struct signature_list *list, const struct signature *s,
                           struct arena *arena)
{
    struct signature *items = arena_alloc(arena, (list->count + 1) * sizeof(*items));
    if (list->count)
        memcpy(items, list->items, list->count * sizeof(*items));
    items[list->count++] = *s;
    list->items = items;
}

// ---- functions ----

// Reads sources as text: comments, strings and preprocessor lines become blanks, then every `void
// NAME(...) {` is examined.

// Limits for one file, beyond any real source, so that a hostile one costs little: how many
// functions are examined, and how much text is read before and in each.
enum { LOOKS_MOST = 1000 };

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

// Returns the end of the comment, string or directive that begins at `at`, or `at` if
// none begins there.
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

// Returns the text with blanks in place of comments, strings and preprocessor lines. The caller
// frees.
static char *signatures_plain(const char *text)
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

// ---- parameters ----

static const struct {
    const char *name;
    bool pointer;
} known[ARGUMENT_KINDS] = {
    [ARG_M] = {"m", false},
    [ARG_N] = {"n", false},
    [ARG_K] = {"k", false},
    [ARG_A] = {"a", true},
    [ARG_B] = {"b", true},
    [ARG_C] = {"c", true},
    [ARG_ALPHA] = {"alpha", false},
    [ARG_BETA] = {"beta", false},
    [ARG_LDA] = {"lda", false},
    [ARG_LDB] = {"ldb", false},
    [ARG_LDC] = {"ldc", false},
    [ARG_STREAM] = {"stream", false},
    [ARG_HANDLE] = {"handle", false},
};

// Type and name of one parameter, without const and the like.
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

// Whether a word may be part of an integer's type, beside int or in its place.
static bool is_integer_word(const char *word)
{
    static const char *const words[] = {"unsigned", "signed", "long", "short"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return false;
}

static bool read_parameter(struct parameter *out, struct span span)
{
    bool integer = false;
    *out = (struct parameter){.pointer = false};
    for (const char *at = span.at; at < span.end;) {
        char word[40];
        size_t length = 0;
        while (at + length < span.end && in_word(at[length]))
            length++;
        if (length >= sizeof(word) || (!length && !isspace((unsigned char)*at) && *at != '*'))
            return false; // templates, references, defaults and arrays are not understood
        out->pointer |= *at == '*';
        memcpy(word, at, length);
        word[length] = '\0';
        at += length ? length : 1;
        if (!length || is_qualifier(word))
            continue;
        if (is_integer_word(word)) {
            integer = true;
            continue;
        }
        if (out->name[0] && out->type[0]) // a type of more words is not known
            return false;
        memcpy(out->name[0] ? out->type : out->name, word, length + 1);
        if (!out->type[0])
            continue;
        char type[40];
        memcpy(type, out->name, sizeof(type)); // the first word was the type
        memcpy(out->name, out->type, sizeof(type));
        memcpy(out->type, type, sizeof(type));
    }
    if (integer && out->pointer) // "long double *" is no pointer to double
        return false;
    if (integer && !out->type[0])
        text_copy(out->type, sizeof(out->type), "int");
    return out->type[0] != '\0';
}

// Names that people use for sizes instead of m, n and k.
static const struct {
    const char *name;
    enum argument argument;
} size_names[] = {{"c_n_rows", ARG_M}, {"a_n_rows", ARG_M}, {"c_rows", ARG_M}, {"a_rows", ARG_M},
                  {"c_n_cols", ARG_N}, {"b_n_cols", ARG_N}, {"c_cols", ARG_N}, {"b_cols", ARG_N},
                  {"a_n_cols", ARG_K}, {"b_n_rows", ARG_K}, {"a_cols", ARG_K}, {"b_rows", ARG_K},
                  {"size", ARG_N},     {"width", ARG_N},    {"dim", ARG_N}};

// The plain name of an operand: d_A, dA, dev_A, A_ptr, d_A_ptr, A_d, mat_A, matA and A all become
// a.
static const char *bare_name(char out[static 40], const struct parameter *p)
{
    static const char *const before[] = {"dev_", "mat_", "mat", "ptr_", "d_", "g_", "p_"},
                             *const behind[] = {"_ptr", "_dev", "_device", "_d", "_gpu"};
    const char *name = p->name;
    for (size_t i = 0; p->pointer && i < ARRAY_COUNT(before); i++) {
        const size_t length = strlen(before[i]);
        if (strncasecmp(name, before[i], length) == 0 && name[length])
            name += length;
    }
    if (p->pointer && name[0] == 'd' && isupper((unsigned char)name[1]) && !name[2])
        name++;
    text_copy(out, 40, name);
    for (size_t i = 0; p->pointer && i < ARRAY_COUNT(behind); i++) {
        if (ends_with(out, behind[i]) && strlen(out) > strlen(behind[i]))
            out[strlen(out) - strlen(behind[i])] = '\0';
    }
    return out;
}

static enum argument argument_of(const struct parameter *p)
{
    char bare[40];
    if (strcmp(p->type, "cudaStream_t") == 0)
        return ARG_STREAM;
    if (strcmp(p->type, "cublasHandle_t") == 0)
        return ARG_HANDLE;
    const char *name = bare_name(bare, p);
    for (int i = 0; i < ARGUMENT_KINDS; i++) {
        if (strcasecmp(name, known[i].name) == 0 && known[i].pointer == p->pointer)
            return (enum argument)i;
    }
    for (size_t i = 0; !p->pointer && i < ARRAY_COUNT(size_names); i++) {
        if (strcasecmp(name, size_names[i].name) == 0)
            return size_names[i].argument;
    }
    return ARGUMENT_KINDS;
}

// Names that a source gives to types (macros and aliases), and what each stands for. Template
// parameters come first, so that they hide others.
enum { ALIASES_MOST = 64, ALIAS_DEPTH = 4 };

struct aliases {
    struct {
        const char *name, *value;
    } items[ALIASES_MOST];
    size_t count;
};

static void alias_add(struct aliases *aliases, struct span name, struct span value,
                      struct arena *arena)
{
    if (aliases->count == ALIASES_MOST || name.at == name.end || value.at == value.end)
        return;
    aliases->items[aliases->count].name =
        arena_strndup(arena, name.at, (size_t)(name.end - name.at));
    aliases->items[aliases->count++].value =
        arena_strndup(arena, value.at, (size_t)(value.end - value.at));
}

static const char *past_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

// Finds the names of types: "#define NAME TYPE" in `text`; and "typedef TYPE NAME;" and "using NAME
// = TYPE;" in `plain`, the text without comments and directives.
static void aliases_find(struct aliases *out, const char *text, const char *plain,
                         struct arena *arena)
{
    out->count = 0;
    for (const char *at = text; (at = strstr(at, "#define")); at += strlen("#define")) {
        const struct span name = word_at(past_blanks(at + strlen("#define")));
        if (*name.end == ' ' || *name.end == '\t')
            alias_add(out, name, word_at(past_blanks(name.end)), arena);
    }
    for (const char *at = plain; (at = strstr(at, "typedef ")); at += strlen("typedef")) {
        const struct span value = word_at(skip_blanks(at + strlen("typedef")));
        const struct span name = word_at(skip_blanks(value.end));
        if (*skip_blanks(name.end) == ';')
            alias_add(out, name, value, arena);
    }
    for (const char *at = plain; (at = strstr(at, "using ")); at += strlen("using")) {
        const struct span name = word_at(skip_blanks(at + strlen("using")));
        const char *equals = skip_blanks(name.end);
        const struct span value = word_at(*equals == '=' ? skip_blanks(equals + 1) : equals);
        if (*equals == '=' && *skip_blanks(value.end) == ';')
            alias_add(out, name, value, arena);
    }
}

// The type or text that a name finally stands for.
static const char *type_of(const struct aliases *aliases, const char *name)
{
    for (int depth = 0; depth < ALIAS_DEPTH; depth++) {
        size_t i = 0;
        while (i < aliases->count && strcmp(aliases->items[i].name, name) != 0)
            i++;
        if (i == aliases->count)
            break;
        name = aliases->items[i].value;
    }
    return name;
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

static bool take_parameter(struct signature *s, const struct parameter *p,
                           const struct aliases *aliases, struct arena *arena)
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
    const char *named = type_of(aliases, p->type), *type = element_type(named);
    if (!type || (input && s->in_type && strcmp(s->in_type, type) != 0))
        return false;
    *(input ? &s->in_type : &s->out_type) = type;
    *(input ? &s->in_spelled : &s->out_spelled) = arena_strdup(arena, named);
    return true;
}

// The parameter as it is written, with its blanks reduced.
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
    length -= length && text[length - 1] == ' ';
    text[length] = '\0';
    return arena_printf(arena, "parameter '%s'", text);
}

// Whether a function is a product. Three pointers and one size could also be a sum of vectors; the
// name decides, or the presence of alpha and beta.
static bool is_product(const char *name)
{
    static const char *const words[] = {"gemm",      "matmul",     "mat_mul",
                                        "matrixmul", "matrix_mul", "mmul"};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        for (const char *at = name; *at; at++) {
            if (strncasecmp(at, words[i], strlen(words[i])) == 0)
                return true;
        }
    }
    return false;
}

static bool understand(struct signature *s, struct span list, const struct aliases *aliases,
                       struct arena *arena)
{
    unsigned seen = 0;
    for (const char *at = list.at; at < list.end;) {
        struct parameter parameter;
        const char *comma = memchr(at, ',', (size_t)(list.end - at));
        const struct span one = {at, comma ? comma : list.end};
        // A default, which is given to the parameter.
        const char *equals = memchr(at, '=', (size_t)(one.end - at));
        const struct span said = {at, equals ? equals : one.end};
        if (!read_parameter(&parameter, said) || !take_parameter(s, &parameter, aliases, arena)) {
            s->why = spelled(one, arena);
            return false;
        }
        at = one.end + 1;
    }
    for (size_t i = 0; i < s->count; i++)
        seen |= 1u << s->arguments[i];
    const unsigned sizes = 1u << ARG_M | 1u << ARG_N | 1u << ARG_K,
                   matrices = 1u << ARG_A | 1u << ARG_B | 1u << ARG_C, size = seen & sizes,
                   factors = 1u << ARG_ALPHA | 1u << ARG_BETA;
    s->square = size && !(size & (size - 1)) && (s->product || (seen & factors) == factors);
    if ((seen & matrices) == matrices && (size == sizes || s->square))
        return true;
    s->why = "not all of m, n, k, a, b, c";
    return false;
}

// ---- templates ----
//
// A template is called with the arguments with which the sources launch it, or with those of its
// first explicit instantiation. A template with a single type that is never instantiated is called
// with float.

static bool is_type(struct span parameter)
{
    const size_t length = (size_t)(parameter.end - parameter.at);
    return (length > 9 && memcmp(parameter.at, "typename ", 9) == 0) ||
           (length > 6 && memcmp(parameter.at, "class ", 6) == 0);
}

// The name of a template parameter: T in "typename T", N in "int N = 4".
static struct span parameter_name(struct span parameter)
{
    const char *equals = memchr(parameter.at, '=', (size_t)(parameter.end - parameter.at));
    const char *end = equals ? equals : parameter.end;
    while (end > parameter.at && !in_word(end[-1]))
        end--;
    struct span name = {end, end};
    while (name.at > parameter.at && in_word(name.at[-1]))
        name.at--;
    return name;
}

// Whether a list can be copied into a shim: it has only names, numbers and commas.
static bool is_plain_list(struct span list)
{
    enum { LIST_MOST = 100 };
    for (const char *at = list.at; at < list.end; at++) {
        if (!in_word(*at) && !strchr(" ,:", *at))
            return false;
    }
    return list.end - list.at <= LIST_MOST;
}

// Finds "template __global__ void NAME<ARGUMENTS>(...);".
static bool find_instantiation(struct span *out, const char *plain, struct span name)
{
    enum { INSTANTIATIONS_MOST = 200, BEFORE_NAME_MOST = 200 };
    static const char word[] = "template";
    const size_t length = (size_t)(name.end - name.at);
    size_t looks = 0;
    for (const char *at = plain; looks < INSTANTIATIONS_MOST && (at = strstr(at, word)); looks++) {
        const char *begin = skip_blanks(at += strlen(word));
        for (const char *c = begin; *c && !strchr("<;{", *c) && c - begin < BEFORE_NAME_MOST; c++) {
            if (in_word(c[-1]) || strncmp(c, name.at, length) != 0 || c[length] != '<')
                continue;
            const char *close = match(c + length, '<', '>');
            if (!close || *skip_blanks(close + 1) != '(')
                break;
            *out = (struct span){c + length + 1, close};
            return is_plain_list(*out);
        }
    }
    return false;
}

// Whether the arguments are numbers and element types, all written out.
static bool is_written_out(const char *arguments, struct arena *arena)
{
    struct span list = {arguments, arguments + strlen(arguments)}, one;
    if (!is_plain_list(list))
        return false;
    while (next_item(&one, &list)) {
        const char *item = arena_strndup(arena, one.at, (size_t)(one.end - one.at));
        if (!isdigit((unsigned char)*item) && strcmp(item, "true") != 0 &&
            strcmp(item, "false") != 0 && !element_type(item))
            return false;
    }
    return true;
}

// The template arguments with which the sources launch it, written out as numbers and types. Its
// own source is preferred to others. NULL: there are none.
static const char *launched_with(const struct launch_list *launches, const char *file,
                                 struct span name, struct arena *arena)
{
    const size_t length = (size_t)(name.end - name.at);
    const char *other = NULL;
    for (size_t i = 0; i < launches->count; i++) {
        const struct launch *l = &launches->items[i];
        const char *a = l->arguments;
        if (strncmp(l->kernel, name.at, length) != 0 || l->kernel[length] || !a ||
            !is_written_out(a, arena))
            continue;
        if (strcmp(l->file, file) == 0)
            return a;
        other = other ? other : a;
    }
    return other;
}

// Finds the arguments for calling the template: `launched`, with which a source launches it (or
// NULL), or others. False, with `why`: nothing tells them.
static bool find_arguments(struct span *out, struct signature *s, struct span parameters,
                           const char *plain, struct span name, const char *launched)
{
    static const char floats[] = "float";
    struct span rest = parameters, one;
    size_t count = 0, types = 0, defaults = 0;
    while (next_item(&one, &rest)) {
        count++;
        types += is_type(one);
        defaults += memchr(one.at, '=', (size_t)(one.end - one.at)) != NULL;
    }
    *out = (struct span){launched, launched + strlen(launched ? launched : "")};
    if (launched)
        return true;
    *out = (struct span){floats, floats + strlen(floats)};
    if (find_instantiation(out, plain, name) || (count == 1 && types == 1 && !defaults))
        return true;
    *out = (struct span){floats, floats};
    if (count && defaults == count && !types)
        return true;
    s->why = types ? "a template: instantiate it, as NAME<float, ...>"
                   : "a template: instantiate it, as NAME<128, ...>";
    return false;
}

// Makes the signature's name that of an instantiation, and the template parameters aliases.
static bool read_template(struct signature *s, struct aliases *aliases, struct span before,
                          const char *plain, struct span name, const char *launched,
                          struct arena *arena)
{
    const char *open = memchr(before.at, '<', (size_t)(before.end - before.at));
    const char *close = open ? match(open, '<', '>') : NULL;
    if (!close || close >= before.end) {
        s->why = "a template that is not read";
        return false;
    }
    struct span parameters = {open + 1, close}, arguments, parameter, argument;
    if (!find_arguments(&arguments, s, parameters, plain, name, launched))
        return false;
    struct aliases all = {.count = 0};
    struct span rest = arguments;
    while (next_item(&parameter, &parameters) && next_item(&argument, &rest)) {
        if (is_type(parameter))
            alias_add(&all, parameter_name(parameter), argument, arena);
    }
    for (size_t i = 0; i < aliases->count && all.count < ALIASES_MOST; i++)
        all.items[all.count++] = aliases->items[i];
    *aliases = all;
    s->called = s->called ? s->called : s->name;
    s->name =
        arena_printf(arena, "%s<%.*s>", s->name, (int)(arguments.end - arguments.at), arguments.at);
    return true;
}

// ---- functions ----

// A definition: the text before `void`, the name, the parameters and the body.
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

// The namespaces around a place in a source.
enum { WITHIN_MOST = 120, BRACES_MOST = 64 };
struct within {
    const char *seen;                   // the text before this has been read
    char text[WITHIN_MOST];             // "a::b::", with which a name is qualified
    unsigned char lengths[BRACES_MOST]; // its length before each brace that is open
    size_t braces;
};

// The name in "namespace a::b {", whose brace is at `brace`; empty: it has none, or it is something
// else.
static struct span namespace_before(const char *text, const char *brace)
{
    static const char word[] = "namespace";
    const char *end = brace;
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    const char *name = end;
    while (name > text && (in_word(name[-1]) || name[-1] == ':'))
        name--;
    const char *before = name;
    while (before > text && isspace((unsigned char)before[-1]))
        before--;
    const size_t length = strlen(word);
    const bool is = before < name && (size_t)(before - text) >= length &&
                    memcmp(before - length, word, length) == 0 &&
                    (before == text + length || !in_word(before[-(ptrdiff_t)length - 1]));
    return is ? (struct span){name, end} : (struct span){end, end};
}

static void enter(struct within *within, struct span name)
{
    const size_t used = strlen(within->text), length = (size_t)(name.end - name.at);
    if (within->braces < BRACES_MOST)
        within->lengths[within->braces] = (unsigned char)used;
    within->braces++;
    if (length && used + length + sizeof("::") <= WITHIN_MOST)
        snprintf(within->text + used, WITHIN_MOST - used, "%.*s::", (int)length, name.at);
}

static void go_to(struct within *within, const char *text, const char *at)
{
    for (; within->seen < at; within->seen++) {
        if (*within->seen == '{')
            enter(within, namespace_before(text, within->seen));
        if (*within->seen == '}' && within->braces && --within->braces < BRACES_MOST)
            within->text[within->lengths[within->braces]] = '\0';
    }
}

// A source in which functions are being looked for.
struct looked_at {
    const char *file, *plain;
    struct within within;
    bool cuda;
    struct aliases aliases;
    const struct launch_list *launches;
};

static void launched_by(const struct launch_list *launches, struct span body, size_t by)
{
    for (size_t i = 0; i < launches->count; i++) {
        struct launch *l = &launches->items[i];
        if (l->at >= body.at && l->at < body.end)
            l->by = by;
    }
}

// Whether the function has this name, in any namespace.
static bool is_named(const struct signature *s, const char *kernel)
{
    const size_t length = strlen(kernel), own = strcspn(s->name, "<");
    const char *name = s->name + own - (own < length ? own : length);
    return own >= length && strncmp(name, kernel, length) == 0 &&
           (name == s->name || name[-1] == ':');
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Whether the launcher's source has the kernel, or includes a source that has it.
static bool has_kernel(const struct signature_list *list, const struct signature *launcher,
                       const char *text, const char *kernel)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct signature *s = &list->items[i];
        if (s->callee == CALLEE_KERNEL && is_named(s, kernel) &&
            (strcmp(s->file, launcher->file) == 0 || strstr(text, base_of(s->file))))
            return true;
    }
    return false;
}

// Drops kernels that a launcher launches, because they need no shim of their own. If only another
// source defines such a kernel, that source is compiled with the launcher's.
static void join_launchers(struct signature_list *list, const struct launch_list *launches,
                           const struct source_text *sources, size_t count)
{
    for (size_t i = 0; i < launches->count; i++) {
        const struct launch *l = &launches->items[i];
        struct signature *launcher = l->by ? &list->items[l->by - 1] : NULL;
        size_t source = 0;
        while (launcher && source < count && strcmp(sources[source].file, launcher->file) != 0)
            source++;
        const bool there = launcher && source < count &&
                           has_kernel(list, launcher, sources[source].text, l->kernel);
        for (size_t k = 0; launcher && k < list->count; k++) {
            struct signature *s = &list->items[k];
            if (s->callee != CALLEE_KERNEL || !is_named(s, l->kernel))
                continue;
            s->covered = true;
            if (!there && ends_with(s->file, ".cu"))
                launcher->beside = s->file;
        }
    }
}

static void add(struct signature_list *list, const struct definition *d,
                const struct looked_at *source, struct arena *arena)
{
    struct signature s = {.file = source->file, .callee = CALLEE_HOST};
    struct aliases aliases = source->aliases;
    const bool template = span_has(d->before, "template");
    if (span_has(d->before, "__device__"))
        return;
    if (span_has(d->before, "__global__"))
        s.callee = CALLEE_KERNEL;
    else if (source->cuda && span_has(d->body, "<<<"))
        s.callee = CALLEE_LAUNCHER;
    s.waits = s.callee == CALLEE_LAUNCHER && span_has(d->body, "Synchronize");
    s.name = arena_strndup(arena, d->name.at, (size_t)(d->name.end - d->name.at));
    s.product = is_product(s.name);
    if (*source->within.text)
        s.called = s.name;
    s.name = arena_printf(arena, "%s%s", source->within.text, s.name);
    s.understood =
        (!template ||
         read_template(&s, &aliases, d->before, source->plain, d->name,
                       launched_with(source->launches, s.file, d->name, arena), arena)) &&
        understand(&s, d->parameters, &aliases, arena);
    if (s.callee == CALLEE_HOST && (source->cuda || (!s.understood && !s.product)))
        return;
    if (s.callee == CALLEE_LAUNCHER && s.understood)
        launched_by(source->launches, d->body, list->count + 1);
    signatures_add(list, &s, arena);
}

static void find_functions(struct signature_list *list, struct looked_at *source,
                           struct arena *arena)
{
    size_t looks = 0;
    for (const char *at = source->plain; looks < LOOKS_MOST && (at = strstr(at, "void"));
         at += strlen("void")) {
        struct definition definition;
        if ((at > source->plain && in_word(at[-1])) || !isspace((unsigned char)at[4]))
            continue;
        looks++;
        if (!read_definition(&definition, source->plain, at))
            continue;
        go_to(&source->within, source->plain, at);
        add(list, &definition, source, arena);
    }
}

void signatures_find(struct signature_list *list, const struct source_text *sources, size_t count,
                     struct arena *arena)
{
    struct launch_list launches;
    char **plain = xcalloc(count + 1, sizeof(*plain));
    for (size_t i = 0; i < count; i++)
        plain[i] = signatures_plain(sources[i].text);
    launches_find(&launches, sources, (const char *const *)plain, count, arena);
    for (size_t i = 0; i < count; i++) {
        struct looked_at source = {
            .file = sources[i].file, .plain = plain[i], .launches = &launches};
        source.within.seen = plain[i];
        source.cuda = !ends_with(sources[i].file, ".c");
        aliases_find(&source.aliases, sources[i].text, plain[i], arena);
        find_functions(list, &source, arena);
    }
    join_launchers(list, &launches, sources, count);
    for (size_t i = 0; i < count; i++)
        free(plain[i]);
    free(plain);
}

enum { SOURCES_MAX = 2000, SOURCE_BYTES = 32 << 20, LIBRARIES = 5 };

// The libraries that are linked with a source that includes one of these headers.
static const struct {
    const char *header, *word;
} libraries[LIBRARIES] = {{"<cublas_v2.h>", " -lcublas"},
                          {"<cublasLt.h>", " -lcublasLt"},
                          {"<curand.h>", " -lcurand"},
                          {"<cuda.h>", " -lcuda"},
                          {"<math.h>", " -lm"}};

static bool is_source(const char *path, bool host)
{
    static const char *const ends[] = {".c", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".inc"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < (host ? 1 : ARRAY_COUNT(ends)); i++) {
        if (strcmp(dot, ends[i]) == 0)
            return true;
    }
    return false;
}

// Adds the top folder of a source, or the source itself, to what its build may read.
static void add_input(struct sources *sources, const char *path, struct arena *arena)
{
    const char *top = arena_strndup(arena, path, strcspn(path, "/"));
    for (size_t i = 0; i < sources->input_count; i++) {
        if (strcmp(sources->inputs[i], top) == 0)
            return;
    }
    if (sources->input_count == INPUTS_MAX || strpbrk(top, "\"\\\n"))
        sources->whole_tree = true;
    else
        sources->inputs[sources->input_count++] = top;
}

static const char unquotable[] = " \t\n\"'\\$`;&|<>()";

// Finds the folder with include/cutlass/cutlass.h, "." at the top. NULL: there is none.
static const char *find_cutlass(const struct path_list *names, struct arena *arena)
{
    static const char header[] = "include/cutlass/cutlass.h";
    for (size_t i = 0; i < names->count; i++) {
        const char *path = names->items[i];
        const size_t length = strlen(path), tail = strlen(header);
        if (length < tail || strcmp(path + length - tail, header) != 0)
            continue;
        if (length == tail)
            return ".";
        if (path[length - tail - 1] == '/')
            return arena_strndup(arena, path, length - tail - 1);
    }
    return NULL;
}

// Whether functions are looked for in a source: in CUDA, whatever its name ends with, and in C.
static bool is_searched(const char *path, const char *text)
{
    return strstr(path, ".cu") || is_source(path, true) || strstr(text, "__global__");
}

// Whether a source is somebody else's, so that no kernel is looked for in it: it lies in CUTLASS,
// or is a copied header of it, or lies in a folder with a name for foreign code.
static bool is_foreign(const struct sources *sources, const char *path)
{
    static const char *const folders[] = {"third_party", "third-party", "3rdparty", "thirdparty",
                                          "external",    "vendor",      "cutlass",  "cute"};
    enum { OTHERS = 6 };
    const size_t count =
        ends_with(path, ".h") || ends_with(path, ".hpp") ? ARRAY_COUNT(folders) : OTHERS;
    const size_t length = sources->cutlass ? strlen(sources->cutlass) : 0;
    if (length && strncmp(path, sources->cutlass, length) == 0 && path[length] == '/')
        return true;
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        for (size_t i = 0; i < count; i++) {
            if ((size_t)(slash - path) == strlen(folders[i]) &&
                strncmp(path, folders[i], strlen(folders[i])) == 0)
                return true;
        }
    }
    return false;
}

static void refuse_unnameable(struct signature_list *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct signature *s = &found->items[i];
        if (!strpbrk(s->file, "\"\\<>\n") && !strpbrk(s->beside ? s->beside : "", "\"\\<>\n"))
            continue;
        s->unnameable = s->understood;
        s->understood = false;
        s->why = "its path has a character that no #include can have";
    }
}

// ---- the repository's own build ----

// Reads flags and folders of headers as words, because a build file is a program, and running it is
// up to the user. Flags that change a kernel (-march, fast math, macros) are taken. Flags that the
// policy itself gives (the architecture, the language, warnings) are not.
enum { FLAGS_MOST = 24, FLAG_MOST = 80, HEADER_FOLDERS_MOST = 12 };

struct flags {
    struct arena *arena;
    const char **out;
    size_t count;
};

static bool is_build_file(const char *path)
{
    static const char *const files[] = {"CMakeLists.txt", "Makefile", "makefile", "GNUmakefile",
                                        "compile_commands.json"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < ARRAY_COUNT(files); i++) {
        if (strcmp(name, files[i]) == 0)
            return true;
    }
    return ends_with(path, ".mk") || ends_with(path, ".cmake");
}

static bool has_flag(const char *flags, const char *flag)
{
    const size_t length = strlen(flag);
    for (const char *at = flags; (at = strstr(at, flag)); at += length) {
        if (at > flags && at[-1] == ' ' && (at[length] == ' ' || !at[length]))
            return true;
    }
    return false;
}

static void add_flag(struct flags *flags, const char *before, const char *flag)
{
    if (has_flag(*flags->out, flag) || flags->count == FLAGS_MOST)
        return;
    *flags->out = arena_printf(flags->arena, "%s %s%s", *flags->out, before, flag);
    flags->count++;
}

static bool begins_with_one_of(const char *text, const char *const *starts)
{
    for (; *starts; starts++) {
        if (strncmp(text, *starts, strlen(*starts)) == 0)
            return true;
    }
    return false;
}

static void take_flag(struct flags *c, struct flags *cuda, const char *word)
{
    static const char *const of_c[] = {"-march=",        "-mtune=",     "-mavx",     "-mfma",
                                       "-msse",          "-ffast-math", "-funroll-", "-fopenmp",
                                       "-ffp-contract=", "-std=",       NULL};
    static const char *const of_cuda[] = {"--expt-", "-use_fast_math", "--use_fast_math", "--fmad=",
                                          "-fmad=",  "-maxrregcount=", "--maxrregcount=", NULL};
    if (strcmp(word, "OpenMP") == 0)
        word = "-fopenmp";
    if (strncmp(word, "-D", 2) == 0 && word[2] && strncmp(word, "-DCMAKE", 7) != 0 &&
        !isdigit((unsigned char)word[2])) {
        add_flag(c, "", word);
        add_flag(cuda, "", word);
    }
    if (begins_with_one_of(word, of_c) && strncmp(word, "-std=c++", 8) != 0 &&
        strncmp(word, "-std=gnu++", 10) != 0)
        add_flag(c, "", word);
    if (begins_with_one_of(word, of_cuda))
        add_flag(cuda, "", word);
    if (strcmp(word, "-fopenmp") == 0)
        add_flag(cuda, "-Xcompiler ", word);
}

static void find_flags(struct sources *out, const char *text, struct arena *arena)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_=.+-";
    struct flags c = {arena, &out->flags[0], 0}, cuda = {arena, &out->flags[1], 0};
    for (const char *at = text; *at;) {
        const size_t length = strspn(at, letters);
        if (*at == '#') { // a comment in all of these languages
            at += strcspn(at, "\n");
        } else if (length == 0) {
            at++;
        } else {
            // A word that continues with something that a shell or CMake would replace is ignored.
            if (length <= FLAG_MOST && !(at[length] && strchr("${\\/", at[length])))
                take_flag(&c, &cuda, arena_strndup(arena, at, length));
            at += length;
        }
    }
}

static bool is_header(const char *path)
{
    return ends_with(path, ".h") || ends_with(path, ".hpp") || ends_with(path, ".cuh") ||
           ends_with(path, ".inc");
}

// Whether a build's words name the folder: "-Iinclude", "include_directories(src/include)".
static bool names_folder(const char *text, const char *folder)
{
    const size_t length = strlen(folder);
    for (const char *at = text; (at = strstr(at, folder)); at++) {
        const bool begins = at > text && !in_word(at[-1]) && at[-1] != '-' && at[-1] != '.';
        const bool flag = at > text + 1 && at[-1] == 'I' && at[-2] == '-';
        if ((begins || flag) && !in_word(at[length]) && at[length] != '.' && at[length] != '/' &&
            at[length] != '-')
            return true;
    }
    return false;
}

// The folder that a compiler is given for a header: of lib/include/lib/x.h it is lib/include.
static const char *header_folder(const char *path, const char *slash, struct arena *arena)
{
    static const char word[] = "include/";
    for (const char *at = path; (at = strstr(at, word)); at++) {
        if (at == path || at[-1] == '/')
            return arena_strndup(arena, path, (size_t)(at - path) + strlen(word) - 1);
    }
    return arena_strndup(arena, path, (size_t)(slash - path));
}

// Finds folders of headers by their names, or because a build file names them.
static void find_folders(struct sources *out, const struct path_list *names, const char *builds,
                         struct arena *arena)
{
    const char *last = "";
    size_t count = 0;
    for (size_t i = 0; i < names->count && count < HEADER_FOLDERS_MOST; i++) {
        const char *path = names->items[i], *slash = strrchr(path, '/');
        if (!slash || !is_header(path) || strncmp(path, "ci/", 3) == 0 || strpbrk(path, unquotable))
            continue;
        const char *folder = header_folder(path, slash, arena);
        const char *name = strrchr(folder, '/') ? strrchr(folder, '/') + 1 : folder;
        if (strcmp(folder, last) == 0)
            continue;
        last = folder;
        const char *flag = arena_printf(arena, "-I%s", folder);
        if ((strcmp(name, "include") == 0 || strcmp(name, "inc") == 0 ||
             names_folder(builds, folder)) &&
            !has_flag(out->folders, flag)) {
            out->folders = arena_printf(arena, "%s %s", out->folders, flag);
            count++;
        }
    }
}

// Whether this place names a folder of headers for the compiler: after -I, or inside
// "include_directories(...)".
static bool is_header_folder(const char *text, const char *at)
{
    static const char command[] = "include_directories";
    const char *word = at;
    for (const char *line = at; line > text && line[-1] != '\n'; line--) {
        if (line[-1] == '#') // a comment
            return false;
    }
    while (word > text && !strchr(" \t\n(\"", word[-1]))
        word--;
    if (strncmp(word, "-I", 2) == 0)
        return true;
    while (word > text && !strchr("()", word[-1]))
        word--;
    const size_t length = strlen(command);
    return (size_t)(word - text) > length && word[-1] == '(' &&
           strncmp(word - 1 - length, command, length) == 0;
}

static void add_folder_below(struct sources *out, const char *folder, struct arena *arena)
{
    const char *flag = arena_printf(arena, "-I%s", folder);
    if (has_flag(out->folders, flag))
        return;
    out->folders = arena_printf(arena, "%s %s", out->folders, flag);
    if (out->input_count == INPUTS_MAX)
        out->whole_tree = true;
    else
        out->inputs[out->input_count++] = folder;
}

// Finds folders of headers in submodules, whose files are not among HEAD's: those that a build file
// names.
static void find_folders_below(struct sources *out, const char *submodules, const char *builds,
                               struct arena *arena)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.+-/";
    for (const char *line = submodules; *line; line += strcspn(line, "\n") + 1) {
        const char *path = strchr(line, ' '); // "ID PATH", if the path has no line ends
        if (!path++)
            return;
        const char *own = arena_strndup(arena, path, strcspn(path, "\n"));
        if (strpbrk(own, unquotable))
            continue;
        for (const char *at = builds; (at = strstr(at, own)); at += strlen(own)) {
            const char *end = at + strspn(at, letters);
            const char *folder = arena_strndup(arena, at, (size_t)(end - at));
            if ((at > builds && in_word(at[-1]) && !(at > builds + 1 && at[-1] == 'I')) ||
                !strchr("/", folder[strlen(own)]) || strstr(folder, "..") ||
                !is_header_folder(builds, at))
                continue;
            add_folder_below(out, folder, arena);
        }
    }
}

// The first header of the library `name` that a source includes: for "cutlass" it is
// "cutlass/gemm/device/gemm.h". NULL: none.
static const char *included_header(const struct sources *sources, const char *name,
                                   struct arena *arena)
{
    for (size_t i = 0; i < sources->text_count; i++) {
        for (int quote = 0; quote < 2; quote++) {
            const char *text = sources->texts[i].text;
            const char *at = strstr(text, arena_printf(arena, "%c%s/", "\"<"[quote], name));
            if (at)
                return arena_strndup(arena, at + 1, strcspn(at + 1, "\">\n"));
        }
    }
    return NULL;
}

// Finds submodules whose headers a source includes by the submodule's own name, as CUTLASS's are:
// "cutlass/cutlass.h" lies in 3rdparty/cutlass/include. One that is not on this machine may have
// the header, too.
static void find_libraries_below(struct sources *out, const struct repository *repository,
                                 const char *commit, const char *submodules, struct arena *arena)
{
    for (const char *line = submodules; *line; line += strcspn(line, "\n") + 1) {
        const char *path = strchr(line, ' '); // "ID PATH", if the path has no line ends
        if (!path++)
            return;
        const char *own = arena_strndup(arena, path, strcspn(path, "\n"));
        const char *slash = strrchr(own, '/');
        const char *header = included_header(out, slash ? slash + 1 : own, arena);
        if (!header || strpbrk(own, unquotable))
            continue;
        const char *folder = arena_printf(arena, "%s/include", own);
        char *text = NULL;
        size_t size;
        struct error err;
        const bool is_there =
            repository_read(&text, &size, repository, commit,
                            arena_printf(arena, "%s/%s", folder, header), &err) == 0;
        free(text);
        if (!is_there && !strstr(err.text, "is not on this machine"))
            continue;
        if (!is_there)
            out->missing = arena_strdup(arena, err.text);
        add_folder_below(out, folder, arena);
    }
}

// Reads all build files of the commit into the arena, one after the other, unless they are long.
static const char *read_builds(const struct repository *repository, const char *commit,
                               const struct path_list *names, const char *cutlass,
                               struct arena *arena)
{
    enum { BUILDS_MOST = 32, BUILD_MOST = 1 << 18 };
    const char *all = "";
    struct error ignored;
    size_t count = 0;
    for (size_t i = 0; i < names->count && count < BUILDS_MOST; i++) {
        char *text;
        size_t size;
        const char *path = names->items[i];
        if (!is_build_file(path) || strncmp(path, "ci/", 3) == 0 ||
            (cutlass && strncmp(path, cutlass, strlen(cutlass)) == 0) ||
            repository_read(&text, &size, repository, commit, path, &ignored))
            continue;
        if (size < BUILD_MOST)
            all = arena_printf(arena, "%s%s\n", all, text);
        free(text);
        count++;
    }
    return all;
}

static void look_over(bool links[LIBRARIES], const char *text)
{
    for (size_t l = 0; l < LIBRARIES; l++)
        links[l] |= strstr(text, libraries[l].header) != NULL;
}

// Whether the plain text defines a function with this name.
static bool defines(const char *plain, struct span name)
{
    const size_t length = (size_t)(name.end - name.at);
    for (const char *at = plain; (at = strstr(at, "(")); at++) {
        const char *end = at;
        while (end > plain && isspace((unsigned char)end[-1]))
            end--;
        const bool named = (size_t)(end - plain) > length &&
                           memcmp(end - length, name.at, length) == 0 &&
                           !in_word(end[-(ptrdiff_t)length - 1]);
        const char *close = named ? match(at, '(', ')') : NULL;
        if (close && *skip_blanks(close + 1) == '{')
            return true;
    }
    return false;
}

const char *sources_defining(const struct sources *sources, const char *symbol, const char *ending)
{
    static const char mangled[] = "_Z", main_words[] = "main";
    char *name = NULL;
    const char *found = NULL;
    if (strncmp(symbol, mangled, strlen(mangled)) == 0) {
        const unsigned long length = strtoul(symbol + strlen(mangled), &name, 10);
        if (length == 0 || length > strlen(name))
            return NULL;
        symbol = name;
        name += length;
    }
    const struct span called = {symbol, name ? name : word_at(symbol).end};
    const struct span main_called = {main_words, main_words + strlen(main_words)};
    for (size_t i = 0; !found && called.at < called.end && i < sources->text_count; i++) {
        if (!ends_with(sources->texts[i].file, ending))
            continue;
        char *plain = signatures_plain(sources->texts[i].text);
        if (defines(plain, called) && !defines(plain, main_called))
            found = sources->texts[i].file;
        free(plain);
    }
    return found;
}

int sources_read(struct sources *out, const struct repository *repository, struct arena *arena,
                 struct error *err)
{
    struct commit head;
    struct path_list names;
    struct error none;
    bool links[LIBRARIES] = {false};
    *out = (struct sources){.libraries = "", .folders = "", .flags = {"", ""}};
    if (repository_commit(&head, repository, "HEAD", arena, &none))
        return 0; // there is no commit yet
    out->committed = true;
    if (repository_names(&names, repository, head.id, NULL, 0, arena, err))
        return -1;
    out->cutlass = find_cutlass(&names, arena);
    const char *builds = read_builds(repository, head.id, &names, out->cutlass, arena);
    find_flags(out, builds, arena);
    find_folders(out, &names, builds, arena);
    find_folders_below(out, names.submodules, builds, arena);
    struct source_text *texts = arena_alloc(arena, SOURCES_MAX * sizeof(*texts));
    size_t read = 0, bytes = 0;
    for (size_t i = 0; i < names.count && read < SOURCES_MAX && bytes < SOURCE_BYTES; i++) {
        const char *path = names.items[i];
        char *text;
        size_t size;
        if (!is_source(path, false) || strncmp(path, "ci/", 3) == 0)
            continue;
        add_input(out, path, arena);
        out->names_c = true;
        out->names_cpp |= ends_with(path, ".cpp") || ends_with(path, ".cc");
        if (is_foreign(out, path) ||
            repository_read(&text, &size, repository, head.id, path, &none))
            continue;
        out->names_cuda |= strstr(path, ".cu") || strstr(text, "__global__");
        if (is_searched(path, text)) {
            look_over(links, text);
            texts[read++] = (struct source_text){path, arena_strdup(arena, text)};
            bytes += size;
        }
        free(text);
    }
    out->texts = texts;
    out->text_count = read;
    find_libraries_below(out, repository, head.id, names.submodules, arena);
    signatures_find(&out->found, texts, read, arena);
    refuse_unnameable(&out->found);
    for (size_t l = 0; l < LIBRARIES; l++) {
        if (links[l])
            out->libraries = arena_printf(arena, "%s%s", out->libraries, libraries[l].word);
    }
    return 0;
}
