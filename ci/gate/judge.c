// SPDX-License-Identifier: Apache-2.0
//
// Gives every result of a run its prediction, its history, its verdict, its cause and its sentence.
// model/gate decides whether a time changed.
#include "ci/gate/judge.h"

#include "ci/gate/explain.h"
#include "ci/gate/linking.h"
#include "ci/gate/measuring.h"
#include "ci/gate/task_list.h"
#include "ci/settings/gpu_file.h"
#include "model/base.h"
#include "model/gate/gate.h"
#include "model/gate/verdict.h"
#include "model/history/drift.h"
#include "model/history/levels.h"
#include "model/predict.h"
#include "model/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- predictions ----
//
// Finds the policy's model and its biases, and predicts every result of a run.

// Finds the policy's model and the biases fitted to it (if there are none, an empty table, which
// must also be freed).
static const struct model *find_model(struct bias_table *biases, const struct context *context,
                                      struct error *err)
{
    const struct policy *policy = &context->policy;
    const struct model *model = model_find(policy->model);
    if (!model) {
        error_set(err, "%s: measure.model = %.60s: `plumb list models` names those there are",
                  policy->label, policy->model);
        return NULL;
    }
    if (!policy->bias)
        return model;
    const bool committed = !context->options->policy;
    if (committed && (policy->bias[0] == '/' || strstr(policy->bias, ".."))) {
        error_set(err,
                  "%s: measure.bias = %.80s: a committed policy cannot name a file outside of the "
                  "repository; give the policy by --policy",
                  policy->label, policy->bias);
        return NULL;
    }
    char *path = policy->bias[0] == '/'
                     ? xstrdup(policy->bias)
                     : xprintf("%s/%s", repository_directory(context->repository), policy->bias);
    int status = committed ? repository_refuse_brought(path, BROUGHT_LINKS, err) : 0;
    if (status == 0)
        status = bias_file_read(biases, path, model, err);
    free(path);
    return status ? NULL : model;
}

int predicting_ready(const struct context *context, struct error *err)
{
    struct bias_table biases = {0};
    const struct model *model = find_model(&biases, context, err);
    bias_table_free(&biases);
    return model ? 0 : -1;
}

int predicting_fill(struct run *run, const struct task_list *tasks, const struct context *context,
                    struct error *err)
{
    struct bias_table biases = {0};
    const struct model *model = find_model(&biases, context, err);
    if (!model)
        return -1;
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        const struct predict_input input = {
            .gpu = &tasks->items[i].device->gpu,
            .traits = &r->traits,
            .problem = &r->problem,
            .clock_hz = measurement_clock_hz(&r->head),
            .launches_together = r->head.count ? r->head.samples[0].launches : 0,
        };
        r->prediction = model->predict(&input);
        bias_apply(&r->prediction, &biases, r->kernel, &r->problem);
    }
    bias_table_free(&biases);
    return 0;
}

// ---- next steps ----
//
// Computes which gate.seconds would have been enough. All series share the time of a gate, so the
// missing time is summed over all series that it ended, in seconds of the device; the time of the
// gate grows in proportion. A series that got no time counts as one that had its share.

// Device seconds that a pair of this series takes.
static double pair_s(const struct verdict *v)
{
    return v->gpu_s / fmax(1, v->pairs);
}

static bool had_no_time(const struct result *r)
{
    return r->verdict.kind == VERDICT_UNDECIDED && r->head.state == MEASURED_NOT_TAKEN;
}

static double round_up(double value, double step)
{
    return step * ceil(value / step);
}

// The gate.seconds that would decide all series that the time ended; 0: it ended none.
static double enough_seconds(const struct run *run, const struct policy *policy)
{
    double spent_s = 0, missing_s = 0;
    size_t compared = 0, untouched = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct verdict *v = &run->results[i].verdict;
        compared += v->pairs > 0;
        untouched += had_no_time(&run->results[i]);
        spent_s += v->pairs ? v->gpu_s : 0;
        if (v->limit == LIMIT_SECONDS)
            missing_s += v->more_pairs * pair_s(v);
    }
    if (compared)
        missing_s += (double)untouched * spent_s / (double)compared;
    if (!(missing_s > 0) || !(spent_s > 0))
        return 0;
    return round_up(policy->gate.seconds * (1 + missing_s / spent_s), 10);
}

