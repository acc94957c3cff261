// SPDX-License-Identifier: Apache-2.0
//
// Parses git's configuration syntax into entries with their lines. ci/settings/policy.c knows which
// keys exist.
#include "model/config.h"

#include "model/base.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 1 << 20 };

// Reads a text byte by byte; '\r' before '\n' is skipped. Ends with EOF (-1).
struct config_parser {
    const char *at, *end;
    uint32_t line;
    struct config_file config;
    size_t capacity;
    const char *section, *subsection; // the present section
    char *buffer;                     // as large as the text, because no value is longer
    struct error *err;
};

static int refuse(const struct config_parser *p, const char *what)
{
    return error_set(p->err, "%s:%u: %s", p->config.label, p->line, what);
}

static int peek(const struct config_parser *p)
{
    if (p->at == p->end)
        return EOF;
    if (*p->at == '\r' && p->end - p->at > 1 && p->at[1] == '\n')
        return '\n';
    return (unsigned char)*p->at;
}

static int next(struct config_parser *p)
{
    int c = peek(p);
    if (c == EOF)
        return EOF;
    p->at += *p->at == '\r' && c == '\n' ? 2 : 1;
    if (c == '\n')
        p->line++;
    return c;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static void skip_blanks(struct config_parser *p)
{
    while (is_blank(peek(p)))
        next(p);
}

static void skip_line(struct config_parser *p)
{
    for (int c = next(p); c != '\n' && c != EOF; c = next(p))
        ;
}

static bool is_name(int c)
{
    return c < 128 && (isalnum(c) || c == '-');
}

static void add_entry(struct config_parser *p, const char *key, const char *value, uint32_t line)
{
    p->config.entries =
        xgrow(p->config.entries, p->config.count, &p->capacity, sizeof(*p->config.entries));
    p->config.entries[p->config.count++] = (struct config_entry){
        .section = p->section,
        .subsection = p->subsection,
        .key = key,
        .value = value,
        .line = line,
    };
}

// Reads "sub" with \" and \\ in it, after its opening quote.
static int read_subsection(struct config_parser *p)
{
    size_t used = 0;
    for (int c = next(p); c != '"'; c = next(p)) {
        if (c == '\\')
            c = next(p);
        if (c == '\n' || c == EOF)
            return refuse(p, "a section's name in quotes must end on its line");
        p->buffer[used++] = (char)c;
    }
    p->subsection = arena_strndup(&p->config.arena, p->buffer, used);
    skip_blanks(p);
    return 0;
}

// Reads a section after its '['.
static int read_section(struct config_parser *p)
{
    size_t used = 0;
    uint32_t line = p->line;
    while (is_name(peek(p)) || peek(p) == '.')
        p->buffer[used++] = (char)tolower(next(p));
    char *name = arena_strndup(&p->config.arena, p->buffer, used);
    char *dot = strchr(name, '.');
    if (used == 0 || dot == name)
        return refuse(p, "a section is [name] or [name \"part\"]");
    if (dot)
        *dot = '\0';
    p->section = name;
    p->subsection = dot ? dot + 1 : "";
    if (is_blank(peek(p)) && !dot) {
        skip_blanks(p);
        if (peek(p) != '"')
            return refuse(p, "a section is [name] or [name \"part\"]");
        next(p);
        if (read_subsection(p))
            return -1;
    }
    if (next(p) != ']') {
        p->line = line;
        return refuse(p, "a section must end with ]");
    }
    if (strcmp(name, "include") == 0 || strcmp(name, "includeif") == 0)
        return refuse(p, "other files cannot be included here");
    add_entry(p, "", "", line);
    return 0;
}

static int read_escape(struct config_parser *p, size_t *used)
{
    static const char from[] = "nt\"\\b", to[] = "\n\t\"\\\b";
    int c = next(p);
    if (c == '\n')
        return 0; // the value continues on the next line
    const char *found = c == EOF || c == 0 ? NULL : strchr(from, c);
    if (!found)
        return refuse(p, "after \\ may stand n, t, b, \", \\ or the line's end");
    p->buffer[(*used)++] = to[found - from];
    return 0;
}

// Reads a value after '=', up to the line's end or a comment; blanks around it are removed unless
// they are quoted.
static int read_value(struct config_parser *p, const char **out)
{
    size_t used = 0, kept = 0; // kept: number of bytes up to the last one that is no blank
    bool quoted = false;
    uint32_t line = p->line;
    skip_blanks(p);
    for (int c = peek(p); c != '\n' && c != EOF; c = peek(p)) {
        if (!quoted && (c == '#' || c == ';'))
            break;
        next(p);
        if (c == '"') {
            quoted = !quoted;
            kept = used;
        } else if (c == '\\') {
            if (read_escape(p, &used))
                return -1;
            kept = used;
        } else if (quoted || !is_blank(c)) {
            p->buffer[used++] = (char)c;
            kept = used;
        } else if (used > 0) {
            p->buffer[used++] = (char)c;
        }
    }
    if (quoted) {
        p->line = line;
        return refuse(p, "a quote is not closed");
    }
    *out = arena_strndup(&p->config.arena, p->buffer, kept);
    return 0;
}

static int read_entry(struct config_parser *p)
{
    size_t used = 0;
    uint32_t line = p->line;
    if (!isalpha(peek(p)) || peek(p) > 127)
        return refuse(p, "a key starts with a letter");
    while (is_name(peek(p)))
        p->buffer[used++] = (char)tolower(next(p));
    const char *key = arena_strndup(&p->config.arena, p->buffer, used), *value = NULL;
    if (!p->section)
        return refuse(p, "a key needs a [section] before it");
    skip_blanks(p);
    int c = peek(p);
    if (c == '=') {
        next(p);
        if (read_value(p, &value))
            return -1;
    } else if (c != '\n' && c != EOF && c != '#' && c != ';') {
        return refuse(p, "a line is key = value, and keys hold letters, digits and -");
    }
    add_entry(p, key, value, line);
    return 0;
}

static int parse(struct config_parser *p)
{
    for (int c = peek(p); c != EOF; c = peek(p)) {
        int result = 0;
        if (c == '\n' || is_blank(c)) {
            next(p);
        } else if (c == '#' || c == ';') {
            skip_line(p);
        } else if (c == '[') {
            next(p);
            result = read_section(p);
        } else {
            result = read_entry(p);
        }
        if (result)
            return -1;
    }
    return 0;
}

static int check_text(const char *text, size_t size, const char *label, struct error *err)
{
    uint32_t line = 1;
    if (size > TEXT_MAX)
        return error_set(err, "%s: larger than %d bytes", label, TEXT_MAX);
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length(NULL, text + i, size - i);
        if (length == 0 || text[i] == 0)
            return error_set(err, "%s:%u: is not UTF-8 text", label, line);
        line += text[i] == '\n';
        i += length;
    }
    return 0;
}

