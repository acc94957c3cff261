// SPDX-License-Identifier: Apache-2.0
#include "baselines/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

// Length of the well-formed UTF-8 sequence at `at`, 0 if it is none (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF).
static int utf8_length(const unsigned char *at)
{
    static const struct {
        unsigned char low, high, second_low, second_high;
        int length;
    } forms[] = {
        {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (at[0] < forms[i].low || at[0] > forms[i].high)
            continue;
        if (forms[i].length > 1 && (at[1] < forms[i].second_low || at[1] > forms[i].second_high))
            return 0;
        for (int k = 2; k < forms[i].length; k++) {
            if (at[k] < 0x80 || at[k] > 0xbf)
                return 0;
        }
        return forms[i].length;
    }
    return 0;
}

void json_text(FILE *file, const char *text)
{
    const unsigned char *at = (const unsigned char *)(text ? text : "");
    fputc('"', file);
    while (*at) {
        int length = utf8_length(at);
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x80 && length == 0)
            fprintf(file, "\\u%04x", *at);
        else if (length == 0)
            fputs("\\ufffd", file);
        else
            fwrite(at, 1, (size_t)length, file);
        at += length ? length : 1;
    }
    fputc('"', file);
}

void json_real(FILE *file, double value)
{
    char text[40];
    if (!isfinite(value)) {
        fputs("null", file);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, file);
}

void json_name(FILE *file, bool *first, const char *name)
{
    fprintf(file, "%s\"%s\":", *first ? "" : ",", name);
    *first = false;
}

void json_text_member(FILE *file, bool *first, const char *name, const char *text)
{
    json_name(file, first, name);
    json_text(file, text);
}

void json_real_member(FILE *file, bool *first, const char *name, double value)
{
    json_name(file, first, name);
    json_real(file, value);
}

void json_int_member(FILE *file, bool *first, const char *name, int64_t value)
{
    json_name(file, first, name);
    fprintf(file, "%" PRId64, value);
}
