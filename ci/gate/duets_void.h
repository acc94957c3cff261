// SPDX-License-Identifier: Apache-2.0
//
// Pairs that do not count because they are faster than their device can be.
#ifndef PLUMB_DUETS_VOID_H
#define PLUMB_DUETS_VOID_H

#include "ci/gate/duets.h"

// Excludes such pairs among those that the gate has not seen.
void duet_void_pairs(struct duet *duet);
// So many of them that the rest would not count either.
bool duet_is_void(const struct duet *duet);

#endif
