// SPDX-License-Identifier: Apache-2.0
//
// The history of a series, from stored points to change points: since when it is slower, and which
// commit is to blame.
//
// The value of a point is log(actual / predicted). The prediction is made at the observed clock, so
// clocks cancel. A point without a prediction has the value log(time in ns). The common mode of the
// device's controls in the same run is subtracted (history_common_mode).
//
// The older points of a long series are settled: they were segmented together once, and the changes
// found then stay. The newer points are segmented whenever one comes, together with HISTORY_CONTEXT
// settled points before them. Where the two overlap, changes before the middle of that context are
// taken from the settled points, later ones from the newer points. A series settles again whenever
// HISTORY_BLOCK more points have come. Series have different numbers of points, so few of them
// settle at the same time. The result follows from a series' stored points, and from changes that
// were reported before: a reported change stays as long as the points next to it support it. The
// common mode subtracted from settled points stays as it was when they settled.
#ifndef PLUMB_CI_HISTORY_H
#define PLUMB_CI_HISTORY_H

#include "baselines/judgement.h"
#include "baselines/store.h"
#include "model/buffer.h"
#include "model/history/changepoint.h"
#include "model/history/device.h"
#include "model/history/event.h"
#include "model/history/shape.h"
#include "runner/git/repository.h"

// ==== what links say of a series ====
//
// The history that a series' links give: the commits at which its code got slower or faster,
// measured side by side, and the level of every code. It never depends on absolute times. It is the
// same whether the links are processed all at once or one by one as they come.

struct linked_level { // the level of a code, with the commit where the code came first
    const struct commit_place *at;
    struct interval level; // log ratio to the first code that is linked with it
    size_t mark;           // index of the level of that first code
    bool tried;            // it was only measured in a gate or a bisection, so it may never have
                           // been merged
};

// From this commit on the series has the code of that level. A code that came back has another
// step.
struct linked_step {
    const struct commit_place *at;
    size_t level; // index of the level
};

// The level of every code. The list is long and rarely needed.
struct linked_levels {
    struct linked_level *levels;
    size_t level_count;
    struct linked_step *steps; // in the order of their commits
    size_t step_count;
    size_t total; // steps that there are; more where these are those that a chart shows
};

// Computes a series' history from its links. Results are in `arena`; the levels and everything
// temporary are in `scratch`. A series without links gets an empty history. `places` has all
// commits (store_commit_places) and must outlive the levels. From the commit `accepted` on the
// level is accepted; NULL: there is none.
int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err);

// Does the same, but takes the history that the store keeps if no link has come since; then there
// are no levels. *fresh: it was computed anew, and the caller should keep it. out->maker is ""
// where there are no links.
int history_links_kept(struct kept_links *out, struct linked_levels *levels, bool *fresh,
                       struct store *store, const struct commit_places *places,
                       const struct series *series, const char *accepted, struct arena *arena,
                       struct arena *scratch, struct error *err);

// The change that one link alone shows; it has no commits and is no step of a history.
struct linked_change history_alarm(const struct link_fact *link);

// Whether a change point was also found by pairs, and is reported by them.
bool history_is_linked(const struct linked_history *linked, const struct history_change *change);

// ==== the history ====

// The movements of one device's controls, run by run. With at least CONTROLS_FEWEST controls, the
// common mode of a run with as many is the median of log(value / the control's own median). Fewer
// controls have noise of their own, so only a share of their movement is subtracted
// (model/history/device.h).
struct control_shifts {
    const char *device_uuid;
    size_t controls;                // number of controls used
    int64_t *runs;                  // in ascending order
    struct history_commit *commits; // of the runs
    double *shifts;
    double *levels; // the level of each shift, where controls are few; else NULL
    size_t count;
};

// Computes the common mode of a device over the points of the query. At most 8 of its control
// series are read. In the arena.
int history_common_mode(struct control_shifts *out, struct store *store,
                        const struct series_entry *series, size_t count, const char *device_uuid,
                        const struct history_query *query, struct arena *arena, struct error *err);

