// SPDX-License-Identifier: Apache-2.0
//
// Writing JSON: the few forms the store needs. Reading is SQLite's.
#ifndef PLUMB_JSON_H
#define PLUMB_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

// A quoted string: control bytes and quotes escaped, bytes that are not UTF-8 as U+FFFD. NULL: "".
void json_text(FILE *file, const char *text);
// Shortest of %.15g..%.17g that reads back to the same double; null for NaN and infinity.
void json_real(FILE *file, double value);

// "name": before a value; a comma first unless *first, which it clears.
void json_name(FILE *file, bool *first, const char *name);
void json_text_member(FILE *file, bool *first, const char *name, const char *text);
void json_real_member(FILE *file, bool *first, const char *name, double value);
void json_int_member(FILE *file, bool *first, const char *name, int64_t value);

#endif
