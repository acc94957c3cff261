// SPDX-License-Identifier: Apache-2.0
//
// Computes once what all reports say about a series, and how numbers, times and dates are written.
// It judges nothing.
#include "reports/view.h"

#include "model/buffer.h"
#include "model/gate/gate.h"
#include "model/gate/verdict.h"
#include "model/result.h"
#include "reports/report.h"
#include "reports/text/clean.h"
#include "reports/text/markup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct device no_device = {"", "", "unknown device", "", "", ""};

static const struct report_series no_extra = {NAN, NULL, 0};

static double positive(double value)
{
    return value > 0 && isfinite(value) ? value : NAN;
}

static bool has_cause_outside(enum cause cause)
{
    return cause == CAUSE_ENVIRONMENT || cause == CAUSE_MODEL || cause == CAUSE_PLACEMENT;
}

// The outcome of a result. If it is slower for a reason outside the kernel, or broken on the base,
// too, it must not fail a change (cause_fails()). It does not pass either, because nothing is known
// about the kernel then.
static enum outcome outcome_of(const struct run *run, const struct result *result)
{
    const struct verdict *v = &result->verdict;
    if (v->kind == VERDICT_BROKEN)
        return cause_fails(v) ? OUTCOME_BROKEN : OUTCOME_UNDECIDED;
    if (v->kind == VERDICT_ACCEPTED)
        return OUTCOME_PASSED;
    if (v->kind == VERDICT_NOT_MEASURED)
        return OUTCOME_UNDECIDED;
    bool judged = v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER || v->kind == VERDICT_SAME;
    if (v->kind == VERDICT_UNDECIDED || (judged && run->self_test.void_run))
        return OUTCOME_UNDECIDED;
    if (v->kind == VERDICT_SLOWER)
        return cause_fails(v) ? OUTCOME_REGRESSED : OUTCOME_UNDECIDED;
    return OUTCOME_PASSED;
}

static void view_clocks(struct view *view)
{
    const struct measurement *head = &view->result->head;
    size_t throttled = 0;
    for (size_t i = 0; i < head->count; i++) {
        throttled += head->samples[i].throttle != THROTTLE_NONE;
        view->throttle |= head->samples[i].throttle;
    }
    view->throttled = head->count ? (double)throttled / (double)head->count : 0;
    view->head_hz = positive(measurement_clock_hz(head));
    view->base_hz = positive(measurement_clock_hz(&view->result->base));
}

static double measured_ns(const struct measurement *m)
{
    return m->state == MEASURED_OK ? positive(measurement_time_ns(m)) : NAN;
}

// Computes what the trimmed ratio does not show: launches that are slow now and then.
static void slow_ratios(struct view *view)
{
    struct arena arena = {0};
    const struct result *r = view->result;
    view->mean = view->p95 = NAN;
    if (r->verdict.pairs && gate_slow_ratios(&view->mean, &view->p95, &r->base, &r->head, &arena)) {
        view->mean -= 1;
        view->p95 -= 1;
    }
    arena_free(&arena);
}

static struct view view_one(const struct run *run, size_t index,
                            const struct report_context *context)
{
    const struct result *result = &run->results[index];
    const struct verdict *v = &result->verdict;
    struct view view = {.result = result, .index = index, .extra = &no_extra};
    if (context && context->series)
        view.extra = &context->series[index];
    view.device = result->device < run->device_count ? &run->devices[result->device] : &no_device;
    problem_format(view.problem, &result->problem);
    view.base_ns = measured_ns(&result->base);
    view.head_ns = measured_ns(&result->head);
    view.change = interval_relative(v->log_ratio);
    bool compared = v->pairs > 0 || v->log_ratio.value != 0 || v->log_ratio.high > v->log_ratio.low;
    if (!compared || v->kind == VERDICT_BROKEN || v->kind == VERDICT_NEW ||
        v->kind == VERDICT_NOT_MEASURED)
        view.change = interval_none;
    const struct prediction *p = &result->prediction;
    view.actual_predicted = p->feasible && p->time_ns > 0 ? view.head_ns / p->time_ns : NAN;
    view_clocks(&view);
    view.detectable = v->detectable > 0 ? expm1(v->detectable) : NAN;
    slow_ratios(&view);
    view.outcome = outcome_of(run, result);
    view.is_environment =
        (v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER) && has_cause_outside(v->cause);
    return view;
}

