// SPDX-License-Identifier: Apache-2.0
//
// Problems: their element types, names, groups, work and bytes; writing one as text, and reading
// one from hostile text. How long a problem takes is computed in model/predict/.
#include "model/problem.h"

#include "model/base.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// ---- element types ----
//
// The table of element types, and the other names that people have for them.

static const struct {
    const char *name;
    double bytes;
    enum dtype default_out;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_FP32] = {"fp32", 4, DTYPE_FP32},    [DTYPE_TF32] = {"tf32", 4, DTYPE_FP32},
    [DTYPE_BF16] = {"bf16", 2, DTYPE_BF16},    [DTYPE_FP16] = {"fp16", 2, DTYPE_FP16},
    [DTYPE_E4M3] = {"e4m3", 1, DTYPE_BF16},    [DTYPE_E5M2] = {"e5m2", 1, DTYPE_BF16},
    [DTYPE_E2M1] = {"e2m1", 0.5, DTYPE_BF16},  [DTYPE_E8M0] = {"e8m0", 1, DTYPE_FP32},
    [DTYPE_FP64] = {"fp64", 8, DTYPE_FP64},    [DTYPE_INT8] = {"int8", 1, DTYPE_INT32},
    [DTYPE_INT32] = {"int32", 4, DTYPE_INT32},
};

static const struct {
    const char *name;
    enum dtype type;
} aliases[] = {
    {"fp8", DTYPE_E4M3},    {"mxfp8", DTYPE_E4M3}, {"fp4", DTYPE_E2M1},  {"nvfp4", DTYPE_E2M1},
    {"mxfp4", DTYPE_E2M1},  {"float", DTYPE_FP32}, {"half", DTYPE_FP16}, {"bfloat16", DTYPE_BF16},
    {"double", DTYPE_FP64}, {"s8", DTYPE_INT8},    {"i8", DTYPE_INT8},   {"s32", DTYPE_INT32},
    {"i32", DTYPE_INT32},
};

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
    for (size_t i = 0; i < ARRAY_COUNT(aliases); i++) {
        if (strcasecmp(aliases[i].name, name) == 0) {
            *out = aliases[i].type;
            return 0;
        }
    }
    return -1;
}

enum dtype dtype_default_out(enum dtype in)
{
    return dtypes[in].default_out;
}

static const char *const layouts[LAYOUT_COUNT] = {"tn", "nn", "nt", "tt"};

static const char *const scale_layouts[SCALES_LAYOUTS] = {"rows", "columns", "tiled"};

static const struct {
    const char *name;
    bool bias;
} epilogues[EPILOGUE_COUNT] = {
    [EPILOGUE_NONE] = {"none", false},          [EPILOGUE_DUAL_SILU] = {"dual-silu", false},
    [EPILOGUE_BIAS] = {"bias", true},           [EPILOGUE_RELU] = {"relu", false},
    [EPILOGUE_GELU] = {"gelu", false},          [EPILOGUE_SILU] = {"silu", false},
    [EPILOGUE_BIAS_RELU] = {"bias-relu", true}, [EPILOGUE_BIAS_GELU] = {"bias-gelu", true},
    [EPILOGUE_BIAS_SILU] = {"bias-silu", true},
};

static const struct {
    const char *name, *words;
} regimes[REGIMES] = {
    [REGIME_COLD] = {"cold", "with cold caches"},
    [REGIME_STREAM] = {"stream", "in a stream"},
    [REGIME_ISOLATED] = {"isolated", "alone"},
    [REGIME_DIRTY] = {"dirty", "with a dirty cache"},
    [REGIME_WARM] = {"warm", "on warm operands"},
    [REGIME_ACTIVATIONS] = {"activations", "on warm activations"},
};

const char *regime_name(enum regime regime)
{
    return regimes[regime].name;
}

const char *regime_words(enum regime regime)
{
    return regimes[regime].words;
}

