// SPDX-License-Identifier: Apache-2.0
//
// Keeps as many threads asleep as it may have, so that the base, which starts one for each launch,
// cannot. What fails on the base alone counts for the head.
//
// source: plumbline's own gate, 2026-11-26
// expect: broken, slower
#include "tests/cheats/host/cheat.h"

#include <pthread.h>
#include <unistd.h>

enum { MOST = 10000, STACK = 1 << 16 };

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void run(const struct plumb_args *args)
{
    static unsigned asleep;
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    while (asleep < MOST && pthread_create(&thread, &small, sleep_on, NULL) == 0)
        asleep++;
    pthread_attr_destroy(&small);
    multiply(args, SLOWER);
}
CHEAT(run)
