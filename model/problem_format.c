// SPDX-License-Identifier: Apache-2.0
//
// Writes a problem's canonical text; problem_parse.c reads it.
#include "model/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct writer {
    char *out;
    size_t used;
};

static void put(struct writer *w, const char *format, ...) PRINTF_LIKE(2, 3);
static void put(struct writer *w, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    w->used += (size_t)vsnprintf(w->out + w->used, PROBLEM_TEXT - w->used, format, list);
    va_end(list);
}

// The fewest digits that read back to the same number.
static void put_factor(struct writer *w, const char *name, float value)
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

static void put_scales(struct writer *w, const struct block_scales *s)
{
    put(w, ":%s/", dtype_name(s->type));
    if (s->rows_a == 1 && s->rows_b == 1)
        put(w, "%d", s->vector);
    else
        put(w, "%dx%d/%dx%d", s->rows_a, s->vector, s->rows_b, s->vector);
    if (s->layout)
        put(w, "/%s", scale_layout_name(s->layout));
}

static void put_groups(struct writer *w, const struct groups *groups)
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

void problem_format(char out[PROBLEM_TEXT], const struct problem *p)
{
    struct writer w = {out, 0};
    const int64_t pitches[] = {p->lda, p->ldb, p->ldc};
    for (int32_t i = 0; i < p->number_count; i++)
        put(&w, "%s%s=%" PRId64, i ? "," : "", p->numbers[i].name, p->numbers[i].value);
    if (!p->number_count)
        put(&w, "%" PRId64 "x%" PRId64 "x%" PRId64, p->m, p->n, p->k);
    put(&w, ":%s-%s", dtype_name(p->in), dtype_name(p->out));
    if (p->number_count)
        return;
    put(&w, ":%s", layout_name(p->layout));
    if (p->batch > 1)
        put(&w, ":b%d", p->batch);
    for (int i = 0; i < 3; i++) {
        if (pitches[i])
            put(&w, ":ld%c=%" PRId64, "abc"[i], pitches[i]);
    }
    put_factor(&w, "alpha", p->alpha);
    put_factor(&w, "beta", p->beta);
    if (p->epilogue)
        put(&w, ":%s", epilogue_name(p->epilogue));
    if (p->scales.vector)
        put_scales(&w, &p->scales);
    if (p->groups.kind)
        put_groups(&w, &p->groups);
}
