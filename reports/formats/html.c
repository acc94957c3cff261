// SPDX-License-Identifier: Apache-2.0
//
// index.html: one self-contained file that opens offline. The first screen answers "did it get
// slower, where, since when, why"; below it every series, how far to trust the run, and where the
// figures come from.

#include "model/gate/gate.h"
#include "reports/charts/charts.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct html {
    struct markup *m;
    const struct run *run;
    const struct report_context *context; // never NULL
    const struct view *views;             // worst first
    size_t count;
};

// Writes a verdict such as "▲ slower" in its colour.
static void verdict_tag(struct markup *m, const struct view *view)
{
    enum verdict_kind kind = view->result->verdict.kind;
    page_tag(m, chart_class(view), view_symbol(kind), verdict_kind_name(kind));
}

// Makes the id of a series' part of the page.
static void anchor_of(char out[32], const struct view *view)
{
    snprintf(out, 32, "series-%zu", view->index);
}

// Writes a term and its value inside <dl class="facts">.
static void fact(struct markup *m, const char *term, const char *value)
{
    if (!value || !value[0] || strcmp(value, "-") == 0)
        return;
    markup_element(m, "dt", NULL, term);
    markup_element(m, "dd", NULL, value);
}

static PRINTF_LIKE(3, 4) void factf(struct markup *m, const char *term, const char *format, ...)
{
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    fact(m, term, text);
}

// ---- the verdict and what changed: the first screen ---------------------------------------------

enum { FINDINGS_SHOWN = 8 };

static void commit_line(const struct html *html, const char *term, const struct commit *commit)
{
    struct buffer summary = {0};
    char when[VIEW_TEXT];
    if (!commit->id[0])
        return;
    clean_line(&summary, commit->summary, CLEAN_LINE);
    view_date(when, commit->time_s);
    markup_element(html->m, "dt", NULL, term);
    markup_start(html->m, "dd");
    view_commit(html->m, html->context->commit_url, commit->id);
    markup_textf(html->m, " %s ", summary.bytes ? summary.bytes : "");
    markup_element(html->m, "span", "muted", when);
    markup_end(html->m);
    buffer_free(&summary);
}

static void write_void(const struct html *html)
{
    const struct self_test *test = &html->run->self_test;
    if (!test->void_run)
        return;
    markup_open(html->m, "p", "card void");
    markup_attr(html->m, "role", "alert");
    markup_element(html->m, "strong", NULL, "This run is void. ");
    markup_textf(html->m,
                 "Identical code was told apart in %u of %u self-test series, so no verdict below "
                 "means anything. Measure again on a quiet machine.",
                 test->alarms, test->series);
    markup_end(html->m);
}

// Says where there was no sandbox or no limit, so that a build could have reached this machine, or
// filled its disk.
static void write_lacks(const struct html *html)
{
    char reason[VIEW_TEXT * 4];
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        const struct run_lack_words *words = run_lack_words(lack);
        if (!run_lacks(reason, sizeof(reason), html->run, lack))
            continue;
        markup_open(html->m, "p", lack == LACKS_SANDBOX ? "card void" : "card");
        markup_elementf(html->m, "strong", NULL, "%s: ", words->title);
        markup_textf(html->m, "%s: %s.", words->what, reason);
        markup_end(html->m);
    }
}

static void write_banner(const struct html *html)
{
    static const char *const tones[] = {"v-faster", "v-slower", "v-undecided", "v-broken",
                                        "v-broken"};
    const struct run *run = html->run;
    struct buffer headline = {0};
    size_t counts[VERDICT_KINDS];
    size_t tone = (size_t)run->conclusion < ARRAY_COUNT(tones) ? run->conclusion : 4;
    clean_line(&headline, run->headline ? run->headline : view_conclusion(run->conclusion),
               CLEAN_LINE);
    markup_start(html->m, "section");
    markup_attrf(html->m, "class", "card banner %s", tones[tone]);
    markup_attr(html->m, "id", "verdict");
    markup_attr(html->m, "aria-labelledby", "headline");
    markup_element(html->m, "div", "word",
                   run->self_test.void_run ? "void" : view_conclusion(run->conclusion));
    markup_start(html->m, "h1");
    markup_attr(html->m, "id", "headline");
    markup_text(html->m, headline.bytes);
    markup_end(html->m);
    markup_start(html->m, "dl");
    commit_line(html, "base", &run->base);
    commit_line(html, "head", &run->head);
    markup_end(html->m);
    run_count_verdicts(run, counts);
    chart_counts(html->m, counts);
    for (size_t i = 0; i < run->mix_count; i++) {
        struct buffer sentence = {0};
        clean_line(&sentence, run->mixes[i].sentence, CLEAN_LINE);
        markup_element(html->m, "p", NULL, sentence.bytes);
        buffer_free(&sentence);
    }
    markup_end(html->m);
    write_void(html);
    write_lacks(html);
    buffer_free(&headline);
}

// ---- metrics
// -------------------------------------------------------------------------------------

static void write_metric(struct markup *m, const struct metric_result *metric)
{
    static const char *const classes[VERDICT_KINDS] = {
        [VERDICT_SLOWER] = "slower", [VERDICT_FASTER] = "faster", [VERDICT_ACCEPTED] = "accepted"};
    const char *class = classes[metric->kind];
    char values[2][VIEW_TEXT], margin[VIEW_TEXT], change[VIEW_TEXT];
    view_metric(values, margin, metric);
    view_percent(change, metric->base > 0 ? metric->head / metric->base - 1 : NAN);
    page_row_begin(m, NULL);
    page_cell(m, "verdict", "nowrap", NAN, true);
    page_tag(m, class ? class : "same", view_symbol(metric->kind), metric_word(metric->kind));
    markup_end(m);
    page_text_cell(m, "metric", "nowrap", NAN, metric->name);
    page_text_cell(m, "of", "mono wrap", NAN, metric->subject);
    page_text_cell(m, "base", "right nowrap", NAN, values[ROLE_BASE]);
    page_text_cell(m, "head", "right nowrap", NAN, values[ROLE_HEAD]);
    page_text_cell(m, "change", "right nowrap", NAN, change);
    page_text_cell(m, "margin", "right nowrap", NAN, margin);
    markup_end(m);
}

