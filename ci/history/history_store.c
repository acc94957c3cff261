// SPDX-License-Identifier: Apache-2.0
//
// `plumb history` on a store: chooses the series, has them judged, and prints them. A CSV file's
// one series does not come through here.
#include "ci/history/history_store.h"
#include "ci/history/site_past.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text, 0) == 0;
}

bool history_selects(const struct history_request *r, const struct series_entry *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    return matches(r->kernel, s->kernel) && matches(r->problem, problem) &&
           (matches(r->device, s->device_uuid) || matches(r->device, s->device_name));
}

// The device's controls are read once for all of its series.
static int surroundings_of(const struct surroundings **out, struct surroundings *all, size_t *count,
                           struct store *store, const struct series_entry *entries,
                           size_t entry_count, const char *uuid, size_t limit, struct arena *arena,
                           struct error *err)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp(all[i].device_uuid, uuid) == 0) {
            *out = &all[i];
            return 0;
        }
    }
    if (past_surroundings(&all[*count], store, entries, entry_count, uuid, limit, arena, err))
        return -1;
    *out = &all[(*count)++];
    return 0;
}

// One series: read, judged and dropped again.
static int load_one(struct history_set *set, struct store *store,
                    const struct history_request *request, const struct series_entry *entries,
                    size_t index, struct error *err)
{
    const struct surroundings *surroundings;
    struct arena scratch = {0};
    struct past_options options = past_defaults;
    struct series_past *s = &set->series[set->count];
    options.epochs = &set->epochs;
    options.query =
        (struct history_query){.limit = request->points, .comparisons = request->comparisons};
    if (surroundings_of(&surroundings, set->surroundings, &set->device_count, store, entries,
                        set->known, entries[index].device_uuid, request->points, &set->arena, err))
        return -1;
    int status =
        past_load(s, store, &entries[index], surroundings, &options, &scratch, &set->arena, err);
    if (status == 0) {
        if (request->nights)
            nights_add(request->nights, s->series, &s->past);
        past_forget(s);
        set->count++;
    }
    arena_free(&scratch);
    return status;
}

int history_load(struct history_set *out, struct store *store,
                 const struct history_request *request, const char *epochs_path, struct error *err)
{
    struct history_set set = {0};
    struct series_entry *entries;
    int status = -1;
    if (epochs_path && epochs_read(&set.epochs, NULL, epochs_path, &set.arena, err))
        goto done;
    if (store_list_series(&entries, &set.known, store, &set.arena, err))
        goto done;
    set.series = arena_alloc(&set.arena, set.known * sizeof(*set.series));
    set.surroundings = arena_alloc(&set.arena, (set.known + 1) * sizeof(*set.surroundings));
    status = 0;
    for (size_t i = 0; status == 0 && i < set.known; i++) {
        if (history_selects(request, &entries[i]))
            status = load_one(&set, store, request, entries, i, err);
    }
    if (status == 0) {
        past_attribute(set.series, set.count);
        status = past_devices(set.series, set.count, store, &set.arena, err);
    }
    if (status == 0 && request->nights)
        nights_settle(request->nights);
done:
    if (status)
        arena_free(&set.arena);
    else
        *out = set;
    return status;
}

void history_free(struct history_set *set)
{
    arena_free(&set->arena);
    memset(set, 0, sizeof(*set));
}

static const struct {
    const char *name;
    void (*print)(const struct history_set *set);
    void (*print_accuracy)(const struct nights *nights);
} formats[] = {{"table", history_print_table, nights_print_table},
               {"csv", history_print_csv, nights_print_csv},
               {"json", history_print_json, nights_print_json}};

static int print(const struct history_set *set, const struct history_request *request,
                 const char *path, struct error *err)
{
    if (set->count == 0 && !(request->nights && request->nights->count))
        return error_set(err,
                         set->known ? "%s: none of its %zu series matches"
                                    : "%s: no series yet (%zu); `plumb run` measures some",
                         path, set->known);
    for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
        if (strcmp(request->format, formats[i].name) != 0)
            continue;
        if (request->nights)
            formats[i].print_accuracy(request->nights);
        else
            formats[i].print(set);
    }
    return 0;
}

static bool is_filtered(const struct history_request *r)
{
    return r->kernel || r->problem || r->device;
}

// A night's accuracy follows from its run alone and is kept: no series need be read for it. Of the
// series what is kept is asked for, and what is new is judged and kept.
static int load(struct history_set *set, struct nights *nights, const struct history_request *r,
                struct store *store, bool keeps, const char *epochs, struct error *err)
{
    struct judgement *judgements;
    if (!keeps || (r->accuracy && is_filtered(r)))
        return history_load(set, store, r, epochs, err);
    if (!r->accuracy)
        return site_past_load(set, &judgements, store, r, epochs, err);
    if (nights_kept(nights, store, 0, err))
        return -1;
    return nights->count ? 0 : history_load(set, store, r, epochs, err);
}

int history_store(const struct history_request *asked, struct error *err)
{
    struct nights nights = {0};
    struct history_request with = *asked;
    const struct history_request *request = &with;
    with.nights = asked->accuracy ? &nights : NULL;
    struct context context = {0};
    struct history_set set = {0};
    bool keeps;
    int status = store_option_open_kept(&context, &request->options,
                                        !request->comparisons && !request->points, &keeps, err);
    if (status == 0) {
        const char *epochs = request->epochs;
        if (!epochs && context.repository)
            epochs = arena_printf(&context.arena, "%s/" EPOCHS_PATH,
                                  repository_directory(context.repository));
        status = load(&set, &nights, request, context.store, keeps, epochs, err);
    }
    if (status == 0)
        status = print(&set, request, store_path(context.store), err);
    history_free(&set);
    nights_free(&nights);
    context_close(&context);
    return status;
}
