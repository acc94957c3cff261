// SPDX-License-Identifier: Apache-2.0
//
// Calibrated biases as a file: CSV with the columns kernel, log_factor, band, rows, model, version,
// under comments that say what they were fitted to.
#ifndef PLUMB_BIAS_FILE_H
#define PLUMB_BIAS_FILE_H

#include "model/predict.h"
#include "model/predict/parts/bias.h"

int bias_file_write(const char *path, const struct bias_table *table, const struct model *model,
                    const char *inputs, struct error *err);
// Refuses a file that was fitted to another model or version. Free with bias_table_free().
int bias_file_read(struct bias_table *out, const char *path, const struct model *model,
                   struct error *err);

#endif
