// SPDX-License-Identifier: Apache-2.0
//
// What A and B hold before a sample. Of forms: numbers of the size that the known ones have, others
// in each row than before, and zeros in rows that are no group's. Host memory stands in for the
// device's.
#include "kernels/bench/buffers.h"
#include "kernels/device/form.h"
#include "tests/helpers/helper_host.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Operands of forms above and below the size from which on a part of each row is written.
static const char *const forms[] = {
    "600x300x2048:bf16:contiguous4/30",
    "200x130x4096:nvfp4:e4m3/16/tiled:masked3/100/50",
    "520x260x2048:fp8:fp32/1x128/128x128/columns",
    "300x40x96:fp32:contiguous3/zipf:dual-silu",
    "520x520x1024:bf16:bias-gelu:b2",
};

AROUND_ALL(host_set_up, host_tear_down);

static struct buffers buffers_of(struct problem *p, const char *text)
{
    struct buffers buffers;
    struct parts parts;
    struct error err;
    if (problem_parse(p, text, &err))
        fail_msg("%s", err.text);
    parts_of(&parts, p);
    if (buffers_open(&buffers, host, device, p, &parts, 1, 0, &err) ||
        buffers_known(&buffers, 0, &err))
        fail_msg("%s: %s", text, err.text);
    return buffers;
}

static void renew(struct buffers *b, uint64_t key)
{
    const struct renewal renewal = {.inputs = key, .outputs = key + 1};
    struct error err;
    if (buffers_renew(b, &renewal, &err))
        fail_msg("%s", err.text);
}

static double size_of(const struct buffers *b, int i)
{
    double squares = 0;
    for (uint64_t at = 0; at < b->parts.inputs[i].count; at++) {
        const double x = inputs_load((int)b->parts.inputs[i].type, b->inputs[i][0], at);
        squares += x * x;
    }
    return sqrt(squares / (double)b->parts.inputs[i].count);
}

static void assert_rows_differ(const char *form, const unsigned char *before,
                               const unsigned char *now, const int64_t *rows, int64_t count,
                               size_t row_bytes)
{
    for (int64_t i = 0; i < count; i++) {
        const size_t at = (size_t)(rows ? rows[i] : i) * row_bytes;
        if (memcmp(before + at, now + at, row_bytes) == 0)
            fail_msg("%s: row %lld is what it was", form, (long long)i);
    }
}

TEST(each_row_has_other_numbers_before_each_sample)
{
    for (size_t f = 0; f < ARRAY_COUNT(forms); f++) {
        struct problem p;
        struct buffers b = buffers_of(&p, forms[f]);
        int64_t *row_at = xcalloc((size_t)problem_used_rows(&p), sizeof(*row_at));
        int64_t *matrix = xcalloc((size_t)problem_used_rows(&p), sizeof(*matrix));
        const int64_t used = form_used_rows(row_at, matrix, &p);
        const size_t row_bytes = (size_t)((double)p.k * dtype_bytes(p.in));
        const double known[2] = {size_of(&b, 0), size_of(&b, 1)};
        renew(&b, 1000);
        for (int i = 0; i < 2; i++) {
            const size_t bytes = b.parts.inputs[i].bytes;
            unsigned char *before = xcalloc(bytes, 1);
            memcpy(before, b.inputs[i][0], bytes);
            renew(&b, 2000 + (uint64_t)i);
            assert_rows_differ(forms[f], before, b.inputs[i][0], i ? NULL : row_at,
                               i ? (int64_t)(bytes / row_bytes) : used, row_bytes);
            assert_true(fabs(size_of(&b, i) / known[i] - 1) < 0.05);
            free(before);
        }
        free(row_at);
        free(matrix);
        buffers_free(&b);
    }
}

