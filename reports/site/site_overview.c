// SPDX-License-Identifier: Apache-2.0
//
// index.html of the site, and the pages of devices. They have the answers of the first screen; the
// series that have left their accepted level, grouped by kernel, with the events that touch them;
// all series; and the sorted curves.
#include "reports/site/site_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- the state of series ------------------------------------------------------------------------

enum { FINDINGS_SHOWN = 12 };

struct screen_finding {
    size_t worst; // index of the worst series
    size_t series;
};

static bool belongs(const struct site *site, const struct screen_finding *f, size_t index)
{
    const struct site_series *a = &site->series[f->worst], *b = &site->series[index];
    return a->kind == b->kind && site_is_environment(a) == site_is_environment(b) &&
           strcmp(a->kernel, b->kernel) == 0;
}

// Whether the state of the series is unknown.
static bool is_open(const struct site_series *s)
{
    return s->kind == VERDICT_UNDECIDED || s->kind == VERDICT_NOT_MEASURED;
}

// Groups series. They come worst first, so the first of a group is its worst. Returns the number of
// groups.
static size_t collect(const struct site *site, const size_t *series, size_t count,
                      struct screen_finding findings[FINDINGS_SHOWN])
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
            findings[groups] = (struct screen_finding){series[i], 1};
        groups++;
    }
    return groups;
}

// Writes a link to the newest open event that touches the series; "-" if there is none.
static void event_link(struct site_page *p, size_t series)
{
    const struct site_map *map = p->map;
    const size_t count = map->event_counts[series];
    if (count == 0) {
        markup_text(p->m, "-");
        return;
    }
    const struct site_event *event = &map->site->events[map->event_of[series]];
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "%sevents.html#e-%s", p->root, event->slug);
    markup_text(p->m, event->event->name);
    markup_end(p->m);
    if (count > 1)
        markup_elementf(p->m, "span", "muted small", " and %zu more", count - 1);
}

static void write_finding(struct site_page *p, const struct screen_finding *f)
{
    struct markup *m = p->m;
    const struct site_series *s = &p->map->site->series[f->worst];
    char change[VIEW_TEXT], shape[PROBLEM_TEXT];
    view_percent(change, expm1(s->log_ratio.value));
    problem_tell(shape, &s->problem);
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
    event_link(p, f->worst);
    markup_end(m);
    page_cell(m, "why", "wrap", NAN, false);
    // If a step was caused by the kernel itself, its size and its commit say everything, and they
    // stand beside it.
    const bool plain = isfinite(s->step) && s->cause == CAUSE_KERNEL;
    markup_text(m, s->sentence && !plain    ? s->sentence
                   : s->cause == CAUSE_NONE ? ""
                                            : cause_name(s->cause));
    markup_end(m);
    markup_end(m);
}

static void write_table(struct site_page *p, const struct screen_finding *findings, size_t groups)
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
    struct screen_finding findings[FINDINGS_SHOWN];
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

// ---- the first screen's answers -----------------------------------------------------------------
//
// Answers the questions of a person who has ten seconds, with one line for each cause: what is
// slower than accepted, since when, by which commit, and whom to ask; what else nobody has accepted
// (`plumb events --check` names it); what got faster; and whether the machines are in their usual
// state.

enum { ANSWERS_SHOWN = 3, FASTER_DAYS = 30 };

// An answer of the first screen: the series that one commit moved, or series for which no such
// commit is known.
struct screen_answer {
    const struct site_event *event; // or NULL
    size_t worst, count;            // worst: index of a series; count: number of series
    double size;                    // the change of the worst one, as a log ratio
    enum verdict_kind kind;
};

static bool has_culprit(const struct event *e, const char *commit)
{
    for (size_t i = 0; commit && i < e->culprit_count; i++) {
        if (strcmp(e->commits[i].id, commit) == 0)
            return true;
    }
    return false;
}

