// SPDX-License-Identifier: Apache-2.0
//
// Tables of expected figures (tests/data/*.csv) for tests, and comparison of doubles.
#ifndef TESTS_HELPER_TABLE_H
#define TESTS_HELPER_TABLE_H

#include "model/csv.h"

// Reads tests/data/<name>; any failure ends the test program. Free with csv_free().
struct csv table_read(const char *name);
// A field by column name; an unknown column or a text that is no number ends the program.
const char *table_text(const struct csv *table, size_t row, const char *column);
double table_number(const struct csv *table, size_t row, const char *column);
bool table_has(const struct csv *table, size_t row, const char *column); // present and not empty
// Whether actual is within rel * |expected| of expected (NaN never is); says so when not.
bool close_to(double actual, double expected, double rel);
char *file_read(const char *path, size_t *length); // whole file, NUL-terminated; caller frees

#endif
