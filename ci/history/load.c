// SPDX-License-Identifier: Apache-2.0
//
// Reads the history of a store's series. All series are read even if only some are wanted, because
// the cause of a change depends on what the others did.
#include "ci/history/load.h"

#include "ci/history/history.h"
#include "ci/settings/epochs.h"
#include "model/base.h"
#include "model/history/drift.h"
#include "model/robust.h"
#include "reports/charts/charts.h"
#include "reports/report.h"
#include "runner/git/repository.h"

#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ==== the same work on several threads ====
//
// Threads that work on a list of jobs.

size_t together_threads(size_t jobs, size_t least)
{
    cpu_set_t ours;
    size_t count = jobs / least;
    const size_t processors =
        sched_getaffinity(0, sizeof(ours), &ours) == 0 ? (size_t)CPU_COUNT(&ours) : 1;
    count = count < processors ? count : processors;
    count = count < TOGETHER_MOST ? count : TOGETHER_MOST;
    return count ? count : 1;
}

struct job {
    void (*work)(void *context);
    void *context;
};

static void *begin(void *argument)
{
    const struct job *part = argument;
    part->work(part->context);
    return NULL;
}

void together(void (*work)(void *context), void *const *contexts, size_t count)
{
    pthread_t threads[TOGETHER_MOST];
    struct job parts[TOGETHER_MOST];
    bool started[TOGETHER_MOST] = {false};
    assert(count <= TOGETHER_MOST);
    for (size_t i = 1; i < count; i++) {
        parts[i] = (struct job){work, contexts[i]};
        started[i] = pthread_create(&threads[i], NULL, begin, &parts[i]) == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!started[i])
            work(contexts[i]);
    }
    for (size_t i = 1; i < count; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
    }
}

// ==== loading ====

// A code's stay on the line, from one commit to another; keys of the store.
struct stay {
    int64_t code, before; // before: the code before it; 0: not known
    size_t at, base;      // at: the commit that it came with; base: the newest commit with the code
                          // before it
    size_t last;          // the newest commit that is known to have it
};

// A kernel that was found on the line, and its present stay.
struct met {
    int64_t kernel;
    size_t newest, stay; // newest: its newest commit with a known build
};

// HEAD and its first parents, the commits that any branch or tag reaches, and the codes on the
// line.
struct head_line {
    struct commit *items; // newest first
    struct id_index names;
    size_t count;            // 0: there is no repository
    bool whole;              // the last one is a root
    struct id_index reached; // filled when it is first needed
    bool asked;
    struct stay *stays; // sorted by code, newest first
    size_t stay_count;
    struct met *met; // the kernels on the line
    size_t met_count;
};

struct loading {
    struct store *store;
    struct head_line line;
    struct history_set *set; // has room for all of `entries`
    const struct history_wanted *wanted;
    const struct series_entry *entries; // set->known is their number
    int64_t newest_key;                 // measurements with larger keys are not read
    struct told_alone *told;            // sorted by series
    size_t told_count;
    bool refused; // the store could not be written
};

// ---- a device that replaced another ----

// Finds devices that replaced others. A series is a kernel on a problem on a device, so a replaced
// device begins new series. A break says that their times belong to another device, and by how much
// they moved. A device replaced another one if it has the same kind and model name and was first
// measured after the other's last run. Devices that are measured side by side or in turns do not
// replace each other. Another model is other hardware and is not compared. The size is the trimmed
// mean log time of the series' first points less that of the last points on the other device, each
// only up to the next change of level. Its interval is three standard errors (99 % for ten points
// on either side), widened for serial correlation r, as in an AR(1) process, by (1 + r) / (1 - r).
// It also includes any commit between the two, and the time that passed.

enum { POINTS = 10, POINTS_FEWEST = 5 };

// The last one of the devices that stopped before this one began. NULL: there is none.
static const struct device_entry *taken_over(const struct device_entry *devices, size_t count,
                                             const struct device_entry *later)
{
    const struct device_entry *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct device_entry *d = &devices[i];
        if (d != later && d->last_s < later->first_s && strcmp(d->kind, later->kind) == 0 &&
            strcmp(d->name, later->name) == 0 && (!found || d->last_s > found->last_s))
            found = d;
    }
    // If several devices began after the old one's end, only the first of them replaced it.
    for (size_t i = 0; found && i < count; i++) {
        const struct device_entry *d = &devices[i];
        if (d != later && d->first_s > found->last_s && d->first_s < later->first_s &&
            strcmp(d->kind, later->kind) == 0 && strcmp(d->name, later->name) == 0)
            return NULL;
    }
    return found;
}

static struct series_history *find_series(struct series_history *all, size_t count,
                                          const char *uuid, const struct series_entry *like)
{
    for (size_t i = 0; i < count; i++) {
        const struct series_entry *e = all[i].series;
        if (strcmp(e->device_uuid, uuid) == 0 && strcmp(e->kernel, like->kernel) == 0 &&
            problem_equal(&e->problem, &like->problem))
            return &all[i];
    }
    return NULL;
}

// ---- the two levels ----

static int read_end(struct stored_points *out, struct store *store, const struct series_entry *like,
                    const char *uuid, bool oldest, struct arena *arena, struct error *err)
{
    const struct series series = {like->kernel, &like->problem, uuid};
    const struct history_query query = {.limit = POINTS, .oldest = oldest};
    return store_points(out, store, &series, &query, arena, err);
}

static struct robust_mean level_of(const struct stored_points *stored, size_t first, size_t end,
                                   double correlation)
{
    double work[POINTS];
    double r = correlation > 0 ? fmin(correlation, 0.9) : 0;
    for (size_t i = first; i < end; i++)
        work[i - first] = log(stored->points[i].time_ns);
    struct robust_mean level = robust_mean(work, end - first);
    level.se *= sqrt((1 + r) / (1 - r));
    return level;
}

