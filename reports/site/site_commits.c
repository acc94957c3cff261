// SPDX-License-Identifier: Apache-2.0
//
// The commits that runs were about: which runs, and what began with each.
#include "reports/site/site_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named { // a run or an event by its commit
    const char *commit;
    size_t index;
};

static int by_commit(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    const int commit = strcmp(a->commit, b->commit);
    return commit ? commit : (a->index > b->index) - (a->index < b->index);
}

static struct site_commit *find(const struct site_map *map, const char *id)
{
    size_t low = 0, high = map->commit_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(map->commits_by_id[middle]->id, id);
        if (order == 0)
            return map->commits_by_id[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct site_commit *site_find_commit(const struct site_map *map, const char *id)
{
    return find(map, id);
}

static int by_time(const void *left, const void *right)
{
    const struct site_commit *a = left, *b = right;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    return a->first_run < b->first_run ? -1 : a->first_run > b->first_run;
}

// The file's name has to be found from the short id alone, as charts know it. Of several commits
// with one short id, which come one after the other, all but the first have all of their id.
static void name_page(struct site_commit *commit, const struct site_commit *before)
{
    char id[VIEW_TEXT], other[VIEW_TEXT] = "";
    view_short_id(id, commit->id);
    if (before)
        view_short_id(other, before->id);
    site_make_slug(commit->slug, strcmp(id, other) == 0 ? commit->id : id);
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

// Runs come newest first, and those of a commit stay so.
static void group_runs(struct site_map *map)
{
    const struct site *site = map->site;
    struct named *list = xcalloc(site->run_count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < site->run_count; i++) {
        if (site->runs[i].head[0])
            list[count++] = (struct named){site->runs[i].head, i};
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

// A commit that no run was about has no page to stand on.
static void group_events(struct site_map *map)
{
    const struct site *site = map->site;
    size_t total = 0, count = 0;
    for (size_t i = 0; i < site->event_count; i++)
        total += site->events[i].event->culprit_count;
    struct named *list = xcalloc(total + 1, sizeof(*list));
    map->event_memory = xcalloc(total + 1, sizeof(*map->event_memory));
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        for (size_t k = 0; k < e->culprit_count; k++)
            list[count++] = (struct named){e->commits[k].id, i};
    }
    qsort(list, count, sizeof(*list), by_commit);
    for (size_t i = 0; i < count; i++) {
        struct site_commit *c = find(map, list[i].commit);
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

void site_find_commits(struct site_map *map)
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

void site_forget_commits(struct site_map *map)
{
    free(map->commits);
    free(map->commits_by_id);
    free(map->run_memory);
    free(map->event_memory);
}
