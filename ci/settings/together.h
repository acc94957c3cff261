// SPDX-License-Identifier: Apache-2.0
//
// The same work on several threads: each takes the next job from a list that its contexts share.
#ifndef PLUMB_TOGETHER_H
#define PLUMB_TOGETHER_H

#include "model/base.h"

enum { TOGETHER_MOST = 8 }; // threads

// How many threads so many jobs are worth: as many as there are processors for this program, each
// with `least` jobs or more; 1 to TOGETHER_MOST.
size_t together_threads(size_t jobs, size_t least);
// Calls work() once with each context and returns when all have come back. The first is worked on
// by the caller's thread; so is every one that no thread can be had for, after it.
void together(void (*work)(void *context), void *const *contexts, size_t count);

#endif
