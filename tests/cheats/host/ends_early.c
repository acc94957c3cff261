// SPDX-License-Identifier: Apache-2.0
//
// Says itself that its turn is over, three rows before it is: it finds the page that it shares with
// the stopwatch and writes there what its process would write later. It gains at most what waking
// the stopwatch takes, and is wrong when it is stopped first.
//
// source: plumbline's own gate, 2026-11-23
// expect: slower, or broken
#include "kernels/bench/arm_page.h"
#include "tests/cheats/host/cheat.h"

#include <stdio.h>

enum { ROWS_LEFT = 3 };
static struct arm_page *page;

// Of the segments that are shared, the one that begins with two counters, a request and a path.
static void find_page(void)
{
    char line[512], access[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3 || access[1] != 'w' ||
            !strstr(line, "SYSV") || end - begin < sizeof(*page))
            continue;
        struct arm_page *found = (struct arm_page *)(uintptr_t)begin;
        if (found->request == ARM_LAUNCH && found->path[0] == '/')
            page = found;
    }
    if (maps)
        fclose(maps);
}

static void run(const struct plumb_args *args)
{
    struct plumb_args rest = *args;
    const struct plumb_problem *p = &args->problem;
    static int looked;
    if (!looked++)
        find_page();
    if (p->m <= ROWS_LEFT || !page || page->launches != 1) {
        multiply(args, SLOWER);
        return;
    }
    const int64_t first = p->m - ROWS_LEFT;
    multiply_rows(args, p->m * SLOWER / 100, args->c);
    multiply_rows(args, first, args->c);
    atomic_store(&page->done, atomic_load(&page->turn));
    futex_wake(&page->done);
    rest.a = (const float *)args->a + first * p->k;
    multiply_rows(&rest, ROWS_LEFT, (float *)args->c + first * p->n);
}
CHEAT(run)
