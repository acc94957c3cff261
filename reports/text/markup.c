// SPDX-License-Identifier: Apache-2.0
//
// Writes XML and HTML through libxml2. Every text is cleaned first.
#include "reports/text/markup.h"

#include "reports/assets.inc"
#include "reports/text/clean.h"

#include <assert.h>
#include <libxml/xmlwriter.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ==== elements, attributes, texts ====

enum { DEPTH = 64 };

struct markup {
    enum markup_kind kind;
    xmlBufferPtr bytes;
    xmlTextWriterPtr writer;
    const char *open[DEPTH]; // names of the open elements
    size_t depth;
};

// libxml2 fails here only if memory runs out, which ends the program, as in xcalloc().
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

bool markup_is_xml(const struct markup *markup)
{
    return markup->kind == MARKUP_XML;
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
    char few[256]; // most texts are short, and are written from here at once
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

// ==== the frame of every HTML page ====
//
// The frame of an HTML page: head, style, policy, script and tables. The content is made elsewhere.

extern const unsigned char page_css[], page_js[], lines_js[], paint_js[], chart_js[];
#ifdef PLUMB_HAVE_DYGRAPHS
extern const unsigned char dygraphs_js[], dygraphs_css[];
const bool page_has_dygraphs = true;
#else
static const unsigned char dygraphs_js[] = "", dygraphs_css[] = "";
#define SHA256_DYGRAPHS_JS  ""
#define SHA256_DYGRAPHS_CSS ""
const bool page_has_dygraphs = false;
#endif

const char *page_version(void)
{
    return SHA256_PAGE_CSS SHA256_PAGE_JS SHA256_LINES_JS SHA256_PAINT_JS SHA256_CHART_JS
        SHA256_DYGRAPHS_JS SHA256_DYGRAPHS_CSS;
}

// The picture of a plumb bob on its line.
static const char icon[] =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath "
    "d='M8 0v6' stroke='%23778' stroke-width='1.5'/%3E%3Cpath d='M4.5 6h7L8 16z' "
    "fill='%230b6fb8'/%3E%3C/svg%3E";

static int hex_digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

// The policy wants base64 (RFC 4648); 32 bytes always end with one '='.
static void put_hash(struct buffer *out, const char *hex)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(hex) / 2;
    buffer_puts(out, " 'sha256-");
    for (size_t i = 0; i < length; i += 3) {
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++) {
            uint32_t byte = 0;
            if (i + k < length)
                byte =
                    (uint32_t)(hex_digit(hex[2 * (i + k)]) * 16 + hex_digit(hex[2 * (i + k) + 1]));
            group = group << 8 | byte;
        }
        for (size_t k = 0; k < 4; k++) {
            char c = i + k > length ? '=' : digits[group >> (18 - 6 * k) & 63];
            buffer_add(out, &c, 1);
        }
    }
    buffer_puts(out, "'");
}

static void write_policy(struct markup *m, bool interactive, bool loads, bool shares_style)
{
    struct buffer policy = {0};
    buffer_puts(&policy, "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
                         "style-src");
    if (shares_style)
        buffer_puts(&policy, " 'self' file:; script-src 'none'"); // in a folder there is no 'self'
    else
        put_hash(&policy, SHA256_PAGE_CSS);
    if (interactive)
        put_hash(&policy, SHA256_DYGRAPHS_CSS);
    if (!shares_style) {
        buffer_puts(&policy, "; script-src");
        put_hash(&policy, SHA256_PAGE_JS);
    }
    if (interactive) {
        put_hash(&policy, SHA256_DYGRAPHS_JS);
        put_hash(&policy, SHA256_LINES_JS);
        put_hash(&policy, SHA256_PAINT_JS);
        put_hash(&policy, SHA256_CHART_JS);
    }
    if (loads)
        buffer_puts(&policy, " 'strict-dynamic'");
    markup_start(m, "meta");
    markup_attr(m, "http-equiv", "Content-Security-Policy");
    markup_attr(m, "content", policy.bytes);
    markup_end(m);
    buffer_free(&policy);
}

static void write_meta(struct markup *m, const char *name, const char *content)
{
    markup_start(m, "meta");
    markup_attr(m, "name", name);
    markup_attr(m, "content", content);
    markup_end(m);
}

static void write_embedded(struct markup *m, const char *element, const unsigned char *bytes)
{
    markup_start(m, element);
    markup_raw(m, (const char *)bytes);
    markup_end(m);
}

static void write_style_link(struct markup *m, const char *root)
{
    markup_start(m, "link");
    markup_attr(m, "rel", "stylesheet");
    markup_attrf(m, "href", "%spage.css", root);
    markup_end(m);
}