// Says how much time a series needs that got none. With 0 seconds nothing was measured from which
// that could be estimated.
static const char *no_time(uint32_t now_s, double seconds, struct arena *arena)
{
    return seconds > 0 ? arena_printf(arena, "set gate.seconds = %.0f (now %u)", seconds, now_s)
                       : arena_printf(arena, "set gate.seconds above %u", now_s);
}

static const char *next_step(const struct verdict *v, const struct policy_kernel *rule,
                             const struct policy_gate *gate, double seconds, struct arena *arena)
{
    switch (v->limit) {
    case LIMIT_SECONDS:
        return arena_printf(arena,
                            "about %u more pairs would decide it: set gate.seconds = %.0f (now %u)",
                            v->more_pairs, seconds, gate->seconds);
    case LIMIT_PAIRS: {
        // The number of missing pairs is an estimate; with less than a quarter more, the result
        // would often be the same.
        const double more = fmax(0.25, v->more_pairs / fmax(1, v->pairs));
        const char *whose =
            rule->max_pairs ? arena_printf(arena, "kernel.%s.", rule->pattern) : "gate.";
        return arena_printf(arena,
                            "about %u more pairs would decide it: set %smax-pairs = %.0f (now %u "
                            "for the first process)",
                            v->more_pairs, whose, round_up(gate->max_pairs * (1 + more), 8),
                            gate->max_pairs);
    }
    case LIMIT_MARGIN:
        return "it is about as large as the margin, so more pairs would say the same: set "
               "gate.margin below or above it";
    case LIMIT_NOISE:
        return v->detectable > 0
                   ? arena_printf(
                         arena,
                         "its pairs scatter too much for a margin of %.2g %%: measure on a "
                         "quieter machine, or set gate.margin = %.0f%%",
                         100 * v->margin, ceil(100 * expm1(v->detectable)))
                   : "its pairs scatter too much for the margin: measure on a quieter machine";
    case LIMIT_PLACES:
        return arena_printf(arena,
                            "more processes show how places differ: set gate.processes = %u "
                            "(now %u)",
                            2 * gate->processes, gate->processes);
    default:
        return NULL;
    }
}

void say_next_steps(struct run *run, const struct task_list *tasks, const struct policy *policy)
{
    const double seconds = enough_seconds(run, policy);
    for (size_t i = 0; i < tasks->count; i++) {
        struct verdict *v = &tasks->items[i].result->verdict;
        const struct policy_gate gate = policy_gate_for(policy, tasks->items[i].rule);
        if (v->kind != VERDICT_UNDECIDED || tasks->items[i].device->is_static)
            continue;
        const char *next = had_no_time(tasks->items[i].result)
                               ? no_time(policy->gate.seconds, seconds, &run->arena)
                           : v->pairs
                               ? next_step(v, tasks->items[i].rule, &gate, seconds, &run->arena)
                               : NULL;
        if (next)
            v->sentence = arena_printf(&run->arena, "%s; %s", v->sentence, next);
    }
}

// ---- all series of a gate ----
//
// e-BH over every tested series of a run, kernels first. The rule is in model/gate/gate_release.c.

static void take_back(struct run *run, struct result *r)
{
    r->verdict.kind = VERDICT_UNDECIDED;
    r->verdict.explanation = NULL;
    if (r->verdict.cause != CAUSE_PLACEMENT)
        r->verdict.cause = CAUSE_NONE;
    r->verdict.sentence =
        arena_printf(&run->arena, "%s; not enough evidence for one of %zu series, measure again",
                     r->verdict.sentence, run->count);
}

void release_alarms(struct run *run)
{
    double *evidence = xcalloc(run->count, sizeof(*evidence));
    size_t *kernel = xcalloc(run->count, sizeof(*kernel));
    size_t *index = xcalloc(run->count, sizeof(*index));
    bool *released = xcalloc(run->count, sizeof(*released));
    size_t tested = 0, kernels = 0;
    const char *last = "";
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (!r->verdict.pairs)
            continue;
        if (strcmp(last, r->kernel))
            kernels++;
        last = r->kernel;
        evidence[tested] = r->verdict.log_evidence;
        kernel[tested] = kernels - 1;
        index[tested++] = i;
    }
    gate_release(released, evidence, kernel, tested, gate_defaults.q);
    for (size_t i = 0; i < tested; i++) {
        struct result *r = &run->results[index[i]];
        bool alarm = r->verdict.kind == VERDICT_SLOWER || r->verdict.kind == VERDICT_FASTER;
        if (alarm && !released[i])
            take_back(run, r);
    }
    free(evidence);
    free(kernel);
    free(index);
    free(released);
}

