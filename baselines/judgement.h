// SPDX-License-Identifier: Apache-2.0
//
// Conclusions about a series' history, kept from one look at it to the next. The points up to
// `settled` are judged once; a later look reads and judges only the points after them, unless a new
// point came among them.
//
// Whoever saves, merges or prunes marks the series concerned, so no judgement is taken for more
// than it knows: a judgement counts only with the marks it was made under.
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
    size_t commits;                             // in the credible set
    const char *held;                           // their ids, oldest first, a space between
    bool code_changed, model_changed;           // within the credible set
    enum attribution attribution;
    const char *what; // name of a break, or NULL
    bool shared;      // by so many series that it is the device's or the model's; not kept
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

// Movements of a series that are no change of level: a creep, a pattern.
struct told {
    bool creeps;
    struct interval creep; // log ratio of its last point to its first
    struct pattern pattern;
};

// A declared change: driver, CUDA runtime, model, device. It is not a change of level, but may be
// why.
struct history_break {
    size_t index; // first point after it
    struct history_commit at;
    const char *what; // "driver 570.86 -> 580.65"
    bool model;
    // A device took another's place, whose series ends where this one begins (index 0). size: how
    // far times moved, log ratio, NaN when there were too few points; not kept, because the other
    // series may go on.
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
    // The version of the code that made it: a judgement of another version counts as none.
    char maker[JUDGEMENT_MAKER_TEXT];
    int64_t marks;      // of the series when it was read
    bool changed;       // something came or was renewed since it was made ...
    int64_t changed_s;  // ... at this commit time or later
    int64_t newest_key; // the largest measurement key looked at
    size_t points;      // of the series
    size_t settled;     // the first of them, whose changes stay
    int64_t settled_s;  // commit time of the last settled one, and its measurement's key
    int64_t settled_key;
    int64_t settled_marks; // those points are the same as long as this is
    int64_t context_s;     // commit time from which on points are read again
    // The judgement itself.
    bool against_model, common_mode, drift;
    double sigma, correlation;
    size_t since;           // first point of the accepted state; SIZE_MAX: not measured yet
    double level, level_se; // of the accepted state
    struct creep creep;     // without its evidence
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

// A settled point, for a chart.
struct chart_point {
    size_t index;
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    double time_ns;
    double predicted_ns; // 0 if none
    double half_ns;      // half width of the time's interval, NaN unknown
};
#define CHART_POINT_FIELDS(F)                                                                      \
    F(at, "", SIZE, index, "", FIELD_ANY, 34)                                                      \
    F(commit_id, "", ID, commit, "", FIELD_ANY, 34)                                                \
    F(time_s, "", TIME, time_s, "", FIELD_ANY, 34)                                                 \
    F(time_ns, "", REAL, time_ns, "", FIELD_ANY, 34)                                               \
    F(predicted_ns, "", ZERO, predicted_ns, "", FIELD_ANY, 34)                                     \
    F(half_ns, "", REAL, half_ns, "", FIELD_ANY, 34)

// Makes room for every series' judgement, so that from now on series with new points are marked.
// Call before reading points to judge.
int store_judge_begin(struct store *store, struct error *err);
// Reads the kept judgement; maker "": there is none.
int store_load_judgement(struct judgement *out, struct store *store, const struct series *series,
                         struct arena *arena, struct error *err);
// Replaces the judgement. A series that changed since out->marks was read stays marked. `chart` is
// written when `chart_count` is not 0.
int store_save_judgement(struct store *store, const struct series *series,
                         const struct judgement *judgement, const struct chart_point *chart,
                         size_t chart_count, struct error *err);
int store_load_chart(struct chart_point **out, size_t *count, struct store *store,
                     const struct series *series, struct arena *arena, struct error *err);
// The largest key of all measurements.
int store_newest_key(int64_t *out, struct store *store, struct error *err);

// Half width of the 95 % interval of a measurement's time: two standard errors of the trimmed mean
// of its samples (model/robust.h). NaN without samples.
int store_half_width(double *out, struct store *store, int64_t measurement, struct error *err);

// ---- models' accuracy, run by run ----

struct kept_accuracy {
    int64_t run_id, time_s; // time of the commit
    char commit[OBJECT_ID_TEXT];
    char kernel[KERNEL_NAME_TEXT];
    enum dtype dtype;
    const char *device_uuid, *model; // equal texts are not equal pointers
    size_t count;
    double mape, bias, within, tau;
};
// Finished plain runs among the newest `limit` by commit time (0: all): every one, or only runs
// whose accuracy is not known.
int store_accuracy_runs(int64_t **runs, size_t *count, struct store *store, bool every,
                        size_t limit, struct arena *arena, struct error *err);
// One timed and predicted head of a run.
struct accuracy_source {
    struct series_entry series;
    struct stored_point point;
};
int store_accuracy_sources(struct accuracy_source **out, size_t *count, struct store *store,
                           int64_t run_id, struct arena *arena, struct error *err);
// Saves the rows of these runs (each run's rows stand together), and that the runs are known.
int store_save_accuracy(struct store *store, const int64_t *runs, size_t run_count,
                        const struct kept_accuracy *rows, size_t count, struct error *err);
// Rows of the newest `limit` runs by commit time (0: all), by device, kernel, type, then time.
int store_load_accuracy(struct kept_accuracy **out, size_t *count, struct store *store,
                        size_t limit, struct arena *arena, struct error *err);

// ==== what is kept of links ====
//
// The levels of a series' links, as they were last computed.

// ---- what they said of the series ----

// A code that the gate's rule calls slower or faster than the one before it.
struct linked_change {
    struct history_commit at, base; // the commit with the new code, and the one it was held against
    struct interval size;           // log ratio by all links, with its 95 % interval
    double evidence;                // of the link itself, nats
    int64_t link;                   // its key
    bool misfit;                    // the link does not fit the others: it should be measured again
    bool sure;                      // its 99.99 % interval, with what pairs cannot see, has no 0
    bool back;                      // to a code that the series had before: an exact revert
    double left;                    // of it, in the newest code; log ratio, NaN: no link says
    const char *was; // the commit that it was measured at, where `at` has got its code since; NULL
    bool aside;      // of a branch that the line of HEAD does not have
    bool alarm;      // of times alone, which pairs confirmed
    bool tried;      // in a gate or a bisection only: an alarm where a plain run met its codes
    bool filled;     // links within it lead from one code to the other: a change only where a line
                     // has these two and none between, as after a merge
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
    uint32_t back; // codes
};
#define LINKED_MISFIT_FIELDS(F)                                                                    \
    F(back, "", COUNT, back, "", FIELD_COUNTS, 34)                                                 \
    F(at_id, "", ID, at.id, "", FIELD_ANY, 34)                                                     \
    F(at_s, "", TIME, at.time_s, "", FIELD_ANY, 34)                                                \
    F(base_id, "", ID, base.id, "", FIELD_ANY, 34)                                                 \
    F(base_s, "", TIME, base.time_s, "", FIELD_ANY, 34)

struct linked_history {
    struct linked_change *changes; // in order of their commits
    size_t change_count;
    struct linked_misfit *misfits;
    size_t misfit_count;
    size_t level_count; // of its linked_levels
    size_t newest; // index of the level of the newest code: of the newest commit, or newest link
    struct interval now;         // that level ...
    struct history_commit since; // ... against the code that came with this commit
    struct interval accepted; // log time of the newest code against the accepted one; NaN: no link
    bool moved;               // that one, or without an accepted code `now`, is no chance
    size_t links, loops;
    int64_t newest_link; // the largest key of a link that was looked at
    size_t neighbours;   // links of a code with the one before it; 0: nothing is followed by links
    const char *trouble; // why there are no levels and each link counts alone; NULL: there are
    double misclosure;   // SD of what a link's pairs cannot see, log ratio
};

enum { KEPT_LINKS_MAKER = 33 };
struct kept_links {
    char maker[KEPT_LINKS_MAKER]; // "": there are none
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

// The largest key of a link of the series; 0: it has none. Keys only grow: links are never removed.
int store_newest_link(int64_t *out, struct store *store, const struct series *series,
                      struct error *err);
int store_load_kept_links(struct kept_links *out, struct store *store, const struct series *series,
                          struct arena *arena, struct error *err);
// Replaces the kept links, in one transaction. The series must be known to the store.
int store_save_kept_links(struct store *store, const struct series *series,
                          const struct kept_links *kept, struct error *err);

// ---- links judged a second time ----

// How far the stream of all links was tested, and which changes were discovered in it. `maker`
// names the rules by which that was done; the store keeps the word and does not read it.
enum { KEPT_TESTS_MAKER = 33 };

struct kept_test {
    int64_t link;        // key
    double log_evidence; // with that of earlier links of the same two codes
    bool discovered;
};
struct kept_tests {
    char maker[KEPT_TESTS_MAKER];     // "": there are none
    int64_t newest_link, newest_code; // none beyond them was looked at
    int64_t made_s, series;           // the last test's place in the stream, with its uid
    char uid[STORE_UID_TEXT];
    uint64_t tests, found;
    struct kept_test *items; // those that say more than their link
    size_t count;
};
int store_load_kept_tests(struct kept_tests *out, struct store *store, struct arena *arena,
                          struct error *err);
// Keeps how far the stream was tested. The items from `first` on are added to those that the
// store has; with `first` 0 they replace them.
int store_save_kept_tests(struct store *store, const struct kept_tests *tests, size_t first,
                          struct error *err);

#endif
