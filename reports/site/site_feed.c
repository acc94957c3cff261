// SPDX-License-Identifier: Apache-2.0
//
// feed.xml: events as an Atom feed (RFC 4287). An entry's id is made of the event's name alone, so
// a reader sees each event once, and again when what became of it is another.
#include "reports/site/site_parts.h"

#include "model/text.h"
#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ENTRIES = 100 };

static void put_time(struct markup *m, const char *name, int64_t time_s)
{
    char text[32] = "1970-01-01T00:00:00Z";
    struct tm tm;
    time_t when = (time_t)time_s;
    if (gmtime_r(&when, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    markup_element(m, name, NULL, text);
}

// A name-based UUID in the form of RFC 9562's version 8: 122 bits of hash, the same every time.
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
    markup_element(m, "summary", NULL, text.bytes);
    markup_end(m);
    buffer_free(&text);
}

void site_feed(struct buffer *xml, const struct site_map *map)
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
    markup_end(m);
    markup_finish(m, xml);
    buffer_free(&name);
}
