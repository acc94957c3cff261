// SPDX-License-Identifier: Apache-2.0
//
// The past of series: the store's series and devices, the points of a series, and the scatter of
// pairs in past gates.

#include "baselines/fields.h"
#include "model/history/drift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double known(double value)
{
    return value > 0 && isfinite(value) ? value : 0;
}

int store_scale(struct pair_scale **out, size_t *count, struct store *store,
                const struct series *series, size_t limit, int64_t except_run, struct arena *arena,
                struct error *err)
{
    int64_t key;
    if (content_find_series(&key, store, series, err))
        return -1;
    struct pair_scale *scales = arena_alloc(arena, limit * sizeof(*scales));
    size_t used = 0;
    sqlite3_stmt *row =
        statement_bind(store, SQL_SCALE, CELLS(INT(key), INT(except_run), INT(limit)));
    int status;
    while ((status = statement_step(store, row, err)) > 0 && used < limit) {
        scales[used++] =
            (struct pair_scale){row_int(row, 0), (uint32_t)row_int(row, 1), known(row_real(row, 2)),
                                known(row_real(row, 3)), row_int(row, 4) != 0};
    }
    if (status < 0)
        return -1;
    sqlite3_reset(row);
    *out = scales;
    *count = used;
    return 0;
}

static int read_series(void *item, const struct row_list *list, struct error *err)
{
    struct series_entry *out = item;
    sqlite3_stmt *row = list->row;
    struct error ignored;
    const char *problem = (const char *)sqlite3_column_text(row, 1);
    if (!row_copy(out->kernel, sizeof(out->kernel), row, 0) || !problem ||
        problem_parse(&out->problem, problem, &ignored))
        return store_damaged(list->store, "a series", err);
    out->device_uuid = row_text(row, 2, list->arena);
    out->device_name = row_text(row, 3, list->arena);
    out->control = row_int(row, 4) != 0;
    out->key = row_int(row, 5);
    return 0;
}

