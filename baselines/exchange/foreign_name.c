// SPDX-License-Identifier: Apache-2.0
//
// The rule by which a foreign benchmark's name and arguments become a kernel's name and a problem;
// README.md states it. A kernel's name is lower case, digits and "_.-".
#include "baselines/exchange/foreign.h"
#include "model/text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

static void append(struct foreign *f, char c)
{
    f->hash = hash_bytes(f->length ? f->hash : HASH_START, &c, 1);
    if (f->length + 1 < FOREIGN_NAME_TEXT)
        f->kernel[f->length] = c;
    f->length++;
}

// What is no letter or digit is one '-', and none at the ends of a part.
static void append_text(struct foreign *f, const char *text, size_t length)
{
    bool gap = false, begun = false;
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (!isalnum(c) && c != '_' && c != '.') {
            gap = begun;
            continue;
        }
        if (gap)
            append(f, '-');
        append(f, (char)tolower(c));
        gap = false;
        begun = true;
    }
}

void foreign_part(struct foreign *f, const char *name, const char *text)
{
    if (f->length)
        append(f, '.');
    if (name && name[0]) {
        append_text(f, name, strlen(name));
        append(f, '-');
    }
    append_text(f, text, strlen(text));
}

int foreign_type(enum dtype *out, const char *text)
{
    static const struct {
        const char *name;
        enum dtype type;
    } names[] = {
        {"f64", DTYPE_FP64},           {"f32", DTYPE_FP32},           {"float32", DTYPE_FP32},
        {"float64", DTYPE_FP64},       {"f16", DTYPE_FP16},           {"float16", DTYPE_FP16},
        {"half_t", DTYPE_FP16},        {"__half", DTYPE_FP16},        {"bfloat16_t", DTYPE_BF16},
        {"__nv_bfloat16", DTYPE_BF16}, {"fe4m3", DTYPE_E4M3},         {"__nv_fp8_e4m3", DTYPE_E4M3},
        {"fe5m2", DTYPE_E5M2},         {"__nv_fp8_e5m2", DTYPE_E5M2}, {"float8_e4m3fn", DTYPE_E4M3},
        {"float8_e5m2", DTYPE_E5M2},   {"fe2m1", DTYPE_E2M1}};
    // torch.bfloat16, cutlass::half_t
    for (const char *c = text; *c; c++)
        text = (*c == '.' || *c == ':') && c[1] ? c + 1 : text;
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcasecmp(text, names[i].name) == 0) {
            *out = names[i].type;
            return 0;
        }
    }
    return dtype_parse(out, text);
}

static void set_type(struct foreign *f, enum dtype type)
{
    f->problem.in = type;
    f->problem.out = dtype_default_out(type);
    f->typed = true;
}

void foreign_name(struct foreign *f, const char *text)
{
    const char *inner = strchr(text, '<');
    size_t length = inner ? (size_t)(inner - text) : strlen(text);
    append_text(f, text, length);
    // Template arguments, whatever brackets they are in.
    for (const char *at = inner; at && *at;) {
        char word[64];
        enum dtype type;
        at += strspn(at, "<>,() ");
        length = strcspn(at, "<>,() ");
        snprintf(word, sizeof(word), "%.*s", (int)(length < 63 ? length : 63), at);
        if (length && !f->typed && foreign_type(&type, word) == 0) {
            set_type(f, type);
        } else if (length) {
            append(f, '.');
            append_text(f, at, length);
        }
        at += length;
    }
}

static int64_t *dimension(struct foreign *f, const char *name)
{
    return strcasecmp(name, "m") == 0   ? &f->problem.m
           : strcasecmp(name, "n") == 0 ? &f->problem.n
           : strcasecmp(name, "k") == 0 ? &f->problem.k
                                        : NULL;
}

static bool names_type(const char *name)
{
    return strcasecmp(name, "t") == 0 || strcasecmp(name, "type") == 0 ||
           strcasecmp(name, "dtype") == 0;
}

bool foreign_is_axis(const char *name)
{
    struct foreign none;
    return dimension(&none, name) || names_type(name) || strcasecmp(name, "problem") == 0;
}

// A whole number of 1 to 2^31-1; counters are written as 5.12e+02.
static int read_dimension(int64_t *out, const char *text)
{
    double value;
    if (parse_double(&value, text) || !(value >= 1) || value > INT32_MAX || value != floor(value))
        return -1;
    *out = (int64_t)value;
    return 0;
}

static int read_problem(struct foreign *f, const char *text)
{
    struct error ignored;
    struct problem problem;
    if (problem_parse(&problem, text, &ignored))
        return -1;
    // "512x512x512" without a type leaves a type that was named elsewhere.
    if (!strchr(text, ':') && f->typed) {
        problem.in = f->problem.in;
        problem.out = f->problem.out;
    }
    f->problem = problem;
    f->typed = f->typed || strchr(text, ':');
    return 0;
}

static int read_axis(struct foreign *f, const char *name, const char *text)
{
    int64_t *out = dimension(f, name);
    enum dtype type;
    if (out)
        return read_dimension(out, text);
    if (strcasecmp(name, "problem") == 0)
        return read_problem(f, text);
    if (foreign_type(&type, text))
        return -1;
    set_type(f, type);
    return 0;
}

static void keep_number(struct foreign *f, const char *text)
{
    const size_t used = strlen(f->numbers);
    int64_t value;
    if (f->number_count < ARRAY_COUNT(f->number))
        f->number[f->number_count] = read_dimension(&value, text) ? 0 : value;
    f->number_count++;
    snprintf(f->numbers + used, sizeof(f->numbers) - used, "%s%s", used ? "." : "", text);
}

int foreign_argument(struct foreign *f, const char *name, const char *text)
{
    enum dtype type;
    if (name && name[0]) {
        if (foreign_is_axis(name))
            return read_axis(f, name, text);
        foreign_part(f, name, text);
    } else if (text[0] && strspn(text, "0123456789") == strlen(text) &&
               strlen(f->numbers) + strlen(text) + 2 < sizeof(f->numbers)) {
        keep_number(f, text);
    } else if (!f->typed && foreign_type(&type, text) == 0) {
        set_type(f, type);
    } else if (read_problem(f, text)) {
        foreign_part(f, NULL, text);
    }
    return 0;
}
