// SPDX-License-Identifier: Apache-2.0
//
// The pages of the site, and what they share. site.c decides which are made and writes them.
#ifndef PLUMB_REPORTS_SITE_PARTS_H
#define PLUMB_REPORTS_SITE_PARTS_H

#include "reports/charts/charts.h"
#include "reports/site/site.h"
#include "reports/text/json.h"
#include "reports/text/page.h"

enum { SLUG_TEXT = 80 };
struct site_target;

// The series of one kernel or one device, and the name of its page.
struct site_group {
    const char *name;
    char slug[SLUG_TEXT]; // file name without folder and ending; unique among its kind
    size_t *series;       // indices, worst first
    size_t count;
};

// A commit that runs were about, and the name of its page.
struct site_commit {
    const char *id, *summary, *author; // author "": unknown
    int64_t time_s;
    int64_t first_run; // the smallest id of its runs: the same whatever comes later
    size_t *runs;      // indices, newest first; in the map's memory
    size_t run_count;
    size_t *events; // indices into site->events: it may be the reason of these
    size_t event_count;
    char slug[SLUG_TEXT];
};

struct site_map {
    const struct site *site;
    struct site_commit *commits; // in order of their time
    size_t commit_count;
    struct site_commit **commits_by_id;
    size_t *run_memory, *event_memory;    // what the commits point into
    struct site_group *kernels, *devices; // devices: one per site->devices
    size_t kernel_count;
    size_t *order;     // all series, worst first
    size_t *kernel_of; // series -> kernels
    // By series: the newest open event that touches it, of site->events, SIZE_MAX: none; and how
    // many open events do.
    size_t *event_of, *event_counts;
};

// A page being made: its HTML and the same figures as JSON.
struct site_page {
    const struct site_map *map;
    const char *root; // "" or "../"
    struct markup *m;
    struct json json;
};

// Writes the frame: head, navigation (with `root`), title; `page` keeps what page_finish() needs.
enum site_frame { SITE_PLAIN, SITE_WITH_CHARTS, SITE_LOADS, SITE_SMALL };
void site_begin(struct site_page *p, struct page *page, const char *title, enum site_frame frame);
void site_finish(struct site_page *p, const struct page *page, struct buffer *html);

// The table of series with its JSON array `name`; columns that say nothing here are left out.
enum site_column { SITE_WITH_KERNEL = 1, SITE_WITH_DEVICE = 2, SITE_WITH_ANCHORS = 4 };
void site_table(struct site_page *p, const char *name, const size_t *series, size_t count,
                unsigned columns);
// Which of these are not where they were accepted, grouped by kernel; and how many of each.
void site_findings(struct site_page *p, const size_t *series, size_t count);
void site_counts(struct site_page *p, const size_t *series, size_t count);
void site_curves(struct site_page *p, const size_t *series, size_t count);

bool site_is_environment(const struct site_series *s);
double site_ratio(const struct site_series *s); // actual / predicted, NaN if unknown
void site_commit(struct site_page *p, const char *id);
void site_run_link(struct site_page *p, const struct site_run *run);
void site_conclusion(struct markup *m, const struct site_run *run);
// The newest change that went where the series is now: its size, commit and day; "-" for none.
void site_step(struct site_page *p, const struct site_series *series);
void site_heading(struct markup *m, const char *text);
// The id of a series' part of its kernel's page: the same whenever it is made.
enum { SITE_ANCHOR = 24 };
void site_anchor(char out[SITE_ANCHOR], const struct site *site, size_t series);
// What a series is called in every file that pages load.
void site_series_name(char out[SITE_ANCHOR], const struct site *site, size_t series);
// Link to a series on its kernel's page.
void site_series_link(struct site_page *p, size_t series, const char *text);

// The chart of a series; and the members of its data.
void site_chart(struct site_page *p, size_t series, const struct site_detail *detail);
void site_chart_data(struct json *j, const struct site_map *map, size_t series,
                     const struct site_detail *detail);
// `js` gets a script that hands the JSON over: "call(...);".
void site_wrap(struct buffer *js, const char *call, const struct buffer *json);

