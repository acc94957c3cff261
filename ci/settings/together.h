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
// Calls work() once with each context, and returns when all calls have come back. The caller's
// thread works on the first context; where the system gives no further thread, it works on the
// others one after the other.
void together(void (*work)(void *context), void *const *contexts, size_t count);

#endif
