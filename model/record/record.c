// SPDX-License-Identifier: Apache-2.0
//
// A record of captured launches. This file finds the addresses in their parameters, puts other
// addresses in their place, lists the TMA descriptors that are still to be made, and writes and
// reads the record's file.
#include "model/record/record.h"

#include "model/base.h"
#include "model/buffer.h"
#include "model/problem.h"
#include "model/wire.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Versions of the record's file. Version 2 added TMA descriptors, version 3 the buffers of forms
// (block scales, a bias, groups), version 4 captured buffers, version 5 several streams, version 6
// copies. A file of an older version is read, too, and may hold nothing that a later version added;
// a record that captures nothing is written as version 3.
enum {
    RECORD_MAPS_SINCE = 2,
    RECORD_FORMS_SINCE = 3,
    RECORD_CAPTURES_SINCE = 4,
    RECORD_STREAMS_SINCE = 5,
    RECORD_COPIES_SINCE = 6
};

// ---- TMA descriptors ----
//
// Ranges of TMA descriptors, and their lines. Lists are numbers with commas between.

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

// Prints the fields of a record's line `tensormap`, all but the line's name.
static void record_map_print(struct wire_line *line, const struct record_map *map)
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

// Reads a list of numbers into `out`. Returns -1 where the list is malformed or has more
// than `most` numbers.
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

// Parses a TMA descriptor and checks its numbers' ranges; where it lies (`at`) is not yet checked
// against any parameter.
static int record_map_parse(struct record_map *out, const struct wire_record *line,
                            struct error *err)
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

// ---- addresses ----
//
// Let buffer b lie at x_b in the first capture and at y_b in the second, with y_b - x_b different
// for every b. A word w1 of the first and w2 of the second, at the same place, is
//     a constant                   when w1 = w2,
//     byte o of buffer b           when w1 - x_b = w2 - y_b = o and o is at most b's length,
//     something else               otherwise: a sum of addresses, an address shifted or packed, a
//     counter.
// At most one b fits, for the distances differ. Addresses are looked for in words aligned to 8
// bytes within a parameter, as the C ABI and TMA descriptors hold them; a word that moved between
// two such places is something else.

enum { WORD = 8 };

const char *record_buffer_name(enum record_buffer buffer)
{
    static const char *const names[] = {"a",
                                        "b",
                                        "c",
                                        "scale_a",
                                        "scale_b",
                                        "workspace",
                                        "block_scales_a",
                                        "block_scales_b",
                                        "bias",
                                        "group_first",
                                        "group_rows"};
    static const char *const captured[] = {
        "captured0",  "captured1",  "captured2",  "captured3",  "captured4",  "captured5",
        "captured6",  "captured7",  "captured8",  "captured9",  "captured10", "captured11",
        "captured12", "captured13", "captured14", "captured15", "captured16", "captured17",
        "captured18", "captured19", "captured20", "captured21", "captured22", "captured23",
        "captured24", "captured25", "captured26", "captured27", "captured28", "captured29",
        "captured30", "captured31"};
    return buffer < RECORD_CAPTURED  ? names[buffer]
           : buffer < RECORD_BUFFERS ? captured[buffer - RECORD_CAPTURED]
                                     : "";
}

static bool record_buffer_is_form(enum record_buffer buffer)
{
    return buffer > RECORD_WORKSPACE && buffer < RECORD_CAPTURED;
}

int record_buffer_parse(enum record_buffer *out, const char *name)
{
    for (int b = 0; b < RECORD_BUFFERS; b++) {
        if (strcmp(name, record_buffer_name((enum record_buffer)b)) == 0) {
            *out = (enum record_buffer)b;
            return 0;
        }
    }
    return -1;
}

// Addresses far from where a driver maps memory; each buffer has a range of its own.
static const uint64_t lowest = 0x100000000000, apart = 0x008000000000, grain = 0x000040000000;

void record_made_up(struct record_places out[2], const uint64_t bytes[RECORD_BUFFERS])
{
    for (uint64_t b = 0; b < RECORD_CAPTURED; b++) {
        for (int place = 0; place < 2; place++)
            out[place].bytes[b] = bytes[b];
        out[0].address[b] = bytes[b] ? lowest + 2 * b * apart + 512 : 0;
        // Distances between the two captures' addresses are distinct odd multiples of 1 GiB.
        out[1].address[b] =
            bytes[b] ? out[0].address[b] + RECORD_CAPTURED * 2 * apart + (2 * b + 1) * grain : 0;
    }
}

