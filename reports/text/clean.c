// SPDX-License-Identifier: Apache-2.0
//
// Removes terminal escapes, control bytes, broken UTF-8 and characters that reverse the reading
// direction from text that comes from outside.
#include "reports/text/clean.h"

#include "model/base.h"
#include "model/buffer.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char replacement[] = "\xef\xbf\xbd"; // U+FFFD

// The length of the terminal escape sequence at `s` (ECMA-48): CSI up to its final byte, OSC and
// the other strings up to BEL or ESC \, else ESC and one byte. An unfinished sequence extends to
// the end of its line.
static size_t escape_length(const char *s, size_t left)
{
    if (left < 2)
        return left;
    size_t i = 2;
    if (s[1] == '[') {
        while (i < left && s[i] >= 0x20 && s[i] <= 0x3f)
            i++;
        return i < left && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : i;
    }
    if (!strchr("]PX^_", s[1]))
        return s[1] >= 0x20 && s[1] <= 0x7e ? 2 : 1;
    for (; i < left && s[i] != '\n'; i++) {
        if (s[i] == '\a')
            return i + 1;
        if (s[i] == '\x1b' && i + 1 < left && s[i + 1] == '\\')
            return i + 2;
    }
    return i;
}

static bool is_dropped(uint32_t c)
{
    return (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7f && c < 0xa0);
}

static bool is_replaced(uint32_t c)
{
    bool reorders = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e ||
                    c == 0x200f || c == 0x061c;
    // Such a character could make two names look alike that differ.
    bool invisible = (c >= 0x200b && c <= 0x200d) || (c >= 0x2060 && c <= 0x2064) || c == 0xad ||
                     c == 0x34f || c == 0x180e || (c >= 0xe0000 && c <= 0xe0fff);
    bool nonsense = (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef) || c == 0xfeff;
    return reorders || invisible || nonsense || c == 0x2028 || c == 0x2029;
}

// How many bytes at the beginning of a text can stay as they are; usually all can.
static size_t plain_length(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && text[i] >= 0x20 && text[i] < 0x7f)
        i++;
    return i;
}

static void clean_piece(struct buffer *out, const char *text, size_t length, bool one_line)
{
    for (size_t i = 0; i < length;) {
        uint32_t c = 0;
        const size_t plain = plain_length(text + i, length - i);
        if (plain) {
            buffer_add(out, text + i, plain);
            i += plain;
            continue;
        }
        if (text[i] == '\x1b') {
            i += escape_length(text + i, length - i);
            continue;
        }
        size_t used = utf8_length(&c, text + i, length - i);
        if (text[i] == '\r') {
            c = '\n';
            used = i + 1 < length && text[i + 1] == '\n' ? 2 : 1;
        }
        if (c == '\n' || c == '\t')
            buffer_add(out, one_line ? " " : c == '\t' ? "\t" : "\n", 1);
        else if (used == 0 || is_replaced(c))
            buffer_puts(out, replacement);
        else if (!is_dropped(c))
            buffer_add(out, text + i, used);
        i += used ? used : 1;
    }
}

// Moves the cut back to the beginning of a character, so that it makes no invalid bytes.
static size_t cut_before(const char *text, size_t at)
{
    for (int i = 0; i < 3 && at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80; i++)
        at--;
    return at;
}

static void clean(struct buffer *out, const char *text, size_t limit, bool one_line)
{
    if (!text)
        return;
    size_t length = strlen(text);
    if (length <= limit) {
        clean_piece(out, text, length, one_line);
        return;
    }
    size_t head = cut_before(text, limit - limit / 3);
    size_t tail = cut_before(text, length - limit / 3);
    clean_piece(out, text, head, one_line);
    if (one_line)
        buffer_puts(out, " ... ");
    else
        buffer_printf(out, "\n[... %zu bytes left out ...]\n", tail - head);
    clean_piece(out, text + tail, length - tail, one_line);
}

void clean_text(struct buffer *out, const char *text, size_t limit)
{
    clean(out, text, limit, false);
}

void clean_line(struct buffer *out, const char *text, size_t limit)
{
    clean(out, text, limit, true);
}

// ---- inside CSV, JSON and Markdown ----

void csv_clean(struct csv_line *line, const char *text)
{
    struct buffer cleaned = {0};
    clean_line(&cleaned, text, CLEAN_LINE);
    csv_text(line, cleaned.bytes);
    buffer_free(&cleaned);
}

void json_clean(struct json *json, const char *name, const char *value)
{
    struct buffer cleaned = {0};
    if (!value) {
        json_text(json, name, NULL);
        return;
    }
    clean_text(&cleaned, value, CLEAN_LOG);
    json_name(json, name);
    buffer_puts(json->out, "\"");
    buffer_json(json->out, cleaned.bytes ? cleaned.bytes : "", "<>&");
    buffer_puts(json->out, "\"");
    buffer_free(&cleaned);
}

// GH-1 stands for issue 1, and so does #1; GitHub looks for both in the finished page.
static bool is_issue(const char *text, size_t at)
{
    const bool digit = text[at + 1] >= '0' && text[at + 1] <= '9';
    return digit && (text[at] == '#' ||
                     (text[at] == '-' && at >= 2 && strncasecmp(text + at - 2, "GH", 2) == 0));
}

// Whether GitHub would make a link here, also without brackets: "https://", "www.".
static bool is_address(const char *text, size_t at)
{
    return (text[at] == ':' && strncmp(text + at, "://", 3) == 0) ||
           (text[at] == '.' && at >= 3 && strncasecmp(text + at - 3, "www", 3) == 0);
}

// Whether this would begin a list, a quotation, a heading or a rule at the beginning of a line.
static bool begins_block(const char *text, size_t at)
{
    return (at == 0 && strchr("-+=>#", text[at])) ||
           (strchr(".)", text[at]) && at && strspn(text, "0123456789") == at &&
            (text[at + 1] == ' ' || !text[at + 1]));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

// Whether a character has a meaning in Markdown here. An underscore inside a word does not.
static bool is_special(const char *text, size_t at)
{
    if (text[at] == '_')
        return !(at && is_word(text[at - 1]) && is_word(text[at + 1]));
    return strchr("\\`*[]|~$", text[at]) || begins_block(text, at) ||
           (text[at] == '(' && at && text[at - 1] == ']');
}

// Only what must be escaped is escaped, so that people can read the source.
void markdown_text(struct buffer *out, const char *text, size_t limit)
{
    struct buffer cleaned = {0};
    clean_line(&cleaned, text, limit);
    for (size_t i = 0; i < cleaned.length; i++) {
        const char *all = cleaned.bytes, c = all[i];
        if (c == '@' || is_issue(all, i))
            buffer_printf(out, "&#%d;&#8203;", c);
        else if (c == '<' || is_address(all, i) ||
                 (c == '&' && (all[i + 1] == '#' || isalpha((unsigned char)all[i + 1]))))
            buffer_printf(out, "&#%d;", c);
        else if (is_special(all, i))
            buffer_printf(out, "\\%c", c);
        else
            buffer_add(out, &c, 1);
    }
    buffer_free(&cleaned);
}
