// SPDX-License-Identifier: Apache-2.0
//
// Explains alarms: how the machine code differs (explain_code()), what the model says about that,
// and how much the clock explains.
#include "ci/gate/explain.h"

#include "ci/gate/built.h"
#include "ci/gate/task_list.h"
#include "model/buffer.h"
#include "model/gate/gate.h"
#include "model/predict.h"
#include "model/predict/parts/limits.h"
#include "runner/bench/capture.h"
#include "runner/code/code_id.h"
#include "runner/code/plan_file.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A reading that can be begun and ended separately, so that several libraries are disassembled at
// the same time. Every reading that was begun must be ended.
struct code_reading {
    struct code_facts facts;
    struct disassembly *disassembly;
};

// ---- facts ----
//
// Reads what the compiler left in a kernel's library, and compares two libraries. The meaning of a
// difference is explained further down.

static const char *const ptxas_notes[PTXAS_NOTES] = {"C7508", "C7510", "C7511", "C7515"};

// Whether a line is about a function that is not ours: "... in function '_Z4gemmv'" or "... for
// function '...'".
static bool about_other(const char *line, size_t length, const struct code_function_list *list)
{
    const char *at = memmem(line, length, "function '", 10);
    if (!at)
        return false;
    at += 10;
    size_t name = strcspn(at, "'\n");
    for (size_t i = 0; i < list->count; i++) {
        if (strlen(list->items[i].name) == name && memcmp(list->items[i].name, at, name) == 0)
            return false;
    }
    return true;
}

void code_facts_notes(uint32_t notes[PTXAS_NOTES], const char *log,
                      const struct code_function_list *list)
{
    for (const char *line = log; *line;) {
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; i < PTXAS_NOTES; i++) {
            if (memmem(line, length, ptxas_notes[i], 5) && !about_other(line, length, list))
                notes[i]++;
        }
        line += length + (line[length] == '\n');
    }
}

static int code_facts_begin(struct code_reading *out, const struct built *built,
                            const struct built_kernel *kernel, const struct context *context,
                            struct arena *arena, struct error *err)
{
    struct code_reading reading = {0};
    if (kernel->captured ? capture_resources(&reading.facts.functions, kernel->library, arena, err)
                         : code_resources(&reading.facts.functions, kernel->library, arena, err))
        return -1;
    const char *code = kernel->captured ? NULL : plan_file_code(kernel->library, arena);
    if (code && reading.facts.functions.count &&
        disassembly_begin(&reading.disassembly, code, &context->sandbox, err))
        return -1;
    if (built->log)
        code_facts_notes(reading.facts.notes, built->log, &reading.facts.functions);
    *out = reading;
    return 0;
}

static void code_facts_end(struct code_facts *out, struct code_reading *reading,
                           struct arena *arena)
{
    disassembly_end(&reading->facts.operations, reading->disassembly, arena);
    reading->disassembly = NULL;
    *out = reading->facts;
}

// Reads the facts of a build into `arena`. A host library has no functions. -1: the library cannot
// be read.
static int code_facts_read(struct code_facts *out, const struct built *built,
                           const struct built_kernel *kernel, const struct context *context,
                           struct arena *arena, struct error *err)
{
    struct code_reading reading;
    if (code_facts_begin(&reading, built, kernel, context, arena, err))
        return -1;
    code_facts_end(out, &reading, arena);
    return 0;
}

static bool same_function(const struct code_function *a, const struct code_function *b)
{
    return strcmp(a->architecture, b->architecture) == 0 && strcmp(a->name, b->name) == 0;
}

static const struct code_function *take(const struct code_function_list *list, bool *taken,
                                        const struct code_function *like, bool by_name)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct code_function *f = &list->items[i];
        if (taken[i] ||
            (by_name ? !same_function(f, like) : strcmp(f->architecture, like->architecture)))
            continue;
        taken[i] = true;
        return f;
    }
    return NULL;
}

size_t code_facts_pair(struct function_pair *out, const struct code_facts *base,
                       const struct code_facts *head)
{
    bool *taken = xcalloc(base->functions.count + 1, sizeof(*taken));
    size_t count = 0;
    for (size_t i = 0; i < head->functions.count; i++) {
        const struct code_function *f = &head->functions.items[i];
        out[count++] = (struct function_pair){take(&base->functions, taken, f, true), f};
    }
    for (size_t i = 0; i < count; i++) {
        if (!out[i].base)
            out[i].base = take(&base->functions, taken, out[i].head, false);
    }
    for (size_t i = 0; i < base->functions.count; i++) {
        if (!taken[i])
            out[count++] = (struct function_pair){&base->functions.items[i], NULL};
    }
    free(taken);
    return count;
}

// Bytes of local memory that one pass through the code reads and writes, per thread.
static int64_t function_spill(const struct code_function *f)
{
    return f ? (int64_t)f->local_load_bytes + f->local_store_bytes : 0;
}

