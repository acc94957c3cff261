// SPDX-License-Identifier: Apache-2.0
//
// Pages of events. An event is one cause of change, with the commits that may have begun it and all
// series that it touches; it has one row. Open events stand at the top of the overview, all events
// in events.html. If there are very many, the oldest are on pages of their own, which do not change
// when more come. feed.xml has the same as an Atom feed (RFC 4287).
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVENTS_SHOWN = 12, EVENTS_PER_PAGE = 300 };

static void write_commits(struct site_page *p, const struct event *e)
{
    struct buffer summary = {0};
    if (e->culprit_count == 0) {
        markup_text(p->m, e->what ? e->what : "-");
        return;
    }
    site_commit_link(p, e->commits[0].id);
    clean_line(&summary, e->commits[0].summary ? e->commits[0].summary : "", SITE_SUMMARY);
    markup_elementf(p->m, "span", NULL, " %s", summary.bytes ? summary.bytes : "");
    if (e->culprit_count > 1)
        markup_elementf(p->m, "span", "muted small", " or one of %zu more", e->culprit_count - 1);
    buffer_free(&summary);
}

// Writes where the event is, such as "tma_persistent 64x128x4096:bf16 and 11 more".
static void where(struct site_page *p, const struct event *e)
{
    const size_t series = event_largest(e)->series;
    const struct site_series *s = &p->map->site->series[series];
    char shape[PROBLEM_TEXT];
    problem_tell(shape, &s->problem);
    site_series_link(p, series, s->kernel);
    markup_elementf(p->m, "span", "muted small", " %s", shape);
    if (e->count > 1)
        markup_elementf(p->m, "span", "muted small", " and %zu more", e->count - 1);
}

static void why(struct site_page *p, const struct event *e)
{
    const struct event_entry *last = e->entry_count ? &e->entries[e->entry_count - 1] : NULL;
    markup_text(p->m, cause_name(e->cause == ATTRIBUTION_KERNEL || e->cause == ATTRIBUTION_NONE
                                     ? CAUSE_KERNEL
                                 : e->cause == ATTRIBUTION_MODEL ? CAUSE_MODEL
                                                                 : CAUSE_ENVIRONMENT));
    if (e->what)
        markup_textf(p->m, ": %s", e->what);
    if (last && last->why && last->why[0] && e->state > EVENT_CONFIRMED)
        markup_elementf(p->m, "span", "muted small", " %s (%s)", last->why,
                        last->who ? last->who : "unknown");
    if (e->taken.who)
        site_taken(p, &e->taken);
}

static void event_row(struct site_page *p, const struct site_event *event)
{
    const struct event *e = event->event;
    const int64_t time_s = e->culprit_count ? e->commits[0].time_s : 0;
    char when[VIEW_TEXT];
    view_date(when, time_s);
    when[10] = '\0';
    markup_start(p->m, "tr");
    markup_attrf(p->m, "id", "e-%s", event->slug);
    markup_attr(p->m, "data-verdict", event_state_name(e->state));
    page_cell(p->m, "state", "nowrap", NAN, false);
    site_event_state(p->m, e);
    markup_end(p->m);
    page_cell(p->m, "commit", "wrap", NAN, true);
    write_commits(p, e);
    markup_end(p->m);
    page_cell(p->m, "how much", "nowrap", expm1(event_largest(e)->size.value), false);
    site_event_size(p->m, e);
    markup_end(p->m);
    page_cell(p->m, "where", "wrap", (double)e->count, false);
    where(p, e);
    markup_end(p->m);
    page_cell(p->m, "since", "nowrap", (double)time_s, false);
    markup_text(p->m, when);
    markup_end(p->m);
    page_cell(p->m, "cause", "wrap", NAN, false);
    why(p, e);
    markup_end(p->m);
    markup_end(p->m);
}

