// SPDX-License-Identifier: Apache-2.0
//
// Puts what a site has in order, decides which pages it has and which must be made again, and
// writes them.
//
// Pages that need only the summaries are made every time, and written only if their bytes differ. A
// kernel's page needs all points of its series, and a file of times needs those of its runs. So
// each carries a stamp of its inputs; if the existing file has the same stamp, nothing is loaded.
#include "reports/site/site_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char page_css[];

// ==== the map ====
//
// The map of a site: its series in order of importance, grouped by kernel and device; the commits
// that runs measured, with their runs and the events that began with each; and the open events of
// each series.

// ---- commits ------------------------------------------------------------------------------------

// Makes a file name. A plain name is used as it is. Any other gets a hash, so that no two names
// share a file and none leaves the folder.
static void make_slug(char out[SLUG_TEXT], const char *name)
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

struct commit_index { // a run or an event with its commit
    const char *commit;
    size_t index;
};

static int by_commit(const void *left, const void *right)
{
    const struct commit_index *a = left, *b = right;
    const int commit = strcmp(a->commit, b->commit);
    return commit ? commit : (a->index > b->index) - (a->index < b->index);
}

static int by_time(const void *left, const void *right)
{
    const struct site_commit *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->first_run < b->first_run ? -1 : a->first_run > b->first_run;
}

// Names a commit's page by its short id, because charts link to pages by the short id only. Commits
// that share a short id follow each other here: the first gets the short name, the others get their
// whole id.
static void name_page(struct site_commit *commit, const struct site_commit *before)
{
    char id[VIEW_TEXT], other[VIEW_TEXT] = "";
    view_short_id(id, commit->id);
    if (before)
        view_short_id(other, before->id);
    make_slug(commit->slug, strcmp(id, other) == 0 ? commit->id : id);
}

static void add_run(struct site_commit *commit, const struct site_run *run, size_t index)
{
    if (commit->run_count == 0)
        *commit = (struct site_commit){.id = run->head,
                                       .summary = run->summary ? run->summary : "",
                                       .author = run->author ? run->author : "",
                                       .time_s = run->commit_s,
                                       .first_run = run->id,
                                       .runs = commit->runs};
    commit->runs[commit->run_count++] = index;
    commit->first_run = run->id < commit->first_run ? run->id : commit->first_run;
}

// Groups runs by commit. They come newest first, and keep that order.
static void group_runs(struct site_map *map)
{
    const struct site *site = map->site;
    struct commit_index *list = xcalloc(site->run_count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < site->run_count; i++) {
        if (site->runs[i].head[0])
            list[count++] = (struct commit_index){site->runs[i].head, i};
    }
    qsort(list, count, sizeof(*list), by_commit);
    for (size_t i = 0; i < count; i++) {
        const bool begins = i == 0 || strcmp(list[i - 1].commit, list[i].commit) != 0;
        if (begins)
            map->commits[map->commit_count++].runs = map->run_memory + i;
        struct site_commit *now = &map->commits[map->commit_count - 1];
        add_run(now, &site->runs[list[i].index], list[i].index);
        if (begins)
            name_page(now, map->commit_count > 1 ? now - 1 : NULL);
    }
    free(list);
}

// Groups events by commit. A commit that no run measured has no page for them.
static void group_events(struct site_map *map)
{
    const struct site *site = map->site;
    size_t total = 0, count = 0;
    for (size_t i = 0; i < site->event_count; i++)
        total += site->events[i].event->culprit_count;
    struct commit_index *list = xcalloc(total + 1, sizeof(*list));
    map->event_memory = xcalloc(total + 1, sizeof(*map->event_memory));
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        for (size_t k = 0; k < e->culprit_count; k++)
            list[count++] = (struct commit_index){e->commits[k].id, i};
    }
    qsort(list, count, sizeof(*list), by_commit);
    for (size_t i = 0; i < count; i++) {
        const struct site_commit *found = site_find_commit(map, list[i].commit);
        struct site_commit *c = found ? &map->commits[found - map->commits] : NULL;
        map->event_memory[i] = list[i].index;
        if (c && c->event_count++ == 0)
            c->events = map->event_memory + i;
    }
    free(list);
}

