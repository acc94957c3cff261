// SPDX-License-Identifier: Apache-2.0
//
// What is written run by run: the file of times of SITE_RUNS_PER_FILE runs, a page for each of
// these runs, and one for each commit whose first run is among them. One stamp, which the file of
// times carries, stands for times and runs; when it is the same, nothing is loaded and nothing
// looked at. What began with a commit may become known later, so each of these pages has a stamp of
// its own; those of a block lie together in one file.
#include "reports/site/site_files.h"
#include "reports/site/site_parts.h"

#include "model/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_FORMAT = 6 }; // raised when the files would say the same otherwise

struct block {
    int64_t number;
    const struct site_run *const *runs; // of this block, by id
    size_t run_count;
    const size_t *commits; // indices into map->commits, whose first run is of this block
    size_t commit_count;
};

// ---- which ----

struct placed { // a commit and its block
    int64_t block;
    size_t commit;
};

static int by_block(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (a->commit > b->commit) - (a->commit < b->commit);
}

static int by_id(const void *left, const void *right)
{
    const struct site_run *const *a = left, *const *b = right;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static struct placed *placed_commits(const struct site_map *map)
{
    struct placed *list = xcalloc(map->commit_count + 1, sizeof(*list));
    for (size_t i = 0; i < map->commit_count; i++)
        list[i] = (struct placed){map->commits[i].first_run / SITE_RUNS_PER_FILE, i};
    qsort(list, map->commit_count, sizeof(*list), by_block);
    return list;
}

// ---- the stamp ----

static uint64_t mix(uint64_t hash, const void *bytes, size_t length)
{
    return hash_bytes(hash, bytes, length);
}

static uint64_t mix_run(uint64_t hash, const struct site_map *map, const struct site_run *run)
{
    const size_t index = (size_t)(run - map->site->runs);
    const size_t before = site_comparable(run) ? site_run_before(map->site, index) : SIZE_MAX;
    const int64_t beside = before == SIZE_MAX ? 0 : map->site->runs[before].id;
    hash = mix(hash, &run->id, sizeof(run->id));
    hash = mix(hash, &run->revision, sizeof(run->revision));
    hash = mix(hash, &run->finished_s, sizeof(run->finished_s));
    return mix(hash, &beside, sizeof(beside));
}

// As they are shown: a link more moves each level by less than that.
static uint64_t mix_change(uint64_t hash, const struct site_map *map, const struct event_change *c)
{
    char name[SITE_ANCHOR], change[VIEW_TEXT], interval[VIEW_TEXT], evidence[VIEW_TEXT];
    site_series_name(name, map->site, c->series);
    view_percent(change, expm1(c->size.value));
    view_interval(interval, interval_relative(c->size));
    snprintf(evidence, sizeof(evidence), "%.1f", c->log_evidence / M_LN10);
    hash = hash_text(hash_text(hash, name), change);
    return hash_text(hash_text(hash, interval), evidence);
}

static uint64_t mix_event(uint64_t hash, const struct site_map *map, const struct site_event *event)
{
    const struct event *e = event->event;
    hash = hash_text(hash_text(hash, e->name), event->sentence);
    hash = mix(hash, &e->state, sizeof(e->state));
    hash = mix(hash, &e->entry_count, sizeof(e->entry_count));
    for (size_t i = 0; i < e->culprit_count; i++)
        hash = hash_text(hash, e->commits[i].id);
    for (size_t i = 0; i < e->count; i++)
        hash = mix_change(hash, map, &e->changes[i]);
    return hash;
}

static uint64_t stamp_of_all(const struct site *site)
{
    const uint64_t hash = hash_text(HASH_START + BLOCK_FORMAT, site->tool_version);
    return hash_text(hash_text(hash, site->repository), site->commit_url);
}

static uint64_t stamp_of_commit(const struct site_map *map, size_t index)
{
    const struct site_commit *c = &map->commits[index];
    uint64_t hash = hash_text(stamp_of_all(map->site), c->id);
    hash = hash_text(hash, index ? map->commits[index - 1].id : "");
    hash = hash_text(hash, index + 1 < map->commit_count ? map->commits[index + 1].id : "");
    for (size_t i = 0; i < c->run_count; i++)
        hash = mix_run(hash, map, &map->site->runs[c->runs[i]]);
    for (size_t i = 0; i < c->event_count; i++)
        hash = mix_event(hash, map, &map->site->events[c->events[i]]);
    return hash;
}

static uint64_t stamp_of_runs(const struct site_map *map, const struct block *block)
{
    uint64_t hash = stamp_of_all(map->site);
    for (size_t i = 0; i < block->run_count; i++)
        hash = mix_run(hash, map, block->runs[i]);
    return hash;
}

// ---- writing ----

static int put_run_page(struct site_target *target, void *context, const struct site_map *map,
                        size_t index, const double *before_ns, const double *times_ns,
                        struct error *err)
{
    const struct site *site = map->site;
    const struct site_run *run = &site->runs[index];
    const bool has_verdicts = site->load_run && site_run_has_verdicts(run);
    struct buffer html = {0};
    struct run whole;
    char name[32];
    if (has_verdicts && site->load_run(&whole, index, context, err))
        return -1;
    site_run_page(&html, map, index, has_verdicts ? &whole : NULL, before_ns, times_ns);
    if (has_verdicts)
        run_free(&whole);
    snprintf(name, sizeof(name), "%lld", (long long)run->id);
    return site_put(target, "run/", name, ".html", &html, err);
}

// times_ns: of the runs that can be compared, in their order.
static int write_run_pages(struct site_target *target, void *context, const struct site_map *map,
                           const struct block *block, const struct site_run *const *timed,
                           const double *times_ns, size_t timed_count, struct error *err)
{
    const struct site *site = map->site;
    double *other = xcalloc(site->series_count + 1, sizeof(*other));
    int status = 0;
    for (size_t i = 0, k = 0; status == 0 && i < block->run_count; i++) {
        const struct site_run *run = block->runs[i];
        const size_t index = (size_t)(run - site->runs);
        const bool has = k < timed_count && timed[k] == run;
        const size_t before = has ? site_run_before(site, index) : SIZE_MAX;
        const double *now = has ? times_ns + k++ * site->series_count : NULL, *then = NULL;
        for (size_t b = 0; before != SIZE_MAX && !then && b < timed_count; b++)
            then = timed[b] == &site->runs[before] ? times_ns + b * site->series_count : NULL;
        if (before != SIZE_MAX && !then) {
            status = site->load_times(other, before, context, err);
            target->written.loaded_runs++;
            then = other;
        }
        if (status)
            break;
        status = put_run_page(target, context, map, index, then, now, err);
    }
    free(other);
    return status;
}

// The stamps are written last: killed before, the pages are made again.
static int write_commits(struct site_target *target, const struct site_map *map,
                         const struct block *block, struct error *err)
{
    struct buffer there = {0}, stamps = {0};
    struct json j = {.out = &stamps};
    char name[32];
    int status = 0;
    snprintf(name, sizeof(name), "%lld", (long long)block->number);
    site_read(&there, target, "commit/", name, ".json");
    json_begin(&j, NULL, '{');
    for (size_t i = 0; status == 0 && i < block->commit_count; i++) {
        const struct site_commit *c = &map->commits[block->commits[i]];
        struct buffer html = {0};
        char stamp[32], entry[SLUG_TEXT + 64];
        snprintf(stamp, sizeof(stamp), "%016llx",
                 (unsigned long long)stamp_of_commit(map, block->commits[i]));
        snprintf(entry, sizeof(entry), "\"%s\":\"%s\"", c->slug, stamp);
        json_clean(&j, c->slug, stamp);
        if (there.bytes && strstr(there.bytes, entry)) {
            target->written.unchanged++;
            continue;
        }
        site_commit_page(&html, map, block->commits[i]);
        status = site_put(target, "commit/", c->slug, ".html", &html, err);
    }
    json_end(&j, '}');
    if (status == 0 && block->commit_count)
        status = site_put(target, "commit/", name, ".json", &stamps, err);
    buffer_free(&there);
    buffer_free(&stamps);
    return status;
}

// The stamp is written last: killed before, all is made again.
static int write_times(struct site_target *target, void *context, const struct site_map *map,
                       const struct block *block, struct error *err)
{
    const struct site *site = map->site;
    struct buffer js = {0}, json = {0};
    char name[32];
    int status = 0;
    size_t timed_count = 0;
    const uint64_t stamp = stamp_of_runs(map, block);
    snprintf(name, sizeof(name), "%lld", (long long)block->number);
    if (site_has_stamp(target, "compare/", name, ".js", stamp)) {
        target->written.unchanged += 2 + block->run_count;
        return 0;
    }
    const struct site_run **timed = xcalloc(block->run_count + 1, sizeof(*timed));
    double *times_ns = xcalloc(block->run_count * site->series_count + 1, sizeof(*times_ns));
    for (size_t i = 0; status == 0 && i < block->run_count; i++) {
        if (!site_comparable(block->runs[i]))
            continue;
        status = site->load_times(times_ns + timed_count * site->series_count,
                                  (size_t)(block->runs[i] - site->runs), context, err);
        timed[timed_count++] = block->runs[i];
        target->written.loaded_runs++;
    }
    if (status == 0)
        status = write_run_pages(target, context, map, block, timed, times_ns, timed_count, err);
    if (status == 0) {
        site_times(&js, &json, map, timed, timed_count, times_ns, stamp);
        status = site_put_both(target, "compare/", name, ".js", &js, &json, err);
    }
    free(times_ns);
    free(timed);
    return status;
}

struct blocks {
    const struct site_map *map;
    struct block *items;
    size_t count;
};

static int write_block(struct site_target *target, void *context, size_t job, void *all,
                       struct error *err)
{
    const struct blocks *blocks = all;
    const struct block *block = &blocks->items[job];
    return write_times(target, context, blocks->map, block, err) ||
                   write_commits(target, blocks->map, block, err)
               ? -1
               : 0;
}

// Of runs by id, and of commits by the block of their first run.
static void find_blocks(struct blocks *out, const struct site_run *const *runs, size_t count,
                        const struct placed *placed, const size_t *commits)
{
    for (size_t first = 0, end, c = 0; first < count; first = end) {
        struct block block = {.number = runs[first]->id / SITE_RUNS_PER_FILE};
        for (end = first; end < count && runs[end]->id / SITE_RUNS_PER_FILE == block.number;)
            end++;
        block.runs = runs + first;
        block.run_count = end - first;
        block.commits = commits + c;
        for (; c < out->map->commit_count && placed[c].block == block.number; c++)
            block.commit_count++;
        out->items[out->count++] = block;
    }
}

static int write_blocks(struct site_target *target, const struct site_map *map, struct error *err)
{
    const size_t count = map->site->run_count;
    const struct site_run **runs = xcalloc(count + 1, sizeof(*runs));
    struct placed *placed = placed_commits(map);
    size_t *commits = xcalloc(map->commit_count + 1, sizeof(*commits));
    struct blocks blocks = {map, xcalloc(count + 1, sizeof(*blocks.items)), 0};
    for (size_t i = 0; i < count; i++)
        runs[i] = &map->site->runs[i];
    qsort(runs, count, sizeof(*runs), by_id);
    for (size_t i = 0; i < map->commit_count; i++)
        commits[i] = placed[i].commit;
    find_blocks(&blocks, runs, count, placed, commits);
    const int status = site_jobs(target, map->site, blocks.count, write_block, &blocks, err);
    free(blocks.items);
    free(commits);
    free(placed);
    free(runs);
    return status;
}

int site_write_runs(struct site_target *target, const struct site_map *map, struct error *err)
{
    struct buffer html = {0}, json = {0};
    if (write_blocks(target, map, err))
        return -1;
    site_run_list(&html, &json, map);
    if (site_put_both(target, "compare/", "runs", ".js", &html, &json, err) ||
        site_compare(&html, &json, map, err))
        return -1;
    return site_put_both(target, "", "compare", ".html", &html, &json, err);
}
