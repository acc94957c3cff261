// SPDX-License-Identifier: Apache-2.0
//
// The parts of index.html, in the order a reader meets them. formats/html.c puts them together.
#ifndef PLUMB_REPORTS_HTML_H
#define PLUMB_REPORTS_HTML_H

#include "reports/charts/charts.h"
#include "reports/text/page.h"

struct html {
    struct markup *m;
    const struct run *run;
    const struct report_context *context; // never NULL
    const struct view *views;             // worst first
    size_t count;
};

void html_banner(const struct html *html);   // did it get slower
void html_unbuilt(const struct html *html);  // why a commit does not build, if one does not
void html_findings(const struct html *html); // where, how much, since when, why
void html_events(const struct html *html);   // what histories found and nobody settled
void html_table(const struct html *html);    // every series, with its interval drawn
void html_curves(const struct html *html);   // all series sorted by change and by accuracy
void html_series(const struct html *html);   // one folded part per series
void html_study(const struct html *html);    // what a study found, if the run is one
void html_trust(const struct html *html);    // how far this run can be trusted
void html_origin(const struct html *html);   // where the figures come from

// "▲ slower" in the verdict's colour.
void html_tag(struct markup *m, const struct view *view);
// One term and what it is, inside <dl class="facts">.
void html_fact(struct markup *m, const char *term, const char *value);
void html_factf(struct markup *m, const char *term, const char *format, ...) PRINTF_LIKE(3, 4);
// The id of a series' part of the page.
void html_anchor(char out[32], const struct view *view);

#endif
