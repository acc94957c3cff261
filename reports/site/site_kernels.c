// SPDX-License-Identifier: Apache-2.0
//
// Pages of kernels, and the files of their series: of those whose stamp differs every series is
// loaded once, by as many threads as there are contexts, and makes its part of the page.
#include "reports/site/site_files.h"
#include "reports/site/site_parts.h"

#include "model/text.h"

#include <stdlib.h>

enum { OPEN_AT_FIRST = 3 };

// ---- what a page is made of ----

// Everything a kernel's page is made of: the table rows as JSON, the revisions of what `load`
// gives, and the program itself.
static uint64_t stamp_of(const struct site_map *map, const struct site_group *kernel)
{
    struct buffer text = {0}, unused = {0};
    struct site_page p = {.map = map, .root = "../", .json = {.out = &text}};
    p.m = markup_new(MARKUP_HTML);
    site_table(&p, "series", kernel->series, kernel->count, SITE_WITH_DEVICE);
    markup_finish(p.m, &unused);
    uint64_t hash = hash_text(HASH_START, map->site->tool_version);
    hash = hash_text(hash, page_version());
    hash = hash_text(hash, map->site->repository);
    hash = hash_text(hash, map->site->commit_url);
    hash = hash_bytes(hash, unused.bytes, unused.length);
    hash = hash_bytes(hash, text.bytes, text.length);
    for (size_t i = 0; i < kernel->count; i++) {
        hash = hash_bytes(hash, &map->site->series[kernel->series[i]].revision, sizeof(uint64_t));
        hash = hash_text(hash, map->site->series[kernel->series[i]].sentence);
    }
    buffer_free(&text);
    buffer_free(&unused);
    return hash;
}

// ---- one series ----

// The points that the kernel's page leaves out of a long series.
static int write_settled(struct site_target *target, void *context, const struct site *site,
                         size_t series, const struct site_detail *detail, struct error *err)
{
    struct buffer js = {0}, json = {0};
    char name[SITE_ANCHOR];
    site_series_name(name, site, series);
    if (detail->settled == 0)
        return 0;
    if (site_has_stamp(target, "points/", name, ".js", detail->settled_revision)) {
        target->written.unchanged += 2;
        return 0;
    }
    struct site_point *points = xcalloc(detail->settled, sizeof(*points));
    int status = site->load_points(points, detail->settled, series, context, err);
    target->written.loaded_points++;
    if (status == 0)
        site_settled(&js, &json, name, points, detail->settled, detail->settled_revision);
    free(points);
    return status ? -1 : site_put_both(target, "points/", name, ".js", &js, &json, err);
}

// The data carry the page's stamp and are written after it: killed between, both are made again.
static int put_series(struct site_target *target, const struct site_map *map, size_t series,
                      const struct site_detail *detail, struct error *err)
{
    struct buffer html = {0}, js = {0}, json = {0};
    char name[SITE_ANCHOR];
    const uint64_t stamp = site_series_stamp(map, series, detail);
    site_series_name(name, map->site, series);
    if (site_series_has_page(detail) && !site_has_stamp(target, "series/", name, ".html", stamp)) {
        site_series_page(&html, map, series, detail);
        if (site_put(target, "series/", name, ".html", &html, err))
            return -1;
    }
    site_series_data(&json, map, series, detail, stamp);
    site_wrap(&js, "plumbLine", &json);
    return site_put_both(target, "series/", name, ".js", &js, &json, err);
}

struct part { // of a kernel's page
    size_t series;
    bool open;
    struct buffer html;
};
struct parts {
    const struct site_map *map;
    struct part *items;
    size_t count;
};

static int make_part(struct site_target *target, void *context, size_t job, void *all,
                     struct error *err)
{
    const struct parts *parts = all;
    const struct site *site = parts->map->site;
    struct part *part = &parts->items[job];
    struct site_detail detail = {0};
    struct arena arena = {0};
    int status = site->load(&detail, part->series, context, &arena, err);
    target->written.loaded += status == 0;
    if (status == 0 && (write_settled(target, context, site, part->series, &detail, err) ||
                        put_series(target, parts->map, part->series, &detail, err)))
        status = -1;
    if (status == 0)
        site_series_part(&part->html, parts->map, part->series, &detail, part->open);
    arena_free(&arena);
    return status;
}

// ---- all ----

// The kernels whose pages have to be made, and the parts of them.
struct making {
    const struct site_group *kernel;
    uint64_t stamp;
    size_t first; // of its parts
};

static size_t find_changed(struct making *out, struct parts *parts, struct site_target *target)
{
    const struct site_map *map = parts->map;
    size_t count = 0;
    for (size_t k = 0; k < map->kernel_count; k++) {
        const struct site_group *kernel = &map->kernels[k];
        const uint64_t stamp = stamp_of(map, kernel);
        if (site_has_stamp(target, "kernel/", kernel->slug, ".html", stamp)) {
            target->written.unchanged += 2 + 2 * kernel->count; // data and JSON of each series
            continue;
        }
        out[count++] = (struct making){kernel, stamp, parts->count};
        for (size_t i = 0; i < kernel->count; i++) {
            const bool changed = map->site->series[kernel->series[i]].kind != VERDICT_SAME;
            parts->items[parts->count++] = (struct part){
                .series = kernel->series[i], .open = (changed || i == 0) && i < OPEN_AT_FIRST};
        }
    }
    return count;
}

static int put_kernel(struct site_target *target, const struct parts *parts,
                      const struct making *making, struct error *err)
{
    struct buffer html = {0}, json = {0};
    const size_t count = making->kernel->count;
    struct buffer *of_page = xcalloc(count, sizeof(*of_page));
    for (size_t i = 0; i < count; i++)
        of_page[i] = parts->items[making->first + i].html;
    site_kernel(&html, &json, parts->map, making->kernel, making->stamp, of_page);
    free(of_page);
    return site_put_both(target, "kernel/", making->kernel->slug, ".html", &html, &json, err);
}

int site_write_kernels(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct parts parts = {map, xcalloc(map->site->series_count + 1, sizeof(*parts.items)), 0};
    struct making *making = xcalloc(map->kernel_count + 1, sizeof(*making));
    const size_t count = find_changed(making, &parts, target);
    int status = site_jobs(target, map->site, parts.count, make_part, &parts, err);
    for (size_t k = 0; status == 0 && k < count; k++)
        status = put_kernel(target, &parts, &making[k], err);
    for (size_t i = 0; i < parts.count; i++)
        buffer_free(&parts.items[i].html);
    free(parts.items);
    free(making);
    return status;
}