int store_list_series(struct series_entry **out, size_t *count, struct store *store,
                      struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LIST_SERIES, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_series, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int read_device(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct arena *arena = list->arena;
    (void)err;
    *(struct device_entry *)item =
        (struct device_entry){row_text(row, 0, arena), row_text(row, 1, arena),
                              row_text(row, 2, arena), row_int(row, 3), row_int(row, 4)};
    return 0;
}

int store_list_devices(struct device_entry **out, size_t *count, struct store *store,
                       struct arena *arena, struct error *err)
{
    struct row_list list = {
        .store = store, .row = statement_bind(store, SQL_LIST_DEVICES, NULL, 0), .arena = arena};
    if (statement_list(&list, sizeof(**out), read_device, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

enum { NAMES = 64 }; // with more names, a name is fetched again

struct point_name {
    enum statement table;
    int64_t key;
    const char *text;
};

struct points_reading {
    struct store *store;
    struct arena *arena;
    struct point_name names[NAMES];
    size_t name_count;
    struct stored_point *points;
    size_t used, room;
};

struct predicted {
    int64_t run, model;
    double time_ns;
    enum bound bound;
};

static int name_of(const char **out, struct points_reading *r, enum statement table, int64_t key,
                   struct error *err)
{
    *out = "";
    if (key == 0)
        return 0;
    for (size_t i = r->name_count; i-- > 0;) {
        if (r->names[i].key == key && r->names[i].table == table) {
            *out = r->names[i].text;
            return 0;
        }
    }
    sqlite3_stmt *row = statement_bind(r->store, table, CELLS(INT(key)));
    int status = statement_step(r->store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(r->store, "a name is missing", err);
    *out = row_text(row, 0, r->arena);
    sqlite3_reset(row);
    r->names[r->name_count < NAMES ? r->name_count++ : NAMES - 1] =
        (struct point_name){table, key, *out};
    return 0;
}

static int read_point(struct points_reading *r, sqlite3_stmt *row, struct error *err)
{
    r->points = xgrow(r->points, r->used, &r->room, sizeof(*r->points));
    struct stored_point *p = &r->points[r->used];
    *p = (struct stored_point){.time_s = row_int(row, 1),
                               .run_id = row_int(row, 5),
                               .time_ns = row_real(row, 2),
                               .clock_hz = known(row_real(row, 3)),
                               .code = row_int(row, 4),
                               .measurement = row_int(row, 8),
                               .model = ""};
    if (!row_copy(p->commit, sizeof(p->commit), row, 0) || known(p->time_ns) == 0)
        return store_damaged(r->store, "a measurement's time or commit", err);
    if (name_of(&p->driver, r, SQL_PAST_NAME, row_int(row, 6), err) ||
        name_of(&p->runtime, r, SQL_PAST_NAME, row_int(row, 7), err))
        return -1;
    r->used++;
    return 0;
}

// ---- points that count at another commit ----

// Finds the first place of the series (or where it would stand), and how many it has.
static const struct point_place *places_of(size_t *count, const struct point_places *places,
                                           int64_t series)
{
    size_t low = 0, high = places ? places->count : 0, end;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        *(places->items[middle].series < series ? &low : &high) =
            places->items[middle].series < series ? middle + 1 : middle;
    }
    for (end = low; places && end < places->count && places->items[end].series == series;)
        end++;
    *count = end - low;
    return *count ? &places->items[low] : NULL;
}

uint64_t point_places_hash(const struct point_places *places, int64_t series)
{
    size_t count;
    const struct point_place *p = places_of(&count, places, series);
    uint64_t hash = count ? HASH_START : 0;
    for (size_t i = 0; i < count; i++)
        hash =
            hash_text(hash_bytes(hash, &p[i].measurement, sizeof(p[i].measurement)), p[i].commit);
    return hash;
}

static int by_measurement(const void *left, const void *right)
{
    const struct point_place *a = left, *b = right;
    return (a->measurement > b->measurement) - (a->measurement < b->measurement);
}

static int newest_first(const void *left, const void *right)
{
    const struct stored_point *a = left, *b = right;
    return a->time_s != b->time_s
               ? (a->time_s < b->time_s) - (a->time_s > b->time_s)
               : (a->measurement < b->measurement) - (a->measurement > b->measurement);
}

// Applies the bounds of `query` to points that were read without bounds.
static void place_points(struct points_reading *r, const struct point_place *places,
                         size_t place_count, const struct history_query *query)
{
    const int64_t from_s = query->from_s ? query->from_s : INT64_MIN;
    size_t kept = 0;
    for (size_t i = 0; i < r->used; i++) {
        struct stored_point *p = &r->points[i];
        const struct point_place key = {.measurement = p->measurement};
        const struct point_place *there =
            bsearch(&key, places, place_count, sizeof(key), by_measurement);
        if (there) {
            memcpy(p->commit, there->commit, sizeof(p->commit));
            p->time_s = there->time_s;
        }
        if (p->commit[0] && p->time_s >= from_s && (!query->until_s || p->time_s <= query->until_s))
            r->points[kept++] = *p;
    }
    if (kept)
        qsort(r->points, kept, sizeof(*r->points), newest_first);
    r->used = query->limit && kept > query->limit ? query->limit : kept;
    if (query->oldest) { // the last points, in reverse order
        const size_t first = kept - r->used;
        for (size_t i = 0; i < r->used; i++)
            r->points[i] = r->points[first + i];
        for (size_t i = 0; i < r->used / 2; i++) {
            const struct stored_point p = r->points[i];
            r->points[i] = r->points[r->used - 1 - i];
            r->points[r->used - 1 - i] = p;
        }
    }
}

// Reads newest points first, so that LIMIT keeps the newest; or oldest first.
static int read_points(struct points_reading *r, int64_t series, const struct history_query *query,
                       struct error *err)
{
    int status;
    enum statement which = query->toolchain     ? SQL_PAST_TOOLCHAIN
                           : query->comparisons ? SQL_PAST_ALL
                                                : SQL_PAST;
    const struct cell cells[] = {INT(series),
                                 INT(query->until_s ? query->until_s : INT64_MAX),
                                 INT(query->except_run),
                                 INT(query->limit ? (int64_t)query->limit : -1),
                                 INT(query->until_key ? query->until_key : INT64_MAX),
                                 INT(query->from_s ? query->from_s : INT64_MIN),
                                 query->until ? TEXT(query->until) : NOTHING,
                                 TEXT(query->toolchain)}; // used by SQL_PAST_TOOLCHAIN only
    sqlite3_stmt *row = statement_bind(r->store, query->oldest ? SQL_PAST_OLDEST : which, cells,
                                       ARRAY_COUNT(cells) - (query->toolchain ? 0 : 1));
    while ((status = statement_step(r->store, row, err)) > 0) {
        if (read_point(r, row, err)) {
            sqlite3_reset(row);
            return -1;
        }
    }
    return status;
}

// Points that count elsewhere are few, and the newest points are asked for often. So some more
// points are read than were asked for.
static int read_placed(struct points_reading *r, int64_t series, const struct history_query *query,
                       struct error *err)
{
    size_t count;
    const struct point_place *places = places_of(&count, query->places, series);
    struct history_query all = *query;
    if (!places || query->toolchain || query->comparisons)
        return read_points(r, series, query, err);
    all.limit = query->limit && !query->oldest ? query->limit + count : 0;
    all.from_s = all.until_s = 0;
    all.oldest = false;
    if (read_points(r, series, &all, err))
        return -1;
    place_points(r, places, count, query);
    return 0;
}

static enum bound bound_of(sqlite3_stmt *row, int column)
{
    const char *name = (const char *)sqlite3_column_text(row, column);
    for (int i = 0; name && i < BOUNDS; i++) {
        if (strcmp(bound_name((enum bound)i), name) == 0)
            return (enum bound)i;
    }
    return BOUND_UNKNOWN;
}

static int64_t first_run(const struct points_reading *r)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < r->used; i++)
        first = r->points[i].run_id < first ? r->points[i].run_id : first;
    return first;
}

// Reads the newest prediction of each run, in the order of the runs' keys.
static int read_predictions(struct predicted **out, size_t *count, struct points_reading *r,
                            int64_t series, struct error *err)
{
    struct predicted *all = NULL;
    size_t used = 0, room = 0;
    int status;
    sqlite3_stmt *row =
        statement_bind(r->store, SQL_PAST_PREDICTIONS, CELLS(INT(series), INT(first_run(r))));
    while ((status = statement_step(r->store, row, err)) > 0) {
        const struct predicted p = {row_int(row, 0), row_int(row, 1), known(row_real(row, 2)),
                                    bound_of(row, 3)};
        if (used && all[used - 1].run == p.run)
            used--;
        all = xgrow(all, used, &room, sizeof(*all));
        all[used++] = p;
    }
    *out = all;
    *count = used;
    return status;
}

static int by_run(const void *left, const void *right)
{
    const struct predicted *a = left, *b = right;
    return a->run < b->run ? -1 : a->run > b->run;
}

static int join(struct points_reading *r, const struct predicted *all, size_t count,
                struct error *err)
{
    for (size_t i = 0; count && i < r->used; i++) {
        struct stored_point *p = &r->points[i];
        const struct predicted key = {.run = p->run_id};
        const struct predicted *found = bsearch(&key, all, count, sizeof(*all), by_run);
        if (!found)
            continue;
        p->predicted_ns = found->time_ns;
        p->bound = found->bound;
        if (name_of(&p->model, r, SQL_PAST_MODEL, found->model, err))
            return -1;
    }
    return 0;
}

// Points are read newest first, unless the oldest were asked for.
static const struct stored_point *newest_of(const struct points_reading *r,
                                            const struct history_query *query)
{
    return &r->points[query->oldest ? r->used - 1 : 0];
}

int store_points(struct stored_points *out, struct store *store, const struct series *series,
                 const struct history_query *query, struct arena *arena, struct error *err)
{
    struct points_reading r = {.store = store, .arena = arena};
    struct predicted *predicted = NULL;
    const char *newest = "";
    size_t count = 0;
    int64_t key;
    int status = -1;
    if (content_find_series(&key, store, series, err) || read_placed(&r, key, query, err) ||
        (!query->oldest && read_predictions(&predicted, &count, &r, key, err)) ||
        join(&r, predicted, count, err) ||
        (r.used && name_of(&newest, &r, SQL_PAST_CODE, newest_of(&r, query)->code, err)))
        goto done;
    *out = (struct stored_points){.count = r.used, .newest_code = newest};
    out->points = arena_alloc(arena, r.used * sizeof(*r.points));
    for (size_t i = 0; i < r.used; i++)
        out->points[i] = r.points[query->oldest ? i : r.used - 1 - i];
    status = 0;
done:
    free(predicted);
    free(r.points);
    return status;
}

int store_code_id(const char **out, struct store *store, int64_t code, struct arena *arena,
                  struct error *err)
{
    sqlite3_stmt *row = statement_bind(store, SQL_PAST_CODE, CELLS(INT(code)));
    const int status = statement_step(store, row, err);
    if (status <= 0)
        return status < 0 ? -1 : store_damaged(store, "a code is missing", err);
    *out = row_text(row, 0, arena);
    sqlite3_reset(row);
    return 0;
}

static int read_head(void *item, const struct row_list *list, struct error *err)
{
    (void)err;
    *(struct timed_head *)item =
        (struct timed_head){row_int(list->row, 0), row_int(list->row, 1), row_int(list->row, 2)};
    return 0;
}

int store_timed_heads(struct timed_head **out, size_t *count, struct store *store, int64_t commit,
                      struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_TIMED_HEADS, CELLS(INT(commit))),
                            .arena = arena};
    if (statement_list(&list, sizeof(**out), read_head, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}

static int read_told(void *item, const struct row_list *list, struct error *err)
{
    sqlite3_stmt *row = list->row;
    struct told_alone *out = item;
    *out = (struct told_alone){.series = row_int(row, 0),
                               .kernel = row_int(row, 1),
                               .code = row_int(row, 2),
                               .device_kind = row_text(row, 3, list->arena),
                               .time_s = row_int(row, 5),
                               .size = {row_real(row, 6), row_real(row, 7), row_real(row, 8)}};
    if (!row_copy(out->commit, sizeof(out->commit), row, 4) || !isfinite(out->size.value))
        return store_damaged(list->store, "a verdict of times alone", err);
    return 0;
}

int store_told_alone(struct told_alone **out, size_t *count, struct store *store,
                     struct arena *arena, struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, SQL_TOLD_ALONE, CELLS(TEXT(DRIFT_MODEL))),
                            .arena = arena};
    if (statement_list(&list, sizeof(**out), read_told, err))
        return -1;
    *out = list.items;
    *count = list.count;
    return 0;
}