// Writes the metrics, which are figures beside time. Those that moved come first.
static void write_metrics(const struct html *html)
{
    static const char *const titles[] = {"Base", "Head", "Change", "Margin"};
    const struct run *run = html->run;
    struct markup *m = html->m;
    if (!run->metric_count)
        return;
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "metrics");
    markup_start(m, "h2");
    markup_attr(m, "id", "metrics");
    markup_text(m, "Beside time");
    markup_end(m);
    page_table_begin(m, "cards", "Figures of builds and kernels beside their time");
    page_table_head(m, "Verdict", PAGE_SORT_NONE, NULL);
    page_table_head(m, "Metric", PAGE_SORT_NONE, NULL);
    page_table_head(m, "Of", PAGE_SORT_NONE, NULL);
    for (size_t i = 0; i < ARRAY_COUNT(titles); i++)
        page_table_head(m, titles[i], PAGE_SORT_NONE, "right");
    page_table_body(m);
    for (int same = 0; same <= 1; same++) {
        for (size_t i = 0; i < run->metric_count; i++) {
            if ((run->metrics[i].kind == VERDICT_SAME) == same)
                write_metric(m, &run->metrics[i]);
        }
    }
    page_table_end(m);
    markup_end(m);
}

// ---- what changed -------------------------------------------------------------------------------

// The series of one kernel with the same verdict. Changes of a whole kernel come before those of
// single shapes.
struct page_finding {
    const struct view *worst;
    size_t series, of; // of: the number of the kernel's series
};

static bool same_finding(const struct view *a, const struct view *b)
{
    return a->result->verdict.kind == b->result->verdict.kind &&
           a->is_environment == b->is_environment &&
           strcmp(a->result->kernel, b->result->kernel) == 0;
}

// Fills in at most `most` findings, worst first; returns how many there are in all.
static size_t collect(const struct html *html, struct page_finding *findings, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < html->count; i++) {
        const struct view *view = &html->views[i];
        size_t f = 0;
        if (view->result->verdict.kind == VERDICT_SAME)
            continue;
        while (f < count && f < most && !same_finding(findings[f].worst, view))
            f++;
        if (f < count && f < most) {
            findings[f].series++;
            continue;
        }
        if (count < most)
            findings[count] = (struct page_finding){view, 1, 0};
        count++;
    }
    for (size_t f = 0; f < count && f < most; f++) {
        for (size_t i = 0; i < html->count; i++)
            findings[f].of +=
                strcmp(html->views[i].result->kernel, findings[f].worst->result->kernel) == 0;
    }
    return count;
}

static void write_since(const struct html *html, const struct view *view)
{
    const char *since = view_since(view, html->run), *url = html->context->commit_url;
    const bool moved = view_has_moved(view) || view->result->verdict.kind == VERDICT_BROKEN;
    if (view->is_environment) {
        markup_element(html->m, "span", "muted", "not this change");
    } else if (since) {
        view_commit(html->m, url, since);
    } else if (moved && html->run->base.id[0]) { // it began at one of the commits between base and
                                                 // head
        view_commit(html->m, url, html->run->base.id);
        markup_text(html->m, "..");
        view_commit(html->m, url, html->run->head.id);
    } else {
        markup_text(html->m, "-");
    }
}

static void write_finding(const struct html *html, const struct page_finding *finding)
{
    struct markup *m = html->m;
    const struct view *view = finding->worst;
    struct buffer why = {0};
    char change[VIEW_TEXT], interval[VIEW_TEXT], anchor[32];
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    view_why(&why, view);
    anchor_of(anchor, view);
    page_row_begin(m, NULL);
    page_cell(m, "verdict", NULL, NAN, false);
    verdict_tag(m, view);
    markup_end(m);
    page_cell(m, "where", "wrap", NAN, true);
    markup_start(m, "a");
    markup_attrf(m, "href", "#%s", anchor);
    markup_text(m, view->result->kernel);
    markup_end(m);
    if (finding->of > 1)
        markup_elementf(m, "span", "muted small", " %zu of %zu series", finding->series,
                        finding->of);
    else
        markup_elementf(m, "span", "muted small", " %s", view->problem);
    markup_end(m);
    page_cell(m, "how much", NULL, NAN, false);
    if (isnan(view->change.value))
        markup_text(m, view->outcome == OUTCOME_BROKEN
                           ? measurement_state_name(view->result->head.state)
                           : "-");
    else
        markup_elementf(m, "span", "nowrap", "%s%s", finding->series > 1 ? "up to " : "", change);
    if (isfinite(view->change.low))
        markup_elementf(m, "span", "muted small nowrap", " %s", interval);
    markup_end(m);
    page_cell(m, "since", NULL, NAN, false);
    write_since(html, view);
    markup_end(m);
    page_cell(m, "why", "wrap", NAN, false);
    markup_text(m, why.bytes);
    markup_end(m);
    markup_end(m);
    buffer_free(&why);
}

// ---- what to do next ----

static void write_command(struct markup *m, const char *what, const struct buffer *command,
                          const char *then)
{
    if (!command->length)
        return;
    markup_element(m, "dt", NULL, what);
    markup_start(m, "dd");
    markup_element(m, "code", NULL, command->bytes);
    markup_text(m, then);
    markup_end(m);
}

static void write_next(const struct html *html)
{
    struct view_commands commands;
    size_t worst = 0;
    while (worst < html->count && !view_has_moved(&html->views[worst]))
        worst++;
    view_commands(&commands, html->run, worst < html->count ? &html->views[worst] : NULL);
    if (commands.again.length) {
        markup_open(html->m, "dl", "facts next");
        write_command(html->m, "reproduce", &commands.again, "");
        write_command(html->m, "find the commit", &commands.bisect, "");
        write_command(html->m, "accept, if it is meant", &commands.accept,
                      ", and commit what it writes");
        markup_end(html->m);
    }
    view_commands_free(&commands);
}