static bool same_shape(const struct record_launch *a, const struct record_launch *b)
{
    if (a->kind != b->kind || a->size != b->size || a->parameter_count != b->parameter_count ||
        a->stream != b->stream || a->after_count != b->after_count ||
        (a->after_count && memcmp(a->after, b->after, a->after_count * sizeof(*a->after)) != 0))
        return false;
    if (a->kind != RECORD_KERNEL)
        return a->value == b->value && a->element_bytes == b->element_bytes &&
               a->width == b->width && a->height == b->height && a->pitch_bytes == b->pitch_bytes;
    return strcmp(a->function, b->function) == 0 &&
           memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 &&
           memcmp(a->block, b->block, sizeof(a->block)) == 0 &&
           memcmp(a->cluster, b->cluster, sizeof(a->cluster)) == 0 &&
           a->shared_bytes == b->shared_bytes && a->cooperative == b->cooperative &&
           a->programmatic == b->programmatic && a->carveout == b->carveout &&
           memcmp(a->parameters, b->parameters, a->parameter_count * sizeof(*a->parameters)) == 0;
}

bool record_same_launches(const struct record_launch *a, const struct record_launch *b,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!same_shape(&a[i], &b[i]) || (a[i].size && memcmp(a[i].bytes, b[i].bytes, a[i].size)))
            return false;
    }
    return true;
}

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static bool address_of(struct record_address *out, uint64_t first, uint64_t second,
                       const struct record_places places[2])
{
    for (int b = 0; b < RECORD_BUFFERS; b++) {
        const uint64_t offset = first - places[0].address[b];
        if (places[0].bytes[b] && offset == second - places[1].address[b] &&
            offset <= places[0].bytes[b]) {
            out->buffer = (enum record_buffer)b;
            out->offset = offset;
            return true;
        }
    }
    return false;
}

static int find_in_launch(struct record_launch *first, const struct record_launch *second,
                          const struct record_places places[2], struct arena *arena,
                          struct error *err)
{
    struct record_address *found = arena_alloc(arena, (first->size / WORD + 1) * sizeof(*found));
    uint32_t count = 0;
    const char *name = first->kind == RECORD_KERNEL   ? first->function
                       : first->kind == RECORD_MEMSET ? "memset"
                                                      : "copy";
    for (uint32_t p = 0; p < first->parameter_count; p++) {
        const struct record_parameter *parameter = &first->parameters[p];
        for (uint32_t i = 0; i < parameter->bytes;) {
            const uint32_t at = parameter->offset + i;
            const bool word = i % WORD == 0 && parameter->bytes - i >= WORD;
            const uint32_t step = word ? WORD : 1;
            i += step;
            if (memcmp(first->bytes + at, second->bytes + at, step) == 0)
                continue;
            if (!word || !address_of(&found[count], word_at(first->bytes + at),
                                     word_at(second->bytes + at), places))
                return error_set(err,
                                 "%.200s: byte %u of parameter %u goes with the buffers' addresses "
                                 "but is none: such a launch cannot be recorded",
                                 name, i - step, p);
            found[count++].at = at;
        }
    }
    first->addresses = found;
    first->address_count = count;
    return 0;
}

int record_find_addresses(struct record_launch *first, const struct record_launch *second,
                          size_t count, const struct record_places places[2], struct arena *arena,
                          struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!same_shape(&first[i], &second[i]))
            return error_set(err,
                             "launch %zu is another one for other buffers: launches that go "
                             "with addresses cannot be recorded",
                             i);
        if (find_in_launch(&first[i], &second[i], places, arena, err))
            return -1;
    }
    return 0;
}

// Bytes from the first to the last that a memset or a copy writes; 0 when that overflows.
static uint64_t extent_of(const struct record_launch *launch)
{
    uint64_t row, rows, all;
    if (__builtin_mul_overflow(launch->width, launch->element_bytes, &row) || !launch->height ||
        __builtin_mul_overflow(launch->height - 1, launch->pitch_bytes, &rows) ||
        __builtin_add_overflow(row, rows, &all))
        return 0;
    return all;
}

