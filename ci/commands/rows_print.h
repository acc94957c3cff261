// SPDX-License-Identifier: Apache-2.0
//
// Predictions as text: the columns of the CSV they were made from, then predicted_us and bound, as
// CSV, JSON ({"predictions": [...]}) or an aligned table; with parts also fixed_us, first_load_us,
// main_loop_us, epilogue_us (together predicted_us), waves (tiles over SMs) and ratio (predicted
// over measured). A row without a time says "infeasible: why" for its bound. Columns of those two
// names in the input are replaced.
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
    bool parts;  // with columns of the prediction's parts
    size_t rows; // printed so far
};

void rows_print_header(const struct rows_printer *printer);
// measured_us 0: not measured.
void rows_print_row(struct rows_printer *printer, size_t row, const struct predict_input *input,
                    const struct prediction *prediction, double measured_us);
void rows_print_end(const struct rows_printer *printer);

#endif
