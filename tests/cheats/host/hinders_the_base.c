// SPDX-License-Identifier: Apache-2.0
//
// A thread of the library keeps the memory busy while the other build works, and rests while its
// own does.
//
// source: plumbline's own gate, 2026-11-22: host code beside the other build
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool own = true;
static atomic_int where = -1;

// On the processor that launches run on, whenever none of its own does.
static void *hinder(void *unused)
{
    cpu_set_t one;
    for (int at = -1;;) {
        if (own || where < 0) {
            usleep(20);
            continue;
        }
        if (at != where) {
            at = where;
            CPU_ZERO(&one);
            CPU_SET(at, &one);
            pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
        }
    }
    return unused;
}

static int prepare(const struct plumb_args *args, void *stream, const char *pin, char *note,
                   size_t note_size)
{
    (void)args, (void)stream, (void)pin, (void)note, (void)note_size;
    pthread_t thread;
    return pthread_create(&thread, NULL, hinder, NULL);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    own = true;
    where = sched_getcpu();
    multiply(args, SLOWER);
    own = false;
    return 0;
}
CHEAT_LIBRARY(prepare, launch)