int record_bind(unsigned char *out, const struct record_launch *launch,
                const struct record_places *places, struct error *err)
{
    if (launch->size)
        memcpy(out, launch->bytes, launch->size);
    for (uint32_t i = 0; i < launch->address_count; i++) {
        const struct record_address *a = &launch->addresses[i];
        const uint64_t bytes = places->bytes[a->buffer];
        if (!bytes || a->offset > bytes)
            return error_set(err, "a launch is given byte %llu of %s, which has %llu",
                             (unsigned long long)a->offset, record_buffer_name(a->buffer),
                             (unsigned long long)bytes);
        const uint64_t address = places->address[a->buffer] + a->offset;
        memcpy(out + a->at, &address, sizeof(address));
    }
    if (launch->kind != RECORD_KERNEL) {
        const uint64_t extent = extent_of(launch);
        bool inside = extent && launch->address_count == (launch->kind == RECORD_MEMSET ? 1 : 2);
        for (uint32_t i = 0; inside && i < launch->address_count; i++)
            inside =
                extent <= places->bytes[launch->addresses[i].buffer] - launch->addresses[i].offset;
        if (!inside)
            return error_set(err, "a %s goes outside of the stopwatch's buffers",
                             launch->kind == RECORD_MEMSET ? "memset" : "copy");
    }
    for (uint32_t i = 0; i < launch->map_count; i++) {
        const struct record_map *map = &launch->maps[i];
        const uint64_t bytes = places->bytes[map->buffer], extent = record_map_extent(map);
        if (map->offset > bytes || !extent || extent > bytes - map->offset)
            return error_set(err,
                             "a tensormap covers %llu bytes from byte %llu of %s, which has %llu",
                             (unsigned long long)extent, (unsigned long long)map->offset,
                             record_buffer_name(map->buffer), (unsigned long long)bytes);
    }
    return 0;
}

// ---- the record's file ----
//
// The record's file, versions 3 to 6. Lines as in model/wire.h (a name, then key=value fields,
// separated by TAB), in this order, then the images' bytes one after the other. A line that begins
// with dots goes on with the one above it.
//     record version=3 kernel=NAME problem=TEXT workspace=BYTES note=TEXT [tolerance=X]
//     image size=BYTES                               any number
//     content bytes=N before=FILE after=FILE         since version 4; the n-th is of capturedN
//     launch function=NAME                           any number of launches
//     ... grid_x= grid_y= grid_z= block_x= block_y= block_z= cluster_x= cluster_y= cluster_z=
//     ... shared= cooperative=0|1 programmatic=0|1 carveout=-1..100 [image=N]
//     ... [stream=N after=N,N]                       since version 5; of a memset, too
//     memset value= element= width= height= pitch=   is a launch too
//     copy bytes=                                    since version 6; is a launch too, of two words
//     parameter offset=N bytes=HEX                   of the launch above, by their offsets
//     address at=N buffer=BUFFER offset=N            8 bytes within a parameter above, by `at`
//     tensormap at=N buffer=BUFFER offset=N          128 bytes within a parameter above, by `at`
//     ... type=NAME dims=N,N strides=N box=N,N elements=N,N interleave= swizzle= promote= nan=0|1
//     end
// BUFFER is a, b, c, scale_a, scale_b, workspace, or since version 3 block_scales_a,
// block_scales_b, bias, group_first, group_rows. An offset is in bytes from where the buffer
// begins; how long each buffer is follows from the problem, and whoever launches holds them to it.
// Version 4 has captured0, captured1, ... besides, and an image for each launch, counted from 1.
// Version 5 is version 4 with launches on several streams: `after` are those of others that one
// waits for, by their places in the list, counted from 0.
// Version 3 is version 4 without captures, version 2 is version 3 without those buffers and their
// problems, version 1 is version 2 without tensormaps. Both are read; what they cannot hold is
// refused.
// A record without a launch, with addresses outside of its parameters or over each other, or with
// bytes after its images is refused. So is one of a later version.

static void put(struct buffer *out, struct wire_line *line)
{
    buffer_puts(out, wire_end(line));
}

static const char axes[] = {'x', 'y', 'z'};

static void add_three(struct wire_line *line, const char *what, const uint32_t three[3])
{
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%s_%c", what, axes[i]);
        wire_add_int(line, key, three[i]);
    }
}

static void print_parameters(struct buffer *out, const struct record_launch *launch)
{
    static const char digits[] = "0123456789abcdef";
    struct wire_line line;
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        const struct record_parameter *parameter = &launch->parameters[p];
        char *hex = xcalloc(2 * (size_t)parameter->bytes + 1, 1);
        for (uint32_t i = 0; i < parameter->bytes; i++) {
            const unsigned char byte = launch->bytes[parameter->offset + i];
            hex[2 * i] = digits[byte >> 4];
            hex[2 * i + 1] = digits[byte & 15];
        }
        wire_begin(&line, "parameter");
        wire_add_int(&line, "offset", parameter->offset);
        wire_add_text(&line, "bytes", hex);
        put(out, &line);
        free(hex);
    }
    for (uint32_t i = 0; i < launch->address_count; i++) {
        wire_begin(&line, "address");
        wire_add_int(&line, "at", launch->addresses[i].at);
        wire_add_text(&line, "buffer", record_buffer_name(launch->addresses[i].buffer));
        wire_add_int(&line, "offset", (int64_t)launch->addresses[i].offset);
        put(out, &line);
    }
    for (uint32_t i = 0; i < launch->map_count; i++) {
        wire_begin(&line, "tensormap");
        record_map_print(&line, &launch->maps[i]);
        put(out, &line);
    }
}

