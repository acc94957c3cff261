// SPDX-License-Identifier: Apache-2.0
//
// Reads a log line by line. It cleans each line, checks for each tool whether it wrote the line,
// and puts lines that tell a cause before lines that only report a failure.
#include "runner/build/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 4096, FILE_MOST = 200, TEXT_MOST = 300, LAST_LINES = 3 };

// Whether a line tells a cause or only reports a failure.
enum rank { RANK_NONE, RANK_CAUSE, RANK_EFFECT };

// A line split into parts; they point into the line and do not end with a NUL.
struct found_error {
    const char *file, *text;
    size_t file_length;
    uint32_t line;
};

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool starts_any(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (starts(text, list[i]))
            return true;
    }
    return false;
}

static bool has_any(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(text, list[i]))
            return true;
    }
    return false;
}

static bool ends(const char *text, const char *with)
{
    const size_t length = strlen(text), wanted = strlen(with);
    return length >= wanted && strcmp(text + length - wanted, with) == 0;
}

// ---- cleaning a line ----

// Skips a terminal's escape sequence: a colour, a title, a link.
static const char *skip_escape(const char *from)
{
    const char kind = *from;
    if (kind == '\0' || kind == '\n')
        return from;
    from++;
    if (kind == '[') {
        while (*from && *from != '\n' && !(*from >= 0x40 && *from <= 0x7e))
            from++;
        return *from && *from != '\n' ? from + 1 : from;
    }
    if (kind == ']') {
        while (*from && *from != '\n' && *from != '\a' && *from != 0x1b)
            from++;
        return *from == '\a' ? from + 1 : from;
    }
    return from;
}

