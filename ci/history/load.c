// SPDX-License-Identifier: Apache-2.0
//
// One pass over the series of a store. Memory holds one series' points at a time; judgements that
// are new wait for a transaction that saves many. All series are read also where some are wanted:
// whose a change is follows from what the others did.
#include "ci/history/load.h"
#include "ci/history/epochs_file.h"
#include "ci/history/links_kept.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- which series ----

static bool matches(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text, 0) == 0;
}

static bool selects(const struct history_wanted *w, const struct series_entry *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    return matches(w->kernel, s->kernel) && matches(w->problem, problem) &&
           (matches(w->device, s->device_uuid) || matches(w->device, s->device_name));
}

// ---- one series ----

enum { SAVED_AT_ONCE = 64 }; // a transaction each: other writers wait no longer than that takes

struct loading {
    struct store *store;
    struct history_set *set;
    const struct history_wanted *wanted;
    const struct series_entry *entries;
    int64_t newest_key;
    struct history_kept waiting[SAVED_AT_ONCE]; // to be saved
    const struct series_entry *waiting_for[SAVED_AT_ONCE];
    size_t waiting_count;
    struct kept_links links[SAVED_AT_ONCE]; // to be saved too
    const struct series_entry *links_for[SAVED_AT_ONCE];
    size_t links_count;
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
        const struct history_kept *k = &l->waiting[i];
        if (store_save_judgement(l->store, &series, &k->judgement, k->chart, k->chart_count, err)) {
            store_cancel_batch(l->store);
            return -1;
        }
    }
    for (size_t i = 0; i < l->links_count; i++) {
        const struct series_entry *e = l->links_for[i];
        const struct series series = {e->kernel, &e->problem, e->device_uuid};
        if (store_save_kept_links(l->store, &series, &l->links[i], err)) {
            store_cancel_batch(l->store);
            return -1;
        }
    }
    return store_commit_batch(l->store, err);
}

static void save(struct loading *l)
{
    struct error err;
    if (!l->refused && (l->waiting_count || l->links_count) && save_waiting(l, &err)) {
        fprintf(stderr, "plumb: %s; what was judged is not kept\n", err.text);
        l->refused = true;
    }
    l->waiting_count = l->links_count = 0;
    arena_free(&l->arena);
    memset(&l->arena, 0, sizeof(l->arena));
}

// The device's controls are read once for all of its series.
static int common_mode_of(const struct common_mode **out, struct loading *l, const char *uuid,
                          struct error *err)
{
    struct history_set *set = l->set;
    for (size_t i = 0; i < set->device_count; i++) {
        if (strcmp(set->common[i].device_uuid, uuid) == 0) {
            *out = &set->common[i];
            return 0;
        }
    }
    if (history_common_mode(&set->common[set->device_count], l->store, l->entries, set->known, uuid,
                            l->wanted->points, &set->arena, err))
        return -1;
    *out = &set->common[set->device_count++];
    return 0;
}

// The set's changes are attributed later; what is kept is the series' own.
static void keep(struct loading *l, const struct history_kept *kept,
                 const struct series_entry *entry)
{
    struct history_kept *now = &l->waiting[l->waiting_count];
    *now = *kept;
    struct judgement *j = &now->judgement;
    struct history_change *own = arena_alloc(&l->arena, j->change_count * sizeof(*own));
    if (j->change_count)
        memcpy(own, j->changes, j->change_count * sizeof(*own));
    j->changes = own;
    l->waiting_for[l->waiting_count++] = entry;
    if (l->waiting_count == SAVED_AT_ONCE)
        save(l);
}

static int judge(struct series_history *s, struct history_kept *kept, struct loading *l,
                 const struct series_entry *entry, const struct history_options *options,
                 struct arena *scratch, struct error *err)
{
    const struct common_mode *common;
    if (common_mode_of(&common, l, entry->device_uuid, err) ||
        history_kept_judge(s, kept, l->store, entry, common, options, l->newest_key, scratch,
                           &l->set->arena, err))
        return -1;
    if (options->keeps)
        keep(l, kept, entry);
    return 0;
}

// The same is said whether it is kept or not.
static int load_links(struct series_history *s, struct loading *l, const struct series_entry *entry,
                      struct arena *scratch, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const char *accepted = s->epoch ? s->epoch->commit : NULL;
    struct history_set *set = l->set;
    struct linked_levels levels;
    int64_t newest;
    if (store_newest_link(&newest, l->store, &series, err))
        return -1;
    if (newest == 0)
        return 0;
    if (store_commit_places(&set->places, l->store, &set->arena, err))
        return -1;
    if (!l->wanted->keeps)
        return history_links(&s->linked, &levels, l->store, &set->places, &series, accepted,
                             &set->arena, scratch, err);
    struct kept_links *fresh = &l->links[l->links_count];
    if (history_links_kept(&s->linked, fresh, l->store, &set->places, &series, accepted,
                           &set->arena, &l->arena, err))
        return -1;
    if (fresh->size == 0)
        return 0;
    l->links_for[l->links_count++] = entry;
    if (l->links_count == SAVED_AT_ONCE)
        save(l);
    return 0;
}