static void add_order(struct wire_line *line, const struct record_launch *launch)
{
    char text[RECORD_STREAMS_MAX * 12] = "";
    size_t used = 0;
    if (launch->stream)
        wire_add_int(line, "stream", launch->stream);
    for (uint32_t i = 0; i < launch->after_count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? "," : "",
                                 launch->after[i]);
    if (launch->after_count)
        wire_add_text(line, "after", text);
}

static void print_launch(struct buffer *out, const struct record_launch *launch)
{
    struct wire_line line;
    if (launch->kind == RECORD_COPY) {
        wire_begin(&line, "copy");
        wire_add_int(&line, "bytes", (int64_t)launch->width);
    } else if (launch->kind == RECORD_MEMSET) {
        wire_begin(&line, "memset");
        wire_add_int(&line, "value", launch->value);
        wire_add_int(&line, "element", launch->element_bytes);
        wire_add_int(&line, "width", (int64_t)launch->width);
        wire_add_int(&line, "height", (int64_t)launch->height);
        wire_add_int(&line, "pitch", (int64_t)launch->pitch_bytes);
    } else {
        wire_begin(&line, "launch");
        wire_add_text(&line, "function", launch->function);
        add_three(&line, "grid", launch->grid);
        add_three(&line, "block", launch->block);
        add_three(&line, "cluster", launch->cluster);
        wire_add_int(&line, "shared", launch->shared_bytes);
        wire_add_int(&line, "cooperative", launch->cooperative);
        wire_add_int(&line, "programmatic", launch->programmatic);
        wire_add_int(&line, "carveout", launch->carveout);
        if (launch->image)
            wire_add_int(&line, "image", launch->image);
    }
    add_order(&line, launch);
    put(out, &line);
    print_parameters(out, launch);
}

static void print_content(struct buffer *out, const struct record_content *content)
{
    struct wire_line line;
    wire_begin(&line, "content");
    wire_add_int(&line, "bytes", (int64_t)content->bytes);
    wire_add_text(&line, "before", content->before);
    wire_add_text(&line, "after", content->after ? content->after : "");
    put(out, &line);
}

// The oldest version that can express the record.
static int version_of(const struct record *record)
{
    int version = record->content_count ? RECORD_CAPTURES_SINCE : RECORD_FORMS_SINCE;
    for (size_t i = 0; i < record->launch_count; i++) {
        const struct record_launch *launch = &record->launches[i];
        if (launch->kind == RECORD_COPY)
            return RECORD_COPIES_SINCE;
        if (launch->stream || launch->after_count)
            version = RECORD_STREAMS_SINCE;
        if (launch->image && version < RECORD_CAPTURES_SINCE)
            version = RECORD_CAPTURES_SINCE;
    }
    return version;
}

void record_print(struct buffer *out, const struct record *record)
{
    struct wire_line line;
    char problem[PROBLEM_TEXT];
    problem_format(problem, &record->problem);
    wire_begin(&line, "record");
    wire_add_int(&line, "version", version_of(record));
    wire_add_text(&line, "kernel", record->kernel);
    wire_add_text(&line, "problem", problem);
    wire_add_int(&line, "workspace", (int64_t)record->workspace_bytes);
    wire_add_text(&line, "note", record->note);
    if (record->content_count)
        wire_add_double(&line, "tolerance", record->tolerance);
    put(out, &line);
    for (size_t i = 0; i < record->image_count; i++) {
        wire_begin(&line, "image");
        wire_add_int(&line, "size", (int64_t)record->images[i].size);
        put(out, &line);
    }
    for (size_t i = 0; i < record->content_count; i++)
        print_content(out, &record->contents[i]);
    for (size_t i = 0; i < record->launch_count; i++)
        print_launch(out, &record->launches[i]);
    wire_begin(&line, "end");
    put(out, &line);
    for (size_t i = 0; i < record->image_count; i++)
        buffer_add(out, (const char *)record->images[i].bytes, record->images[i].size);
}

// ---- reading it ----
//
// Every number is held to its range, and nothing that is read
// points outside of what was read.

enum {
    PARAMETERS_MAX = 4096, // parameters of one launch
    BYTES_MAX = 32764,    // bytes of a kernel's parameters (CUDA programming guide, 12.1 and later)
    PARAMETER_MAX = 7000, // bytes of one parameter, so that a line holds it in hexadecimal
    ADDRESS_BYTES = 8,
    ADDRESSES_MAX = BYTES_MAX / ADDRESS_BYTES,
    IMAGES_MAX = 64,
    MAPS_MAX = 256, // TMA descriptors of one launch
    CONTENT_NAME_MAX = 64,
    SHARED_MAX = 1 << 20
};

