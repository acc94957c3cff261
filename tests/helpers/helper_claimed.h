// SPDX-License-Identifier: Apache-2.0
//
// A file in a repository's history that says it is large, for what refuses large ones.
#ifndef PLUMB_HELPER_CLAIMED_H
#define PLUMB_HELPER_CLAIMED_H

#include <stdint.h>

// A loose object with this id says in the repository that it is a blob of so many bytes. Nobody has
// to make room for it to know. Fails the test on any failure.
#define HELPER_CLAIMED "ab00000000000000000000000000000000000000"
void helper_claim(const char *directory, uint64_t bytes);

#endif