// Finds for each series the open event that made it slower. An event at the commit of the series'
// last step is preferred to a newer one.
static const struct site_event **slower_events(const struct site *site)
{
    const struct site_event **of = xcalloc(site->series_count + 1, sizeof(*of));
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        for (size_t k = 0; site_event_is_open(&site->events[i]) && k < e->count; k++) {
            const size_t series = e->changes[k].series;
            const char *since = site->series[series].since;
            const bool better =
                !of[series] || (!has_culprit(of[series]->event, since) && has_culprit(e, since));
            if (e->changes[k].size.value > 0 && better)
                of[series] = &site->events[i];
        }
    }
    return of;
}

static bool is_regression(const struct site_series *s)
{
    return s->kind == VERDICT_BROKEN || (s->kind == VERDICT_SLOWER && !site_is_environment(s));
}

static bool one_cause(const struct site *site, const struct screen_answer *a,
                      const struct site_event *event, size_t series)
{
    const struct site_series *s = &site->series[a->worst], *other = &site->series[series];
    if (s->kind != other->kind || a->event != event)
        return false;
    return event || strcmp(s->since ? s->since : "", other->since ? other->since : "") == 0;
}

// Gathers series into answers, the worst first, in the order `order`. *more is the number of
// answers for which there is no room.
static size_t slower_answers(struct screen_answer answers[ANSWERS_SHOWN], size_t *more,
                             const struct site_map *map)
{
    const struct site *site = map->site;
    const struct site_event **events = slower_events(site);
    struct screen_answer *all = xcalloc(site->series_count + 1, sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; i < site->series_count; i++) {
        const size_t index = map->order[i];
        const struct site_series *s = &site->series[index];
        const struct site_event *event = s->kind == VERDICT_SLOWER ? events[index] : NULL;
        size_t k = 0;
        if (!is_regression(s))
            continue;
        while (k < count && !one_cause(site, &all[k], event, index))
            k++;
        if (k == count)
            all[count++] = (struct screen_answer){event, index, 0, s->log_ratio.value, s->kind};
        all[k].count++;
    }
    const size_t shown = count < ANSWERS_SHOWN ? count : ANSWERS_SHOWN;
    memcpy(answers, all, shown * sizeof(*all));
    *more = count - shown;
    free(all);
    free(events);
    return shown;
}

// Counts the changes of an event in one direction that are still present, according to links.
static void count_changes(struct screen_answer *a, bool slower)
{
    const struct event *e = a->event->event;
    const double sign = slower ? 1 : -1;
    for (size_t k = 0; k < e->count; k++) {
        const struct event_change *c = &e->changes[k];
        const double size = sign * c->size.value;
        if (!(size > 0) || (c->levelled && sign * c->left < size / 2))
            continue;
        a->count++;
        if (a->count == 1 || size > sign * a->size) {
            a->size = c->size.value;
            a->worst = c->series;
        }
    }
}

// Whether an answer about series that are slower than accepted already contains one of the event's
// series.
static bool is_answered(const struct site *site, const struct event *e)
{
    bool answered = false;
    for (size_t k = 0; k < e->count; k++)
        answered |=
            e->changes[k].size.value > 0 && is_regression(&site->series[e->changes[k].series]);
    return answered;
}

// Gathers open events that made something slower although no series is known to be slower than
// accepted: the series was faster before, or has too few times. Returns their number; with
// `answers` NULL it only counts.
static size_t open_answers(struct screen_answer *answers, const struct site *site)
{
    size_t count = 0;
    for (size_t i = 0; i < site->event_count; i++) {
        struct screen_answer a = {.event = &site->events[i], .kind = VERDICT_SLOWER};
        if (!event_is_slowdown(a.event->event) || is_answered(site, a.event->event))
            continue;
        count_changes(&a, true);
        if (a.count && count++ < ANSWERS_SHOWN && answers)
            answers[count - 1] = a;
    }
    return count;
}

