// SPDX-License-Identifier: Apache-2.0
//
// Lets a thread of its own do the work while the first one waits for the processor, for such waits
// are no part of a turn (kernels/bench/arm.h): there the work must be counted.
//
// source: plumbline's own gate, 2026-11-23
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const struct plumb_args *work;
static atomic_uint asked, done;

static void *labour(void *unused)
{
    for (unsigned turn = 1;; turn++) {
        while (atomic_load(&asked) != turn)
            sched_yield();
        multiply(work, SLOWER);
        atomic_store(&done, turn);
    }
    return unused;
}

static void run(const struct plumb_args *args)
{
    static pthread_t thread;
    if (!thread) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        if (pthread_create(&thread, NULL, labour, NULL) ||
            pthread_setaffinity_np(thread, sizeof(one), &one)) {
            multiply(args, SLOWER);
            return;
        }
    }
    work = args;
    const unsigned turn = atomic_load(&asked) + 1;
    atomic_store(&asked, turn);
    while (atomic_load(&done) != turn)
        sched_yield();
}
CHEAT(run)
