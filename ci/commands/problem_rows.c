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

// ---- a list in a CSV ----

// Columns that the types and the sweep write.
static bool is_written(const char *column, bool typed)
{
    static const char *const sweep[] = {"cta_m", "cta_n", "cta_k", "cluster_m", "cluster_n"};
    static const char *const types[] = {"in_dtype", "out_dtype", "sf_dtype", "sf_vec_size"};
    for (size_t i = 0; i < ARRAY_COUNT(sweep); i++) {
        if (strcmp(column, sweep[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < ARRAY_COUNT(types) && typed; i++) {
        if (strcmp(column, types[i]) == 0)
            return true;
    }
    return false;
}

// in_dtype, out_dtype, sf_dtype and sf_vec_size of a type's name, as problems have them.
static int type_columns(struct buffer *out, const char *type, struct error *err)
{
    struct problem p;
    char *text = xprintf("64x64x64:%s", type);
    struct error why;
    const int bad = problem_parse(&p, text, &why);
    free(text);
    if (bad)
        return error_set(err, "--dtype %.40s: no element type (bf16, fp8, nvfp4, fp8-bf16 ...)",
                         type);
    buffer_printf(out, ",%s,%s,", dtype_name(p.in), dtype_name(p.out));
    if (p.scales.vector)
        buffer_printf(out, "%s,%d", dtype_name(p.scales.type), p.scales.vector);
    else
        buffer_puts(out, ",");
    return 0;
}

static void put_listed(struct buffer *out, const struct csv *list, size_t row, bool typed,
                       const char *types, const struct sides *tile, const struct sides *cluster)
{
    const char *separator = "";
    for (size_t c = 0; c < list->columns; c++) {
        if (is_written(list->header[c], typed))
            continue;
        buffer_puts(out, separator);
        buffer_csv(out, csv_plain(list->rows[row].fields[c]));
        separator = ",";
    }
    buffer_puts(out, types);
    const int32_t sides[] = {tile->m, tile->n, tile->k, cluster->m, cluster->n};
    for (size_t i = 0; i < ARRAY_COUNT(sides); i++)
        sides[i] ? buffer_printf(out, ",%d", sides[i]) : buffer_puts(out, ",");
    buffer_puts(out, "\n");
}

int problem_list_rows(struct csv *out, const struct csv *list, const char *type,
                      const struct sides_list *tiles, const struct sides_list *clusters,
                      struct error *err)
{
    static const struct sides unsaid;
    struct buffer text = {0}, types = {0};
    const char *separator = "";
    int result = type ? type_columns(&types, type, err) : 0;
    for (size_t c = 0; c < list->columns && result == 0; c++) {
        if (is_written(list->header[c], type != NULL))
            continue;
        buffer_puts(&text, separator);
        buffer_csv(&text, csv_plain(list->header[c]));
        separator = ",";
    }
    if (type)
        buffer_puts(&text, ",in_dtype,out_dtype,sf_dtype,sf_vec_size");
    buffer_puts(&text, ",cta_m,cta_n,cta_k,cluster_m,cluster_n\n");
    for (size_t i = 0; i < list->count && result == 0; i++) {
        for (size_t t = 0; t < (tiles->count ? tiles->count : 1); t++) {
            for (size_t c = 0; c < (clusters->count ? clusters->count : 1); c++)
                put_listed(&text, list, i, type != NULL, type ? types.bytes : "",
                           tiles->count ? &tiles->items[t] : &unsaid,
                           clusters->count ? &clusters->items[c] : &unsaid);
        }
    }
    if (result == 0)
        result = csv_parse(out, text.bytes, text.length, "the list", err);
    buffer_free(&text);
    buffer_free(&types);
    return result;
}