static void event_json(struct json *j, const struct site_event *event)
{
    const struct event *e = event->event;
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "name", e->name);
    json_clean(j, "state", event_state_name(e->state));
    json_clean(j, "sentence", event->sentence);
    json_clean(j, "what", e->what);
    json_int(j, "series", (int64_t)e->count);
    json_interval(j, "change", interval_relative(event_largest(e)->size));
    json_begin(j, "commits", '[');
    for (size_t i = 0; i < e->culprit_count; i++)
        json_clean(j, NULL, e->commits[i].id);
    json_end(j, ']');
    taken_json(j, &e->taken);
    json_end(j, '}');
}

static void table(struct site_page *p, const struct site_event *const *events, size_t count,
                  bool whole)
{
    const enum page_sort text = whole ? PAGE_SORT_TEXT : PAGE_SORT_NONE;
    const enum page_sort number = whole ? PAGE_SORT_NUMBER : PAGE_SORT_NONE;
    page_table_begin(p->m, whole ? "findings cards sortable filter" : "findings cards",
                     "Events, newest first");
    page_table_head(p->m, "State", text, NULL);
    page_table_head(p->m, "Commit", text, NULL);
    page_table_head(p->m, "How much", number, NULL);
    page_table_head(p->m, "Where", number, NULL);
    page_table_head(p->m, "Since", number, NULL);
    page_table_head(p->m, "Cause", text, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < count; i++)
        event_row(p, events[i]);
    page_table_end(p->m);
}

// Writes the open events of the overview.
void site_open_events(struct site_page *p)
{
    const struct site *site = p->map->site;
    const struct site_event **open = xcalloc(site->event_count + 1, sizeof(*open));
    size_t count = 0;
    for (size_t i = 0; i < site->event_count; i++) {
        if (site_event_is_open(&site->events[i]))
            open[count++] = &site->events[i];
    }
    markup_start(p->m, "section");
    markup_attr(p->m, "id", "events");
    markup_attr(p->m, "aria-label", "Events");
    site_heading(p->m, "What happened, by commit");
    json_begin(&p->json, "events", '[');
    for (size_t i = 0; i < count; i++)
        event_json(&p->json, open[i]);
    json_end(&p->json, ']');
    if (count > 0)
        table(p, open, count < EVENTS_SHOWN ? count : EVENTS_SHOWN, false);
    else
        markup_element(p->m, "p", "muted", "No event is open.");
    if (site->event_count == 0) {
        markup_end(p->m);
        free(open);
        return;
    }
    markup_open(p->m, "p", "hint");
    if (count > EVENTS_SHOWN)
        markup_textf(p->m, "%zu more are open. ", count - EVENTS_SHOWN);
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "%sevents.html", p->root);
    markup_textf(p->m, "All %zu %s", site->event_count,
                 plural(site->event_count, "event", "events"));
    markup_end(p->m);
    markup_text(p->m, ", with those that are accepted, fixed, dismissed or withdrawn.");
    markup_end(p->m);
    markup_end(p->m);
    free(open);
}

// ---- all of them ----

// The number of pages of older events. events.html has the newest, between one and two pages full.
static size_t older_pages(const struct site *site)
{
    const size_t pages = site->event_count / EVENTS_PER_PAGE;
    return pages ? pages - 1 : 0;
}

// Writes `count` events from index `first` on; that is the newest of them.
static void some(struct site_page *p, size_t first, size_t count)
{
    const struct site_event **list = xcalloc(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = &p->map->site->events[first + i];
    table(p, list, count, true);
    free(list);
}

// Writes a link to the page with this number. Page 0 has the oldest events; the number after the
// last page stands for events.html.
static void page_link(struct site_page *p, size_t number, const char *text)
{
    markup_start(p->m, "a");
    if (number < older_pages(p->map->site))
        markup_attrf(p->m, "href", "%sevents/%zu.html", p->root, number);
    else
        markup_attrf(p->m, "href", "%sevents.html", p->root);
    markup_text(p->m, text);
    markup_end(p->m);
}

static int write_older(struct site_target *target, void *context, size_t number, void *all,
                       struct error *err)
{
    const struct site_map *map = all;
    struct buffer html = {0}, unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &unused}};
    struct page page;
    char name[32];
    (void)context;
    snprintf(name, sizeof(name), "%zu", number);
    site_begin(&p, &page, "Older events", SITE_PLAIN);
    markup_element(p.m, "h1", NULL, "Older events");
    markup_open(p.m, "p", "muted");
    page_link(&p, number + 1, "newer ones");
    markup_text(p.m, number ? ", " : "");
    if (number)
        page_link(&p, number - 1, "older ones");
    markup_end(p.m);
    some(&p, map->site->event_count - EVENTS_PER_PAGE * (number + 1), EVENTS_PER_PAGE);
    site_finish(&p, &page, &html);
    buffer_free(&unused);
    return site_put(target, "events/", name, ".html", &html, err);
}

