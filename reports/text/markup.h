// SPDX-License-Identifier: Apache-2.0
//
// Writes XML and HTML through libxml2, and closes its gaps. Every text and attribute passes clean.h
// first (libxml2 writes control bytes as they come, which no XML reader accepts). In HTML only void
// elements are written empty (libxml2 would write <td/> and <script/>).
//
// Out of memory ends the program, so none of these functions can fail. Names are literals of ours;
// values may be anything.
#ifndef PLUMB_REPORTS_MARKUP_H
#define PLUMB_REPORTS_MARKUP_H

#include "model/buffer.h"

// MARKUP_PART: a part of a page, elements only.
enum markup_kind { MARKUP_XML, MARKUP_HTML, MARKUP_PART };

struct markup;
struct markup *markup_new(enum markup_kind kind); // writes its declaration or doctype
// Appends the document to `out` and frees `markup`. Every element must be closed.
void markup_finish(struct markup *markup, struct buffer *out);
bool markup_is_xml(const struct markup *markup);

void markup_start(struct markup *markup, const char *name);
void markup_end(struct markup *markup);
// Adds an attribute. Attributes come directly after markup_start(). A NULL value leaves the
// attribute out.
void markup_attr(struct markup *markup, const char *name, const char *value);
void markup_attrf(struct markup *markup, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
void markup_text(struct markup *markup, const char *text); // up to CLEAN_LOG bytes
void markup_textf(struct markup *markup, const char *format, ...) PRINTF_LIKE(2, 3);
// Written without escaping: our own script and style.
void markup_raw(struct markup *markup, const char *text);

// Writes an element that contains only text; `class` NULL: none.
void markup_element(struct markup *markup, const char *name, const char *class, const char *text);
void markup_elementf(struct markup *markup, const char *name, const char *class, const char *format,
                     ...) PRINTF_LIKE(4, 5);
// Opens an element with a class; the caller closes it.
void markup_open(struct markup *markup, const char *name, const char *class);

// ==== the frame of every HTML page ====
//
// The frame of every HTML page. A page is one self-contained file that opens offline and requests
// nothing. Its style and scripts are inline, and its content security policy admits exactly these
// by their SHA-256. So text from outside cannot run even if it was not escaped, and no request can
// leave.
// No style attribute and no inline handler is ever written, because the policy forbids them. One
// page of the site allows its script to run others ('strict-dynamic', because 'self' means nothing
// for file: addresses).

struct page_link {
    const char *href, *text;
};

struct page {
    const char *title;
    const char *subtitle;          // stands beside the name in the header, or NULL
    const struct page_link *links; // the navigation in the header
    size_t link_count;
    bool interactive;  // the page has series charts; dygraphs is included if it was built in
    bool loads;        // the page's script may run further scripts from the site's folder
    const char *root;  // the way from the page to the site's folder, "" or "../"; NULL: the page is
                       // not in a site
    bool shares_style; // the page has no script, and its style is in page.css beside it. Used for
                       // many small pages, which are a tenth of the size that way
    const char *feed;  // the address of an Atom feed, or NULL
};

extern const bool page_has_dygraphs;
// A text that differs whenever the style or a script does.
const char *page_version(void);

// Starts the document: head, skip link and header; <main> is left open.
struct markup *page_begin(const struct page *page);
// Closes <main>, writes the footer and the scripts, appends the document to `out` and frees `m`.
// `note` is the footer's text.
void page_finish(struct markup *m, const struct page *page, const char *note, struct buffer *out);

// Writes a verdict's sign and word in its colour, such as "▲ slower". `class` comes from
// chart_verdict_class().
void page_tag(struct markup *m, const char *class, const char *sign, const char *word);

// A table that can be sorted and filtered, in a box that scrolls when the table is too wide. The
// caption is for screen readers. Call page_column() for each column after it.
enum page_sort { PAGE_SORT_NONE, PAGE_SORT_TEXT, PAGE_SORT_NUMBER };
void page_table_begin(struct markup *m, const char *class, const char *caption);
void page_table_head(struct markup *m, const char *label, enum page_sort sort, const char *class);
void page_table_body(struct markup *m); // after the last column
void page_table_end(struct markup *m);
void page_row_begin(struct markup *m, const char *class);
// Opens a cell. `label` is repeated beside the value on narrow screens. `value` NaN: the column
// sorts by the text. A row's first cell is its header.
void page_cell(struct markup *m, const char *label, const char *class, double value, bool header);
// Writes a whole cell with a text; "-" sorts as empty.
void page_text_cell(struct markup *m, const char *label, const char *class, double value,
                    const char *text);

#endif
