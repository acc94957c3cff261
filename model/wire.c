// SPDX-License-Identifier: Apache-2.0
//
// Lines of the protocol between `plumb` and `bench`, written and read. Who says what, and when, is
// in runner/bench/measure.c and kernels/bench/bench.c.
#include "model/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool must_encode(unsigned char c)
{
    return c < 0x20 || c == 0x7f || c == '%';
}

// Appends one field whole or not at all.
static void add_field(struct wire_line *line, const char *key, const char *value)
{
    static const char hex[] = "0123456789abcdef";
    size_t start = line->used, at = start;
    const size_t room = sizeof(line->text) - 2; // '\n' and NUL
    int head = snprintf(line->text + at, room - at, "\t%s=", key);
    if (line->overflow || head < 0 || (size_t)head >= room - at)
        goto overflow;
    at += (size_t)head;
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (room - at < 4)
            goto overflow;
        if (must_encode(*c)) {
            line->text[at++] = '%';
            line->text[at++] = hex[*c >> 4];
            line->text[at++] = hex[*c & 15];
        } else {
            line->text[at++] = (char)*c;
        }
    }
    line->used = at;
    return;
overflow:
    line->overflow = true;
    line->used = start;
}

void wire_begin(struct wire_line *line, const char *name)
{
    line->overflow = false;
    line->used = (size_t)snprintf(line->text, sizeof(line->text) / 2, "%s", name);
}

void wire_add_text(struct wire_line *line, const char *key, const char *value)
{
    add_field(line, key, value);
}

void wire_add_int(struct wire_line *line, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRId64, value);
    add_field(line, key, text);
}

void wire_add_double(struct wire_line *line, const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof(text), "%.17g", value);
    add_field(line, key, text);
}

void wire_add_traits(struct wire_line *line, const struct traits *traits)
{
    wire_add_text(line, "in", dtype_name(traits->in));
    wire_add_text(line, "out", dtype_name(traits->out));
    wire_add_text(line, "acc", dtype_name(traits->acc));
#define X(name) wire_add_int(line, #name, traits->name);
    TRAITS(X)
#undef X
}

void wire_add_sample(struct wire_line *line, const struct sample *s)
{
    wire_add_text(line, "role", s->role == ROLE_BASE ? "base" : "head");
    wire_add_int(line, "pair", s->pair);
    wire_add_int(line, "block", s->block);
    wire_add_int(line, "order", s->order);
    wire_add_int(line, "launches", s->launches);
    wire_add_double(line, "time_ns", s->time_ns);
    wire_add_double(line, "clock_hz", s->clock_hz);
    wire_add_int(line, "throttle", s->throttle);
    wire_add_int(line, "temperature_c", s->temperature_c);
    wire_add_int(line, "power_mw", s->power_mw);
}

