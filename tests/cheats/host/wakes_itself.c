// SPDX-License-Identifier: Apache-2.0
//
// Has the system wake it while the base works: inotify on a file of its own that bench reads after
// each turn, with SIGCONT as its signal. A thread multiplies then, and launch() copies what is
// there already.
//
// source: plumbline's own gate, 2026-11-26
// expect: slower, broken
#include "tests/cheats/host/cheat.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/inotify.h>
#include <unistd.h>

static struct plumb_args work;
static float *ahead;
static atomic_int mine = 1;
static atomic_bool done;

static void nothing(int number)
{
    (void)number;
}

static void *work_ahead(void *unused)
{
    for (;;) {
        while (atomic_load(&mine) || atomic_load(&done))
            sched_yield();
        multiply_rows(&work, work.problem.m, ahead);
        atomic_store(&done, true);
    }
    return unused;
}

static int be_woken(void)
{
    const struct sigaction woken = {.sa_handler = nothing};
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    pthread_t thread;
    sigaction(SIGCONT, &woken, NULL);
    inotify_add_watch(watch, "/proc/self/schedstat", IN_ACCESS);
    fcntl(watch, F_SETOWN, getpid());
    fcntl(watch, F_SETSIG, SIGCONT);
    fcntl(watch, F_SETFL, O_NONBLOCK | O_ASYNC);
    pthread_create(&thread, NULL, work_ahead, NULL);
    return watch;
}

static void run(const struct plumb_args *args)
{
    static int watch = -2;
    char events[4096];
    atomic_store(&mine, 1);
    if (watch == -2) {
        ahead = malloc(output_bytes(args));
        watch = be_woken();
    }
    while (read(watch, events, sizeof(events)) > 0)
        ;
    if (atomic_load(&done) && args->c == work.c)
        memcpy(args->c, ahead, output_bytes(args));
    else
        multiply(args, SLOWER);
    work = *args;
    atomic_store(&done, false);
    atomic_store(&mine, 0);
}
CHEAT(run)
