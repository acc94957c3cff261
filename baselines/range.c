// SPDX-License-Identifier: Apache-2.0
//
// One table says which column holds what; NULL is in range where the schema allows it. What was
// concluded has none: errors, evidence and the ends of intervals may be infinite.
#include "baselines/range.h"
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
    A_SPAN,     // the same, or 0 where there is none
    A_CLOCK,    // Hz
    A_COUNT,    // 0 to UINT32_MAX
    A_NUMBER    // finite
};

static const struct column {
    const char *table, *name;
    enum rule rule;
} columns[] = {
    {"commits", "commit_id", A_WORD},
    {"commits", "tree_id", A_WORD},
    {"commits", "parent_id", A_WORD},
    {"commits", "time_s", A_TIME},
    {"commits", "order_s", A_TIME},
    {"devices", "uuid", A_DEVICE},
    {"devices", "kind", A_WORD},
    {"problems", "problem", A_PROBLEM},
    {"kernels", "name", A_KERNEL},
    {"codes", "code_id", A_WORD},
    {"runs", "uid", A_UID},
    {"runs", "started_s", A_TIME},
    {"runs", "finished_s", A_TIME},
    {"run_devices", "position", A_COUNT},
    {"measurements", "commit_s", A_TIME},
    {"measurements", "time_ns", A_DURATION},
    {"measurements", "clock_hz", A_CLOCK},
    {"measurements", "samples", A_COUNT},
    {"results", "pairs", A_COUNT},
    {"self_tests", "series", A_COUNT},
    {"self_tests", "alarms", A_COUNT},
    {"profiles", "measured_s", A_TIME},
    {"figures", "value", A_NUMBER},
    {"epochs", "when_s", A_TIME},
    {"epochs", "level", A_NUMBER},
    {"predictions", "made_s", A_TIME},
    {"predictions", "time_ns", A_SPAN},
    {"predictions", "clock_hz", A_CLOCK},
    {"verdicts", "made_s", A_TIME},
    {"verdicts", "pairs", A_COUNT},
    {"verdicts", "processes", A_COUNT},
    {"studies", "gates", A_COUNT},
    {"studies", "time_ns", A_SPAN},
    {"links", "uid", A_UID},
    {"links", "made_s", A_TIME},
    {"device_entries", "when_s", A_TIME},
    {"events", "name", A_WORD},
    {"events", "culprit", A_WORD},
    {"event_changes", "first_id", A_WORD},
    {"event_changes", "last_id", A_WORD},
    {"event_entries", "when_s", A_TIME},
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

static bool fits(sqlite3_stmt *row, enum rule rule)
{
    const double real = sqlite3_column_double(row, 0);
    const int64_t whole = sqlite3_column_int64(row, 0);
    switch (rule) {
    case A_TIME:
        return range_is_time(whole);
    case A_COUNT:
        return whole >= 0 && whole <= UINT32_MAX;
    case A_DURATION:
        return real > 0 && real <= SAMPLE_TIME_NS;
    case A_SPAN:
        return real >= 0 && real <= SAMPLE_TIME_NS;
    case A_CLOCK:
        return real >= 0 && real <= SAMPLE_CLOCK_HZ;
    case A_NUMBER:
        return isfinite(real);
    default:
        return text_fits(rule, (const char *)sqlite3_column_text(row, 0),
                         (size_t)sqlite3_column_bytes(row, 0));
    }
}

static int check_column(struct store *store, const char *schema, const struct column *column,
                        struct error *err)
{
    char *sql = xprintf("SELECT %s FROM %s.%s WHERE %s IS NOT NULL", column->name, schema,
                        column->table, column->name);
    sqlite3_stmt *row = NULL;
    int status = 0, code = sqlite3_prepare_v2(store->db, sql, -1, &row, NULL);
    if (code != SQLITE_OK)
        status = store_fail(store, err);
    while (status == 0 && (code = sqlite3_step(row)) == SQLITE_ROW) {
        if (fits(row, column->rule))
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

// Of samples whose measurement says how many there are.
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
    return check_samples(store, schema, err);
}
