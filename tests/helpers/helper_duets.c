// SPDX-License-Identifier: Apache-2.0
//
// Reads recorded duets, and draws trials from them.
#include "tests/helpers/helper_duets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };

// One line per pair, or one per sample as `bench time --csv` writes them, or one per process as
// `plumb study --samples` does.
static const char *const pair_columns[COLUMNS] = {"shape",   "batch", "variant",
                                                  "process", "us_a",  "us_b"};
static const char *const sample_columns[COLUMNS] = {"kernel", "launches", "problem",
                                                    "pair",   "role",     "time_ns"};

static const char *const process_columns[COLUMNS] = {"kind",     "kernel",  "problem",
                                                     "launches", "unit_ns", "base_head_1e5"};

static size_t split(char *line, char *fields[], size_t room)
{
    size_t count = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at && count < room; at = strchr(at, ',')) {
        if (count > 0)
            *at++ = '\0';
        fields[count++] = at;
    }
    return count;
}

static struct duet_series *series_of(struct duets *data, const char *shape, double batch,
                                     const char *variant)
{
    for (size_t i = 0; i < data->count; i++) {
        struct duet_series *s = &data->series[i];
        if (strcmp(s->shape, shape) == 0 && strcmp(s->variant, variant) == 0 &&
            fabs(s->batch - batch) < 0.5)
            return s;
    }
    if (data->count == DUET_SERIES)
        return NULL;
    struct duet_series *s = &data->series[data->count++];
    text_copy(s->shape, sizeof(s->shape), shape);
    text_copy(s->variant, sizeof(s->variant), variant);
    s->batch = batch;
    return s;
}

static bool add_pair(struct duet_series *s, size_t process, double us_a, double us_b)
{
    if (s && (s->count == 0 || s->last != process) && s->count < DUET_PROCESSES) {
        s->last = process;
        s->count++;
    }
    if (!s || s->last != process)
        return false;
    struct duet_process *p = &s->processes[s->count - 1];
    p->us_a = xrealloc(p->us_a, p->count + 1, sizeof(double));
    p->us_b = xrealloc(p->us_b, p->count + 1, sizeof(double));
    p->us_a[p->count] = us_a;
    p->us_b[p->count++] = us_b;
    return true;
}

static bool add_pair_line(struct duets *data, char *const value[COLUMNS])
{
    double batch, process, us_a, us_b;
    if (parse_double(&batch, value[1]) || parse_double(&process, value[3]) ||
        parse_double(&us_a, value[4]) || parse_double(&us_b, value[5]) || process < 0 ||
        !(us_a > 0) || !(us_b > 0) || !(batch >= 1))
        return false;
    return add_pair(series_of(data, value[0], batch, value[2]), (size_t)process, us_a, us_b);
}

// Samples of a pair follow each other, either first; the first waits in `data`.
static bool add_sample_line(struct duets *data, char *const value[COLUMNS])
{
    double launches, pair, time_ns;
    bool head = strcmp(value[4], "head") == 0;
    if (parse_double(&launches, value[1]) || parse_double(&pair, value[3]) ||
        parse_double(&time_ns, value[5]) || (!head && strcmp(value[4], "base") != 0) ||
        !(time_ns > 0) || !(launches >= 1))
        return false;
    double us = 1e-3 * time_ns * launches;
    if (!data->waiting || data->waiting_pair < pair || data->waiting_pair > pair ||
        data->waiting_head == head) {
        data->waiting = true;
        data->waiting_pair = pair;
        data->waiting_head = head;
        data->waiting_us = us;
        return true;
    }
    data->waiting = false;
    char shape[64];
    snprintf(shape, sizeof(shape), "%.24s %.38s", value[0], value[2]);
    return add_pair(series_of(data, shape, launches, "same"), data->files,
                    head ? data->waiting_us : us, head ? us : data->waiting_us);
}