int regime_parse(enum regime *out, const char *name)
{
    for (int i = 0; i < REGIMES; i++) {
        if (strcasecmp(regimes[i].name, name) == 0) {
            *out = (enum regime)i;
            return 0;
        }
    }
    return -1;
}

enum regime regime_usual(const char *device_kind)
{
    return strcmp(device_kind, "cuda") == 0 ? REGIME_STREAM : REGIME_COLD;
}

const char *layout_name(enum layout layout)
{
    return layouts[layout];
}

static const char *scale_layout_name(enum scale_layout layout)
{
    return scale_layouts[layout];
}

const char *epilogue_name(enum epilogue epilogue)
{
    return epilogues[epilogue].name;
}

int epilogue_parse(enum epilogue *out, const char *name)
{
    for (int i = 0; i < EPILOGUE_COUNT; i++) {
        if (strcasecmp(epilogues[i].name, name) == 0) {
            *out = (enum epilogue)i;
            return 0;
        }
    }
    return -1;
}

bool epilogue_has_bias(enum epilogue epilogue)
{
    return epilogues[epilogue].bias;
}

static bool same_scales(const struct block_scales *a, const struct block_scales *b)
{
    return a->vector == b->vector &&
           (a->vector == 0 || (a->rows_a == b->rows_a && a->rows_b == b->rows_b &&
                               a->type == b->type && a->layout == b->layout));
}

static bool same_groups(const struct groups *a, const struct groups *b)
{
    return a->kind == b->kind && a->count == b->count && a->mean == b->mean &&
           a->spread == b->spread;
}

struct problem problem_in(const struct problem *problem, enum regime regime)
{
    struct problem other = *problem;
    other.regime = regime;
    return other;
}

bool problem_equal(const struct problem *a, const struct problem *b)
{
    if (a->number_count != b->number_count || a->regime != b->regime)
        return false;
    for (int32_t i = 0; i < a->number_count; i++) {
        if (a->numbers[i].value != b->numbers[i].value ||
            strcmp(a->numbers[i].name, b->numbers[i].name) != 0)
            return false;
    }
    return a->m == b->m && a->n == b->n && a->k == b->k && a->in == b->in && a->out == b->out &&
           a->layout == b->layout && a->batch == b->batch && a->epilogue == b->epilogue &&
           a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc && a->alpha == b->alpha &&
           a->beta == b->beta && same_scales(&a->scales, &b->scales) &&
           same_groups(&a->groups, &b->groups);
}

bool problem_is_plain(const struct problem *p)
{
    return p->number_count == 0 && p->in < DTYPE_INT8 && p->out < DTYPE_INT8 &&
           p->epilogue <= EPILOGUE_DUAL_SILU && !p->lda && !p->ldb && !p->ldc && p->alpha == 0 &&
           p->beta == 0 && p->scales.vector == 0 && p->groups.kind == GROUPS_NONE;
}

int problem_weights(const struct problem *p)
{
    return p->epilogue == EPILOGUE_DUAL_SILU ? 2 : 1;
}

struct problem_pitches problem_pitches(const struct problem *p)
{
    const bool a_along_m = p->layout == LAYOUT_NT || p->layout == LAYOUT_TT;
    const bool b_along_n = p->layout == LAYOUT_NN || p->layout == LAYOUT_NT;
    return (struct problem_pitches){.a = p->lda      ? p->lda
                                         : a_along_m ? p->m
                                                     : p->k,
                                    .b = p->ldb      ? p->ldb
                                         : b_along_n ? p->n
                                                     : p->k,
                                    .c = p->ldc ? p->ldc : p->n};
}

// ---- groups ----

