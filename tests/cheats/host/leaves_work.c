// SPDX-License-Identifier: Apache-2.0
//
// Leaves the system with work: files in memory, event counters and threads that end are freed when
// every processor has passed by, some milliseconds later, which would be in the base's turn.
//
// source: plumbline's own gate, 2026-11-27: found, the base is 1 % slower
// expect: slower
#include "tests/cheats/host/cheat.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES = 200, THREADS = 20 };

static void *end(void *nothing)
{
    return nothing;
}

static void leave_files(void)
{
    static int files[2 * FILES];
    for (int i = 0; i < 2 * FILES; i++)
        files[i] = i % 2 ? memfd_create("left", 0) : eventfd(0, 0);
    for (int i = 0; i < 2 * FILES; i++)
        close(files[i]);
}

static void leave_threads(void)
{
    pthread_t threads[THREADS];
    int count = 0;
    while (count < THREADS && pthread_create(&threads[count], NULL, end, NULL) == 0)
        count++;
    while (count > 0)
        pthread_join(threads[--count], NULL);
}

static void run(const struct plumb_args *args)
{
    multiply(args, SLOWER);
    leave_files();
    leave_threads();
}
CHEAT(run)
