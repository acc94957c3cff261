// SPDX-License-Identifier: Apache-2.0
//
// A host kernel and a twin that does everything twice, built with cc: DIRECTORY/base/loop.so and
// DIRECTORY/head/loop.so, kernel "loop", any FP32 problem of layout TN and one batch.
#ifndef PLUMB_HELPER_LOOP_H
#define PLUMB_HELPER_LOOP_H

// Makes them in an existing directory; -1 when cc fails.
int helper_loop_build(const char *directory);

#endif