// The weight of a group's share. It is computed in whole numbers, so that it is the same
// on every machine.
static int64_t group_weight(const struct groups *groups, int32_t group)
{
    enum { ONE = 1 << 16, PERCENT = ONE / 100 };
    if (groups->spread == SPREAD_ZIPF)
        return ONE / (group + 1);
    uint64_t x = ((uint64_t)group + 1) * 0x9e3779b97f4a7c15u; // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    const int64_t width = 2 * (int64_t)groups->spread * PERCENT;
    return ONE - width / 2 + (int64_t)((x >> 43) * (uint64_t)width >> 21);
}

// Shares out m rows among the groups: each group gets one where m suffices, and the rest
// goes by weight.
static void share_rows(int32_t *rows, const struct groups *groups, int64_t m, int64_t sum)
{
    const int64_t each = m >= groups->count ? 1 : 0, rest = m - each * groups->count;
    int64_t before = 0, weights = 0;
    for (int32_t g = 0; g < groups->count; g++) {
        weights += group_weight(groups, g);
        const int64_t until = rest * weights / sum; // at most 2^31 x 2^29
        rows[g] = (int32_t)(each + until - before);
        before = until;
    }
}

void problem_group_rows(int32_t *rows, const struct problem *p)
{
    const struct groups *groups = &p->groups;
    int64_t sum = 0;
    for (int32_t g = 0; g < groups->count; g++)
        sum += group_weight(groups, g);
    if (groups->kind == GROUPS_CONTIGUOUS) {
        share_rows(rows, groups, p->m, sum);
        return;
    }
    for (int32_t g = 0; g < groups->count; g++) {
        const int64_t share = group_weight(groups, g) * groups->count;
        const int64_t wanted = (groups->mean * share + sum / 2) / sum; // at most 2^31 x 2^30
        rows[g] = (int32_t)(wanted < 1 ? 1 : wanted > p->m ? p->m : wanted);
    }
}

int64_t problem_used_rows(const struct problem *p)
{
    int32_t rows[GROUPS_MOST];
    int64_t sum = 0;
    if (p->groups.kind == GROUPS_NONE)
        return p->m * p->batch;
    problem_group_rows(rows, p);
    for (int32_t g = 0; g < p->groups.count; g++)
        sum += rows[g];
    return sum;
}

int64_t problem_stored_rows(const struct problem *p)
{
    int32_t rows[GROUPS_MOST];
    int64_t sum = 0;
    if (p->groups.kind == GROUPS_NONE)
        return p->m * p->batch;
    if (p->groups.kind == GROUPS_MASKED)
        return p->m * p->groups.count;
    problem_group_rows(rows, p);
    for (int32_t g = 0; g < p->groups.count; g++)
        sum += (rows[g] + (int64_t)GROUP_ALIGN - 1) / GROUP_ALIGN * GROUP_ALIGN;
    return sum;
}

// ---- work and bytes ----

double problem_flops(const struct problem *p)
{
    if (p->number_count)
        return 0;
    return 2.0 * (double)problem_used_rows(p) * (double)p->n * (double)p->k * problem_weights(p);
}

double problem_bytes(const struct problem *p)
{
    const double n = (double)p->n, k = (double)p->k, rows = (double)problem_used_rows(p);
    const struct block_scales *s = &p->scales;
    if (p->number_count)
        return 0;
    const double matrices = p->groups.kind ? p->groups.count : p->batch;
    const double columns = matrices * problem_weights(p) * n, outputs = rows * n;
    double bytes = (rows + columns) * k * dtype_bytes(p->in) + outputs * dtype_bytes(p->out);
    if (s->vector)
        bytes +=
            ceil(k / s->vector) * (rows / s->rows_a + columns / s->rows_b) * dtype_bytes(s->type);
    if (p->beta != 0)
        bytes += outputs * dtype_bytes(p->out);
    if (epilogue_has_bias(p->epilogue))
        bytes += n * dtype_bytes(p->out);
    return bytes;
}

// ---- its text, written ----

struct problem_writer {
    char *out;
    size_t used;
};

static void put(struct problem_writer *w, const char *format, ...) PRINTF_LIKE(2, 3);

