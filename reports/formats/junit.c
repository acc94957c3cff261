// SPDX-License-Identifier: Apache-2.0
//
// junit.xml for Jenkins, GitLab and GitHub: one testsuite per kernel, one testcase per problem.
// A verdict becomes
//   an error    if the kernel is broken;
//   a failure   if it is slower because of the kernel;
//   skipped     with the reason, if it is undecided or not measured, broken on the base, too, or
//               slower for a reason outside the kernel;
//   a pass      if it is same, faster, new or accepted.
// As in every test report, `time` is the number of seconds spent, here by the kernels. A launch's
// time is in the text, because readers accept no more than three decimals. A run whose own A/A
// failed is an error of the suite "self-test", because nothing else in it counts; a head that does
// not build is an error of the suite "build". Each open event is a case of the suite "events": a
// failure if a kernel caused it, is slower, and this is confirmed, until somebody accepts,
// dismisses or mends it.
//
// Element order, attributes and numbers follow junit-10.xsd of Jenkins' xUnit plugin, the strictest
// reader, in all releases from 2.2.2 on.

#include "reports/text/markup.h"
#include "reports/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- one series in plain text; the run has its clauses about code ----

static void explain_change(struct buffer *out, const struct view *view)
{
    const struct verdict *v = &view->result->verdict;
    char change[VIEW_TEXT], interval[VIEW_TEXT];
    if (isnan(view->change.value))
        return;
    view_percent(change, view->change.value);
    view_interval(interval, view->change);
    buffer_printf(out, "change: %s, %g %% interval %s, margin %.2g %%\n", change,
                  v->confidence * 100, interval, v->margin * 100);
    if (isfinite(view->mean))
        buffer_printf(out, "slow launches: mean %+.2f %%, 95th percentile %+.2f %%\n",
                      100 * view->mean, 100 * view->p95);
    buffer_printf(out, "evidence: 10^%.1f against no change, %u %s in %u %s\n",
                  v->log_evidence / M_LN10, v->pairs, plural(v->pairs, "pair", "pairs"),
                  v->processes, plural(v->processes, "process", "processes"));
}

static void explain_time(struct buffer *out, const char *name, const struct measurement *m,
                         double time_ns, double clock_hz, const char *commit)
{
    char time[VIEW_TEXT], clock[VIEW_TEXT], id[VIEW_TEXT];
    view_time(time, time_ns);
    view_clock(clock, clock_hz);
    view_short_id(id, commit);
    if (m->state == MEASURED_NOT_TAKEN)
        return;
    if (m->state != MEASURED_OK)
        buffer_printf(out, "%s: %s, commit %s\n", name, measurement_state_name(m->state), id);
    else if (isfinite(time_ns))
        buffer_printf(out, "%s: %s at %s, %zu %s, commit %s\n", name, time, clock, m->count,
                      plural(m->count, "sample", "samples"), id);
}

static void explain_prediction(struct buffer *out, const struct view *view)
{
    const struct prediction *p = &view->result->prediction;
    char time[VIEW_TEXT];
    if (!p->model)
        return;
    buffer_puts(out, "prediction: ");
    view_prediction(out, p, view->actual_predicted);
    buffer_puts(out, "\n");
    for (size_t i = 0; i < p->part_count && p->feasible; i++) {
        view_time(time, p->parts[i].time_ns);
        buffer_printf(out, "%s%s %s", i ? ", " : "parts: ", p->parts[i].name, time);
    }
    buffer_puts(out, p->part_count && p->feasible ? "\n" : "");
}

static void explain_code(struct buffer *out, const struct view *view)
{
    const struct result *r = view->result;
    if (view_same_code(view))
        buffer_printf(out, "code: identical (%.16s)\n", r->head_code);
    else if (r->base_code[0] && r->head_code[0])
        buffer_printf(out, "code: changed (%.16s to %.16s)\n", r->base_code, r->head_code);
}