static int verdict_rank(enum verdict_kind kind)
{
    int rank = 0;
    while (verdict_order[rank] != kind)
        rank++;
    return rank;
}

static int by_importance(const void *left, const void *right)
{
    const struct view *a = left, *b = right;
    const bool accepted_a = a->result->verdict.kind == VERDICT_ACCEPTED;
    const bool accepted_b = b->result->verdict.kind == VERDICT_ACCEPTED;
    if (accepted_a != accepted_b)
        return accepted_a ? -1 : 1; // whoever reviews the change must see what it accepts
    if (a->outcome != b->outcome)
        return a->outcome < b->outcome ? -1 : 1;
    int rank = verdict_rank(a->result->verdict.kind) - verdict_rank(b->result->verdict.kind);
    if (rank)
        return rank;
    double size_a = isnan(a->change.value) ? 0 : fabs(a->change.value);
    double size_b = isnan(b->change.value) ? 0 : fabs(b->change.value);
    if (size_a != size_b)
        return size_a > size_b ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

struct view *view_all(const struct run *run, const struct report_context *context)
{
    struct view *views = xcalloc(run->count ? run->count : 1, sizeof(*views));
    for (size_t i = 0; i < run->count; i++)
        views[i] = view_one(run, i, context);
    qsort(views, run->count, sizeof(*views), by_importance);
    return views;
}

void view_sentence(struct buffer *out, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    if (v->sentence && v->sentence[0]) {
        buffer_puts(out, v->sentence);
        return;
    }
    buffer_puts(out, verdict_kind_name(v->kind));
    if (v->kind == VERDICT_BROKEN)
        buffer_printf(out, ": %s", measurement_state_name(view->result->head.state));
    if (isnan(view->change.value))
        return;
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    buffer_printf(out, ": %s, %g %% interval %s, margin %.2g %%", change, v->confidence * 100,
                  interval, v->margin * 100);
}

bool view_commit_link(struct buffer *out, const char *url, const char *id)
{
    bool web = url && (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0);
    if (!web || id[0] == '\0' || id[strspn(id, "0123456789abcdef")] != '\0')
        return false;
    const char *place = strstr(url, "%s");
    if (place)
        buffer_printf(out, "%.*s%s%s", (int)(place - url), url, id, place + 2);
    else
        buffer_printf(out, "%s%s", url, id);
    return true;
}

void view_commit(struct markup *m, const char *url, const char *id)
{
    char shown[VIEW_TEXT];
    struct buffer href = {0};
    const bool linked = view_commit_link(&href, url, id);
    view_short_id(shown, id);
    markup_open(m, linked ? "a" : "span", "mono");
    markup_attr(m, "href", href.bytes);
    markup_text(m, shown);
    markup_end(m);
    buffer_free(&href);
}

void view_reason(struct buffer *out, const struct view *view)
{
    struct buffer sentence = {0}, name = {0};
    char problem[PROBLEM_TEXT];
    // The sentence has the regime in words, after the problem.
    const struct problem without = problem_in(&view->result->problem, REGIME_COLD);
    problem_format(problem, &without);
    view_sentence(&sentence, view);
    buffer_printf(&name, "%s %s ", view->result->kernel, problem);
    bool named = strncmp(sentence.bytes, name.bytes, name.length) == 0;
    buffer_puts(out, sentence.bytes + (named ? name.length : 0));
    buffer_free(&sentence);
    buffer_free(&name);
}

// Whether a clause of a sentence consists of these words and a number.
static bool is_number_of(const char *clause, const char *words)
{
    const size_t length = strlen(words);
    return strncmp(clause, words, length) == 0 && clause[length] &&
           strchr("+-0123456789", clause[length]);
}

// Whether a clause gives the size or the odds: "slower in a stream: +1.39 % (...), 48 pairs", "odds
// against chance 1e13", "at a clock +0.09 %, so +1.49 % in cycles", "alone +1.2 % (...)". Columns
// beside it have these already.
static bool is_size(const char *clause, const struct result *r)
{
    char begins[64], bare[64];
    const char *kind = verdict_kind_name(r->verdict.kind);
    snprintf(begins, sizeof(begins), "%s %s: ", kind, regime_words(r->problem.regime));
    // Runs of older tools have no words for `cold`.
    snprintf(bare, sizeof(bare), "%s: ", kind);
    bool size = is_number_of(clause, begins) || is_number_of(clause, bare) ||
                strncmp(clause, "odds against chance ", 20) == 0 ||
                strncmp(clause, "at a clock ", 11) == 0;
    for (int i = 0; i < REGIMES && !size; i++) {
        snprintf(begins, sizeof(begins), "%s ", regime_words((enum regime)i));
        size = is_number_of(clause, begins);
    }
    return size;
}

void view_why(struct buffer *out, const struct view *view)
{
    struct buffer reason = {0};
    const char *clause;
    view_reason(&reason, view);
    buffer_puts(out, "");
    for (clause = reason.bytes; clause && isfinite(view->change.value);) {
        const char *end = strstr(clause, "; ");
        if (!is_size(clause, view->result))
            break;
        clause = end ? end + 2 : NULL;
    }
    if (clause)
        buffer_puts(out, clause);
    else if (view->result->base_code[0] && !view_same_code(view))
        buffer_puts(out, "its machine code changed");
    buffer_free(&reason);
}

// ---- what to type next ----

enum { WORD_LIMIT = 80 };

static void put_word(struct buffer *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=+/-";
    struct buffer cleaned = {0};
    buffer_puts(&cleaned, "");
    clean_line(&cleaned, text, WORD_LIMIT);
    const bool quoted = strspn(cleaned.bytes, plain) < cleaned.length || !cleaned.length;
    buffer_puts(out, quoted ? "'" : "");
    for (const char *c = cleaned.bytes; *c; c++)
        *c == '\'' ? buffer_puts(out, "'\\''") : buffer_add(out, c, 1);
    buffer_puts(out, quoted ? "'" : "");
    buffer_free(&cleaned);
}

static void put_range(struct buffer *out, const struct run *run, const char *first,
                      const char *second)
{
    char base[VIEW_TEXT], head[VIEW_TEXT];
    view_short_id(base, run->base.id);
    view_short_id(head, run->head.id);
    buffer_printf(out, "plumb %s %s %s %s", first, base, second, head);
}

void view_commands(struct view_commands *out, const struct run *run, const struct view *worst)
{
    static const char *const options[] = {[ROLE_BASE] = "base", [ROLE_HEAD] = "head"};
    *out = (struct view_commands){0};
    if (!run->base.id[0] || !run->head.id[0])
        return;
    put_range(&out->again, run, "gate --base", "--head");
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++) {
        if (!run->toolchain[role])
            continue;
        buffer_printf(&out->again, " --%s-toolchain ", options[role]);
        put_word(&out->again, run->toolchain[role]);
    }
    if (!worst || run_names_toolchain(run))
        return;
    put_range(&out->bisect, run, "bisect --good", "--bad");
    buffer_puts(&out->bisect, " --series ");
    put_word(&out->bisect, worst->result->kernel);
    buffer_printf(&out->bisect, "/%s", worst->problem);
    buffer_puts(&out->accept, "plumb accept -m REASON ");
    put_word(&out->accept, worst->result->kernel);
}

