// SPDX-License-Identifier: Apache-2.0
//
// What is stored, by its tables of fields: bound to statements, read from rows and from JSON. A row
// and a file are checked as if a stranger had written them.
#include "baselines/fields.h"

#include "baselines/event.h"
#include "baselines/link.h"
#include "baselines/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct stored_fields *const all_fields[] = {
    &commit_fields,        &device_fields,     &run_device_fields,  &run_fields,
    &run_toolchain_fields, &run_end_fields,    &measurement_fields, &prediction_fields,
    &verdict_fields,       &study_fields,      &self_test_fields,   &link_fields,
    &metric_fields,        &build_fields,      &epoch_fields,       &event_fields,
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

// ---- rows and JSON into the struct ----

static bool in_range(const struct stored_field *field, double value)
{
    return isnan(value) || (value >= field->range.low && value <= field->range.high);
}

// NaN: not known. False: out of range.
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

// `text` NULL: it is missing. `later`: the field is newer than the thing, so that what is older
// lacks it, and a word is then the first one.
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

static bool read_seed(uint64_t *out, const char *text)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

// Whether a member that is there has the type that the field wants. What is null counts as missing.
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

size_t fields_all(const struct stored_fields *const **out)
{
    *out = all_fields;
    return ARRAY_COUNT(all_fields);
}

static const char *sql_type(enum field_type type)
{
    switch (type) {
    case FIELD_COUNT:
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