// The resident blocks, by the compiler's registers and by the traits' threads and shared memory; if
// the traits do not give these, by the code's.
static struct occupancy function_occupancy(const struct code_function *f,
                                           const struct traits *traits, const struct gpu *gpu)
{
    int32_t threads = traits->threads > 0 ? traits->threads : f->max_threads;
    int32_t shared = traits->smem_bytes > f->shared_bytes ? traits->smem_bytes : f->shared_bytes;
    return occupancy_of(gpu, threads, f->registers, shared);
}

// ---- what differs ----
//
// How the machine code of two builds differs, with a line for each difference; and a clause that
// says why that matters. The clause belongs to the first rule that applies, in the order of usual
// importance: ptxas gave up on asynchronous products; spills; occupancy; then registers, shared
// memory and the size of the code, without claiming that they are the cause.

struct text {
    struct arena *arena;
    const char *lines, *why;
    int rank; // rank of `why`; lower is stronger
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

// ---- what the model and the clocks tell

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

// ---- what the machine code tells

// The facts of both builds of a kernel. All problems of the kernel share them.
struct kernel_facts {
    const struct explaining *all;
    const struct built_kernel *base, *head;
    struct arena arena; // for what is read
    struct code_facts before, now;
    struct error why; // why the facts are not known
    pthread_t reader;
    bool begun, apart, failed; // apart: it runs in a thread of its own that was not joined yet
};

struct explaining {
    const struct context *context;
    const struct built *base, *head;
    struct kernel_facts *facts; // one for each kernel with an alarm
    size_t count, reading;      // reading: number of readers that were not joined yet
};

struct explaining *explaining_begin(const struct task_list *tasks, const struct context *context,
                                    const struct built *base, const struct built *head)
{
    struct explaining *e = xcalloc(1, sizeof(*e));
    *e = (struct explaining){.context = context, .base = base, .head = head};
    e->facts = xcalloc(tasks->count + 1, sizeof(*e->facts));
    return e;
}

static void *read_both(void *facts)
{
    struct kernel_facts *k = facts;
    const struct explaining *e = k->all;
    struct code_reading readings[2];
    k->failed =
        code_facts_begin(&readings[0], e->base, k->base, e->context, &k->arena, &k->why) != 0;
    if (k->failed)
        return NULL;
    k->failed =
        code_facts_begin(&readings[1], e->head, k->head, e->context, &k->arena, &k->why) != 0;
    code_facts_end(&k->before, &readings[0], &k->arena);
    if (!k->failed)
        code_facts_end(&k->now, &readings[1], &k->arena);
    return NULL;
}

// Begins reading, at most as many at the same time as half of the processors.
static void begin_facts(struct explaining *e, struct kernel_facts *k)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t most = processors > 2 ? (size_t)processors / 2 : 1;
    if (k->begun || e->reading >= most)
        return;
    k->begun = k->apart = pthread_create(&k->reader, NULL, read_both, k) == 0;
    e->reading += k->apart;
}

static void join(struct explaining *e, struct kernel_facts *k)
{
    if (!k->apart)
        return;
    pthread_join(k->reader, NULL);
    k->apart = false;
    e->reading--;
}

// The index of the alarm's kernel; tasks are sorted by kernel.
static size_t number_of(struct explaining *e, const struct task *task)
{
    size_t at = 0;
    while (at < e->count && (e->facts[at].base != task->base || e->facts[at].head != task->head))
        at++;
    if (at == e->count)
        e->facts[e->count++] =
            (struct kernel_facts){.all = e, .base = task->base, .head = task->head};
    return at;
}

void explaining_alarm(struct explaining *e, const struct task *task)
{
    begin_facts(e, &e->facts[number_of(e, task)]);
}

// Returns the facts of kernel `at`, while those of the next ones are being read.
static const struct kernel_facts *read_facts(struct explaining *e, size_t at)
{
    struct kernel_facts *k = &e->facts[at];
    for (size_t i = at; i < e->count; i++)
        begin_facts(e, &e->facts[i]);
    join(e, k);
    if (!k->begun)
        read_both(k);
    k->begun = true;
    return k;
}

void explaining_end(struct explaining *e)
{
    for (size_t i = 0; e && i < e->count; i++) {
        join(e, &e->facts[i]);
        arena_free(&e->facts[i].arena);
    }
    if (e)
        free(e->facts);
    free(e);
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

void explain_alarms(struct explaining *e, struct run *run, const struct task_list *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (is_alarm(&tasks->items[i]))
            explaining_alarm(e, &tasks->items[i]);
    }
    for (size_t i = 0; i < tasks->count; i++) {
        const struct task *task = &tasks->items[i];
        if (!is_alarm(task))
            continue;
        const struct kernel_facts *facts = read_facts(e, number_of(e, task));
        if (facts->failed)
            task->result->verdict.explanation =
                arena_printf(&run->arena, "why: not known: %s\n", facts->why.text);
        else
            explain_one(run, task, e->context, facts);
    }
}

// ---- the gate without a device ----
//
// Compares two builds by the compiler's figures, on a machine without the device. It never states a
// time.

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
    // PTX beside machine code is normal and adds nothing; without machine code nothing can be told.
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
    case STATIC_UNREADABLE:
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
