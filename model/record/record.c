// SPDX-License-Identifier: Apache-2.0
//
// Finding the addresses in captured launches, and putting others in their place.
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
#include "model/record/record.h"
#include "model/record/record_map.h"

#include <stdlib.h>
#include <string.h>

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

bool record_buffer_is_form(enum record_buffer buffer)
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

// Far from where a driver maps memory, and each buffer in a range of its own.
static const uint64_t lowest = 0x100000000000, apart = 0x008000000000, grain = 0x000040000000;

void record_made_up(struct record_places out[2], const uint64_t bytes[RECORD_BUFFERS])
{
    for (uint64_t b = 0; b < RECORD_CAPTURED; b++) {
        for (int place = 0; place < 2; place++)
            out[place].bytes[b] = bytes[b];
        out[0].address[b] = bytes[b] ? lowest + 2 * b * apart + 512 : 0;
        // Distances are distinct odd multiples of 1 GiB.
        out[1].address[b] =
            bytes[b] ? out[0].address[b] + RECORD_CAPTURED * 2 * apart + (2 * b + 1) * grain : 0;
    }
}

static bool same_shape(const struct record_launch *a, const struct record_launch *b)
{
    if (a->kind != b->kind || a->size != b->size || a->parameter_count != b->parameter_count)
        return false;
    if (a->kind == RECORD_MEMSET)
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
    const char *name = first->kind == RECORD_KERNEL ? first->function : "memset";
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

// Bytes from the first to the last that a memset writes; 0 when that overflows.
static uint64_t memset_extent(const struct record_launch *launch)
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
    if (launch->kind == RECORD_MEMSET) {
        const uint64_t extent = memset_extent(launch);
        if (launch->address_count != 1 || !extent ||
            extent > places->bytes[launch->addresses[0].buffer] - launch->addresses[0].offset)
            return error_set(err, "a memset writes outside of the stopwatch's buffers");
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