int config_parse(struct config_file *out, const char *text, size_t size, const char *label,
                 struct error *err)
{
    if (check_text(text, size, label, err))
        return -1;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { // a byte-order mark
        text += 3;
        size -= 3;
    }
    struct config_parser parser = {.at = text, .end = text + size, .line = 1, .err = err};
    parser.buffer = xcalloc(size + 1, 1);
    parser.config.label = arena_strdup(&parser.config.arena, label);
    int result = parse(&parser);
    free(parser.buffer);
    if (result)
        config_free(&parser.config);
    else
        *out = parser.config;
    return result;
}

void config_free(struct config_file *config)
{
    free(config->entries);
    arena_free(&config->arena);
    *config = (struct config_file){0};
}

int config_int(int64_t *out, const char *value)
{
    char digits[32];
    if (!value || !text_copy(digits, sizeof(digits), value) || !*digits)
        return -1;
    char *last = digits + strlen(digits) - 1;
    int64_t unit = 1, number;
    int c = tolower((unsigned char)*last);
    if (c == 'k' || c == 'm' || c == 'g') {
        unit = (int64_t)1 << (c == 'k' ? 10 : c == 'm' ? 20 : 30);
        *last = '\0';
    }
    if (parse_int64(&number, digits) || number > INT64_MAX / unit || number < INT64_MIN / unit)
        return -1;
    *out = number * unit;
    return 0;
}

int config_bool(bool *out, const char *value)
{
    static const struct {
        const char *word;
        bool value;
    } words[] = {{"true", true}, {"yes", true},  {"on", true}, {"1", true}, {"false", false},
                 {"no", false},  {"off", false}, {"0", false}, {"", false}};
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (!value || strcasecmp(words[i].word, value) == 0) {
            *out = !value || words[i].value;
            return 0;
        }
    }
    return -1;
}
