// SPDX-License-Identifier: Apache-2.0
//
// Reads what the compiler left in a kernel's library, and compares two of them. What a difference
// means is said in explain.c and static_gate.c.
#include "ci/gate/code_facts.h"

#include "runner/code/plan_file.h"

#include <stdlib.h>
#include <string.h>

const char *const ptxas_notes[PTXAS_NOTES] = {"C7508", "C7510", "C7511", "C7515"};

// "... in function '_Z4gemmv'" or "... for function '...'": is it one of ours?
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

int code_facts_begin(struct code_reading *out, const struct built *built,
                     const struct built_kernel *kernel, const struct context *context,
                     struct arena *arena, struct error *err)
{
    struct code_reading reading = {0};
    if (code_resources(&reading.facts.functions, kernel->library, arena, err))
        return -1;
    const char *code = plan_file_code(kernel->library, arena);
    if (code && reading.facts.functions.count &&
        disassembly_begin(&reading.disassembly, code, &context->sandbox, err))
        return -1;
    if (built->log)
        code_facts_notes(reading.facts.notes, built->log, &reading.facts.functions);
    *out = reading;
    return 0;
}

void code_facts_end(struct code_facts *out, struct code_reading *reading, struct arena *arena)
{
    disassembly_end(&reading->facts.operations, reading->disassembly, arena);
    reading->disassembly = NULL;
    *out = reading->facts;
}

int code_facts_read(struct code_facts *out, const struct built *built,
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

int64_t function_spill(const struct code_function *f)
{
    return f ? (int64_t)f->local_load_bytes + f->local_store_bytes : 0;
}

struct occupancy function_occupancy(const struct code_function *f, const struct traits *traits,
                                    const struct gpu *gpu)
{
    int32_t threads = traits->threads > 0 ? traits->threads : f->max_threads;
    int32_t shared = traits->smem_bytes > f->shared_bytes ? traits->smem_bytes : f->shared_bytes;
    return occupancy_of(gpu, threads, f->registers, shared);
}