// ---- history ----

static struct history history_of(const struct stored_points *stored, struct arena *arena)
{
    struct history history = {.points = arena_alloc(arena, stored->count * sizeof(*history.points)),
                              .count = stored->count};
    for (size_t i = 0; i < stored->count; i++) {
        const struct stored_point *p = &stored->points[i];
        struct history_point *out = &history.points[i];
        *out = (struct history_point){.time_s = p->time_s,
                                      .time_ns = p->time_ns,
                                      .clock_hz = p->clock_hz,
                                      .predicted_ns = p->predicted_ns,
                                      .same_code = i > 0 && p->code && p->code == p[-1].code};
        memcpy(out->commit, p->commit, sizeof(out->commit));
    }
    text_copy(history.newest_code, sizeof(history.newest_code), stored->newest_code);
    return history;
}

// Finds the series' points before this run. The last one has the code of the commit's first parent,
// also if the commit itself was measured before.
static int history_find_of(struct stored_points *out, struct run *run, const struct result *r,
                           struct context *context, struct error *err)
{
    enum { SHOWN = 400 };
    const struct series series = {r->kernel, &r->problem, run->devices[r->device].uuid};
    struct line_past past;
    if (line_past(&past, run, r, &series, SHOWN, context, err))
        return -1;
    *out = past.points;
    return 0;
}

int judge_history(struct run *run, struct context *context, struct error *err)
{
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        struct stored_points stored;
        if (history_find_of(&stored, run, r, context, err))
            return -1;
        r->history = history_of(&stored, &run->arena);
    }
    return 0;
}

// ---- sentences ----

static const char *name_of(struct run *run, const struct result *r)
{
    char problem[PROBLEM_TEXT];
    problem_say(problem, &r->problem);
    return arena_printf(&run->arena, "%s %s", r->kernel, problem);
}

static const char *against_model(struct run *run, const struct result *r)
{
    double time_ns = measurement_time_ns(&r->head);
    if (!r->prediction.feasible || !(r->prediction.time_ns > 0) || !(time_ns > 0))
        return "";
    const struct prediction *p = &r->prediction;
    const double ratio = time_ns / p->time_ns, wide = p->band_95;
    const char *bias = !p->bias_rows
                           ? ""
                           : arena_printf(&run->arena, " with a bias of %u measured %s",
                                          p->bias_rows, plural(p->bias_rows, "time", "times"));
    const char *said =
        arena_printf(&run->arena, "; %.2f x the time model %s%s predicts", ratio, p->model, bias);
    if (!(wide > 0))
        return said;
    // The band contains 95 of 100 correct kernels.
    return arena_printf(&run->arena, "%s, %s its band of %.2f to %.2f", said,
                        fabs(log(ratio)) <= wide ? "within" : "OUTSIDE", exp(-wide), exp(wide));
}

static struct verdict without_ratio(enum verdict_kind kind, enum cause cause)
{
    return (struct verdict){.kind = kind, .cause = cause, .log_ratio = interval_unknown};
}

// The head's time as text.
static const char *time_of(struct run *run, const struct result *r)
{
    char text[NUMBER_TEXT];
    time_text(text, measurement_time_ns(&r->head));
    return arena_strdup(&run->arena, text);
}

// The same in a sentence that has no other words for a regime that nobody named.
static const char *regime_time_of(struct run *run, const struct result *r)
{
    const char *time = time_of(run, r);
    return r->problem.regime == REGIME_COLD
               ? arena_printf(&run->arena, "%s %s", time, regime_words(REGIME_COLD))
               : time;
}

static void is_new(struct run *run, struct result *r, const char *words)
{
    const double time_ns = measurement_time_ns(&r->head);
    const char *time = time_ns > 0 ? arena_printf(&run->arena, ": %s", regime_time_of(run, r)) : "";
    r->verdict = without_ratio(VERDICT_NEW, CAUSE_NONE);
    r->verdict.sentence =
        arena_printf(&run->arena, "%s %s%s%s", name_of(run, r), words, time, against_model(run, r));
}

