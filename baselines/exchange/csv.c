// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads a store as tables for spreadsheets and scripts (RFC 4180).
#include "baselines/exchange/import.h"

#include "baselines/fields.h"
#include "baselines/pack.h"
#include "baselines/statement.h"
#include "baselines/store.h"
#include "model/buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ==== writing runs and metrics ====
//
// Writes a store as tables for spreadsheets and scripts: RFC 4180, one row per measurement or
// metric.

// The fields of a verdict whose columns stand further to the left.
static const char *const placed[] = {"kind", "log_ratio", "lower", "upper"};

// Writes the other fields; with v NULL, empty cells.
static void put_further(struct csv_line *line, const struct verdict *v)
{
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            continue;
        if (v)
            field_csv(line, &verdict_fields.items[i], v, csv_text);
        else
            csv_empty(line, 1);
    }
}

static void put_run_cells(struct csv_line *line, const struct run *run, const char *uid,
                          const struct commit *commit)
{
    csv_text(line, uid);
    csv_text(line, run_kind_name(run->kind));
    csv_int(line, run->started_s);
    csv_text(line, commit->id);
    csv_int(line, commit->time_s);
}

static void put_prediction(struct csv_line *line, const struct prediction *p)
{
    csv_real(line, p->model && p->feasible ? p->time_ns : NAN);
    csv_text(line, p->model);
    csv_text(line, p->version);
}

static void put_row(struct csv_line *line, const struct run *run, const char *uid,
                    const struct result *r, enum sample_role role)
{
    char problem[PROBLEM_TEXT];
    const bool head = role == ROLE_HEAD;
    const struct measurement *m = head ? &r->head : &r->base;
    const struct device *device = &run->devices[r->device];
    // A verdict stands in the row of the head, if there is one.
    const struct verdict *v = head && r->verdict.sentence ? &r->verdict : NULL;
    const double time_ns = m->state == MEASURED_OK ? measurement_time_ns(m) : 0;
    const double clock_hz = measurement_clock_hz(m);
    problem_format(problem, &r->problem);
    put_run_cells(line, run, uid, head ? &run->head : &run->base);
    csv_text(line, r->kernel);
    csv_text(line, problem);
    csv_text(line, device->uuid);
    csv_text(line, device->name);
    csv_text(line, head ? "head" : "base");
    csv_text(line, head ? r->head_code : r->base_code);
    csv_text(line, measurement_state_name(m->state));
    csv_int(line, r->reused);
    csv_real(line, time_ns > 0 ? time_ns : NAN);
    csv_real(line, clock_hz > 0 ? clock_hz : NAN);
    csv_int(line, (int64_t)m->count);
    csv_real(line, m->max_error);
    csv_real(line, m->tolerance);
    csv_text(line, m->regime);
    if (head)
        put_prediction(line, &r->prediction);
    else
        csv_empty(line, 3);
    csv_real(line, v ? v->log_ratio.value : NAN);
    csv_real(line, v ? v->log_ratio.low : NAN);
    csv_real(line, v ? v->log_ratio.high : NAN);
    csv_text(line, v ? verdict_kind_name(v->kind) : NULL);
    csv_text(line, run_toolchain(run, role));
    put_further(line, v);
    csv_end(line, "\n");
}

static void put_run(FILE *file, const struct export_filter *filter, const struct run *run,
                    const char *uid)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    for (size_t i = 0; i < run->count; i++) {
        const struct result *r = &run->results[i];
        if (filter->kernel && strcmp(filter->kernel, r->kernel) != 0)
            continue;
        if (r->base.state != MEASURED_NOT_TAKEN)
            put_row(&line, run, uid, r, ROLE_BASE);
        if (r->head.state != MEASURED_NOT_TAKEN)
            put_row(&line, run, uid, r, ROLE_HEAD);
    }
    buffer_print(&out, file);
}

