// SPDX-License-Identifier: Apache-2.0
//
// Binds what is stored to statements, and reads it from rows and from JSON, by the tables of
// fields. Rows and files are checked as if a stranger had written them.
#include "baselines/fields.h"

#include "baselines/pack.h"
#include "baselines/store.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct stored_fields *const all_fields[] = {
    &commit_fields,        &device_fields,     &run_device_fields, &run_fields,
    &run_toolchain_fields, &run_end_fields,    &result_fields,     &measurement_fields,
    &prediction_fields,    &verdict_fields,    &study_fields,      &self_test_fields,
    &link_fields,          &metric_fields,     &build_fields,      &epoch_fields,
    &profile_fields,       &figure_fields,     &unbuilt_fields,    &event_fields,
    &event_change_fields,  &event_entry_fields};

static struct cell real_cell(double value)
{
    return isnan(value) ? NOTHING : REAL(value);
}

static int field_cell(struct cell *out, struct store *store, const struct stored_field *field,
                      const void *thing, struct error *err)
{
    const void *at = (const char *)thing + field->offset;
    int64_t key = 0;
    switch (field->type) {
    case FIELD_COUNT:
        *out = INT(*(const uint32_t *)at);
        return 0;
    case FIELD_SIZE:
        *out = *(const size_t *)at == SIZE_MAX ? NOTHING : INT(*(const size_t *)at);
        return 0;
    case FIELD_SEED:
        *out = INT(*(const uint64_t *)at);
        return 0;
    case FIELD_TIME:
        *out = INT(*(const int64_t *)at);
        return 0;
    case FIELD_FLAG:
    case FIELD_SET:
        *out = INT(*(const bool *)at);
        return 0;
    case FIELD_SHARED:
    case FIELD_RARE:
        if ((field->type == FIELD_SHARED || field_text(field, thing)) &&
            statement_key_of(&key, store, err, SQL_FIND_TEXT, 1, SQL_ADD_TEXT,
                             CELLS(TEXT(field_text(field, thing)))))
            return -1;
        *out = KEY(key);
        return 0;
    case FIELD_NOTE:
        *out = field_text(field, thing) ? TEXT(field_text(field, thing)) : NOTHING;
        return 0;
    default:
        *out = field_is_number(field->type) ? real_cell(field_number(field, thing))
                                            : TEXT(field_text(field, thing));
        return 0;
    }
}

int fields_cells(struct cell *cells, size_t *count, struct store *store,
                 const struct stored_fields *fields, const void *thing, struct error *err)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (field_cell(&cells[*count + i], store, &fields->items[i], thing, err))
            return -1;
    }
    *count += fields->count;
    return 0;
}

int fields_run(struct store *store, enum statement which, const struct cell *keys, size_t key_count,
               const struct stored_fields *fields, const void *thing, struct error *err)
{
    struct cell cells[FIELD_CELLS];
    size_t count = key_count;
    for (size_t i = 0; i < key_count; i++)
        cells[i] = keys[i];
    return fields_cells(cells, &count, store, fields, thing, err)
               ? -1
               : statement_run(store, err, which, cells, count);
}

// ---- from rows and JSON into the struct ----

static bool in_range(const struct stored_field *field, double value)
{
    return isnan(value) || (value >= field->range.low && value <= field->range.high);
}

// Sets a number; NaN: not known. False: it is out of range.
static bool set_number(void *thing, const struct stored_field *field, double value)
{
    void *at = (char *)thing + field->offset;
    const double known = isnan(value) ? 0 : value;
    if (!in_range(field, value))
        return false;
    switch (field->type) {
    case FIELD_COUNT:
        *(uint32_t *)at = (uint32_t)known;
        return known == (uint32_t)known;
    case FIELD_SIZE:
        *(size_t *)at = isnan(value) || value < 0 ? SIZE_MAX : (size_t)value;
        return !(value < 0);
    case FIELD_TIME:
        *(int64_t *)at = (int64_t)known;
        return true;
    case FIELD_FLAG:
    case FIELD_SET:
        *(bool *)at = known != 0;
        return true;
    case FIELD_ZERO:
        *(double *)at = known;
        return true;
    default:
        *(double *)at = value;
        return true;
    }
}

// Sets a text; NULL: it is missing. `later`: the field is newer than the thing. An older thing
// lacks it, and a word then becomes the first one.
static bool set_text(void *thing, const struct stored_field *field, const char *text, bool later)
{
    void *at = (char *)thing + field->offset;
    if (field->type == FIELD_ID)
        return text_copy(at, field->size, text ? text : "");
    if (!field_is_word(field->type)) {
        const bool none = field->type == FIELD_NOTE || field->type == FIELD_RARE;
        *(const char **)at = text || none ? text : "";
        return true;
    }
    const int value = !text && later ? 0 : field_word_parse(field, text ? text : "");
    if (value >= 0)
        *(int *)at = value;
    return value >= 0;
}

