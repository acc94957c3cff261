// SPDX-License-Identifier: Apache-2.0
//
// Writes XML and HTML through libxml2, every text cleaned first.
#include "reports/text/markup.h"

#include "reports/text/clean.h"

#include <assert.h>
#include <libxml/xmlwriter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

struct markup {
    enum markup_kind kind;
    xmlBufferPtr bytes;
    xmlTextWriterPtr writer;
    const char *open[DEPTH]; // names of the open elements
    size_t depth;
};

// libxml2 fails here only without memory, which ends the program like xcalloc() does.
static void must(int result)
{
    if (result < 0)
        out_of_memory();
}

struct markup *markup_new(enum markup_kind kind)
{
    struct markup *markup = xcalloc(1, sizeof(*markup));
    markup->kind = kind;
    markup->bytes = xmlBufferCreate();
    markup->writer = markup->bytes ? xmlNewTextWriterMemory(markup->bytes, 0) : NULL;
    if (!markup->writer)
        out_of_memory();
    if (kind == MARKUP_XML)
        must(xmlTextWriterStartDocument(markup->writer, NULL, "UTF-8", NULL));
    else if (kind == MARKUP_HTML)
        must(xmlTextWriterWriteRaw(markup->writer, (const xmlChar *)"<!DOCTYPE html>\n"));
    return markup;
}

void markup_finish(struct markup *markup, struct buffer *out)
{
    assert(markup->depth == 0);
    must(xmlTextWriterEndDocument(markup->writer));
    must(xmlTextWriterFlush(markup->writer));
    buffer_add(out, (const char *)xmlBufferContent(markup->bytes),
               (size_t)xmlBufferLength(markup->bytes));
    xmlFreeTextWriter(markup->writer);
    xmlBufferFree(markup->bytes);
    free(markup);
}

void markup_start(struct markup *markup, const char *name)
{
    assert(markup->depth < DEPTH);
    markup->open[markup->depth++] = name;
    must(xmlTextWriterStartElement(markup->writer, (const xmlChar *)name));
}

static bool is_void(const char *name)
{
    static const char *const names[] = {"meta", "link", "br", "hr", "input", "img", "col", "wbr"};
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

void markup_end(struct markup *markup)
{
    assert(markup->depth > 0);
    const char *name = markup->open[--markup->depth];
    if (markup->kind == MARKUP_XML || is_void(name))
        must(xmlTextWriterEndElement(markup->writer));
    else
        must(xmlTextWriterFullEndElement(markup->writer));
}

void markup_attr(struct markup *markup, const char *name, const char *value)
{
    if (!value)
        return;
    struct buffer text = {0};
    clean_text(&text, value, CLEAN_LOG);
    must(xmlTextWriterWriteAttribute(markup->writer, (const xmlChar *)name,
                                     (const xmlChar *)(text.bytes ? text.bytes : "")));
    buffer_free(&text);
}

static char *format_text(const char *format, va_list values) PRINTF_LIKE(1, 0);
static char *format_text(const char *format, va_list values)
{
    va_list again;
    char few[256]; // most of it is short, and is written once
    va_copy(again, values);
    int length = vsnprintf(few, sizeof(few), format, again);
    va_end(again);
    char *text = xcalloc((size_t)(length < 0 ? 0 : length) + 1, 1);
    if (length > 0 && (size_t)length < sizeof(few))
        memcpy(text, few, (size_t)length);
    else if (length > 0)
        vsnprintf(text, (size_t)length + 1, format, values);
    return text;
}

void markup_attrf(struct markup *markup, const char *name, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *value = format_text(format, values);
    va_end(values);
    markup_attr(markup, name, value);
    free(value);
}

void markup_text(struct markup *markup, const char *text)
{
    struct buffer cleaned = {0};
    clean_text(&cleaned, text, CLEAN_LOG);
    if (cleaned.length > 0)
        must(xmlTextWriterWriteString(markup->writer, (const xmlChar *)cleaned.bytes));
    buffer_free(&cleaned);
}

void markup_textf(struct markup *markup, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    markup_text(markup, text);
    free(text);
}

void markup_raw(struct markup *markup, const char *text)
{
    must(xmlTextWriterWriteRaw(markup->writer, (const xmlChar *)text));
}

void markup_open(struct markup *markup, const char *name, const char *class)
{
    markup_start(markup, name);
    markup_attr(markup, "class", class);
}

void markup_element(struct markup *markup, const char *name, const char *class, const char *text)
{
    markup_open(markup, name, class);
    markup_text(markup, text);
    markup_end(markup);
}

void markup_elementf(struct markup *markup, const char *name, const char *class, const char *format,
                     ...)
{
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    markup_element(markup, name, class, text);
    free(text);
}
