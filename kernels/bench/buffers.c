// SPDX-License-Identifier: Apache-2.0
//
// Lays out, fills, overwrites and checks the memory of a series. Contents are drawn anew from keys
// that nobody knows beforehand. device_ops moves the bytes on a device.
#include "kernels/bench/buffers.h"

#include "kernels/bench/parts.h"
#include "kernels/device/check.h"
#include "kernels/device/device.h"
#include "kernels/device/form.h"
#include "kernels/device/inputs.h"
#include "kernels/device/noise.h"
#include "kernels/device/record.h"
#include "model/record/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The index after the last set of a renewal.
static inline uint32_t buffers_end(const struct buffers *buffers, const struct renewal *renewal)
{
    return renewal->sets ? renewal->set + renewal->sets : buffers->sets;
}

// ---- the contents of a form's buffers ----

// Each input is drawn from a seed: known contents from the series' seed, other contents from a
// separate seed for each set. For a plain problem, signs of rows and columns turn known contents
// into others. Signs do not pass through a bias or an activation, so a form's known contents are
// known once for each seed.

enum { GIVEN = 50, KEY_SETS = 35, WHICH_FIRST = MATRIX_A };

static struct inputs_recipe form_recipe(const struct part *part, int which, uint64_t seed)
{
    return (struct inputs_recipe){.type = (int)part->type,
                                  .which = which,
                                  .seed = seed,
                                  .scale = part->scale,
                                  .contents = part->contents};
}

static int fill(struct buffers *b, void *to, const struct part *part, int which, uint64_t seed,
                struct error *err)
{
    const struct inputs_recipe recipe = form_recipe(part, which, seed);
    const uint64_t places = part->type == DTYPE_E2M1 ? part->bytes : part->count;
    return b->ops->fill(b->device, to, &recipe, places, err);
}

// ---- groups ----

// Writes zeros to the rows of an operand or of the output that belong to no group.
static int clear_padding(struct buffers *b, void *memory, const struct part *part,
                         struct error *err)
{
    return group_places_clear(b->ops, b->device, memory, part->bytes, &b->problem, err);
}

static int write_groups(struct buffers *b, void *to, const struct part *part, struct error *err)
{
    struct group_places groups;
    group_places_of(&groups, &b->problem);
    return b->ops->write(b->device, to, part->use == PART_GROUP_FIRST ? groups.first : groups.rows,
                         part->bytes, err);
}

// ---- contents ----

static int fill_part(struct buffers *b, uint32_t set, int i, uint64_t seed, struct error *err)
{
    const struct part *part = &b->parts.inputs[i];
    void *to = b->inputs[i][set];
    if (part->use == PART_GROUP_FIRST || part->use == PART_GROUP_ROWS)
        return write_groups(b, to, part, err);
    if (fill(b, to, part, WHICH_FIRST + i, seed, err))
        return -1;
    return part->use == PART_A ? clear_padding(b, to, part, err) : 0;
}

// Fills the inputs of the sets `from` to `end`. With key 0 all sets get the same contents, from the
// series' seed. With another key each set gets contents of its own, except A and B of a product,
// which become noise.
static int fill_sets(struct buffers *b, uint64_t key, uint32_t from, uint32_t end,
                     struct error *err)
{
    const int first = key && !b->problem.number_count ? 2 : 0;
    for (uint32_t set = from; set < end; set++) {
        b->seeds[set] = key ? secret_key(key, KEY_SETS, set) >> 1 : b->seed;
        for (int i = first; i < b->parts.input_count; i++) {
            const bool own = i != b->parts.large || set < b->wide;
            if (own && fill_part(b, set, i, b->seeds[set], err))
                return -1;
        }
    }
    return 0;
}

// Fills the known contents of a form. Known inputs are drawn from a seed. So are fresh ones, except
// A and B of a product, which become noise as in a plain problem.
static int buffers_form_known(struct buffers *b, struct error *err)
{
    b->is_noise = false;
    return fill_sets(b, 0, 0, b->sets, err);
}

static int buffers_form_renew(struct buffers *b, const struct renewal *renewal, struct error *err)
{
    return fill_sets(b, renewal->inputs, renewal->set, buffers_end(b, renewal), err);
}

