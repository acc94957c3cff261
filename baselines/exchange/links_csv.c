// SPDX-License-Identifier: Apache-2.0
//
// Links as a table, one row each, written and read: what a spreadsheet or a script can take, and
// what one that compares codes by itself can hand in.
#include "baselines/exchange/export.h"
#include "baselines/exchange/import.h"
#include "baselines/range.h"
#include "model/base.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Those of the first lines are needed, the others used when there.
#define COLUMNS(X)                                                                                 \
    X(run)                                                                                         \
    X(kernel)                                                                                      \
    X(problem)                                                                                     \
    X(device)                                                                                      \
    X(base_code)                                                                                   \
    X(head_code)                                                                                   \
    X(base)                                                                                        \
    X(head)                                                                                        \
    X(made_s)                                                                                      \
    X(back)                                                                                        \
    X(verdict)                                                                                     \
    X(log_ratio)                                                                                   \
    X(error)                                                                                       \
    X(log_evidence)                                                                                \
    X(pairs)                                                                                       \
    X(processes)                                                                                   \
    X(kind)                                                                                        \
    X(device_name)                                                                                 \
    X(base_s)                                                                                      \
    X(base_parent)                                                                                 \
    X(base_summary)                                                                                \
    X(head_s)                                                                                      \
    X(head_parent)                                                                                 \
    X(head_summary)                                                                                \
    X(tool_version)
enum column {
#define X(name) COLUMN_##name,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};
enum { COLUMNS_NEEDED = COLUMN_processes + 1 };
static const char *const column_names[] = {
#define X(name) #name,
    COLUMNS(X)
#undef X
};

// ---- written ----

static void put_commit(struct buffer *out, const struct commit *commit)
{
    buffer_printf(out, "%" PRId64 ",", commit->time_s);
    export_cell(out, commit->parent);
    export_cell(out, commit->summary);
}

static void put_link(FILE *file, const struct link_owner *owner, const struct link *l)
{
    struct buffer out = {0};
    const char *const texts[] = {l->uid,       owner->kernel, owner->problem, owner->device.uuid,
                                 l->base_code, l->head_code,  l->base.id,     l->head.id};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        export_cell(&out, texts[i]);
    buffer_printf(&out, "%" PRId64 ",%u,%s,", l->made_s, l->back, verdict_kind_name(l->kind));
    export_real_cell(&out, l->log_ratio, true);
    export_real_cell(&out, l->error, true);
    export_real_cell(&out, l->log_evidence, true);
    buffer_printf(&out, "%u,%u,", l->pairs, l->processes);
    export_cell(&out, owner->device.kind);
    export_cell(&out, owner->device.name);
    put_commit(&out, &l->base);
    put_commit(&out, &l->head);
    buffer_csv(&out, l->tool_version);
    buffer_puts(&out, "\n");
    fwrite(out.bytes, 1, out.length, file);
    buffer_free(&out);
}

int store_export_links(struct store *store, const struct export_filter *filter, FILE *file,
                       struct error *err)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        fprintf(file, "%s%c", column_names[i], i + 1 < COLUMN_COUNT ? ',' : '\n');
    return export_each_link(store, filter, file, put_link, err);
}

// ---- read ----

// The first line that is no comment.
static bool is_links(const struct import_file *file)
{
    static const char *const marks[] = {"base_code", "head_code", "log_ratio"};
    size_t length;
    const char *line = import_header(&length, file);
    bool all = true;
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++)
        all &= line && memmem(line, length, marks[i], strlen(marks[i])) != NULL;
    return all;
}

struct table {
    struct csv csv;
    int at[COLUMN_COUNT]; // where each column is, -1 if it is not there
    size_t row;           // that is read
};

static const char *field(const struct table *t, enum column column)
{
    return import_cell(&t->csv, t->row, t->at[column]);
}

static int find_columns(struct table *t, const char *name, struct error *err)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        t->at[i] = csv_column(&t->csv, column_names[i]);
        if (t->at[i] < 0 && i < COLUMNS_NEEDED)
            return error_set(err,
                             "%.200s: no column %s; a table of links has those that `plumb export "
                             "--format=links` writes",
                             name, column_names[i]);
    }
    return 0;
}

static bool whole(uint32_t *out, const struct table *t, enum column column, int64_t most)
{
    int64_t value = -1;
    const bool sound = parse_int64(&value, field(t, column)) == 0 && value >= 0 && value <= most;
    *out = (uint32_t)value;
    return sound;
}

// Seconds since 1970, or nothing.
static bool time_of(int64_t *out, const struct table *t, enum column column)
{
    const char *text = field(t, column);
    *out = 0;
    return !text[0] || (parse_int64(out, text) == 0 && range_is_time(*out));
}

static bool real(double *out, const struct table *t, enum column column)
{
    *out = NAN;
    return parse_double(out, field(t, column)) == 0 && isfinite(*out);
}

