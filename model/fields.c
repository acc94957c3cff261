// SPDX-License-Identifier: Apache-2.0
//
// The tables of fields as data, and what is written from them.
#include "model/fields.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char *run_kind_word(int kind)
{
    return kind < RUN_KINDS ? run_kind_name((enum run_kind)kind) : NULL;
}

#define F(...) FIELD_ITEM(commit, __VA_ARGS__)
STORED_FIELDS(commit, "commits", COMMIT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(device, __VA_ARGS__)
STORED_FIELDS(device, "devices", DEVICE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(device, __VA_ARGS__)
STORED_FIELDS(run_device, "run_devices", RUN_DEVICE_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(run, __VA_ARGS__)
STORED_FIELDS(run, "runs", RUN_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(run, __VA_ARGS__)
STORED_FIELDS(run_toolchain, "runs", RUN_TOOLCHAIN_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(run, __VA_ARGS__)
STORED_FIELDS(run_end, "runs", RUN_END_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(result, __VA_ARGS__)
STORED_FIELDS(result, "results", RESULT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(measurement, __VA_ARGS__)
STORED_FIELDS(measurement, "measurements", MEASUREMENT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(prediction, __VA_ARGS__)
STORED_FIELDS(prediction, "predictions", PREDICTION_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(verdict, __VA_ARGS__)
STORED_FIELDS(verdict, "verdicts", VERDICT_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(study_result, __VA_ARGS__)
STORED_FIELDS(study, "studies", STUDY_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(metric_result, __VA_ARGS__)
STORED_FIELDS(metric, "metrics", METRIC_FIELDS(F));
#undef F
#define F(...) FIELD_ITEM(self_test, __VA_ARGS__)
STORED_FIELDS(self_test, "self_tests", SELF_TEST_FIELDS(F));
#undef F

bool field_is_word(enum field_type type)
{
    return type >= FIELD_KIND;
}

static const char *field_word(const struct stored_field *field, int value)
{
    switch (field->type) {
    case FIELD_WORD:
        return field->word(value);
    case FIELD_KIND:
        return verdict_kind_name((enum verdict_kind)value);
    case FIELD_CAUSE:
        return cause_name((enum cause)value);
    case FIELD_BOUND:
        return bound_name((enum bound)value);
    default:
        return measurement_state_name((enum measurement_state)value);
    }
}

int field_word_parse(const struct stored_field *field, const char *name)
{
    const enum field_type type = field->type;
    const int count = type == FIELD_KIND    ? VERDICT_KINDS
                      : type == FIELD_CAUSE ? CAUSES
                      : type == FIELD_BOUND ? BOUNDS
                      : type == FIELD_STATE ? MEASUREMENT_STATES
                                            : INT_MAX;
    for (int value = 0; value < count; value++) {
        const char *word = field_word(field, value);
        if (!word)
            return -1;
        if (strcmp(word, name) == 0)
            return value;
    }
    return -1;
}

bool field_is_number(enum field_type type)
{
    return type <= FIELD_SET && type != FIELD_SEED;
}

double field_number(const struct stored_field *field, const void *thing)
{
    const void *at = (const char *)thing + field->offset;
    switch (field->type) {
    case FIELD_COUNT:
        return *(const uint32_t *)at;
    case FIELD_SIZE:
        return *(const size_t *)at == SIZE_MAX ? NAN : (double)*(const size_t *)at;
    case FIELD_TIME:
        return (double)*(const int64_t *)at;
    case FIELD_FLAG:
    case FIELD_SET:
        return *(const bool *)at;
    case FIELD_ABOVE:
        return *(const double *)at > 0 ? *(const double *)at : NAN;
    default:
        return *(const double *)at;
    }
}

const char *field_text(const struct stored_field *field, const void *thing)
{
    const void *at = (const char *)thing + field->offset;
    if (field->type == FIELD_ID)
        return at;
    return field_is_word(field->type) ? field_word(field, *(const int *)at)
                                      : *(const char *const *)at;
}

void field_json(struct json *json, const struct stored_field *field, const void *thing,
                field_text_writer *text)
{
    char seed[24];
    const void *at = (const char *)thing + field->offset;
    switch (field->type) {
    case FIELD_COUNT:
        json_int(json, field->name, *(const uint32_t *)at);
        break;
    case FIELD_TIME:
        json_int(json, field->name, *(const int64_t *)at);
        break;
    case FIELD_SIZE:
    case FIELD_FLAG:
        json_bool(json, field->name, *(const bool *)at);
        break;
    case FIELD_SET:
        if (*(const bool *)at)
            json_bool(json, field->name, true);
        break;
    case FIELD_RARE:
        if (field_text(field, thing))
            text(json, field->name, field_text(field, thing));
        break;
    case FIELD_SEED: // JSON readers may not keep all 64 bits of a number
        snprintf(seed, sizeof(seed), "%" PRIu64, *(const uint64_t *)at);
        json_text(json, field->name, seed);
        break;
    case FIELD_REAL:
    case FIELD_LOG:
    case FIELD_ZERO:
    case FIELD_ABOVE:
        json_number(json, field->name, field_number(field, thing));
        break;
    default:
        // A missing note is written as null, whatever `text` would write.
        (field_text(field, thing) ? text : json_text)(json, field->name, field_text(field, thing));
        break;
    }
}

bool field_named(const struct stored_field *field, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(field->name, names[i]) == 0)
            return true;
    }
    return false;
}

void fields_json(struct json *json, const struct stored_fields *fields, const void *thing,
                 field_text_writer *text)
{
    for (size_t i = 0; i < fields->count; i++)
        field_json(json, &fields->items[i], thing, text);
}

void field_csv(struct csv_line *line, const struct stored_field *field, const void *thing,
               field_cell_writer *text)
{
    if (field_is_number(field->type))
        csv_real(line, field_number(field, thing));
    else
        text(line, field_text(field, thing));
}

void metric_csv(struct csv_line *line, const struct metric_result *metric, field_cell_writer *text)
{
    for (size_t i = 0; i < metric_fields.count; i++) {
        const struct stored_field *field = &metric_fields.items[i];
        const bool kind = field->type == FIELD_KIND;
        if (!metric)
            csv_text(line, kind ? "verdict" : field->name);
        else if (kind)
            csv_text(line, metric_word(metric->kind));
        else
            field_csv(line, field, metric, text);
    }
}
