// SPDX-License-Identifier: Apache-2.0
//
// Memory for SQLite while a target is run a million times: under the address sanitizer half of a
// merge's time is malloc()'s.
#ifndef PLUMB_TESTS_POOL_H
#define PLUMB_TESTS_POOL_H

// Before SQLite is first used; for one thread.
void pool_use(void);

#endif
