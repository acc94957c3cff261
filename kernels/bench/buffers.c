// SPDX-License-Identifier: Apache-2.0
//
// Lays out, fills, disguises and checks the memory of a series. How bytes are moved on a device is
// its device_ops' business.
#include "kernels/bench/buffers.h"

#include "kernels/device/check.h"
#include "kernels/device/inputs.h"
#include "kernels/device/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 4096, ALIGN = 512, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff };
enum { SCALE_B = ALIGN / sizeof(float) }; // libraries may want their scales aligned

struct region {
    size_t at, bytes; // a part within its block
};
struct regions {
    struct region inputs[PARTS_MOST], output;
    size_t blocks[BUFFER_BLOCKS]; // their sizes
};

static size_t align_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static struct region place(size_t *end, size_t bytes)
{
    const struct region region = {*end, bytes};
    *end = align_up(*end + bytes) + GUARD;
    return region;
}

// Where inputs lie in their block, and the output in its. Of a set that is not `whole` the largest
// input lies elsewhere, and has no bytes here.
static struct regions regions_of(const struct parts *p, bool whole)
{
    struct regions r = {.blocks = {GUARD, GUARD}};
    for (int i = 0; i < p->input_count; i++)
        r.inputs[i] =
            place(&r.blocks[BUFFER_INPUTS], whole || i != p->large ? p->inputs[i].bytes : 0);
    r.output = place(&r.blocks[BUFFER_OUTPUT], p->output.bytes);
    return r;
}

static double set_bytes(const struct parts *p, bool whole)
{
    const struct regions r = regions_of(p, whole);
    return (double)r.blocks[BUFFER_INPUTS] + (double)r.blocks[BUFFER_OUTPUT];
}

double buffers_need_bytes(const struct parts *p, const struct device_ops *ops,
                          struct device_base *device)
{
    // buffers_grow() wants large operands until the flush's size has passed, and one more. What a
    // batch touches besides is bounded by what a device moves while it lasts.
    enum { FLUSHES = 20 };
    const double flush = (double)ops->flush_bytes(device);
    const double known = (double)regions_of(p, true).blocks[BUFFER_INPUTS];
    return 2 * set_bytes(p, true) + known + flush +
           fmin(ops->launches_max * set_bytes(p, false), FLUSHES * flush);
}

// The pointers of a launch, by what its parts are.
static void point(struct plumb_form_args *args, const struct buffers *b, uint32_t set)
{
    args->args.c = b->outputs[set];
    for (int i = 0; i < b->parts.input_count; i++) {
        const void *at = b->inputs[i][set];
        const void **const places[] = {[PART_A] = &args->args.a,
                                       [PART_B] = &args->args.b,
                                       [PART_SCALES_A] = &args->block_scales_a,
                                       [PART_SCALES_B] = &args->block_scales_b,
                                       [PART_BIAS] = &args->bias,
                                       [PART_INPUT] = &args->inputs[i]};
        const enum part_use use = b->parts.inputs[i].use;
        if (use == PART_GROUP_FIRST)
            args->group_first = at;
        else if (use == PART_GROUP_ROWS)
            args->group_rows = at;
        else
            *places[use] = at;
    }
}

static int add_set(struct buffers *b, bool whole, struct error *err)
{
    const struct regions r = regions_of(&b->parts, whole);
    char *block = NULL, *output = NULL;
    if (b->ops->alloc_inputs((void **)&block, b->device, r.blocks[BUFFER_INPUTS], err))
        return -1;
    if (b->ops->alloc((void **)&output, b->device, r.blocks[BUFFER_OUTPUT], err)) {
        b->ops->free(b->device, block);
        return -1;
    }
    b->blocks[BUFFER_INPUTS][b->sets] = block;
    b->blocks[BUFFER_OUTPUT][b->sets] = output;
    b->wide += whole;
    struct plumb_form_args *args = &b->args[b->sets]; // once it counts buffers_free() sees it
    *args = (struct plumb_form_args){.args = {.problem = check_abi_problem(&b->problem),
                                              .scale_a = b->scale,
                                              .scale_b = b->scale ? b->scale + SCALE_B : NULL,
                                              .workspace = b->workspace,
                                              .workspace_bytes = b->workspace_bytes},
                                     .form = check_abi_form(&b->problem)};
    b->is_noise = false; // what is new is not
    const uint32_t set = b->sets++, of_large = set % b->wide;
    for (int i = 0; i < b->parts.input_count; i++)
        b->inputs[i][set] =
            i != b->parts.large || whole ? block + r.inputs[i].at : b->inputs[i][of_large];
    b->outputs[set] = output + r.output.at;
    point(args, b, set);
    if (b->ops->set(b->device, output, GUARD_BYTE, r.blocks[BUFFER_OUTPUT], err))
        return -1;
    return b->ops->set(b->device, block, GUARD_BYTE, r.blocks[BUFFER_INPUTS], err);
}