void view_commands_free(struct view_commands *commands)
{
    buffer_free(&commands->again);
    buffer_free(&commands->bisect);
    buffer_free(&commands->accept);
}

bool view_same_code(const struct view *view)
{
    const struct result *r = view->result;
    return r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
}

bool view_has_moved(const struct view *view)
{
    const enum verdict_kind kind = view->result->verdict.kind;
    return (kind == VERDICT_SLOWER || kind == VERDICT_FASTER) && isfinite(view->change.value);
}

bool view_is_identical(const struct view *view)
{
    return view->result->verdict.kind == VERDICT_SAME && view_same_code(view) &&
           isnan(view->change.value) && isnan(view->head_ns);
}

const char *view_detail(const struct view *view)
{
    const struct result *r = view->result;
    const struct measurement *m =
        r->head.state != MEASURED_OK || !r->base.detail ? &r->head : &r->base;
    if (r->head.detail && r->head.detail[0])
        m = &r->head;
    return m->detail ? m->detail : "";
}

const char *view_since(const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    bool moved = r->verdict.kind == VERDICT_SLOWER || r->verdict.kind == VERDICT_FASTER ||
                 r->verdict.kind == VERDICT_BROKEN;
    if (run->base.id[0])
        return moved && !view->is_environment && strcmp(run->head.parent, run->base.id) == 0
                   ? run->head.id
                   : NULL;
    if (view->extra->change_count == 0)
        return NULL;
    size_t index = view->extra->changes[view->extra->change_count - 1].index;
    return index < r->history.count ? r->history.points[index].commit : NULL;
}