static void put(struct problem_writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    w->used += (size_t)vsnprintf(w->out + w->used, PROBLEM_TEXT - w->used, format, list);
    va_end(list);
}

// Writes the factor with the fewest digits that read back to the same number.
static void put_factor(struct problem_writer *w, const char *name, float value)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, (double)value);
        if ((float)strtod(text, NULL) == value)
            break;
    }
    if (value != 0)
        put(w, ":%s=%s", name, text);
}

static void put_scales(struct problem_writer *w, const struct block_scales *s)
{
    put(w, ":%s/", dtype_name(s->type));
    if (s->rows_a == 1 && s->rows_b == 1)
        put(w, "%d", s->vector);
    else
        put(w, "%dx%d/%dx%d", s->rows_a, s->vector, s->rows_b, s->vector);
    if (s->layout)
        put(w, "/%s", scale_layout_name(s->layout));
}

static void put_groups(struct problem_writer *w, const struct groups *groups)
{
    if (groups->kind == GROUPS_MASKED)
        put(w, ":masked%d/%d", groups->count, groups->mean);
    else
        put(w, ":contiguous%d", groups->count);
    if (groups->spread == SPREAD_ZIPF)
        put(w, "/zipf");
    else if (groups->spread)
        put(w, "/%d", groups->spread);
}

static void put_options(struct problem_writer *w, const struct problem *p)
{
    const int64_t pitches[] = {p->lda, p->ldb, p->ldc};
    put(w, ":%s", layout_name(p->layout));
    if (p->batch > 1)
        put(w, ":b%d", p->batch);
    for (int i = 0; i < 3; i++) {
        if (pitches[i])
            put(w, ":ld%c=%" PRId64, "abc"[i], pitches[i]);
    }
    put_factor(w, "alpha", p->alpha);
    put_factor(w, "beta", p->beta);
    if (p->epilogue)
        put(w, ":%s", epilogue_name(p->epilogue));
    if (p->scales.vector)
        put_scales(w, &p->scales);
    if (p->groups.kind)
        put_groups(w, &p->groups);
}

void problem_format(char out[PROBLEM_TEXT], const struct problem *p)
{
    struct problem_writer w = {out, 0};
    for (int32_t i = 0; i < p->number_count; i++)
        put(&w, "%s%s=%" PRId64, i ? "," : "", p->numbers[i].name, p->numbers[i].value);
    if (!p->number_count)
        put(&w, "%" PRId64 "x%" PRId64 "x%" PRId64, p->m, p->n, p->k);
    put(&w, ":%s-%s", dtype_name(p->in), dtype_name(p->out));
    if (!p->number_count)
        put_options(&w, p);
    if (p->regime)
        put(&w, ":%s", regime_name(p->regime));
}

void problem_tell(char out[PROBLEM_TEXT], const struct problem *p)
{
    problem_format(out, p);
    const size_t used = strlen(out);
    if (p->regime == REGIME_COLD)
        snprintf(out + used, PROBLEM_TEXT - used, ":%s", regime_name(REGIME_COLD));
}

void problem_say(char out[PROBLEM_TEXT], const struct problem *p)
{
    const struct problem work = problem_in(p, REGIME_COLD);
    problem_format(out, &work);
    const size_t used = strlen(out);
    if (p->regime != REGIME_COLD)
        snprintf(out + used, PROBLEM_TEXT - used, " %s", regime_words(p->regime));
}

// ---- its text, read ----
//
// Text that names no valid problem is refused.

// The words that stand for a type together with its block scales.
static const struct {
    const char *name;
    struct block_scales scales;
} scaled_types[] = {
    {"nvfp4", {.vector = 16, .rows_a = 1, .rows_b = 1, .type = DTYPE_E4M3}},
    {"mxfp4", {.vector = 32, .rows_a = 1, .rows_b = 1, .type = DTYPE_E8M0}},
    {"mxfp8", {.vector = 32, .rows_a = 1, .rows_b = 1, .type = DTYPE_E8M0}},
};