// Measures the size: from the newest points on the other device after its last change, and the
// first ones here before the first change. `before` NULL: the other series' changes are not known.
static void measure(struct history_break *out, const struct series_history *before,
                    const struct stored_points *last, const struct series_history *after,
                    const struct stored_points *first)
{
    size_t from = 0, end = first->count;
    if (before && before->change_count) {
        size_t index = before->changes[before->change_count - 1].change.index;
        size_t skipped = before->stored.count - last->count;
        from = index > skipped ? index - skipped : 0;
    }
    if (after->change_count && after->changes[0].change.index < end)
        end = after->changes[0].change.index;
    out->size = interval_none;
    if (from > last->count || last->count - from < POINTS_FEWEST || end < POINTS_FEWEST)
        return;
    struct robust_mean a = level_of(last, from, last->count, before ? before->correlation : 0);
    struct robust_mean b = level_of(first, 0, end, after->correlation);
    out->size = interval_about(b.mean - a.mean, 3 * hypot(a.se, b.se));
}

// ---- the break ----

// Puts the break before all others, because it lies before the first point.
static void put_first(struct series_history *s, const struct history_break *first,
                      struct arena *keep)
{
    struct history_break *breaks = arena_alloc(keep, (s->break_count + 1) * sizeof(*breaks));
    breaks[0] = *first;
    if (s->break_count)
        memcpy(breaks + 1, s->breaks, s->break_count * sizeof(*breaks));
    s->breaks = breaks;
    s->break_count++;
}

// The name of the break; a new device often comes with a new driver.
static const char *name_of(const struct series_history *after, const char *uuid,
                           const struct stored_point *last, const struct stored_point *first,
                           struct arena *keep)
{
    const char *what = arena_printf(keep, "device %s %s -> %s", after->series->device_name, uuid,
                                    after->series->device_uuid);
    if (*last->driver && *first->driver && strcmp(last->driver, first->driver) != 0)
        what = arena_printf(keep, "%s, driver %s -> %s", what, last->driver, first->driver);
    if (*last->runtime && *first->runtime && strcmp(last->runtime, first->runtime) != 0)
        what = arena_printf(keep, "%s, runtime %s -> %s", what, last->runtime, first->runtime);
    return what;
}

static int add_takeover(struct series_history *after, const char *uuid,
                        struct series_history *before, struct store *store, struct arena *keep,
                        struct error *err)
{
    struct arena scratch = {0};
    struct stored_points last, first;
    int status = -1;
    if (read_end(&last, store, after->series, uuid, false, &scratch, err) ||
        read_end(&first, store, after->series, after->series->device_uuid, true, &scratch, err))
        goto done;
    status = 0;
    if (last.count && first.count) {
        const struct stored_point *newest = &last.points[last.count - 1], *oldest = first.points;
        struct history_break b = {.device = true,
                                  .at = {.time_s = oldest->time_s},
                                  .what = name_of(after, uuid, newest, oldest, keep)};
        memcpy(b.at.id, oldest->commit, sizeof(b.at.id));
        measure(&b, before, &last, after, &first);
        put_first(after, &b, keep);
        if (before)
            before->replaced_by = after->series->device_uuid;
    }
done:
    arena_free(&scratch);
    return status;
}

// Adds breaks for devices that replaced others, before the first points of their series, and notes
// in the other series that they were replaced. Reads the few points on either side.
static int history_devices(struct series_history *all, size_t count, struct store *store,
                           struct arena *keep, struct error *err)
{
    struct device_entry *devices;
    size_t device_count;
    if (store_list_devices(&devices, &device_count, store, keep, err))
        return -1;
    for (size_t d = 0; d < device_count; d++) {
        const struct device_entry *replaced = taken_over(devices, device_count, &devices[d]);
        for (size_t i = 0; replaced && i < count; i++) {
            if (strcmp(all[i].series->device_uuid, devices[d].uuid) == 0 &&
                add_takeover(&all[i], replaced->uuid,
                             find_series(all, count, replaced->uuid, all[i].series), store, keep,
                             err))
                return -1;
        }
    }
    return 0;
}

static bool matches(const char *glob, const char *text)
{
    return !glob || fnmatch(glob, text, 0) == 0;
}

bool history_selects(const struct history_wanted *w, const struct series_entry *s)
{
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    return matches(w->kernel, s->kernel) &&
           (matches(w->problem, problem) || problem_is_named(&s->problem, w->problem)) &&
           (matches(w->device, s->device_uuid) || matches(w->device, s->device_name));
}

// ---- one pass over all series ----

// Each thread has its own handle of the store and holds one series' points at a time. New results
// wait until a transaction saves many of them. What all threads need (the controls, the commits) is
// read by the first thread that needs it.

enum {
    SAVED_AT_ONCE = 64, // results in one transaction, so that other writers do not wait long
    WORTH_A_THREAD = 16 // in series
};

// Shared data of the threads. A thread may only touch it while it holds the lock.
struct sharing {
    struct loading *all;
    pthread_mutex_t lock;
    size_t next; // index of the next series
    int status;
    struct error why; // the error, if status is -1
};