// Writes a script that lists the page of each older event. An old link into events.html may name an
// event that has since moved to another page.
static int put_places(struct site_target *target, const struct site *site, struct error *err)
{
    struct buffer js = {0}, json = {0};
    struct json j = {.out = &json};
    const size_t older = EVENTS_PER_PAGE * older_pages(site);
    json_begin(&j, NULL, '[');
    for (size_t i = 0; i < older; i++)
        json_clean(&j, NULL, site->events[site->event_count - 1 - i].slug);
    json_end(&j, ']');
    buffer_printf(&js, "plumbOlderEvents(%d, %s);\n", (int)EVENTS_PER_PAGE, json.bytes);
    return site_put_both(target, "events/", "list", ".js", &js, &json, err);
}

static int put_newest(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    struct site_page p = {.map = map, .root = "", .json = {.out = &json}};
    const struct site *site = map->site;
    const size_t pages = older_pages(site);
    struct page page;
    site_begin(&p, &page, "Events", SITE_LOADS);
    markup_element(p.m, "h1", NULL, "Events");
    markup_element(p.m, "p", "muted",
                   "An event is one cause of change: the commits it may have begun with, and all "
                   "series that it touches.");
    json_begin(&p.json, "events", '[');
    for (size_t i = 0; i < site->event_count; i++)
        event_json(&p.json, &site->events[i]);
    json_end(&p.json, ']');
    if (site->event_count > 0)
        some(&p, 0, site->event_count - EVENTS_PER_PAGE * pages);
    else
        markup_element(p.m, "p", NULL, "Nothing has changed yet.");
    if (pages) {
        markup_start(p.m, "p");
        markup_textf(p.m, "%zu are older: ", EVENTS_PER_PAGE * pages);
        page_link(&p, pages - 1, "the next of them");
        markup_end(p.m);
    }
    site_finish(&p, &page, &html);
    return site_put_both(target, "", "events", ".html", &html, &json, err);
}

// ---- feed.xml -----------------------------------------------------------------------------------

enum { ENTRIES = 100, FEED_LINES = 20 };

