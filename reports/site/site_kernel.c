// SPDX-License-Identifier: Apache-2.0
//
// The page of a kernel: a table of its series, then each of them (site_series.c).
#include "reports/site/site_parts.h"

#include <stdio.h>

void site_kernel(struct buffer *html, struct buffer *json, const struct site_map *map,
                 const struct site_group *kernel, uint64_t stamp, const struct buffer *parts)
{
    struct site_page p = {.map = map, .root = "../", .json = {.out = json}};
    struct page page;
    char text[32];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)stamp);
    site_begin(&p, &page, kernel->name, SITE_WITH_CHARTS);
    json_clean(&p.json, "stamp", text);
    json_clean(&p.json, "kernel", kernel->name);
    json_clean(&p.json, "slug", kernel->slug);
    markup_open(p.m, "section", "card banner v-same");
    markup_element(p.m, "div", "word", "kernel");
    markup_element(p.m, "h1", NULL, kernel->name);
    site_counts(&p, kernel->series, kernel->count);
    markup_end(p.m);
    site_heading(p.m, "Series of this kernel");
    site_table(&p, "table", kernel->series, kernel->count, SITE_WITH_DEVICE);
    site_heading(p.m, "Series one by one");
    json_begin(&p.json, "series", '[');
    for (size_t i = 0; i < kernel->count; i++) {
        char name[SITE_ANCHOR];
        site_series_name(name, map->site, kernel->series[i]);
        json_clean(&p.json, NULL, name);
        markup_raw(p.m, parts[i].bytes);
    }
    json_end(&p.json, ']');
    site_finish(&p, &page, html);
}
