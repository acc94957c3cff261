// SPDX-License-Identifier: Apache-2.0
//
// plumb history on the store: which series, their changes, printed.
#ifndef PLUMB_HISTORY_STORE_H
#define PLUMB_HISTORY_STORE_H

#include "ci/history/epochs_file.h"
#include "ci/history/load.h"
#include "ci/settings/store_option.h"

struct history_request {
    struct history_wanted wanted;
    const char *epochs; // file; NULL: the repository's
    const char *format; // table, csv or json
    bool accuracy;      // print the models' accuracy over commits instead
};
int history_store(struct context *context, const struct history_request *request,
                  struct error *err);

// Prints to standard output. CSV and JSON need a set with levels.
void history_print_table(const struct history_set *set);
void history_print_csv(const struct history_set *set);
void history_print_json(const struct history_set *set);

#endif
