// SPDX-License-Identifier: Apache-2.0
//
// index.html: one self-contained file that opens offline. The first screen answers "did it get
// slower, where, since when, why"; below it every series, how far to trust the run, and where the
// figures come from.
#include "reports/run/html.h"

#include <stdlib.h>

// Series charts can be zoomed only where there is a history to zoom into.
static bool has_history(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->results[i].history.count > 1)
            return true;
    }
    return false;
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    static const struct report_context nothing = {0};
    struct view *views = view_all(run, context);
    struct buffer title = {0};
    struct html html = {NULL, run, context ? context : &nothing, views, run->count};
    buffer_printf(&title, "%s - %s", view_conclusion(run->conclusion),
                  run->repository ? run->repository : "plumb");
    struct page_link links[] = {{html.context->site_url, "Nightly site"}};
    struct page page = {.title = title.bytes,
                        .subtitle = run->repository,
                        .links = links,
                        .link_count = html.context->site_url ? 1 : 0,
                        .interactive = has_history(run)};
    html.m = page_begin(&page);
    html_banner(&html);
    html_unbuilt(&html);
    html_findings(&html);
    html_events(&html);
    html_table(&html);
    html_curves(&html);
    html_study(&html);
    html_series(&html);
    html_trust(&html);
    html_origin(&html);
    page_finish(html.m, &page,
                "Made by plumb from stored measurements. This file is complete: it loads nothing.",
                out);
    buffer_free(&title);
    free(views);
}

const struct report report_html = {
    .name = "html",
    .file = "index.html",
    .why = "one page for people, opens offline",
    .write = write,
};