// "compute_0050" is effect 0050 of shape compute. A process of its own for each line.
static bool add_process_line(struct duets *data, char *const value[COLUMNS])
{
    double launches, unit_ns;
    char shape[64], variant[32];
    char *effect = strrchr(value[1], '_');
    if (!effect || parse_double(&launches, value[3]) || parse_double(&unit_ns, value[4]) ||
        !(launches >= 1) || !(unit_ns > 0))
        return false;
    *effect++ = '\0';
    snprintf(shape, sizeof(shape), "%.20s %.40s", value[1], value[2]);
    snprintf(variant, sizeof(variant), "%.15s %.15s", value[0], effect);
    // Each process batches by its own first measurement: times are of one launch here.
    struct duet_series *s =
        series_of(data, shape, 1, strcmp(value[0], "aa") == 0 ? "same" : variant);
    const size_t process = ++data->lines;
    char *at = value[5];
    for (;;) {
        char *end, *next;
        const double base = strtod(at, &end), head = strtod(end, &next);
        if (end == at)
            return true;
        if (next == end || !add_pair(s, process, 1e-3 * unit_ns * (1 + 1e-5 * base),
                                     1e-3 * unit_ns * (1 + 1e-5 * head)))
            return false;
        at = next;
    }
}

static bool find_columns(size_t at[COLUMNS], const char *const names[COLUMNS], char *const fields[],
                         size_t count)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        for (at[c] = 0; at[c] < count && strcmp(fields[at[c]], names[c]) != 0;)
            at[c]++;
        if (at[c] == count)
            return false;
    }
    return true;
}

typedef bool add_line(struct duets *data, char *const value[COLUMNS]);

static const struct {
    const char *const *columns;
    add_line *add;
} kinds[] = {{sample_columns, add_sample_line},
             {pair_columns, add_pair_line},
             {process_columns, add_process_line}};

static bool add_fields(struct duets *data, const size_t at[COLUMNS], add_line *add,
                       char *const fields[], size_t count)
{
    char *value[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        if (at[c] >= count)
            return false;
        value[c] = fields[at[c]];
    }
    return add(data, value);
}

int duets_read(struct duets *data, const char *path, struct error *err)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return error_set(err, "%s: cannot be opened", path);
    char *line = NULL, *fields[32];
    size_t at[COLUMNS], number = 0, room = 0;
    add_line *add = NULL;
    bool good = true;
    data->waiting = false;
    while (good && getline(&line, &room, file) >= 0) {
        number++;
        if (line[0] == '#')
            continue;
        size_t count = split(line, fields, ARRAY_COUNT(fields));
        if (add) {
            good = add_fields(data, at, add, fields, count);
            continue;
        }
        for (size_t k = 0; k < ARRAY_COUNT(kinds) && !add; k++)
            add = find_columns(at, kinds[k].columns, fields, count) ? kinds[k].add : NULL;
        good = add != NULL;
    }
    free(line);
    fclose(file);
    data->files++;
    if (!good)
        return error_set(err, "%s:%zu: neither a pair nor a sample of `bench time --csv`", path,
                         number);
    return 0;
}

void duets_free(struct duets *data)
{
    for (size_t i = 0; i < data->count; i++) {
        for (size_t p = 0; p < data->series[i].count; p++) {
            free(data->series[i].processes[p].us_a);
            free(data->series[i].processes[p].us_b);
        }
    }
    free(data);
}

static void shuffle(size_t *order, size_t count, struct random *random)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(random_uniform(random) * (double)i), swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
}

void draw_trial(struct draw *out, const struct duet_series *s, double change, bool separate,
                struct random *random)
{
    size_t order[DUET_PROCESSES], total = 0;
    bool same = strcmp(s->variant, "same") == 0;
    shuffle(order, s->count, random);
    for (size_t k = 0; k < s->count; k++) {
        const struct duet_process *p = &s->processes[order[k]];
        const struct duet_process *q = separate ? &s->processes[order[(k + 1) % s->count]] : p;
        bool swap = same && random_coin(random);
        size_t start = (size_t)(random_uniform(random) * (double)p->count);
        for (size_t i = 0; i < p->count; i++, total++) {
            size_t at = (start + i) % p->count, other = at % q->count;
            out->base[total] = swap ? p->us_b[at] : p->us_a[at];
            out->head[total] = (swap ? q->us_a[other] : q->us_b[other]) * (1 + change);
        }
        out->end[k] = total;
    }
    out->processes = s->count;
}

struct draw draw_new(const struct duet_series *s)
{
    size_t total = 0;
    for (size_t p = 0; p < s->count; p++)
        total += s->processes[p].count;
    return (struct draw){.base = xcalloc(total, sizeof(double)),
                         .head = xcalloc(total, sizeof(double))};
}

void draw_free(struct draw *draw)
{
    free(draw->base);
    free(draw->head);
}
