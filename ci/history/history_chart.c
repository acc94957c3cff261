// SPDX-License-Identifier: Apache-2.0
//
// The points that a chart shows: settled ones are thinned once, later ones are all there.
#include "ci/history/history_kept.h"

#include "reports/charts/series_chart.h"

#include <stdlib.h>
#include <string.h>

static int add_chart_point(struct chart_point *out, struct store *store,
                           const struct stored_point *p, size_t index, struct error *err)
{
    *out = (struct chart_point){.index = index,
                                .time_s = p->time_s,
                                .time_ns = p->time_ns,
                                .predicted_ns = p->predicted_ns};
    memcpy(out->commit, p->commit, sizeof(out->commit));
    return store_half_width(&out->half_ns, store, p->measurement, err);
}

int history_kept_settle(struct history_kept *kept, struct store *store,
                        const struct stored_points *stored, struct arena *keep, struct error *err)
{
    size_t settled = kept->judgement.settled, count;
    int status = 0;
    struct history h = {.points = xcalloc(settled, sizeof(*h.points)), .count = settled};
    for (size_t i = 0; i < settled; i++)
        h.points[i].time_ns = stored->points[i].time_ns;
    size_t *shown = series_thin(&h, HISTORY_CHART, &count);
    kept->chart = arena_alloc(keep, count * sizeof(*kept->chart));
    kept->chart_count = count;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = add_chart_point(&kept->chart[i], store, &stored->points[shown[i]], shown[i], err);
    free(shown);
    free(h.points);
    return status;
}

int history_kept_chart(struct chart_point **out, size_t *count, struct store *store,
                       const struct series_entry *entry, const struct judgement *j,
                       struct arena *arena, struct error *err)
{
    const struct series series = {entry->kernel, &entry->problem, entry->device_uuid};
    const struct history_query query = {.until_key = j->newest_key, .from_s = j->settled_s};
    struct chart_point *settled = NULL;
    struct stored_points newer;
    size_t first = 0, used = 0;
    if (j->settled && store_load_chart(&settled, &used, store, &series, arena, err))
        return -1;
    if (store_points(&newer, store, &series, &query, arena, err))
        return -1;
    while (j->settled && first < newer.count && newer.points[first].measurement != j->settled_key)
        first++;
    first += j->settled > 0;
    if (first > newer.count || newer.count - first != j->points - j->settled)
        return error_set(err, "%s: points of %s changed while the site was written; write it again",
                         store_path(store), entry->kernel);
    struct chart_point *all = arena_alloc(arena, (used + newer.count - first) * sizeof(*all));
    if (used)
        memcpy(all, settled, used * sizeof(*all));
    for (size_t i = first; i < newer.count; i++) {
        if (add_chart_point(&all[used++], store, &newer.points[i], j->settled + i - first, err))
            return -1;
    }
    *out = all;
    *count = used;
    return 0;
}
