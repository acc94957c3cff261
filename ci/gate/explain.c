// SPDX-License-Identifier: Apache-2.0
//
// Why alarms came: what differs in the machine code (explain_code.c), what the model says of that,
// and what the clock explains.
#include "ci/gate/explain.h"
#include "model/buffer.h"
#include "model/gate/clock.h"
#include "model/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- what the model and the clocks say

static void explain_prediction(struct buffer *lines, const struct task *task,
                               const struct context *context)
{
    const struct model *model = model_find(context->policy.model);
    const struct result *r = task->result;
    struct predict_input input = {.gpu = &task->device->gpu,
                                  .problem = &r->problem,
                                  .traits = &task->base->traits,
                                  .clock_hz = measurement_clock_hz(&r->head)};
    if (!model)
        return;
    const struct prediction base = model->predict(&input);
    input.traits = &task->head->traits;
    const struct prediction head = model->predict(&input);
    if (!base.feasible || !head.feasible)
        return;
    buffer_printf(lines, "model %s: %.4g -> %.4g us at the head's clock, bound by %s -> %s\n",
                  head.model, base.time_ns / 1e3, head.time_ns / 1e3, bound_name(base.bound),
                  bound_name(head.bound));
    for (size_t i = 0; i < head.part_count; i++) {
        bool both = i < base.part_count && !strcmp(base.parts[i].name, head.parts[i].name);
        if (both)
            buffer_printf(lines, "  part %s: %.4g -> %.4g us\n", head.parts[i].name,
                          base.parts[i].time_ns / 1e3, head.parts[i].time_ns / 1e3);
        else
            buffer_printf(lines, "  part %s: %.4g us, new\n", head.parts[i].name,
                          head.parts[i].time_ns / 1e3);
    }
}

static void explain_clock(struct buffer *lines, const struct result *r, struct arena *arena)
{
    const size_t most = r->base.count < r->head.count ? r->base.count : r->head.count;
    struct gate_pair *pairs = xcalloc(most + 1, sizeof(*pairs));
    struct sample *samples = xcalloc(r->base.count + r->head.count + 1, sizeof(*samples));
    memcpy(samples, r->base.samples, r->base.count * sizeof(*samples));
    memcpy(samples + r->base.count, r->head.samples, r->head.count * sizeof(*samples));
    size_t count = gate_pairs(pairs, &r->base, &r->head, arena);
    struct clock_fit fit = clock_fit(samples, r->base.count + r->head.count, arena);
    if (r->prediction.feasible)
        fit = clock_shrink(fit, r->prediction.clock_exponent, clock_model_sd);
    const struct clock_effect effect =
        clock_explain(r->verdict.log_ratio.value, pairs, count, fit.exponent, arena);
    if (effect.known)
        buffer_printf(
            lines,
            "clock: %+.2f %%; with time as clock^%.2f that explains %+.2f %%, %+.2f %% remain at "
            "equal clocks, %+.2f %% in cycles\n",
            100 * expm1(effect.log_clock), fit.exponent, 100 * expm1(effect.explained),
            100 * expm1(effect.rest), 100 * expm1(effect.cycles));
    free(pairs);
    free(samples);
}

// ---- what the machine code says

// Of the two builds of a kernel. All problems of the kernel share them.
struct kernel_facts {
    const struct built_kernel *base, *head;
    struct code_reading readings[2];
    struct code_facts before, now;
    struct error why; // they are not known
    bool begun, failed, ended;
};

struct explaining {
    struct arena *arena;
    const struct context *context;
    const struct built *base, *head;
    struct kernel_facts *facts; // of each kernel with an alarm
    size_t count;
};

static void begin_facts(struct explaining *e, struct kernel_facts *k)
{
    struct code_facts ignored;
    if (k->begun)
        return;
    k->begun = true;
    k->failed =
        code_facts_begin(&k->readings[0], e->base, k->base, e->context, e->arena, &k->why) != 0;
    if (!k->failed &&
        code_facts_begin(&k->readings[1], e->head, k->head, e->context, e->arena, &k->why)) {
        code_facts_end(&ignored, &k->readings[0], e->arena);
        k->failed = true;
    }
}

// The facts of kernel `at`, while those of the next ones are being read.
static const struct kernel_facts *read_facts(struct explaining *e, size_t at)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t ahead = processors > 2 ? (size_t)processors / 2 : 1;
    struct kernel_facts *k = &e->facts[at];
    for (size_t i = at; i < e->count && i < at + ahead; i++)
        begin_facts(e, &e->facts[i]);
    if (!k->failed && !k->ended) {
        code_facts_end(&k->before, &k->readings[0], e->arena);
        code_facts_end(&k->now, &k->readings[1], e->arena);
    }
    k->ended = true;
    return k;
}

static void explain_one(struct run *run, const struct task *task, const struct context *context,
                        const struct kernel_facts *facts)
{
    struct result *r = task->result;
    struct arena *arena = &run->arena;
    const char *why;
    struct buffer lines = {0};
    buffer_puts(&lines, explain_code(&why, &facts->before, &facts->now, task, arena));
    explain_prediction(&lines, task, context);
    explain_clock(&lines, r, arena);
    if (*why)
        r->verdict.sentence = arena_printf(arena, "%s; %s", r->verdict.sentence, why);
    else if (!facts->now.functions.count)
        why = "its machine code differs; of host code no more is known";
    else
        why = "its machine code differs, but nothing that the compiler reports";
    r->verdict.explanation = arena_printf(arena, "why: %s\n%s", why, lines.bytes);
    buffer_free(&lines);
}

static bool is_alarm(const struct task *task)
{
    const struct verdict *v = &task->result->verdict;
    return (v->kind == VERDICT_SLOWER || v->kind == VERDICT_FASTER) && v->pairs && task->base &&
           task->head;
}

// The number of the alarm's kernel; tasks are in order of kernels.
static size_t number_of(struct explaining *e, const struct task *task)
{
    size_t at = 0;
    while (at < e->count && (e->facts[at].base != task->base || e->facts[at].head != task->head))
        at++;
    if (at == e->count)
        e->facts[e->count++] = (struct kernel_facts){.base = task->base, .head = task->head};
    return at;
}

void explain_alarms(struct run *run, const struct task_list *tasks, const struct context *context,
                    const struct built *base, const struct built *head)
{
    struct explaining e = {.arena = &run->arena, .context = context, .base = base, .head = head};
    e.facts = xcalloc(tasks->count + 1, sizeof(*e.facts));
    for (size_t i = 0; i < tasks->count; i++) {
        if (is_alarm(&tasks->items[i]))
            number_of(&e, &tasks->items[i]);
    }
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        if (!is_alarm(task))
            continue;
        const struct kernel_facts *facts = read_facts(&e, number_of(&e, task));
        if (facts->failed)
            task->result->verdict.explanation =
                arena_printf(&run->arena, "why: not known: %s\n", facts->why.text);
        else
            explain_one(run, task, context, facts);
    }
    free(e.facts);
}
