// SPDX-License-Identifier: Apache-2.0
//
// Functions that the readers of files share: messages about the file, the beginning and end of
// runs, and results that the store has already.
#include "baselines/exchange/import.h"

#include "baselines/fields.h"
#include "model/base.h"

#include <assert.h>
#include <fnmatch.h>
#include <string.h>

int import_blame(const struct import *in, struct error *err)
{
    struct error cause = *err;
    return error_set(err, "%.200s:%zu: %.700s", in->name, in->line, cause.text);
}

int import_refuse(const struct import *in, const char *what, struct error *err)
{
    return error_set(err, "%.200s:%zu: %s", in->name, in->line, what);
}

int import_limit(const struct import *in, size_t count, size_t most, const char *what,
                 struct error *err)
{
    return count <= most ? 0
                         : error_set(err, "%.200s: more than %zu %s in one file; split it",
                                     in->name, most, what);
}

// Counts a run or result of the file, unless the file is our own export.
static int count_handled(struct import *in, struct error *err)
{
    return in->whole ? 0 : import_limit(in, ++in->handled, IMPORT_RESULTS, "runs and results", err);
}

int import_leave(struct import *in, size_t rows, const struct error *err)
{
    struct import_report *r = &in->report;
    if (in->source->strict)
        return -1;
    if (r->left < IMPORT_TOLD)
        buffer_printf(&r->said, "%s\n", err->text);
    r->left += rows;
    return 0;
}

static bool has_separator(const char *line, size_t length)
{
    return memchr(line, ',', length) || memchr(line, ';', length) || memchr(line, '\t', length);
}

const char *import_header(size_t *length, const struct import_file *file)
{
    const char *end = file->text + file->length;
    for (const char *at = file->text; at < end; at += *length + 1) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        *length = (size_t)((stop ? stop : end) - at);
        if (*length && *at != '#' && *at != '\r')
            return *at != '{' && *at != '[' && has_separator(at, *length) ? at : NULL;
    }
    return NULL;
}

static int leave_row(void *context, struct error *err)
{
    struct import *in = context;
    if (!in->source->strict)
        in->report.rows++;
    return import_leave(in, 1, err);
}

int import_numbers(const struct import *in, struct csv *csv, struct error *err)
{
    struct csv_doubt doubt;
    csv_write_plainly(&doubt, csv);
    if (doubt.odd)
        return error_set(err,
                         "%.200s:%zu: numbers with a decimal point and with a decimal comma in "
                         "column %.60s",
                         in->name, csv->rows[doubt.row].line, csv->header[doubt.odd - 1]);
    if (doubt.unsaid || (doubt.points && in->spoken))
        return error_set(err,
                         "%.200s: nothing in it says whether 1%c234 is 1234; write it with "
                         "LC_ALL=C, or with a number of another count of digits",
                         in->name, doubt.unsaid ? ',' : '.');
    return 0;
}

int import_table(struct csv *out, struct import *in, const char *text, size_t length,
                 struct error *err)
{
    const struct csv_lenience lenience = {leave_row, in, in->enough};
    size_t cells = 1;
    for (size_t i = 0; i < length; i++)
        cells += text[i] == ',' || text[i] == ';' || text[i] == '\t' || text[i] == '\n';
    if (import_limit(in, cells, IMPORT_CELLS, "cells", err) ||
        csv_parse_leaving(out, text, length, in->name, &lenience, err))
        return -1;
    if (out->separator == ',' || import_numbers(in, out, err) == 0)
        return 0;
    csv_free(out);
    return -1;
}

const char *import_cell(const struct csv *csv, size_t row, int column)
{
    return column < 0 ? "" : csv_plain(csv->rows[row].fields[column]);
}

void import_uid(char uid[STORE_UID_TEXT], const char *const *texts, size_t count)
{
    // The two hashes start differently, which makes 128 bits of them.
    uint64_t hash[2] = {HASH_START, hash_text(HASH_START, "")};
    for (size_t i = 0; i < count; i++) {
        hash[0] = hash_text(hash[0], texts[i]);
        hash[1] = hash_text(hash[1], texts[i]);
    }
    snprintf(uid, STORE_UID_TEXT, "%016llx%016llx", (unsigned long long)hash[0],
             (unsigned long long)hash[1]);
}

