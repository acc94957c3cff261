// SPDX-License-Identifier: Apache-2.0
//
// Predictions as text: the columns of the CSV they were made from, then predicted_us and bound, as
// CSV, JSON (an array of objects) or an aligned table. A row without a time says "infeasible: why"
// for its bound. Columns of those two names in the input are replaced.
#ifndef PLUMB_ROWS_PRINT_H
#define PLUMB_ROWS_PRINT_H

#include "model/buffer.h"
#include "model/csv.h"
#include "model/predict.h"

enum format { FORMAT_DEFAULT, FORMAT_CSV, FORMAT_JSON, FORMAT_TABLE };

struct rows_printer {
    struct buffer *out;
    const struct csv *csv;
    enum format format;
    size_t rows; // printed so far
};

void rows_print_header(const struct rows_printer *printer);
void rows_print_row(struct rows_printer *printer, size_t row, const struct prediction *prediction);
void rows_print_end(const struct rows_printer *printer);

#endif
