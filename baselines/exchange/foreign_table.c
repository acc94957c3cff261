// SPDX-License-Identifier: Apache-2.0
//
// Tables that other tools print: among other lines, and with units in words.
#include "baselines/exchange/foreign.h"

#include <stdlib.h>
#include <string.h>

bool foreign_heads(const char *text, size_t length, size_t at, const char *first)
{
    const size_t wanted = strlen(first);
    const char *end = memchr(text + at, '\n', length - at);
    const size_t line_end = end ? (size_t)(end - text) : length;
    for (size_t from = at; line_end - from >= wanted; from++) {
        if ((from == at || text[from - 1] == ',') && memcmp(text + from, first, wanted) == 0)
            return true;
    }
    return false;
}

int foreign_table(struct csv *out, const struct import *in, const char *first, const char *text,
                  size_t length, struct error *err)
{
    // What stands before the table becomes comments, so that lines keep their numbers.
    char *copy = xrealloc(NULL, length + 1, 1);
    size_t at = 0;
    memcpy(copy, text, length);
    while (at < length && !foreign_heads(copy, length, at, first)) {
        const char *end = memchr(copy + at, '\n', length - at);
        if (copy[at] != '\n' && copy[at] != '\r')
            copy[at] = '#';
        at = end ? (size_t)(end - copy) + 1 : length;
    }
    int status = at == length ? error_set(err, "%.200s: no line with %s", in->name, first)
                              : csv_parse(out, copy, length, in->name, err);
    free(copy);
    return status;
}

const char *foreign_field(const struct csv *csv, size_t row, const char *column)
{
    const int at = csv_column(csv, column);
    return at < 0 ? "" : csv->rows[row].fields[at];
}

double foreign_unit_ns(const char *unit)
{
    static const struct {
        const char *names[3];
        double ns;
    } units[] = {{{"ns", "nsecond", "nanosecond"}, 1},
                 {{"us", "usecond", "microsecond"}, 1e3},
                 {{"ms", "msecond", "millisecond"}, 1e6},
                 {{"s", "second", "sec"}, 1e9}};
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        for (size_t k = 0; k < ARRAY_COUNT(units[i].names); k++) {
            if (strcmp(unit, units[i].names[k]) == 0)
                return units[i].ns;
        }
    }
    return 0;
}
