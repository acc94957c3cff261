// SPDX-License-Identifier: Apache-2.0
//
// What a store keeps of a series' links, as somebody's store may hold it: after a first byte that
// says which, a history, a part of its levels, or what is settled. What is read packs to bytes that
// read back and pack to the same.
#include "ci/history/links_pack.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { KINDS = 3 };

// Reads and packs. False: it was refused.
static bool again(struct buffer *out, int kind, const void *bytes, size_t size, struct arena *arena)
{
    static struct commit_place places[] = {{.key = 1}, {.key = 2}, {.key = 5}};
    static const struct commit_places known = {.items = places, .count = ARRAY_COUNT(places)};
    struct linked_history history;
    struct linked_part part;
    struct settled_links settled;
    switch (kind) {
    case 0:
        if (linked_unpack(&history, bytes, size, arena))
            return false;
        linked_pack(out, &history);
        return true;
    case 1:
        if (linked_part_unpack(&part, bytes, size, &known, arena))
            return false;
        linked_part_pack(out, &part);
        return true;
    default:
        if (settled_unpack(&settled, bytes, size, arena))
            return false;
        settled_pack(out, &settled);
        return true;
    }
}

void fuzz_one(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct buffer first = {0}, second = {0};
    const int kind = size ? *bytes % KINDS : 0;
    if (size && again(&first, kind, bytes + 1, size - 1, &arena)) {
        must(again(&second, kind, first.bytes, first.length, &arena), "what was packed is refused");
        must(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0,
             "what was packed twice differs");
    }
    buffer_free(&first);
    buffer_free(&second);
    arena_free(&arena);
}