static const int64_t image_max = (int64_t)1 << 30, bytes_most = INT64_MAX / 4;

static int take_u32(uint32_t *out, const struct wire_record *line, const char *key, int64_t min,
                    int64_t max, struct error *err)
{
    int64_t value;
    if (wire_int(&value, line, key, min, max, err))
        return -1;
    *out = (uint32_t)value;
    return 0;
}

static int take_three(uint32_t out[3], const struct wire_record *line, const char *what,
                      const int64_t max[3], struct error *err)
{
    for (int i = 0; i < 3; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%s_%c", what, axes[i]);
        if (take_u32(&out[i], line, key, 1, max[i], err))
            return -1;
    }
    return 0;
}

// Is it an entry point's name as compilers mangle them, without characters that a report would
// have to escape?
static bool is_function(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";
    return name && *name && strspn(name, allowed) == strlen(name);
}

static struct record_launch *new_launch(struct record *record, struct arena *arena,
                                        struct error *err)
{
    if (record->launch_count == RECORD_LAUNCHES_MAX) {
        error_set(err, "a record of more than %d launches", RECORD_LAUNCHES_MAX);
        return NULL;
    }
    if (!record->launches)
        record->launches = arena_alloc(arena, RECORD_LAUNCHES_MAX * sizeof(*record->launches));
    return &record->launches[record->launch_count];
}

// Reads the stream of a launch, and what the launch waits for there.
static int take_order(struct record_launch *launch, const struct record *record,
                      const struct wire_record *line, struct arena *arena, struct error *err)
{
    const char *after = wire_text(line, "after");
    if (!after && !wire_text(line, "stream"))
        return 0;
    if (record->version < RECORD_STREAMS_SINCE)
        return error_set(err, "a record of version %d has no streams", record->version);
    if (wire_text(line, "stream") &&
        take_u32(&launch->stream, line, "stream", 0, RECORD_STREAMS_MAX - 1, err))
        return -1;
    launch->after = arena_alloc(arena, RECORD_STREAMS_MAX * sizeof(*launch->after));
    while (after && *after) {
        char *end;
        const size_t digits = strspn(after, "0123456789");
        const unsigned long which = digits && digits < 6 ? strtoul(after, &end, 10) : ULONG_MAX;
        if (which >= record->launch_count || launch->after_count == RECORD_STREAMS_MAX ||
            (*end && (*end != ',' || !end[1])))
            return error_set(err, "'%.40s' are no launches before this one", after);
        launch->after[launch->after_count++] = (uint32_t)which;
        after = *end ? end + 1 : end;
    }
    return 0;
}

static int take_launch(struct record *record, const struct wire_record *line, struct arena *arena,
                       struct error *err)
{
    static const int64_t grid[] = {INT32_MAX, 65535, 65535}, block[] = {1024, 1024, 64},
                         cluster[] = {16, 16, 16};
    struct record_launch launch = {.kind = RECORD_KERNEL};
    struct record_launch *to = new_launch(record, arena, err);
    const char *function = wire_text(line, "function");
    uint32_t cooperative, programmatic;
    int64_t carveout;
    if (!to)
        return -1;
    if (!is_function(function))
        return error_set(err, "'%.80s' is no entry point", function ? function : "");
    if (take_three(launch.grid, line, "grid", grid, err) ||
        take_three(launch.block, line, "block", block, err) ||
        take_three(launch.cluster, line, "cluster", cluster, err) ||
        take_u32(&launch.shared_bytes, line, "shared", 0, SHARED_MAX, err) ||
        take_u32(&cooperative, line, "cooperative", 0, 1, err) ||
        take_u32(&programmatic, line, "programmatic", 0, 1, err) ||
        wire_int(&carveout, line, "carveout", -1, 100, err))
        return -1;
    if (launch.block[0] * launch.block[1] * launch.block[2] > 1024 ||
        launch.cluster[0] * launch.cluster[1] * launch.cluster[2] > 16)
        return error_set(
            err, "%.80s: a block of more than 1024 threads or a cluster of more than 16", function);
    launch.cooperative = cooperative;
    launch.programmatic = programmatic;
    if (wire_text(line, "image") &&
        (record->version < RECORD_CAPTURES_SINCE ||
         take_u32(&launch.image, line, "image", 1, (int64_t)record->image_count, err)))
        return error_set(err, "%.80s: an image that the record does not have", function);
    launch.carveout = (int32_t)carveout;
    if (take_order(&launch, record, line, arena, err))
        return -1;
    launch.function = arena_strdup(arena, function);
    *to = launch;
    record->launch_count++;
    return 0;
}

