// SPDX-License-Identifier: Apache-2.0
#include "reports/json.h"

#include "reports/clean.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void quote(struct buffer *out, const char *text)
{
    struct buffer cleaned = {0};
    clean_text(&cleaned, text, CLEAN_LOG);
    buffer_puts(out, "\"");
    for (size_t i = 0; i < cleaned.length; i++) {
        char c = cleaned.bytes[i];
        if (c == '"' || c == '\\')
            buffer_printf(out, "\\%c", c);
        else if ((unsigned char)c < 0x20 || c == '<' || c == '>' || c == '&')
            buffer_printf(out, "\\u%04x", (unsigned)c);
        else
            buffer_add(out, &c, 1);
    }
    buffer_puts(out, "\"");
    buffer_free(&cleaned);
}

static void begin_value(struct json *json, const char *name)
{
    if (json->comma)
        buffer_puts(json->out, ",");
    json->comma = true;
    if (name) {
        quote(json->out, name);
        buffer_puts(json->out, ":");
    }
}

void json_begin(struct json *json, const char *name, char bracket)
{
    begin_value(json, name);
    buffer_add(json->out, &bracket, 1);
    json->comma = false;
}

void json_end(struct json *json, char bracket)
{
    buffer_add(json->out, &bracket, 1);
    json->comma = true;
}

void json_string(struct json *json, const char *name, const char *value)
{
    begin_value(json, name);
    if (value)
        quote(json->out, value);
    else
        buffer_puts(json->out, "null");
}

// 15 digits are enough for most decimal input, 17 for every double.
void json_format_number(char out[NUMBER_TEXT], double value)
{
    if (!isfinite(value)) {
        snprintf(out, NUMBER_TEXT, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_TEXT, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void json_number(struct json *json, const char *name, double value)
{
    char text[NUMBER_TEXT];
    json_format_number(text, value);
    begin_value(json, name);
    buffer_puts(json->out, text);
}

void json_integer(struct json *json, const char *name, int64_t value)
{
    begin_value(json, name);
    buffer_printf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    buffer_puts(json->out, value ? "true" : "false");
}

void json_newline(struct json *json)
{
    buffer_puts(json->out, "\n");
}
