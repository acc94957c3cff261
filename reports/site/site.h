// SPDX-License-Identifier: Apache-2.0
//
// The nightly site: a pure function from what is stored to a folder of static files that open
// offline and need no server.
//
//     index.html      what changed since the last accepted state; every series, to search and sort
//     kernel/*.html   one page per kernel: each series with its chart, changes, epochs, prediction
//     device/*.html   one page per device: every series on it, and its sorted accuracy
//     accuracy.html   how good each model is, run by run
//     metrics.html    figures beside time that the policy asks for, and where they changed
//     commit/*.html   one page per commit that a run measured, run/*.html one per run
//     commit/*.json   what pages of commits were made of, to know which have to be made again
//     runs.html       the newest runs;  compare.html  any two of all side by side
//     compare/        data that pages load on demand: the list of all runs; their times and codes,
//                     in files of SITE_RUNS_PER_FILE runs; and the results of pairs of codes
//     series/*.js     the data of one series' chart;  series.js  the names of all series
//     series/*.html   a series whole, where its kernel's page shows less of it
//     points/*.js     the points of a long series that its page leaves out
//     events.html     the newest events, one row each;  feed.xml  the same as an Atom feed
//     events/*.html   older ones, where there are very many;  events/list.js  which is where
// Beside every page of tables stands the same as JSON (index.json, kernel/*.json, ...).
//
// Scale: the summaries of all series are held at once (about 400 bytes each); the points of a
// series come through `load` and are dropped after its page part is written, so memory does not
// grow with the number of commits; a run's times come through `load_times` likewise. A page or file
// of times whose inputs have not changed is not made again.
#ifndef PLUMB_REPORTS_SITE_H
#define PLUMB_REPORTS_SITE_H

#include "model/history/event.h"
#include "reports/charts/charts.h"

enum { SITE_SPARK = 32, SITE_RUNS_PER_FILE = 64, SITE_PAIRS = 20000 };

// A change of level that was found in a series' past.
struct site_change {
    size_t index;   // the new level begins with this point of the series
    size_t commits; // size of the credible set, which contains the commit that began it
    char commit[OBJECT_ID_TEXT], first_commit[OBJECT_ID_TEXT], last_commit[OBJECT_ID_TEXT];
    bool linked;               // it was measured by pairs with the commit before, `first_commit`
    int64_t time_s;            // the time of `commit`
    struct interval log_ratio; // log(after / before)
    double log_evidence;       // natural log of the evidence against "no change"
    enum cause cause;          // kernel, environment or model
    const char *sentence;      // or NULL
};

// An accepted change of baseline.
struct site_epoch {
    size_t index; // the accepted level begins with this point of the series
    char commit[OBJECT_ID_TEXT];
    double level; // accepted log(new / old)
    const char *reason, *who;
    int64_t when_s;
};

// A declared change of driver, runtime, model or device.
struct site_break {
    size_t index; // the first point after it
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    const char *what;          // "driver 570.86 -> 580.65"
    struct interval log_ratio; // by how much times moved with it; NaN: not known
};

// From this commit on the series has a code of this level. The level is the log ratio to the first
// code that is linked with it, computed from all comparisons by pairs.
struct site_level {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    struct interval level;
    size_t mark; // levels with the same mark can be compared; those of another mark begin at 0
                 // again
};
struct site_levels {
    const struct site_level *levels; // in the order of commits; a code that came back is listed
                                     // again
    size_t count;                    // how many are listed here; a long history lists only so many
    size_t total;                    // how many there are; 0: as many as `count`
    size_t links, loops;
    double misclosure;   // standard deviation of the errors that pairs cannot show, as a log ratio
    const char *trouble; // why there are no levels although there are links, or NULL
};

// A point of a long series whose page shows only some of the points; a file of its own
// (points/*.js) has these facts of all of them.
struct site_point {
    int64_t run; // the run that measured it
    double time_ns;
};

