// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads links as a table with one row each: for spreadsheets and scripts, and for
// programs that compare codes themselves and hand in their links.
#include "baselines/exchange/import.h"
#include "baselines/fields.h"
#include "model/base.h"

#include <string.h>

// The cells with the series and the commits of a link. The link's own fields follow FIRST; the name
// of its tool stands last. The cells before the fields and the fields themselves are required;
// others are used if they are there.
#define FIRST(X)                                                                                   \
    X(run)                                                                                         \
    X(kernel)                                                                                      \
    X(problem)                                                                                     \
    X(device)                                                                                      \
    X(base_code)                                                                                   \
    X(head_code)                                                                                   \
    X(base)                                                                                        \
    X(head)
#define LAST(X)                                                                                    \
    X(kind)                                                                                        \
    X(device_name)                                                                                 \
    X(base_s)                                                                                      \
    X(base_parent)                                                                                 \
    X(base_summary)                                                                                \
    X(head_s)                                                                                      \
    X(head_parent)                                                                                 \
    X(head_summary)                                                                                \
    X(tool_version)
#define X(name) COLUMN_##name,
enum link_column {
    FIRST(X) FIRST_COUNT,
    COLUMN_BEFORE_LAST = FIRST_COUNT - 1,
    LAST(X) COLUMN_COUNT
};
#undef X
#define X(name) #name,
static const char *const column_names[] = {FIRST(X) LAST(X)};
#undef X

// Whether a field of a link is a figure. The tool's version is none, and stands among the last
// cells.
static bool is_figure(const struct stored_field *field)
{
    return field->type != FIELD_SHARED;
}

// ---- writing ----

static void put_names(struct csv_line *line, int from, int to)
{
    for (int i = from; i < to; i++)
        csv_text(line, column_names[i]);
}

static void put_figures(struct csv_line *line, const struct link *link)
{
    for (size_t i = 0; i < link_fields.count; i++) {
        if (!is_figure(&link_fields.items[i]))
            continue;
        if (link)
            field_csv(line, &link_fields.items[i], link, csv_text);
        else
            csv_text(line, link_fields.items[i].name);
    }
}

static void put_commit(struct csv_line *line, const struct commit *commit)
{
    csv_int(line, commit->time_s);
    csv_text(line, commit->parent);
    csv_text(line, commit->summary);
}

static void put_line(FILE *file, struct csv_line *line)
{
    csv_end(line, "\n");
    buffer_print(line->out, file);
}

static void put_link(FILE *file, const struct link_owner *owner, const struct link *l)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    const char *const texts[] = {l->uid,       owner->kernel, owner->problem, owner->device.uuid,
                                 l->base_code, l->head_code,  l->base.id,     l->head.id};
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        csv_text(&line, texts[i]);
    put_figures(&line, l);
    csv_text(&line, owner->device.kind);
    csv_text(&line, owner->device.name);
    put_commit(&line, &l->base);
    put_commit(&line, &l->head);
    csv_text(&line, l->tool_version);
    put_line(file, &line);
}

int store_export_links(struct store *store, const struct export_filter *filter, FILE *file,
                       struct error *err)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    put_names(&line, 0, FIRST_COUNT);
    put_figures(&line, NULL);
    put_names(&line, FIRST_COUNT, COLUMN_COUNT);
    put_line(file, &line);
    return export_each_link(store, filter, file, put_link, err);
}

// ---- reading ----

// Looks at the first line that is no comment.
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

struct link_table {
    struct csv csv;
    int at[COLUMN_COUNT];        // index of each column, -1 if it is missing
    int figures_at[FIELDS_MOST]; // the same for the fields of a link
    size_t row;                  // the row that is being read
};

static const char *field(const struct link_table *t, enum link_column column)
{
    return import_cell(&t->csv, t->row, t->at[column]);
}

static int find_column(int *at, const struct link_table *t, const char *column, bool needed,
                       const char *name, struct error *err)
{
    *at = csv_column(&t->csv, column);
    return *at >= 0 || !needed
               ? 0
               : error_set(err,
                           "%.200s: no column %s; a table of links has those that `plumb export "
                           "--format=links` writes",
                           name, column);
}

static int find_columns(struct link_table *t, const char *name, struct error *err)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (find_column(&t->at[i], t, column_names[i], i < FIRST_COUNT, name, err))
            return -1;
    }
    for (size_t i = 0; i < link_fields.count; i++) {
        const struct stored_field *figure = &link_fields.items[i];
        if (is_figure(figure) && find_column(&t->figures_at[i], t, figure->name, true, name, err))
            return -1;
    }
    return 0;
}

// Reads seconds since 1970; an empty cell is 0.
static bool time_of(int64_t *out, const struct link_table *t, enum link_column column)
{
    const char *text = field(t, column);
    *out = 0;
    return !text[0] || (parse_int64(out, text) == 0 && range_is_time(*out));
}

// Reads a commit, whose columns follow each other: base, base_s, base_parent.
static bool commit_of(struct commit *out, const struct link_table *t, enum link_column id,
                      enum link_column seconds)
{
    const char *parent = field(t, seconds + 1);
    *out = (struct commit){.summary = field(t, seconds + 2), .author = ""};
    return import_is_object_id(field(t, id)) && time_of(&out->time_s, t, seconds) &&
           text_copy(out->id, sizeof(out->id), field(t, id)) &&
           (!parent[0] || import_is_object_id(parent)) &&
           text_copy(out->parent, sizeof(out->parent), parent);
}

static bool code_of(char out[OBJECT_ID_TEXT], const struct link_table *t, enum link_column column)
{
    return import_is_code(field(t, column)) && text_copy(out, OBJECT_ID_TEXT, field(t, column));
}

static bool uid_of(char out[STORE_UID_TEXT], const struct link_table *t)
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

// What a cell of this field must contain, for the message if it does not.
static const char *figure_is(const struct stored_field *field)
{
    return field->type == FIELD_TIME    ? "seconds since 1970"
           : field->type == FIELD_KIND  ? "a verdict"
           : field->type == FIELD_COUNT ? "a whole number that a link can have"
                                        : "a number that a link can have";
}

// Reads the figures. Returns NULL, or the first figure with a wrong value.
static const struct stored_field *read_figures(struct link *out, const struct link_table *t)
{
    for (size_t i = 0; i < link_fields.count; i++) {
        const struct stored_field *figure = &link_fields.items[i];
        if (is_figure(figure) &&
            !field_read(out, figure, import_cell(&t->csv, t->row, t->figures_at[i])))
            return figure;
    }
    return NULL;
}

static int import_row(struct import *in, const struct link_table *t, struct error *err)
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
        enum link_column column;
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
    };
    for (size_t i = 0; i < ARRAY_COUNT(cells); i++) {
        if (!cells[i].sound)
            return leave_row(in, column_names[cells[i].column], cells[i].is, err);
    }
    const struct stored_field *odd = read_figures(&l, t);
    if (odd)
        return leave_row(in, odd->name, figure_is(odd), err);
    if (!link_sound(&l))
        return leave_row(in, "verdict", "a link's: of two codes and two commits, judged", err);
    in->report.rows++;
    in->report.samples++;
    const struct series series = {kernel, &problem, device.uuid};
    return import_put_link(in, &series, &device, &l, err);
}

static int import_links(struct import *in, const struct import_file *file, struct error *err)
{
    struct link_table t = {0};
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