static void write_findings(const struct html *html)
{
    struct page_finding findings[FINDINGS_SHOWN];
    struct markup *m = html->m;
    size_t count = collect(html, findings, FINDINGS_SHOWN);
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "changed");
    markup_start(m, "h2");
    markup_attr(m, "id", "changed");
    markup_text(m, "What changed");
    markup_end(m);
    if (count == 0) {
        markup_element(m, "p", "muted",
                       html->count ? "Nothing: every series is the same."
                                   : "Nothing was measured.");
        markup_end(m);
        return;
    }
    page_table_begin(m, "findings cards", "What changed, worst first");
    static const char *const heads[] = {"Verdict", "Where", "How much", "Since", "Why"};
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
        page_table_head(m, heads[i], PAGE_SORT_NONE, NULL);
    page_table_body(m);
    for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++)
        write_finding(html, &findings[i]);
    page_table_end(m);
    if (count > FINDINGS_SHOWN)
        markup_elementf(m, "p", "hint", "More changed; the table below has every series.");
    write_next(html);
    markup_end(m);
}

// ---- a commit that does not build ---------------------------------------------------------------

static void write_error(struct markup *m, const struct build_error *error)
{
    page_row_begin(m, NULL);
    page_cell(m, "where", "mono wrap", NAN, false);
    if (error->file[0] && error->line)
        markup_textf(m, "%s:%u", error->file, error->line);
    else
        markup_text(m, error->file[0] ? error->file : "-");
    markup_end(m);
    page_cell(m, "error", "mono wrap", NAN, false);
    markup_text(m, error->text);
    markup_end(m);
    markup_end(m);
}

static void write_one(const struct html *html, enum sample_role role)
{
    const struct build_failure *f = &html->run->unbuilt[role];
    struct markup *m = html->m;
    struct buffer sentence = {0};
    unbuilt_sentence(&sentence, html->run, role);
    markup_start(m, "section");
    markup_element(m, "h2", NULL, sentence.bytes);
    markup_open(m, "div", "card");
    if (f->count) {
        static const char *const heads[] = {"Where", "What the build's tools said first"};
        page_table_begin(m, "findings cards", "First errors of the build");
        for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
            page_table_head(m, heads[i], PAGE_SORT_NONE, NULL);
        page_table_body(m);
        for (size_t i = 0; i < f->count; i++)
            write_error(m, &f->errors[i]);
        page_table_end(m);
    }
    if (f->log[0])
        markup_elementf(m, "p", "hint mono wrap", "log: %s", f->log);
    markup_end(m);
    markup_end(m);
    buffer_free(&sentence);
}

static void write_unbuilt(const struct html *html)
{
    for (int role = ROLE_HEAD; role >= ROLE_BASE; role--) {
        if (html->run->unbuilt[role].reason)
            write_one(html, (enum sample_role)role);
    }
}

// ---- open events --------------------------------------------------------------------------------

enum { EVENTS_SHOWN = 20 };

static void write_event_since(const struct html *html, const struct report_event *e)
{
    struct buffer summary = {0};
    if (!e->commit.id[0]) {
        markup_text(html->m, "-");
        return;
    }
    clean_line(&summary, e->commit.summary, CLEAN_LINE);
    view_commit(html->m, html->context->commit_url, e->commit.id);
    markup_textf(html->m, " %s", summary.bytes ? summary.bytes : "");
    if (e->commits > 1)
        markup_elementf(html->m, "span", "muted small", " or one of %zu more", e->commits - 1);
    buffer_free(&summary);
}

static void write_event(const struct html *html, const struct report_event *e)
{
    struct markup *m = html->m;
    struct buffer cause = {0};
    open_event_cause(&cause, e);
    taken_text(&cause, &e->taken);
    page_row_begin(m, NULL);
    page_cell(m, "state", "nowrap", NAN, true);
    page_tag(m,
             e->slowdown        ? "v-slower"
             : e->log_ratio > 0 ? "v-undecided"
                                : "v-faster",
             e->log_ratio > 0 ? "▲" : "▼", event_state_name(e->state));
    markup_end(m);
    page_text_cell(m, "what", "wrap", NAN, e->sentence);
    page_cell(m, "since", "wrap", NAN, false);
    write_event_since(html, e);
    markup_end(m);
    page_text_cell(m, "cause", "wrap", NAN, cause.bytes);
    page_text_cell(m, "event", "mono nowrap", NAN, e->name);
    markup_end(m);
    buffer_free(&cause);
}

static void write_events(const struct html *html)
{
    static const char *const heads[] = {"State", "What", "Since", "Cause", "Event"};
    const struct report_events *events = &html->context->events;
    struct markup *m = html->m;
    struct buffer title = {0};
    if (!events->known)
        return;
    open_events_title(&title, events);
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "events");
    markup_start(m, "h2");
    markup_attr(m, "id", "events");
    markup_text(m, title.bytes);
    markup_end(m);
    buffer_free(&title);
    if (events->count) {
        page_table_begin(m, "findings cards", "Events that are open, newest first");
        for (size_t i = 0; i < ARRAY_COUNT(heads); i++)
            page_table_head(m, heads[i], PAGE_SORT_NONE, NULL);
        page_table_body(m);
        for (size_t i = 0; i < events->count && i < EVENTS_SHOWN; i++)
            write_event(html, &events->items[i]);
        page_table_end(m);
    }
    if (events->count > EVENTS_SHOWN)
        markup_elementf(m, "p", "hint", "%zu more are open; `plumb events` lists them.",
                        events->count - EVENTS_SHOWN);
    markup_end(m);
}

// ---- a study ------------------------------------------------------------------------------------

static void number(struct markup *m, const char *label, double value, const char *text)
{
    page_cell(m, label, "right nowrap", value, false);
    markup_text(m, text);
    markup_end(m);
}

static void count(struct markup *m, const char *label, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", value);
    number(m, label, value, text);
}