struct loader {
    struct sharing *sharing;
    struct loading *all;
    struct store *store;
    struct history_kept waiting[SAVED_AT_ONCE]; // not saved yet
    const struct series_entry *waiting_for[SAVED_AT_ONCE];
    size_t waiting_count;
    struct kept_links links[SAVED_AT_ONCE]; // not saved yet
    const struct series_entry *links_for[SAVED_AT_ONCE];
    size_t links_count;
    struct arena arena; // for what is not saved yet
    struct arena found; // becomes the set's in the end
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

// Keeps a series' judgement. The cause of a change is found later for all series together; the
// series' own part is kept.
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

// Keeps the levels in the store, without the effect of HEAD's line of commits, which is only used
// for this report.
static void keep_links(struct loader *l, const struct kept_links *kept,
                       const struct series_entry *entry)
{
    struct linked_history *h = &l->links[l->links_count].history;
    l->links[l->links_count] = *kept;
    h->changes = arena_copy(&l->arena, h->changes, h->change_count * sizeof(*h->changes));
    l->links_for[l->links_count++] = entry;
    if (l->links_count == SAVED_AT_ONCE)
        save(l);
}

// ---- what all threads need ----

// Reads a device's controls once for all of its series. The caller holds the lock.
static int find_common_mode(const struct control_shifts **out, struct loader *l, const char *uuid,
                            struct error *err)
{
    struct history_set *set = l->all->set;
    for (size_t i = 0; i < set->device_count; i++) {
        if (strcmp(set->common[i].device_uuid, uuid) == 0) {
            *out = &set->common[i];
            return 0;
        }
    }
    const struct history_query query = {.places = &set->points,
                                        .limit = l->all->wanted->points,
                                        .toolchain = l->all->wanted->toolchain};
    if (history_common_mode(&set->common[set->device_count], l->store, l->all->entries, set->known,
                            uuid, &query, &set->arena, err))
        return -1;
    *out = &set->common[set->device_count++];
    return 0;
}

static int common_mode_of(const struct control_shifts **out, struct loader *l, const char *uuid,
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
    const struct control_shifts *common;
    if (common_mode_of(&common, l, entry->device_uuid, err) ||
        history_kept_judge(s, kept, l->store, entry, common, options, l->all->newest_key, scratch,
                           &l->found, err))
        return -1;
    if (options->keeps)
        keep(l, kept, entry);
    return 0;
}

// ---- the codes of the line ----

// A link compares two codes, and was measured at some commit. Its change is reported where the line
// of HEAD has these codes: a merge, a squash or a rebase brings what a branch measured. If the line
// does not have them, the change stays with its branch until the line has merged the branch. If no
// branch and no tag has it, it counts nowhere.

enum { LINE_MOST = 4096, LOOKED_AT = 1024 };

static void read_line(struct loading *l)
{
    struct head_line *line = &l->line;
    const struct repository *repository = l->wanted->repository;
    struct arena *arena = &l->set->arena;
    struct commit at;
    struct error edge;
    if (!repository || repository_commit(&at, repository, "HEAD", arena, &edge))
        return;
    line->items = arena_alloc(arena, LINE_MOST * sizeof(*line->items));
    while (line->count < LINE_MOST) {
        line->items[line->count++] = at;
        line->whole = !at.parent[0];
        if (line->whole || repository_parent(&at, repository, &at, arena, &edge))
            break;
    }
    line->names = id_index(line->items->id, sizeof(*line->items), line->count, arena);
}

// The place of a commit on the line; SIZE_MAX: it is not there.
static size_t place_on(const struct head_line *line, const char *id)
{
    return id_find(&line->names, id);
}

// Whether any branch or tag reaches the commit. Read once, when it is first needed.
static bool is_reached(struct loading *l, const char *id)
{
    struct head_line *line = &l->line;
    const struct commit_selection all = {.range = "ALL"};
    struct commit_list list;
    struct error none;
    if (!line->asked &&
        repository_select(&list, l->wanted->repository, &all, &l->set->arena, &none) == 0)
        line->reached = id_index(list.items->id, sizeof(*list.items), list.count, &l->set->arena);
    line->asked = true;
    return id_find(&line->reached, id) != SIZE_MAX;
}

static bool is_in_repository(struct loading *l, const char *id, struct arena *scratch)
{
    struct commit found;
    struct error none;
    return repository_commit(&found, l->wanted->repository, id, scratch, &none) == 0;
}

// Keeps only runs of the line, so that a series' present code is one that a run of the line found.
// A store without such runs belongs to another repository, and all its runs count.
static void keep_line_runs(struct commit_places *places, const struct head_line *line)
{
    size_t kept = 0;
    for (size_t i = 0; i < places->run_count; i++) {
        const struct commit_place *at = commit_place_find(places, places->runs[i].commit);
        if (at && place_on(line, at->id) != SIZE_MAX) {
            const struct line_run run = places->runs[i];
            places->runs[i] = places->runs[kept];
            places->runs[kept++] = run;
        }
    }
    places->line = kept > 0;
    places->run_count = kept ? kept : places->run_count;
}

static int by_stay(const void *left, const void *right)
{
    const struct stay *a = left, *b = right;
    return a->code != b->code ? (a->code > b->code) - (a->code < b->code)
                              : (a->at > b->at) - (a->at < b->at);
}

struct stays {
    struct stay *items;
    struct met *met;
    size_t count, room, met_count, met_room;
};

// Finds a kernel. Kernels mostly come in the same order as at the commit before.
static struct met *meet(struct stays *s, int64_t kernel, size_t likely, size_t at)
{
    if (likely < s->met_count && s->met[likely].kernel == kernel)
        return &s->met[likely];
    for (size_t k = 0; k < s->met_count; k++) {
        if (s->met[k].kernel == kernel)
            return &s->met[k];
    }
    s->met = xgrow(s->met, s->met_count, &s->met_room, sizeof(*s->met));
    s->met[s->met_count] = (struct met){kernel, at, SIZE_MAX};
    return &s->met[s->met_count++];
}

// Adds a commit to the stays. The line is followed from its newest commit back; at this older one
// the kernel had this code.
static void go_on(struct stays *s, struct met *m, int64_t code, size_t at)
{
    struct stay *now = m->stay == SIZE_MAX ? NULL : &s->items[m->stay];
    if (now && now->code == code) {
        now->at = at;
        return;
    }
    if (now) {
        now->before = code;
        now->base = at;
    }
    m->stay = s->count;
    s->items = xgrow(s->items, s->count, &s->room, sizeof(*s->items));
    s->items[s->count++] = (struct stay){code, 0, at, SIZE_MAX, at};
}

// Reads the code of each kernel at the commits of the line, as far as their builds are known.
static int read_stays(struct head_line *line, struct store *store, struct arena *keep,
                      struct error *err)
{
    struct stays s = {0};
    struct arena arena = {0};
    struct code_at *codes = NULL;
    size_t count = 0, first = 0;
    const size_t looked_at = line->count < LOOKED_AT ? line->count : LOOKED_AT;
    int status = store_codes_at(&codes, &count, store, line->items, looked_at, &arena, err);
    for (size_t i = 0; status == 0 && i < count; i++) {
        first = codes[i].at == codes[first].at ? first : i;
        go_on(&s, meet(&s, codes[i].kernel, i - first, codes[i].at), codes[i].code, codes[i].at);
    }
    if (s.count)
        qsort(s.items, s.count, sizeof(*s.items), by_stay);
    line->stays = arena_copy(keep, s.items, s.count * sizeof(*s.items));
    line->stay_count = s.count;
    line->met = arena_copy(keep, s.met, s.met_count * sizeof(*s.met));
    line->met_count = s.met_count;
    free(s.items);
    free(s.met);
    arena_free(&arena);
    return status;
}

// The newest commit of the line at which the kernel's code is known; SIZE_MAX: there is none.
static size_t newest_known(const struct head_line *line, int64_t kernel)
{
    for (size_t k = 0; k < line->met_count; k++) {
        if (line->met[k].kernel == kernel)
            return line->met[k].newest;
    }
    return SIZE_MAX;
}

static struct history_commit as_history(const struct commit *commit)
{
    struct history_commit out = {.time_s = commit->time_s};
    text_copy(out.id, sizeof(out.id), commit->id);
    return out;
}

// ---- points by ancestry ----

// Times are treated like links: a time measured on a branch counts where the line has its code, and
// nowhere as long as the line does not have it. Before the known part of the line, dates decide.

static bool is_stray(const struct head_line *line, const struct commit_place *at)
{
    return place_on(line, at->id) == SIZE_MAX &&
           (line->whole || at->time_s > line->items[line->count - 1].time_s);
}

// Finds the commit for a code at a time: in the stay that had begun by then (or else the first
// one), the newest commit that is not later. Stays of a code are newest first.
static const struct commit *commit_of(const struct head_line *line, int64_t code, int64_t time_s)
{
    const struct stay *found = NULL;
    for (size_t i = 0; i < line->stay_count; i++) {
        const struct stay *s = &line->stays[i];
        if (s->code == code && !(found && line->items[found->at].time_s <= time_s))
            found = s;
    }
    size_t at = found ? found->last : 0;
    while (found && at < found->at && line->items[at].time_s > time_s)
        at++;
    return found ? &line->items[at] : NULL;
}

struct strays {
    struct point_place *items;
    size_t count, room;
};

static int place_head(struct strays *out, const struct timed_head *head,
                      const struct head_line *line, const struct commit_place *measured,
                      struct store *store, struct error *err)
{
    const struct commit *there = commit_of(line, head->code, measured->time_s);
    struct point_place place = {.series = head->series, .measurement = head->measurement};
    if (there && store_commit_order(&place.time_s, store, there, err))
        return -1;
    if (there)
        text_copy(place.commit, sizeof(place.commit), there->id);
    out->items = xgrow(out->items, out->count, &out->room, sizeof(*out->items));
    out->items[out->count++] = place;
    return 0;
}

static int by_point(const void *left, const void *right)
{
    const struct point_place *a = left, *b = right;
    return a->series != b->series
               ? (a->series > b->series) - (a->series < b->series)
               : (a->measurement > b->measurement) - (a->measurement < b->measurement);
}

// Places points. A store that no run of the line has filled belongs to another repository.
static int place_points(struct loading *l, struct error *err)
{
    struct history_set *set = l->set;
    struct strays strays = {0};
    struct arena arena = {0};
    int status = read_stays(&l->line, l->store, &set->arena, err);
    for (size_t i = 0; status == 0 && i < set->places.count; i++) {
        const struct commit_place *at = &set->places.items[i];
        struct timed_head *heads = NULL;
        size_t count = 0;
        if (!is_stray(&l->line, at))
            continue;
        status = store_timed_heads(&heads, &count, l->store, at->key, &arena, err);
        for (size_t k = 0; status == 0 && k < count; k++)
            status = place_head(&strays, &heads[k], &l->line, at, l->store, err);
    }
    if (strays.count)
        qsort(strays.items, strays.count, sizeof(*strays.items), by_point);
    set->points.items = arena_copy(&set->arena, strays.items, strays.count * sizeof(*strays.items));
    set->points.count = strays.count;
    free(strays.items);
    arena_free(&arena);
    return status;
}

static int read_line_of_store(struct loading *l, struct error *err)
{
    read_line(l);
    if (!l->line.count)
        return 0;
    if (store_commit_places(&l->set->places, l->store, &l->set->arena, err))
        return -1;
    keep_line_runs(&l->set->places, &l->line);
    return l->set->places.line ? place_points(l, err) : 0;
}

// ---- changes by ancestry ----

struct placing {
    struct loading *all;
    struct store *store;
    struct linked_history *linked;
    struct linked_change *items; // the changes that are reported
    size_t count, room;
    struct arena *arena;
};

static bool is_told(const struct placing *p, const char *at)
{
    for (size_t i = 0; i < p->count; i++) {
        if (strcmp(p->items[i].at.id, at) == 0)
            return true;
    }
    return false;
}

static void tell(struct placing *p, const struct linked_change *c)
{
    p->items = xgrow(p->items, p->count, &p->room, sizeof(*p->items));
    p->items[p->count++] = *c;
}

// Whether a change lies before the known part of the line.
static bool is_behind(struct placing *p, const struct linked_change *c)
{
    const struct head_line *line = &p->all->line;
    return !line->whole && (!is_in_repository(p->all, c->at.id, p->arena) ||
                            repository_descends(p->all->wanted->repository,
                                                line->items[line->count - 1].id, c->at.id));
}

// Whether a change on a branch still belongs to the branch's report: the main line has not merged
// the branch yet. `newest`: see newest_known().
static bool is_open_aside(struct loading *l, const char *at, size_t newest)
{
    return is_reached(l, at) &&
           (newest == SIZE_MAX ||
            !repository_descends(l->wanted->repository, l->line.items[newest].id, at));
}

static void tell_aside(struct placing *p, struct linked_change c, size_t newest)
{
    c.aside = true;
    c.left = NAN;
    if (is_open_aside(p->all, c.at.id, newest))
        tell(p, &c);
}

static int was_run(bool *out, struct store *store, const char *commit, struct error *err)
{
    int64_t run;
    const int status = store_commit_run(&run, store, commit, NULL, err);
    *out = status == 0 && run;
    return status;
}

// Whether the line had the code earlier, before this stay.
static bool was_before(const struct head_line *line, const struct stay *s)
{
    bool found = false;
    for (size_t i = 0; i < line->stay_count; i++)
        found |= line->stays[i].code == s->code && line->stays[i].at > s->at;
    return found;
}

// Reports a change wherever the line has its two codes one after the other. A change that was only
// seen in a gate or bisection counts if a plain run measured the code.
static int tell_on_line(struct placing *p, const struct linked_change *c, size_t *found,
                        int64_t from, int64_t to, size_t newest, struct error *err)
{
    const struct head_line *line = &p->all->line;
    const bool here = place_on(line, c->at.id) != SIZE_MAX;
    for (size_t i = 0; i < line->stay_count; i++) {
        const struct stay *s = &line->stays[i];
        struct linked_change there = *c;
        bool ran = true;
        if (s->code != to || s->before != from)
            continue;
        ++*found;
        there.was = here ? NULL : arena_strdup(p->arena, c->at.id);
        there.at = as_history(&line->items[s->at]);
        there.base = as_history(&line->items[s->base]);
        if (c->tried && was_run(&ran, p->store, there.at.id, err))
            return -1;
        if (strcmp(there.at.id, c->at.id) == 0)
            there = *c;
        there.filled = false;
        if (s->last == newest) // the line has it now, whether or not a run measured it there
            there.left = c->size.value;
        there.back = c->alarm ? was_before(line, s) : c->back;
        if (ran && !is_told(p, there.at.id))
            tell(p, &there);
    }
    return 0;
}

static int place_change(struct placing *p, const struct linked_change *c, struct error *err)
{
    const struct head_line *line = &p->all->line;
    const size_t at = place_on(line, c->at.id);
    int64_t kernel, from, to;
    size_t found = 0;
    if (store_link_codes(&kernel, &from, &to, p->store, c->link, err))
        return -1;
    const size_t newest = newest_known(line, kernel);
    if (tell_on_line(p, c, &found, from, to, newest, err))
        return -1;
    if (c->filled)
        return 0;
    const bool stays = at == SIZE_MAX ? !found && is_behind(p, c) : !found || at >= LOOKED_AT;
    if (stays && !c->tried && !is_told(p, c->at.id))
        tell(p, c);
    else if (at == SIZE_MAX && !found && !stays && !c->tried)
        tell_aside(p, *c, newest);
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct linked_change *a = left, *b = right;
    return (a->at.time_s > b->at.time_s) - (a->at.time_s < b->at.time_s);
}

static void end_placing(struct placing *p)
{
    if (p->count)
        qsort(p->items, p->count, sizeof(*p->items), by_time);
    p->linked->changes = arena_copy(p->arena, p->items, p->count * sizeof(*p->items));
    p->linked->change_count = p->count;
    free(p->items);
}

static void drop_unplaced(struct linked_history *linked)
{
    size_t kept = 0;
    for (size_t i = 0; i < linked->change_count; i++) {
        if (!linked->changes[i].tried && !linked->changes[i].filled)
            linked->changes[kept++] = linked->changes[i];
    }
    linked->change_count = kept;
}

// Places all changes of a series. A series none of whose commits the repository knows belongs to
// another repository.
static int place_changes(struct placing *p, struct error *err)
{
    const struct linked_change *changes = p->linked->changes;
    const size_t count = p->linked->change_count;
    bool ours = false;
    int status = 0;
    for (size_t i = 0; p->all->line.count && i < count && !ours; i++)
        ours = is_in_repository(p->all, changes[i].at.id, p->arena) ||
               is_in_repository(p->all, changes[i].base.id, p->arena);
    if (!ours) {
        drop_unplaced(p->linked);
        return 0;
    }
    for (int own = 1; own >= 0; own--) { // first those that were measured there
        for (size_t i = 0; status == 0 && i < count; i++) {
            if (own == (place_on(&p->all->line, changes[i].at.id) != SIZE_MAX))
                status = place_change(p, &changes[i], err);
        }
    }
    end_placing(p);
    return status;
}

// ---- alarms that pairs confirmed ----

// Where codes are not linked one after the other, a code that times alone call slower or faster is
// compared by pairs with the code it was compared with (ci/gate/linking.h), or was in a gate. Such
// a link is a change if a plain run measured the code.

static int take_alarm(struct linked_history *linked, const struct link_fact *link,
                      const struct commit_places *places, struct store *store, struct error *err)
{
    const struct commit_place *head = commit_place_find(places, link->head);
    const struct commit_place *base = commit_place_find(places, link->base);
    struct linked_change *c = &linked->changes[linked->change_count];
    bool ran;
    if (!head || !base || link->back > 0 ||
        (link->kind != VERDICT_SLOWER && link->kind != VERDICT_FASTER))
        return 0;
    if (was_run(&ran, store, head->id, err))
        return -1;
    *c = history_alarm(link);
    c->tried = !ran;
    c->at.time_s = head->time_s;
    c->base.time_s = base->time_s;
    text_copy(c->at.id, sizeof(c->at.id), head->id);
    text_copy(c->base.id, sizeof(c->base.id), base->id);
    linked->change_count++;
    return 0;
}

static int take_alarms(struct linked_history *linked, struct loader *l,
                       const struct series_entry *entry, struct arena *scratch, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    struct link_fact *links;
    size_t count;
    if (linked->neighbours || linked->links == 0)
        return 0;
    if (store_link_facts(&links, &count, l->store, &series, 0, scratch, err))
        return -1;
    linked->changes = arena_alloc(&l->found, (count + 1) * sizeof(*linked->changes));
    linked->change_count = 0;
    for (size_t i = count; i-- > 0;) { // the newest first
        if (take_alarm(linked, &links[i], &l->all->set->places, l->store, err))
            return -1;
    }
    return 0;
}

// Reads the links of a series; kept results and new ones give the same answer.
static int read_links(struct series_history *s, struct linked_levels *levels, struct loader *l,
                      const struct series_entry *entry, struct arena *scratch, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const char *accepted = s->epoch ? s->epoch->commit : NULL;
    const struct commit_places *places = &l->all->set->places;
    struct kept_links kept;
    int64_t newest;
    bool fresh;
    if (store_newest_link(&newest, l->store, &series, err))
        return -1;
    if (newest == 0)
        return 0;
    if (read_places(l, err))
        return -1;
    if (!l->all->wanted->keeps)
        return history_links(&s->linked, levels, l->store, places, &series, accepted, &l->found,
                             scratch, err);
    if (history_links_kept(&kept, levels, &fresh, l->store, places, &series, accepted, &l->found,
                           scratch, err))
        return -1;
    s->linked = kept.history;
    if (fresh)
        keep_links(l, &kept, entry);
    return 0;
}

// *levels: of every code, in `scratch`, where links were gone through.
static int load_links(struct series_history *s, struct linked_levels *levels, struct loader *l,
                      const struct series_entry *entry, struct arena *scratch, struct error *err)
{
    if (read_links(s, levels, l, entry, scratch, err) ||
        take_alarms(&s->linked, l, entry, scratch, err))
        return -1;
    struct placing placing = {
        .all = l->all, .store = l->store, .linked = &s->linked, .arena = &l->found};
    struct sharing *sharing = l->sharing;
    pthread_mutex_lock(&sharing->lock); // only one thread may read the repository
    const int status = place_changes(&placing, err);
    pthread_mutex_unlock(&sharing->lock);
    return status;
}

// ---- changes that only times show ----

// If no link can be made (the policy does not want one, or the code before no longer builds), a
// plain run compares a time with its history (model/history/drift.h). A change reported in this way
// counts wherever the line has that code, as long as all times of the two codes support it by that
// rule. On a branch it counts until the line has merged the branch.

enum { HELD = 400 }; // number of points; change points cover older ones

struct code_level {
    int64_t code;
    double level; // mean log time
    size_t count;
};

struct timed_alone {
    struct loader *l;
    struct series_history *s;
    const struct told_alone *told; // of this series
    size_t told_count;
    struct stored_points points; // the newest points
    struct code_level *levels;   // levels of their codes, sorted by code
    size_t level_count;
    struct linked_change *items; // the changes that are reported
    size_t count, room;
    struct arena *scratch;
};

static int by_code(const void *left, const void *right)
{
    const struct code_level *a = left, *b = right;
    return (a->code > b->code) - (a->code < b->code);
}

static void find_levels(struct timed_alone *t)
{
    struct code_level *levels = arena_alloc(t->scratch, (t->points.count + 1) * sizeof(*levels));
    for (size_t i = 0; i < t->points.count; i++)
        levels[i] =
            (struct code_level){t->points.points[i].code, log(t->points.points[i].time_ns), 1};
    if (t->points.count)
        qsort(levels, t->points.count, sizeof(*levels), by_code);
    t->levels = levels;
    for (size_t i = 0; i < t->points.count; i++) {
        struct code_level *last = t->level_count ? &levels[t->level_count - 1] : NULL;
        if (last && last->code == levels[i].code)
            last->level += (levels[i].level - last->level) / (double)++last->count;
        else
            levels[t->level_count++] = levels[i];
    }
}

// The level of a code; NaN: it has no times.
static double level_of_code(const struct timed_alone *t, int64_t code)
{
    const struct code_level key = {.code = code};
    const struct code_level *found = bsearch(&key, t->levels, t->level_count, sizeof(key), by_code);
    return found ? found->level : NAN;
}

// A history with all points of other codes first, and then those of the code before.
static struct history past_of(const struct timed_alone *t, int64_t before, int64_t code)
{
    struct history h = {.points =
                            arena_alloc(t->scratch, (t->points.count + 1) * sizeof(*h.points))};
    for (int own = 0; own < 2; own++) {
        int64_t last = 0;
        for (size_t i = 0; i < t->points.count; i++) {
            const struct stored_point *p = &t->points.points[i];
            if (p->code == code || (p->code == before) != own)
                continue;
            h.points[h.count++] = (struct history_point){.time_ns = p->time_ns,
                                                         .same_code = p->code && p->code == last};
            last = p->code;
        }
    }
    return h;
}

static void tell_alone(struct timed_alone *t, const struct linked_change *change)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->items[i].at.id, change->at.id) == 0)
            return;
    }
    t->items = xgrow(t->items, t->count, &t->room, sizeof(*t->items));
    t->items[t->count++] = *change;
}

