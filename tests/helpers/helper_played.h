// SPDX-License-Identifier: Apache-2.0
//
// Duets played against the fake bench, with the journal it keeps of what it was asked. Uses cmocka:
// a test that cannot be set up fails.
#ifndef PLUMB_HELPER_PLAYED_H
#define PLUMB_HELPER_PLAYED_H

#include "ci/gate/duets.h"
#include "tests/helpers/helper_fake_bench.h"

enum { PLAYED_MAX = 16, PLAYED_JOURNAL = 1 << 16 };

struct played {
    struct fake_bench fake;
    struct duet items[PLAYED_MAX];
    struct duets duets;
    size_t over[PLAYED_MAX], over_count; // which, in the order they ended
    uint16_t over_in[PLAYED_MAX];        // processes started by then
    bool stop_after_first_block;
    double least_ns;              // of every duet
    char journal[PLAYED_JOURNAL]; // a ';' a line
};

// cmocka's set-up and tear-down: *state is a struct played.
int played_set_up(void **state);
int played_tear_down(void **state);

// Plays one duet of each kernel of a list that ends with NULL; what is in `items` already stays.
int played_try(struct played *p, const char *const *kernels, struct error *err);
// The same, and the test fails unless every duet ended.
void played_all(struct played *p, const char *const *kernels);
// How often the child was asked this.
size_t played_times(const struct played *p, const char *what);
// Fails the test unless the duet was judged so, by as many pairs as it kept.
void played_whole(const struct duet *d, enum verdict_kind kind);

#endif
