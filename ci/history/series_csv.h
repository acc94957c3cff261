// SPDX-License-Identifier: Apache-2.0
//
// One column of numbers out of a CSV file from anywhere: with or without a header, other columns
// beside it, missing values.
#ifndef PLUMB_SERIES_CSV_H
#define PLUMB_SERIES_CSV_H

#include "model/base.h"

struct series_csv {
    double *values;      // NaN where missing
    const char **labels; // first column's text of each row; NULL when that is the values' column
    size_t count;
    size_t missing;
    size_t unsorted;    // first line whose date or number is below the one before; 0: none is
    const char *column; // its name, or its number in a file without a header
    const char *why;    // that column; words
    const char *tags;   // what rows of several things are taken as, untrusted text; NULL: of one
    struct arena arena; // owns all of it
};

// A cell that is empty or says NA, N/A, NaN, null or none is missing, and so is an empty line
// between the values of a file of one column. Any other text, infinity and ragged rows are errors
// that name the line. `column` is a name of the header or a number from 1; NULL takes the only
// column of numbers (a first column that only counts up is an axis), and is an error when there are
// several; so is any other that counts up and is called so (date, build, run, ...). Such a column
// beside words alone is an error too. Numbers may
// have marks of thousands, and a decimal comma, where the file says which it is. Units may stand in
// brackets behind a name, in a row of their own below the names, or in each cell: then one for all,
// or times, which are converted to the first one's unit. `where`, "NAME=VALUE,...",
// takes the rows that say so; NULL: all. `name` stands in errors for the file.
int series_csv_parse(struct series_csv *out, const char *text, size_t length, const char *name,
                     const char *column, const char *where, struct error *err);
void series_csv_free(struct series_csv *series);

#endif
