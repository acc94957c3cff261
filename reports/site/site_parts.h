// SPDX-License-Identifier: Apache-2.0
//
// The pages of the site, and what they share. site.c decides which pages are made, and writes them.
#ifndef PLUMB_REPORTS_SITE_PARTS_H
#define PLUMB_REPORTS_SITE_PARTS_H

#include "model/buffer.h"
#include "reports/charts/charts.h"
#include "reports/site/site.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"

enum { SLUG_TEXT = 80 };
struct site_target;

// The series of one kernel or of one device, and the name of its page.
struct site_group {
    const char *name;
    char slug[SLUG_TEXT]; // the file's name without folder and ending; unique among pages of its
                          // kind
    size_t *series;       // indices of its series, worst first
    size_t count;
};

// A commit that runs measured, and the name of its page.
struct site_commit {
    const char *id, *summary, *author; // author "": not known
    int64_t time_s;
    int64_t first_run; // the smallest id among its runs, which stays the same when more runs come
    size_t *runs;      // indices of its runs, newest first, in the map's memory
    size_t run_count;
    size_t *events; // indices into site->events: the events that this commit may have begun
    size_t event_count;
    char slug[SLUG_TEXT];
};

struct site_map {
    const struct site *site;
    struct site_commit *commits; // in the order of their time
    size_t commit_count;
    struct site_commit **commits_by_id;
    size_t *run_memory, *event_memory;    // memory that the commits point into
    struct site_group *kernels, *devices; // devices: one per site->devices
    size_t kernel_count;
    size_t *order;     // all series, worst first
    size_t *kernel_of; // for each series, the index of its kernel
    // For each series: the index in site->events of the newest open event that touches it,
    // SIZE_MAX: none; and the number of such events.
    size_t *event_of, *event_counts;
};

// A page that is being made: its HTML, and the same figures as JSON.
struct site_page {
    const struct site_map *map;
    const char *root; // the way from the page to the site's folder: "" or "../"
    struct markup *m;
    struct json json;
};

// Writes the frame: head, navigation (with `root`) and title. `page` keeps what page_finish()
// needs.
enum site_frame { SITE_PLAIN, SITE_WITH_CHARTS, SITE_LOADS, SITE_SMALL };
void site_begin(struct site_page *p, struct page *page, const char *title, enum site_frame frame);
void site_finish(struct site_page *p, const struct page *page, struct buffer *html);

// Writes the table of series, with its JSON array `name`. Columns that would be empty are left out.
enum site_column { SITE_WITH_KERNEL = 1, SITE_WITH_DEVICE = 2, SITE_WITH_ANCHORS = 4 };
void site_table(struct site_page *p, const char *name, const size_t *series, size_t count,
                unsigned columns);
// The number of series in each state.
void site_counts(struct site_page *p, const size_t *series, size_t count);

double site_ratio(const struct site_series *s); // actual / predicted; NaN: not known
void site_commit_link(struct site_page *p, const char *id);
// Writes whom to ask, such as "; ask A. Author (its author)". An e-mail address in the name is left
// out.
void site_person(struct site_page *p, const char *name, const char *why);
// Writes who looks into it, such as "; A. Author is on it since 2026-11-21". Call it only if
// somebody does.
void site_taken(struct site_page *p, const struct event_taken *taken);
// Writes the newest change in the direction in which the series has moved: its size, commit and
// day; "-" if there is none.
void site_step(struct site_page *p, const struct site_series *series);
void site_heading(struct markup *m, const char *text);
size_t site_event_slower(const struct event *event); // how many of its changes made a series slower
void site_event_state(struct markup *m, const struct event *event);
void site_event_size(struct markup *m, const struct event *event);
// The id of a series' part of its kernel's page. It is the same each time the site is made.
enum { SITE_ANCHOR = 24 };
void site_anchor(char out[SITE_ANCHOR], const struct site *site, size_t series);
// The name of a series in all files that pages load.
void site_series_name(char out[SITE_ANCHOR], const struct site *site, size_t series);
// Writes a link to the series' part of its kernel's page.
void site_series_link(struct site_page *p, size_t series, const char *text);
// Writes to `js` a script that hands the JSON over: "call(...);".
void site_wrap(struct buffer *js, const char *call, const struct buffer *json);

// ==== what the map says ====

bool site_is_environment(const struct site_series *s);
bool site_event_is_open(const struct site_event *event);
const struct site_commit *site_find_commit(const struct site_map *map, const char *id); // or NULL

// ==== what pages show of each other's things ====
void site_open_events(struct site_page *p);
void site_accuracy_table(struct site_page *p, bool newest_only);
// Writes the table of one kernel's metrics, or of all metrics (NULL), with the JSON array
// "metrics"; nothing where there are none.
void site_metrics_table(struct site_page *p, const char *title, const char *kernel);
// Writes the first screen's answers about metrics: which became worse without a person's decision.
void site_metric_answers(struct site_page *p);
void site_runs_table(struct site_page *p, size_t most, bool filter);
enum { SITE_SUMMARY = 60 }; // bytes of a commit's summary that lists show

// ==== the pages: each is made, with all files that it loads, when its data has changed ====
int site_write_kernels(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_overview(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_accuracy(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_metrics(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_events(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_runs(struct site_target *target, const struct site_map *map, struct error *err);
int site_write_compare(struct site_target *target, const struct site_map *map, struct error *err);

// ==== the folder that a site is written to ====

struct site_target {
    const char *directory;
    struct site_written written;
};

// Makes a folder such as "/kernel" in the directory. It may exist already.
int site_make_folder(const char *directory, const char *name, struct error *err);
// Writes `made` as the file FOLDER NAME ENDING, unless that file has the same bytes, and empties
// `made`. `folder` is "" or ends with a slash.
int site_put(struct site_target *target, const char *folder, const char *name, const char *ending,
             struct buffer *made, struct error *err);
// Writes the page, and then the same figures as JSON, which carries the stamp.
int site_put_both(struct site_target *target, const char *folder, const char *name,
                  const char *ending, struct buffer *html, struct buffer *json, struct error *err);
// Reads a file; a missing file reads as empty.
void site_read(struct buffer *out, const struct site_target *target, const char *folder,
               const char *name, const char *ending);
// Whether the page and its JSON exist and were made from the data that the stamp identifies.
bool site_has_stamp(const struct site_target *target, const char *folder, const char *name,
                    const char *ending, uint64_t stamp);

// Calls `one` for each of `jobs` jobs, on as many threads as the site has contexts. Each thread has
// its own `target` and `context`. -1: a job failed, and jobs that had not begun were left.
typedef int site_job(struct site_target *target, void *context, size_t job, void *all,
                     struct error *err);
int site_jobs(struct site_target *target, const struct site *site, size_t count, site_job *one,
              void *all, struct error *err);

#endif
