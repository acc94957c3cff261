// SPDX-License-Identifier: Apache-2.0
//
// What the pages of the site share: the frame, links, tags, and the table of series.
#include "reports/site/site_parts.h"

#include "model/base.h"
#include "model/buffer.h"
#include "reports/report.h"
#include "reports/site/site.h"

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
    struct stat there;
    int status = 0;
    char *path = xprintf("%s%s", directory, name);
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        status = error_set(err, "%s: cannot be created: %s; its parent folder must exist", path,
                           strerror(errno));
    else if (*name && lstat(path, &there) == 0 && !S_ISDIR(there.st_mode))
        status =
            error_set(err, "%s: is no folder, and a link leads out of the site; remove it", path);
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

bool site_is_environment(const struct site_series *s)
{
    return (s->kind == VERDICT_SLOWER || s->kind == VERDICT_FASTER) &&
           (s->cause == CAUSE_ENVIRONMENT || s->cause == CAUSE_MODEL ||
            s->cause == CAUSE_PLACEMENT);
}

// Whether an event is open: nobody has decided on it, and nothing fixed it.
bool site_event_is_open(const struct site_event *e)
{
    return event_is_open(e->event->state);
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

const struct site_commit *site_find_commit(const struct site_map *map, const char *id)
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

size_t site_event_slower(const struct event *e)
{
    size_t slower = 0;
    for (size_t i = 0; i < e->count; i++)
        slower += e->changes[i].size.value > 0;
    return slower;
}

// Writes an event's state. It is coloured if the event is open and made something slower.
void site_event_state(struct markup *m, const struct event *e)
{
    static const struct {
        const char *class, *sign;
    } tags[EVENT_STATES] = {
        [EVENT_NEW] = {"v-new", "+"},         [EVENT_CONFIRMED] = {"v-slower", "!"},
        [EVENT_ACCEPTED] = {"v-faster", "✓"}, [EVENT_FIXED] = {"v-faster", "✓"},
        [EVENT_DISMISSED] = {"v-same", "–"},  [EVENT_WITHDRAWN] = {"v-undecided", "?"},
    };
    const bool gain = e->state == EVENT_CONFIRMED && site_event_slower(e) == 0;
    page_tag(m, gain ? "v-faster" : tags[e->state].class, gain ? "✓" : tags[e->state].sign,
             event_state_name(e->state));
}

// Writes the largest change, and how many changes go in each direction.
void site_event_size(struct markup *m, const struct event *e)
{
    char size[VIEW_TEXT];
    const size_t slower = site_event_slower(e);
    const bool up = event_largest(e)->size.value > 0;
    view_percent(size, expm1(event_largest(e)->size.value));
    page_tag(m, up ? "v-slower" : "v-faster", up ? "▲" : "▼", up ? "slower" : "faster");
    markup_textf(m, " %s%s", e->count > 1 ? "up to " : "", size);
    if (slower > 0 && slower < e->count)
        markup_elementf(m, "span", "muted", " (%zu slower, %zu faster)", slower, e->count - slower);
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
    problem_tell(shape, &s->problem);
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
