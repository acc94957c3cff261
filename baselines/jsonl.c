// SPDX-License-Identifier: Apache-2.0
//
// JSON as the store writes it: one value per line, texts checked and escaped, numbers that read
// back to the same bits. What is read is in jsonl_read.c.
#include "baselines/jsonl.h"

#include "model/buffer.h"
#include "model/text.h"

#include <inttypes.h>
#include <math.h>

void jsonl_text(FILE *file, const char *text)
{
    struct buffer inside = {0};
    buffer_json(&inside, text ? text : "", "");
    fprintf(file, "\"%s\"", inside.bytes ? inside.bytes : "");
    buffer_free(&inside);
}

void jsonl_real(FILE *file, double value)
{
    char text[NUMBER_TEXT];
    if (isfinite(value))
        number_text(text, value);
    fputs(isfinite(value) ? text : "null", file);
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
