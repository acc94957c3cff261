// SPDX-License-Identifier: Apache-2.0
//
// The kernel list of a build: what its libraries and plans hold, each kernel with its code id.
#ifndef PLUMB_LISTING_H
#define PLUMB_LISTING_H

#include "ci/gate/built.h"

// Fills built->kernels, sorted by name, in `arena`; those of libraries that the policy skips are
// left out. What cannot be listed (no library of ours, two kernels of one name) makes `built`
// unbuildable and is its detail. -1 only when the tool could not do its work.
int listing_fill(struct built *built, struct context *context, const struct build *build,
                 struct arena *arena, struct error *err);

#endif
