// SPDX-License-Identifier: Apache-2.0
//
// What must not be guessed or known in advance, the same on every device: plausible values that are
// quickly written anew before each launch, and a digest of what a launch wrote.
//
// Noise. A pool holds NOISE_VECTORS vectors of 16 bytes of numbers as they occur. Vector i of a
// noise is the pool's at a hash of (key, i), each of its numbers with a sign from that hash. It is
// written as fast as memory goes and looks like inputs or outputs. Where
// one line of eight is written, at places that the key draws, each row of an operand has some of
// them, so no element of a product stays what it was. Who keeps sums of the other seven lines, and
// knows which they are, saves work: on the host all lines are written.
//
// Keys. Each is drawn from a secret by SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein, INDOCRYPT
// 2012). A kernel reads what was written with some of them, and the hash of a noise can be undone:
// of e2m1 a line shows it whole. So who finds a key must not find the secret, and with it the signs
// by which its product will be looked at.
//
// Digest. Of each DIGEST_CHUNK elements one number: their sum, each taken with a sign from a hash
// of (key, element). Signs are drawn after the launch, so what two launches wrote cannot have the
// same digests and differ: an error e in one element moves its chunk's by e (R. Freivalds,
// Information Processing Letters 9, 1979). Rounding errors add up like sqrt(count) of one's.
#ifndef PLUMB_NOISE_H
#define PLUMB_NOISE_H

#include "kernels/device/inputs.h"

enum { NOISE_VECTORS = 4096, NOISE_VECTOR = 16, NOISE_LINE = 4 }; // a line: 64 bytes
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

// Key `at` of a stream: SipHash-2-4 of both, by a key of 128 bits whose second half is zero.
INPUTS_INLINE uint64_t secret_key(uint64_t secret, uint64_t stream, uint64_t at)
{
    const uint64_t words[] = {stream, at, (uint64_t)16 << 56}; // the last: how many bytes
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
        return 0; // whole numbers: the sign bit is no sign alone
    return inputs_is_fp8(type) ? 0x8080808080808080u : 0x8000800080008000u;
}

// coarse: a hash for a line of four vectors, which are neighbours in the pool.
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

// The line that is written of the `one_in` ones from line segment * one_in on.
INPUTS_INLINE uint64_t noise_line(uint64_t key, uint64_t segment, uint32_t one_in)
{
    if (one_in == 1)
        return segment;
    return segment * one_in + (inputs_mix(~key + segment * 0x9e3779b97f4a7c15u) & (one_in - 1));
}

// line: vectors of a line, a power of two.
INPUTS_INLINE uint64_t noise_segments(uint64_t bytes, uint32_t one_in, uint32_t line)
{
    const uint64_t segment = (uint64_t)line * NOISE_VECTOR * one_in;
    return (bytes + segment - 1) / segment;
}

// The vector that is looked at, of a line that was written, to see whether the line is as it was.
INPUTS_INLINE uint64_t noise_spot(uint64_t spots, uint64_t line, uint32_t vectors)
{
    return line * vectors + (inputs_mix(spots + line) & (vectors - 1));
}

// Signs of 64 elements, one a bit.
INPUTS_INLINE uint64_t digest_signs(uint64_t key, uint64_t first)
{
    return inputs_mix(key + (first / 64 + 1) * 0x9e3779b97f4a7c15u);
}

// The chunk that is digested, of the `one_in` chunks from number segment * one_in on.
INPUTS_INLINE uint64_t digest_chunk(uint64_t key, uint64_t segment, uint32_t one_in)
{
    return segment * one_in + (inputs_mix(~key + segment) & (one_in - 1));
}

INPUTS_INLINE uint64_t digest_count(uint64_t elements)
{
    return (elements + DIGEST_CHUNK - 1) / DIGEST_CHUNK;
}

#endif
