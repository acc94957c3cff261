// SPDX-License-Identifier: Apache-2.0
//
// What the buffers of a plain problem hold, drawn anew from keys that nobody knows beforehand, and
// what outputs hold before a launch. contents_form.c has the inputs of forms.
#include "kernels/bench/buffers.h"
#include "kernels/device/check.h"
#include "kernels/device/noise.h"

#include <stdlib.h>

enum {
    MATRIX_POOL = 21,
    KEY_SMALL = 31,
    KEY_LARGE,
    KEY_OPERANDS,
    KEY_OUTPUT
}; // streams of the generator
// Lines of an operand that is noise already, and of an output that a launch has written; and from
// which size on.
enum { ONE_IN = 8, OUTPUT_ONE_IN = 4, SMALL_BYTES = 1 << 20, SHORT_BYTES = 1024 };

static int open_pool(struct buffers *b, int out, double scale, struct error *err)
{
    const size_t bytes = (size_t)NOISE_VECTORS * NOISE_VECTOR;
    const enum dtype type = out ? b->parts.output.type : b->problem.in;
    const struct inputs_recipe recipe = {.type = (int)type,
                                         .which = MATRIX_POOL + out,
                                         .seed = b->seed,
                                         .scale = (float)scale,
                                         .contents = out ? 0 : b->parts.inputs[0].contents};
    // A place of the generator's is a byte of e2m1, which has two numbers.
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

// To compute them anew for each known turn would take a third of a millisecond.
static int open_bare(struct buffers *b, int which, struct error *err)
{
    const struct part *part = &b->parts.inputs[which != MATRIX_A];
    const struct inputs_recipe recipe = recipe_of(b, which, 0);
    void **bare = &b->bare[which != MATRIX_A];
    if (b->ops->alloc_inputs(bare, b->device, part->bytes, err))
        return -1;
    return b->ops->fill(b->device, *bare, &recipe, part->count, err);
}

int buffers_open_pools(struct buffers *b, struct error *err)
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

// ---- known ----

// What lies in set `from` is filled; a copy that several sets share is filled once.
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
        const uint64_t small = key ? inputs_word(key, KEY_SMALL, set) | 1 : 0;
        const uint64_t large = key ? inputs_word(key, KEY_LARGE, set % b->wide) | 1 : 0;
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

// A part of what is small is not worth the trouble; and every row must have lines of its own in it.
static bool is_worth(const struct problem *p, uint64_t bytes)
{
    return bytes >= SMALL_BYTES && (double)p->k * dtype_bytes(p->in) >= SHORT_BYTES;
}

static struct noise fresh_operand(const struct buffers *b, int i, const struct renewal *renewal)
{
    const uint64_t bytes = b->parts.inputs[i].bytes;
    const bool large = i == b->parts.large, whole = renewal->whole || !b->is_noise;
    const uint32_t places = large ? b->wide : b->sets, end = buffers_end(b, renewal);
    struct noise noise = noise_of(b, b->inputs[i], end < places ? end : places, bytes, false,
                                  inputs_word(renewal->inputs, KEY_OPERANDS, (uint64_t)i));
    noise.one_in = !whole && is_worth(&b->problem, bytes) ? ONE_IN : 1;
    noise.line = renewal->wide ? 2 * NOISE_LINE : NOISE_LINE;
    noise.coarse = renewal->coarse;
    return noise;
}

// What is wholly written by each launch, so that a part shows whether it was.
static bool is_product(const struct buffers *b)
{
    return !b->problem.number_count && !b->parts.restored;
}

// Of what the other side of a pair has left a quarter of the lines is enough, at places that are
// drawn: to find them takes as long as to compute them.
static struct noise disguise_of(const struct buffers *b, const struct renewal *renewal)
{
    const uint64_t bytes = b->parts.output.bytes;
    struct noise noise =
        noise_of(b, b->outputs, buffers_end(b, renewal), bytes, true, renewal->outputs);
    noise.one_in = is_product(b) && !renewal->whole && bytes >= SMALL_BYTES ? OUTPUT_ONE_IN : 1;
    noise.coarse = renewal->coarse;
    return noise;
}

// What of a noise for all places is written for the sets of a renewal.
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
