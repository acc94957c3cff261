// SPDX-License-Identifier: Apache-2.0
//
// The tolerance of an output lets every right result pass, whatever k is, and no wrong index.
#include "kernels/device/check.h"
#include "kernels/device/inputs.h"
#include "tests/helpers/helper_problem.h"
#include "tests/helpers/test.h"

#include <math.h>
#include <string.h>

static double as(const struct problem *p, double value)
{
    const struct inputs_format format = inputs_format((int)p->out);
    return (double)inputs_decode(format, inputs_encode(format, (float)value));
}

// Of so few products some are far more than eight times their usual size, and rounding them is
// further off than eight units of it.
TEST(results_that_are_rounded_once_are_right_whatever_k_is)
{
    const char *const all[] = {"600x600x1:bf16-bf16:tn", "600x600x2:bf16-bf16:nn",
                               "600x600x3:fp16-fp16:tn", "600x600x64:bf16-bf16:nt",
                               "600x600x4096:bf16-bf16:tn"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct problem p = helper_problem(all[i]);
        const double scale = check_scale(&p), most = check_farthest((double)p.k) * scale;
        struct comparison found = {0};
        for (double value = 0; value < most; value += most / 10000)
            check_value(&found, as(&p, value), value, scale, check_tolerance(&p), 0, 0);
        assert_int_equal(found.wrong, 0);
    }
}

TEST(a_wrong_index_is_found_whatever_k_is)
{
    const char *const all[] = {"40x40x1:bf16-bf16:tn", "40x40x3:bf16-bf16:tn",
                               "40x40x64:bf16-bf16:tn", "40x40x4096:bf16-bf16:tn"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct problem p = helper_problem(all[i]);
        struct comparison found = {0};
        for (int64_t at = 0; at < p.m * p.n; at++) {
            const int64_t row = at / p.n, col = at % p.n;
            const double next = check_element(&p, 1, row, (col + 1) % p.n);
            check_value(&found, as(&p, next), check_element(&p, 1, row, col), check_scale(&p),
                        check_tolerance(&p), row, col);
        }
        assert_true(found.wrong > (uint64_t)(p.m * p.n) / 2);
    }
}

TEST(an_error_of_the_tolerance_is_right_and_more_or_none_is_wrong)
{
    struct comparison found = {0};
    check_value(&found, 3, 2, 4, 0.25, 5, 6);
    assert_int_equal(found.wrong, 0);
    check_value(&found, nextafter(3, 4), 2, 4, 0.25, 5, 6);
    assert_int_equal(found.wrong, 1);
    assert_true(found.row == 5 && found.col == 6 && found.wanted == 2);
    check_value(&found, NAN, 2, 4, 0.25, 7, 8);
    assert_int_equal(found.wrong, 2);
    assert_true(found.row == 5 && found.col == 6); // of the first
}

// The bound itself, and that it is eight units for a long k.
TEST(far_is_where_chernoffs_bound_is_one_in_1e14)
{
    assert_true(fabs(check_farthest(1e9) - 8) < 1e-3);
    for (double k = 1; k < 1e6; k *= 3) {
        const double t = check_farthest(k) * sqrt(k);
        double least = 0; // of log P(c > t) over x
        for (double x = 0; x < 1; x += 1e-5)
            least = fmin(least, -x * t - 0.5 * k * log1p(-x * x));
        assert_true(fabs(least + 32) < 0.01);
        assert_true(check_farthest(k) > check_farthest(3 * k));
    }
}

// What BF16 keeps of a number, by its bits: to nearest, ties to even.
static double bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

// Row i of A by column j of the batch's weights number `w`, of `weights`, summed up from the end.
static double product(const struct problem *p, int64_t row, int64_t j, int64_t weights, int64_t w)
{
    const bool a_k = p->layout == LAYOUT_TN || p->layout == LAYOUT_NN;
    const bool b_k = p->layout == LAYOUT_TN || p->layout == LAYOUT_TT;
    const int64_t batch = row / p->m, i = row % p->m;
    long double sum = 0;
    for (int64_t l = p->k - 1; l >= 0; l--) {
        const int64_t a = batch * p->m * p->k + (a_k ? i * p->k + l : l * p->m + i);
        const int64_t b = (batch * weights + w) * p->n * p->k + (b_k ? j * p->k + l : l * p->n + j);
        sum += (long double)bf16(inputs_normal(5, MATRIX_A, (uint64_t)a)) *
               (long double)bf16(inputs_normal(5, MATRIX_B, (uint64_t)b));
    }
    return (double)sum;
}

// silu(x) = x / (1 + e^-x) = x (1 + tanh(x / 2)) / 2, written otherwise than the reference writes
// it.
TEST(the_reference_is_the_product_written_otherwise)
{
    const char *const all[] = {"5x7x9:bf16-bf16:tn:b3",        "5x7x9:bf16-bf16:nn:b2",
                               "5x7x9:bf16-bf16:nt:b2",        "5x7x9:bf16-bf16:tt:b2",
                               "5x7x9:bf16-bf16:tn:dual-silu", "5x7x9:bf16-bf16:nn:b3:dual-silu"};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const struct problem p = helper_problem(all[i]);
        const bool dual = p.epilogue == EPILOGUE_DUAL_SILU;
        for (int64_t at = 0; at < p.batch * p.m * p.n; at++) {
            const int64_t row = at / p.n, col = at % p.n;
            const double gate = product(&p, row, col, dual ? 2 : 1, 0);
            const double wanted =
                dual ? gate * (1 + tanh(gate / 2)) / 2 * product(&p, row, col, 2, 1) : gate;
            assert_true(fabs(check_element(&p, 5, row, col) - wanted) < 1e-12);
        }
    }
}