struct sample import_sample(double time_ns, double clock_hz, uint32_t pair)
{
    return (struct sample){.time_ns = time_ns,
                           .clock_hz = clock_hz,
                           .launches = 1,
                           .pair = pair,
                           .role = ROLE_HEAD,
                           .temperature_c = INT16_MIN,
                           .power_mw = -1};
}

bool import_is_object_id(const char *text)
{
    size_t length = strlen(text);
    return length >= 7 && length < OBJECT_ID_TEXT && strspn(text, "0123456789abcdef") == length;
}

bool import_is_code(const char *text)
{
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    }
    return strlen(text) < OBJECT_ID_TEXT;
}

// Refuses a run that has the uid of a stored run but did not begin as that one did.
static int check_known(struct import *in, int64_t id, struct error *err)
{
    struct run known;
    if (store_load_run(&known, in->store, id, err))
        return import_blame(in, err);
    const struct run *run = &in->run;
    // An imported run begins when it is imported, unless its table gives a time.
    const bool same =
        known.kind == run->kind && (run->kind == RUN_IMPORT || known.started_s == run->started_s) &&
        strcmp(known.base.id, run->base.id) == 0 && strcmp(known.head.id, run->head.id) == 0 &&
        strcmp(run_toolchain(&known, ROLE_BASE), run_toolchain(run, ROLE_BASE)) == 0 &&
        strcmp(run_toolchain(&known, ROLE_HEAD), run_toolchain(run, ROLE_HEAD)) == 0;
    in->known = known.finished_s > 0 && known.kind != RUN_IMPORT;
    run_free(&known);
    return same ? 0 : import_refuse(in, "this run is here with another beginning", err);
}

static int check_run(const struct import *in, struct error *err)
{
    const struct run *run = &in->run;
    bool sound = range_is_time(run->started_s) && range_is_time(run->finished_s) &&
                 range_is_time(run->base.time_s) && range_is_time(run->head.time_s);
    for (size_t i = 0; i < run->device_count; i++)
        sound = sound && range_is_name(run->devices[i].uuid, IMPORT_WHERE);
    return sound
               ? 0
               : import_refuse(in, "a time beyond the year 9999, or a device without a name", err);
}

int import_begin(struct import *in, const char *uid, struct error *err)
{
    int64_t id;
    in->known = false;
    if (count_handled(in, err) || check_run(in, err))
        return -1;
    if (statement_get(&id, in->store, err, SQL_FIND_RUN, CELLS(TEXT(uid))))
        return import_blame(in, err);
    if (id && check_known(in, id, err))
        return -1;
    if (!id) {
        if (save_run(&id, in->store, &in->run, uid, err))
            return import_blame(in, err);
        in->added.runs++;
    }
    in->run.id = id;
    in->open = true;
    return 0;
}

// Whether the store has a result already. Its facts are then the same, and the store may have newer
// conclusions about it, so it is left as it is.
static int is_there(bool *out, struct import *in, const struct result *result, struct error *err)
{
    const struct series series = {result->kernel, &result->problem,
                                  in->run.devices[result->device].uuid};
    int64_t key, there = 0;
    if (content_find_series(&key, in->store, &series, err) ||
        (key &&
         statement_get(&there, in->store, err, SQL_FIND_RESULT, CELLS(INT(in->run.id), INT(key)))))
        return -1;
    *out = there != 0;
    return 0;
}

int import_result(struct import *in, const struct result *result, struct error *err)
{
    const char *control = in->source->control;
    struct result named = *result;
    bool there;
    assert(in->open);
    if (count_handled(in, err))
        return -1;
    if (is_there(&there, in, result, err))
        return import_blame(in, err);
    if (there)
        return 0;
    if (in->known)
        return import_refuse(in, "a result that the finished run of this uid does not have here",
                             err);
    if (!range_is_name(result->kernel, sizeof(result->kernel)))
        return import_refuse(in, "a kernel's name is 1 to 200 bytes of UTF-8 without control bytes",
                             err);
    named.control |= control && fnmatch(control, result->kernel, 0) == 0;
    if (store_save_result(in->store, &in->run, &named, err))
        return import_blame(in, err);
    in->added.measurements++;
    return 0;
}

