// SPDX-License-Identifier: Apache-2.0
//
// What every room asks of text: how a number is written, what is well-formed UTF-8, and a hash.
// Text that is put together is model/buffer.h; whole numbers are read by parse_... of model/base.h.
#ifndef PLUMB_TEXT_H
#define PLUMB_TEXT_H

#include "model/base.h"

enum { NUMBER_TEXT = 32 };
// The shortest of 15, 16 and 17 digits that reads back to the same double: 15 are enough for most
// decimal input, 17 for every double. NaN and infinities as printf writes them.
void number_text(char out[NUMBER_TEXT], double value);

// "31.35 us" of 31350 ns: four digits that count, and all of them before the point; no exponent.
void time_text(char out[NUMBER_TEXT], double time_ns);

// Length of the well-formed UTF-8 sequence at `text` (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF) and its character, which may be NULL; 0 if there is none within `left`
// bytes. NUL and control bytes are characters of length 1.
size_t utf8_length(uint32_t *character, const char *text, size_t left);

// FNV-1a, 64 bits, begun with HASH_START: the same on every machine, for names and stamps; no
// protection against anyone who wants two things to be one.
#define HASH_START 0xcbf29ce484222325u
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length);
// With its NUL, so that "ab","c" is not "a","bc". NULL counts as "".
uint64_t hash_text(uint64_t hash, const char *text);

#endif