static int by_id(const void *left, const void *right)
{
    const struct site_commit *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

static void find_commits(struct site_map *map)
{
    const struct site *site = map->site;
    map->commits = xcalloc(site->run_count + 1, sizeof(*map->commits));
    map->commits_by_id = xcalloc(site->run_count + 1, sizeof(*map->commits_by_id));
    map->run_memory = xcalloc(site->run_count + 1, sizeof(*map->run_memory));
    group_runs(map);
    qsort(map->commits, map->commit_count, sizeof(*map->commits), by_time);
    for (size_t i = 0; i < map->commit_count; i++)
        map->commits_by_id[i] = &map->commits[i];
    qsort(map->commits_by_id, map->commit_count, sizeof(*map->commits_by_id), by_id);
    group_events(map);
}

static void forget_commits(struct site_map *map)
{
    free(map->commits);
    free(map->commits_by_id);
    free(map->run_memory);
    free(map->event_memory);
}

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

static void group_add(struct site_group *group, size_t series)
{
    if ((group->count & (group->count - 1)) == 0)
        group->series =
            xrealloc(group->series, group->count ? 2 * group->count : 1, sizeof(*group->series));
    group->series[group->count++] = series;
}

// Groups series by kernel. Series come worst first, so kernels do, too.
static void group_kernels(struct site_map *map)
{
    const struct site *site = map->site;
    for (size_t i = 0; i < site->series_count; i++) {
        size_t index = map->order[i], k = 0;
        while (k < map->kernel_count && strcmp(map->kernels[k].name, site->series[index].kernel))
            k++;
        if (k == map->kernel_count) {
            map->kernels[k].name = site->series[index].kernel;
            make_slug(map->kernels[k].slug, map->kernels[k].name);
            map->kernel_count++;
        }
        group_add(&map->kernels[k], index);
        map->kernel_of[index] = k;
    }
}

// Finds open events. They come newest first, so the first that touches a series is its newest.
static void find_open_events(struct site_map *map)
{
    const struct site *site = map->site;
    map->event_of = xcalloc(site->series_count + 1, sizeof(*map->event_of));
    map->event_counts = xcalloc(site->series_count + 1, sizeof(*map->event_counts));
    for (size_t i = 0; i < site->series_count; i++)
        map->event_of[i] = SIZE_MAX;
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        for (size_t k = 0; site_event_is_open(&site->events[i]) && k < e->count; k++) {
            const size_t series = e->changes[k].series;
            if (map->event_counts[series]++ == 0)
                map->event_of[series] = i;
        }
    }
}

static void site_map_make(struct site_map *map, const struct site *site)
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
        make_slug(map->devices[d].slug, unique);
        free(unique);
    }
    for (size_t i = 0; i < site->series_count; i++)
        group_add(&map->devices[site->series[map->order[i]].device], map->order[i]);
    find_commits(map);
    find_open_events(map);
}

static void site_map_free(struct site_map *map)
{
    for (size_t k = 0; k < map->kernel_count; k++)
        free(map->kernels[k].series);
    for (size_t d = 0; map->devices && d < map->site->device_count; d++)
        free(map->devices[d].series);
    forget_commits(map);
    free(map->kernels);
    free(map->devices);
    free(map->kernel_of);
    free(map->event_of);
    free(map->event_counts);
    free(map->order);
}

// ==== the pages ====

typedef int write_pages(struct site_target *target, const struct site_map *map, struct error *err);

static write_pages *const pages[] = {site_write_kernels, site_write_overview, site_write_accuracy,
                                     site_write_events,  site_write_runs,     site_write_compare,
                                     site_write_metrics};

static int write_all(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer style = {0};
    for (size_t i = 0; i < ARRAY_COUNT(pages); i++) {
        if (pages[i](target, map, err))
            return -1;
    }
    buffer_puts(&style, (const char *)page_css);
    return site_put(target, "", "page", ".css", &style, err);
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
    site_map_make(&map, site);
    int status = write_all(&target, &map, err);
    site_map_free(&map);
    if (status == 0 && written)
        *written = target.written;
    return status;
}
