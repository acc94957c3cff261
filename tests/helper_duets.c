// SPDX-License-Identifier: Apache-2.0
#include "helper_duets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1024, COLUMNS = 6 };

// One line per pair, or one per sample as `bench time --csv` writes them.
static const char *const pair_columns[COLUMNS] = {"shape",   "batch", "variant",
                                                  "process", "us_a",  "us_b"};
static const char *const sample_columns[COLUMNS] = {"kernel", "launches", "problem",
                                                    "pair",   "role",     "time_ns"};

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

static bool add_fields(struct duets *data, const size_t at[COLUMNS], bool samples,
                       char *const fields[], size_t count)
{
    char *value[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) {
        if (at[c] >= count)
            return false;
        value[c] = fields[at[c]];
    }
    return samples ? add_sample_line(data, value) : add_pair_line(data, value);
}

int duets_read(struct duets *data, const char *path, struct error *err)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return error_set(err, "%s: cannot be opened", path);
    char line[LINE], *fields[32];
    size_t at[COLUMNS], number = 0;
    bool header = true, samples = false, good = true;
    data->waiting = false;
    while (good && fgets(line, sizeof(line), file)) {
        number++;
        if (line[0] == '#')
            continue;
        size_t count = split(line, fields, ARRAY_COUNT(fields));
        if (header) {
            samples = find_columns(at, sample_columns, fields, count);
            good = samples || find_columns(at, pair_columns, fields, count);
        } else {
            good = add_fields(data, at, samples, fields, count);
        }
        header = false;
    }
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
