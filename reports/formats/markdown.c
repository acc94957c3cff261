// SPDX-License-Identifier: Apache-2.0
//
// summary.md for a job summary: the verdict, mixes, what changed in a line for each kernel, what to
// type next, and the open events. Folded away are all series (the worst first) and the origin of
// the figures.
//
// Untrusted text cannot leave its cell (reports/text/clean.h).
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANGED_SHOWN = 20, REST_SHOWN = 150, NAME_LIMIT = 80, SENTENCE_LIMIT = 240 };

static void put_commit(struct buffer *out, const struct commit *commit,
                       const struct report_context *context)
{
    char id[VIEW_TEXT];
    struct buffer href = {0};
    view_short_id(id, commit->id);
    if (!id[0]) {
        buffer_puts(out, "-");
        return;
    }
    bool linked = view_commit_link(&href, context ? context->commit_url : NULL, commit->id);
    buffer_puts(out, linked ? "[" : "");
    markdown_text(out, id, NAME_LIMIT);
    if (linked)
        buffer_printf(out, "](%s)", href.bytes);
    buffer_puts(out, " ");
    buffer_free(&href);
    markdown_text(out, commit->summary, SENTENCE_LIMIT);
}

static void put_row(struct buffer *out, const struct view *view)
{
    const struct result *r = view->result;
    char base[VIEW_TEXT], head[VIEW_TEXT], change[VIEW_TEXT], interval[VIEW_TEXT], slow[VIEW_TEXT];
    struct buffer sentence = {0};
    view_time(base, view->base_ns);
    view_time(head, view->head_ns);
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    view_slow(slow, view);
    view_why(&sentence, view);
    buffer_printf(out, "| %s %s%s | ", view_symbol(r->verdict.kind),
                  verdict_kind_name(r->verdict.kind), view->is_environment ? " (environment)" : "");
    markdown_text(out, r->kernel, NAME_LIMIT);
    buffer_printf(out, " | %s | %s | %s | %s | %s %s | %s | ", view->problem,
                  result_timed(r)[0] ? result_timed(r) : "-", base, head, change,
                  isnan(view->change.value) ? "" : interval, slow);
    if (isfinite(view->actual_predicted))
        buffer_printf(out, "%.2f | ", view->actual_predicted);
    else
        buffer_puts(out, "- | ");
    markdown_text(out, sentence.bytes, SENTENCE_LIMIT);
    buffer_puts(out, " |\n");
    buffer_free(&sentence);
}

static void put_table(struct buffer *out, const struct view *views, size_t count, size_t limit)
{
    buffer_puts(out, "| verdict | kernel | problem | timed | base | head | change and interval | "
                     "mean, p95 | actual / predicted | why |\n"
                     "|---|---|---|---|--:|--:|--:|--:|--:|---|\n");
    for (size_t i = 0; i < count && i < limit; i++)
        put_row(out, &views[i]);
    if (count > limit)
        buffer_printf(out, "\n%zu more %s not shown here; all are in index.html.\n", count - limit,
                      plural(count - limit, "is", "are"));
    buffer_puts(out, "\n");
}

static void put_verdict(struct buffer *out, const struct run *run)
{
    static const char *const marks[] = {[CONCLUDE_OK] = "✅",
                                        [CONCLUDE_REGRESSION] = "🔺",
                                        [CONCLUDE_UNDECIDED] = "❔",
                                        [CONCLUDE_BROKEN] = "❌",
                                        [CONCLUDE_FAILED] = "⚠️"};
    size_t counts[VERDICT_KINDS];
    run_count_verdicts(run, counts);
    buffer_printf(out, "## %s plumb: %s\n\n**",
                  (size_t)run->conclusion < ARRAY_COUNT(marks) ? marks[run->conclusion] : "",
                  view_conclusion(run->conclusion));
    markdown_text(out, run->headline ? run->headline : view_conclusion(run->conclusion),
                  CLEAN_LINE);
    buffer_puts(out, "**\n\n");
    if (run->study_count)
        return; // a commit that does not build has rows of its own
    const char *separator = "";
    for (size_t i = 0; i < VERDICT_KINDS; i++) {
        if (!counts[verdict_order[i]])
            continue;
        buffer_printf(out, "%s%zu %s", separator, counts[verdict_order[i]],
                      verdict_kind_name(verdict_order[i]));
        separator = " · ";
    }
    buffer_puts(out, "\n\n");
}

