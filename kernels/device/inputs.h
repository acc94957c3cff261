// SPDX-License-Identifier: Apache-2.0
//
// Inputs: normal numbers from a recorded seed, the same bits on every device. C and CUDA both
// include this file, so everything is inline and uses only operations that IEEE 754 fixes to
// the last bit.
//
// Element i of matrix `which` depends on (seed, which, i) alone. It is made from three words of
// splitmix64 (S. Vigna, public-domain generator; G. Steele et al., OOPSLA 2014) at positions
// 3i..3i+2 of the stream that (seed, which) selects. They are added up as twelve 16-bit uniform
// numbers, whose sum has mean 12 * 65535 / 2 and standard deviation 65536 (1 - 2^-33). Subtracting
// the mean and scaling by 2^-16 gives a standard normal number within +-6 (excess kurtosis -0.1).
// Eight more bits fill the low mantissa, because a multiplier's power depends on it.
//
// Types narrower than FP32 are rounded to nearest even. fp8 is scaled by 96 and saturated, and the
// kernel gets 1/96 as the scale of the tensor, so that the product's scale is the same for all
// types. With block scales, fp8 is not scaled, fp4 is a normal number times 2, and scales are
// about 1. int8 is a normal number times 32, rounded and saturated at 127, and one of eight is
// -128 or 127.
#ifndef PLUMB_INPUTS_H
#define PLUMB_INPUTS_H

#include "kernels/kernel.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define INPUTS_INLINE static __host__ __device__ inline
#else
#define INPUTS_INLINE static inline
#endif

enum { MATRIX_A = 1, MATRIX_B = 2 };
#define INPUTS_FP8_SCALE 96.0f

// The contents that a recipe can make. The first three are those of enum plumb_contents.
enum inputs_contents {
    INPUTS_NORMAL,
    INPUTS_UNIFORM, // uniform from 0 to scale
    INPUTS_INDEX,   // whole numbers below scale
    INPUTS_SCALES,  // block scales: 1/2, 1 or 2 of e8m0, otherwise 1/2 to 3/2; now and then 0
    INPUTS_PLAIN    // normal, and fp8 is not scaled
};

// The recipe for the numbers that fill a matrix. Signs: every line of the operand (a row of A, a
// column of B) is multiplied by a sign of its own. So known inputs become others whose product is
// known, too, except for the signs of its rows and columns. For dual-silu only the second weights
// get signs, because the result is linear in them.
struct inputs_recipe {
    int type; // enum plumb_dtype
    int which;
    uint64_t seed;
    float scale;       // 1: standard normal
    uint64_t signs;    // key of the signs; 0: all are +1
    uint64_t lines, k; // of one matrix; not read if there are no signs
    int k_inner;       // neighbours in memory belong to one line
    int second;        // only every second matrix gets signs
    int contents;      // enum inputs_contents; others than normal ones have no signs
    // The same numbers without signs, which are then copied instead of computed; NULL: they are
    // computed. Not for whole numbers.
    const void *bare;
};

INPUTS_INLINE uint64_t inputs_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Word `at` of the stream that (seed, which) selects.
INPUTS_INLINE uint64_t inputs_word(uint64_t seed, int which, uint64_t at)
{
    uint64_t start = inputs_mix(seed + 0x632be59bd9b4e019u * (uint64_t)which);
    return inputs_mix(start + (at + 1) * 0x9e3779b97f4a7c15u);
}

INPUTS_INLINE float inputs_normal(uint64_t seed, int which, uint64_t index)
{
    int32_t sum = 0;
    uint64_t last = 0;
    for (uint64_t word = 0; word < 3; word++) {
        last = inputs_word(seed, which, 3 * index + word);
        sum += (int32_t)((last & 0xffff) + (last >> 16 & 0xffff) + (last >> 32 & 0xffff) +
                         (last >> 48));
    }
    // sum - 393210 lies in +-2^18.6; eight more bits still fit, and the conversion
    // rounds to nearest.
    int32_t fixed = (sum - 393210) * 256 + (int32_t)(inputs_mix(last) & 0xff) - 128;
    return (float)fixed * 5.9604644775390625e-8f; // 2^-24
}

