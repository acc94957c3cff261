// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON, with commas and quotes by itself. Nothing is read here.
#include "model/buffer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void quote(struct buffer *out, const char *text)
{
    buffer_puts(out, "\"");
    buffer_json(out, text, "");
    buffer_puts(out, "\"");
}

void json_name(struct json *json, const char *name)
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
    json_name(json, name);
    buffer_add(json->out, &bracket, 1);
    json->comma = false;
}

void json_end(struct json *json, char bracket)
{
    buffer_add(json->out, &bracket, 1);
    json->comma = true;
}

void json_text(struct json *json, const char *name, const char *value)
{
    json_name(json, name);
    if (value)
        quote(json->out, value);
    else
        buffer_puts(json->out, "null");
}

void json_format_number(char out[NUMBER_TEXT], double value)
{
    if (isfinite(value))
        number_text(out, value);
    else
        text_copy(out, NUMBER_TEXT, "null");
}

void json_number(struct json *json, const char *name, double value)
{
    char text[NUMBER_TEXT];
    json_format_number(text, value);
    json_name(json, name);
    buffer_puts(json->out, text);
}

// "%.*g" is a quarter of the time a site's charts take; these few million numbers are of ordinary
// size, and integers do. Returns the length, or 0 when it must be done the general way.
static size_t format_rounded(char out[NUMBER_TEXT], double value, int digits)
{
    static const double powers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    double size = fabs(value);
    char figures[NUMBER_TEXT];
    int before = 1, length = 0, used = 0;
    if (!(size >= 1) || size >= 1e9 || digits < 1 || digits > 9)
        return 0;
    while (size >= powers[before])
        before++;
    int decimals = digits > before ? digits - before : 0;
    uint64_t scaled = (uint64_t)llround(size * powers[decimals]);
    while (decimals && scaled % 10 == 0) {
        scaled /= 10;
        decimals--;
    }
    for (int i = 0; scaled || i <= decimals; i++, scaled /= 10) {
        if (i == decimals && i)
            figures[length++] = '.';
        figures[length++] = (char)('0' + scaled % 10);
    }
    if (value < 0)
        out[used++] = '-';
    while (length)
        out[used++] = figures[--length];
    return (size_t)used;
}

void json_interval(struct json *json, const char *name, struct interval interval)
{
    json_number(json, name, interval.value);
    json_number(json, "lower", interval.low);
    json_number(json, "upper", interval.high);
}

void json_rounded(struct json *json, const char *name, double value, int digits)
{
    char text[NUMBER_TEXT];
    json_name(json, name);
    size_t length = format_rounded(text, value, digits);
    if (length)
        buffer_add(json->out, text, length);
    else if (isfinite(value))
        buffer_printf(json->out, "%.*g", digits, value);
    else
        buffer_puts(json->out, "null");
}

void json_int(struct json *json, const char *name, int64_t value)
{
    json_name(json, name);
    buffer_printf(json->out, "%" PRId64, value);
}

void json_time(struct json *json, const char *name, int64_t time_s)
{
    if (time_s > 0)
        json_int(json, name, time_s);
    else
        json_number(json, name, NAN);
}

void json_bool(struct json *json, const char *name, bool value)
{
    json_name(json, name);
    buffer_puts(json->out, value ? "true" : "false");
}

void json_newline(struct json *json)
{
    buffer_puts(json->out, "\n");
}
