// SPDX-License-Identifier: Apache-2.0
//
// Importing: which form a file has, and its reader. All is one batch, so that a refused line leaves
// the store as it was.
#include "baselines/exchange/foreign.h"
#include "baselines/exchange/import.h"

#include <stdlib.h>
#include <string.h>

enum { IMPORT_LIMIT = 1 << 30 }; // bytes of one file

// ---- what a file is, by its content ----

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

static int import_detect(enum import_format *out, const char *name, const char *text, size_t length,
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

// ---- reading it ----

static int read_all(char **out, size_t *length, FILE *file, const char *name, struct error *err)
{
    size_t room = 1 << 16, used = 0;
    char *text = xrealloc(NULL, room, 1);
    size_t got;
    while ((got = fread(text + used, 1, room - used, file)) > 0) {
        used += got;
        if (used == room && room < IMPORT_LIMIT) {
            room *= 2;
            text = xrealloc(text, room, 1);
        } else if (used == room) {
            free(text);
            return error_set(err, "%s: larger than %d MB; split it", name, IMPORT_LIMIT >> 20);
        }
    }
    if (ferror(file)) {
        free(text);
        return error_set(err, "%s: cannot be read", name);
    }
    *out = text;
    *length = used;
    return 0;
}

// One whole JSON value of another tool.
static int read_tool(struct import *in, enum import_format format, const char *text, size_t length,
                     struct error *err)
{
    struct arena arena = {0};
    const struct node *file;
    int status = node_parse(&file, text, length, in->name, &arena, err);
    if (status == 0)
        status = (format == IMPORT_NVBENCH  ? import_nvbench
                  : format == IMPORT_GOOGLE ? import_google
                                            : import_pytest)(in, file, text, length, err);
    arena_free(&arena);
    return status;
}

static int read_text(struct import *in, const char *text, size_t length, struct error *err)
{
    enum import_format format = in->source->format;
    if (format == IMPORT_DETECT && import_detect(&format, in->name, text, length, err))
        return -1;
    switch (format) {
    case IMPORT_CSV:
        return import_csv(in, text, length, err);
    case IMPORT_LINKS:
        return import_links(in, text, length, err);
    case IMPORT_JSON:
        return import_json(in, text, length, err);
    case IMPORT_CUTLASS:
        return import_cutlass(in, text, length, err);
    case IMPORT_NCU:
        return import_ncu(in, text, length, err);
    default:
        return read_tool(in, format, text, length, err);
    }
}

int store_import(struct store *store, FILE *file, const struct import_source *source,
                 struct store_counts *added, struct error *err)
{
    struct import in = {.store = store, .name = source->name, .source = source, .line = 1};
    struct error ignored;
    char *text = NULL;
    size_t length = 0;
    if (read_all(&text, &length, file, source->name, err))
        return -1;
    int status = store_begin_batch(store, err);
    if (status == 0) {
        status = read_text(&in, text, length, err);
        if (import_end(&in, status ? &ignored : err))
            status = -1;
        if (status == 0)
            status = store_commit_batch(store, err);
        else
            store_cancel_batch(store);
    }
    free(in.times);
    free(text);
    if (status == 0 && added)
        *added = in.added;
    return status;
}
