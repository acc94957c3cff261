// SPDX-License-Identifier: Apache-2.0
//
// Decides whether an output is right: its error against a float64 reference, relative to the
// result's own scale, must be within a tolerance. The tolerance follows from the element types and
// k, and not from anything that the kernel claims.
//
// Scale. Inputs are standard normal (inputs.h; fp8 after its scale), so an element of C = A B is
// normal with standard deviation s = sqrt(k). For silu(A B1) * (A B2) the scale is k.
//
// Tolerance, of |c - reference| / s, the largest over all elements:
//     far (u_out + u_in) + u_acc (8 sqrt(k) + k / 8)
//   far    the |c| / s that one element in 1e14 exceeds: 8 for a long k. A sum of few products of
//          two normal numbers has heavier tails than a normal number: 34 for k = 1, 22 for k = 3.
//          By Chernoff's bound, P(c > t) <= exp(-x t) (1 - x^2)^(-k/2) for each x in (0, 1), with
//          the moment generating function of such a product; the best x has t = k x / (1 - x^2)
//   u_out  unit roundoff of the output type, 2^-p for p significant bits (2^-8 for bf16)
//   u_in   2^-10 for TF32, whose hardware drops the lower mantissa bits of both inputs; else 0
//   u_acc  2^-24 for FP32 inputs; 2^-23 for tensor cores, which truncate; 2^-14 for fp8, whose
//          products Hopper aligns to about 14 bits. Rounding errors of a sum of k terms grow like
//          sqrt(k) (N. Higham, T. Mary, SIAM J. Sci. Comput. 41(5), 2019: with high probability a
//          small multiple of sqrt(k) u). Truncation also has a bias, which grows like k over the
//          terms that one instruction adds exactly: k / 8 bounds it for all of them.
// Dual-silu multiplies two such numbers: 3/4 far^2 (u_out + u_in) + 3/2 far times the last term.
//
// The tolerance still finds every wrong index: leaving out one of k products moves some element by
// several standard normal products, which is 10 / sqrt(k) s or more over a whole matrix.
//
// Forms: an addend (beta C, a bias) has the size of the product, so the scale is that of their sum,
// and an activation keeps it. With block scales the sizes of the operands themselves count
// (inputs.h). Whole numbers are exact: their tolerance is 0.
#ifndef PLUMB_CHECK_H
#define PLUMB_CHECK_H

#include "kernels/device/device.h"

double check_scale(const struct problem *problem);
// The scale of each operand's tensor, for e2m1; with it the product's size is 1.
double check_tensor_scale(const struct problem *problem);
double check_tolerance(const struct problem *problem);
// The value `far` for a k of at least 1.
double check_farthest(double k);

// The places of elements (kernels/kernel.h, gemm/host/host.h): A(i,l) = a[i * a_row + l * a_col],
// B(l,j) = b[l * b_row + j * b_col].
struct check_strides {
    int64_t a_row, a_col, b_row, b_col;
};
struct check_strides check_strides(const struct problem *problem);

// Computes one element in float64, from the generator and not from memory. row = batch * m + i.
double check_element(const struct problem *problem, uint64_t seed, int64_t row, int64_t col);

// Compares one value with its reference; keeps the largest error and the first wrong place.
void check_value(struct comparison *out, double got, double wanted, double scale, double tolerance,
                 int64_t row, int64_t col);

struct plumb_problem check_abi_problem(const struct problem *problem);
struct plumb_form check_abi_form(const struct problem *problem);

#endif