static void percent(struct markup *m, const char *label, double log_ratio)
{
    char text[VIEW_TEXT];
    view_percent(text, expm1(log_ratio));
    number(m, label, log_ratio, text);
}

// Whether a study found wrong alarms: any alarm of a code against itself, or an alarm in the wrong
// direction if the codes differ.
static bool wrong(const struct study_result *s)
{
    return (s->kind != STUDY_SLOWER && s->slower) || (s->kind != STUDY_FASTER && s->faster);
}

static void row(struct markup *m, const struct study_result *s)
{
    char text[VIEW_TEXT], shape[PROBLEM_TEXT];
    page_row_begin(m, wrong(s) ? "slower" : NULL);
    page_cell(m, "study", NULL, NAN, true);
    markup_text(m, study_kind_name(s->kind));
    markup_end(m);
    page_cell(m, "kernel", "wrap", NAN, false);
    markup_text(m, s->kernel);
    markup_end(m);
    problem_tell(shape, &s->problem);
    page_cell(m, "problem", "mono nowrap", NAN, false);
    markup_text(m, shape);
    markup_end(m);
    view_time(text, s->time_ns);
    number(m, "base", s->time_ns, text);
    percent(m, "change", s->log_ratio);
    count(m, "gates", s->gates);
    count(m, "slower", s->slower);
    count(m, "faster", s->faster);
    count(m, "same", s->same);
    count(m, "undecided", s->undecided);
    count(m, "broken", s->broken);
    percent(m, "spread", s->pair_sd);
    percent(m, "smallest found", s->detectable);
    snprintf(text, sizeof(text), "%.2f", s->gpu_s);
    number(m, "GPU s", s->gpu_s, text);
    markup_end(m);
}

static void sum_line(struct markup *m, const struct run *run)
{
    uint64_t gates = 0, alarms = 0;
    double gpu_s = 0;
    for (size_t i = 0; i < run->study_count; i++) {
        const struct study_result *s = &run->studies[i];
        gpu_s += s->gpu_s;
        if (s->kind != STUDY_AA)
            continue;
        gates += s->gates - s->broken;
        alarms += s->slower + s->faster;
    }
    markup_start(m, "p");
    if (gates)
        markup_textf(m,
                     "%llu false %s in %llu %s of code with itself: a rate of at most %.2g %% "
                     "(95 %%, exact). ",
                     (unsigned long long)alarms, plural(alarms, "alarm", "alarms"),
                     (unsigned long long)gates, plural(gates, "gate", "gates"),
                     100 * study_rate_upper(alarms, gates, CONFIDENCE));
    markup_textf(m,
                 "%.1f s of kernels in all. Smallest found: the change that such a gate finds with "
                 "90 %% power at this spread of a pair.",
                 gpu_s);
    markup_end(m);
}

static void write_study(const struct html *html)
{
    static const char *const numbers[] = {"Base",   "Change",         "Gates",     "Slower",
                                          "Faster", "Same",           "Undecided", "Broken",
                                          "Spread", "Smallest found", "GPU s"};
    struct markup *m = html->m;
    if (!html->run->study_count)
        return;
    markup_start(m, "section");
    markup_attr(m, "aria-label", "What the study found");
    markup_element(m, "h2", NULL, "What the study found");
    sum_line(m, html->run);
    page_table_begin(m, "cards sortable filter", "Gates of code with itself and with work put in");
    page_table_head(m, "Study", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Problem", PAGE_SORT_TEXT, NULL);
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
        page_table_head(m, numbers[i], PAGE_SORT_NUMBER, "right");
    page_table_body(m);
    for (size_t i = 0; i < html->run->study_count; i++)
        row(m, &html->run->studies[i]);
    page_table_end(m);
    markup_end(m);
}

// ---- the table ----------------------------------------------------------------------------------

enum { FOREST_WIDTH = 180 };

static void name_cell(struct markup *m, const struct view *view)
{
    char anchor[32];
    anchor_of(anchor, view);
    page_cell(m, "kernel", "wrap", NAN, true);
    markup_start(m, "a");
    markup_attrf(m, "href", "#%s", anchor);
    markup_text(m, view->result->kernel);
    markup_end(m);
    if (view->result->control)
        markup_element(m, "span", "muted small", " control");
    markup_end(m);
}

static void change_cells(struct markup *m, const struct view *view, const struct scale *x)
{
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    page_text_cell(m, "change", "right nowrap", view->change.value, change);
    bool identical = isnan(view->change.value) && view_same_code(view);
    page_cell(m, "interval", isnan(view->change.value) && !identical ? "empty" : NULL, NAN, false);
    if (identical)
        markup_element(m, "span", "muted small", "identical machine code");
    if (!isnan(view->change.value)) {
        markup_start(m, "span");
        markup_attr(m, "title", interval);
        chart_interval(m, view, x, FOREST_WIDTH);
        markup_element(m, "span", "unseen", interval);
        markup_end(m);
    }
    markup_end(m);
}

// The columns of the table. A column is left out when no series has anything for it. For builds
// with identical machine code, for example, nothing is measured, and only the sentence remains.
struct columns {
    bool change, base, head, accuracy, bound, clock, why;
};

static struct columns columns_of(const struct html *html)
{
    struct columns c = {0};
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        c.change = c.change || isfinite(v->change.value);
        c.base = c.base || isfinite(v->base_ns);
        c.head = c.head || isfinite(v->head_ns);
        c.accuracy = c.accuracy || isfinite(v->actual_predicted);
        c.bound = c.bound || v->result->prediction.feasible;
        c.clock = c.clock || isfinite(v->head_hz);
    }
    c.why = !c.change && !c.head;
    return c;
}