// Writes lines of "what: value". The caller's format cleans the text.
static void explain_series(struct buffer *out, const struct view *view, const struct run *run)
{
    const struct result *r = view->result;
    char throttle[VIEW_TEXT];
    buffer_printf(out, "verdict: %s\ncause: %s\n", verdict_kind_name(r->verdict.kind),
                  cause_name(r->verdict.cause));
    view_sentence(out, view);
    buffer_puts(out, "\n");
    if (r->verdict.explanation && r->verdict.explanation[0])
        buffer_printf(out, "%s\n", r->verdict.explanation);
    explain_change(out, view);
    if (run->base.id[0])
        explain_time(out, "base", &r->base, view->base_ns, view->base_hz, run->base.id);
    explain_time(out, "head", &r->head, view->head_ns, view->head_hz, run->head.id);
    explain_prediction(out, view);
    view_throttle(throttle, view->throttle);
    if (r->head.count)
        buffer_printf(out, "clocks: %.0f %% of head samples throttled (%s)\n",
                      view->throttled * 100, throttle);
    explain_code(out, view);
    buffer_printf(out, "device: %s (%s), driver %s, runtime %s\n", view->device->name,
                  view->device->uuid, view->device->driver, view->device->runtime);
    if (result_timed(r)[0])
        buffer_printf(out, "timed: %s%s\n", result_timed(r), result_timed_note(r, view->device));
    if (r->head.regime)
        buffer_printf(out, "regime: %s\n", r->head.regime);
    const char *detail = view_detail(view);
    if (detail[0])
        buffer_printf(out, "detail: %s\n", detail);
}

struct suite_tally {
    size_t tests, failures, errors, skipped;
    double time_s;
};

static double spent_s(const struct measurement *m)
{
    double sum_ns = 0;
    for (size_t i = 0; i < m->count; i++)
        sum_ns += m->samples[i].time_ns * m->samples[i].launches;
    return isfinite(sum_ns) && sum_ns > 0 ? sum_ns / 1e9 : 0;
}

// The time of a case. A measurement that was taken from another run counts as 0 here.
static double case_time_s(const struct view *view)
{
    if (view->result->reused)
        return 0;
    return spent_s(&view->result->base) + spent_s(&view->result->head);
}

static void write_time(struct markup *m, double time_s)
{
    markup_attrf(m, "time", "%.3f", time_s);
}

static void tally_add(struct suite_tally *tally, const struct view *view)
{
    tally->tests++;
    tally->errors += view->outcome == OUTCOME_BROKEN;
    tally->failures += view->outcome == OUTCOME_REGRESSED;
    tally->skipped += view->outcome == OUTCOME_UNDECIDED;
    tally->time_s += case_time_s(view);
}