// ---- commits (site_commits.c) ----
void site_find_commits(struct site_map *map);
void site_forget_commits(struct site_map *map);
const struct site_commit *site_find_commit(const struct site_map *map, const char *id); // or NULL
// A file name for a name from outside.
void site_make_slug(char out[SLUG_TEXT], const char *name);
// Times of all runs, and the pages of runs and commits (site_blocks.c), in files and steps of
// SITE_RUNS_PER_FILE runs.
int site_write_runs(struct site_target *target, const struct site_map *map, struct error *err);
// Pages of kernels whose series are others than before, and all files of these (site_kernels.c).
int site_write_kernels(struct site_target *target, const struct site_map *map, struct error *err);
// These pages. whole: the run with its verdicts, or NULL: they are not shown, as of runs of which
// site_run_has_verdicts() is false. times_ns: of the run and of the one before it, one per series;
// NULL: there are none.
bool site_run_has_verdicts(const struct site_run *run);
void site_run_page(struct buffer *html, const struct site_map *map, size_t run,
                   const struct run *whole, const double *before_ns, const double *times_ns);
// What the run decided, series by series (site_verdicts.c).
void site_verdicts(struct site_page *p, const struct run *run);
// The colour of what a run concluded.
const char *site_conclusion_class(const struct site_run *run);
void site_commit_page(struct buffer *html, const struct site_map *map, size_t commit);

// What pages load: the points of a long series that its page leaves out, and all series by name.
void site_settled(struct buffer *js, struct buffer *json, const char *name,
                  const struct site_point *points, size_t count, uint64_t stamp);
void site_series_list(struct buffer *js, struct buffer *json, const struct site_map *map);

// ---- one series (site_series.c) ----
// Its part of its kernel's page, and the page of all its changes if it has one.
void site_series_part(struct buffer *html, const struct site_map *map, size_t series,
                      const struct site_detail *detail, bool open);
bool site_series_has_page(const struct site_detail *detail);
void site_series_page(struct buffer *html, const struct site_map *map, size_t series,
                      const struct site_detail *detail);
// The stamp of that page, and its data, which carry it.
uint64_t site_series_stamp(const struct site_map *map, size_t series,
                           const struct site_detail *detail);
void site_series_data(struct buffer *json, const struct site_map *map, size_t series,
                      const struct site_detail *detail, uint64_t stamp);

// ---- events (site_events.c) ----
size_t site_event_slower(const struct event *event); // how many of its changes made a series slower
void site_event_state(struct markup *m, const struct event *event);
void site_event_size(struct markup *m, const struct event *event);
void site_find_open_events(struct site_map *map); // map->event_of and event_counts
void site_open_events(struct site_page *p);
// To the newest open event that touches the series; "-" where none does.
void site_event_link(struct site_page *p, size_t series);
int site_write_events(struct site_target *target, const struct site_map *map, struct error *err);

// The pages. `html` and `json` get the whole files.
void site_overview(struct buffer *html, struct buffer *json, const struct site_map *map);
void site_device(struct buffer *html, struct buffer *json, const struct site_map *map,
                 size_t device);
// parts: of its series, in their order.
void site_kernel(struct buffer *html, struct buffer *json, const struct site_map *map,
                 const struct site_group *kernel, uint64_t stamp, const struct buffer *parts);
void site_accuracy_page(struct buffer *html, struct buffer *json, const struct site_map *map,
                        uint64_t stamp);
void site_accuracy_table(struct site_page *p, bool newest_only);
void site_runs(struct buffer *html, struct buffer *json, const struct site_map *map);
void site_runs_table(struct site_page *p, size_t most, bool filter);
// These, in this order.
void site_runs_of(struct site_page *p, const size_t *runs, size_t count, bool filter);
int site_compare(struct buffer *html, struct buffer *json, const struct site_map *map,
                 struct error *err);
void site_feed(struct buffer *xml, const struct site_map *map);

// What pages load (site_loads.c): the list of all runs that can be compared, and the
// times of some of them, `count` x series, in the order of the runs.
bool site_comparable(const struct site_run *run);
enum { SITE_SUMMARY = 60 }; // bytes of a commit's summary there
void site_put_run(struct json *j, const struct site_run *run);
void site_run_list(struct buffer *js, struct buffer *json, const struct site_map *map);
void site_times(struct buffer *js, struct buffer *json, const struct site_map *map,
                const struct site_run *const *runs, size_t count, const double *times_ns,
                uint64_t stamp);
// The run that this one is best held against; SIZE_MAX: there is none.
size_t site_run_before(const struct site *site, size_t run);

#endif
