// SPDX-License-Identifier: Apache-2.0
//
// The past of a series, from stored points to change points: since when is it slower, and whose
// change was that.
//
// The value of a point is log(actual / predicted), the prediction made at the observed clock, so
// that clocks cancel; log(time in ns) when a point has no prediction. From it the common mode of
// the device's controls in the same run is taken off (past_common_mode).
#ifndef PLUMB_PAST_H
#define PLUMB_PAST_H

#include "baselines/kept/judgement.h"
#include "model/history/attribution.h"
#include "model/history/changepoint.h"
#include "model/history/creep.h"

// So many series must agree before something is called common to them.
enum { CONTROLS_FEWEST = 3 };

// What the controls of one device did, run by run.
struct common_mode {
    const char *device_uuid;
    size_t controls; // used; with fewer than CONTROLS_FEWEST in a run nothing is taken off
    int64_t *runs;   // ascending
    double *shifts;  // median over the controls of log(value / the control's own median)
    size_t count;
};
// At most 8 of the device's control series are read, the newest `limit` points (0: all). In the
// arena.
int past_common_mode(struct common_mode *out, struct store *store,
                     const struct series_entry *series, size_t count, const char *device_uuid,
                     size_t limit, struct arena *arena, struct error *err);

struct past_options {
    const struct epoch_list *epochs; // NULL: none
    struct history_query query;      // which points
    bool keeps;                      // the judgement is for the store: with its chart
    double margin;                   // log ratio from which creep counts
    double confidence;               // of creep's interval
};
extern const struct past_options past_defaults;

enum { PAST_RECENT = 32 };

struct series_past {
    const struct series_entry *series;
    struct past past;   // scratch arena
    double *values;     // of each point, scratch arena
    bool against_model; // else the values are log times
    bool common_mode;   // was taken off
    double sigma, correlation;
    bool drift;
    struct past_change *changes;
    size_t change_count;
    struct past_break *breaks;
    size_t break_count;
    const char *replaced_by;   // uuid of the device that took this one's place; NULL: none
    const struct epoch *epoch; // the last that covers it; NULL: the beginning counts as accepted
    size_t since;              // index of the first point of the accepted state
    bool since_known;          // false: the epoch begins with a commit that is not measured yet
    double level, level_se;    // of the accepted state
    struct creep creep;        // of the newest points against the accepted state
    struct past_point newest;  // zeroed when there is none
    float recent[PAST_RECENT]; // the newest times, oldest first
    size_t recent_count;
};
// Forgets what lives in `scratch`.
void past_forget(struct series_past *past);
// The steps of a judgement (past_kept.h). past_values(): out->values of out->past and
// out->against_model. past_find(): breaks and changes of out->past and out->values; `newest`: the
// stretch ends with the newest point, of which online detection has its say; both may be a stretch
// of the points, indices then count from its first.
bool past_predicted(const struct past *past); // all of them
void past_values(struct series_past *out, const struct common_mode *common, struct arena *scratch);
void past_find(struct series_past *out, bool newest, struct arena *keep);
void past_remember(struct series_past *out); // the newest of out->past (at least one)
// Where the accepted state begins and what its level is: out->since, level, level_se. Then
// past_recent() says how far the newest of `count` values, the last of all, are from it; `first` is
// the index of the first of them.
void past_accepted(struct series_past *out);
void past_recent(struct series_past *out, const double *values, size_t first, size_t count,
                 const struct past_options *options);
enum { PAST_LEVEL_POINTS = 10 }; // of the accepted state, and of the newest

// Looks at all series together: changes that many share are the device's, a class of kernels' or
// the model's. Only what `keep` holds is needed.
void past_attribute(struct series_past *all, size_t count);

// Names the devices that took another's place as breaks before the first points of their series,
// and says of the others' series that they are replaced. Reads the few points at either side.
int past_devices(struct series_past *all, size_t count, struct store *store, struct arena *keep,
                 struct error *err);

#endif
