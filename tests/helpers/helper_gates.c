// SPDX-License-Identifier: Apache-2.0
//
// Reads the gates that a study recorded, and counts them.
#include "tests/helpers/helper_gates.h"

#include "tests/helpers/helper_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_unless(bool good, const char *what, const char *which)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, which);
    abort();
}

void csv_open(struct csv *out, const char *path)
{
    struct error err = {""};
    size_t size;
    char *text = helper_read(path, &size);
    end_unless(csv_parse(out, text, size, path, &err) == 0, path, err.text);
    free(text);
}

const char *csv_field(const struct csv *csv, size_t row, const char *column)
{
    int i = csv_column(csv, column);
    end_unless(i >= 0 && row < csv->count, "no such column", column);
    return csv->rows[row].fields[i];
}

double csv_number(const struct csv *csv, size_t row, const char *column)
{
    const char *text = csv_field(csv, row, column);
    char *end;
    double value = strtod(text, &end);
    end_unless(end != text && !*end, "no number", text);
    return value;
}

struct gate_cell *gate_cell_of(struct gate_cells *cells, const char *kernel, const char *problem,
                               bool aa)
{
    for (size_t i = 0; i < cells->count; i++) {
        struct gate_cell *c = &cells->items[i];
        if (strcmp(c->kernel, kernel) == 0 && strcmp(c->problem, problem) == 0 && c->aa == aa)
            return c;
    }
    end_unless(cells->count < ARRAY_COUNT(cells->items), "too many kernels", kernel);
    struct gate_cell *c = &cells->items[cells->count++];
    *c = (struct gate_cell){.aa = aa};
    snprintf(c->kernel, sizeof(c->kernel), "%s", kernel);
    snprintf(c->problem, sizeof(c->problem), "%s", problem);
    return c;
}

static void add_gate(struct gate_cells *cells, const struct csv *csv, size_t row)
{
    const char *kind = csv_field(csv, row, "kind"), *verdict = csv_field(csv, row, "verdict");
    const bool aa = strcmp(kind, "aa") == 0, turned = strcmp(kind, "faster") == 0;
    const bool alarm = strcmp(verdict, "slower") == 0 || strcmp(verdict, "faster") == 0;
    char *kernel = xprintf("%s", csv_field(csv, row, "kernel"));
    const size_t length = strlen(kernel);
    if (length > 2 && kernel[length - 2] == '_')
        kernel[length - 2] = 0;
    struct gate_cell *c = gate_cell_of(cells, kernel, csv_field(csv, row, "problem"), aa);
    c->gates++;
    c->found += strcmp(verdict, kind) == 0;
    c->wrong += alarm && strcmp(verdict, kind) != 0;
    c->undecided += strcmp(verdict, "undecided") == 0;
    c->us += csv_number(csv, row, "base_us");
    c->pairs += csv_number(csv, row, "pairs");
    c->gpu_s += csv_number(csv, row, "gpu_s");
    c->effect += (turned ? -1 : 1) * csv_number(csv, row, "log_ratio_pct");
    free(kernel);
}

void gates_read(struct gate_cells *cells, const char *path)
{
    struct csv csv;
    csv_open(&csv, path);
    for (size_t i = 0; i < csv.count; i++)
        add_gate(cells, &csv, i);
    csv_free(&csv);
}

bool gate_cell_must_be_found(const struct gate_cell *cell)
{
    if (cell->aa || strstr(cell->kernel, "varies") || strstr(cell->kernel, "again"))
        return false;
    return cell->effect / cell->gates >= (cell->us / cell->gates > 100 ? 0.45 : 0.6);
}
