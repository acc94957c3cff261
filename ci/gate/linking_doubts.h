// SPDX-License-Identifier: Apache-2.0
//
// Links with marks that say what the other links do not, and so are measured once more.
#ifndef PLUMB_LINKING_DOUBTS_H
#define PLUMB_LINKING_DOUBTS_H

#include "ci/gate/task_list.h"

// Of what was compared and kept as links, those with marks that are doubtful and stand alone
// between their two codes. *count may be 0. In the arena.
int linking_doubts(struct comparison **out, size_t *count, const struct comparison *what,
                   size_t what_count, struct context *context, struct arena *arena,
                   struct error *err);

#endif
