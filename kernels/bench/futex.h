// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a word that another process writes (futex(2)), with which the baton is passed.
#ifndef PLUMB_FUTEX_H
#define PLUMB_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Waits while *word is `seen`, at most so long; 0: for ever. True when the time ran out.
static inline bool futex_wait(_Atomic uint32_t *word, uint32_t seen, int most_ms)
{
    const struct timespec most = {.tv_sec = most_ms / 1000, .tv_nsec = most_ms % 1000 * 1000000L};
    const long code = syscall(SYS_futex, word, FUTEX_WAIT, seen, most_ms ? &most : NULL, NULL, 0);
    return code != 0 && atomic_load(word) == seen;
}

static inline void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

#endif
