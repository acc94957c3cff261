// SPDX-License-Identifier: Apache-2.0
//
// Reads all that a store has, as the commands do: what was merged must be readable.
#ifndef PLUMB_TESTS_FUZZ_READ_STORE_H
#define PLUMB_TESTS_FUZZ_READ_STORE_H

#include "baselines/store.h"

// Ends the program where something cannot be read.
void read_store(struct store *store);

#endif
