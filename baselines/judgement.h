// SPDX-License-Identifier: Apache-2.0
//
// Judgements: what was concluded about a series' history, kept from one look at the history to the
// next. Points up to `settled` are judged once. A later look reads and judges only the points after
// them, unless a new point came among the settled ones.
//
// Whoever saves, merges or prunes measurements marks the series that they belong to. A judgement
// counts only as long as its series has the marks under which it was made, so no judgement is
// used for points that it has not seen.
#ifndef PLUMB_JUDGEMENT_H
#define PLUMB_JUDGEMENT_H

#include "baselines/store.h"
#include "model/fields.h"
#include "model/history/changepoint.h"
#include "model/history/event.h"
#include "model/history/shape.h"

struct history_commit {
    char id[OBJECT_ID_TEXT];
    int64_t time_s;
};
// A change of level in a series' history.
struct history_change {
    struct change change;                       // indices into the points
    struct history_commit at, earliest, latest; // of change.index, .earliest and .latest
    size_t commits;                             // number of commits in the credible set
    const char *held;                           // their ids, oldest first, separated by spaces
    bool code_changed, model_changed;           // within the credible set
    enum attribution attribution;
    const char *what; // the name of a break, or NULL
    bool shared;      // so many series changed with it that the device or the model is the cause;
                      // not kept
};
#define HISTORY_CHANGE_FIELDS(F)                                                                   \
    F(at, "", SIZE, change.index, "", FIELD_ANY, 34)                                               \
    F(earliest, "", SIZE, change.earliest, "", FIELD_ANY, 34)                                      \
    F(latest, "", SIZE, change.latest, "", FIELD_ANY, 34)                                          \
    F(before, "", REAL, change.before, "", FIELD_ANY, 34)                                          \
    F(after, "", REAL, change.after, "", FIELD_ANY, 34)                                            \
    F(size, "", REAL, change.size.value, "", FIELD_ANY, 34)                                        \
    F(lower, "", REAL, change.size.low, "", FIELD_ANY, 34)                                         \
    F(upper, "", REAL, change.size.high, "", FIELD_ANY, 34)                                        \
    F(evidence, "", REAL, change.evidence, "", FIELD_ANY, 34)                                      \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(earliest_id, "", ID, earliest.id, "", FIELD_ANY, 34)                                         \
    F(earliest_s, "", TIME, earliest.time_s, "", FIELD_ANY, 34)                                    \
    F(latest_id, "", ID, latest.id, "", FIELD_ANY, 34)                                             \
    F(latest_s, "", TIME, latest.time_s, "", FIELD_ANY, 34)                                        \
    F(commits, "", SIZE, commits, "", FIELD_ANY, 34)                                               \
    F(held, "", TEXT, held, "", FIELD_ANY, 34)                                                     \
    F(code_changed, "", FLAG, code_changed, "", FIELD_FLAGS, 34)                                   \
    F(model_changed, "", FLAG, model_changed, "", FIELD_FLAGS, 34)                                 \
    F(attribution, "", WORD, attribution, "", FIELD_ANY, 34, attribution_word)                     \
    F(what, "", NOTE, what, "", FIELD_ANY, 34)

// Movements of a series that are no change of level: a creep or a pattern.
struct told {
    bool creeps;
    struct interval creep; // log ratio of the series' last point to its first
    struct pattern pattern;
};