// Writes the change of a mix's weighted time, its interval, and its margin; "-" for what is
// missing.
static void view_mix(char change[VIEW_TEXT], char interval[VIEW_TEXT], char margin[VIEW_TEXT],
                     const struct mix_result *mix)
{
    const bool known = mix->kind != VERDICT_NOT_MEASURED;
    const struct interval relative = known ? interval_relative(mix->log_ratio) : interval_none;
    view_percent(change, relative.value);
    view_interval(interval, relative);
    snprintf(margin, VIEW_TEXT, mix->margin > 0 ? "%g %%" : "-", 100 * mix->margin);
}

static void put_mixes(struct buffer *out, const struct run *run)
{
    if (!run->mix_count)
        return;
    buffer_puts(out, "| mix | kernel | weighted time | margin |\n|---|---|--:|--:|\n");
    for (size_t i = 0; i < run->mix_count && i < CHANGED_SHOWN; i++) {
        const struct mix_result *mix = &run->mixes[i];
        buffer_printf(out, "| %s ", view_symbol(mix->kind));
        markdown_text(out, mix->name, NAME_LIMIT);
        buffer_puts(out, " | ");
        markdown_text(out, mix->kernel, NAME_LIMIT);
        buffer_printf(out, " %s", mix_regime_words(mix));
        char change[VIEW_TEXT], interval[VIEW_TEXT], margin[VIEW_TEXT];
        view_mix(change, interval, margin, mix);
        buffer_printf(out, " | %s %s | %s |\n", change, interval, margin);
    }
    if (run->mix_count > CHANGED_SHOWN)
        buffer_printf(out, "\n%zu more %s not shown here; all are in index.html.\n",
                      run->mix_count - CHANGED_SHOWN,
                      plural(run->mix_count - CHANGED_SHOWN, "mix is", "mixes are"));
    buffer_puts(out, "\n");
}

static void put_metric(struct buffer *out, const struct metric_result *m)
{
    char values[2][VIEW_TEXT], margin[VIEW_TEXT];
    view_metric(values, margin, m);
    buffer_printf(out, "| %s %s | ", view_symbol(m->kind), metric_word(m->kind));
    markdown_text(out, m->name, NAME_LIMIT);
    buffer_puts(out, " | ");
    markdown_text(out, m->subject, NAME_LIMIT);
    buffer_printf(out, " | %s | %s | %s |\n", values[ROLE_BASE], values[ROLE_HEAD], margin);
}

// Writes metrics. Those that moved come first; if there are many, only they are shown.
static void put_metrics(struct buffer *out, const struct run *run)
{
    size_t shown = 0;
    if (!run->metric_count)
        return;
    buffer_puts(out, "| | metric | of | base | head | margin |\n|---|---|---|--:|--:|--:|\n");
    for (int same = 0; same <= 1; same++) {
        for (size_t i = 0; i < run->metric_count && shown < CHANGED_SHOWN; i++) {
            if ((run->metrics[i].kind == VERDICT_SAME) == same) {
                put_metric(out, &run->metrics[i]);
                shown++;
            }
        }
    }
    if (shown < run->metric_count)
        buffer_printf(out, "\nand %zu more, all in results.json", run->metric_count - shown);
    buffer_puts(out, "\n");
}

static void put_unbuilt(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    struct buffer sentence = {0};
    if (!f->reason)
        return;
    unbuilt_sentence(&sentence, run, role);
    markdown_text(out, sentence.bytes, SENTENCE_LIMIT);
    buffer_puts(out, "\n\n");
    if (f->count)
        buffer_puts(out, "| where | what the build's tools said first |\n|---|---|\n");
    for (size_t i = 0; i < f->count; i++) {
        const struct build_error *e = &f->errors[i];
        buffer_puts(out, "| ");
        if (e->file[0])
            markdown_text(out, e->file, SENTENCE_LIMIT);
        else
            buffer_puts(out, "-");
        if (e->file[0] && e->line)
            buffer_printf(out, ":%u", e->line);
        buffer_puts(out, " | ");
        markdown_text(out, e->text, SENTENCE_LIMIT);
        buffer_puts(out, " |\n");
    }
    if (f->log[0]) {
        buffer_puts(out, "\nlog: ");
        markdown_text(out, f->log, CLEAN_LINE);
        buffer_puts(out, "\n");
    }
    buffer_puts(out, "\n");
    buffer_free(&sentence);
}

