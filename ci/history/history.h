// SPDX-License-Identifier: Apache-2.0
//
// The history of a series, from stored points to change points: since when is it slower, and whose
// change was that.
//
// The value of a point is log(actual / predicted), the prediction made at the observed clock, so
// that clocks cancel; log(time in ns) when a point has no prediction. From it the common mode of
// the device's controls in the same run is taken off (history_common_mode).
#ifndef PLUMB_CI_HISTORY_H
#define PLUMB_CI_HISTORY_H

#include "baselines/kept/judgement.h"
#include "ci/history/history_links.h"
#include "model/history/attribution.h"
#include "model/history/changepoint.h"
#include "model/history/creep.h"

// What the controls of one device did, run by run.
struct common_mode {
    const char *device_uuid;
    size_t controls; // used; with fewer than CONTROLS_FEWEST in a run nothing is taken off
    int64_t *runs;   // ascending
    struct history_commit *commits; // of the runs
    double *shifts; // median over the controls of log(value / the control's own median)
    size_t count;
};
// At most 8 of the device's control series are read, the points of the query. In the arena.
int history_common_mode(struct common_mode *out, struct store *store,
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
    struct history_break *breaks;
    size_t break_count;
    struct linked_history linked; // side by side; empty without links
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
// Forgets what lives in `scratch`.
void history_forget(struct series_history *stored);
// ---- the steps of a judgement, in this order (history_kept.h goes through them) ----

// out->stored may hold all points of the series or a stretch of them; indices count from its first.

// Every point has a prediction.
bool history_predicted(const struct stored_points *stored);
// Sets out->values, from out->stored and out->against_model.
void history_values(struct series_history *out, const struct common_mode *common,
                    struct arena *scratch);
// Sets out->breaks and out->changes. `newest`: the stretch ends with the newest point, so the
// online detector is asked too.
void history_find(struct series_history *out, bool newest, struct arena *keep);
// The same of the newest stretch, in which these `count` changes were found before.
void history_find_again(struct series_history *out, const struct change *earlier, size_t count,
                        struct arena *keep);
// Sets out->newest and out->recent; out->stored has at least one point.
void history_remember(struct series_history *out);
// Sets out->since, level and level_se: where the accepted state begins, and its level.
void history_accepted(struct series_history *out);
// Sets out->creep: how far the newest values are from the accepted state. `values` are the last
// `count` ones of the series, of which the first has the index `first`.
void history_recent(struct series_history *out, const double *values, size_t first, size_t count,
                    const struct history_options *options);
enum { HISTORY_LEVEL_POINTS = 10 }; // of the accepted state, and of the newest

// Looks at all series together: changes that many share are the device's, a class of kernels' or
// the model's. Only what `keep` holds is needed.
void history_attribute(struct series_history *all, size_t count);

// Names the devices that took another's place as breaks before the first points of their series,
// and says of the others' series that they are replaced. Reads the few points at either side.
int history_devices(struct series_history *all, size_t count, struct store *store,
                    struct arena *keep, struct error *err);

#endif
