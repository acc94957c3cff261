// SPDX-License-Identifier: Apache-2.0
//
// Ranges of TMA descriptors, and their lines. Lists are numbers with commas between.
#include "model/record/record_map.h"

#include "model/text.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bytes;
} types[RECORD_MAP_TYPES] = {
    [RECORD_MAP_UINT8] = {"uint8", 1},       [RECORD_MAP_UINT16] = {"uint16", 2},
    [RECORD_MAP_UINT32] = {"uint32", 4},     [RECORD_MAP_INT32] = {"int32", 4},
    [RECORD_MAP_UINT64] = {"uint64", 8},     [RECORD_MAP_INT64] = {"int64", 8},
    [RECORD_MAP_FP16] = {"fp16", 2},         [RECORD_MAP_FP32] = {"fp32", 4},
    [RECORD_MAP_FP64] = {"fp64", 8},         [RECORD_MAP_BF16] = {"bf16", 2},
    [RECORD_MAP_FP32_FTZ] = {"fp32-ftz", 4}, [RECORD_MAP_TF32] = {"tf32", 4},
    [RECORD_MAP_TF32_FTZ] = {"tf32-ftz", 4}};

static const uint64_t dim_max = (uint64_t)1 << 32, stride_max = (uint64_t)1 << 40;
enum { BOX_MAX = 256, ELEMENTS_MAX = 8 };

const char *record_map_type_name(uint32_t type)
{
    return type < RECORD_MAP_TYPES ? types[type].name : "";
}

int record_map_type_parse(uint32_t *out, const char *name)
{
    for (uint32_t i = 0; i < RECORD_MAP_TYPES; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *out = i;
            return 0;
        }
    }
    return -1;
}

static bool is_one_of(uint32_t value, uint32_t a, uint32_t b, uint32_t c)
{
    return value == 0 || value == a || value == b || value == c;
}

int record_map_check(const struct record_map *map, struct error *err)
{
    if (map->type >= RECORD_MAP_TYPES || map->rank < 1 || map->rank > RECORD_MAP_DIMS)
        return error_set(err, "a tensormap of type %u with %u dimensions", map->type, map->rank);
    for (uint32_t i = 0; i < map->rank; i++) {
        if (map->dims[i] < 1 || map->dims[i] > dim_max)
            return error_set(err, "a tensormap of %llu elements in dimension %u",
                             (unsigned long long)map->dims[i], i);
        if (i && map->strides[i] >= stride_max)
            return error_set(err, "a tensormap with a stride of %llu bytes in dimension %u",
                             (unsigned long long)map->strides[i], i);
        if (map->box[i] < 1 || map->box[i] > BOX_MAX)
            return error_set(err, "a tensormap's box of %u elements in dimension %u", map->box[i],
                             i);
        if (map->elements[i] < 1 || map->elements[i] > ELEMENTS_MAX)
            return error_set(err, "a tensormap of every %u-th element", map->elements[i]);
    }
    if (!is_one_of(map->interleave, 16, 32, 32) || !is_one_of(map->swizzle, 32, 64, 128) ||
        !is_one_of(map->promote, 64, 128, 256))
        return error_set(err, "a tensormap with interleave %u, swizzle %u, promote %u bytes",
                         map->interleave, map->swizzle, map->promote);
    return 0;
}

uint64_t record_map_extent(const struct record_map *map)
{
    uint64_t all = map->dims[0] * types[map->type].bytes;
    for (uint32_t i = 1; i < map->rank; i++) {
        uint64_t rows;
        if (__builtin_mul_overflow(map->dims[i] - 1, map->strides[i], &rows) ||
            __builtin_add_overflow(all, rows, &all))
            return 0;
    }
    return all;
}

// ---- lines ----

enum { LIST_TEXT = 128 };

static void add_list(struct wire_line *line, const char *key, const uint64_t *values,
                     uint32_t count)
{
    char text[LIST_TEXT];
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%llu", i ? "," : "",
                                 (unsigned long long)values[i]);
    text[used] = '\0';
    wire_add_text(line, key, text);
}

static void add_small_list(struct wire_line *line, const char *key, const uint32_t *values,
                           uint32_t count)
{
    uint64_t wide[RECORD_MAP_DIMS];
    for (uint32_t i = 0; i < count; i++)
        wide[i] = values[i];
    add_list(line, key, wide, count);
}

