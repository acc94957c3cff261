// SPDX-License-Identifier: Apache-2.0
//
// The files that a build sees; internal to runner/build/build.c.
#ifndef PLUMB_BUILD_SOURCE_H
#define PLUMB_BUILD_SOURCE_H

#include "runner/build/build_parts.h"

// Exports the commit to the directory. 1: it cannot be, and the build's state and reason say why.
int build_source(struct build *build, struct exported *out, const struct build_place *place,
                 const char *directory, struct arena *arena, struct error *err);
// Adds to the reason of a failed build what of its files is not what it is in a checkout.
void build_source_seen(struct build *build, const struct exported *exported, struct arena *arena);

#endif
