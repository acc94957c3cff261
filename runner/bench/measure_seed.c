// SPDX-License-Identifier: Apache-2.0
//
// Where seeds come from.
#include "runner/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

uint64_t bench_draw_seed(void)
{
    uint64_t seed;
    // So few bytes are given whole or, once the system is up, never refused.
    if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
        perror("getrandom");
        abort();
    }
    return seed & INT64_MAX;
}
