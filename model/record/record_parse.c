// SPDX-License-Identifier: Apache-2.0
//
// Reads what record_print.c writes. Every number is held to its range, and nothing that is read
// points outside of what was read.
#include "model/record/record_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARAMETERS_MAX = 4096, // of one launch
    BYTES_MAX = 32764,     // of a kernel's parameters (CUDA programming guide, 12.1 and later)
    PARAMETER_MAX = 7000,  // so that a line holds it in hexadecimal
    ADDRESS_BYTES = 8,
    ADDRESSES_MAX = BYTES_MAX / ADDRESS_BYTES,
    IMAGES_MAX = 64,
    MAPS_MAX = 256, // of one launch
    CONTENT_NAME_MAX = 64,
    SHARED_MAX = 1 << 20
};
static const int64_t image_max = (int64_t)1 << 30, bytes_most = INT64_MAX / 4;

static const char axes[] = {'x', 'y', 'z'};

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

// An entry point's name, as compilers mangle them: nothing that a report would have to escape.
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
    launch.width = (uint64_t)width;
    launch.height = (uint64_t)height;
    launch.pitch_bytes = (uint64_t)pitch;
    *to = launch;
    record->launch_count++;
    return 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The launch that the lines of parameters and addresses belong to.
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

// What the record's version has no word for cannot stand in it.
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
    } kinds[] = {{"launch", take_launch},
                 {"memset", take_memset},
                 {"parameter", take_parameter},
                 {"address", take_address},
                 {"tensormap", take_map}};
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, line->name) == 0)
            return kinds[i].take(record, line, arena, err);
    }
    return error_set(err, "a line '%.40s' that no record has", line->name);
}

// The file that is being read.
struct reader {
    char *at;
    size_t left;
    struct record record;
    struct arena *arena;
};

// The next line, its end cut off; NULL at the end of the bytes or where a line is too long.
static char *next_line(struct reader *r)
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

// As kernels/kernel.h has it: nothing that a terminal or a report would have to escape.
static bool is_kernel_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    return name && *name && strspn(name, allowed) == strlen(name);
}

// Launches of such a problem take buffers that are of forms alone.
static bool has_form_buffers(const struct problem *p)
{
    return p->scales.vector || epilogue_has_bias(p->epilogue) || p->groups.kind;
}

static int take_head(struct reader *r, const struct wire_record *line, struct error *err)
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
    return 0;
}

static int take_image(struct reader *r, const struct wire_record *line, struct error *err)
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

// A file beside the record: a name, and nothing that leads elsewhere.
static bool is_content_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    const size_t length = name ? strlen(name) : 0;
    return length && length <= CONTENT_NAME_MAX && name[0] != '.' &&
           strspn(name, allowed) == length;
}

static int take_content(struct reader *r, const struct wire_record *line, struct error *err)
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

static int take_images(struct reader *r, struct error *err)
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
    struct reader r = {.at = bytes, .left = size, .arena = arena};
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