// Gives a verdict that needs no times, from the table of such verdicts.
static void stand(struct run *run, const struct task *task, const struct standing *standing,
                  const struct standing_input *input)
{
    struct result *r = task->result;
    const char *device = task->device->policy->name;
    const char *words = standing->kind == VERDICT_SAME && run_names_toolchain(run)
                            ? "is the same bytes by both toolchains: not measured"
                            : standing_words(standing, input, device, &run->arena);
    // The sentence has one line of the detail; the report has the rest.
    const char *detail = standing->kind == VERDICT_BROKEN ? r->head.detail : NULL;
    const size_t length = detail ? strcspn(detail, "\n") : 0;
    if (standing->kind == VERDICT_NEW) {
        is_new(run, r, words);
        return;
    }
    r->verdict = without_ratio(standing->kind, standing->cause);
    if (standing->kind == VERDICT_SAME)
        r->verdict.log_ratio = (struct interval){0}; // exact, because the code is the same
    r->verdict.sentence =
        arena_printf(&run->arena, "%s %s%s%.*s", name_of(run, r), words, length ? ": " : "",
                     (int)(length < 300 ? length : 300), detail ? detail : "");
}

// Names the judge of each verdict. A judge that computed one has named itself already; this program
// names itself for a verdict that needs no computing.
static void sign(struct run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        struct verdict *v = &run->results[i].verdict;
        if (v->model)
            continue;
        v->model = "plumb";
        v->version = PLUMB_VERSION;
    }
}

// ---- the gate ----

// The number of pairs that ran under a hard limit and did not count.
static size_t limited_pairs(const struct result *r)
{
    size_t limited = 0;
    for (size_t i = 0; i < r->head.count && i < r->base.count; i++) {
        const struct sample *base = &r->base.samples[i], *head = &r->head.samples[i];
        limited += base->excluded && ((base->throttle | head->throttle) & THROTTLE_LIMITED) != 0;
    }
    return limited;
}

static int judge_pairs(struct run *run, const struct task *task, struct context *context,
                       struct error *err)
{
    struct result *r = task->result;
    struct gate_policy policy;
    if (task_policy(&policy, context, task, r->base.samples, r->base.count, err))
        return -1;
    const struct problem work = problem_in(&r->problem, REGIME_COLD);
    char problem[PROBLEM_TEXT];
    problem_format(problem, &work);
    gate_replay(&r->verdict, &r->base, &r->head, &policy, &run->arena);
    r->verdict.sentence =
        arena_printf(&run->arena, "%s %s %s", r->kernel, problem, r->verdict.sentence);
    const size_t limited = limited_pairs(r);
    if (limited)
        r->verdict.sentence = arena_printf(
            &run->arena, "%s; %zu %s under a hard limit (heat, or a power brake) did not count",
            r->verdict.sentence, limited, plural(limited, "pair", "pairs"));
    return 0;
}

// Adds what other regimes show of a change: after its sentence, or before its size if one shows the
// opposite.
static void say_beside(struct run *run, struct result *r)
{
    struct beside looks[REGIMES], opposed;
    const size_t count = r->verdict.pairs ? beside_parse(looks, r->head.beside) : 0;
    const char *sentence = r->verdict.sentence;
    if (beside_opposed(&opposed, run, r)) {
        const size_t name = strlen(sentence) - strlen(strchr(sentence, ' ') + 1);
        const size_t begin = name + strcspn(sentence + name, " ");
        const size_t kind = begin + strcspn(sentence + begin, ":");
        sentence = arena_printf(&run->arena, "%.*s, but %s%s", (int)kind, sentence,
                                beside_say(&opposed, 1, &run->arena), sentence + kind);
    }
    if (count)
        sentence =
            arena_printf(&run->arena, "%s; %s", sentence, beside_say(looks, count, &run->arena));
    r->verdict.sentence = sentence;
}

static bool same_code(const struct result *r)
{
    return r->base_code[0] && strcmp(r->base_code, r->head_code) == 0;
}

// Gives the verdict of a kernel that cannot be recorded, where the policy trusts only device code.
// If the base's kernel can be recorded, the head is to blame.
static void refused(struct run *run, const struct task *task)
{
    struct result *r = task->result;
    const bool by_head = task->base && !recording_refused(&r->base) && !same_code(r);
    r->verdict = without_ratio(by_head ? VERDICT_BROKEN : VERDICT_NOT_MEASURED,
                               by_head ? CAUSE_KERNEL : CAUSE_NONE);
    r->verdict.sentence = arena_printf(&run->arena, "%s %.400s%s", name_of(run, r), r->head.detail,
                                       by_head ? "; the base's can be" : "");
}