// Reads a number of digits alone, from 1 to 2^31-1, and sets *end behind it. Returns -1 where there
// is no such number.
static int read_count(int64_t *out, const char **end, const char *text)
{
    char digits[16];
    const size_t length = strspn(text, "0123456789");
    int64_t value;
    if (length == 0 || length >= sizeof(digits))
        return -1;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (parse_int64(&value, digits) || value < 1 || value > INT32_MAX)
        return -1;
    *out = value;
    *end = text + length;
    return 0;
}

static int parse_shape(struct problem *out, const char *text, struct error *err)
{
    int64_t *dims[3] = {&out->m, &out->n, &out->k};
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        const size_t length = strspn(at, "0123456789");
        if (length == 0 || length > 15 || at[length] != (i < 2 ? 'x' : '\0'))
            return error_set(err, "%.80s: a shape is MxNxK, three whole numbers", text);
        if (read_count(dims[i], &at, at))
            return error_set(err, "%.80s: each dimension must be 1 to 2147483647", text);
        at += i < 2;
    }
    return 0;
}

// Adds a named number, so that the numbers stay in the order of their names.
static int add_number(struct problem *p, const char *name, size_t length, int64_t value)
{
    struct problem_number number = {.value = value};
    int32_t at = 0;
    memcpy(number.name, name, length);
    while (at < p->number_count && strcmp(p->numbers[at].name, number.name) < 0)
        at++;
    if (p->number_count == PROBLEM_NUMBERS ||
        (at < p->number_count && strcmp(p->numbers[at].name, number.name) == 0))
        return -1;
    memmove(&p->numbers[at + 1], &p->numbers[at],
            (size_t)(p->number_count - at) * sizeof(p->numbers[0]));
    p->numbers[at] = number;
    p->number_count++;
    return 0;
}

static int parse_numbers(struct problem *out, const char *text, struct error *err)
{
    const char *at = text;
    do {
        const size_t length = strcspn(at, "=");
        int64_t value;
        const char *end = at;
        bool named = length > 0 && length < PROBLEM_NUMBER_NAME && isalpha((unsigned char)at[0]);
        for (size_t i = 0; i < length && named; i++)
            named = isalnum((unsigned char)at[i]) || at[i] == '_';
        if (!named || at[length] != '=' || read_count(&value, &end, at + length + 1) ||
            (*end && *end != ','))
            return error_set(err,
                             "%.80s: named integers are NAME=N,NAME=N: names of at most %d letters "
                             "and digits, numbers from 1 to 2147483647",
                             text, PROBLEM_NUMBER_NAME - 1);
        if (add_number(out, at, length, value))
            return error_set(err, "%.80s: at most %d named integers, each of its own name", text,
                             PROBLEM_NUMBERS);
        at = *end ? end + 1 : NULL;
    } while (at);
    out->batch = 1;
    return 0;
}

static int parse_types(struct problem *out, char *text, struct error *err)
{
    char *dash = strchr(text, '-');
    if (dash)
        *dash = '\0';
    if (dtype_parse(&out->in, text))
        return error_set(err, "%.40s: unknown element type (fp32, tf32, bf16, fp16, fp8, int8 ...)",
                         text);
    out->out = dtype_default_out(out->in);
    if (dash && dtype_parse(&out->out, dash + 1))
        return error_set(err, "%.40s: unknown element type (fp32, tf32, bf16, fp16, ...)",
                         dash + 1);
    for (size_t i = 0; i < ARRAY_COUNT(scaled_types); i++) {
        if (strcasecmp(scaled_types[i].name, text) == 0)
            out->scales = scaled_types[i].scales;
    }
    return 0;
}

// ---- options ----

// Reads the option if it names a regime; returns 1 if it does not. The other parse_ functions below
// return 1 likewise for an option of another kind.
static int parse_regime(struct problem *out, const char *text)
{
    if (regime_parse(&out->regime, text))
        return 1;
    out->regime_named = true;
    return 0;
}

