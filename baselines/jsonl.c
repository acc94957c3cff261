// SPDX-License-Identifier: Apache-2.0
//
// JSON as the store writes it: one value per line, texts checked and escaped, numbers that read
// back to the same bits. What is read is in jsonl_read.c.
#include "baselines/jsonl.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int jsonl_utf8(const char *text, size_t left)
{
    static const struct {
        unsigned char low, high, second_low, second_high;
        int length;
    } forms[] = {
        {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
        {0x7f, 0x7f, 0, 0, 1},
    };
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; left > 0 && i < ARRAY_COUNT(forms); i++) {
        if (at[0] < forms[i].low || at[0] > forms[i].high)
            continue;
        if ((size_t)forms[i].length > left)
            return 0;
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

void jsonl_text(FILE *file, const char *text)
{
    const char *at = text ? text : "";
    size_t left = strlen(at);
    fputc('"', file);
    while (left > 0) {
        int length = jsonl_utf8(at, left);
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            fprintf(file, "\\u%04x", (unsigned)*at);
        else if (length == 0)
            fputs("\xef\xbf\xbd", file); // U+FFFD
        else
            fwrite(at, 1, (size_t)length, file);
        at += length ? length : 1;
        left -= (size_t)(length ? length : 1);
    }
    fputc('"', file);
}

void jsonl_real(FILE *file, double value)
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

void jsonl_name(FILE *file, bool *first, const char *name)
{
    fprintf(file, "%s\"%s\":", *first ? "" : ",", name);
    *first = false;
}

void jsonl_text_member(FILE *file, bool *first, const char *name, const char *text)
{
    jsonl_name(file, first, name);
    jsonl_text(file, text);
}

void jsonl_real_member(FILE *file, bool *first, const char *name, double value)
{
    jsonl_name(file, first, name);
    jsonl_real(file, value);
}

void jsonl_int_member(FILE *file, bool *first, const char *name, int64_t value)
{
    jsonl_name(file, first, name);
    fprintf(file, "%" PRId64, value);
}

void jsonl_bool_member(FILE *file, bool *first, const char *name, bool value)
{
    jsonl_name(file, first, name);
    fputs(value ? "true" : "false", file);
}
