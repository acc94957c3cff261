// SPDX-License-Identifier: Apache-2.0
//
// annotations.txt: GitHub workflow commands, one line each, which a job prints. GitHub shows at
// most 10 errors and 10 warnings of a step. So the worst come first, and the rest is only counted.
//
// In a command's message `%`, CR and LF are written %25, %0D, %0A; in a property also `:` and `,`
// (docs.github.com, "Workflow commands for GitHub Actions"). Cleaned text has no CR and no ESC, and
// a message is one line, so text from outside cannot start a command of its own.
#include "reports/view.h"

#include "reports/text/clean.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Whether a file's name belongs to the repository: it is relative and has no "..", so that GitHub
// can show the error next to the change.
static bool is_in_repository(const struct build_error *error)
{
    const char *at = error->file;
    if (!*at || *at == '/' || !error->line)
        return false;
    for (; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}

enum { SHOWN = 10 };

static void put_escaped(struct buffer *out, const char *text, bool property)
{
    struct buffer cleaned = {0};
    clean_line(&cleaned, text, CLEAN_LINE);
    for (size_t i = 0; i < cleaned.length; i++) {
        char c = cleaned.bytes[i];
        if (c == '%' || (property && (c == ':' || c == ',')))
            buffer_printf(out, "%%%02X", (unsigned)c);
        else
            buffer_add(out, &c, 1);
    }
    buffer_free(&cleaned);
}

static const char *level_of(const struct view *view)
{
    switch (view->outcome) {
    case OUTCOME_BROKEN:
    case OUTCOME_REGRESSED:
        return "error";
    case OUTCOME_UNDECIDED:
        return "warning";
    case OUTCOME_PASSED:
        break;
    }
    enum verdict_kind kind = view->result->verdict.kind;
    return kind == VERDICT_SAME ? NULL : "notice";
}

static void put_annotation(struct buffer *out, const struct view *view, const char *level)
{
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    struct buffer title = {0}, message = {0};
    buffer_printf(&title, "%s: %s %s", verdict_kind_name(view->result->verdict.kind),
                  view->result->kernel, view->problem);
    view_sentence(&message, view);
    buffer_printf(out, "::%s title=", level);
    put_escaped(out, title.bytes, true);
    buffer_puts(out, "::");
    put_escaped(out, message.bytes, false);
    if (!isnan(view->change.value)) {
        view_percent(change, view->change.value);
        view_interval(interval, view->change);
        buffer_puts(out, "%0Achange ");
        put_escaped(out, change, false);
        buffer_puts(out, ", interval ");
        put_escaped(out, interval, false);
    }
    buffer_puts(out, "\n");
    buffer_free(&title);
    buffer_free(&message);
}

// Writes an annotation for each place that the build's tools named, so that it stands next to the
// changed lines; or a single one if they named no place in the repository.
static size_t put_unbuilt(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    const char *level = role == ROLE_HEAD ? "error" : "warning";
    struct buffer sentence = {0};
    size_t count = 0;
    unbuilt_sentence(&sentence, run, role);
    for (size_t i = 0; role == ROLE_HEAD && i < f->count; i++) {
        if (!is_in_repository(&f->errors[i]))
            continue;
        buffer_printf(out, "::%s file=", level);
        put_escaped(out, f->errors[i].file, true);
        buffer_printf(out, ",line=%u,title=plumb: does not build::", f->errors[i].line);
        put_escaped(out, f->errors[i].text, false);
        buffer_puts(out, "\n");
        count++;
    }
    if (f->reason && !count) {
        buffer_printf(out, "::%s title=plumb::", level);
        put_escaped(out, sentence.bytes, false);
        for (size_t i = 0; i < f->count; i++) {
            struct buffer line = {0};
            unbuilt_error(&line, &f->errors[i]);
            buffer_puts(out, "%0A");
            put_escaped(out, line.bytes, false);
            buffer_free(&line);
        }
        buffer_puts(out, "\n");
        count++;
    }
    buffer_free(&sentence);
    return count;
}

static void put_lacks(struct buffer *out, const struct run *run)
{
    char reason[VIEW_TEXT * 4];
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        const struct run_lack_words *words = run_lack_words(lack);
        if (!run_lacks(reason, sizeof(reason), run, lack))
            continue;
        buffer_printf(out, "::%s title=%s::%s: ", lack == LACKS_SANDBOX ? "warning" : "notice",
                      words->title, words->what);
        put_escaped(out, reason, false);
        buffer_puts(out, "\n");
    }
}

// The level of what the policy asks beside series; NULL: nothing is written.
static const char *aside_level(enum verdict_kind kind)
{
    return kind == VERDICT_SLOWER                               ? "error"
           : kind == VERDICT_UNDECIDED                          ? "warning"
           : kind == VERDICT_FASTER || kind == VERDICT_ACCEPTED ? "notice"
                                                                : NULL;
}

static void put_aside(struct buffer *out, const char *level, const char *name, const char *word,
                      const char *sentence)
{
    buffer_printf(out, "::%s title=", level);
    put_escaped(out, name, true);
    buffer_printf(out, " %s::", word);
    put_escaped(out, sentence, false);
    buffer_puts(out, "\n");
}

static void put_rest(struct buffer *out, size_t shown, const char *what)
{
    if (shown > SHOWN)
        buffer_printf(out, "::notice title=plumb::%zu more %s in the report\n", shown - SHOWN,
                      what);
}

// Writes the mixes that a margin judges. One that is not known is told, for nobody else tells it.
static void put_mixes(struct buffer *out, const struct run *run)
{
    size_t shown = 0;
    for (size_t i = 0; i < run->mix_count; i++) {
        const struct mix_result *mix = &run->mixes[i];
        const char *level = mix->kind == VERDICT_NOT_MEASURED ? "notice" : aside_level(mix->kind);
        if (level && mix->margin > 0 && shown++ < SHOWN)
            put_aside(out, level, mix->name, verdict_kind_name(mix->kind), mix->sentence);
    }
    put_rest(out, shown, "mixes");
}

static void put_metrics(struct buffer *out, const struct run *run)
{
    size_t shown = 0;
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        const char *level = aside_level(m->kind);
        if (level && shown++ < SHOWN)
            put_aside(out, level, m->name, metric_word(m->kind), m->sentence);
    }
    put_rest(out, shown, "metrics");
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    static const char *const levels[] = {"error", "warning", "notice"};
    struct view *views = view_all(run, context);
    if (run->self_test.void_run)
        buffer_puts(out, "::error title=void run::identical code was told apart: this run decides "
                         "nothing. Measure again on a quiet machine\n");
    put_lacks(out, run);
    const size_t begun[] = {put_unbuilt(out, run, ROLE_HEAD), put_unbuilt(out, run, ROLE_BASE), 0};
    for (size_t l = 0; l < ARRAY_COUNT(levels); l++) {
        size_t count = begun[l];
        for (size_t i = 0; i < run->count; i++) {
            const char *level = level_of(&views[i]);
            if (level && level[0] == levels[l][0] && ++count <= SHOWN)
                put_annotation(out, &views[i], level);
        }
        if (count > SHOWN)
            buffer_printf(out, "::notice title=plumb::%zu more of level %s %s in the report\n",
                          count - SHOWN, levels[l], plural((uint64_t)(count - SHOWN), "is", "are"));
    }
    put_mixes(out, run);
    put_metrics(out, run);
    free(views);
}

const struct report report_annotations = {
    .name = "annotations",
    .file = "annotations.txt",
    .why = "GitHub workflow commands, for a job to print",
    .write = write,
};