static bool is_later(const struct stored_fields *fields, const struct stored_field *field)
{
    return field->since > fields->items[0].since || field->type == FIELD_BOUND;
}

int fields_load(void *thing, const struct stored_fields *fields, struct store *store,
                sqlite3_stmt *row, int first, struct arena *arena, struct error *err)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *field = &fields->items[i];
        const int column = first + (int)i;
        bool sound = true;
        if (field->type == FIELD_SEED)
            *(uint64_t *)(void *)((char *)thing + field->offset) = (uint64_t)row_int(row, column);
        else if (field_is_number(field->type))
            sound = set_number(thing, field, row_real(row, column));
        else
            sound =
                set_text(thing, field, row_null(row, column) ? NULL : row_text(row, column, arena),
                         is_later(fields, field));
        if (!sound) {
            char what[96];
            snprintf(what, sizeof(what), "%s.%s", fields->table, field->column);
            return store_damaged(store, what, err);
        }
    }
    return 0;
}

static int load_item(void *item, const struct row_list *list, struct error *err)
{
    return fields_load(item, list->given, list->store, list->row, 1, list->arena, err);
}

int fields_list(void *items, size_t *count, size_t size, struct store *store, enum statement which,
                int64_t key, const struct stored_fields *fields, struct arena *arena,
                struct error *err)
{
    struct row_list list = {.store = store,
                            .row = statement_bind(store, which, CELLS(INT(key))),
                            .arena = arena,
                            .given = fields};
    if (statement_list(&list, size, load_item, err))
        return -1;
    *(void **)items = list.items;
    *count = list.count;
    return 0;
}

int fields_replace(struct store *store, enum statement drop, enum statement add, int64_t key,
                   const struct stored_fields *fields, const void *items, size_t count, size_t size,
                   struct error *err)
{
    if (statement_run(store, err, drop, CELLS(INT(key))))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (fields_run(store, add, CELLS(INT(key), INT(i)), fields, (const char *)items + i * size,
                       err))
            return -1;
    }
    return 0;
}

static bool read_seed(uint64_t *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

// Reads a member. False: it exists and does not have the field's type. null counts as missing.
static bool read_field(void *thing, const struct stored_field *field, const struct node *node,
                       bool later, struct arena *arena)
{
    const bool there = node && node->type != NODE_NULL;
    if (field->type == FIELD_SEED) {
        uint64_t *seed = (uint64_t *)(void *)((char *)thing + field->offset);
        *seed = 0;
        return !there || (node->type == NODE_TEXT && read_seed(seed, node->text));
    }
    if (!field_is_number(field->type)) {
        const bool keeps = there && arena && field->type != FIELD_ID && !field_is_word(field->type);
        return (!there || node->type == NODE_TEXT) &&
               set_text(thing, field,
                        keeps   ? arena_strdup(arena, node->text)
                        : there ? node->text
                                : NULL,
                        later);
    }
    if (field->type == FIELD_FLAG || field->type == FIELD_SET)
        return (!there || node->type == NODE_TRUE || node->type == NODE_FALSE) &&
               set_number(thing, field, there && node->type == NODE_TRUE);
    return (!there || node->type == NODE_NUMBER) &&
           set_number(thing, field, there ? node_value(node) : NAN);
}

const struct stored_field *fields_read(void *thing, const struct stored_fields *fields,
                                       const struct node *node, struct arena *arena)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *field = &fields->items[i];
        if (!read_field(thing, field, node_member(node, field->name), is_later(fields, field),
                        arena))
            return field;
    }
    return NULL;
}

const struct stored_field *fields_read_list(void *thing, const struct stored_fields *fields,
                                            const struct node *list, struct arena *arena)
{
    const struct node *at = list && list->type == NODE_ARRAY ? list->children : NULL;
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *field = &fields->items[i];
        if (!read_field(thing, field, at, is_later(fields, field), arena))
            return field;
        at = at ? at->next : NULL;
    }
    return NULL;
}

bool field_read(void *thing, const struct stored_field *field, const char *cell)
{
    double value;
    if (!field_is_number(field->type))
        return set_text(thing, field, cell, false);
    return parse_double(&value, cell) == 0 && set_number(thing, field, value);
}

bool fields_sound(const struct stored_fields *fields, const void *thing)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *field = &fields->items[i];
        const double value = field_is_number(field->type) ? field_number(field, thing) : 0;
        if (isnan(value) || (field_is_number(field->type) && !in_range(field, value)))
            return false;
    }
    return true;
}

// ---- the store's tables and versions ----