// Restores, before a launch, the input that the output holds, and zeros in rows that belong to no
// group; after new `inputs` also in A. Does nothing where there are neither.
static int buffers_form_restore(struct buffers *b, const struct renewal *renewal, struct error *err)
{
    const bool inputs = renewal->inputs != 0;
    for (uint32_t set = renewal->set; set < buffers_end(b, renewal); set++) {
        const bool own = b->parts.large != 0 || set < b->wide;
        if (inputs && !b->problem.number_count && own &&
            clear_padding(b, b->inputs[0][set], &b->parts.inputs[0], err))
            return -1;
        if (b->parts.restored &&
            fill(b, b->outputs[set], &b->parts.output, GIVEN, b->seeds[set], err))
            return -1;
        if (clear_padding(b, b->outputs[set], &b->parts.output, err))
            return -1;
    }
    return 0;
}

int buffers_given(const void **out, struct buffers *b, uint32_t set, struct error *err)
{
    *out = b->given;
    return b->given ? fill(b, b->given, &b->parts.output, GIVEN, b->seeds[set], err) : 0;
}

// ---- the contents of a plain problem's buffers, and outputs before a launch ----

enum {
    MATRIX_POOL = 21,
    KEY_SMALL = 31,
    KEY_LARGE,
    KEY_OPERANDS,
    KEY_OUTPUT
}; // streams of the generator

// One line in so many is renewed: in an operand that holds noise already, and in an output that a
// launch has written. Smaller sizes are renewed as a whole.
enum { ONE_IN = 8, OUTPUT_ONE_IN = 2, SMALL_BYTES = 1 << 20, SHORT_BYTES = 1024 };

static int open_pool(struct buffers *b, int out, double scale, struct error *err)
{
    const size_t bytes = (size_t)NOISE_VECTORS * NOISE_VECTOR;
    const enum dtype type = out ? b->parts.output.type : b->problem.in;
    const struct inputs_recipe recipe = {.type = (int)type,
                                         .which = MATRIX_POOL + out,
                                         .seed = b->seed,
                                         .scale = (float)scale,
                                         .contents = out ? 0 : b->parts.inputs[0].contents};
    // For e2m1 the generator counts bytes, each of which has two numbers.
    const uint64_t count =
        type == DTYPE_E2M1 ? bytes : (uint64_t)((double)bytes / dtype_bytes(type));
    if (b->ops->alloc_inputs(&b->pools[out], b->device, bytes, err))
        return -1;
    return b->ops->fill(b->device, b->pools[out], &recipe, count, err);
}

static struct inputs_recipe recipe_of(const struct buffers *b, int which, uint64_t signs)
{
    const struct problem *p = &b->problem;
    const struct check_strides strides = check_strides(p);
    const bool is_a = which == MATRIX_A, dual = p->epilogue == EPILOGUE_DUAL_SILU;
    return (struct inputs_recipe){.type = (int)p->in,
                                  .which = which,
                                  .seed = b->seed,
                                  .scale = 1,
                                  .signs = signs,
                                  .lines = (uint64_t)(is_a ? p->m : p->n),
                                  .k = (uint64_t)p->k,
                                  .k_inner = (is_a ? strides.a_col : strides.b_row) == 1,
                                  .second = !is_a && dual,
                                  .bare = b->bare[!is_a]};
}

// Computing them anew for each turn with known contents would take a third of a millisecond.
static int open_bare(struct buffers *b, int which, struct error *err)
{
    const struct part *part = &b->parts.inputs[which != MATRIX_A];
    const struct inputs_recipe recipe = recipe_of(b, which, 0);
    void **bare = &b->bare[which != MATRIX_A];
    if (b->ops->alloc_inputs(bare, b->device, part->bytes, err))
        return -1;
    return b->ops->fill(b->device, *bare, &recipe, part->count, err);
}

// Makes the pools of noise, and for a plain problem the known numbers.
static int buffers_open_pools(struct buffers *b, struct error *err)
{
    const double scale = (double)b->parts.output.scale;
    // A kernel's output is not scaled as fp8 inputs are.
    const bool scaled = inputs_is_fp8((int)b->parts.output.type);
    if (open_pool(b, 1, scaled ? scale / INPUTS_FP8_SCALE : scale, err))
        return -1;
    if (!b->plain)
        return b->problem.number_count ? 0 : open_pool(b, 0, (double)b->parts.inputs[0].scale, err);
    return open_pool(b, 0, 1, err) || open_bare(b, MATRIX_A, err) || open_bare(b, MATRIX_B, err)
               ? -1
               : 0;
}

// ---- known contents ----