static void figure_cells(struct markup *m, const struct view *view, const struct columns *c)
{
    char text[VIEW_TEXT] = "-";
    const struct prediction *p = &view->result->prediction;
    if (c->accuracy) {
        if (isfinite(view->actual_predicted))
            snprintf(text, sizeof(text), "%.2f", view->actual_predicted);
        page_text_cell(m, "actual/predicted", "right nowrap", view->actual_predicted, text);
    }
    if (c->bound)
        page_text_cell(m, "bound", NULL, NAN, p->feasible ? bound_name(p->bound) : "-");
    if (c->clock) {
        view_clock(text, view->head_hz);
        page_text_cell(m, "clock", "right nowrap", view->head_hz, text);
    }
    if (c->why) {
        struct buffer sentence = {0};
        view_reason(&sentence, view);
        page_text_cell(m, "why", "wrap", NAN, sentence.bytes);
        buffer_free(&sentence);
    }
}

static void write_table_row(const struct html *html, const struct view *view,
                            const struct columns *c, const struct scale *x)
{
    struct markup *m = html->m;
    char text[VIEW_TEXT];
    const struct prediction *p = &view->result->prediction;
    markup_start(m, "tr");
    markup_attr(m, "data-verdict", verdict_kind_name(view->result->verdict.kind));
    markup_attr(m, "data-device", view->device->name);
    markup_attr(m, "data-bound", p->feasible ? bound_name(p->bound) : NULL);
    name_cell(m, view);
    page_text_cell(m, "problem", "mono nowrap", NAN, view->problem);
    page_cell(m, "verdict", "nowrap", NAN, false);
    verdict_tag(m, view);
    if (view->is_environment)
        markup_element(m, "span", "muted small", cause_name(view->result->verdict.cause));
    markup_end(m);
    if (c->change)
        change_cells(m, view, x);
    if (c->base) {
        view_time(text, view->base_ns);
        page_text_cell(m, "base", "right nowrap", view->base_ns, text);
    }
    if (c->head) {
        view_time(text, view->head_ns);
        page_text_cell(m, "head", "right nowrap", view->head_ns, text);
    }
    figure_cells(m, view, c);
    markup_end(m);
}

static void write_heads(struct markup *m, const struct columns *c, const struct scale *x)
{
    page_table_head(m, "Kernel", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Problem", PAGE_SORT_TEXT, NULL);
    page_table_head(m, "Verdict", PAGE_SORT_TEXT, NULL);
    if (c->change) {
        page_table_head(m, "Change", PAGE_SORT_NUMBER, "right");
        markup_start(m, "th");
        markup_attr(m, "scope", "col");
        markup_text(m, "Interval and margin");
        chart_interval_axis(m, x, FOREST_WIDTH);
        markup_end(m);
    }
    if (c->base)
        page_table_head(m, "Base", PAGE_SORT_NUMBER, "right");
    if (c->head)
        page_table_head(m, "Head", PAGE_SORT_NUMBER, "right");
    if (c->accuracy)
        page_table_head(m, "Actual / predicted", PAGE_SORT_NUMBER, "right");
    if (c->bound)
        page_table_head(m, "Bound", PAGE_SORT_TEXT, NULL);
    if (c->clock)
        page_table_head(m, "Clock", PAGE_SORT_NUMBER, "right");
    if (c->why)
        page_table_head(m, "Why", PAGE_SORT_TEXT, NULL);
}

static const char *legend(const struct html *html)
{
    return html->run->base.id[0]
               ? "Interval: change of head over base with its confidence interval; shaded: the "
                 "margin below which a change does not count; an arrow head: goes on beyond."
               : "Interval: change against the series' own past; shaded: the margin below which a "
                 "change does not count; an arrow head: goes on beyond.";
}

// If fewer series than this are the same, they are not folded away.
enum { FOLDED_LEAST = 4 };
static size_t folded(const struct html *html)
{
    size_t count = 0;
    for (size_t i = 0; i < html->count; i++)
        count += view_is_identical(&html->views[i]);
    return count < FOLDED_LEAST ? 0 : count;
}

static void fold_begin(const struct html *html)
{
    const size_t count = folded(html);
    markup_open(html->m, "details", "series run");
    markup_elementf(html->m, "summary", NULL, "%zu %s the machine code of the base", count,
                    plural(count, "series runs", "series run"));
    markup_start(html->m, "div");
}

static void fold_end(const struct html *html)
{
    markup_end(html->m);
    markup_end(html->m);
}

static void write_identical(const struct html *html)
{
    struct markup *m = html->m;
    fold_begin(html);
    page_table_begin(m, "cards", "Series whose machine code is identical in base and head");
    page_table_head(m, "Kernel", PAGE_SORT_NONE, NULL);
    page_table_head(m, "Problem", PAGE_SORT_NONE, NULL);
    page_table_head(m, "Machine code", PAGE_SORT_NONE, NULL);
    page_table_body(m);
    for (size_t i = 0; i < html->count; i++) {
        const struct view *view = &html->views[i];
        char code[16];
        if (!view_is_identical(view))
            continue;
        snprintf(code, sizeof(code), "%.12s", view->result->head_code);
        page_row_begin(m, NULL);
        name_cell(m, view);
        page_text_cell(m, "problem", "mono nowrap", NAN, view->problem);
        page_text_cell(m, "machine code", "mono", NAN, code);
        markup_end(m);
    }
    page_table_end(m);
    fold_end(html);
}

static void write_table(const struct html *html)
{
    struct markup *m = html->m;
    const size_t identical = folded(html);
    struct columns columns = columns_of(html);
    struct scale x = chart_change_scale(html->views, html->count, 6, FOREST_WIDTH - 6);
    if (html->count == 0)
        return;
    markup_start(m, "section");
    markup_attr(m, "aria-labelledby", "all");
    markup_start(m, "h2");
    markup_attr(m, "id", "all");
    markup_text(m, "All series");
    markup_end(m);
    if (identical < html->count) {
        page_table_begin(m, "cards sortable filter", "All series, worst first");
        write_heads(m, &columns, &x);
        page_table_body(m);
        for (size_t i = 0; i < html->count; i++) {
            if (!identical || !view_is_identical(&html->views[i]))
                write_table_row(html, &html->views[i], &columns, &x);
        }
        page_table_end(m);
    }
    if (columns.change)
        markup_element(m, "p", "hint", legend(html));
    if (identical)
        write_identical(html);
    markup_end(m);
}

// Returns one point for each view; the caller frees.
static struct curve_point *points_of(const struct html *html, bool accuracy)
{
    struct curve_point *points = xcalloc(html->count ? html->count : 1, sizeof(*points));
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        points[i] =
            (struct curve_point){v->change, chart_class(v), chart_shape(v->result->verdict.kind)};
        if (accuracy)
            points[i].y.value = v->actual_predicted;
    }
    return points;
}