// The scale of each operand's tensor; 0: it has none.
static float tensor_scale(const struct problem *p)
{
    if (inputs_is_fp8((int)p->in) && !p->scales.vector && !p->number_count)
        return 1.0f / INPUTS_FP8_SCALE;
    return p->in == DTYPE_E2M1 ? (float)check_tensor_scale(p) : 0;
}

static int open_shared(struct buffers *b, struct error *err)
{
    const float scale = tensor_scale(&b->problem);
    if (scale > 0) {
        if (b->ops->alloc_inputs((void **)&b->scale, b->device, 2 * ALIGN, err) ||
            b->ops->write(b->device, b->scale, &scale, sizeof(scale), err) ||
            b->ops->write(b->device, b->scale + SCALE_B, &scale, sizeof(scale), err))
            return -1;
    }
    if (b->parts.restored && b->ops->alloc_inputs(&b->given, b->device, b->parts.output.bytes, err))
        return -1;
    if (b->ops->alloc(&b->workspace, b->device, b->workspace_bytes + GUARD, err))
        return -1;
    return b->ops->set(b->device, b->workspace, GUARD_BYTE, b->workspace_bytes + GUARD, err);
}

int buffers_open(struct buffers *out, const struct device_ops *ops, struct device_base *device,
                 const struct problem *problem, const struct parts *parts, uint64_t seed,
                 size_t workspace_bytes, struct error *err)
{
    struct buffers b = {.ops = ops,
                        .device = device,
                        .problem = *problem,
                        .parts = *parts,
                        .plain = problem_is_plain(problem),
                        .seed = seed,
                        .workspace_bytes = align_up(workspace_bytes)};
    b.args = xcalloc(ops->launches_max, sizeof(*b.args));
    b.blocks[BUFFER_INPUTS] = xcalloc(ops->launches_max, sizeof(*b.blocks[BUFFER_INPUTS]));
    b.blocks[BUFFER_OUTPUT] = xcalloc(ops->launches_max, sizeof(*b.blocks[BUFFER_OUTPUT]));
    for (int i = 0; i < parts->input_count; i++)
        b.inputs[i] = xcalloc(ops->launches_max, sizeof(*b.inputs[i]));
    b.seeds = xcalloc(ops->launches_max, sizeof(*b.seeds));
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
        b->ops->free(b->device, b->bare[0]);
        b->ops->free(b->device, b->bare[1]);
        b->ops->free(b->device, b->given);
    }
    free(b->args);
    free(b->blocks[BUFFER_INPUTS]);
    free(b->blocks[BUFFER_OUTPUT]);
    for (int i = 0; i < PARTS_MOST; i++)
        free(b->inputs[i]);
    free(b->seeds);
    free(b->outputs);
    free(b->contents);
    *b = (struct buffers){0};
}

int buffers_grow(struct buffers *b, uint32_t launches, struct error *err)
{
    const double whole = set_bytes(&b->parts, true);
    // Data are cold again once the cache has seen twice its size of others.
    const double wide = ceil((double)b->ops->flush_bytes(b->device) / whole) + 1;
    double room = (double)b->ops->free_bytes(b->device);
    while (b->sets < launches && b->sets < b->ops->launches_max) {
        const bool is_whole = b->sets < wide;
        room -= set_bytes(&b->parts, is_whole);
        if (room < 0)
            return 0;
        if (add_set(b, is_whole, err))
            return -1;
    }
    return 0;
}

