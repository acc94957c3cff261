// SPDX-License-Identifier: Apache-2.0
//
// Compares outputs with copies of their earlier content, in chunks of rows.
#include "kernels/bench/series_parts.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNKS_STREAM = 83 };

static bool has_any(const struct buffers *b)
{
    return !b->plain && b->problem.number_count == 0 && (b->problem.ldc || b->problem.groups.kind);
}

// ---- choosing rows ----

// Adjacent rows that may be compared: the whole output, or those after a group's own.
struct row_run {
    int64_t from, to;
};

static size_t find_runs(struct row_run *out, const struct problem *p, int64_t rows)
{
    static const int64_t align = GROUP_ALIGN;
    int32_t of_group[GROUPS_MOST];
    int64_t at = 0;
    if (!p->groups.kind) {
        out[0] = (struct row_run){0, rows};
        return 1;
    }
    problem_group_rows(of_group, p);
    for (int32_t g = 0; g < p->groups.count; g++) {
        const int64_t end = at + of_group[g];
        at += p->groups.kind == GROUPS_MASKED ? p->m : (of_group[g] + align - 1) / align * align;
        out[g] = (struct row_run){end, at};
    }
    return (size_t)p->groups.count;
}

static int64_t chunks_of(const struct row_run *run)
{
    return (run->to - run->from + UNTOUCHED_CHUNK - 1) / UNTOUCHED_CHUNK;
}

// The n for which about `wanted` chunks can be read if one of n is taken.
static uint64_t one_in(double count, double wanted)
{
    return count <= wanted ? 1 : (uint64_t)(count / (wanted > 1 ? wanted : 1)) + 1;
}

size_t untouched_choose(struct untouched_chunk **out, const struct problem *problem, int64_t rows,
                        size_t pitch_bytes, uint32_t sets, uint64_t seed)
{
    struct row_run *runs = xcalloc(GROUPS_MOST, sizeof(*runs));
    const size_t run_count = find_runs(runs, problem, rows);
    const double affordable =
        (double)UNTOUCHED_BYTES / ((double)pitch_bytes * UNTOUCHED_CHUNK * (sets ? sets : 1));
    double edges = 0, others = 0;
    size_t count = 0, n = 0;
    for (size_t r = 0; r < run_count; r++) {
        edges += chunks_of(&runs[r]) > 0;
        others += (double)(chunks_of(&runs[r]) > 0 ? chunks_of(&runs[r]) - 1 : 0);
    }
    const bool all = edges + others <= affordable;
    const uint64_t edge_in = all ? 1 : one_in(edges, affordable / 2);
    const uint64_t other_in = all ? 1 : one_in(others, affordable / 2);
    struct untouched_chunk *chunks = xcalloc((size_t)(edges + others) + 1, sizeof(*chunks));
    for (size_t r = 0; r < run_count; r++) {
        for (int64_t row = runs[r].from; row < runs[r].to; row += UNTOUCHED_CHUNK) {
            const uint64_t in = row == runs[r].from ? edge_in : other_in;
            const int64_t left = runs[r].to - row;
            if (inputs_word(seed, CHUNKS_STREAM, n++) % in)
                continue;
            chunks[count++] = (struct untouched_chunk){
                row, (int32_t)(left < UNTOUCHED_CHUNK ? left : UNTOUCHED_CHUNK),
                !problem->groups.kind};
        }
    }
    free(runs);
    *out = chunks;
    return count;
}

// ---- the content of the rows ----

static size_t pitch_of(const struct buffers *b)
{
    return (size_t)((double)b->args->form.ldc * dtype_bytes(b->problem.out));
}

// The last row ends with its last number, not with its gap.
static size_t bytes_of(const struct buffers *b, const struct untouched_chunk *chunk)
{
    const size_t from = (size_t)chunk->row * pitch_of(b);
    const size_t bytes = (size_t)chunk->count * pitch_of(b), left = b->parts.output.bytes - from;
    return bytes < left ? bytes : left;
}

static int read_chunks(unsigned char **out, const struct untouched *kept, struct buffers *b,
                       uint32_t set, struct error *err)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < kept->count; i++)
        bytes += bytes_of(b, &kept->chunks[i]);
    unsigned char *copy = xcalloc(bytes + 1, 1);
    for (size_t i = 0; i < kept->count; i++) {
        const struct untouched_chunk *c = &kept->chunks[i];
        const char *from = (const char *)b->outputs[set] + (size_t)c->row * pitch_of(b);
        if (b->ops->read(b->device, copy + at, from, bytes_of(b, c), err)) {
            free(copy);
            return -1;
        }
        at += bytes_of(b, c);
    }
    *out = copy;
    return 0;
}

static void forget(struct untouched *kept)
{
    for (uint32_t i = 0; i < kept->sets; i++)
        free(kept->before[i]);
    free(kept->before);
    free(kept->chunks);
    *kept = (struct untouched){0};
}

int untouched_keep(struct untouched *out, struct buffers *b, struct error *err)
{
    struct untouched kept = {0};
    if (has_any(b)) {
        kept.count = untouched_choose(&kept.chunks, &b->problem, b->args->form.rows, pitch_of(b),
                                      b->sets, b->seed);
        kept.before = xcalloc(b->sets, sizeof(*kept.before));
        for (; kept.sets < b->sets; kept.sets++) {
            if (read_chunks(&kept.before[kept.sets], &kept, b, kept.sets, err)) {
                forget(&kept);
                return -1;
            }
        }
    }
    *out = kept;
    return 0;
}

static int64_t changed_row(const struct untouched *kept, const struct buffers *b,
                           const unsigned char *before, const unsigned char *after)
{
    const size_t pitch = pitch_of(b);
    const size_t row_bytes = (size_t)((double)b->problem.n * dtype_bytes(b->problem.out));
    for (size_t i = 0, at = 0; i < kept->count; i++) {
        const struct untouched_chunk *c = &kept->chunks[i];
        const size_t bytes = bytes_of(b, c), skipped = c->used ? row_bytes : 0;
        for (size_t row = 0; row * pitch + skipped < bytes; row++) {
            const size_t from = row * pitch + skipped;
            const size_t to = (row + 1) * pitch < bytes ? (row + 1) * pitch : bytes;
            if (memcmp(before + at + from, after + at + from, to - from) != 0)
                return c->row + (int64_t)row;
        }
        at += bytes;
    }
    return -1;
}

int untouched_hold(int64_t *row, struct untouched *kept, struct buffers *b, struct error *err)
{
    int status = 0;
    *row = -1;
    for (uint32_t set = 0; set < kept->sets && *row < 0 && status == 0; set++) {
        unsigned char *after = NULL;
        status = read_chunks(&after, kept, b, set, err);
        if (status == 0)
            *row = changed_row(kept, b, kept->before[set], after);
        free(after);
    }
    forget(kept);
    return status;
}
