// SPDX-License-Identifier: Apache-2.0
//
// feed.xml: alarms as an Atom feed (RFC 4287). An entry's id depends on series and commit alone, so
// a reader sees each alarm once.
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

// A name-based UUID in the form of RFC 9562's version 8: 122 bits of hash, the same every night.
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

static void put_entry(struct markup *m, const struct site_map *map, const struct site_alarm *alarm)
{
    const struct site_series *s = &map->site->series[alarm->series];
    const struct site_group *kernel = &map->kernels[map->kernel_of[alarm->series]];
    const struct device *device = &map->site->devices[s->device];
    struct buffer text = {0}, title = {0}, sentence = {0};
    char problem[PROBLEM_TEXT], shape[PROBLEM_TEXT], change[VIEW_TEXT] = "", anchor[SITE_ANCHOR];
    problem_format(problem, &s->problem);
    view_shape(shape, &s->problem);
    if (isfinite(alarm->log_ratio))
        view_percent(change, expm1(alarm->log_ratio));
    buffer_printf(&text, "%s %s %s %s %s", s->kernel, problem, device->uuid, alarm->commit,
                  verdict_kind_name(alarm->kind));
    buffer_printf(&title, "%s %s: %s %s", verdict_kind_name(alarm->kind), change, s->kernel, shape);
    buffer_printf(&sentence, "%s\ncause: %s\nsince: %s\ndevice: %s",
                  alarm->sentence ? alarm->sentence : "", cause_name(alarm->cause), alarm->commit,
                  device->name);
    markup_start(m, "entry");
    put_id(m, text.bytes);
    markup_element(m, "title", NULL, title.bytes);
    put_time(m, "updated", alarm->when_s > 0 ? alarm->when_s : map->site->made_s);
    buffer_free(&text);
    site_anchor(anchor, map->site, alarm->series);
    buffer_printf(&text, "kernel/%s.html#%s", kernel->slug, anchor);
    put_link(m, map->site->site_url, text.bytes, "alternate");
    markup_element(m, "summary", NULL, sentence.bytes);
    markup_end(m);
    buffer_free(&text);
    buffer_free(&title);
    buffer_free(&sentence);
}

void site_feed(struct buffer *xml, const struct site_map *map)
{
    const struct site *site = map->site;
    struct markup *m = markup_new(MARKUP_XML);
    struct buffer name = {0};
    const bool dated = site->alarm_count && site->alarms[0].when_s > 0;
    const int64_t updated = dated ? site->alarms[0].when_s : site->made_s;
    buffer_printf(&name, "plumb alarms: %s", site->repository ? site->repository : "");
    markup_start(m, "feed");
    markup_attr(m, "xmlns", "http://www.w3.org/2005/Atom");
    put_id(m, name.bytes);
    markup_element(m, "title", NULL, name.bytes);
    put_time(m, "updated", updated);
    put_link(m, site->site_url, "feed.xml", "self");
    put_link(m, site->site_url, "index.html", "alternate");
    markup_start(m, "author");
    markup_element(m, "name", NULL, "plumb");
    markup_end(m);
    for (size_t i = 0; i < site->alarm_count && i < ENTRIES; i++)
        put_entry(m, map, &site->alarms[i]);
    markup_end(m);
    markup_finish(m, xml);
    buffer_free(&name);
}
