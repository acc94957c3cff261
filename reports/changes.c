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
size_t changes_find(struct change *out, const struct view *views, size_t count)
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
            out[lines++] = (struct change){&views[i], 0};
        out[at].series++;
    }
    return lines;
}

static void put_change(struct buffer *out, const struct change *line)
{
    const struct view *view = line->worst;
    const struct result *r = view->result;
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    buffer_printf(out, "| %s %s%s | ", view_symbol(r->verdict.kind),
                  verdict_kind_name(r->verdict.kind), view->is_environment ? " (environment)" : "");
    markdown_text(out, r->kernel, NAME_LIMIT);
    buffer_printf(out, " | %s | %s | %s", view->shape, result_timed(r)[0] ? result_timed(r) : "-",
                  change);
    if (isfinite(view->change.value))
        buffer_printf(out, " %s", interval);
    buffer_puts(out, " | ");
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

void changes_table(struct buffer *out, const struct change *lines, size_t count)
{
    buffer_puts(out,
                "| verdict | kernel | problem | timed | change | |\n|---|---|---|---|--:|---|\n");
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

// A word of a command that people copy into a shell: text of a stranger's file is one word there.
static void put_word(struct buffer *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+/-";
    struct buffer cleaned = {0}, word = {0};
    buffer_puts(&cleaned, "");
    clean_line(&cleaned, text, NAME_LIMIT);
    const bool quoted = strspn(cleaned.bytes, plain) < cleaned.length || !cleaned.length;
    buffer_puts(&word, quoted ? "'" : "");
    for (const char *c = cleaned.bytes; *c; c++)
        *c == '\'' ? buffer_puts(&word, "'\\''") : buffer_add(&word, c, 1);
    buffer_puts(&word, quoted ? "'" : "");
    markdown_text(out, word.bytes, SIZE_MAX);
    buffer_free(&word);
    buffer_free(&cleaned);
}

static void put_toolchain(struct buffer *out, const struct run *run, enum sample_role role)
{
    if (!run->toolchain[role])
        return;
    buffer_printf(out, " --%s-toolchain ", role == ROLE_BASE ? "base" : "head");
    put_word(out, run->toolchain[role]);
}

void changes_next(struct buffer *out, const struct run *run, const struct change *lines,
                  size_t count)
{
    const struct change *first = lines; // the worst that has a size
    while (first < lines + count && !isfinite(first->worst->change.value))
        first++;
    if (!run->base.id[0] || !run->head.id[0])
        return;
    const bool sized = first < lines + count && !run_names_toolchain(run);
    buffer_printf(out, "<details><summary>Repeat%s it</summary>\n\n",
                  sized ? ", find or accept" : "");
    buffer_puts(out, "- again: <code>plumb gate --base ");
    put_id(out, run->base.id);
    buffer_puts(out, " --head ");
    put_id(out, run->head.id);
    put_toolchain(out, run, ROLE_BASE);
    put_toolchain(out, run, ROLE_HEAD);
    buffer_puts(out, "</code>\n");
    if (sized) {
        buffer_puts(out, "- the commit that did it: <code>plumb bisect --good ");
        put_id(out, run->base.id);
        buffer_puts(out, " --bad ");
        put_id(out, run->head.id);
        buffer_puts(out, " --series ");
        put_word(out, first->worst->result->kernel);
        buffer_printf(out, "/%s</code>\n- intended: <code>plumb accept -m REASON ",
                      first->worst->problem);
        put_word(out, first->worst->result->kernel);
        buffer_puts(out, "</code>, and commit what it writes\n");
    }
    buffer_puts(out, "\n</details>\n\n");
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