// Whether a kernel that fails in base and head alike must be reported as broken. It must if no run
// ever found it correct, because no gate may silently pass such a kernel. It must also if base and
// head are one commit, because that gate asks whether the commit works.
static int find_unproven(bool *out, const struct run *run, const struct result *r,
                         struct context *context, struct error *err)
{
    const struct series series = {r->kernel, &r->problem, run->devices[r->device].uuid};
    bool right = false;
    if (store_ever_right(&right, context->store, &series, err))
        return -1;
    *out = !right || strcmp(run->base.id, run->head.id) == 0;
    return 0;
}

static int judge_one(struct run *run, const struct task *task, struct context *context,
                     const struct built *base, const struct built *head, struct error *err)
{
    const struct result *r = task->result;
    struct standing_input input = {.base = r->base.state,
                                   .head = r->head.state,
                                   .same_code = same_code(r),
                                   .away = task->device->away};
    if (input.same_code && r->head.state != MEASURED_NOT_TAKEN && r->head.state != MEASURED_OK &&
        find_unproven(&input.unproven, run, r, context, err))
        return -1;
    const struct standing *standing = standing_of(&input);
    const bool differs = task->base && task->head && !input.same_code;
    if (recording_refused(&r->head))
        refused(run, task);
    else if (task->device->is_static && differs)
        static_judge(run, task, context, base, head);
    else if (standing)
        stand(run, task, standing, &input);
    else
        return judge_pairs(run, task, context, err);
    return 0;
}

// Finds the causes (kernel, environment or placement) from the code ids and the A/A series.
static void find_causes(struct run *run, const struct verdict *self, size_t self_count)
{
    struct interval *controls = xcalloc(self_count, sizeof(*controls));
    for (size_t i = 0; i < self_count; i++)
        controls[i] = self[i].log_ratio;
    for (size_t i = 0; i < run->count; i++) {
        struct result *r = &run->results[i];
        if (!r->verdict.pairs)
            continue;
        const struct cause_input input = {
            .verdict = &r->verdict,
            .code_changed = !same_code(r),
            .placement = r->verdict.cause == CAUSE_PLACEMENT,
            .controls = common_mode_of(controls, self_count, r->verdict.margin / 2, &run->arena),
        };
        r->verdict.cause = cause_of(&input);
    }
    free(controls);
}

int judge_gate(struct run *run, const struct task_list *tasks, struct context *context,
               const struct built *base, const struct built *head, const struct verdict *self,
               size_t self_count, struct error *err)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (judge_one(run, &tasks->items[i], context, base, head, err))
            return -1;
    }
    for (size_t i = 0; i < run->count; i++)
        say_beside(run, &run->results[i]);
    find_causes(run, self, self_count);
    say_next_steps(run, tasks, &context->policy);
    sign(run);
    return 0;
}

// ---- a plain run ----

static void sentence_of_drift(struct run *run, struct result *r, bool alone)
{
    struct verdict *v = &r->verdict;
    if (v->kind == VERDICT_NEW) {
        is_new(run, r, "is new (no earlier measurement)");
        return;
    }
    v->sentence = arena_printf(
        &run->arena, "%s took %s, %+.1f %% against its history (%.1f to %.1f %%)%s%s%s",
        name_of(run, r), regime_time_of(run, r), expm1(v->log_ratio.value) * 100,
        expm1(v->log_ratio.low) * 100, expm1(v->log_ratio.high) * 100,
        v->cause == CAUSE_ENVIRONMENT ? ", on the same machine code: the environment" : "",
        alone ? "; nothing confirmed it side by side" : "", against_model(run, r));
}

// Judges a plain run's series. A kernel is only to blame if its own code changed. A change that a
// link had to confirm, and that none did, is open, because other work on the machine can cause it,
// too.
static void judge_drift(struct run *run, const struct task *task, const struct context *context)
{
    const struct drift_policy policy = drift_policy_default(task->device->policy->kind);
    struct result *r = task->result;
    const bool same = r->head_code[0] && strcmp(r->history.newest_code, r->head_code) == 0;
    drift_judge(&r->verdict, &r->history, &r->head, same, &policy);
    const bool alone = r->verdict.cause == CAUSE_KERNEL && context_confirms(context, run, r);
    if (alone) {
        r->verdict.kind = VERDICT_UNDECIDED;
        r->verdict.cause = CAUSE_NONE;
    }
    sentence_of_drift(run, r, alone);
    struct commit before;
    struct error gone;
    if (r->verdict.kind == VERDICT_SLOWER && context->repository &&
        repository_commit(&before, context->repository,
                          r->history.points[r->history.count - 1].commit, &run->arena, &gone) == 0)
        accepting_slower(run, r, &before, context);
}