// Fills the buffers of a set. A copy that several sets share is filled once.
static int fill_set(struct buffers *b, uint32_t set, const struct buffers_content *content,
                    struct error *err)
{
    const struct part *parts = b->parts.inputs;
    const bool b_large = b->parts.large, whole = set < b->wide;
    const struct inputs_recipe recipe_a = recipe_of(b, MATRIX_A, content->a);
    const struct inputs_recipe recipe_b = recipe_of(b, MATRIX_B, content->b);
    if ((whole || b_large) &&
        b->ops->fill(b->device, b->inputs[0][set], &recipe_a, parts[0].count, err))
        return -1;
    return (whole || !b_large)
               ? b->ops->fill(b->device, b->inputs[1][set], &recipe_b, parts[1].count, err)
               : 0;
}

int buffers_known(struct buffers *b, uint64_t key, struct error *err)
{
    if (!b->plain)
        return buffers_form_known(b, err);
    const bool b_large = b->parts.large;
    const bool dual = b->problem.epilogue == EPILOGUE_DUAL_SILU;
    b->is_noise = false;
    for (uint32_t set = 0; set < b->sets; set++) {
        const uint64_t small = key ? secret_key(key, KEY_SMALL, set) | 1 : 0;
        const uint64_t large = key ? secret_key(key, KEY_LARGE, set % b->wide) | 1 : 0;
        struct buffers_content *content = &b->contents[set];
        content->a = dual ? 0 : b_large ? small : large;
        content->b = b_large ? large : small;
        if (fill_set(b, set, content, err))
            return -1;
    }
    return 0;
}

struct inputs_signs buffers_signs(const struct buffers *b, uint32_t set)
{
    return (struct inputs_signs){.a = b->contents[set].a,
                                 .b = b->contents[set].b,
                                 .m = (uint64_t)b->problem.m,
                                 .n = (uint64_t)b->problem.n};
}

// ---- noise ----

static struct noise noise_of(const struct buffers *b, void **to, uint32_t count, size_t bytes,
                             bool output, uint64_t key)
{
    return (struct noise){.to = to,
                          .count = count,
                          .one_in = 1,
                          .line = NOISE_LINE,
                          .bytes = bytes,
                          .pool = b->pools[output],
                          .type = (int)(output ? b->parts.output.type : b->problem.in),
                          .key = key};
}

// Whether tensor cores multiply these numbers in tiles; other numbers are multiplied row by row.
static bool by_tiles(const struct problem *p)
{
    return p->in != DTYPE_FP32 && p->in != DTYPE_FP64;
}

// Whether it is worth renewing only a part of an operand. It is not for small operands; and every
// row must have renewed lines.
//
// Could a kernel keep operands and product, and add only the effect of the changed lines? It would
// need two products, of one operand each. In the smallest tile of tensor cores, which is 8 lines of
// operands deep, 1 - (7/8)^8 = 66 % of tiles have a changed line. So both products cost 1.3 times
// the one that they replace, and more with taller tiles; and finding the lines takes as long as
// reading everything. But a kernel that multiplies row by row would need only a quarter of the
// work. So numbers that tensor cores do not multiply are all renewed.
static bool is_worth(const struct problem *p, uint64_t bytes)
{
    return by_tiles(p) && bytes >= SMALL_BYTES && (double)p->k * dtype_bytes(p->in) >= SHORT_BYTES;
}

static struct noise fresh_operand(const struct buffers *b, int i, const struct renewal *renewal)
{
    const uint64_t bytes = b->parts.inputs[i].bytes;
    const bool large = i == b->parts.large, whole = renewal->whole || !b->is_noise;
    const uint32_t places = large ? b->wide : b->sets, end = buffers_end(b, renewal);
    struct noise noise = noise_of(b, b->inputs[i], end < places ? end : places, bytes, false,
                                  secret_key(renewal->inputs, KEY_OPERANDS, (uint64_t)i));
    noise.one_in = !whole && is_worth(&b->problem, bytes) ? ONE_IN : 1;
    noise.line = renewal->wide ? 2 * NOISE_LINE : NOISE_LINE;
    noise.coarse = renewal->coarse;
    return noise;
}

// Whether each launch writes the whole output. Only then does disguising a part of it show that
// it was written.
static bool is_product(const struct buffers *b)
{
    return !b->problem.number_count && !b->parts.restored;
}

