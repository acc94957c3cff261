// SPDX-License-Identifier: Apache-2.0
//
// Holds outputs against copies of what they were.
#include "kernels/bench/untouched.h"

#include <stdlib.h>
#include <string.h>

static bool has_any(const struct buffers *b)
{
    return !b->plain && b->problem.number_count == 0 && (b->problem.ldc || b->problem.groups.kind);
}

static int read_output(unsigned char **out, struct buffers *b, uint32_t set, struct error *err)
{
    unsigned char *copy = xcalloc(b->parts.output.bytes, 1);
    if (b->ops->read(b->device, copy, b->outputs[set], b->parts.output.bytes, err)) {
        free(copy);
        return -1;
    }
    *out = copy;
    return 0;
}

static void forget(struct untouched *kept)
{
    for (uint32_t i = 0; i < kept->sets; i++)
        free(kept->before[i]);
    free(kept->before);
    *kept = (struct untouched){0};
}

int untouched_keep(struct untouched *out, struct buffers *b, struct error *err)
{
    struct untouched kept = {0};
    if (has_any(b)) {
        kept.before = xcalloc(b->sets, sizeof(*kept.before));
        for (; kept.sets < b->sets; kept.sets++) {
            if (read_output(&kept.before[kept.sets], b, kept.sets, err)) {
                forget(&kept);
                return -1;
            }
        }
    }
    *out = kept;
    return 0;
}

// Whether the row is multiplied; `at` and `group` walk along with rows that are asked for in order.
struct walk {
    int32_t rows[GROUPS_MOST];
    int64_t first;
    int32_t group;
};

static bool is_used(struct walk *w, const struct problem *p, int64_t row)
{
    if (!p->groups.kind)
        return true;
    for (;;) {
        const int64_t stride =
            p->groups.kind == GROUPS_MASKED
                ? p->m
                : (w->rows[w->group] + (int64_t)GROUP_ALIGN - 1) / GROUP_ALIGN * GROUP_ALIGN;
        if (row < w->first + stride)
            return row < w->first + w->rows[w->group];
        w->first += stride;
        w->group++;
    }
}

static int64_t changed_row(const struct buffers *b, const unsigned char *before,
                           const unsigned char *after)
{
    const struct problem *p = &b->problem;
    const size_t pitch = (size_t)((double)b->args->form.ldc * dtype_bytes(p->out));
    const size_t row_bytes = (size_t)((double)p->n * dtype_bytes(p->out));
    struct walk walk = {.first = 0};
    if (p->groups.kind)
        problem_group_rows(walk.rows, p);
    for (int64_t row = 0; row < b->args->form.rows; row++) {
        const size_t from = is_used(&walk, p, row) ? row_bytes : 0, at = (size_t)row * pitch + from;
        if (memcmp(before + at, after + at, pitch - from) != 0)
            return row;
    }
    return -1;
}

int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *b, struct error *err)
{
    int status = 0;
    *row = -1;
    for (uint32_t set = 0; set < kept->sets && *row < 0 && status == 0; set++) {
        unsigned char *after = NULL;
        status = read_output(&after, b, set, err);
        if (status == 0)
            *row = changed_row(b, kept->before[set], after);
        free(after);
    }
    forget(kept);
    return status;
}
