// SPDX-License-Identifier: Apache-2.0
//
// Rows of devices, commits, kernels and the like: each is looked up by its content and added when
// it is missing. Rows that are read back are checked as if a stranger had written them.

#include "baselines/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int content_commit(int64_t *key, struct store *store, const struct commit *commit,
                   struct error *err)
{
    if (!commit->id[0]) {
        *key = 0;
        return 0;
    }
    if (statement_get(key, store, err, SQL_FIND_COMMIT, CELLS(TEXT(commit->id))))
        return -1;
    if (*key)
        return 0;
    if (fields_run(store, SQL_ADD_COMMIT,
                   CELLS(TEXT(commit->parent), INT(commit->time_s), INT(commit->after_s)),
                   &commit_fields, commit, err))
        return -1;
    *key = sqlite3_last_insert_rowid(store->db);
    // Its children may be stored already, placed by their own times only.
    return statement_run(store, err, SQL_ORDER_CHILDREN, CELLS(TEXT(commit->id)));
}

int content_device(int64_t *key, struct store *store, const struct device *device,
                   struct error *err)
{
    if (statement_get(key, store, err, SQL_FIND_DEVICE, CELLS(TEXT(device->uuid))))
        return -1;
    if (*key)
        return 0;
    if (fields_run(store, SQL_ADD_DEVICE, NULL, 0, &device_fields, device, err))
        return -1;
    *key = sqlite3_last_insert_rowid(store->db);
    return 0;
}

int content_kernel(int64_t *key, struct store *store, const char *name, struct error *err)
{
    return statement_key_of(key, store, err, SQL_FIND_KERNEL, 1, SQL_ADD_KERNEL, CELLS(TEXT(name)));
}

void content_write_traits(struct json *json, const char *name, const struct traits *traits)
{
    json_begin(json, name, '{');
    json_text(json, "in", dtype_name(traits->in));
    json_text(json, "out", dtype_name(traits->out));
    json_text(json, "acc", dtype_name(traits->acc));
#define X(name)                                                                                    \
    if (traits->name)                                                                              \
        json_int(json, #name, traits->name);
    TRAITS(X)
#undef X
    json_end(json, '}');
}

void content_write_parts(struct json *json, const char *name, const struct prediction *prediction)
{
    json_begin(json, name, '[');
    for (size_t i = 0; i < prediction->part_count; i++) {
        json_begin(json, NULL, '[');
        json_text(json, NULL, prediction->parts[i].name);
        json_number(json, NULL, prediction->parts[i].time_ns);
        json_end(json, ']');
    }
    json_end(json, ']');
}

static char *traits_json(const struct traits *traits)
{
    struct buffer text = {0};
    content_write_traits(&(struct json){.out = &text}, NULL, traits);
    return text.bytes;
}

int content_code(int64_t *key, struct store *store, int64_t kernel, const char *code,
                 const struct traits *traits, struct error *err)
{
    if (!code[0]) {
        *key = 0;
        return 0;
    }
    char *json = traits ? traits_json(traits) : xstrdup("{}");
    const struct cell cells[] = {INT(kernel), TEXT(code), TEXT(json)};
    int64_t found = 0;
    int status = statement_get(&found, store, err, SQL_FIND_CODE, cells, 2);
    // If traits are given, an existing row may still lack them; ADD_CODE adds them.
    if (status == 0 && (!found || traits))
        status = statement_run(store, err, SQL_ADD_CODE, cells, ARRAY_COUNT(cells));
    if (status == 0 && !found)
        found = sqlite3_last_insert_rowid(store->db);
    free(json);
    if (status == 0)
        *key = found;
    return status;
}

int content_series(int64_t *key, struct store *store, const struct series *series, int64_t kernel,
                   struct error *err)
{
    char text[PROBLEM_TEXT];
    int64_t problem, device;
    problem_format(text, series->problem);
    if (statement_key_of(&problem, store, err, SQL_FIND_PROBLEM, 1, SQL_ADD_PROBLEM,
                         CELLS(TEXT(text))) ||
        statement_get(&device, store, err, SQL_FIND_DEVICE, CELLS(TEXT(series->device_uuid))))
        return -1;
    return statement_key_of(key, store, err, SQL_FIND_SERIES, 3, SQL_ADD_SERIES,
                            CELLS(INT(kernel), INT(problem), KEY(device)));
}

int content_find_series(int64_t *key, struct store *store, const struct series *series,
                        struct error *err)
{
    char text[PROBLEM_TEXT];
    problem_format(text, series->problem);
    return statement_get(key, store, err, SQL_FIND_SERIES_NAMED,
                         CELLS(TEXT(series->kernel), TEXT(text), TEXT(series->device_uuid)));
}

int content_load_commit(struct commit *out, struct store *store, int64_t key, struct arena *arena,
                        struct error *err)
{
    struct commit commit = {.summary = "", .author = ""};
    if (key) {
        sqlite3_stmt *row = statement_bind(store, SQL_LOAD_COMMIT, CELLS(INT(key)));
        int status = statement_step(store, row, err);
        if (status <= 0)
            return status < 0 ? -1 : store_damaged(store, "a commit is missing", err);
        status = fields_load(&commit, &commit_fields, store, row, 1, arena, err);
        sqlite3_reset(row);
        if (status)
            return -1;
    }
    *out = commit;
    return 0;
}

static void set_trait(struct traits *traits, const char *key, sqlite3_stmt *row)
{
    const char *text = (const char *)sqlite3_column_text(row, 1);
    int64_t value = row_int(row, 1);
    // A type or trait that this version does not know stays "unknown".
    if (strcmp(key, "in") == 0)
        dtype_parse(&traits->in, text);
    else if (strcmp(key, "out") == 0)
        dtype_parse(&traits->out, text);
    else if (strcmp(key, "acc") == 0)
        dtype_parse(&traits->acc, text);
#define X(name)                                                                                    \
    else if (strcmp(key, #name) == 0 && value >= INT32_MIN && value <= INT32_MAX) traits->name =   \
        (int32_t)value;
    TRAITS(X)
#undef X
}

int content_load_traits(struct traits *out, struct store *store, const char *json,
                        struct error *err)
{
    struct traits traits = {0};
    sqlite3_stmt *row = statement_bind(store, SQL_READ_TRAITS, CELLS(TEXT(json)));
    int status;
    while ((status = statement_step(store, row, err)) > 0) {
        const char *key = (const char *)sqlite3_column_text(row, 0);
        if (key && sqlite3_column_text(row, 1))
            set_trait(&traits, key, row);
    }
    if (status == 0)
        *out = traits;
    return status;
}

char *content_json_list(size_t count, const char *(*get)(const void *list, size_t index),
                        const void *list)
{
    struct buffer text = {0};
    struct json json = {.out = &text};
    json_begin(&json, NULL, '[');
    for (size_t i = 0; i < count; i++)
        json_text(&json, NULL, get(list, i));
    json_end(&json, ']');
    return text.bytes;
}
