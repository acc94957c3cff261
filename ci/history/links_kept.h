// SPDX-License-Identifier: Apache-2.0
//
// What links say of a series (history_links.h), worked out only when one has come since, and then
// only from the stretch on that is not settled.
#ifndef PLUMB_LINKS_KEPT_H
#define PLUMB_LINKS_KEPT_H

#include "baselines/kept/kept_links.h"
#include "ci/history/history_links.h"

// As history_links(). What was worked out now and has to be kept goes to `fresh`, with its bytes in
// `kept_in`; its size is 0 when there is nothing new.
int history_links_kept(struct linked_history *out, struct kept_links *fresh, struct store *store,
                       const struct commit_places *places, const struct series *series,
                       const char *accepted, struct arena *arena, struct arena *kept_in,
                       struct error *err);
// The levels that `linked` was found with: those that are kept, or worked out again.
int history_linked_levels(struct linked_levels *out, const struct linked_history *linked,
                          struct store *store, const struct commit_places *places,
                          const struct series *series, const char *accepted, struct arena *arena,
                          struct error *err);

#endif