static size_t faster_answers(struct screen_answer answers[ANSWERS_SHOWN], size_t *more,
                             const struct site *site)
{
    const int64_t begin = site->made_s - FASTER_DAYS * 86400;
    size_t count = 0;
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        struct screen_answer a = {.event = &site->events[i], .kind = VERDICT_FASTER};
        if (e->state == EVENT_DISMISSED || e->state == EVENT_WITHDRAWN || !e->culprit_count ||
            e->commits[0].time_s < begin)
            continue;
        count_changes(&a, false);
        if (a.count && count++ < ANSWERS_SHOWN)
            answers[count - 1] = a;
    }
    *more = count > ANSWERS_SHOWN ? count - ANSWERS_SHOWN : 0;
    return count - *more;
}

// Writes the commit, its first line and its day; and who looks into the event, or whom to ask: the
// kernel's owner, or else the commit's author.
static void write_commit(struct site_page *p, const char *id, const struct event_commit *known,
                         int64_t time_s, const char *owner, const struct event_taken *taken)
{
    const struct site_commit *of_run = id ? site_find_commit(p->map, id) : NULL;
    const char *summary = known ? known->summary : of_run ? of_run->summary : NULL;
    const char *author = known && known->author && *known->author ? known->author
                         : of_run                                 ? of_run->author
                                                                  : "";
    char when[VIEW_TEXT];
    struct buffer text = {0};
    view_date(when, time_s);
    when[10] = '\0';
    json_clean(&p->json, "since", id);
    json_int(&p->json, "since_s", time_s);
    if (id) {
        clean_line(&text, summary ? summary : "", SITE_SUMMARY);
        markup_textf(p->m, " since %s by ", when);
        site_commit_link(p, id);
        markup_textf(p->m, " %s", text.bytes ? text.bytes : "");
    }
    buffer_free(&text);
    if (taken) {
        taken_json(&p->json, taken);
        site_taken(p, taken);
    } else if (owner && *owner)
        site_person(p, owner, "looks after it");
    else if (*author)
        site_person(p, author, "its author");
}

static void write_answer(struct site_page *p, const struct screen_answer *a)
{
    const struct site_series *s = &p->map->site->series[a->worst];
    const struct event *e = a->event ? a->event->event : NULL;
    const struct event_commit *commit = e && e->culprit_count ? &e->commits[0] : NULL;
    char change[VIEW_TEXT], shape[PROBLEM_TEXT];
    view_percent(change, expm1(a->size));
    problem_format(shape, &s->problem);
    json_newline(&p->json);
    json_begin(&p->json, NULL, '{');
    json_clean(&p->json, "kernel", s->kernel);
    json_clean(&p->json, "problem", shape);
    json_int(&p->json, "series", (int64_t)a->count);
    json_number(&p->json, "change", expm1(a->size));
    json_clean(&p->json, "event", e ? e->name : NULL);
    markup_start(p->m, "dd");
    page_tag(p->m, chart_verdict_class(a->kind, false), view_symbol(a->kind),
             verdict_kind_name(a->kind));
    if (isfinite(a->size))
        markup_elementf(p->m, "strong", NULL, " %s%s", a->count > 1 ? "up to " : "", change);
    markup_text(p->m, " ");
    site_series_link(p, a->worst, s->kernel);
    if (a->count > 1)
        markup_textf(p->m, " and %zu more series,", a->count - 1);
    else
        markup_textf(p->m, " %s,", shape);
    write_commit(p, commit ? commit->id : s->since, commit, commit ? commit->time_s : s->since_s,
                 s->owner, e && e->taken.who ? &e->taken : NULL);
    if (!commit && !s->since)
        markup_text(p->m, " in small steps, none of which stands out");
    else if (commit && e->culprit_count > 1)
        markup_elementf(p->m, "span", "muted small", ", or one of %zu commits beside it",
                        e->culprit_count - 1);
    markup_end(p->m);
    json_end(&p->json, '}');
}

