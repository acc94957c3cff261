// SPDX-License-Identifier: Apache-2.0
//
// Lays out, fills, disguises and checks the memory of a series. How bytes are moved on a device is
// its device_ops' business.
#include "kernels/bench/buffers.h"

#include "kernels/device/check.h"
#include "kernels/device/inputs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, ALIGN = 512, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff, MATRICES = 3 };
enum { SCALE_B = ALIGN / sizeof(float) }; // libraries may want their scales aligned

struct region {
    size_t at, bytes; // a matrix within its block
};

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

bool buffers_b_is_large(const struct problem *p)
{
    return check_count_b(p) >= check_count_a(p);
}

// Where A and B lie in the block of inputs, and C in the block of the output; the blocks' sizes go
// to `blocks`. Of a set that is not `whole` the large operand lies elsewhere, and has no bytes
// here.
static void regions_of(struct region out[MATRICES], size_t blocks[BUFFER_BLOCKS],
                       const struct problem *p, bool whole)
{
    const uint64_t counts[MATRICES] = {check_count_a(p), check_count_b(p), check_count_c(p)};
    blocks[BUFFER_INPUTS] = blocks[BUFFER_OUTPUT] = GUARD;
    for (int i = 0; i < MATRICES; i++) {
        double bytes = (double)counts[i] * dtype_bytes(i == 2 ? p->out : p->in);
        size_t *end = &blocks[i == 2 ? BUFFER_OUTPUT : BUFFER_INPUTS];
        out[i] =
            (struct region){*end, whole || i != (int)buffers_b_is_large(p) ? (size_t)bytes : 0};
        *end = align_up(*end + out[i].bytes) + GUARD;
    }
}

static double set_bytes(const struct problem *p, bool whole)
{
    struct region regions[MATRICES];
    size_t blocks[BUFFER_BLOCKS];
    regions_of(regions, blocks, p, whole);
    return (double)blocks[BUFFER_INPUTS] + (double)blocks[BUFFER_OUTPUT];
}

double buffers_need_bytes(const struct problem *p, const struct device_ops *ops,
                          struct device_base *device)
{
    // buffers_grow() wants large operands until the flush's size has passed, and one more. What a
    // batch touches besides is bounded by what a device moves while it lasts.
    enum { FLUSHES = 8 };
    const double flush = (double)ops->flush_bytes(device);
    return 2 * set_bytes(p, true) + flush +
           fmin(ops->launches_max * set_bytes(p, false), FLUSHES * flush);
}

static int add_set(struct buffers *b, bool whole, struct error *err)
{
    struct region r[MATRICES];
    size_t bytes[BUFFER_BLOCKS];
    char *block = NULL, *output = NULL;
    regions_of(r, bytes, &b->problem, whole);
    if (b->ops->alloc_inputs((void **)&block, b->device, bytes[BUFFER_INPUTS], err))
        return -1;
    if (b->ops->alloc((void **)&output, b->device, bytes[BUFFER_OUTPUT], err)) {
        b->ops->free(b->device, block);
        return -1;
    }
    b->blocks[BUFFER_INPUTS][b->sets] = block;
    b->blocks[BUFFER_OUTPUT][b->sets] = output;
    b->wide += whole;
    struct plumb_args *args = &b->args[b->sets]; // once it counts buffers_free() sees it
    *args = (struct plumb_args){.problem = check_abi_problem(&b->problem),
                                .scale_a = b->scale,
                                .scale_b = b->scale ? b->scale + SCALE_B : NULL,
                                .workspace = b->workspace,
                                .workspace_bytes = b->workspace_bytes};
    b->is_noise = false; // what is new is not
    const uint32_t set = b->sets++, of_large = set % b->wide;
    const bool b_large = buffers_b_is_large(&b->problem);
    b->inputs[0][set] = b_large || whole ? block + r[0].at : b->inputs[0][of_large];
    b->inputs[1][set] = !b_large || whole ? block + r[1].at : b->inputs[1][of_large];
    b->outputs[set] = output + r[2].at;
    args->a = b->inputs[0][set];
    args->b = b->inputs[1][set];
    args->c = b->outputs[set];
    if (b->ops->set(b->device, output, GUARD_BYTE, bytes[BUFFER_OUTPUT], err))
        return -1;
    return b->ops->set(b->device, block, GUARD_BYTE, bytes[BUFFER_INPUTS], err);
}

