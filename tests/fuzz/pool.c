// SPDX-License-Identifier: Apache-2.0
//
// Free blocks wait in a list for each power of two. Before a block stands its header, which the
// address sanitizer is told is nobody's, like the block's end and every block that is free: what
// reads or writes beyond its own is found as it is with malloc(). What is large is malloc()'s.
#include "tests/fuzz/pool.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ // as gcc says it
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define UNSEEN __attribute__((no_sanitize("address", "undefined")))
#else
#define UNSEEN
#endif

enum { HEADER = 32, SMALLEST = 5, CLASSES = 18, POOL = 96 << 20 };

struct header {
    struct header *next; // when free
    int size;            // that was asked for
    int bits;            // the block's room is 1 << bits; 0: by malloc()
};

static _Alignas(64) uint8_t pool[POOL];
static size_t used;
static struct header *unused[CLASSES];

// The sanitizer keeps a byte for each 8: how many of them may be used, 0 for all, or why none may
// be. They are written here, for blocks are small and its own calls cost more than a merge does.
#ifdef __SANITIZE_ADDRESS__
static uint8_t *notes;
static size_t notes_shift;

UNSEEN static void note(const void *at, size_t size, uint8_t said)
{
    volatile uint8_t *byte = notes + ((uintptr_t)at >> notes_shift);
    size >>= notes_shift;
    for (; size && (uintptr_t)byte % sizeof(uint64_t); size--)
        *byte++ = said;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), byte += sizeof(uint64_t))
        *(volatile uint64_t *)(volatile void *)byte = said * 0x0101010101010101u;
    for (; size; size--)
        *byte++ = said;
}

static void find_notes(void)
{
    size_t offset;
    __asan_get_shadow_mapping(&notes_shift, &offset);
    notes = (uint8_t *)offset;
}

// Nobody's, as what a user of the sanitizer says so of.
static void hide(const void *at, size_t size)
{
    note(at, size, 0xf7);
}

// The first `size` bytes of a block.
UNSEEN static void show(const void *at, size_t size)
{
    const size_t unit = (size_t)1 << notes_shift, whole = size & ~(unit - 1);
    note(at, whole, 0);
    if (size > whole)
        note((const uint8_t *)at + whole, unit, (uint8_t)(size - whole));
}
#else
static void find_notes(void)
{
}

static void hide(const void *at, size_t size)
{
    (void)at, (void)size;
}

static void show(const void *at, size_t size)
{
    (void)at, (void)size;
}
#endif

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((uint8_t *)block - HEADER);
}

UNSEEN static struct header *find_room(int bits)
{
    const size_t size = HEADER + ((size_t)1 << bits);
    struct header *h = unused[bits];
    if (h) {
        unused[bits] = h->next;
        return h;
    }
    if (size > POOL - used)
        abort(); // no want of memory here, so somebody forgets to free
    h = (struct header *)(void *)(pool + used);
    used += size;
    hide(h, size);
    return h;
}

UNSEEN static void *take(int size)
{
    int bits = SMALLEST;
    while (bits < CLASSES && size > 1 << bits)
        bits++;
    const bool own = bits < CLASSES;
    struct header *h = own ? find_room(bits) : malloc((size_t)size + HEADER);
    if (!h)
        return NULL;
    h->size = size;
    h->bits = own ? bits : 0;
    if (own)
        show((uint8_t *)h + HEADER, (size_t)size);
    return (uint8_t *)h + HEADER;
}

UNSEEN static void give(void *block)
{
    if (!block)
        return;
    struct header *h = header_of(block);
    if (!h->bits) {
        free(h);
        return;
    }
    hide(block, ((size_t)h->size + 7) & ~(size_t)7); // what is behind it is hidden
    h->next = unused[h->bits];
    unused[h->bits] = h;
}

UNSEEN static int size_of(void *block)
{
    return block ? header_of(block)->size : 0;
}

static void *resize(void *block, int size)
{
    void *other = take(size);
    const int old = size_of(block);
    if (!other)
        return NULL;
    if (block)
        memcpy(other, block, (size_t)(old < size ? old : size));
    give(block);
    return other;
}

static int round_up(int size)
{
    return (size + 7) & ~7;
}

static int begin(void *nothing)
{
    (void)nothing;
    return SQLITE_OK;
}

static void end(void *nothing)
{
    (void)nothing;
}

void pool_use(void)
{
    static const struct sqlite3_mem_methods methods = {take,     give,  resize, size_of,
                                                       round_up, begin, end,    NULL};
    find_notes();
    if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}
