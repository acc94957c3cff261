// SPDX-License-Identifier: Apache-2.0
//
// Products of blocks are what their definition says, and the same bits on processors with vectors
// of four numbers and on others: what is kept of levels may be read on another machine.
#include "model/history/level_factor.h"
#include "tests/helpers/helper_random.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 24, BLOCKS = COLUMNS / BLOCK };

struct products {
    double product[BLOCK_SIZE], each[BLOCK * COLUMNS], applied[BLOCK], turned[BLOCK];
    double transposed[BLOCK_SIZE];
};

BLOCK_INLINE void all(struct products *out, const double *x, const double *y)
{
    block_multiply(out->product, x, y, COLUMNS);
    block_multiply_each(out->each, x, y, BLOCKS);
    block_apply(out->applied, x, y);
    block_apply_transposed(out->turned, x, y);
    block_transpose(out->transposed, x);
}

BLOCK_WIDE static void wide(struct products *out, const double *x, const double *y)
{
    all(out, x, y);
}

static void narrow(struct products *out, const double *x, const double *y)
{
    all(out, x, y);
}

static void draw(double *x, double *y, struct products *begin, struct random *random)
{
    for (size_t i = 0; i < BLOCK * COLUMNS; i++) {
        x[i] = random_normal(random);
        y[i] = random_normal(random);
        begin->each[i] = random_normal(random);
    }
    for (size_t i = 0; i < BLOCK_SIZE; i++)
        begin->product[i] = random_normal(random);
}

TEST(wide_and_narrow_give_the_same_bits)
{
    struct random random = {20261123};
    if (!block_is_wide())
        skip_without("avx2", "this processor has no wide vectors");
    for (int turn = 0; turn < 100; turn++) {
        double x[BLOCK * COLUMNS], y[BLOCK * COLUMNS];
        struct products a = {0}, b;
        draw(x, y, &a, &random);
        b = a;
        wide(&a, x, y);
        narrow(&b, x, y);
        assert_memory_equal(&a, &b, sizeof(a));
    }
}

TEST(products_are_those_of_matrices)
{
    struct random random = {3};
    double x[BLOCK * COLUMNS], y[BLOCK * COLUMNS];
    struct products begin = {0}, out;
    draw(x, y, &begin, &random);
    out = begin;
    narrow(&out, x, y);
    for (size_t r = 0; r < BLOCK; r++) {
        double applied = 0, turned = 0;
        for (size_t c = 0; c < BLOCK; c++) {
            double product = begin.product[BLOCK * c + r], each = begin.each[BLOCK * c + r];
            for (size_t k = 0; k < COLUMNS; k++)
                product += x[BLOCK * k + r] * y[BLOCK * k + c];
            for (size_t k = 0; k < BLOCK; k++)
                each += x[BLOCK * k + r] * y[BLOCK * c + k];
            assert_true(fabs(out.product[BLOCK * c + r] - product) < 1e-12);
            assert_true(fabs(out.each[BLOCK * c + r] - each) < 1e-12);
            assert_true(out.transposed[BLOCK * c + r] == x[BLOCK * r + c]);
            applied += x[BLOCK * c + r] * y[c];
            turned += x[BLOCK * r + c] * y[c];
        }
        assert_true(fabs(out.applied[r] - applied) < 1e-12);
        assert_true(fabs(out.turned[r] - turned) < 1e-12);
    }
}
