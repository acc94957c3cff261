// SPDX-License-Identifier: Apache-2.0
//
// One table says which column holds what, beside the ranges of the fields (fields.h); NULL is in
// range where the schema allows it. What was concluded has none: errors, evidence and the ends of
// intervals may be infinite.
#include "baselines/range.h"

#include "baselines/fields.h"
#include "baselines/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_TEXT = 256 };

// Width of the UTF-8 character at `at`, 0 when it is none or a control character.
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
    A_KERNEL,   // its name
    A_DEVICE,   // its id or name
    A_WORD,     // an object id, or one of this program's own words; may be empty
    A_UID,      // of a run
    A_PROBLEM,  // that problem_parse() reads
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
    {"profiles", "measured_s", A_TIME, NULL},
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
        return false; // damaged, or a NUL within
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

static bool fits(sqlite3_stmt *row, const struct ranged_column *column)
{
    const double real = sqlite3_column_double(row, 0);
    const int64_t whole = sqlite3_column_int64(row, 0);
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
        return text_fits(column->rule, (const char *)sqlite3_column_text(row, 0),
                         (size_t)sqlite3_column_bytes(row, 0));
    }
}

static int check_column(struct store *store, const char *schema, const struct ranged_column *column,
                        struct error *err)
{
    char *sql = xprintf("SELECT %s FROM %s.%s WHERE %s IS NOT NULL", column->name, schema,
                        column->table, column->name);
    sqlite3_stmt *row = NULL;
    int status = 0, code = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW) {
        if (fits(row, column))
            continue;
        const char *text = (const char *)sqlite3_column_text(row, 0);
        status = error_set(err, "%s.%s = %.60s is out of range", column->table, column->name,
                           text ? text : "");
    }
    if (status == 0 && code != SQLITE_DONE)
        status = store_fail(store, err);
    sqlite3_finalize(row);
    free(sql);
    return status;
}

static int check_fields(struct store *store, const char *schema, const struct stored_fields *fields,
                        struct error *err)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct stored_field *f = &fields->items[i];
        const bool word = f->type == FIELD_ID;
        const struct ranged_column column = {fields->table, f->column, word ? A_WORD : A_FIELD, f};
        const bool bounded = isfinite(f->range.low) || isfinite(f->range.high);
        if ((word || bounded) && check_column(store, schema, &column, err))
            return -1;
    }
    return 0;
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
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++) {
        if (check_column(store, schema, &columns[i], err))
            return -1;
    }
    const struct stored_fields *const *all;
    const size_t things = fields_all(&all);
    for (size_t i = 0; i < things; i++) {
        if (check_fields(store, schema, all[i], err))
            return -1;
    }
    return check_samples(store, schema, err);
}