// The level of the points from index `from` on; NaN if they are too few to show a single outlier.
static double level_from(const struct timed_alone *t, size_t from)
{
    enum { FEWEST = 3 };
    const size_t count = t->points.count - from;
    double *work = arena_alloc(t->scratch, (count + 1) * sizeof(*work));
    for (size_t i = 0; i < count; i++)
        work[i] = log(t->points.points[from + i].time_ns);
    return count < FEWEST ? NAN : robust_median(work, count);
}

// Tests a change by all times of the two codes. `newest` is the series' present code; `from` its
// first point since. A single slow time is reverted when most of the later times are normal, and
// stays so.
static void hold_codes(struct timed_alone *t, struct linked_change change, int64_t before,
                       int64_t code, int64_t newest, size_t from)
{
    const struct drift_policy policy = drift_policy_default(t->told->device_kind);
    const struct history past = past_of(t, before, code);
    double *times_ns = arena_alloc(t->scratch, (t->points.count + 1) * sizeof(*times_ns));
    struct verdict v;
    size_t count = 0;
    for (size_t i = 0; i < t->points.count; i++) {
        if (t->points.points[i].code == code)
            times_ns[count++] = t->points.points[i].time_ns;
    }
    drift_hold(&v, &past, times_ns, count, false, &policy);
    if (v.kind != VERDICT_SLOWER && v.kind != VERDICT_FASTER)
        return;
    const double level = level_of_code(t, before);
    const double now = level_of_code(t, newest) - level, since = level_from(t, from) - level;
    change.size = v.log_ratio;
    change.left = v.log_ratio.value > 0 ? fmin(now, since) : fmax(now, since);
    tell_alone(t, &change);
}