TEST(rows_of_no_group_are_zeros)
{
    for (size_t f = 0; f < ARRAY_COUNT(forms); f++) {
        struct problem p;
        struct buffers b = buffers_of(&p, forms[f]);
        const int64_t stored = problem_stored_rows(&p);
        bool *used = xcalloc((size_t)stored, sizeof(*used));
        int64_t *row_at = xcalloc((size_t)stored, sizeof(*row_at));
        int64_t *matrix = xcalloc((size_t)stored, sizeof(*matrix));
        const int64_t count = form_used_rows(row_at, matrix, &p);
        const size_t row_bytes = (size_t)((double)p.k * dtype_bytes(p.in));
        for (int64_t i = 0; i < count; i++)
            used[row_at[i]] = true;
        for (uint64_t key = 1; key < 3; key++) {
            renew(&b, key);
            for (int64_t row = 0; row < stored; row++) {
                const unsigned char *bytes =
                    (const unsigned char *)b.inputs[0][0] + (size_t)row * row_bytes;
                for (size_t at = 0; !used[row] && at < row_bytes; at++)
                    assert_int_equal(bytes[at], 0);
            }
        }
        free(used);
        free(row_at);
        free(matrix);
        buffers_free(&b);
    }
}

// Lines of 64 bytes; of tiles of eight of them, one below the other, those in which one is new.
struct renewed {
    double lines, tiles;
};

static struct renewed renewed_between(const unsigned char *before, const unsigned char *now,
                                      size_t bytes, size_t row)
{
    enum { LINE = 64, TILE = 8 };
    size_t lines = 0, tiles = 0, count = 0;
    for (size_t at = 0; at < bytes; at += LINE)
        lines += memcmp(before + at, now + at, LINE) != 0;
    for (size_t top = 0; top + TILE * row <= bytes; top += TILE * row) {
        for (size_t at = top; at < top + row; at += LINE, count++) {
            size_t line = 0;
            while (line < TILE &&
                   memcmp(before + at + line * row, now + at + line * row, LINE) == 0)
                line++;
            tiles += line < TILE;
        }
    }
    return (struct renewed){(double)lines * LINE / (double)bytes, (double)tiles / (double)count};
}

static struct renewed renewed_of(const char *text, int operand)
{
    struct problem p;
    struct buffers b = buffers_of(&p, text);
    const size_t row = (size_t)((double)p.k * dtype_bytes(p.in));
    const size_t bytes = b.parts.inputs[operand].bytes;
    unsigned char *before = xcalloc(bytes, 1), *now = b.inputs[operand][0];
    renew(&b, 1000);
    memcpy(before, now, bytes);
    renew(&b, 2000);
    const struct renewed found = renewed_between(before, now, bytes, row);
    free(before);
    buffers_free(&b);
    return found;
}

// Two products of what is new in one operand each, by tiles of tensor cores, cost more than the
// product anew; by rows a quarter, so that all of what is multiplied by rows is new.
TEST(who_keeps_a_product_gains_nothing_by_lines_that_stayed)
{
    static const char *const by_tiles[] = {"520x1040x1024:bf16", "1024x2048x1024:e4m3",
                                           "512x512x1024:tf32", "256x260x2048:fp16"};
    for (size_t i = 0; i < ARRAY_COUNT(by_tiles); i++) {
        const struct renewed a = renewed_of(by_tiles[i], 0), b = renewed_of(by_tiles[i], 1);
        assert_true(a.lines < 0.2 && b.lines < 0.2); // not all of it, else this says nothing
        if (!(a.tiles + b.tiles > 1.2))
            fail_msg("%s: %g of the tiles of A and %g of B's are new", by_tiles[i], a.tiles,
                     b.tiles);
    }
    const struct renewed a = renewed_of("512x512x1024:fp32", 0);
    assert_true(a.lines > 0.9999 && renewed_of("512x512x1024:fp32", 1).lines > 0.9999);
}

// By tiles of tensor cores, eight lines one below the other, nothing of what the other side left is
// right as a whole; what is multiplied by rows finds no line.
static struct renewed disguised_of(const char *text)
{
    struct problem p;
    struct buffers b = buffers_of(&p, text);
    const size_t bytes = b.parts.output.bytes, row = bytes / (size_t)p.m;
    unsigned char *before = xcalloc(bytes, 1), *now = b.outputs[0];
    renew(&b, 1000);
    memset(now, 0xee, bytes);
    memcpy(before, now, bytes);
    renew(&b, 2000);
    const struct renewed found = renewed_between(before, now, bytes, row);
    free(before);
    buffers_free(&b);
    return found;
}

TEST(who_looks_for_lines_that_the_other_side_left_gains_nothing)
{
    const struct renewed tiles = disguised_of("512x1024x64:bf16");
    assert_true(tiles.lines < 0.6 && tiles.tiles > 0.97); // to look costs a thirty-second
    assert_true(disguised_of("512x512x64:fp32").lines > 0.9999);
}
