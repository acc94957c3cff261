// SPDX-License-Identifier: Apache-2.0
//
// The first screen of index.html: the verdict and what changed.
#include "reports/run/html.h"

#include "reports/text/clean.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_SHOWN = 8 };

void html_tag(struct markup *m, const struct view *view)
{
    enum verdict_kind kind = view->result->verdict.kind;
    page_tag(m, chart_class(view), view_symbol(kind), verdict_kind_name(kind));
}

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

// Who reads the verdict must know that a build could have reached this machine, or filled it.
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

void html_banner(const struct html *html)
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

// ---- what changed -------------------------------------------------------------------------------

// One kernel's series with the same verdict: kernel level comes before shape level.
struct finding {
    const struct view *worst;
    size_t series, of; // how many of the kernel's series
};

static bool same_finding(const struct view *a, const struct view *b)
{
    return a->result->verdict.kind == b->result->verdict.kind &&
           a->is_environment == b->is_environment &&
           strcmp(a->result->kernel, b->result->kernel) == 0;
}

// Fills at most `most` findings, worst first; returns how many there are in all.
static size_t collect(const struct html *html, struct finding *findings, size_t most)
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
            findings[count] = (struct finding){view, 1, 0};
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
    const char *since = view_since(view, html->run);
    if (view->is_environment)
        markup_element(html->m, "span", "muted", "not this change");
    else if (since)
        view_commit(html->m, html->context->commit_url, since);
    else
        markup_text(html->m, "-");
}

static void write_finding(const struct html *html, const struct finding *finding)
{
    struct markup *m = html->m;
    const struct view *view = finding->worst;
    struct buffer sentence = {0};
    char change[VIEW_TEXT], anchor[32];
    view_percent(change, view->change.value);
    view_reason(&sentence, view);
    html_anchor(anchor, view);
    page_row_begin(m, NULL);
    page_cell(m, "verdict", NULL, NAN, false);
    html_tag(m, view);
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
        markup_elementf(m, "span", "muted small", " %s", view->shape);
    markup_end(m);
    page_cell(m, "how much", "nowrap", NAN, false);
    if (isnan(view->change.value))
        markup_text(m, view->outcome == OUTCOME_BROKEN
                           ? measurement_state_name(view->result->head.state)
                           : "-");
    else
        markup_textf(m, "%s%s", finding->series > 1 ? "up to " : "", change);
    markup_end(m);
    page_cell(m, "since", "nowrap", NAN, false);
    write_since(html, view);
    markup_end(m);
    page_cell(m, "why", "wrap", NAN, false);
    markup_text(m, sentence.bytes);
    markup_end(m);
    markup_end(m);
    buffer_free(&sentence);
}

void html_findings(const struct html *html)
{
    struct finding findings[FINDINGS_SHOWN];
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
    markup_end(m);
}