// Copies the line at `from` without control bytes; text that a carriage return overwrote is
// dropped. Returns the beginning of the next line, NULL after the last.
static const char *next_line(char out[LINE_MOST], const char *from)
{
    size_t used = 0;
    if (*from == '\0')
        return NULL;
    while (*from && *from != '\n') {
        const unsigned char c = (unsigned char)*from++;
        if (c == 0x1b)
            from = skip_escape(from);
        else if (c == '\r' && *from != '\n' && *from)
            used = 0;
        else if (c == '\t' && used + 1 < LINE_MOST)
            out[used++] = ' ';
        else if (c >= 0x20 && c != 0x7f && used + 1 < LINE_MOST)
            out[used++] = (char)c;
    }
    while (used && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
    return *from ? from + 1 : from;
}

// Reads "12" and moves past it; 0 when there is no such number.
static uint32_t read_line_number(const char **at)
{
    uint32_t value = 0;
    size_t digits = 0;
    for (; isdigit((unsigned char)**at) && digits < 9; digits++)
        value = value * 10 + (uint32_t)(*(*at)++ - '0');
    return isdigit((unsigned char)**at) ? 0 : value;
}

// ---- the forms of tools' messages ----

// Splits "FILE:12: TEXT" and "FILE:12:34: TEXT".
static bool split_colon(struct found_error *out, const char *line)
{
    for (const char *colon = strchr(line, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *at = colon + 1;
        const uint32_t number = read_line_number(&at);
        if (!number || colon == line || *at != ':')
            continue;
        at++;
        if (read_line_number(&at) && *at == ':')
            at++;
        if (*at != ' ')
            continue;
        *out = (struct found_error){line, at + 1, (size_t)(colon - line), number};
        return true;
    }
    return false;
}

// Splits "FILE(12): TEXT", which nvcc writes.
static bool split_bracket(struct found_error *out, const char *line)
{
    for (const char *open = strchr(line, '('); open; open = strchr(open + 1, '(')) {
        const char *at = open + 1;
        const uint32_t number = read_line_number(&at);
        if (!number || open == line || !starts(at, "): "))
            continue;
        *out = (struct found_error){line, at + 3, (size_t)(open - line), number};
        return true;
    }
    return false;
}

static enum rank compiler(struct found_error *out, const char *line)
{
    static const char *const words[] = {"error:",
                                        "error #",
                                        "error :",
                                        "fatal error",
                                        "catastrophic error",
                                        "internal error",
                                        "internal compiler error",
                                        "undefined reference",
                                        "multiple definition",
                                        "Error:"};
    if ((split_colon(out, line) || split_bracket(out, line)) &&
        starts_any(out->text, words, ARRAY_COUNT(words)))
        return RANK_CAUSE;
    return RANK_NONE;
}

// Splits "ptxas FILE, line 12; error   : TEXT", "nvlink error   : TEXT" and "nvcc fatal   : TEXT".
// The file is a temporary one of nvcc, so it stays in the text.
static enum rank cuda_tool(struct found_error *out, const char *line)
{
    static const char *const tools[] = {"ptxas ", "nvlink ",   "nvcc ",     "cudafe++ ",
                                        "cicc ",  "tileiras ", "fatbinary "};
    static const char *const words[] = {
        "error   :", "fatal   :", "error :", "fatal :", "error  :", "fatal  :"};
    if (!starts_any(line, tools, ARRAY_COUNT(tools)) || !has_any(line, words, ARRAY_COUNT(words)))
        return RANK_NONE;
    *out = (struct found_error){.text = line};
    return RANK_CAUSE;
}

// The text after "/usr/bin/ld: " or "ld.lld: "; NULL when no linker wrote the line.
static const char *behind_linker(const char *line)
{
    const char *colon = strstr(line, ": ");
    const char *name = line;
    for (const char *c = line; colon && c < colon; c++)
        name = *c == '/' ? c + 1 : name;
    if (!colon || !(starts(name, "ld:") || starts(name, "ld.") || starts(name, "mold:") ||
                    strstr(name, "-ld:") == colon - 3))
        return NULL;
    return colon + 2;
}

static enum rank linker(struct found_error *out, const char *line)
{
    static const char *const words[] = {"undefined reference",
                                        "undefined symbol",
                                        "multiple definition",
                                        "duplicate symbol",
                                        "cannot find ",
                                        "cannot open ",
                                        "relocation ",
                                        "file format not recognized",
                                        "error: "};
    const char *said = behind_linker(line);
    const bool named = said != NULL;
    if (!named)
        said = line;
    if (strstr(said, "warning: ") || !has_any(said, words, named ? ARRAY_COUNT(words) : 1))
        return RANK_NONE;
    if (!split_colon(out, said))
        *out = (struct found_error){.text = said};
    return RANK_CAUSE;
}

// Splits "CMake Error at FILE:12 (command):"; the next lines that are not empty tell what is wrong.
static enum rank cmake(struct found_error *out, const char *line, char message[LINE_MOST],
                       const char *rest)
{
    if (!starts(line, "CMake Error"))
        return RANK_NONE;
    *out = (struct found_error){.text = line};
    if (!starts(line, "CMake Error at ") && !starts(line, "CMake Error in "))
        return RANK_CAUSE;
    const char *file = line + strlen("CMake Error at "), *colon = strchr(file, ':');
    const char *number = colon ? colon + 1 : "";
    const uint32_t at = read_line_number(&number);
    char next[LINE_MOST];
    for (int i = 0; i < 4 && rest && (rest = next_line(next, rest)); i++) {
        const char *text = next + strspn(next, " ");
        if (*text == '\0')
            continue;
        const char prefix[] = "CMake Error: ";
        memcpy(message, prefix, sizeof(prefix));
        text_copy(message + sizeof(prefix) - 1, LINE_MOST - sizeof(prefix) + 1, text);
        *out = (struct found_error){file, message, colon ? (size_t)(colon - file) : 0, at};
        break;
    }
    return RANK_CAUSE;
}

// Recognises lines that report a failure without its cause.
static enum rank builder(struct found_error *out, const char *line)
{
    static const char *const effects[] = {"ninja: ",
                                          "make: ***",
                                          "make[",
                                          "gmake",
                                          "collect2",
                                          "FAILED: ",
                                          "clang: error: linker command"};
    static const char *const ended[] = {": not found", ": command not found",
                                        ": No such file or directory", ": Permission denied"};
    *out = (struct found_error){.text = line};
    if (starts_any(line, effects, ARRAY_COUNT(effects)))
        return strstr(line, "No rule to make target") ? RANK_CAUSE : RANK_EFFECT;
    const char *error = strstr(line, "error: ");
    if (error && (error == line || error[-1] == ' '))
        return RANK_CAUSE; // such as "cc1: fatal error: ..." or "error: ..."
    for (size_t i = 0; i < ARRAY_COUNT(ended); i++) {
        if (ends(line, ended[i]))
            return RANK_EFFECT;
    }
    return RANK_NONE;
}

static enum rank classify(struct found_error *out, const char *line, char message[LINE_MOST],
                          const char *rest)
{
    enum rank rank = cmake(out, line, message, rest);
    if (rank == RANK_NONE)
        rank = cuda_tool(out, line);
    if (rank == RANK_NONE)
        rank = linker(out, line);
    if (rank == RANK_NONE)
        rank = compiler(out, line);
    return rank == RANK_NONE ? builder(out, line) : rank;
}

// ---- the list ----

// The rest of a path after the folder to which the source was exported.
static const char *below_source(const char *file, size_t length)
{
    static const char *const roots[] = {"/plumb/source/", "../source/", "./"};
    static const char folder[] = "/source/";
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++) {
        if (starts(file, roots[i]))
            return file + strlen(roots[i]);
    }
    const char *made = strstr(file, "/tmp-"), *end = made ? strstr(made, folder) : NULL;
    return end && end + strlen(folder) < file + length ? end + strlen(folder) : file;
}

// Copies at most the first `most` bytes, cut between two characters.
static char *cut(struct arena *arena, const char *text, size_t length, size_t most)
{
    if (length > most) {
        length = most;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    return arena_strndup(arena, text, length);
}

struct error_list {
    struct build_error *items; // has room for BUILD_ERRORS
    size_t count;
    struct arena *arena;
};

static void list_add(struct error_list *list, const struct found_error *found)
{
    struct build_error error = {.line = found->line};
    const char *file = found->file ? found->file : "";
    const char *named = below_source(file, found->file_length);
    const char *text = found->text + strspn(found->text, " ");
    if (list->count == BUILD_ERRORS || !*text)
        return;
    error.file = cut(list->arena, named, found->file_length - (size_t)(named - file), FILE_MOST);
    error.text = cut(list->arena, text, strlen(text), TEXT_MOST);
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].line == error.line && !strcmp(list->items[i].file, error.file) &&
            !strcmp(list->items[i].text, error.text))
            return;
    }
    list->items[list->count++] = error;
}