// a / b, which a GPU computes in 32 bits if both fit.
INPUTS_INLINE uint64_t inputs_quotient(uint64_t a, uint64_t b)
{
    return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

// Whether the line's sign is negative.
INPUTS_INLINE int inputs_negative(uint64_t signs, int which, uint64_t line)
{
    return signs && inputs_word(signs, which, line) >> 63;
}

// Contents other than normal numbers.
INPUTS_INLINE float inputs_other(const struct inputs_recipe *r, uint64_t at)
{
    const uint64_t word = inputs_word(r->seed, r->which, at);
    const float uniform = (float)(word >> 40) * 5.9604644775390625e-8f; // 2^-24
    if (r->contents == INPUTS_UNIFORM)
        return uniform * r->scale;
    if (r->contents == INPUTS_INDEX)
        return (float)(int64_t)(uniform * r->scale);
    if (r->type == PLUMB_E8M0)
        return (float)(1 << word % 3) * 0.5f;
    return word % 64 ? uniform + 0.5f : 0;
}

// Whether the number at `at` belongs to a line with a negative sign.
INPUTS_INLINE int inputs_flipped(const struct inputs_recipe *r, uint64_t at)
{
    if (!r->signs)
        return 0;
    const uint64_t matrix = inputs_quotient(at, r->lines * r->k);
    const uint64_t within = at - matrix * r->lines * r->k;
    if (r->second && matrix % 2 == 0)
        return 0;
    const uint64_t line = (r->second ? matrix / 2 : matrix) * r->lines +
                          (r->k_inner ? inputs_quotient(within, r->k)
                                      : within - inputs_quotient(within, r->lines) * r->lines);
    return inputs_negative(r->signs, r->which, line);
}

// The number at place `at`.
INPUTS_INLINE float inputs_value(const struct inputs_recipe *r, uint64_t at)
{
    if (r->contents > INPUTS_NORMAL && r->contents < INPUTS_PLAIN)
        return inputs_other(r, at);
    const float value = inputs_normal(r->seed, r->which, at) * r->scale;
    return inputs_flipped(r, at) ? -value : value;
}

// The keys by which the sign of element (row, col) of the product follows from the signs of its
// inputs. row counts the rows of all matrices of the batch. a, b: the keys of both inputs.
struct inputs_signs {
    uint64_t a, b, m, n;
};
INPUTS_INLINE double inputs_sign(const struct inputs_signs *s, uint64_t row, uint64_t col)
{
    const int negative = inputs_negative(s->a, MATRIX_A, row) ^
                         inputs_negative(s->b, MATRIX_B, inputs_quotient(row, s->m) * s->n + col);
    return negative ? -1 : 1;
}

// A binary format narrower than FP32: sign, `exponent` bits, `mantissa` bits. `finite` formats
// (e4m3) have no infinity and use the topmost exponent for numbers.
struct inputs_format {
    int exponent, mantissa, finite;
};

INPUTS_INLINE float inputs_power(int exponent) // 2^exponent, normal numbers only
{
    uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

// Rounds to nearest even, and saturates.
INPUTS_INLINE uint32_t inputs_encode(struct inputs_format f, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    const int bias = (1 << (f.exponent - 1)) - 1, drop = 23 - f.mantissa;
    const uint32_t sign = bits >> 31 << (f.exponent + f.mantissa);
    const uint32_t top = ((1u << (f.exponent + f.mantissa)) - 1) -
                         (f.finite ? 1u : 1u << f.mantissa); // largest finite number
    int exponent = (int)(bits >> 23 & 0xff) - 127 + bias;
    if ((bits >> 23 & 0xff) == 0) // zero, or below what any narrower type has
        return sign;
    uint32_t mantissa = (bits & 0x7fffff) | 0x800000;
    int shift = exponent > 0 ? drop : drop + 1 - exponent; // a subnormal number loses more bits
    if (shift > 24)
        return sign;
    uint32_t kept = mantissa >> shift, rest = mantissa & ((1u << shift) - 1),
             half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // For normal numbers, the hidden bit has added one to the exponent field; take it off again.
    uint32_t code = exponent > 0 ? kept + ((uint32_t)(exponent - 1) << f.mantissa) : kept;
    return sign | (code > top ? top : code);
}

INPUTS_INLINE float inputs_decode(struct inputs_format f, uint32_t code)
{
    const int bias = (1 << (f.exponent - 1)) - 1;
    const uint32_t field = code >> f.mantissa & ((1u << f.exponent) - 1);
    const uint32_t mantissa = code & ((1u << f.mantissa) - 1);
    const uint32_t ones = (1u << f.exponent) - 1;
    float value;
    if (field == ones && (f.finite ? mantissa == (1u << f.mantissa) - 1 : 1)) {
        uint32_t bits = 0x7f800000u | (f.finite || mantissa ? 0x400000u : 0);
        memcpy(&value, &bits, sizeof(value));
    } else if (field == 0) {
        value = (float)mantissa * inputs_power(1 - bias - f.mantissa);
    } else {
        value = (float)(mantissa | 1u << f.mantissa) * inputs_power((int)field - bias - f.mantissa);
    }
    return code >> (f.exponent + f.mantissa) & 1 ? -value : value;
}

// The format of a type narrower than FP32 (values of enum plumb_dtype).
INPUTS_INLINE struct inputs_format inputs_format(int type)
{
    struct inputs_format f = {8, 7, 0}; // bf16
    if (type == PLUMB_FP16) {
        f.exponent = 5;
        f.mantissa = 10;
    } else if (type == PLUMB_E4M3) {
        f.exponent = 4;
        f.mantissa = 3;
        f.finite = 1;
    } else if (type == PLUMB_E5M2) {
        f.exponent = 5;
        f.mantissa = 2;
    }
    return f;
}

// The eight magnitudes of e2m1, by its lower three bits.
INPUTS_INLINE float inputs_decode_e2m1(uint32_t code)
{
    const uint32_t m = code & 7;
    const float value =
        m < 2 ? (float)m * 0.5f : (float)(2 + (m & 1)) * inputs_power((int)(m >> 1) - 2);
    return code & 8 ? -value : value;
}

// Rounds to nearest even, and saturates at 6.
INPUTS_INLINE uint32_t inputs_encode_e2m1(float value)
{
    const float x = value < 0 ? -value : value;
    const uint32_t sign = value < 0 ? 8 : 0;
    if (x <= 0.25f)
        return sign;
    if (x < 0.75f)
        return sign | 1;
    if (x <= 1.25f)
        return sign | 2;
    if (x < 1.75f)
        return sign | 3;
    if (x <= 2.5f)
        return sign | 4;
    if (x < 3.5f)
        return sign | 5;
    return sign | (x <= 5.0f ? 6u : 7u);
}

// 2^(code - 127), which is subnormal for code 0; 255 is NaN.
INPUTS_INLINE float inputs_decode_e8m0(uint32_t code)
{
    const uint32_t bits = code == 255 ? 0x7fc00000u : code ? code << 23 : 0x400000u;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

INPUTS_INLINE int inputs_is_fp8(int type)
{
    return type == PLUMB_E4M3 || type == PLUMB_E5M2;
}

// Whether this file can make and read the type.
INPUTS_INLINE int inputs_knows(int type)
{
    return type == PLUMB_FP32 || type == PLUMB_TF32 || type == PLUMB_BF16 || type == PLUMB_FP16 ||
           inputs_is_fp8(type) || type == PLUMB_FP64;
}

INPUTS_INLINE double inputs_load_other(int type, const void *array, uint64_t at)
{
    if (type == PLUMB_INT8)
        return (double)((const int8_t *)array)[at];
    if (type == PLUMB_INT32)
        return (double)((const int32_t *)array)[at];
    if (type == PLUMB_E8M0)
        return (double)inputs_decode_e8m0(((const uint8_t *)array)[at]);
    return (double)inputs_decode_e2m1(((const uint8_t *)array)[at / 2] >> at % 2 * 4 & 15u);
}

// Element `at` of an array of this type, as a number (fp8 without the tensor's scale).
INPUTS_INLINE double inputs_load(int type, const void *array, uint64_t at)
{
    if (type == PLUMB_FP64)
        return ((const double *)array)[at];
    if (type == PLUMB_FP32 || type == PLUMB_TF32)
        return (double)((const float *)array)[at];
    if (inputs_is_fp8(type))
        return (double)inputs_decode(inputs_format(type), ((const uint8_t *)array)[at]);
    if (type > PLUMB_FP64 || type == PLUMB_E2M1 || type == PLUMB_E8M0)
        return inputs_load_other(type, array, at);
    if (type == PLUMB_BF16) {
        uint32_t bits = (uint32_t)((const uint16_t *)array)[at] << 16;
        float value;
        memcpy(&value, &bits, sizeof(value));
        return (double)value;
    }
    return (double)inputs_decode(inputs_format(type), ((const uint16_t *)array)[at]);
}

// The distance between two elements: infinity if one of them is no number, negative if their bytes
// are the same.
INPUTS_INLINE double inputs_apart(int type, size_t bytes, const unsigned char *a,
                                  const unsigned char *b)
{
    size_t same = 0;
    while (same < bytes && a[same] == b[same])
        same++;
    if (same == bytes)
        return -1;
    const double apart = fabs(inputs_load(type, a, 0) - inputs_load(type, b, 0));
    return apart >= 0 ? apart : INFINITY;
}

// The whole number nearest to `value` that the type has.
INPUTS_INLINE int32_t inputs_whole(float value, float most)
{
    const float held = value > most ? most : value < -most ? -most : value;
    return (int32_t)(held < 0 ? held - 0.5f : held + 0.5f);
}

// Does what inputs_store() does for the types of forms. For e2m1, `at` counts bytes.
INPUTS_INLINE void inputs_store_other(void *array, uint64_t at, const struct inputs_recipe *recipe)
{
    const int type = recipe->type;
    if (type == PLUMB_E2M1) {
        const uint32_t low = inputs_encode_e2m1(inputs_value(recipe, 2 * at));
        const uint32_t high = inputs_encode_e2m1(inputs_value(recipe, 2 * at + 1));
        ((uint8_t *)array)[at] = (uint8_t)(low | high << 4);
        return;
    }
    const float value = inputs_value(recipe, at);
    if (type == PLUMB_INT8) { // includes the extremes, at which products first overflow 16 bits
        const uint64_t word = inputs_word(recipe->seed, recipe->which, ~at);
        const int extreme = word & 8 ? -128 : 127;
        ((int8_t *)array)[at] = (int8_t)(word % 8 ? inputs_whole(value, 127.0f) : extreme);
    } else if (type == PLUMB_INT32) {
        ((int32_t *)array)[at] = inputs_whole(value, 2147483520.0f);
    } else {
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        ((uint8_t *)array)[at] = (uint8_t)(bits >> 23);
    }
}

// Writes the number at place `at`.
INPUTS_INLINE void inputs_store(void *array, uint64_t at, const struct inputs_recipe *recipe)
{
    const int type = recipe->type;
    if (type > PLUMB_FP64 || type == PLUMB_E2M1 || type == PLUMB_E8M0) {
        inputs_store_other(array, at, recipe);
        return;
    }
    const float value = inputs_value(recipe, at);
    if (type == PLUMB_FP64)
        ((double *)array)[at] = (double)value;
    else if (type == PLUMB_FP32 || type == PLUMB_TF32)
        ((float *)array)[at] = value;
    else if (inputs_is_fp8(type))
        ((uint8_t *)array)[at] = (uint8_t)inputs_encode(
            inputs_format(type), recipe->contents ? value : value * INPUTS_FP8_SCALE);
    else
        ((uint16_t *)array)[at] = (uint16_t)inputs_encode(inputs_format(type), value);
}

// How many numbers a 64-bit word holds, for types whose sign is one bit.
INPUTS_INLINE uint64_t inputs_each(int type)
{
    if (type == PLUMB_FP64)
        return 1;
    if (type == PLUMB_FP32 || type == PLUMB_TF32)
        return 2;
    return inputs_is_fp8(type) ? 8 : 4;
}

// The bits of word `word` of such an array that the recipe's signs change.
INPUTS_INLINE uint64_t inputs_flips(const struct inputs_recipe *r, uint64_t word)
{
    const uint64_t each = inputs_each(r->type), bits = 64 / each, first = word * each;
    const int whole = r->k_inner && r->k % each == 0; // all numbers of a word belong to one line
    uint64_t flips = 0;
    for (uint64_t i = 0; i < each; i++) {
        const int flipped = whole && i ? flips != 0 : inputs_flipped(r, first + i);
        flips |= flipped ? (uint64_t)1 << (bits * (i + 1) - 1) : 0;
    }
    return flips;
}

#endif