void record_map_print(struct wire_line *line, const struct record_map *map)
{
    wire_add_int(line, "at", map->at);
    wire_add_text(line, "buffer", record_buffer_name(map->buffer));
    wire_add_int(line, "offset", (int64_t)map->offset);
    wire_add_text(line, "type", types[map->type].name);
    add_list(line, "dims", map->dims, map->rank);
    add_list(line, "strides", map->strides + 1, map->rank - 1);
    add_small_list(line, "box", map->box, map->rank);
    add_small_list(line, "elements", map->elements, map->rank);
    wire_add_int(line, "interleave", map->interleave);
    wire_add_int(line, "swizzle", map->swizzle);
    wire_add_int(line, "promote", map->promote);
    wire_add_int(line, "nan", map->fill_nan);
}

// As many numbers as the list has; -1 when it is none, or has more than `most`.
static int take_list(uint64_t *out, uint32_t *count, uint32_t most, const struct wire_record *line,
                     const char *key, struct error *err)
{
    const char *at = wire_text(line, key);
    *count = 0;
    while (at && *at) {
        char number[NUMBER_TEXT];
        int64_t value;
        const size_t length = strcspn(at, ",");
        if (*count == most || length >= sizeof(number))
            break;
        memcpy(number, at, length);
        number[length] = '\0';
        if (parse_int64(&value, number) || value < 0)
            break;
        out[(*count)++] = (uint64_t)value;
        at += length + (at[length] == ',');
    }
    return at && !*at ? 0 : error_set(err, "tensormap: %s is no list of at most %u", key, most);
}

static int take_small_list(uint32_t *out, uint32_t rank, const struct wire_record *line,
                           const char *key, struct error *err)
{
    uint64_t wide[RECORD_MAP_DIMS];
    uint32_t count;
    if (take_list(wide, &count, RECORD_MAP_DIMS, line, key, err))
        return -1;
    if (count != rank)
        return error_set(err, "tensormap: %s has %u numbers for %u dimensions", key, count, rank);
    for (uint32_t i = 0; i < rank; i++)
        out[i] = wide[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)wide[i];
    return 0;
}

static int take_bytes(uint32_t *out, const struct wire_record *line, const char *key,
                      struct error *err)
{
    int64_t value;
    if (wire_int(&value, line, key, 0, BOX_MAX, err))
        return -1;
    *out = (uint32_t)value;
    return 0;
}

int record_map_parse(struct record_map *out, const struct wire_record *line, struct error *err)
{
    struct record_map map = {0};
    const char *type = wire_text(line, "type"), *buffer = wire_text(line, "buffer");
    uint32_t strides;
    int64_t at, offset, nan;
    if (!type || record_map_type_parse(&map.type, type))
        return error_set(err, "tensormap: '%.40s' is no element type", type ? type : "");
    if (!buffer || record_buffer_parse(&map.buffer, buffer))
        return error_set(err, "tensormap: '%.40s' is no buffer", buffer ? buffer : "");
    if (wire_int(&at, line, "at", 0, INT32_MAX, err) ||
        wire_int(&offset, line, "offset", 0, INT64_MAX / 4, err) ||
        wire_int(&nan, line, "nan", 0, 1, err) ||
        take_list(map.dims, &map.rank, RECORD_MAP_DIMS, line, "dims", err) ||
        take_list(map.strides + 1, &strides, RECORD_MAP_DIMS - 1, line, "strides", err) ||
        take_small_list(map.box, map.rank, line, "box", err) ||
        take_small_list(map.elements, map.rank, line, "elements", err) ||
        take_bytes(&map.interleave, line, "interleave", err) ||
        take_bytes(&map.swizzle, line, "swizzle", err) ||
        take_bytes(&map.promote, line, "promote", err))
        return -1;
    if (strides + 1 != map.rank)
        return error_set(err, "tensormap: %u strides for %u dimensions", strides, map.rank);
    map.at = (uint32_t)at;
    map.offset = (uint64_t)offset;
    map.fill_nan = nan;
    if (record_map_check(&map, err))
        return -1;
    *out = map;
    return 0;
}