void view_prediction(struct buffer *out, const struct prediction *p, double actual_predicted)
{
    char time[VIEW_TEXT], clock[VIEW_TEXT];
    const char *version = p->version ? p->version : "";
    if (!p->feasible) {
        buffer_printf(out, "none by %.60s %.20s: %.200s", p->model, version,
                      p->why ? p->why : "not feasible");
        return;
    }
    view_time(time, p->time_ns);
    view_clock(clock, p->clock_hz);
    buffer_printf(out, "%s at %s by %.60s %.20s, bound by %s", time, clock, p->model, version,
                  bound_name(p->bound));
    if (p->bias_rows)
        buffer_printf(out, ", with a bias fitted to %u measured %s", p->bias_rows,
                      plural(p->bias_rows, "time", "times"));
    if (isfinite(actual_predicted))
        buffer_printf(out, "; actual / predicted %.3f", actual_predicted);
    if (p->band_95 > 0)
        buffer_printf(out, ", of which 95 of 100 lie within %.3g to %.3g", exp(-p->band_95),
                      exp(p->band_95));
}

void view_time(char out[VIEW_TEXT], double time_ns)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    size_t u = 0;
    if (!isfinite(time_ns)) {
        snprintf(out, VIEW_TEXT, "-");
        return;
    }
    while (u + 1 < ARRAY_COUNT(units) && fabs(time_ns) < units[u].scale)
        u++;
    double value = time_ns / units[u].scale;
    int decimals = fabs(value) >= 999.5   ? 0
                   : fabs(value) >= 99.95 ? 1
                   : fabs(value) >= 9.995 ? 2
                                          : 3;
    snprintf(out, VIEW_TEXT, "%.*f %s", decimals, value, units[u].unit);
}

// Writes a percentage with U+2212 as its minus sign: a hyphen in front of a figure is easily
// missed.
static int signed_percent(char *out, size_t size, double relative)
{
    double percent = relative * 100;
    int decimals = fabs(percent) >= 99.5 ? 0 : fabs(percent) >= 9.995 ? 1 : 2;
    const char *sign = relative < 0 ? "−" : "+";
    return snprintf(out, size, "%s%.*f", sign, decimals, fabs(percent));
}

void view_percent(char out[VIEW_TEXT], double relative)
{
    if (!isfinite(relative)) {
        snprintf(out, VIEW_TEXT, "-");
        return;
    }
    int length = signed_percent(out, VIEW_TEXT, relative);
    snprintf(out + length, VIEW_TEXT - (size_t)length, " %%");
}

