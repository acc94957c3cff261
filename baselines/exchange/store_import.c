// SPDX-License-Identifier: Apache-2.0
//
// Importing: finds out a file's format and calls its reader. Everything happens in one batch, so
// that a refused file leaves the store as it was.
#include "baselines/exchange/import.h"

#include <stdlib.h>
#include <string.h>

enum { IMPORT_LIMIT = 1 << 30 }; // bytes in one file

#define X(name) extern const struct importer importer_##name;
#include "baselines/importers.inc"
#undef X

// Our own formats, then those of tools, and last the one that accepts any table.
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

static bool is_own(const struct importer *importer)
{
    return importer == &importer_json || importer == &importer_csv || importer == &importer_links;
}

bool store_import_knows(const char *format, bool *own)
{
    const struct importer *importer = find_importer(format);
    *own = importer && is_own(importer);
    return importer != NULL;
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

// ---- bytes into text ----

// Refuses a file that is no text. Its first bytes tell what kind of file it is, and the message
// says how to make a text of it.
static int refuse_binary(const char *text, size_t length, const char *name, struct error *err)
{
    static const struct {
        const char *begin;
        size_t length;
        const char *what, *how;
    } forms[] = {{"\x1f\x8b", 2, "compressed by gzip", "zcat FILE | plumb import -"},
                 {"\x28\xb5\x2f\xfd", 4, "compressed by zstd", "zstdcat FILE | plumb import -"},
                 {"\xfd"
                  "7zXZ",
                  5, "compressed by xz", "xzcat FILE | plumb import -"},
                 {"BZh", 3, "compressed by bzip2", "bzcat FILE | plumb import -"},
                 {"PK\x03\x04", 4, "a zip archive or a workbook", "unpack it, or save it as CSV"},
                 {"NVIDIA Tegra Profiler", 21, "a report of nsys",
                  "nsys export --type sqlite FILE, which is read"},
                 {"NVR", 4, "a report of ncu", "ncu --import FILE --csv | plumb import -"}};
    for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
        if (length >= forms[i].length && memcmp(text, forms[i].begin, forms[i].length) == 0)
            return error_set(err, "%.200s: it is %s: %s", name, forms[i].what, forms[i].how);
    }
    return 0;
}

// Reads a character of UTF-16 at `at`; 0xfffd for half a pair.
static uint32_t read_unit(size_t *used, const unsigned char *at, size_t left, bool big)
{
    const uint32_t first = big ? at[0] << 8 | at[1] : at[1] << 8 | at[0];
    *used = 2;
    if (first < 0xd800 || first >= 0xe000)
        return first;
    const uint32_t second = left < 4 ? 0 : big ? at[2] << 8 | at[3] : at[3] << 8 | at[2];
    if (first >= 0xdc00 || second < 0xdc00 || second >= 0xe000)
        return 0xfffd;
    *used = 4;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

static void put_utf8(struct buffer *out, uint32_t c)
{
    static const unsigned first[] = {0, 0xc0, 0xe0, 0xf0};
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    char bytes[4] = {(char)(more ? first[more] | c >> (6 * more) : c)};
    for (int i = 1; i <= more; i++)
        bytes[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    buffer_add(out, bytes, (size_t)more + 1);
}

// Recognises UTF-16, which begins with a byte order mark or with an ASCII character in two bytes.
// Returns the length of the mark; -1: it is not UTF-16.
static int find_utf16(bool *big, const unsigned char *bytes, size_t length)
{
    if (length < 4)
        return -1;
    *big = bytes[0] == 0 || bytes[0] == 0xfe;
    if ((bytes[0] == 0xfe && bytes[1] == 0xff) || (bytes[0] == 0xff && bytes[1] == 0xfe))
        return 2;
    const unsigned char *zero = bytes + !*big, *letter = bytes + *big;
    return zero[0] == 0 && zero[2] == 0 && letter[0] && letter[2] && letter[0] < 0x80 &&
                   letter[2] < 0x80
               ? 0
               : -1;
}

// Turns text as Windows writes it (UTF-16, or UTF-8 after a byte order mark) into UTF-8 without a
// mark.
static int make_plain(char **text, size_t *length, const char *name, struct error *err)
{
    const unsigned char *bytes = (const unsigned char *)*text;
    bool big = false;
    if (*length == 0)
        return error_set(err, "%.200s: it is empty", name);
    if (refuse_binary(*text, *length, name, err))
        return -1;
    if (*length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        *length -= 3;
        memmove(*text, *text + 3, *length);
        return 0;
    }
    const int mark = find_utf16(&big, bytes, *length);
    if (mark < 0)
        return 0;
    struct buffer out = {0};
    size_t used;
    buffer_puts(&out, "");
    for (size_t at = (size_t)mark; at + 1 < *length; at += used)
        put_utf8(&out, read_unit(&used, bytes + at, *length - at, big));
    free(*text);
    *text = out.bytes;
    *length = out.length;
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

// Reads the file as JSON. If it is none, `why` says what is wrong.
static const struct node *read_json(const struct import_file *file, const char *name,
                                    struct arena *arena, struct error *why)
{
    const struct node *node = NULL;
    const struct node_sieve *sieve = NULL; // only one format has such a list
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
    if (importer != &importer_json) // which is read line by line
        file.json = read_json(&file, in->name, &arena, &why);
    if (!file.json)
        arena_free(&arena); // of a text that is no JSON
    if (!in->source->format)
        status = detect(&importer, &file, in->name, &why, err);
    if (status == 0 && !importer)
        status = error_set(err, "%.200s: no form is called %.40s", in->name, in->source->format);
    if (status == 0 && why.text[0] && importer != &importer_json) { // JSON that cannot be read
        *err = why;
        status = -1;
    }
    const struct import_source *told = in->source;
    // Importer_csv accepts any table.
    if (status == 0 && is_own(importer) && importer != &importer_csv &&
        (told->commit_told || told->problem || told->kernel || told->exclude || told->device ||
         told->unit))
        status = error_set(err,
                           "%.200s: an export of plumb says itself what was measured: --commit, "
                           "--problem, --kernel, --exclude, --device and --unit are for files of "
                           "other tools",
                           in->name);
    in->file = &file;
    if (status == 0)
        status = importer->read(in, &file, err);
    in->file = NULL;
    arena_free(&arena);
    return status;
}

// Fails if the file has rows and none of them could be read.
static int check_report(const struct import *in, struct error *err)
{
    const struct import_report *r = &in->report;
    if (r->rows == 0 && !in->tool)
        return 0; // one of our own formats
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
    if (make_plain(&text, &length, source->name, err)) {
        free(text);
        return -1;
    }
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
