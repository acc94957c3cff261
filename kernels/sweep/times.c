// SPDX-License-Identifier: Apache-2.0
//
// Reads the times of a sweep, turns them into cycles at their problem's clock, and weighs them.
#include "times.h"

#include "model/predict/parts/space_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { finalist_rounds = 5 }; // at least (sweep's time_problem)

// The ending of a row's kind: dual GEMMs exist in BF16 and FP8, promoted sums and block scales
// only in FP8.
static const char *suffix_of(const struct sweep_row *row)
{
    const int fp8 = row->traits.in_type == PLUMB_E4M3;
    if (row->dual)
        return fp8 || row->traits.in_type == PLUMB_BF16 ? "-dual" : NULL;
    if (space_says(row->name, "scaled"))
        return fp8 ? "-scaled" : NULL;
    if (space_says(row->name, "promote"))
        return fp8 ? "-promoted" : NULL;
    return "";
}

int sweep_row_parse(struct sweep_row *row, const char *name)
{
    struct traits t;
    *row = (struct sweep_row){0};
    if (snprintf(row->name, sizeof row->name, "%s", name) >= (int)sizeof row->name ||
        !space_traits(&t, name))
        return 0;
    row->traits = (struct plumb_traits){.in_type = (int32_t)t.in, // with the numbers of the ABI
                                        .out_type = (int32_t)t.out,
                                        .tile_m = t.tile_m,
                                        .tile_n = t.tile_n,
                                        .tile_k = t.tile_k,
                                        .stages = t.stages,
                                        .cluster_m = t.cluster_m,
                                        .cluster_n = t.cluster_n,
                                        .blocks_per_sm = t.blocks_per_sm,
                                        .split_k = t.split_k};
    row->swapped = space_says(name, "swapped");
    row->dual = space_says(name, "dual");
    const char *suffix = suffix_of(row);
    if (!suffix)
        return 0;
    snprintf(row->kind, sizeof row->kind, "%.4s%s", name, suffix);
    return 1;
}

static int find_config(struct data *d, const struct sweep_row *row)
{
    for (int i = 0; i < d->config_count; ++i)
        if (strcmp(d->configs[i].row.name, row->name) == 0)
            return i;
    if (d->config_count == configs_max)
        return -1;
    d->configs[d->config_count] = (struct sweep_config){.row = *row};
    return d->config_count++;
}

// The columns that are read from a list. They are found by its first line; a list may have
// other columns, too.
enum times_column { IN_TYPE, M, N, K, KERNEL, US, GHZ, SAMPLES, COLUMNS };
static const char *const columns[] = {"in_type", "m", "n", "k", "kernel", "us", "ghz", "samples"};
enum { fields_max = 16 };

static int split(char *fields[static fields_max], char *line)
{
    int count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *field; count < fields_max && (field = strsep(&line, ","));)
        fields[count++] = field;
    return count;
}

// Finds the columns in the first line. Returns 0, or -1 if one is missing.
static int find_columns(int at[static COLUMNS], char *header)
{
    char *fields[fields_max];
    const int count = split(fields, header);
    for (int c = 0; c < COLUMNS; ++c) {
        at[c] = 0;
        while (at[c] < count && strcmp(fields[at[c]], columns[c]) != 0)
            ++at[c];
        if (at[c] == count)
            return -1;
    }
    return 0;
}

static int add_sample(struct data *d, const char *kind, const int at[static COLUMNS], char *line,
                      int list)
{
    struct sweep_sample s = {.list = list, .weight = 1};
    struct sweep_row row;
    char *fields[fields_max];
    const int count = split(fields, line);
    for (int c = 0; c < COLUMNS; ++c)
        if (at[c] >= count)
            return 0;
    if (!sweep_row_parse(&row, fields[at[KERNEL]]) || strcmp(row.kind, kind) != 0)
        return 0;
    s.us = strtod(fields[at[US]], NULL);
    s.ghz = strtod(fields[at[GHZ]], NULL);
    s.rounds = atoi(fields[at[SAMPLES]]);
    if (!(s.us > 0 && s.ghz > 0.5 && s.ghz < 3))
        return 0;
    s.problem = (struct plumb_problem){.m = atol(fields[at[M]]),
                                       .n = atol(fields[at[N]]),
                                       .k = atol(fields[at[K]]),
                                       .in_type = (int32_t)atol(fields[at[IN_TYPE]]),
                                       .epilogue = row.dual ? PLUMB_DUAL_SILU : 0};
    s.config = find_config(d, &row);
    if (s.config < 0)
        return -1;
    if (d->count == d->room) {
        d->room = d->room ? 2 * d->room : 4096;
        struct sweep_sample *more = realloc(d->samples, d->room * sizeof *more);
        if (!more)
            return -1;
        d->samples = more;
    }
    d->samples[d->count++] = s;
    return 0;
}

int times_read(struct data *d, const char *kind, const char *path, int list)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return -1;
    }
    char line[512];
    int at[COLUMNS], error = 0;
    if (!fgets(line, sizeof line, file) || find_columns(at, line)) {
        fprintf(stderr, "%s: its first line does not name the columns of `sweep time`\n", path);
        fclose(file);
        return -1;
    }
    while (!error && fgets(line, sizeof line, file))
        error = add_sample(d, kind, at, line, list);
    if (error)
        fprintf(stderr, "%s: out of memory, or more than %d configurations\n", path, configs_max);
    fclose(file);
    return error;
}

size_t times_problem_end(const struct data *d, size_t first)
{
    const struct sweep_sample *a = &d->samples[first];
    size_t i = first;
    while (i < d->count && d->samples[i].list == a->list &&
           d->samples[i].problem.m == a->problem.m && d->samples[i].problem.n == a->problem.n &&
           d->samples[i].problem.k == a->problem.k)
        ++i;
    return i;
}

// The clock of a problem, in GHz: the mean of its finalists'.
static double problem_ghz(const struct data *d, size_t first, size_t end)
{
    double sum = 0, count = 0;
    int most = 0;
    for (size_t i = first; i < end; ++i)
        most = d->samples[i].rounds > most ? d->samples[i].rounds : most;
    for (size_t i = first; i < end; ++i)
        if (d->samples[i].rounds == most) {
            sum += d->samples[i].ghz;
            count += 1;
        }
    return sum / count;
}

void times_weigh(struct data *d)
{
    for (size_t first = 0, end; first < d->count; first = end) {
        double best = INFINITY;
        end = times_problem_end(d, first);
        const double ghz = problem_ghz(d, first, end);
        for (size_t i = first; i < end; ++i) {
            struct sweep_sample *s = &d->samples[i];
            if (s->rounds < finalist_rounds)
                s->us *= s->ghz / ghz;
            best = fmin(best, s->us);
        }
        for (size_t i = first; i < end; ++i) {
            struct sweep_sample *s = &d->samples[i];
            s->cycles = s->us * ghz * 1e3;
            s->weight = best * best / (s->us * s->us);
        }
    }
}
