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
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
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

static struct header *header_of(void *block)
{
    struct header *h = (struct header *)(void *)((uint8_t *)block - HEADER);
    ASAN_UNPOISON_MEMORY_REGION(h, HEADER);
    return h;
}

static struct header *find_room(int bits)
{
    const size_t size = HEADER + ((size_t)1 << bits);
    struct header *h = unused[bits];
    if (h) {
        ASAN_UNPOISON_MEMORY_REGION(h, HEADER);
        unused[bits] = h->next;
        return h;
    }
    if (size > POOL - used)
        abort(); // no want of memory here, so somebody forgets to free
    h = (struct header *)(void *)(pool + used);
    used += size;
    ASAN_POISON_MEMORY_REGION((uint8_t *)h + HEADER, size - HEADER);
    return h;
}

static void *take(int size)
{
    int bits = SMALLEST;
    while (bits < CLASSES && size > 1 << bits)
        bits++;
    const bool own = bits < CLASSES;
    struct header *h = own ? find_room(bits) : malloc((size_t)size + HEADER);
    if (!h)
        return NULL;
    *h = (struct header){.size = size, .bits = own ? bits : 0};
    uint8_t *block = (uint8_t *)h + HEADER;
    ASAN_UNPOISON_MEMORY_REGION(block, (size_t)size);
    ASAN_POISON_MEMORY_REGION(h, HEADER);
    return block;
}

static void give(void *block)
{
    if (!block)
        return;
    struct header *h = header_of(block);
    if (!h->bits) {
        free(h);
        return;
    }
    ASAN_POISON_MEMORY_REGION(block, (size_t)1 << h->bits);
    h->next = unused[h->bits];
    unused[h->bits] = h;
    ASAN_POISON_MEMORY_REGION(h, HEADER);
}

static int size_of(void *block)
{
    if (!block)
        return 0;
    struct header *h = header_of(block);
    const int size = h->size;
    ASAN_POISON_MEMORY_REGION(h, HEADER);
    return size;
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
    if (sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK ||
        sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}
