// SPDX-License-Identifier: Apache-2.0
//
// Each thread reads with a handle of its own and holds one series' points at a time; what is new
// waits for a transaction that saves many. What all of them need (the controls, the commits) is
// read by whoever needs it first.
#include "ci/history/loading.h"

#include "ci/history/links_kept.h"
#include "ci/settings/together.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAVED_AT_ONCE = 64, // a transaction each: other writers wait no longer than that takes
    WORTH_A_THREAD = 16 // series
};

// What threads share is touched by one at a time, who has the lock.
struct sharing {
    struct loading *all;
    pthread_mutex_t lock;
    size_t next; // series
    int status;
    struct error why; // of status -1
};

struct loader {
    struct sharing *sharing;
    struct loading *all;
    struct store *store;
    struct history_kept waiting[SAVED_AT_ONCE]; // to be saved
    const struct series_entry *waiting_for[SAVED_AT_ONCE];
    size_t waiting_count;
    struct kept_links links[SAVED_AT_ONCE]; // to be saved too
    const struct series_entry *links_for[SAVED_AT_ONCE];
    size_t links_count;
    struct arena arena; // of what waits
    struct arena found; // the set's in the end
};

// ---- saving ----

static int save_waiting(struct loader *l, struct error *err)
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

static void save(struct loader *l)
{
    struct error err;
    pthread_mutex_lock(&l->sharing->lock);
    if (!l->all->refused && (l->waiting_count || l->links_count) && save_waiting(l, &err)) {
        fprintf(stderr, "plumb: %s; what was judged is not kept\n", err.text);
        l->all->refused = true;
    }
    pthread_mutex_unlock(&l->sharing->lock);
    l->waiting_count = l->links_count = 0;
    arena_free(&l->arena);
}

// The set's changes are attributed later; what is kept is the series' own.
static void keep(struct loader *l, const struct history_kept *kept,
                 const struct series_entry *entry)
{
    struct history_kept *now = &l->waiting[l->waiting_count];
    *now = *kept;
    struct judgement *j = &now->judgement;
    j->changes = arena_copy(&l->arena, j->changes, j->change_count * sizeof(*j->changes));
    l->waiting_for[l->waiting_count++] = entry;
    if (l->waiting_count == SAVED_AT_ONCE)
        save(l);
}

// ---- what all need ----

// The device's controls are read once for all of its series. The lock is the caller's.
static int find_common_mode(const struct common_mode **out, struct loader *l, const char *uuid,
                            struct error *err)
{
    struct history_set *set = l->all->set;
    for (size_t i = 0; i < set->device_count; i++) {
        if (strcmp(set->common[i].device_uuid, uuid) == 0) {
            *out = &set->common[i];
            return 0;
        }
    }
    const struct history_query query = {.limit = l->all->wanted->points,
                                        .toolchain = l->all->wanted->toolchain};
    if (history_common_mode(&set->common[set->device_count], l->store, l->all->entries, set->known,
                            uuid, &query, &set->arena, err))
        return -1;
    *out = &set->common[set->device_count++];
    return 0;
}

static int common_mode_of(const struct common_mode **out, struct loader *l, const char *uuid,
                          struct error *err)
{
    pthread_mutex_lock(&l->sharing->lock);
    const int status = find_common_mode(out, l, uuid, err);
    pthread_mutex_unlock(&l->sharing->lock);
    return status;
}

static int read_places(struct loader *l, struct error *err)
{
    struct history_set *set = l->all->set;
    pthread_mutex_lock(&l->sharing->lock);
    const int status = store_commit_places(&set->places, l->store, &set->arena, err);
    pthread_mutex_unlock(&l->sharing->lock);
    return status;
}

// ---- one series ----

static int judge(struct series_history *s, struct history_kept *kept, struct loader *l,
                 const struct series_entry *entry, const struct history_options *options,
                 struct arena *scratch, struct error *err)
{
    const struct common_mode *common;
    if (common_mode_of(&common, l, entry->device_uuid, err) ||
        history_kept_judge(s, kept, l->store, entry, common, options, l->all->newest_key, scratch,
                           &l->found, err))
        return -1;
    if (options->keeps)
        keep(l, kept, entry);
    return 0;
}

