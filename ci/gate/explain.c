// SPDX-License-Identifier: Apache-2.0
//
// The clause that goes into the sentence is that of the first rule that fits, in the order in which
// such changes usually matter: ptxas gave up on asynchronous products; spills; occupancy; then,
// without claiming a cause, registers, shared memory and the size of the code.
#include "ci/gate/explain.h"
#include "model/gate/clock.h"
#include "model/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text {
    struct arena *arena;
    const char *lines, *why;
    int rank; // of `why`; lower is stronger
};

enum { RANK_NOTE, RANK_SPILL, RANK_OCCUPANCY, RANK_RESOURCE, RANK_SIZE, RANK_NONE };

static void PRINTF_LIKE(2, 3) add(struct text *t, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof(line), format, list);
    va_end(list);
    t->lines = arena_printf(t->arena, "%s%s\n", t->lines, line);
}

static void PRINTF_LIKE(3, 4) because(struct text *t, int rank, const char *format, ...)
{
    char clause[256];
    va_list list;
    if (rank >= t->rank)
        return;
    va_start(list, format);
    vsnprintf(clause, sizeof(clause), format, list);
    va_end(list);
    t->why = arena_strdup(t->arena, clause);
    t->rank = rank;
}

// ---- code ----

static void number(struct text *t, const char *what, int64_t base, int64_t head)
{
    if (base != head)
        add(t, "  %s: %" PRId64 " -> %" PRId64, what, base, head);
}

static void explain_occupancy(struct text *t, const struct function_pair *p,
                              const struct task *task)
{
    const struct gpu *gpu = &task->device->gpu;
    const struct occupancy b = function_occupancy(p->base, &task->base->traits, gpu);
    const struct occupancy h = function_occupancy(p->head, &task->head->traits, gpu);
    if (b.limit == OCCUPANCY_UNKNOWN || h.limit == OCCUPANCY_UNKNOWN)
        return;
    add(t, "  blocks per SM: %d -> %d (%d -> %d warps, limited by %s)", b.blocks, h.blocks, b.warps,
        h.warps, occupancy_limit_name(h.limit));
    if (b.warps != h.warps)
        because(t, RANK_OCCUPANCY, "an SM now holds %d instead of %d warps of it (%s)", h.warps,
                b.warps, occupancy_limit_name(h.warps < b.warps ? h.limit : b.limit));
}

static void explain_spills(struct text *t, const struct function_pair *p)
{
    int64_t before = function_spill(p->base), now = function_spill(p->head);
    if (now > before)
        because(t, RANK_SPILL,
                "it now spills registers (%" PRId64 " bytes of local loads and stores, %" PRId64
                " before)",
                now, before);
    else if (now < before)
        because(t, RANK_SPILL,
                "it spills less (%" PRId64 " bytes of local loads and stores, %" PRId64 " before)",
                now, before);
}

static void explain_function(struct text *t, const struct function_pair *p, const struct task *task)
{
    const struct code_function *b = p->base, *h = p->head;
    if (!b && !h)
        return;
    if (!b || !h) {
        add(t, "function %.200s: %s", (h ? h : b)->name, h ? "new" : "gone");
        return;
    }
    add(t, "function %.200s (%s):", h->name, h->architecture);
    number(t, "registers per thread", b->registers, h->registers);
    number(t, "local loads, bytes", b->local_load_bytes, h->local_load_bytes);
    number(t, "local stores, bytes", b->local_store_bytes, h->local_store_bytes);
    number(t, "stack per thread, bytes", b->stack_bytes, h->stack_bytes);
    number(t, "static shared memory, bytes", b->shared_bytes, h->shared_bytes);
    number(t, "code, bytes", (int64_t)b->code_bytes, (int64_t)h->code_bytes);
    explain_spills(t, p);
    explain_occupancy(t, p, task);
    if (b->registers != h->registers)
        because(t, RANK_RESOURCE, "it takes %d %s per thread, %d before", h->registers,
                plural((uint64_t)h->registers, "register", "registers"), b->registers);
    if (b->shared_bytes != h->shared_bytes)
        because(t, RANK_RESOURCE, "it takes %d %s of static shared memory, %d before",
                h->shared_bytes, plural((uint64_t)h->shared_bytes, "byte", "bytes"),
                b->shared_bytes);
    if (b->code_bytes != h->code_bytes && b->code_bytes)
        because(t, RANK_SIZE, "its machine code is %+.1f %% in size",
                100 * ((double)h->code_bytes / (double)b->code_bytes - 1));
}

