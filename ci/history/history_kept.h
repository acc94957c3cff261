// SPDX-License-Identifier: Apache-2.0
//
// The history of a series, judged anew only where it changed, and the only way to judge it.
//
// The older points of a long series are settled: they are segmented together once, and what was
// found stays. The newer ones are segmented with HISTORY_CONTEXT settled points before them each
// time something comes; between the two, changes before the middle of that context are the settled
// ones', later ones the newer points'. A series settles again whenever HISTORY_BLOCK more points
// have come. Series have different numbers of points, so few of them settle at the same time. What
// is said of a series follows from its stored points alone, however often and whenever somebody
// asked; only the controls' common mode of settled points stays as it was when they settled.
#ifndef PLUMB_HISTORY_KEPT_H
#define PLUMB_HISTORY_KEPT_H

#include "ci/history/history.h"

enum { HISTORY_BLOCK = 100, HISTORY_CONTEXT = 200, HISTORY_CHART = 250 };

struct history_kept {
    struct judgement judgement; // as it now is; changes are the series' own
    struct chart_point *chart;  // settled anew, else NULL
    size_t chart_count;
    bool fresh; // was judged now and differs from what the store has
};

// Was it made by the detector and the judge of this program?
bool history_kept_believed(const struct judgement *judgement);
// The series as it stands in the store: true in *found when nothing has come since.
int history_kept_find(struct series_history *out, struct history_kept *kept, bool *found,
                      struct store *store, const struct series_entry *series,
                      const struct history_options *options, struct arena *scratch,
                      struct arena *keep, struct error *err);
// Judged now, as little as is needed; `kept` comes from history_kept_find(). No measurement beyond
// `newest_key` is looked at.
int history_kept_judge(struct series_history *out, struct history_kept *kept, struct store *store,
                       const struct series_entry *series, const struct common_mode *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err);

// kept->chart, in `keep`: the settled points of `stored`, thinned to about HISTORY_CHART.
int history_kept_settle(struct history_kept *kept, struct store *store,
                        const struct stored_points *stored, struct arena *keep, struct error *err);
// The points for a chart: settled ones thinned, all later ones. In the arena.
int history_kept_chart(struct chart_point **out, size_t *count, struct store *store,
                       const struct series_entry *series, const struct judgement *judgement,
                       struct arena *arena, struct error *err);

#endif