int history_levels(struct linked_levels *out, const struct history_set *set, size_t index,
                   struct store *store, struct arena *arena, struct error *err)
{
    const struct series_history *s = &set->series[index];
    const struct series_entry *e = s->series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    return history_linked_levels(out, &s->linked, store, &set->places, &series,
                                 s->epoch ? s->epoch->commit : NULL, arena, err);
}

static int load_one(struct loading *l, size_t index, struct error *err)
{
    struct history_set *set = l->set;
    const struct series_entry *entry = &l->entries[index];
    struct series_history *s = &set->series[set->count];
    struct history_options options = history_defaults;
    struct history_kept kept = {0};
    struct arena scratch = {0};
    bool found = false;
    int status = 0;
    options.epochs = &set->epochs;
    options.keeps = l->wanted->keeps;
    options.query =
        (struct history_query){.limit = l->wanted->points, .comparisons = l->wanted->comparisons};
    if (options.keeps)
        status = history_kept_find(s, &kept, &found, l->store, entry, &options, &scratch,
                                   &set->arena, err);
    if (status == 0 && !found)
        status = judge(s, &kept, l, entry, &options, &scratch, err);
    if (status == 0)
        status = load_links(s, l, entry, &scratch, err);
    if (status == 0) {
        if (l->wanted->accuracy && selects(l->wanted, entry))
            accuracy_history_add(l->wanted->accuracy, s->series, &s->stored);
        history_forget(s);
        if (set->judgements)
            set->judgements[set->count] = kept.judgement;
        set->count++;
    }
    arena_free(&scratch);
    return status;
}

// ---- all ----

static void keep_wanted(struct history_set *set, const struct history_wanted *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (!selects(wanted, set->series[i].series))
            continue;
        if (set->judgements)
            set->judgements[count] = set->judgements[i];
        set->series[count++] = set->series[i];
    }
    set->count = count;
}

// From now on what comes is marked.
static void begin_keeping(struct loading *l)
{
    struct error refused;
    if (store_judge_begin(l->store, &refused)) {
        fprintf(stderr, "plumb: %s; what is judged will not be kept\n", refused.text);
        l->refused = true;
    }
    if (!l->refused && l->set->epochs.count &&
        store_save_epochs(l->store, &l->set->epochs, &refused))
        fprintf(stderr, "plumb: %s; accepted changes are not copied to the store\n", refused.text);
}

static int load_all(struct loading *l, const char *epochs_path, struct error *err)
{
    struct history_set *set = l->set;
    struct series_entry *entries;
    if (epochs_path && epochs_read(&set->epochs, NULL, epochs_path, &set->arena, err))
        return -1;
    if (l->wanted->keeps)
        begin_keeping(l);
    if (store_newest_key(&l->newest_key, l->store, err) ||
        store_list_series(&entries, &set->known, l->store, &set->arena, err))
        return -1;
    l->entries = entries;
    set->series = arena_alloc(&set->arena, set->known * sizeof(*set->series));
    set->common = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->common));
    if (l->wanted->keeps)
        set->judgements = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->judgements));
    for (size_t i = 0; i < set->known; i++) {
        if (load_one(l, i, err))
            return -1;
    }
    save(l);
    history_attribute(set->series, set->count);
    if (l->wanted->accuracy)
        accuracy_history_settle(l->wanted->accuracy);
    if (history_devices(set->series, set->count, l->store, &set->arena, err))
        return -1;
    keep_wanted(set, l->wanted);
    if (l->wanted->levels)
        set->levels = arena_alloc(&set->arena, (set->count + 1) * sizeof(*set->levels));
    for (size_t i = 0; set->levels && i < set->count; i++) {
        if (history_levels(&set->levels[i], set, i, l->store, &set->arena, err))
            return -1;
    }
    return 0;
}

int history_load(struct history_set *out, struct store *store, const struct history_wanted *wanted,
                 const char *epochs_path, struct error *err)
{
    struct history_set set = {0};
    struct loading l = {.store = store, .set = &set, .wanted = wanted};
    int status = load_all(&l, epochs_path, err);
    arena_free(&l.arena);
    if (status) {
        arena_free(&set.arena);
        return -1;
    }
    *out = set;
    return 0;
}

void history_free(struct history_set *set)
{
    arena_free(&set->arena);
    memset(set, 0, sizeof(*set));
}

// ---- what is kept, for the report of a run ----

static size_t place_of(const struct history *shown, const char *commit)
{
    size_t i = 0;
    while (i < shown->count && strcmp(shown->points[i].commit, commit) != 0)
        i++;
    return i;
}

int history_marks(struct report_change **out, size_t *count, struct store *store,
                  const struct series *series, const struct history *shown, struct arena *arena,
                  struct error *err)
{
    struct judgement kept = {0};
    if (store_load_judgement(&kept, store, series, arena, err))
        return -1;
    *out = arena_alloc(arena, (kept.change_count + 1) * sizeof(**out));
    *count = 0;
    for (size_t i = 0; history_kept_believed(&kept) && i < kept.change_count; i++) {
        const struct history_change *c = &kept.changes[i];
        const size_t at = place_of(shown, c->at.id);
        if (!c->newest && at > 0 && at < shown->count)
            (*out)[(*count)++] =
                (struct report_change){at, c->change.size.value, c->change.evidence};
    }
    return 0;
}
