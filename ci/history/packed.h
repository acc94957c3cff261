// SPDX-License-Identifier: Apache-2.0
//
// Figures as bytes, the same on every machine: integers as little-endian base-128 varints, reals as
// 8 bytes, binary64, little-endian, texts with their length before them.
#ifndef PLUMB_PACKED_H
#define PLUMB_PACKED_H

#include "model/buffer.h"

void put(struct buffer *out, uint64_t value);
void put_real(struct buffer *out, double value);
void put_text(struct buffer *out, const char *text);

// What is read is 0 or "" from the first thing on that cannot have been written.
struct reader {
    const unsigned char *at, *end;
    struct arena *arena;
    bool bad;
};
uint64_t get(struct reader *reader);
// A number of things of which each takes a byte at least.
size_t get_count(struct reader *reader);
// Below `count`.
size_t get_index(struct reader *reader, size_t count);
double get_real(struct reader *reader);
const char *get_text(struct reader *reader);

#endif