int store_export_csv(struct store *store, const struct export_filter *filter, FILE *file,
                     struct error *err)
{
    fputs("run,kind,started_s,commit,commit_s,kernel,problem,device,device_name,role,"
          "code,state,reused,time_ns,clock_hz,samples,max_error,tolerance,regime,"
          "predicted_ns,model,model_version,log_ratio,lower,upper,verdict,toolchain",
          file);
    for (size_t i = 0; i < verdict_fields.count; i++) {
        if (!field_named(&verdict_fields.items[i], placed, ARRAY_COUNT(placed)))
            fprintf(file, ",%s", verdict_fields.items[i].name);
    }
    fputs("\n", file);
    return export_runs(store, filter, file, put_run, err);
}

// ---- metrics ----

static bool is_of(const struct metric_result *m, const char *kernel)
{
    const size_t length = strlen(kernel);
    return strncmp(m->subject, kernel, length) == 0 &&
           (m->subject[length] == '\0' || m->subject[length] == ' ');
}

static void put_metrics(FILE *file, const struct export_filter *filter, const struct run *run,
                        const char *uid)
{
    struct buffer out = {0};
    struct csv_line line = {.out = &out};
    for (size_t i = 0; i < run->metric_count; i++) {
        const struct metric_result *m = &run->metrics[i];
        if (filter->kernel && !is_of(m, filter->kernel))
            continue;
        put_run_cells(&line, run, uid, &run->head);
        csv_text(&line, run->base.id);
        metric_csv(&line, m, csv_text);
        csv_end(&line, "\n");
    }
    buffer_print(&out, file);
}

int store_export_metrics(struct store *store, const struct export_filter *filter, FILE *file,
                         struct error *err)
{
    struct buffer heads = {0};
    struct csv_line line = {.out = &heads};
    csv_raw(&line, "run,kind,started_s,commit,commit_s,base_commit");
    metric_csv(&line, NULL, csv_text);
    csv_end(&line, "\n");
    buffer_print(&heads, file);
    return export_runs(store, filter, file, put_metrics, err);
}

// ==== reading measurements ====
//
// Reads measurements from a table. Required columns: commit, kernel, problem, time_ns. Optional
// ones:
// run, kind, started_s, commit_s, device, device_name, role, code, state, clock_hz, regime,
// toolchain.
// Other columns are ignored. Neighbouring rows of one run (column `run`, or else commit and device)
// make one run. A table has no samples, so each measurement gets one sample that holds its time.

#define COLUMNS(X)                                                                                 \
    X(commit)                                                                                      \
    X(kernel)                                                                                      \
    X(problem)                                                                                     \
    X(time_ns)                                                                                     \
    X(run)                                                                                         \
    X(kind)                                                                                        \
    X(started_s)                                                                                   \
    X(commit_s)                                                                                    \
    X(device)                                                                                      \
    X(device_name)                                                                                 \
    X(role)                                                                                        \
    X(code)                                                                                        \
    X(state)                                                                                       \
    X(clock_hz)                                                                                    \
    X(regime)                                                                                      \
    X(toolchain)
enum sample_column {
#define X(name) COLUMN_##name,
    COLUMNS(X)
#undef X
        COLUMN_COUNT
};
enum { COLUMNS_NEEDED = 4 };
static const char *const column_names[] = {
#define X(name) #name,
    COLUMNS(X)
#undef X
};

struct sample_table {
    struct csv csv;
    int at[COLUMN_COUNT]; // the index of each column, -1 if it is missing
};

static const char *field(const struct sample_table *table, size_t row, enum sample_column column)
{
    return import_cell(&table->csv, row, table->at[column]);
}

static int refuse(const struct import *in, enum sample_column column, const char *what,
                  struct error *err)
{
    return error_set(err, "%.200s:%zu: %s: %s", in->name, in->line, column_names[column], what);
}

static int find_columns(struct sample_table *table, const char *name, struct error *err)
{
    int missing = 0;
    for (int i = COLUMN_COUNT; i-- > 0;) {
        table->at[i] = csv_column(&table->csv, column_names[i]);
        missing += table->at[i] < 0 && i < COLUMNS_NEEDED;
    }
    if (missing == COLUMNS_NEEDED)
        return error_set(err,
                         "%.200s: a table of no tool that is known by its columns; one of "
                         "triton.testing without units is read with --format=triton --unit=ms, or "
                         "TFLOPS; one of your own needs commit, kernel, problem, time_ns",
                         name);
    for (int i = 0; i < COLUMNS_NEEDED; i++) {
        if (table->at[i] < 0)
            return error_set(err,
                             "%s: no column %s; a table needs commit, kernel, problem, time_ns",
                             name, column_names[i]);
    }
    return 0;
}

