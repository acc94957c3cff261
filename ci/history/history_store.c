// SPDX-License-Identifier: Apache-2.0
//
// `plumb history` on a store: chooses the series, has them judged, and prints them. A CSV file's
// one series does not come through here.
#include "ci/history/history_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*print)(const struct history_set *set);
    void (*print_accuracy)(const struct accuracy_history *accuracy);
} formats[] = {{"table", history_print_table, accuracy_history_print_table},
               {"csv", history_print_csv, accuracy_history_print_csv},
               {"json", history_print_json, accuracy_history_print_json}};

static int print(const struct history_set *set, const struct accuracy_history *accuracy,
                 const char *format, const char *path, struct error *err)
{
    if (set->count == 0 && !(accuracy && accuracy->count))
        return set->known ? error_set(err, "%s: none of its %zu series matches", path, set->known)
                          : error_set(err, "%s: no series yet; `plumb run` measures some", path);
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(format, formats[i].name) != 0)
            continue;
        if (accuracy)
            formats[i].print_accuracy(accuracy);
        else
            formats[i].print(set);
    }
    return 0;
}

static bool is_filtered(const struct history_wanted *w)
{
    return w->kernel || w->problem || w->device;
}

// A run's accuracy follows from it alone and is kept: no series need be read for it, unless
// some are asked for.
static int load(struct history_set *set, struct accuracy_history *accuracy,
                const struct history_wanted *wanted, struct store *store, const char *epochs,
                const char *format, struct error *err)
{
    struct history_wanted now = *wanted;
    if (accuracy && now.keeps && !is_filtered(wanted)) {
        if (accuracy_history_kept(accuracy, store, 0, err))
            return -1;
        accuracy_history_judge(accuracy);
        if (accuracy->count)
            return 0;
    }
    now.accuracy = accuracy;
    now.levels = !accuracy && strcmp(format, "table") != 0;
    now.keeps &= accuracy == NULL;
    return history_load(set, store, &now, epochs, err);
}

int history_store(struct context *context, const struct history_request *request, struct error *err)
{
    struct accuracy_history collected = {0}, *accuracy = request->accuracy ? &collected : NULL;
    struct history_wanted wanted = request->wanted;
    struct history_set set = {0};
    if (wanted.toolchain && strcmp(wanted.toolchain, TOOLCHAIN_DEFAULT) == 0)
        wanted.toolchain = NULL;
    int status = store_option_open_kept(context, context->options,
                                        !wanted.comparisons && !wanted.points && !wanted.toolchain,
                                        &wanted.keeps, err);
    if (status == 0) {
        const char *epochs = request->epochs;
        if (!epochs && context->repository)
            epochs = arena_printf(&context->arena, "%s/" EPOCHS_PATH,
                                  repository_directory(context->repository));
        if (!epochs)
            fprintf(stderr,
                    "plumb: of which repository this store is is not known, so nothing counts as "
                    "accepted; give -C DIR, or --epochs FILE\n");
        wanted.repository = context->repository;
        status = load(&set, accuracy, &wanted, context->store, epochs, request->format, err);
    }
    if (status == 0 && wanted.toolchain && set.count == 0 && set.known)
        status =
            error_set(err,
                      "%s: none of its %zu series that match has times by toolchain '%s'; what "
                      "compiles to the same bytes as by another is measured once",
                      store_path(context->store), set.known, wanted.toolchain);
    if (status == 0)
        status = print(&set, accuracy, request->format, store_path(context->store), err);
    history_free(&set);
    accuracy_history_free(&collected);
    return status;
}
