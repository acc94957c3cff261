// SPDX-License-Identifier: Apache-2.0
//
// The history of a series, from stored points to change points: since when is it slower, and whose
// change was that.
//
// The value of a point is log(actual / predicted), the prediction made at the observed clock, so
// that clocks cancel; log(time in ns) when a point has no prediction. From it the common mode of
// the device's controls in the same run is taken off (history_common_mode).
//
// The older points of a long series are settled: they are segmented together once, and what was
// found stays. The newer ones are segmented with HISTORY_CONTEXT settled points before them each
// time something comes; between the two, changes before the middle of that context are the settled
// ones', later ones the newer points'. A series settles again whenever HISTORY_BLOCK more points
// have come. Series have different numbers of points, so few of them settle at the same time. What
// is said of a series follows from its stored points, and from what was told of them: a change that
// was told and kept stays as long as the points next to it bear it out. The controls' common mode
// of settled points stays as it was when they settled.
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
// What links say of a series: the commits at which its code got slower or faster, measured side by
// side, and the level of every code. Nothing here is guessed from absolute times. What a history
// says follows from its links alone, whether they are gone through at once or as they come.

struct linked_level { // of a code, where it came first
    const struct commit_place *at;
    struct interval level; // log time against the first code that is linked with it
    size_t mark;           // index of that code's level
    bool tried;            // in a gate or a bisection only: it may never have been merged
};

// From this commit on the series has that level's code; a code that came back is there again.
struct linked_step {
    const struct commit_place *at;
    size_t level; // index
};

// The level of every code: long, and seldom asked for.
struct linked_levels {
    struct linked_level *levels;
    size_t level_count;
    struct linked_step *steps; // in order of their commits
    size_t step_count;
};

// What is found in `arena`, what is needed for it, and the levels, in `scratch`. A series without
// links has nothing. `places`: all commits (store_commit_places), for as long as the levels are
// used. `accepted`: the commit from which on its level is accepted, or NULL.
int history_links(struct linked_history *out, struct linked_levels *levels, struct store *store,
                  const struct commit_places *places, const struct series *series,
                  const char *accepted, struct arena *arena, struct arena *scratch,
                  struct error *err);

// As history_links(), but takes what the store keeps where no link has come since. *fresh: it
// was worked out anew, and the caller keeps it. out->maker is "" where there are no links.
int history_links_kept(struct kept_links *out, bool *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct error *err);

// The change that one link says, which is no step of a history; without its commits.
struct linked_change history_alarm(const struct link_fact *link);

// A change point that was found side by side too, and is said there.
bool history_is_linked(const struct linked_history *linked, const struct history_change *change);

// ==== the history ====

// The movements of the controls of one device, run by run. Of CONTROLS_FEWEST and more the median
// over the controls of log(value / the control's own median) is taken off, in runs that have as
// many. Fewer have noise of their own: of that a share is taken off (model/history/device.h).
struct control_shifts {
    const char *device_uuid;
    size_t controls;                // used
    int64_t *runs;                  // ascending
    struct history_commit *commits; // of the runs
    double *shifts;
    double *levels; // of each shift, where controls are few; else NULL
    size_t count;
};

// At most 8 of the device's control series are read, the points of the query. In the arena.
int history_common_mode(struct control_shifts *out, struct store *store,
                        const struct series_entry *series, size_t count, const char *device_uuid,
                        const struct history_query *query, struct arena *arena, struct error *err);

struct history_options {
    const struct epoch_list *epochs; // NULL: none
    struct history_query query;      // which points
    bool keeps;                      // the judgement is for the store: with its chart
    double margin;                   // log ratio from which creep counts
    double confidence;               // of creep's interval
};

extern const struct history_options history_defaults;

enum { HISTORY_RECENT = 32 };

struct series_history {
    const struct series_entry *series;
    struct stored_points stored; // scratch arena
    double *values;              // of each point, scratch arena
    bool against_model;          // else the values are log times
    bool common_mode;            // was taken off
    double sigma, correlation;
    bool drift;
    struct history_change *changes;
    size_t change_count;
    struct told told;
    struct history_break *breaks;
    size_t break_count;
    struct linked_history linked; // side by side; empty without links
    struct linked_change *alone;  // told by a plain run from times alone, and borne out since
    size_t alone_count;
    const char *replaced_by;      // uuid of the device that took this one's place; NULL: none
    const struct epoch *epoch;    // the last that covers it; NULL: the beginning counts as accepted
    size_t since;                 // index of the first point of the accepted state
    bool since_known;             // false: the epoch begins with a commit that is not measured yet
    double level, level_se;       // of the accepted state
    struct creep creep;           // of the newest points against the accepted state
    struct stored_point newest;   // zeroed when there is none
    float recent[HISTORY_RECENT]; // the newest times, oldest first
    size_t recent_count;
};

// How far the series is now from the accepted state (without one: from the beginning), and whether
// it moved. Where its codes were compared side by side, links say it, and absolute times do not.
struct history_now {
    struct interval size; // log ratio; without ends when nothing is known
    bool moved, linked;
};

struct history_now history_now(const struct series_history *series);

// ---- the steps of a judgement, in this order (history_kept_judge() goes through them) ----

// out->stored may hold all points of the series or a stretch of them; indices count from its first.

// Sets out->since, level and level_se: where the accepted state begins, and its level.
void history_accepted(struct series_history *out);

// Sets out->creep: how far the newest values are from the accepted state. `values` are the last
// `count` ones of the series, of which the first has the index `first`.
void history_recent(struct series_history *out, const double *values, size_t first, size_t count,
                    const struct history_options *options);

// Looks at all series together: changes that many share are the device's, a class of kernels' or
// the model's. Only what `keep` holds is needed.
void history_attribute(struct series_history *all, size_t count);

// ---- one series, judged anew only where it changed: the only way to judge it ----

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
                       const struct series_entry *series, const struct control_shifts *common,
                       const struct history_options *options, int64_t newest_key,
                       struct arena *scratch, struct arena *keep, struct error *err);

// The points for a chart: settled ones thinned, all later ones. In the arena.
int history_kept_chart(struct chart_point **out, size_t *count, struct store *store,
                       const struct series_entry *series, const struct point_places *places,
                       const struct judgement *judgement, struct arena *arena, struct error *err);

#endif