static bool has_curve(const struct html *html, bool accuracy)
{
    size_t used = 0;
    for (size_t i = 0; i < html->count; i++) {
        const struct view *v = &html->views[i];
        used += isfinite(accuracy ? v->actual_predicted : v->change.value);
    }
    return used >= 2;
}

static void curve_figure(const struct html *html, bool accuracy, const char *caption,
                         void (*draw)(struct markup *, struct curve_point *, size_t))
{
    if (!has_curve(html, accuracy))
        return;
    struct curve_point *points = points_of(html, accuracy);
    chart_figure(html->m, caption, points, html->count, draw);
    free(points);
}

static void write_curves(const struct html *html)
{
    bool gate = html->run->base.id[0];
    if (!has_curve(html, false) && !has_curve(html, true))
        return;
    markup_start(html->m, "section");
    markup_attr(html->m, "aria-label", "All series at a glance");
    markup_element(html->m, "h2", NULL, "At a glance");
    markup_open(html->m, "div", "figures");
    curve_figure(html, false,
                 gate ? "Change of head over base, every series sorted"
                      : "Change against the series' own past, every series sorted",
                 chart_curve_change);
    curve_figure(html, true,
                 "Measured time over predicted time, every series sorted; shaded: within 10 %",
                 chart_curve_accuracy);
    markup_end(html->m);
    markup_end(html->m);
}

// The figures of a series take about 10 KB. Beyond this number, series that are the same get none.
enum { DRAWN = 150 };

static void change_facts(struct markup *m, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    char change[VIEW_TEXT], interval[VIEW_TEXT], text[VIEW_TEXT];
    if (isfinite(view->change.value)) {
        view_percent(change, view->change.value);
        view_interval(interval, view->change);
        factf(m, "change", "%s, %g %% interval %s, margin %.2g %%", change, v->confidence * 100,
              interval, v->margin * 100);
        factf(m, "evidence", "10^%.1f against no change, from %u %s in %u %s (%.2g s)",
              v->log_evidence / M_LN10, v->pairs, plural(v->pairs, "pair", "pairs"), v->processes,
              plural(v->processes, "process", "processes"), v->gpu_s);
    }
    if (isfinite(view->mean))
        factf(m, "slow launches", "mean %+.2f %%, 95th percentile %+.2f %%", 100 * view->mean,
              100 * view->p95);
    if (v->cause != CAUSE_NONE)
        fact(m, "cause", cause_name(v->cause));
    if (isfinite(view->detectable)) {
        view_percent(text, view->detectable);
        factf(m, "smallest detectable change", "%s", text + 1);
    }
    if (isfinite(view->extra->false_alarm_rate))
        factf(m, "achieved false-alarm rate", "%.2g %%", view->extra->false_alarm_rate * 100);
}

static void time_fact(struct markup *m, const char *term, const struct measurement *s,
                      double time_ns, double clock_hz)
{
    char time[VIEW_TEXT], clock[VIEW_TEXT];
    if (s->state == MEASURED_NOT_TAKEN)
        return;
    if (s->state != MEASURED_OK) {
        fact(m, term, measurement_state_name(s->state));
        return;
    }
    if (!isfinite(time_ns))
        return;
    view_time(time, time_ns);
    view_clock(clock, clock_hz);
    factf(m, term, "%s per launch at %s, %zu %s", time, clock, s->count,
          plural(s->count, "sample", "samples"));
}

static void prediction_fact(struct markup *m, const struct view *view)
{
    struct buffer text = {0};
    if (!view->result->prediction.model)
        return;
    view_prediction(&text, &view->result->prediction, view->actual_predicted);
    fact(m, "prediction", text.bytes);
    buffer_free(&text);
}

static void power_fact(struct markup *m, const struct measurement *s)
{
    double power = 0, hottest = INT16_MIN;
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->samples[i].power_mw >= 0) {
            power += s->samples[i].power_mw / 1e3;
            count++;
        }
        hottest = fmax(hottest, s->samples[i].temperature_c);
    }
    if (count > 0 && hottest > INT16_MIN)
        factf(m, "power", "%.0f W on average, %.0f °C at most", power / (double)count, hottest);
}

static void code_fact(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    if (view_same_code(view))
        factf(m, "machine code", "identical in base and head (%.12s)", r->head_code);
    else if (r->base_code[0] && r->head_code[0])
        factf(m, "machine code", "changed, %.12s to %.12s", r->base_code, r->head_code);
    else if (r->head_code[0])
        factf(m, "machine code", "%.12s", r->head_code);
}

