// SPDX-License-Identifier: Apache-2.0
//
// comment.md for one comment on a pull request: changes only, a line a kernel with its worst
// problem, and the commands that repeat, find or accept them. Short by construction: KERNELS_SHOWN
// rows of bounded cells, far below GitHub's 65,536 characters. The whole report is summary.md.
#include "reports/run/unbuilt.h"
#include "reports/text/clean.h"
#include "reports/text/markdown.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS_SHOWN = 20, NAME_LIMIT = 80, WORDS_LIMIT = 160 };

// One kernel: its worst series, and how many say the same.
struct line {
    const struct view *worst;
    size_t series;
};

static bool worth_a_line(const struct view *view)
{
    return view->outcome != OUTCOME_PASSED || view->result->verdict.kind != VERDICT_SAME;
}

// Views come worst first, so the first of a kernel and verdict is its worst.
static size_t lines_of(struct line *out, const struct view *views, size_t count)
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
            out[lines++] = (struct line){&views[i], 0};
        out[at].series++;
    }
    return lines;
}

static void put_headline(struct buffer *out, const struct run *run, const struct line *lines,
                         size_t count)
{
    static const char *const marks[] = {[CONCLUDE_OK] = "✅",
                                        [CONCLUDE_REGRESSION] = "🔺",
                                        [CONCLUDE_UNDECIDED] = "❔",
                                        [CONCLUDE_BROKEN] = "❌",
                                        [CONCLUDE_FAILED] = "⚠️"};
    buffer_printf(out, "### %s plumb: %s",
                  (size_t)run->conclusion < ARRAY_COUNT(marks) ? marks[run->conclusion] : "",
                  view_conclusion(run->conclusion));
    const char *separator = ": ";
    for (size_t k = 0; k < VERDICT_KINDS; k++) {
        const enum verdict_kind kind = verdict_order[k];
        size_t kernels = 0;
        for (size_t i = 0; i < count; i++)
            kernels += lines[i].worst->result->verdict.kind == kind;
        if (!kernels)
            continue;
        buffer_printf(out, "%s%zu %s %s", separator, kernels, plural(kernels, "kernel", "kernels"),
                      verdict_kind_name(kind));
        separator = ", ";
    }
    buffer_puts(out, "\n\n");
    for (size_t i = 0; i < run->mix_count && i < KERNELS_SHOWN; i++) {
        buffer_printf(out, "%s ", view_symbol(run->mixes[i].kind));
        markdown_text(out, run->mixes[i].sentence, WORDS_LIMIT);
        buffer_puts(out, "\n\n");
    }
}

static void put_line(struct buffer *out, const struct line *line)
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
    } else if (line->series > 1) {
        buffer_printf(out, "the worst of %zu problems", line->series);
    }
    buffer_puts(out, " |\n");
}

static void put_unconfined(struct buffer *out, const struct run *run)
{
    char reason[VIEW_TEXT * 4];
    if (!run_unconfined(reason, sizeof(reason), run))
        return;
    buffer_puts(out, "**No sandbox:** builds and kernels were not confined: ");
    markdown_text(out, reason, WORDS_LIMIT);
    buffer_puts(out, ".\n\n");
}

static void put_lines(struct buffer *out, const struct line *lines, size_t count)
{
    buffer_puts(out,
                "| verdict | kernel | problem | timed | change | |\n|---|---|---|---|--:|---|\n");
    for (size_t i = 0; i < count && i < KERNELS_SHOWN; i++)
        put_line(out, &lines[i]);
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

static void put_toolchain(struct buffer *out, const struct run *run, enum sample_role role)
{
    if (!run->toolchain[role])
        return;
    buffer_printf(out, " --%s-toolchain ", role == ROLE_BASE ? "base" : "head");
    markdown_text(out, run->toolchain[role], NAME_LIMIT);
}

static void put_next(struct buffer *out, const struct run *run, const struct line *first)
{
    if (!run->base.id[0] || !run->head.id[0])
        return;
    buffer_puts(out, "<details><summary>Repeat, find or accept it</summary>\n\n"
                     "- again: <code>plumb gate --base ");
    put_id(out, run->base.id);
    buffer_puts(out, " --head ");
    put_id(out, run->head.id);
    put_toolchain(out, run, ROLE_BASE);
    put_toolchain(out, run, ROLE_HEAD);
    buffer_puts(out, "</code>\n");
    if (first && !run_names_toolchain(run) && isfinite(first->worst->change.value)) {
        buffer_puts(out, "- the commit that did it: <code>plumb bisect --good ");
        put_id(out, run->base.id);
        buffer_puts(out, " --bad ");
        put_id(out, run->head.id);
        buffer_puts(out, " --series ");
        markdown_text(out, first->worst->result->kernel, NAME_LIMIT);
        buffer_printf(out, "/%s</code>\n- intended: <code>plumb accept -m REASON ",
                      first->worst->problem);
        markdown_text(out, first->worst->result->kernel, NAME_LIMIT);
        buffer_puts(out, "</code>, and commit what it writes\n");
    }
    buffer_puts(out, "\n</details>\n\n");
}

static void put_foot(struct buffer *out, const struct run *run)
{
    buffer_printf(out, "%zu series", run->count);
    for (size_t i = 0; i < run->device_count && i < 4; i++) {
        buffer_puts(out, i ? ", " : " on ");
        markdown_text(out, run->devices[i].name, NAME_LIMIT);
    }
    buffer_puts(out, ", ");
    put_id(out, run->base.id);
    buffer_puts(out, "..");
    put_id(out, run->head.id);
    if (run->self_test.void_run)
        buffer_puts(out, ". **This run is void:** identical code was told apart");
    buffer_puts(out, ".\n");
}

static void put_unbuilt(struct buffer *out, const struct run *run)
{
    static const enum sample_role roles[] = {ROLE_HEAD, ROLE_BASE};
    for (size_t i = 0; i < ARRAY_COUNT(roles); i++) {
        struct buffer sentence = {0};
        if (!run->unbuilt[roles[i]].reason)
            continue;
        unbuilt_sentence(&sentence, run, roles[i]);
        markdown_text(out, sentence.bytes, CLEAN_LINE);
        buffer_puts(out, "\n\n");
        buffer_free(&sentence);
    }
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    struct view *views = view_all(run, context);
    struct line *lines = xcalloc(run->count + 1, sizeof(*lines));
    const size_t count = lines_of(lines, views, run->count);
    put_headline(out, run, lines, count);
    put_unconfined(out, run);
    put_unbuilt(out, run);
    if (count)
        put_lines(out, lines, count);
    put_next(out, run, count ? &lines[0] : NULL);
    put_foot(out, run);
    free(lines);
    free(views);
}

const struct report report_comment = {
    .name = "comment",
    .file = "comment.md",
    .why = "one short comment on a pull request: changes only",
    .write = write,
};
