// SPDX-License-Identifier: Apache-2.0
//
// How the machine code of two builds differs, a line each; and why that matters, a clause. The
// clause is that of the first rule that fits, in the order in which such changes usually matter:
// ptxas gave up on asynchronous products; spills; occupancy; then, without claiming a cause,
// registers, shared memory and the size of the code.
#include "ci/gate/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