static void traits_fact(struct markup *m, const struct traits *t)
{
    struct buffer text = {0};
#define X(name)                                                                                    \
    if (t->name != 0)                                                                              \
        buffer_printf(&text, "%s%s %d", text.length ? ", " : "", #name, t->name);
    TRAITS(X)
#undef X
    fact(m, "traits", text.bytes);
    buffer_free(&text);
}

static void write_series_facts(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    char throttle[VIEW_TEXT];
    markup_open(m, "dl", "facts");
    change_facts(m, view);
    time_fact(m, "base", &r->base, view->base_ns, view->base_hz);
    time_fact(m, "head", &r->head, view->head_ns, view->head_hz);
    prediction_fact(m, view);
    if (r->head.count > 0) {
        view_throttle(throttle, view->throttle);
        factf(m, "throttled", "%.0f %% of samples (%s)", view->throttled * 100, throttle);
        factf(m, "largest error", "%.2g of a tolerance of %.2g", r->head.max_error,
              r->head.tolerance);
    }
    power_fact(m, &r->head);
    if (result_timed(r)[0])
        factf(m, "timed", "%s%s", result_timed(r), result_timed_note(r, view->device));
    fact(m, "regime", r->head.regime);
    code_fact(m, view);
    traits_fact(m, &r->traits);
    fact(m, "device", view->device->name);
    markup_end(m);
    if (view_detail(view)[0])
        markup_element(m, "pre", NULL, view_detail(view));
}

static void figure(struct markup *m, const char *class, const char *caption,
                   void (*draw)(struct markup *, const struct view *), const struct view *view)
{
    markup_open(m, "figure", class);
    markup_element(m, "figcaption", NULL, caption);
    draw(m, view);
    markup_end(m);
}

// Returns the marks; their texts are in `texts`. The caller frees both.
static struct chart_mark *marks_of(const struct view *view, char (**texts)[VIEW_TEXT])
{
    size_t count = view->extra->change_count;
    struct chart_mark *marks = xcalloc(count ? count : 1, sizeof(*marks));
    *texts = xcalloc(count ? count : 1, sizeof(**texts));
    for (size_t i = 0; i < count; i++) {
        double size = view->extra->changes[i].log_ratio;
        view_percent((*texts)[i], expm1(size));
        marks[i] = (struct chart_mark){view->extra->changes[i].index, (*texts)[i],
                                       size > 0 ? MARK_SLOWER : MARK_FASTER};
    }
    return marks;
}

static void history_figure(struct markup *m, const struct view *view)
{
    char(*texts)[VIEW_TEXT];
    struct chart_mark *marks = marks_of(view, &texts);
    struct series_chart chart = {
        .history = &view->result->history, .marks = marks, .mark_count = view->extra->change_count};
    markup_open(m, "figure", "wide");
    markup_element(m, "figcaption", NULL,
                   "Time per launch over commits; dotted: predicted, where it lies within; "
                   "upright: a change found");
    series_chart(m, &chart);
    markup_end(m);
    free(marks);
    free(texts);
}

static void parts_figure(struct markup *m, const struct view *view)
{
    markup_start(m, "figure");
    markup_element(m, "figcaption", NULL, "What the predicted time is made of");
    chart_parts(m, &view->result->prediction, view->head_ns);
    markup_end(m);
}

static void write_figures(struct markup *m, const struct view *view)
{
    const struct result *r = view->result;
    markup_open(m, "div", "figures");
    if (r->head.count > 1)
        figure(m, NULL, "Samples and their distribution", chart_samples, view);
    if (r->head.count > 1 && r->base.count > 1)
        figure(m, NULL, "Head over base, pair by pair; shaded: the margin", chart_pairs, view);
    if (r->prediction.feasible && r->prediction.part_count > 0 && r->prediction.time_ns > 0)
        parts_figure(m, view);
    if (r->history.count > 1)
        history_figure(m, view);
    markup_end(m);
}

static void write_series(const struct html *html, const struct view *view, bool drawn)
{
    struct markup *m = html->m;
    struct buffer sentence = {0};
    char anchor[32], change[VIEW_TEXT];
    anchor_of(anchor, view);
    view_reason(&sentence, view);
    view_percent(change, view->change.value);
    markup_open(m, "details",
                view->result->verdict.kind == VERDICT_SAME ? "series" : "series changed");
    markup_attr(m, "id", anchor);
    markup_start(m, "summary");
    markup_element(m, "h3", NULL, view->result->kernel);
    markup_element(m, "span", "mono", view->problem);
    verdict_tag(m, view);
    if (isfinite(view->change.value))
        markup_element(m, "span", NULL, change);
    markup_end(m);
    markup_start(m, "div");
    markup_element(m, "p", "sentence", sentence.bytes);
    if (view->result->verdict.explanation && view->result->verdict.explanation[0])
        markup_element(m, "pre", "explanation", view->result->verdict.explanation);
    write_series_facts(m, view);
    if (drawn)
        write_figures(m, view);
    else
        markup_element(m, "p", "hint", "Figures are left out here to keep the page small.");
    markup_end(m);
    markup_end(m);
    buffer_free(&sentence);
}

static void write_all_series(const struct html *html)
{
    if (html->count == 0)
        return;
    markup_start(html->m, "section");
    markup_attr(html->m, "aria-label", "Series one by one");
    markup_element(html->m, "h2", NULL, "Series one by one");
    const bool fold = folded(html) > 0;
    for (size_t i = 0; i < html->count; i++) {
        if (!fold || !view_is_identical(&html->views[i]))
            write_series(html, &html->views[i], i < DRAWN);
    }
    if (fold) {
        fold_begin(html);
        for (size_t i = 0; i < html->count; i++) {
            if (view_is_identical(&html->views[i]))
                write_series(html, &html->views[i], i < DRAWN);
        }
        fold_end(html);
    }
    markup_end(html->m);
}

// ---- how far to trust it, and where the figures come from ---------------------------------------

static void section(struct markup *m, const char *title)
{
    markup_start(m, "section");
    markup_attr(m, "aria-label", title);
    markup_element(m, "h2", NULL, title);
    markup_open(m, "div", "card");
}

static void section_end(struct markup *m)
{
    markup_end(m);
    markup_end(m);
}

// The largest value over the series that have one; NaN when none has.
static double worst_of(const struct html *html, double (*get)(const struct view *))
{
    double worst = NAN;
    for (size_t i = 0; i < html->count; i++)
        worst = fmax(worst, get(&html->views[i]));
    return worst;
}

static double get_rate(const struct view *view)
{
    return view->extra->false_alarm_rate;
}

static double get_detectable(const struct view *view)
{
    return view->detectable;
}

// Writes the facts of a run. A rate is shown only if something was counted.
static void record_facts(const struct html *html)
{
    const struct report_record *records = html->context->records;
    for (size_t i = 0; records && i < html->run->device_count; i++) {
        const struct report_record *r = &records[i];
        struct buffer text = {0};
        if (r->gates)
            buffer_printf(
                &text,
                "%llu in %llu %s of identical code by studies: at most %.2g %% (95 %%, exact)",
                (unsigned long long)r->alarms, (unsigned long long)r->gates,
                plural(r->gates, "gate", "gates"),
                100 * study_rate_upper(r->alarms, r->gates, CONFIDENCE));
        if (r->self_tests)
            buffer_printf(&text, "%s%llu in %llu series of self tests", r->gates ? "; " : "",
                          (unsigned long long)r->self_alarms, (unsigned long long)r->self_tests);
        if (text.length)
            fact(html->m, html->run->device_count > 1 ? html->run->devices[i].name : "false alarms",
                 text.bytes);
        buffer_free(&text);
    }
}

static void control_fact(const struct html *html)
{
    size_t controls = 0;
    double most = 0;
    char text[160], change[VIEW_TEXT];
    for (size_t i = 0; i < html->count; i++) {
        const struct view *view = &html->views[i];
        if (!view->result->control || isnan(view->change.value))
            continue;
        controls++;
        if (fabs(view->change.value) > fabs(most))
            most = view->change.value;
    }
    view_percent(change, most);
    snprintf(text, sizeof(text), "%zu series that cannot have changed; the largest moved by %s",
             controls, change);
    fact(html->m, "controls", controls ? text : "none in this run");
}

static void write_trust(const struct html *html)
{
    const struct self_test *test = &html->run->self_test;
    struct markup *m = html->m;
    char text[200];
    double rate = worst_of(html, get_rate), detectable = worst_of(html, get_detectable);
    section(m, "How far to trust this run");
    markup_open(m, "dl", "facts");
    if (test->series > 0)
        snprintf(text, sizeof(text),
                 "%u series of identical code compared with themselves, %u told "
                 "apart%s",
                 test->series, test->alarms, test->void_run ? ": the run is void" : "");
    else
        snprintf(text, sizeof(text), "none in this run");
    fact(m, "self-test (A/A)", text);
    if (test->series > 0)
        factf(m, "largest A/A evidence", "10^%.2f", test->worst_log_evidence / M_LN10);
    record_facts(html);
    control_fact(html);
    if (isfinite(rate))
        factf(m, "achieved false-alarm rate", "%.2g %% (worst series)", rate * 100);
    if (isfinite(detectable))
        factf(m, "smallest detectable change", "%.2g %% (worst series)", detectable * 100);
    markup_end(m);
    section_end(m);
}

static void device_facts(struct markup *m, const struct device *d)
{
    struct buffer text = {0};
    buffer_printf(&text, "%s, driver %s, runtime %s, profile %s, %s", d->name, d->driver,
                  d->runtime, d->profile[0] ? d->profile : "none", d->uuid);
    fact(m, "device", text.bytes);
    buffer_free(&text);
}

static void commit_fact(struct markup *m, const char *term, const struct commit *c)
{
    struct buffer text = {0};
    if (!c->id[0])
        return;
    buffer_printf(&text, "%s, tree %.12s, by %s", c->id, c->tree,
                  c->author ? c->author : "unknown");
    fact(m, term, text.bytes);
    buffer_free(&text);
}

static void write_origin(const struct html *html)
{
    const struct run *run = html->run;
    struct markup *m = html->m;
    char started[VIEW_TEXT], finished[VIEW_TEXT], text[128];
    view_date(started, run->started_s);
    view_date(finished, run->finished_s);
    section(m, "Where this comes from");
    markup_open(m, "dl", "facts");
    commit_fact(m, "base", &run->base);
    commit_fact(m, "head", &run->head);
    if (run->toolchain[ROLE_BASE])
        fact(m, "base's toolchain", run_toolchain(run, ROLE_BASE));
    if (run->toolchain[ROLE_HEAD])
        fact(m, "head's toolchain", run_toolchain(run, ROLE_HEAD));
    for (size_t i = 0; i < run->device_count; i++)
        device_facts(m, &run->devices[i]);
    snprintf(text, sizeof(text), "plumb %.40s, %s run %lld",
             run->tool_version ? run->tool_version : "", run_kind_name(run->kind),
             (long long)run->id);
    fact(m, "tool", text);
    if (run_policy(text, sizeof(text), run))
        fact(m, "judged by", text);
    if (run_overlay(text, sizeof(text), run))
        fact(m, "overlay", text);
    fact(m, "started", started);
    fact(m, "finished", run->finished_s ? finished : "interrupted");
    fact(m, "series charts", page_has_dygraphs ? "dygraphs, embedded" : "static SVG");
    markup_end(m);
    if (run->policy && run->policy[0]) {
        markup_start(m, "details");
        markup_element(m, "summary", NULL, "Policy in force");
        markup_element(m, "pre", NULL, run->policy);
        markup_end(m);
    }
    section_end(m);
}

// A series' chart is only interactive if it has a history.
static bool has_history(const struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->results[i].history.count > 1)
            return true;
    }
    return false;
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    static const struct report_context nothing = {0};
    struct view *views = view_all(run, context);
    struct buffer title = {0};
    struct html html = {NULL, run, context ? context : &nothing, views, run->count};
    buffer_printf(&title, "%s - %s", view_conclusion(run->conclusion),
                  run->repository ? run->repository : "plumb");
    struct page_link links[] = {{html.context->site_url, "Nightly site"}};
    struct page page = {.title = title.bytes,
                        .subtitle = run->repository,
                        .links = links,
                        .link_count = html.context->site_url ? 1 : 0,
                        .interactive = has_history(run)};
    html.m = page_begin(&page);
    write_banner(&html);
    write_unbuilt(&html);
    write_findings(&html);
    write_metrics(&html);
    write_events(&html);
    write_table(&html);
    write_curves(&html);
    write_study(&html);
    write_all_series(&html);
    write_trust(&html);
    write_origin(&html);
    page_finish(html.m, &page,
                "Made by plumb from stored measurements. This file is complete: it loads nothing.",
                out);
    buffer_free(&title);
    free(views);
}

const struct report report_html = {
    .name = "html",
    .file = "index.html",
    .why = "one page for people, opens offline",
    .write = write,
};