// Writes answers. `rest` says where further ones are.
static void write_answers(struct site_page *p, const char *title, const char *name,
                          const struct screen_answer *answers, size_t count, size_t more,
                          const char *rest)
{
    markup_element(p->m, "dt", NULL, title);
    json_begin(&p->json, name, '[');
    for (size_t i = 0; i < count; i++)
        write_answer(p, &answers[i]);
    json_end(&p->json, ']');
    if (!count)
        markup_element(p->m, "dd", "muted", "nothing");
    if (!more)
        return;
    markup_start(p->m, "dd");
    markup_start(p->m, "a");
    markup_attr(p->m, "href", rest);
    markup_textf(p->m, "%zu more %s", more, plural(more, "cause", "causes"));
    markup_end(p->m);
    markup_end(p->m);
}

// ---- the machines ----

static bool is_machines(const struct event *e)
{
    return e->cause == ATTRIBUTION_ENVIRONMENT || e->cause == ATTRIBUTION_MEMORY ||
           e->cause == ATTRIBUTION_POWER || e->cause == ATTRIBUTION_BREAK;
}

// The newest open change of the machine itself, or NULL.
static const struct site_event *machine_event(const struct site *site, size_t device)
{
    for (size_t i = 0; i < site->event_count; i++) {
        const struct event *e = site->events[i].event;
        if (site_event_is_open(&site->events[i]) && is_machines(e) &&
            site->series[event_largest(e)->series].device == device)
            return &site->events[i];
    }
    return NULL;
}

// The states of a machine, in the order in which people are told about them: its controls fail, a
// run was void, it changed by itself, it was not judged, it is well.
enum machine_state { MACHINE_SICK, MACHINE_VOID, MACHINE_MOVED, MACHINE_UNJUDGED, MACHINE_WELL };
static const struct {
    const char *class, *sign, *word;
} machine_tags[] = {{"v-broken", "✕", "sick"},
                    {"v-broken", "!", "void"},
                    {"v-environment", "~", "changed"},
                    {"v-undecided", "?", "not judged"},
                    {"v-faster", "✓", "well"}};

static enum machine_state machine_state(const struct site *site, size_t device)
{
    const struct site_health *h = site->health ? &site->health[device] : NULL;
    if (h && h->is == SITE_SICK)
        return MACHINE_SICK;
    if (h && h->void_run)
        return MACHINE_VOID;
    if (machine_event(site, device))
        return MACHINE_MOVED;
    return h && h->is == SITE_WELL ? MACHINE_WELL : MACHINE_UNJUDGED;
}

// Whether another device has the same name.
static bool has_namesake(const struct site *site, size_t device)
{
    bool found = false;
    for (size_t d = 0; d < site->device_count && !found; d++)
        found = d != device && strcmp(site->devices[d].name, site->devices[device].name) == 0;
    return found;
}

static void write_machine(struct site_page *p, size_t device, enum machine_state state)
{
    const struct site *site = p->map->site;
    const struct site_health *h = site->health ? &site->health[device] : NULL;
    const struct site_event *event = machine_event(site, device);
    markup_start(p->m, "dd");
    page_tag(p->m, machine_tags[state].class, machine_tags[state].sign, machine_tags[state].word);
    markup_text(p->m, " ");
    markup_start(p->m, "a");
    markup_attrf(p->m, "href", "device/%s.html", p->map->devices[device].slug);
    markup_text(p->m, site->devices[device].name);
    markup_end(p->m);
    if (has_namesake(site, device))
        markup_elementf(p->m, "span", "muted small", " %.12s", site->devices[device].uuid);
    if (state == MACHINE_VOID)
        markup_text(p->m, ": the newest run on it failed its test of itself");
    else if (state == MACHINE_MOVED) {
        markup_textf(p->m, ": %s, ",
                     event->event->what ? event->event->what : "its controls moved");
        site_event_size(p->m, event->event);
    } else
        markup_textf(p->m, ": %s", h && h->why ? h->why : "it has no controls that could tell");
    markup_end(p->m);
    json_newline(&p->json);
    json_begin(&p->json, NULL, '{');
    json_clean(&p->json, "device", site->devices[device].uuid);
    json_clean(&p->json, "state", machine_tags[state].word);
    json_clean(&p->json, "why", h ? h->why : NULL);
    json_end(&p->json, '}');
}