void view_interval(char out[VIEW_TEXT], struct interval relative)
{
    char low[VIEW_TEXT / 2], high[VIEW_TEXT / 2];
    if (isnan(relative.low) || isnan(relative.high)) {
        snprintf(out, VIEW_TEXT, "-");
        return;
    }
    signed_percent(low, sizeof(low), relative.low);
    signed_percent(high, sizeof(high), relative.high);
    snprintf(out, VIEW_TEXT, "[%.24s, %.24s] %%", low, high);
}

void view_slow(char out[VIEW_TEXT], const struct view *view)
{
    char mean[VIEW_TEXT / 2], p95[VIEW_TEXT / 2];
    snprintf(out, VIEW_TEXT, "-");
    if (isnan(view->mean) || isnan(view->p95))
        return;
    signed_percent(mean, sizeof(mean), view->mean);
    signed_percent(p95, sizeof(p95), view->p95);
    snprintf(out, VIEW_TEXT, "%.24s, %.24s %%", mean, p95);
}

void view_metric_value(char out[VIEW_TEXT], double value, const char *unit)
{
    const bool whole = fabs(value - round(value)) < 1e-9;
    if (!isfinite(value))
        snprintf(out, VIEW_TEXT, "-");
    else
        snprintf(out, VIEW_TEXT, whole ? "%.0f%s%.8s" : "%.3g%s%.8s", value, *unit ? " " : "",
                 unit);
}

void view_metric(char values[2][VIEW_TEXT], char margin[VIEW_TEXT],
                 const struct metric_result *metric)
{
    char unit[VIEW_TEXT];
    snprintf(unit, sizeof(unit), "%s",
             strspn(metric->unit, "Bs") == strlen(metric->unit) ? metric->unit : "");
    view_metric_value(values[ROLE_BASE], metric->base, unit);
    view_metric_value(values[ROLE_HEAD], metric->head, unit);
    snprintf(margin, VIEW_TEXT, "%g %%", 100 * metric->margin);
}

void view_clock(char out[VIEW_TEXT], double clock_hz)
{
    if (!(clock_hz > 0) || !isfinite(clock_hz))
        snprintf(out, VIEW_TEXT, "-");
    else
        snprintf(out, VIEW_TEXT, "%.3f GHz", clock_hz / 1e9);
}

void view_date(char out[VIEW_TEXT], int64_t time_s)
{
    struct tm tm;
    time_t when = (time_t)time_s;
    if (time_s <= 0 || !gmtime_r(&when, &tm) ||
        !strftime(out, VIEW_TEXT, "%Y-%m-%d %H:%M UTC", &tm))
        snprintf(out, VIEW_TEXT, "-");
}

void view_short_id(char out[VIEW_TEXT], const char *id)
{
    snprintf(out, VIEW_TEXT, "%.10s", id);
}

const char *view_symbol(enum verdict_kind kind)
{
    static const char *const symbols[VERDICT_KINDS] = {
        [VERDICT_NOT_MEASURED] = "–", [VERDICT_SAME] = "=",      [VERDICT_SLOWER] = "▲",
        [VERDICT_FASTER] = "▼",       [VERDICT_UNDECIDED] = "?", [VERDICT_BROKEN] = "✕",
        [VERDICT_NEW] = "+",          [VERDICT_ACCEPTED] = "✓",
    };
    return symbols[kind];
}

const char *view_conclusion(enum conclusion conclusion)
{
    static const char *const names[] = {
        [CONCLUDE_OK] = "no regression",       [CONCLUDE_REGRESSION] = "regression",
        [CONCLUDE_UNDECIDED] = "undecided",    [CONCLUDE_BROKEN] = "broken",
        [CONCLUDE_FAILED] = "the tool failed",
    };
    return (size_t)conclusion < ARRAY_COUNT(names) ? names[conclusion] : "unknown";
}

