// SPDX-License-Identifier: Apache-2.0
//
// Reads tables of expected figures, and compares numbers with them.
#include "tests/helpers/helper_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s\n", name, what);
    exit(99);
}

char *file_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("cannot be opened", path);
    char *text = NULL;
    size_t used = 0, got = 0;
    do {
        text = xrealloc(text, used + 65537, 1);
        got = fread(text + used, 1, 65536, file);
        used += got;
    } while (got);
    fclose(file);
    text[used] = '\0';
    *length = used;
    return text;
}

struct csv table_read(const char *name)
{
    char *path = xprintf("%s/%s", TEST_DATA, name);
    size_t length;
    char *text = file_read(path, &length);
    struct csv table;
    struct error err;
    if (csv_parse(&table, text, length, name, &err))
        give_up(err.text, path);
    if (table.count == 0)
        give_up("holds no rows", path);
    free(text);
    free(path);
    return table;
}

const char *table_text(const struct csv *table, size_t row, const char *column)
{
    int index = csv_column(table, column);
    if (index < 0)
        give_up("no such column", column);
    return table->rows[row].fields[index];
}

double table_number(const struct csv *table, size_t row, const char *column)
{
    double value;
    if (parse_double(&value, table_text(table, row, column)))
        give_up("not a number", column);
    return value;
}

bool table_has(const struct csv *table, size_t row, const char *column)
{
    return table_text(table, row, column)[0] != '\0';
}

bool close_to(double actual, double expected, double rel)
{
    bool close = fabs(actual - expected) <= rel * fabs(expected);
    if (!close)
        fprintf(stderr, "%.17g, expected %.17g (relative %.1e)\n", actual, expected, rel);
    return close;
}