static bool same_run(const struct sample_table *table, size_t a, size_t b)
{
    if (strcmp(field(table, a, COLUMN_run), field(table, b, COLUMN_run)) != 0)
        return false;
    if (field(table, a, COLUMN_run)[0])
        return true;
    return strcmp(field(table, a, COLUMN_commit), field(table, b, COLUMN_commit)) == 0 &&
           strcmp(field(table, a, COLUMN_device), field(table, b, COLUMN_device)) == 0;
}

static bool is_base(const struct sample_table *table, size_t row)
{
    return strcmp(field(table, row, COLUMN_role), "base") == 0;
}

static const char *device_uuid(const struct sample_table *table, size_t row)
{
    const char *uuid = field(table, row, COLUMN_device);
    return uuid[0] ? uuid : "imported";
}

// Reads a whole number, or 0 if the field is empty.
static int read_time(int64_t *out, const struct import *in, const struct sample_table *table,
                     size_t row, enum sample_column column, struct error *err)
{
    const char *text = field(table, row, column);
    *out = 0;
    if (text[0] && (parse_int64(out, text) || *out < 0 || !range_is_time(*out)))
        return refuse(in, column, "seconds since 1970, a whole number", err);
    return 0;
}

static int read_commit(struct commit *out, const struct import *in,
                       const struct sample_table *table, size_t row, struct error *err)
{
    const char *id = field(table, row, COLUMN_commit);
    struct commit commit = {.summary = "", .author = ""};
    if (!import_is_object_id(id))
        return refuse(in, COLUMN_commit, "a hexadecimal id of 7 to 64 digits", err);
    if (out->id[0] && strcmp(out->id, id) != 0)
        return refuse(in, COLUMN_commit, "another commit within one run and role", err);
    text_copy(commit.id, sizeof(commit.id), id);
    if (read_time(&commit.time_s, in, table, row, COLUMN_commit_s, err))
        return -1;
    *out = commit;
    return 0;
}

static int read_toolchain(struct run *run, const struct import *in,
                          const struct sample_table *table, size_t row, struct error *err)
{
    const char *name = field(table, row, COLUMN_toolchain);
    const char **known = &run->toolchain[is_base(table, row) ? ROLE_BASE : ROLE_HEAD];
    if (!name[0] || strcmp(name, TOOLCHAIN_DEFAULT) == 0)
        return 0;
    if (!toolchain_name_sound(name))
        return refuse(in, COLUMN_toolchain, "at most 39 letters, digits and ._+-", err);
    if (*known && strcmp(*known, name) != 0)
        return refuse(in, COLUMN_toolchain, "another toolchain within one run and role", err);
    *known = arena_strdup(&run->arena, name);
    return 0;
}

static size_t device_index(struct run *run, const struct sample_table *table, size_t row)
{
    const char *uuid = device_uuid(table, row);
    for (size_t i = 0; i < run->device_count; i++) {
        if (strcmp(run->devices[i].uuid, uuid) == 0)
            return i;
    }
    const struct device device = {
        .kind = "cuda",
        .uuid = arena_strdup(&run->arena, uuid),
        .name = arena_strdup(&run->arena, field(table, row, COLUMN_device_name)),
        .driver = "",
        .runtime = "",
        .profile = ""};
    run->devices[run->device_count] = device;
    return run->device_count++;
}