static int take_memset(struct record *record, const struct wire_record *line, struct arena *arena,
                       struct error *err)
{
    struct record_launch launch = {.kind = RECORD_MEMSET};
    struct record_launch *to = new_launch(record, arena, err);
    int64_t width, height, pitch;
    if (!to || take_u32(&launch.value, line, "value", 0, UINT32_MAX, err) ||
        take_u32(&launch.element_bytes, line, "element", 1, 4, err) ||
        wire_int(&width, line, "width", 1, bytes_most, err) ||
        wire_int(&height, line, "height", 1, bytes_most, err) ||
        wire_int(&pitch, line, "pitch", 0, bytes_most, err))
        return -1;
    if (launch.element_bytes == 3)
        return error_set(err, "a memset of elements of 3 bytes");
    if (take_order(&launch, record, line, arena, err))
        return -1;
    launch.width = (uint64_t)width;
    launch.height = (uint64_t)height;
    launch.pitch_bytes = (uint64_t)pitch;
    *to = launch;
    record->launch_count++;
    return 0;
}

static int take_copy(struct record *record, const struct wire_record *line, struct arena *arena,
                     struct error *err)
{
    struct record_launch launch = {.kind = RECORD_COPY, .element_bytes = 1, .height = 1};
    struct record_launch *to = new_launch(record, arena, err);
    int64_t bytes;
    if (!to || wire_int(&bytes, line, "bytes", 1, bytes_most, err) ||
        take_order(&launch, record, line, arena, err))
        return -1;
    if (record->version < RECORD_COPIES_SINCE)
        return error_set(err, "a record of version %d has no copies", record->version);
    launch.width = (uint64_t)bytes;
    *to = launch;
    record->launch_count++;
    return 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The launch that lines of parameters and addresses refer to, which is the last one read.
static struct record_launch *last_launch(const struct record *record, const char *what,
                                         struct error *err)
{
    if (record->launch_count)
        return &record->launches[record->launch_count - 1];
    error_set(err, "%s before the first launch", what);
    return NULL;
}

static int take_parameter(struct record *record, const struct wire_record *line,
                          struct arena *arena, struct error *err)
{
    struct record_launch *launch = last_launch(record, "a parameter", err);
    const char *hex = wire_text(line, "bytes");
    const size_t length = hex ? strlen(hex) : 0;
    uint32_t offset;
    if (!launch || take_u32(&offset, line, "offset", 0, BYTES_MAX, err))
        return -1;
    if (!length || length % 2 || length / 2 > PARAMETER_MAX || offset < launch->size ||
        offset + length / 2 > BYTES_MAX || launch->parameter_count == PARAMETERS_MAX ||
        launch->address_count || launch->map_count)
        return error_set(err, "a parameter at %u that does not follow the one before it", offset);
    if (!launch->parameters) {
        launch->parameters = arena_alloc(arena, PARAMETERS_MAX * sizeof(*launch->parameters));
        launch->bytes = arena_alloc(arena, BYTES_MAX);
    }
    for (size_t i = 0; i < length / 2; i++) {
        const int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return error_set(err, "a parameter's bytes are not hexadecimal");
        launch->bytes[offset + i] = (unsigned char)(high << 4 | low);
    }
    launch->parameters[launch->parameter_count++] =
        (struct record_parameter){offset, (uint32_t)(length / 2)};
    launch->size = offset + (uint32_t)(length / 2);
    return 0;
}

static bool within_parameter(const struct record_launch *launch, uint32_t at, uint32_t size)
{
    for (uint32_t p = 0; p < launch->parameter_count; p++) {
        const struct record_parameter *parameter = &launch->parameters[p];
        if (at >= parameter->offset && size <= parameter->bytes &&
            at - parameter->offset <= parameter->bytes - size)
            return true;
    }
    return false;
}

// Refuses a buffer for which the record's version has no word.
static int known_buffer(const struct record *record, enum record_buffer buffer, struct error *err)
{
    if (buffer >= RECORD_CAPTURED) {
        if ((size_t)(buffer - RECORD_CAPTURED) < record->content_count)
            return 0;
        return error_set(err, "a record without the content of %s", record_buffer_name(buffer));
    }
    if (record->version >= RECORD_FORMS_SINCE || !record_buffer_is_form(buffer))
        return 0;
    return error_set(err, "a record of version %d has no buffer %s", record->version,
                     record_buffer_name(buffer));
}

static int take_address(struct record *record, const struct wire_record *line, struct arena *arena,
                        struct error *err)
{
    struct record_launch *launch = last_launch(record, "an address", err);
    const char *name = wire_text(line, "buffer");
    struct record_address address = {0};
    int64_t offset;
    if (!launch || take_u32(&address.at, line, "at", 0, BYTES_MAX, err) ||
        wire_int(&offset, line, "offset", 0, bytes_most, err))
        return -1;
    if (!name || record_buffer_parse(&address.buffer, name))
        return error_set(err, "'%.40s' is no buffer", name ? name : "");
    if (known_buffer(record, address.buffer, err))
        return -1;
    if (!within_parameter(launch, address.at, ADDRESS_BYTES) ||
        launch->address_count == ADDRESSES_MAX)
        return error_set(err, "an address at %u, outside of the parameters", address.at);
    const uint32_t before = launch->address_count;
    if (launch->map_count ||
        (before && address.at < launch->addresses[before - 1].at + ADDRESS_BYTES))
        return error_set(err, "an address at %u that does not follow the one before it",
                         address.at);
    if (!launch->addresses)
        launch->addresses = arena_alloc(arena, ADDRESSES_MAX * sizeof(*launch->addresses));
    address.offset = (uint64_t)offset;
    launch->addresses[launch->address_count++] = address;
    return 0;
}

static bool over_an_address(const struct record_launch *launch, uint32_t at)
{
    for (uint32_t i = 0; i < launch->address_count; i++) {
        const uint32_t address = launch->addresses[i].at;
        if (address < at + RECORD_MAP_BYTES && at < address + ADDRESS_BYTES)
            return true;
    }
    return false;
}

static int take_map(struct record *record, const struct wire_record *line, struct arena *arena,
                    struct error *err)
{
    struct record_launch *launch = last_launch(record, "a tensormap", err);
    struct record_map map;
    if (record->version < RECORD_MAPS_SINCE)
        return error_set(err, "a record of version %d has no tensormap", record->version);
    if (!launch || record_map_parse(&map, line, err) || known_buffer(record, map.buffer, err))
        return -1;
    if (!within_parameter(launch, map.at, RECORD_MAP_BYTES) || launch->map_count == MAPS_MAX)
        return error_set(err, "a tensormap at %u, outside of the parameters", map.at);
    const uint32_t before = launch->map_count;
    if ((before && map.at < launch->maps[before - 1].at + RECORD_MAP_BYTES) ||
        over_an_address(launch, map.at))
        return error_set(err, "a tensormap at %u, over what stands before it", map.at);
    if (!launch->maps)
        launch->maps = arena_alloc(arena, MAPS_MAX * sizeof(*launch->maps));
    launch->maps[launch->map_count++] = map;
    return 0;
}

int record_take_line(struct record *record, const struct wire_record *line, struct arena *arena,
                     struct error *err)
{
    static const struct {
        const char *name;
        int (*take)(struct record *, const struct wire_record *, struct arena *, struct error *);
    } kinds[] = {{"launch", take_launch},       {"memset", take_memset},   {"copy", take_copy},
                 {"parameter", take_parameter}, {"address", take_address}, {"tensormap", take_map}};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, line->name) == 0)
            return kinds[i].take(record, line, arena, err);
    }
    return error_set(err, "a line '%.40s' that no record has", line->name);
}

