// SPDX-License-Identifier: Apache-2.0
//
// Reads one column of numbers from a CSV file of any origin: with or without a header, with other
// columns beside it, and with missing values.
#ifndef PLUMB_SERIES_CSV_H
#define PLUMB_SERIES_CSV_H

#include "model/base.h"

struct series_csv {
    double *values;      // NaN where missing
    const char **labels; // the text of each row's first column; NULL when that column has the
                         // values
    size_t count;
    size_t missing;
    size_t unsorted;    // the first line whose date or number is below that of the line before; 0:
                        // there is none
    const char *column; // the column's name, or its number if the file has no header
    const char *why;    // why that column was taken, in words
    const char *tags;   // columns by which rows seem to belong to several things, while they are
                        // read as one series; untrusted text; NULL: none
    struct arena arena; // owns everything
};

// Parses the file. A cell that is empty or says NA, N/A, NaN, null or none is a missing value; so
// is an empty line between the values of a file of one column. Any other text, infinity and ragged
// rows are errors that name the line.
//
// `column` is a name of the header or a number from 1. NULL takes the only column of numbers; if
// there are several, that is an error. A first column that only counts up is an axis and is not
// taken. Nor is another column that counts up if its name is that of an axis (date, build, run,
// ...); where only words stand beside such a column, that is an error, too.
//
// Numbers may have thousands separators, and a decimal comma where the file shows which mark it
// uses. Units may stand in brackets behind a column's name, in a row of their own below the names,
// or in each cell. Units in cells must be equal, or be units of time, which are converted to the
// first one. `where`, "NAME=VALUE,...", selects rows; NULL: all. `name` is the file's name in
// errors.
int series_csv_parse(struct series_csv *out, const char *text, size_t length, const char *name,
                     const char *column, const char *where, struct error *err);
void series_csv_free(struct series_csv *series);

#endif
