// SPDX-License-Identifier: Apache-2.0
//
// index.html of the site, and the pages of devices.
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS_SHOWN = 6 };

static void count_kinds(const struct site_map *map, size_t *regressed, size_t *broken,
                        size_t *unmeasured)
{
    *regressed = *broken = *unmeasured = 0;
    for (size_t i = 0; i < map->site->series_count; i++) {
        const struct site_series *s = &map->site->series[i];
        *regressed += s->kind == VERDICT_SLOWER && !site_is_environment(s);
        *broken += s->kind == VERDICT_BROKEN;
        *unmeasured += s->kind == VERDICT_NOT_MEASURED;
    }
}

static void write_banner(struct site_page *p)
{
    const struct site_map *map = p->map;
    size_t regressed, broken, unmeasured, count = map->site->series_count;
    char when[VIEW_TEXT], headline[200];
    count_kinds(map, &regressed, &broken, &unmeasured);
    const bool nothing = unmeasured == count && count > 0;
    view_date(when, map->site->made_s);
    if (broken > 0)
        snprintf(headline, sizeof(headline), "%zu of %zu series %s broken, %zu slower", broken,
                 count, plural(broken, "is", "are"), regressed);
    else if (regressed > 0)
        snprintf(headline, sizeof(headline), "%zu of %zu series %s slower than accepted", regressed,
                 count, plural(regressed, "is", "are"));
    else if (nothing)
        snprintf(headline, sizeof(headline), "No plain run has measured any of %zu series yet",
                 count);
    else
        snprintf(headline, sizeof(headline),
                 count ? "No series is slower than accepted" : "Nothing has been measured yet");
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s",
                 broken      ? "v-broken"
                 : regressed ? "v-slower"
                 : nothing   ? "v-unmeasured"
                             : "v-faster");
    markup_attr(p->m, "id", "verdict");
    markup_element(p->m, "div", "word",
                   broken      ? "broken"
                   : regressed ? "regression"
                   : nothing   ? "not measured"
                               : "no regression");
    markup_element(p->m, "h1", NULL, headline);
    markup_elementf(p->m, "p", "muted", "%zu series, %zu %s, %zu %s%s%s", count, map->kernel_count,
                    plural(map->kernel_count, "kernel", "kernels"), map->site->device_count,
                    plural(map->site->device_count, "device", "devices"),
                    map->site->made_s ? "; newest run " : "", map->site->made_s ? when : "");
    site_counts(p, map->order, count);
    markup_end(p->m);
}

static void write_devices(struct site_page *p)
{
    const struct site_map *map = p->map;
    site_heading(p->m, "Devices");
    markup_start(p->m, "ul");
    for (size_t d = 0; d < map->site->device_count; d++) {
        markup_start(p->m, "li");
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "device/%s.html", map->devices[d].slug);
        markup_text(p->m, map->site->devices[d].name);
        markup_end(p->m);
        markup_elementf(p->m, "span", "muted", " %zu series, %s", map->devices[d].count,
                        map->site->devices[d].uuid);
        markup_end(p->m);
    }
    markup_end(p->m);
}

static void write_kernels(struct site_page *p)
{
    const struct site_map *map = p->map;
    site_heading(p->m, "Kernels, and the series of each");
    markup_open(p->m, "p", "names");
    for (size_t k = 0; k < map->kernel_count; k++) {
        markup_start(p->m, "a");
        markup_attrf(p->m, "href", "kernel/%s.html", map->kernels[k].slug);
        markup_text(p->m, map->kernels[k].name);
        markup_end(p->m);
        markup_elementf(p->m, "span", "muted small", " %zu ", map->kernels[k].count);
    }
    markup_end(p->m);
}

void site_overview(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    size_t count = map->site->series_count;
    const char *repository = map->site->repository;
    site_begin(&p, &page, repository && *repository ? repository : "plumb", SITE_PLAIN);
    write_banner(&p);
    site_open_events(&p);
    site_findings(&p, map->order, count);
    site_heading(p.m, "All series");
    site_table(&p, "series", map->order, count, SITE_WITH_KERNEL | SITE_WITH_DEVICE);
    site_curves(&p, map->order, count);
    if (map->site->accuracy_count > 0) {
        site_heading(p.m, "Model accuracy, newest run");
        site_accuracy_table(&p, true);
    }
    if (map->site->run_count > 0) {
        site_heading(p.m, "Newest runs");
        site_runs_table(&p, RUNS_SHOWN, false);
    }
    write_kernels(&p);
    write_devices(&p);
    site_finish(&p, &page, html);
}

static void fact(struct markup *m, const char *term, const char *value)
{
    if (!value || !value[0])
        return;
    markup_element(m, "dt", NULL, term);
    markup_element(m, "dd", NULL, value);
}

void site_device(struct buffer *html, struct buffer *json, const struct site_map *map,
                 size_t device)
{
    struct site_page p = {.map = map, .root = "../", .json = {.out = json}};
    const struct device *d = &map->site->devices[device];
    const struct site_group *group = &map->devices[device];
    struct page page;
    site_begin(&p, &page, d->name, SITE_PLAIN);
    json_clean(&p.json, "device", d->uuid);
    markup_open(p.m, "section", "card banner v-same");
    markup_element(p.m, "div", "word", "device");
    markup_element(p.m, "h1", NULL, d->name);
    markup_start(p.m, "dl");
    fact(p.m, "id", d->uuid);
    fact(p.m, "driver", d->driver);
    fact(p.m, "runtime", d->runtime);
    fact(p.m, "profile", d->profile);
    markup_end(p.m);
    site_counts(&p, group->series, group->count);
    markup_end(p.m);
    site_findings(&p, group->series, group->count);
    site_heading(p.m, "Series on this device");
    site_table(&p, "series", group->series, group->count, SITE_WITH_KERNEL);
    site_curves(&p, group->series, group->count);
    site_finish(&p, &page, html);
}