static int open_shared(struct buffers *b, struct error *err)
{
    if (inputs_is_fp8((int)b->problem.in)) {
        if (b->ops->alloc_inputs((void **)&b->scale, b->device, 2 * ALIGN, err) ||
            b->ops->set_scale(b->device, b->scale, 1.0f / INPUTS_FP8_SCALE, err) ||
            b->ops->set_scale(b->device, b->scale + SCALE_B, 1.0f / INPUTS_FP8_SCALE, err))
            return -1;
    }
    if (b->ops->alloc(&b->workspace, b->device, b->workspace_bytes + GUARD, err))
        return -1;
    return b->ops->set(b->device, b->workspace, GUARD_BYTE, b->workspace_bytes + GUARD, err);
}

int buffers_open(struct buffers *out, const struct device_ops *ops, struct device_base *device,
                 const struct problem *problem, uint64_t seed, size_t workspace_bytes,
                 struct error *err)
{
    struct buffers b = {.ops = ops,
                        .device = device,
                        .problem = *problem,
                        .seed = seed,
                        .workspace_bytes = align_up(workspace_bytes)};
    b.args = xcalloc(ops->launches_max, sizeof(*b.args));
    b.blocks[BUFFER_INPUTS] = xcalloc(ops->launches_max, sizeof(*b.blocks[BUFFER_INPUTS]));
    b.blocks[BUFFER_OUTPUT] = xcalloc(ops->launches_max, sizeof(*b.blocks[BUFFER_OUTPUT]));
    b.inputs[0] = xcalloc(ops->launches_max, sizeof(*b.inputs[0]));
    b.inputs[1] = xcalloc(ops->launches_max, sizeof(*b.inputs[1]));
    b.outputs = xcalloc(ops->launches_max, sizeof(*b.outputs));
    b.contents = xcalloc(ops->launches_max, sizeof(*b.contents));
    if (open_shared(&b, err) || buffers_open_pools(&b, err) || add_set(&b, true, err) ||
        buffers_known(&b, 0, err)) {
        buffers_free(&b);
        return -1;
    }
    *out = b;
    return 0;
}

void buffers_free(struct buffers *b)
{
    for (uint32_t i = 0; i < b->sets; i++) {
        b->ops->free(b->device, b->blocks[BUFFER_INPUTS][i]);
        b->ops->free(b->device, b->blocks[BUFFER_OUTPUT][i]);
    }
    if (b->ops) {
        b->ops->free(b->device, b->scale);
        b->ops->free(b->device, b->workspace);
        b->ops->free(b->device, b->pools[0]);
        b->ops->free(b->device, b->pools[1]);
    }
    free(b->args);
    free(b->blocks[BUFFER_INPUTS]);
    free(b->blocks[BUFFER_OUTPUT]);
    free(b->inputs[0]);
    free(b->inputs[1]);
    free(b->outputs);
    free(b->contents);
    *b = (struct buffers){0};
}

int buffers_grow(struct buffers *b, uint32_t launches, struct error *err)
{
    const double whole = set_bytes(&b->problem, true);
    // Data are cold again once the cache has seen twice its size of others.
    const double wide = ceil((double)b->ops->flush_bytes(b->device) / whole) + 1;
    double room = (double)b->ops->free_bytes(b->device);
    while (b->sets < launches && b->sets < b->ops->launches_max) {
        const bool is_whole = b->sets < wide;
        room -= set_bytes(&b->problem, is_whole);
        if (room < 0)
            return 0;
        if (add_set(b, is_whole, err))
            return -1;
    }
    return 0;
}

