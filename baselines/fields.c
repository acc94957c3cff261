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

const struct stored_fields *const all_fields[] = {
    &commit_fields,        &device_fields,     &run_device_fields, &run_fields,
    &run_toolchain_fields, &run_end_fields,    &result_fields,     &measurement_fields,
    &prediction_fields,    &verdict_fields,    &study_fields,      &self_test_fields,
    &link_fields,          &metric_fields,     &build_fields,      &epoch_fields,
    &profile_fields,       &figure_fields,     &unbuilt_fields,    &event_fields,
    &event_change_fields,  &event_entry_fields};
const size_t all_fields_count = ARRAY_COUNT(all_fields);

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

// ---- ranges: the names and times that are accepted from elsewhere ----

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
