// SPDX-License-Identifier: Apache-2.0
//
// Lists of sides read, and a CSV of all combinations written and parsed.
#include "ci/commands/problem_rows.h"

#include "model/buffer.h"
#include "model/problem.h"

#include <stdlib.h>
#include <string.h>

const struct sides_list sides_usual_tiles = {{{64, 64, 0},
                                              {64, 128, 0},
                                              {64, 192, 0},
                                              {64, 256, 0},
                                              {128, 64, 0},
                                              {128, 128, 0},
                                              {128, 192, 0},
                                              {128, 256, 0}},
                                             8};
const struct sides_list sides_usual_clusters = {{{1, 1, 0}, {2, 1, 0}, {2, 2, 0}}, 3};

static int parse_one(struct sides *out, const char **at, bool depth)
{
    int32_t *const sides[] = {&out->m, &out->n, &out->k};
    int most = depth ? 3 : 2, count = 0;
    for (;;) {
        char *end = NULL;
        long value = strtol(*at, &end, 10);
        if (end == *at || **at == '-' || **at == '+' || **at == ' ' || value < 1 || value > 65536 ||
            count == most)
            return -1;
        *sides[count++] = (int32_t)value;
        *at = end;
        if (*end != 'x')
            return count >= 2 ? 0 : -1;
        (*at)++;
    }
}

int sides_parse(struct sides_list *out, const char *text, bool depth)
{
    const char *at = text;
    *out = (struct sides_list){0};
    for (;;) {
        if (out->count == SIDES_MOST || parse_one(&out->items[out->count++], &at, depth))
            return -1;
        if (*at == '\0')
            return 0;
        if (*at++ != ',')
            return -1;
    }
}

static void put_row(struct buffer *text, const struct problem *p, const struct sides *tile,
                    const struct sides *cluster, const struct traits *t)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, p);
    buffer_printf(text, "%lld,%lld,%lld,%s,%s", (long long)p->m, (long long)p->n, (long long)p->k,
                  dtype_name(p->in), dtype_name(p->out));
    const int32_t traits[] = {tile->m, tile->n, tile->k, cluster->m, cluster->n, t->stages};
    for (size_t i = 0; i < ARRAY_COUNT(traits); i++)
        traits[i] ? buffer_printf(text, ",%d", traits[i]) : buffer_puts(text, ",");
    buffer_printf(text, ",%d,%s,%s,\"%s\"\n", p->batch, layout_name(p->layout),
                  epilogue_name(p->epilogue), problem);
}

int problem_rows(struct csv *out, const char *const *problems, size_t count,
                 const struct sides_list *tiles, const struct sides_list *clusters,
                 const struct traits *traits, struct error *err)
{
    static const struct sides unsaid;
    struct buffer text = {0};
    buffer_puts(&text,
                "m,n,k,in_dtype,out_dtype,cta_m,cta_n,cta_k,cluster_m,cluster_n,stages,batch,"
                "layout,epilogue,problem\n");
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        struct problem p;
        result = problem_parse(&p, problems[i], err);
        for (size_t t = 0; t < (tiles->count ? tiles->count : 1) && result == 0; t++) {
            for (size_t c = 0; c < (clusters->count ? clusters->count : 1); c++)
                put_row(&text, &p, tiles->count ? &tiles->items[t] : &unsaid,
                        clusters->count ? &clusters->items[c] : &unsaid, traits);
        }
    }
    if (result == 0)
        result = csv_parse(out, text.bytes, text.length, "arguments", err);
    buffer_free(&text);
    return result;
}
