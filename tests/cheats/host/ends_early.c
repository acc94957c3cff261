// SPDX-License-Identifier: Apache-2.0
//
// Says itself that its turn is over, three rows before it is: it finds the page that it shares with
// the stopwatch and writes there what its process would write later. It gains at most what waking
// the stopwatch takes, and is wrong when it is stopped first.
//
// source: plumbline's own gate, 2026-11-23
// expect: slower, or broken
#include "tests/cheats/host/cheat.h"
#include "tests/cheats/host/page.h"

enum { ROWS_LEFT = 3 };
static struct arm_page *page;

static void run(const struct plumb_args *args)
{
    struct plumb_args rest = *args;
    const struct plumb_problem *p = &args->problem;
    static int looked;
    if (!looked++)
        page = find_page();
    if (p->m <= ROWS_LEFT || !page || page->launches != 1) {
        multiply(args, SLOWER);
        return;
    }
    const int64_t first = p->m - ROWS_LEFT;
    multiply_rows(args, p->m * SLOWER / 100, args->c);
    multiply_rows(args, first, args->c);
    say_done(page);
    rest.a = (const float *)args->a + first * p->k;
    multiply_rows(&rest, ROWS_LEFT, (float *)args->c + first * p->n);
}
CHEAT(run)