static void write_head(struct markup *m, const struct page *page)
{
    bool interactive = page->interactive && page_has_dygraphs;
    markup_start(m, "head");
    markup_start(m, "meta");
    markup_attr(m, "charset", "utf-8");
    markup_end(m);
    write_policy(m, interactive, page->loads, page->shares_style);
    write_meta(m, "viewport", "width=device-width, initial-scale=1");
    write_meta(m, "color-scheme", "light dark");
    markup_element(m, "title", NULL, page->title);
    markup_start(m, "link");
    markup_attr(m, "rel", "icon");
    markup_attr(m, "href", icon);
    markup_end(m);
    if (page->feed) {
        markup_start(m, "link");
        markup_attr(m, "rel", "alternate");
        markup_attr(m, "type", "application/atom+xml");
        markup_attr(m, "href", page->feed);
        markup_end(m);
    }
    if (interactive)
        write_embedded(m, "style", dygraphs_css);
    if (page->shares_style)
        write_style_link(m, page->root);
    else
        write_embedded(m, "style", page_css);
    markup_end(m);
}

static void write_link(struct markup *m, const char *class, const char *href, const char *text)
{
    markup_open(m, "a", class);
    markup_attr(m, "href", href);
    markup_text(m, text);
    markup_end(m);
}

struct markup *page_begin(const struct page *page)
{
    struct markup *m = markup_new(MARKUP_HTML);
    markup_start(m, "html");
    markup_attr(m, "lang", "en");
    write_head(m, page);
    markup_start(m, "body");
    markup_attr(m, "data-root", page->root);
    write_link(m, "skip", "#main", "Skip to the content");
    markup_open(m, "header", "top");
    markup_element(m, "span", "brand", "plumb");
    if (page->subtitle)
        markup_element(m, "span", "subtitle", page->subtitle);
    if (page->link_count > 0) {
        markup_start(m, "nav");
        markup_attr(m, "aria-label", "Pages");
        for (size_t i = 0; i < page->link_count; i++)
            write_link(m, NULL, page->links[i].href, page->links[i].text);
        markup_end(m);
    }
    markup_end(m);
    markup_start(m, "main");
    markup_attr(m, "id", "main");
    return m;
}

void page_finish(struct markup *m, const struct page *page, const char *note, struct buffer *out)
{
    markup_end(m); // main
    markup_element(m, "footer", NULL, note);
    const bool interactive = page->interactive && page_has_dygraphs;
    if (interactive)
        write_embedded(m, "script", dygraphs_js);
    if (!page->shares_style)
        write_embedded(m, "script", page_js);
    if (interactive) {
        write_embedded(m, "script", lines_js);
        write_embedded(m, "script", paint_js);
        write_embedded(m, "script", chart_js);
    }
    markup_end(m); // body
    markup_end(m); // html
    markup_finish(m, out);
}

void page_tag(struct markup *m, const char *class, const char *sign, const char *word)
{
    markup_start(m, "span");
    markup_attrf(m, "class", "tag %s", class);
    markup_open(m, "span", "sign");
    markup_attr(m, "aria-hidden", "true");
    markup_text(m, sign);
    markup_end(m);
    markup_text(m, word);
    markup_end(m);
}

void page_table_begin(struct markup *m, const char *class, const char *caption)
{
    markup_open(m, "div", "scroll");
    markup_attr(m, "role", "group");
    markup_attr(m, "aria-label", caption);
    markup_attr(m, "tabindex", "0"); // so that the keyboard can scroll it, too
    markup_open(m, "table", class);
    markup_element(m, "caption", "unseen", caption);
    markup_start(m, "thead");
    markup_start(m, "tr");
}

void page_table_head(struct markup *m, const char *label, enum page_sort sort, const char *class)
{
    markup_open(m, "th", class);
    markup_attr(m, "scope", "col");
    if (sort != PAGE_SORT_NONE)
        markup_attr(m, "data-sort", sort == PAGE_SORT_NUMBER ? "number" : "text");
    markup_text(m, label);
    markup_end(m);
}

void page_table_body(struct markup *m)
{
    markup_end(m); // tr
    markup_end(m); // thead
    markup_start(m, "tbody");
}

void page_table_end(struct markup *m)
{
    markup_end(m); // tbody
    markup_end(m);
    markup_end(m);
}

void page_row_begin(struct markup *m, const char *class)
{
    markup_open(m, "tr", class);
}

void page_cell(struct markup *m, const char *label, const char *class, double value, bool header)
{
    markup_open(m, header ? "th" : "td", class);
    if (header)
        markup_attr(m, "scope", "row");
    markup_attr(m, "data-label", label);
    if (!isnan(value))
        markup_attrf(m, "data-v", "%.9g", value);
}

void page_text_cell(struct markup *m, const char *label, const char *class, double value,
                    const char *text)
{
    bool empty = text[0] == '-' && text[1] == '\0';
    char joined[64];
    snprintf(joined, sizeof(joined), "%s%s", class ? class : "", empty ? " empty" : "");
    page_cell(m, label, joined, value, false);
    markup_text(m, text);
    markup_end(m);
}
