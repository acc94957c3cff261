// SPDX-License-Identifier: Apache-2.0
//
// From a store to the history of its series. All are read also where some are wanted: whose a
// change is follows from what the others did.
#include "ci/history/load.h"
#include "ci/history/epochs_file.h"
#include "ci/history/links_kept.h"
#include "ci/history/loading.h"
#include "ci/settings/epochs_line.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- which series ----

static bool matches(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text, 0) == 0;
}

bool history_selects(const struct history_wanted *w, const struct series_entry *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    return matches(w->kernel, s->kernel) && matches(w->problem, problem) &&
           (matches(w->device, s->device_uuid) || matches(w->device, s->device_name));
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

// ---- all ----

static void keep_wanted(struct history_set *set, const struct history_wanted *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct series_history *s = &set->series[i];
        if (!history_selects(wanted, s->series) || (wanted->toolchain && s->stored.count == 0))
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
    if (l->wanted->repository &&
        epochs_on_line(&set->epochs, l->wanted->repository, "HEAD", &set->arena, err))
        return -1;
    if (store_newest_key(&l->newest_key, l->store, err) ||
        store_list_series(&entries, &set->known, l->store, &set->arena, err))
        return -1;
    l->entries = entries;
    set->series = arena_alloc(&set->arena, set->known * sizeof(*set->series));
    set->common = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->common));
    if (l->wanted->keeps)
        set->judgements = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->judgements));
    if (loading_series(l, err))
        return -1;
    history_attribute(set->series, set->count);
    if (l->wanted->accuracy)
        accuracy_history_settle(l->wanted->accuracy);
    if (!l->wanted->toolchain &&
        history_devices(set->series, set->count, l->store, &set->arena, err))
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
    if (load_all(&l, epochs_path, err)) {
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
