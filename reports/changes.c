// SPDX-License-Identifier: Apache-2.0
//
// Changes as Markdown: a line a kernel, then what to type next. Untrusted text cannot leave its
// cell.
#include "reports/changes.h"

#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_SHOWN = 20, NAME_LIMIT = 80, WORDS_LIMIT = 160 };

static bool worth_a_line(const struct view *view)
{
    return view->outcome != OUTCOME_PASSED || view->result->verdict.kind != VERDICT_SAME;
}

// Views come worst first, so the first of a kernel and verdict is its worst.
size_t changes_find(struct kernel_verdict *out, const struct view *views, size_t count)
{
    size_t lines = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        if (!worth_a_line(&views[i]))
            continue;
        while (at < lines && (strcmp(out[at].worst->result->kernel, views[i].result->kernel) != 0 ||
                              out[at].worst->result->verdict.kind != views[i].result->verdict.kind))
            at++;
        if (at == lines)
            out[lines++] = (struct kernel_verdict){&views[i], 0};
        out[at].series++;
    }
    return lines;
}

static void put_change(struct buffer *out, const struct kernel_verdict *line)
{
    const struct view *view = line->worst;
    const struct result *r = view->result;
    char change[VIEW_TEXT], interval[VIEW_TEXT], slow[VIEW_TEXT];
    view_slow(slow, view);
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    buffer_printf(out, "| %s %s%s | ", view_symbol(r->verdict.kind),
                  verdict_kind_name(r->verdict.kind), view->is_environment ? " (environment)" : "");
    markdown_text(out, r->kernel, NAME_LIMIT);
    buffer_printf(out, " | %s | %s | %s", view->problem, result_timed(r)[0] ? result_timed(r) : "-",
                  change);
    if (isfinite(view->change.value))
        buffer_printf(out, " %s", interval);
    buffer_printf(out, " | %s | ", slow);
    if (isnan(view->change.value) || r->verdict.kind == VERDICT_ACCEPTED) {
        struct buffer reason = {0};
        view_reason(&reason, view);
        markdown_text(out, reason.bytes ? reason.bytes : "", WORDS_LIMIT);
        buffer_free(&reason);
        if (line->series > 1)
            buffer_printf(out, " (%zu problems)", line->series);
    } else if (line->series > 1) {
        buffer_printf(out, "the worst of %zu problems", line->series);
    }
    buffer_puts(out, " |\n");
}

void changes_table(struct buffer *out, const struct kernel_verdict *lines, size_t count)
{
    buffer_puts(out, "| verdict | kernel | problem | timed | change | mean, p95 | |\n"
                     "|---|---|---|---|--:|--:|---|\n");
    for (size_t i = 0; i < count && i < KERNELS_SHOWN; i++)
        put_change(out, &lines[i]);
    if (count > KERNELS_SHOWN)
        buffer_printf(out, "\n%zu more are in the whole report.\n", count - KERNELS_SHOWN);
    buffer_puts(out, "\n");
}

static void put_id(struct buffer *out, const char *id)
{
    char text[VIEW_TEXT];
    view_short_id(text, id);
    markdown_text(out, text, NAME_LIMIT);
}

static void put_command(struct buffer *out, const char *what, const struct buffer *command,
                        const char *then)
{
    if (!command->length)
        return;
    buffer_printf(out, "- %s: <code>", what);
    markdown_text(out, command->bytes, SIZE_MAX);
    buffer_printf(out, "</code>%s\n", then);
}

void changes_next(struct buffer *out, const struct run *run, const struct kernel_verdict *lines,
                  size_t count)
{
    const struct kernel_verdict *first = lines;
    struct view_commands commands;
    while (first < lines + count && !view_has_moved(first->worst))
        first++;
    view_commands(&commands, run, first < lines + count ? first->worst : NULL);
    if (commands.again.length) {
        buffer_printf(out, "<details><summary>Repeat%s it</summary>\n\n",
                      commands.accept.length ? ", find or accept" : "");
        put_command(out, "again", &commands.again, "");
        put_command(out, "the commit that did it", &commands.bisect, "");
        put_command(out, "intended", &commands.accept, ", and commit what it writes");
        buffer_puts(out, "\n</details>\n\n");
    }
    view_commands_free(&commands);
}

// The page of a forge that compares two commits stands beside the page of one.
static bool compare_link(struct buffer *out, const char *url, const char *base, const char *head)
{
    static const char commit[] = "/commit/%s";
    const size_t end = sizeof(commit) - 1, length = url ? strlen(url) : 0;
    struct buffer one = {0}, other = {0};
    const bool known = length > end && strcmp(url + length - end, commit) == 0 &&
                       view_commit_link(&one, url, base) && view_commit_link(&other, url, head);
    if (known)
        buffer_printf(out, "%.*s/compare/%s...%s", (int)(length - end), url, base, head);
    buffer_free(&one);
    buffer_free(&other);
    return known;
}

void changes_lacks(struct buffer *out, const struct run *run, const char *before, size_t limit)
{
    char reason[VIEW_TEXT * 4];
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        const struct run_lack_words *words = run_lack_words(lack);
        if (!run_lacks(reason, sizeof(reason), run, lack))
            continue;
        buffer_printf(out, "%s**%s:** %s: ", before, words->title, words->what);
        markdown_text(out, reason, limit);
        buffer_puts(out, ".\n\n");
    }
    if (!run_policy(reason, sizeof(reason), run))
        return;
    buffer_printf(out, "%sJudged by ", before);
    markdown_text(out, reason, limit);
    buffer_puts(out, ".\n\n");
}

void changes_range(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct buffer href = {0};
    const bool linked =
        compare_link(&href, context ? context->commit_url : NULL, run->base.id, run->head.id);
    buffer_puts(out, linked ? "[" : "");
    put_id(out, run->base.id);
    buffer_puts(out, "..");
    put_id(out, run->head.id);
    if (linked)
        buffer_printf(out, "](%s)", href.bytes);
    buffer_free(&href);
}
