// SPDX-License-Identifier: Apache-2.0
//
// Computes the sizes of the parts of a problem's memory.
#include "kernels/bench/parts.h"

#include "kernels/device/check.h"
#include "kernels/device/form.h"

#include <math.h>

static const int64_t part_bytes_max = (int64_t)1 << 40;

// A byte has two elements of e2m1.
static size_t bytes_of(enum dtype type, uint64_t count)
{
    return (size_t)ceil((double)count * dtype_bytes(type));
}

static struct part part_of(enum part_use use, enum dtype type, int64_t count, int contents,
                           float scale)
{
    return (struct part){.use = use,
                         .type = type,
                         .count = (uint64_t)count,
                         .bytes = bytes_of(type, (uint64_t)count),
                         .contents = contents,
                         .scale = scale};
}

static void find_large(struct parts *p)
{
    for (int i = 1; i < p->input_count; i++) {
        if (p->inputs[i].bytes >= p->inputs[p->large].bytes)
            p->large = i;
    }
}

const char *parts_refuse(const struct problem *p)
{
    if (problem_is_plain(p))
        return inputs_knows((int)p->in) && inputs_knows((int)p->out)
                   ? NULL
                   : "bench makes no inputs of this type (fp32, tf32, bf16, fp16, e4m3, e5m2; e2m1 "
                     "with block scales)";
    if (p->in == DTYPE_E2M1 ? !p->scales.vector : p->in == DTYPE_E8M0)
        return "bench makes no inputs of this type (e2m1 has block scales)";
    if (p->in == DTYPE_E2M1 && p->k % 2)
        return "k of e2m1 is even, two to a byte";
    if (p->scales.vector && p->in != DTYPE_E2M1 && p->in != DTYPE_E4M3 && p->in != DTYPE_E5M2)
        return "block scales are for fp8 and fp4";
    if (!inputs_knows((int)p->out) && p->out != DTYPE_INT32)
        return "bench reads no output of this type";
    return NULL;
}

static void add(struct parts *out, struct part part)
{
    out->inputs[out->input_count++] = part;
}

static void add_form(struct parts *out, const struct problem *p)
{
    const struct plumb_form form = check_abi_form(p);
    const int64_t matrices = form_matrices(&form) * form_weights(&form);
    if (form.scale_vector) {
        const int64_t rows = form_rows_a(&form), of_a = form.rows / rows;
        add(out,
            part_of(PART_SCALES_A, p->scales.type,
                    of_a * form_scale_count(&form, rows, form.scale_rows_a), INPUTS_SCALES, 1));
        add(out,
            part_of(PART_SCALES_B, p->scales.type,
                    matrices * form_scale_count(&form, p->n, form.scale_rows_b), INPUTS_SCALES, 1));
    }
    if (epilogue_has_bias(p->epilogue))
        add(out, part_of(PART_BIAS, p->out, p->n, INPUTS_PLAIN,
                         (float)(check_scale(p) / sqrt(p->beta != 0 ? 3 : 2))));
    if (p->groups.kind) {
        add(out, part_of(PART_GROUP_FIRST, DTYPE_INT32, p->groups.count, INPUTS_NORMAL, 0));
        add(out, part_of(PART_GROUP_ROWS, DTYPE_INT32, p->groups.count, INPUTS_NORMAL, 0));
    }
}

void parts_of(struct parts *out, const struct problem *p)
{
    const struct plumb_form form = check_abi_form(p);
    const int64_t matrices = form_matrices(&form) * form_weights(&form);
    const int64_t of_a = form.rows / form_rows_a(&form);
    const float value = p->in == DTYPE_INT8 ? 32 : p->in == DTYPE_E2M1 ? 2 : 1;
    const int contents = p->scales.vector ? INPUTS_PLAIN : INPUTS_NORMAL;
    struct parts parts = {.restored = p->beta != 0};
    add(&parts, part_of(PART_A, p->in, of_a * form_size_a(&form), contents, value));
    add(&parts, part_of(PART_B, p->in, matrices * form_size_b(&form), contents, value));
    add_form(&parts, p);
    parts.output =
        part_of(PART_OUTPUT, p->out, form.rows * form.ldc, INPUTS_PLAIN, (float)check_scale(p));
    if (parts.restored) // beta C is as large as alpha times the product
        parts.output.scale = (float)(check_scale(p) / sqrt(2 + epilogue_has_bias(p->epilogue)) /
                                     fabs((double)p->beta));
    find_large(&parts);
    *out = parts;
}