// The line's present code, if it has a time; else that of the newest point.
static int64_t newest_code(const struct timed_alone *t)
{
    const struct head_line *line = &t->l->all->line;
    const size_t newest = newest_known(line, t->told->kernel);
    for (size_t i = 0; newest != SIZE_MAX && i < line->stay_count; i++) {
        if (line->stays[i].last == newest && isfinite(level_of_code(t, line->stays[i].code)))
            return line->stays[i].code;
    }
    return t->points.points[t->points.count - 1].code;
}

// The stay before this one: the nearest earlier stay whose code has a time. NULL: there is none.
static const struct stay *stay_before(const struct timed_alone *t, const struct stay *after)
{
    const struct head_line *line = &t->l->all->line;
    const struct stay *found = NULL;
    for (size_t i = 0; i < line->stay_count; i++) {
        const struct stay *s = &line->stays[i];
        if (s->code != after->code && s->at > after->at && (!found || s->at < found->at) &&
            isfinite(level_of_code(t, s->code)))
            found = s;
    }
    return found;
}

// The first point that counts at this commit of the line, or at a later one.
static size_t point_from(const struct timed_alone *t, size_t at)
{
    size_t i = t->points.count;
    while (i > 0 && place_on(&t->l->all->line, t->points.points[i - 1].commit) <= at)
        i--;
    return i;
}

