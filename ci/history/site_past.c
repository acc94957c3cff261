// SPDX-License-Identifier: Apache-2.0
//
// Loads and judges every series of a store for the site, and keeps what it judged.
#include "ci/history/site_past.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVED_AT_ONCE = 64 }; // a transaction each: other writers wait no longer than that takes

struct loading {
    struct store *store;
    struct history_set *set;
    const struct series_entry *entries;
    int64_t newest_key;
    struct judgement *judgements;
    struct past_kept waiting[SAVED_AT_ONCE]; // to be saved
    const struct series_entry *waiting_for[SAVED_AT_ONCE];
    size_t waiting_count;
    struct arena arena; // of what waits
    bool refused;
};

static int save_waiting(struct loading *l, struct error *err)
{
    if (store_begin_batch(l->store, err))
        return -1;
    for (size_t i = 0; i < l->waiting_count; i++) {
        const struct series_entry *e = l->waiting_for[i];
        const struct series series = {e->kernel, &e->problem, e->device_uuid};
        const struct past_kept *k = &l->waiting[i];
        if (store_save_judgement(l->store, &series, &k->judgement, k->chart, k->chart_count, err)) {
            store_cancel_batch(l->store);
            return -1;
        }
    }
    return store_commit_batch(l->store, err);
}

static void save(struct loading *l)
{
    struct error err;
    if (!l->refused && l->waiting_count && save_waiting(l, &err)) {
        fprintf(stderr, "plumb: %s; what was judged is not kept\n", err.text);
        l->refused = true;
    }
    l->waiting_count = 0;
    arena_free(&l->arena);
    memset(&l->arena, 0, sizeof(l->arena));
}

static int surroundings_of(const struct surroundings **out, struct loading *l, const char *uuid,
                           struct error *err)
{
    struct history_set *set = l->set;
    for (size_t i = 0; i < set->device_count; i++) {
        if (strcmp(set->surroundings[i].device_uuid, uuid) == 0) {
            *out = &set->surroundings[i];
            return 0;
        }
    }
    if (past_surroundings(&set->surroundings[set->device_count], l->store, l->entries, set->known,
                          uuid, 0, &set->arena, err))
        return -1;
    *out = &set->surroundings[set->device_count++];
    return 0;
}

static int judge(struct series_past *s, struct past_kept *kept, struct loading *l,
                 const struct series_entry *entry, const struct past_options *options,
                 struct arena *scratch, struct error *err)
{
    const struct surroundings *surroundings;
    struct past_kept *now = &l->waiting[l->waiting_count];
    if (surroundings_of(&surroundings, l, entry->device_uuid, err) ||
        past_kept_judge(s, kept, l->store, entry, surroundings, options, l->newest_key, scratch,
                        &l->set->arena, err))
        return -1;
    *now = *kept;
    // The set's changes are attributed later; what is kept is the series' own.
    struct judgement *j = &now->judgement;
    struct past_change *own = arena_alloc(&l->arena, j->change_count * sizeof(*own));
    if (j->change_count)
        memcpy(own, j->changes, j->change_count * sizeof(*own));
    j->changes = own;
    l->waiting_for[l->waiting_count++] = entry;
    if (l->waiting_count == SAVED_AT_ONCE)
        save(l);
    return 0;
}

static int load_one(struct loading *l, size_t index, struct error *err)
{
    struct history_set *set = l->set;
    const struct series_entry *entry = &l->entries[index];
    struct series_past *s = &set->series[set->count];
    struct past_options options = past_defaults;
    struct past_kept kept;
    struct arena scratch = {0};
    bool found;
    options.epochs = &set->epochs;
    int status =
        past_kept_find(s, &kept, &found, l->store, entry, &options, &scratch, &set->arena, err);
    if (status == 0 && !found)
        status = judge(s, &kept, l, entry, &options, &scratch, err);
    if (status == 0) {
        past_forget(s);
        l->judgements[set->count++] = kept.judgement;
    }
    arena_free(&scratch);
    return status;
}

static int load_all(struct loading *l, const struct history_request *request,
                    const char *epochs_path, struct error *err)
{
    struct history_set *set = l->set;
    struct series_entry *entries;
    struct error refused;
    if (epochs_path && epochs_read(&set->epochs, NULL, epochs_path, &set->arena, err))
        return -1;
    if (store_judge_begin(l->store, &refused)) {
        fprintf(stderr, "plumb: %s; what is judged will not be kept\n", refused.text);
        l->refused = true;
    }
    if (!l->refused && set->epochs.count && store_save_epochs(l->store, &set->epochs, &refused))
        fprintf(stderr, "plumb: %s; accepted changes are not copied to the store\n", refused.text);
    if (store_newest_key(&l->newest_key, l->store, err) ||
        store_list_series(&entries, &set->known, l->store, &set->arena, err))
        return -1;
    l->entries = entries;
    set->series = arena_alloc(&set->arena, set->known * sizeof(*set->series));
    set->surroundings = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->surroundings));
    l->judgements = arena_alloc(&set->arena, set->known * sizeof(*l->judgements));
    for (size_t i = 0; i < set->known; i++) {
        if ((!request || history_selects(request, &entries[i])) && load_one(l, i, err))
            return -1;
    }
    save(l);
    past_attribute(set->series, set->count);
    return past_devices(set->series, set->count, l->store, &set->arena, err);
}

int site_past_load(struct history_set *out, struct judgement **kept, struct store *store,
                   const struct history_request *request, const char *epochs_path,
                   struct error *err)
{
    struct history_set set = {0};
    struct loading l = {.store = store, .set = &set};
    int status = load_all(&l, request, epochs_path, err);
    arena_free(&l.arena);
    if (status) {
        arena_free(&set.arena);
        return -1;
    }
    *out = set;
    *kept = l.judgements;
    return 0;
}
