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
//     compare/        what pages load when it is asked for: the list of all runs, their times and
//     codes
//                     in files of SITE_RUNS_PER_FILE runs, and what pairs of codes said
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

// A change of level found in a series' past.
struct site_change {
    size_t index;   // the new level begins with this point of the series
    size_t commits; // in the credible set: it began with one of them
    char commit[OBJECT_ID_TEXT], first_commit[OBJECT_ID_TEXT], last_commit[OBJECT_ID_TEXT];
    bool linked;               // measured side by side with the commit before, `first_commit`
    int64_t time_s;            // of `commit`
    struct interval log_ratio; // log(after / before)
    double log_evidence;       // natural log of the evidence against "no change"
    enum cause cause;          // kernel, environment, model
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

// A declared change: driver, runtime, model, device.
struct site_break {
    size_t index; // first point after it
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    const char *what;          // "driver 570.86 -> 580.65"
    struct interval log_ratio; // by how much times moved with it; NaN: not known
};

// From this commit on the series has a code of this level: log time against the first code that is
// linked with it, by all comparisons side by side.
struct site_level {
    char commit[OBJECT_ID_TEXT];
    int64_t time_s;
    struct interval level;
    size_t mark; // levels of one mark can be compared; another's begin at 0 again
};
struct site_levels {
    const struct site_level *levels; // in order of commits; a code that came back is there again
    size_t count;                    // of them here; a long history shows so many
    size_t total;                    // that there are; 0: these
    size_t links, loops;
    double misclosure;   // SD of what a link's pairs cannot see, log ratio
    const char *trouble; // why there are none though there are links, or NULL
};

// A point without what a chart of few points shows of it.
struct site_point {
    int64_t run; // that measured it
    double time_ns;
};

// The details of one series, handed out by `load`.
struct site_detail {
    struct history history;    // the points shown, newest last; of links alone, the commits of
                               // their codes without times
    const size_t *at;          // index of each in the series, or NULL: all are shown
    size_t total;              // points of the series
    size_t settled;            // the first of them, which load_points() has; 0: all are shown
    uint64_t settled_revision; // differs whenever these do
    struct site_levels linked;
    const double *lower_ns, *upper_ns; // interval of each point's time, or NULL
    const struct site_change *changes; // by index, ascending
    size_t change_count;
    const struct site_epoch *epochs;
    size_t epoch_count;
    const struct site_break *breaks; // by index
    size_t break_count;
    struct prediction prediction; // of the newest point; model NULL: none
    struct traits traits;
    const struct chart_span *spans; // lanes: warp roles, stages; of the predicted pipeline, or NULL
    size_t span_count;
    const char *span_note; // what the spans are of
};

// One line of the overview.
struct site_series {
    const char *kernel; // untrusted text, as all names
    struct problem problem;
    size_t device;       // index into site->devices
    uint64_t revision;   // differs whenever what `load` gives differs (a hash, or a last row id)
    bool control;        // cannot have changed
    size_t points;       // commits measured
    int64_t newest_s;    // commit time of the newest point
    double time_ns;      // newest, NaN if none
    double clock_hz;     // 0 unknown
    double predicted_ns; // 0 none
    enum bound bound;
    // Against the last accepted state: the last epoch, or the beginning when there is none.
    enum verdict_kind kind; // not accepted: what is accepted is an epoch
    enum cause cause;
    struct interval log_ratio; // NaN if none
    // The newest change in the direction of log_ratio, which many changes may have brought about.
    const char *since;       // commit id it began with, or NULL
    int64_t since_s;         // its time
    double step;             // its own log ratio, NaN: none
    const char *sentence;    // or NULL
    const char *owner;       // who looks after the kernel, or NULL
    double sigma;            // SD of the log of one run's time about its level; 0: not known
    float spark[SITE_SPARK]; // newest times in any unit, oldest first
    size_t spark_count;
};

// How good a model was in one run: over all problems of a kernel, type and device.
struct site_accuracy_point {
    int64_t time_s;
    char commit[OBJECT_ID_TEXT];
    size_t count;      // predictions compared
    double mape, bias; // relative: 0.1 is 10 %; bias: mean of actual / predicted - 1
    double tau;        // Kendall's rank correlation, -1 .. 1, NaN if fewer than 2
    double within;     // share within +-10 %, 0..1
};
enum site_accuracy_figure { SITE_MAPE, SITE_BIAS, SITE_TAU, SITE_WITHIN, SITE_ACCURACY_FIGURES };
double site_accuracy_value(const struct site_accuracy_point *point,
                           enum site_accuracy_figure figure);
struct site_accuracy {
    const char *model, *version; // version: the newest point's
    const char *kernel;          // "" = all kernels
    enum dtype dtype;
    size_t device;
    const struct site_accuracy_point *points; // newest last
    size_t count;
    // Indices at which the level of each figure changed, ascending.
    struct site_accuracy_changes {
        const size_t *at;
        size_t count;
    } changes[SITE_ACCURACY_FIGURES];
};

// The comparison of two codes of a series by pairs.
struct site_pair {
    size_t series;
    int64_t key;        // the larger, the newer
    int64_t base, head; // codes, as load_times() names them
    enum verdict_kind kind;
    double log_ratio, error; // log(head / base), and its standard error
    uint32_t pairs;
};

struct site_run {
    int64_t id;
    enum run_kind kind;
    int64_t started_s, finished_s; // finished 0: interrupted
    char base[OBJECT_ID_TEXT], head[OBJECT_ID_TEXT];
    const char *summary, *author; // of the head commit, untrusted
    int64_t commit_s;             // its time
    size_t device;                // the first of its devices
    enum conclusion conclusion;
    const char *headline;
    const char *href;  // its own report, relative to the site's folder, or NULL
    uint64_t revision; // differs whenever its times do; 0: it has none to compare
};

// One cause of change (model/history/event.h); its changes' `series` are indices of ours.
struct site_event {
    const struct event *event;
    const char *sentence; // for people
    char slug[24];        // of its name, for addresses
};

// A figure beside time that the policy asks for, commit by commit of HEAD's line.
struct site_metric {
    const char *name, *subject, *device, *unit; // device: its name, "" where it is of none
    const double *values;                       // oldest first
    const struct commit *const *commits;        // of each
    size_t count;
    const size_t *changes; // indices of values that left what was before them, ascending
    size_t change_count;
};

// The changes of all metrics at one commit.
struct site_metric_event {
    const char *name, *sentence; // the sentence is of all
    const struct commit *at;
    size_t commits; // it began with one of so many, the last of which is `at`
    enum event_state state;
    bool open; // something is worse and nobody has decided
    size_t count;
    const char *const *changes; // sentences
    const char *const *whys;    // what a person said of each, or NULL
    struct event_taken taken;
};

// Whether a device's controls say that it is as it was.
enum site_wellness { SITE_UNJUDGED, SITE_WELL, SITE_SICK };
struct site_health {
    enum site_wellness is;
    bool void_run;   // the newest run on it failed its own A/A
    const char *why; // NULL: nothing of it can tell
};

struct site {
    const char *repository, *tool_version;
    int64_t made_s;         // time of the newest run: no clock is read, so the same gives the same
    const char *commit_url; // of a commit: its id in place of %s or behind; or NULL
    const char *site_url;   // absolute address it will be published at, or NULL (Atom ids, links)
    const struct device *devices;
    size_t device_count;
    const struct site_health *health; // one per device, or NULL: nobody asked
    const struct site_series *series; // any order
    size_t series_count;
    const struct site_accuracy *accuracy;
    size_t accuracy_count;
    uint64_t accuracy_judge;     // differs when another would say otherwise where a figure changed
    const struct site_run *runs; // newest first
    size_t run_count;
    const struct site_pair *pairs;   // by series, and of each the newest first
    size_t pair_count;               // of them here: the SITE_PAIRS newest
    const struct site_event *events; // newest first
    size_t event_count;
    const struct site_metric *metrics; // by name and subject
    size_t metric_count;
    const struct site_metric_event *metric_events; // newest first
    size_t metric_event_count;
    // Fills `out` from arena memory for series[index]; called once per series page part that must
    // be made. The arena is freed after the part is written.
    int (*load)(struct site_detail *out, size_t index, void *context, struct arena *arena,
                struct error *err);
    // The first `count` points of a series, in order.
    int (*load_points)(struct site_point *points, size_t count, size_t index, void *context,
                       struct error *err);
    // Fills in where the figures of `accuracy` changed, which takes long; called only when the page
    // that shows it must be made. NULL: it is filled in.
    void (*judge_accuracy)(void *context);
    // The times of runs[run], one per series, NaN = not measured; and, unless NULL, the codes that
    // they are of, 0 = not known.
    int (*load_times)(double *times_ns, int64_t *codes, size_t run, void *context,
                      struct error *err);
    // All of runs[run], for its verdicts (site_runs.c says of which); the caller run_free()s
    // it. NULL: pages of runs show no verdicts.
    int (*load_run)(struct run *out, size_t run, void *context, struct error *err);
    void *context;
    // For more threads: a context each, the first being `context`, and what calls work() once with
    // each of its contexts, all at the same time, and returns when all have. 0 and NULL: none.
    void *const *contexts;
    size_t context_count;
    void (*together)(void (*work)(void *context), void *const *contexts, size_t count);
};

struct site_written {
    size_t pages, unchanged; // files written, files left as they were
    size_t loaded;           // series whose points were asked for
    size_t loaded_runs;      // runs whose times were, for the files of compare.html
    size_t loaded_points;    // series whose settled points were
};

// Makes or refreshes the site in `directory` (created; its parent must exist). Files are replaced
// whole. Pages of kernels that are no longer there stay, unlinked. `written` may be NULL.
int site_write(const struct site *site, const char *directory, struct site_written *written,
               struct error *err);

#endif