static int by_kernel(const void *left, const void *right)
{
    const struct view *a = left, *b = right;
    int order = strcmp(a->result->kernel, b->result->kernel);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

// The schema does not allow `skipped` on the root.
static void write_tally(struct markup *m, const struct suite_tally *tally, bool is_root)
{
    markup_attrf(m, "tests", "%zu", tally->tests);
    markup_attrf(m, "failures", "%zu", tally->failures);
    markup_attrf(m, "errors", "%zu", tally->errors);
    if (!is_root)
        markup_attrf(m, "skipped", "%zu", tally->skipped);
    write_time(m, tally->time_s);
}

static void write_property(struct markup *m, const char *name, const char *value)
{
    markup_start(m, "property");
    markup_attr(m, "name", name);
    markup_attr(m, "value", value ? value : "");
    markup_end(m);
}

static void write_properties(struct markup *m, const struct run *run)
{
    char overlay[200], reason[VIEW_TEXT * 4];
    markup_start(m, "properties");
    write_property(m, "tool", run->tool_version);
    write_property(m, "base", run->base.id);
    write_property(m, "head", run->head.id);
    if (run_names_toolchain(run)) {
        if (run->base.id[0])
            write_property(m, "base-toolchain", run_toolchain(run, ROLE_BASE));
        write_property(m, "head-toolchain", run_toolchain(run, ROLE_HEAD));
    }
    if (run_policy(reason, sizeof(reason), run))
        write_property(m, "policy", reason);
    if (run_overlay(overlay, sizeof(overlay), run))
        write_property(m, "overlay", overlay);
    for (enum run_lack lack = 0; lack < RUN_LACKS; lack++) {
        if (run_lacks(reason, sizeof(reason), run, lack))
            write_property(m, run_lack_words(lack)->name, reason);
    }
    write_property(m, "conclusion", view_conclusion(run->conclusion));
    markup_end(m);
}

static void write_outcome(struct markup *m, const struct view *view, const struct run *run,
                          const char *body)
{
    static const char *const elements[] = {
        [OUTCOME_BROKEN] = "error",
        [OUTCOME_REGRESSED] = "failure",
        [OUTCOME_UNDECIDED] = "skipped",
        [OUTCOME_PASSED] = "system-out",
    };
    struct buffer message = {0};
    if (run->self_test.void_run && view->outcome == OUTCOME_UNDECIDED)
        buffer_puts(&message, "void run (its own A/A test failed): ");
    view_sentence(&message, view);
    markup_start(m, elements[view->outcome]);
    if (view->outcome != OUTCOME_PASSED) {
        markup_attr(m, "type", verdict_kind_name(view->result->verdict.kind));
        markup_attr(m, "message", message.bytes);
    }
    markup_text(m, body);
    markup_end(m);
    buffer_free(&message);
}

// Writes a case. The device is part of its name only if there are several devices, because readers
// identify a case by its name.
static void write_case(struct markup *m, const struct view *view, const struct run *run)
{
    struct buffer body = {0};
    explain_series(&body, view, run);
    markup_start(m, "testcase");
    markup_attrf(m, "classname", "plumb.%s", view->result->kernel);
    if (run->device_count > 1)
        markup_attrf(m, "name", "%s on %s (%.12s)", view->problem, view->device->name,
                     view->device->uuid);
    else
        markup_attr(m, "name", view->problem);
    write_time(m, case_time_s(view));
    write_outcome(m, view, run, body.bytes);
    markup_end(m);
    buffer_free(&body);
}

static void write_suite(struct markup *m, const struct view *views, size_t count,
                        const struct run *run)
{
    struct suite_tally tally = {0};
    struct tm tm;
    char when[32] = "";
    time_t started = (time_t)run->started_s;
    for (size_t i = 0; i < count; i++)
        tally_add(&tally, &views[i]);
    if (gmtime_r(&started, &tm))
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    markup_start(m, "testsuite");
    markup_attr(m, "name", views[0].result->kernel);
    write_tally(m, &tally, false);
    markup_attr(m, "timestamp", when);
    write_properties(m, run);
    for (size_t i = 0; i < count; i++)
        write_case(m, &views[i], run);
    markup_end(m);
}

// Cases that belong to no series: statements about the run, sorted by suite.
struct suite_aside {
    const char *suite, *name;
    const char *element; // "error", "failure", "skipped"; "system-out" if the case passes
    const char *type;    // not used for "system-out"
    struct buffer class, message,
        body; // untrusted text; class "": the suite's; body "": the message
};

struct asides {
    struct suite_aside *items;
    size_t count;
};

static struct suite_aside *add_aside(struct asides *asides, const char *suite, const char *name,
                                     const char *element, const char *type)
{
    struct suite_aside *a = &asides->items[asides->count++];
    *a = (struct suite_aside){.suite = suite, .name = name, .element = element, .type = type};
    return a;
}

static void count_aside(struct suite_tally *tally, const struct suite_aside *a)
{
    tally->tests++;
    tally->errors += strcmp(a->element, "error") == 0;
    tally->failures += strcmp(a->element, "failure") == 0;
    tally->skipped += strcmp(a->element, "skipped") == 0;
}

static void write_aside(struct markup *m, const struct suite_aside *a)
{
    markup_start(m, "testcase");
    markup_attrf(m, "classname", "plumb.%s", a->class.bytes ? a->class.bytes : a->suite);
    markup_attr(m, "name", a->name);
    write_time(m, 0);
    markup_start(m, a->element);
    if (strcmp(a->element, "system-out") != 0) {
        markup_attr(m, "type", a->type);
        markup_attr(m, "message", a->message.bytes);
    }
    markup_text(m, a->body.bytes ? a->body.bytes : a->message.bytes);
    markup_end(m);
    markup_end(m);
}

static void write_asides(struct markup *m, const struct asides *asides)
{
    for (size_t i = 0, next; i < asides->count; i = next) {
        const char *suite = asides->items[i].suite;
        struct suite_tally tally = {0};
        for (next = i; next < asides->count && strcmp(asides->items[next].suite, suite) == 0;
             next++)
            count_aside(&tally, &asides->items[next]);
        markup_start(m, "testsuite");
        markup_attr(m, "name", suite);
        write_tally(m, &tally, false);
        for (size_t k = i; k < next; k++)
            write_aside(m, &asides->items[k]);
        markup_end(m);
    }
}

static void free_asides(struct asides *asides)
{
    for (size_t i = 0; i < asides->count; i++) {
        buffer_free(&asides->items[i].class);
        buffer_free(&asides->items[i].message);
        buffer_free(&asides->items[i].body);
    }
    free(asides->items);
}

static void add_mixes(struct asides *asides, const struct run *run)
{
    for (size_t i = 0; i < run->mix_count; i++) {
        const struct mix_result *mix = &run->mixes[i];
        const bool fails = mix->kind == VERDICT_SLOWER && mix->margin > 0;
        const bool open = mix->kind == VERDICT_NOT_MEASURED ||
                          (mix->kind == VERDICT_UNDECIDED && mix->margin > 0);
        struct suite_aside *a = add_aside(asides, "mixes", mix->kernel,
                                          open    ? "skipped"
                                          : fails ? "failure"
                                                  : "system-out",
                                          verdict_kind_name(mix->kind));
        buffer_printf(&a->class, "mix.%s%s%s", mix->name, mix->regime ? "." : "",
                      mix->regime ? regime_name(mix->regime) : "");
        buffer_puts(&a->message, mix->sentence);
    }
}

static void add_metrics(struct asides *asides, const struct run *run)
{
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        struct suite_aside *a = add_aside(
            asides, "metrics", m->subject,
            m->kind == VERDICT_SLOWER                                         ? "failure"
            : m->kind == VERDICT_NOT_MEASURED || m->kind == VERDICT_UNDECIDED ? "skipped"
                                                                              : "system-out",
            metric_word(m->kind));
        buffer_printf(&a->class, "metric.%s", m->name);
        buffer_puts(&a->message, m->sentence);
    }
}

