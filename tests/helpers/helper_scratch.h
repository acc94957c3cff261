// SPDX-License-Identifier: Apache-2.0
//
// A scratch folder and an arena for all tests of a program: cmocka's set-up and tear-down of a
// group.
#ifndef PLUMB_HELPER_SCRATCH_H
#define PLUMB_HELPER_SCRATCH_H

#include "tests/helpers/helper_files.h"
#include "tests/helpers/helper_store.h"

extern struct scratch {
    char *folder;
    struct arena arena;
} scratch;

int scratch_set_up(void **state);
int scratch_tear_down(void **state);

// folder/name, until the tear-down.
const char *scratch_in(const char *name);

#endif
