// SPDX-License-Identifier: Apache-2.0
//
// Reads what stands behind a plan's keys: formulas and lists of them, places in memory, and values
// of parameters. What has a name is found by it.
#include "model/plan/plan_read.h"

#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

// What the formula says of itself follows file, line and key.
static int place_error(const struct plan_reader *r, const struct error *why)
{
    return plan_refuse(r, "%.600s", why->text);
}

int plan_read_formula(struct plan_formula *out, const struct plan_reader *r, const char *text)
{
    struct error why;
    if (expression_parse(&out->value, text, &r->names, &r->plan->arena, &why))
        return place_error(r, &why);
    out->line = r->entry->line;
    return 0;
}

int plan_read_list(struct plan_formula *out, size_t most, const struct plan_reader *r)
{
    const struct expression *found[RECORD_MAP_DIMS];
    struct error why;
    size_t count = 0;
    if (expression_parse_list(found, &count, most, plan_text(r), &r->names, &r->plan->arena, &why))
        return place_error(r, &why);
    for (size_t i = 0; i < count; i++)
        out[i] = (struct plan_formula){found[i], r->entry->line};
    return 0;
}

// The word that `text` begins with, cut off from it: *rest points behind it and the blanks.
static bool first_word(char out[RECORD_NAME], const char **rest, const char *text)
{
    const size_t length = strspn(text, letters);
    if (!length || length >= RECORD_NAME)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    *rest = text + length + strspn(text + length, " \t");
    return true;
}

int plan_read_place(struct plan_place *out, const struct plan_reader *r, const char *text)
{
    struct plan_place place = {.kind = PLAN_NULL};
    char name[RECORD_NAME];
    const char *rest;
    if (!first_word(name, &rest, text))
        return plan_refuse(r, "'%.60s' begins with no place", text);
    if (strcmp(name, "null") == 0) {
        *out = place;
        return *rest ? plan_refuse(r, "'%.60s' behind null", rest) : 0;
    }
    place.kind = PLAN_SCRATCH;
    while (place.scratch < r->plan->scratch_count &&
           strcmp(r->plan->scratches[place.scratch].name, name) != 0)
        place.scratch++;
    if (place.scratch == r->plan->scratch_count) {
        place.kind = PLAN_BUFFER;
        if (record_buffer_parse(&place.buffer, name) || place.buffer == RECORD_WORKSPACE ||
            record_buffer_is_form(place.buffer))
            return plan_refuse(r, "%s is neither a, b, c, scale_a, scale_b, null nor a [scratch]",
                               name);
    }
    if (*rest && *rest != '+')
        return plan_refuse(r, "'%.60s': after a place stands + and a number of bytes", rest);
    if (*rest && plan_read_formula(&place.offset, r, rest + 1))
        return -1;
    *out = place;
    return 0;
}

static int find_map(size_t *out, const struct plan_reader *r, const char *name)
{
    for (size_t i = 0; i < r->plan->map_count; i++) {
        if (strcmp(r->plan->maps[i].name, name) == 0) {
            *out = i;
            return 0;
        }
    }
    return plan_refuse(r, "there is no [tensormap \"%.60s\"]", name);
}

int plan_read_value(struct plan_value *out, uint32_t parameter, const struct plan_reader *r)
{
    static const struct {
        const char *name;
        enum plan_type type;
    } types[] = {{"pointer", PLAN_POINTER}, {"int8", PLAN_INT8},          {"int16", PLAN_INT16},
                 {"int32", PLAN_INT32},     {"int64", PLAN_INT64},        {"float", PLAN_FLOAT},
                 {"double", PLAN_DOUBLE},   {"tensormap", PLAN_TENSORMAP}};
    struct plan_value value = {.line = r->entry->line, .parameter = parameter};
    char word[RECORD_NAME] = "";
    const char *rest = "";
    size_t type = 0;
    first_word(word, &rest, plan_text(r));
    while (type < ARRAY_COUNT(types) && strcmp(types[type].name, word) != 0)
        type++;
    if (type == ARRAY_COUNT(types))
        return plan_refuse(r,
                           "'%.60s' is not pointer, int8, int16, int32, int64, float, double or "
                           "tensormap and what it is",
                           plan_text(r));
    value.type = types[type].type;
    int status;
    switch (value.type) {
    case PLAN_POINTER:
        status = plan_read_place(&value.place, r, rest);
        break;
    case PLAN_FLOAT:
    case PLAN_DOUBLE:
        status = parse_double(&value.real, rest) ? plan_refuse(r, "'%.60s' is no number", rest) : 0;
        break;
    case PLAN_TENSORMAP:
        status = find_map(&value.map, r, rest);
        break;
    default:
        status = plan_read_formula(&value.number, r, rest);
    }
    if (status == 0)
        *out = value;
    return status;
}