// Writes the whole text of an event in one line.
static void write_event_text(struct buffer *out, const struct report_event *e)
{
    buffer_printf(out, "%s: %s; ", event_state_name(e->state), e->sentence);
    if (e->commit.id[0] && e->commits > 1)
        buffer_printf(out, "since one of %zu commits, most likely %.10s %s; ", e->commits,
                      e->commit.id, e->commit.summary);
    else if (e->commit.id[0])
        buffer_printf(out, "since %.10s %s; ", e->commit.id, e->commit.summary);
    buffer_puts(out, "cause ");
    open_event_cause(out, e);
    taken_text(out, &e->taken);
}

static void add_events(struct asides *asides, const struct report_events *events)
{
    for (size_t i = 0; i < events->count; i++) {
        const struct report_event *e = &events->items[i];
        struct suite_aside *a = add_aside(asides, "events", e->name,
                                          e->slowdown        ? "failure"
                                          : e->log_ratio > 0 ? "skipped"
                                                             : "system-out",
                                          event_state_name(e->state));
        write_event_text(&a->message, e);
    }
    if (events->known && events->count == 0) {
        struct suite_aside *a = add_aside(asides, "events", "open", "system-out", NULL);
        open_events_title(&a->message, events);
    }
}

static void add_self_test(struct asides *asides, const struct self_test *test)
{
    if (!test->series)
        return;
    struct suite_aside *a =
        add_aside(asides, "self-test", "A/A", test->void_run ? "error" : "system-out", "void");
    buffer_puts(&a->message, "identical code was told apart: this run decides nothing");
    buffer_printf(&a->body, "%u series of identical code compared with themselves, %u told apart\n",
                  test->series, test->alarms);
}

