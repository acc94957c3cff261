// SPDX-License-Identifier: Apache-2.0
//
// No cheat: what every cheat is measured against, under that cheat's name. One whose name begins so
// packs B into its workspace, or starts a thread for half of its rows.
//
// source: -
// expect: same
#include "tests/cheats/host/cheat.h"

#include <pthread.h>

static void *multiply_first(void *args)
{
    multiply(args, 0);
    return args;
}

// 0, or the error with which no thread could be started.
static int multiply_by_two(const struct plumb_args *args)
{
    struct plumb_args first = *args, rest = *args;
    pthread_t thread;
    first.problem.m /= 2;
    rest.problem.m -= first.problem.m;
    rest.a = (const float *)args->a + first.problem.m * args->problem.k;
    rest.c = (float *)args->c + first.problem.m * args->problem.n;
    const int code = pthread_create(&thread, NULL, multiply_first, &first);
    if (code)
        return code;
    multiply(&rest, 0);
    return pthread_join(thread, NULL);
}

static int launch(const struct plumb_args *args, void *stream)
{
    (void)stream;
    if (strcmp(CHEAT_NAME, "takes_threads") == 0)
        return multiply_by_two(args);
    if (strncmp(CHEAT_NAME, "packs_", 6) == 0)
        multiply_packed(args, args->workspace, 0);
    else
        multiply(args, 0);
    return 0;
}
CHEAT_LIBRARY(NULL, launch)
