// SPDX-License-Identifier: Apache-2.0
//
// index.html of the site, and the pages of devices: which series are not where they were accepted,
// grouped by kernel, with the events that touch them; all series; and the sorted curves.
#include "reports/site/site_files.h"
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- where series stand -------------------------------------------------------------------------

enum { FINDINGS_SHOWN = 12 };

struct finding {
    size_t worst; // series
    size_t series;
};

static bool belongs(const struct site *site, const struct finding *f, size_t index)
{
    const struct site_series *a = &site->series[f->worst], *b = &site->series[index];
    return a->kind == b->kind && site_is_environment(a) == site_is_environment(b) &&
           strcmp(a->kernel, b->kernel) == 0;
}

// Nothing can be said of where it stands.
static bool is_open(const struct site_series *s)
{
    return s->kind == VERDICT_UNDECIDED || s->kind == VERDICT_NOT_MEASURED;
}

// Series come worst first, so the first of a group is its worst. Returns how many groups there are.
static size_t collect(const struct site *site, const size_t *series, size_t count,
                      struct finding findings[FINDINGS_SHOWN])
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        size_t g = 0, kept = groups < FINDINGS_SHOWN ? groups : FINDINGS_SHOWN;
        if (site->series[series[i]].kind == VERDICT_SAME || is_open(&site->series[series[i]]))
            continue;
        while (g < kept && !belongs(site, &findings[g], series[i]))
            g++;
        if (g < kept) {
            findings[g].series++;
            continue;
        }
        if (groups < FINDINGS_SHOWN)
            findings[groups] = (struct finding){series[i], 1};
        groups++;
    }
    return groups;
}

static void write_finding(struct site_page *p, const struct finding *f)
{
    struct markup *m = p->m;
    const struct site_series *s = &p->map->site->series[f->worst];
    char change[VIEW_TEXT], shape[PROBLEM_TEXT];
    view_percent(change, expm1(s->log_ratio.value));
    problem_format(shape, &s->problem);
    page_row_begin(m, NULL);
    page_cell(m, "state", NULL, NAN, false);
    page_tag(m, chart_verdict_class(s->kind, site_is_environment(s)), view_symbol(s->kind),
             verdict_kind_name(s->kind));
    markup_end(m);
    page_cell(m, "where", "wrap", NAN, true);
    site_series_link(p, f->worst, s->kernel);
    if (f->series > 1)
        markup_elementf(m, "span", "muted small", " %zu series", f->series);
    else
        markup_elementf(m, "span", "muted small", " %s", shape);
    markup_end(m);
    page_cell(m, "against accepted", "nowrap", NAN, false);
    markup_textf(m, "%s%s", f->series > 1 && isfinite(s->log_ratio.value) ? "up to " : "", change);
    markup_end(m);
    page_cell(m, "last step", s->since ? "since" : NULL, NAN, false);
    site_step(p, s);
    markup_end(m);
    page_cell(m, "event", "wrap", NAN, false);
    site_event_link(p, f->worst);
    markup_end(m);
    page_cell(m, "why", "wrap", NAN, false);
    // A step of the kernel's own says all by its size and commit, which stand beside.
    const bool plain = isfinite(s->step) && s->cause == CAUSE_KERNEL;
    markup_text(m, s->sentence && !plain    ? s->sentence
                   : s->cause == CAUSE_NONE ? ""
                                            : cause_name(s->cause));
    markup_end(m);
    markup_end(m);
}

static void write_table(struct site_page *p, const struct finding *findings, size_t groups)
{
    static const char *const heads[] = {"State",     "Where", "Against accepted",
                                        "Last step", "Event", "Why"};
    page_table_begin(p->m, "findings cards", "Where series stand, worst first");
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(p->m, heads[i], PAGE_SORT_NONE, NULL);
    page_table_body(p->m);
    for (size_t i = 0; i < groups && i < FINDINGS_SHOWN; i++)
        write_finding(p, &findings[i]);
    page_table_end(p->m);
    if (p->map->site->event_count)
        markup_element(p->m, "p", "hint told",
                       "An event is one change and all that it touched; where a series stands is "
                       "what all of its changes add up to. So a series may be faster in an event "
                       "and still be slower than accepted, or be back where it was.");
}

