// SPDX-License-Identifier: Apache-2.0
//
// What the buffers of a form hold. Each input is drawn from a seed, the known contents from that of
// the series, others from one of their own for each set. Signs of rows and columns, by which a
// plain problem's known contents become others (contents.c), do not go through a bias or an
// activation, so what is known here is known once for each seed.
#include "kernels/bench/buffers.h"
#include "kernels/bench/group_places.h"
#include "kernels/device/form.h"

enum { GIVEN = 50, KEY_SETS = 35, WHICH_FIRST = MATRIX_A };

static struct inputs_recipe recipe_of(const struct part *part, int which, uint64_t seed)
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
    const struct inputs_recipe recipe = recipe_of(part, which, seed);
    const uint64_t places = part->type == DTYPE_E2M1 ? part->bytes : part->count;
    return b->ops->fill(b->device, to, &recipe, places, err);
}

// ---- groups ----

// Zeros in the rows of an operand, or of the output, that are no group's.
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

// key 0: all sets alike, from the series' seed. Else all but A and B of a product, which become
// noise.
static int fill_sets(struct buffers *b, uint64_t key, uint32_t from, uint32_t end,
                     struct error *err)
{
    const int first = key && !b->problem.number_count ? 2 : 0;
    for (uint32_t set = from; set < end; set++) {
        b->seeds[set] = key ? inputs_word(key, KEY_SETS, set) >> 1 : b->seed;
        for (int i = first; i < b->parts.input_count; i++) {
            const bool own = i != b->parts.large || set < b->wide;
            if (own && fill_part(b, set, i, b->seeds[set], err))
                return -1;
        }
    }
    return 0;
}

int buffers_form_known(struct buffers *b, struct error *err)
{
    b->is_noise = false;
    return fill_sets(b, 0, 0, b->sets, err);
}

int buffers_form_renew(struct buffers *b, const struct renewal *renewal, struct error *err)
{
    return fill_sets(b, renewal->inputs, renewal->set, buffers_end(b, renewal), err);
}

int buffers_form_restore(struct buffers *b, const struct renewal *renewal, struct error *err)
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
