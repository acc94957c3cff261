// SPDX-License-Identifier: Apache-2.0
//
// comment.md: the text of one comment on a pull request. It has only changes, one line for each
// kernel with its worst problem, and the commands that repeat, find or accept them. The number of
// rows and the length of cells are limited, far below GitHub's 65,536 characters. The whole report
// is summary.md.
#include "reports/text/clean.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_SHOWN = 2, MIXES_SHOWN = 20, METRICS_SHOWN = 10, NAME_LIMIT = 80, WORDS_LIMIT = 160 };

// Writes how many kernels have each verdict, the worst first. Only two kinds are written, to keep
// the headline short.
static void put_counts(struct buffer *out, const struct kernel_verdict *lines, size_t count)
{
    size_t kinds = 0, others = 0;
    for (size_t k = 0; k < VERDICT_KINDS; k++) {
        const enum verdict_kind kind = verdict_order[k];
        size_t kernels = 0;
        for (size_t i = 0; i < count; i++)
            kernels += lines[i].worst->result->verdict.kind == kind;
        if (kernels && ++kinds > KINDS_SHOWN)
            others += kernels;
        else if (kernels)
            buffer_printf(out, "%s%zu %s %s", kinds == 1 ? ": " : ", ", kernels,
                          plural(kernels, "kernel", "kernels"), verdict_kind_name(kind));
    }
    if (others)
        buffer_printf(out, ", %zu %s", others, plural(others, "other", "others"));
}

static void put_headline(struct buffer *out, const struct run *run,
                         const struct kernel_verdict *lines, size_t count)
{
    static const char *const marks[] = {[CONCLUDE_OK] = "✅",
                                        [CONCLUDE_REGRESSION] = "🔺",
                                        [CONCLUDE_UNDECIDED] = "❔",
                                        [CONCLUDE_BROKEN] = "❌",
                                        [CONCLUDE_FAILED] = "⚠️"};
    buffer_printf(out, "### %s plumb: %s",
                  (size_t)run->conclusion < ARRAY_COUNT(marks) ? marks[run->conclusion] : "",
                  view_conclusion(run->conclusion));
    put_counts(out, lines, count);
    buffer_puts(out, "\n\n");
    for (size_t i = 0; i < run->mix_count && i < MIXES_SHOWN; i++) {
        buffer_printf(out, "%s ", view_symbol(run->mixes[i].kind));
        markdown_text(out, run->mixes[i].sentence, WORDS_LIMIT);
        buffer_puts(out, "\n\n");
    }
    if (run->mix_count > MIXES_SHOWN)
        buffer_printf(out, "and %zu more %s\n\n", run->mix_count - MIXES_SHOWN,
                      plural(run->mix_count - MIXES_SHOWN, "mix", "mixes"));
}

// Writes the metrics that moved. The worst of them fails the gate.
static void put_metrics(struct buffer *out, const struct run *run)
{
    size_t shown = 0, more = 0;
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        if (m->kind == VERDICT_SAME || m->kind == VERDICT_NEW)
            continue;
        if (shown == METRICS_SHOWN) {
            more++;
            continue;
        }
        buffer_printf(out, "%s%s ", shown++ ? "\n" : "", view_symbol(m->kind));
        markdown_text(out, m->sentence, WORDS_LIMIT);
        buffer_puts(out, "\n");
    }
    if (more)
        buffer_printf(out, "\nand %zu more %s\n", more, plural(more, "metric", "metrics"));
    if (shown)
        buffer_puts(out, "\n");
}

static void put_foot(struct buffer *out, const struct run *run,
                     const struct report_context *context)
{
    buffer_printf(out, "%zu series", run->count);
    for (size_t i = 0; i < run->device_count && i < 4; i++) {
        buffer_puts(out, i ? ", " : " on ");
        markdown_text(out, run->devices[i].name, NAME_LIMIT);
    }
    buffer_puts(out, ", ");
    changes_range(out, run, context);
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
    struct kernel_verdict *lines = xcalloc(run->count + 1, sizeof(*lines));
    const size_t count = changes_find(lines, views, run->count);
    put_headline(out, run, lines, count);
    changes_lacks(out, run, "", WORDS_LIMIT);
    put_unbuilt(out, run);
    put_metrics(out, run);
    if (count)
        changes_table(out, lines, count);
    changes_next(out, run, lines, count);
    put_foot(out, run, context);
    free(lines);
    free(views);
}

const struct report report_comment = {
    .name = "comment",
    .file = "comment.md",
    .why = "one short comment on a pull request: changes only",
    .write = write,
};