void buffers_lengths(uint64_t out[RECORD_BUFFERS], const struct problem *problem,
                     uint64_t workspace_bytes)
{
    struct region r[MATRICES];
    size_t blocks[BUFFER_BLOCKS];
    regions_of(r, blocks, problem, true);
    const uint64_t scale = inputs_is_fp8((int)problem->in) ? sizeof(float) : 0;
    const uint64_t lengths[RECORD_BUFFERS] = {
        [RECORD_A] = r[0].bytes,  [RECORD_B] = r[1].bytes,  [RECORD_C] = r[2].bytes,
        [RECORD_SCALE_A] = scale, [RECORD_SCALE_B] = scale, [RECORD_WORKSPACE] = workspace_bytes};
    memcpy(out, lengths, sizeof(lengths));
}

struct record_places buffers_places(const struct buffers *b, uint32_t set)
{
    const struct plumb_args *args = &b->args[set];
    struct record_places places = {.address = {[RECORD_A] = (uintptr_t)args->a,
                                               [RECORD_B] = (uintptr_t)args->b,
                                               [RECORD_C] = (uintptr_t)args->c,
                                               [RECORD_SCALE_A] = (uintptr_t)args->scale_a,
                                               [RECORD_SCALE_B] = (uintptr_t)args->scale_b,
                                               [RECORD_WORKSPACE] = (uintptr_t)args->workspace}};
    buffers_lengths(places.bytes, &b->problem, b->workspace_bytes);
    return places;
}

int buffers_poison(struct buffers *b, struct error *err)
{
    struct region r[MATRICES];
    size_t blocks[BUFFER_BLOCKS];
    regions_of(r, blocks, &b->problem, true);
    for (uint32_t i = 0; i < b->sets; i++) {
        if (b->ops->set(b->device, b->args[i].c, POISON_BYTE, r[2].bytes, err))
            return -1;
    }
    return 0;
}

// First changed byte of a guard, or -1.
static int guard_broken(ptrdiff_t *at, struct buffers *b, const char *from, size_t bytes,
                        struct error *err)
{
    unsigned char guard[GUARD + ALIGN];
    if (b->ops->read(b->device, guard, from, bytes, err))
        return -1;
    *at = -1;
    for (size_t i = 0; i < bytes && *at < 0; i++) {
        if (guard[i] != GUARD_BYTE)
            *at = (ptrdiff_t)i;
    }
    return 0;
}

// A stretch of guard bytes in one of a set's blocks.
struct guard {
    int block;
    size_t from, to;
    const char *name;
};
enum { GUARDS = 5 };

static void guards_of(struct guard out[GUARDS], const struct buffers *b, uint32_t set)
{
    struct region r[MATRICES];
    size_t end[BUFFER_BLOCKS];
    regions_of(r, end, &b->problem, set < b->wide);
    const struct guard guards[GUARDS] = {
        {BUFFER_INPUTS, 0, r[0].at, "before A"},
        {BUFFER_INPUTS, r[0].at + r[0].bytes, r[1].at, "behind A"},
        {BUFFER_INPUTS, r[1].at + r[1].bytes, end[BUFFER_INPUTS], "behind B"},
        {BUFFER_OUTPUT, 0, r[2].at, "before C"},
        {BUFFER_OUTPUT, r[2].at + r[2].bytes, end[BUFFER_OUTPUT], "behind C"},
    };
    memcpy(out, guards, sizeof(guards));
}

int buffers_guards(bool *intact, char what[64], struct buffers *b, struct error *err)
{
    ptrdiff_t at;
    *intact = true;
    for (uint32_t set = 0; set < b->sets; set++) {
        struct guard guards[GUARDS];
        guards_of(guards, b, set);
        for (int g = 0; g < GUARDS && *intact; g++) {
            const struct guard *guard = &guards[g];
            const char *block = b->blocks[guard->block][set];
            if (guard_broken(&at, b, block + guard->from, guard->to - guard->from, err))
                return -1;
            if (at >= 0) {
                *intact = false;
                snprintf(what, 64, "byte %td %s", at, guard->name);
            }
        }
    }
    if (guard_broken(&at, b, (char *)b->workspace + b->workspace_bytes, GUARD, err))
        return -1;
    if (*intact && at >= 0) {
        *intact = false;
        snprintf(what, 64, "byte %td behind the workspace", at);
    }
    return 0;
}