// A base that does not build is not this change's fault, so the case is skipped, with the reason.
static void add_unbuilt(struct asides *asides, const struct run *run, enum sample_role role)
{
    const struct build_failure *f = &run->unbuilt[role];
    const bool head = role == ROLE_HEAD;
    if (!f->reason)
        return;
    struct suite_aside *a = add_aside(asides, "build", head ? "head" : "base",
                                      head ? "error" : "skipped", "unbuildable");
    unbuilt_sentence(&a->message, run, role);
    if (f->count) {
        buffer_puts(&a->message, ": ");
        unbuilt_error(&a->message, &f->errors[0]);
    }
    unbuilt_text(&a->body, run, role);
}

static bool has_broken(const struct run *run, const struct view *views)
{
    for (size_t i = 0; i < run->count; i++) {
        if (views[i].outcome == OUTCOME_BROKEN)
            return true;
    }
    return false;
}

// Collects the cases that belong to no series. If there would be no case at all, one says so,
// because readers take an empty file for success or ignore it.
static void find_asides(struct asides *out, const struct run *run, const struct view *views,
                        const struct report_events *events)
{
    enum { OTHERS = 5 };
    *out = (struct asides){.items =
                               xcalloc(OTHERS + run->mix_count + run->metric_count + events->count,
                                       sizeof(*out->items))};
    add_mixes(out, run);
    add_metrics(out, run);
    add_events(out, events);
    const size_t before = out->count;
    add_self_test(out, &run->self_test);
    for (int role = ROLE_BASE; role <= ROLE_HEAD; role++)
        add_unbuilt(out, run, (enum sample_role)role);
    const bool unsaid = run->conclusion == CONCLUDE_BROKEN && !run->unbuilt[ROLE_HEAD].reason &&
                        !has_broken(run, views);
    if (unsaid || out->count - before + run->count == 0) {
        struct suite_aside *a = add_aside(out, "run", "head", unsaid ? "error" : "skipped",
                                          view_conclusion(run->conclusion));
        buffer_puts(&a->message, run->headline ? run->headline : "nothing was measured");
    }
}

static void write(struct buffer *out, const struct run *run, const struct report_context *context)
{
    static const struct report_events unknown = {0};
    struct view *views = view_all(run, context);
    struct asides asides;
    struct suite_tally total = {0};
    find_asides(&asides, run, views, context ? &context->events : &unknown);
    for (size_t i = 0; i < run->count; i++)
        tally_add(&total, &views[i]);
    for (size_t i = 0; i < asides.count; i++)
        count_aside(&total, &asides.items[i]);
    qsort(views, run->count, sizeof(*views), by_kernel);
    struct markup *m = markup_new(MARKUP_XML);
    markup_start(m, "testsuites");
    markup_attr(m, "name", "plumb");
    write_tally(m, &total, true);
    write_asides(m, &asides);
    for (size_t i = 0, next; i < run->count; i = next) {
        for (next = i + 1; next < run->count; next++) {
            if (strcmp(views[i].result->kernel, views[next].result->kernel) != 0)
                break;
        }
        write_suite(m, views + i, next - i, run);
    }
    markup_end(m);
    markup_finish(m, out);
    free_asides(&asides);
    free(views);
}

const struct report report_junit = {
    .name = "junit",
    .file = "junit.xml",
    .why = "test results for Jenkins, GitLab and GitHub",
    .write = write,
};
