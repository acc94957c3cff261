// SPDX-License-Identifier: Apache-2.0
//
// Which pages there are, which must be made again, and writing them.
//
// Pages made from the summaries alone are made every time and written only when their bytes differ.
// A kernel's page needs all points of its series, and a file of times those of its runs, so each
// carries a stamp of its inputs; when the file there has the same stamp, nothing is loaded.
#include "reports/site/site_files.h"
#include "reports/site/site_parts.h"

#include "model/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the map ------------------------------------------------------------------------------------

struct ranked {
    const struct site_series *series;
    size_t index;
};

static int rank_of(const struct site_series *s)
{
    static const int ranks[VERDICT_KINDS] = {
        [VERDICT_BROKEN] = 0,    [VERDICT_SLOWER] = 1,       [VERDICT_ACCEPTED] = 3,
        [VERDICT_UNDECIDED] = 4, [VERDICT_NOT_MEASURED] = 5, [VERDICT_FASTER] = 6,
        [VERDICT_NEW] = 7,       [VERDICT_SAME] = 8,
    };
    return s->kind == VERDICT_SLOWER && site_is_environment(s) ? 2 : ranks[s->kind];
}

static int by_importance(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int rank = rank_of(a->series) - rank_of(b->series);
    double size_a = fabs(a->series->log_ratio.value), size_b = fabs(b->series->log_ratio.value);
    if (rank)
        return rank;
    if (size_a != size_b && !isnan(size_a) && !isnan(size_b))
        return size_a > size_b ? -1 : 1;
    if (isnan(size_a) != isnan(size_b))
        return isnan(size_a) ? 1 : -1;
    int name = strcmp(a->series->kernel, b->series->kernel);
    return name ? name : (a->index > b->index) - (a->index < b->index);
}

static size_t *importance_order(const struct site *site)
{
    struct ranked *list = xcalloc(site->series_count + 1, sizeof(*list));
    size_t *order = xcalloc(site->series_count + 1, sizeof(*order));
    for (size_t i = 0; i < site->series_count; i++)
        list[i] = (struct ranked){&site->series[i], i};
    qsort(list, site->series_count, sizeof(*list), by_importance);
    for (size_t i = 0; i < site->series_count; i++)
        order[i] = list[i].index;
    free(list);
    return order;
}

// A plain name is its own file name. Any other gets a hash, so that no two names share a file and
// none can leave the folder.
void site_make_slug(char out[SLUG_TEXT], const char *name)
{
    size_t length = 0;
    bool plain = name[0] != '\0' && strlen(name) < SLUG_TEXT - 20;
    for (const char *c = name; *c && length < SLUG_TEXT - 20; c++) {
        bool keeps = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_';
        plain = plain && keeps;
        if (keeps || isupper((unsigned char)*c))
            out[length++] = (char)tolower((unsigned char)*c);
        else if (length > 0 && out[length - 1] != '-')
            out[length++] = '-';
    }
    out[length] = '\0';
    if (!plain)
        snprintf(out + length, SLUG_TEXT - length, "-%012llx",
                 (unsigned long long)(hash_bytes(HASH_START, name, strlen(name)) >> 16));
}

static void group_add(struct site_group *group, size_t series)
{
    if ((group->count & (group->count - 1)) == 0)
        group->series =
            xrealloc(group->series, group->count ? 2 * group->count : 1, sizeof(*group->series));
    group->series[group->count++] = series;
}

// Series come worst first, so kernels do too.
static void group_kernels(struct site_map *map)
{
    const struct site *site = map->site;
    for (size_t i = 0; i < site->series_count; i++) {
        size_t index = map->order[i], k = 0;
        while (k < map->kernel_count && strcmp(map->kernels[k].name, site->series[index].kernel))
            k++;
        if (k == map->kernel_count) {
            map->kernels[k].name = site->series[index].kernel;
            site_make_slug(map->kernels[k].slug, map->kernels[k].name);
            map->kernel_count++;
        }
        group_add(&map->kernels[k], index);
        map->kernel_of[index] = k;
    }
}

static void map_make(struct site_map *map, const struct site *site)
{
    *map = (struct site_map){.site = site};
    map->order = importance_order(site);
    map->kernels = xcalloc(site->series_count + 1, sizeof(*map->kernels));
    map->kernel_of = xcalloc(site->series_count + 1, sizeof(*map->kernel_of));
    map->devices = xcalloc(site->device_count + 1, sizeof(*map->devices));
    group_kernels(map);
    for (size_t d = 0; d < site->device_count; d++) {
        char *unique = xprintf("%s %s", site->devices[d].name, site->devices[d].uuid);
        map->devices[d].name = site->devices[d].name;
        site_make_slug(map->devices[d].slug, unique);
        free(unique);
    }
    for (size_t i = 0; i < site->series_count; i++)
        group_add(&map->devices[site->series[map->order[i]].device], map->order[i]);
    site_find_commits(map);
    site_find_open_events(map);
}