static int begin_run(struct import *in, const struct sample_table *table, size_t from, size_t to,
                     struct error *err)
{
    struct run *run = &in->run;
    char uid[STORE_UID_TEXT];
    const char *named = field(table, from, COLUMN_run), *kind = field(table, from, COLUMN_kind);
    *run = (struct run){.kind = RUN_IMPORT,
                        .tool_version = PLUMB_VERSION,
                        .repository = "",
                        .policy = "",
                        .base = {.summary = "", .author = ""},
                        .head = {.summary = "", .author = ""},
                        .headline = "imported"};
    if (kind[0] && run_kind_parse(&run->kind, kind))
        return refuse(in, COLUMN_kind, "unknown", err);
    if (read_time(&run->started_s, in, table, from, COLUMN_started_s, err))
        return -1;
    run->devices = arena_alloc(&run->arena, (to - from) * sizeof(*run->devices));
    for (size_t row = from; row < to; row++) {
        in->line = table->csv.rows[row].line;
        device_index(run, table, row);
        if (import_limit(in, run->device_count, IMPORT_DEVICES, "devices", err))
            return -1;
        if (read_commit(is_base(table, row) ? &run->base : &run->head, in, table, row, err) ||
            read_toolchain(run, in, table, row, err))
            return -1;
    }
    if (run->started_s == 0)
        run->started_s = run->head.time_s ? run->head.time_s : time(NULL);
    run->finished_s = run->started_s;
    const char *identity[] = {named, run->base.id, run->head.id, device_uuid(table, from)};
    if (strlen(named) == STORE_UID_TEXT - 1 && strspn(named, "0123456789abcdef") == strlen(named))
        text_copy(uid, sizeof(uid), named);
    else
        import_uid(uid, identity, ARRAY_COUNT(identity));
    in->line = table->csv.rows[from].line;
    return import_begin(in, uid, err);
}

// Makes the one sample of a measurement whose samples are not known.
static void stand_in(struct measurement *m, struct arena *arena, double time_ns, double clock_hz)
{
    m->samples = arena_alloc(arena, sizeof(*m->samples));
    m->samples[0] = import_sample(time_ns, clock_hz, 0);
    m->count = 1;
    m->state = MEASURED_OK;
}

static int read_measurement(struct measurement *out, struct import *in,
                            const struct sample_table *table, size_t row, struct error *err)
{
    struct measurement m = {
        .state = MEASURED_OK, .max_error = NAN, .tolerance = NAN, .detail = "imported"};
    const char *state = field(table, row, COLUMN_state), *time = field(table, row, COLUMN_time_ns);
    const char *clock = field(table, row, COLUMN_clock_hz);
    double time_ns = 0, clock_hz = 0;
    if (state[0] && (measurement_state_parse(&m.state, state) || m.state == MEASURED_NOT_TAKEN))
        return refuse(in, COLUMN_state, "a state that a measurement can have", err);
    if ((time[0] || m.state == MEASURED_OK) &&
        (parse_double(&time_ns, time) || !(time_ns > 0) || time_ns > SAMPLE_TIME_NS))
        return refuse(in, COLUMN_time_ns, "nanoseconds, a number above 0", err);
    if (clock[0] &&
        (parse_double(&clock_hz, clock) || !(clock_hz >= 0 && clock_hz <= SAMPLE_CLOCK_HZ)))
        return refuse(in, COLUMN_clock_hz, "Hz, a number", err);
    m.regime = field(table, row, COLUMN_regime);
    if (m.state == MEASURED_OK)
        stand_in(&m, &in->run.arena, time_ns, clock_hz);
    *out = m;
    return 0;
}

// Reads a row into the result of its series, which may have the other role already.
static int read_row(struct result *r, struct import *in, const struct sample_table *table,
                    size_t row, struct error *err)
{
    const char *code = field(table, row, COLUMN_code);
    bool base = is_base(table, row);
    const char *role = field(table, row, COLUMN_role);
    if (role[0] && !base && strcmp(role, "head") != 0)
        return refuse(in, COLUMN_role, "base or head", err);
    if (!text_copy(r->kernel, sizeof(r->kernel), field(table, row, COLUMN_kernel)) ||
        !range_is_name(r->kernel, sizeof(r->kernel)))
        return refuse(in, COLUMN_kernel, "1 to 200 bytes of UTF-8 without control bytes", err);
    if (!range_is_name(device_uuid(table, row), IMPORT_WHERE))
        return refuse(in, COLUMN_device, "a name of at most 255 bytes", err);
    if (problem_parse(&r->problem, field(table, row, COLUMN_problem), err))
        return import_blame(in, err);
    if (!import_is_code(code) ||
        !text_copy(base ? r->base_code : r->head_code, OBJECT_ID_TEXT, code))
        return refuse(in, COLUMN_code, "one word of at most 64 bytes", err);
    r->device = device_index(&in->run, table, row);
    return read_measurement(base ? &r->base : &r->head, in, table, row, err);
}

