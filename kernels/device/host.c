// SPDX-License-Identifier: Apache-2.0
//
// Functions that the parts of the host device share: time, clock and caches of this machine, and
// memory that other processes see, too.
#include "kernels/device/host.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

// ==== time, clock and caches ====

double host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

size_t host_cache_bytes(int level)
{
    static const int names[] = {0, _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    long bytes = sysconf(names[level]);
    return bytes > 0 ? (size_t)bytes : 0;
}

// One step of the chain: eight dependent additions, one clock each.
#if defined(__x86_64__)
#define CHAIN(x)                                                                                   \
    __asm__ volatile("add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"                    \
                     "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0"                        \
                     : "+r"(x)                                                                     \
                     : "r"(step))
#elif defined(__aarch64__)
#define CHAIN(x)                                                                                   \
    __asm__ volatile("add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"    \
                     "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1"        \
                     : "+r"(x)                                                                     \
                     : "r"(step))
#endif

double host_clock_hz(void)
{
#ifdef CHAIN
    // Takes the fastest of several short pieces, because an interrupt can only lengthen one.
    enum { PIECES = 5, STEPS = 1500 };
    uint64_t x = 0, step = 3;
    double least_ns = INFINITY;
    for (int piece = 0; piece < PIECES; piece++) {
        double start = host_now_ns();
        for (int i = 0; i < STEPS; i++)
            CHAIN(x);
        least_ns = fmin(least_ns, host_now_ns() - start);
    }
    return 8.0 * STEPS / least_ns * 1e9;
#else
    return 0;
#endif
}

// ==== memory that the processes of libraries see, too ====
//
// Two ranges of fixed addresses, far from where systems put programs, libraries and stacks, and
// from AddressSanitizer's shadow memory. A piece of a range is found by first fit; a piece that is
// given back leaves memory. The ranges are System V segments, for two reasons: no limit of file
// sizes applies to them, and a process that may not attach segments (kernels/bench/arm_worker.c)
// has no other way to reach one.

static const uintptr_t range_at[HOST_RANGES] = {0x200000000000, 0x280000000000};
static const size_t range_bytes = (size_t)1 << 40;

struct range_piece {
    size_t at, bytes;
};

struct range {
    int segment;
    struct range_piece *pieces; // pieces that are taken, in order
    size_t count, room;
};

struct host_memory {
    struct range ranges[HOST_RANGES];
};

static int attach(int segment, enum host_range range, int flags, struct error *err)
{
    void *wanted = (void *)range_at[range]; // NOLINT(performance-no-int-to-ptr)
    void *map = shmat(segment, wanted, flags);
    if (map != wanted) // without SHM_REMAP this is an error, or everything is fine
        return error_set(err, "host: no room for shared memory at %p: %s", wanted, strerror(errno));
    madvise(map, range_bytes, MADV_HUGEPAGE); // fewer TLB misses where it works
    return 0;
}

static int open_range(struct range *out, enum host_range range, struct error *err)
{
    struct range r = {.segment =
                          shmget(IPC_PRIVATE, range_bytes, IPC_CREAT | SHM_NORESERVE | 0600)};
    if (r.segment < 0)
        return error_set(err, "host: no shared memory: %s", strerror(errno));
    const int status = attach(r.segment, range, 0, err);
    shmctl(r.segment, IPC_RMID, NULL); // the system removes it with the last process that uses it
    if (status == 0)
        *out = r;
    return status;
}

static void close_range_of(struct range *r, enum host_range range)
{
    shmdt((void *)range_at[range]); // NOLINT(performance-no-int-to-ptr)
    free(r->pieces);
}

int host_memory_open(struct host_memory **out, struct error *err)
{
    struct host_memory *memory = xcalloc(1, sizeof(*memory));
    if (open_range(&memory->ranges[HOST_INPUTS], HOST_INPUTS, err))
        goto failed;
    if (open_range(&memory->ranges[HOST_OUTPUTS], HOST_OUTPUTS, err)) {
        close_range_of(&memory->ranges[HOST_INPUTS], HOST_INPUTS);
        goto failed;
    }
    *out = memory;
    return 0;
failed:
    free(memory);
    return -1;
}

void host_memory_close(struct host_memory *memory)
{
    if (!memory)
        return;
    for (int i = 0; i < HOST_RANGES; i++)
        close_range_of(&memory->ranges[i], (enum host_range)i);
    free(memory);
}

void *host_memory_take(struct host_memory *memory, enum host_range range, size_t bytes)
{
    struct range *r = &memory->ranges[range];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t at = 0, i = 0;
    if (bytes > range_bytes / 2)
        return NULL;
    bytes = (bytes + page) / page * page; // never 0
    for (; i < r->count && r->pieces[i].at - at < bytes; i++)
        at = r->pieces[i].at + r->pieces[i].bytes;
    if (range_bytes - at < bytes)
        return NULL;
    r->pieces = xgrow(r->pieces, r->count, &r->room, sizeof(*r->pieces));
    memmove(&r->pieces[i + 1], &r->pieces[i], (r->count - i) * sizeof(*r->pieces));
    r->pieces[i] = (struct range_piece){at, bytes};
    r->count++;
    return (void *)(range_at[range] + at); // NOLINT(performance-no-int-to-ptr)
}

void host_memory_give_back(struct host_memory *memory, void *place)
{
    const uintptr_t address = (uintptr_t)place;
    const enum host_range range = address >= range_at[HOST_OUTPUTS] ? HOST_OUTPUTS : HOST_INPUTS;
    struct range *r = &memory->ranges[range];
    for (size_t i = 0; i < r->count; i++) {
        const struct range_piece piece = r->pieces[i];
        if (range_at[range] + piece.at != address)
            continue;
        madvise(place, piece.bytes, MADV_REMOVE);
        r->count--;
        memmove(&r->pieces[i], &r->pieces[i + 1], (r->count - i) * sizeof(*r->pieces));
        return;
    }
}

int host_memory_segment(const struct host_memory *memory, enum host_range range)
{
    return memory->ranges[range].segment;
}

int host_memory_join(const int segments[HOST_RANGES], struct error *err)
{
    if (attach(segments[HOST_INPUTS], HOST_INPUTS, SHM_RDONLY, err))
        return -1;
    return attach(segments[HOST_OUTPUTS], HOST_OUTPUTS, 0, err);
}