struct history_options {
    const struct epoch_list *epochs; // NULL: none
    struct history_query query;      // which points are read
    bool keeps;                      // the judgement will be kept in the store, with its chart
    double margin;                   // the log ratio from which creep counts
    double confidence;               // the confidence of creep's interval
};

extern const struct history_options history_defaults;

enum { HISTORY_RECENT = 32 };

struct series_history {
    const struct series_entry *series;
    struct stored_points stored; // in the scratch arena
    double *values;              // the value of each point, in the scratch arena
    bool against_model;          // else the values are log times
    bool common_mode;            // the common mode was subtracted
    double sigma, correlation;
    bool drift;
    struct history_change *changes;
    size_t change_count;
    struct told told;
    struct history_break *breaks;
    size_t break_count;
    struct linked_history linked; // from pairs; empty without links
    struct linked_change *alone;  // changes that a plain run reported from times alone, and that
                                  // later points support
    size_t alone_count;
    const char *replaced_by;      // UUID of the device that replaced this one; NULL: none
    const struct epoch *epoch;    // the last epoch that covers the series; NULL: the beginning
                                  // counts as accepted
    size_t since;                 // index of the first point of the accepted state
    bool since_known;             // false: the epoch begins with a commit that was not measured yet
    double level, level_se;       // the level of the accepted state, and its standard error
    struct creep creep;           // how far the newest points lie from the accepted state
    struct stored_point newest;   // zeroed when there is no point
    float recent[HISTORY_RECENT]; // the newest times, oldest first
    size_t recent_count;
};

// The distance of the series from its accepted state (if there is none, from its beginning), and
// whether it moved. It comes from links where the codes were compared by pairs, and from absolute
// times where they were not.
struct history_now {
    struct interval size; // log ratio; its ends are NaN when nothing is known
    bool moved, linked;
};

struct history_now history_now(const struct series_history *series);

// ---- the steps of a judgement, in this order (history_kept_judge() goes through them) ----

// out->stored may hold all points of the series or a stretch of them. Indices count from the first
// point of out->stored.

// Sets out->since, level and level_se: where the accepted state begins, and its level.
void history_accepted(struct series_history *out);

// Sets out->creep, the distance of the newest values from the accepted state. `values` are the last
// `count` values of the series; the first of them has the index `first`.
void history_recent(struct series_history *out, const double *values, size_t first, size_t count,
                    const struct history_options *options);

// Looks at all series together. A change that many series share is attributed to the device, to a
// class of kernels, or to the model. Only the members that `keep` holds are needed.
void history_attribute(struct series_history *all, size_t count);

// ---- one series, judged anew only where it changed: the only way to judge it ----

enum { HISTORY_BLOCK = 100, HISTORY_CONTEXT = 200, HISTORY_CHART = 250 };

struct history_kept {
    struct judgement judgement; // the present judgement, with the series' own changes
    struct chart_point *chart;  // the chart's points if they were settled now, else NULL
    size_t chart_count;
    bool fresh; // it was judged now, and differs from the judgement in the store
};

// Whether the judgement was made by this program's detector and judge.
bool history_kept_believed(const struct judgement *judgement);

// Looks for the series' judgement in the store; *found: it is there, and no point has come since.
int history_kept_find(struct series_history *out, struct history_kept *kept, bool *found,
                      struct store *store, const struct series_entry *series,
                      const struct history_options *options, struct arena *scratch,
                      struct arena *keep, struct error *err);

// Judges a series now and does as little work as possible. `kept` comes from history_kept_find().
// Measurements with a larger key than `newest_key` are not read.
int history_kept_judge(struct series_history *out, struct history_kept *kept, struct store *store,
                       const struct series_entry *series, const struct control_shifts *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err);

// Returns the points of the series' chart: settled ones thinned, all later ones. In the arena.
int history_kept_chart(struct chart_point **out, size_t *count, struct store *store,
                       const struct series_entry *series, const struct point_places *places,
                       const struct judgement *judgement, struct arena *arena, struct error *err);

#endif
