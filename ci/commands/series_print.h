// SPDX-License-Identifier: Apache-2.0
//
// What `plumb history --csv` prints of a series.
#ifndef PLUMB_SERIES_PRINT_H
#define PLUMB_SERIES_PRINT_H

#include "model/history/changepoint.h"
#include "model/history/shape.h"

// A series of a CSV file, and what was found in it.
struct series_view {
    const char *title;         // file, untrusted text
    const char *column;        // untrusted text
    const char *const *labels; // of each value, untrusted text; NULL: none
    const double *values;
    size_t count, missing;
    struct changepoints found;
    struct shape shape;
    bool alarmed;        // online detection sees more than the segmentation:
    struct change alarm; // after all that was found
};

void series_print_table(const struct series_view *view);
void series_print_csv(const struct series_view *view);
void series_print_json(const struct series_view *view);

#endif