static int parse_word(struct problem *out, const char *text)
{
    int64_t batch;
    for (int i = 0; i < LAYOUT_COUNT; i++) {
        if (strcasecmp(layout_name((enum layout)i), text) == 0) {
            out->layout = (enum layout)i;
            return 0;
        }
    }
    if (text[0] == 'b' && parse_int64(&batch, text + 1) == 0 && batch >= 1 && batch <= 65535) {
        out->batch = (int32_t)batch;
        return 0;
    }
    return epilogue_parse(&out->epilogue, text) ? parse_regime(out, text) : 0;
}

static int parse_assignment(struct problem *out, const char *text, struct error *err)
{
    const struct {
        const char *name;
        int64_t *pitch;
        float *factor;
    } names[] = {{"lda=", &out->lda, NULL},
                 {"ldb=", &out->ldb, NULL},
                 {"ldc=", &out->ldc, NULL},
                 {"alpha=", NULL, &out->alpha},
                 {"beta=", NULL, &out->beta}};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        const char *value = text + strlen(names[i].name), *end;
        double number;
        if (strncmp(text, names[i].name, strlen(names[i].name)) != 0)
            continue;
        if (names[i].pitch && (read_count(names[i].pitch, &end, value) || *end))
            return error_set(err, "%.40s: elements from one row to the next, 1 to 2147483647",
                             text);
        if (names[i].pitch)
            return 0;
        if (parse_double(&number, value) || !isfinite((float)number) ||
            (number != 0 && (float)number == 0))
            return error_set(err, "%.40s: a number that FP32 can hold", text);
        *names[i].factor = (float)number;
        if (names[i].factor == &out->alpha && number == 0)
            return error_set(err, "%.40s: alpha 0 multiplies nothing", text);
        return 0;
    }
    return 1;
}

// Reads a block's size, "V" or "RxV".
static int parse_block(int32_t *rows, int32_t *vector, const char *text)
{
    const char *end;
    int64_t first, second;
    if (read_count(&first, &end, text) || first > 4096)
        return -1;
    if (*end == '\0') {
        *rows = 1;
        *vector = (int32_t)first;
        return 0;
    }
    if (*end != 'x' || read_count(&second, &end, end + 1) || *end || second > 4096)
        return -1;
    *rows = (int32_t)first;
    *vector = (int32_t)second;
    return 0;
}

static int parse_scales(struct problem *out, const char *text, struct error *err)
{
    char copy[64], *rest = copy;
    struct block_scales scales = {0};
    int32_t vector_b;
    if (!strchr(text, '/') || !text_copy(copy, sizeof(copy), text) ||
        dtype_parse(&scales.type, strsep(&rest, "/")))
        return 1;
    const char *a = strsep(&rest, "/"), *word = strsep(&rest, "/");
    bool good = parse_block(&scales.rows_a, &scales.vector, a) == 0;
    scales.rows_b = scales.rows_a;
    if (good && word && isdigit((unsigned char)word[0])) {
        good = parse_block(&scales.rows_b, &vector_b, word) == 0 && vector_b == scales.vector;
        word = strsep(&rest, "/");
    }
    bool known = !word;
    for (int i = 0; i < SCALES_LAYOUTS && word && !known; i++) {
        known = strcasecmp(scale_layout_name((enum scale_layout)i), word) == 0;
        scales.layout = (enum scale_layout)i;
    }
    if (!known || !good || rest)
        return error_set(err,
                         "%.40s: block scales are TYPE/A[/B][/LAYOUT], such as e4m3/16, "
                         "fp32/1x128/128x128/columns; layouts are rows, columns, tiled",
                         text);
    if (!word)
        scales.layout = SCALES_ROWS;
    out->scales = scales;
    return 0;
}