void view_throttle(char out[VIEW_TEXT], uint8_t bits)
{
    snprintf(out, VIEW_TEXT, "%s%s%s%s%s", bits & THROTTLE_POWER ? "power" : "",
             bits & THROTTLE_POWER && bits & ~THROTTLE_POWER ? ", " : "",
             bits & THROTTLE_THERMAL ? "thermal" : "",
             bits & THROTTLE_THERMAL && bits & THROTTLE_OTHER ? ", " : "",
             bits & THROTTLE_OTHER ? "other"
             : bits                ? ""
                                   : "none");
}

// ---- a commit that does not build ----

// Whether some libraries of a commit were built although another one was not.
static bool some_built(const struct run *run, enum sample_role role)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (role == ROLE_BASE ? r->base_code[0] : r->head_code[0])
            return true;
    }
    return false;
}

void unbuilt_sentence(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    if (!f->reason)
        return;
    buffer_printf(out, "%s %.10s does not build: %s", role == ROLE_BASE ? "base" : "commit",
                  role == ROLE_BASE ? run->base.id : run->head.id, f->reason);
    if (some_built(run, role))
        buffer_puts(out, "; the libraries that were built all the same are judged");
    else if (role == ROLE_BASE)
        buffer_puts(out, "; there is nothing to compare with");
}

void unbuilt_error(struct buffer *out, const struct build_error *error)
{
    if (error->file[0] && error->line)
        buffer_printf(out, "%s:%u: ", error->file, error->line);
    buffer_puts(out, error->text);
}

void unbuilt_text(struct buffer *out, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    if (!f->reason)
        return;
    unbuilt_sentence(out, run, role);
    buffer_puts(out, "\n");
    for (size_t i = 0; i < f->count; i++) {
        unbuilt_error(out, &f->errors[i]);
        buffer_puts(out, "\n");
    }
    if (f->log[0])
        buffer_printf(out, "log: %s\n", f->log);
}

// ---- open events ----

void open_events_title(struct buffer *out, const struct report_events *events)
{
    size_t fail = 0;
    for (size_t i = 0; i < events->count; i++)
        fail += events->items[i].slowdown;
    if (!events->count) {
        buffer_puts(out, "No event is open");
        return;
    }
    buffer_printf(out, "%zu %s open", events->count,
                  plural(events->count, "event is", "events are"));
    if (fail)
        buffer_printf(out, ", %zu of them slower by a kernel's change", fail);
}

void open_event_cause(struct buffer *out, const struct report_event *e)
{
    buffer_puts(out,
                attribution_name(e->cause == ATTRIBUTION_NONE ? ATTRIBUTION_KERNEL : e->cause));
    if (e->what && !strstr(e->sentence, e->what))
        buffer_printf(out, ": %s", e->what);
}

void taken_text(struct buffer *out, const struct event_taken *taken)
{
    char when[VIEW_TEXT];
    view_date(when, taken->when_s);
    if (taken->who)
        buffer_printf(out, "; %s is on it since %.10s", taken->who, when);
}

void taken_json(struct json *json, const struct event_taken *taken)
{
    json_clean(json, "taken_by", taken->who);
    json_time(json, "taken_s", taken->when_s);
    json_clean(json, "taken_why", taken->why);
}

// ==== changes, for people in a hurry ====
//
// Writes changes as Markdown: a line for each kernel, then the commands to type next. Untrusted
// text cannot leave its cell.

enum { KERNELS_SHOWN = 20, NAME_LIMIT = 80, WORDS_LIMIT = 160 };

static bool worth_a_line(const struct view *view)
{
    return view->outcome != OUTCOME_PASSED || view->result->verdict.kind != VERDICT_SAME;
}

// Views come worst first, so the first one of a kernel and a verdict is its worst.
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
            buffer_printf(out, " (%zu series)", line->series);
    } else if (line->series > 1) {
        buffer_printf(out, "the worst of %zu series", line->series);
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

// Appends a link to the forge's page that compares two commits; its address resembles that of one
// commit's page.
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