static const char *sql_type(enum field_type type)
{
    switch (type) {
    case FIELD_COUNT:
    case FIELD_SIZE:
    case FIELD_SEED:
    case FIELD_TIME:
    case FIELD_FLAG:
    case FIELD_SET:
        return " INTEGER";
    case FIELD_SHARED:
    case FIELD_RARE:
        return "_key INTEGER REFERENCES texts";
    default:
        return field_is_number(type) ? " REAL" : " TEXT";
    }
}

char *fields_migration(int version)
{
    struct buffer sql = {0};
    for (size_t i = 0; i < ARRAY_COUNT(all_fields); i++) {
        const struct stored_fields *fields = all_fields[i];
        for (size_t k = 0; k < fields->count; k++) {
            if (fields->items[k].since == version)
                buffer_printf(&sql, "ALTER TABLE %s ADD COLUMN %s%s;\n", fields->table,
                              fields->items[k].column, sql_type(fields->items[k].type));
        }
    }
    return sql.bytes;
}

int fields_version(void)
{
    int newest = 0;
    for (size_t i = 0; i < ARRAY_COUNT(all_fields); i++) {
        for (size_t k = 0; k < all_fields[i]->count; k++)
            newest =
                all_fields[i]->items[k].since > newest ? all_fields[i]->items[k].since : newest;
    }
    return newest;
}

// ---- ranges: the names, times and sizes that are accepted from elsewhere ----
//
// One table says what each column holds; the tables of fields give the ranges. NULL is in range
// where the schema allows it. Conclusions have no range: errors, evidence and the ends of intervals
// may be infinite.

enum { DEVICE_TEXT = 256 };

// The length of the UTF-8 character at `at`; 0 if it is malformed or a control character.
static size_t character(const unsigned char *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t width = *at < 0x80       ? 1
                         : *at >> 5 == 6  ? 2
                         : *at >> 4 == 14 ? 3
                         : *at >> 3 == 30 ? 4
                                          : 0;
    if (width < 2)
        return width && *at >= 0x20 && *at != 0x7f;
    uint32_t code = *at & (0x7fu >> width);
    for (size_t i = 1; i < width; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    const bool control = code < 0xa0, surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[width] || code > 0x10ffff || control || surrogate ? 0 : width;
}

bool range_is_name(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const size_t width = character(at);
        if (!width)
            return false;
        at += width;
    }
    const size_t length = (size_t)((const char *)at - text);
    return length > 0 && length < size;
}

bool range_is_time(int64_t time_s)
{
    return time_s >= OLDEST_TIME_S && time_s <= LATEST_TIME_S;
}

enum rule {
    A_KERNEL,   // a kernel's name
    A_DEVICE,   // a device's id or name
    A_WORD,     // an object id, or one of this program's own words; may be empty
    A_UID,      // a run's uid
    A_PROBLEM,  // a problem that problem_parse() accepts
    A_TIME,     // seconds since 1970
    A_DURATION, // nanoseconds above 0
    A_CLOCK,    // Hz
    A_COUNT,    // 0 to UINT32_MAX
    A_NUMBER,   // finite
    A_FIELD     // within the range of its field
};

struct ranged_column {
    const char *table, *name;
    enum rule rule;
    const struct stored_field *field;
};

static const struct ranged_column columns[] = {
    {"commits", "order_s", A_TIME, NULL},
    {"devices", "uuid", A_DEVICE, NULL},
    {"devices", "kind", A_WORD, NULL},
    {"problems", "problem", A_PROBLEM, NULL},
    {"kernels", "name", A_KERNEL, NULL},
    {"codes", "code_id", A_WORD, NULL},
    {"runs", "uid", A_UID, NULL},
    {"run_devices", "position", A_COUNT, NULL},
    {"measurements", "commit_s", A_TIME, NULL},
    {"measurements", "time_ns", A_DURATION, NULL},
    {"measurements", "clock_hz", A_CLOCK, NULL},
    {"measurements", "samples", A_COUNT, NULL},
    {"results", "pairs", A_COUNT, NULL},
    {"figures", "value", A_NUMBER, NULL},
    {"epochs", "level", A_NUMBER, NULL},
    {"predictions", "made_s", A_TIME, NULL},
    {"verdicts", "made_s", A_TIME, NULL},
    {"links", "uid", A_UID, NULL},
    {"device_entries", "when_s", A_TIME, NULL},
};

static bool is_word(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    }
    return strlen(text) < OBJECT_ID_TEXT;
}

static bool is_problem(const char *text)
{
    struct problem problem;
    struct error ignored;
    return problem_parse(&problem, text, &ignored) == 0;
}

