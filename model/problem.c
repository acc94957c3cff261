// SPDX-License-Identifier: Apache-2.0
//
// What a problem stands for: its names, the shape of its groups, its work and its bytes. How it is
// written is the business of problem_parse.c and problem_format.c, how long it takes the models'.
#include "model/problem.h"

#include <math.h>
#include <string.h>
#include <strings.h>

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

const char *layout_name(enum layout layout)
{
    return layouts[layout];
}

const char *scale_layout_name(enum scale_layout layout)
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

bool problem_equal(const struct problem *a, const struct problem *b)
{
    if (a->number_count != b->number_count)
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

// Whole numbers, so that they are the same on every machine.
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

// Shares out m rows: one to each group, the rest by weight.
static void share_rows(int32_t *rows, const struct groups *groups, int64_t m, int64_t sum)
{
    const int64_t each = m >= groups->count ? 1 : 0, rest = m - each * groups->count;
    int64_t before = 0, weights = 0;
    for (int32_t g = 0; g < groups->count; g++) {
        weights += group_weight(groups, g);
        const int64_t until = rest * weights / sum; // 2^31 x 2^29 at most
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
        const int64_t wanted = (groups->mean * share + sum / 2) / sum; // 2^31 x 2^30 at most
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