// Adds a line to the report that names the commit and the devices of the imported times.
static void say_where(struct import *in)
{
    const struct run *run = &in->run;
    buffer_printf(&in->report.where, "commit %.12s", run->head.id);
    for (size_t i = 0; i < run->device_count; i++)
        buffer_printf(&in->report.where, "%s %s", i ? "," : ", device", run->devices[i].uuid);
    if (in->dirty)
        buffer_printf(&in->report.where, "; %.12s with changes that are in no commit was measured",
                      in->dirty);
    buffer_puts(&in->report.where, "\n");
}

int import_end(struct import *in, struct error *err)
{
    int status = 0;
    if (in->open && in->run.kind == RUN_IMPORT)
        say_where(in);
    if (in->open && in->run.finished_s && !in->known)
        status = store_finish_run(in->store, &in->run, err);
    run_free(&in->run);
    in->open = false;
    return status;
}

int import_put_link(struct import *in, const struct series *series, const struct device *device,
                    const struct link *link, struct error *err)
{
    int64_t key;
    if (content_device(&key, in->store, device, err) ||
        store_save_link(in->store, series, link, err))
        return import_blame(in, err);
    in->added.links += sqlite3_changes64(in->store->db); // 0: the store has it already
    return 0;
}

// ---- writing ----

int export_runs(struct store *store, const struct export_filter *filter, FILE *file,
                export_run *put, struct error *err)
{
    struct arena arena = {0};
    struct run_entry *entries = NULL;
    size_t count = 0;
    bool found = filter->run_id == 0;
    int status = store_list_runs(&entries, &count, store, STORE_ALL_RUNS, 0, &arena, err);
    // Oldest first, so that a measurement comes before the results that reuse it.
    for (size_t i = count; status == 0 && i > 0 && !ferror(file); i--) {
        struct run run;
        const struct run_entry *entry = &entries[i - 1];
        if (filter->run_id ? entry->id != filter->run_id : entry->finished_s == 0)
            continue;
        found = true;
        status = store_load_run(&run, store, entry->id, err);
        if (status == 0) {
            put(file, filter, &run, entry->uid);
            run_free(&run);
        }
    }
    arena_free(&arena);
    if (status == 0 && !found)
        status = error_set(err, "store %s: has no run %lld; `plumb report --list` shows them",
                           store->path, (long long)filter->run_id);
    return status;
}

static int put_series(struct store *store, FILE *file, const char *uid,
                      const struct link_owner *owner, export_link *put, struct arena *arena,
                      struct error *err)
{
    struct problem problem;
    struct error ignored;
    struct link *links;
    size_t count;
    if (problem_parse(&problem, owner->problem, &ignored))
        return store_damaged(store, "a problem", err);
    const struct series series = {owner->kernel, &problem, owner->device.uuid};
    if (store_links(&links, &count, store, &series, arena, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!uid[0] || strcmp(links[i].uid, uid) == 0)
            put(file, owner, &links[i]);
    }
    return 0;
}

int export_each_link(struct store *store, const struct export_filter *filter, FILE *file,
                     export_link *put, struct error *err)
{
    struct arena arena = {0};
    const char *uid = "";
    sqlite3_stmt *row;
    int status = 0;
    if (filter->run_id) {
        row = statement_bind(store, SQL_RUN_UID, CELLS(INT(filter->run_id)));
        if (statement_step(store, row, err) < 0)
            return -1;
        uid = row_text(row, 0, &arena);
        sqlite3_reset(row);
    }
    row = statement_bind(store, SQL_LINKED_SERIES, NULL, 0);
    while (status == 0 && (status = statement_step(store, row, err)) > 0) {
        const struct link_owner owner = {row_text(row, 0, &arena),
                                         row_text(row, 1, &arena),
                                         {.kind = row_text(row, 2, &arena),
                                          .uuid = row_text(row, 3, &arena),
                                          .name = row_text(row, 4, &arena)}};
        status = filter->kernel && strcmp(filter->kernel, owner.kernel) != 0
                     ? 0
                     : put_series(store, file, uid, &owner, put, &arena, err);
        if (status == 0)
            continue;
        sqlite3_reset(row);
        break;
    }
    arena_free(&arena);
    return status < 0 ? -1 : 0;
}
