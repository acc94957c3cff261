// SPDX-License-Identifier: Apache-2.0
//
// What the pages of the site share: the frame, links, tags, and the table of series.
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "model/buffer.h"
#include "reports/report.h"
#include "reports/site/site.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ==== files of the site's folder ====
//
// Writes the site's files, each as a whole and only if it differs from the existing one. Runs the
// jobs that make them; each is done by a thread that is free.

// Reads at most `most` bytes of the file; false when there is none.
static bool read_start(struct buffer *out, const char *path, size_t most)
{
    char bytes[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    ssize_t length;
    while (out->length < most &&
           (length =
                read(file, bytes,
                     most - out->length < sizeof(bytes) ? most - out->length : sizeof(bytes))) > 0)
        buffer_add(out, bytes, (size_t)length);
    close(file);
    return true;
}

static bool is_unchanged(const char *path, const struct buffer *made)
{
    struct stat st;
    struct buffer there = {0};
    if (stat(path, &st) != 0 || (size_t)st.st_size != made->length)
        return false;
    bool same = read_start(&there, path, made->length) && there.length == made->length &&
                (made->length == 0 || memcmp(there.bytes, made->bytes, made->length) == 0);
    buffer_free(&there);
    return same;
}

int site_put(struct site_target *target, const char *folder, const char *name, const char *ending,
             struct buffer *made, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    if (is_unchanged(path, made)) {
        target->written.unchanged++;
    } else {
        status = report_put_file(path, made->bytes ? made->bytes : "", made->length, err);
        target->written.pages += status == 0;
    }
    free(path);
    buffer_free(made);
    return status;
}

int site_put_both(struct site_target *target, const char *folder, const char *name,
                  const char *ending, struct buffer *html, struct buffer *json, struct error *err)
{
    int status = site_put(target, folder, name, ending, html, err);
    if (status == 0)
        status = site_put(target, folder, name, ".json", json, err);
    buffer_free(html);
    buffer_free(json);
    return status;
}

int site_make_folder(const char *directory, const char *name, struct error *err)
{
    int status = 0;
    char *path = xprintf("%s%s", directory, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        status = error_set(err, "%s: cannot be created: %s; its parent folder must exist", path,
                           strerror(errno));
    free(path);
    return status;
}

void site_read(struct buffer *out, const struct site_target *target, const char *folder,
               const char *name, const char *ending)
{
    char *path = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    read_start(out, path, SIZE_MAX);
    free(path);
}

// The stamp stands in a page's JSON, which is written after the page. If the program is killed
// between the two, the page is made again.
bool site_has_stamp(const struct site_target *target, const char *folder, const char *name,
                    const char *ending, uint64_t stamp)
{
    char wanted[64];
    struct buffer json = {0};
    struct stat st;
    char *path = xprintf("%s/%s%s.json", target->directory, folder, name);
    char *page = xprintf("%s/%s%s%s", target->directory, folder, name, ending);
    snprintf(wanted, sizeof(wanted), "\"stamp\":\"%016llx\"", (unsigned long long)stamp);
    bool found = stat(page, &st) == 0 && st.st_size > 0 && read_start(&json, path, 4096) &&
                 json.bytes && strstr(json.bytes, wanted);
    buffer_free(&json);
    free(path);
    free(page);
    return found;
}

// ---- jobs ---------------------------------------------------------------------------------------

struct jobs {
    site_job *one;
    void *all;
    size_t count;
    atomic_size_t next;
    atomic_bool failed;
};

struct page_worker {
    struct jobs *jobs;
    void *context;
    struct site_target target;
    int status;
    struct error err;
};

static void work(void *context)
{
    struct page_worker *w = context;
    struct jobs *jobs = w->jobs;
    while (w->status == 0 && !atomic_load(&jobs->failed)) {
        const size_t job = atomic_fetch_add(&jobs->next, 1);
        if (job >= jobs->count)
            return;
        w->status = jobs->one(&w->target, w->context, job, jobs->all, &w->err);
    }
    atomic_store(&jobs->failed, true);
}

static void add(struct site_written *to, const struct site_written *from)
{
    to->pages += from->pages;
    to->unchanged += from->unchanged;
    to->loaded += from->loaded;
    to->loaded_runs += from->loaded_runs;
    to->loaded_points += from->loaded_points;
}

int site_jobs(struct site_target *target, const struct site *site, size_t count, site_job *one,
              void *all, struct error *err)
{
    const size_t threads = site->together && count > 1 ? site->context_count : 1;
    struct jobs jobs = {.one = one, .all = all, .count = count};
    struct page_worker *workers = xcalloc(threads, sizeof(*workers));
    void **contexts = xcalloc(threads, sizeof(*contexts));
    int status = 0;
    for (size_t i = 0; i < threads; i++) {
        workers[i] = (struct page_worker){.jobs = &jobs,
                                          .context = i ? site->contexts[i] : site->context,
                                          .target = {.directory = target->directory}};
        contexts[i] = &workers[i];
    }
    if (threads > 1)
        site->together(work, contexts, threads);
    else
        work(contexts[0]);
    for (size_t i = 0; i < threads; i++) {
        add(&target->written, &workers[i].target.written);
        if (workers[i].status && status == 0)
            *err = workers[i].err;
        status = workers[i].status ? -1 : status;
    }
    free(workers);
    free(contexts);
    return status;
}

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

bool site_is_environment(const struct site_series *s)
{
    return (s->kind == VERDICT_SLOWER || s->kind == VERDICT_FASTER) &&
           (s->cause == CAUSE_ENVIRONMENT || s->cause == CAUSE_MODEL ||
            s->cause == CAUSE_PLACEMENT);
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

// Whether an event is open: nobody has decided on it, and nothing fixed it.
bool site_event_is_open(const struct site_event *e)
{
    return event_is_open(e->event->state);
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

void site_map_make(struct site_map *map, const struct site *site)
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

void site_map_free(struct site_map *map)
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

// ==== what pages share ====

static const struct page_link links[] = {
    {"index.html", "Overview"},  {"events.html", "Events"}, {"accuracy.html", "Model accuracy"},
    {"metrics.html", "Metrics"}, {"runs.html", "Runs"},     {"compare.html", "Compare"}};
static const struct page_link links_up[] = {{"../index.html", "Overview"},
                                            {"../events.html", "Events"},
                                            {"../accuracy.html", "Model accuracy"},
                                            {"../metrics.html", "Metrics"},
                                            {"../runs.html", "Runs"},
                                            {"../compare.html", "Compare"}};

void site_begin(struct site_page *p, struct page *page, const char *title, enum site_frame frame)
{
    const struct site *site = p->map->site;
    bool up = p->root[0] != '\0';
    *page = (struct page){.title = title,
                          .subtitle = site->repository,
                          .links = up ? links_up : links,
                          .link_count = ARRAY_COUNT(links),
                          .interactive = frame == SITE_WITH_CHARTS,
                          .loads = frame == SITE_WITH_CHARTS || frame == SITE_LOADS,
                          .shares_style = frame == SITE_SMALL,
                          .root = p->root,
                          .feed = up ? "../feed.xml" : "feed.xml"};
    p->m = page_begin(page);
    p->json.comma = false;
    json_begin(&p->json, NULL, '{');
    json_int(&p->json, "format", 1);
    json_clean(&p->json, "repository", site->repository);
    json_int(&p->json, "made_s", site->made_s);
}

void site_finish(struct site_page *p, const struct page *page, struct buffer *html)
{
    const struct site *site = p->map->site;
    char when[VIEW_TEXT], note[200];
    view_date(when, site->made_s);
    // A page of a run or commit must not change when more is stored; a site with links only has no
    // newest run.
    const bool dated = !page->shares_style && site->made_s != 0;
    snprintf(note, sizeof(note), "Made by plumb %.40s from what was stored%s%s.",
             site->tool_version ? site->tool_version : "", dated ? " up to " : "",
             dated ? when : "");
    json_end(&p->json, '}');
    json_newline(&p->json);
    page_finish(p->m, page, note, html);
}

void site_heading(struct markup *m, const char *text)
{
    markup_element(m, "h2", NULL, text);
}

double site_ratio(const struct site_series *s)
{
    bool known = s->predicted_ns > 0 && s->time_ns > 0 && isfinite(s->time_ns / s->predicted_ns);
    return known ? s->time_ns / s->predicted_ns : NAN;
}

// Writes a link to a commit's page. If no run measured the commit, it leads to the address that the
// policy gives for commits.
void site_commit_link(struct site_page *p, const char *id)
{
    const struct site_commit *commit = site_find_commit(p->map, id);
    char text[VIEW_TEXT];
    if (!commit) {
        view_commit(p->m, p->map->site->commit_url, id);
        return;
    }
    view_short_id(text, id);
    markup_open(p->m, "a", "mono");
    markup_attrf(p->m, "href", "%scommit/%s.html", p->root, commit->slug);
    markup_text(p->m, text);
    markup_end(p->m);
}

enum { AUTHOR_SHOWN = 40 };

// Writes a name without its e-mail address.
static void write_name(struct site_page *p, const char *name)
{
    struct buffer text = {0};
    char *own = xstrdup(name), *end = strchr(own, '<');
    if (end && end > own)
        *end = '\0';
    for (size_t n = strlen(own); n && own[n - 1] == ' '; n--)
        own[n - 1] = '\0';
    clean_line(&text, own, AUTHOR_SHOWN);
    markup_element(p->m, "strong", NULL, text.bytes ? text.bytes : "");
    buffer_free(&text);
    free(own);
}

void site_person(struct site_page *p, const char *name, const char *why)
{
    markup_text(p->m, "; ask ");
    write_name(p, name);
    markup_elementf(p->m, "span", "muted small", " (%s)", why);
    json_clean(&p->json, "ask", name);
}

void site_taken(struct site_page *p, const struct event_taken *taken)
{
    char when[VIEW_TEXT];
    view_date(when, taken->when_s);
    markup_text(p->m, "; ");
    write_name(p, taken->who);
    markup_textf(p->m, " is on it since %.10s", when);
}

void site_anchor(char out[SITE_ANCHOR], const struct site *site, size_t series)
{
    const struct site_series *s = &site->series[series];
    const char *uuid = site->devices[s->device].uuid;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    uint64_t hash = hash_bytes(HASH_START, problem, strlen(problem) + 1);
    hash = hash_bytes(hash, uuid, strlen(uuid));
    snprintf(out, SITE_ANCHOR, "s-%012llx", (unsigned long long)(hash >> 16));
}

void site_series_name(char out[SITE_ANCHOR], const struct site *site, size_t series)
{
    const struct site_series *s = &site->series[series];
    const char *uuid = site->devices[s->device].uuid;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    uint64_t hash = hash_bytes(HASH_START, s->kernel, strlen(s->kernel) + 1);
    hash = hash_bytes(hash, problem, strlen(problem) + 1);
    hash = hash_bytes(hash, uuid, strlen(uuid));
    snprintf(out, SITE_ANCHOR, "%014llx", (unsigned long long)(hash >> 8));
}

void site_wrap(struct buffer *js, const char *call, const struct buffer *json)
{
    buffer_printf(js, "%s(", call);
    buffer_add(js, json->bytes, json->length);
    buffer_puts(js, ");\n");
}

void site_series_link(struct site_page *p, size_t series, const char *text)
{
    const struct site_group *kernel = &p->map->kernels[p->map->kernel_of[series]];
    char anchor[SITE_ANCHOR];
    markup_start(p->m, "a");
    site_anchor(anchor, p->map->site, series);
    markup_attrf(p->m, "href", "%skernel/%s.html#%s", p->root, kernel->slug, anchor);
    markup_text(p->m, text);
    markup_end(p->m);
}

void site_counts(struct site_page *p, const size_t *series, size_t count)
{
    size_t counts[VERDICT_KINDS] = {0};
    for (size_t i = 0; i < count; i++)
        counts[p->map->site->series[series[i]].kind]++;
    chart_counts(p->m, counts);
}

// ---- the table of series ------------------------------------------------------------------------

void site_step(struct site_page *p, const struct site_series *s)
{
    char size[VIEW_TEXT], when[VIEW_TEXT];
    view_percent(size, expm1(s->step));
    view_date(when, s->since_s);
    when[10] = '\0';
    if (!s->since) {
        markup_text(p->m, "-");
        return;
    }
    markup_start(p->m, "span");
    if (isfinite(s->step))
        markup_elementf(p->m, "span", "nowrap", "%s in ", size);
    site_commit_link(p, s->since);
    markup_text(p->m, " ");
    markup_element(p->m, "span", "muted small nowrap", when);
    markup_end(p->m);
}

// Explains below a table of series what its columns of change and last step hold.
static void change_hint(struct markup *m, bool steps)
{
    markup_elementf(m, "p", "hint told",
                    "Against accepted: the time now against the last accepted state, or, where "
                    "nothing was accepted, against the first one known; minus is faster.%s",
                    steps ? " Last step: the newest single change in that direction, and its "
                            "commit; several may have added up."
                          : "");
}

static void step_cell(struct site_page *p, const struct site_series *s)
{
    page_cell(p->m, "last step", s->since ? "since" : "empty", s->since ? (double)s->since_s : NAN,
              false);
    site_step(p, s);
    markup_end(p->m);
}

static void names(struct site_page *p, size_t index, unsigned columns)
{
    const struct site_series *s = &p->map->site->series[index];
    char shape[PROBLEM_TEXT];
    problem_format(shape, &s->problem);
    if (columns & SITE_WITH_KERNEL) {
        page_cell(p->m, "kernel", NULL, NAN, true);
        site_series_link(p, index, s->kernel);
        markup_end(p->m);
        page_text_cell(p->m, "problem", "mono nowrap", NAN, shape);
    } else {
        page_cell(p->m, "problem", "mono nowrap", NAN, true);
        site_series_link(p, index, shape);
        markup_end(p->m);
    }
    if (columns & SITE_WITH_DEVICE)
        page_text_cell(p->m, "device", "name", NAN, p->map->site->devices[s->device].name);
}

static void spark(struct markup *m, const struct site_series *s)
{
    double values[SITE_SPARK];
    for (size_t i = 0; i < s->spark_count && i < SITE_SPARK; i++)
        values[i] = (double)s->spark[i];
    chart_spark(m, values, s->spark_count, 0.02);
}

// The columns of a table, as bits next to those of enum site_column. A column is written if a
// series has something for it.
enum { WITH_STEP = 0x100, WITH_TIME = 0x200, WITH_TREND = 0x400, WITH_MODEL = 0x800 };

static unsigned columns_of(const struct site *site, const size_t *series, size_t count)
{
    unsigned columns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct site_series *s = &site->series[series[i]];
        columns |= (s->since ? WITH_STEP : 0) | (s->time_ns > 0 ? WITH_TIME : 0) |
                   (s->spark_count > 1 ? WITH_TREND : 0) |
                   (isfinite(site_ratio(s)) || s->bound != BOUND_UNKNOWN ? WITH_MODEL : 0);
    }
    return columns;
}

static void model_cells(struct site_page *p, const struct site_series *s)
{
    char ratio[VIEW_TEXT] = "-";
    if (isfinite(site_ratio(s)))
        snprintf(ratio, sizeof(ratio), "%.2f", site_ratio(s));
    page_text_cell(p->m, "act./pred.", "right", site_ratio(s), ratio);
    page_text_cell(p->m, "bound", NULL, NAN,
                   s->bound == BOUND_UNKNOWN ? "-" : bound_name(s->bound));
}

static void figures(struct site_page *p, const struct site_series *s, unsigned columns, bool trend)
{
    char change[VIEW_TEXT], time[VIEW_TEXT];
    view_percent(change, expm1(s->log_ratio.value));
    view_time(time, s->time_ns);
    page_text_cell(p->m, "against accepted", "right nowrap", expm1(s->log_ratio.value), change);
    if (columns & WITH_STEP)
        step_cell(p, s);
    if (columns & WITH_TIME)
        page_text_cell(p->m, "newest", "right nowrap", s->time_ns, time);
    if (columns & WITH_TREND) {
        page_cell(p->m, "trend", trend && s->spark_count > 1 ? NULL : "empty", NAN, false);
        if (trend)
            spark(p->m, s);
        markup_end(p->m);
    }
    if (columns & WITH_MODEL)
        model_cells(p, s);
}

// Sparklines take a third of a row's bytes, so in a long table only the first rows, which are the
// worst, have one.
enum { SPARKS = 1000 };

static void row(struct site_page *p, size_t index, unsigned columns, bool trend)
{
    const struct site_series *s = &p->map->site->series[index];
    markup_start(p->m, "tr");
    markup_attr(p->m, "data-verdict", verdict_kind_name(s->kind));
    if (columns & SITE_WITH_DEVICE)
        markup_attr(p->m, "data-device", p->map->site->devices[s->device].name);
    if (s->bound != BOUND_UNKNOWN)
        markup_attr(p->m, "data-bound", bound_name(s->bound));
    names(p, index, columns);
    page_cell(p->m, "state", "nowrap", NAN, false);
    page_tag(p->m, chart_verdict_class(s->kind, site_is_environment(s)), view_symbol(s->kind),
             verdict_kind_name(s->kind));
    if (site_is_environment(s))
        markup_element(p->m, "span", "muted small", cause_name(s->cause));
    markup_end(p->m);
    figures(p, s, columns, trend);
    markup_end(p->m);
}

static void row_json(struct site_page *p, size_t index)
{
    const struct site_series *s = &p->map->site->series[index];
    struct json *j = &p->json;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &s->problem);
    json_newline(j);
    json_begin(j, NULL, '{');
    json_clean(j, "kernel", s->kernel);
    json_clean(j, "problem", problem);
    json_clean(j, "device", p->map->site->devices[s->device].uuid);
    json_clean(j, "verdict", verdict_kind_name(s->kind));
    json_clean(j, "cause", cause_name(s->cause));
    json_interval(j, "change", interval_relative(s->log_ratio));
    json_clean(j, "since", s->since);
    json_number(j, "step", expm1(s->step));
    json_number(j, "time_ns", s->time_ns);
    json_number(j, "clock_hz", s->clock_hz > 0 ? s->clock_hz : NAN);
    json_number(j, "predicted_ns", s->predicted_ns > 0 ? s->predicted_ns : NAN);
    json_number(j, "actual_predicted", site_ratio(s));
    json_clean(j, "bound", bound_name(s->bound));
    json_int(j, "points", (int64_t)s->points);
    json_int(j, "newest_s", s->newest_s);
    json_end(j, '}');
}

static void heads(struct markup *m, unsigned columns)
{
    if (columns & SITE_WITH_KERNEL)
        page_table_head(m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Problem", PAGE_SORT_TEXT, NULL);
    if (columns & SITE_WITH_DEVICE)
        page_table_head(m, "Device", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "State", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Against accepted", PAGE_SORT_NUMBER, "right");
    if (columns & WITH_STEP)
        page_table_head(m, "Last step", PAGE_SORT_NUMBER, NULL);
    if (columns & WITH_TIME)
        page_table_head(m, "Newest", PAGE_SORT_NUMBER, "right");
    if (columns & WITH_TREND)
        page_table_head(m, "Trend", PAGE_SORT_NONE, NULL);
    if (columns & WITH_MODEL) {
        page_table_head(m, "Act. / pred.", PAGE_SORT_NUMBER, "right");
        page_table_head(m, "Bound", PAGE_SORT_TEXT, NULL);
    }
}

void site_table(struct site_page *p, const char *name, const size_t *series, size_t count,
                unsigned columns)
{
    struct markup *m = p->m;
    json_begin(&p->json, name, '[');
    for (size_t i = 0; i < count; i++)
        row_json(p, series[i]);
    json_end(&p->json, ']');
    if (count == 0)
        return;
    columns |= columns_of(p->map->site, series, count);
    page_table_begin(m, "cards sortable filter", "Series, worst first");
    heads(m, columns);
    page_table_body(m);
    for (size_t i = 0; i < count; i++)
        row(p, series[i], columns, i < SPARKS);
    page_table_end(m);
    change_hint(m, columns & WITH_STEP);
}