static bool has_code(const struct head_line *line, int64_t code)
{
    size_t low = 0, high = line->stay_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (line->stays[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < line->stay_count && line->stays[low].code == code;
}

static void hold_stays(struct timed_alone *t, const struct told_alone *told)
{
    const struct head_line *line = &t->l->all->line;
    const int64_t code = told->code;
    const char *was = place_on(line, told->commit) == SIZE_MAX ? told->commit : NULL;
    for (size_t i = 0; i < line->stay_count; i++) {
        const struct stay *s = &line->stays[i];
        if (s->code != code)
            continue;
        const struct stay *before = stay_before(t, s);
        if (!before)
            continue;
        struct linked_change change = {.at = as_history(&line->items[s->at]),
                                       .base = as_history(&line->items[before->last]),
                                       .back = was_before(line, s),
                                       .was = was};
        hold_codes(t, change, before->code, code, newest_code(t), point_from(t, s->at));
    }
}

// If no line says which code came before, the order of the points does.
static void hold_points(struct timed_alone *t, int64_t code)
{
    const struct stored_point *points = t->points.points;
    for (size_t i = 1; i < t->points.count; i++) {
        const struct stored_point *now = &points[i], *before = &points[i - 1];
        if (now->code != code || before->code == code || !before->code)
            continue;
        struct linked_change change = {.at = {.time_s = now->time_s},
                                       .base = {.time_s = before->time_s}};
        text_copy(change.at.id, sizeof(change.at.id), now->commit);
        text_copy(change.base.id, sizeof(change.base.id), before->commit);
        hold_codes(t, change, before->code, code, points[t->points.count - 1].code, i);
    }
}

// Tests a change whose code the line does not have.
static void hold_aside(struct timed_alone *t, const struct told_alone *told)
{
    struct loading *all = t->l->all;
    struct linked_change change = {
        .at = {.time_s = told->time_s}, .size = told->size, .left = NAN, .aside = true};
    text_copy(change.at.id, sizeof(change.at.id), told->commit);
    if (is_open_aside(all, told->commit, newest_known(&all->line, told->kernel)))
        tell_alone(t, &change);
}

static int find_alone(struct timed_alone *t, struct error *err)
{
    const struct loading *all = t->l->all;
    const struct series_entry *entry = t->s->series;
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const struct history_query query = {
        .places = &all->set->points, .limit = HELD, .until_key = all->newest_key};
    if (store_points(&t->points, t->l->store, &series, &query, t->scratch, err))
        return -1;
    find_levels(t);
    for (size_t i = 0; i < t->told_count; i++) {
        const struct told_alone *told = &t->told[i];
        const bool known = isfinite(level_of_code(t, told->code));
        if (has_code(&all->line, told->code)) {
            if (known)
                hold_stays(t, told);
        } else if (all->line.count && place_on(&all->line, told->commit) == SIZE_MAX) {
            hold_aside(t, told);
        } else if (known) {
            hold_points(t, told->code);
        }
    }
    return 0;
}

static int load_alone(struct series_history *s, struct loader *l, struct arena *scratch,
                      struct error *err)
{
    const struct told_alone *told = l->all->told;
    struct timed_alone t = {.l = l, .s = s, .scratch = scratch};
    size_t i = 0;
    while (i < l->all->told_count && told[i].series != s->series->key)
        i++;
    t.told = &told[i];
    while (i + t.told_count < l->all->told_count && t.told[t.told_count].series == s->series->key)
        t.told_count++;
    if (t.told_count == 0)
        return 0;
    pthread_mutex_lock(&l->sharing->lock); // only one thread may read the repository
    const int status = find_alone(&t, err);
    pthread_mutex_unlock(&l->sharing->lock);
    s->alone = arena_copy(&l->found, t.items, t.count * sizeof(*t.items));
    s->alone_count = t.count;
    free(t.items);
    return status;
}

// ---- levels ----

// Steps and changes are both in order of commits; *next is the change that is looked for.
static bool is_change(const struct linked_history *linked, size_t *next,
                      const struct commit_place *at)
{
    const struct linked_change *changes = linked->changes;
    while (*next < linked->change_count && changes[*next].at.time_s < at->time_s)
        ++*next;
    return *next < linked->change_count && strcmp(changes[*next].at.id, at->id) == 0;
}

static bool *drawn_steps(const struct linked_history *linked, const struct linked_levels *all,
                         struct arena *arena)
{
    const struct linked_step *steps = all->steps;
    const size_t total = all->step_count;
    bool *shown = arena_alloc(arena, (total + 1) * sizeof(*shown));
    struct history drawn = {.points = arena_alloc(arena, (total + 1) * sizeof(*drawn.points)),
                            .count = total};
    size_t next = 0, count;
    for (size_t i = 0; i < total; i++)
        drawn.points[i].time_ns = exp(all->levels[steps[i].level].level.value);
    size_t *kept = series_thin(&drawn, SERIES_CHART_POINTS, &count);
    memset(shown, 0, (total + 1) * sizeof(*shown));
    for (size_t i = 0; i < count; i++)
        shown[kept[i]] = true;
    for (size_t i = 0; i < total; i++) {
        const bool other =
            i && all->levels[steps[i].level].mark != all->levels[steps[i - 1].level].mark;
        if (!is_change(linked, &next, steps[i].at) && !other && i + 1 < total)
            continue;
        shown[i] = true;
        shown[i ? i - 1 : 0] = true;
    }
    free(kept);
    return shown;
}

// The steps and levels that are drawn, in `arena`; `scratch` is for what is needed meanwhile.
static struct linked_levels drawn_of(const struct linked_levels *all,
                                     const struct linked_history *linked, struct arena *arena,
                                     struct arena *scratch)
{
    const bool *shown = drawn_steps(linked, all, scratch);
    struct linked_levels drawn = {.total = all->total};
    for (size_t i = 0; i < all->step_count; i++)
        drawn.step_count += shown[i];
    drawn.level_count = drawn.step_count;
    drawn.steps = arena_alloc(arena, (drawn.step_count + 1) * sizeof(*drawn.steps));
    drawn.levels = arena_alloc(arena, (drawn.step_count + 1) * sizeof(*drawn.levels));
    for (size_t i = 0, count = 0; i < all->step_count; i++) {
        if (!shown[i])
            continue;
        drawn.levels[count] = all->levels[all->steps[i].level];
        drawn.steps[count] = (struct linked_step){all->steps[i].at, count};
        count++;
    }
    return drawn;
}

// The level of every code.
static int history_levels(struct linked_levels *out, const struct history_set *set,
                          const struct series_history *s, struct store *store, struct arena *arena,
                          struct error *err)
{
    const struct series_entry *e = s->series;
    const struct series series = {e->kernel, &e->problem, e->device_uuid};
    struct linked_history linked;
    *out = (struct linked_levels){0};
    return s->linked.level_count == 0
               ? 0
               : history_links(&linked, out, store, &set->places, &series, NULL, arena, arena, err);
}

int history_drawn_levels(struct linked_levels *out, const struct history_set *set, size_t index,
                         struct store *store, struct arena *arena, struct error *err)
{
    const struct series_history *s = &set->series[index];
    struct linked_levels all;
    *out = set->levels[index];
    if (out->step_count)
        return 0;
    if (history_levels(&all, set, s, store, arena, err))
        return -1;
    *out = drawn_of(&all, &s->linked, arena, arena);
    return 0;
}

static int keep_levels(struct linked_levels *out, const struct linked_levels *levels,
                       struct loader *l, const struct series_history *s, struct arena *scratch,
                       struct error *err)
{
    const enum levels_wanted wanted = l->all->wanted->levels;
    *out = (struct linked_levels){0};
    if (wanted == LEVELS_DRAWN && levels->step_count)
        *out = drawn_of(levels, &s->linked, &l->found, scratch);
    if (wanted != LEVELS_ALL || !history_selects(l->all->wanted, s->series))
        return 0;
    if (levels->level_count == 0)
        return history_levels(out, l->all->set, s, l->store, &l->found, err);
    *out = *levels;
    out->levels = arena_copy(&l->found, out->levels, out->level_count * sizeof(*out->levels));
    out->steps = arena_copy(&l->found, out->steps, out->step_count * sizeof(*out->steps));
    return 0;
}

// ---- one series ----

// Drops what lives in `scratch`.
static void forget(struct series_history *stored)
{
    stored->stored.points = NULL;
    stored->values = NULL;
    stored->newest.model = stored->newest.driver = stored->newest.runtime = NULL;
}

static int load_one(struct loader *l, size_t index, struct error *err)
{
    struct history_set *set = l->all->set;
    const struct history_wanted *wanted = l->all->wanted;
    const struct series_entry *entry = &l->all->entries[index];
    struct series_history *s = &set->series[index];
    struct history_options options = history_defaults;
    struct history_kept kept = {0};
    struct linked_levels levels = {0};
    struct arena scratch = {0};
    bool found = false;
    int status = 0;
    options.epochs = &set->epochs;
    options.keeps = wanted->keeps;
    options.query = (struct history_query){.places = &set->points,
                                           .limit = wanted->points,
                                           .comparisons = wanted->comparisons,
                                           .toolchain = wanted->toolchain};
    if (options.keeps)
        status = history_kept_find(s, &kept, &found, l->store, entry, &options, &scratch, &l->found,
                                   err);
    if (status == 0 && !found)
        status = judge(s, &kept, l, entry, &options, &scratch, err);
    if (status == 0 && !wanted->toolchain) // links form the history of the default toolchain's
                                           // codes
        status = load_links(s, &levels, l, entry, &scratch, err);
    if (status == 0 && set->levels)
        status = keep_levels(&set->levels[index], &levels, l, s, &scratch, err);
    if (status == 0 && !wanted->toolchain)
        status = load_alone(s, l, &scratch, err);
    if (status == 0) {
        forget(s);
        if (set->judgements)
            set->judgements[index] = kept.judgement;
    }
    arena_free(&scratch);
    return status;
}

// ---- all ----

// Takes the next series. False: there is none left, or a thread failed.
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

// Fills in set->series, set->judgements and set->count; each series stands at its entry's index.
static int loading_series(struct loading *all, struct error *err)
{
    struct sharing sharing = {.all = all, .lock = PTHREAD_MUTEX_INITIALIZER};
    void *contexts[TOGETHER_MOST];
    struct error alone; // why there is no second handle; then one thread does all the work
    const size_t most = together_threads(all->set->known, WORTH_A_THREAD);
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

// ---- selecting series ----

static void keep_wanted(struct history_set *set, const struct history_wanted *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct series_history *s = &set->series[i];
        if (!history_selects(wanted, s->series) || (wanted->toolchain && s->stored.count == 0))
            continue;
        if (set->judgements)
            set->judgements[count] = set->judgements[i];
        if (set->levels)
            set->levels[count] = set->levels[i];
        set->series[count++] = set->series[i];
    }
    set->count = count;
}

// Begins to keep judgements: from now on, measurements that are saved mark their series as changed.
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
    if (read_line_of_store(l, err) || store_newest_key(&l->newest_key, l->store, err) ||
        store_list_series(&entries, &set->known, l->store, &set->arena, err) ||
        store_told_alone(&l->told, &l->told_count, l->store, &set->arena, err))
        return -1;
    l->entries = entries;
    set->series = arena_alloc(&set->arena, set->known * sizeof(*set->series));
    set->common = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->common));
    if (l->wanted->keeps)
        set->judgements = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->judgements));
    if (l->wanted->levels != LEVELS_NONE)
        set->levels = arena_alloc(&set->arena, (set->known + 1) * sizeof(*set->levels));
    if (loading_series(l, err))
        return -1;
    history_attribute(set->series, set->count);
    if (!l->wanted->toolchain &&
        history_devices(set->series, set->count, l->store, &set->arena, err))
        return -1;
    keep_wanted(set, l->wanted);
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

// ---- kept changes, for the report of a run ----

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
        if (at > 0 && at < shown->count)
            (*out)[(*count)++] =
                (struct report_change){at, c->change.size.value, c->change.evidence};
    }
    return 0;
}
