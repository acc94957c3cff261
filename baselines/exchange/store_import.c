// SPDX-License-Identifier: Apache-2.0
//
// Importing: which form a file has, and its reader. All is one batch, so that a file that is
// refused leaves the store as it was.
#include "baselines/exchange/import.h"

#include <stdlib.h>
#include <string.h>

enum { IMPORT_LIMIT = 1 << 30 }; // bytes of one file

#define X(name) extern const struct importer importer_##name;
#include "baselines/importers.inc"
#undef X

// Our own forms and those of tools, then any table.
static const struct importer *const importers[] = {&importer_json,
#define X(name) &importer_##name,
#include "baselines/importers.inc"
#undef X
                                                   &importer_links, &importer_csv};

static const struct importer *find_importer(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(importers); i++) {
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
    }
    return NULL;
}

bool store_import_knows(const char *format)
{
    return find_importer(format) != NULL;
}

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

// ---- JSON ----

static bool begins_json(const char *text, size_t length)
{
    size_t first = 0;
    while (first < length && text[first] && strchr(" \t\r\n", text[first]))
        first++;
    return first < length && (text[first] == '{' || text[first] == '[');
}

// `why`: what is wrong with it, where it is none.
static const struct node *read_json(const struct import_file *file, const char *name,
                                    struct arena *arena, struct error *why)
{
    const struct node *node = NULL;
    const struct node_sieve *sieve = NULL; // one form alone has such a list
    for (size_t i = 0; i < ARRAY_COUNT(importers) && !sieve; i++)
        sieve = importers[i]->sieve;
    if (!begins_json(file->text, file->length) || importer_json.is(file) ||
        node_parse_lines(&node, file->text, file->length, name, sieve, arena, why))
        return NULL;
    return node;
}

// ---- reading ----

static int detect(const struct importer **out, const struct import_file *file, const char *name,
                  const struct error *why, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(importers); i++) {
        if (importers[i]->is(file)) {
            *out = importers[i];
            return 0;
        }
    }
    if (file->json)
        return error_set(
            err, "%.200s: JSON of no tool that is read; `plumb help import` lists them", name);
    if (why->text[0]) {
        *err = *why;
        return -1;
    }
    return error_set(err, "%.200s: of no form that is read; `plumb help import` lists them", name);
}

static int read_file(struct import *in, const char *text, size_t length, struct error *err)
{
    struct import_file file = {.text = text, .length = length};
    struct arena arena = {0};
    struct error why = {0};
    const struct importer *importer = in->source->format ? find_importer(in->source->format) : NULL;
    int status = 0;
    if (importer != &importer_json) // which reads line by line
        file.json = read_json(&file, in->name, &arena, &why);
    if (!file.json)
        arena_free(&arena); // of a text that is none
    if (!in->source->format)
        status = detect(&importer, &file, in->name, &why, err);
    if (status == 0 && !importer)
        status = error_set(err, "%.200s: no form is called %.40s", in->name, in->source->format);
    if (status == 0 && why.text[0] && importer != &importer_json) { // JSON that cannot be read
        *err = why;
        status = -1;
    }
    if (status == 0)
        status = importer->read(in, &file, err);
    arena_free(&arena);
    return status;
}

// Nothing of a file that has rows could be read: that is no success.
static int check_report(const struct import *in, struct error *err)
{
    const struct import_report *r = &in->report;
    if (r->rows == 0 && !in->tool)
        return 0; // one of our own forms
    if (r->rows == 0)
        return error_set(err, "%.200s: there is no benchmark in it", in->name);
    if (r->samples + r->failures)
        return 0;
    if (r->left == 0)
        return error_set(err, "%.200s: no benchmark's kernel matches --kernel and not --exclude",
                         in->name);
    const char *end = strchr(r->said.bytes, '\n');
    return error_set(err, "%.*s; nothing else is in it that can be read",
                     (int)(end - r->said.bytes), r->said.bytes);
}

void import_report_free(struct import_report *report)
{
    buffer_free(&report->said);
    buffer_free(&report->where);
}

int store_import(struct store *store, FILE *file, const struct import_source *source,
                 struct store_counts *added, struct import_report *report, struct error *err)
{
    struct import in = {.store = store, .name = source->name, .source = source, .line = 1};
    struct error ignored;
    char *text = NULL;
    size_t length = 0;
    if (read_all(&text, &length, file, source->name, err))
        return -1;
    int status = store_begin_batch(store, err);
    if (status == 0) {
        status = read_file(&in, text, length, err);
        if (import_end(&in, status ? &ignored : err))
            status = -1;
        if (status == 0)
            status = check_report(&in, err);
        if (status == 0)
            status = store_commit_batch(store, err);
        else
            store_cancel_batch(store);
    }
    free(in.times);
    free(text);
    if (status == 0 && added)
        *added = in.added;
    if (report)
        *report = in.report;
    else
        import_report_free(&in.report);
    return status;
}
