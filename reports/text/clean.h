// SPDX-License-Identifier: Apache-2.0
//
// Makes text from outside harmless for any reader: commit messages, build logs, kernel names.
//
// The result is valid UTF-8 that XML 1.0 accepts. Terminal escape sequences and control bytes are
// dropped (tab and newline stay, CR and CRLF become newline). These become U+FFFD: bytes that are
// not UTF-8, characters that nobody sees, and characters that reorder the text around them (such
// bidirectional controls can make a log line read as its opposite). Formats add their own escaping
// on top. CSV, JSON and Markdown have theirs here, for every report in that form.
#ifndef PLUMB_REPORTS_CLEAN_H
#define PLUMB_REPORTS_CLEAN_H

#include "model/buffer.h"
#include "model/csv.h"

// Appends at most `limit` bytes of the text: its first two thirds and its last third (a log ends
// with its reason), with a note between them that says how many bytes were left out. NULL adds
// nothing.
void clean_text(struct buffer *out, const char *text, size_t limit);
// Does the same on one line: newlines and tabs become spaces, and "..." stands for the note.
void clean_line(struct buffer *out, const char *text, size_t limit);

enum { CLEAN_LINE = 400, CLEAN_LOG = 16384 }; // limits used by the reports

// Adds text from outside as a CSV cell: cleaned, on one line. NULL becomes an empty cell.
void csv_clean(struct csv_line *line, const char *text);
// Adds text from outside to JSON that other programs read. It is cleaned, and `<`, `>` and `&` are
// written as \u003c, \u003e and \u0026, so that the JSON may stand inside an HTML script element.
// NULL becomes null.
void json_clean(struct json *json, const char *name, const char *value);

// Appends at most `limit` bytes of the text, on one line. The text cannot leave its table cell:
// characters with a meaning in Markdown are escaped, and no others, so that the source stays
// readable. GitHub looks for mentions and issue numbers in the finished page, so a zero-width space
// separates "@" and "#1" from the text after them.
void markdown_text(struct buffer *out, const char *text, size_t limit);

#endif
