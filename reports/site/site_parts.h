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

// The series of one kernel or one device, and the name of its page.
struct site_group {
    const char *name;
    char slug[SLUG_TEXT]; // file name without folder and ending; unique among its kind
    size_t *series;       // indices, worst first
    size_t count;
};

struct site_map {
    const struct site *site;
    struct site_group *kernels, *devices; // devices: one per site->devices
    size_t kernel_count;
    size_t *order;     // all series, worst first
    size_t *kernel_of; // series -> kernels
};

// A page being made: its HTML and the same figures as JSON.
struct site_page {
    const struct site_map *map;
    const char *root; // "" or "../"
    struct markup *m;
    struct json json;
};

// Writes the frame: head, navigation (with `root`), title; `page` keeps what page_finish() needs.
enum site_frame { SITE_PLAIN, SITE_WITH_CHARTS, SITE_LOADS };
void site_begin(struct site_page *p, struct page *page, const char *title, enum site_frame frame);
void site_finish(struct site_page *p, const struct page *page, struct buffer *html);

// The table of series with its JSON array `name`; columns that say nothing here are left out.
enum site_column { SITE_WITH_KERNEL = 1, SITE_WITH_DEVICE = 2, SITE_WITH_ANCHORS = 4 };
void site_table(struct site_page *p, const char *name, const size_t *series, size_t count,
                unsigned columns);
// What changed among these since the last accepted state, grouped by kernel; and how many of each.
void site_findings(struct site_page *p, const size_t *series, size_t count);
void site_counts(struct site_page *p, const size_t *series, size_t count);
void site_curves(struct site_page *p, const size_t *series, size_t count);

bool site_is_environment(const struct site_series *s);
double site_ratio(const struct site_series *s); // actual / predicted, NaN if unknown
void site_commit(struct site_page *p, const char *id);
// The commit and day that the series' change began with, "-" when there is none.
void site_since(struct site_page *p, const struct site_series *series);
void site_heading(struct markup *m, const char *text);
// The id of a series' part of its kernel's page: the same whenever it is made.
enum { SITE_ANCHOR = 24 };
void site_anchor(char out[SITE_ANCHOR], const struct site *site, size_t series);
// Link to a series on its kernel's page.
void site_series_link(struct site_page *p, size_t series, const char *text);

// The pages. `html` and `json` get the whole files.
void site_overview(struct buffer *html, struct buffer *json, const struct site_map *map);
void site_device(struct buffer *html, struct buffer *json, const struct site_map *map,
                 size_t device);
int site_kernel(struct buffer *html, struct buffer *json, const struct site_map *map,
                const struct site_group *kernel, uint64_t stamp, size_t *loaded, struct error *err);
void site_accuracy_page(struct buffer *html, struct buffer *json, const struct site_map *map);
void site_accuracy_table(struct site_page *p, bool newest_only);
void site_runs(struct buffer *html, struct buffer *json, const struct site_map *map);
void site_runs_table(struct site_page *p, size_t most, bool filter);
int site_compare(struct buffer *html, struct buffer *json, const struct site_map *map,
                 struct error *err);
void site_feed(struct buffer *xml, const struct site_map *map);

// What compare.html loads (site_compare.c): the list of all runs that can be compared, and the
// times of some of them, `count` x series, in the order of the runs.
bool site_comparable(const struct site_run *run);
// Sorted by id; the caller frees.
const struct site_run **site_runs_by_id(const struct site *site, size_t *count);
void site_run_list(struct buffer *js, struct buffer *json, const struct site_map *map);
void site_times(struct buffer *js, struct buffer *json, const struct site_map *map,
                const struct site_run *const *runs, size_t count, const double *times_ns,
                uint64_t stamp);
uint64_t site_times_stamp(const struct site_run *const *runs, size_t count);
// The run that this one is best held against; SIZE_MAX: there is none.
size_t site_run_before(const struct site *site, size_t run);

#endif