// base_parent, say, stands behind base_s.
static bool commit_of(struct commit *out, const struct table *t, enum column id,
                      enum column seconds)
{
    const char *parent = field(t, seconds + 1);
    *out = (struct commit){.summary = field(t, seconds + 2), .author = ""};
    return import_is_object_id(field(t, id)) && time_of(&out->time_s, t, seconds) &&
           text_copy(out->id, sizeof(out->id), field(t, id)) &&
           (!parent[0] || import_is_object_id(parent)) &&
           text_copy(out->parent, sizeof(out->parent), parent);
}

static bool code_of(char out[OBJECT_ID_TEXT], const struct table *t, enum column column)
{
    return import_is_code(field(t, column)) && text_copy(out, OBJECT_ID_TEXT, field(t, column));
}

static bool uid_of(char out[STORE_UID_TEXT], const struct table *t)
{
    return text_copy(out, STORE_UID_TEXT, field(t, COLUMN_run)) &&
           strspn(out, "0123456789abcdef") == STORE_UID_TEXT - 1;
}

static int leave_row(struct import *in, const char *column, const char *is, struct error *err)
{
    error_set(err, "%.200s:%zu: %s: not %s", in->name, in->line, column, is);
    in->report.rows++;
    return import_leave(in, 1, err);
}

static int import_row(struct import *in, const struct table *t, struct error *err)
{
    char kernel[KERNEL_NAME_TEXT];
    struct problem problem;
    struct error ignored;
    struct link l = {.tool_version = field(t, COLUMN_tool_version)};
    const char *kind = field(t, COLUMN_kind);
    const struct device device = {.kind = kind[0] ? kind : "cuda",
                                  .uuid = field(t, COLUMN_device),
                                  .name = field(t, COLUMN_device_name)};
    const struct {
        bool sound;
        enum column column;
        const char *is;
    } cells[] = {
        {uid_of(l.uid, t), COLUMN_run, "32 hexadecimal digits"},
        {text_copy(kernel, sizeof(kernel), field(t, COLUMN_kernel)) &&
             range_is_name(kernel, sizeof(kernel)),
         COLUMN_kernel, "a name of 1 to 200 bytes"},
        {problem_parse(&problem, field(t, COLUMN_problem), &ignored) == 0, COLUMN_problem,
         "MxNxK:TYPE"},
        {range_is_name(device.uuid, IMPORT_WHERE), COLUMN_device, "a name"},
        {code_of(l.base_code, t, COLUMN_base_code), COLUMN_base_code, "one word"},
        {code_of(l.head_code, t, COLUMN_head_code), COLUMN_head_code, "one word"},
        {commit_of(&l.base, t, COLUMN_base, COLUMN_base_s), COLUMN_base, "a commit and its time"},
        {commit_of(&l.head, t, COLUMN_head, COLUMN_head_s), COLUMN_head, "a commit and its time"},
        {time_of(&l.made_s, t, COLUMN_made_s), COLUMN_made_s, "seconds since 1970"},
        {whole(&l.back, t, COLUMN_back, LINK_BACK_MOST), COLUMN_back, "codes, a whole number"},
        {verdict_kind_parse(&l.kind, field(t, COLUMN_verdict)) == 0, COLUMN_verdict, "a verdict"},
        {real(&l.log_ratio, t, COLUMN_log_ratio), COLUMN_log_ratio, "a number"},
        {real(&l.error, t, COLUMN_error), COLUMN_error, "a number"},
        {real(&l.log_evidence, t, COLUMN_log_evidence), COLUMN_log_evidence, "a number"},
        {whole(&l.pairs, t, COLUMN_pairs, UINT32_MAX), COLUMN_pairs, "a whole number"},
        {whole(&l.processes, t, COLUMN_processes, 65535), COLUMN_processes, "a whole number"},
    };
    for (size_t i = 0; i < ARRAY_COUNT(cells); i++) {
        if (!cells[i].sound)
            return leave_row(in, column_names[cells[i].column], cells[i].is, err);
    }
    if (!link_sound(&l))
        return leave_row(in, "error", "a link's: figures in range, of two codes and two commits",
                         err);
    in->report.rows++;
    in->report.samples++;
    const struct series series = {kernel, &problem, device.uuid};
    return import_put_link(in, &series, &device, &l, err);
}

static int import_links(struct import *in, const struct import_file *file, struct error *err)
{
    struct table t = {0};
    if (import_table(&t.csv, in, file->text, file->length, err))
        return -1;
    int status = find_columns(&t, in->name, err);
    for (; status == 0 && t.row < t.csv.count; t.row++) {
        in->line = t.csv.rows[t.row].line;
        status = import_row(in, &t, err);
    }
    csv_free(&t.csv);
    return status;
}

const struct importer importer_links = {"links", is_links, import_links, NULL};