static uint64_t count_of(const struct operation_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0)
            return list->items[i].count;
    }
    return 0;
}

static void explain_operations(struct text *t, const struct operation_list *base,
                               const struct operation_list *head)
{
    if (!base->known || !head->known)
        return;
    for (size_t i = 0; i < head->count; i++) {
        const struct operation *o = &head->items[i];
        uint64_t before = count_of(base, o->name);
        if (before != o->count)
            add(t, "instructions %s: %" PRIu64 " -> %" PRIu64, o->name, before, o->count);
    }
    for (size_t i = 0; i < base->count; i++) {
        const struct operation *o = &base->items[i];
        if (!count_of(head, o->name))
            add(t, "instructions %s: %" PRIu64 " -> 0", o->name, o->count);
    }
}

static void explain_notes(struct text *t, const struct code_facts *base,
                          const struct code_facts *head)
{
    for (size_t i = 0; i < PTXAS_NOTES; i++) {
        if (base->notes[i] == head->notes[i])
            continue;
        add(t, "ptxas %s: %u -> %u", ptxas_notes[i], base->notes[i], head->notes[i]);
        if (head->notes[i] > base->notes[i])
            because(t, RANK_NOTE, "ptxas now warns of lost performance (%s)", ptxas_notes[i]);
        else
            because(t, RANK_NOTE, "ptxas no longer warns of lost performance (%s)", ptxas_notes[i]);
    }
}