static void put_self_test(struct buffer *out, const struct run *run)
{
    const struct self_test *test = &run->self_test;
    if (test->void_run)
        buffer_puts(out, "> **This run is void:** identical code was told apart, so nothing else "
                         "here means anything. Measure again on a quiet machine.\n\n");
    else if (test->series > 0)
        buffer_printf(out,
                      "Self-test: identical code compared with itself in %u series, %u told "
                      "apart.\n\n",
                      test->series, test->alarms);
    else
        buffer_puts(out, "Self-test: this run carries none.\n\n");
}

static void put_study_row(struct buffer *out, const struct study_result *s)
{
    char shape[PROBLEM_TEXT], base[VIEW_TEXT], change[VIEW_TEXT];
    char detectable[VIEW_TEXT];
    problem_tell(shape, &s->problem);
    view_time(base, s->time_ns);
    view_percent(change, expm1(s->log_ratio));
    view_percent(detectable, expm1(s->detectable));
    buffer_printf(out, "| %s | ", study_kind_name(s->kind));
    markdown_text(out, s->kernel, NAME_LIMIT);
    buffer_printf(out, " | %s | %s | %s | %u | %u | %u | %u | %u | %u | %s | %.2f |\n", shape, base,
                  change, s->gates, s->slower, s->faster, s->same, s->undecided, s->broken,
                  detectable, s->gpu_s);
}

