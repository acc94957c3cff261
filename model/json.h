// SPDX-License-Identifier: Apache-2.0
//
// A small JSON writer (RFC 8259): commas and quoting by itself, into a buffer. Numbers are written
// with the fewest digits that read back as the same double; NaN and infinities become null.
//
// Texts keep every character, as a store must; reports/text/clean.h writes those that people see.
// A library reads JSON (baselines/json_read.h): reading has to withstand hostile input, writing
// does not, and no library writes these digits into a buffer. That library is linked beside this
// file: no name here may be one of its own (json_string, json_integer).
#ifndef PLUMB_JSON_H
#define PLUMB_JSON_H

#include "model/base.h"
#include "model/buffer.h"

struct json {
    struct buffer *out;
    bool comma; // the next value needs one before it
};

// Writes a comma where one is needed, and the name; the caller writes the value. All functions
// below begin so. `name` NULL: an element of an array, or the whole document.
void json_name(struct json *json, const char *name);
void json_begin(struct json *json, const char *name, char bracket); // '{' or '['
void json_end(struct json *json, char bracket);                     // '}' or ']'
// Bytes that are not UTF-8 become U+FFFD; NULL becomes null.
void json_text(struct json *json, const char *name, const char *value);
void json_number(struct json *json, const char *name, double value);
// Three members: its value as `name`, and "lower" and "upper".
void json_interval(struct json *json, const char *name, struct interval interval);
// With so many significant digits: 6 are 1 ppm, far below any noise, and a third of all 17.
void json_rounded(struct json *json, const char *name, double value, int digits);
void json_int(struct json *json, const char *name, int64_t value);
void json_time(struct json *json, const char *name, int64_t time_s); // not above 0: null
void json_bool(struct json *json, const char *name, bool value);
void json_newline(struct json *json); // for people who read it, between elements

// The number alone, as it stands in JSON and CSV; "" in CSV is up to the caller.
void json_format_number(char out[NUMBER_TEXT], double value);

#endif