static void map_free(struct site_map *map)
{
    for (size_t k = 0; k < map->kernel_count; k++)
        free(map->kernels[k].series);
    for (size_t d = 0; map->devices && d < map->site->device_count; d++)
        free(map->devices[d].series);
    site_forget_commits(map);
    free(map->kernels);
    free(map->devices);
    free(map->kernel_of);
    free(map->event_of);
    free(map->event_counts);
    free(map->order);
}

// ---- pages ----

// All that the page of the models' accuracy is made of, but where their figures changed, which
// follows from it.
static uint64_t accuracy_stamp(const struct site *site)
{
    uint64_t hash = hash_text(hash_text(HASH_START, site->tool_version), page_version());
    hash = hash_text(hash, site->repository);
    hash = hash_bytes(hash, &site->made_s, sizeof(site->made_s));
    hash = hash_bytes(hash, &site->accuracy_judge, sizeof(site->accuracy_judge));
    for (size_t i = 0; i < site->accuracy_count; i++) {
        const struct site_accuracy *a = &site->accuracy[i];
        const struct device *device = &site->devices[a->device];
        const char *const texts[] = {a->model,     a->version,  a->kernel, dtype_name(a->dtype),
                                     device->uuid, device->name};
        for (size_t k = 0; k < ARRAY_COUNT(texts); k++)
            hash = hash_text(hash, texts[k]);
        for (size_t k = 0; k < a->count; k++) {
            const struct site_accuracy_point *p = &a->points[k];
            const double values[] = {(double)p->time_s, (double)p->count, p->mape,
                                     p->bias,           p->tau,           p->within};
            hash = hash_bytes(hash_text(hash, p->commit), values, sizeof(values));
        }
    }
    return hash;
}

static int write_accuracy(struct site_target *target, const struct site_map *map, struct error *err)
{
    const struct site *site = map->site;
    const uint64_t stamp = accuracy_stamp(site);
    struct buffer html = {0}, json = {0};
    if (site_has_stamp(target, "", "accuracy", ".html", stamp)) {
        target->written.unchanged += 2;
        return 0;
    }
    if (site->judge_accuracy)
        site->judge_accuracy(site->context);
    site_accuracy_page(&html, &json, map, stamp);
    return site_put_both(target, "", "accuracy", ".html", &html, &json, err);
}

static int write_pages(struct site_target *target, const struct site_map *map, struct error *err)
{
    static const struct {
        const char *name;
        void (*make)(struct buffer *, struct buffer *, const struct site_map *);
    } pages[] = {{"runs", site_runs}, {"index", site_overview}};
    struct buffer html = {0}, json = {0};
    if (site_write_kernels(target, map, err))
        return -1;
    for (size_t d = 0; d < map->site->device_count; d++) {
        site_device(&html, &json, map, d);
        if (site_put_both(target, "device/", map->devices[d].slug, ".html", &html, &json, err))
            return -1;
    }
    if (write_accuracy(target, map, err))
        return -1;
    for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
        pages[i].make(&html, &json, map);
        if (site_put_both(target, "", pages[i].name, ".html", &html, &json, err))
            return -1;
    }
    if (site_write_events(target, map, err) || site_write_runs(target, map, err))
        return -1;
    site_series_list(&html, &json, map);
    if (site_put_both(target, "", "series", ".js", &html, &json, err))
        return -1;
    buffer_puts(&html, page_style());
    if (site_put(target, "", "page", ".css", &html, err))
        return -1;
    site_feed(&html, map);
    return site_put(target, "", "feed", ".xml", &html, err);
}

int site_write(const struct site *site, const char *directory, struct site_written *written,
               struct error *err)
{
    static const char *const folders[] = {"",        "/kernel",  "/series", "/device",
                                          "/points", "/compare", "/commit", "/run"};
    struct site_target target = {.directory = directory};
    struct site_map map;
    for (size_t i = 0; i < ARRAY_COUNT(folders); i++) {
        if (site_make_folder(directory, folders[i], err))
            return -1;
    }
    map_make(&map, site);
    int status = write_pages(&target, &map, err);
    map_free(&map);
    if (status == 0 && written)
        *written = target.written;
    return status;
}
