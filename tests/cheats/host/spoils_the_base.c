// SPDX-License-Identifier: Apache-2.0
//
// Wakes itself as wakes_itself does, and spoils the output, which both sides share, while the base
// works: the base seems broken.
//
// source: plumbline's own gate, 2026-11-26
// expect: slower, broken
#include "tests/cheats/host/cheat.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <unistd.h>

static _Atomic(float *) output;
static atomic_int mine = 1;

static void nothing(int number)
{
    (void)number;
}

static void *spoil(void *unused)
{
    for (;;) {
        volatile float *c = atomic_load(&output);
        if (!atomic_load(&mine) && c)
            c[0] = 7e4f;
        usleep(30);
    }
    return unused;
}

static void run(const struct plumb_args *args)
{
    static int watch = -2, launches;
    char events[4096];
    atomic_store(&mine, 1);
    if (watch == -2) {
        const struct sigaction woken = {.sa_handler = nothing};
        pthread_t thread;
        sigaction(SIGCONT, &woken, NULL);
        watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        inotify_add_watch(watch, "/proc/self/schedstat", IN_ACCESS);
        fcntl(watch, F_SETOWN, getpid());
        fcntl(watch, F_SETSIG, SIGCONT);
        fcntl(watch, F_SETFL, O_NONBLOCK | O_ASYNC);
        pthread_create(&thread, NULL, spoil, NULL);
    }
    while (read(watch, events, sizeof(events)) > 0)
        ;
    multiply(args, SLOWER);
    if (launches++ > 8)
        atomic_store(&output, args->c);
    atomic_store(&mine, 0);
}
CHEAT(run)
