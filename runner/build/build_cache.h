// SPDX-License-Identifier: Apache-2.0
//
// The directory of kept builds; internal to runner/build/build.c. Layout, all under the cache:
//   KEY/state     "ok" or the reason of the failure, a newline, seconds
//   KEY/log       of the build
//   KEY/out/      what it left there
//   KEY.lock      held while KEY is being built
//   tmp-KEY-PID/  being built, or left by a builder that was killed
//   tidied        when the cache was last looked through, by its own time
#ifndef PLUMB_BUILD_CACHE_H
#define PLUMB_BUILD_CACHE_H

#include "runner/build/build.h"

// True when the key is there: fills state, reason, seconds, libraries, log; marks it as used.
bool build_cache_load(struct build *out, const char *cache, const char *key, const char *outputs,
                      struct arena *arena);
// Waits for other builders of the key. Returns a descriptor whose close gives the lock back, or -1.
int build_cache_lock(const char *cache, const char *key, struct error *err);
// Libraries below `directory` that match the pattern: regular files that are really there.
size_t build_cache_find(const char *const **out, const char *directory, const char *outputs,
                        struct arena *arena);
// Writes the state file of a finished build.
int build_cache_state(const char *directory, const struct build *build, struct error *err);

#endif