// The state of reading a record's file.
struct record_reader {
    char *at;
    size_t left;
    struct record record;
    struct arena *arena;
};

// Returns the next line without its end; NULL at the end of the bytes or where a line is too long.
static char *next_line(struct record_reader *r)
{
    const size_t most = r->left < WIRE_LINE ? r->left : WIRE_LINE;
    char *end = memchr(r->at, '\n', most), *line = r->at;
    if (!end || memchr(line, '\0', (size_t)(end - line)))
        return NULL;
    *end = '\0';
    r->left -= (size_t)(end + 1 - r->at);
    r->at = end + 1;
    return line;
}

// Is it a kernel's name as kernels/kernel.h allows it, without characters that a terminal or a
// report would have to escape?
static bool is_kernel_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    return name && *name && strspn(name, allowed) == strlen(name);
}

// Do launches of such a problem take buffers that only forms have?
static bool has_form_buffers(const struct problem *p)
{
    return p->scales.vector || epilogue_has_bias(p->epilogue) || p->groups.kind;
}

static int take_head(struct record_reader *r, const struct wire_record *line, struct error *err)
{
    int64_t version, workspace;
    const char *kernel = wire_text(line, "kernel"), *problem = wire_text(line, "problem");
    const char *note = wire_text(line, "note");
    if (wire_int(&version, line, "version", 0, INT32_MAX, err))
        return -1;
    if (version < 1 || version > RECORD_VERSION)
        return error_set(err, "a record of version %lld, this plumb reads 1 to %d: make it again",
                         (long long)version, RECORD_VERSION);
    r->record.version = (int)version;
    if (!is_kernel_name(kernel) || !text_copy(r->record.kernel, RECORD_NAME, kernel) || !problem)
        return error_set(err, "a record without a kernel's name or a problem");
    text_copy(r->record.note, RECORD_NOTE, note ? note : "");
    if (problem_parse(&r->record.problem, problem, err) ||
        wire_int(&workspace, line, "workspace", 0, bytes_most, err))
        return -1;
    if (version < RECORD_FORMS_SINCE && has_form_buffers(&r->record.problem))
        return error_set(err,
                         "a record of version %lld has no block scales, bias or groups, and its "
                         "problem %.200s has: make it again",
                         (long long)version, problem);
    r->record.workspace_bytes = (uint64_t)workspace;
    if (wire_text(line, "tolerance") &&
        wire_double(&r->record.tolerance, line, "tolerance", 0, 1, err))
        return -1;
    return 0;
}

