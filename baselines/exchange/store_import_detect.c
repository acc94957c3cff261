// SPDX-License-Identifier: Apache-2.0
//
// Which of the forms that are read a file has, by its content.
#include "baselines/exchange/foreign.h"
#include "baselines/exchange/import.h"

#include <string.h>

// The line at `at` without its end.
static size_t line_length(const char *text, size_t length, size_t at)
{
    const char *end = memchr(text + at, '\n', length - at);
    return end ? (size_t)(end - (text + at)) : length - at;
}

// Our own JSON is one object with one member per line; another tool's file is one object.
static int detect_json(enum import_format *out, const char *name, const char *text, size_t length,
                       size_t at, struct error *err)
{
    static const struct {
        const char *first, *second;
        enum import_format format;
    } tools[] = {{"devices", "benchmarks", IMPORT_NVBENCH},
                 {"context", "benchmarks", IMPORT_GOOGLE},
                 {"machine_info", "benchmarks", IMPORT_PYTEST}};
    struct arena arena = {0};
    const struct node *file;
    struct error ignored;
    int status = 0;
    const size_t line = line_length(text, length, at);
    if (node_parse(&file, text + at, line, name, &arena, &ignored) == 0 && file->count == 1) {
        *out = IMPORT_JSON;
    } else if (node_parse(&file, text, length, name, &arena, &ignored)) {
        // Broken, or broken lines of ours: their reader says where.
        *out = IMPORT_JSON;
    } else {
        status = -1;
        for (size_t i = 0; status && i < ARRAY_COUNT(tools); i++) {
            if (node_member(file, tools[i].first) && node_member(file, tools[i].second)) {
                *out = tools[i].format;
                status = 0;
            }
        }
        if (status)
            error_set(err, "%.200s: JSON of no tool that is read; `plumb help import` lists them",
                      name);
    }
    arena_free(&arena);
    return status;
}

int import_detect(enum import_format *out, const char *name, const char *text, size_t length,
                  struct error *err)
{
    size_t first = 0;
    while (first < length && strchr(" \t\r\n", text[first]) && text[first])
        first++;
    if (first < length && text[first] == '{')
        return detect_json(out, name, text, length, first, err);
    // Tools print other lines before their table.
    for (size_t at = 0; at < length; at += line_length(text, length, at) + 1) {
        if (foreign_heads(text, length, at, "\"ID\",")) {
            *out = IMPORT_NCU;
            return 0;
        }
        if (foreign_heads(text, length, at, "Problem,Provider,")) {
            *out = IMPORT_CUTLASS;
            return 0;
        }
    }
    for (size_t at = 0; at < length; at += line_length(text, length, at) + 1) {
        const size_t line = line_length(text, length, at);
        if (line == 0 || text[at] == '#' || text[at] == '\r')
            continue;
        if (!memchr(text + at, ',', line))
            break;
        *out = import_heads_links(text + at, line) ? IMPORT_LINKS : IMPORT_CSV;
        return 0;
    }
    return error_set(err, "%.200s: of no form that is read; `plumb help import` lists them", name);
}
