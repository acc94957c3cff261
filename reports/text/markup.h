// SPDX-License-Identifier: Apache-2.0
//
// Writing XML and HTML through libxml2, with what it leaves open closed: every text and attribute
// passes clean.h first (libxml2 writes control bytes as they come, which no XML reader accepts),
// and in HTML only void elements are written empty (it would write <td/> and <script/>).
//
// Out of memory ends the program, so none of these can fail. Names are literals of ours; values are
// anything.
#ifndef PLUMB_REPORTS_MARKUP_H
#define PLUMB_REPORTS_MARKUP_H

#include "model/buffer.h"

enum markup_kind { MARKUP_XML, MARKUP_HTML, MARKUP_PART }; // a part of a page: elements alone

struct markup;
struct markup *markup_new(enum markup_kind kind); // writes its declaration or doctype
// Appends the document to `out` and frees `markup`; every element must be closed.
void markup_finish(struct markup *markup, struct buffer *out);
bool markup_is_xml(const struct markup *markup);

void markup_start(struct markup *markup, const char *name);
void markup_end(struct markup *markup);
// Attributes come directly after markup_start. NULL values leave the attribute out.
void markup_attr(struct markup *markup, const char *name, const char *value);
void markup_attrf(struct markup *markup, const char *name, const char *format, ...)
    PRINTF_LIKE(3, 4);
void markup_text(struct markup *markup, const char *text); // up to CLEAN_LOG bytes
void markup_textf(struct markup *markup, const char *format, ...) PRINTF_LIKE(2, 3);
void markup_raw(struct markup *markup, const char *text); // as it is: our own script and style

// One element with only text; `class` NULL for none.
void markup_element(struct markup *markup, const char *name, const char *class, const char *text);
void markup_elementf(struct markup *markup, const char *name, const char *class, const char *format,
                     ...) PRINTF_LIKE(4, 5);
// An element to be closed, with its class.
void markup_open(struct markup *markup, const char *name, const char *class);

// ==== the frame of every HTML page ====
//
// The frame of every HTML page: one self-contained file that opens offline and asks for nothing.
//
// The page's style and scripts are inline, and its content security policy admits exactly these by
// their SHA-256, so text from outside cannot run even if an escape were missed, and no request can
// leave. No style attribute and no inline handler is ever written: the policy forbids them. One
// page of the site trusts its script to run others ('strict-dynamic'; 'self' means nothing to
// file:).

struct page_link {
    const char *href, *text;
};

struct page {
    const char *title;
    const char *subtitle;          // beside the name in the header, or NULL
    const struct page_link *links; // navigation in the header
    size_t link_count;
    bool interactive;  // has series charts: dygraphs is put in when it was built in
    bool loads;        // its script may run further ones, of the site's own folder
    const char *root;  // from the page to that folder: "" or "../"; NULL: there is none
    bool shares_style; // its style lies beside the pages (page.css), and it has no script: of many
                       // small pages each is a tenth
    const char *feed;  // href of an Atom feed, or NULL
};

extern const bool page_has_dygraphs;
// Differs whenever style or scripts do.
const char *page_version(void);

// Starts the document: head, skip link, header, and <main> left open.
// What page.css of a folder has to be.
const char *page_style(void);
struct markup *page_begin(const struct page *page);
// Closes <main>, writes the footer and scripts and appends the document to `out`; frees `m`.
// `note` is the footer's text.
void page_finish(struct markup *m, const struct page *page, const char *note, struct buffer *out);

// "▲ slower": a verdict's sign and word in its colour; `class` as chart_verdict_class() says.
void page_tag(struct markup *m, const char *class, const char *sign, const char *word);

// A table that can be sorted and filtered, in a box that scrolls when it is too wide: caption for
// screen readers, then one call per column.
enum page_sort { PAGE_SORT_NONE, PAGE_SORT_TEXT, PAGE_SORT_NUMBER };
void page_table_begin(struct markup *m, const char *class, const char *caption);
void page_table_head(struct markup *m, const char *label, enum page_sort sort, const char *class);
void page_table_body(struct markup *m); // after the last column
void page_table_end(struct markup *m);
void page_row_begin(struct markup *m, const char *class);
// A cell left open; `label` is repeated beside the value on narrow screens. `value` NaN: the text
// sorts. The first cell of a row is its header.
void page_cell(struct markup *m, const char *label, const char *class, double value, bool header);
// A whole cell with a text; "-" counts as empty.
void page_text_cell(struct markup *m, const char *label, const char *class, double value,
                    const char *text);

#endif