// Noise over the output that the other side of a pair has left. Where kernels work by tiles, half
// of the lines are enough, at places that are drawn. A kernel that computes one element of each
// line knows which lines are right already, for a sixteenth or a thirty-second of the work; but in
// the smallest tile, 8 lines, all are right only once in 256 times. A kernel that works row by row
// could leave out half of its work, so there all lines are written.
static struct noise disguise_of(const struct buffers *b, const struct renewal *renewal)
{
    const uint64_t bytes = b->parts.output.bytes;
    struct noise noise =
        noise_of(b, b->outputs, buffers_end(b, renewal), bytes, true, renewal->outputs);
    const bool part = is_product(b) && by_tiles(&b->problem) && !renewal->whole;
    noise.one_in = part && bytes >= SMALL_BYTES ? OUTPUT_ONE_IN : 1;
    noise.coarse = renewal->coarse;
    return noise;
}

// The part of a noise for all places that belongs to the sets of a renewal.
static struct noise part_of(const struct noise *all, const struct renewal *renewal)
{
    struct noise part = *all;
    if (!renewal->sets)
        return part;
    const uint32_t first = renewal->set < all->count ? renewal->set : all->count;
    part.to += first;
    part.key += first;
    part.count -= first;
    return part;
}

int buffers_renew(struct buffers *b, const struct renewal *renewal, struct error *err)
{
    struct noise noise[NOISE_JOBS];
    uint32_t count = 0;
    if (!b->plain && renewal->inputs && buffers_form_renew(b, renewal, err))
        return -1;
    for (int i = 0; i < 2 && renewal->inputs && !b->problem.number_count; i++) {
        b->fresh[i] = fresh_operand(b, i, renewal);
        noise[count++] = part_of(&b->fresh[i], renewal);
    }
    const struct noise disguise = disguise_of(b, renewal);
    if (renewal->outputs)
        noise[count++] = part_of(&disguise, renewal);
    b->is_noise |= renewal->inputs != 0;
    if (b->ops->noise(b->device, noise, count, err))
        return -1;
    return b->plain ? 0 : buffers_form_restore(b, renewal, err);
}

int buffers_soil(struct buffers *b, uint64_t key, struct error *err)
{
    const struct noise noise = noise_of(b, &b->workspace, 1, b->workspace_bytes, true, key);
    return b->ops->noise(b->device, &noise, 1, err);
}

enum { GUARD = 4096, ALIGN = 512, GUARD_BYTE = 0xa5, POISON_BYTE = 0xff };

enum { SCALE_B = ALIGN / sizeof(float) }; // libraries may need aligned scales

struct region {
    size_t at, bytes; // place of a part within its block
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

// The places of inputs in their block, and of the output in its block. In a set that is not
// `whole`, the largest input lies elsewhere and has no bytes here.
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
    // buffers_grow() makes copies of large operands until the flush's size has passed, and
    // one more. What a batch touches beside them is limited by the bytes that a device moves
    // in that time.
    enum { FLUSHES = 20 };
    const double flush = (double)ops->flush_bytes(device);
    const double known = (double)regions_of(p, true).blocks[BUFFER_INPUTS];
    return 2 * set_bytes(p, true) + known + flush +
           fmin(ops->launches_max * set_bytes(p, false), FLUSHES * flush);
}

// Sets the pointers of a launch, by the kinds of its parts.
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
    struct plumb_form_args *args = &b->args[b->sets]; // counted now, so that buffers_free() sees it
    *args = (struct plumb_form_args){.args = {.problem = check_abi_problem(&b->problem),
                                              .scale_a = b->scale,
                                              .scale_b = b->scale ? b->scale + SCALE_B : NULL,
                                              .workspace = b->workspace,
                                              .workspace_bytes = b->workspace_bytes},
                                     .form = check_abi_form(&b->problem)};
    b->is_noise = false; // the new sets hold no noise yet
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
    // Data are cold again once the cache has seen twice its size of other data.
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

// Finds the first changed byte of a guard, or -1.
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

// A stretch of guard bytes in one of a set's blocks, after a part; or before the first part.
struct guard {
    int block;
    size_t from, to;
    const struct part *part;
};

enum { GUARDS = PARTS_MOST + 3 };

// Lists the guards and returns their number.
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

// The name of a part in messages, such as "A".
static const char *part_name(const struct part *part)
{
    static const char *const names[] = {"A",           "B",        "scales of A",
                                        "scales of B", "bias",     "first rows",
                                        "group rows",  "an input", "C"};
    return names[part->use];
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