static bool same_series(const struct sample_table *table, size_t a, size_t b)
{
    return is_base(table, a) != is_base(table, b) &&
           strcmp(field(table, a, COLUMN_kernel), field(table, b, COLUMN_kernel)) == 0 &&
           strcmp(field(table, a, COLUMN_problem), field(table, b, COLUMN_problem)) == 0 &&
           strcmp(device_uuid(table, a), device_uuid(table, b)) == 0;
}

// Checks one row by itself.
static int check_row(struct import *in, const struct sample_table *table, size_t row,
                     struct error *err)
{
    struct commit commit = {0};
    struct run scratch = {0};
    struct result result = {0};
    enum run_kind kind;
    int64_t started_s;
    const char *text = field(table, row, COLUMN_kind);
    int status = 0;
    if (text[0] && run_kind_parse(&kind, text))
        return refuse(in, COLUMN_kind, "unknown", err);
    in->run = (struct run){.devices = &(struct device){0}};
    if (read_time(&started_s, in, table, row, COLUMN_started_s, err) ||
        read_commit(&commit, in, table, row, err) ||
        read_toolchain(&scratch, in, table, row, err) || read_row(&result, in, table, row, err))
        status = -1;
    arena_free(&scratch.arena);
    arena_free(&in->run.arena);
    in->run = (struct run){0};
    return status;
}

// Leaves out rows that cannot be read, before runs are made of the others.
static int check_rows(struct import *in, struct sample_table *table, struct error *err)
{
    struct csv *csv = &table->csv;
    size_t kept = 0;
    for (size_t row = 0; row < csv->count; row++) {
        in->line = csv->rows[row].line;
        in->report.rows++;
        if (check_row(in, table, row, err)) {
            if (import_leave(in, 1, err))
                return -1;
            continue;
        }
        csv->rows[kept++] = csv->rows[row];
    }
    csv->count = kept;
    return 0;
}

static void count_row(struct import *in, const struct measurement *m)
{
    in->report.samples += m->count;
    in->report.failures += m->count == 0;
}

static int import_run(struct import *in, const struct sample_table *table, size_t from, size_t to,
                      struct error *err)
{
    in->line = table->csv.rows[from].line;
    if (begin_run(in, table, from, to, err))
        return -1;
    for (size_t row = from; row < to; row++) {
        struct result result = {0};
        in->line = table->csv.rows[row].line;
        if (read_row(&result, in, table, row, err))
            return -1;
        count_row(in, is_base(table, row) ? &result.base : &result.head);
        if (row + 1 < to && same_series(table, row, row + 1)) {
            in->line = table->csv.rows[++row].line;
            if (read_row(&result, in, table, row, err))
                return -1;
            count_row(in, is_base(table, row) ? &result.base : &result.head);
        }
        if (import_result(in, &result, err))
            return -1;
    }
    return import_end(in, err);
}

static int import_csv(struct import *in, const struct import_file *file, struct error *err)
{
    struct sample_table table = {0};
    if (import_table(&table.csv, in, file->text, file->length, err))
        return -1;
    int status = find_columns(&table, in->name, err);
    if (status == 0)
        status = check_rows(in, &table, err);
    for (size_t from = 0, to; status == 0 && from < table.csv.count; from = to) {
        for (to = from + 1; to < table.csv.count && same_run(&table, from, to);)
            to++;
        status = import_run(in, &table, from, to, err);
    }
    csv_free(&table.csv);
    return status;
}

// Accepts every table; its columns are only looked for when it is read.
static bool is_csv(const struct import_file *file)
{
    size_t length;
    return import_header(&length, file) != NULL;
}

const struct importer importer_csv = {"csv", is_csv, import_csv, NULL};
