// SPDX-License-Identifier: Apache-2.0
//
// Lists of sides read, and a CSV of all combinations written and parsed.
#include "ci/commands/problem_rows.h"

#include "model/buffer.h"
#include "model/problem.h"

#include <math.h>
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

// Empty where a side is not said.
static void put_sides(struct csv_line *line, const int32_t *sides, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_real(line, sides[i] ? (double)sides[i] : NAN);
}

static void put_row(struct buffer *text, const struct problem *p, const struct sides *tile,
                    const struct sides *cluster, const struct traits *t)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, p);
    struct csv_line line = {.out = text};
    const int64_t sizes[] = {p->m, p->n, p->k};
    const int32_t traits[] = {tile->m, tile->n, tile->k, cluster->m, cluster->n, t->stages};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++)
        csv_int(&line, sizes[i]);
    csv_text(&line, dtype_name(p->in));
    csv_text(&line, dtype_name(p->out));
    put_sides(&line, traits, ARRAY_COUNT(traits));
    csv_int(&line, p->batch);
    csv_text(&line, layout_name(p->layout));
    csv_text(&line, epilogue_name(p->epilogue));
    csv_text(&line, problem);
    // A text has no word for cold, so what named it says it here.
    csv_text(&line, p->regime_named ? regime_name(p->regime) : "");
    csv_end(&line, "\n");
}

int problem_rows(struct csv *out, const char *const *problems, size_t count,
                 const struct sides_list *tiles, const struct sides_list *clusters,
                 const struct traits *traits, struct error *err)
{
    static const struct sides unsaid;
    struct buffer text = {0};
    buffer_puts(&text,
                "m,n,k,in_dtype,out_dtype,cta_m,cta_n,cta_k,cluster_m,cluster_n,stages,batch,"
                "layout,epilogue,problem,regime\n");
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

// What the types and the sweep write, in the words of seed 0's tables.
static const char *const sweep_columns[] = {"mma_m", "mma_n",     "cta_m",    "cta_n",
                                            "cta_k", "cluster_m", "cluster_n"};
static const char *const type_columns[] = {"in_dtype", "acc_dtype", "out_dtype", "sf_dtype",
                                           "sf_vec_size"};
static const char *const major_columns[] = {"a_major", "b_major", "c_major"};

struct problem_list {
    const struct csv *csv;
    struct problem type; // m, n and k are no matter
    bool typed, lies;    // it has a type, and its rows say how operands lie
};

static bool is_one_of(const char *const *columns, size_t count, const char *column)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(column, columns[i]) == 0)
            return true;
    }
    return false;
}

static bool is_written(const struct problem_list *l, const char *column)
{
    return is_one_of(sweep_columns, ARRAY_COUNT(sweep_columns), column) ||
           (l->typed && is_one_of(type_columns, ARRAY_COUNT(type_columns), column));
}

static bool says_how_operands_lie(const struct csv *csv)
{
    return csv_column(csv, "layout") >= 0 || csv_column(csv, "a_major") >= 0 ||
           csv_column(csv, "b_major") >= 0;
}

// A type's name as the columns have it, which know no more than vectors of scales along K.
static int read_type(struct problem_list *l, const char *type, struct error *err)
{
    struct error why;
    char *text = xprintf("64x64x64:%s", type);
    const int bad = problem_parse(&l->type, text, &why);
    free(text);
    if (bad)
        return error_set(err, "--dtype %.40s: no element type (bf16, fp8, nvfp4, fp8-bf16 ...)",
                         type);
    struct problem plain = {.m = 64, .n = 64, .k = 64, .batch = 1};
    char all[PROBLEM_TEXT], known[PROBLEM_TEXT];
    plain.in = l->type.in;
    plain.out = l->type.out;
    plain.layout = l->lies ? LAYOUT_TN : l->type.layout;
    plain.scales = l->type.scales;
    plain.scales.rows_a = plain.scales.rows_b = plain.scales.vector > 0;
    problem_format(all, &l->type);
    problem_format(known, &plain);
    return strcmp(all, known) ? error_set(err,
                                          "--dtype %.60s says more than a type and a layout; "
                                          "put the rest into the list's own columns, or whole "
                                          "problems into its column problem",
                                          type)
                              : 0;
}

static void put_type(struct csv_line *line, const struct problem_list *l)
{
    const struct problem *p = &l->type;
    csv_text(line, dtype_name(p->in));
    csv_text(line, dtype_name(DTYPE_FP32));
    csv_text(line, dtype_name(p->out));
    csv_text(line, p->scales.vector ? dtype_name(p->scales.type) : NULL);
    put_sides(line, &(const int32_t){p->scales.vector}, 1);
    if (l->lies)
        return;
    csv_text(line, p->layout == LAYOUT_NT || p->layout == LAYOUT_TT ? "m" : "k");
    csv_text(line, p->layout == LAYOUT_NN || p->layout == LAYOUT_NT ? "n" : "k");
    csv_text(line, "n");
}

static void put_names(struct csv_line *line, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        csv_text(line, names[i]);
}

// The list's own fields of a row, or of the header.
static void put_own(struct csv_line *line, const struct problem_list *l, const char *const *fields)
{
    for (size_t c = 0; c < l->csv->columns; c++) {
        if (!is_written(l, l->csv->header[c]))
            csv_text(line, csv_plain(fields[c]));
    }
}

static void put_listed(struct csv_line *line, const struct problem_list *l, size_t row,
                       const struct sides *tile, const struct sides *cluster)
{
    put_own(line, l, (const char *const *)l->csv->rows[row].fields);
    if (l->typed)
        put_type(line, l);
    // Two blocks of a cluster multiply together, as the kernels of seed 0 do.
    const int32_t sides[] = {tile->m * (cluster->m % 2 == 0 && cluster->m ? 2 : 1),
                             tile->n,
                             tile->m,
                             tile->n,
                             tile->k,
                             cluster->m,
                             cluster->n};
    put_sides(line, sides, ARRAY_COUNT(sides));
    csv_end(line, "\n");
}

static void put_list(struct buffer *out, const struct problem_list *l,
                     const struct sides_list *tiles, const struct sides_list *clusters)
{
    static const struct sides unsaid;
    struct csv_line line = {.out = out};
    put_own(&line, l, (const char *const *)l->csv->header);
    if (l->typed)
        put_names(&line, type_columns, ARRAY_COUNT(type_columns));
    if (l->typed && !l->lies)
        put_names(&line, major_columns, ARRAY_COUNT(major_columns));
    put_names(&line, sweep_columns, ARRAY_COUNT(sweep_columns));
    csv_end(&line, "\n");
    for (size_t i = 0; i < l->csv->count; i++) {
        for (size_t t = 0; t < (tiles->count ? tiles->count : 1); t++) {
            for (size_t c = 0; c < (clusters->count ? clusters->count : 1); c++)
                put_listed(&line, l, i, tiles->count ? &tiles->items[t] : &unsaid,
                           clusters->count ? &clusters->items[c] : &unsaid);
        }
    }
}

int problem_list_rows(struct csv *out, const struct csv *list, const char *type,
                      const struct sides_list *tiles, const struct sides_list *clusters,
                      struct error *err)
{
    struct buffer text = {0};
    struct problem_list l = {.csv = list, .typed = type != NULL};
    l.lies = says_how_operands_lie(list);
    if (type && read_type(&l, type, err))
        return -1;
    put_list(&text, &l, tiles, clusters);
    int result = csv_parse(out, text.bytes, text.length, "the list", err);
    buffer_free(&text);
    return result;
}