static bool same_part(const struct part *a, const struct part *b)
{
    return a->use == b->use && a->type == b->type && a->count == b->count &&
           a->contents == b->contents && a->scale == b->scale;
}

bool parts_equal(const struct parts *a, const struct parts *b)
{
    bool same = a->input_count == b->input_count && same_part(&a->output, &b->output);
    for (int i = 0; i < a->input_count && same; i++)
        same = same_part(&a->inputs[i], &b->inputs[i]);
    return same;
}

static int take(struct part *out, enum part_use use, const struct plumb_buffer *b,
                struct error *err)
{
    const bool known = inputs_knows(b->type) || b->type == PLUMB_INT8 || b->type == PLUMB_INT32;
    if (!known || b->count < 1 || b->contents < PLUMB_NORMAL || b->contents > PLUMB_INDEX ||
        !(b->scale >= 0 && b->scale <= 1e30))
        return error_set(err,
                         "buffers() states %s of %lld elements, type %d, contents %d, scale %g: "
                         "there is no such buffer",
                         use == PART_OUTPUT ? "an output" : "an input", (long long)b->count,
                         b->type, b->contents, b->scale);
    if ((double)b->count * dtype_bytes((enum dtype)b->type) > (double)part_bytes_max)
        return error_set(err, "buffers() states %lld elements: too many", (long long)b->count);
    *out = part_of(use, (enum dtype)b->type, b->count,
                   b->contents == PLUMB_NORMAL ? INPUTS_PLAIN : b->contents, (float)b->scale);
    return 0;
}

int parts_stated(struct parts *out, const struct plumb_buffers *stated, struct error *err)
{
    struct parts parts = {.input_count = stated->input_count};
    if (stated->input_count < 1 || stated->input_count > PARTS_MOST)
        return error_set(err, "buffers() states %d inputs; there are 1 to %d", stated->input_count,
                         PARTS_MOST);
    if (!(stated->absolute >= 0 && stated->relative >= 0 && isfinite(stated->absolute) &&
          isfinite(stated->relative)))
        return error_set(err, "buffers() states no tolerance: absolute and relative are numbers, "
                              "not negative");
    for (int i = 0; i < stated->input_count; i++) {
        if (take(&parts.inputs[i], PART_INPUT, &stated->inputs[i], err))
            return -1;
    }
    if (take(&parts.output, PART_OUTPUT, &stated->output, err))
        return -1;
    find_large(&parts);
    *out = parts;
    return 0;
}

// ---- where the rows of groups lie ----

void group_places_of(struct group_places *out, const struct problem *p)
{
    int64_t at = 0;
    problem_group_rows(out->rows, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        out->first[g] = (int32_t)at;
        at += p->groups.kind == GROUPS_MASKED ? p->m : form_up(out->rows[g], GROUP_ALIGN);
    }
}

int group_places_clear(const struct device_ops *ops, struct device_base *device, void *memory,
                       size_t bytes, const struct problem *p, struct error *err)
{
    struct group_places groups;
    if (!p->groups.kind)
        return 0;
    const int64_t stored = problem_stored_rows(p);
    const size_t row_bytes = bytes / (size_t)stored; // dense, k of e2m1 is even
    group_places_of(&groups, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        const int64_t from = (int64_t)groups.first[g] + groups.rows[g];
        const int64_t to = g + 1 < p->groups.count ? groups.first[g + 1] : stored;
        char *rows = (char *)memory + (size_t)from * row_bytes;
        if (to > from && ops->set(device, rows, 0, (size_t)(to - from) * row_bytes, err))
            return -1;
    }
    return 0;
}
