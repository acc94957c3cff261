// SPDX-License-Identifier: Apache-2.0
//
// Events that are open, beside the run.
#include "reports/run/html.h"
#include "reports/run/open_events.h"
#include "reports/text/clean.h"

#include <math.h>

enum { EVENTS_SHOWN = 20 };

static void write_since(const struct html *html, const struct report_event *e)
{
    struct buffer summary = {0};
    if (!e->commit.id[0]) {
        markup_text(html->m, "-");
        return;
    }
    clean_line(&summary, e->commit.summary, CLEAN_LINE);
    view_commit(html->m, html->context->commit_url, e->commit.id);
    markup_textf(html->m, " %s", summary.bytes ? summary.bytes : "");
    if (e->commits > 1)
        markup_elementf(html->m, "span", "muted small", " or one of %zu more", e->commits - 1);
    buffer_free(&summary);
}

static void write_event(const struct html *html, const struct report_event *e)
{
    struct markup *m = html->m;
    struct buffer cause = {0};
    open_event_cause(&cause, e);
    page_row_begin(m, NULL);
    page_cell(m, "state", "nowrap", NAN, true);
    page_tag(m,
             open_event_fails(e) ? "v-slower"
             : e->log_ratio > 0  ? "v-undecided"
                                 : "v-faster",
             e->log_ratio > 0 ? "▲" : "▼", event_state_name(e->state));
    markup_end(m);
    page_text_cell(m, "what", "wrap", NAN, e->sentence);
    page_cell(m, "since", "wrap", NAN, false);
    write_since(html, e);
    markup_end(m);
    page_text_cell(m, "cause", "wrap", NAN, cause.bytes);
    page_text_cell(m, "event", "mono nowrap", NAN, e->name);
    markup_end(m);
    buffer_free(&cause);
}

void html_events(const struct html *html)
{
    static const char *const heads[] = {"State", "What", "Since", "Cause", "Event"};
    const struct report_events *events = &html->context->events;
    struct markup *m = html->m;
    struct buffer title = {0};
    if (!events->known)
        return;
    open_events_title(&title, events);
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "events");
    markup_start(m, "h2");
    markup_attr(m, "id", "events");
    markup_text(m, title.bytes);
    markup_end(m);
    buffer_free(&title);
    if (events->count) {
        page_table_begin(m, "findings cards", "Events that are open, newest first");
        for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
            page_table_head(m, heads[i], PAGE_SORT_NONE, NULL);
        page_table_body(m);
        for (size_t i = 0; i < events->count && i < EVENTS_SHOWN; i++)
            write_event(html, &events->items[i]);
        page_table_end(m);
    }
    if (events->count > EVENTS_SHOWN)
        markup_elementf(m, "p", "hint", "%zu more are open; `plumb events` lists them.",
                        events->count - EVENTS_SHOWN);
    markup_end(m);
}