// The details of one series, which `load` provides.
struct site_detail {
    struct history history;    // the points shown, newest last; for a series that has only links,
                               // the commits of its codes without times
    const size_t *at;          // the index of each point in the series, or NULL: all are shown
    size_t total;              // number of the series' points
    size_t settled;            // how many of its first points are settled; load_points() has them;
                               // 0: all points are shown
    uint64_t settled_revision; // differs whenever the settled points do
    struct site_levels linked;
    const double *lower_ns, *upper_ns; // interval of each point's time, or NULL
    const struct site_change *changes; // sorted by index
    size_t change_count;
    const struct site_epoch *epochs;
    size_t epoch_count;
    const struct site_break *breaks; // sorted by index
    size_t break_count;
    struct prediction prediction; // for the newest point; model NULL: none
    struct traits traits;
    const struct chart_span *spans; // the predicted pipeline, or NULL; its lanes are warp roles and
                                    // stages
    size_t span_count;
    const char *span_note; // says what the spans show
};

// One line of the overview.
struct site_series {
    const char *kernel; // untrusted text, like all names
    struct problem problem;
    size_t device;       // index into site->devices
    uint64_t revision;   // differs whenever the result of `load` differs (a hash, or a last row id)
    bool control;        // the series cannot have changed
    size_t points;       // number of commits with a measurement
    int64_t newest_s;    // commit time of the newest point
    double time_ns;      // the newest time, NaN if there is none
    double clock_hz;     // 0 unknown
    double predicted_ns; // 0: none
    enum bound bound;
    // The change since the last accepted state: since the last epoch, or since the beginning if
    // there is none.
    enum verdict_kind kind; // never VERDICT_ACCEPTED, because an epoch expresses that
    enum cause cause;
    struct interval log_ratio; // NaN if none
    // The newest change in the direction of log_ratio. log_ratio may be the sum of many changes.
    const char *since;       // id of the commit that it began with, or NULL
    int64_t since_s;         // that commit's time
    double step;             // the change's own log ratio; NaN: there is none
    const char *sentence;    // or NULL
    const char *owner;       // who maintains the kernel, or NULL
    double sigma;            // standard deviation of the log of one run's time about its level; 0:
                             // not known
    float spark[SITE_SPARK]; // the newest times in any unit, oldest first
    size_t spark_count;
};

// How good a model was in one run, over all problems of a kernel, a type and a device.
struct site_accuracy_point {
    int64_t time_s;
    char commit[OBJECT_ID_TEXT];
    size_t count;      // number of predictions that were compared
    double mape, bias; // as fractions: 0.1 is 10 %; bias: the mean of actual / predicted - 1
    double tau;        // Kendall's rank correlation, -1 .. 1, NaN if fewer than 2
    double within;     // the share of predictions within +-10 %, 0..1
};
enum site_accuracy_figure { SITE_MAPE, SITE_BIAS, SITE_TAU, SITE_WITHIN, SITE_ACCURACY_FIGURES };
double site_accuracy_value(const struct site_accuracy_point *point,
                           enum site_accuracy_figure figure);
struct site_accuracy {
    const char *model, *version; // version: that of the newest point
    const char *kernel;          // "" stands for all kernels
    enum dtype dtype;
    size_t device;
    const struct site_accuracy_point *points; // newest last
    size_t count;
    // The indices at which the level of each figure changed, ascending.
    struct site_accuracy_changes {
        const size_t *at;
        size_t count;
    } changes[SITE_ACCURACY_FIGURES];
};

// A comparison of two codes of a series by pairs.
struct site_pair {
    size_t series;
    int64_t key;        // a larger key means a newer pair
    int64_t base, head; // codes in the numbers that load_times() uses
    enum verdict_kind kind;
    double log_ratio, error; // log(head / base), and its standard error
    uint32_t pairs;
};

struct site_run {
    int64_t id;
    enum run_kind kind;
    int64_t started_s, finished_s; // finished 0: the run was interrupted
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    const char *summary, *author; // of the head commit, untrusted
    int64_t commit_s;             // the head commit's time
    size_t device;                // the first one of the run's devices
    enum conclusion conclusion;
    const char *headline;
    const char *href;  // address of the run's own report, relative to the site's folder, or NULL
    uint64_t revision; // differs whenever the run's times do; 0: it has no times to compare
};

// One cause of change (model/history/event.h). The `series` of its changes are indices into the
// site's series.
struct site_event {
    const struct event *event;
    const char *sentence; // for people
    char slug[24];        // made of its name, for addresses
};

