// SPDX-License-Identifier: Apache-2.0
//
// A problem's text, parsed and written, and the work and bytes it stands for. How long it takes is
// the models' business.
#include "model/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    double bytes;
    enum dtype default_out;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_FP32] = {"fp32", 4, DTYPE_FP32},   [DTYPE_TF32] = {"tf32", 4, DTYPE_FP32},
    [DTYPE_BF16] = {"bf16", 2, DTYPE_BF16},   [DTYPE_FP16] = {"fp16", 2, DTYPE_FP16},
    [DTYPE_E4M3] = {"e4m3", 1, DTYPE_BF16},   [DTYPE_E5M2] = {"e5m2", 1, DTYPE_BF16},
    [DTYPE_E2M1] = {"e2m1", 0.5, DTYPE_BF16}, [DTYPE_E8M0] = {"e8m0", 1, DTYPE_FP32},
    [DTYPE_FP64] = {"fp64", 8, DTYPE_FP64},
};

static const struct {
    const char *name;
    enum dtype type;
} dtype_aliases[] = {
    {"fp8", DTYPE_E4M3},   {"mxfp8", DTYPE_E4M3},    {"fp4", DTYPE_E2M1},
    {"nvfp4", DTYPE_E2M1}, {"mxfp4", DTYPE_E2M1},    {"float", DTYPE_FP32},
    {"half", DTYPE_FP16},  {"bfloat16", DTYPE_BF16}, {"double", DTYPE_FP64},
};

static const char *const layouts[LAYOUT_COUNT] = {"tn", "nn", "nt", "tt"};
static const char *const epilogues[EPILOGUE_COUNT] = {"none", "dual-silu"};

const char *dtype_name(enum dtype type)
{
    return dtypes[type].name;
}

double dtype_bytes(enum dtype type)
{
    return dtypes[type].bytes;
}

int dtype_parse(enum dtype *out, const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcasecmp(dtypes[i].name, name) == 0) {
            *out = (enum dtype)i;
            return 0;
        }
    }
    for (size_t i = 0; i < ARRAY_COUNT(dtype_aliases); i++) {
        if (strcasecmp(dtype_aliases[i].name, name) == 0) {
            *out = dtype_aliases[i].type;
            return 0;
        }
    }
    return -1;
}

const char *layout_name(enum layout layout)
{
    return layouts[layout];
}

const char *epilogue_name(enum epilogue epilogue)
{
    return epilogues[epilogue];
}

enum dtype problem_default_out(enum dtype in)
{
    return dtypes[in].default_out;
}

static int parse_shape(struct problem *out, const char *text, struct error *err)
{
    int64_t *dims[3] = {&out->m, &out->n, &out->k};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char digits[16];
        size_t length = strspn(at, "0123456789");
        const char after = at[length];
        if (length == 0 || length >= sizeof(digits) || (i < 2 ? after != 'x' : after != '\0'))
            return error_set(err, "%.80s: a shape is MxNxK, three whole numbers", text);
        memcpy(digits, at, length);
        digits[length] = '\0';
        if (parse_int64(dims[i], digits) || *dims[i] < 1 || *dims[i] > INT32_MAX)
            return error_set(err, "%.80s: each dimension must be 1 to 2147483647", text);
        at += length + 1;
    }
    return 0;
}

static int parse_types(struct problem *out, char *text, struct error *err)
{
    char *dash = strchr(text, '-');
    if (dash)
        *dash = '\0';
    if (dtype_parse(&out->in, text))
        return error_set(err, "%.40s: unknown element type (fp32, tf32, bf16, fp16, fp8, ...)",
                         text);
    out->out = problem_default_out(out->in);
    if (dash && dtype_parse(&out->out, dash + 1))
        return error_set(err, "%.40s: unknown element type (fp32, tf32, bf16, fp16, ...)",
                         dash + 1);
    return 0;
}

static int parse_option(struct problem *out, const char *text, struct error *err)
{
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (strcasecmp(layouts[i], text) == 0) {
            out->layout = (enum layout)i;
            return 0;
        }
    }
    for (int i = 0; i < EPILOGUE_COUNT; i++) {
        if (strcasecmp(epilogues[i], text) == 0) {
            out->epilogue = (enum epilogue)i;
            return 0;
        }
    }
    int64_t batch;
    if (text[0] == 'b' && parse_int64(&batch, text + 1) == 0 && batch >= 1 && batch <= 65535) {
        out->batch = (int32_t)batch;
        return 0;
    }
    return error_set(err, "%.40s: not a layout (tn, nn, nt, tt), a batch (b8) or an epilogue",
                     text);
}

int problem_parse(struct problem *out, const char *text, struct error *err)
{
    struct problem problem = {.in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    char copy[PROBLEM_TEXT];
    if (!text_copy(copy, sizeof(copy), text))
        return error_set(err, "%.40s...: too long for a problem", text);
    char *rest = copy;
    if (parse_shape(&problem, strsep(&rest, ":"), err))
        return -1;
    if (rest && parse_types(&problem, strsep(&rest, ":"), err))
        return -1;
    while (rest) {
        if (parse_option(&problem, strsep(&rest, ":"), err))
            return -1;
    }
    *out = problem;
    return 0;
}

void problem_format(char out[PROBLEM_TEXT], const struct problem *p)
{
    int used = snprintf(out, PROBLEM_TEXT, "%" PRId64 "x%" PRId64 "x%" PRId64 ":%s-%s:%s", p->m,
                        p->n, p->k, dtype_name(p->in), dtype_name(p->out), layouts[p->layout]);
    if (p->batch > 1)
        used += snprintf(out + used, PROBLEM_TEXT - (size_t)used, ":b%d", p->batch);
    if (p->epilogue)
        snprintf(out + used, PROBLEM_TEXT - (size_t)used, ":%s", epilogues[p->epilogue]);
}

bool problem_equal(const struct problem *a, const struct problem *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->in == b->in && a->out == b->out &&
           a->layout == b->layout && a->batch == b->batch && a->epilogue == b->epilogue;
}

double problem_flops(const struct problem *p)
{
    double pairs = p->epilogue == EPILOGUE_DUAL_SILU ? 2.0 : 1.0; // two products share A
    return 2.0 * (double)p->m * (double)p->n * (double)p->k * p->batch * pairs;
}

double problem_bytes(const struct problem *p)
{
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double weights = p->epilogue == EPILOGUE_DUAL_SILU ? 2.0 : 1.0;
    return p->batch *
           ((m * k + weights * n * k) * dtype_bytes(p->in) + m * n * dtype_bytes(p->out));
}
