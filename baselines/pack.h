// SPDX-License-Identifier: Apache-2.0
//
// Samples as bytes for the store: lossless, the same on every machine, about 6 bytes per sample.
//
// Layout, version 1. All integers are little-endian base-128 varints (7 bits per byte, high bit:
// more follow); signed ones are zigzag-coded first (0, -1, 1, -2 -> 0, 1, 2, 3).
//     byte 0     version, 1
//     varint     number of samples, at most PACK_SAMPLES
//     columns    time_ns, clock_hz and those of SAMPLE_INTEGERS below, in that order, each:
//         byte   encoding: 0 constant, 1 differences, 2 raw
//         byte   real columns only: decimal places d, 0..6 (0 when raw)
//         0      one signed varint, every sample's value
//         1      one signed varint per sample, difference from the one before (before the first: 0)
//         2      real columns only: 8 bytes per sample, IEEE 754 binary64, little-endian
// A real column holds value * 10^d as integers if two conditions are met: that gives back each
// value exactly, and it stays below 2^53. Otherwise the column is raw. Nothing follows the last
// column.
#ifndef PLUMB_PACK_H
#define PLUMB_PACK_H

#include "model/fields.h"

// The integer fields of a sample, with the range that a reader accepts.
#define SAMPLE_INTEGERS(X)                                                                         \
    X(launches, 0, UINT32_MAX)                                                                     \
    X(pair, 0, UINT32_MAX)                                                                         \
    X(block, 0, UINT16_MAX)                                                                        \
    X(process, 0, UINT16_MAX)                                                                      \
    X(role, ROLE_BASE, ROLE_HEAD)                                                                  \
    X(order, 0, UINT8_MAX)                                                                         \
    X(throttle, 0, UINT8_MAX)                                                                      \
    X(excluded, 0, 1)                                                                              \
    X(temperature_c, INT16_MIN, INT16_MAX)                                                         \
    X(power_mw, INT32_MIN, INT32_MAX)

enum {
    PACK_SAMPLES = 1 << 17
}; // more than any measurement has; a hostile blob cannot ask for
   // more memory

// The caller frees *out. Never fails: misuse (more than PACK_SAMPLES) is an assert.
void pack_samples(unsigned char **out, size_t *size, const struct sample *samples, size_t count);

// Reads packed samples into the arena. Refuses everything that pack_samples() cannot have written:
// bytes that are truncated or left over, a value out of its field's range, another version.
int unpack_samples(struct sample **out, size_t *count, const void *bytes, size_t size,
                   struct arena *arena, struct error *err);

#endif