// A figure beside time that the policy asks for, at each commit of HEAD's line.
struct site_metric {
    const char *name, *subject, *device, *unit; // device: its name, "" if the figure belongs to
                                                // none
    const double *values;                       // oldest first
    const struct commit *const *commits;        // of each value
    size_t count;
    const size_t *changes; // indices of values that differ from those before them by more than the
                           // margin, ascending
    size_t change_count;
};

// The changes of all metrics at one commit.
struct site_metric_event {
    const char *name, *sentence; // sentence: of all its changes together
    const struct commit *at;
    size_t commits; // number of commits of which one began it; the last of them is `at`
    enum event_state state;
    bool open; // it makes something worse, and nobody has decided about it
    size_t count;
    const char *const *changes; // the sentence of each change
    const char *const *whys;    // what a person said about each change, or NULL
    struct event_taken taken;
};

// Whether a device's controls show that it is sick. SITE_UNJUDGED: its controls cannot show it.
enum site_wellness { SITE_UNJUDGED, SITE_WELL, SITE_SICK };
struct site_health {
    enum site_wellness is;
    bool void_run;   // the A/A pairs of the newest run on it failed
    const char *why; // why it is sick or unjudged; NULL: its controls cannot show anything
};

struct site {
    const char *repository, *tool_version;
    int64_t made_s;         // the newest run's time; no clock is read, so that the same data gives
                            // the same site
    const char *commit_url; // address of a commit's page: the id replaces %s, or is appended; or
                            // NULL
    const char *site_url;   // the absolute address where the site will be published, or NULL (for
                            // Atom ids and links)
    const struct device *devices;
    size_t device_count;
    const struct site_health *health; // one per device, or NULL: it was not asked for
    const struct site_series *series; // in any order
    size_t series_count;
    const struct site_accuracy *accuracy;
    size_t accuracy_count;
    uint64_t accuracy_judge;     // differs when another judgement may find other changes of
                                 // accuracy
    const struct site_run *runs; // newest first
    size_t run_count;
    const struct site_pair *pairs;   // sorted by series; those of one series are newest first
    size_t pair_count;               // number of pairs here, which are the SITE_PAIRS newest
    const struct site_event *events; // newest first
    size_t event_count;
    const struct site_metric *metrics; // sorted by name and subject
    size_t metric_count;
    const struct site_metric_event *metric_events; // newest first
    size_t metric_event_count;
    // Fills in `out` for series[index], in arena memory. It is called once for each part of a page
    // that must be made; the arena is freed when that part is written.
    int (*load)(struct site_detail *out, size_t index, void *context, struct arena *arena,
                struct error *err);
    // Reads the first `count` points of a series, in their order.
    int (*load_points)(struct site_point *points, size_t count, size_t index, void *context,
                       struct error *err);
    // Finds where the figures of `accuracy` changed, which takes long. It is called only when the
    // page that shows these changes must be made. NULL: they are filled in already.
    void (*judge_accuracy)(void *context);
    // Reads the time of each series in runs[run], NaN: not measured. Unless `codes` is NULL it also
    // reads the code that each time belongs to, 0: not known.
    int (*load_times)(double *times_ns, int64_t *codes, size_t run, void *context,
                      struct error *err);
    // Reads all of runs[run], for its verdicts (site_runs.c says for which runs). The caller calls
    // run_free(). NULL: pages of runs show no verdicts.
    int (*load_run)(struct run *out, size_t run, void *context, struct error *err);
    void *context;
    // For several threads: a context for each (the first is `context`), and a function that calls
    // work() once with each of its contexts, all at the same time, and returns when all calls have.
    // 0 and NULL: one thread only.
    void *const *contexts;
    size_t context_count;
    void (*together)(void (*work)(void *context), void *const *contexts, size_t count);
};

struct site_written {
    size_t pages, unchanged; // number of files written, and of files left as they were
    size_t loaded;           // number of series whose points were read
    size_t loaded_runs;      // number of runs whose times were read, for the files of compare.html
    size_t loaded_points;    // number of series whose settled points were read
};

// Makes or updates the site in `directory` (created if missing; its parent must exist). Each file
// is replaced as a whole. Pages of kernels that no longer exist stay, without links to them.
// `written` may be NULL.
int site_write(const struct site *site, const char *directory, struct site_written *written,
               struct error *err);

#endif