// Takes the verdict of the link between the two codes. The interval allows for how well such links
// close.
static int judge_link(struct run *run, const struct task *task, const struct link *link,
                      struct context *context, struct error *err)
{
    struct result *r = task->result;
    const double error = hypot(link->error, levels_prior.sd);
    struct gate_policy policy;
    if (task_policy(&policy, context, task, r->head.samples, r->head.count, err))
        return -1;
    r->verdict = (struct verdict){
        .kind = link->kind,
        .cause = link->kind == VERDICT_SAME ? CAUSE_NONE : CAUSE_KERNEL,
        .log_ratio =
            interval_about(link->log_ratio, error * normal_quantile(0.5 + 0.5 * CONFIDENCE)),
        .confidence = CONFIDENCE,
        .log_evidence = link->log_evidence,
        .margin = policy.margin,
        .pairs = link->pairs,
        .processes = link->processes,
        .model = "gate",
        .version = gate_version,
    };
    const struct interval change = interval_relative(r->verdict.log_ratio);
    const struct problem work = problem_in(&r->problem, REGIME_COLD);
    char problem[PROBLEM_TEXT];
    problem_format(problem, &work);
    r->verdict.sentence = arena_printf(
        &run->arena,
        "%s %s %s %s: %+.2f %% (%.2f to %.2f %%) side by side with %.10s; it took %s%s", r->kernel,
        problem, verdict_kind_name(link->kind), regime_words(r->problem.regime), change.value * 100,
        change.low * 100, change.high * 100, link->base.id, time_of(run, r), against_model(run, r));
    accepting_slower(run, r, &link->base, context);
    return 0;
}

// Whether what is known of a code is new for its line: a branch measured the code that a merge, a
// squash or a rebase brings.
static bool is_news(const struct run *run, const struct result *r, const struct context *context)
{
    return linking_alarms(run, r, context) ||
           (!context_confirms(context, run, r) && r->history.count && r->head_code[0] &&
            strcmp(r->history.newest_code, r->head_code) != 0);
}

// Finds the last link of a plain run's result: between its code and the one before it, or between
// its code and the one of its history if that must be confirmed. Lives in the arena.
static int last_link(struct link *out, bool *found, const struct run *run, const struct result *r,
                     struct context *context, struct arena *arena, struct error *err)
{
    struct link *links;
    size_t count = 0;
    const char *newest = r->history.newest_code;
    const struct series series = {r->kernel, &r->problem, run->devices[r->device].uuid};
    *found = false;
    if (store_links(&links, &count, context->store, &series, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        const bool asked = links[i].back == 1 || context_confirms(context, run, r);
        const bool before = newest[0]
                                ? asked && !strcmp(links[i].base_code, newest)
                                : links[i].back == 1 && !strcmp(links[i].head.id, run->head.id);
        if (before && !strcmp(links[i].head_code, r->head_code)) {
            *out = links[i];
            *found = true;
        }
    }
    return 0;
}

static int judge_alone(struct run *run, const struct task *task, struct context *context,
                       struct error *err)
{
    struct result *r = task->result;
    const struct standing_input input = {.head = r->head.state};
    struct link link;
    bool linked = false;
    if (r->head.state == MEASURED_OK && r->head_code[0] &&
        last_link(&link, &linked, run, r, context, &run->arena, err))
        return -1;
    if (recording_refused(&r->head)) {
        refused(run, task);
    } else if (r->head.state != MEASURED_OK) {
        stand(run, task, standing_of(&input), &input);
    } else if (linked) {
        return judge_link(run, task, &link, context, err);
    } else if (r->reused && !is_news(run, r, context)) {
        r->verdict = (struct verdict){.kind = VERDICT_SAME};
        r->verdict.sentence =
            arena_printf(&run->arena, "%s runs machine code that is measured already: %s%s",
                         name_of(run, r), regime_time_of(run, r), against_model(run, r));
    } else {
        judge_drift(run, task, context);
    }
    return 0;
}

int judge_run(struct run *run, const struct task_list *tasks, struct context *context,
              struct error *err)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (judge_alone(run, &tasks->items[i], context, err))
            return -1;
    }
    sign(run);
    return 0;
}