const char *wire_end(struct wire_line *line)
{
    line->text[line->used] = '\n';
    line->text[line->used + 1] = '\0';
    return line->text;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

// In place; -1 on a bad escape or an encoded NUL, which would cut the value short.
static int decode(char *value)
{
    char *to = value;
    for (const char *from = value; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hex_digit(from[1]);
        int low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0 || (high == 0 && low == 0))
            return -1;
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return 0;
}

int wire_parse(struct wire_record *out, char *line, struct error *err)
{
    struct wire_record record = {.name = line};
    line[strcspn(line, "\r\n")] = '\0';
    char *at = strchr(line, '\t');
    if (at)
        *at++ = '\0';
    if (!*line || strspn(line, "abcdefghijklmnopqrstuvwxyz") != strlen(line))
        return error_set(err, "bench: '%.40s' is not a record name", line);
    while (at) {
        char *key = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
        char *value = strchr(key, '=');
        if (!value || value == key)
            return error_set(err, "bench: %s: '%.40s' is not key=value", record.name, key);
        *value++ = '\0';
        if (record.count == WIRE_FIELDS)
            return error_set(err, "bench: %s: more than %d fields", record.name, WIRE_FIELDS);
        if (decode(value))
            return error_set(err, "bench: %s: %s: bad escape", record.name, key);
        record.fields[record.count].key = key;
        record.fields[record.count++].value = value;
    }
    *out = record;
    return 0;
}

const char *wire_text(const struct wire_record *record, const char *key)
{
    for (size_t i = 0; i < record->count; i++) {
        if (strcmp(record->fields[i].key, key) == 0)
            return record->fields[i].value;
    }
    return NULL;
}

int wire_int(int64_t *out, const struct wire_record *record, const char *key, int64_t min,
             int64_t max, struct error *err)
{
    const char *text = wire_text(record, key);
    int64_t value = 0;
    if (!text)
        return error_set(err, "bench: %s: no %s", record->name, key);
    if (parse_int64(&value, text) || value < min || value > max)
        return error_set(err, "bench: %s: %s=%.40s is not in %" PRId64 "..%" PRId64, record->name,
                         key, text, min, max);
    *out = value;
    return 0;
}

int wire_double(double *out, const struct wire_record *record, const char *key, double min,
                double max, struct error *err)
{
    const char *text = wire_text(record, key);
    double value;
    if (!text)
        return error_set(err, "bench: %s: no %s", record->name, key);
    if (parse_double(&value, text) || !(value >= min && value <= max))
        return error_set(err, "bench: %s: %s=%.40s is not in %g..%g", record->name, key, text, min,
                         max);
    *out = value;
    return 0;
}

static int read_dtype(enum dtype *out, const struct wire_record *record, const char *key,
                      struct error *err)
{
    const char *text = wire_text(record, key);
    if (!text || dtype_parse(out, text))
        return error_set(err, "bench: %s: %s=%.40s is not an element type", record->name, key,
                         text ? text : "");
    return 0;
}

int wire_traits(struct traits *out, const struct wire_record *record, struct error *err)
{
    struct traits traits = {0};
    int64_t value = 0;
    if (read_dtype(&traits.in, record, "in", err) || read_dtype(&traits.out, record, "out", err) ||
        read_dtype(&traits.acc, record, "acc", err))
        return -1;
#define X(name)                                                                                    \
    if (wire_int(&value, record, #name, SPLIT_SPREAD, INT32_MAX, err))                             \
        return -1;                                                                                 \
    traits.name = (int32_t)value;
    TRAITS(X)
#undef X
    *out = traits;
    return 0;
}

int wire_sample(struct sample *out, const struct wire_record *r, struct error *err)
{
    const char *role = wire_text(r, "role");
    if (!role || (strcmp(role, "base") && strcmp(role, "head")))
        return error_set(err, "bench: %s: role is neither base nor head", r->name);
    struct sample s = {.role = strcmp(role, "base") ? ROLE_HEAD : ROLE_BASE};
    const double day_ns = 86400e9;
    int64_t pair = 0, block = 0, order = 0, launches = 0, throttle = 0, temperature = 0, power = 0;
    if (wire_int(&pair, r, "pair", 0, UINT32_MAX, err) ||
        wire_int(&block, r, "block", 0, UINT16_MAX, err) ||
        wire_int(&order, r, "order", 0, 1, err) ||
        wire_int(&launches, r, "launches", 1, UINT32_MAX, err) ||
        wire_double(&s.time_ns, r, "time_ns", 1e-3, day_ns, err) ||
        wire_double(&s.clock_hz, r, "clock_hz", 0, 20e9, err) ||
        wire_int(&throttle, r, "throttle", 0, THROTTLE_ALL, err) ||
        wire_int(&temperature, r, "temperature_c", INT16_MIN, INT16_MAX, err) ||
        wire_int(&power, r, "power_mw", -1, INT32_MAX, err))
        return -1;
    s.pair = (uint32_t)pair;
    s.block = (uint16_t)block;
    s.order = (uint8_t)order;
    s.launches = (uint32_t)launches;
    s.throttle = (uint8_t)throttle;
    s.temperature_c = (int16_t)temperature;
    s.power_mw = (int32_t)power;
    *out = s;
    return 0;
}
