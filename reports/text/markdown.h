// SPDX-License-Identifier: Apache-2.0
//
// Untrusted text inside GitHub's Markdown, for every report in that form.
#ifndef PLUMB_REPORTS_MARKDOWN_H
#define PLUMB_REPORTS_MARKDOWN_H

#include "model/buffer.h"

// At most `limit` bytes of the text, on one line. It cannot leave its cell: every character that
// means something to Markdown is a character reference. GitHub looks for mentions and issue numbers
// in the finished page, so "@" and "#" are also cut off from what follows by a zero-width space.
void markdown_text(struct buffer *out, const char *text, size_t limit);

#endif