static void put_study(struct buffer *out, const struct run *run)
{
    if (!run->study_count)
        return;
    buffer_puts(out,
                "Gates of code with itself (aa: every alarm is false) and of code with work put "
                "in:\n\n| study | kernel | problem | base | change | gates | slower | faster | "
                "same | undecided | broken | smallest change found | GPU s |\n"
                "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < run->study_count && i < REST_SHOWN; i++)
        put_study_row(out, &run->studies[i]);
    if (run->study_count > REST_SHOWN)
        buffer_printf(out, "\n%zu more %s not shown here; all are in index.html.\n",
                      run->study_count - REST_SHOWN,
                      plural(run->study_count - REST_SHOWN, "is", "are"));
    buffer_puts(out, "\n");
}

static void put_provenance(struct buffer *out, const struct run *run,
                           const struct report_context *context)
{
    char started[VIEW_TEXT];
    view_date(started, run->started_s);
    buffer_puts(out, "<details><summary>Where this comes from</summary>\n\n| what | value |\n"
                     "|---|---|\n");
    if (run->base.id[0]) {
        buffer_puts(out, "| compared | ");
        changes_range(out, run, context);
        buffer_puts(out, " |\n| base | ");
        put_commit(out, &run->base, context);
        buffer_puts(out, " |\n");
    }
    buffer_puts(out, "| head | ");
    put_commit(out, &run->head, context);
    buffer_puts(out, " |\n");
    if (run_names_toolchain(run)) {
        buffer_puts(out, "| toolchain | ");
        if (run->base.id[0]) {
            markdown_text(out, run_toolchain(run, ROLE_BASE), NAME_LIMIT);
            buffer_puts(out, " -> ");
        }
        markdown_text(out, run_toolchain(run, ROLE_HEAD), NAME_LIMIT);
        buffer_puts(out, " |\n");
    }
    for (size_t i = 0; i < run->device_count; i++) {
        const struct device *d = &run->devices[i];
        buffer_puts(out, "| device | ");
        markdown_text(out, d->name, NAME_LIMIT);
        buffer_puts(out, ", driver ");
        markdown_text(out, d->driver, NAME_LIMIT);
        buffer_puts(out, ", runtime ");
        markdown_text(out, d->runtime, NAME_LIMIT);
        buffer_puts(out, ", ");
        markdown_text(out, d->uuid, NAME_LIMIT);
        buffer_puts(out, " |\n");
    }
    buffer_puts(out, "| tool | plumb ");
    markdown_text(out, run->tool_version, NAME_LIMIT);
    buffer_printf(out, ", %s |\n| started | %s |\n\n</details>\n", run_kind_name(run->kind),
                  started);
}

static void put_event(struct buffer *out, const struct report_event *e,
                      const struct report_context *context)
{
    struct buffer cause = {0};
    open_event_cause(&cause, e);
    taken_text(&cause, &e->taken);
    buffer_printf(out, "| %s %s | ",
                  e->slowdown        ? "🔺"
                  : e->log_ratio > 0 ? "❔"
                                     : "✅",
                  event_state_name(e->state));
    markdown_text(out, e->sentence, SENTENCE_LIMIT);
    buffer_puts(out, " | ");
    if (e->commits > 1)
        buffer_printf(out, "one of %zu commits, most likely ", e->commits);
    put_commit(out, &e->commit, context);
    buffer_puts(out, " | ");
    markdown_text(out, cause.bytes, SENTENCE_LIMIT);
    buffer_puts(out, " | ");
    markdown_text(out, e->name, NAME_LIMIT);
    buffer_puts(out, " |\n");
    buffer_free(&cause);
}

static void put_events(struct buffer *out, const struct report_context *context)
{
    const struct report_events *events = context ? &context->events : NULL;
    if (!events || !events->known)
        return;
    buffer_puts(out, "### ");
    open_events_title(out, events);
    buffer_puts(out, "\n\n");
    if (!events->count)
        return;
    buffer_puts(out, "| state | what | since | cause | event |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < events->count && i < CHANGED_SHOWN; i++)
        put_event(out, &events->items[i], context);
    if (events->count > CHANGED_SHOWN)
        buffer_printf(out, "\n%zu more: `plumb events`.\n", events->count - CHANGED_SHOWN);
    buffer_puts(
        out, "\n`plumb events show EVENT` says more; `accept`, `dismiss` or `fixed` decide.\n\n");
}

static void put_changed(struct buffer *out, const struct view *views, size_t count)
{
    buffer_printf(out, "<details><summary>%zu series %s not simply the same</summary>\n\n", count,
                  plural(count, "is", "are"));
    put_table(out, views, count, CHANGED_SHOWN);
    buffer_puts(out, "</details>\n\n");
}

// Writes how many series run the machine code of the base; they need no row.
static void put_same(struct buffer *out, struct view *views, size_t count)
{
    size_t measured = 0;
    for (size_t i = 0; i < count; i++) {
        if (!view_is_identical(&views[i]))
            views[measured++] = views[i];
    }
    const size_t identical = count - measured;
    if (identical)
        buffer_printf(out, "%zu %s the machine code of the base, and %s not measured.\n\n",
                      identical, plural(identical, "series runs", "series run"),
                      plural(identical, "was", "were"));
    if (!measured)
        return;
    buffer_printf(out, "<details><summary>%zu series %s the same</summary>\n\n", measured,
                  plural(measured, "is", "are"));
    put_table(out, views, measured, REST_SHOWN);
    buffer_puts(out, "</details>\n\n");
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct view *views = view_all(run, context);
    struct kernel_verdict *lines = xcalloc(run->count + 1, sizeof(*lines));
    const size_t count = changes_find(lines, views, run->count);
    size_t changed = 0;
    while (changed < run->count && views[changed].result->verdict.kind != VERDICT_SAME)
        changed++;
    put_verdict(out, run);
    changes_lacks(out, run, "> ", SENTENCE_LIMIT);
    put_mixes(out, run);
    put_metrics(out, run);
    put_unbuilt(out, run, ROLE_HEAD);
    put_unbuilt(out, run, ROLE_BASE);
    put_events(out, context);
    if (count) {
        changes_table(out, lines, count);
        changes_next(out, run, lines, count);
        put_changed(out, views, changed);
    }
    if (changed < run->count)
        put_same(out, views + changed, run->count - changed);
    put_study(out, run);
    put_self_test(out, run);
    put_provenance(out, run, context);
    free(lines);
    free(views);
}

const struct report report_markdown = {
    .name = "markdown",
    .file = "summary.md",
    .why = "job summaries",
    .write = write,
};
