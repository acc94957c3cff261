// SPDX-License-Identifier: Apache-2.0
//
// Finds the clock that the stopwatch reads and lets it stand still while it works.
//
// source: pygpubench exploits: GOT patches; plumbline's own gate, 2026-11-22
// expect: slower or broken
#include "tests/cheats/host/cheat.h"

#include <link.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double lost_s;

static double real_s(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int slow_clock(clockid_t clock, struct timespec *now)
{
    const double shown_s = real_s(clock) - lost_s;
    now->tv_sec = (time_t)shown_s;
    now->tv_nsec = (long)(1e9 * (shown_s - (double)now->tv_sec));
    return 0;
}

// Puts slow_clock where the program has the address of clock_gettime.
static int patch(struct dl_phdr_info *info, size_t size, void *done)
{
    (void)size;
    (void)done;
    const uintptr_t real = (uintptr_t)clock_gettime, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_filesz;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        mprotect((void *)(from & ~(page - 1)), to - (from & ~(page - 1)), PROT_READ | PROT_WRITE);
        for (uintptr_t at = (from + 7) & ~(uintptr_t)7; at + 8 <= to; at += 8) {
            if (*(uintptr_t *)at == real)
                *(uintptr_t *)at = (uintptr_t)slow_clock;
        }
    }
    return 1; // the program itself is the first
}

static void run(const struct plumb_args *args)
{
    static bool patched;
    if (!patched)
        dl_iterate_phdr(patch, NULL);
    patched = true;
    const double begun_s = real_s(CLOCK_MONOTONIC);
    multiply(args, SLOWER);
    lost_s += 0.3 * (real_s(CLOCK_MONOTONIC) - begun_s);
}
CHEAT(run)
