// SPDX-License-Identifier: Apache-2.0
//
// One store for a target that is run a million times. Making a store takes longer than all else,
// and opening one longer than most: it stays open, and what came into it is deleted.
#ifndef PLUMB_TESTS_FUZZ_ONE_STORE_H
#define PLUMB_TESTS_FUZZ_ONE_STORE_H

#include "baselines/store.h"

// Opened at the first call, closed when the program ends.
struct store *one_store(void);
// Nothing is in it afterwards.
void one_store_empty(void);

#endif
