// SPDX-License-Identifier: Apache-2.0
//
// What a study found: a row per series and kind, false alarms and finds in one column each.
#include "model/gate/study.h"
#include "reports/run/html.h"

#include <math.h>
#include <stdio.h>

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

// An alarm of code with itself is false; of what differs, only one in the right direction is right.
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
    view_shape(shape, &s->problem);
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
                     100 * study_rate_upper(alarms, gates, 0.95));
    markup_textf(m,
                 "%.1f s of kernels in all. Smallest found: the change that such a gate finds with "
                 "90 %% power at this spread of a pair.",
                 gpu_s);
    markup_end(m);
}

void html_study(const struct html *html)
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