// The same is said whether it is kept or not.
static int load_links(struct series_history *s, struct loader *l, const struct series_entry *entry,
                      struct arena *scratch, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const char *accepted = s->epoch ? s->epoch->commit : NULL;
    const struct commit_places *places = &l->all->set->places;
    struct linked_levels levels;
    int64_t newest;
    if (store_newest_link(&newest, l->store, &series, err))
        return -1;
    if (newest == 0)
        return 0;
    if (read_places(l, err))
        return -1;
    if (!l->all->wanted->keeps)
        return history_links(&s->linked, &levels, l->store, places, &series, accepted, &l->found,
                             scratch, err);
    struct kept_links *fresh = &l->links[l->links_count];
    if (history_links_kept(&s->linked, fresh, l->store, places, &series, accepted, &l->found,
                           &l->arena, err))
        return -1;
    if (fresh->size == 0)
        return 0;
    l->links_for[l->links_count++] = entry;
    if (l->links_count == SAVED_AT_ONCE)
        save(l);
    return 0;
}

static int load_one(struct loader *l, size_t index, struct error *err)
{
    struct history_set *set = l->all->set;
    const struct history_wanted *wanted = l->all->wanted;
    const struct series_entry *entry = &l->all->entries[index];
    struct series_history *s = &set->series[index];
    struct history_options options = history_defaults;
    struct history_kept kept = {0};
    struct arena scratch = {0};
    bool found = false;
    int status = 0;
    options.epochs = &set->epochs;
    options.keeps = wanted->keeps;
    options.query = (struct history_query){.limit = wanted->points,
                                           .comparisons = wanted->comparisons,
                                           .toolchain = wanted->toolchain};
    if (options.keeps)
        status = history_kept_find(s, &kept, &found, l->store, entry, &options, &scratch, &l->found,
                                   err);
    if (status == 0 && !found)
        status = judge(s, &kept, l, entry, &options, &scratch, err);
    if (status == 0 && !wanted->toolchain) // links are the history of the default's codes
        status = load_links(s, l, entry, &scratch, err);
    if (status == 0) {
        if (wanted->accuracy && history_selects(wanted, entry))
            accuracy_history_add(wanted->accuracy, s->series, &s->stored);
        history_forget(s);
        if (set->judgements)
            set->judgements[index] = kept.judgement;
    }
    arena_free(&scratch);
    return status;
}

// ---- all ----

// False: there is none left, or a thread failed.
static bool take(struct sharing *sharing, size_t *index)
{
    pthread_mutex_lock(&sharing->lock);
    const bool left = sharing->status == 0 && sharing->next < sharing->all->set->known;
    *index = sharing->next;
    sharing->next += left;
    pthread_mutex_unlock(&sharing->lock);
    return left;
}

static void load_some(void *context)
{
    struct loader *l = context;
    struct error err;
    size_t index;
    while (take(l->sharing, &index)) {
        if (load_one(l, index, &err) == 0)
            continue;
        pthread_mutex_lock(&l->sharing->lock);
        l->sharing->status = -1;
        l->sharing->why = err;
        pthread_mutex_unlock(&l->sharing->lock);
        return;
    }
    save(l);
}

int loading_series(struct loading *all, struct error *err)
{
    struct sharing sharing = {.all = all, .lock = PTHREAD_MUTEX_INITIALIZER};
    void *contexts[TOGETHER_MOST];
    struct error alone; // why there is no second handle: then one does all
    // Accuracy is collected in the order of the series.
    const size_t most =
        all->wanted->accuracy ? 1 : together_threads(all->set->known, WORTH_A_THREAD);
    struct loader *loaders = xcalloc(most, sizeof(*loaders));
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        struct loader *l = &loaders[i];
        *l = (struct loader){.sharing = &sharing, .all = all, .store = all->store};
        if (i && store_open_beside(&l->store, all->store, &alone))
            break;
        contexts[count++] = l;
    }
    together(load_some, contexts, count);
    for (size_t i = 0; i < count; i++) {
        arena_adopt(&all->set->arena, &loaders[i].found);
        arena_free(&loaders[i].arena);
        if (i)
            store_close(loaders[i].store);
    }
    free(loaders);
    pthread_mutex_destroy(&sharing.lock);
    all->set->count = all->set->known;
    if (sharing.status)
        *err = sharing.why;
    return sharing.status;
}