static void write_machines(struct site_page *p)
{
    const struct site *site = p->map->site;
    size_t shown = 0;
    markup_element(p->m, "dt", NULL, plural(site->device_count, "The machine", "The machines"));
    json_begin(&p->json, "machines", '[');
    for (int state = MACHINE_SICK; state <= MACHINE_WELL; state++) {
        for (size_t d = 0; d < site->device_count && shown < ANSWERS_SHOWN; d++) {
            if (machine_state(site, d) != (enum machine_state)state)
                continue;
            write_machine(p, d, (enum machine_state)state);
            shown++;
        }
    }
    json_end(&p->json, ']');
    if (shown == site->device_count)
        return;
    markup_start(p->m, "dd");
    markup_start(p->m, "a");
    markup_attr(p->m, "href", "#devices");
    markup_textf(p->m, "%zu more, none worse", site->device_count - shown);
    markup_end(p->m);
    markup_end(p->m);
}

static void answers(struct site_page *p)
{
    struct screen_answer list[ANSWERS_SHOWN];
    size_t more, count = slower_answers(list, &more, p->map);
    if (!p->map->site->series_count)
        return;
    markup_open(p->m, "dl", "answers");
    write_answers(p, "Slower than accepted", "slower", list, count, more, "#changed");
    const size_t open = open_answers(list, p->map->site);
    count = open < ANSWERS_SHOWN ? open : ANSWERS_SHOWN;
    if (open)
        write_answers(p, "Accepted by nobody", "open", list, count, open - count, "events.html");
    count = faster_answers(list, &more, p->map->site);
    write_answers(p, "Faster in 30 days", "faster", list, count, more, "events.html");
    site_metric_answers(p);
    write_machines(p);
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

static size_t open_metrics(const struct site *site)
{
    size_t open = 0;
    for (size_t i = 0; i < site->metric_event_count; i++)
        open += site->metric_events[i].open;
    return open;
}

static void write_banner(struct site_page *p)
{
    const struct site_map *map = p->map;
    size_t regressed, broken, unmeasured, count = map->site->series_count;
    const size_t worse = open_metrics(map->site), open = open_answers(NULL, map->site);
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
    else if (open > 0)
        snprintf(headline, sizeof(headline), "%zu %s open that nobody has accepted", open,
                 plural(open, "slowdown is", "slowdowns are"));
    else if (worse > 0)
        snprintf(headline, sizeof(headline),
                 "No series is slower than accepted, and %zu %s metrics worse", worse,
                 plural(worse, "commit made", "commits made"));
    else if (nothing)
        snprintf(headline, sizeof(headline), "No plain run has measured any of %zu series yet",
                 count);
    else
        snprintf(headline, sizeof(headline),
                 count ? "No series is slower than accepted" : "Nothing has been measured yet");
    markup_start(p->m, "section");
    markup_attrf(p->m, "class", "card banner %s",
                 broken                       ? "v-broken"
                 : regressed || open || worse ? "v-slower"
                 : nothing                    ? "v-unmeasured"
                                              : "v-faster");
    markup_attr(p->m, "id", "verdict");
    markup_element(p->m, "div", "word",
                   broken                       ? "broken"
                   : regressed || open || worse ? "regression"
                   : nothing                    ? "not measured"
                                                : "no regression");
    markup_element(p->m, "h1", NULL, headline);
    markup_elementf(p->m, "p", "muted", "%zu series, %zu %s, %zu %s%s%s", count, map->kernel_count,
                    plural(map->kernel_count, "kernel", "kernels"), map->site->device_count,
                    plural(map->site->device_count, "device", "devices"),
                    map->site->made_s ? "; newest run " : "", map->site->made_s ? when : "");
    answers(p);
    site_counts(p, map->order, count);
    markup_end(p->m);
}

static void write_devices(struct site_page *p)
{
    const struct site_map *map = p->map;
    markup_start(p->m, "section");
    markup_attr(p->m, "id", "devices");
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
