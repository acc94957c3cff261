// SPDX-License-Identifier: Apache-2.0
//
// Text from outside, made harmless for any reader: commit messages, build logs, kernel names.
//
// The result is valid UTF-8 that XML 1.0 accepts: terminal escape sequences and control bytes are
// dropped (tab and newline stay, CR and CRLF become newline), bytes that are not UTF-8 become
// U+FFFD, and so do the characters that reorder the text around them (bidirectional controls can
// make a log line read as its opposite) and those that nobody sees. Formats add their own escaping
// on top; CSV, JSON and Markdown have theirs here, for every report in that form.
#ifndef PLUMB_REPORTS_CLEAN_H
#define PLUMB_REPORTS_CLEAN_H

#include "model/buffer.h"
#include "model/csv.h"

// At most `limit` bytes of input are kept, the first two thirds and the last third (a log ends
// with its reason), with a note of how many were left out between. NULL text adds nothing.
void clean_text(struct buffer *out, const char *text, size_t limit);
// The same on one line: newlines and tabs become spaces, no note but "...".
void clean_line(struct buffer *out, const char *text, size_t limit);

enum { CLEAN_LINE = 400, CLEAN_LOG = 16384 }; // limits used by the reports

// Text from outside as a cell of CSV: cleaned, on one line. NULL becomes an empty cell.
void csv_clean(struct csv_line *line, const char *text);
// Text from outside in JSON that people's programs read: cleaned, and with `<`, `>` and `&` written
// as \u003c, \u003e and \u0026, so that the whole may stand inside an HTML script element. NULL
// becomes null.
void json_clean(struct json *json, const char *name, const char *value);

// At most `limit` bytes of the text, on one line. It cannot leave its cell: what would mean
// something to Markdown is escaped, and nothing else, so that the source can be read too. GitHub
// looks for mentions and issue numbers in the finished page, so "@" and "#1" are also cut off from
// what follows by a zero-width space.
void markdown_text(struct buffer *out, const char *text, size_t limit);

#endif