void buffers_lengths(uint64_t out[RECORD_BUFFERS], const struct problem *problem,
                     const struct parts *parts, uint64_t workspace_bytes)
{
    static const enum record_buffer of_use[] = {[PART_A] = RECORD_A,
                                                [PART_B] = RECORD_B,
                                                [PART_SCALES_A] = RECORD_BLOCK_SCALES_A,
                                                [PART_SCALES_B] = RECORD_BLOCK_SCALES_B,
                                                [PART_BIAS] = RECORD_BIAS,
                                                [PART_GROUP_FIRST] = RECORD_GROUP_FIRST,
                                                [PART_GROUP_ROWS] = RECORD_GROUP_ROWS};
    const uint64_t scale = tensor_scale(problem) > 0 ? sizeof(float) : 0;
    memset(out, 0, RECORD_BUFFERS * sizeof(*out));
    for (int i = 0; i < parts->input_count; i++)
        out[of_use[parts->inputs[i].use]] = parts->inputs[i].bytes;
    out[RECORD_C] = parts->output.bytes;
    out[RECORD_SCALE_A] = out[RECORD_SCALE_B] = scale;
    out[RECORD_WORKSPACE] = workspace_bytes;
}

struct record_places buffers_places(const struct buffers *b, uint32_t set)
{
    uint64_t bytes[RECORD_BUFFERS];
    buffers_lengths(bytes, &b->problem, &b->parts, b->workspace_bytes);
    return record_args_places(&b->args[set], bytes);
}

int buffers_poison(struct buffers *b, struct error *err)
{
    for (uint32_t i = 0; i < b->sets; i++) {
        if (b->ops->set(b->device, b->outputs[i], POISON_BYTE, b->parts.output.bytes, err))
            return -1;
    }
    return buffers_form_restore(b, &(struct renewal){.inputs = 0}, err);
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

// A stretch of guard bytes in one of a set's blocks, behind a part; without one, before the first.
struct guard {
    int block;
    size_t from, to;
    const struct part *part;
};
enum { GUARDS = PARTS_MOST + 3 };

// Returns how many there are.
static int guards_of(struct guard out[GUARDS], const struct buffers *b, uint32_t set)
{
    const struct regions r = regions_of(&b->parts, set < b->wide);
    int count = 0;
    out[count++] = (struct guard){BUFFER_INPUTS, 0, r.inputs[0].at, NULL};
    for (int i = 0; i < b->parts.input_count; i++) {
        const size_t from = r.inputs[i].at + r.inputs[i].bytes;
        const size_t to =
            i + 1 < b->parts.input_count ? r.inputs[i + 1].at : r.blocks[BUFFER_INPUTS];
        out[count++] = (struct guard){BUFFER_INPUTS, from, to, &b->parts.inputs[i]};
    }
    out[count++] = (struct guard){BUFFER_OUTPUT, 0, r.output.at, NULL};
    out[count++] = (struct guard){BUFFER_OUTPUT, r.output.at + r.output.bytes,
                                  r.blocks[BUFFER_OUTPUT], &b->parts.output};
    return count;
}

static void say_guard(char what[64], const struct guard *guard, const struct buffers *b,
                      ptrdiff_t at)
{
    const struct part *first =
        guard->block == BUFFER_OUTPUT ? &b->parts.output : &b->parts.inputs[0];
    snprintf(what, 64, "byte %td %s %s", at, guard->part ? "behind" : "before",
             part_name(guard->part ? guard->part : first));
}

int buffers_guards(bool *intact, char what[64], struct buffers *b, struct error *err)
{
    ptrdiff_t at;
    *intact = true;
    for (uint32_t set = 0; set < b->sets; set++) {
        struct guard guards[GUARDS];
        const int count = guards_of(guards, b, set);
        for (int g = 0; g < count && *intact; g++) {
            const struct guard *guard = &guards[g];
            const char *block = b->blocks[guard->block][set];
            if (guard_broken(&at, b, block + guard->from, guard->to - guard->from, err))
                return -1;
            if (at >= 0) {
                *intact = false;
                say_guard(what, guard, b, at);
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