// Adds the lines that a failed command printed. Ninja prints "FAILED: " with the command's name,
// then the command's text, and then its output; `rest` begins at the text.
static void add_said_behind(struct error_list *list, const char *rest)
{
    static const char *const ends[] = {"[", "ninja: ", "FAILED: "};
    char line[LINE_MOST];
    rest = next_line(line, rest);
    for (int i = 0; i < LAST_LINES && rest && (rest = next_line(line, rest)); i++) {
        struct found_error found = {.text = line};
        if (starts_any(line, ends, ARRAY_COUNT(ends)))
            return;
        if (!split_colon(&found, line) && !split_bracket(&found, line))
            found.text = line;
        if (line[0])
            list_add(list, &found);
    }
}

// Adds a line that only reports a failure. A line of unknown origin directly before or after it
// comes from the build's own script, and is kept with it.
static void add_effect(struct error_list *list, const struct found_error *found, const char *before,
                       const char *rest)
{
    if (starts(found->text, "make: ***") || starts(found->text, "make["))
        list_add(list, &(struct found_error){.text = before});
    else if (starts(found->text, "FAILED: "))
        add_said_behind(list, rest);
    list_add(list, found);
}

static void last_lines(struct error_list *list, const char *log)
{
    char ring[LAST_LINES][LINE_MOST], line[LINE_MOST];
    size_t count = 0;
    while ((log = next_line(line, log))) {
        if (line[strspn(line, " ")])
            memcpy(ring[count++ % LAST_LINES], line, sizeof(line));
    }
    for (size_t i = count > LAST_LINES ? count - LAST_LINES : 0; i < count; i++)
        list_add(list, &(struct found_error){.text = ring[i % LAST_LINES]});
}

size_t build_errors_find(struct build_error out[BUILD_ERRORS], const char *log, struct arena *arena)
{
    struct build_error of_effects[BUILD_ERRORS];
    struct error_list causes = {.items = out, .arena = arena};
    struct error_list effects = {.items = of_effects, .arena = arena};
    char line[LINE_MOST], before[LINE_MOST] = "", message[LINE_MOST];
    for (const char *at = log; causes.count < BUILD_ERRORS && (at = next_line(line, at));) {
        struct found_error found;
        const enum rank rank = classify(&found, line, message, at);
        if (rank == RANK_CAUSE)
            list_add(&causes, &found);
        else if (rank == RANK_EFFECT)
            add_effect(&effects, &found, before, at);
        memcpy(before, rank == RANK_NONE ? line : "", rank == RANK_NONE ? strlen(line) + 1 : 1);
    }
    if (causes.count == 0) {
        memcpy(out, of_effects, effects.count * sizeof(*out));
        causes.count = effects.count;
    }
    if (causes.count == 0)
        last_lines(&causes, log);
    return causes.count;
}
