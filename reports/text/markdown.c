// SPDX-License-Identifier: Apache-2.0
//
// Character references for everything that Markdown reads as its own.
#include "reports/text/markdown.h"

#include "reports/text/clean.h"

#include <string.h>
#include <strings.h>

// GH-1 is issue 1.
static bool is_issue(const char *text, size_t dash)
{
    return text[dash] == '-' && dash >= 2 && strncasecmp(text + dash - 2, "GH", 2) == 0;
}

void markdown_text(struct buffer *out, const char *text, size_t limit)
{
    struct buffer cleaned = {0};
    clean_line(&cleaned, text, limit);
    for (size_t i = 0; i < cleaned.length; i++) {
        char c = cleaned.bytes[i];
        if (c == '@' || c == '#' || is_issue(cleaned.bytes, i))
            buffer_printf(out, "&#%d;&#8203;", c);
        else if (strchr("\\`*_{}[]()<>+-!|&:~$\"'=^.", c))
            buffer_printf(out, "&#%d;", c);
        else
            buffer_add(out, &c, 1);
    }
    buffer_free(&cleaned);
}
