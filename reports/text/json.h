// SPDX-License-Identifier: Apache-2.0
//
// A small JSON writer (RFC 8259): commas and quoting by itself, strings cleaned and escaped, `<`
// written as \u003c so that the text may stand inside an HTML script element. Numbers are written
// with the fewest digits that read back as the same double; NaN and infinities become null.
#ifndef PLUMB_REPORTS_JSON_H
#define PLUMB_REPORTS_JSON_H

#include "model/buffer.h"
#include "model/interval.h"
#include "model/text.h"

struct json {
    struct buffer *out;
    bool comma; // the next value needs one before it
};

// `name` NULL: an element of an array, or the whole document.
void json_begin(struct json *json, const char *name, char bracket);       // '{' or '['
void json_end(struct json *json, char bracket);                           // '}' or ']'
void json_string(struct json *json, const char *name, const char *value); // NULL becomes null
void json_number(struct json *json, const char *name, double value);
// Three members: its value as `name`, and "lower" and "upper".
void json_interval(struct json *json, const char *name, struct interval interval);
// With so many significant digits: 6 are 1 ppm, far below any noise, and a third of all 17.
void json_rounded(struct json *json, const char *name, double value, int digits);
void json_integer(struct json *json, const char *name, int64_t value);
void json_time(struct json *json, const char *name, int64_t time_s); // not above 0: null
void json_bool(struct json *json, const char *name, bool value);
void json_newline(struct json *json); // for people who read it, between elements

// The number alone, as it stands in JSON and CSV; "" in CSV is up to the caller.
void json_format_number(char out[NUMBER_TEXT], double value);

#endif