static void explain_traits(struct text *t, const struct traits *base, const struct traits *head)
{
#define X(name)                                                                                    \
    if (base->name != head->name) {                                                                \
        add(t, "trait %s: %d -> %d", #name, base->name, head->name);                               \
        because(t, RANK_RESOURCE, "its %s is %d, %d before", #name, head->name, base->name);       \
    }
    TRAITS(X)
#undef X
}

const char *explain_code(const char **why, const struct code_facts *base,
                         const struct code_facts *head, const struct task *task,
                         struct arena *arena)
{
    struct text t = {.arena = arena, .lines = "", .why = "", .rank = RANK_NONE};
    const size_t most = base->functions.count + head->functions.count;
    struct function_pair *pairs = xcalloc(most + 1, sizeof(*pairs));
    size_t count = code_facts_pair(pairs, base, head);
    explain_traits(&t, &task->base->traits, &task->head->traits);
    explain_notes(&t, base, head);
    for (size_t i = 0; i < count; i++)
        explain_function(&t, &pairs[i], task);
    explain_operations(&t, &base->operations, &head->operations);
    if (count && (!base->functions.complete || !head->functions.complete))
        add(&t, "some device code is PTX or compressed and was not read");
    free(pairs);
    *why = t.why;
    return t.lines;
}

// ---- prediction and clocks ----

static void explain_prediction(struct text *t, const struct task *task,
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
    add(t, "model %s: %.4g -> %.4g us at the head's clock, bound by %s -> %s", head.model,
        base.time_ns / 1e3, head.time_ns / 1e3, bound_name(base.bound), bound_name(head.bound));
    for (size_t i = 0; i < head.part_count; i++) {
        bool both = i < base.part_count && !strcmp(base.parts[i].name, head.parts[i].name);
        if (both)
            add(t, "  part %s: %.4g -> %.4g us", head.parts[i].name, base.parts[i].time_ns / 1e3,
                head.parts[i].time_ns / 1e3);
        else
            add(t, "  part %s: %.4g us, new", head.parts[i].name, head.parts[i].time_ns / 1e3);
    }
}

static void explain_clock(struct text *t, const struct result *r)
{
    const size_t most = r->base.count < r->head.count ? r->base.count : r->head.count;
    struct gate_pair *pairs = xcalloc(most + 1, sizeof(*pairs));
    struct sample *samples = xcalloc(r->base.count + r->head.count + 1, sizeof(*samples));
    memcpy(samples, r->base.samples, r->base.count * sizeof(*samples));
    memcpy(samples + r->base.count, r->head.samples, r->head.count * sizeof(*samples));
    size_t count = gate_pairs(pairs, &r->base, &r->head, t->arena);
    struct clock_fit fit = clock_fit(samples, r->base.count + r->head.count, t->arena);
    if (r->prediction.feasible)
        fit = clock_shrink(fit, r->prediction.clock_exponent, clock_model_sd);
    const struct clock_effect effect =
        clock_explain(r->verdict.log_ratio.value, pairs, count, fit.exponent, t->arena);
    if (effect.known)
        add(t,
            "clock: %+.2f %%; with time as clock^%.2f that explains %+.2f %%, %+.2f %% remain at "
            "equal clocks, %+.2f %% in cycles",
            100 * expm1(effect.log_clock), fit.exponent, 100 * expm1(effect.explained),
            100 * expm1(effect.rest), 100 * expm1(effect.cycles));
    free(pairs);
    free(samples);
}

// ---- one alarm ----

// Two builds of a kernel. All problems of a kernel share them.
struct known {
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
    struct known *known;
    size_t count;
};

static void begin(struct explaining *e, struct known *k)
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
static const struct known *know(struct explaining *e, size_t at)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t ahead = processors > 2 ? (size_t)processors / 2 : 1;
    struct known *k = &e->known[at];
    for (size_t i = at; i < e->count && i < at + ahead; i++)
        begin(e, &e->known[i]);
    if (!k->failed && !k->ended) {
        code_facts_end(&k->before, &k->readings[0], e->arena);
        code_facts_end(&k->now, &k->readings[1], e->arena);
    }
    k->ended = true;
    return k;
}

static void explain_one(struct run *run, const struct task *task, const struct context *context,
                        const struct known *known)
{
    struct result *r = task->result;
    struct arena *arena = &run->arena;
    const char *why;
    struct text t = {.arena = arena, .rank = RANK_NONE};
    t.lines = explain_code(&why, &known->before, &known->now, task, arena);
    explain_prediction(&t, task, context);
    explain_clock(&t, r);
    if (*why)
        r->verdict.sentence = arena_printf(arena, "%s; %s", r->verdict.sentence, why);
    else if (!known->now.functions.count)
        why = "its machine code differs; of host code no more is known";
    else
        why = "its machine code differs, but nothing that the compiler reports";
    r->verdict.explanation = arena_printf(arena, "why: %s\n%s", why, t.lines);
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
    while (at < e->count && (e->known[at].base != task->base || e->known[at].head != task->head))
        at++;
    if (at == e->count)
        e->known[e->count++] = (struct known){.base = task->base, .head = task->head};
    return at;
}

void explain_alarms(struct run *run, const struct plan *plan, const struct context *context,
                    const struct built *base, const struct built *head)
{
    struct explaining e = {.arena = &run->arena, .context = context, .base = base, .head = head};
    e.known = xcalloc(plan->count + 1, sizeof(*e.known));
    for (size_t i = 0; i < plan->count; i++) {
        if (is_alarm(&plan->tasks[i]))
            number_of(&e, &plan->tasks[i]);
    }
    for (size_t i = 0; i < plan->count; i++) {
        const struct task *task = &plan->tasks[i];
        if (!is_alarm(task))
            continue;
        const struct known *known = know(&e, number_of(&e, task));
        if (known->failed)
            task->result->verdict.explanation =
                arena_printf(&run->arena, "why: not known: %s\n", known->why.text);
        else
            explain_one(run, task, context, known);
    }
    free(e.known);
}