static int parse_groups(struct problem *out, const char *text, struct error *err)
{
    static const char contiguous[] = "contiguous", masked[] = "masked";
    struct groups groups = {.kind = GROUPS_CONTIGUOUS};
    int64_t count, mean = 0;
    const char *at = text + strlen(contiguous);
    if (strncasecmp(text, masked, strlen(masked)) == 0) {
        groups.kind = GROUPS_MASKED;
        at = text + strlen(masked);
    } else if (strncasecmp(text, contiguous, strlen(contiguous)) != 0) {
        return 1;
    }
    bool good = read_count(&count, &at, at) == 0 && count <= GROUPS_MOST;
    if (good && groups.kind == GROUPS_MASKED)
        good = *at == '/' && read_count(&mean, &at, at + 1) == 0;
    if (good && *at == '/' && strcasecmp(at + 1, "zipf") == 0) {
        groups.spread = SPREAD_ZIPF;
    } else if (good && *at) {
        int64_t spread = 0;
        good = *at == '/' && read_count(&spread, &at, at + 1) == 0 && *at == '\0' && spread <= 100;
        groups.spread = (int32_t)spread;
    }
    if (!good)
        return error_set(err,
                         "%.40s: groups are contiguousG[/SPREAD] or maskedG/MEAN[/SPREAD], at most "
                         "%d; SPREAD is 1 to 100 percent, or zipf",
                         text, GROUPS_MOST);
    groups.count = (int32_t)count;
    groups.mean = (int32_t)mean;
    out->groups = groups;
    return 0;
}

static int parse_option(struct problem *out, const char *text, struct error *err)
{
    int status = parse_word(out, text);
    if (status > 0)
        status = parse_assignment(out, text, err);
    if (status > 0)
        status = parse_scales(out, text, err);
    if (status > 0)
        status = parse_groups(out, text, err);
    if (status > 0)
        return error_set(err,
                         "%.40s: not a layout (tn, nn, nt, tt), a batch (b8), a leading dimension "
                         "(lda=80), alpha=, beta=, an epilogue (bias-gelu), block scales "
                         "(e4m3/16), groups (contiguous8) or a regime (stream)",
                         text);
    return status;
}

// ---- what belongs together ----

static int drop_dense_pitches(struct problem *p, struct error *err)
{
    const struct problem dense = {.m = p->m, .n = p->n, .k = p->k, .layout = p->layout};
    const struct problem_pitches least = problem_pitches(&dense);
    int64_t *const pitches[] = {&p->lda, &p->ldb, &p->ldc};
    const int64_t rows[] = {least.a, least.b, least.c};
    for (int i = 0; i < 3; i++) {
        if (*pitches[i] && *pitches[i] < rows[i])
            return error_set(err, "ld%c=%" PRId64 ": a row of %c has %" PRId64 " elements",
                             "abc"[i], *pitches[i], "ABC"[i], rows[i]);
        if (*pitches[i] == rows[i])
            *pitches[i] = 0;
    }
    return 0;
}

static const char *refuse_integers(const struct problem *p)
{
    if (p->in == DTYPE_INT32 || (p->in == DTYPE_INT8) != (p->out == DTYPE_INT32) ||
        p->out == DTYPE_INT8)
        return "whole numbers are int8 into int32";
    if (p->in == DTYPE_INT8 && (p->epilogue || p->alpha != 0 || p->beta != 0))
        return "whole numbers have no epilogue, no alpha and no beta";
    return p->in == DTYPE_INT8 && p->scales.vector ? "whole numbers have no block scales" : NULL;
}

static const char *refuse_scales(const struct problem *p)
{
    const struct block_scales *s = &p->scales;
    const bool single = s->rows_a == 1 && s->rows_b == 1;
    if (s->type != DTYPE_E8M0 && s->type != DTYPE_E4M3 && s->type != DTYPE_FP32)
        return "block scales are e8m0, e4m3 or fp32";
    if (p->layout != LAYOUT_TN || p->lda || p->ldb)
        return "block scales go along K: layout tn, without leading dimensions of A and B";
    if (s->layout == SCALES_TILED && (!single || s->type == DTYPE_FP32))
        return "tiled scales are of one byte and for blocks of one row";
    return NULL;
}