static void put_time(struct markup *m, const char *name, int64_t time_s)
{
    char text[32] = "1970-01-01T00:00:00Z";
    struct tm tm;
    time_t when = (time_t)time_s;
    if (gmtime_r(&when, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    markup_element(m, name, NULL, text);
}

// Writes a UUID made from a name, in the form of RFC 9562's version 8: 122 bits of hash, the same
// every time.
static void put_id(struct markup *m, const char *text)
{
    uint64_t high = hash_bytes(HASH_START, text, strlen(text));
    uint64_t low = hash_bytes(high, "plumb", 5);
    low = hash_bytes(low, text, strlen(text));
    markup_elementf(m, "id", NULL, "urn:uuid:%08x-%04x-8%03x-%04x-%012llx", (unsigned)(high >> 32),
                    (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
                    (unsigned)(low >> 48 & 0x3fff) | 0x8000u,
                    (unsigned long long)(low & 0xffffffffffffull));
}

static void put_link(struct markup *m, const char *base, const char *path, const char *rel)
{
    markup_start(m, "link");
    markup_attr(m, "rel", rel);
    markup_attrf(m, "href", "%s%s%s", base ? base : "",
                 base && base[0] && base[strlen(base) - 1] != '/' ? "/" : "", path);
    markup_end(m);
}

static void put_entry(struct markup *m, const struct site_map *map, const struct site_event *event)
{
    const struct event *e = event->event;
    const struct event_entry *last = e->entry_count ? &e->entries[e->entry_count - 1] : NULL;
    const struct event_commit *began = e->culprit_count ? &e->commits[0] : NULL;
    const struct site_commit *commit = began ? site_find_commit(map, began->id) : NULL;
    const int64_t began_s = began && began->time_s > 0 ? began->time_s : map->site->made_s;
    struct buffer text = {0};
    buffer_printf(&text, "%s: %s", event_state_name(e->state),
                  event->sentence ? event->sentence : "");
    markup_start(m, "entry");
    put_id(m, e->name);
    markup_element(m, "title", NULL, text.bytes);
    put_time(m, "updated", last && last->when_s > 0 ? last->when_s : began_s);
    buffer_free(&text);
    if (commit)
        buffer_printf(&text, "commit/%s.html", commit->slug);
    else
        buffer_printf(&text, "events.html#e-%s", event->slug);
    put_link(m, map->site->site_url, text.bytes, "alternate");
    buffer_free(&text);
    buffer_printf(&text, "event %s, %zu series\nsince: %s%s\n%s", e->name, e->count,
                  began ? began->id : "unknown",
                  e->culprit_count > 1 ? " or another commit beside it" : "",
                  last && last->why ? last->why : "");
    taken_text(&text, &e->taken);
    markup_element(m, "summary", NULL, text.bytes);
    markup_end(m);
    buffer_free(&text);
}

static void put_metric_entry(struct markup *m, const struct site *site,
                             const struct site_metric_event *e)
{
    struct buffer text = {0};
    buffer_printf(&text, "%s: %s", e->open ? "worse" : event_state_name(e->state), e->sentence);
    markup_start(m, "entry");
    put_id(m, e->name);
    markup_element(m, "title", NULL, text.bytes);
    put_time(m, "updated", e->at->time_s > 0 ? e->at->time_s : site->made_s);
    buffer_free(&text);
    buffer_printf(&text, "metrics.html#m-%s", e->name);
    put_link(m, site->site_url, text.bytes, "alternate");
    buffer_free(&text);
    buffer_printf(&text, "event %s\nsince: %s%s", e->name, e->at->id,
                  e->commits > 1 ? " or another commit before it" : "");
    taken_text(&text, &e->taken);
    for (size_t i = 0; i < e->count && i < FEED_LINES; i++)
        buffer_printf(&text, "\n%s", e->changes[i]);
    markup_element(m, "summary", NULL, text.bytes);
    markup_end(m);
    buffer_free(&text);
}

static void write_feed(struct buffer *xml, const struct site_map *map)
{
    const struct site *site = map->site;
    struct markup *m = markup_new(MARKUP_XML);
    struct buffer name = {0};
    buffer_printf(&name, "plumb events: %s", site->repository ? site->repository : "");
    markup_start(m, "feed");
    markup_attr(m, "xmlns", "http://www.w3.org/2005/Atom");
    put_id(m, name.bytes);
    markup_element(m, "title", NULL, name.bytes);
    put_time(m, "updated", site->made_s);
    put_link(m, site->site_url, "feed.xml", "self");
    put_link(m, site->site_url, "index.html", "alternate");
    markup_start(m, "author");
    markup_element(m, "name", NULL, "plumb");
    markup_end(m);
    for (size_t i = 0; i < site->event_count && i < ENTRIES; i++)
        put_entry(m, map, &site->events[i]);
    for (size_t i = 0; i < site->metric_event_count && i < ENTRIES; i++)
        put_metric_entry(m, site, &site->metric_events[i]);
    markup_end(m);
    markup_finish(m, xml);
    buffer_free(&name);
}

int site_write_events(struct site_target *target, const struct site_map *map, struct error *err)
{
    const size_t pages = older_pages(map->site);
    struct site_map own = *map;
    struct buffer xml = {0};
    if (pages && (site_make_folder(target->directory, "/events", err) ||
                  site_jobs(target, map->site, pages, write_older, &own, err) ||
                  put_places(target, map->site, err)))
        return -1;
    if (put_newest(target, map, err))
        return -1;
    write_feed(&xml, map);
    return site_put(target, "", "feed", ".xml", &xml, err);
}
