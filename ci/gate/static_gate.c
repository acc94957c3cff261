// SPDX-License-Identifier: Apache-2.0
//
// Compares two builds by what the compiler says of them, on a machine without the device. It never
// claims a time.
#include "ci/gate/static_gate.h"
#include "ci/gate/explain.h"
#include "model/gate/gate.h"
#include "model/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t sum_notes(const struct code_facts *facts)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < PTXAS_NOTES; i++)
        sum += facts->notes[i];
    return sum;
}

static void compare_pair(struct static_change *change, const struct function_pair *p,
                         const struct task *task)
{
    const struct gpu *gpu = &task->device->gpu;
    change->spill += function_spill(p->head) - function_spill(p->base);
    if (!p->base || !p->head)
        return;
    const struct occupancy b = function_occupancy(p->base, &task->base->traits, gpu);
    const struct occupancy h = function_occupancy(p->head, &task->head->traits, gpu);
    if (b.limit != OCCUPANCY_UNKNOWN && h.limit != OCCUPANCY_UNKNOWN &&
        h.warps - b.warps < change->warps)
        change->warps = h.warps - b.warps;
}

static void compare_predictions(struct static_change *change, const struct task *task,
                                const struct model *model)
{
    struct predict_input input = {.gpu = &task->device->gpu,
                                  .problem = &task->result->problem,
                                  .traits = &task->base->traits};
    const struct prediction base = model->predict(&input);
    input.traits = &task->head->traits;
    const struct prediction head = model->predict(&input);
    if (!base.feasible || !head.feasible || !(base.time_ns > 0) || !(head.time_ns > 0))
        return;
    change->log_model = log(head.time_ns / base.time_ns);
    change->model_band = fmax(base.band, head.band);
}

struct static_change static_compare(const struct code_facts *base, const struct code_facts *head,
                                    const struct task *task, const struct model *model,
                                    struct arena *arena)
{
    struct static_change change = {0};
    const size_t most = base->functions.count + head->functions.count;
    struct function_pair *pairs = arena_alloc(arena, (most + 1) * sizeof(*pairs));
    const size_t count = code_facts_pair(pairs, base, head);
    change.notes = (int32_t)sum_notes(head) - (int32_t)sum_notes(base);
    // PTX beside machine code is usual and adds nothing; no machine code at all tells nothing.
    change.unreadable = !base->functions.count || !head->functions.count;
    for (size_t i = 0; i < count; i++)
        compare_pair(&change, &pairs[i], task);
    if (model)
        compare_predictions(&change, task, model);
    return change;
}

enum static_finding static_find(const struct static_change *change, double margin)
{
    const double bound = log1p(fmax(margin, change->model_band));
    if (change->notes > 0 || change->spill > 0 || change->log_model > bound)
        return STATIC_WORSE;
    if (change->warps < 0)
        return STATIC_FEWER_WARPS;
    if (change->unreadable)
        return STATIC_UNREADABLE;
    if (change->notes < 0 || change->spill < 0 || change->log_model < -bound)
        return STATIC_BETTER;
    return STATIC_ALIKE;
}

enum verdict_kind static_verdict(enum static_finding finding)
{
    switch (finding) {
    case STATIC_WORSE:
        return VERDICT_SLOWER;
    case STATIC_FEWER_WARPS:
        return VERDICT_UNDECIDED;
    default:
        return VERDICT_NOT_MEASURED;
    }
}

const char *static_reason(const struct static_change *change, enum static_finding finding,
                          const char *why, struct arena *arena)
{
    bool by_model = change->notes == 0 && change->spill == 0 &&
                    (finding == STATIC_WORSE || finding == STATIC_BETTER);
    if (by_model)
        return arena_printf(arena, "the model expects %+.1f %%", 100 * expm1(change->log_model));
    if (finding == STATIC_UNREADABLE)
        return "the device code is PTX or compressed and cannot be compared";
    if (finding == STATIC_ALIKE && !*why)
        return "nothing that the compiler reports has changed";
    return *why ? why : "the code differs";
}

void static_judge(struct run *run, const struct task *task, const struct context *context,
                  const struct built *base, const struct built *head)
{
    struct result *r = task->result;
    struct arena *arena = &run->arena;
    struct code_facts before, now;
    const char *why = "", *lines = "";
    const struct policy_gate gate = policy_gate_for(&context->policy, task->rule);
    double margin = gate.margin > 0 ? gate.margin : gate_policy_default("cuda", 1e6).margin;
    struct static_change change = {.unreadable = true};
    struct error err;
    if (code_facts_read(&before, base, task->base, context, arena, &err) == 0 &&
        code_facts_read(&now, head, task->head, context, arena, &err) == 0) {
        const struct model *model = model_find(context->policy.model);
        change = static_compare(&before, &now, task, model, arena);
        lines = explain_code(&why, &before, &now, task, arena);
    }
    char problem[PROBLEM_TEXT];
    problem_format(problem, &r->problem);
    const enum static_finding finding = static_find(&change, margin);
    const enum verdict_kind kind = static_verdict(finding);
    r->verdict = (struct verdict){.kind = kind, .log_ratio = interval_unknown, .margin = margin};
    if (kind == VERDICT_SLOWER)
        r->verdict.cause = CAUSE_KERNEL;
    why = static_reason(&change, finding, why, arena);
    const char *word = kind == VERDICT_NOT_MEASURED ? "" : verdict_kind_name(kind);
    r->verdict.sentence = arena_printf(arena, "static: %s %s: %s%snot measured (no device): %s",
                                       r->kernel, problem, word, *word ? ", " : "", why);
    r->verdict.explanation = arena_printf(arena, "why: static facts only: %s\n%s", why, lines);
}