// A declared change of driver, CUDA runtime, model or device. It is not a change of level, but may
// be the reason of one.
struct history_break {
    size_t index; // the first point after the break
    struct history_commit at;
    const char *what; // "driver 570.86 -> 580.65"
    bool model;
    // True: this device took the place of another one, whose series ends where this one begins
    // (index 0). `size` is the log ratio by which times moved, NaN when there were too few points.
    // It is not kept, because the other series may go on.
    bool device;
    struct interval size;
};
#define HISTORY_BREAK_FIELDS(F)                                                                    \
    F(at, "", SIZE, index, "", FIELD_ANY, 34)                                                      \
    F(commit_id, "", ID, at.id, "", FIELD_ANY, 34)                                                 \
    F(time_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                              \
    F(what, "", TEXT, what, "", FIELD_ANY, 34)                                                     \
    F(model, "", FLAG, model, "", FIELD_FLAGS, 34)

enum { JUDGEMENT_MAKER_TEXT = 33 };
struct judgement {
    // The version of the code that made the judgement; a judgement by another version is not used.
    char maker[JUDGEMENT_MAKER_TEXT];
    int64_t marks;      // the series' marks when it was read
    bool changed;       // since then a point came or was renewed ...
    int64_t changed_s;  // ... whose commit has this time or a later one
    int64_t newest_key; // the largest measurement key that was looked at
    size_t points;      // number of the series' points
    size_t settled;     // how many of its first points are settled: changes found there stay
    int64_t settled_s;  // commit time of the last settled point, and the key of its measurement
    int64_t settled_key;
    int64_t settled_marks; // as long as the series has these marks, its settled points are the same
    int64_t context_s;     // points from this commit time on are read again
    // The judgement's results.
    bool against_model, common_mode, drift;
    double sigma, correlation;
    size_t since;           // first point of the accepted state; SIZE_MAX: that state was not
                            // measured yet
    double level, level_se; // the level of the accepted state, and its standard error
    struct creep creep;     // its evidence is not kept
    struct told told;
    struct history_change *changes;
    size_t change_count;
    struct history_break *breaks;
    size_t break_count;
};
#define JUDGEMENT_FIELDS(F)                                                                        \
    F(maker, "", ID, maker, "", FIELD_ANY, 34)                                                     \
    F(newest_key, "", TIME, newest_key, "", FIELD_ANY, 34)                                         \
    F(points, "", SIZE, points, "", FIELD_ANY, 34)                                                 \
    F(settled, "", SIZE, settled, "", FIELD_ANY, 34)                                               \
    F(settled_s, "", TIME, settled_s, "", FIELD_ANY, 34)                                           \
    F(settled_key, "", TIME, settled_key, "", FIELD_ANY, 34)                                       \
    F(settled_marks, "", TIME, settled_marks, "", FIELD_ANY, 34)                                   \
    F(context_s, "", TIME, context_s, "", FIELD_ANY, 34)                                           \
    F(against_model, "", FLAG, against_model, "", FIELD_FLAGS, 34)                                 \
    F(common_mode, "", FLAG, common_mode, "", FIELD_FLAGS, 34)                                     \
    F(drift, "", FLAG, drift, "", FIELD_FLAGS, 34)                                                 \
    F(sigma, "", REAL, sigma, "", FIELD_ANY, 34)                                                   \
    F(correlation, "", REAL, correlation, "", FIELD_ANY, 34)                                       \
    F(since, "", SIZE, since, "", FIELD_ANY, 34)                                                   \
    F(level, "", REAL, level, "", FIELD_ANY, 34)                                                   \
    F(level_se, "", REAL, level_se, "", FIELD_ANY, 34)                                             \
    F(moved, "", FLAG, creep.moved, "", FIELD_FLAGS, 34)                                           \
    F(size, "", REAL, creep.size.value, "", FIELD_ANY, 34)                                         \
    F(lower, "", REAL, creep.size.low, "", FIELD_ANY, 34)                                          \
    F(upper, "", REAL, creep.size.high, "", FIELD_ANY, 34)                                         \
    F(creeps, "", FLAG, told.creeps, "", FIELD_FLAGS, 34)                                          \
    F(creep, "", REAL, told.creep.value, "", FIELD_ANY, 34)                                        \
    F(creep_lower, "", REAL, told.creep.low, "", FIELD_ANY, 34)                                    \
    F(creep_upper, "", REAL, told.creep.high, "", FIELD_ANY, 34)                                   \
    F(period, "", SIZE, told.pattern.period, "", FIELD_ANY, 34)                                    \
    F(swing, "", REAL, told.pattern.swing, "", FIELD_ANY, 34)

// A settled point as a chart shows it.
struct chart_point {
    size_t index;
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    double time_ns;
    double predicted_ns; // 0 if none
    double half_ns;      // half width of the time's interval; NaN: not known
};
#define CHART_POINT_FIELDS(F)                                                                      \
    F(at, "", SIZE, index, "", FIELD_ANY, 34)                                                      \
    F(commit_id, "", ID, commit, "", FIELD_ANY, 34)                                                \
    F(time_s, "", TIME, time_s, "", FIELD_ANY, 34)                                                 \
    F(time_ns, "", REAL, time_ns, "", FIELD_ANY, 34)                                               \
    F(predicted_ns, "", ZERO, predicted_ns, "", FIELD_ANY, 34)                                     \
    F(half_ns, "", REAL, half_ns, "", FIELD_ANY, 34)

// Gives every series a judgement row, so that from now on a series that gets new points is marked.
// Call it before reading the points that are to be judged.
int store_judge_begin(struct store *store, struct error *err);
// Reads the kept judgement. Its maker is "" when there is none.
int store_load_judgement(struct judgement *out, struct store *store, const struct series *series,
                         struct arena *arena, struct error *err);
// Replaces the judgement. If the series has other marks now than out->marks, it stays marked.
// `chart` is written when `chart_count` is not 0.
int store_save_judgement(struct store *store, const struct series *series,
                         const struct judgement *judgement, const struct chart_point *chart,
                         size_t chart_count, struct error *err);
int store_load_chart(struct chart_point **out, size_t *count, struct store *store,
                     const struct series *series, struct arena *arena, struct error *err);
// The largest key of all measurements.
int store_newest_key(int64_t *out, struct store *store, struct error *err);

// Half the width of the 95 % interval of a measurement's time, which is two standard errors of the
// trimmed mean of its samples (model/robust.h). NaN if there are no samples.
int store_half_width(double *out, struct store *store, int64_t measurement, struct error *err);

// ---- models' accuracy, run by run ----

struct kept_accuracy {
    int64_t run_id, time_s; // time of the commit
    char commit[OBJECT_ID_TEXT];
    char kernel[KERNEL_NAME_TEXT];
    enum dtype dtype;
    const char *device_uuid, *model; // two equal texts may be two pointers
    size_t count;
    double mape, bias, within, tau;
};
// Lists finished plain runs among the newest `limit` by commit time (0: all). With `every` false,
// only runs whose accuracy is not known yet are listed.
int store_accuracy_runs(int64_t **runs, size_t *count, struct store *store, bool every,
                        size_t limit, struct arena *arena, struct error *err);
// The head of one result that has both a time and a prediction.
struct accuracy_source {
    struct series_entry series;
    struct stored_point point;
};
int store_accuracy_sources(struct accuracy_source **out, size_t *count, struct store *store,
                           int64_t run_id, struct arena *arena, struct error *err);
// Saves the rows of these runs (each run's rows stand together), and marks the runs as known.
int store_save_accuracy(struct store *store, const int64_t *runs, size_t run_count,
                        const struct kept_accuracy *rows, size_t count, struct error *err);
// Rows of the newest `limit` runs by commit time (0: all), by device, kernel, type, then time.
int store_load_accuracy(struct kept_accuracy **out, size_t *count, struct store *store,
                        size_t limit, struct arena *arena, struct error *err);

// ==== what is kept of links ====
//
// The levels that a series' links gave when they were last computed.

// ---- changes and levels of one series ----

// Two codes in succession of which the gate's rule calls the newer one slower or faster.
struct linked_change {
    struct history_commit at, base; // the commit with the new code, and the commit that it was
                                    // compared with
    struct interval size;           // log ratio by all links, with its 95 % interval
    double evidence;                // the link's own evidence, in nats
    int64_t link;                   // the link's key
    bool misfit;                    // the link does not agree with the others and should be
                                    // measured again
    bool sure;                      // the 99.99 % interval does not contain 0, also when it allows
                                    // for what pairs cannot see
    bool back;                      // the new code is one that the series had before: an exact
                                    // revert
    double left;                    // how much of the change the newest code still has, as a log
                                    // ratio; NaN: no link tells
    const char *was; // the commit at which the code was measured, if `at` got that code only later;
                     // else NULL
    bool aside;      // the change is on a branch that is not part of HEAD's history
    bool alarm;      // plain times raised an alarm here, and pairs confirmed it
    bool tried;      // the codes met in a gate or a bisection only; the change is an alarm if a
                     // plain run meets them
    bool filled;     // other links lead over intermediate codes from one code to the other. It is a
                     // change only on a line that has these two codes and none between, as after a
                     // merge
};
#define LINKED_CHANGE_FIELDS(F)                                                                    \
    F(link, "", TIME, link, "", FIELD_ANY, 34)                                                     \
    F(size, "", REAL, size.value, "", FIELD_ANY, 34)                                               \
    F(lower, "", REAL, size.low, "", FIELD_ANY, 34)                                                \
    F(upper, "", REAL, size.high, "", FIELD_ANY, 34)                                               \
    F(log_evidence, "", REAL, evidence, "", FIELD_ANY, 34)                                         \
    F(misfit, "", FLAG, misfit, "", FIELD_FLAGS, 34)                                               \
    F(sure, "", FLAG, sure, "", FIELD_FLAGS, 34)                                                   \
    F(back, "", FLAG, back, "", FIELD_FLAGS, 34)                                                   \
    F(filled, "", FLAG, filled, "", FIELD_FLAGS, 34)                                               \
    F(remains, "", REAL, left, "", FIELD_ANY, 34)                                                  \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(base_id, "", ID, base.id, "", FIELD_ANY, 34)                                                 \
    F(base_s, "", TIME, base.time_s, "", FIELD_ANY, 34)

// A link that does not fit its loops, and was not measured again yet.
struct linked_misfit {
    struct history_commit at, base;
    uint32_t back; // how many codes lie between the two, counted as in struct link
};
#define LINKED_MISFIT_FIELDS(F)                                                                    \
    F(back, "", COUNT, back, "", FIELD_COUNTS, 34)                                                 \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(base_id, "", ID, base.id, "", FIELD_ANY, 34)                                                 \
    F(base_s, "", TIME, base.time_s, "", FIELD_ANY, 34)

struct linked_history {
    struct linked_change *changes; // in the order of their commits
    size_t change_count;
    struct linked_misfit *misfits;
    size_t misfit_count;
    size_t level_count; // number of the series' linked_levels
    size_t newest; // index of the newest code's level; newest is the code of the newest commit or
                   // of the newest link
    struct interval now;         // the newest code's level ...
    struct history_commit since; // ... relative to the code that came with this commit
    struct interval accepted;    // log ratio of the newest code to the accepted one; NaN: no link
                                 // leads there
    bool moved; // `accepted` (or `now`, if no code was accepted) is too large to be
                // chance
    size_t links, loops;
    int64_t newest_link; // the largest key of a link that was looked at
    size_t neighbours;   // links between a code and the one before it; 0: links do not follow this
                         // series
    const char *trouble; // why levels could not be computed, so that each link counts alone; NULL:
                         // they were
    double misclosure;   // standard deviation of the errors that pairs cannot show, as a log ratio
};

enum { KEPT_LINKS_MAKER = 33 };
struct kept_links {
    char maker[KEPT_LINKS_MAKER]; // "": nothing is kept
    struct linked_history history;
};
#define KEPT_LINKS_FIELDS(F)                                                                       \
    F(maker, "", ID, maker, "", FIELD_ANY, 34)                                                     \
    F(newest_link, "", TIME, history.newest_link, "", FIELD_ANY, 34)                               \
    F(links, "", SIZE, history.links, "", FIELD_ANY, 34)                                           \
    F(neighbours, "", SIZE, history.neighbours, "", FIELD_ANY, 34)                                 \
    F(loops, "", SIZE, history.loops, "", FIELD_ANY, 34)                                           \
    F(levels, "", SIZE, history.level_count, "", FIELD_ANY, 34)                                    \
    F(newest, "", SIZE, history.newest, "", FIELD_ANY, 34)                                         \
    F(misclosure, "", REAL, history.misclosure, "", FIELD_ANY, 34)                                 \
    F(now, "", REAL, history.now.value, "", FIELD_ANY, 34)                                         \
    F(now_lower, "", REAL, history.now.low, "", FIELD_ANY, 34)                                     \
    F(now_upper, "", REAL, history.now.high, "", FIELD_ANY, 34)                                    \
    F(accepted, "", REAL, history.accepted.value, "", FIELD_ANY, 34)                               \
    F(accepted_lower, "", REAL, history.accepted.low, "", FIELD_ANY, 34)                           \
    F(accepted_upper, "", REAL, history.accepted.high, "", FIELD_ANY, 34)                          \
    F(moved, "", FLAG, history.moved, "", FIELD_FLAGS, 34)                                         \
    F(trouble, "", NOTE, history.trouble, "", FIELD_ANY, 34)                                       \
    F(since_id, "", ID, history.since.id, "", FIELD_ANY, 34)                                       \
    F(since_s, "", TIME, history.since.time_s, "", FIELD_ANY, 34)

// Returns the largest key of the series' links, 0 if it has none. Keys only grow, because links are
// never removed.
int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err);
int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err);
// Replaces the kept links, in one transaction. The series must be known to the store.
int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err);

#endif
