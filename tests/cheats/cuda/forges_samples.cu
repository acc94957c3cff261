// SPDX-License-Identifier: Apache-2.0
//
// A thread of the library writes samples on every open descriptor, as the stopwatch would.
//
// source: plumbline's own gate, 2026-11-22: the reply pipe taken over
// expect: slower refused
#include "tests/cheats/cuda/cheat.cuh"

#include <pthread.h>
#include <unistd.h>

static __global__ void gemm(product p)
{
    multiply(p, SLOWER);
}

static void *forge(void *)
{
    static const char line[] = "sample\tid=1\trole=head\tpair=0\tblock=0\torder=0\tlaunches=1\t"
                               "time_ns=1\tclock_hz=1\tthrottle=0\ttemperature_c=1\tpower_mw=1\n";
    for (int round = 0; round < 50; round++) {
        for (int file = 3; file < 64; file++) {
            if (write(file, line, sizeof(line) - 1) < 0)
                continue;
        }
        usleep(10000);
    }
    return nullptr;
}

static int prepare(const plumb_args *, void *, const char *, char *, size_t)
{
    pthread_t thread;
    return pthread_create(&thread, nullptr, forge, nullptr);
}

static int launch(const plumb_args *args, void *stream)
{
    gemm<<<blocks_of(args), dim3(SIDE, SIDE), 0, (cudaStream_t)stream>>>(product_of(args));
    return (int)cudaGetLastError();
}
CHEAT_LIBRARY(prepare, launch)