static void findings(struct site_page *p, const size_t *series, size_t count)
{
    struct finding findings[FINDINGS_SHOWN];
    struct markup *m = p->m;
    size_t groups = collect(p->map->site, series, count, findings), undecided = 0, unmeasured = 0;
    for (size_t i = 0; i < count; i++) {
        undecided += p->map->site->series[series[i]].kind == VERDICT_UNDECIDED;
        unmeasured += p->map->site->series[series[i]].kind == VERDICT_NOT_MEASURED;
    }
    markup_start(m, "section");
    markup_attr(m, "id", "changed");
    markup_attr(m, "aria-label", "Where series stand");
    site_heading(m, "Where series stand against the last accepted state");
    if (groups > 0)
        write_table(p, findings, groups);
    else
        markup_element(m, "p", "muted",
                       undecided || unmeasured ? "Nothing that can be told."
                                               : "Every series is where it was accepted.");
    if (undecided > 0)
        markup_elementf(m, "p", "hint", "Of %zu more nothing can be said: their times scatter.",
                        undecided);
    if (unmeasured > 0)
        markup_elementf(m, "p", "hint told",
                        "Of %zu nothing can be said: no plain run has measured them (`plumb run` "
                        "does); pages of runs have what gates said of them.",
                        unmeasured);
    if (groups > FINDINGS_SHOWN)
        markup_elementf(m, "p", "hint", "%zu more %s; the table has every series.",
                        groups - FINDINGS_SHOWN,
                        plural(groups - FINDINGS_SHOWN, "kernel moved", "kernels moved"));
    markup_end(m);
}

static bool has_curve(const struct site *site, const size_t *series, size_t count, bool accuracy)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct site_series *s = &site->series[series[i]];
        used += isfinite(accuracy ? site_ratio(s) : s->log_ratio.value);
    }
    return used >= 2;
}

static void curve(struct site_page *p, const size_t *series, size_t count, bool accuracy,
                  const char *caption, void (*draw)(struct markup *, struct curve_point *, size_t))
{
    if (!has_curve(p->map->site, series, count, accuracy))
        return;
    struct curve_point *points = xcalloc(count, sizeof(*points));
    for (size_t i = 0; i < count; i++) {
        const struct site_series *s = &p->map->site->series[series[i]];
        points[i] = (struct curve_point){interval_relative(s->log_ratio),
                                         chart_verdict_class(s->kind, site_is_environment(s)),
                                         chart_shape(s->kind)};
        if (accuracy)
            points[i].y.value = site_ratio(s);
    }
    chart_figure(p->m, caption, points, count, draw);
    free(points);
}

static void curves(struct site_page *p, const size_t *series, size_t count)
{
    if (!has_curve(p->map->site, series, count, false) &&
        !has_curve(p->map->site, series, count, true))
        return;
    markup_start(p->m, "section");
    markup_attr(p->m, "aria-label", "At a glance");
    site_heading(p->m, "At a glance");
    markup_open(p->m, "div", "figures");
    curve(p, series, count, false, "Change since the last accepted state, every series sorted",
          chart_curve_change);
    curve(p, series, count, true,
          "Measured time over predicted time, every series sorted; shaded: within 10 %",
          chart_curve_accuracy);
    markup_end(p->m);
    markup_end(p->m);
}

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

static void overview(struct buffer *html, struct buffer *json, const struct site_map *map)
{
    struct site_page p = {.map = map, .root = "", .json = {.out = json}};
    struct page page;
    size_t count = map->site->series_count;
    const char *repository = map->site->repository;
    site_begin(&p, &page, repository && *repository ? repository : "plumb", SITE_PLAIN);
    write_banner(&p);
    site_open_events(&p);
    findings(&p, map->order, count);
    site_heading(p.m, "All series");
    site_table(&p, "series", map->order, count, SITE_WITH_KERNEL | SITE_WITH_DEVICE);
    curves(&p, map->order, count);
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

static void device_page(struct buffer *html, struct buffer *json, const struct site_map *map,
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
    findings(&p, group->series, group->count);
    site_heading(p.m, "Series on this device");
    site_table(&p, "series", group->series, group->count, SITE_WITH_KERNEL);
    curves(&p, group->series, group->count);
    site_finish(&p, &page, html);
}

int site_write_overview(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    for (size_t d = 0; d < map->site->device_count; d++) {
        device_page(&html, &json, map, d);
        if (site_put_both(target, "device/", map->devices[d].slug, ".html", &html, &json, err))
            return -1;
    }
    overview(&html, &json, map);
    return site_put_both(target, "", "index", ".html", &html, &json, err);
}
