// SPDX-License-Identifier: Apache-2.0
//
// Data that a kernel must not be able to guess or know in advance, the same on every
// device: plausible values that are written quickly before each launch, and a digest of
// what a launch wrote.
//
// Noise. A pool holds NOISE_VECTORS vectors of 16 bytes with numbers as they occur. Vector i of a
// noise is the pool's vector at a hash of (key, i), and each of its numbers gets a sign from that
// hash. It looks like inputs or outputs, and is written as fast as memory allows. Where only one
// line of eight is written, at places that the key draws, each row of an operand has some of these
// lines, so every element of a product changes. A kernel that kept sums over the other seven lines,
// and knew which lines these are, could save work. So on the host all lines are written.
//
// Keys. Each is drawn from a secret by SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, INDOCRYPT
// 2012). A kernel reads the data that were written with some of these keys, and the hash of a noise
// can be inverted: one line of e2m1 shows it completely. So a kernel that finds a key must not find
// the secret, from which the signs follow that check its product.
//
// Digest. Each DIGEST_CHUNK elements give one number: their sum, each element taken with a sign
// from a hash of (key, element). The signs are drawn after the launch, so two launches cannot write
// different results on purpose and still have equal digests: an error e in one element moves the
// digest of its chunk by e (R. Freivalds, Information Processing Letters 9, 1979). Rounding errors
// add up like sqrt(count) times one error.
#ifndef PLUMB_NOISE_H
#define PLUMB_NOISE_H

#include "kernels/device/inputs.h"

// vectors of a pool; bytes of a vector; vectors of a line of 64 bytes
enum { NOISE_VECTORS = 4096, NOISE_VECTOR = 16, NOISE_LINE = 4 };
enum { NOISE_JOBS = 3, DIGEST_CHUNK = 256 };

INPUTS_INLINE uint64_t secret_turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

INPUTS_INLINE void secret_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = secret_turn(v[1], 13) ^ v[0];
    v[3] = secret_turn(v[3], 16) ^ v[2];
    v[2] += v[1];
    v[0] = secret_turn(v[0], 32) + v[3];
    v[1] = secret_turn(v[1], 17) ^ v[2];
    v[3] = secret_turn(v[3], 21) ^ v[0];
    v[2] = secret_turn(v[2], 32);
}

// Key number `at` of a stream: SipHash-2-4 of both, with a key of 128 bits whose second
// half is zero.
INPUTS_INLINE uint64_t secret_key(uint64_t secret, uint64_t stream, uint64_t at)
{
    // the last word holds the number of bytes
    const uint64_t words[] = {stream, at, (uint64_t)16 << 56};
    uint64_t v[4] = {secret ^ 0x736f6d6570736575u, 0x646f72616e646f6du,
                     secret ^ 0x6c7967656e657261u, 0x7465646279746573u};
    for (int i = 0; i < 3; i++) {
        v[3] ^= words[i];
        secret_round(v);
        secret_round(v);
        v[0] ^= words[i];
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        secret_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct noise_vector {
    uint64_t half[2];
};

// The sign bits of a 64-bit word that holds numbers of this type.
INPUTS_INLINE uint64_t noise_signs(int type)
{
    if (type == PLUMB_FP64)
        return 0x8000000000000000u;
    if (type == PLUMB_FP32 || type == PLUMB_TF32)
        return 0x8000000080000000u;
    if (type == PLUMB_E2M1)
        return 0x8888888888888888u;
    if (type > PLUMB_FP64)
        return 0; // for whole numbers the sign bit is not just a sign
    return inputs_is_fp8(type) ? 0x8080808080808080u : 0x8000800080008000u;
}

// coarse: one hash gives a whole line of four vectors, which are neighbours in the pool.
INPUTS_INLINE struct noise_vector noise_at(const struct noise_vector *pool, uint64_t signs,
                                           uint64_t key, bool coarse, uint64_t at)
{
    const uint64_t of = coarse ? at / NOISE_LINE : at;
    const uint64_t mixed = inputs_mix(key + (of + 1) * 0x9e3779b97f4a7c15u);
    const uint64_t in_line = at % NOISE_LINE, index = mixed >> 32 & (NOISE_VECTORS - 1);
    const uint64_t hash =
        coarse && in_line ? mixed << 7 * in_line | mixed >> (64 - 7 * in_line) : mixed;
    struct noise_vector v = pool[coarse ? (index & ~(uint64_t)(NOISE_LINE - 1)) + in_line : index];
    v.half[0] ^= hash & signs;
    v.half[1] ^= (hash << 3 | hash >> 61) & signs;
    return v;
}

// The line that is written among the `one_in` lines that begin with line segment * one_in.
INPUTS_INLINE uint64_t noise_line(uint64_t key, uint64_t segment, uint32_t one_in)
{
    if (one_in == 1)
        return segment;
    return segment * one_in + (inputs_mix(~key + segment * 0x9e3779b97f4a7c15u) & (one_in - 1));
}

// line: number of vectors of a line, a power of two.
INPUTS_INLINE uint64_t noise_segments(uint64_t bytes, uint32_t one_in, uint32_t line)
{
    const uint64_t segment = (uint64_t)line * NOISE_VECTOR * one_in;
    return (bytes + segment - 1) / segment;
}

// The vector of a written line that a look compares, to see whether the line has changed.
INPUTS_INLINE uint64_t noise_spot(uint64_t spots, uint64_t line, uint32_t vectors)
{
    return line * vectors + (inputs_mix(spots + line) & (vectors - 1));
}

// The signs of 64 elements, one bit each.
INPUTS_INLINE uint64_t digest_signs(uint64_t key, uint64_t first)
{
    return inputs_mix(key + (first / 64 + 1) * 0x9e3779b97f4a7c15u);
}

// The chunk that is digested among the `one_in` chunks that begin with chunk segment * one_in.
INPUTS_INLINE uint64_t digest_chunk(uint64_t key, uint64_t segment, uint32_t one_in)
{
    return segment * one_in + (inputs_mix(~key + segment) & (one_in - 1));
}

INPUTS_INLINE uint64_t digest_count(uint64_t elements)
{
    return (elements + DIGEST_CHUNK - 1) / DIGEST_CHUNK;
}

#endif
