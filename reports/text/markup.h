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

#endif