static int take_image(struct record_reader *r, const struct wire_record *line, struct error *err)
{
    int64_t size;
    if (wire_int(&size, line, "size", 1, image_max, err))
        return -1;
    if (r->record.image_count == IMAGES_MAX || r->record.launch_count)
        return error_set(err, "more than %d images, or one behind a launch", IMAGES_MAX);
    if (!r->record.images)
        r->record.images = arena_alloc(r->arena, IMAGES_MAX * sizeof(*r->record.images));
    r->record.images[r->record.image_count++].size = (size_t)size;
    return 0;
}

// Is it the name of a file beside the record, one that leads to no other folder?
static bool is_content_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t length = name ? strlen(name) : 0;
    return length && length <= CONTENT_NAME_MAX && name[0] != '.' &&
           strspn(name, allowed) == length;
}

static int take_content(struct record_reader *r, const struct wire_record *line, struct error *err)
{
    struct record *record = &r->record;
    const char *before = wire_text(line, "before"), *after = wire_text(line, "after");
    int64_t bytes;
    if (record->version < RECORD_CAPTURES_SINCE)
        return error_set(err, "a record of version %d has no contents", record->version);
    if (wire_int(&bytes, line, "bytes", 1, bytes_most, err))
        return -1;
    if (!is_content_name(before) || !after || (*after && !is_content_name(after)))
        return error_set(err, "a content's files are names alone, of letters, digits and ._-");
    if (record->content_count == RECORD_CAPTURED_MAX || record->launch_count)
        return error_set(err, "more than %d contents, or one behind a launch", RECORD_CAPTURED_MAX);
    if (!record->contents)
        record->contents = arena_alloc(r->arena, RECORD_CAPTURED_MAX * sizeof(*record->contents));
    record->contents[record->content_count++] =
        (struct record_content){(uint64_t)bytes, arena_strdup(r->arena, before),
                                *after ? arena_strdup(r->arena, after) : NULL};
    return 0;
}

static int take_images(struct record_reader *r, struct error *err)
{
    for (size_t i = 0; i < r->record.image_count; i++) {
        struct record_image *image = &r->record.images[i];
        if (image->size > r->left)
            return error_set(err, "a record that ends within its image %zu", i);
        image->bytes = (const unsigned char *)r->at;
        r->at += image->size;
        r->left -= image->size;
    }
    if (r->left)
        return error_set(err, "a record with %zu bytes behind its images", r->left);
    return 0;
}

int record_parse(struct record *out, char *bytes, size_t size, struct arena *arena,
                 struct error *err)
{
    struct record_reader r = {.at = bytes, .left = size, .arena = arena};
    static const char begin[] = "record\t";
    if (size < sizeof(begin) || memcmp(bytes, begin, sizeof(begin) - 1) != 0)
        return error_set(err, "not a record: it does not begin with one's first line");
    for (size_t number = 0;; number++) {
        struct wire_record line;
        char *text = next_line(&r);
        if (!text)
            return error_set(err, "a record without an end, or with a line that is too long");
        if (wire_parse(&line, text, err))
            return -1;
        if (number && strcmp(line.name, "end") == 0)
            break;
        int status = number == 0                       ? take_head(&r, &line, err)
                     : strcmp(line.name, "image") == 0 ? take_image(&r, &line, err)
                     : strcmp(line.name, "content") == 0
                         ? take_content(&r, &line, err)
                         : record_take_line(&r.record, &line, arena, err);
        if (status)
            return -1;
    }
    if (!r.record.launch_count)
        return error_set(err, "a record without a launch");
    if (take_images(&r, err))
        return -1;
    *out = r.record;
    return 0;
}