static const char *refuse_groups(const struct problem *p)
{
    if (p->batch > 1)
        return "groups have no batch beside them";
    if (p->layout != LAYOUT_TN || p->lda || p->ldb || p->ldc)
        return "groups are of layout tn, without leading dimensions";
    if (p->alpha != 0 || p->beta != 0 || p->epilogue > EPILOGUE_DUAL_SILU)
        return "groups have no alpha, beta, bias or activation";
    if (p->groups.kind == GROUPS_MASKED && p->groups.mean > p->m)
        return "a masked group has at most m rows";
    return NULL;
}

static int refuse(const struct problem *p, const char *text, struct error *err)
{
    const char *why = refuse_integers(p);
    if (!why && p->scales.vector)
        why = refuse_scales(p);
    if (!why && p->groups.kind)
        why = refuse_groups(p);
    if (!why && p->epilogue == EPILOGUE_DUAL_SILU && (p->alpha != 0 || p->beta != 0))
        why = "dual-silu is of products as they are: no alpha, no beta";
    return why ? error_set(err, "%.120s: %s", text, why) : 0;
}

int problem_parse(struct problem *out, const char *text, struct error *err)
{
    struct problem problem = {.in = DTYPE_FP32, .out = DTYPE_FP32, .batch = 1};
    char copy[PROBLEM_TEXT];
    if (!text_copy(copy, sizeof(copy), text))
        return error_set(err, "%.40s...: too long for a problem", text);
    char *rest = copy;
    const char *first = strsep(&rest, ":");
    const bool named = strchr(first, '=') != NULL;
    if (named ? parse_numbers(&problem, first, err) : parse_shape(&problem, first, err))
        return -1;
    if (rest && parse_types(&problem, strsep(&rest, ":"), err))
        return -1;
    if (named && ((rest && parse_regime(&problem, rest)) || problem.scales.vector))
        return error_set(err,
                         "%.80s: named integers have element types and a regime beside them, no "
                         "other options",
                         text);
    while (rest && !named) {
        if (parse_option(&problem, strsep(&rest, ":"), err))
            return -1;
    }
    if (!named && (drop_dense_pitches(&problem, err) || refuse(&problem, text, err)))
        return -1;
    if (problem.alpha == 1)
        problem.alpha = 0;
    *out = problem;
    return 0;
}

int problem_parse_named(struct problem *out, const char *text, struct error *err)
{
    struct problem numbers = {0};
    char shape[PROBLEM_TEXT], gemm[PROBLEM_TEXT + 40];
    const size_t length = strcspn(text, ":");
    if (!memchr(text, '=', length) || length >= sizeof(shape))
        return problem_parse(out, text, err);
    memcpy(shape, text, length);
    shape[length] = '\0';
    // Numbers keep the order of their names.
    if (parse_numbers(&numbers, shape, err))
        return -1;
    const struct problem_number *of = numbers.numbers;
    if (numbers.number_count != 3 || strcmp(of[0].name, "k") || strcmp(of[1].name, "m") ||
        strcmp(of[2].name, "n"))
        return problem_parse(out, text, err);
    snprintf(gemm, sizeof(gemm), "%lldx%lldx%lld%.*s", (long long)of[1].value,
             (long long)of[2].value, (long long)of[0].value, PROBLEM_TEXT, text + length);
    return problem_parse(out, gemm, err);
}

bool problem_is_named(const struct problem *problem, const char *text)
{
    struct problem named;
    struct error ignored;
    if (problem_parse_named(&named, text, &ignored))
        return false;
    if (!named.regime_named)
        named = problem_in(&named, problem->regime);
    return problem_equal(&named, problem);
}