static bool text_fits(enum rule rule, const char *text, size_t bytes)
{
    if (!text || strlen(text) != bytes)
        return false; // it is damaged, or contains a NUL
    switch (rule) {
    case A_KERNEL:
        return range_is_name(text, KERNEL_NAME_TEXT);
    case A_DEVICE:
        return range_is_name(text, DEVICE_TEXT);
    case A_UID:
        return bytes == STORE_UID_TEXT - 1 && strspn(text, "0123456789abcdef") == bytes;
    case A_PROBLEM:
        return is_problem(text);
    default:
        return is_word(text);
    }
}

static bool fits(sqlite3_stmt *row, int at, const struct ranged_column *column)
{
    const double real = sqlite3_column_double(row, at);
    const int64_t whole = sqlite3_column_int64(row, at);
    switch (column->rule) {
    case A_FIELD:
        return real >= column->field->range.low && real <= column->field->range.high;
    case A_TIME:
        return range_is_time(whole);
    case A_COUNT:
        return whole >= 0 && whole <= UINT32_MAX;
    case A_DURATION:
        return real > 0 && real <= SAMPLE_TIME_NS;
    case A_CLOCK:
        return real >= 0 && real <= SAMPLE_CLOCK_HZ;
    case A_NUMBER:
        return isfinite(real);
    default:
        return text_fits(column->rule, (const char *)sqlite3_column_text(row, at),
                         (size_t)sqlite3_column_bytes(row, at));
    }
}

static int check_row(sqlite3_stmt *row, const struct ranged_column *of, size_t count,
                     struct error *err)
{
    for (int i = 0; i < (int)count; i++) {
        if (sqlite3_column_type(row, i) == SQLITE_NULL || fits(row, i, &of[i]))
            continue;
        const char *text = (const char *)sqlite3_column_text(row, i);
        return error_set(err, "%s.%s = %.60s is out of range", of[i].table, of[i].name,
                         text ? text : "");
    }
    return 0;
}

// Checks the columns of one table.
static int check_table(struct store *store, const char *schema, const struct ranged_column *of,
                       size_t count, struct error *err)
{
    struct buffer sql = {0};
    sqlite3_stmt *row = NULL;
    for (size_t i = 0; i < count; i++)
        buffer_printf(&sql, "%s%s", i ? ", " : "SELECT ", of[i].name);
    buffer_printf(&sql, " FROM %s.%s", schema, of->table);
    int status = 0, code = sqlite3_prepare_v2(store->db, sql.bytes, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW)
        status = check_row(row, of, count, err);
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    buffer_free(&sql);
    return status;
}

static int check_fields(struct store *store, const char *schema, const struct stored_fields *fields,
                        struct error *err)
{
    struct ranged_column of[FIELDS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *f = &fields->items[i];
        const bool word = f->type == FIELD_ID;
        const bool bounded = isfinite(f->range.low) || isfinite(f->range.high);
        if (word || bounded)
            of[count++] =
                (struct ranged_column){fields->table, f->column, word ? A_WORD : A_FIELD, f};
    }
    return count ? check_table(store, schema, of, count, err) : 0;
}

// Whether times and clocks of all samples are in range.
static bool samples_fit(const struct sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!(samples[i].time_ns > 0 && samples[i].time_ns <= SAMPLE_TIME_NS &&
              samples[i].clock_hz >= 0 && samples[i].clock_hz <= SAMPLE_CLOCK_HZ))
            return false;
    }
    return true;
}

static int check_samples(struct store *store, const char *schema, struct error *err)
{
    char *sql = xprintf("SELECT s.packed, m.samples FROM %s.samples s "
                        "JOIN %s.measurements m ON m.measurement_key = s.measurement_key",
                        schema, schema);
    sqlite3_stmt *row = NULL;
    int status = 0, code = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW) {
        struct arena arena = {0};
        struct sample *samples;
        size_t count;
        status = unpack_samples(&samples, &count, sqlite3_column_blob(row, 0),
                                (size_t)sqlite3_column_bytes(row, 0), &arena, err);
        if (status == 0 &&
            ((int64_t)count != sqlite3_column_int64(row, 1) || !samples_fit(samples, count)))
            status = error_set(err, "samples.packed: a sample is out of range, or their number is");
        arena_free(&arena);
    }
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    free(sql);
    return status;
}

int range_check(struct store *store, const char *schema, struct error *err)
{
    for (size_t i = 0, count; i < ARRAY_COUNT(columns); i += count) {
        count = 1;
        while (i + count < ARRAY_COUNT(columns) &&
               strcmp(columns[i].table, columns[i + count].table) == 0)
            count++;
        if (check_table(store, schema, &columns[i], count, err))
            return -1;
    }
    for (size_t i = 0; i < ARRAY_COUNT(all_fields); i++) {
        if (check_fields(store, schema, all_fields[i], err))
            return -1;
    }
    return check_samples(store, schema, err);
}
