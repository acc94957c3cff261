// SPDX-License-Identifier: Apache-2.0
//
// plumb history on the store: which series, their changes, printed.
#ifndef PLUMB_HISTORY_STORE_H
#define PLUMB_HISTORY_STORE_H

#include "ci/history/epochs_file.h"
#include "ci/history/nights.h"
#include "ci/history/past.h"
#include "ci/settings/store_option.h"

struct history_request {
    struct options options;
    const char *kernel, *problem, *device; // globs; NULL: all
    const char *epochs;                    // file; NULL: the repository's
    const char *format;                    // table, csv or json
    bool comparisons;
    size_t points;         // newest ones of each series; 0: all
    bool accuracy;         // print the models' accuracy over commits instead
    struct nights *nights; // NULL: not wanted
};
int history_store(const struct history_request *request, struct error *err);

// Every series that the request selects, with its changes; points and values are gone (NULL).
// `nights` of a request: also collects the models' accuracy; settled by history_load.
struct history_set {
    struct series_past *series;
    size_t count, known; // known: in the store
    struct epoch_list epochs;
    struct surroundings *surroundings; // one per device met
    size_t device_count;
    struct arena arena;
};
int history_load(struct history_set *out, struct store *store,
                 const struct history_request *request, const char *epochs_path,
                 struct error *err); // epochs_path NULL: none
void history_free(struct history_set *set);
bool history_selects(const struct history_request *request, const struct series_entry *series);

// Prints to standard output.
void history_print_table(const struct history_set *set);
void history_print_csv(const struct history_set *set);
void history_print_json(const struct history_set *set);

#endif
